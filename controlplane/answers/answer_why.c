/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Explains a trace by the hypotheses that it was evidence of, or a tracepoint by its log. */
#include "controlplane/answers/answer_inside.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/quantile.h"

/* ---- a trace that was evidence ---- */

/* The hypotheses from the root of its tree to h. */
static json_t *
way_json(const struct forest *f, const struct hypothesis *h)
{
	json_t *way = json_array();

	for (; h != NULL; h = h->parent != 0 ? forest_get(f, h->parent) : NULL) {
		char presence[2] = { h->presence, '\0' };

		json_array_insert_new(way, 0,
		    json_pack("{s:I, s:s, s:o, s:s}", "id", (json_int_t)h->id, "presence", presence,
			"tracepoint", answer_text(h->tracepoint), "state",
			hypothesis_word(h->state)));
	}
	return way;
}

/* The hypothesis, with the trace's times beside the usual ones. */
static json_t *
match_json(const struct forest *f, const struct hypothesis *h, double total_ns, double edge_ns,
    double usual_total_ns, double usual_edge_ns)
{
	const struct run *r = forest_run(f, h->run);
	json_t *j = answer_hypothesis(h);

	json_object_set_new(j, "run", json_integer((json_int_t)h->run));
	json_object_set_new(j, "type", answer_text(r != NULL ? r->type : ""));
	json_object_set_new(j, "way", way_json(f, h));
	json_object_set_new(j, "total_ms", number_json(total_ns / 1e6));
	json_object_set_new(j, "usual_total_ms", number_json(usual_total_ns / 1e6));
	json_object_set_new(j, "edge_ms", number_json(edge_ns / 1e6));
	json_object_set_new(j, "usual_edge_ms", number_json(usual_edge_ns / 1e6));
	return j;
}

static void
add_evidence(const struct forest *f, struct trace_id id, json_t *matches)
{
	const struct evidence *v;
	uint64_t at = 0;

	while ((v = forest_evidence(f, id, &at)) != NULL) {
		const struct hypothesis *h = forest_get(f, v->hypothesis);

		double mean_ns = h != NULL && h->mean_ns > 0 ? h->mean_ns
		                                             : NAN; /* 0: not measured */

		if (h != NULL)
			json_array_append_new(
			    matches, match_json(f, h, (double)v->total_ns, (double)v->edge_ns,
					 mean_ns, mean_ns * h->latency_share));
	}
}

/* ---- a trace of the live report ---- */

/* A request that the live report keeps. */
struct live_request {
	const struct group *group;
	const struct sample *sample; /* NULL: only the response time is kept */
	int64_t total_ns;
};

static bool
in_group(const struct group *g, struct trace_id id, struct live_request *ret)
{
	const struct exemplar *ends[] = { &g->slowest, &g->fastest };

	for (uint32_t i = 0; i < g->nsamples; i++)
		if (answer_same_id(g->samples[i].id, id)) {
			*ret = (struct live_request){ g, &g->samples[i], g->samples[i].total_ns };
			return true;
		}
	for (int i = 0; i < 2; i++)
		if (ends[i]->total_ns >= 0 && answer_same_id(ends[i]->id, id)) {
			*ret = (struct live_request){ g, NULL, ends[i]->total_ns };
			return true;
		}
	return false;
}

static bool
in_report(const struct engine *g, struct trace_id id, struct live_request *ret)
{
	const struct group *group;

	for (uint32_t i = 0; engine_parts_of(g)->live.report != NULL &&
			     (group = report_group(engine_parts_of(g)->live.report, i)) != NULL;
	     i++)
		if (in_group(group, id, ret))
			return true;
	return false;
}

