/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef CONTROLPLANE_SEARCH_SEARCH_VERDICT_H
#define CONTROLPLANE_SEARCH_SEARCH_VERDICT_H

#include "controlplane/search/search_state.h"

/* Carries out verdict_step() for this edge of the group, of which at least NEXT_FEW traces were
 * measured: keeps the verdict and ends the search; or ends it without; or goes on with
 * TASK_FINAL_EDGE, for more traces or for a larger edge. 0 or a negative code. Cost: that of
 * finding_intervals() and what_if_of() with 1,000 rounds. */
int conclude(struct search_port *port, struct search *s, const struct group *group, uint32_t edge,
    enum verdict_kind kind, struct err *e);

#endif
