/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Provider scale: 2000 tracepoints, scale:t0000 to scale:t1999. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER scale

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "bench/agent_scale_tp.h"

#if !defined(AGENT_SCALE_TP_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define AGENT_SCALE_TP_H

#include <stdint.h>

#include <lttng/tracepoint.h>

LTTNG_UST_TRACEPOINT_EVENT_CLASS(scale, tick, LTTNG_UST_TP_ARGS(uint64_t, n),
	LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint64_t, n, n)))

#define ONE(name) LTTNG_UST_TRACEPOINT_EVENT_INSTANCE(scale, tick, scale, name, LTTNG_UST_TP_ARGS(uint64_t, n))
#define TEN(t) ONE(t##0) ONE(t##1) ONE(t##2) ONE(t##3) ONE(t##4) ONE(t##5) ONE(t##6) ONE(t##7) ONE(t##8) ONE(t##9)
#define HUNDRED(h) TEN(h##0) TEN(h##1) TEN(h##2) TEN(h##3) TEN(h##4) TEN(h##5) TEN(h##6) TEN(h##7) TEN(h##8) TEN(h##9)

HUNDRED(t00) HUNDRED(t01) HUNDRED(t02) HUNDRED(t03) HUNDRED(t04) HUNDRED(t05) HUNDRED(t06) HUNDRED(t07)
HUNDRED(t08) HUNDRED(t09) HUNDRED(t10) HUNDRED(t11) HUNDRED(t12) HUNDRED(t13) HUNDRED(t14) HUNDRED(t15)
HUNDRED(t16) HUNDRED(t17) HUNDRED(t18) HUNDRED(t19)

#undef HUNDRED
#undef TEN
#undef ONE

#endif
#include <lttng/tracepoint-event.h>
