/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which frames a peer may send, and when: a state machine without sockets.
 *
 *	agents:	    NEW --HELLO--> GREETED --conn_welcome()--> OPEN --RECORDS, STATUS, PROGRAMS, DONE, CLOCK--> OPEN
 *	operators:  OPEN --ASK--> ASKED --conn_answered()--> OPEN
 *
 * Any other frame ends the connection with a reason. REFUSE from the peer may come at any time. Until its HELLO or its
 * first ASK the connection is a stranger; then it is identified.
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
	int64_t hello_ns;  /* time for an agent's HELLO, and for an operator's first ASK */
	int64_t silent_ns; /* an agent without a frame for this long is closed */
	int64_t
	    idle_ns; /* an operator that waits for no answer, and asks nothing for this long, is closed */
	double frames_per_s; /* of an agent, without RECORDS; burst: twice as many; 0: no limit */
};

struct conn {
	enum door door;
	enum conn_stage stage;
	struct conn_limits limits;
	struct who who; /* set by the caller; uid -1: not known */
	const char
	    *only_node;  /* the only node that it may report for, or NULL: any; the caller's */
	bool identified; /* HELLO or ASK has come */
	bool spoke; /* bytes of another machine, or the header of an expected frame, have come */
	struct bucket rate;        /* of an agent's frames */
	struct mono opened, heard; /* heard: when the last complete frame came */
	uint64_t next_seq;         /* of RECORDS, from OPEN on */
	struct arena texts;        /* texts of hello */
	struct hello hello;        /* from GREETED on */
};

/* What to do with a complete frame. */
enum conn_act {
	CONN_TAKE,   /* pass it on */
	CONN_AGAIN,  /* a batch that came before: only acknowledge it */
	CONN_REFUSE, /* close the connection; *e is the reason */
};

/* An empty state; conn_release() frees what it has gained. */
void conn_init(struct conn *c, enum door door, const struct conn_limits *l, struct mono now);
void conn_release(struct conn *c);

/* Whether this frame may come now; to be called before its payload is read. 0 or ERR_INPUT. */
int conn_header(struct conn *c, const struct frame *f, struct err *e);
/* How long a frame of this kind has to wait before it is passed to conn_frame(), in ns, so that the
 * rate is kept. 0: not; it then takes a token. */
int64_t conn_slow_ns(struct conn *c, unsigned kind, struct mono now);

/* Takes a complete frame with a verified checksum. *e is set with CONN_REFUSE: ERR_INPUT, ERR_DENIED
 * (another node than only_node), ERR_PEER (the peer refuses), ERR_MEMORY. O(1), HELLO O(length). */
enum conn_act conn_frame(
    struct conn *c, const struct frame *f, const void *payload, struct mono now, struct err *e);

void conn_welcome(struct conn *c, uint64_t have_seq); /* GREETED to OPEN */
void conn_answered(struct conn *c, struct mono now);  /* ASKED to OPEN */

/* How long the next bytes may take, in ms; 0: their deadline has passed, see
 * conn_deadline_passed(). ASKED: for ever, since it is this side's turn. */
int conn_patience_ms(const struct conn *c, struct mono now);
/* Sets *e to ERR_TIMEOUT with the limit that applies now, and returns it. */
int conn_deadline_passed(const struct conn *c, struct err *e);

#endif
