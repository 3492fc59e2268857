/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is wrong with the instrumentation, by the facts of place_facts.h. Pure. */
#ifndef ANALYSIS_MISTAKE_H
#define ANALYSIS_MISTAKE_H

#include "analysis/place_facts.h"

enum mistake_kind {
#define MISTAKE(name, word, text, advice, spans) MISTAKE_##name,
#include "analysis/mistakes.tbl.h"
#undef MISTAKE
	MISTAKES
};

const char *mistake_word(enum mistake_kind k);

struct mistake {
	enum mistake_kind kind;
	uint32_t type; /* label of the request_begin; LABEL_NONE: of traces without one */
	uint32_t at;   /* label */
	/* Label of the other end: CARRIER_LOST: where the unit is expected, DETACH_MISSING: the fork;
	 * LABEL_NONE: not known. */
	uint32_t to;
	/* CARRIER_LOST without `to`: programs of this service are seen, and begin nothing; else NULL. */
	const char *to_service;
	uint64_t count, of;
	double share, low, high; /* count / of, with Wilson's interval */
};

/* What is enough for a mistake: requests at the ends of the observation are cut off, and a program may
 * be in error once. */
struct mistake_limits {
	uint64_t count_min; /* 5 */
	double share_min;   /* 0.01: the interval lies above it */
	double z;           /* 1.96: of the intervals */
};

struct mistake_limits mistake_defaults(void);

/* Wilson's interval of k of n (J. American Statistical Association 22, 1927); 0..1 for n = 0. */
void wilson_interval(double k, double n, double z, double *low, double *high);

/* Finds the mistakes in the table, at most `max`: the most frequent ones, by count. idle: the services
 * of which traceable programs are seen that began nothing, NULL at the end; or NULL. The result
 * refers to them. Returns the number. O(rows^2) at worst, O(rows) without mistakes. */
uint32_t mistakes_find(struct mistake *out, uint32_t max, const struct place_table *facts,
    const struct labels *labels, const char *const *idle, const struct mistake_limits *limits);

/* Whether the mistake puts time into the wrong place on a critical path, of the same request type: labels
 * path[0..n), of which the edge begins at number `from`. Steps:
 *
 * 1. It is of another type, or of less than 5 % of what it could be (lower end of its interval): no.
 * 2. JOIN_MISSING: its fork is on the path, and the edge does not lie before it.
 * 3. DETACH_MISSING, UNIT_OPEN, FORK_REUSED: its place or its other end is on the path.
 * 4. Others leave no trace that is evidence, or leave it right: no.
 * O(n). */
bool mistake_concerns(
    const struct mistake *m, uint32_t type, const uint32_t *path, uint32_t n, uint32_t from);

#endif
