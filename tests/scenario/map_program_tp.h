/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Provider broker: the tracepoints of map_program; none of them is Hone's. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER broker

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "tests/scenario/map_program_tp.h"

#if !defined(MAP_PROGRAM_TP_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define MAP_PROGRAM_TP_H

#include <stdint.h>

#include <lttng/tracepoint.h>

LTTNG_UST_TRACEPOINT_EVENT_CLASS(broker, op, LTTNG_UST_TP_ARGS(const char *, op, uint32_t, bytes),
	LTTNG_UST_TP_FIELDS(lttng_ust_field_string(op, op) lttng_ust_field_integer(uint32_t, bytes, bytes)))
LTTNG_UST_TRACEPOINT_EVENT_CLASS(broker, job, LTTNG_UST_TP_ARGS(uint64_t, job, uint32_t, size),
	LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint64_t, job, job) lttng_ust_field_integer(uint32_t, size, size)))
LTTNG_UST_TRACEPOINT_EVENT_CLASS(broker, assign, LTTNG_UST_TP_ARGS(uint64_t, job, uint64_t, task),
	LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint64_t, job, job) lttng_ust_field_integer(uint64_t, task, task)))
LTTNG_UST_TRACEPOINT_EVENT_CLASS(broker, task, LTTNG_UST_TP_ARGS(uint64_t, task),
	LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint64_t, task, task)))
LTTNG_UST_TRACEPOINT_EVENT_CLASS(broker, step, LTTNG_UST_TP_ARGS(uint32_t, n),
	LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint32_t, n, n)))

#define OF(class, name, ...) \
	LTTNG_UST_TRACEPOINT_EVENT_INSTANCE(broker, class, broker, name, LTTNG_UST_TP_ARGS(__VA_ARGS__))
#define SPAN(name) OF(step, name##_begin, uint32_t, n) OF(step, name##_end, uint32_t, n)

OF(op, call_begin, const char *, op, uint32_t, bytes)
OF(op, call_end, const char *, op, uint32_t, bytes)
SPAN(parse) SPAN(check) SPAN(lookup) SPAN(rank) SPAN(format) SPAN(send)

OF(job, queued, uint64_t, job, uint32_t, size)
OF(assign, started, uint64_t, job, uint64_t, task)
OF(task, written, uint64_t, task)
OF(task, done, uint64_t, task)
SPAN(load) SPAN(decode) SPAN(render) SPAN(encode) SPAN(store)

#undef SPAN
#undef OF
#endif
#include <lttng/tracepoint-event.h>
