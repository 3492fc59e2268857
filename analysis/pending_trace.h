/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A trace while its records come in, between assemble.c, which gathers and
 * decides when it is whole, and trace_builder.c, which makes the graph of it. Nobody else
 * includes this.
 */
#ifndef ANALYSIS_PENDING_TRACE_H
#define ANALYSIS_PENDING_TRACE_H

#include "analysis/trace.h"
#include "base/err.h"

enum { CHUNK_RECORDS = 24 };

struct pending_record {
	struct event event; /* its unit is not known yet */
	uint64_t unit_id;
};

struct record_chunk {
	struct record_chunk *next;
	uint32_t count;
	struct pending_record records[CHUNK_RECORDS];
};

struct pending_trace {
	uint64_t id;
	int64_t first_ns; /* the earliest of its records */
	int64_t end_ns;   /* the earliest request_end; INT64_MAX: none yet */
	struct record_chunk *first, *last;
	uint32_t heap_at[2]; /* where it stands in assemble.c's heaps */
	bool lossy;
	uint32_t nchunks;
	size_t arena_bytes;         /* as counted */
	struct pending_trace *next; /* in the queue of whole ones, or among the spare */
	struct arena arena;         /* values and texts; becomes the trace's */
};

struct trace_builder; /* memory that is used again from trace to trace */

struct trace_builder *trace_builder_new(void); /* NULL: out of memory */
void trace_builder_free(struct trace_builder *b);

enum built { BUILT, BUILT_MALFORMED, BUILT_NO_MEMORY };

/* Makes the trace of what came up to `until_ns`; counts in *nlate the records after that, and in
 * *nduplicate those that were there already. On BUILT the arena has moved into the trace. O(n log
 * n). */
enum built trace_build(struct trace_builder *b, struct trace **ret, struct pending_trace *p,
    int64_t until_ns, const struct labels *labels, uint64_t *nlate, uint64_t *nduplicate);

/* Times come from outside and may be anything: sums stop at the ends. */
static inline int64_t
time_add(int64_t a, int64_t b)
{
	int64_t sum;

	if (__builtin_add_overflow(a, b, &sum))
		return b > 0 ? INT64_MAX : INT64_MIN;
	return sum;
}

#endif
