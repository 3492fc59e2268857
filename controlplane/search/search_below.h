/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A search whose place is known and that no tracepoint can cut any more looks below the tracepoints: what threads did in the edge.
 *
 *	not begun --> ahead --> gathering --> done
 *
 *	not begun --> ahead       the edge begins to be measured, is one that would be looked at, and is inside one unit
 *	not begun --> gathering   the verdict is there at once, or something stood in the way before
 *	not begun --> done        nodes cannot, or it would cost too much
 *	ahead     --> gathering   the verdict is there, about this edge: what is not there yet is waited for
 *	ahead     --> done        over budget, or unconfirmed: the edge is measured on without it
 *	gathering --> done        it is there, or was ended early
 *	ahead, done --> not begun thrown away: another edge is measured, the verdict is not for it, or congestion, after which the
 *	                          edge is measured anew
 *
 * The requests that the verdict rests on stay as they are: those that come ahead of it count in both, those that come later only
 * below. So the verdict is the same without it.
 */
#ifndef CONTROLPLANE_SEARCH_SEARCH_BELOW_H
#define CONTROLPLANE_SEARCH_SEARCH_BELOW_H

#include "controlplane/search/search_state.h"

/* Requests that suffice if a state stands out in them; else twice as many, up to BELOW_REQUESTS_MAX: a cause that few requests have
 * needs many. Of a state that has most of the edge, or certainly more than any other, BELOW_CLEAR are enough, or half as many more, and so on, where the verdict waits for nothing else. Fewer after the deadline, since the
 * first wait or sample came, or since it was asked for. */
enum { BELOW_PLENTY = 150, BELOW_CLEAR = 40, BELOW_FEW = 30 };
#define BELOW_MOST 0.6 /* share of the edge */
#define BELOW_UNSEEN \
	0.9 /* of its time, and of its share, from which on more requests say no more */
#define BELOW_MAX_NS INT64_C(30000000000)
/* For hone-below to start, which costs more than what it does later: until then the overhead budget does not end it. */
#define BELOW_START_NS INT64_C(6000000000)
#define BELOW_AHEAD_MAX_NS \
	(BELOW_START_NS + 2 * BELOW_MAX_NS) /* since it was asked for, whatever comes */

/* After each decision: goes ahead if the edge that is measured now would be looked at and nothing stands in the way, throws away what is
 * about another one, and asks no longer when search_below_ready(). O(1), and as that. ERR_MEMORY. */
int search_below_ahead(struct search_port *port, struct search *s, struct err *e);

/* Ahead of the verdict, and it is asked for now. */
bool search_below_is_ahead(const struct search *s);

/* What came ahead of the verdict is thrown away, and it is not asked for any more. Nothing happens if it is not ahead. */
void search_below_retreat(struct search_port *port, struct search *s);

/* The final edge is measured, and its verdict would be this. True: it gathers what is below; the verdict is to be made again, of the
 * same groups, when search_below_ready(). Sets *rc: 0 or ERR_MEMORY. */
bool search_below_begin(struct search_port *port, struct search *s, const struct verdict *v,
    const struct group *group, uint32_t edge, int *rc, struct err *e);

bool search_below_gathers(const struct search *s);

/* Takes a trace that began after the agents have confirmed, with its path of the enabled labels; none if it is no longer asked for. The edges of its shape that the gap
 * consists of are those that the search measures. O(steps x loops that end at one token + waits and samples). ERR_MEMORY. */
int search_below_trace(struct search_port *port, struct search *s, const struct trace *t,
    const struct critpath *path, const struct shape *shape, struct err *e);

/* 1: enough requests came, or the deadline has passed; 0: not yet; ERR_MEMORY. O(1), and as below_list_find() when there are half as many requests more, or twice as
 * many. */
int search_below_ready(const struct search_port *port, struct search *s, struct err *e);

/* Whether the requests that came have the problem in the edge, as the verdict's had: a quarter of its share at least. The problem may have
 * gone away, or their paths pass the edge's ends elsewhere. *rc: 0 or ERR_MEMORY. */
bool search_below_agrees(
    const struct search_port *port, const struct search *s, int *rc, struct err *e);

/* It is not asked for any more; what came stays. cut: what ended it early, for the verdict if too little came ("over-budget", "congested",
 * "unconfirmed"), or NULL. Nothing happens if it neither is ahead nor gathers. */
void search_below_stop(struct search_port *port, struct search *s, const char *cut);

/* Fills the verdict's fields of what is below; their texts are the caller's, to free(). ERR_MEMORY. */
int search_below_verdict(
    struct verdict *v, struct search_port *port, const struct search *s, struct err *e);

#endif