/* The first edge of the shape with the hypothesis' labels, or nedges. */
static uint32_t
edge_of(const struct engine *g, const struct shape *s, const struct hypothesis *h)
{
	uint32_t i;

	for (i = 0; i < s->nedges; i++)
		if (strcmp(labels_get(engine_parts_of(g)->labels, s->edges[i].from)->text,
			h->edge_from) == 0 &&
		    strcmp(labels_get(engine_parts_of(g)->labels, s->edges[i].to)->text,
			h->edge_to) == 0)
			break;
	return i;
}

static int
by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Median over the group's samples of an edge, or (edge = nedges) of the response time. NAN: there are
 * no samples. O(n log n). */
static double
usual_ns(const struct group *g, uint32_t edge)
{
	double *x = calloc(g->nsamples + 1, sizeof *x), median = NAN;

	for (uint32_t i = 0; x != NULL && i < g->nsamples; i++)
		x[i] = edge < g->shape.nedges ? g->samples[i].edges_ns[edge]
		                              : (double)g->samples[i].total_ns;
	if (x != NULL && g->nsamples > 0) {
		qsort(x, g->nsamples, sizeof *x, by_value);
		median = x[quantile_rank(g->nsamples, 0.5)];
	}
	free(x);
	return median;
}

static void
add_live(
    const struct engine *g, const struct forest *f, const struct live_request *l, json_t *matches)
{
	const struct shape *s = &l->group->shape;
	const struct hypothesis *h;
	const struct run *r;
	uint64_t run_at = 0;

	while ((r = forest_run_next(f, &run_at)) != NULL)
		for (uint64_t at = 0; (h = forest_next(f, r->id, &at)) != NULL;) {
			uint32_t edge;

			if (h->group_key[0] != s->key.a || h->group_key[1] != s->key.b)
				continue;
			edge = edge_of(g, s, h);
			json_array_insert_new(matches, 0,
			    match_json(f, h, (double)l->total_ns,
				l->sample != NULL && edge < s->nedges ? l->sample->edges_ns[edge]
								      : NAN,
				usual_ns(l->group, s->nedges),
				edge < s->nedges ? usual_ns(l->group, edge) : NAN));
		}
}

/* The times of a request on the edges of its group, beside the medians of the group. */
static json_t *
live_json(const struct engine *g, const struct live_request *l)
{
	const struct shape *s = &l->group->shape;
	json_t *edges = json_array();

	for (uint32_t i = 0; l->sample != NULL && i < s->nedges; i++)
		json_array_append_new(edges,
		    json_pack("{s:o, s:o, s:o, s:o}", "from",
			answer_text(labels_get(engine_parts_of(g)->labels, s->edges[i].from)->text),
			"to",
			answer_text(labels_get(engine_parts_of(g)->labels, s->edges[i].to)->text),
			"ms", number_json(l->sample->edges_ns[i] / 1e6), "usual_ms",
			number_json(usual_ns(l->group, i) / 1e6)));
	return json_pack("{s:o, s:I, s:o, s:o, s:o}", "type",
	    answer_text(labels_get(engine_parts_of(g)->labels, l->group->type)->text), "traces",
	    (json_int_t)l->group->total.n, "total_ms", number_json((double)l->total_ns / 1e6),
	    "usual_total_ms", number_json(usual_ns(l->group, s->nedges) / 1e6), "edges", edges);
}

/* ---- of a trace ---- */

/* The verdict that has the trace as an example, which is not always among the evidence; or NULL. */
static const struct verdict *
named_by(const struct forest *f, struct trace_id id)
{
	const struct verdict *v;
	const struct run *r;
	uint64_t at = 0;

	while ((r = forest_run_next(f, &at)) != NULL)
		for (uint32_t rank = 1; (v = forest_verdict(f, r->id, rank)) != NULL; rank++)
			if ((v->slowest.low == id.low &&
				(id.high == 0 || v->slowest.high == id.high)) ||
			    (v->fastest.low == id.low &&
				(id.high == 0 || v->fastest.high == id.high)))
				return v;
	return NULL;
}

