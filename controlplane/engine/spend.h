/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What Hone costs one node, by what its agent says of itself: who spends it, now and in all.
 *
 *	programs	records x what one costs there, also of those that the agent drops (of mapped programs), and what
 *			filters reject of what was added
 *	agent		its own CPU time
 *	tracer		that of the session daemon and its consumers: all of it, also what other people's
 *			sessions make them do, since nobody can tell these apart
 *
 * A status tells totals; what lies between two of them is what was spent meanwhile. And which part of it would be
 * spent if nothing were recorded at all: by a straight line through windows of more records and of fewer.
 */
#ifndef CONTROLPLANE_ENGINE_SPEND_H
#define CONTROLPLANE_ENGINE_SPEND_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "wire/agent_messages.h"

#define SPEND_SMOOTH_NS \
	3000000000.0 /* what was spent so long ago weighs 1/e of what is spent now */

enum spender { SPEND_PROGRAMS, SPEND_AGENT, SPEND_TRACER, SPENDERS };
const char *spender_name(enum spender s); /* for people: "programs", "agent", "tracer" */

struct spent { /* in all */
	double cpu_ns[SPENDERS];
	double fixed_ns; /* of them, what mapped programs write: it is the same however few requests
	                    are sampled */
	double bytes, records;
};

struct outlay {                /* for each second */
	double core[SPENDERS]; /* share of one */
	double fixed;          /* of them */
	double bytes, records;
};

/* Daemons' shares of a core, or bytes a second, over records a second: means in which older windows
 * weigh less and less, and how far windows lay apart (least squares). */
struct spend_line {
	double n, x, y, xx, xy;
};

struct spend {      /* all zeroes: nothing heard yet */
	bool known; /* the numbers below are of somebody */
	struct spent all;
	struct outlay now;     /* smoothed */
	struct mono since, at; /* of the first status, and the last */
	struct status last;    /* its totals */
	struct spent mark;     /* a window began with these, */
	struct mono marked;    /* then */
	struct spend_line cpu_line, bytes_line;
};

/* record_ns: what a record costs a program there; rejected: the share of a core that filters take
 * to reject. A total that went back is another agent's: it counts from 0. What was spent before the
 * first status is not counted. O(1). */
void spend_status(
    struct spend *s, const struct status *st, double record_ns, double rejected, struct mono now);

double outlay_core(const struct outlay *p); /* all spenders together */

/* A window begins with the last status. */
void spend_mark(struct spend *s);
/* What was spent each second since then; false: no status came since. */
bool spend_window(const struct spend *s, struct outlay *ret);
/* The window is taken for one more point on the lines. */
void spend_learn(struct spend *s, const struct outlay *window);

/* Of what the window had, what would stay without a record that is sent: share of a core of agent
 * and tracer, with what is fixed of the programs', and bytes a second. The daemons' part is 0 until
 * windows have differed. O(1). */
double spend_idle_core(const struct spend *s, const struct outlay *window);
double spend_idle_bytes(const struct spend *s, const struct outlay *window);

#endif
