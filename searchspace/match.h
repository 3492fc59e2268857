/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Matches a group's path with the learned graph, and finds what may lie between two neighbours
 * on it. A path matches where it is a subsequence of a walk (.*A.*B.*C.*): dynamic programming
 * over path x graph, no walk is enumerated. If several walks match, one is drawn at random,
 * weighted by how often its steps were taken.
 */
#ifndef SEARCHSPACE_MATCH_H
#define SEARCHSPACE_MATCH_H

#include "base/rng.h"
#include "searchspace/candidate.h"
#include "searchspace/space.h"

/* The path of a group: labels of its tokens, and of the events that began their units. */
struct match_path {
	uint32_t ntokens;
	const uint32_t *tokens, *units;
	uint32_t edge; /* the gap: from tokens[edge] ... */
	/* ... to this one: edge + 1, or an earlier one if the edge goes back in a loop */
	uint32_t edge_to;
};

/*
 * Finds the candidates in a gap of the path: points on walks that the whole path matches.
 *
 * Between neighbours of the path, a walk passes no label that was recorded, since it would be a
 * neighbour itself: structure (except silent structure), labels elsewhere on the path, and
 * those in `absent` (may be NULL). While the path is in another unit, the path's own unit may
 * pass anything. Labels in `without` (already tried; may be NULL) may be passed, but are not
 * returned. A gap that goes back in a loop may be passed any number of times.
 *
 * The result is in the order of the drawn walk, with the other candidates inserted by their
 * times; each label once, and never an end of the gap.
 *
 * Tokens that the graph does not contain are skipped: a gap with an unknown end extends to the
 * nearest known token of the stay (match.c). If no walk matches the whole path, any walk
 * between the ends of the gap counts; if there is none, what follows the begin or precedes the
 * end. One candidate too many costs a cycle, one too few may lose the cause. In the last case
 * no walk is drawn.
 *
 * Ends in different units: nothing lies on the link itself. But if `from` is neither a fork nor
 * the end of a unit, the structure behind it is silent or was not recorded, and what its unit
 * does next, up to structure, counts; so does what the other unit does before `to`, if that is
 * neither a join nor the begin of a unit. No walk is drawn.
 *
 * Labels are those of the space's table; edge and edge_to are less than ntokens. Result in the
 * arena. O(places of the type) to match the path, plus O(places + steps) between neighbours of
 * the path in the unit of the gap, repeatedly for loops, plus a sort of the candidates beside
 * the walk. Returns the number of candidates, or ERR_MEMORY.
 */
int match_between(struct candidate **ret, struct gap_time *gap, const struct space *s,
    uint32_t type, const struct match_path *path, const struct label_set *absent,
    const struct label_set *without, struct rng *rng, struct arena *a, struct err *e);

#endif
