/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Writes spans as trace back ends read them. What is written is read back by the format of the same name as the same spans, but for what the
 * format cannot express:
 *
 *	otlp	one JSON document of OTLP (resourceSpans), as collectors take it at /v1/traces
 *	jaeger	the JSON of Jaeger's query service and user interface; times are in us, outwards: a child stays within its parent
 *	zipkin	a JSON array of version 2, as /api/v2/spans takes it; times in us, attributes are texts; a node that is no IP address is
 *		the tag host.name
 *
 * Events of a span are OTLP's events, Jaeger's logs (the name is the field "event"), and Zipkin's annotations ("name key=value ...").
 * Readers leave them out.
 *
 * jaeger and zipkin have no span with an end and without a begin: both are left out then.
 */
#ifndef FORMATS_SPAN_WRITER_H
#define FORMATS_SPAN_WRITER_H

#include <stdio.h>

#include "base/err.h"
#include "formats/trace_span.h"

struct span_writer;

bool span_writer_knows(const char *format);

/* Begins a document in `to`, which stays the caller's. ERR_MISSING: no such format; ERR_MEMORY. */
int span_writer_open(struct span_writer **ret, const char *format, FILE *to, struct err *e);

/*
 * Writes a span. Spans of one trace follow each other; otlp writes a resource each time that service or node change. A value of
 * VALUE_UINT that is 0 or 1 is a truth value: that is what readers make of those. Bytes that are not UTF-8 become U+FFFD. An attribute without a value
 * is left out. O(bytes). ERR_MEMORY, ERR_SYSTEM.
 */
int span_writer_put(struct span_writer *w, const struct span *s, struct err *e);

/* Ends the document and frees w, also after a failure. ERR_SYSTEM: it could not be written. */
int span_writer_close(struct span_writer *w, struct err *e);

#endif
