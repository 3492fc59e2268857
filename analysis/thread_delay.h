/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What requests lose while they wait for threads, wherever that is: between two units, until a thread takes the work; and inside a unit,
 * where units take turns on a thread (an event loop), since a unit that has slept, or whose call has come back, waits again until the
 * thread is free. All waits for the same threads are one queue: each edge has only a part of what a long unit in it delays.
 */
#ifndef ANALYSIS_THREAD_DELAY_H
#define ANALYSIS_THREAD_DELAY_H

#include "analysis/path_parts.h"

struct thread_delay {
	uint32_t requests;
	double share;                 /* of the variance of the response times within groups ... */
	double share_low, share_high; /* ... with its interval */
};

/*
 * The events of a history by thread and by trace, for any number of the questions below while the history is the same: they live in the
 * arena. O(n log n) with n the events of the history. ERR_MEMORY.
 */
struct thread_delay_events;
int thread_delay_sort(struct thread_delay_events **ret, const struct thread_history *history,
    struct arena *a, struct err *e);

/*
 * Of the threads that ended these waits.
 *
 * 1. X of a request is the time that it waits between two units for one of the threads, and, inside a unit on such a thread, the
 *    time for which other units had the thread last, without a break of more than 50 us until the unit went on. What they did before a break, in which the thread was
 *    free, delayed nothing: the unit slept.
 * 2. The share is cov(X, T) / var(T), with T the response time (path_requests_share()).
 * 3. A unit that sleeps does not need the thread that others hold meanwhile. Where requests take less than X longer (the slope of the
 *    least squares of T on X is below 1), the share is multiplied by the slope: it is then what X explains of the variance of T.
 *
 * Only requests that lie between the oldest and the newest events of the history count. All zeroes: no wait, or no request. Of requests
 * that are a sample the second part of step 1 is too small. O(n log n) with n the parts: each costs O(log of the events)
 * and the events of its request that lie in it. Uses the arena.
 * ERR_MEMORY.
 */
int thread_delay_of(struct thread_delay *ret, const struct path_parts *parts,
    const struct thread_delay_events *events, const struct thread_wait *waits, uint32_t nwaits,
    double confidence, struct arena *a, struct err *e);

/*
 * The part of the variance of the length of these waits, which are of one edge, that at least goes with the time in which requests hold the
 * thread, 0 to 1:
 *
 * 1. w is the length of a wait, x the time for which other requests had the thread last in it, as above; `own`: all of the time in it for which other
 *    units of the same request had the thread between two of their events.
 * 2. The result is the lower end of the 95 % interval of cov(x, w) / var(w) (path_requests_share()), times the slope of the least squares of w on x
 *    where that is below 1.
 *
 * 0: fewer than THREAD_HISTORY_WAITS_MIN waits, or they begin in fewer than THREAD_DELAY_SLICES_MIN slices of time (one event may be all of
 * them), or all are equally long. Cost and errors as above.
 */
enum { THREAD_DELAY_SLICES_MIN = 10 }; /* of PATH_SLICE_NS */
int thread_delay_explains(double *ret, const struct thread_delay_events *events,
    const struct thread_wait *waits, uint32_t nwaits, bool own, struct arena *a, struct err *e);

#endif
