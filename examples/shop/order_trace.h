/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The tracepoints of shop-order, from the table order.tbl.h. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER shop_order
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "examples/shop/order_trace.h"

#if !defined(ORDER_TRACE_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define ORDER_TRACE_H

#include <stdint.h>
#include <lttng/tracepoint.h>

#define SHOP_PROVIDER shop_order
#include "examples/shop/tracepoints.h"
#include "examples/shop/order.tbl.h"

#define span_begin(name, ...) lttng_ust_tracepoint(shop_order, name##_begin, __VA_ARGS__)
#define span_end(name, ...) lttng_ust_tracepoint(shop_order, name##_end, __VA_ARGS__)
#define point(name, ...) lttng_ust_tracepoint(shop_order, name, __VA_ARGS__)

#endif
#include <lttng/tracepoint-event.h>
