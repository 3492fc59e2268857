/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Makes a trace of spans for a check of the instrumentation: as they were recorded. tree.h makes the
 * best of the spans of a request, and leaves out what has no place; here nothing is moved, bounded or
 * left out, and what is missing is missing in the trace.
 *
 *  - Each span is a unit. Without an end it has none; without a begin it begins at its end.
 *  - A span whose parent is known is forked by it, with the label "SERVICE/hone:fork(NAME)" of the
 *    parent's service and the span's name. It is joined if its parent depends on it: it does not
 *    follow (trace_span.h), or it ended before its parent.
 *  - A span whose parent is missing is a unit without a fork.
 *  - Of spans with one id only the first one is joined. One that is equal to an earlier one, or that
 *    knows an end which that one lacks, is no further span.
 *  - The request is the earliest span without a parent, or that is its own; further ones begin requests
 *    inside of it. Without one the trace has no request.
 */
#ifndef FORMATS_AS_RECORDED_H
#define FORMATS_AS_RECORDED_H

#include "formats/tree.h"

/* *ret takes over the arena `a`, which is empty then. `spans` is sorted by time. Complete in what
 * analysis/place_facts.h uses; units have no `fork`. ERR_MEMORY. O(n log n). */
int as_recorded(struct trace **ret, struct span_names *names, struct labels *labels,
    struct trace_id id, struct kept_span *spans, uint32_t n, bool lossy, struct arena *a,
    struct err *e);

#endif
