/* SPDX-License-Identifier: MIT */
/* The tracepoints of a backend except its waits (postgres_waits_tracepoints.h). docs/postgres.md
 * documents when each is emitted. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER postgres

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "instrument/postgres/postgres_tracepoints.h"

#if !defined(HONE_POSTGRES_TRACEPOINTS_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define HONE_POSTGRES_TRACEPOINTS_H

#include <stdint.h>

#include <lttng/tracepoint.h>

#ifndef HONE_POSTGRES_WORK
#define HONE_POSTGRES_WORK
/* Work of this process between two moments: rows, blocks of 8 KiB, and write-ahead log. wal_fpi: images
 * of whole pages, which are written after a checkpoint. */
struct work {
	uint64_t rows;
	uint64_t hit, read, dirtied, written, temp_read, temp_written;
	uint64_t wal_records, wal_bytes, wal_fpi;
};
#endif

#define WAL_FIELDS                                                        \
	lttng_ust_field_integer(uint64_t, wal_records, work->wal_records) \
	    lttng_ust_field_integer(uint64_t, wal_bytes, work->wal_bytes) \
		lttng_ust_field_integer(uint64_t, wal_fpi, work->wal_fpi)

LTTNG_UST_TRACEPOINT_EVENT_CLASS(postgres, command,
    LTTNG_UST_TP_ARGS(const char *, command, uint32_t, depth, uint64_t, query_id),
    LTTNG_UST_TP_FIELDS(lttng_ust_field_string(command, command) lttng_ust_field_integer(
	uint32_t, depth, depth) lttng_ust_field_integer(uint64_t, query_id, query_id)))
#define COMMAND(name)                                                          \
	LTTNG_UST_TRACEPOINT_EVENT_INSTANCE(postgres, command, postgres, name, \
	    LTTNG_UST_TP_ARGS(const char *, command, uint32_t, depth, uint64_t, query_id))
COMMAND(plan_begin)
COMMAND(executor_start_begin)
COMMAND(executor_run_begin)
COMMAND(utility_begin)
#undef COMMAND

LTTNG_UST_TRACEPOINT_EVENT_CLASS(postgres, depth, LTTNG_UST_TP_ARGS(uint32_t, depth),
    LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint32_t, depth, depth)))
#define DEPTH(name)                          \
	LTTNG_UST_TRACEPOINT_EVENT_INSTANCE( \
	    postgres, depth, postgres, name, LTTNG_UST_TP_ARGS(uint32_t, depth))
DEPTH(executor_start_end)
DEPTH(executor_finish_begin)
DEPTH(executor_close_begin)
DEPTH(executor_close_end)
#undef DEPTH

LTTNG_UST_TRACEPOINT_EVENT_CLASS(postgres, work,
    LTTNG_UST_TP_ARGS(uint32_t, depth, const struct work *, work),
    LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint32_t, depth, depth) lttng_ust_field_integer(
	uint64_t, rows, work->rows) lttng_ust_field_integer(uint64_t, hit, work->hit)
	    lttng_ust_field_integer(uint64_t, read, work->read) lttng_ust_field_integer(uint64_t,
		dirtied, work->dirtied) lttng_ust_field_integer(uint64_t, written, work->written)
		lttng_ust_field_integer(uint64_t, temp_read, work->temp_read)
		    lttng_ust_field_integer(uint64_t, temp_written, work->temp_written) WAL_FIELDS))
#define WORK(name)                                                          \
	LTTNG_UST_TRACEPOINT_EVENT_INSTANCE(postgres, work, postgres, name, \
	    LTTNG_UST_TP_ARGS(uint32_t, depth, const struct work *, work))
WORK(executor_run_end)
WORK(executor_finish_end)
WORK(utility_end)
#undef WORK

LTTNG_UST_TRACEPOINT_EVENT(postgres, plan_end,
    LTTNG_UST_TP_ARGS(uint32_t, depth, double, total_cost, double, plan_rows),
    LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint32_t, depth, depth) lttng_ust_field_float(
	double, total_cost, total_cost) lttng_ust_field_float(double, plan_rows, plan_rows)))

LTTNG_UST_TRACEPOINT_EVENT(postgres, statement_begin,
    LTTNG_UST_TP_ARGS(const char *, command, uint64_t, bytes),
    LTTNG_UST_TP_FIELDS(
	lttng_ust_field_string(command, command) lttng_ust_field_integer(uint64_t, bytes, bytes)))

LTTNG_UST_TRACEPOINT_EVENT(postgres, statement_end, LTTNG_UST_TP_ARGS(uint8_t, failed),
    LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint8_t, failed, failed)))

LTTNG_UST_TRACEPOINT_EVENT(postgres, parsed,
    LTTNG_UST_TP_ARGS(const char *, command, uint32_t, depth, int64_t, since_arrival_us),
    LTTNG_UST_TP_FIELDS(lttng_ust_field_string(command, command) lttng_ust_field_integer(uint32_t,
	depth, depth) lttng_ust_field_integer(int64_t, since_arrival_us, since_arrival_us)))

LTTNG_UST_TRACEPOINT_EVENT(postgres, commit_begin, LTTNG_UST_TP_ARGS(uint8_t, prepare),
    LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint8_t, prepare, prepare)))

LTTNG_UST_TRACEPOINT_EVENT(postgres, commit_end,
    LTTNG_UST_TP_ARGS(uint8_t, done, const struct work *, work),
    LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint8_t, done, done) WAL_FIELDS))

#endif
#include <lttng/tracepoint-event.h>
