/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Makes a trace of a happens-before graph, in which each event names its direct predecessors
 * (Lamport, CACM 1978).
 *
 * An event continues the unit of its predecessor if each is the only neighbour of the other and it
 * is not earlier; otherwise it begins a unit. A unit is forked at the latest predecessor of its
 * first event, which is the one it waited for, and joins the units of the other predecessors. So
 * the critical path leads from each event back to its latest predecessor.
 *
 * The request begins at the earliest event without predecessors and ends at the latest event.
 * Other events without predecessors are treated as successors of the first.
 */
#ifndef FORMATS_DAG_H
#define FORMATS_DAG_H

#include "analysis/group.h"

struct dag_event {
	uint64_t id;
	int64_t time_ns;
	uint32_t label, node, pid, tid;
	uint32_t before, nbefore; /* its predecessors: a range of dag.before */
	uint32_t nvalues;         /* 0, or the number of the label's fields */
	const struct value *values;
};

struct dag {
	/* set by the caller */
	const struct dag_event *events;
	const uint64_t *before; /* ids of predecessors, of all events */
	uint32_t nevents;       /* at least 1 */
	/* set by dag_order(), in its arena */
	uint32_t first, last; /* the events that begin and end the request */
	uint64_t duplicates;  /* events left out because their id occurred before */
	uint64_t missing;     /* predecessor ids that no event has */
	uint64_t cycles;      /* predecessor ids left out because they close a cycle */
	uint64_t selves;      /* predecessor ids left out because they are the event's own */
	uint32_t *begins;     /* [nevents + 1] index in `preds` of each event's predecessors */
	uint32_t *preds;      /* TRACE_NONE: left out */
	uint32_t *nafter;     /* number of direct successors of each event */
	uint32_t *order;      /* the events that are used, each after its predecessors */
	uint32_t norder;
	uint32_t *place; /* position of each event in `order`; TRACE_NONE: left out */
};

/* Resolves the predecessors and orders the events. No recursion. O(events + ids). ERR_MEMORY. */
int dag_order(struct dag *d, struct arena *a, struct err *e);

/* Makes the trace, after dag_order(). begin, end: labels of request_begin and request_end. All
 * values are copied; the caller frees *ret with trace_free(). `a` holds temporary data. The trace
 * is lossy if predecessors are missing. O(events + ids). ERR_MEMORY. */
int dag_trace(struct trace **ret, const struct dag *d, struct trace_id id, uint32_t begin,
    uint32_t end, struct labels *labels, struct arena *a, struct err *e);

#endif
