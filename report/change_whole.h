/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whether requests of a type as a whole are slower than they were, when groups are too small to tell. */
#ifndef REPORT_CHANGE_WHOLE_H
#define REPORT_CHANGE_WHOLE_H

#include <stdbool.h>
#include <stdint.h>

enum { WHOLE_REQUESTS_MIN = 30, WHOLE_ROUNDS = 9999 };

enum whole_state { WHOLE_SAME, WHOLE_SLOWER, WHOLE_FASTER, WHOLE_TOO_FEW };

struct whole {
	enum whole_state state;
	uint64_t requests, requests_then;
	/* p of the hypothesis that the requests are not slower (faster), by the mean, by the median and
	 * by the 95th percentile, corrected for the three of them. */
	double slower_p, faster_p;
};

/*
 * Compares two histograms of response times in buckets of an eighth of an octave. The decision:
 *
 * 1. One side has no requests: too few.
 * 2. By the mean: the requests of both sides are dealt at random to two sides of the same sizes,
 *    WHOLE_ROUNDS times; p is the part of the deals, with the real one, in which the difference of the
 *    means is at least as large (Dwass 1957). Over 1000 requests on the smaller side, the normal
 *    approximation of that distribution.
 * 3. By the median and the 95th percentile of the earlier side: Fisher's exact test of the shares of
 *    requests beyond it.
 * 4. Slower or faster if the smallest of these p, times 3, is at most alpha.
 * 5. Otherwise the same, if both sides have WHOLE_REQUESTS_MIN requests; else too few to tell.
 *
 * The same input gives the same result. O(WHOLE_ROUNDS x requests of the smaller side), at most 10^7
 * draws. False: out of memory.
 */
bool whole_judge(
    struct whole *ret, const uint32_t *now, const uint32_t *then, uint32_t nbuckets, double alpha);

#endif
