/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The parts of many requests in an edge, by state and stack, until slow requests are compared with the others. Times of the same
 * state and stack are one part of a request.
 */
#ifndef ANALYSIS_BELOW_PARTS_H
#define ANALYSIS_BELOW_PARTS_H

#include "analysis/below_time.h"
#include "analysis/differential.h"

enum {
	BELOW_PARTS_REQUESTS_MAX = 1024,
	BELOW_STACKS_MAX = 2048, /* a state at a stack; the times of further ones have no stack */
	/* Entries of all stacks of all parts: a request with which they would be more is not taken. They bound time and memory of a
	 * comparison, at 16 bytes each. */
	BELOW_ENTRIES_MAX = 262144
};

struct below_parts; /* owns copies of all texts; at most 3 MiB */

struct below_parts *below_parts_new(void); /* NULL: out of memory */
void below_parts_free(struct below_parts *p);

/* A request with its times in the edge: one for each passage. False: out of memory. O(parts). */
bool below_parts_add(
    struct below_parts *p, int64_t total_ns, const struct below_time *times, uint32_t ntimes);

/*
 * Compares the slow requests with the others, and makes the tree of their stacks: see differential_of(). Slow are those with a
 * response time over slow_over_ns, if that is not 0 and at least DIFFERENTIAL_SLOW_MIN are; else the slowest quarter, and at least
 * so many. Stacks that are cut at different callers begin at the outermost entry that nearly all have. In the tree the word of a wait's state follows its stack, as "[lock]". Without any request *count is 0. Uses the arena, into which *ret and *tree point. With 199 rounds: 20 ms for 150
 * requests with 20 parts of 12 entries, 150 ms with 140 parts. ERR_MEMORY.
 */
int below_parts_compare(struct differential *ret, struct difference_node **tree, uint32_t *count,
    const struct below_parts *p, int64_t slow_over_ns, double confidence, uint32_t rounds,
    uint64_t seed, struct arena *a, struct err *e);

#endif
