/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Provider burstp: the tracepoints that Hone may enable in burst_program. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER burstp

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "tests/scenario/burst_program_tp.h"

#if !defined(BURST_PROGRAM_TP_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define BURST_PROGRAM_TP_H

#include <stdint.h>

#include <lttng/tracepoint.h>

LTTNG_UST_TRACEPOINT_EVENT_CLASS(burstp, step, LTTNG_UST_TP_ARGS(uint64_t, n),
	LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint64_t, n, n)))

#define STEP(name) LTTNG_UST_TRACEPOINT_EVENT_INSTANCE(burstp, step, burstp, name, LTTNG_UST_TP_ARGS(uint64_t, n))
STEP(s1) STEP(s2) STEP(s3) STEP(s4) STEP(s5) STEP(s6) STEP(s7) STEP(s8)
#undef STEP

#endif
#include <lttng/tracepoint-event.h>
