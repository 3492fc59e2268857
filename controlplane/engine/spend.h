/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What Hone costs one node, from the statuses of its agent: by spender, now and in total.
 *
 *	programs   records x the cost of one there, also of those that the agent drops (of mapped
 *	           programs), and what filters take to reject records
 *	agent      its own CPU time
 *	tracer     CPU time of the session daemon and its consumers: all of it, also for sessions of
 *	           others, since they cannot be told apart
 *
 * A status has totals; the cost between two statuses is their difference. The part that would
 * remain without any record is estimated by a straight line through windows with more and with
 * fewer records (least squares). What daemons take for other things than records the agent measures: hone-below, and what it costs once to
 * switch tracepoints and to begin to look below them. The latter is in the costs, and in no window: fewer records would not lower it,
 * and it is over when it is known.
 */
#ifndef CONTROLPLANE_ENGINE_SPEND_H
#define CONTROLPLANE_ENGINE_SPEND_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "wire/agent_messages.h"

#define SPEND_SMOOTH_NS 3000000000.0 /* time constant of the smoothed costs */

enum spender { SPEND_PROGRAMS, SPEND_AGENT, SPEND_TRACER, SPENDERS };
const char *spender_name(enum spender s); /* "programs", "agent", "tracer" */

struct spent { /* in all */
	double cpu_ns[SPENDERS];
	double
	    fixed_ns; /* of them, records of mapped programs, which do not depend on sampling, and of flight recorders */
	double below_ns, once_ns; /* of the daemons: hone-below, and once, to switch */
	double bytes, records;
};

struct outlay {                    /* per second */
	double core[SPENDERS];     /* shares of one */
	double fixed, below, once; /* of them */
	double bytes, records;
};

/* Share of a core of the daemons, or bytes a second, over records a second: exponentially weighted
 * means and sums of squares of the windows. */
struct spend_line {
	double n, x, y, xx, xy;
};

struct spend {      /* all zeroes: no status yet */
	bool known; /* a status has come */
	struct spent all;
	struct outlay now;     /* smoothed */
	struct mono since, at; /* of the first status, and the last */
	struct status last;    /* its totals */
	struct spent mark;     /* a window began with these, */
	struct mono marked;    /* then */
	struct spend_line cpu_line, bytes_line;
};

/* record_ns: the cost of a record in a program there; rejected: the share of a core that filters
 * take to reject records. A total that has decreased belongs to a new agent and counts from 0. The
 * costs before the first status do not count. O(1). */
void spend_status(
    struct spend *s, const struct status *st, double record_ns, double rejected, struct mono now);

double outlay_core(const struct outlay *p); /* all spenders together */
/* The same without what it took once. */
double outlay_steady_core(const struct outlay *p);

/* A window begins with the last status. */
void spend_mark(struct spend *s);
/* The costs per second since then; false: no status has come since. */
bool spend_window(const struct spend *s, struct outlay *ret);
/* Adds the window to the lines. */
void spend_learn(struct spend *s, const struct outlay *window);

/* The part of the window's costs that would remain if no record were sent: share of a core of agent
 * and tracer and the fixed part of the programs, and bytes a second. The part of the daemons is 0
 * until windows have differed. O(1). */
double spend_idle_core(const struct spend *s, const struct outlay *window);
double spend_idle_bytes(const struct spend *s, const struct outlay *window);

#endif
