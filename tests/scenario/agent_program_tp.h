/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Provider agentp: 150 tracepoints, agentp:ev000 to agentp:ev149. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER agentp

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "tests/scenario/agent_program_tp.h"

#if !defined(AGENT_PROGRAM_TP_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define AGENT_PROGRAM_TP_H

#include <stdint.h>

#include <lttng/tracepoint.h>

LTTNG_UST_TRACEPOINT_EVENT_CLASS(agentp, tick, LTTNG_UST_TP_ARGS(uint64_t, n),
	LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint64_t, n, n)))

#define TICK(name) LTTNG_UST_TRACEPOINT_EVENT_INSTANCE(agentp, tick, agentp, name, LTTNG_UST_TP_ARGS(uint64_t, n))
#define TEN(tens) TICK(tens##0) TICK(tens##1) TICK(tens##2) TICK(tens##3) TICK(tens##4) \
	TICK(tens##5) TICK(tens##6) TICK(tens##7) TICK(tens##8) TICK(tens##9)

TEN(ev00) TEN(ev01) TEN(ev02) TEN(ev03) TEN(ev04) TEN(ev05) TEN(ev06) TEN(ev07)
TEN(ev08) TEN(ev09) TEN(ev10) TEN(ev11) TEN(ev12) TEN(ev13) TEN(ev14)

#undef TEN
#undef TICK

#endif
#include <lttng/tracepoint-event.h>
