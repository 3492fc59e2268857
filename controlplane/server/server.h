/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The door to agents and operators. Threads accept, read and write; what came in
 * lies in a mailbox that one thread, the caller's, empties:
 *
 *	agents.sock --> reader --.                                  .--> writer --> agent
 *	agents.sock --> reader ---+--> mailbox --> server_next() ---+--> writer --> agent
 *	honed.sock  --> reader --'                                  '--> writer --> operator
 *
 * A peer that stalls does not delay others: each connection has two threads, and at most one frame
 * of each kind waits to be written (an ACK or a WANT replaces the one before). While the mailbox is
 * full the readers do not read, so that the agents' windows fill. A peer that sends or asks too
 * fast is read more slowly.
 */
#ifndef CONTROLPLANE_SERVER_SERVER_H
#define CONTROLPLANE_SERVER_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "controlplane/server/conn.h"

struct tls; /* base/tls.h */
struct server;
struct peer; /* a connection: valid until the server_next() after its MAIL_LEFT, an operator's until
                the next server_next() */

enum { DEFAULT_STRANGERS = 64 };

struct server_options {
	const char *agents, *operators; /* URLs; operators' must be ipc:// */
	struct tls *tls; /* of agents that come by tls://; else NULL. Kept, and read again when its
	                    files change */
	int connections_max; /* of both kinds together, that have identified themselves, or asked */
	int strangers_max;   /* of each kind, that have not; 0: DEFAULT_STRANGERS */
	size_t mailbox_max_bytes; /* of frames that wait; and as much again of frames that are read
	                             just now */
	double questions_per_s;   /* of an operator's user; twice as many at once; 0: no bound */
	struct roles *roles; /* who may; kept by the caller. NULL: root and our own user alone */
	struct conn_limits limits;
	int64_t replace_ns; /* a node that was silent for this long may be replaced by its next
	                       incarnation */
};

enum mail_kind {
	MAIL_JOINED,  /* an agent: say server_welcome() or server_refuse() */
	MAIL_FRAME,   /* of an agent that was welcomed: data[0..len) of kind `frame`; RECORDS have a
	                 seq */
	MAIL_LEFT,    /* an agent that was welcomed is gone, or was replaced; text: why */
	MAIL_ASKED,   /* an operator: data[0..len) is the question; say server_answer() */
	MAIL_NOTE,    /* text: somebody was turned away, and why; for the log */
	MAIL_REFUSED, /* text: `who` may not connect at `door`, and why; for the audit. `times`: so
	                 often */
};

struct mail {
	enum mail_kind kind;
	struct peer *peer; /* not of a NOTE, or of REFUSED */
	struct who who;    /* of ASKED and REFUSED */
	enum door door;
	uint64_t times;
	uint32_t tag;              /* what server_welcome() was told */
	const struct hello *hello; /* of JOINED */
	unsigned frame;            /* enum frame_kind */
	uint64_t seq;
	uint8_t *data; /* the mail's, with a 0 behind; freed by mail_release() */
	size_t len;
	struct mono
	    at; /* of JOINED, FRAME and ASKED: when its last byte came, however long it lay here */
	char *text; /* the mail's too */
};

/* Opens both listeners and starts the threads. ERR_BUSY: another controller listens there. Not to
 * be called before a fork(). */
int server_open(struct server **ret, const struct server_options *o, struct err *e);
/* Writes what waits to be written (at most 2 s), then closes everything. NULL is fine. */
void server_close(struct server *s);
const char *server_url(const struct server *s, enum door door); /* as it is really bound */

/* The next mail, waiting at most timeout_ms; false: none. The caller releases it. O(1). */
bool server_next(struct server *s, struct mail *ret, int timeout_ms);
/* The same of what an agent says of its queues, which waits behind nothing else; never waits
 * itself. */
bool server_next_status(struct server *s, struct mail *ret);
void mail_release(struct mail *m);
size_t server_waiting_bytes(struct server *s); /* in the mailbox */
size_t server_reading_bytes(
    struct server *s); /* of agents' frames that are being read, or wait to get into it */

/* Tells the agent which batches need not be sent again: of this incarnation, those that
 * server_took() was told. */
void server_welcome(struct server *s, struct peer *p, uint32_t tag);
/* Closes the connection with this text; nothing more of it comes out of the mailbox, except
 * MAIL_LEFT if it was welcomed. */
void server_refuse(struct server *s, struct peer *p, const char *words);
/* The batch was taken: acknowledges it. */
void server_took(struct server *s, struct peer *p, uint64_t seq);
void server_want(
    struct server *s, struct peer *p, const struct buf *payload); /* copies; the latest wins */
/* Asks the agent for its clock; a MAIL_FRAME of kind CLOCK will follow. */
void server_clock(struct server *s, struct peer *p);
void server_answer(struct server *s, struct peer *p, const char *text, size_t len); /* copies */

#endif
