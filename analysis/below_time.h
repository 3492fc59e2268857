/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the thread of a unit did in a time, from the waits and samples of the trace: parts that add up to that time to the
 * nanosecond. Pure.
 *
 * A wait is blocked from its begin until it is woken, then ready until its end. Time in no wait is running, if a sample saw it,
 * or if it is too short for one to be expected: a unit that is detached from its thread (an event loop's) has neither waits nor
 * samples, and that time is UNKNOWN. So is time in which two waits of one unit overlap, since they contradict each other, and all
 * time of a unit of which a wait cannot be read. Records that were lost make the whole trace lossy, which is no evidence
 * (trace_is_evidence()).
 */
#ifndef ANALYSIS_BELOW_TIME_H
#define ANALYSIS_BELOW_TIME_H

#include "analysis/trace.h"
#include "base/err.h"
#include "wire/below.h"

struct below_part { /* texts are in the trace and its labels */
	enum below_state state;
	int64_t ns;
	const char *stack; /* folded, stack_len bytes; 0 bytes: unknown */
	uint32_t stack_len;
	/* Of a wait with a lock, or for another thread: what its owner did meanwhile; UNKNOWN and 0 bytes: not known. */
	enum below_state owner_state;
	const char *owner_place, *owner_name; /* owner_name: of its thread */
	uint32_t owner_len, owner_name_len;
	/* The hone_request_type() of the request that the owner served when the wait began; 0: it served none. */
	bool owner_is_read; /* it is known */
	uint32_t owner_type;
	/* Of a wait that a thread ended: the hone_request_type() of its request, and the name of the thread, waker_name_len bytes. */
	bool woken_by_thread;
	uint32_t waker_type, waker_name_len;
	const char *waker_name;
};

struct below_time {
	int64_t ns[BELOW_STATES];        /* by state; they add up to the time */
	const struct below_part *parts;  /* in the arena; those with ns > 0 */
	uint32_t nparts, waits, samples; /* those that touch the time */
	/* Of the running time, what no sample saw though it is too short to expect one; and the weights of its samples. Over many
	 * requests they tell whether it was running: below_list_find(). */
	int64_t unseen_ns, weight_ns;
};

/* A thread that runs for so long has been sampled: it is ten of hone-below's periods. */
#define BELOW_UNSEEN_NS INT64_C(10000000)

struct below_records; /* the waits and samples of a trace, by unit and time */

/* In the arena; points into the trace and its labels. O(units + records below, and n log n in the waits of a unit whose begins and
 * ends differ in order). ERR_MEMORY. */
int below_records_of(struct below_records **ret, const struct trace *t, const struct labels *labels,
    struct arena *a, struct err *e);

enum below_side {
	BELOW_INSIDE,  /* the time passed inside the unit */
	BELOW_BETWEEN, /* it passed between another unit and this one, which waited: what no wait or sample covers is UNKNOWN */
};

/*
 * From from_ns to to_ns, >= from_ns, of a unit of the trace. Samples divide the running time among their places, by their
 * weights; without samples its place is unknown. In the arena. O(log n) for n records of the unit, and O(those that touch the
 * time x log). ERR_MEMORY.
 */
int below_time_of(struct below_time *ret, const struct below_records *r, uint32_t unit,
    enum below_side side, int64_t from_ns, int64_t to_ns, struct arena *a, struct err *e);

/* The same inside of the unit as a sequence: its parts follow each other in time, and have no stacks where the thread was running. */
int below_steps_of(struct below_time *ret, const struct below_records *r, uint32_t unit,
    int64_t from_ns, int64_t to_ns, struct arena *a, struct err *e);

/* The state of a word ("lock"), or UNKNOWN. */
enum below_state below_state_of(const char *word, size_t len);

/* Of a folded stack: from the innermost entry that has a file and a line to its end ("append() at dd.c:27;fsync"); without
 * one the innermost entry. Its length, of the last bytes of the stack. */
uint32_t below_place_len(const char *stack, uint32_t len);

/* Who called the place that begins place_len bytes before the end of the stack: the innermost entry outside it that has a file
 * and a line, else the innermost entry; "": not known. Its length; *ret points into the stack. */
uint32_t below_caller_of(const char **ret, const char *stack, uint32_t len, uint32_t place_len);

#endif
