/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Defines the LTTng-UST tracepoints of a service from its table (front.tbl.h and
 * others). Included only by the headers x_trace.h. It has no include guard, since
 * LTTng includes them several times.
 *
 *	SPAN(name, a, b)	name_begin with the fields of class a, name_end with those of b
 *	POINT(name, a)		one tracepoint
 *
 * A class is one number, which has the name of the class, or several numbers. The
 * provider is SHOP_PROVIDER.
 */
#define SHOP_ARGS_1(f) LTTNG_UST_TP_ARGS(int64_t, f)
#define SHOP_FIELDS_1(f) LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int64_t, f, f))

#define SHOP_ARGS_product SHOP_ARGS_1(product)
#define SHOP_ARGS_user SHOP_ARGS_1(user)
#define SHOP_ARGS_items SHOP_ARGS_1(items)
#define SHOP_ARGS_bytes SHOP_ARGS_1(bytes)
#define SHOP_ARGS_length SHOP_ARGS_1(length)
#define SHOP_ARGS_waiters SHOP_ARGS_1(waiters)
#define SHOP_ARGS_queued SHOP_ARGS_1(queue_length)
#define SHOP_ARGS_rows SHOP_ARGS_1(rows)
#define SHOP_ARGS_attempt SHOP_ARGS_1(attempt)
#define SHOP_ARGS_cents SHOP_ARGS_1(cents)
#define SHOP_ARGS_status SHOP_ARGS_1(status)
#define SHOP_ARGS_region LTTNG_UST_TP_ARGS(const char *, region)
#define SHOP_ARGS_found LTTNG_UST_TP_ARGS(int64_t, hit, int64_t, bytes)
#define SHOP_ARGS_line LTTNG_UST_TP_ARGS(int64_t, product, int64_t, quantity)
#define SHOP_ARGS_sum LTTNG_UST_TP_ARGS(int64_t, items, int64_t, cents)

#define SHOP_CLASS_1(c, f) \
	LTTNG_UST_TRACEPOINT_EVENT_CLASS(SHOP_PROVIDER, c, SHOP_ARGS_1(f), SHOP_FIELDS_1(f))
SHOP_CLASS_1(product, product)
SHOP_CLASS_1(user, user)
SHOP_CLASS_1(items, items)
SHOP_CLASS_1(bytes, bytes)
SHOP_CLASS_1(length, length)
SHOP_CLASS_1(waiters, waiters)
SHOP_CLASS_1(queued, queue_length)
SHOP_CLASS_1(rows, rows)
SHOP_CLASS_1(attempt, attempt)
SHOP_CLASS_1(cents, cents)
SHOP_CLASS_1(status, status)
LTTNG_UST_TRACEPOINT_EVENT_CLASS(SHOP_PROVIDER, region, SHOP_ARGS_region,
    LTTNG_UST_TP_FIELDS(lttng_ust_field_string(region, region)))
LTTNG_UST_TRACEPOINT_EVENT_CLASS(SHOP_PROVIDER, found, SHOP_ARGS_found,
    LTTNG_UST_TP_FIELDS(
	lttng_ust_field_integer(int64_t, hit, hit) lttng_ust_field_integer(int64_t, bytes, bytes)))
LTTNG_UST_TRACEPOINT_EVENT_CLASS(SHOP_PROVIDER, line, SHOP_ARGS_line,
    LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int64_t, product, product)
	    lttng_ust_field_integer(int64_t, quantity, quantity)))
LTTNG_UST_TRACEPOINT_EVENT_CLASS(SHOP_PROVIDER, sum, SHOP_ARGS_sum,
    LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int64_t, items, items)
	    lttng_ust_field_integer(int64_t, cents, cents)))

#define POINT(name, c) \
	LTTNG_UST_TRACEPOINT_EVENT_INSTANCE(SHOP_PROVIDER, c, SHOP_PROVIDER, name, SHOP_ARGS_##c)
#define SPAN(name, a, b) POINT(name##_begin, a) POINT(name##_end, b)
