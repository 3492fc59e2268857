/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Candidates: tracepoints in a gap that can be enabled next. match.h finds them, strategy.h chooses among them. */
#ifndef SEARCHSPACE_CANDIDATE_H
#define SEARCHSPACE_CANDIDATE_H

#include <stdbool.h>
#include <stdint.h>

struct candidate {
	uint32_t label; /* of a point (a tracepoint that can be enabled) */
	/* Index of the candidate at the other end of its span; UINT32_MAX: it ends no span, or
	 * the other end is no candidate. */
	uint32_t partner;
	/* Index of the candidate that opens the innermost span around it, less than its own;
	 * UINT32_MAX: none. */
	uint32_t around;
	bool drawn;     /* is on the walk that was drawn */
	uint64_t count; /* how often it was seen there */
	/* Time from the begin of the gap: on the drawn walk the sum of the steps' learned
	 * means; otherwise interpolated between its neighbours on the walk, in proportion to
	 * the learned times since the unit's begin. */
	double offset_ns;
	/* Fraction of the traces passing the gap that pass it, 0..1, estimated. */
	double share;
	/* Mean number of occurrences in a trace of the type: for its cost. */
	double per_trace;
	/* The same of each of the gap's units in a trace that passes it there: mean number at the places that lie in the gap. */
	double in_gap;
	/* Every trace passed it and both ends of the gap once, and on average before the begin
	 * or after the end: only an order that changes can put it inside. */
	bool beside;
};

struct gap_time {
	double mean_ns; /* of the drawn walk, from begin to end of the gap */
};

#endif
