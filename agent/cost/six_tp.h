/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A tracepoint of the usual size: six integers. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER hone_cost
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "agent/cost/six_tp.h"

#if !defined(AGENT_COST_SIX_TP_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define AGENT_COST_SIX_TP_H

#include <lttng/tracepoint.h>

LTTNG_UST_TRACEPOINT_EVENT(hone_cost, six,
	LTTNG_UST_TP_ARGS(int, i),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_integer(int, a, i) lttng_ust_field_integer(int, b, i)
		lttng_ust_field_integer(int, c, i) lttng_ust_field_integer(int, d, i)
		lttng_ust_field_integer(int, e, i) lttng_ust_field_integer(int, f, i)))

#endif
#include <lttng/tracepoint-event.h>
