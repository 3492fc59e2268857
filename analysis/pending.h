/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A trace while its records come in, between assemble.c, which gathers and
 * decides when it is whole, and build.c, which makes the graph of it. Nobody else
 * includes this.
 */
#ifndef ANALYSIS_PENDING_H
#define ANALYSIS_PENDING_H

#include "analysis/trace.h"
#include "base/err.h"

enum { CHUNK_RECORDS = 24 };

struct raw {
	struct event event; /* its unit is not known yet */
	uint64_t unit_id;
};

struct chunk {
	struct chunk *next;
	uint32_t count;
	struct raw raws[CHUNK_RECORDS];
};

struct pending {
	uint64_t id;
	int64_t first_ns; /* the earliest of its records */
	int64_t end_ns;   /* the earliest request_end; INT64_MAX: none yet */
	struct chunk *first, *last;
	uint32_t heap_at[2]; /* where it stands in assemble.c's heaps */
	bool lossy;
	uint32_t nchunks;
	size_t arena_bytes;   /* as counted */
	struct pending *next; /* in the queue of whole ones, or among the spare */
	struct arena arena;   /* values and texts; becomes the trace's */
};

struct build; /* memory that is used again from trace to trace */

struct build *build_new(void); /* NULL: out of memory */
void build_free(struct build *b);

enum built { BUILT, BUILT_MALFORMED, BUILT_NO_MEMORY };

/* Makes the trace of what came up to `until_ns`; counts in *nlate the records after that, and in
 * *nduplicate those that were there already. On BUILT the arena has moved into the trace. O(n log
 * n). */
enum built build_trace(struct build *b, struct trace **ret, struct pending *p, int64_t until_ns,
    const struct labels *labels, uint64_t *nlate, uint64_t *nduplicate);

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
