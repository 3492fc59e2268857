/* SPDX-License-Identifier: MIT */
/* The waits of a backend: postgres:wait_lock_begin, postgres:wait_lock_end and so on, one pair for
 * each kind. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER postgres

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "instrument/postgres/postgres_waits_tracepoints.h"

#if !defined(HONE_POSTGRES_WAITS_TRACEPOINTS_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define HONE_POSTGRES_WAITS_TRACEPOINTS_H

#include <stdint.h>

#include <lttng/tracepoint.h>

LTTNG_UST_TRACEPOINT_EVENT_CLASS(postgres, wait, LTTNG_UST_TP_ARGS(const char *, event),
    LTTNG_UST_TP_FIELDS(lttng_ust_field_string(event, event)))

#define WAIT(name)                           \
	LTTNG_UST_TRACEPOINT_EVENT_INSTANCE( \
	    postgres, wait, postgres, name, LTTNG_UST_TP_ARGS(const char *, event))
#define KIND(name, words) WAIT(wait_##name##_begin) WAIT(wait_##name##_end)
#include "instrument/postgres/postgres_waits.tbl.h"
#undef KIND
#undef WAIT

#endif
#include <lttng/tracepoint-event.h>
