/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Provider somebody: the tracepoints that another user's LTTng session enables. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER somebody

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "tests/scenario/matrix_tp.h"

#if !defined(MATRIX_TP_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define MATRIX_TP_H

#include <stdint.h>

#include <lttng/tracepoint.h>

LTTNG_UST_TRACEPOINT_EVENT(somebody, tick, LTTNG_UST_TP_ARGS(uint64_t, n),
	LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint64_t, n, n)))

#endif
#include <lttng/tracepoint-event.h>
