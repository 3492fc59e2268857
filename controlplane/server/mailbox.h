/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The mailbox: a queue of frames and notices between the loop of all connections and the thread
 * that calls server_next(). Not thread-safe: the server's lock guards it.
 */
#ifndef CONTROLPLANE_SERVER_MAILBOX_H
#define CONTROLPLANE_SERVER_MAILBOX_H

#include <pthread.h>
#include <time.h>

#include "controlplane/server/server.h"

enum { MAILBOX_NOTES_MAX = 64 };

struct letter {
	struct letter *next;
	struct mail mail;
	bool urgent; /* it comes before all that are not */
	bool end;    /* the last letter of this peer, which can be freed */
};

struct mailbox {
	struct letter *first, **last;
	struct letter **urgent;  /* the end of the STATUS frames, which precede all other letters */
	size_t bytes, max_bytes; /* of the letters and their payloads */
	unsigned notes;          /* letters of kind MAIL_NOTE and MAIL_REFUSED */
	bool unannounced;        /* a letter was put since mailbox_announce() */
	pthread_cond_t mail;     /* on CLOCK_MONOTONIC */
};

/* A letter with a copy of the text, the caller's until it is put. NULL: out of memory. */
struct letter *letter_new(enum mail_kind kind, const char *text);

void mailbox_init(struct mailbox *m, size_t max_bytes);
void mailbox_release(struct mailbox *m);               /* frees the letters, too */
void mailbox_put(struct mailbox *m, struct letter *l); /* at the end */
void mailbox_announce(struct mailbox *m); /* signals `mail` for the letters that were put */
void mailbox_put_back(struct mailbox *m, struct letter *l); /* at the front */
/* The first letter, the caller's; NULL: there is none. */
struct letter *mailbox_take(struct mailbox *m);
bool mailbox_full(const struct mailbox *m);

void cond_init_mono(pthread_cond_t *c); /* on CLOCK_MONOTONIC */
struct timespec mono_in_ms(int ms);     /* that time from now, on CLOCK_MONOTONIC */

#endif
