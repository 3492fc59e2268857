/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Units that end after their request. A server records the end of its unit when its answer is on the way; where processors are busy, its thread
 * gets none between the two for some 100 ms, and the caller has joined the unit and ended the request by then. A trace without that end has
 * another critical path than one with it, and its unit looks as if it never ended. So such a trace waits for it (assemble.h). What a span called
 * (trace_callers.h) is joined only when the trace is built, so each such part counts as joined, but for one that follows.
 */
#ifndef ANALYSIS_LATE_ENDS_H
#define ANALYSIS_LATE_ENDS_H

#include "analysis/pending_trace.h"
#include "base/hash_table.h"

struct late_ends { /* memory that is reused; all zeroes but for the seed */
	struct hash_table seen;
	uint64_t seed; /* of the hashes of links and units, which traced programs choose */
};

void late_ends_release(struct late_ends *l);

/* Whether by this time a unit of the trace has begun and was joined, but has not ended. What was recorded later does not matter. Without
 * memory: false. O(1) if the units that have ended are those that have begun, and none of them ended later; else O(n) expected, also if
 * a begin or an end came twice: copies count once. */
bool late_ends_has(
    struct late_ends *l, const struct pending_trace *p, const struct labels *labels, int64_t by_ns);

#endif
