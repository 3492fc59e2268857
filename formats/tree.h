/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * From the spans of one trace to its graph. Used by span_set.c alone.
 *
 * Each span is a unit. Its parent's unit forks it where it begins and joins it
 * where it ends, both with silent labels; the link is the span's id. Within a
 * unit, begin comes first and end last.
 *
 *  - A child that ends after its parent is taken to have been waited for until the
 *    parent's end; one that begins before it, since the parent's begin: they are cut
 *    there, and so is what is below them. A child that lies wholly outside
 *    is nobody's to wait for: it is forked, not joined. One that follows (span.h) is
 *    joined only if it ended before its parent. (So does CRISP, USENIX ATC 2022.)
 *  - A child that ends just after its next sibling began is taken to have ended
 *    before it, since a result is there before its span's end is written, and
 *    times are rounded: if the overlap is no more than the format's resolution, or
 *    less than 1 % of the parent's duration, and no other child begins or ends in it
 *    (CRISP's rule). It is cut there.
 *  - A child on another node than its parent, both known, that begins before it or
 *    lies outside of it, and would fit in, has another clock: it is moved in by
 *    the least that is needed, with all that is below it. The least, since any more
 *    would be a guess at how long messages take; Jaeger centres, which
 *    invents equal times both ways.
 */
#ifndef FORMATS_TREE_H
#define FORMATS_TREE_H

#include "formats/span_names.h"
#include "formats/reading.h"

struct kept_span { /* a span that waits for the rest of its trace */
	uint64_t id, parent;
	int64_t begin_ns, end_ns;
	struct span_name *name;
	const struct value *values; /* in the trace's arena */
	uint32_t node;
	uint32_t file; /* where it was read, for words about it */
	uint64_t offset : 48;
	uint64_t nvalues : 8; /* at most RECORD_VALUES_MAX */
	uint64_t has_parent : 1, follows : 1, node_known : 1;
};

struct tree; /* working memory, kept from trace to trace */

struct tree *tree_new(struct span_names *n, struct labels *l); /* NULL: out of memory */
void tree_free(struct tree *t);

/*
 * Makes a trace; it takes over the arena, which is empty afterwards. Counts what it leaves out:
 * spans with an id that was there before (the first is kept), their own parents (taken for roots
 * where there is no other), in circles, without a parent that is there (the trace is lossy then; a
 * lone one with all others below it is the root: its parent was not recorded), below other roots
 * than the earliest (of those, the longest). *ret NULL: rootless, and counted. `spans` are changed.
 * O(n log n), no recursion. ERR_MEMORY.
 */
int tree_build(struct trace **ret, struct tree *t, struct reading *r, struct trace_id id,
    struct kept_span *spans, uint32_t n, int64_t resolution_ns, bool lossy, struct arena *a,
    struct err *e);

#endif
