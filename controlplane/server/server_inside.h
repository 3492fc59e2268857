/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the files of the server share. Each file calls only files below it:
 *
 *	server_listen.c      opens and closes the server
 *	server_mail.c        the interface of the thread that empties the mailbox
 *	server_loop_epoll.c  the thread that accepts, reads and writes, for all connections
 *	server_admit.c       which new connections are accepted
 *	server_greet.c       threads for what takes long at the begin of a connection: the user's roles, the TLS handshake
 *	server_tls.c         certificates of agents on other machines
 *	peer_input.c         bytes from a peer to frames in the mailbox
 *	peer_output.c        frames to bytes for a peer
 *	peer_end.c           why and how a connection ends
 *	server_limits.c      limits of identified connections: their number and their rates
 *	peer_lists.c         a connection in the lists of the server
 *	server_notes.c       notices for the log and the audit
 *	strangers.c          which connection is closed when too many are not identified
 *	mailbox.c            frames and notices that wait for the caller
 *
 * server.lock guards what the loop shares with the caller's thread and the greeters. No thread calls the kernel or OpenSSL for a
 * connection while it holds the lock. What is marked (loop) belongs to the loop's thread alone, and is used without the lock.
 */
#ifndef CONTROLPLANE_SERVER_SERVER_INSIDE_H
#define CONTROLPLANE_SERVER_SERVER_INSIDE_H

#include <pthread.h>
#include <sys/queue.h>

#include "base/channel.h"
#include "base/hash_table.h"
#include "base/listen_socket.h"
#include "base/lock.h"
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

/*
 *	UNKNOWN --roles--> TALKING --peer_hang_up()--> CLOSING --all is written--> [DRAINING] --> ENDED
 *	           SHAKING ----^ |________________________ the peer is gone ________________________^
 */
enum peer_state {
	PEER_UNKNOWN, /* a greeter looks up what its user may do */
	PEER_SHAKING, /* TLS handshake */
	PEER_TALKING, /* frames come and go */
	PEER_CLOSING, /* only what waits is written, for FAREWELL_MS at most */
	PEER_DRAINING, /* its refusal was written; what it still sends is read, for DRAIN_MS at most */
	PEER_ENDED,    /* the socket is closed; its last letter waits */
};

/* Each connection is in one of these lists. */
enum peer_list {
	LIST_UNKNOWN,
	LIST_STRANGERS,
	LIST_IDENTIFIED,
	LIST_CLOSING, /* from CLOSING on */
	LIST_ENDED,
	LISTS
};

/* Why a peer is not read. */
enum hold {
	HOLD_NONE,
	HOLD_MEMORY, /* frames that are being read have all memory that they may */
	HOLD_ROOM,   /* the mailbox is full */
	HOLD_RATE,   /* it sends faster than its limit */
	HOLDS
};

/* How far a frame is that comes in. */
enum in_stage {
	IN_HEADER,
	IN_MEMORY, /* the header is accepted; its payload has no memory yet */
	IN_PAYLOAD,
	IN_WHOLE, /* waits for its rate or for room in the mailbox */
};

struct incoming {
	enum in_stage stage;
	uint8_t header[FRAME_HEADER_BYTES];
	size_t have; /* of the header, then of the payload */
	struct frame frame;
	uint8_t *payload; /* followed by a 0 byte; grows with the bytes that arrive */
	size_t cap;
	struct mono at; /* when its last byte came */
	/* Bytes behind this frame that were read with it, while the peer is held. Under READ_BYTES. */
	uint8_t *rest;
	size_t rest_at, rest_len;
};

enum greeter_job { JOB_ROLES, JOB_SHAKE, JOBS };

/* What was received from a node over all its connections. It lets the controller recognise batches
 * that are sent again, as long as the node's agent runs. */
struct node_progress {
	char node[NODE_NAME_MAX + 1];
	uint64_t incarnation, have_seq;
	struct peer *peer; /* the current connection, or NULL */
};

