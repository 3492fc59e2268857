/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A trace while its records arrive. Shared by assemble.c, which gathers records and decides
 * when a trace is complete, heap.c, and trace_builder.c, which makes its graph.
 */
#ifndef ANALYSIS_PENDING_TRACE_H
#define ANALYSIS_PENDING_TRACE_H

#include "analysis/trace.h"
#include "base/err.h"

enum { CHUNK_RECORDS = 24, PENDING_SHARED_MAX = 4, PENDING_NODES_MAX = 32, PENDING_NOWHERE = -1 };

struct pending_record {
	/* Without its unit, which is numbered when the trace is built. */
	struct event event;
	uint64_t unit_id;
};

struct record_chunk {
	struct record_chunk *next;
	uint32_t count;
	struct pending_record records[CHUNK_RECORDS];
};

struct record_ref {
	int64_t time_ns;
	const struct pending_record *record;
};

struct pending_trace {
	uint64_t id;
	int64_t first_ns; /* of its earliest record */
	int64_t end_ns;   /* of its earliest request_end; INT64_MAX: none yet */
	/* Of a request that a span may have called (trace_callers.h), which ends before the request that the span is of. INT64_MAX: none yet. */
	int64_t part_end_ns;
	uint64_t own_unit; /* in which a request began without a caller */
	bool has_own, has_part;
	struct record_chunk *first, *last;
	uint32_t heap_at[3]; /* its positions in the heaps of assemble.c */
	int64_t waits_at;    /* the node in whose heap it is, or PENDING_NOWHERE */
	/* The sum of hashes of the links of its forks, less those of its unit_begins: 0 when each has its
	 * other end. Without forks that lead out of what is traced (fork_labels.h). */
	uint64_t open;
	bool begun;   /* it has a request_begin */
	bool unknown; /* it has a fork of which fork_labels.h knew nothing */
	/* The nodes of its records. With more than PENDING_NODES_MAX it waits for all. */
	uint32_t nnodes, nodes[PENDING_NODES_MAX];
	bool on_many;
	bool early; /* it did not wait for all nodes */
	bool lossy;
	bool too_long; /* it has further records, which were dropped */
	uint32_t nrecords;
	uint32_t nbelow; /* of these, records of the kinds WAIT and SAMPLE */
	/* The sum of hashes of units over records that begin one, less that over records that end one: 0 when those that began have ended; the
	 * time of the last end. See late_ends.h. */
	uint64_t open_units;
	int64_t last_unit_end_ns;
	int64_t asked_end_ns; /* the end of the request for which awaits_ends is known */
	bool awaits_ends;
	/* Units on whose thread a unit of another trace began while they were open, and when; further
	 * ones are not noted. */
	uint32_t nshared;
	struct shared_unit {
		uint64_t unit_id;
		int64_t time_ns;
	} shared[PENDING_SHARED_MAX];
	uint32_t nchunks;
	size_t arena_bytes; /* size of the arena when it was last counted */
	/* In the queue of complete traces, or in the list of unused structs. */
	struct pending_trace *next;
	struct arena arena; /* values and texts; becomes the trace's arena */
};

struct trace_builder; /* memory that is reused from trace to trace */

struct trace_builder *trace_builder_new(void); /* NULL: out of memory */
void trace_builder_free(struct trace_builder *b);

/* Builds the trace of the records up to `until_ns`, also an incomplete one. Adds to *nlate the
 * number of later records, and to *nduplicate that of exact copies. True: *ret is the caller's, and
 * owns the arena `into`, which is empty then; if that is not the arena of `p`, *ret refers to `p`.
 * False: out of memory. O(n log n); O(n) if the records arrived in order. */
bool trace_build(struct trace_builder *b, struct trace **ret, const struct pending_trace *p,
    struct arena *into, int64_t until_ns, struct labels *labels, uint64_t *nlate,
    uint64_t *nduplicate);

/* a + b, limited to the range of int64_t: times come from outside and may be anything. */
static inline int64_t
time_add(int64_t a, int64_t b)
{
	int64_t sum;

	if (__builtin_add_overflow(a, b, &sum))
		return b > 0 ? INT64_MAX : INT64_MIN;
	return sum;
}

#endif
