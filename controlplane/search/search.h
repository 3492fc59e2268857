/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One search: where, inside an edge that carries a group's problem, the problem lies. A cycle
 * enables some tracepoints inside the gap, gathers traces that have them, decides which part of the
 * gap carries the problem, and goes on inside that part, until nothing is left to enable.
 * docs/search.md says what is decided when, and why.
 */
#ifndef CONTROLPLANE_SEARCH_SEARCH_H
#define CONTROLPLANE_SEARCH_SEARCH_H

#include "controlplane/search/search_state.h"

/* Begins the first cycle of a search that waits. model: a group with the gap as one edge; NULL: the
 * path is remembered already. 0 or a negative code. */
int search_begin(struct search_port *port, struct search *s, struct group *model, struct err *e);
/* A trace of the search's group, without lost records. O(events). ERR_MEMORY. */
int search_trace(struct search_port *port, struct search *s, const struct trace *t, struct err *e);
/* Whatever is to be done now. Decides at most every 100 ms. 0 or a negative code. */
int search_step(struct search_port *port, struct search *s, struct err *e);

#endif
