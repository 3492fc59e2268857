/* SPDX-License-Identifier: MIT */
/* The structure tracepoints; docs/trace-contract.md specifies their names, fields and order. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER hone

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "instrument/tracepoints_lttng.h"

#if !defined(HONE_TRACEPOINTS_LTTNG_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define HONE_TRACEPOINTS_LTTNG_H

#include <stdint.h>

#include <lttng/tracepoint.h>

LTTNG_UST_TRACEPOINT_EVENT(hone, request_begin,
    LTTNG_UST_TP_ARGS(
	const char *, name, uint64_t, link_id, uint64_t, trace_id_high, uint8_t, probed),
    LTTNG_UST_TP_FIELDS(lttng_ust_field_string(name, name) lttng_ust_field_integer(
	uint64_t, link_id, link_id) lttng_ust_field_integer(uint64_t, trace_id_high, trace_id_high)
	    lttng_ust_field_integer(uint8_t, probed, probed)))

LTTNG_UST_TRACEPOINT_EVENT(hone, request_end,
    LTTNG_UST_TP_ARGS(const char *, name, int32_t, status),
    LTTNG_UST_TP_FIELDS(
	lttng_ust_field_string(name, name) lttng_ust_field_integer(int32_t, status, status)))

LTTNG_UST_TRACEPOINT_EVENT(hone, unit_begin,
    LTTNG_UST_TP_ARGS(const char *, name, uint64_t, link_id, uint8_t, probed, uint16_t, via),
    LTTNG_UST_TP_FIELDS(lttng_ust_field_string(name, name) lttng_ust_field_integer(
	uint64_t, link_id, link_id) lttng_ust_field_integer(uint8_t, probed, probed)
	    lttng_ust_field_integer(uint16_t, via, via)))

LTTNG_UST_TRACEPOINT_EVENT_CLASS(hone, link,
    LTTNG_UST_TP_ARGS(const char *, name, uint64_t, link_id),
    LTTNG_UST_TP_FIELDS(
	lttng_ust_field_string(name, name) lttng_ust_field_integer(uint64_t, link_id, link_id)))

LTTNG_UST_TRACEPOINT_EVENT_INSTANCE(
    hone, link, hone, fork, LTTNG_UST_TP_ARGS(const char *, name, uint64_t, link_id))
LTTNG_UST_TRACEPOINT_EVENT_INSTANCE(
    hone, link, hone, unit_end, LTTNG_UST_TP_ARGS(const char *, name, uint64_t, link_id))
LTTNG_UST_TRACEPOINT_EVENT_INSTANCE(
    hone, link, hone, join, LTTNG_UST_TP_ARGS(const char *, name, uint64_t, link_id))

#endif
#include <lttng/tracepoint-event.h>
