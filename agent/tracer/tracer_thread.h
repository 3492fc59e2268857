/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The one thread that goes through the door of tracer.h, so that nobody else
 * waits when the tracer's daemon does. One task at a time: give it when idle,
 * fetch what became of it when told.
 */
#ifndef AGENT_TRACER_TRACER_THREAD_H
#define AGENT_TRACER_TRACER_THREAD_H

#include "agent/tracer/tracer.h"
#include "base/clock.h"
#include "base/err.h"

struct tracer_thread;

enum task { TASK_NONE, TASK_OPEN, TASK_SET, TASK_LIST, TASK_CHECK, TASK_TEND };

struct task_result {
	enum task task; /* NONE: nothing has ended since */
	int code;       /* 0, or as the door says, with words in: */
	struct err err;
	struct mono ended;
	struct tracer_session session; /* OPEN */
	struct tracer_change *changes; /* SET: those given, the taker's now */
	uint32_t nchanges;
	struct tracer_gap gap;
	struct tracepoints listed; /* LIST: the taker's now */
};

/* Starts the thread; the door belongs to it. wake: an eventfd, told when a task has ended. */
int tracer_thread_start(
    struct tracer_thread **ret, const struct tracer *door, int wake, struct err *e);
bool tracer_thread_idle(struct tracer_thread *s);
/* Only when idle. `changes` for SET alone: taken, and given back in the result. */
void tracer_thread_give(
    struct tracer_thread *s, enum task task, struct tracer_change *changes, uint32_t n);
void tracer_thread_take(struct tracer_thread *s, struct task_result *ret);
/* For how long the task that runs has run, and which; 0: idle. */
int64_t tracer_thread_busy_ns(struct tracer_thread *s, struct mono now, enum task *task);
/* Closes the session and ends the thread. ERR_TIMEOUT: the tracer hangs; the thread, its door and s
 * are left behind. */
int tracer_thread_stop(struct tracer_thread *s, int timeout_ms, struct err *e);

#endif
