/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The agent of one node: it reads the records of its tracepoints, sends them to the controller,
 * enables and disables tracepoints as the controller wants, and leaves none enabled at its end.
 */
#ifndef AGENT_MAIN_AGENT_LOOP_H
#define AGENT_MAIN_AGENT_LOOP_H

#include "agent/guard/below_start.h"
#include "agent/guard/guard.h"
#include "agent/main/agent_config.h"
#include "agent/tracer/rates.h"
#include "base/err.h"
#include "base/log.h"
#include "mapping/map.h"

struct agent;

/* What starts hone-below, or why it cannot be started. */
struct agent_below_given {
	struct below_start *start; /* NULL: none; belongs to the agent, also on failure */
	const char *why_not;
};

/* Makes the queues and starts the threads; g was started and rates opened before. log() receives
 * texts for the log, in the calling thread. On success *ret is the caller's, until agent_close();
 * c must live as long. Guardian, rates and what is in *maps belong to the agent, also on failure:
 * ERR_MEMORY, ERR_SYSTEM, or an error of the [tls] files. */
int agent_open(struct agent **ret, const struct agent_config *c, const char *version,
    struct guard *g, const struct agent_below_given *below, struct rates *rates, struct maps *maps,
    void (*log)(enum log_level level, const char *text), struct err *e);

/* Replaces the mappings; what is in *maps belongs to the agent. All tracepoints are disabled and the
 * session is made again, which takes some tenths of a second; that time is reported as a loss. */
void agent_remap(struct agent *a, struct maps *maps);

/* One turn of the main loop: reads, sends, enables and disables, reports; then waits for up to
 * 50 ms, or until a thread or agent_wake() wakes it. */
void agent_turn(struct agent *a);

/* Disables all, removes what the agent made, dismisses the guardian and frees the agent; within 2 s.
 * If the tracer hangs, the guardian does the rest and the memory is not freed. NULL is fine. */
void agent_close(struct agent *a);

/* Wakes agent_turn(). May be called by a signal handler. */
void agent_wake(struct agent *a);

#endif
