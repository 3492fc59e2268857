/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef CONTROLPLANE_SEARCH_SEARCH_VERDICT_H
#define CONTROLPLANE_SEARCH_SEARCH_VERDICT_H

#include "controlplane/search/search_state.h"

enum { CONCLUDE_DONE, CONCLUDE_MEASURE, CONCLUDE_NARROW };

/* Carries out verdict_step() for this edge of `group`, as measured over all requests in `groups`, of
 * which at least NEXT_FEW pass it: keeps the verdict and ends the search; or ends it without; or goes
 * on with TASK_FINAL_EDGE: 0 for more traces, 1 for a larger edge, for which the caller begins a new
 * cycle; or a negative code. Cost: that of population_of(), and of finding_intervals() and
 * what_if_of() of one edge with 1,000 rounds. */
int conclude(struct search_port *port, struct search *s, const struct groups *groups,
    const struct group *group, uint32_t edge, enum verdict_kind kind, struct err *e);

/* Whether there is a larger edge to go back to: where only slow requests are followed, the one in which they were
 * compared with the others, of all requests; else the smallest one that had most of the problem, or the one
 * that the search began with. Not where searches beside this one are about parts of that edge. */
bool can_take_back(const struct search *s);
/* To the larger edge; from a part that was found in the preload layer, to the edge above it. What cuts
 * that edge is disabled for this reason. It is the final edge, with a verdict of this kind. */
void take_back(
    struct search_port *port, struct search *s, enum verdict_kind kind, enum reason reason);

/* Judges the effect of a verdict again, by all requests since the diagnosis began: what the edge that its search began with carries
 * by now; of waits for threads all that they carry, and what they come from, by what the threads did last. Nothing where neither is known.
 * O(groups x edges), of waits O(n log n) with n the events of the history. ERR_MEMORY. */
int search_effect_again(struct search_port *port, struct search *s, struct err *e);

#endif
