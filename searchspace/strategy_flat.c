/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Binary search, or (k + 1)-ary: divides the candidates into k + 1 parts whose sizes differ by
 * at most one.
 */
#include <assert.h>

#include "searchspace/strategy_propose.h"

uint32_t
strategy_flat(const struct candidate *candidates, uint32_t n, const struct gap_time *gap,
    uint32_t k, struct rng *rng, uint32_t *picked)
{
	uint32_t picks = k < n ? k : n;

	assert(k >= 1);
	(void)candidates;
	(void)gap;
	(void)rng;
	/* n - picks tracepoints remain, to be divided into picks + 1 parts */
	for (uint32_t i = 0; i < picks; i++)
		picked[i] = (uint32_t)((uint64_t)(n - picks) * (i + 1) / (picks + 1)) + i;
	return picks;
}
