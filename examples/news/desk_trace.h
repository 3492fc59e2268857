/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The tracepoints of news-desk, from the table desk.tbl.h. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER news_desk
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "examples/news/desk_trace.h"

#if !defined(NEWS_DESK_TRACE_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define NEWS_DESK_TRACE_H

#include <stdint.h>
#include <lttng/tracepoint.h>

#define NEWS_PROVIDER news_desk
#include "examples/news/spans.h"
#include "examples/news/desk.tbl.h"

#define span_begin(name, value) lttng_ust_tracepoint(news_desk, name##_begin, value)
#define span_end(name, value) lttng_ust_tracepoint(news_desk, name##_end, value)

#endif
#include <lttng/tracepoint-event.h>
