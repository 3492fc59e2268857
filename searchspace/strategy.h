/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A strategy picks the next tracepoints from those that may lie inside an edge. It only proposes. */
#ifndef SEARCHSPACE_STRATEGY_H
#define SEARCHSPACE_STRATEGY_H

#include "searchspace/space.h"

/* Picks at most k of candidates[0..n) (in happens-before order, none of them tried before) so that the gap falls
 * into parts of equal size; writes their indices, ascending. O(n). Returns how many: 0 only when n is 0. */
typedef uint32_t strategy_propose(const struct candidate *candidates, uint32_t n, uint32_t k, uint32_t *picked);

struct strategy {
	const char *name, *help;
	strategy_propose *propose;
};

const struct strategy *strategy_find(const char *name);	/* or NULL */
const struct strategy *strategy_at(unsigned i);		/* or NULL past the last */

#define STRATEGY(name, help) strategy_propose strategy_##name;
#include "searchspace/strategies.tbl.h"
#undef STRATEGY

#endif
