/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Adds to a trace what a flight recorder had of it (wire/keep.h): records of tracepoints, of units that the trace has. Their nodes'
 * clocks were read again and later, so they are kept within the first and the last event of their unit, whose order the trace already has.
 */
#ifndef ANALYSIS_TRACE_MERGE_H
#define ANALYSIS_TRACE_MERGE_H

#include "analysis/trace.h"
#include "base/err.h"
#include "wire/record.h"

struct trace_addition {
	uint32_t node;             /* the engine's number */
	const struct batch *batch; /* its times on the controller's clock */
};

struct trace_merge_counts {
	uint64_t added;
	/* Left out: of a tracepoint that the trace has records of in that unit already, which was on for this request anyway; of structure,
	 * which the trace has; and of units that it does not have. */
	uint64_t duplicate, structure, strays;
	uint64_t moved; /* into the time of their unit */
};

/*
 * A copy of the trace with the additions; with none of them just a copy. It has no `below`. shift_ns: for each unit, by how much
 * clocks_trace() has moved it; NULL: by nothing. On success *ret is the caller's, until trace_free(). ERR_MEMORY. O(n log n).
 */
int trace_merge(struct trace **ret, const struct trace *t, const int64_t *shift_ns,
    const struct trace_addition *add, uint32_t n, struct labels *labels,
    struct trace_merge_counts *counts, struct err *e);

#endif
