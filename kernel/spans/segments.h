/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Whose time it is on each thread: the segments of kernel/spans/annotate.h, of the places of spans. Used by annotate.c alone.
 */
#ifndef KERNEL_SPANS_SEGMENTS_H
#define KERNEL_SPANS_SEGMENTS_H

#include "base/err.h"
#include "kernel/spans/span_values.h"

struct span_segment {
	int64_t from_ns, to_ns;
	/* The owner and its chosen ancestors that are active here, from the owner outwards: `chain` of them in chains. 0: it is nobody's. */
	uint32_t first, chain;
};

struct span_thread { /* with places; segments do not overlap, and are in the order of time */
	uint32_t host, tid;
	uint32_t first, nsegments;
};

struct span_segments {
	struct span_segment *list;
	struct span_thread *threads; /* by host and tid */
	uint32_t *chains;
	uint32_t nlist, list_cap, nthreads, threads_cap, nchains, chains_cap;
	uint64_t ignored, crowded; /* as in struct annotate_counts */
};

/* Cuts each circle of parents at one of its spans. A parent that does not exist becomes none. O(spans). ERR_MEMORY. */
int span_nodes_mend(struct span_node *nodes, uint32_t nnodes, struct err *e);

/* Makes the segments; sorts `places`. `results` gets active_ns and shared_ns added. Nodes are without circles. *ret is to be released, also after a
 * failure. ERR_MEMORY; ERR_FULL: over bytes_max. */
int span_segments_make(struct span_segments *ret, const struct span_node *nodes, uint32_t nnodes,
    struct span_place *places, size_t nplaces, struct span_result *results, size_t bytes_max,
    struct err *e);
void span_segments_release(struct span_segments *s);

#endif
