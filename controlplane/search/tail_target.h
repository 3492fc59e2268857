/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Whether a diagnosis searches the tail of its request type: what the slowest requests spend more time
 * on than the others. Pure functions.
 */
#ifndef CONTROLPLANE_SEARCH_TAIL_TARGET_H
#define CONTROLPLANE_SEARCH_TAIL_TARGET_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/moments.h"

enum {
	TAIL_SLOW_MIN = 20, /* slow requests with which the search begins */
	TAIL_KEPT = 256     /* slowest requests that each group keeps */
};
/* Share of the variance that requests beyond the quantile, and as many next to them, have to carry: of an
 * exponential distribution, as of a long queue, they carry a third. */
#define TAIL_CARRIES_MIN 0.5
#define TAIL_GATHER_MAX_NS INT64_C(3600000000000) /* the longest time to wait for them */

struct tail_facts {
	bool searching;    /* a search has begun */
	double asked;      /* quantile that the operator asked for; 0: none */
	uint64_t requests; /* of the type, since the diagnosis began */
	int64_t watched_ns;
};

enum tail_what {
	TAIL_AS_BEFORE, /* a search goes on with what it began */
	TAIL_NONE,      /* the variance is searched, or the latency */
	TAIL_GATHER,    /* the tail, when there are more slow requests */
	TAIL_SEARCH     /* the tail, now */
};

/*
 * 1. A search has begun: as before.
 * 2. Not asked for: none. The slowest requests carry most of the variance of healthy applications, too.
 * 3. TAIL_SLOW_MIN slow requests have come: search.
 * 4. Gather, up to TAIL_GATHER_MAX_NS; then none.
 */
enum tail_what tail_choose(const struct tail_facts *f);

/* The share of the variance that is compared with TAIL_CARRIES_MIN, 0 to 1. */
double tail_carries(const struct sketch *times, double quantile);

/* How long it takes at this rate until TAIL_SLOW_MIN slow requests have come, in all since the diagnosis
 * began, ns; INT64_MAX: no request came. */
int64_t tail_gather_ns(uint64_t requests, double quantile, int64_t watched_ns);

#endif