/* v: the verdict whose slowest trace this is, or NULL. */
static json_t *
why_trace(
    const struct engine *g, const struct forest *f, struct trace_id id, const struct verdict *v)
{
	const struct verdict *named = v != NULL ? v : named_by(f, id);
	json_t *matches = json_array(), *live = json_null();
	struct live_request found;

	add_evidence(f, id, matches);
	/* The verdict comes before the live report, which knows only always-on labels and is empty
	 * after a restart: the answer is the same on both sides of one. */
	if (json_array_size(matches) == 0 && named != NULL &&
	    forest_get(f, named->hypothesis) != NULL)
		json_array_append_new(
		    matches, match_json(f, forest_get(f, named->hypothesis),
				 named->slowest.low == id.low ? (double)named->slowest_ns
							      : (double)named->fastest_ns,
				 NAN, named->mean_ns, named->mean_ns * named->latency_share));
	if (in_report(g, id, &found)) {
		if (json_array_size(matches) == 0)
			add_live(g, f, &found, matches);
		live = live_json(g, &found);
	}
	if (json_array_size(matches) == 0 && json_is_null(live)) {
		json_decref(matches);
		return answer_refuse(ERR_MISSING,
		    "unknown trace: neither the evidence of a diagnosis nor the live report has it");
	}
	return json_pack("{s:o, s:o, s:o, s:o}", "trace", answer_id(id), "matches", matches, "live",
	    live, "verdict", v != NULL ? answer_verdict(g, v, true) : json_null());
}

static json_t *
why_slowest(const struct engine *g, const struct forest *f, const char *type)
{
	const struct run *r = answer_last_verdict(f, type);
	const struct verdict *v = r != NULL ? forest_verdict(f, r->id, 1) : NULL;
	json_t *a;

	if (v == NULL && type != NULL)
		return answer_refuse(ERR_MISSING,
		    "%.80s: no diagnosis of it has a verdict; 'hone start %.80s' begins one", type,
		    type);
	if (v == NULL)
		return answer_refuse(
		    ERR_MISSING, "no diagnosis has a verdict yet; 'hone start TYPE' begins one");
	if (v->slowest.low == 0 && v->slowest.high == 0)
		return answer_refuse(ERR_MISSING,
		    "%.80s: the verdict of diagnosis %llu has no example trace", r->type,
		    (unsigned long long)r->id);
	a = why_trace(g, f, v->slowest, v);
	json_object_set_new(a, "run", json_integer((json_int_t)r->id));
	json_object_set_new(a, "type", answer_text(r->type));
	return a;
}

/* ---- of a tracepoint ---- */

static json_t *
switch_json(const struct forest *f, const struct switched *s)
{
	const struct hypothesis *h = s->hypothesis != 0 ? forest_get(f, s->hypothesis) : NULL;
	const struct run *r = forest_run(f, s->run);

	return json_pack("{s:o, s:b, s:o, s:o, s:i, s:o, s:o, s:o, s:o, s:o, s:o}", "when",
	    wall_json(s->when), "on", s->on, "run", answer_number_id(s->run), "type",
	    answer_text(r != NULL ? r->type : ""), "cycle", (int)s->cycle, "hypothesis",
	    answer_number_id(s->hypothesis), "reason", answer_reason(s->reason), "subject",
	    answer_text(s->subject), "text", answer_text(s->text), "outcome",
	    h != NULL ? json_string(hypothesis_word(h->state)) : json_null(), "outcome_reason",
	    h != NULL ? answer_reason(h->reason) : json_null());
}

struct tracepoint_now { /* over all programs that have it */
	json_t *services;
	uint8_t level;                 /* that the first of them lists; LOGLEVEL_NONE: none does */
	bool by_level;                 /* on at some node, */
	const struct level_rule *rule; /* by this one; NULL: none covers it */
};

static void
take_binary(
    struct tracepoint_now *x, const struct binary *b, const char *name, const struct levels *l)
{
	const struct level_rule *rule = level_rules_find(&l->rules, b->service);

