/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What added tracepoints cost each node, and what they may. A tracepoint costs its
 * rate times what one record costs on that machine; the sum stays under a share of one
 * core. Where it would not, fewer requests are probed (the flag that LTTng's filters
 * test is decided once a request), and what cannot be afforded even so is not proposed.
 * A filter that says no is not free either: a fourth of a record, or so, is spent
 * whatever the share that is probed.
 *
 *	ns each second on a node  =  sum of rate x (rejected + probed of its type x (record - rejected))
 *
 * Rates are predicted from the learned space before a tracepoint is on, and measured
 * after. Going up and going down have thresholds apart, or rates would flicker.
 * Shares are max-min fair: all types rise alike until a node is full; those on it
 * stop there, the others rise on (Bertsekas & Gallager, Data Networks, 1992, 6.5.2).
 */
#ifndef SEARCHSPACE_BUDGET_H
#define SEARCHSPACE_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

enum { BUDGET_NODES_MAX = 65536 }; /* nodes are numbered from 0 up to that */

struct budget;

struct budget_options {
	double share;       /* of one core, on each node: 0.01 */
	double record_ns;   /* where a node has not told what a record costs there: 150 */
	double rejected_ns; /* nor what one costs that the filter rejects: 40; at most record_ns */
	double probed_min;  /* fewer requests than this share are not worth it: 0.01 */
	double slack; /* a lowered rate rises again when it could be this much higher: 1.5 times */
};

struct budget *budget_new(const struct budget_options *o); /* NULL: out of memory */
void budget_free(struct budget *b);                        /* NULL is fine */

/* What a record costs on this node, taken and rejected, as its agent measured it; 0: not known.
 * ERR_MEMORY. */
int budget_node(
    struct budget *b, uint32_t node, double record_ns, double rejected_ns, struct err *e);
/* A tracepoint's share of the records (`label`: any number of the caller's) on each node:
 * `per_second` if every request of that type were probed. Predicted, until measured; predicting
 * what was measured changes nothing. O(log entries), and moving the entries after a new one.
 * ERR_MEMORY. */
int budget_predict(struct budget *b, uint32_t type, uint32_t label, uint32_t node,
    double per_second, struct err *e);
/* Records that came, of probed requests, over the last window; `probed`: the share that was probed
 * meanwhile (0: it tells nothing). The first replaces what was predicted, and each later one counts
 * twice as much as the one before: windows are to be equally long. Costs as above. ERR_MEMORY. */
int budget_measured(struct budget *b, uint32_t type, uint32_t label, uint32_t node,
    double per_second, double probed, struct err *e);
void budget_drop(struct budget *b, uint32_t type, uint32_t label); /* it is off: costs nothing */

/* With this one as well: does the node stay under its budget, at probed_min at the latest? Else it
 * is not to be turned on. O(log entries). */
bool budget_fits(
    const struct budget *b, uint32_t type, uint32_t label, uint32_t node, double per_second);
/* Share of this type's requests to probe now, 0..1: the largest that keeps every node under its
 * budget, all types alike where they share one. Down at once when a node is over; up only past the
 * slack. 1 for a type without tracepoints. Under probed_min: more is on than can be afforded, as
 * measuring showed; the caller lets go of some. O(log types); after a change O(entries of types on
 * nodes x nodes that are full). */
double budget_probed(struct budget *b, uint32_t type);
/* For people: what a node spends now, as a share of one core, at the shares that budget_probed()
 * gives. */
double budget_spent(struct budget *b, uint32_t node);
/* Of that, what filters take to reject the records of requests that are not probed. O(types on
 * nodes). */
double budget_rejected(struct budget *b, uint32_t node);

#endif
