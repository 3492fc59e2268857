/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What agent and controller say to each other on one connection. */
#ifndef AGENT_LINK_CONVERSATION_H
#define AGENT_LINK_CONVERSATION_H

#include "agent/link/link_state.h"

/*
 * Greets the controller, then sends messages and batches and takes what the controller sends, with a thread that reads,
 * until the connection ends; why is in *e: ERR_BUSY and ERR_VERSION if the controller refuses this agent, ERR_INPUT or
 * ERR_VERSION if it sent something that is no message, which it is told. Precondition: l->stream is s. The caller closes s.
 */
void conversation_run(struct link *l, struct stream *s, struct err *e);

#endif
