/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Provider soak: what a request of soak_program does inside. soaklate: the same of a library that is loaded late. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#ifdef SOAK_LATE
#define LTTNG_UST_TRACEPOINT_PROVIDER soaklate
#else
#define LTTNG_UST_TRACEPOINT_PROVIDER soak
#endif

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "tests/scenario/soak_tp.h"

#if !defined(SOAK_TP_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define SOAK_TP_H

#include <stdint.h>

#include <lttng/tracepoint.h>

#ifdef SOAK_LATE

LTTNG_UST_TRACEPOINT_EVENT(soaklate, plugin_begin, LTTNG_UST_TP_ARGS(uint32_t, n),
	LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint32_t, n, n)))
LTTNG_UST_TRACEPOINT_EVENT(soaklate, plugin_end, LTTNG_UST_TP_ARGS(uint32_t, n),
	LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint32_t, n, n)))

#else

LTTNG_UST_TRACEPOINT_EVENT_CLASS(soak, step, LTTNG_UST_TP_ARGS(uint32_t, n, const char *, words),
	LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint32_t, n, n) lttng_ust_field_string(words, words)))
#define STEP(name) LTTNG_UST_TRACEPOINT_EVENT_INSTANCE(soak, step, soak, name, \
	LTTNG_UST_TP_ARGS(uint32_t, n, const char *, words))
STEP(read_begin) STEP(read_end) STEP(parse) STEP(think_begin) STEP(think_deep) STEP(think_end)
STEP(write_begin) STEP(write_flush) STEP(write_end)
#undef STEP

#endif
#endif
#include <lttng/tracepoint-event.h>
