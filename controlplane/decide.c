/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a cycle's groups say: which matters most, which edge carries it, which tracepoints helped, and the verdict. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controlplane/diagnose.h"

enum { RANKED_MAX = 4, ROUNDS = 100, ROUNDS_VERDICT = 1000, PLENTY = 150 };
static const double SEPARATES_MIN = 0.5;	/* between-group share of variance */

static double rank(const struct group *g, double slow_ns);
static uint32_t rank_groups(const struct diagnosis *d, double slow_ns, uint64_t traces_min,
    struct group *best[RANKED_MAX]);
static bool narrowest(const struct diagnosis *d, const struct group *g, const struct finding *f, uint32_t *edge,
    double *share, struct arena *a);
static bool stands_out(const struct finding *f, uint32_t edge);
static bool shape_has(const struct shape *s, uint32_t label);
static double separation(const struct diagnosis *d, uint32_t label);
static bool print_words(struct run *r, const struct run_verdict *v, struct engine *g);
static bool verdict_keep(struct engine *g, struct diagnosis *d, const struct choice *c, struct err *e);

static int64_t
slow_ns(const struct engine *g, const struct diagnosis *d)
{
	return (int64_t)sketch_quantile_most(&d->sketch, g->o.conditions.slow_quantile);
}

int
choose(struct choice *ret, struct engine *g, struct diagnosis *d, bool late, struct err *e)
{
	struct group *best[RANKED_MAX];
	double slow = (double)slow_ns(g, d), most = 0;
	uint32_t n = rank_groups(d, slow, g->o.conditions.traces_min, best);
	int rc;

	*ret = (struct choice){ 0 };
	for (uint32_t i = 0; i < n; i++) {
		struct choice c = { .group = best[i] };
		double weight;

		rc = finding_of(&c.finding, best[i], &g->o.conditions, slow, ROUNDS, d->seed, &g->scratch, e);
		if (rc != 0)
			return rc;
		if (c.finding.problem != PROBLEM_UNPREDICTABLE && c.finding.problem != PROBLEM_SLOW)
			continue;
		c.edge = c.finding.top;
		c.gap_share = 1;
		if (d->has_gap && !narrowest(d, best[i], &c.finding, &c.edge, &c.gap_share, &g->scratch))
			continue;
		if (!late && best[i]->total.n < PLENTY && !stands_out(&c.finding, c.edge))
			continue;
		if (!late && d->has_gap && c.gap_share < d->gap_share / 2)
			continue;	/* another problem than ours is in front just now */
		weight = c.finding.cost_ns * (c.gap_share > 0 ? c.gap_share : 0);
		if (weight > most) {
			most = weight;
			*ret = c;
		}
	}
	return 0;
}

/* Whether an edge's share is surely larger than any other's: then a few traces are enough to go on with it. */
static bool
stands_out(const struct finding *f, uint32_t edge)
{
	for (uint32_t i = 0; i < f->nedges; i++)
		if (i != edge && f->edges[i].interval.high >= f->edges[edge].interval.low)
			return false;
	return true;
}

/* The few groups by which most waiting is caused. */
static uint32_t
rank_groups(const struct diagnosis *d, double slow, uint64_t traces_min, struct group *best[RANKED_MAX])
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < groups_count(d->groups); i++) {
		struct group *group = groups_at(d->groups, i);
		uint32_t at;

		if (group->total.n < traces_min)
			continue;
		for (at = n; at > 0 && rank(best[at - 1], slow) < rank(group, slow); at--)
			;
		if (at == RANKED_MAX)
			continue;
		if (n < RANKED_MAX)
			n++;
		memmove(&best[at + 1], &best[at], (n - 1 - at) * sizeof best[0]);
		best[at] = group;
	}
	return n;
}

/* A cheap stand-in for a finding's cost. */
static double
rank(const struct group *g, double slow)
{
	double n = (double)g->total.n;

	return n * sqrt(moments_variance(&g->total)) + (g->total.mean > slow ? n * (g->total.mean - slow) : 0);
}

/* The smallest loop with that token and a gap's end before it; or NULL. */
static const struct shape_loop *
loop_back(const struct shape *s, uint32_t token, uint32_t to)
{
	const struct shape_loop *best = NULL;

	for (uint32_t i = 0; i < s->nloops; i++) {
		const struct shape_loop *l = &s->loops[i];
		bool has_to = false;

		if (token < l->first || token > l->last || (best != NULL && best->last - best->first <= l->last - l->first))
			continue;
		for (uint32_t j = l->first; j <= token && !has_to; j++)
			has_to = s->tokens[j] == to;
		if (has_to)
			best = l;
	}
	return best;
}

