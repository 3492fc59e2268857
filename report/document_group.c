/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One group of the document. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/document_inside.h"
#include "analysis/strata.h"
#include "base/texts.h"

json_t *
document_hash(const struct judged *j)
{
	struct hash128 key = j->group->shape.key;

	return json_sprintf("%016llx%016llx", (unsigned long long)key.a, (unsigned long long)key.b);
}

/* ---- the path ---- */

/* A token's label, with its bin in brackets. */
static json_t *
token_json(struct document *d, const struct shape *s, uint32_t i)
{
	const struct report_options *o = report_options(d->report);
	const struct labels *labels = report_labels(d->report);

	if (s->bins[i] == BIN_NONE || o->bins == NULL)
		return document_label(d, s->tokens[i]);
	buf_reset(&d->words);
	buf_printf(&d->words, "%s [", labels_get(labels, s->tokens[i])->text);
	bin_print(o->bins, labels, s->tokens[i], s->bins[i], &d->words);
	buf_u8(&d->words, ']');
	return text_json((const char *)d->words.data, d->words.failed ? 0 : d->words.len);
}

/* In the shape outer loops follow inner ones; here they open first. */
static json_t *
path_json(struct document *d, const struct shape *s)
{
	json_t *path = json_array();

	for (uint32_t i = 0; i < s->ntokens; i++) {
		for (uint32_t l = s->nloops; l-- > 0;)
			if (s->loops[l].first == i)
				json_array_append_new(path, json_string("("));
		json_array_append_new(path, token_json(d, s, i));
		for (uint32_t l = 0; l < s->nloops; l++)
			if (s->loops[l].last == i)
				json_array_append_new(path, json_string(")+"));
	}
	return path;
}

static uint32_t
unit_of(const struct shape *s, uint32_t token)
{
	return token + 1 < s->ntokens ? s->edges[token].from_unit : s->edges[token - 1].to_unit;
}

enum { DEPTH_MAX = 256 };

/* The stack of units while walking along the path: a unit is left at its end, or at a step of a unit
 * around it. */
struct nest {
	uint32_t units[DEPTH_MAX];
	uint32_t count;
	bool ended; /* the innermost one */
};

static uint32_t
nest_step(struct nest *n, enum record_kind kind, uint32_t unit)
{
	uint32_t at = n->count -= n->ended;

	while (kind != RECORD_UNIT_BEGIN && at > 0 && n->units[at - 1] != unit)
		at--;
	if (kind != RECORD_UNIT_BEGIN && at > 0)
		n->count = at;
	else if (n->count < DEPTH_MAX)
		n->units[n->count++] = unit;
	n->ended = kind == RECORD_UNIT_END && n->count > 1;
	return n->count - 1;
}

/* The time of each token if every edge took its mean; the edge round a loop follows the loop's body.
 * The last token is at the mean response time. */
static json_t *
steps_json(struct document *d, const struct group *g)
{
	const struct shape *s = &g->shape;
	json_t *steps = json_array();
	struct nest nest = { 0 };
	double at_ns = 0;

	for (uint32_t i = 0; i < s->ntokens; i++) {
		enum record_kind kind = labels_get(report_labels(d->report), s->tokens[i])->kind;
		json_t *j = json_object();

		put(j, "label", token_json(d, s, i));
		put(j, "service", document_service(d, s->tokens[i]));
		put(j, "unit", document_label(d, unit_of(s, i)));
		put_ms(j, "first_ms", at_ns);
		put_count(j, "depth", nest_step(&nest, kind, unit_of(s, i)));
		json_array_append_new(steps, j);
		for (uint32_t l = 0; l < s->nloops; l++)
			if (s->loops[l].last == i)
				at_ns += g->edges[s->loops[l].edge].mean_x;
		if (i + 1 < s->ntokens)
			at_ns += g->edges[i].mean_x;
	}
	return steps;
}

/* ---- edges ---- */

static json_t *
edge_tail_json(const struct tail *t, uint32_t edge)
{
	json_t *j;

	if (edge >= t->nedges)
		return json_null();
	j = json_object();
	put_ms(j, "slow_ms", t->edges[edge].slow_ns);
	put_ms(j, "usual_ms", t->edges[edge].usual_ns);
	put_number(j, "excess_share", t->edges[edge].excess_share);
	put_number(j, "low", t->edges[edge].interval.low);
	put_number(j, "high", t->edges[edge].interval.high);
	return j;
}

