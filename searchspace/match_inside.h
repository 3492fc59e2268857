/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * State of one match; shared by match.c, match_draw.c and match_order.c.
 */
#ifndef SEARCHSPACE_MATCH_INSIDE_H
#define SEARCHSPACE_MATCH_INSIDE_H

#include "base/rng.h"
#include "searchspace/candidate.h"
#include "searchspace/graph.h"

enum {              /* what a vertex is in the gap */
	AFTER = 1,  /* reached by a walk from the begin of the gap */
	BEFORE = 2, /* a walk from it reaches the end of the gap */
	INSIDE = 4, /* may be in the gap */
	FIRST = 8,  /* begin of the gap, and a walk leads from there to its end */
	LAST = 16   /* end of the gap */
};

struct vertex_list {
	uint32_t *at, n;
};

/* State of a vertex. All zeroes until it is visited, so the cost depends on the vertices near
 * the gap, not on the size of the graph. */
struct vertex_mark {
	/* Stamps of the last search that visited it, and that put it into a list. */
	uint32_t seen, taken;
	uint32_t hops;    /* with BEFORE: number of steps to the end of the gap */
	uint32_t walk_at; /* position on the walk + 1 */
	/* INSIDE: the neighbours on the walk, before and behind it. */
	uint32_t after, before;
	uint32_t marks;
	double when_ns; /* INSIDE: its time in the gap */
};

/* The gap in time since the begin of its unit. */
struct gap_order {
	bool known; /* both ends are in one unit, and every trace passed each of them once */
	double begin_ns, end_ns;
};

struct matching {
	const struct graph *g;
	const struct labels *labels;
	const uint8_t *const *kinds;
	struct arena *tmp;
	/* By label: on the path or absent, so it would be a neighbour itself. */
	bool *blocked;
	struct vertex_mark *at; /* [nvertices] */
	uint32_t stamp;
	uint32_t *queue;
	struct vertex_list marked; /* all that are AFTER, BEFORE or LAST */
	struct vertex_list inside;
	uint32_t npositioned; /* the first of `inside` that have their time (when_ns) */
	bool met;             /* a walk leads from begin to end of the gap */

	struct vertex_list walk; /* the drawn walk: each vertex at its first occurrence */
	struct gap_time time;
	struct gap_order order;
	double
	    unit_passes; /* how often a trace that passes the gap's unit does; 0: not known, as often as 1 */
};

static inline const struct place *
place_of(const struct matching *m, uint32_t vertex)
{
	return &m->g->vertices[vertex].place;
}

/* Whether every trace of the type passed the label of this vertex, and once. O(vertices of the label). */
bool match_is_once(const struct matching *m, uint32_t vertex);
/* Draws a walk through the gap, if there is one. false: out of memory. O(inside + their steps)
 * expected. */
bool match_draw(struct matching *m, const struct vertex_list *from, struct rng *rng);
/* Sets the times in the gap of the vertices beside the walk. O(inside + their steps). */
bool match_position(
    struct matching *m, const struct vertex_list *from, const struct vertex_list *to);
/* Makes candidates of vertices. Returns their number, or ERR_MEMORY. */
int match_collect(struct matching *m, uint64_t passing, const struct label_set *without,
    struct candidate **ret, struct arena *a, struct err *e);

#endif
