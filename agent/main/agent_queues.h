/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How full the agent's queues are: the tracer's rings and files, the outbox, the link. */
#ifndef AGENT_MAIN_AGENT_QUEUES_H
#define AGENT_MAIN_AGENT_QUEUES_H

#include "agent/main/agent_state.h"

/* Measures all queues. While the tracer's files are full no request is sampled. Where the fullest
 * queue is over status.shed, disables all added tracepoints. */
void queues_check(struct agent *a, struct mono now);

/* How long the next check may wait, at most `most` ms: a ring that would be half full before is
 * checked earlier, after half of that time, since the rise may just have begun. At least 1 ms. */
int queues_wait_ms(const struct agent *a, int most_ms);

#endif
