/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the files of the server share. Each file calls only files below it:
 *
 *	server_listen.c  listeners; opens and closes the server
 *	server_mail.c    the interface of the thread that empties the mailbox
 *	server_admit.c   which new connections are accepted
 *	peer_reader.c    the reader thread of a connection, and the connection's lifetime
 *	server_tls.c     certificates of agents on other machines
 *	server_limits.c  limits of identified connections: their number and their rates
 *	peer_writer.c    the writer thread of a connection
 *	server_notes.c   notices for the log and the audit
 *	strangers.c      which connection is closed when too many are not identified
 *	mailbox.c        frames and notices that wait for the caller
 *
 * server.lock guards all of it. No thread reads, writes or waits on a stream while it holds the lock.
 */
#ifndef CONTROLPLANE_SERVER_SERVER_INSIDE_H
#define CONTROLPLANE_SERVER_SERVER_INSIDE_H

#include <pthread.h>

#include "base/hash_table.h"
#include "base/lock.h"
#include "base/stream.h"
#include "controlplane/server/mailbox.h"
#include "controlplane/server/server.h"
#include "controlplane/server/strangers.h"

/* One frame of each kind can wait to be written. In the order in which they are written. */
enum slot {
	SLOT_WELCOME,
	SLOT_CLOCK,
	SLOT_ACK,
	SLOT_WANT,
	SLOT_KEEP,
	SLOT_ANSWER,
	SLOT_REFUSE,
	SLOTS
};

/* What was received from a node over all its connections. It lets the controller recognise batches
 * that are sent again, as long as the node's agent runs. */
struct node_progress {
	char node[NODE_NAME_MAX + 1];
	uint64_t incarnation, have_seq;
	struct peer *peer; /* the current connection, or NULL */
};

struct peer {
	struct server *server;
	struct peer *next; /* in server.peers or server.unreported */
	struct stream *stream;
	struct conn conn;
	unsigned cell; /* of its source (strangers.h) */
	bool remote;   /* on another machine: its bytes count as speech, its failures as failures */
	pthread_t reader, writer;
	pthread_cond_t out; /* a slot was filled, or closing was set */
	struct buf slots[SLOTS];
	bool full[SLOTS];
	bool closing; /* the writer writes the slots that are full, then ends */
	bool discard; /* its letters in the mailbox are discarded */
	bool blocked; /* its reader waits for memory or for its rate: not silence of the peer */
	bool slowed;  /* a notice about its rate was posted */
	bool
	    posted; /* a letter of it was in the mailbox: server_next() frees it, else server_reap()
	               */
	size_t reading_bytes; /* its part of server.reading_bytes */
	bool welcomed;
	bool left_reported;   /* the caller has received MAIL_LEFT */
	struct err forbidden; /* code 0, or why the connection is refused at once */
	struct err
	    end;      /* why it ended; a code only when its reader found it and reports it itself */
	uint32_t tag; /* of server_welcome() */
	struct node_progress *progress; /* set by server_next() when it returns MAIL_JOINED */
};

/* A listener and the thread that accepts from it. */
struct gate {
	struct server *server;
	enum door door;
	struct listener *listener;
	pthread_t thread;
	bool running;
};

/* The rate of questions of an operator's user. */
struct user_rate {
	bool used;
	int uid;
	struct bucket bucket;
};

enum { PROGRESS_MAX = 16384, HOST_NAME_BYTES = 256, USER_RATES_MAX = 64 };

