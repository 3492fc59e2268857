/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The events that a history of threads keeps, and their orders; for thread_history.c and thread_load.c. */
#ifndef ANALYSIS_THREAD_HISTORY_INSIDE_H
#define ANALYSIS_THREAD_HISTORY_INSIDE_H

#include "analysis/thread_history.h"

struct past_event {
	int64_t time_ns;
	int64_t
	    waits_ns; /* JOIN: for how long of the time before it the unit waited for the other one to end */
	uint64_t trace_id;
	uint64_t arrival; /* number in the order of adding: events of equal time keep it */
	struct process_id process;
	uint32_t tid;
	uint32_t label;
	uint32_t unit;       /* index within its trace */
	uint32_t type;       /* label of the request's begin */
	uint32_t unit_begin; /* label of the first event of the unit */
	uint8_t kind;        /* enum record_kind */
};

struct thread_history {
	struct past_event *events; /* a ring from events[next] on, once it is full */
	uint32_t nevents, events_cap, events_max, next;
	uint64_t arrivals;
	uint64_t partial; /* arrivals when thread_history_partial() was told last; 0: never */
};

static inline int
past_compare(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static inline int
past_by_process(struct process_id a, struct process_id b)
{
	int order = past_compare(a.node, b.node);

	return order != 0 ? order : past_compare(a.pid, b.pid);
}

static inline int
past_by_time(const struct past_event *a, const struct past_event *b)
{
	return a->time_ns != b->time_ns ? (a->time_ns > b->time_ns) - (a->time_ns < b->time_ns)
	                                : past_compare(a->arrival, b->arrival);
}

static inline int
past_in_processes(const void *x, const void *y)
{
	const struct past_event *a = x, *b = y;
	int order = past_by_process(a->process, b->process);

	return order != 0 ? order : past_by_time(a, b);
}

static inline int
past_in_threads(const void *x, const void *y)
{
	const struct past_event *a = x, *b = y;
	int order = past_by_process(a->process, b->process);

	order = order != 0 ? order : past_compare(a->tid, b->tid);
	return order != 0 ? order : past_by_time(a, b);
}

/*
 * Sorts by process, thread and time. Each trace is on the clock of its own root's node, to within an error (clocks_trace()), so a unit may seem to end
 * after the next one on its thread has begun, which would leave both without the time that they have the thread. An end that
 * comes at most PAST_HAND_OVER_NS after the begin of another unit, and behind nothing but PAST_HAND_OVER_EVENTS events of that one at most, is put
 * before it, with its time. Those of equal time are then not in the order of their arrival. O(n log n).
 */
enum { PAST_HAND_OVER_NS = 200000, PAST_HAND_OVER_EVENTS = 8 };
void past_sort_by_thread(struct past_event *events, uint32_t n);

/* The first of n events that are sorted by this order that is not before `key`. O(log n). */
uint32_t past_first_from(const struct past_event *events, uint32_t n, const struct past_event *key,
    int (*order)(const void *, const void *));

#endif
