/* SPDX-License-Identifier: MIT */
/* The tracepoints of provider nginx, from the table nginx_spans.tbl.h. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER nginx
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "instrument/nginx/nginx_tracepoints.h"

#if !defined(HONE_NGINX_TRACEPOINTS_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define HONE_NGINX_TRACEPOINTS_H

#include <stdint.h>
#include <lttng/tracepoint.h>

#define SPAN(name, level, b1, b2, e1, e2, e3)                                                     \
	LTTNG_UST_TRACEPOINT_EVENT(nginx, name##_begin,                                           \
	    LTTNG_UST_TP_ARGS(int64_t, b1, int64_t, b2),                                          \
	    LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int64_t, b1, b1)                          \
		    lttng_ust_field_integer(int64_t, b2, b2)))                                    \
	LTTNG_UST_TRACEPOINT_EVENT(nginx, name##_end,                                             \
	    LTTNG_UST_TP_ARGS(int64_t, e1, int64_t, e2, int64_t, e3),                             \
	    LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int64_t, e1, e1) lttng_ust_field_integer( \
		int64_t, e2, e2) lttng_ust_field_integer(int64_t, e3, e3)))
#include "instrument/nginx/nginx_spans.tbl.h"
#undef SPAN

#endif
#include <lttng/tracepoint-event.h>
