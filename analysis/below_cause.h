/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which waits for a processor come of what requests do in other states. Nothing waits for a processor that does not want to run: on a busy machine
 * a thread that computes for 15 ms loses the processor several times, and one that reads from the disk waits for the processor after each
 * read. Such waits are a consequence: without the computing they would not be there, although they take longer than it. Waits of requests that
 * do as much as the others are not: other programs are their cause.
 *
 * With w the time of a request in all other states that are known, and r the time that it is ready, the least squares of r on w say how long a
 * request waits for each ns of other work: rate = cov(r, w) / var(w). r - rate w is what does not depend on the request's own work.
 * (The residual of a regression on a covariate; Cochran, Sampling Techniques, 1977, chapter 7.)
 */
#ifndef ANALYSIS_BELOW_CAUSE_H
#define ANALYSIS_BELOW_CAUSE_H

#include "analysis/part_shares.h"
#include "wire/below.h"

#define BELOW_CAUSE_MORE \
	1.5 /* times as much other work as the usual ones do, slow requests do at least */
#define BELOW_CAUSE_SLOW 0.25 /* of all requests, the slowest */
enum { BELOW_CAUSE_REQUESTS_MIN = 20 };

/*
 * The rate; 0: waits for a processor come of nothing else. Rows have BELOW_STATES parts.
 *
 * 1. Fewer requests than BELOW_CAUSE_REQUESTS_MIN: 0.
 * 2. The slowest quarter of the requests does less than BELOW_CAUSE_MORE times as much other work as the rest: 0. Who waits for long has cold caches,
 *    and runs a little longer for that.
 * 3. Requests that do more do not wait longer: 0.
 * 4. The rate.
 *
 * Uses the arena. ERR_MEMORY. O(n log n).
 */
int below_cause_rate(
    double *ret, const struct part_row *rows, uint32_t n, struct arena *a, struct err *e);

/* The rows with the waits that come of other states in these states, in the arena; their sums are the same. NULL: out of memory. */
struct part_row *below_cause_rows(
    const struct part_row *rows, uint32_t n, double rate, struct arena *a);

#endif
