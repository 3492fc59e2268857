/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Processes that stand still at times: stopped, without a processor, or with a lock that all of their threads need. That
 * delays all requests in the process, wherever they are, so no edge has most of it. What shows it is a thread that has
 * nothing to do, work that is there for it, and a process that records nothing until that begins: threads that are free take work at
 * once.
 *
 * Where requests were is in the parts of their critical paths (path_parts.h), what threads did meanwhile in the history of all
 * types (thread_history.h).
 */
#ifndef ANALYSIS_PROCESS_STILL_H
#define ANALYSIS_PROCESS_STILL_H

#include "analysis/path_parts.h"

struct process_still {
	uint32_t stills;  /* how often it stood still; 0: no process does, and the rest is 0 */
	uint32_t certain; /* in so many of these a thread was certainly free */
	struct process_id process;
	double still_ns;  /* how long, mean, from its last record on */
	double period_ns; /* how often: the mean time from one to the next */
	uint32_t requests;
	/* Part of the variance of the response times that goes with the time in which requests were in the process while it stood
	 * still, with its interval. */
	double share, share_low, share_high;
	uint32_t from,
	    to; /* labels of the edge between two units in which requests waited for the process most */
	uint32_t waits; /* in this edge ... */
	double wait_share, wait_low,
	    wait_high; /* ... and the part of their time in which the process stood still */
};

/* So often at least; and a thread must have been free for so much of the waits for it to be a still: by the median of
 * such waits, and ns. */
enum { PROCESS_STILL_MIN = 3, PROCESS_STILL_LEAST_NS = 1000000 };
#define PROCESS_STILL_TIMES 10.0
#define PROCESS_STILL_USUAL 3.0 /* mean times between two records of the process */
#define PROCESS_STILL_MOST 0.25 /* of the time */

/*
 * The process whose standing still has most of the variance.
 *
 * 0. Some requests in the history are a sample: none. Their threads work for others, too, and seem to be free.
 * 1. While a request waits for a process, that records nothing until a thread begins with something that ended a unit before: it was free. The
 *    median of these times is what it takes to get to a free thread.
 * 2. The process certainly stood still if such a time is PROCESS_STILL_TIMES times the median, and PROCESS_STILL_LEAST_NS.
 * 3. Fewer than PROCESS_STILL_MIN of them in a process: none.
 * 4. All times between two records of such a process are stills that are as long as the lower quartile of the certain ones, if that is
 *    PROCESS_STILL_USUAL times its mean time between records, and they have at most PROCESS_STILL_MOST of the time: most threads have something
 *    to do when a process is stopped. Not if most of their time lies between the same two records of a unit: then it is that work.
 * 5. They have more than PROCESS_STILL_MOST of the time: none. Rather it works for requests that are not recorded.
 * 6. X is the time that a request spends in the process while it stands still, T its response time: the share is cov(X, T) / var(T). Its
 *    interval, with this confidence, is that of a ratio of sums over slices of time: requests that one still
 *    delays count as one (path_requests_share()).
 *
 * Only requests that lie between the oldest and the newest events of the history count. O(n log n) with n the events of the history and the
 * parts. Uses the arena. ERR_MEMORY.
 */
int process_still_of(struct process_still *ret, const struct path_parts *parts,
    const struct thread_history *history, double confidence, struct arena *a, struct err *e);

#endif
