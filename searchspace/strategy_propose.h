/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What each strategy implements, in strategy_NAME.c. */
#ifndef SEARCHSPACE_STRATEGY_PROPOSE_H
#define SEARCHSPACE_STRATEGY_PROPOSE_H

#include "base/rng.h"
#include "searchspace/candidate.h"

/*
 * Divides the gap by up to k cuts: chooses from candidates[0..n) (as match_between() returns
 * them, none tried before) and writes their indices to picked[n], in ascending order. A cut is
 * one point; for `hierarchical` a span, that is, both its ends. gap: its learned time as a
 * whole. rng: only `random` uses it. k >= 1. Returns how many were picked; 0 only if n is 0.
 * O(n); `hierarchical` O(n x k^2 x depth of spans).
 */
typedef uint32_t strategy_propose(const struct candidate *candidates, uint32_t n,
    const struct gap_time *gap, uint32_t k, struct rng *rng, uint32_t *picked);

#define STRATEGY(name, help) strategy_propose strategy_##name;
#include "searchspace/strategies.tbl.h"
#undef STRATEGY

#endif