/* From which tokens the gap's edges lead, if its end is behind its begin... */
static void
mark_ahead(const struct shape *s, const struct gap *gap, bool *inside)
{
	bool in = false;

	for (uint32_t i = 0; i < s->ntokens; i++) {
		in = s->tokens[i] == gap->from || (in && s->tokens[i] != gap->to);
		inside[i] = in;
	}
}

/* ... and if it goes round a loop: to that loop's last token. */
static void
mark_back(const struct shape *s, const struct gap *gap, bool *inside)
{
	for (uint32_t i = 0; i < s->ntokens; i++) {
		const struct shape_loop *l = s->tokens[i] == gap->from ? loop_back(s, i, gap->to) : NULL;
		uint32_t last = l != NULL ? l->last : s->ntokens - 1;

		for (uint32_t j = i; s->tokens[i] == gap->from && j <= last; j++)
			inside[j] = true;
	}
}

/*
 * What the gap has become in this group: the edges from its one end to its
 * other. An edge that goes round a loop belongs to it when the whole loop does, or
 * when the gap itself goes round (its end stands before its begin).
 */
static bool
narrowest(const struct diagnosis *d, const struct group *g, const struct finding *f, uint32_t *edge, double *share,
    struct arena *a)
{
	const struct shape *s = &g->shape;
	bool *inside = arena_calloc(a, s->ntokens, sizeof *inside);
	bool seen = false, ahead = false, any = false;

	if (inside == NULL)
		return false;
	for (uint32_t i = 0; i < s->ntokens; i++) {
		ahead |= seen && s->tokens[i] == d->gap.to;
		seen |= s->tokens[i] == d->gap.from;
	}
	(ahead ? mark_ahead : mark_back)(s, &d->gap, inside);
	*share = 0;
	for (uint32_t i = 0; i < s->nedges; i++) {
		const struct shape_edge *x = &s->edges[i];
		bool back = x->to_token <= x->from_token;

		if (!inside[x->from_token] || (back == ahead && !inside[x->to_token]))
			continue;
		*share += f->edges[i].share;
		if (!any || f->edges[i].share > f->edges[*edge].share)
			*edge = i;
		any = true;
	}
	return any;
}

static bool
shape_has(const struct shape *s, uint32_t label)
{
	for (uint32_t i = 0; i < s->ntokens; i++)
		if (s->tokens[i] == label)
			return true;
	return false;
}

/* ---- settling ---- */

struct hypothesis *
hypothesis_from(struct engine *g, struct diagnosis *d, uint64_t parent, struct wall when)
{
	struct hypothesis *h = forest_hypothesis_new(g->forest, d->run->id, parent);

	if (h == NULL)
		return NULL;
	h->cycle = d->run->cycles;
	h->presence = ' ';
	h->made = when;
	forest_touch(g->forest, h);
	return h;
}

void
hypothesis_motive(struct engine *g, struct hypothesis *h, const struct choice *c)
{
	const struct shape_edge *edge = &c->group->shape.edges[c->edge];
	const struct edge_share *s = &c->finding.edges[c->edge];
	struct buf path = { 0 };

	shape_print(&c->group->shape, g->labels, UINT32_MAX, &path);
	buf_u8(&path, 0);
	if (!path.failed)
		hypothesis_text(&h->group_shape, (const char *)path.data);
	buf_release(&path);
	hypothesis_text(&h->edge_from, labels_get(g->labels, edge->from)->text);
	hypothesis_text(&h->edge_to, labels_get(g->labels, edge->to)->text);
	h->group_key[0] = c->group->shape.key.a;
	h->group_key[1] = c->group->shape.key.b;
	h->traces = c->group->total.n;
	h->mean_ns = c->finding.mean_ns;
	h->cv = c->finding.cv;
	h->share = s->share;
	h->share_low = s->interval.low;
	h->share_high = s->interval.high;
	h->latency_share = s->latency_share;
	h->exemplar_slow = c->group->slowest.id.low;
	h->exemplar_fast = c->group->fastest.id.low;
	forest_touch(g->forest, h);
}

