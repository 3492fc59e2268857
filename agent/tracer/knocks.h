/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The agent's end of the one signal from libhone (instrument/policy.h, "knock"): a program sampled a
 * request of which no record is written. The kernel says which process and user knocked, and the
 * knocks of users without a traced program count for a second in a minute only, so that no
 * other user of the machine can have everybody's requests reported as lost.
 *
 * Counts:
 *  1. root's and the agent's own user's.
 *  2. of a user who has, or had, a traced program (knocks_user()).
 *  3. of any user while the user of a traced program is not visible (knocks_unseen()), as in another
 *     pid namespace.
 *  4. of others, who may have a program that was never registered: for KNOCKS_STRANGERS_NS in
 *     KNOCKS_MINUTE_NS, all of them together.
 *
 * A queue that strangers keep full counts no more than their knocks: a program that is shut out tries again with
 * each record, and the queue is empty after each call of knocks_hear(). Only who ends before that is not heard.
 *
 * One thread at a time.
 */
#ifndef AGENT_TRACER_KNOCKS_H
#define AGENT_TRACER_KNOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/err.h"

#define KNOCKS_STRANGERS_NS INT64_C(1000000000)
#define KNOCKS_MINUTE_NS INT64_C(60000000000)

enum { KNOCKS_USERS_MAX = 256, KNOCKS_QUEUE = 4096 };

struct knocks;

/* What was heard since the last call (or knocks_open()). */
struct knocks_turn {
	bool lost;            /* programs sampled requests that are not recorded */
	struct mono from;     /* since then: the time of the last call */
	bool full;            /* the queue was full: others may have knocked in vain */
	uint32_t not_counted; /* knocks that did not count */
	uint32_t pid,
	    user; /* of the last of these; pid 0: of a pid namespace that is not visible */
};

/* Listens at `policy` + HONE_POLICY_KNOCK. What is there before is replaced, or moved aside if it is a folder that is
 * not empty. To be called while this process may do that. ERR_INPUT: the path is too long; ERR_SYSTEM; ERR_MEMORY. */
int knocks_open(struct knocks **ret, const char *policy, struct err *e);

/* now: read just before this call. A system call, and three for each knock, at most KNOCKS_QUEUE of them. */
void knocks_hear(struct knocks *k, struct mono now, struct knocks_turn *ret);

/* A traced program belongs to this user, whose knocks count from now on. Users beyond KNOCKS_USERS_MAX are forgotten.
 * O(users). */
void knocks_user(struct knocks *k, uint32_t user);
/* There is a traced program whose user is not visible, or not any more. */
void knocks_unseen(struct knocks *k, bool unseen);

/* The socket's path will belong to this user, who can then remove it. Without effect unless root calls it. */
void knocks_give(struct knocks *k, uint32_t user);

/* `remove`: the socket's path is removed, too. NULL is fine. */
void knocks_close(struct knocks *k, bool remove);

#endif
