/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A strategy picks the next tracepoints from those that may lie inside an edge. It only proposes.
 */
#ifndef SEARCHSPACE_STRATEGY_H
#define SEARCHSPACE_STRATEGY_H

#include "base/rng.h"
#include "searchspace/match.h"

/*
 * Cuts the gap at up to k places: picks candidates[0..n) (as match_between() gives them, none of
 * them tried before) and writes their indices, ascending, to picked[n]. A cut is one point, or for
 * `hierarchical` a span: then both its ends. gap: its learned time as a whole. rng: only `random`
 * draws from it. O(n), random O(n log n). Returns how many: 0 only when n is 0.
 */
typedef uint32_t strategy_propose(const struct candidate *candidates, uint32_t n,
    const struct gap_time *gap, uint32_t k, struct rng *rng, uint32_t *picked);

struct strategy {
	const char *name, *help;
	strategy_propose *propose;
};

const struct strategy *strategy_find(const char *name); /* or NULL */
const struct strategy *strategy_at(unsigned i);         /* or NULL past the last */

#define STRATEGY(name, help) strategy_propose strategy_##name;
#include "searchspace/strategies.tbl.h"
#undef STRATEGY

#endif
