/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Makes the trace (units and events) of the spans of one request. Used by span_set.c alone; for a check of the
 * instrumentation as_recorded.h does it instead.
 *
 * Each span becomes a unit. The unit of its parent forks it at its begin and joins it at its end,
 * both with silent labels; the link id is the span's id. In each unit the begin is the first event
 * and the end the last.
 *
 *  - A child that begins before its parent, or ends after it, is cut at the parent's begin or end,
 *    with its descendants. A child that lies wholly outside is forked, not joined. A child that
 *    follows (trace_span.h) is joined only if it ends before its parent. (CRISP, USENIX ATC 2022,
 *    has the same rules.)
 *  - A child that ends just after its next sibling began counts as ended before it, and is cut at
 *    that begin, because a result is available before the end of its span is recorded, and times
 *    are rounded. The overlap must be at most the format's resolution or less than 1 % of the
 *    parent's duration, and no other child may begin or end in it (CRISP's rule).
 *  - A child on another node than its parent (both nodes known) that begins before the parent, or
 *    begins after the parent's end, and is not longer than the parent, is attributed to clock skew:
 *    it is moved into the parent by the least distance, with its descendants. More than the least
 *    distance would assume message delays (Jaeger centres the child, which assumes equal delays
 *    both ways). So is a server's span that begins in its client's and ends after it, but only as far as the
 *    node's clock can be ahead by the pairs before (node_clocks.h), and else cut: a server ends its span after its answer.
 *  - A span without a begin, or without an end, gets the closest one that its children prove: the
 *    begin of the first of them, the end of the last (of a child that follows: its begin). So its
 *    children stay where they are, and the rest of its time counts as its parent's. If they prove
 *    nothing, the span is forked at the time that is known, or with its parent, and not joined:
 *    nothing says that anybody waited for it. The trace is lossy.
 */
#ifndef FORMATS_TREE_H
#define FORMATS_TREE_H

#include "formats/span_names.h"
#include "formats/reading.h"

struct kept_span { /* a span of a pending trace */
	uint64_t id, parent;
	int64_t begin_ns, end_ns;
	struct span_name *name;
	const struct value *values; /* in the trace's arena */
	uint32_t node;
	uint32_t file; /* where it was read, see struct span_origin */
	uint64_t offset : 48;
	uint64_t nvalues : 8; /* at most RECORD_VALUES_MAX */
	uint64_t has_parent : 1, follows : 1, node_known : 1;
	uint64_t no_begin : 1, no_end : 1; /* not known */
	uint64_t client : 1, server : 1;   /* its kind */
};

struct tree; /* working memory, reused from trace to trace */

struct tree *tree_new(struct span_names *n, struct labels *l); /* NULL: out of memory */
void tree_free(struct tree *t);

/*
 * Makes a trace. *ret takes over the arena `a`, which is empty then; without a trace the arena stays
 * the caller's. The root is the earliest span without a parent (of several, the longest); without
 * one, a span that is its own parent; without one, the only span whose parent is missing. *ret is
 * NULL, and the trace counted as rootless, if there is no root, or no time of it is known nor proved
 * by its children; also NULL, not counted, if n is 0. A root without a begin or an end is the last choice. A
 * trace whose root has no begin or no end is counted, since its response time is a lower bound.
 *
 * Counts the spans that it leaves out: with a repeated id (kept is the first
 * of those whose times are known; of others the first, with the times that a later one knows), below
 * another root, their own parent, with ancestors in a cycle or missing (these two make the trace lossy), each
 * with all descendants. Changes the times in `spans`. O(n log n), O(n) for children in the order of
 * time; no recursion. ERR_MEMORY.
 */
int tree_build(struct trace **ret, struct tree *t, struct reading *r, struct trace_id id,
    struct kept_span *spans, uint32_t n, int64_t resolution_ns, bool lossy, struct arena *a,
    struct err *e);

#endif
