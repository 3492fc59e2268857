/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every kind of field that LTTng-UST 2.13 can record. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER kinds

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "tests/scenario/source_tp.h"

#if !defined(SOURCE_TP_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define SOURCE_TP_H

#include <stdint.h>
#include <string.h>

#include <lttng/tracepoint.h>

LTTNG_UST_TRACEPOINT_ENUM(kinds, color, LTTNG_UST_TP_ENUM_VALUES(
	lttng_ust_field_enum_value("RED", 0)
	lttng_ust_field_enum_value("GREEN", 1)
	lttng_ust_field_enum_range("MANY", 2, 9)
	lttng_ust_field_enum_auto("NEXT")
	lttng_ust_field_enum_value("a \"quoted\" one; with } and {", 200)))

LTTNG_UST_TRACEPOINT_ENUM(kinds, below, LTTNG_UST_TP_ENUM_VALUES(
	lttng_ust_field_enum_value("DEEP", -5)
	lttng_ust_field_enum_range("LOW", -4, -1)
	lttng_ust_field_enum_value("ZERO", 0)))

LTTNG_UST_TRACEPOINT_EVENT(kinds, ints,
	LTTNG_UST_TP_ARGS(uint64_t, v),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_integer(int8_t, i8, v)
		lttng_ust_field_integer(uint8_t, u8, v)
		lttng_ust_field_integer(int16_t, i16, v)
		lttng_ust_field_integer(uint16_t, u16, v)
		lttng_ust_field_integer(int32_t, i32, v)
		lttng_ust_field_integer(uint32_t, u32, v)
		lttng_ust_field_integer(int64_t, i64, v)
		lttng_ust_field_integer(uint64_t, u64, v)
		lttng_ust_field_integer(long, l, v)
		lttng_ust_field_integer(char, c, v)
		lttng_ust_field_integer(_Bool, b, v & 1)
		lttng_ust_field_integer_hex(uint32_t, hex, v)
		lttng_ust_field_integer_network(uint16_t, net16, (uint16_t)v)
		lttng_ust_field_integer_network(int32_t, net32, (int32_t)v)
		lttng_ust_field_integer_network_hex(uint64_t, net64, v)
		lttng_ust_field_integer_nowrite(int, hidden, v)
		lttng_ust_field_enum(kinds, color, uint8_t, color, v % 13)
		lttng_ust_field_enum(kinds, color, uint32_t, quoted, 200)
		lttng_ust_field_enum(kinds, below, int, below, -(int)(v % 7))))

LTTNG_UST_TRACEPOINT_EVENT(kinds, others,
	LTTNG_UST_TP_ARGS(double, d, const char *, text, const uint16_t *, list, size_t, n),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_float(float, f, d)
		lttng_ust_field_float(double, d, d)
		lttng_ust_field_string(text, text)
		lttng_ust_field_array(uint16_t, array, list, 4)
		lttng_ust_field_array_hex(uint16_t, array_hex, list, 2)
		lttng_ust_field_array_network(uint16_t, array_net, list, 2)
		lttng_ust_field_array_text(char, array_text, "ab\0cd", 6)
		lttng_ust_field_sequence(uint16_t, seq, list, size_t, n)
		lttng_ust_field_sequence_hex(uint16_t, seq_hex, list, uint8_t, n)
		lttng_ust_field_sequence_network(uint16_t, seq_net, list, uint16_t, n)
		lttng_ust_field_sequence_text(char, seq_text, text, uint32_t, strlen(text))
		lttng_ust_field_integer(uint8_t, last, n)))

LTTNG_UST_TRACEPOINT_EVENT(kinds, none, LTTNG_UST_TP_ARGS(), LTTNG_UST_TP_FIELDS())

LTTNG_UST_TRACEPOINT_EVENT(kinds, hot,
	LTTNG_UST_TP_ARGS(uint64_t, n),
	LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint64_t, n, n)))

#define WIDE(name) lttng_ust_field_integer(uint8_t, name##0, n) lttng_ust_field_integer(uint8_t, name##1, n) \
	lttng_ust_field_integer(uint8_t, name##2, n) lttng_ust_field_integer(uint8_t, name##3, n) \
	lttng_ust_field_integer(uint8_t, name##4, n) lttng_ust_field_integer(uint8_t, name##5, n) \
	lttng_ust_field_integer(uint8_t, name##6, n) lttng_ust_field_integer(uint8_t, name##7, n)
LTTNG_UST_TRACEPOINT_EVENT(kinds, wide,		/* more fields than a record keeps */
	LTTNG_UST_TP_ARGS(uint8_t, n),
	LTTNG_UST_TP_FIELDS(WIDE(a) WIDE(b) WIDE(c) WIDE(d) WIDE(e)))

#endif

#include <lttng/tracepoint-event.h>
