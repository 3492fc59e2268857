/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Makes candidates of vertices. A tracepoint is enabled by its name, wherever it is, so all
 * vertices of one label are one candidate. Its position is where the walk passes the label
 * first, or else the mean of its vertices.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "searchspace/match_inside.h"
#include "searchspace/span.h"

enum { NONE = UINT32_MAX };

/* Of all traces, those that must have passed what all pass; and passages of each of them. */
static const double ALL = 0.95, ONCE = 1.05;

struct label_vertices {
	uint64_t count, traces;
	uint64_t end_count; /* of the step to the partner; the most frequent one decides */
	double offset_ns;
	uint32_t label, partner; /* partner: index into labels, or NONE */
	/* gives its position: on the walk the first one, otherwise the most frequent one */
	uint32_t vertex;
	uint32_t after; /* number of vertices of the walk before it */
	uint32_t out;   /* its index among the candidates; NONE: it is not one */
	bool drawn;
};

struct collection {
	struct matching *m;
	struct label_vertices *labels;
	uint32_t n, *at; /* at: by label, its index in labels + 1 */
};

static void
stand(struct label_vertices *f, const struct matching *m, uint32_t vertex)
{
	f->vertex = vertex;
	f->after = m->at[vertex].after;
}

static void
merge(struct collection *c, uint32_t vertex)
{
	const struct matching *m = c->m;
	const struct place *p = place_of(m, vertex);
	bool drawn = m->at[vertex].walk_at != 0;
	struct label_vertices *f;

	if (c->at[p->label] == 0) {
		c->labels[c->n] = (struct label_vertices){
			.label = p->label, .partner = NONE, .vertex = NONE
		};
		c->at[p->label] = ++c->n;
	}
	f = &c->labels[c->at[p->label] - 1];
	f->count += p->count;
	f->traces += p->traces;
	if (drawn ? !f->drawn || m->at[vertex].walk_at < m->at[f->vertex].walk_at
		  : !f->drawn && (f->vertex == NONE || p->count > place_of(m, f->vertex)->count))
		stand(f, m, vertex);
	if (drawn)
		f->offset_ns = m->at[f->vertex].when_ns;
	else if (!f->drawn)
		f->offset_ns += (m->at[vertex].when_ns - f->offset_ns) * (double)p->count /
		                (double)(f->count > 0 ? f->count : 1);
	f->drawn |= drawn;
}

/* ---- spans ---- */

static struct label_vertices *
collected(const struct collection *c, uint32_t label)
{
	return label != LABEL_NONE && c->at[label] != 0 ? &c->labels[c->at[label] - 1] : NULL;
}

static void
pair_up(
    struct collection *c, struct label_vertices *begin, struct label_vertices *end, uint64_t count)
{
	const struct labels *l = c->m->labels;

	if (begin == NULL || begin == end || count <= begin->end_count || count <= end->end_count ||
	    !spans_pair(labels_get(l, begin->label), labels_get(l, end->label)))
		return;
	if (begin->partner != NONE)
		c->labels[begin->partner].partner = NONE;
	if (end->partner != NONE)
		c->labels[end->partner].partner = NONE;
	begin->partner = (uint32_t)(end - c->labels);
	end->partner = (uint32_t)(begin - c->labels);
	begin->end_count = end->end_count = count;
}

/* Pairs the ends of spans. The end of a span follows something inside it, or its begin if it is
 * empty, and lies in another span than that, except in recursion. */
static void
find_partners(struct collection *c)
{
	const struct matching *m = c->m;

	for (uint32_t i = 0; i < m->inside.n; i++) {
		const struct place *p = place_of(m, m->inside.at[i]);

		for (uint32_t w = m->g->vertices[m->inside.at[i]].out; w != GRAPH_NONE;
		     w = m->g->steps[w].next_out) {
			const struct graph_step *step = &m->g->steps[w];
			const struct place *next = place_of(m, step->to);
			struct label_vertices *end;

			if ((m->at[step->to].marks & INSIDE) == 0 || next->span == p->label)
				continue;
			end = collected(c, next->label);
			if (next->span == p->span)
				pair_up(c, collected(c, p->label), end, step->count);
			if (p->span != LABEL_NONE)
				pair_up(c, collected(c, p->span), end, step->count);
		}
	}
}

/* ---- order ---- */

static int
by_position(const void *x, const void *y)
{
	const struct label_vertices *a = *(struct label_vertices *const *)x,
				    *b = *(struct label_vertices *const *)y;

	if (a->offset_ns != b->offset_ns)
		return a->offset_ns < b->offset_ns ? -1 : 1;
	if (a->after != b->after)
		return a->after < b->after ? -1 : 1;
	return a->vertex < b->vertex ? -1 : 1;
}

/* The labels on the walk are in order; the others are sorted and inserted behind what precedes
 * them. */
