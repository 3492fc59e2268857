/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What threads did while a request waited: the newest events of all requests, by thread. A wait
 * ends at an event on some thread. If that thread worked for another request meanwhile, that
 * request occupied it; if no thread of the process recorded anything, the process stood still.
 *
 * Only what was recorded is known: requests that were not sampled, and threads that work for no
 * request, leave no trace here, so a cause that is not found is not excluded.
 *
 * Times are those of the traces, on the clock of each root's node (clocks_trace()): traces with
 * different roots agree to within the error of that correction, far below the waits of interest.
 */
#ifndef ANALYSIS_THREAD_HISTORY_H
#define ANALYSIS_THREAD_HISTORY_H

#include "analysis/trace.h"
#include "base/err.h"

struct process_id {
	uint32_t node, pid;
};

struct thread_wait {
	uint64_t trace_id;
	int64_t begin_ns, end_ns;
	struct process_id from; /* of the event at its begin */
	struct process_id to;   /* of the event at its end, ... */
	uint32_t tid;           /* ... and its thread ... */
	uint32_t unit;          /* ... and its unit: index within its trace */
	bool own; /* other units of the same request occupy the thread; else other requests do */
};

enum wait_cause {
	WAIT_UNKNOWN,
	WAIT_OCCUPIED, /* the thread worked for another request */
	WAIT_STILL     /* the process that ends the wait recorded nothing, unlike usually */
};

struct wait_finding {
	enum wait_cause cause;
	uint32_t waits; /* that were examined */
	double share;   /* of the time of these waits, 0..1, with its interval */
	double share_low, share_high;
	uint32_t type; /* OCCUPIED: label of the request_begin ... */
	uint32_t unit; /* ... and of the begin of the unit that occupied the thread most */
	bool from_too; /* STILL: so did the process at the begin of the waits */
};

/* Constant thresholds. A cause is named if at least this share of the waiting time is certainly
 * its own, in at least so many waits. */
enum { THREAD_HISTORY_WAITS_MIN = 10 };
#define THREAD_HISTORY_SHARE_MIN 0.25
/* A process is silent where it would have begun this many units by its usual rate, and recorded
 * nothing. (Chance of that for independent arrivals: exp(-3), 5 % of a single wait.) */
#define THREAD_HISTORY_SILENT_MIN 3.0
/* A silence is explained by the thread's work if at least this share of it lies between the same
 * two events. A process that is stopped is stopped anywhere. */
#define THREAD_HISTORY_SAME_WORK_MIN 0.5

struct thread_history;

/* Keeps the newest `events_max` events of all traces; 64 bytes each, allocated as they come. The
 * result is the caller's. NULL: out of memory. */
struct thread_history *thread_history_new(uint32_t events_max);
void thread_history_free(struct thread_history *h); /* NULL is fine */

/* Takes all events of a trace, complete or not. The events are copied. O(events + units log units). ERR_MEMORY. */
int thread_history_add(
    struct thread_history *h, const struct trace *t, const struct labels *labels, struct err *e);

/* Requests of the type of the trace that was added last are not all recorded: threads work for others, too, of which nothing is known. */
void thread_history_partial(struct thread_history *h);
/* It has events of such a trace, or older ones than that. */
bool thread_history_is_partial(const struct thread_history *h);

/* How many events have come, in all; and whether it still has one that was among the first so many. */
uint64_t thread_history_arrivals(const struct thread_history *h);
bool thread_history_reaches(const struct thread_history *h, uint64_t arrivals);

/* Forgets all events: what is known of threads begins anew. */
void thread_history_clear(struct thread_history *h);

/*
 * The most likely cause of these waits.
 *
 *  1. A wait that began before the oldest event of the history, or that is empty, is not examined;
 *     fewer than THREAD_HISTORY_WAITS_MIN that are: unknown.
 *  2. Occupied: the thread's time between two successive events of one unit of another request (where
 *     the wait says so, of another unit of the same one), unless the later one is a join (the unit waited itself). Summed for each request type and
 *     first event of the unit; the largest sum counts.
 *  3. Still: the time between two successive events of the process in which it would usually have
 *     begun THREAD_HISTORY_SILENT_MIN units.
 *  4. Still has the larger share, and the same work of the thread, between the same two events,
 *     does not cover THREAD_HISTORY_SAME_WORK_MIN of it: still; else occupied.
 *  5. The lower end of the share's interval is below THREAD_HISTORY_SHARE_MIN: unknown.
 *
 * The share is a ratio of sums; its interval, with this confidence, follows from the waits' own
 * deviations from it (Cochran, Sampling Techniques, 1977, section 6.3). O(n log n) with n the
 * events of the history. Uses the arena. ERR_MEMORY.
 */
int thread_history_cause(struct wait_finding *ret, const struct thread_history *h,
    const struct thread_wait *waits, uint32_t nwaits, double confidence, struct arena *a,
    struct err *e);

#endif
