/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The agent's end of the connection to the controller. It connects, again and again; sends messages
 * that are urgent first, then batches from the outbox within a window; and passes on what the
 * controller wants.
 *
 *	dial -> HELLO -> WELCOME -> CLOCK, RECORDS, DONE, STATUS, PROGRAMS, KEPT ->
 *	                         <- CLOCK, ACK (8 bytes, little endian), WANT, KEEP, REFUSE (text) <-
 *
 * A connection is closed when the controller sends no message for silence_ms, or something that is
 * no message.
 */
#ifndef AGENT_LINK_LINK_H
#define AGENT_LINK_LINK_H

#include "agent/link/link_state.h"
#include "agent/link/outbox.h"
#include "base/buf.h"
#include "base/err.h"

/* Owns two threads; all functions may be called by any thread. */

/* Starts the threads; out must live until link_stop(). On success *ret is the caller's.
 * ERR_MEMORY. */
int link_start(struct link **ret, const struct link_options *o, struct outbox *out, struct err *e);
/* Closes the connection, ends the threads and frees the link. Up to 1 s while it connects. NULL is
 * fine. */
void link_stop(struct link *l);

/* There is a new batch in the outbox. */
void link_kick(struct link *l);

/* Sends a DONE, STATUS or PROGRAMS; takes the payload, which is empty afterwards. It replaces one of
 * the same kind that was not sent yet. Without a connection it is dropped, but PROGRAMS is sent again
 * on every new connection. */
void link_post(struct link *l, int frame_kind, struct buf *payload);

/* The newest want that was not taken yet, the caller's until link_want_free(). NULL: there is
 * none. */
struct link_want *link_take_want(struct link *l);
/* The keeps that came since the last call, on this connection. */
uint32_t link_take_keeps(struct link *l, struct keep ret[KEEPS_MAX]);
/* Sends a KEPT, in the order of the calls; takes the payload, which is empty afterwards. Without a connection, with KEEPS_MAX or LINK_KEPT_BYTES
 * waiting, it is dropped: false. The controller takes an answer that does not come for lost. */
bool link_post_kept(struct link *l, struct buf *payload);
void link_stats(struct link *l, struct link_stats *ret);

#endif