struct peer {
	struct server *server;
	enum peer_state state;
	enum peer_list list;
	TAILQ_ENTRY(peer) listed, held, waiting, ready_, job_, recheck_, ack_;
	struct conn conn;
	unsigned cell; /* of its source (strangers.h) */
	bool remote;   /* on another machine: its bytes count as speech, its failures as failures */
	char source[ACCEPTED_ADDRESS_BYTES]; /* who it is, for the limits */
	char address[ACCEPTED_ADDRESS_BYTES];

	struct channel channel; /* (loop), of a greeter while with_greeter is set */
	struct incoming in;     /* (loop) */
	struct buf out;         /* (loop) the frame that is being written, from out_at on */
	size_t out_at;          /* (loop) */
	struct mono out_since;  /* (loop) when its writing began */
	bool stuck;      /* (loop) the socket takes no more now, and epoll tells when it does */
	bool is_ready;   /* (loop) in server.ready */
	bool is_recheck; /* (loop) in server.recheck */
	uint64_t credentials_age; /* (loop) server.credentials_age when its handshake began */

	struct buf slots[SLOTS]; /* each with room for the header */
	bool full[SLOTS];
	bool is_waiting;    /* in server.writing */
	bool is_ack;        /* in server.acks */
	struct mono ack_at; /* when its ACK is written, if nothing else takes it along before */
	uint32_t unwritten; /* batches that the ACK which waits is for */
	bool discard;       /* its letters in the mailbox are discarded */
	enum hold hold;     /* not HOLD_NONE: not silence of the peer */
	struct mono held_until;
	bool slowed;          /* a notice about its rate was posted */
	struct letter *last;  /* set when the first letter of it was posted: its last one */
	size_t reading_bytes; /* its part of server.reading_bytes */
	bool welcomed;
	bool left_reported; /* the caller has received MAIL_LEFT */
	bool refused;       /* it is told why it is closed */
	bool deferred;      /* since server_defer(); the answer ends it */
	bool gone;          /* its last letter was read, while it was deferred */
	struct mono closed_at;
	struct err end;                 /* why it ended; a code only when the loop found it */
	uint32_t tag;                   /* of server_welcome() */
	struct node_progress *progress; /* set by server_next() when it returns MAIL_JOINED */

	bool with_greeter; /* until the loop has taken it from server.greeted */
	enum greeter_job job;
	int greeter_rc; /* of channel_shake() */
	struct err greeter_err;
	struct err
	    forbidden; /* of JOB_ROLES, and of the certificate: code 0, or why it is refused */
};

TAILQ_HEAD(peer_queue, peer);

/* A listener. */
struct gate {
	struct server *server;
	enum door door;
	struct listen_socket *listener;
	bool acceptable;        /* (loop) connections may wait */
	struct mono not_before; /* (loop) after a failure to accept */
};

/* The rate of questions of an operator's user. */
struct user_rate {
	bool used;
	int uid;
	struct bucket bucket;
};

enum { PROGRESS_MAX = 16384, HOST_NAME_BYTES = 256, USER_RATES_MAX = 64, GREETERS = 2 };

struct server {
	struct lock lock; /* taken by server_lock() */
	bool stopping;
	struct server_options options;
	struct gate gates[DOORS];
	struct mailbox mailbox;
	struct peer_queue lists[DOORS][LISTS];
	int count[DOORS][LISTS];
	struct peer *left;       /* freed by the next server_next() */
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

	/* ---- the loop ---- */
	pthread_t loop;
	bool loop_runs, loop_ended;
	int epoll, wake_fd;            /* wake_fd: an eventfd */
	bool woken;                    /* wake_fd was written since the loop's last turn began */
	struct peer_queue writing;     /* frames wait for them, or they are closing */
	struct peer_queue acks;        /* an ACK waits for them, by ack_at */
	struct peer_queue held[HOLDS]; /* held[HOLD_NONE] is empty */
	struct peer_queue ready;       /* (loop) to be read */
	int nready;                    /* (loop) */
	struct bucket turns;           /* (loop) */
	struct mono strangers_checked, all_checked; /* (loop) */
	struct peer_queue recheck; /* (loop) their certificates are to be checked again */
	uint64_t rechecked_age;    /* (loop) of credentials_age */

