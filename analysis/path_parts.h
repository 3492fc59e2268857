/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The newest steps of the critical paths of one request type, by process and thread: what requests lose in one place of the system,
 * wherever on their paths, is summed over them, and its share of the variance of the response times has an interval.
 */
#ifndef ANALYSIS_PATH_PARTS_H
#define ANALYSIS_PATH_PARTS_H

#include "analysis/critpath.h"
#include "analysis/thread_history.h"
#include "analysis/variance.h"

/* A step of a critical path: the time before it is in the process of the event at its end. */
struct path_part {
	int64_t begin_ns, end_ns;
	uint64_t trace_id;
	uint64_t group; /* of the request: a part of the key of its shape */
	struct process_id process;
	uint32_t tid;
	uint32_t unit;     /* of the event at its end: index within its trace */
	uint32_t from, to; /* labels */
	bool between;      /* it lies between two units */
	bool first;        /* of its request */
};

/* The newest PATH_PARTS_MAX ones; 64 bytes each. All zeroes: empty. */
enum { PATH_PARTS_MAX = 1 << 15 };
struct path_parts {
	struct path_part *items; /* a ring from items[next] on, once it is full */
	uint32_t nitems, items_cap, next;
};

void path_parts_release(struct path_parts *p); /* is empty then */

/* Takes the steps of the critical path of a trace of that group. O(steps). ERR_MEMORY. */
int path_parts_add(struct path_parts *p, const struct trace *t, const struct critpath *path,
    uint64_t group, struct err *e);

/* Number i of nitems, from the oldest one on. */
const struct path_part *path_parts_at(const struct path_parts *p, uint32_t i);

/* The time in which all events of the history are known: from its oldest one on, until twice the longest request before its newest one.
 * Empty (*to_ns < *from_ns) if there is none. O(events + parts). */
void path_parts_time(
    int64_t *from_ns, int64_t *to_ns, const struct path_parts *p, const struct thread_history *h);

struct path_request {
	int64_t begin_ns;
	uint64_t group;
	double t, x; /* ns: its response time, and what it loses */
};

/* The requests that begin and end in this time, each with the sum of lost_ns() over its parts; into ret, which has room for nitems.
 * Returns how many. O(parts). */
uint32_t path_requests(struct path_request *ret, const struct path_parts *p, int64_t from_ns,
    int64_t to_ns, double (*lost_ns)(const struct path_part *p, const void *of), const void *of);

struct lost_share {
	double share; /* cov(X, T) / var(T) ... */
	struct interval interval;
	double
	    slope; /* cov(X, T) / var(X): how much longer requests take for each ns of X; 0: X does not vary */
};

/*
 * X of a request is what it loses, T its response time. by_group: both are differences from the mean of the group, so that only what
 * lies within groups counts; else from the mean of all. The interval, with this confidence, is that of a ratio of sums over slices of
 * time (PATH_SLICE_NS): requests that one event delays count as one (Cochran, Sampling Techniques, 1977, sections 6.3 and 9A.2).
 * All zeroes: T does not vary. Sorts the requests, and changes t and x to these differences. O(n log n).
 */
enum { PATH_SLICE_NS = 100000000 };
struct lost_share path_requests_share(
    struct path_request *r, uint32_t n, bool by_group, double confidence);

#endif
