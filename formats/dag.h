/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Happens-before graphs as traces: each event names those that it came directly
 * after (Lamport, CACM 1978). Runs of events in which each is the only one after the
 * only one before it, and no earlier, become units. A unit is forked where the last of those
 * before it happened, which is what it waited for, and joins the others; so the critical
 * path leads from each event to the last-arriving of those before it.
 *
 * The request begins at the earliest event that comes after nothing, and ends at
 * the latest event. Other events that come after nothing are taken to come after the first.
 */
#ifndef FORMATS_DAG_H
#define FORMATS_DAG_H

#include "analysis/group.h"

struct dag_event {
	uint64_t id;
	int64_t time_ns;
	uint32_t label, node, pid, tid;
	uint32_t before, nbefore; /* ids in `before` of the graph */
	uint32_t nvalues;         /* 0, or as many as the label has fields */
	const struct value *values;
};

struct dag {
	const struct dag_event *events; /* at least 1 */
	const uint64_t *before;
	uint32_t nevents;
	/* what dag_order() found; in its arena */
	uint32_t first, last; /* events that the request begins and ends with */
	uint64_t duplicates;  /* events whose id was there already: left out */
	uint64_t missing;     /* ids to come after that are no event's */
	uint64_t cycles;  /* ids to come after that were left out, since they close a circle, and */
	uint64_t selves;  /* since they are the event's own */
	uint32_t *begins; /* where the preceding events of each begin in `preds`; [nevents + 1] */
	uint32_t *preds;
	uint32_t *nafter; /* how many come directly after each */
	uint32_t *order;  /* events that are used, each behind those before it */
	uint32_t norder;
	uint32_t *place; /* in `order`, of each event; TRACE_NONE: left out */
};

/* Finds out how the events hang together. The caller sets events, before and nevents. Without
 * recursion. O(events + ids). ERR_MEMORY. */
int dag_order(struct dag *d, struct arena *a, struct err *e);

/* Makes the trace, with all that is in it copied; begin, end: labels of request_begin and
 * request_end. To be freed with trace_free(). `a` is for what is needed on the way. O(events +
 * ids). ERR_MEMORY. */
int dag_trace(struct trace **ret, const struct dag *d, struct trace_id id, uint32_t begin,
    uint32_t end, struct labels *labels, struct arena *a, struct err *e);

#endif
