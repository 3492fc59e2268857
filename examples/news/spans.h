/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Defines the LTTng-UST tracepoints of a program of the news site from its table (gate.tbl.h and others). Included only by
 * the headers x_trace.h. It has no include guard, since LTTng includes them several times.
 *
 *	SPAN(name, a, b)	name_begin with the field a, name_end with the field b
 *
 * Fields are 64-bit integers. The provider is NEWS_PROVIDER.
 */
#define POINT(name, field)                                                                 \
	LTTNG_UST_TRACEPOINT_EVENT(NEWS_PROVIDER, name, LTTNG_UST_TP_ARGS(int64_t, field), \
	    LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int64_t, field, field)))
#define SPAN(name, a, b) POINT(name##_begin, a) POINT(name##_end, b)
