/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the operations of a healthy window did: for each type of request (its workflow), each operation of it, and each of its intervals, the
 * closed patterns of states that nearly all have, and limits of how long and how often each state was. After Belkhiri, Ben Attia, Gohring and
 * Nicolescu, Towards efficient diagnosis of performance bottlenecks in microservice-based applications, ICPE 2024.
 *
 *	learner: operations of requests, one by one ---> baseline ---> file (states_json.h), or comparison (states_compare.h)
 *
 * Pure. Memory of a learner is within STATES_MEMORY_BYTES: of each place a random choice of STATES_SAMPLES_MAX operations is kept, and what does not
 * fit is counted.
 */
#ifndef KERNEL_PATTERNS_STATES_BASELINE_H
#define KERNEL_PATTERNS_STATES_BASELINE_H

#include "kernel/patterns/limits.h"
#include "kernel/patterns/request_operations.h"

enum {
	STATES_SAMPLES_MAX = 2048,
	STATES_MEASURES_MAX = 4096, /* of a place */
	STATES_TYPES_MAX = 1024,
	STATES_PATTERNS_MAX = 8, /* of an interval: the longest */
	STATES_GAP_MAX =
	    2, /* others between two states of a pattern: one wait, and running after it */
	STATES_MEMORY_BYTES = 256 << 20
};

#define STATES_SUPPORT 0.95
#define STATES_RESOLUTION_NS 20000.0 /* and at least this share of an operation's own time: */
#define STATES_RESOLUTION_SHARE 0.02
#define STATES_UNKNOWN_SHARE 0.1 /* with more unknown time an operation is no evidence */

struct states_pattern {
	const uint8_t *states; /* enum below_state */
	const bool *looped; /* by state: in most operations it is part of a pair that came again */
	uint32_t len;
	uint32_t support; /* samples that have it */
	uint32_t measure; /* the times of its states are measures from here on */
};

struct states_interval {
	struct states_pattern *patterns;
	uint32_t npatterns;
	bool
	    coarse; /* with the gap allowed there were too many: these are of states that follow each other directly */
};

/*
 * The measures of a place: of interval i and state s the time, 2 (9 i + s), and how often, 2 (9 i + s) + 1; then the times of the
 * states of patterns.
 */
struct states_place {
	const char *name; /* terminated */
	uint32_t parent, slot, nslots;
	uint64_t operations; /* seen */
	uint32_t nintervals;
	struct states_interval *intervals;
	double own_ns, resolution_ns;
	double *means;        /* by measure: ns, or how often */
	struct limits limits; /* limits.samples 0: too few, so it is not compared */
};

struct states_type {
	struct hash128 type;
	uint64_t requests;
	struct states_place *places; /* as in struct workflow */
	uint32_t nplaces;
};

struct states_counts {          /* of what was not taken */
	uint64_t malformed;     /* requests whose operations contradict each other */
	uint64_t unknown;       /* operations with too much unknown time */
	uint64_t types_over;    /* requests of types beyond STATES_TYPES_MAX */
	uint64_t not_kept;      /* operations that the bound of memory left no room for */
	uint64_t coarse;        /* intervals with coarser patterns */
	uint64_t patterns_over; /* patterns beyond STATES_PATTERNS_MAX or STATES_MEASURES_MAX */
};

struct states_baseline { /* lives in its arena */
	struct arena arena;
	struct states_type *types; /* by requests, the most first */
	uint32_t ntypes;
	uint64_t requests;
	double support;
	uint32_t gap_max;
	struct states_counts counts;
};

void states_baseline_free(struct states_baseline *b); /* NULL is fine */

static inline uint32_t
states_measure(uint32_t interval, enum below_state s)
{
	return 2 * (interval * BELOW_STATES + (uint32_t)s);
}

static inline uint32_t
states_intervals(uint32_t nslots)
{
	return nslots < OPERATION_INTERVALS_MAX / 2 ? 2 * nslots + 1 : OPERATION_INTERVALS_MAX;
}

/* The least sigma of a measure with this mean, see limits.h: of a time a third of the resolution, and 2 %; of a count half of one, and
 * 5 %. */
double states_floor(double mean, double resolution, bool is_count);
/* What limits compare: x of a time in ns, or a count. */
double states_scaled(double x, const struct states_place *p, uint32_t measure);

/* Writes all measures of an operation of this place: x[nmeasures], in ns and counts. absent[] has, pattern by pattern of all intervals, whether
 * the operation does not have it; it may be NULL. Unknown states are 0. O(runs x patterns). */
void states_measures(double *x, bool *absent, const struct states_place *p, uint32_t gap_max,
    const struct operation_states *o);

/* "R-(D-R)+", into the buffer. */
struct buf;
void states_pattern_text(struct buf *ret, const struct states_pattern *p);

struct states_learner;

struct states_options {
	double support; /* 0: STATES_SUPPORT */
	uint64_t seed;
	size_t memory_bytes; /* 0: STATES_MEMORY_BYTES */
};

int states_learner_new(struct states_learner **ret, const struct states_options *o, struct err *e);
void states_learner_free(struct states_learner *l); /* NULL is fine */
/* Takes the operations of a request. 0 also if they are malformed, which is counted. ERR_MEMORY. O(pieces + n log n). */
int states_learner_add(struct states_learner *l, const struct operations *o, struct err *e);
/* Computes the baseline, which is the caller's. ERR_INPUT: no request was taken; ERR_MEMORY. Of each place O(samples x measures x log), and
 * the miner's work, which is bounded. */
int states_learner_finish(struct states_learner *l, struct states_baseline **ret, struct err *e);

#endif
