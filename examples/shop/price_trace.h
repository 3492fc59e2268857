/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The tracepoints of shop-price, from the table price.tbl.h. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER shop_price
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "examples/shop/price_trace.h"

#if !defined(PRICE_TRACE_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define PRICE_TRACE_H

#include <stdint.h>
#include <lttng/tracepoint.h>

#define SHOP_PROVIDER shop_price
#include "examples/shop/tracepoints.h"
#include "examples/shop/price.tbl.h"

#define span_begin(name, ...) lttng_ust_tracepoint(shop_price, name##_begin, __VA_ARGS__)
#define span_end(name, ...) lttng_ust_tracepoint(shop_price, name##_end, __VA_ARGS__)
#define point(name, ...) lttng_ust_tracepoint(shop_price, name, __VA_ARGS__)

#endif
#include <lttng/tracepoint-event.h>
