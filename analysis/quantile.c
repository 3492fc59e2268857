/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/quantile.h"

#include <assert.h>
#include <float.h>
#include <math.h>

uint64_t
quantile_rank(uint64_t n, double q)
{
	double rank = ceil(q * (double)n * (1 - 4 * DBL_EPSILON));

	assert(n > 0 && q >= 0 && q <= 1);
	return rank < 1 ? 0 : rank > (double)n ? n - 1 : (uint64_t)rank - 1;
}
