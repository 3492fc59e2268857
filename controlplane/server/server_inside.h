/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the files of the server share:
 *
 *	server_nng.c    listeners, and the side of the caller, who empties the mailbox
 *	server_admit.c  which connections are accepted, and how fast they are read
 *	server_peer.c   the two threads of a connection
 *	server_tls.c    certificates of agents on other machines
 *	mailbox.c       frames that wait for the caller
 *
 * server.lock guards all of it. No thread reads, writes or waits on a stream while it holds the lock.
 */
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
	pthread_mutex_t lock; /* by server_lock() */
	pthread_t owner;      /* the thread that holds it, ... */
	bool locked;          /* ... if one does; for assertions */
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

static inline void
server_lock(struct server *s)
{
	pthread_mutex_lock(&s->lock);
	s->owner = pthread_self();
	s->locked = true;
}

static inline void
server_unlock(struct server *s)
{
	s->locked = false;
	pthread_mutex_unlock(&s->lock);
}

/* Whether this thread holds the lock; for assert(). */
static inline bool
server_is_mine(const struct server *s)
{
	return s->locked && pthread_equal(s->owner, pthread_self());
}

/* Waits on the condition without the lock, and takes it again. until: on CLOCK_MONOTONIC; NULL:
 * however long. 0, or ETIMEDOUT. */
static inline int
server_wait(struct server *s, pthread_cond_t *c, const struct timespec *until)
{
	int rc;

	s->locked = false;
	rc = until != NULL ? pthread_cond_timedwait(c, &s->lock, until)
	                   : pthread_cond_wait(c, &s->lock);
	s->owner = pthread_self();
	s->locked = true;
	return rc;
}

/* ---- with server.lock held, which they assert ---- */

/* Starts the threads of a connection. forbidden: code 0, or why it is refused at once. ERR_MEMORY,
 * ERR_SYSTEM: the stream stays the caller's. */
int peer_start(struct server *s, enum door door, struct stream *stream, const struct who *who,
    const char *only_node, const struct err *forbidden, struct err *e);
/* Gives the writer a frame; one of the same slot that was not written yet is replaced. Copies. */
void peer_put(struct peer *p, enum slot slot, const void *data, size_t len);
/* Ends the connection after what waits to be written; text: why, for the peer, or NULL. */
void peer_hang_up(struct peer *p, const char *text);
/* A letter for the audit: `who` was refused at this door. */
void server_refused(struct server *s, enum door door, const struct who *who, const struct err *e);
/* Whether a connection that has identified itself may stay: ERR_FULL if too many are known. */
int server_place(struct server *s, struct peer *p, struct err *e);
/* How long its frame, which has come whole, has to wait until it may be taken, in ns; 0: not. */
int64_t server_slow_ns(struct server *s, struct peer *p, unsigned kind, struct mono now);
/* Frees dead connections; releases the lock meanwhile. */
void server_reap(struct server *s);
/* A letter for the log; dropped when 64 of them wait. */
void server_note(struct server *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* ---- without the lock ---- */

/* Accepts or refuses a connection at this gate; takes the stream. */
void server_admit(struct gate *g, struct stream *stream);
/* The TLS handshake of a tls:// connection, and the node that its certificate is for. In the reader.
 * 0, or why it is refused. */
int peer_secure(struct peer *p, struct err *e);
/* Reads changed certificates again, once a second, and closes connections that they no longer
 * permit. In the gatekeeper of the agents. */
void server_keys(struct server *s);

/* Frees a connection whose threads have ended. */
void peer_free(struct peer *p);
/* Writes a refusal to a peer that was not accepted, and closes the stream. */
void stream_turn_away(struct stream *stream, const char *text);

#endif
