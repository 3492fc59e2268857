/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the files of the server share: server_nng.c (listeners, the caller's side), server_peer.c (the threads of a
 * connection), mailbox.c. One mutex, server.lock, guards all of it; nobody reads, writes or waits on a stream under it. */
#ifndef CONTROLPLANE_SERVER_INSIDE_H
#define CONTROLPLANE_SERVER_INSIDE_H

#include <pthread.h>

#include "base/stream.h"
#include "controlplane/server.h"

/* ---- the mailbox ---- */
enum { MAILBOX_NOTES_MAX = 64 };

struct letter {
	struct letter *next;
	struct mail mail;
	bool end;		/* the peer's reader has nothing more to say: it can be joined and freed */
};

struct mailbox {
	struct letter *first, **last;
	size_t bytes, max_bytes;
	unsigned notes;
	pthread_cond_t mail, room;	/* both on CLOCK_MONOTONIC */
};

void mailbox_init(struct mailbox *m, size_t max_bytes);
void mailbox_release(struct mailbox *m);
void mailbox_put(struct mailbox *m, struct letter *l);		/* at the end; wakes the taker */
void mailbox_put_back(struct mailbox *m, struct letter *l);	/* at the front */
struct letter *mailbox_take(struct mailbox *m);			/* or NULL; wakes who waits for room */
bool mailbox_full(const struct mailbox *m);
void cond_init_mono(pthread_cond_t *c);
struct timespec mono_in_ms(int ms);

/* ---- connections ---- */
enum slot { SLOT_WELCOME, SLOT_CLOCK, SLOT_ACK, SLOT_WANT, SLOT_ANSWER, SLOT_REFUSE, SLOTS };	/* in the order they are written */

/* What was taken of a node, over all its connections: dedup for as long as its agent lives. */
struct seen {
	char node[NODE_NAME_MAX + 1];
	uint64_t incarnation, have_seq;
	struct peer *now;	/* its connection, or NULL */
};

struct peer {
	struct server *server;
	struct peer *next;
	struct stream *stream;
	struct conn conn;
	pthread_t reader, writer;
	pthread_cond_t out;
	struct buf slots[SLOTS];
	bool full[SLOTS];
	bool closing;		/* the writer writes what is full, then ends */
	bool deaf;		/* what it sent and nobody took yet is not taken any more */
	bool blocked;		/* its reader waits for room in the mailbox: that is not silence */
	bool welcomed, left_told;
	struct err forbidden;	/* code 0, or why its first frame will be refused */
	struct err end;		/* why it ended; a code only when its reader found out and says so itself */
	uint32_t tag;
	struct seen *seen;	/* once welcomed */
};

struct gate {
	struct server *server;
	enum door door;
	struct listener *listener;
	pthread_t thread;
	bool running;
};

enum { SEEN_MAX = 4096 };

struct server {
	pthread_mutex_t lock;
	bool stopping;
	struct server_options options;
	struct gate gates[DOORS];
	struct mailbox mailbox;
	struct peer *peers, *gone;	/* gone: freed by the next server_next() */
	int npeers;
	struct seen **seen;
	uint32_t nseen;
};

/* With server.lock held: */
int  peer_start(struct server *s, enum door door, struct stream *stream, const struct err *forbidden, struct err *e);
void peer_put(struct peer *p, enum slot slot, const void *data, size_t len);	/* replaces */
void peer_hang_up(struct peer *p, const char *words);	/* NULL: without */
void server_note(struct server *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Without it: frees one whose threads have ended. */
void peer_free(struct peer *p);
/* Says `words` to somebody for whom there is no room, and closes. */
void stream_turn_away(struct stream *stream, const char *words);

#endif
