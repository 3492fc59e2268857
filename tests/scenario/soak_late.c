/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A library with tracepoints of its own, which soak_program loads while it works. */
#define SOAK_LATE
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "tests/scenario/soak_tp.h"

void soak_late(uint32_t n);

void
soak_late(uint32_t n)
{
	lttng_ust_tracepoint(soaklate, plugin_begin, n);
	lttng_ust_tracepoint(soaklate, plugin_end, n);
}
