/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The tracepoints of otel-stock, from the table stock.tbl.h. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER otel_stock
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "examples/otel/stock_trace.h"

#if !defined(STOCK_TRACE_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define STOCK_TRACE_H

#include <stdint.h>
#include <lttng/tracepoint.h>

#define SHOP_PROVIDER otel_stock
#include "examples/shop/tracepoints.h"
#include "examples/otel/stock.tbl.h"

#define span_begin(name, ...) lttng_ust_tracepoint(otel_stock, name##_begin, __VA_ARGS__)
#define span_end(name, ...) lttng_ust_tracepoint(otel_stock, name##_end, __VA_ARGS__)
#define point(name, ...) lttng_ust_tracepoint(otel_stock, name, __VA_ARGS__)

#endif
#include <lttng/tracepoint-event.h>
