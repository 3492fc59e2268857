/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What may lie in a gap, given its two ends only, for tests that query a learned graph: all points
 * that a walk from one end to the other can pass without passing an end again, a label in `absent`,
 * a fork or a join. match.h uses the whole path; this is simpler and can be checked by enumeration.
 */
#ifndef TESTS_SEARCHSPACE_BETWEEN_H
#define TESTS_SEARCHSPACE_BETWEEN_H

#include <stdlib.h>

#include "searchspace/space_inside.h"

struct between {
	uint32_t label;   /* of a point */
	uint64_t count;   /* how often it was recorded there */
	double offset_ns; /* mean time after the gap's begin, in happens-before order */
	double share;     /* estimated fraction of the gap's traces that pass it: 0..1 */
};

/* ---- walking ---- */

enum { AFTER = 1, BEFORE = 2 };

struct walk {
	const struct graph *g;
	const struct labels *labels;
	const struct gap *gap;
	const struct label_set *absent;
	uint8_t *marks; /* of each vertex */
	uint32_t *queue, n;
};

/*
 * Structure is always on: a fork or a join there would end the gap. The same holds for the ends
 * themselves.
 */
static inline bool
may_pass(const struct walk *w, uint32_t label)
{
	return label != w->gap->from && label != w->gap->to &&
	       (w->absent == NULL || !label_set_has(w->absent, label)) &&
	       labels_get(w->labels, label)->kind == RECORD_POINT;
}

static inline void
reach(struct walk *w, uint32_t vertex, uint8_t mark)
{
	if ((w->marks[vertex] & mark) != 0 || !may_pass(w, w->g->vertices[vertex].place.label))
		return;
	w->marks[vertex] |= mark;
	w->queue[w->n++] = vertex;
}

/* Marks all vertices that a walk can reach from the gap's begin, or backwards from its end. */
static inline void
spread(struct walk *w, uint8_t mark)
{
	const struct graph *g = w->g;
	uint32_t start = mark == AFTER ? w->gap->from : w->gap->to;

	w->n = 0;
	for (uint32_t i = 0; i < g->nvertices; i++)
		if (g->vertices[i].place.label == start &&
		    g->vertices[i].place.unit == w->gap->from_unit)
			w->queue[w->n++] = i;
	for (uint32_t at = 0; at < w->n; at++) {
		const struct vertex *s = &g->vertices[w->queue[at]];

		for (uint32_t i = s->out; mark == AFTER && i != GRAPH_NONE;
		     i = g->steps[i].next_out)
			reach(w, g->steps[i].to, mark);
		for (uint32_t i = s->in; mark == BEFORE && i != GRAPH_NONE; i = g->steps[i].next_in)
			reach(w, g->steps[i].from, mark);
	}
}

/*
 * Writes to between[nvertices], ascending, all vertices of points that a walk can pass from one end
 * of the gap to the other (space_between() states which walks). Returns their number, or
 * GRAPH_NONE: out of memory. O(vertices + steps of the unit).
 */
static inline uint32_t
graph_between(const struct graph *g, const struct labels *labels, const struct gap *gap,
    const struct label_set *absent, uint32_t *between)
{
	struct walk w = { g, labels, gap, absent, calloc(g->nvertices + 1, 1), between, 0 };
	uint32_t n = 0;

	if (w.marks == NULL)
		return GRAPH_NONE;
	spread(&w, AFTER);
	spread(&w, BEFORE);
	for (uint32_t i = 0; i < g->nvertices; i++)
		if (w.marks[i] == (AFTER | BEFORE))
			between[n++] = i;
	free(w.marks);
	return n;
}

/* ---- what may lie between ---- */

struct found {
	struct between candidate;
	uint64_t traces;
	uint32_t order; /* of the first of its places, as learned */
};

/*
 * Places of one label are joined, because a tracepoint is enabled by name. at[label]: its index in
 * `found`, plus 1.
 */
static inline uint32_t
merge_places(
    const struct graph *g, const uint32_t *vertices, uint32_t n, struct found *found, uint32_t *at)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < n; i++) {
		const struct place *p = &g->vertices[vertices[i]].place;
		struct between *c;

		if (at[p->label] == 0) {
			found[count] = (struct found){ .candidate.label = p->label,
				.order = count };
			at[p->label] = ++count;
		}
		c = &found[at[p->label] - 1].candidate;
		c->count += p->count;
		c->offset_ns += (p->offset_ns - c->offset_ns) * (double)p->count / (double)c->count;
		found[at[p->label] - 1].traces += p->traces;
	}
	return count;
}

static inline int
by_offset(const void *x, const void *y)
{
	const struct found *a = (const struct found *)x, *b = (const struct found *)y;

	if (a->candidate.offset_ns != b->candidate.offset_ns)
		return a->candidate.offset_ns < b->candidate.offset_ns ? -1 : 1;
	return a->order < b->order ? -1 : 1;
}

/* Traces that have this end of the gap; never 0. */
static inline uint64_t
passing(const struct graph *g, uint32_t unit, uint32_t label)
{
	uint64_t traces = 0;

	for (uint32_t i = 0; i < g->nvertices; i++)
		if (g->vertices[i].place.label == label && g->vertices[i].place.unit == unit)
			traces += g->vertices[i].place.traces;
	return traces > 0 ? traces : 1;
}

static inline uint32_t
put_out(const struct graph *g, const struct gap *gap, const struct found *found, uint32_t n,
    struct between *out, uint32_t max)
{
	uint64_t from = passing(g, gap->from_unit, gap->from),
		 to = passing(g, gap->to_unit, gap->to);
	double through = (double)(from < to ? from : to);

	if (n > max)
		n = max;
	for (uint32_t i = 0; i < n; i++) {
		out[i] = found[i].candidate;
		out[i].share = (double)found[i].traces < through ? (double)found[i].traces / through
		                                                 : 1;
	}
	return n;
}

/* Returns the number of candidates, at most max, or ERR_MEMORY. */
static inline int
space_between(const struct space *s, uint32_t type, const struct gap *gap,
    const struct label_set *absent, struct between *out, uint32_t max, struct err *e)
{
	const struct graph *g = space_find(s, type);
	struct found *found = NULL;
	uint32_t *vertices, *at, n = GRAPH_NONE;

	if (g == NULL || gap->from_unit != gap->to_unit)
		return 0;
	vertices = malloc((g->nvertices + 1) * sizeof *vertices);
	at = calloc(labels_count(s->labels) + 1, sizeof *at);
	if (vertices != NULL && at != NULL)
		n = graph_between(g, s->labels, gap, absent, vertices);
	if (n != GRAPH_NONE && (found = malloc((n + 1) * sizeof *found)) != NULL) {
		n = merge_places(g, vertices, n, found, at);
		qsort(found, n, sizeof *found, by_offset);
		n = put_out(g, gap, found, n, out, max);
	}
	free(at);
	free(vertices);
	free(found);
	return found != NULL ? (int)n : err_set(e, ERR_MEMORY, "search space: out of memory");
}

#endif
