/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The findings of a window of traffic: traces go in one by one, and what comes out is,
 * for each request type, its groups by what they cost, each with its finding, the
 * keys that explain it, what would be without it, and what its slowest requests
 * spend. The same traces in the same order give the same report to the last bit,
 * on however many threads it is judged.
 *
 * Memory is bounded by the options, whatever comes.
 */
#ifndef REPORT_REPORT_H
#define REPORT_REPORT_H

#include "analysis/bins.h"
#include "analysis/profile.h"
#include "analysis/variance.h"

struct report_options {
	struct conditions conditions;
	uint32_t rounds;                  /* of the bootstrap, for each group */
	uint32_t types_max;               /* request types; traces of further ones are counted */
	uint32_t groups_max, samples_max; /* groups of all types; requests kept whole of each: see
	                                     analysis/group.h */
	size_t memory_max_bytes;          /* of all groups; 0: no bound */
	uint32_t calls_max; /* calls in context, of all types' profiles: see analysis/profile.h; 0:
	                       no profiles */
	uint64_t seed;
	double key_q, explain_min; /* a key explains with such a p, and r^2, rho^2 or share: see
	                              keys_explain() */
	double tail_part;          /* of requests that are called the slowest */
	const char *type;          /* pattern (fnmatch) of names of request types; NULL: all */
	const char *const
	    *ignore; /* patterns of labels whose edges are meant waits; NULL at the end, or NULL */
	struct bins *bins; /* or NULL */
	const char *const
	    *bin_rules; /* what the bins are made of, for the document; NULL at the end, or NULL */
	bool structure_only; /* paths are told apart by structure (label.h) alone, without what else
	                        is on */
	uint32_t details;    /* only the groups of so many problems, the dearest, are looked into
	                     beyond their measures and    shares, for who prints no more; 0: all are */
	uint32_t threads;    /* that judge, 1 or more */
};

/* What holds where nothing else is said. */
struct report_options report_defaults(void);

struct edge_times { /* of the group's samples */
	double p50_ns, p95_ns;
};

struct judged { /* a group, and what is to be said of it */
	struct group *group;
	bool deep; /* it has traces enough to judge; else the rest is without intervals, and below
	              is nothing */
	struct finding finding;
	/* of groups that were looked into (`details`), as are the intervals of shares: */
	struct edge_times *edges;   /* [nedges]; NULL: it was not */
	uint32_t nkeys, keys_tried; /* keys that explain the top edge, or one of the two after it */
	struct key_finding *keys;
	bool has_what_if; /* of the top edge */
	struct what_if what_if;
	struct tail tail; /* without edges: not known */
};

struct report_type {
	uint32_t label;       /* of its request_begin */
	struct moments total; /* ns, of all its requests; without meant waits */
	struct moments other; /* of those whose group had no room */
	struct sketch *sketch;
	struct profile *profile; /* NULL: none, or there was no room */
	/* by report_judge(): */
	double slow_ns; /* the quantile of conditions.slow_quantile, at most */
	uint32_t ngroups;
	struct judged **groups; /* dearest first; problems before what is none */
};

struct report_problem {
	struct judged *judged;
	struct report_type *type;
};

struct report_counts {
	uint64_t traces;                     /* that were taken */
	uint64_t pathless;                   /* without a path from end to begin */
	char pathless_why[160];              /* of the first */
	uint64_t untyped;                    /* of request types beyond types_max */
	uint64_t passed_over;                /* of types that were not asked for */
	uint64_t other, collisions, inexact; /* see analysis/group.h */
	uint64_t moved;                      /* steps that came before their cause */
};

struct report;

/* Patterns, bins and labels outlive it. NULL: out of memory. */
struct report *report_new(const struct report_options *o, const struct labels *labels);
void report_free(struct report *r); /* NULL is fine */

/* Takes a trace on; it stays the caller's. `nodes`: texts by the events' node numbers. What cannot
 * be used is counted. O(events). ERR_MEMORY. */
int report_add(struct report *r, const struct trace *t, const char *const *nodes, struct err *e);

/* Judges all that came, again when more has come since. O(groups x rounds x samples x edges), on
 * `threads` threads. ERR_MEMORY. */
int report_judge(struct report *r, struct err *e);

void report_counts(const struct report *r, struct report_counts *ret);
const struct report_options *report_options(const struct report *r);
const struct labels *report_labels(const struct report *r);

/* In the order they were first seen; NULL: there is no such. */
struct report_type *report_type(const struct report *r, uint32_t i);
/* All groups, in the order they were first seen, judged or not; NULL: there is no such. */
const struct group *report_group(const struct report *r, uint32_t i);
/* Of the last report_judge(): the problems of all types, dearest first; NULL: there is no such. */
const struct report_problem *report_problem(const struct report *r, uint32_t i);

/* The name of a type: what stands in its label's brackets, else the label. Not terminated, *len
 * long. */
const char *report_type_name(const struct report *r, uint32_t label, size_t *len);

#endif
