/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The connection to the controller as its two files share it: link.c connects and keeps it, conversation.c greets, reads
 * and writes. Others see only the options, the want and the statistics (link.h).
 */
#ifndef AGENT_LINK_LINK_STATE_H
#define AGENT_LINK_LINK_STATE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "agent/link/outbox.h"
#include "agent/link/redial.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/lock.h"
#include "wire/agent_messages.h"
#include "wire/keep.h"
#include "wire/toggle.h"

struct stream;
struct tls; /* base/tls.h */

struct link_options {                     /* texts are copied */
	const char *url, *node, *version; /* url: one or more, separated by blanks (redial.h) */
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
	char url[REDIAL_URL_MAX + 1]; /* of the controller that it is connected to, or tries last */
	uint64_t connection;          /* number of connections so far */
	struct mono heard;            /* the last message of the controller; 0: none yet */
	uint64_t sent_bytes;          /* of frames, on all connections */
	struct err trouble;           /* why it is not connected */
};

static inline void
link_want_free(struct link_want *w) /* NULL is fine */
{
	if (w == NULL)
		return;
	arena_release(&w->arena);
	free(w);
}

/* ---- for link.c and conversation.c ---- */

/* Messages that are sent before batches, in this order. */
enum link_urgent { URGENT_CLOCK, URGENT_DONE, URGENT_STATUS, URGENT_PROGRAMS, NURGENT };

enum { LINK_KEPT_BYTES = 8 << 20 }; /* of answers that wait to be sent */

struct slot {
	struct buf bytes;
	bool due;
};

struct link {
	struct link_options options;
	struct outbox *out;
	pthread_t thread;
	struct lock lock; /* of all that follows */
	pthread_cond_t wake;
	bool stop;
	struct slot slots[NURGENT];
	struct clock_echo clock; /* the answer, while its slot is due */
	struct link_want *want;
	struct keep keeps[KEEPS_MAX]; /* that came and were not taken; more of them are dropped */
	uint32_t nkeeps;
	struct buf kept[KEEPS_MAX]; /* answers to send, the oldest first */
	uint32_t nkept;
	size_t kept_bytes;
	struct link_stats stats;
	struct stream *stream; /* NULL: none */
	/* The thread that reads has ended, for the reason in end. */
	bool dead;
	struct err end;
};

#endif
