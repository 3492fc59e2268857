/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The controller's main loop. What agents and operators send goes to the engine; what the engine
 * changes goes to the database, and then to the agents. One thread; it logs.
 *
 *	honed.c          the loop, and what is open
 *	agent_links.c    agents: frames in, desired states out
 *	questions.c      operators: questions in, answers out
 *	long_answers.c   those that take seconds, by a child process (answer_process.c)
 *	doors.c          further protocols, see door.h
 *	forest_keeper.c  the database of diagnoses
 *	space_keeper.c   the file of the learned space
 *	remote_agents.c  agents and traces by Kafka, where several honed share the work; gate_role.c and shard_role.c are the others
 *	limited_log.c    log lines that peers cause
 *	folders.c        where sockets and databases lie
 */
#ifndef CONTROLPLANE_HONED_HONED_H
#define CONTROLPLANE_HONED_HONED_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/err.h"
#include "controlplane/honed/honed_config.h"

struct honed;
struct remote_agents;

/* Opens the database, the learned space and the listeners, in this order, so that a failure leaves
 * everything as it was. The configuration outlives it. */
int honed_open(struct honed **ret, const struct config *c, struct err *e);
void honed_close(struct honed *h); /* NULL is fine */
/* Agents and traces come by Kafka; its own door refuses agents. Before honed_run(); *r is the caller's and outlives it. ERR_MEMORY. */
int honed_decide(struct honed *h, struct remote_agents *r, struct err *e);

/* Runs until *stop is set, by a signal handler or another thread. Then it stops all diagnoses. True:
 * within 5 s every connected agent has confirmed that all added tracepoints are disabled. It also ends, with false, when another decider
 * has taken over: then the agents are that one's. */
bool honed_run(struct honed *h, const atomic_bool *stop);

#endif
