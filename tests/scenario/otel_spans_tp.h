/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Provider otl_ust_go: spans as otel-go-lttng-instrumentation writes them. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER otl_ust_go

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "tests/scenario/otel_spans_tp.h"

#if !defined(OTEL_SPANS_TP_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define OTEL_SPANS_TP_H

#include <lttng/tracepoint.h>

LTTNG_UST_TRACEPOINT_EVENT(otl_ust_go, start_span, LTTNG_UST_TP_ARGS(const char *, trace, const char *, span, const char *, parent),
	LTTNG_UST_TP_FIELDS(lttng_ust_field_string(trace_id, trace) lttng_ust_field_string(span_id, span) lttng_ust_field_string(parent_span_id, parent)))
LTTNG_UST_TRACEPOINT_EVENT(otl_ust_go, end_span, LTTNG_UST_TP_ARGS(const char *, trace, const char *, span, const char *, service, const char *, op),
	LTTNG_UST_TP_FIELDS(lttng_ust_field_string(trace_id, trace) lttng_ust_field_string(span_id, span) lttng_ust_field_string(service_name, service)
		lttng_ust_field_string(op_name, op)))

#endif

#include <lttng/tracepoint-event.h>
