/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which functions inside an edge take its time: those that threads were seen in below it (search_below.h) are timed, top-down, by tracepoints
 * at their begins and ends that hone-below makes, if search.probes permits it.
 *
 *	seen in stacks --> begins of three: are they inside the edge,  --> ends, too: which share
 *	      ^            and called how often?                           has each of them?
 *	      |                                                                    |
 *	      '--- those below the one that takes over; the next ones, if none does
 *
 * All requests pay for these probes, so times with them say where the time goes, not how much that is: the verdict's own share remains, and
 * shares of functions are compared with that of the edge in the same requests. Where the first requests of a step leave it open, more of them are
 * looked at; the intervals are wider for that, by the number of looks that there may be.
 */
#ifndef CONTROLPLANE_SEARCH_SEARCH_FUNCTIONS_H
#define CONTROLPLANE_SEARCH_SEARCH_FUNCTIONS_H

#include "controlplane/search/search_state.h"

enum {
	FUNCTIONS_AT_ONCE = 3,
	FUNCTIONS_STEPS = 8,    /* at most */
	FUNCTIONS_COUNTED = 50, /* requests that tell how often they are called ... */
	FUNCTIONS_TIMED =
	    150, /* ... and what they take, or as many again where that is unsure; at least, after the time of a step: */
	FUNCTIONS_FEW = 30
};
#define FUNCTIONS_COUNT_NS INT64_C(5000000000) /* for a step that counts, with its switching ... */
#define FUNCTIONS_TIME_NS INT64_C(10000000000) /* ... and one that takes times */
#define FUNCTIONS_MAX_NS INT64_C(40000000000)  /* after which no step begins */

/* The look below the edge has ended. True: functions are looked at now; the verdict is to be made again, of the same groups, when
 * search_functions_ready(). Sets *rc: 0 or a negative code. */
bool search_functions_begin(struct search_port *port, struct search *s, int *rc, struct err *e);

bool search_functions_gather(const struct search *s);
struct mono search_functions_stepped(const struct search *s); /* when this step began */

/* As search_below_trace(). O(events of the units that pass the edge). ERR_MEMORY. */
int search_functions_trace(struct search_port *port, struct search *s, const struct trace *t,
    const struct critpath *path, const struct shape *shape, struct err *e);

/* 1: there is nothing more to look at; 0: not yet; or a negative code. A step may begin: the search is switching then. A step in which no
 * call had both its ends in FUNCTIONS_TIME_NS is given up for the next functions. */
int search_functions_ready(struct search_port *port, struct search *s, struct err *e);

/* Disables what it enabled; what was found stays. Nothing happens if it does not gather. */
void search_functions_stop(struct search_port *port, struct search *s);

/* Fills v->below_functions, which is the caller's, to free(). ERR_MEMORY. */
int search_functions_verdict(struct verdict *v, const struct search *s, struct err *e);

#endif
