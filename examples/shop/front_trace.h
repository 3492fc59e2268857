/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The tracepoints of shop-front, from the table front.tbl.h. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER shop_front
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "examples/shop/front_trace.h"

#if !defined(FRONT_TRACE_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define FRONT_TRACE_H

#include <stdint.h>
#include <lttng/tracepoint.h>

#define SHOP_PROVIDER shop_front
#include "examples/shop/tracepoints.h"
#include "examples/shop/front.tbl.h"

#define span_begin(name, ...) lttng_ust_tracepoint(shop_front, name##_begin, __VA_ARGS__)
#define span_end(name, ...) lttng_ust_tracepoint(shop_front, name##_end, __VA_ARGS__)
#define point(name, ...) lttng_ust_tracepoint(shop_front, name, __VA_ARGS__)

#endif
#include <lttng/tracepoint-event.h>
