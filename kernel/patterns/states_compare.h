/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Compares the operations of a window with a baseline: which operations did something else than they usually do, with which state.
 *
 * Of each request the operations are looked at bottom-up, those that call no other ones first. A measure of an operation departs if it is over
 * three sigma from its mean. A wait of an operation for the network or another thread that is longer than usual is explained, and not
 * counted, if operations below it departed and make up at least half of that time.
 *
 * A measure that varies much departs in few operations although it is usually longer than before. So it is also found if it is by more than one
 * sigma in more operations than chance explains: at least STATES_SHIFT_SHARE of them more than in the baseline, and its mean logarithm by
 * STATES_SHIFT (half as long again, or two thirds).
 *
 * Two things are said of a place:
 *	outside		how many of its operations have a measure outside of its limits (limits.h): of healthy ones at most 1 % on average. Of a
 *			single request this is all there is to say.
 *	findings	measures that depart in more operations than chance explains, after as few of the baseline's own did
 *			(limits_chance()). So a change that each single operation might have by chance is found in many of them. The chance of any
 *			finding in a window like the baseline is at most STATES_CHANCE, divided among all measures of all places; a finding
 *			must also be more than the resolution, in STATES_SHARE_MIN of the operations, and change those that depart by STATES_EFFECT of the
 *			mean length (that of operations below them included, without waits for a processor). Of a number the mean time of its
 *			state changes so, of a lacking pattern that of one of its states.
 *
 * Waits for a processor follow from other things. They are no finding of an operation if they come of
 *	- the machine: threads of all services wait longer than usual, by the median of the services. That is said of the machine. Of one place it
 *	  explains growth up to machine_most times: so that half of it is the machine's, or as places differ in the window (three robust sigmas);
 *	- more work: what the operation does or waits for otherwise, of which there is a finding, explains at least half of it. How much longer operations
 *	  wait for a processor for each ns of other work is the slope of the least squares over the operations of the window, if it explains
 *	  STATES_RATE_R2 of the variance; for each ns that they run it is at least what it usually is, times what the machine explains. That finding
 *	  costs what its waits cost, too.
 */
#ifndef KERNEL_PATTERNS_STATES_COMPARE_H
#define KERNEL_PATTERNS_STATES_COMPARE_H

#include "kernel/patterns/states_baseline.h"

#define STATES_CHANCE 0.001
#define STATES_SHARE_MIN 0.05
#define STATES_SHIFT_SHARE 0.25
#define STATES_SHIFT 0.4
#define STATES_EFFECT 0.05 /* of the length of operations without waits for a processor */
#define STATES_RATE_R2 0.5 /* of the variance of waits for a processor, what other work explains */

enum {
	STATES_RATE_MIN = 20,    /* operations */
	STATES_SERVICES_MIN = 3, /* of which a median says something of the machine */
	STATES_PLACES_MIN = 6,   /* places of which the spread is known */
};

enum { STATES_EXAMPLES_MAX = 3 };

struct states_finding {
	uint32_t interval;
	enum below_state state;
	bool is_count, more;
	/* A state of a pattern; NULL: of the whole interval. With `absent` the pattern as a whole, and state is its first one that departed. */
	const struct states_pattern *pattern;
	uint32_t position;
	bool absent;
	uint32_t operations; /* in which it departs */
	uint32_t sigmas;     /* by more than LIMITS_SIGMAS, or by more than one */
	double chance;       /* of so many, before it is divided among measures */
	double mean, usual;  /* ns, or how often: of the window, of the baseline */
	double low, high;    /* limits in the same unit */
	double excess_ns;    /* mean of those that depart, less usual; of a time */
	double cost_ns; /* that times how many; with the waits for a processor that come of it */
};

struct states_example {       /* an operation that is outside */
	uint64_t id_high, id; /* of its request */
	int64_t begin_ns;
	uint32_t interval;
	enum below_state state; /* of what is most outside, in time */
	double ns, usual_ns;
};

struct states_place_change {
	const struct states_place *place;
	uint32_t number; /* in its type */
	uint32_t height; /* 0: calls no other */
	uint32_t operations, outside, explained;
	double chance;                   /* of so many that are outside */
	struct states_finding *findings; /* of times first, by excess x operations */
	uint32_t nfindings;
	struct states_example examples[STATES_EXAMPLES_MAX]; /* by excess */
	uint32_t nexamples;
};

struct states_type_change {
	const struct states_type *type;
	uint64_t requests;
	struct states_place_change *places; /* all of the type */
};

struct states_new_type {
	const char *name; /* of its first operation, and how many others it has */
	uint32_t operations;
	uint64_t requests;
	struct hash128 type;
};

struct states_comparison { /* lives in its arena; points into the baseline */
	struct arena arena;
	struct states_type_change *types; /* those of the window */
	uint32_t ntypes;
	struct states_new_type *news; /* types that the baseline has not; the most requests first */
	uint32_t nnews;
	uint64_t requests, requests_new, operations, outside, explained, too_few;
	/* So many times as long as usual threads of all services wait for a processor, at least 1; and of one place at most, that it is not worth
	 * a finding of it. */
	double machine, machine_most;
	struct states_counts counts;
};

struct states_comparer;

int states_comparer_new(
    struct states_comparer **ret, const struct states_baseline *b, struct err *e);
void states_comparer_free(struct states_comparer *c); /* NULL is fine */
/* Takes the operations of a request. 0 also if they are malformed, which is counted. *ret, which may be NULL: how many of them are
 * outside. ERR_MEMORY. O(pieces + n log n + measures). */
int states_comparer_add(
    struct states_comparer *c, const struct operations *o, uint32_t *ret, struct err *e);
/* *ret is the caller's. ERR_MEMORY. */
int states_comparer_finish(
    struct states_comparer *c, struct states_comparison **ret, struct err *e);
void states_comparison_free(struct states_comparison *c); /* NULL is fine */

/* "the CPU", "the disk", "the network", "a timer", "a lock", "preemption", "another thread", "page faults". */
const char *state_resource(enum below_state s);

#endif
