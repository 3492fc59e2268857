/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The module's tracepoints. docs/redis.md documents them and their fields. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER redis
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "instrument/redis/redis_tp.h"

#if !defined(HONE_REDIS_TP_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define HONE_REDIS_TP_H

#include <stdint.h>

#include <lttng/tracepoint.h>

/* ---- of a request: its wait, its command, its reply ---- */

LTTNG_UST_TRACEPOINT_EVENT(redis, queue,
	LTTNG_UST_TP_ARGS(const char *, behind, uint64_t, behind_us, uint32_t, queued_before, uint64_t, awake_us),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_string(behind, behind)
		lttng_ust_field_integer(uint64_t, behind_us, behind_us)
		lttng_ust_field_integer(uint32_t, queued_before, queued_before)
		lttng_ust_field_integer(uint64_t, awake_us, awake_us)))

LTTNG_UST_TRACEPOINT_EVENT(redis, command_begin,
	LTTNG_UST_TP_ARGS(const char *, name, int32_t, argc, uint64_t, arg_bytes),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_string(name, name)
		lttng_ust_field_integer(int32_t, argc, argc)
		lttng_ust_field_integer(uint64_t, arg_bytes, arg_bytes)))

LTTNG_UST_TRACEPOINT_EVENT(redis, command_end,
	LTTNG_UST_TP_ARGS(const char *, name, uint32_t, calls, uint32_t, expired, uint32_t, evicted, uint8_t, cron),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_string(name, name)
		lttng_ust_field_integer(uint32_t, calls, calls)
		lttng_ust_field_integer(uint32_t, expired, expired)
		lttng_ust_field_integer(uint32_t, evicted, evicted)
		lttng_ust_field_integer(uint8_t, cron, cron)))

LTTNG_UST_TRACEPOINT_EVENT(redis, call,
	LTTNG_UST_TP_ARGS(const char *, name, int32_t, argc),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_string(name, name)
		lttng_ust_field_integer(int32_t, argc, argc)))

LTTNG_UST_TRACEPOINT_EVENT(redis, reply_begin,
	LTTNG_UST_TP_ARGS(const char *, name),
	LTTNG_UST_TP_FIELDS(lttng_ust_field_string(name, name)))

LTTNG_UST_TRACEPOINT_EVENT(redis, key,
	LTTNG_UST_TP_ARGS(const char *, type, uint64_t, length, int32_t, keys, uint64_t, db_keys),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_string(key_type, type)
		lttng_ust_field_integer(uint64_t, key_len, length)
		lttng_ust_field_integer(int32_t, keys, keys)
		lttng_ust_field_integer(uint64_t, db_keys, db_keys)))

LTTNG_UST_TRACEPOINT_EVENT(redis, reply_end,
	LTTNG_UST_TP_ARGS(const char *, behind, uint64_t, behind_us, uint32_t, served_after),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_string(behind, behind)
		lttng_ust_field_integer(uint64_t, behind_us, behind_us)
		lttng_ust_field_integer(uint32_t, served_after, served_after)))

/* ---- of the server; part of a request if it happens while its command runs ---- */

LTTNG_UST_TRACEPOINT_EVENT(redis, loop_begin,
	LTTNG_UST_TP_ARGS(uint64_t, away_us),
	LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint64_t, away_us, away_us)))

LTTNG_UST_TRACEPOINT_EVENT(redis, loop_end,
	LTTNG_UST_TP_ARGS(uint32_t, served, const char *, slowest, uint64_t, slowest_us),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_integer(uint32_t, served, served)
		lttng_ust_field_string(slowest, slowest)
		lttng_ust_field_integer(uint64_t, slowest_us, slowest_us)))

LTTNG_UST_TRACEPOINT_EVENT(redis, cron, LTTNG_UST_TP_ARGS(), LTTNG_UST_TP_FIELDS())
LTTNG_UST_TRACEPOINT_EVENT(redis, expired, LTTNG_UST_TP_ARGS(), LTTNG_UST_TP_FIELDS())
LTTNG_UST_TRACEPOINT_EVENT(redis, evicted, LTTNG_UST_TP_ARGS(), LTTNG_UST_TP_FIELDS())
LTTNG_UST_TRACEPOINT_EVENT(redis, fork, LTTNG_UST_TP_ARGS(), LTTNG_UST_TP_FIELDS())
LTTNG_UST_TRACEPOINT_EVENT(redis, child_gone, LTTNG_UST_TP_ARGS(), LTTNG_UST_TP_FIELDS())
LTTNG_UST_TRACEPOINT_EVENT(redis, flush_begin, LTTNG_UST_TP_ARGS(), LTTNG_UST_TP_FIELDS())
LTTNG_UST_TRACEPOINT_EVENT(redis, flush_end, LTTNG_UST_TP_ARGS(), LTTNG_UST_TP_FIELDS())
LTTNG_UST_TRACEPOINT_EVENT(redis, load_begin, LTTNG_UST_TP_ARGS(), LTTNG_UST_TP_FIELDS())
LTTNG_UST_TRACEPOINT_EVENT(redis, load_end, LTTNG_UST_TP_ARGS(), LTTNG_UST_TP_FIELDS())

#endif
#include <lttng/tracepoint-event.h>
