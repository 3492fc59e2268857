/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The agent's part that follows the controller: wants, rates, and what is reported of both. */
#ifndef AGENT_MAIN_AGENT_CONTROL_H
#define AGENT_MAIN_AGENT_CONTROL_H

#include "agent/main/agent_state.h"

/* Takes the state of the link: connected, a new connection, the time of the last message. */
void control_follow_link(struct agent *a);

/* Takes a want that has come, and applies its rates. */
void control_take_want(struct agent *a, struct mono now);

/* Renews sampling while the agent lives and the controller was heard at most
 * controller.sampling_without ago; ends it otherwise, and while the tracer's files are full. */
void control_renew_sampling(struct agent *a, struct mono now);

/* Posts DONE when the newest epoch is applied, PROGRAMS when the list of programs has changed. */
void control_post_done(struct agent *a, struct mono now);
void control_post_programs(struct agent *a);

#endif
