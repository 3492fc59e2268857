/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * When requests arrived, and how long they took then: at most TIMELINE_BINS bins of equal width in fixed
 * memory. Widths are seconds times powers of 2; while the range does not fit, the width doubles and
 * neighbours are added up. Bins begin at multiples of their width since the clock's 0, so the bins
 * of a part of the requests lie within those of all.
 */
#ifndef REPORT_TIMELINE_H
#define REPORT_TIMELINE_H

#include <stdbool.h>
#include <stdint.h>

enum { TIMELINE_BINS = 64 };

struct timeline_bin {
	uint64_t n;
	double sum_ns; /* of response times */
};

struct timeline {
	int64_t from_ns, width_ns; /* width_ns 0: no request yet */
	uint32_t count;            /* bins from the first request to the last */
	struct timeline_bin bins[TIMELINE_BINS];
};

/* Adds a request that began then. Amortised O(1). */
void timeline_add(struct timeline *t, int64_t begin_ns, double took_ns);

/* The time of a problem: the consecutive bins whose requests together took longest beyond the mean of
 * all (the maximum subarray: Bentley, CACM 1984). O(bins). */
struct timeline_worst {
	int64_t from_ns, until_ns;
	uint64_t n;               /* requests then */
	double mean_ns, other_ns; /* mean response times then, and of all others */
};

/* False: requests never took longer than on average, or all bins belong to it. */
bool timeline_worst(struct timeline_worst *ret, const struct timeline *t);

#endif
