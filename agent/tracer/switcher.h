/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The one thread that goes through the door of switch.h, so that nobody else
 * waits when the tracer's daemon does. One task at a time: give it when idle,
 * fetch what became of it when told.
 */
#ifndef AGENT_TRACER_SWITCHER_H
#define AGENT_TRACER_SWITCHER_H

#include "agent/tracer/switch.h"
#include "base/clock.h"
#include "base/err.h"

struct switcher;

enum task { TASK_NONE, TASK_OPEN, TASK_SET, TASK_LIST, TASK_CHECK, TASK_TEND };

struct task_result {
	enum task task; /* NONE: nothing has ended since */
	int code;       /* 0, or as the door says, with words in: */
	struct err err;
	struct mono ended;
	struct switch_session session; /* OPEN */
	struct change *changes;        /* SET: those given, the taker's now */
	uint32_t nchanges;
	struct switch_gap gap;
	struct tracepoints listed; /* LIST: the taker's now */
};

/* Starts the thread; the door belongs to it. wake: an eventfd, told when a task has ended. */
int switcher_start(struct switcher **ret, const struct switches *door, int wake, struct err *e);
bool switcher_idle(struct switcher *s);
/* Only when idle. `changes` for SET alone: taken, and given back in the result. */
void switcher_give(struct switcher *s, enum task task, struct change *changes, uint32_t n);
void switcher_take(struct switcher *s, struct task_result *ret);
/* For how long the task that runs has run, and which; 0: idle. */
int64_t switcher_busy_ns(struct switcher *s, struct mono now, enum task *task);
/* Closes the session and ends the thread. ERR_TIMEOUT: the tracer hangs; the thread, its door and s
 * are left behind. */
int switcher_stop(struct switcher *s, int timeout_ms, struct err *e);

#endif
