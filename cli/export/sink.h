/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Writes requests in one of the formats of `hone export`:
 *
 *	otlp, zipkin, jaeger	spans, as formats/span_writer.h has them
 *	chrome	trace events in JSON, for Perfetto, speedscope and chrome://tracing: one process for each service and node, and as many
 *		threads for each request as are needed that the spans of each nest
 *	folded	a line for each call stack, with the ns of the critical path in it: "frame;frame;frame 1234"; for flame graphs
 *	pprof	the same, with the number of spans, as a profile of pprof, gzipped
 *
 * Stacks are sums over all requests. Their paths add up to the sum of the response times.
 */
#ifndef CLI_EXPORT_SINK_H
#define CLI_EXPORT_SINK_H

#include <stdio.h>

#include "cli/export/exported.h"

struct export_sink { /* what each format begins its own with */
	int (*put)(struct export_sink *s, const struct exported *x, struct err *e);
	/* Writes the end and frees it, also if e->code of an earlier call was not 0. */
	int (*close)(struct export_sink *s, struct err *e);
};

/* Begins in `to`, which stays the caller's. ERR_MEMORY, ERR_SYSTEM. */
int sink_open_spans_otlp(struct export_sink **ret, FILE *to, struct err *e);
int sink_open_spans_zipkin(struct export_sink **ret, FILE *to, struct err *e);
int sink_open_spans_jaeger(struct export_sink **ret, FILE *to, struct err *e);
int sink_open_chrome(struct export_sink **ret, FILE *to, struct err *e);
int sink_open_folded(struct export_sink **ret, FILE *to, struct err *e);
int sink_open_pprof(struct export_sink **ret, FILE *to, struct err *e);

#endif
