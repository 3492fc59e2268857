/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/search/tail_target.h"

#include <math.h>

static double
slow_of(uint64_t requests, double quantile)
{
	return (double)requests * (1 - quantile);
}

int64_t
tail_gather_ns(uint64_t requests, double quantile, int64_t watched_ns)
{
	double slow = slow_of(requests, quantile), ns;

	if (slow <= 0)
		return INT64_MAX;
	ns = (double)watched_ns * TAIL_SLOW_MIN / slow;
	return ns < 9e18 ? (int64_t)ns : INT64_MAX;
}

double
tail_carries(const struct sketch *times, double quantile)
{
	return sketch_tail_carries(times, fmin(1, 2 * (1 - quantile)));
}

enum tail_what
tail_choose(const struct tail_facts *f)
{
	/* 1 */
	if (f->searching)
		return TAIL_AS_BEFORE;
	/* 2 */
	if (!(f->asked > 0))
		return TAIL_NONE;
	/* 3. A product such as 2,000 x (1 - 0.99) may be a little less than 20. */
	if (slow_of(f->requests, f->asked) >= TAIL_SLOW_MIN - 1e-6)
		return TAIL_SEARCH;
	/* 4 */
	return f->watched_ns <= TAIL_GATHER_MAX_NS ? TAIL_GATHER : TAIL_NONE;
}
