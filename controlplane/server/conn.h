/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What may come on a connection, and when: a state machine without sockets.
 *
 *	agents:	    NEW --HELLO--> GREETED --conn_welcome()--> OPEN --RECORDS, STATUS, PROGRAMS, DONE, CLOCK--> OPEN
 *	operators:  OPEN --ASK--> ASKED --conn_answered()--> OPEN
 *
 * Anything else, from anybody, ends the connection with words. Until its HELLO, or its first ASK, it is a stranger.
 */
#ifndef CONTROLPLANE_SERVER_CONN_H
#define CONTROLPLANE_SERVER_CONN_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"
#include "controlplane/server/bucket.h"
#include "controlplane/server/roles.h"
#include "wire/agent_messages.h"
#include "wire/frame.h"

enum door { DOOR_AGENTS, DOOR_OPERATORS, DOORS };

enum conn_stage { CONN_NEW, CONN_GREETED, CONN_OPEN, CONN_ASKED };

struct conn_limits {
	int64_t hello_ns;  /* an agent says who it is, an operator asks, within this time */
	int64_t silent_ns; /* an agent without a frame for this long is dropped */
	int64_t idle_ns;   /* an operator without a question for this long too */
	double
	    frames_per_s; /* of an agent, RECORDS not counted; twice as many at once; 0: no bound */
};

struct conn {
	enum door door;
	enum conn_stage stage;
	struct conn_limits limits;
	struct who who;        /* set by whoever opened it, if known */
	const char *only_node; /* NULL, or the one that it may speak for; set likewise, and kept by
	                          who did */
	bool known;            /* it has said HELLO, or asked */
	bool spoke;            /* a header of its came that may come */
	struct bucket pace;    /* of an agent's frames */
	struct mono opened, heard; /* heard: the last whole frame */
	uint64_t next_seq;         /* of RECORDS, once OPEN */
	struct arena texts;        /* of hello */
	struct hello hello;        /* once GREETED */
};

/* What to do with a frame that is whole. */
enum conn_act {
	CONN_TAKE,   /* pass it on */
	CONN_AGAIN,  /* a batch that came before: acknowledge, no more */
	CONN_REFUSE, /* say *e and hang up */
};

void conn_init(struct conn *c, enum door door, const struct conn_limits *l, struct mono now);
void conn_release(struct conn *c);

/* May this frame come now? Asked before memory is taken for its payload. 0 or ERR_INPUT. */
int conn_header(struct conn *c, const struct frame *f, struct err *e);
/* Frames of this kind come too fast: wait so long before this one is passed to conn_frame(). 0:
 * now. */
int64_t conn_slow_ns(struct conn *c, unsigned kind, struct mono now);
/* Whose place is given away first among strangers: it came before, and of two the one that has said
 * nothing. */
bool conn_goes_before(const struct conn *c, const struct conn *other);

/* The whole frame, its checksum verified. O(1), HELLO O(length). */
enum conn_act conn_frame(
    struct conn *c, const struct frame *f, const void *payload, struct mono now, struct err *e);

void conn_welcome(struct conn *c, uint64_t have_seq); /* GREETED to OPEN */
void conn_answered(struct conn *c);                   /* ASKED to OPEN */

/* How long the next bytes may take, in ms; 0 when their time is over (conn_late() has the words).
 */
int conn_patience_ms(const struct conn *c, struct mono now);
int conn_late(const struct conn *c, struct err *e); /* ERR_TIMEOUT */

#endif
