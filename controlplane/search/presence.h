/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * When the problem of a diagnosis was there: how much response times vary, by slices of time. Pure.
 */
#ifndef CONTROLPLANE_SEARCH_PRESENCE_H
#define CONTROLPLANE_SEARCH_PRESENCE_H

#include <stdbool.h>
#include <stdint.h>

/* Slices of a quarter of a second, which double when there are more. */
enum { PRESENCE_SLICES = 256 };
#define PRESENCE_SLICE_NS INT64_C(250000000)
/* A problem is quiet after so long without it, and so many requests. */
#define PRESENCE_QUIET_NS INT64_C(2000000000)
enum { PRESENCE_QUIET_REQUESTS = 30 };
#define PRESENCE_QUIET_GAPS 3.0 /* or after so many of the longest pause that it made before */
#define PRESENCE_GONE_MAX \
	0.1 /* share of the variation while it was there; as VERDICT_GONE_MAX of next_step.h */
/* A problem that was seen for less time may be one burst. */
#define PRESENCE_SEEN_NS INT64_C(3000000000)

/* All zeroes: nothing was added. */
struct presence {
	int64_t slice_ns; /* 0: PRESENCE_SLICE_NS */
	uint32_t n;       /* slices up to the last one with a request */
	struct {
		uint64_t requests;
		double squares; /* sum of the squares of deviations, ns^2 */
	} slices[PRESENCE_SLICES];
};

struct presence_state {
	bool seen;              /* requests vary at all */
	int64_t from_ns, to_ns; /* begin of the first slice with the problem, end of the last one */
	bool quiet;             /* it was there, and is not any more */
};

/* A request that took that much longer or shorter than usual ones of its path. at_ns: since the begin of the diagnosis;
 * times before the begin count as the begin. O(1) amortised. */
void presence_add(struct presence *p, int64_t at_ns, double deviation_ns);

/*
 * 1. The problem is in a slice whose mean square is half of that of all requests or more.
 * 2. It is quiet if since then PRESENCE_QUIET_REQUESTS requests have come, PRESENCE_QUIET_NS have passed,
 *    and PRESENCE_QUIET_GAPS times the longest pause between two slices with it; and the mean square of these
 *    requests is less than PRESENCE_GONE_MAX of that of the requests before. So what happens every few seconds is not quiet
 *    between two times.
 *
 * O(slices).
 */
struct presence_state presence_look(const struct presence *p, int64_t now_ns);

#endif
