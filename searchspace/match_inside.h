/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One look for what may lie in a gap; shared by match.c, match_draw.c and match_order.c. */
#ifndef SEARCHSPACE_MATCH_INSIDE_H
#define SEARCHSPACE_MATCH_INSIDE_H

#include "searchspace/graph.h"
#include "searchspace/match.h"

enum {              /* what a vertex is in the gap */
	AFTER = 1,  /* a walk from the gap's begin comes there */
	BEFORE = 2, /* a walk from there comes to the gap's end */
	INSIDE = 4, /* may lie in it */
	FIRST = 8,  /* the gap's begin, and a walk leads from there to its end */
	LAST = 16   /* the gap's end */
};

struct vertex_list {
	uint32_t *at, n;
};

/* What is known of a vertex. All zeroes until it is come to: whoever looks for a narrow gap pays
 * for what lies near it. */
struct vertex_mark {
	uint32_t seen, taken;   /* when it was last come to, and put into a list */
	uint32_t hops;          /* with BEFORE: steps to the gap's end */
	uint32_t walk_at;       /* where on the walk + 1 */
	uint32_t after, before; /* inside: which of the walk's lie next before and behind it */
	uint32_t marks;
	double when_ns; /* inside: its place in the gap */
};

struct matching {
	const struct graph *g;
	const struct labels *labels;
	const uint8_t *const *kinds;
	struct arena *tmp;
	bool *blocked; /* of each label: on the path, or absent: it would be a neighbour itself */
	struct vertex_mark *at; /* [nvertices] */
	uint32_t stamp;
	uint32_t *queue;
	struct vertex_list marked; /* those that are AFTER, BEFORE or LAST */
	struct vertex_list inside;
	uint32_t npositioned; /* of inside: that many have their place (when_ns) */
	bool met;             /* a walk leads from the gap's begin to its end */

	struct vertex_list walk; /* that was drawn: its vertices, each where it came first */
	struct gap_time time;
};

static inline const struct place *
place_of(const struct matching *m, uint32_t vertex)
{
	return &m->g->vertices[vertex].place;
}

/* Draws a walk through the gap, if it was met. false: out of memory. O(inside + their steps). */
bool match_draw(struct matching *m, const struct vertex_list *from, struct rng *rng);
/* Where in the gap the vertices are that the walk does not pass. O(inside + their steps). */
bool match_position(
    struct matching *m, const struct vertex_list *from, const struct vertex_list *to);
/* Of vertices to candidates. How many, or ERR_MEMORY. */
int match_collect(struct matching *m, uint64_t passing, const struct label_set *without,
    struct candidate **ret, struct arena *a, struct err *e);

#endif
