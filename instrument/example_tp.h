/* SPDX-License-Identifier: MIT */
/* The example's own tracepoints, in plain LTTng-UST. A pair x_begin, x_end is a
 * span. One provider for the whole program. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER example
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "instrument/example_tp.h"

#if !defined(EXAMPLE_TP_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define EXAMPLE_TP_H

#include <lttng/tracepoint.h>

LTTNG_UST_TRACEPOINT_EVENT(example, work_begin,
	LTTNG_UST_TP_ARGS(int, rounds),
	LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int, rounds, rounds)))
LTTNG_UST_TRACEPOINT_EVENT(example, work_end,
	LTTNG_UST_TP_ARGS(unsigned int, sum),
	LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(unsigned int, sum, sum)))

#endif
#include <lttng/tracepoint-event.h>
