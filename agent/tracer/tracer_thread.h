/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The thread that makes all calls to the tracer (tracer.h), so that no other thread waits for the
 * tracer's daemon. It runs one task at a time: give one when it is idle, and take its result after
 * the eventfd was written.
 *
 *	idle --give--> running --(the call returns)--> result --take--> idle
 *
 * All functions are to be called by the thread that started it.
 */
#ifndef AGENT_TRACER_TRACER_THREAD_H
#define AGENT_TRACER_TRACER_THREAD_H

#include "agent/tracer/tracer.h"
#include "base/clock.h"
#include "base/err.h"

struct tracer_thread;

/* The calls of struct tracer. */
enum task {
	TASK_NONE,
	TASK_OPEN,
	TASK_SET,
	TASK_LIST,
	TASK_CHECK,
	TASK_TEND,
	TASK_RECORD,
	TASK_SNAPSHOT
};

struct task_result {
	enum task task; /* NONE: no task has ended since the last result */
	int code;       /* 0, or an error of the call, with its text in: */
	struct err err;
	struct mono ended;
	struct tracer_session session; /* OPEN */
	struct tracer_change *changes; /* SET: those that were given; the caller's again */
	uint32_t nchanges;
	struct tracer_gap gap;          /* SET */
	struct tracepoints listed;      /* LIST; the caller's */
	struct recorder_rules *rules;   /* RECORD: those that were given; the caller's again */
	struct recorder_state recorder; /* RECORD */
	char snapshot[PATH_MAX];        /* SNAPSHOT: a folder, the caller's; "" where it failed */
};

/* Starts the thread, which owns *tracer from then on. wake: an eventfd, written when a task has
 * ended. ERR_MEMORY, ERR_SYSTEM: *tracer is still the caller's. */
int tracer_thread_start(
    struct tracer_thread **ret, const struct tracer *tracer, int wake, struct err *e);

/* No task runs, and no result waits to be taken. */
bool tracer_thread_idle(struct tracer_thread *t);

/* Starts a task; only when idle. changes: with SET only, from malloc(); they are the thread's until
 * the result is taken. */
void tracer_thread_give(
    struct tracer_thread *t, enum task task, struct tracer_change *changes, uint32_t n);

/* Starts TASK_RECORD; rules: from malloc(), they are the thread's until the result is taken. */
void tracer_thread_record(struct tracer_thread *t, struct recorder_rules *rules);

/* *ret: the result of the task that has ended, or TASK_NONE in ret->task, and the rest unset. */
void tracer_thread_take(struct tracer_thread *t, struct task_result *ret);

/* For how long the running task has run, and which it is; 0 and TASK_NONE: no task runs. */
int64_t tracer_thread_busy_ns(struct tracer_thread *t, struct mono now, enum task *task);

/* Lets a running task end, closes the tracer, ends the thread and frees all. ERR_TIMEOUT: a call
 * has not returned in time; the thread, the tracer and t stay allocated, and must not be used. */
int tracer_thread_stop(struct tracer_thread *t, int timeout_ms, struct err *e);

#endif
