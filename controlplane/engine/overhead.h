/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The overhead of added tracepoints and of looking below them: what those that are enabled cost each node, and how many
 * requests may be probed for them (searchspace/budget.h solves for that).
 *
 *	learned space, requests a second  -->  predicted rates  --\
 *	probed traces                     -->  measured rates   ----> share of requests to probe
 *	status of the agents              -->  cost of a record --/
 *
 * An enabled tracepoint records for every request type that is probed, whichever search enabled
 * it. Which requests are probed is decided at random when they begin, and only probed ones are
 * evidence: fewer of them widen intervals and add no bias.
 *
 * Learning enables all tracepoints and has a budget of its own; while it goes on that one holds.
 */
#ifndef CONTROLPLANE_ENGINE_OVERHEAD_H
#define CONTROLPLANE_ENGINE_OVERHEAD_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/clocks.h"
#include "base/clock.h"
#include "base/err.h"
#include "controlplane/engine/below_asked.h"
#include "controlplane/engine/nodes.h"
#include "controlplane/engine/request_types.h"
#include "searchspace/plan.h"
#include "searchspace/space.h"

/* The cost of a record, and of one that a filter rejects, until the agent has measured them; about
 * what docs/architecture.md lists for one machine. */
#define OVERHEAD_RECORD_NS 150.0
#define OVERHEAD_REJECTED_NS 40.0
/* The least share of requests that is probed. */
#define OVERHEAD_PROBED_MIN 0.01
/* A lowered share rises when it could be this much higher. */
#define OVERHEAD_SLACK 1.5
/* How often a request is taken to pass a tracepoint that the space has not learned; mutexes and
 * mallocs of the preload layer are passed more often. */
#define OVERHEAD_PASSES 4.0
#define OVERHEAD_PRELOAD_PASSES 32.0

/*
 * What threads do below the tracepoints costs, too: a wait that hone-below records costs the program 2 to 3 us, and of requests that
 * are not probed a fraction of that, as records of tracepoints do (bench/below_cost.py). So they are counted as so many records. What
 * hone-below takes itself is a part of the agent's cost (spend.h). Until that is measured each request is taken to have so many waits.
 */
#define OVERHEAD_BELOW_NS 3000.0
#define OVERHEAD_BELOW_WAITS 8.0

/*
 * Everybody who passes a USDT probe pays for it, so a hit is counted as so many records as the filters of probed tracepoints would have
 * to reject for the same cost: fewer probed requests save nothing of it.
 */
/* Processor time of a pass, with its record, and of a place where a function is left, which is single-stepped (bench/below_cost.py). */
#define OVERHEAD_PROBE_NS 900.0
#define OVERHEAD_FUNCTION_END_NS 16000.0

struct overhead;

/* All are borrowed and outlive it; `space` points to the pointer to the space in use. */
struct overhead_facts {
	struct labels *labels;
	const struct nodes *nodes;
	struct nodes *revise; /* the same nodes: nodes_changed() when a share changes */
	const struct request_types *types;
	const struct plan *plan;
	const struct below_asked *below;
	const struct clocks *clocks;
	const struct preload_labels *preload;
	struct space *const *space;
	double budget_share, learn_share; /* of one core, on each node */
};

struct overhead *overhead_new(const struct overhead_facts *facts); /* NULL: out of memory */
void overhead_free(struct overhead *o);                            /* NULL is fine */

/* The node has joined, or its latest status has another cost of a record. ERR_MEMORY, for a node
 * that is new only. */
int overhead_node(struct overhead *o, uint32_t node, struct err *e);
/* Counts the records of added tracepoints, by request type and node. O(events). ERR_MEMORY. */
int overhead_trace(
    struct overhead *o, const struct request_type *type, const struct trace *t, struct err *e);
/* To be called after everything that may change what is enabled, and before desired states go out.
 * O(enabled tracepoints x types x nodes) when the desired state changed, and once a second.
 * ERR_MEMORY. */
int overhead_step(struct overhead *o, struct mono now, struct err *e);

/* Whether this label's tracepoint may be enabled for the request type (its label). False: some node
 * would be over budget even at OVERHEAD_PROBED_MIN. True for what is enabled already, and for what
 * the space does not know. */
bool overhead_fits(struct overhead *o, uint32_t type, uint32_t label);
/* The same of a tracepoint ("provider:event") that the space has not learned: until it is measured
 * every request is taken to pass it OVERHEAD_PASSES times. */
bool overhead_fits_unknown(struct overhead *o, uint32_t type, const char *name);
/* The same of what threads of the program do below their tracepoints, on the nodes that have it. */
bool overhead_fits_below(struct overhead *o, uint32_t type, const char *service);
/* The tracepoint is in the plan from now on: overhead_fits() in the same step counts it.
 * ERR_MEMORY.
 */
int overhead_enabled(struct overhead *o, const char *name, struct err *e);
/* What is enabled is over budget even at OVERHEAD_PROBED_MIN: one tracepoint has to be disabled.
 * False while something was enabled or disabled that has not been counted: so they go one at a
 * time. */
bool overhead_exceeded(const struct overhead *o, uint32_t type);
/* All that is enabled has been measured since it was enabled. */
bool overhead_measured(const struct overhead *o);

/* ---- learning ---- */
/* From now on learning is active (or not) with `ngroups` groups of providers that take turns, and
 * probes `shrink` times the share that its budget permits. */
void overhead_learning(struct overhead *o, bool active, uint32_t ngroups, double shrink);
/* Predicts the cost of learning for the request types and nodes that are known now; anew: discards
 * what was measured. ERR_MEMORY. */
int overhead_learning_predict(struct overhead *o, bool anew, struct err *e);
/* The share of the type's requests that the budget of learning permits to probe, 0..1, also under
 * OVERHEAD_PROBED_MIN. */
double overhead_learning_probed(struct overhead *o, const struct request_type *type);
/* The space is another one: discards what was derived from it. */
void overhead_forget(struct overhead *o);

/* ---- for desired states, and for display ---- */
double overhead_probed(const struct overhead *o, const struct request_type *type); /* share, 0..1 */
double overhead_probed_least(const struct overhead *o); /* of all types; 1 without any */
void overhead_forget_type(
    struct overhead *o, uint32_t type); /* by its index: another type has its place; O(counters) */
double overhead_spent(const struct overhead *o, uint32_t node); /* share of one core, now */
/* Of that, what filters take to reject records of requests that are not probed. */
double overhead_rejected(const struct overhead *o, uint32_t node);
/* The share of the type's traces that had a part on the node; 1 while there are none. */
double overhead_node_share(
    const struct overhead *o, const struct request_type *type, uint32_t node);
double overhead_limit(const struct overhead *o); /* share of one core; of learning while it is on */
/* ns of a record on the node. *assumed: its agent has not measured it. */
double overhead_record_ns(const struct overhead *o, uint32_t node, bool *assumed);

#endif
