/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Provider levelsp: one tracepoint of each of three log levels. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER levelsp

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "tests/scenario/levels_program_tp.h"

#if !defined(LEVELS_PROGRAM_TP_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define LEVELS_PROGRAM_TP_H

#include <stdint.h>

#include <lttng/tracepoint.h>

LTTNG_UST_TRACEPOINT_EVENT_CLASS(levelsp, count, LTTNG_UST_TP_ARGS(uint64_t, n),
	LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint64_t, n, n)))

LTTNG_UST_TRACEPOINT_EVENT_INSTANCE(levelsp, count, levelsp, refused, LTTNG_UST_TP_ARGS(uint64_t, n))
LTTNG_UST_TRACEPOINT_EVENT_INSTANCE(levelsp, count, levelsp, taken, LTTNG_UST_TP_ARGS(uint64_t, n))
LTTNG_UST_TRACEPOINT_EVENT_INSTANCE(levelsp, count, levelsp, step, LTTNG_UST_TP_ARGS(uint64_t, n))
LTTNG_UST_TRACEPOINT_LOGLEVEL(levelsp, refused, LTTNG_UST_TRACEPOINT_LOGLEVEL_ERR)
LTTNG_UST_TRACEPOINT_LOGLEVEL(levelsp, taken, LTTNG_UST_TRACEPOINT_LOGLEVEL_INFO)
LTTNG_UST_TRACEPOINT_LOGLEVEL(levelsp, step, LTTNG_UST_TRACEPOINT_LOGLEVEL_DEBUG)

#endif
#include <lttng/tracepoint-event.h>
