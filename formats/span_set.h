/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Spans, gathered by trace until it is known to be complete, or until they take
 * more memory than they may: then the trace that was longest without news is
 * handed out as it is. Used by reading.c alone.
 */
#ifndef FORMATS_SPAN_SET_H
#define FORMATS_SPAN_SET_H

#include "formats/reading.h"

struct span_set;

struct span_set *span_set_new(struct reading *r); /* NULL: out of memory */
void span_set_free(struct span_set *s);

/* Takes a span, see reading_span(); of a format with that resolution. O(1) expected, and its
 * attributes. */
int span_set_add(struct span_set *s, const struct span *span, int64_t resolution_ns, struct err *e);

/* That trace is complete: made and handed out. O(n log n) in its spans. */
int span_set_complete(struct span_set *s, struct trace_id id, struct err *e);
void span_set_lossy(struct span_set *s, struct trace_id id);

/* All are: in the order they were first heard of. */
int span_set_end(struct span_set *s, struct err *e);

#endif