void
hypothesis_settle(struct engine *g, struct hypothesis *h, enum hypothesis_state s, const struct choice *c,
    struct wall when)
{
	h->state = s;
	h->settled = when;
	if (c != NULL) {
		const struct edge_share *share = &c->finding.edges[c->edge];

		h->settled_traces = c->group->total.n;
		h->settled_share = share->share;
		h->settled_low = share->interval.low;
		h->settled_high = share->interval.high;
	}
	forest_touch(g->forest, h);
}

/*
 * A tracepoint helped if it is an end of the smaller edge, or if traces with it
 * and without it differ. The others go off at once, as do older ones that are no
 * end any more. Those that these traces do not have tell where not to look.
 */
int
settle_picks(struct engine *g, struct diagnosis *d, const struct choice *c, bool spread, struct wall when,
    struct err *e)
{
	const struct shape_edge *edge = &c->group->shape.edges[c->edge];
	uint32_t from = spread ? d->gap.from : edge->from, to = spread ? d->gap.to : edge->to;
	uint32_t first = d->non - d->npicks;
	struct hypothesis *heir = NULL;

	for (uint32_t i = d->non; i-- > 0;) {
		struct pick p = d->on[i];
		bool end = p.label == from || p.label == to;
		bool absent = !shape_has(&c->group->shape, p.label);
		double apart = absent ? separation(d, p.label) : 0;

		if (absent && !label_set_add(&d->absent, p.label))
			return err_set(e, ERR_MEMORY, "%s: out of memory", d->run->type);
		if (i >= first) {
			hypothesis_motive(g, p.hypothesis, c);
			hypothesis_settle(g, p.hypothesis, end ? HYPOTHESIS_ISOLATES :
			    apart >= SEPARATES_MIN ? HYPOTHESIS_SEPARATES : HYPOTHESIS_NO_HELP, c, when);
			if (absent)
				p.hypothesis->presence = '~';
			if (end)
				heir = p.hypothesis;
		}
		if (!end && apart < SEPARATES_MIN)
			turn_off(g, d, p.label, "it did not help", when);
	}
	d->npicks = 0;
	if (heir != NULL)
		d->current = heir;
	return 0;
}

/* How much of the response times' variance lies between the traces with this label and those without it. */
static double
separation(const struct diagnosis *d, uint32_t label)
{
	struct moments side[2] = { { 0 } }, all;
	double between = 0;

	for (uint32_t i = 0; i < groups_count(d->groups); i++) {
		const struct group *group = groups_at(d->groups, i);

		moments_merge(&side[shape_has(&group->shape, label)], &group->total);
	}
	all = side[0];
	moments_merge(&all, &side[1]);
	if (side[0].n == 0 || side[1].n == 0 || all.m2 <= 0)
		return 0;
	for (int i = 0; i < 2; i++)
		between += (double)side[i].n * (side[i].mean - all.mean) * (side[i].mean - all.mean);
	return between / all.m2;
}

int
settle_separated(struct engine *g, struct diagnosis *d, struct wall when, struct err *e)
{
	struct pick *best = NULL;
	double most = SEPARATES_MIN;
	char words[700];

	(void)e;
	for (uint32_t i = d->non - d->npicks; i < d->non; i++) {
		double apart = separation(d, d->on[i].label);

		if (apart >= most) {
			most = apart;
			best = &d->on[i];
		}
	}
	if (best == NULL)
		return 0;
	best->hypothesis->settled_share = most;
	best->hypothesis->settled_traces = d->cycle_traces;
	hypothesis_settle(g, best->hypothesis, HYPOTHESIS_SEPARATES, NULL, when);
	d->run->verdict = best->hypothesis->id;
	snprintf(words, sizeof words, "whether a request passes %s tells slow from fast: %.0f %% of the variance of its "
	    "response times lies between those that do and those that do not", best->hypothesis->tracepoint, most * 100);
	diagnose_end(g, d, RUN_FOUND, words, when);
	return 0;
}

/* ---- the verdict ---- */

/* One number for how well a key explains: the stronger of both correlations, or the root of a category's share. */
double
key_r(const struct key_finding *k)
{
	if (!k->numeric)
		return sqrt(k->share);
	return fabs(k->rho) > fabs(k->r) ? k->rho : k->r;
}

int
conclude(struct engine *g, struct diagnosis *d, const struct choice *c, bool bottom, struct wall when,
    struct err *e)
{
	struct hypothesis *h = hypothesis_from(g, d, d->current->id, when);
	struct run_verdict *v;

