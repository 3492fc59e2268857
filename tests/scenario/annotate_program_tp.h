/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Provider orders: spans of annotate_program. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER orders

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "tests/scenario/annotate_program_tp.h"

#if !defined(ANNOTATE_PROGRAM_TP_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define ANNOTATE_PROGRAM_TP_H

#include <lttng/tracepoint.h>

LTTNG_UST_TRACEPOINT_EVENT_CLASS(orders, step, LTTNG_UST_TP_ARGS(int, n), LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int, n, n)))

#define SPAN(name) \
	LTTNG_UST_TRACEPOINT_EVENT_INSTANCE(orders, step, orders, name##_begin, LTTNG_UST_TP_ARGS(int, n)) \
	LTTNG_UST_TRACEPOINT_EVENT_INSTANCE(orders, step, orders, name##_end, LTTNG_UST_TP_ARGS(int, n))
SPAN(save)
SPAN(journal)
SPAN(nap)
SPAN(ask)
SPAN(guard)
SPAN(touch)
#undef SPAN

#endif
#include <lttng/tracepoint-event.h>
