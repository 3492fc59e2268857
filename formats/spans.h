/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Spans, gathered by trace until it is known to be complete, or until they take
 * more memory than they may: then the trace that was longest without news is
 * handed out as it is. Used by reading.c alone.
 */
#ifndef FORMATS_SPANS_H
#define FORMATS_SPANS_H

#include "formats/reading.h"

struct spans;

struct spans *spans_new(struct reading *r); /* NULL: out of memory */
void spans_free(struct spans *s);

/* Takes a span, see reading_span(); of a format with that resolution. O(1) expected, and its
 * attributes. */
int spans_add(struct spans *s, const struct span *span, int64_t resolution_ns, struct err *e);

/* That trace is complete: made and handed out. O(n log n) in its spans. */
int spans_complete(struct spans *s, struct trace_id id, struct err *e);
void spans_lossy(struct spans *s, struct trace_id id);

/* All are: in the order they were first heard of. */
int spans_end(struct spans *s, struct err *e);

#endif
