/* SPDX-License-Identifier: MIT */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER bench
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "bench/instrument_cost_tp.h"

#if !defined(INSTRUMENT_COST_TP_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define INSTRUMENT_COST_TP_H

#include <lttng/tracepoint.h>

/* One record in five ways: disabled; plain; with contexts; with a filter; as the agent records it. */
LTTNG_UST_TRACEPOINT_EVENT_CLASS(bench, six,
	LTTNG_UST_TP_ARGS(int, i),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_integer(int, a, i) lttng_ust_field_integer(int, b, i)
		lttng_ust_field_integer(int, c, i) lttng_ust_field_integer(int, d, i)
		lttng_ust_field_integer(int, e, i) lttng_ust_field_integer(int, f, i)))

LTTNG_UST_TRACEPOINT_EVENT_INSTANCE(bench, six, bench, dormant, LTTNG_UST_TP_ARGS(int, i))
LTTNG_UST_TRACEPOINT_EVENT_INSTANCE(bench, six, bench, plain, LTTNG_UST_TP_ARGS(int, i))
LTTNG_UST_TRACEPOINT_EVENT_INSTANCE(bench, six, bench, context, LTTNG_UST_TP_ARGS(int, i))
LTTNG_UST_TRACEPOINT_EVENT_INSTANCE(bench, six, bench, filtered, LTTNG_UST_TP_ARGS(int, i))
LTTNG_UST_TRACEPOINT_EVENT_INSTANCE(bench, six, bench, whole, LTTNG_UST_TP_ARGS(int, i))

#endif
#include <lttng/tracepoint-event.h>
