/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The agent's STATUS: occupancy of queues, losses, cost, and what is wrong. */
#ifndef AGENT_MAIN_STATUS_REPORT_H
#define AGENT_MAIN_STATUS_REPORT_H

#include "agent/main/agent_state.h"

/* To be called when the agent starts: CPU time that the tracer used before does not count. */
void report_begin(struct agent *a);

/* Around each task that switches tracepoints: what the session daemon takes for it is told apart. */
void report_switch_begins(struct agent *a);
void report_switch_ended(struct agent *a);

/* Posts a STATUS every status.every, or at once if a->report.due. */
void report_status(struct agent *a, struct mono now);

#endif