	/* ---- the greeters ---- */
	pthread_t greeters[GREETERS];
	int ngreeters;
	pthread_cond_t job;
	struct peer_queue jobs[JOBS], greeted;
	int njobs;
	bool looking_up;                 /* a greeter has a job of JOB_ROLES */
	struct mono credentials_checked; /* whether they have changed */
	int credentials_error;           /* the error code of reading them then (0: none) */
	uint64_t credentials_age;        /* how often they were replaced */
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

/* Ends the loop's sleep, from any thread. O(1). */
void server_wake(struct server *s);
/* Puts a connection into another list. O(1). */
void peer_list(struct peer *p, enum peer_list to);
void peer_hold(struct peer *p, enum hold why); /* it is not read until peer_unhold() */
void peer_unhold(struct peer *p);              /* one that is not held is fine */
/* Ends the part of a frame that is being read in server.reading_bytes. */
void peer_release_memory(struct peer *p);

/* The loop writes what waits for it in its next turn. */
void peer_put_writing(struct peer *p);
/* Gives the loop a copy of a frame; it replaces one in the same slot that was not written yet. */
void peer_put(struct peer *p, enum slot slot, const void *data, size_t len);
/* The same for the ACK of a batch, which is not urgent: an agent goes on until its window is full. It is written with the next other frame, after
 * ACK_MS, or when it is for ACK_BATCHES. */
void peer_put_ack(struct peer *p, const void *data, size_t len);
/* Gives the loop those ACKs whose time has come. Returns in how many ms the next is due; -1: none waits. O(due). */
int peer_put_acks_due(struct server *s, struct mono now);
/* Takes it out of server.acks; one that is not there is fine. */
void peer_drop_ack(struct peer *p);
/* Closes the connection after the frames that wait were written. text: the reason, for the peer, or
 * NULL. One that is closing already is fine. */
void peer_hang_up(struct peer *p, const char *text);

/* Whether a connection that has identified itself may stay; may close an idle operator for it.
 * ERR_FULL: the limit is reached. O(operators). */
int server_check_limit(struct server *s, struct peer *p, struct err *e);
/* How long a complete frame has to wait until it may be taken, in ns; 0: it takes a token. */
int64_t server_slow_ns(struct server *s, struct peer *p, unsigned kind, struct mono now);

/* Gives a connection to the greeters; it comes back in server.greeted. */
void server_greet(struct peer *p, enum greeter_job job);

/* ---- in the loop's thread, with the lock held ---- */

/* Ends a connection for a reason that the loop found: a failure of the peer, or of a limit. Refusals are told and noted; after
 * others p is not valid any more, unless a greeter has it. */
void peer_fail(struct peer *p, const struct err *e);
/* After a TLS handshake: takes the node that the certificate is for. 0, or why it is refused. */
int peer_name(struct peer *p, struct err *e);
/* Goes on with a connection that a greeter has given back. */
void server_greeted(struct peer *p);
/* Its certificate is checked again by server_recheck(). */
void server_recheck_later(struct peer *p);
/* Closes the socket, and posts the end or frees p, unless a greeter has it, which gives it back first. */
void peer_close(struct peer *p);

/* ---- in the loop's thread, without the lock ---- */

/* Reads what has come, to TURN_BYTES, and posts the frames. May end the connection. */
void peer_read(struct peer *p);
/* Writes what waits, as much as the socket takes. May end the connection. */
void peer_write(struct peer *p);
/* Puts it into server.ready, or takes it out. */
void peer_ready(struct peer *p);
void peer_unready(struct peer *p);

/* Takes a new connection of this listener, also its socket. */
void server_admit(struct gate *g, const struct accepted_socket *a);
/* Checks some certificates again after the credentials have changed: a few in each turn. */
void server_recheck(struct server *s);

/* ---- threads ---- */
void *server_loop(void *arg);    /* the loop; arg: the server */
void *server_greeter(void *arg); /* a greeter; arg: the server */

/* Reads credentials that have changed, once per second. Called by a greeter, with the lock, which it releases meanwhile. */
void server_check_credentials(struct server *s);

/* Frees a connection whose socket is closed and that is in no list. */
void peer_free(struct peer *p);

#endif
