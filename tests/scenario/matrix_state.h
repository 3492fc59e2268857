/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The state of the programs of the kill matrix, in files that they map and matrix.py reads: words
 * of eight bytes, each stored atomically, in this order (matrix.py relies on it). Times are of
 * CLOCK_MONOTONIC, in ns.
 */
#ifndef MATRIX_STATE_H
#define MATRIX_STATE_H

#include <stdint.h>

enum {
	MATRIX_TRACEPOINTS = 150,
	MATRIX_PROBE = 150, /* the bit of the probe in the code, usdt.matrix:serve */
	MATRIX_BUCKETS = 160,
	MATRIX_PROGRAMS = 64,
	MATRIX_GAPS = 256,
	MATRIX_LOSSES = 256,
	MATRIX_SEEN = 16384 /* requests of a program: a minute */
};

/*
 * A traced program. Its requests have the numbers 0, 1, 2... if they are sampled, and their trace
 * ids are pid << 32 | number: so whoever reads hone:request_begin sees whether one is missing.
 */
struct matrix_program {
	uint64_t pid;
	uint64_t looked;   /* how often the state words were looked at, every 5 ms */
	uint64_t armed[3]; /* a bit for each of agentp:ev000 to ev149, and of the probe */
	int64_t armed_ns;  /* when any of ev000 to ev148, or the probe, was last seen armed */
	uint64_t others;   /* bits: somebody:tick, agentp:ev149 are armed: the other session's */
	uint64_t requests, numbered; /* served; of these, sampled */
	uint64_t failed;             /* requests that were not under the id that they were given */
	uint64_t suspended;          /* SIGCONT came so often */
	/* Parts of requests that call libhone and tracepoints, two in each. Blocked: not running,
	 * though not waiting for a processor either. matrix.py sets the longest to 0. */
	int64_t blocked_longest_ns, took_longest_ns;
	uint64_t took[MATRIX_BUCKETS]; /* eight to an octave of ns, the first up to 2^7 */
};

/* The tap between agent and controller: what has come through. */
struct matrix_tap {
	uint64_t connections, hellos, batches, records;
	uint64_t incarnation, have_seq;
	uint64_t dones, held_epoch;                               /* of the last DONE */
	uint64_t statuses, tracer_ok, guard_ok, added, nprograms; /* of the last STATUS */
	int64_t status_ns;
	uint64_t losses, lost; /* told: times, records */
	uint64_t told, restarted,
	    silent;    /* missing numbers: in told losses; between two agents; neither */
	uint64_t late; /* numbers that came after later ones: they are not missing */
	uint64_t nrows;
	struct matrix_row {
		uint64_t pid, next; /* the number that comes next */
		int64_t last_ns;
		uint64_t incarnation;
	} rows[MATRIX_PROGRAMS];
	struct matrix_gap { /* nobody has told of these so far */
		uint64_t pid, from, count;
		int64_t from_ns, to_ns;
	} gaps[MATRIX_GAPS];
	struct {
		int64_t from_ns, to_ns;
	} spans[MATRIX_LOSSES]; /* the newest of what was told */
	uint64_t below_state;   /* enum below_on_node, of the last STATUS */
	uint64_t waits, hits;   /* of hone-below */
	int64_t watermark_ns;   /* of the last batch */
	uint64_t ncuts;
	struct { /* between two agents */
		int64_t from_ns, to_ns;
	} cuts[MATRIX_LOSSES];
	struct matrix_seen {     /* of each row: a request, in the place of its number */
		uint64_t number; /* and 1; 0: none */
		int64_t begin_ns, end_ns;
		uint64_t flags; /* MATRIX_PROBED, MATRIX_WAITED */
	} seen[MATRIX_PROGRAMS][MATRIX_SEEN];
};

enum { MATRIX_PROBED = 1, MATRIX_WAITED = 2 };

#endif