static bool
put_in_order(struct collection *c, struct label_vertices **order)
{
	const struct matching *m = c->m;
	struct label_vertices **others = arena_alloc(m->tmp, (c->n + 1) * sizeof *others);
	uint32_t n = 0, nothers = 0, at = 0;

	if (others == NULL)
		return false;
	for (uint32_t i = 0; i < c->n; i++)
		if (!c->labels[i].drawn)
			others[nothers++] = &c->labels[i];
	qsort(others, nothers, sizeof *others, by_position);
	for (uint32_t i = 0; i < m->walk.n; i++) {
		struct label_vertices *f = collected(c, place_of(m, m->walk.at[i])->label);

		if (f == NULL || f->vertex != m->walk.at[i])
			continue;
		while (at < nothers && by_position(&others[at], &f) < 0)
			order[n++] = others[at++];
		order[n++] = f;
	}
	while (at < nothers)
		order[n++] = others[at++];
	return true;
}

/* The innermost span around a label that is a candidate before it. Following spans outwards
 * ends at 64, since recursive spans may form a circle. */
static uint32_t
around(const struct collection *c, const struct label_vertices *f)
{
	uint32_t self = f->out;

	for (uint32_t left = 64; left > 0; left--) {
		const struct label_vertices *span = collected(c, place_of(c->m, f->vertex)->span);

		if (span == NULL || span == f)
			return NONE;
		if (span->out != NONE && span->out < self)
			return span->out;
		f = span;
	}
	return NONE;
}

/* Mean passages of a trace, at all vertices of this one's label. */
static double
passages(const struct matching *m, uint32_t vertex)
{
	uint64_t n = place_of(m, vertex)->count;

	for (uint32_t i = m->g->vertices[vertex].same; i != vertex; i = m->g->vertices[i].same)
		n += place_of(m, i)->count;
	return (double)n / (m->g->traces > 0 ? (double)m->g->traces : 1);
}

bool
match_is_once(const struct matching *m, uint32_t vertex)
{
	const struct place *p = place_of(m, vertex);

	/* what was only glimpsed has the times of other traces */
	return m->g->vertices[vertex].first != 0 && p->traces == p->count &&
	       (double)p->traces >= ALL * (double)m->g->traces && passages(m, vertex) <= ONCE;
}

static bool
is_beside(const struct matching *m, uint32_t vertex)
{
	double offset_ns = place_of(m, vertex)->offset_ns;

	return m->order.known && match_is_once(m, vertex) &&
	       (offset_ns < m->order.begin_ns || offset_ns > m->order.end_ns);
}

static void
fill_candidates(const struct collection *c, struct label_vertices *const *order, uint32_t n,
    uint64_t passing, struct candidate *out)
{
	const struct matching *m = c->m;
	double through = passing > 0 ? (double)passing : 1;

	for (uint32_t i = 0; i < n; i++) {
		const struct label_vertices *f = order[i];
		struct candidate *o = &out[i];

		*o = (struct candidate){ .label = f->label,
			.around = around(c, f),
			.drawn = f->drawn,
			.count = f->count,
			.offset_ns = f->offset_ns,
			.partner = f->partner != NONE ? c->labels[f->partner].out : NONE };
		o->share = (double)f->traces < through ? (double)f->traces / through : 1;
		o->per_trace = passages(m, f->vertex);
		o->in_gap = (double)f->count /
		            (fmax(1e-9, o->share) * through * fmax(1, m->unit_passes));
		o->beside = is_beside(m, f->vertex);
	}
}

int
match_collect(struct matching *m, uint64_t passing, const struct label_set *without,
    struct candidate **ret, struct arena *a, struct err *e)
{
	struct collection c = { m };
	struct label_vertices **order = arena_alloc(m->tmp, (m->inside.n + 1) * sizeof *order);
	uint32_t n = 0;

	if (m->inside.n == 0)
		return 0;
	c.labels = arena_alloc(m->tmp, m->inside.n * sizeof *c.labels);
	c.at = arena_calloc(m->tmp, labels_count(m->labels) + 1, sizeof *c.at);
	if (order == NULL || c.labels == NULL || c.at == NULL)
		goto full;
	for (uint32_t i = 0; i < m->inside.n; i++)
		if (kind_in(m->kinds, place_of(m, m->inside.at[i])->label) == RECORD_POINT)
			merge(&c, m->inside.at[i]);
	find_partners(&c);
	if (!put_in_order(&c, order))
		goto full;
	for (uint32_t i = 0; i < c.n; i++) {
		order[i]->out = without != NULL && label_set_has(without, order[i]->label) ? NONE
		                                                                           : n;
		if (order[i]->out != NONE)
			order[n++] = order[i];
	}
	if ((*ret = arena_alloc(a, (n + 1) * sizeof **ret)) == NULL)
		goto full;
	fill_candidates(&c, order, n, passing, *ret);
	return (int)n;
full:
	return err_set(e, ERR_MEMORY, "search space: out of memory");
}
