/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Provider deskp: the own tracepoints of deep_program. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER deskp

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "tests/scenario/deep_program_tp.h"

#if !defined(DEEP_PROGRAM_TP_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define DEEP_PROGRAM_TP_H

#include <lttng/tracepoint.h>

LTTNG_UST_TRACEPOINT_EVENT_CLASS(deskp, step, LTTNG_UST_TP_ARGS(int, pages),
	LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int, pages, pages)))

#define STEP(name) LTTNG_UST_TRACEPOINT_EVENT_INSTANCE(deskp, step, deskp, name, LTTNG_UST_TP_ARGS(int, pages))
STEP(asked)
STEP(priced)
STEP(booked)
STEP(printed)
#undef STEP

#endif
#include <lttng/tracepoint-event.h>
