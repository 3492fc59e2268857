/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/change_blocks.h"

#include <math.h>

uint32_t
blocks_cut(struct block *ret, const struct slice_time *slices, uint32_t n, double window_ms,
    double window_requests)
{
	double least = window_requests / BLOCK_FEWER;
	uint32_t nret = 0;

	for (uint32_t i = 0; i < n;) {
		struct block b = { slices[i].begin_ms, 0, 0 };

		for (; i < n && (slices[i].begin_ms < b.begin_ms + window_ms || /* 1. */
				    b.requests < least);                        /* 2. */
		     i++)
			b.requests += slices[i].requests;
		b.end_ms = i < n ? slices[i].begin_ms : HUGE_VAL;
		if (b.requests >= least)
			ret[nret++] = b;
		else if (nret > 0) { /* 3. */
			ret[nret - 1].end_ms = b.end_ms;
			ret[nret - 1].requests += b.requests;
		}
	}
	return nret;
}