	if (h == NULL || !verdict_keep(g, d, c, e))
		return err_set(e, ERR_MEMORY, "%s: out of memory", d->run->type);
	v = d->verdict;
	v->bottom = bottom;
	v->spread = d->closing;
	hypothesis_motive(g, h, c);
	if (v->key != NULL) {
		hypothesis_text(&h->key, v->key);
		h->key_r = key_r(&v->key_finding);
		h->key_p = v->key_finding.p;
		h->key_n = v->key_finding.n;
	}
	hypothesis_settle(g, h, v->key != NULL ? HYPOTHESIS_EXPLAINED : HYPOTHESIS_BOTTOM, c, when);
	d->run->verdict = h->id;
	if (!print_words(d->run, v, g))
		return err_set(e, ERR_MEMORY, "%s: out of memory", d->run->type);
	diagnose_end(g, d, RUN_FOUND, NULL, when);
	return 0;
}

/* Labels and brackets, one on each line, terminated. */
static void
print_path(const struct shape *s, const struct labels *labels, struct buf *out)
{
	for (uint32_t i = 0; i < s->ntokens; i++) {
		buf_printf(out, "%s", i > 0 ? "\n" : "");
		for (uint32_t n = shape_opens(s, i); n > 0; n--)
			buf_printf(out, "(\n");
		buf_printf(out, "%s", labels_get(labels, s->tokens[i])->text);
		for (uint32_t n = shape_closes(s, i); n > 0; n--)
			buf_printf(out, "\n)+");
	}
	buf_u8(out, 0);
}

/* All that the verdict says outlives the groups it was read from. */
static bool
verdict_keep(struct engine *g, struct diagnosis *d, const struct choice *c, struct err *e)
{
	struct run_verdict *v = d->verdict = calloc(1, sizeof *v);
	const struct shape_edge *edge = &c->group->shape.edges[c->edge];
	struct key_finding *keys;
	struct buf text = { 0 };
	int found;

	if (v == NULL || finding_of(&v->finding, c->group, &g->o.conditions, (double)slow_ns(g, d), ROUNDS_VERDICT,
	    d->seed, &g->scratch, e) != 0 || what_if_of(&v->what_if, c->group, c->edge, g->o.conditions.confidence,
	    ROUNDS_VERDICT, d->seed, &g->scratch, e) != 0)
		return false;
	v->edge = v->finding.edges[c->edge];
	v->finding.edges = NULL;
	v->from = strdup(labels_get(g->labels, edge->from)->text);
	v->to = strdup(labels_get(g->labels, edge->to)->text);
	v->traces = c->group->total.n;
	v->slowest = c->group->slowest;
	v->fastest = c->group->fastest;
	print_path(&c->group->shape, g->labels, &text);
	v->path = text.failed ? NULL : (char *)text.data;
	found = keys_explain(&keys, c->group, c->edge, 0.01, g->o.explain_min, &g->scratch, e);
	if (found > 0) {
		struct buf name = { 0 };

		key_print(c->group, &c->group->keys[keys[0].key], g->labels, &name);
		buf_u8(&name, 0);
		v->key = name.failed ? NULL : (char *)name.data;
		v->key_finding = keys[0];
	}
	return found >= 0 && v->from != NULL && v->to != NULL && v->path != NULL;
}

static bool
print_words(struct run *r, const struct run_verdict *v, struct engine *g)
{
	struct buf b = { 0 };
	bool ok;

	buf_printf(&b, "%.0f %% (%.0f to %.0f %%, confidence %.0f %%) of the %s of %llu requests %s lies between %s and %s",
	    v->edge.share * 100, v->edge.interval.low * 100, v->edge.interval.high * 100,
	    g->o.conditions.confidence * 100, v->finding.problem == PROBLEM_SLOW ? "latency" : "variance",
	    (unsigned long long)v->traces, r->type, v->from, v->to);
	if (v->key != NULL && v->key_finding.numeric)
		buf_printf(&b, "; %s explains it (R = %.2f, n = %u)", v->key, key_r(&v->key_finding), v->key_finding.n);
	else if (v->key != NULL)
		buf_printf(&b, "; %s explains it (%.0f %% of its variance, n = %u)", v->key, v->key_finding.share * 100,
		    v->key_finding.n);
	buf_printf(&b, v->bottom ? "; no tracepoint is left between them" : v->spread ?
	    "; it is spread over what lies between them, no part has most of it" : "; the search was cut short there");
	buf_u8(&b, 0);
	ok = !b.failed && hypothesis_text(&r->words, (const char *)b.data);
	buf_release(&b);
	return ok;
}
