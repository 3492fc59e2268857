/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The agent's end of the connection to the controller: dials, and dials again,
 * for ever; sends batches from the outbox within a window, and what is urgent
 * before them; hands on what the controller wants.
 *
 *	dial -> HELLO -> WELCOME -> CLOCK, RECORDS, DONE, STATUS, PROGRAMS ->
 *	                         <- CLOCK, ACK (8 bytes, little endian), WANT, REFUSE (words) <-
 *
 * A controller that says nothing for silence_ms, or something that is no
 * message, is hung up on. Nothing that it sends can do more than that.
 */
#ifndef AGENT_MAIN_LINK_H
#define AGENT_MAIN_LINK_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/main/outbox.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "wire/toggle.h"

struct link;
struct tls; /* base/tls.h */

struct link_options { /* texts are copied */
	const char *url, *node, *version;
	struct tls
	    *tls; /* for tls://; kept, and read again before each dial if its files have changed */
	uint64_t incarnation;
	uint32_t window; /* unacknowledged batches */
	int silence_ms, retry_ms,
	    refused_ms; /* retry: the longest wait between dials; refused: after a REFUSE */
	int wake;       /* an eventfd: told when there is a want, or a new connection */
};

struct link_want { /* the newest that came */
	struct arena arena;
	struct want want; /* in it */
	uint64_t connection;
};

struct link_stats {
	bool connected, refused;
	uint64_t connection; /* how many there were */
	struct mono heard;   /* the last frame of the controller; 0: never */
	uint64_t sent_bytes; /* in frames, on all connections */
	struct err trouble;  /* why it is not connected */
};

/* Starts its thread. */
int link_start(struct link **ret, const struct link_options *o, struct outbox *out, struct err *e);
/* Hangs up. Up to a second if it is dialling. NULL is fine. */
void link_stop(struct link *l);

/* There is something new in the outbox. */
void link_kick(struct link *l);

/* Takes the payload, which is empty after it. A newer one replaces one that has not left. PROGRAMS
 * is sent again on every new connection. Nothing but DONE, STATUS, PROGRAMS. */
void link_post(struct link *l, int frame_kind, struct buf *payload);

/* NULL: none since. The caller's, until link_want_free(). */
struct link_want *link_take_want(struct link *l);
void link_want_free(struct link_want *w);
void link_stats(struct link *l, struct link_stats *ret);

#endif
