/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The space has learned no tracepoint of the gap's service for this request type, but its programs
 * have some: up to 256 at a time are enabled, 50 traces teach the space, and the search goes on with
 * what it then knows. Where the space knows some, those that were not seen while learning are not
 * explored: in a service of many request types they are most of its tracepoints, and few of them
 * are of this type. But where only labels are left that requests pass in loops, which cost most and say least of where a gap is, these are, if they
 * are at most 256: a wait for a lock may be passed for the first time. In the preload layer, those of one provider are explored at a time.
 */
#ifndef CONTROLPLANE_SEARCH_EXPLORE_H
#define CONTROLPLANE_SEARCH_EXPLORE_H

#include "controlplane/search/search_state.h"

/* ---- pure ---- */

struct explore_facts {    /* of one tracepoint that agents list */
	bool in_question; /* the program's own; in the preload layer: of its present provider */
	bool done;        /* explored, or passed over, in an earlier cycle */
	bool seen;        /* while learning */
	bool affordable;  /* counted only where it matters: not done, not seen */
	uint32_t enabled; /* tracepoints in this cycle so far */
};
enum explore_choice {
	EXPLORE_SKIP, /* it has no number */
	EXPLORE_PASS, /* it has a number; nothing is done */
	EXPLORE_ENABLE,
	EXPLORE_FULL,     /* no more in this cycle */
	EXPLORE_LEAVE_OUT /* over budget even alone */
};
/*
 * 1. Not in question: skip.
 * 2. Explored in an earlier cycle, or seen while learning: pass.
 * 3. Affordable: enable.
 * 4. Others are enabled: the cycle is full; it is its turn when these are disabled again.
 * 5. Leave it out.
 */
enum explore_choice explore_choose(const struct explore_facts *f);

/* ---- of a search ---- */

/* Enables some tracepoints of the gap's service that were not seen while learning; in the preload
 * layer some of its present provider. Begins a cycle, and the task TASK_EXPLORE. How many, or a
 * negative code; 0: there are none, or all were explored. O(tracepoints of the service x nodes). */
int explore(struct search_port *port, struct search *s, struct err *e);
/* Whether explore() is to come before learned labels that requests pass in loops: 1, and explore() does that from now on; 0; or a negative
 * code. O(tracepoints of the service x nodes + learned places). */
int explore_before_loops(struct search_port *port, struct search *s, struct err *e);
/* How many different tracepoints of the gap's service were neither seen while learning, of any request
 * type, nor explored: a fault may pass them for the first time. Appends the names of the first
 * UNSEEN_NAMED, one on each line. Without memory, fewer. O(tracepoints of the service x nodes + learned
 * places). */
enum { UNSEEN_NAMED = 5 };
uint32_t explore_unseen(struct search_port *port, const struct search *s, struct buf *names);
/* Something must be explored now. Disables it all. */
void explore_end(struct search_port *port, struct search *s);
/* The same, because of congestion: the same tracepoints are explored again later. reason: for
 * the log. */
void explore_withdraw(struct search_port *port, struct search *s, enum reason reason);
/* The same, because they cost more than the budget: half as many at a time from now on; a single one
 * is left out. */
void explore_less(struct search_port *port, struct search *s);

#endif