struct server {
	struct lock lock; /* taken by server_lock() */
	bool stopping;
	struct server_options options;
	struct gate gates[DOORS];
	struct mailbox mailbox;
	/* Only the thread of the agents' listener uses these two: when it last checked whether the
	 * credentials have changed, and the error code of reading them then (0: none). */
	struct mono credentials_checked;
	int credentials_error;
	struct peer *peers;      /* whose reader runs, or whose last letter waits */
	struct peer *left;       /* freed by the next server_next() */
	struct peer *unreported; /* ended, without any letter: freed by server_reap() */
	pthread_cond_t ended;    /* `left` or `unreported` was set */
	int npeers;              /* in `peers` and `unreported` */
	size_t reading_bytes;    /* of frames between their header and the mailbox */
	struct roles *roles;     /* the caller's, or own_roles */
	struct roles *own_roles; /* made and freed by the server; NULL if the caller gave roles */
	char host[HOST_NAME_BYTES];
	struct user_rate user_rates[USER_RATES_MAX];
	struct sources sources;
	uint64_t source_secret;    /* of source_cell() */
	struct rng rng;            /* for stranger_to_close() */
	struct mono flood_noted;   /* when the last notice about a flood was posted; 0: never */
	uint64_t refusals_unnoted; /* since the last MAIL_REFUSED */
	struct node_progress **progress;
	uint32_t nprogress, progress_cap;
	struct hash_table progress_index; /* by a hash of the node's name */
};

static inline void
server_lock(struct server *s)
{
	lock_take(&s->lock);
}

static inline void
server_unlock(struct server *s)
{
	lock_give(&s->lock);
}

/* Whether this thread holds the lock; for assert(). */
static inline bool
server_lock_held(const struct server *s)
{
	return lock_is_held(&s->lock);
}

/* As lock_wait(), on CLOCK_MONOTONIC. */
static inline int
server_wait(struct server *s, pthread_cond_t *c, const struct timespec *until)
{
	return lock_wait(&s->lock, c, until);
}

/* ---- with server.lock held, which they assert ---- */

/* Posts a notice for the log; dropped while MAILBOX_NOTES_MAX notices wait. */
void server_note(struct server *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Posts a notice for the audit: `who` was refused at this door. */
void server_refused(struct server *s, enum door door, const struct who *who, const struct err *e);

/* Gives the writer a copy of a frame; it replaces one in the same slot that was not written yet. */
void peer_put(struct peer *p, enum slot slot, const void *data, size_t len);
/* Closes the connection after the frames that wait were written. text: the reason, for the peer, or
 * NULL. */
void peer_hang_up(struct peer *p, const char *text);

/* Whether a connection that has identified itself may stay; may close an idle operator for it.
 * ERR_FULL: the limit is reached. O(connections). */
int server_check_limit(struct server *s, struct peer *p, struct err *e);
/* How long a complete frame has to wait until it may be taken, in ns; 0: it takes a token. */
int64_t server_slow_ns(struct server *s, struct peer *p, unsigned kind, struct mono now);

/* Notes whether a stranger on another machine has sent anything. */
void peer_hear(struct peer *p);
/* Starts the threads of a connection; `source`: who connects, see strangers.h. forbidden: code 0, or why it is refused at once. ERR_MEMORY,
 * ERR_SYSTEM: the stream stays the caller's. */
int peer_start(struct server *s, enum door door, struct stream *stream, unsigned cell,
    const struct who *who, const char *only_node, const struct err *forbidden, struct err *e);
/* Frees the connections in server.unreported; releases the lock meanwhile. */
void server_reap(struct server *s);

/* ---- without the lock ---- */

/* Frees a connection whose threads have ended. */
void peer_free(struct peer *p);
/* Runs the writer thread of the connection: writes its slots until it is closing. arg: a peer. */
void *peer_writer(void *arg);
/* Writes a refusal to a peer that was not accepted, and closes the stream. Takes at most 0.2 s. */
void stream_turn_away(struct stream *stream, const char *text);

/* The TLS handshake of a tls:// connection, and the node that its certificate is for; nothing on
 * other transports. Called by the reader. 0, or why the connection is refused. */
int peer_secure(struct peer *p, struct err *e);
/* Once per second, reads credentials that have changed, and closes connections that these no longer
 * permit. Called by the thread of the agents' listener. */
void server_check_credentials(struct server *s);

/* Accepts or refuses a new connection of this listener; takes the stream. */
void server_admit(struct gate *g, struct stream *stream);

#endif
