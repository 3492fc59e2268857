/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The agent's part that looks below tracepoints: starts and ends hone-below, and tells it which processes to follow.
 *
 *	tried once ---> what it can do is known ---> ended; if that is nothing, again each five minutes. A new session tries nothing anew
 *	the controller wants probes, or a program's are not listed (agent_probes.h) ---> as below
 *	programs are to be followed by kernel events (agent_kernel.h) ---> as below
 *	the controller wants services ---> started, leased each second, their processes followed ---> ended
 *
 * It is ended when no service is wanted, when the lease of the desired state has ended, and when the controller was not
 * heard for controller.sampling_without. One that ends by itself, or could not be started, is started again after 1 s, then 2 s, up to a minute.
 */
#ifndef AGENT_MAIN_AGENT_BELOW_H
#define AGENT_MAIN_AGENT_BELOW_H

#include "agent/main/agent_state.h"

/* Takes which services are wanted, until the lease ends. */
void below_want(struct agent *a, const struct want *w, struct mono now);

/* One turn. Costs a look at the list of processes when that has changed, or once a second while it is active. */
void below_turn(struct agent *a, struct mono now);

/* The session's source, with that of hone-below as a second member if there is a starter; takes ownership of *plain. Errors
 * of source_set_open(). */
int below_source(struct agent *a, struct source *ret, const struct source *plain, struct err *e);

/* The source is closed next, and with it the socket to hone-below. */
void below_source_closed(struct agent *a);

/* What the status says of it: of what it costs, too. Its texts are valid until the next turn. Returns its CPU time in us. */
int64_t below_status(struct agent *a, struct status *s);

void below_release(struct agent *a);

#endif