static json_t *
edge_json(struct document *d, const struct judged *judged, uint32_t i)
{
	const struct group *g = judged->group;
	const struct shape_edge *e = &g->shape.edges[i];
	const struct edge_share *s = &judged->finding.edges[i];
	json_t *j = json_object();

	put(j, "from", document_label(d, e->from));
	put(j, "to", document_label(d, e->to));
	put(j, "owner", document_label(d, e->owner));
	put(j, "owner_service", document_service(d, e->owner));
	put(j, "loop", json_boolean(e->to_token <= e->from_token));
	put(j, "ignored", json_boolean(g->edge_ignored[i]));
	put_ms(j, "mean_ms", s->mean_ns);
	put_number(j, "variance_ms2",
	    g->edges[i].n > 0 ? g->edges[i].m2_x / (double)g->edges[i].n / 1e12 : 0);
	put_number(j, "share", s->share);
	if (judged->deep) {
		put_number(j, "low", s->interval.low);
		put_number(j, "high", s->interval.high);
	}
	put_number(j, "own", s->own);
	put_number(j, "covariance",
	    judged->finding.problem == PROBLEM_SLOW ? (double)NAN : s->share - s->own);
	put_number(j, "latency_share", s->latency_share);
	put_ms(j, "p50_ms", judged->edges[i].p50_ns);
	put_ms(j, "p95_ms", judged->edges[i].p95_ns);
	if (judged->deep)
		put(j, "tail", edge_tail_json(&judged->tail, i));
	return j;
}

static json_t *
tail_json(const struct tail *t)
{
	json_t *j;

	if (t->nedges == 0)
		return json_null();
	j = json_object();
	put_number(j, "part", t->part);
	put_ms(j, "slow_ms", t->slow_ns);
	put_ms(j, "usual_ms", t->usual_ns);
	put_count(j, "slow", t->nslow);
	put_count(j, "usual", t->nusual);
	return j;
}

/* ---- keys, what-if ---- */

static json_t *
key_name(struct document *d, const struct group *g, uint32_t key)
{
	buf_reset(&d->words);
	key_print(g, &g->keys[key], report_labels(d->report), &d->words);
	return text_json((const char *)d->words.data, d->words.failed ? 0 : d->words.len);
}

static json_t *
keys_json(struct document *d, const struct judged *judged)
{
	json_t *keys = json_array();

	for (uint32_t i = 0; i < judged->nkeys; i++) {
		const struct key_finding *k = &judged->keys[i];
		json_t *j = json_object();

		put_count(j, "edge", k->edge);
		put(j, "name", key_name(d, judged->group, k->key));
		put(j, "numeric", json_boolean(k->numeric));
		put_number(j, "r", k->numeric ? k->r : (double)NAN);
		put_number(j, "rho", k->numeric ? k->rho : (double)NAN);
		put_number(j, "share", k->numeric ? (double)NAN : k->share);
		put_number(j, "p", k->p);
		put_count(j, "n", k->n);
		json_array_append_new(keys, j);
	}
	return keys;
}

static json_t *
measures_json(const struct measures *m)
{
	json_t *j = json_object();

	put_number(j, "cv", m->cv);
	put_ms(j, "p50_ms", m->p50_ns);
	put_ms(j, "p95_ms", m->p95_ns);
	put_ms(j, "p99_ms", m->p99_ns);
	return j;
}

static json_t *
what_if_json(const struct judged *judged)
{
	const struct what_if *w = &judged->what_if;
	json_t *j, *then;

	if (!judged->has_what_if)
		return json_null();
	j = json_object();
	then = measures_json(&w->then);
	put_number(then, "cv_low", w->then_interval.cv.low);
	put_number(then, "cv_high", w->then_interval.cv.high);
	put_ms(then, "p50_low_ms", w->then_interval.p50_ns.low);
	put_ms(then, "p50_high_ms", w->then_interval.p50_ns.high);
	put_ms(then, "p95_low_ms", w->then_interval.p95_ns.low);
	put_ms(then, "p95_high_ms", w->then_interval.p95_ns.high);
	put_ms(then, "p99_low_ms", w->then_interval.p99_ns.low);
	put_ms(then, "p99_high_ms", w->then_interval.p99_ns.high);
	put_count(j, "edge", judged->finding.top);
	put(j, "now", measures_json(&w->now));
	put(j, "then", then);
	return j;
}

/* ---- single requests ---- */

static json_t *
exemplar_json(struct exemplar x)
{
	json_t *j;

	if (x.total_ns < 0)
		return json_null();
	j = json_object();
	put(j, "trace", trace_id_json(x.id.high, x.id.low));
	put_ms(j, "total_ms", (double)x.total_ns);
	return j;
}

static json_t *
exemplars_json(const struct group *g)
{
	json_t *j = json_object();

	put(j, "slowest", exemplar_json(g->slowest));
	put(j, "median", exemplar_json(group_median(g)));
	put(j, "fastest", exemplar_json(g->fastest));
	return j;
}