	for (uint32_t i = 0; i < b->n; i++) {
		if (strcmp(b->names[i], name) != 0)
			continue;
		json_object_set_new(x->services, b->service, json_true());
		if (x->level == LOGLEVEL_NONE)
			x->level = b->levels[i];
		if (x->rule == NULL && rule != NULL && level_covers(rule->level, b->levels[i]))
			x->rule = rule;
	}
}

static struct tracepoint_now
find_tracepoint(const struct engine *g, const char *name)
{
	const struct engine_parts *e = engine_parts_of(g);
	struct tracepoint_now x = { json_object(), .level = LOGLEVEL_NONE };

	for (uint32_t i = 0; i < e->nodes.n; i++) {
		const struct node *n = &e->nodes.items[i];
		struct level_choice on = levels_of(&e->levels, i);

		for (uint32_t k = 0; k < n->nbinaries; k++)
			take_binary(&x, n->binaries[k], name, &e->levels);
		x.by_level |= n->connected && level_choice_has(&on, name);
	}
	return x;
}

static json_t *
keys_of(json_t *object)
{
	json_t *list = json_array(), *at;
	const char *key;

	json_object_foreach (object, key, at)
		json_array_append_new(list, json_string(key));
	return list;
}

/* The hypothesis in the answer is the oldest that needs the tracepoint; the log has the others. */
static json_t *
why_tracepoint(const struct engine *g, const struct forest *f, const char *name)
{
	const struct engine_parts *e = engine_parts_of(g);
	struct tracepoint_now now = find_tracepoint(g, name);
	json_t *log = json_array(), *services = keys_of(now.services);
	const struct switched *s;
	uint64_t at = 0, owner = OWNER_LEARN;
	bool planned = answer_planned(g, name, &owner);

	json_decref(now.services);
	while ((s = forest_switched_next(f, name, &at)) != NULL)
		json_array_append_new(log, switch_json(f, s));
	if (json_array_size(log) == 0 && json_array_size(services) == 0 && !planned) {
		json_decref(log);
		json_decref(services);
		return answer_refuse(ERR_MISSING,
		    "%.200s: no program has this tracepoint, and it was never enabled; "
		    "'hone tracepoints' lists them",
		    name);
	}
	return json_pack("{s:o, s:b, s:o, s:b, s:o, s:o, s:o, s:o, s:o}", "tracepoint",
	    answer_text(name), "on", planned || now.by_level, "hypothesis", answer_number_id(owner),
	    "learning", planned && e->learning.active && owner == OWNER_LEARN, "level",
	    answer_level(now.level), "by_level", answer_level_rule(now.by_level ? now.rule : NULL),
	    "levels_held", now.rule != NULL ? answer_levels_held(&e->levels) : json_null(),
	    "services", services, "switched", log);
}

/* ---- asked ---- */

json_t *
ask_why(struct engine *g, struct forest *f, const struct answer_context *c, const json_t *ask)
{
	const char *trace = json_string_value(json_object_get(ask, "trace"));
	const char *tracepoint = json_string_value(json_object_get(ask, "tracepoint"));
	const char *type = json_string_value(json_object_get(ask, "type"));
	struct trace_id id;

	(void)c;
	if ((trace != NULL) + (tracepoint != NULL) + (type != NULL) > 1)
		return answer_refuse(
		    ERR_INPUT, "give only one of \"trace\", \"type\" and \"tracepoint\"");
	if (tracepoint != NULL) {
		const char *slash = strchr(tracepoint, '/');

		return why_tracepoint(g, f, slash != NULL ? slash + 1 : tracepoint);
	}
	if (trace == NULL)
		return why_slowest(g, f, type);
	if (!answer_read_id(trace, &id))
		return answer_refuse(
		    ERR_INPUT, "%.40s: not a trace id: 16 or 32 hex digits, not 0", trace);
	return why_trace(g, f, id, NULL);
}
