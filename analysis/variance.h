/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which edge carries it. With T the response time and x_i the edges of a group,
 * T = sum x_i, so var(T) = sum cov(x_i, T): an edge's share is cov(x_i, T) /
 * var(T), and the shares add up to 1. Intervals by bootstrap over the reservoir
 * (Efron 1979; percentile method), seeded. For consistently slow groups: shares
 * of the mean.
 */
#ifndef ANALYSIS_VARIANCE_H
#define ANALYSIS_VARIANCE_H

#include <stdbool.h>

#include "analysis/group.h"
#include "base/err.h"

enum problem { PROBLEM_NONE, PROBLEM_UNPREDICTABLE, PROBLEM_SLOW, PROBLEM_UNSURE };	/* UNSURE: too few traces, or the
			   interval lies on both sides of the threshold */

struct conditions {		/* defaults: 0.10, 0.95, 30, 0.95 */
	double   cv_max;
	double   slow_quantile;	/* of the request type's response times */
	uint32_t traces_min;
	double   confidence;
};

struct interval {
	double low, high;
};

struct edge_share {
	double share;			/* cov(x, T) / var(T), or of the mean for PROBLEM_SLOW */
	struct interval interval;
	double own;			/* var(x) / var(T); the rest of share is covariance */
	double mean_ns, latency_share;
};

struct finding {
	enum problem problem;
	double cv;
	struct interval cv_interval;
	double mean_ns;
	double cost_ns;			/* what the problem costs: traces x excess over the group's median (or, if slow, over
					   the type's quantile), in ns of waiting in all */
	uint32_t nedges;
	struct edge_share *edges;	/* [nedges] of the group's shape */
	uint32_t top;			/* the edge with the largest share */
};

/* Judges a group; `slow_ns` is the type's response time at conditions.slow_quantile (0: not known). In the
 * arena. rounds: bootstrap rounds, e.g. 200. O(edges x samples x rounds). ERR_MEMORY. */
int finding_of(struct finding *ret, const struct group *g, const struct conditions *c, double slow_ns,
    uint32_t rounds, uint64_t seed, struct arena *a, struct err *e);

/* A key that tells why an edge takes long. */
struct key_finding {
	uint32_t key;		/* index into the group's keys */
	bool     numeric;	/* r: Pearson, rho: Spearman; else share: between-group share of the edge's variance */
	double   r, rho, share;
	double   p;		/* corrected (Benjamini & Hochberg 1995) for all keys tried */
	uint32_t n;
};

/* Tries all keys of the group against the edge's time; those with p <= q (0.01) and that explain at least
 * `explain_min` (r^2, rho^2 or share), best first; keys nearest to the edge win ties. In the arena. Returns how many,
 * or a negative code. O(keys x samples log samples). */
int keys_explain(struct key_finding **ret, const struct group *g, uint32_t edge, double q, double explain_min,
    struct arena *a, struct err *e);

/* What CV, p50, p95, p99 would be, were that edge always at its median; from the reservoir. */
struct what_if {
	double cv_now, cv_then, p50_then_ns, p95_now_ns, p95_then_ns, p99_now_ns, p99_then_ns;
};

void what_if_of(struct what_if *ret, const struct group *g, uint32_t edge, struct arena *a);

/* "service/provider:event.field", "node", "iterations of ( label ..." */
void key_print(const struct group *g, const struct key *k, const struct labels *labels, struct buf *out);

#endif
