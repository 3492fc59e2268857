/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The agent of one node: reads what its tracepoints write, sends it to the
 * controller, switches tracepoints on and off for it, and leaves nothing on.
 */
#ifndef AGENT_MAIN_AGENT_H
#define AGENT_MAIN_AGENT_H

#include "agent/main/agent_config.h"
#include "agent/guard/guard.h"
#include "agent/tracer/rates.h"
#include "base/err.h"
#include "mapping/map.h"

struct agent;

/* Makes the queues, starts the threads; guardian and table of rates must have been made before.
 * `say` gets words for the log, from the calling thread. On success *ret is the caller's. Guardian,
 * table and what is in *maps belong to the agent, also when it fails. */
int agent_open(struct agent **ret, const struct agent_config *c, const char *version,
    struct guard *g, struct rates *rates, struct maps *maps,
    void (*say)(enum log_level level, const char *words), struct err *e);

/* Other mappings from now on: what is in *maps is the agent's. All that was on goes off, and its
 * session is made anew, in some tenths of a second, for which a loss is told. */
void agent_remap(struct agent *a, struct maps *maps);

/* One turn: reads, sends, switches, reports; then waits for up to 10 ms, or until something
 * happens. */
void agent_turn(struct agent *a);

/* All off, nothing left behind, the guardian dismissed, within 2 s. Where the tracer hangs, the
 * guardian does the rest. NULL is fine. */
void agent_close(struct agent *a);

/* Wakes agent_turn(); for signal handlers. */
void agent_wake(struct agent *a);

#endif
