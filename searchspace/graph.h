/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The merged graph of one request type; for space.c and for the door that keeps it in a file. */
#ifndef SEARCHSPACE_GRAPH_H
#define SEARCHSPACE_GRAPH_H

#include "base/hash.h"
#include "searchspace/space.h"

enum {
	GRAPH_NONE = UINT32_MAX,
	GRAPH_PLACES_MAX = 1 << 20,	/* of one type; traces of bad input must not take all memory */
	GRAPH_STEPS_MAX = 1 << 22
};

struct spot {
	struct place place;
	uint64_t first, last;	/* numbers of the traces that had it first and last, from 1 */
	uint32_t out, in;	/* its newest steps, or GRAPH_NONE */
};

struct way {			/* a step that was taken */
	uint32_t from, to;	/* spots */
	uint32_t next_out, next_in;	/* the next older one of the same from, of the same to */
	uint64_t count;
	double   mean_ns;
};

struct graph {
	uint32_t type;		/* label of request_begin */
	uint64_t traces;
	struct spot *spots;
	struct way *ways;
	uint32_t nspots, spots_cap, nways, ways_cap, ncontexts;
	struct map context_of;	/* unit << 32 | span -> number of the pair + 1 */
	struct map spot_of;	/* that number << 32 | label -> spot + 1 */
	struct map way_of;	/* from << 32 | to -> way + 1 */
};

/* Found or made; GRAPH_NONE: out of memory, or of what a graph may take. O(1). */
uint32_t graph_spot(struct graph *g, uint32_t unit, uint32_t span, uint32_t label);
uint32_t graph_way(struct graph *g, uint32_t from, uint32_t to);

/* Adds what the traces of `from` taught, as if they had come after those of g. 0 or ERR_MEMORY. */
int  graph_merge(struct graph *g, const struct graph *from, struct err *e);

/* Writes to between[nspots], ascending, all spots of points that a walk can pass from the gap's one end to its
 * other (space_between() says which walks). How many, or GRAPH_NONE: out of memory. O(spots + steps of the unit). */
uint32_t graph_between(const struct graph *g, const struct labels *labels, const struct gap *gap,
    const struct label_set *absent, uint32_t *between);

/* ---- of a space ---- */

const struct labels *space_labels(const struct space *s);
const struct graph *space_graph(const struct space *s, uint32_t i);	/* in the order they were learned, or NULL */
struct graph *space_graph_of(struct space *s, uint32_t type);		/* found or made; NULL: out of memory */

#endif
