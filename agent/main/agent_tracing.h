/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The agent's part that uses the tracer: gives tasks to its thread and takes the results. */
#ifndef AGENT_MAIN_AGENT_TRACING_H
#define AGENT_MAIN_AGENT_TRACING_H

#include "agent/main/agent_state.h"

/* Takes the result of a task that has ended, if there is one. */
void tracing_take_result(struct agent *a);

/* Gives the tracer's thread its next task, if it is idle and one is due. */
void tracing_give_task(struct agent *a, struct mono now);

/* The session does not exist any more, for the reason in *e: reads what the tracer wrote, closes the
 * source, and opens a session again after a second. */
void tracing_lost(struct agent *a, const struct err *e, struct mono now);

#endif
