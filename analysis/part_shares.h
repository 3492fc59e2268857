/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shares of parts of requests, which need not add up to the whole, in its variance or mean: as those of edges (variance.h). Pure. */
#ifndef ANALYSIS_PART_SHARES_H
#define ANALYSIS_PART_SHARES_H

#include "analysis/variance.h"

struct part_row { /* a request */
	int64_t total_ns;
	const double *parts_ns; /* [nparts] */
};

struct part_total {
	double mean_ns, variance; /* ns^2 */
};

/*
 * Sets ret[nparts]: by_latency: shares of the mean of the whole, else of its variance. Intervals by share_interval.c, of successive requests
 * that may depend on each other, and where they reach to 0 by share_low_by_events(); the rows are in the order in which the requests came. n >= 1. Uses the arena. O(n x nparts x rounds).
 * ERR_MEMORY.
 */
int part_shares(struct edge_share *ret, struct part_total *total, const struct part_row *rows,
    uint32_t n, uint32_t nparts, bool by_latency, double confidence, uint32_t rounds, uint64_t seed,
    struct arena *a, struct err *e);

#endif
