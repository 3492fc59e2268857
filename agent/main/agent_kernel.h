/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Follows the programs of [kernel] in hone-agent.conf by kernel events: finds their processes, has hone-below record them, and has
 * agent/reader/source_requests.h make requests of that.
 *
 *	off ----> a process is found, and requests are sampled: asked ----> RECORDING: followed ----> none is left, or not sampled: off
 *	                 ^                                          |             |
 *	                 '---- after five minutes ---- cannot <-----'             |---> over kernel.limit: off for ten minutes
 *	                                                                          '---> hone-below is gone: off
 *
 * As long as it is not off, hone-below runs, with its lease; so all that is attached ends with it.
 */
#ifndef AGENT_MAIN_AGENT_KERNEL_H
#define AGENT_MAIN_AGENT_KERNEL_H

#include "agent/main/agent_state.h"

/* Reads [kernel]. ERR_MEMORY, ERR_INPUT. */
int kernel_open(struct agent *a, struct err *e);
void kernel_release(struct agent *a);

/* The source of these requests. Not to be called if no service is named. ERR_MEMORY. */
int kernel_source(struct agent *a, struct source *ret, struct err *e);
void kernel_source_closed(struct agent *a);
/* Fills what hone-below answers of kernel events. */
void kernel_answers(struct agent *a, struct source_below_answers *answers);

/* Whether hone-below has to run for it. */
bool kernel_needs(const struct agent *a);
/* Looks for processes each second; `active`: hone-below runs and can be asked. Costs a file of each process of the machine a second, if
 * services are named. */
void kernel_turn(struct agent *a, bool active, struct mono now);

/* Whether processes of this name are named in the configuration. */
bool kernel_names_service(const struct agent *a, const char *comm);

/* What the status says of it; texts are valid until the next turn. */
void kernel_status(const struct agent *a, struct status *s);

#endif
