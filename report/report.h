/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The findings of a window of traffic. Traces are added one by one; the result is, for each request
 * type, its groups sorted by cost, each with its finding, the keys that explain it, the what-if
 * estimate, and where its slowest requests spend their time. The same traces in the same order give
 * the same report to the last bit, on any number of threads.
 *
 * Memory is bounded by the options, whatever the input.
 */
#ifndef REPORT_REPORT_H
#define REPORT_REPORT_H

#include "analysis/always_on_path.h"
#include "analysis/bins.h"
#include "analysis/profile.h"
#include "analysis/variance.h"
#include "report/timeline.h"

struct report_options {
	struct conditions conditions;
	uint32_t rounds;    /* bootstrap rounds for each group */
	uint32_t types_max; /* request types; traces of further ones are only counted */
	/* Groups of all types, and samples (whole requests) kept of each: see analysis/group.h. */
	uint32_t groups_max, samples_max, slow_max;
	size_t memory_max_bytes; /* of all groups; 0: unbounded */
	/* Calls in all profiles together, see analysis/profile.h. 0: no profiles. */
	uint32_t calls_max;
	uint64_t seed;
	/* Thresholds for a key that explains: p, and r^2, rho^2 or share: see keys_explain(). */
	double key_q, explain_min;
	double tail_part; /* fraction of requests that counts as the slowest */
	const char *type; /* fnmatch pattern of the request types to report; NULL: all */
	/* Patterns of labels whose edges are excluded waits; NULL at the end. Or NULL. */
	const char *const *ignore;
	struct bins *bins; /* or NULL */
	/* The rules of the bins, for the document; NULL at the end. Or NULL. */
	const char *const *bin_rules;
	/* The shape has structure labels (label.h) only, without added tracepoints. */
	bool structure_only;
	/* Keys, what-if and tail are computed for this many problems, the costliest; 0: for all. */
	uint32_t details;
	uint32_t threads; /* for report_judge(), at least 1 */
};

/* The default options. */
struct report_options report_defaults(void);

struct edge_times { /* quantiles over the group's samples */
	double p50_ns, p95_ns;
};

struct judged { /* a group and its results */
	struct group *group;
	/* It has enough traces to be judged; otherwise the finding has no intervals, and the fields
	 * below `finding` are empty. */
	bool deep;
	struct finding finding;
	/* Of groups within `details`, as are the intervals of shares: */
	struct edge_times *edges;   /* [nedges]; NULL: not within `details` */
	uint32_t nkeys, keys_tried; /* keys that explain one of the three largest edges */
	struct key_finding *keys;
	bool has_what_if; /* of the largest edge */
	struct what_if what_if;
	struct tail tail; /* unknown if it has no edges */
};

struct report_type {
	uint32_t label;       /* of its request_begin */
	struct moments total; /* ns, of all its requests, without excluded waits */
	struct moments other; /* requests whose group exceeded groups_max or memory */
	struct sketch *sketch;
	struct profile *profile; /* NULL: none, or over calls_max */
	struct timeline *times;  /* of all its requests */
	/* Set by report_judge(): */
	double slow_ns; /* upper end of the quantile conditions.slow_quantile */
	uint32_t ngroups;
	struct judged **groups; /* problems first, then by cost, largest first */
};

struct report_problem {
	struct judged *judged;
	struct report_type *type;
};

struct report_counts {
	uint64_t traces;                     /* added to a group */
	uint64_t pathless;                   /* without a path from end to begin */
	char pathless_why[160];              /* the reason for the first of them */
	uint64_t untyped;                    /* of request types beyond types_max */
	uint64_t passed_over;                /* of request types that `type` does not match */
	uint64_t other, collisions, inexact; /* see analysis/group.h */
	uint64_t moved;                      /* steps stamped before their cause */
};

struct report;

/* Patterns, bins and labels must outlive the report. NULL: out of memory. */
struct report *report_new(const struct report_options *o, const struct labels *labels);
void report_free(struct report *r); /* NULL is fine */

/* Adds a trace, which stays the caller's. `nodes`: names by the events' node numbers. A trace that
 * cannot be used is counted. O(events). ERR_MEMORY. */
int report_add(struct report *r, const struct trace *t, const char *const *nodes, struct err *e);
/* The same, of a trace whose path the caller has: for a report with structure_only, and its bins
 * applied. ERR_MEMORY. */
int report_add_path(struct report *r, const struct trace *t, const struct always_on_path *p,
    const char *const *nodes, struct err *e);
/* Counts a trace that has no path; why: always_on_path_extract()'s. */
void report_add_pathless(struct report *r, const struct trace *t, const struct err *why);

/* Judges all groups; may be called again after further traces. O(groups x rounds x samples x edges),
 * on `threads` threads. ERR_MEMORY. */
int report_judge(struct report *r, struct err *e);
/* The same of the groups of one request type only (its label; LABEL_NONE: of all); the others are not in the results then, and those of this
 * one are as report_judge() gives them. alone: on the calling thread only, whatever `threads` says. */
int report_judge_type(struct report *r, uint32_t label, bool alone, struct err *e);

void report_counts(const struct report *r, struct report_counts *ret);
const struct report_options *report_options(const struct report *r);
const struct labels *report_labels(const struct report *r);

/* Request types in the order of their first trace; NULL past the last. */
struct report_type *report_type(const struct report *r, uint32_t i);
/* All groups in the order of their first trace, judged or not; NULL past the last. */
const struct group *report_group(const struct report *r, uint32_t i);
/* The group of this shape with the results of the last report_judge(); NULL: there is none. O(1). */
const struct judged *report_judged(const struct report *r, struct hash128 key);
/* When the requests of a group arrived; NULL: not known. */
const struct timeline *report_times(const struct report *r, const struct group *g);
/* The problems of all types by the last report_judge(), costliest first; NULL past the last. */
const struct report_problem *report_problem(const struct report *r, uint32_t i);

/* The name of a request type: the text in brackets of its label, or the whole label. Not terminated;
 * its length is *len. */
const char *report_type_name(const struct report *r, uint32_t label, size_t *len);

#endif