/* The order of a reservoir is random, so its first entries are a sample, too. */
static uint32_t
samples_shown(const struct group *g)
{
	return g->nsamples < DOCUMENT_SAMPLES_MAX ? g->nsamples : DOCUMENT_SAMPLES_MAX;
}

static json_t *
samples_json(const struct group *g)
{
	json_t *all = json_array();

	for (uint32_t i = 0; i < samples_shown(g); i++) {
		const struct sample *s = &g->samples[i];
		json_t *j = json_object(), *edges = json_array();

		for (uint32_t k = 0; k < g->shape.nedges; k++)
			json_array_append_new(edges, number_json(s->edges_ns[k] / 1e6));
		put(j, "trace", trace_id_json(s->id.high, s->id.low));
		put_ms(j, "total_ms", (double)s->total_ns);
		put(j, "edges_ms", edges);
		put(j, "keys", json_array());
		json_array_append_new(all, j);
	}
	return all;
}

/* Renumbers the values of a textual key: the group numbers the texts of all its keys together. */
static json_t *
sample_key_json(struct document *d, const struct group *g, uint32_t key, json_t *samples)
{
	bool numeric = g->keys[key].type != VALUE_TEXT;
	json_t *j = json_object(), *texts = json_array();
	struct map numbers = { 0 };

	for (uint32_t i = 0; i < samples_shown(g); i++) {
		json_t *values = json_object_get(json_array_get(samples, i), "keys");
		double x = g->samples[i].keys[key];
		uintptr_t number = 0;

		if (!numeric && !isnan(x) &&
		    (number = (uintptr_t)map_get(&numbers, (uint64_t)x)) == 0) {
			const char *text = texts_get(g->texts, (uint32_t)x);

			json_array_append_new(texts, text_json(text, strlen(text)));
			number = json_array_size(texts);
			map_put(&numbers, (uint64_t)x, (void *)number);
		}
		json_array_append_new(values,
		    numeric || isnan(x) ? number_json(x) : json_integer((json_int_t)number - 1));
	}
	put(j, "name", key_name(d, g, key));
	put(j, "numeric", json_boolean(numeric));
	put(j, "texts", texts);
	map_release(&numbers);
	return j;
}

static void
put_samples(struct document *d, json_t *j, const struct group *g)
{
	json_t *samples = samples_json(g), *keys = json_array();

	for (uint32_t i = 0; i < g->nkeys; i++)
		json_array_append_new(keys, sample_key_json(d, g, i, samples));
	put(j, "sample_keys", keys);
	put(j, "samples", samples);
}

/* ---- the group ---- */

static void
put_finding(json_t *j, const struct judged *judged)
{
	const struct finding *f = &judged->finding;

	put_number(j, "cv", f->cv);
	if (judged->deep) {
		put_number(j, "cv_low", f->cv_interval.low);
		put_number(j, "cv_high", f->cv_interval.high);
		put_number(j, "probability", f->probability);
	}
	put(j, "problem", json_string(problem_word(f->problem)));
	put_ms(j, "cost_ms", f->cost_ns);
	put_count(j, "top", f->top);
}

json_t *
document_group(struct document *d, const struct judged *judged)
{
	const struct group *g = judged->group;
	json_t *j = json_object(), *edges;

	put(j, "group", document_hash(judged));
	put_count(j, "count", g->total.n);
	put_ms(j, "mean_ms", g->total.mean);
	put_finding(j, judged);
	put_ms(j, "p50_ms", group_quantile(g, 0.50));
	put_ms(j, "p95_ms", group_quantile(g, 0.95));
	put_ms(j, "p99_ms", group_quantile(g, 0.99));
	put_ms(j, "ignored_mean_ms", g->ignored.mean);
	put_count(j, "lossy", g->lossy);
	put_count(j, "moved", g->moved);
	put(j, "worst", document_worst(d, report_times(d->report, g)));
	if (judged->edges == NULL)
		return j;
	put(j, "path", path_json(d, &g->shape));
	edges = json_array();
	for (uint32_t i = 0; i < g->shape.nedges; i++)
		json_array_append_new(edges, edge_json(d, judged, i));
	put(j, "edges", edges);
	put(j, "tail", tail_json(&judged->tail));
	put(j, "keys", keys_json(d, judged));
	put_count(j, "keys_tried", judged->keys_tried);
	put(j, "what_if", what_if_json(judged));
	put(j, "exemplars", exemplars_json(g));
	put(j, "steps", steps_json(d, g));
	put(j, "times", document_times(d, report_times(d->report, g), NULL));
	if (d->o->samples)
		put_samples(d, j, g);
	return j;
}
