/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A diagnosis: all searches for the problems of one request type. */
#ifndef CONTROLPLANE_SEARCH_DIAGNOSE_H
#define CONTROLPLANE_SEARCH_DIAGNOSE_H

#include "analysis/always_on_path.h"
#include "analysis/group.h"
#include "controlplane/search/port.h"
#include "searchspace/strategy.h"

/* Of a diagnosis: ENDED, WATCH, or that of its first search that goes on. */
enum phase { PHASE_WATCH, PHASE_WAIT, PHASE_SWITCH, PHASE_GATHER, PHASE_PAUSED, PHASE_ENDED };

struct search;
struct watched;

struct diagnosis {
	struct run *run;
	uint32_t type; /* label of its request_begin */
	const struct strategy *strategy;
	uint32_t k; /* cuts of a gap in one cycle */
	uint64_t seed;
	enum phase phase;
	struct mono begun, checked;
	struct mono ready; /* traces count that began after this, by our clock */
	bool is_ready;

	struct groups *groups; /* of all traces since it began, by always-on labels alone */
	struct sketch sketch;  /* response times of the type since it began */
	uint64_t traces, skipped_lossy;
	struct watched *watched; /* see watch.c */

	struct search **searches; /* in the order of their making */
	uint32_t nsearches, searches_cap;
	uint32_t npicks;       /* tracepoints that the newest cycle enabled */
	struct label_set dear; /* labels that turned out to be over the budget */
};

/* A complete trace of any request type. path: its path by always-on labels; NULL: it has none.
 * O(edges), and O(events) for each search of its group. ERR_MEMORY. */
int diagnose_trace(struct search_port *p, struct diagnosis *d, const struct trace *t,
    const struct always_on_path *path, struct err *e);
/* To be called as often as anything may have changed; decides at most every 100 ms. */
int diagnose_step(
    struct search_port *p, struct diagnosis *d, struct mono now, struct wall when, struct err *e);
/* All that its searches enabled is released; the run gets this state, reason and
 * subject. */
void diagnose_end(struct search_port *p, struct diagnosis *d, enum run_state state,
    enum reason reason, const char *subject, struct wall when);
void diagnosis_free(struct diagnosis *d); /* NULL is fine */
/* A search of it explores the program's own tracepoints: whatever a trace shows is to be learned.
 */
bool diagnosis_explores(const struct diagnosis *d);
/* A search of it has tracepoints of its present cycle enabled. */
bool diagnosis_has_fresh(const struct diagnosis *d);

#endif
