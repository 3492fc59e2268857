/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The server for agents and operators. One thread accepts, reads and writes for all connections; received frames wait in
 * a mailbox, which one thread of the caller empties:
 *
 *	agents.sock <--.                        .--> mailbox --> server_next()
 *	agents.sock <--+--> loop (epoll) <------+
 *	honed.sock  <--'      |                 '--- server_want(), server_answer(), ...
 *	                  greeters: users' roles, TLS handshakes
 *
 * Threads do not grow with connections. A peer that stalls does not delay others: no call of the loop waits for a peer, and
 * at most one frame of each kind waits to be written (an ACK or a WANT replaces the one before). While the mailbox is full
 * the loop does not read, so that the agents' windows fill. A peer that sends or asks too fast is read more slowly.
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
/* A connection. That of an agent is valid until the server_next() after its MAIL_LEFT, that of an
 * operator until the next server_next(), or until its answer after server_defer(). */
struct peer;

enum { DEFAULT_STRANGERS = 64 };

struct server_options {
	const char *agents, *operators; /* URLs; that of operators must be ipc://. The caller's */
	/* Credentials for agents that connect by tls://, else NULL. The caller's; the server reads
	 * them again when their files change. */
	struct tls *tls;
	int connections_max; /* identified connections of both doors together */
	int strangers_max;   /* strangers at each door; 0: DEFAULT_STRANGERS */
	/* Of frames in the mailbox; frames that are being read may have as much again. */
	size_t mailbox_max_bytes;
	double questions_per_s; /* of an operator's user; burst: twice as many; 0: no limit */
	struct roles *roles;    /* the caller's; NULL: only root and the user of this process */
	struct conn_limits limits;
	/* A connection of a node that was silent for this long may be replaced by another agent. */
	int64_t replace_ns;
};

enum mail_kind {
	MAIL_JOINED,  /* an agent's HELLO: call server_welcome() or server_refuse() */
	MAIL_FRAME,   /* of a welcomed agent: data[0..len) of kind `frame`; seq of RECORDS */
	MAIL_LEFT,    /* a welcomed agent has disconnected or was replaced; text: the reason;
	                 NULL: no memory for it */
	MAIL_ASKED,   /* an operator's question data[0..len): call server_answer() */
	MAIL_NOTE,    /* text: a notice for the log */
	MAIL_REFUSED, /* for the audit: `who` was refused at `door`; text: the reason. times: how
	                 many refusals since the last such mail, with this one */
};

struct mail {
	enum mail_kind kind;
	struct peer *peer; /* NULL of NOTE and REFUSED */
	struct who who;    /* of JOINED, FRAME, ASKED and REFUSED */
	enum door door;
	uint64_t times;
	uint32_t tag;              /* of server_welcome() */
	const struct hello *hello; /* of JOINED */
	unsigned frame;            /* enum frame_kind */
	uint64_t seq;
	uint8_t *data; /* the mail's, followed by a 0 byte; freed by mail_release() */
	size_t len;
	struct mono at; /* of JOINED, FRAME and ASKED: when its last byte came */
	char *text;     /* the mail's; NULL if out of memory */
};

/* Opens both listeners and starts the threads; a fork() must come before it. ERR_BUSY: another
 * controller listens there; ERR_INPUT, ERR_MEMORY, ERR_SYSTEM. */
int server_open(struct server **ret, const struct server_options *o, struct err *e);
/* Writes the frames that wait (at most 2 s), then closes everything. NULL is fine. */
void server_close(struct server *s);
const char *server_url(const struct server *s, enum door door); /* with the port that is bound */

/* The next mail, waiting at most timeout_ms; false: none. The caller releases it. O(1). */
bool server_next(struct server *s, struct mail *ret, int timeout_ms);
/* The same, for STATUS frames of agents only, which precede all others in the mailbox; never waits.
 */
bool server_next_status(struct server *s, struct mail *ret);
void mail_release(struct mail *m);
size_t server_waiting_bytes(struct server *s); /* in the mailbox */
/* Of agents' frames that are being read or wait for room in the mailbox. */
size_t server_reading_bytes(struct server *s);

/* Accepts the agent of a MAIL_JOINED, and sends it the number of the last batch of its incarnation
 * that was given to server_took(). tag: the caller's, for later mail of the peer. */
void server_welcome(struct server *s, struct peer *p, uint32_t tag);
/* Closes the connection; text: the reason, for the peer. Its mail is discarded, except MAIL_LEFT if
 * it was welcomed. */
void server_refuse(struct server *s, struct peer *p, const char *text);
/* Acknowledges a batch. */
void server_took(struct server *s, struct peer *p, uint64_t seq);
/* Sends a copy of the payload as WANT; it replaces one that was not written yet. */
void server_want(struct server *s, struct peer *p, const struct buf *payload);
/* Sends a copy of the payload as KEEP. False: one has not been written yet, or no memory; try again. */
bool server_keep(struct server *s, struct peer *p, const struct buf *payload);
/* Requests the node's clock; a MAIL_FRAME of kind CLOCK will follow. */
void server_clock(struct server *s, struct peer *p);
/* The answer to the question of this mail will come after other mail: the peer stays valid until server_answer() or server_refuse(), also
 * if its connection ends before that. Each must come before server_close(). */
void server_defer(struct server *s, struct peer *p);
/* Whether a deferred peer still waits: false once its connection has ended, which server_next() notices. */
bool server_waits(struct server *s, const struct peer *p);
/* Sends a copy of the answer. */
void server_answer(struct server *s, struct peer *p, const char *text, size_t len);

#endif
