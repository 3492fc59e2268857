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
	uint32_t label;   /* of a point */
	uint32_t partner; /* index of the candidate that is the other end of its span; UINT32_MAX:
	                     it is none, or its other end is no candidate */
	uint32_t around;  /* index of the candidate that opens the innermost span it lies in, less
	                     than its own;  UINT32_MAX: none */
	bool drawn;       /* lies on the walk that was drawn */
	uint64_t count;   /* how often it was seen there */
	double offset_ns; /* from the gap's begin to it: on the walk the steps' learned means; else
	                     between what of the walk lies before and behind it, in proportion to
	                     the learned times since the unit's begin */
	double share;     /* of the traces that pass the gap, how many pass it: 0..1, estimated */
	double per_trace; /* how often a trace of the type passes it, on average: for its cost */
};

struct gap_time {
	double mean_ns; /* of the walk drawn, from the gap's begin to its end */
};

/* The path of a group, by the labels of its tokens and of the events that began their units. */
struct match_path {
	uint32_t ntokens;
	const uint32_t *tokens, *units;
	uint32_t edge;    /* the gap: between tokens[edge] and tokens[edge + 1] ... */
	uint32_t edge_to; /* ... or back to this one, where a loop goes round; else edge + 1 */
};

/*
 * What may lie inside the path's gap: points on some walk that the whole path matches. Between
 * neighbours of the path nothing is passed that is always on or switched on, since it would be a
 * neighbour itself: structure (but silent one), labels that the path has elsewhere, nor those in
 * `absent` (may be NULL). While the path is in another unit, its own one may do anything. `without`
 * (tried before; may be NULL) can be passed, but is not returned. A gap that goes round a loop may
 * be passed any number of times.
 *
 * In the order of the drawn walk, with the others sorted in by their times; each label once, an end
 * of the gap never.
 *
 * Tokens that the graph does not know are passed over: the match goes on with its neighbours, and a
 * gap whose end is not known reaches to the nearest known token of its unit's stay. Where the space
 * knows no walk that the whole path matches, any walk between the gap's ends counts; where not even
 * such, what lies behind the one or before the other: a tracepoint too many costs a cycle, one too
 * few the cause. Then nothing is drawn.
 *
 * Ends in different units: the link has nothing inside. But if `from` is no fork nor end of a unit,
 * the structure behind it is silent or was not recorded, and what its unit does after it, up to
 * structure, counts; so does what the other unit does before `to`, if that is no join nor begin.
 * Nothing is drawn.
 *
 * Labels are those of the space's table. Result in the arena. O(places of the type) to look up the
 * path, O((places + steps) that lie between neighbours of the path in the gap's unit), more often
 * for loops; a sort of what is found beside the walk. Returns how many, or ERR_MEMORY.
 */
int match_between(struct candidate **ret, struct gap_time *gap, const struct space *s,
    uint32_t type, const struct match_path *path, const struct label_set *absent,
    const struct label_set *without, struct rng *rng, struct arena *a, struct err *e);

#endif
