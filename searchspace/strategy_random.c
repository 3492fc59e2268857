/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Random choice, for comparison: k of n, every choice with the same probability, in one pass
 * without sorting (Knuth, TAOCP 2, 3.4.2, algorithm S).
 */
#include <assert.h>

#include "searchspace/strategy_propose.h"

uint32_t
strategy_random(const struct candidate *candidates, uint32_t n, const struct gap_time *gap,
    uint32_t k, struct rng *rng, uint32_t *picked)
{
	uint32_t left = k < n ? k : n, got = 0;

	assert(k >= 1);
	(void)candidates;
	(void)gap;
	for (uint32_t i = 0; left > 0; i++)
		if (rng_below(rng, n - i) < left) {
			picked[got++] = i;
			left--;
		}
	return got;
}
