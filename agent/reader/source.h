/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where records come from. A source yields what the tracepoints of one node
 * wrote, in time order, with a watermark: a promise that nothing at or before
 * it is still to come. The agent knows this door only; behind it is LTTng-UST
 * (source_lttng.c), or a trace that was written before.
 *
 * One thread at a time may use a source.
 */
#ifndef AGENT_READER_SOURCE_H
#define AGENT_READER_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/err.h"
#include "wire/record.h"

struct source_options {            /* a zero takes the default */
	size_t memory_bytes;       /* raw packets held while they wait for the watermark: 64 MiB; at
	                            * least one packet for each ring that has data is always held */
	uint32_t records_max;      /* in one poll: 65536 */
	uint32_t labels_max;       /* 32768; names beyond share "service/hone:fork(other)" */
	size_t packet_max_bytes;   /* larger ones are garbage: 64 MiB */
	size_t metadata_max_bytes; /* of one process: 64 MiB */
	int64_t inflight_ns; /* a tracepoint takes its time before it takes its place in the ring;
	                      * how long that may take on a ring that is otherwise idle: 5 ms */
	int64_t
	    stall_ns;   /* a ring that nobody drains (frozen program) holds the watermark back
	                 * for so long, as two polls at least saw: 2 s; its records come late then */
	bool unrelated; /* also records outside of any request (trace_id 0); or only those of
	                   programs of these names: */
	bool (*maps)(
	    void *of, const char *service); /* NULL: of none. Asked once for each program */
	void *of;
	bool
	    keep; /* do not reclaim space of what was read, do not remove dead processes' folders */
};

/* What one poll gives. The arrays and all they point to are valid until the next poll. */
struct source_take {
	const struct record *records; /* in time order; label: an id, see source_labels() */
	uint32_t nrecords;
	uint32_t nlate;            /* the first so many are at or before an earlier watermark */
	const struct loss *losses; /* each with count > 0 and from_ns <= to_ns */
	uint32_t nlosses;
	int64_t watermark_ns; /* CLOCK_MONOTONIC; never goes back */
	bool more;            /* a limit was met: poll again without waiting */
};

struct source_process {      /* a traced program that lives */
	const char *service; /* its name (comm, at most 15 bytes) */
	uint32_t pid;        /* in its own pid namespace */
	bool mapped;         /* as options.maps() said */
};

struct source_look {
	double fullest;      /* share of the fullest ring that waits to be read out, 0 to 1 */
	int64_t ring_bytes;  /* of all rings */
	int64_t files_bytes; /* read out of the rings, and not delivered yet: in the files, and held
	                        of them */
	uint32_t rings;
	uint64_t changes; /* grows when the list of processes changes */
	uint32_t nprocesses;
	const struct source_process *processes; /* valid until the next poll or look */

	/* since the source was opened */
	uint64_t records;   /* delivered */
	uint64_t unrelated; /* outside of any request, and dropped for that */
	uint64_t mapped;    /* written by tracepoints without a filter, for mappings; none fewer for
	                       fewer sampled requests: */
	uint64_t dropped;   /* so many of these were dropped after reading. Both 0 without mappings
	                       (source_mapped.h) */
	uint64_t given_up, orphans; /* requests that never ended, ends of none that was known */
	uint64_t endless; /* requests with so many of their own kind inside that their end may never
	                     come (mapper.h) */
	uint64_t late;    /* delivered after their watermark */
	uint64_t packets, bytes;
	uint64_t lost[LOSS_REASONS];
	uint64_t stalls;     /* times a ring was left behind, see stall_ns */
	const char *trouble; /* the last thing that was malformed, or "" */
};

struct source {
	void *state;
	/* All that came since, up to a new watermark; now: CLOCK_MONOTONIC, read just before the
	 * call. 0, or ERR_MEMORY, ERR_SYSTEM: try again later. Cost: one system call, one load for
	 * each ring that is idle, and under 0.2 us a record. Never blocks. */
	int (*poll)(void *state, struct mono now, struct source_take *ret, struct err *e);
	/* Exact and always: straight from the rings, no daemon is asked. Two loads for each ring
	 * that was not idle in the last poll. */
	void (*look)(void *state, struct source_look *ret);
	/* All labels so far; ids are indexes, stable while the source lives. Texts and field names
	 * are terminated. The array may move with the next poll, what it points to does not. */
	const struct batch_label *(*labels)(void *state, uint32_t *count);
	void (*close)(void *state);
};

/*
 * A local LTTng-UST session, made by the caller: output path `output_dir` and
 * lttng_set_session_shm_path(`shm_dir`) (so that both hold ust/pid/...; the daemons make and
 * remove shm_dir as they need it), both of this session alone, per-process buffers, channel
 * `channel` in discard mode with a switch timer T (num_subbuf * T of 1 s or more: it is how long a
 * stall is survived), context vtid, and for requests $app.hone:trace_id and $app.hone:unit_id. The
 * folders need not exist yet. Files of dead processes below output_dir are removed once read. The
 * watermark is behind by T at most while the daemons live. Takes two file descriptors for each ring
 * that was ever written to, one for each program, and a watch of inotify's for each program.
 * On success *ret is the caller's until ret->close(ret->state). ERR_SYSTEM (e.g. no inotify),
 * ERR_MEMORY, ERR_INPUT.
 */
int source_lttng_open(struct source *ret, const char *output_dir, const char *shm_dir,
    const char *channel, const struct source_options *options, struct err *e);

/*
 * All sessions of one agent at once: those of the folders FOLDER/N, N a number, with out/ and shm/
 * in each as above. They may come and go while this runs. Records of all are in one order, under
 * one watermark: a folder must be there before anything is switched on in its session. A program
 * that is in several is listed once. Who ends a session in which nothing has been on for a while
 * first renames its folder to something else than a number: what the daemons write then is not
 * looked at.
 */
int source_lttng_follow(struct source *ret, const char *folder, const char *channel,
    const struct source_options *options, struct err *e);

#endif
