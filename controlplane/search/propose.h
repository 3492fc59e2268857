/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The next learned tracepoints inside the gap, within the budget. */
#ifndef CONTROLPLANE_SEARCH_PROPOSE_H
#define CONTROLPLANE_SEARCH_PROPOSE_H

#include "controlplane/search/search_state.h"

/* How many learned tracepoints may lie in the gap and were not tried; or a negative code. Draws
 * from the search's random generator. Cost: see match_between(). */
int count_candidates(struct search_port *port, struct search *s, struct err *e);
/* Enables those of them that the strategy picks, as the first step of a cycle. A pick over budget
 * gives way to the nearest candidate that is not. How many, or a negative code; 0: there is none, or
 * all are over budget, which budget.left_out then counts, or only loops are left, and explore() is to come first. */
int propose(struct search_port *port, struct search *s, struct err *e);
/* Enables the ends of the gap and the labels that requests are divided by, where these are not
 * always on. *over_budget: the label of one that is over budget, or LABEL_NONE. 0 or a negative
 * code. */
int enable_ends(struct search_port *port, struct search *s, uint32_t *over_budget, struct err *e);
/* An agent shed load while this cycle's tracepoints were on. The likeliest cause is the one that requests pass most often in the gap: there may be more of
 * its passages than were learned, and that may be the problem. It, and what is passed there a sixteenth as often or oftener, is over budget for this search
 * from now on, but never what is passed there once. O(enabled). */
void avoid_as_often(struct search *s);
/* The newest tracepoint of this cycle was measured to be over budget: disables it, of the preload
 * layer all of this cycle, since one end of a pair is useless. What is passed in the gap nearly as often is over it, too: see
 * avoid_as_often(). False: there is none. */
bool disable_newest(struct search_port *port, struct search *s);

#endif
