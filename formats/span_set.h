/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Gathers spans by trace until the trace is known to be complete, or until all of them exceed their
 * memory bound: then the trace that received no span for the longest time is handed out as it is.
 * Used by reading.c alone.
 */
#ifndef FORMATS_SPAN_SET_H
#define FORMATS_SPAN_SET_H

#include "formats/reading.h"

struct span_set;

struct span_set *span_set_new(struct reading *r); /* NULL: out of memory */
void span_set_free(struct span_set *s);           /* NULL is allowed */

/* Adds a span, which is copied (see reading_span()). resolution_ns: of the times of its format.
 * Expected O(attributes), and the cost of one trace if memory is exceeded. ERR_MEMORY, or the error
 * of take(). */
int span_set_add(struct span_set *s, const struct span *span, int64_t resolution_ns, struct err *e);

/* The trace is complete: makes it and hands it out. A trace without spans is ignored. O(n log n)
 * for n spans. ERR_MEMORY, or the error of take(). */
int span_set_complete(struct span_set *s, struct trace_id id, struct err *e);

/* Marks the trace as lossy, if it has spans here. */
void span_set_lossy(struct span_set *s, struct trace_id id);

/* All traces are complete: hands them out in the order of their first spans. */
int span_set_end(struct span_set *s, struct err *e);

#endif
