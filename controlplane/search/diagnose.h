/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A diagnosis: watches the groups of a request type, begins a search for each problem that is worth
 * one, and ends when all searches have ended. */
#ifndef CONTROLPLANE_SEARCH_DIAGNOSE_H
#define CONTROLPLANE_SEARCH_DIAGNOSE_H

#include "analysis/always_on_path.h"
#include "controlplane/search/search_state.h"

/* A complete trace of any request type. path: its path by always-on labels; NULL: it has none.
 * O(edges), and O(events) for each search of its group. ERR_MEMORY. */
int diagnose_trace(struct search_port *port, struct diagnosis *d, const struct trace *t,
    const struct always_on_path *path, struct err *e);
/* A trace that was given up, since the request has not one begin and one end; of any type. O(1). */
void diagnose_incomplete(struct diagnosis *d, const struct trace *t);
/* To be called often: decides at most every 100 ms. It must not have ended. 0 or a negative code. */
int diagnose_step(struct search_port *port, struct diagnosis *d, struct mono now, struct wall when,
    struct err *e);
/* Ends its searches, which disables all that they enabled, and the run, with this state, reason and
 * subject. */
void diagnose_end(struct search_port *port, struct diagnosis *d, enum run_state state,
    enum reason reason, const char *subject, struct wall when);
void diagnosis_free(struct diagnosis *d); /* NULL is fine */
/* A search of it explores the program's own tracepoints: all that its traces show is to be learned. */
bool diagnosis_explores(const struct diagnosis *d);
/* A search of it has tracepoints of its present cycle enabled. */
/* The threads that requests of the diagnosis wait for, by the edges of its searches that go on or have a verdict: the labels at the ends of these edges, at
 * most `max`; how many. O(searches). */
uint32_t diagnosis_awaited(const struct diagnosis *d, uint32_t *labels, uint32_t max);
bool diagnosis_has_fresh(const struct diagnosis *d);

#endif
