/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The overhead budget of added tracepoints, on each node. A tracepoint costs its rate times the
 * cost of one record on that machine, and the sum must stay below a share of one core. Where it
 * would not, fewer requests are probed (the flag that LTTng's filters test is decided once per
 * request), and a tracepoint that is over budget even then is not proposed. Rejecting a record
 * costs about a fourth of recording it, whatever fraction of requests is probed:
 *
 *	ns per second on a node  =  sum of rate x (rejected + probed of its type x (record - rejected))
 *
 * Rates are predicted from the learned space before a tracepoint is enabled, and measured
 * afterwards. Increasing and decreasing have different thresholds, so that the probed share
 * does not oscillate. Shares are max-min fair: all types rise together until a node is full;
 * types on that node stop there, the others continue to rise (Bertsekas & Gallager, Data
 * Networks, 1992, 6.5.2).
 */
#ifndef SEARCHSPACE_BUDGET_H
#define SEARCHSPACE_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

enum { BUDGET_NODES_MAX = 65536 }; /* nodes are numbered from 0 up to this */

struct budget;

struct budget_options {
	double share; /* of one core, on each node; default 0.01 */
	/* Cost of a record where a node has not reported it; default 150. */
	double record_ns;
	/* Cost of a record that the filter rejects, where not reported; default 40, at most
	 * record_ns. */
	double rejected_ns;
	double probed_min; /* the least share of requests to probe; default 0.01 */
	/* A reduced share rises again when it could be this many times as high; default 1.5. */
	double slack;
};

struct budget *budget_new(const struct budget_options *o); /* NULL: out of memory */
void budget_free(struct budget *b);                        /* NULL is fine */

/* The cost of a record on this node, recorded and rejected, as measured by its agent; 0:
 * unknown. ERR_MEMORY; ERR_FULL: node number over BUDGET_NODES_MAX. */
int budget_node(
    struct budget *b, uint32_t node, double record_ns, double rejected_ns, struct err *e);
/* Predicts the rate of a tracepoint (`label`: any number of the caller's) on a node: records
 * per second if every request of that type were probed. Without effect once the rate was
 * measured. O(log entries), plus moving the entries behind a new one. ERR_MEMORY, ERR_FULL. */
int budget_predict(struct budget *b, uint32_t type, uint32_t label, uint32_t node,
    double per_second, struct err *e);
/*
 * Records per second of probed requests over the last window, and the share of requests that
 * was probed in it (0: the window is ignored). The first window replaces the prediction; each
 * further one weighs twice as much as the one before, so windows should be equally long. Cost
 * and errors as above.
 */
int budget_measured(struct budget *b, uint32_t type, uint32_t label, uint32_t node,
    double per_second, double probed, struct err *e);
/* Disabled: costs no more; O(entries). */
void budget_drop(struct budget *b, uint32_t type, uint32_t label);

/* Whether the node stays under its budget with this tracepoint added, when no more than
 * probed_min of the requests are probed. If not, it must not be enabled. O(log entries). */
bool budget_fits(
    const struct budget *b, uint32_t type, uint32_t label, uint32_t node, double per_second);
/*
 * The share of this type's requests to probe now, 0..1: the largest one that keeps every node
 * under its budget, equal for all types that share a node. Falls at once when a node is over
 * budget; rises only beyond the slack. 1 for a type without tracepoints. Below probed_min:
 * measuring showed that more is enabled than the budget permits; the caller disables some.
 * O(log types); after a change O((types on nodes + nodes) x full nodes).
 */
double budget_probed(struct budget *b, uint32_t type);
/* For display: what a node spends now, as a share of one core, at the shares of
 * budget_probed(). */
double budget_spent(struct budget *b, uint32_t node);
/* The part of that spent on rejecting records of requests that are not probed. Costs as of budget_probed(), then O(1). */
double budget_rejected(struct budget *b, uint32_t node);

#endif
