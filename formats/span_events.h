/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Spans that a tracer recorded as two events, one when the span starts and one when it ends, by the rules of a mapping with
 * `correlate = span` (mapping/map.h): as instrumentation of OpenTelemetry programs by LTTng-UST writes them. Each pair is a span of the
 * reading, which makes traces of them like of all spans (formats/tree.h), over all programs and hosts.
 *
 *	start_span{trace_id, span_id, parent_span_id} ... end_span{trace_id, span_id, service_name, op_name}
 */
#ifndef FORMATS_SPAN_EVENTS_H
#define FORMATS_SPAN_EVENTS_H

#include "formats/correlate_event.h"
#include "mapping/mapping.h"

struct span_events;

enum {
	SPAN_EVENTS_OPEN_MAX = 65536
}; /* beyond, the span that started first is passed on without its end */

/* The mapping must outlive *ret. NULL: it has no such rule (*rc 0), or out of memory (*rc ERR_MEMORY). */
struct span_events *span_events_new(
    struct reading *r, const struct mapping *m, int *rc, struct err *e);
void span_events_free(struct span_events *s); /* NULL is fine */

/* Takes an event that starts or ends a span: *taken. One without the ids of its rule is counted, and so is an end without its start, which is
 * passed on as a span without a begin. O(rules + fields) expected. ERR_MEMORY, or the error of take(). */
int span_events_take(
    struct span_events *s, const struct tracer_event *v, bool *taken, struct err *e);

/* After the last event: passes on what has no end, as such. */
int span_events_end(struct span_events *s, struct err *e);

#endif
