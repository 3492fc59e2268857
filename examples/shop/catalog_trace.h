/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The tracepoints of shop-catalog, from the table catalog.tbl.h. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER shop_catalog
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "examples/shop/catalog_trace.h"

#if !defined(CATALOG_TRACE_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define CATALOG_TRACE_H

#include <stdint.h>
#include <lttng/tracepoint.h>

#define SHOP_PROVIDER shop_catalog
#include "examples/shop/tracepoints.h"
#include "examples/shop/catalog.tbl.h"

#define span_begin(name, ...) lttng_ust_tracepoint(shop_catalog, name##_begin, __VA_ARGS__)
#define span_end(name, ...) lttng_ust_tracepoint(shop_catalog, name##_end, __VA_ARGS__)
#define point(name, ...) lttng_ust_tracepoint(shop_catalog, name, __VA_ARGS__)

#endif
#include <lttng/tracepoint-event.h>
