/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the files of the server share: server_nng.c (listeners, the caller's side), server_admit.c
 * (who gets a place, and how fast), server_peer.c (the threads of a connection), mailbox.c. One
 * mutex, server.lock, guards all of it; nobody reads, writes or waits on a stream under it. */
#ifndef CONTROLPLANE_SERVER_SERVER_INSIDE_H
#define CONTROLPLANE_SERVER_SERVER_INSIDE_H

#include <pthread.h>

#include "base/stream.h"
#include "controlplane/server/server.h"

/* ---- the mailbox ---- */
enum { MAILBOX_NOTES_MAX = 64 };

struct letter {
	struct letter *next;
	struct mail mail;
	bool end; /* the peer's reader has nothing more to say: it can be joined and freed */
};

struct mailbox {
	struct letter *first, **last;
	struct letter **
	    urgent; /* those before it are STATUS frames: they wait behind nothing but each other */
	size_t bytes, max_bytes;
	unsigned notes;
	pthread_cond_t mail, room; /* both on CLOCK_MONOTONIC */
};

struct letter *letter_new(
    enum mail_kind kind, const char *text); /* a copy of it; NULL: out of memory */
void mailbox_init(struct mailbox *m, size_t max_bytes);
void mailbox_release(struct mailbox *m);
void mailbox_put(struct mailbox *m, struct letter *l);      /* at the end; wakes the taker */
void mailbox_put_back(struct mailbox *m, struct letter *l); /* at the front */
struct letter *mailbox_take(struct mailbox *m);             /* or NULL; wakes who waits for room */
bool mailbox_full(const struct mailbox *m);
void cond_init_mono(pthread_cond_t *c);
struct timespec mono_in_ms(int ms);

/* ---- connections ---- */
enum slot {
	SLOT_WELCOME,
	SLOT_CLOCK,
	SLOT_ACK,
	SLOT_WANT,
	SLOT_ANSWER,
	SLOT_REFUSE,
	SLOTS
}; /* in the order they are written */

/* What was taken of a node, over all its connections: dedup for as long as its agent lives. */
struct seen {
	char node[NODE_NAME_MAX + 1];
	uint64_t incarnation, have_seq;
	struct peer *now; /* its connection, or NULL */
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
	bool closing; /* the writer writes what is full, then ends */
	bool deaf;    /* what it sent and nobody took yet is not taken any more */
	bool blocked; /* its reader waits, for room or for its pace: that is not silence */
	bool slowed;  /* it was noted that it comes too fast */
	bool posted; /* a letter of it was in the mailbox: the taker frees it, else server_reap() */
	size_t reading_bytes; /* of server.reading_bytes */
	bool welcomed, left_told;
	struct err forbidden; /* code 0, or why its first frame will be refused */
	struct err end; /* why it ended; a code only when its reader found out and says so itself */
	uint32_t tag;
	struct seen *seen; /* once welcomed */
};

struct gate {
	struct server *server;
	enum door door;
	struct listener *listener;
	pthread_t thread;
	bool running;
};

struct asker { /* a user, and how fast it asks */
	bool used;
	int uid;
	struct bucket pace;
};

enum { SEEN_MAX = 4096, HOST_NAME_BYTES = 256, ASKERS_MAX = 64 };

struct server {
	pthread_mutex_t lock;
	bool stopping;
	struct server_options options;
	struct gate gates[DOORS];
	struct mailbox mailbox;
	struct mono keys_looked;   /* these two are the agents' gatekeeper's: when it looked whether
	                              they have changed; */
	int keys_trouble;          /* and the code of why it could not read them, or 0 */
	struct peer *peers, *gone; /* gone: freed by the next server_next() */
	struct peer *dead;    /* ended, and nobody was ever told of them: by `next`, out of peers */
	pthread_cond_t ended; /* one more is dead, or gone */
	int npeers;           /* in peers and dead */
	size_t reading_bytes; /* of frames whose header came, until they are in the mailbox */
	struct roles *roles, *made_roles; /* made_roles: ours to free, where the caller gave none */
	char host[HOST_NAME_BYTES];
	struct asker askers[ASKERS_MAX];
	struct mono flooded; /* when it was noted last that strangers make room */
	uint64_t unsaid;     /* refusals that no letter tells of yet */
	struct seen **seen;
	uint32_t nseen;
};

/* With server.lock held: */
/* forbidden: code 0, or why it is told no at once. */
int peer_start(struct server *s, enum door door, struct stream *stream, const struct who *who,
    const char *only_node, const struct err *forbidden, struct err *e);
void peer_put(struct peer *p, enum slot slot, const void *data, size_t len); /* replaces */
void peer_hang_up(struct peer *p, const char *words);                        /* NULL: without */
/* Somebody may not: a letter for the audit. */
void server_refused(struct server *s, enum door door, const struct who *who, const struct err *e);
/* A stranger said who it is, or asked: is there a place among the known? ERR_FULL. */
int server_place(struct server *s, struct peer *p, struct err *e);
/* A frame of it came whole: how long until it may be taken, in ns; 0: now. */
int64_t server_slow_ns(struct server *s, struct peer *p, unsigned kind, struct mono now);
/* Frees those that are dead; lets go of the lock meanwhile. */
void server_reap(struct server *s);
void server_note(struct server *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Without it: somebody has connected at this gate. */
void server_admit(struct gate *g, struct stream *stream);
/* ---- server_tls.c, without the lock ---- */
/* Shakes hands, where it is tls://, and learns for which node it may speak. In the reader. 0, or
 * why it is not let in. */
int peer_secure(struct peer *p, struct err *e);
/* Once a second: hangs up on whom the keys, when they have changed, do not let in any more. */
void server_keys(struct server *s);

/* Without it: frees one whose threads have ended. */
void peer_free(struct peer *p);
/* Says `words` to somebody for whom there is no room, and closes. */
void stream_turn_away(struct stream *stream, const char *words);

#endif
