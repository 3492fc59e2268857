/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Processes that stand still (analysis/process_still.h) are found without a search: all edges in them take long at times, and none of these has
 * the problem. What certainly has it by the records of all requests becomes a verdict at once.
 */
#ifndef CONTROLPLANE_SEARCH_SEARCH_STILL_H
#define CONTROLPLANE_SEARCH_SEARCH_STILL_H

#include "controlplane/search/search_state.h"

/* It is looked at so often, and not before. */
enum { STILL_LOOK_NS = 2000000000 };

/*
 * Whether a process that stands still is a verdict.
 *
 * 1. None does: no.
 * 2. The lower end of its share of the variance is the least effect or more: yes.
 * 3. No.
 */
bool still_is_cause(const struct process_still *still, double effect_min);

/* Looks, if it is time and none has been found, and gives the diagnosis the verdict: of the edge in which requests wait for the process.
 * O(n log n) with n the events of the history. ERR_MEMORY. */
int search_still(struct search_port *port, struct diagnosis *d, struct err *e);

#endif
