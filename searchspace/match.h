/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where a group's path runs in the learned graph, and what may lie between two
 * neighbours on it. A path matches where it is a subsequence of a walk (.*A.*B.*C.*):
 * dynamic programming over path x graph, no walk is ever enumerated. Of several walks
 * one is drawn, weighted by how often its steps were taken, from a seeded generator.
 */
#ifndef SEARCHSPACE_MATCH_H
#define SEARCHSPACE_MATCH_H

#include "base/rng.h"
#include "searchspace/space.h"

struct candidate {
	uint32_t label;		/* of a point */
	uint32_t partner;	/* index of the candidate that is the other end of its span; UINT32_MAX: it is none, or its
				   other end is no candidate */
	uint32_t around;	/* index of the candidate that opens the innermost span it lies in; UINT32_MAX: none */
	bool     drawn;		/* lies on the walk that was drawn */
	uint64_t count;		/* how often it was seen there */
	double   offset_ns;	/* on the walk: learned mean time from the gap's begin to it; else by its unit's begin */
	double   share;		/* of the traces that pass the gap, how many pass it: 0..1, estimated */
	double   per_trace;	/* how often a trace of the type passes it, on average: for its cost */
};

struct gap_time {
	double mean_ns;		/* of the walk drawn, from the gap's begin to its end */
};

/* The path of a group, by the labels of its tokens and of the events that began their units. */
struct match_path {
	uint32_t ntokens;
	const uint32_t *tokens, *units;
	uint32_t edge;		/* the gap: between tokens[edge] and tokens[edge + 1] ... */
	uint32_t edge_to;	/* ... or back to this one, where a loop goes round; else edge + 1 */
};

/*
 * What may lie inside the path's gap: points on some walk that the whole path matches (labels of structure that the
 * path does not have cannot be passed, nor those in `absent`, which may be NULL), without `without` (tried before; may be
 * NULL, they can be passed). Those on the drawn walk first in the walk's order, with the others sorted in by their learned
 * offset; each label once. Tokens that the graph does not know are passed over: the match goes on with its neighbours,
 * and a gap whose end is not known reaches to the nearest known token of its unit. Ends in different units: nothing lies
 * between, but for what is left of either unit when `from` or `to` is not its edge (see match.c).
 * In the arena. O((places + steps) of the gap's unit x passes of the path through it), and a sort of what is found.
 * Returns how many, or ERR_MEMORY.
 */
int match_between(struct candidate **ret, struct gap_time *gap, const struct space *s, uint32_t type,
    const struct match_path *path, const struct label_set *absent, const struct label_set *without, struct rng *rng,
    struct arena *a, struct err *e);

#endif
