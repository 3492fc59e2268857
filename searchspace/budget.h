/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What added tracepoints cost each node, and what they may. A tracepoint costs its
 * rate times what one record costs on that machine; the sum stays under a share of one
 * core. Where it would not, fewer requests are probed (the flag that LTTng's filters
 * test is decided once a request), and what cannot be afforded even so is not proposed.
 * Rates are predicted from the learned space before a tracepoint is on, and measured
 * after. Going up and going down have thresholds apart, or rates would flicker.
 */
#ifndef SEARCHSPACE_BUDGET_H
#define SEARCHSPACE_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct budget;

struct budget_options {
	double share;			/* of one core, on each node: 0.01 */
	double record_ns;		/* where a node has not told what a record costs there */
	double probed_min;		/* fewer requests than this share are not worth it: 0.01 */
	double slack;			/* a lowered rate rises again when it could be this much higher: 1.5 times */
};

struct budget *budget_new(const struct budget_options *o);	/* NULL: out of memory */
void budget_free(struct budget *b);

/* What a record costs on this node, as its agent measured it; 0: not known. */
void budget_node(struct budget *b, uint32_t node, double record_ns);
/* A tracepoint's share of the records (`label`: any number of the caller's) on each node: `per_second` if every
 * request of that type were probed. Predicted, until measured. O(log entries). ERR_MEMORY. */
int  budget_predict(struct budget *b, uint32_t type, uint32_t label, uint32_t node, double per_second, struct err *e);
/* Records that came, of probed requests, over the last window; `probed`: the share that was probed meanwhile. */
int  budget_measured(struct budget *b, uint32_t type, uint32_t label, uint32_t node, double per_second, double probed,
    struct err *e);
void budget_drop(struct budget *b, uint32_t type, uint32_t label);	/* it is off: costs nothing */

/* With this one as well: would any node be over its budget even at probed_min? Then it is not to be turned on. */
bool budget_affords(const struct budget *b, uint32_t type, uint32_t label, uint32_t node, double per_second);
/* Share of this type's requests to probe now, 0..1: the largest that keeps every node under its budget, all types
 * alike where they share one. Changes only past the slack. O(entries). */
double budget_probed(struct budget *b, uint32_t type);
/* For people: what a node spends now, as a share of one core, at these rates. */
double budget_spent(const struct budget *b, uint32_t node);

#endif
