/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The interface of a source of records. A source delivers what tracepoints of this node wrote, in
 * time order, with a watermark: a promise that no record at or before it is still to come.
 *
 *	open -> { poll -> labels, stats }* -> close
 *
 * An implementation is one file with a function of type source_open_fn, and a line in
 * sources.tbl.h; sources.h opens those that the configuration names and merges them. What a source
 * reads, and how the tracer buffers that (per process, per user, kernel), is its own matter.
 *
 * One thread at a time may use a source.
 */
#ifndef AGENT_READER_SOURCE_H
#define AGENT_READER_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/reader/listed_users.h"
#include "agent/reader/quarantine.h"
#include "base/clock.h"
#include "base/err.h"
#include "wire/record.h"

struct source_options {       /* 0 takes the default */
	size_t memory_bytes;  /* limit of what is held until the watermark passes: 64 MiB. A source
	                         may hold one packet for each buffer in addition */
	uint32_t records_max; /* of one poll: 65536 */
	uint32_t labels_max;  /* 32768; names beyond share "service/hone:fork(other)" */
	size_t packet_max_bytes;   /* a larger packet is malformed: 64 MiB */
	size_t metadata_max_bytes; /* of one process: 64 MiB */
	int64_t inflight_ns; /* the longest time between a tracepoint's clock reading and its space
	                        in an otherwise idle buffer: 5 ms */
	int64_t stall_ns; /* a buffer that is not drained holds the watermark back for this long at
	                 most, measured over at least two polls: 2 s. Its records are late then */

	/* Records outside of any request (trace_id 0) are delivered for all programs, or for those
	 * for which wants_outside(of, service) is true (asked when a process is first seen); else
	 * they are counted and dropped. A stage behind the source (source_mapped.h is one) asks for
	 * those that it needs. */
	bool outside;
	bool (*wants_outside)(void *of, const char *service); /* NULL: no program's */
	void *of;

	/* Programs of other users are not read; NULL or empty: everybody's are. Must live as long as
	 * the source. */
	const struct listed_users *users;
	/* Whether the controller says that this node is overrun (overrun.h); NULL: it never does. Must live
	 * as long as the source, and changes between polls. */
	const bool *overrun;

	bool keep; /* leave the tracer's files as they are: do not free space that was read, do not
	              remove the folders of dead processes */
};

/* Where the sessions of this agent are; a source that reads something else ignores it. */
struct source_place {
	const char *folder;  /* FOLDER/N/out and FOLDER/N/shm belong to session number N */
	const char *channel; /* name of the channel in each */
};

/* What one poll returns. The arrays and all that they point to are valid until the next poll. */
struct source_output {
	const struct record *records; /* in time order; label: an index into labels() */
	uint32_t nrecords;
	uint32_t nlate; /* the first nlate records are at or before an earlier watermark */
	const struct loss *losses; /* each with count > 0 and from_ns <= to_ns */
	uint32_t nlosses;
	int64_t watermark_ns; /* CLOCK_MONOTONIC; never decreases */
	bool more;            /* a limit was reached: poll again without waiting */
};

struct source_process {      /* a traced process that is alive */
	const char *service; /* its name (comm, at most 15 bytes) */
	uint32_t pid;        /* in its own pid namespace */
	bool outside;        /* result of options.wants_outside() */
	bool probes_only;    /* the tracer does not know it (source_below.h) */
	bool
	    kernel; /* it is followed by kernel events (source_requests.h), and its pid is that of this namespace */
};

struct source_stats {
	double fullest;     /* fill of the fullest buffer, 0 to 1; 0 also where it is unknown */
	int64_t ring_bytes; /* size of all buffers */
	int64_t
	    files_bytes; /* read out of the buffers, but not delivered: in files and in memory */
	uint32_t rings;
	uint64_t changes; /* increases when the list of processes changes */
	uint32_t nprocesses;
	const struct source_process *processes; /* valid until the next poll or stats */

	/* counters since the source was opened */
	uint64_t records;         /* delivered */
	uint64_t outside_dropped; /* outside of any request, dropped because not asked for */
	uint64_t late;            /* delivered at or before an earlier watermark */
	uint64_t packets, bytes;
	uint64_t discarded_bytes; /* of programs in quarantine, in files */
	uint64_t lost[LOSS_REASONS];
	uint64_t stalls; /* times that a buffer held the watermark back for stall_ns */

	/* counters of source_mapped.h; 0 in all other sources */
	uint64_t mapped;   /* records of tracepoints that a mapping enabled without a filter */
	uint64_t dropped;  /* of these: dropped after reading */
	uint64_t given_up; /* requests without an end */
	uint64_t orphans;  /* ends and steps of no known request */
	uint64_t endless;  /* requests in which too many of their own kind began (mapper.h) */

	/* A live process that the tracer does not trace: its name and pid; NULL, 0: there is none.
	 * Valid until the next poll. */
	const char *untraced;
	uint32_t untraced_pid;

	/* The live process that was taken out last, since it damages, blocks or overruns its ring buffers:
	 * its records are not read until it, or the session, starts again. service NULL: none. Valid
	 * until the next poll. */
	struct source_quarantined {
		const char *service;
		uint32_t pid;
		uint32_t user; /* UINT32_MAX: unknown */
		enum quarantine why;
	} quarantined;
	uint64_t quarantines;        /* how often that happened */
	uint32_t unlisted;           /* live programs of users that options.users does not list */
	const char *fullest_service; /* of the fullest buffer; NULL: all are empty, or unknown */
	uint32_t fullest_pid;

	bool unknown_format; /* metadata that this source does not understand: `trouble` names the
	                        tracer's version and another source to configure */
	const char *trouble; /* the last problem, or ""; valid until the next poll or stats */
};

struct source {
	void *state;
	/* Returns all records up to a new watermark. now: CLOCK_MONOTONIC, read just before the
	 * call. 0; ERR_MEMORY, ERR_SYSTEM: try again later. Does not wait for the tracer or for
	 * programs. Only source_babeltrace2.c waits for child processes: at most every 200 ms, for
	 * one child after the other, one for each trace with new packets. A child normally takes
	 * some ms, and an alarm ends it after 20 s. */
	int (*poll)(void *state, struct mono now, struct source_output *ret, struct err *e);
	void (*stats)(void *state, struct source_stats *ret);
	/* All labels so far; a label's index does not change while the source lives. Texts and
	 * field names are terminated. The array may move with the next poll, its texts do not. */
	const struct batch_label *(*labels)(void *state, uint32_t *count);
	void (*close)(void *state);
};

/* Opens a source. On success *ret is the caller's until ret->close(ret->state). ERR_INPUT: the
 * options or the place are invalid; ERR_SYSTEM, ERR_MEMORY. */
typedef int source_open_fn(struct source *ret, const struct source_place *place,
    const struct source_options *options, struct err *e);

#endif
