/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The engine's purse: what tracepoints that are on cost each node, and how many
 * requests may be probed for them (searchspace/budget.h does the sums).
 *
 *	learned space, requests a second  -->  predicted rates  --\
 *	probed traces that came           -->  measured rates   ----> share of requests to probe
 *	agents' status                    -->  cost of a record --/
 *
 * A tracepoint that is on records for every type that is probed, whoever asked for it.
 * Which requests are probed is decided by chance when they begin, and only probed
 * ones are evidence: fewer of them make estimates slower, never askew. Their number is
 * what all else reckons with (n in every interval).
 */
#ifndef CONTROLPLANE_ENGINE_OVERHEAD_H
#define CONTROLPLANE_ENGINE_OVERHEAD_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/trace.h"
#include "base/clock.h"
#include "base/err.h"
#include "controlplane/engine/engine.h"

#define AFFORD_RECORD_NS \
	150.0 /* what a record is taken to cost where that was not measured; about what \
	         docs/architecture.md tells of one machine */
#define AFFORD_REJECTED_NS 40.0
#define AFFORD_PROBED_MIN 0.01
#define AFFORD_SLACK 1.5
#define AFFORD_PASSES 4.0
#define AFFORD_DEEP_PASSES \
	32.0 /* mutexes and mallocs are passed often: few requests are probed until it is known \
	        how often */

struct afford;
struct type;

struct afford *afford_new(const struct engine_options *o); /* NULL: out of memory */
void afford_free(struct afford *a);

/* What a record costs there by its status; 0: not measured. ERR_MEMORY. */
int afford_node(
    struct engine *g, uint32_t node, double record_ns, double rejected_ns, struct err *e);
/* Counts the records of added tracepoints, by type and node. O(events). ERR_MEMORY. */
int afford_trace(struct engine *g, const struct type *type, const struct trace *t, struct err *e);
/* After all that may change what is on, and before wants go out. O(what is on x types x nodes) when
 * that changed, and once a second. ERR_MEMORY. */
int afford_step(struct engine *g, struct mono now, struct err *e);

/* May this label's tracepoint be turned on for the type (a label too)? False: some node would be
 * over its budget, even with as few probed requests as make sense. True for what is on already, or
 * what the space does not know. */
bool afford(struct engine *g, uint32_t type, uint32_t label);
/* The same of a tracepoint ("provider:event") of which the space knows nothing: until it is
 * measured it is taken to be passed AFFORD_PASSES times by each request of each type that is
 * probed, of the deeper layer AFFORD_DEEP_PASSES. */
bool afford_unknown(struct engine *g, uint32_t type, const char *name);
/* It is in the plan from now on: what is asked for after it, in the same step, is beside it.
 * ERR_MEMORY. */
int afford_on(struct engine *g, const char *name, struct err *e);
/* What is on costs more than there is, with as few probed requests as make sense: let go of
 * something. False while something went on or off that is not reckoned with yet: so one thing goes
 * at a time. */
bool afford_over(struct engine *g, uint32_t type);
bool afford_measured(const struct engine *g); /* what is on was measured, since it is on */

/* ---- of learning, with a budget of its own ---- */
/* Types and nodes are as they are now; anew: nothing was measured yet. ERR_MEMORY. */
int afford_learning(struct engine *g, bool anew, struct err *e);
double afford_learning_probed(struct engine *g, const struct type *type);
void afford_forget(struct engine *g); /* the space is another one */

/* For wants, and for people. */
double afford_probed(
    const struct engine *g, const struct type *type);    /* share of its requests to probe */
double afford_spent(struct engine *g, uint32_t node);    /* share of one core, now */
double afford_rejected(struct engine *g, uint32_t node); /* of that, what filters take to reject */
double afford_share(const struct engine *g); /* what may be spent: of learning while we learn */
double afford_record_ns(const struct engine *g, uint32_t node, bool *assumed);

#endif
