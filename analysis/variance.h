/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which edge carries it. With T the response time and x_i the edges of a group,
 * T = sum x_i, so var(T) = sum cov(x_i, T): an edge's share is cov(x_i, T) /
 * var(T), and the shares add up to 1. For consistently slow groups: shares of the
 * mean. Intervals by seeded bootstrap over the reservoir (Efron 1979), studentized (Hall
 * 1988), of shares as score intervals: bootstrap.h, share_interval.c. How often they
 * hold the truth: docs/calibration.md, make calibrate.
 */
#ifndef ANALYSIS_VARIANCE_H
#define ANALYSIS_VARIANCE_H

#include <stdbool.h>

#include "analysis/group.h"
#include "base/err.h"

enum problem {
	PROBLEM_NONE,
	PROBLEM_UNPREDICTABLE,
	PROBLEM_SLOW,
	PROBLEM_UNSURE
}; /* UNSURE: too few traces, or the
interval lies on both sides of the threshold */

struct conditions { /* defaults: 0.10, 0.95, 30, 0.95 */
	double cv_max;
	double slow_quantile; /* of the request type's response times */
	uint32_t traces_min;
	double confidence;
};

struct interval {
	double low, high;
};

struct edge_share {
	double share; /* cov(x, T) / var(T), or of the mean for PROBLEM_SLOW */
	struct interval interval;
	double own; /* var(x) / var(T); the rest of share is covariance */
	double mean_ns, latency_share;
};

struct finding {
	enum problem problem;
	double cv;
	struct interval cv_interval;
	double mean_ns;
	double cost_ns; /* what the problem costs: traces x excess over the group's median (or, if
	                   slow, over the type's quantile), in ns of waiting in all */
	uint32_t nedges;
	struct edge_share *edges; /* [nedges] of the group's shape */
	uint32_t top;             /* the edge with the largest share */
	double probability;       /* that CV (or, if slow, the mean) is beyond its threshold: of the
	                             bootstrap's rounds; of       NONE and UNSURE the larger of both */
};

/*
 * Judges a group; `slow_ns` is the type's response time at conditions.slow_quantile (0: not known).
 * A group may be judged as often as one likes while its traces come in: UNPREDICTABLE and SLOW are
 * said only where an interval that holds at all looks together is beyond the threshold. Intervals
 * that are given are of this one look. In the arena. rounds: bootstrap rounds, 200 say; confidence
 * needs 2 / (1 - confidence) at least. O(edges x samples x rounds): 8 ms for 100 edges, 512
 * samples, 200 rounds. ERR_MEMORY.
 */
int finding_of(struct finding *ret, const struct group *g, const struct conditions *c,
    double slow_ns, uint32_t rounds, uint64_t seed, struct arena *a, struct err *e);

/* The two halves of it: all but the intervals of shares (each is its share alone then), in
 * O(samples x rounds); and those, which take nearly all of the time. */
int finding_judge(struct finding *ret, const struct group *g, const struct conditions *c,
    double slow_ns, uint32_t rounds, uint64_t seed, struct arena *a, struct err *e);
int finding_intervals(struct finding *f, const struct group *g, double confidence, uint32_t rounds,
    uint64_t seed, struct arena *a, struct err *e);

/* A key that tells why an edge takes long. */
struct key_finding {
	uint32_t edge;
	uint32_t key; /* index into the group's keys */
	bool numeric; /* r: Pearson, rho: Spearman; else share: between-group share of the edge's
	                 variance */
	double r, rho, share;
	double explains; /* what explain_min is held against: the larger of rho^2 and of r^2 without
	                    the one sample that speaks for it most; or share less what so many
	                    categories take by chance */
	double p;        /* corrected (Benjamini & Hochberg 1995) for all that was tried */
	uint32_t n;
};

/*
 * Tries all keys of the group against the times of the edges; those with p <= q (0.01) and that
 * explain at least `explain_min`, edge by edge as asked, best first; of equals the nearest to the
 * edge. Of categories that are each a part of another's (thread, process, node), the finer is left
 * out when it adds nothing, of the same ones all but the nearest. p is corrected for all edges and
 * keys tried here, so ask for all edges at once; `tried` (may be NULL): how many that were. In the
 * arena. Returns how many, or a negative code. p is by ranks, and holds for heavy tails too:
 * key_significance.c. O(edges x keys x samples + (edges + keys) x samples log samples): 5 ms for 1
 * edge, 20 ms for 10, of 100 keys and 512 samples.
 */
int keys_explain_edges(struct key_finding **ret, const struct group *g, const uint32_t *edges,
    uint32_t nedges, double q, double explain_min, uint32_t *tried, struct arena *a, struct err *e);

/* The same for one edge. */
int keys_explain(struct key_finding **ret, const struct group *g, uint32_t edge, double q,
    double explain_min, struct arena *a, struct err *e);

/*
 * What CV, p50, p95, p99 would be, were that edge always at its median; from the reservoir.
 * Intervals by bootstrap. Where there are too few samples to bound a quantile from above (p95:
 * under 72, p99: under 368, at 95 %), high is INFINITY.
 */
struct measures {
	double cv, p50_ns, p95_ns, p99_ns;
};

struct what_if {
	struct measures now, then;
	struct {
		struct interval cv, p50_ns, p95_ns, p99_ns;
	} then_interval;
};

/* In the arena, for a while. O(samples (log samples + rounds)): 1 ms for 512 samples, 200 rounds.
 * ERR_MEMORY. */
int what_if_of(struct what_if *ret, const struct group *g, uint32_t edge, double confidence,
    uint32_t rounds, uint64_t seed, struct arena *a, struct err *e);

/*
 * What the slowest requests spend more than the usual one, by edge: means of the
 * edges over the slowest part of the reservoir, less means over the middle (from the
 * 40th to the 60th percentile). Intervals by bootstrap standard error and Student's t, since the
 * slowest are few.
 */
struct tail_edge {
	double slow_ns, usual_ns;
	double
	    excess_share; /* (slow - usual) of the difference in response times; they add up to 1 */
	struct interval interval; /* of excess_share */
};

struct tail {
	double part; /* of requests that are called slow: as asked, or more, so that there are at
	                least 5 */
	uint32_t nslow, nusual;   /* samples */
	double slow_ns, usual_ns; /* mean response times */
	uint32_t nedges;
	struct tail_edge *edges; /* [nedges]; 0: too few samples (under 30) */
};

/* part: 0.01. In the arena. O((edges x (nslow + nusual) + samples) x rounds): 2 ms for 100 edges,
 * 512 samples, 200 rounds. ERR_MEMORY. */
int tail_of(struct tail *ret, const struct group *g, double part, double confidence,
    uint32_t rounds, uint64_t seed, struct arena *a, struct err *e);

/* "service/provider:event.field", "node of service/...", "iterations of ( label ... )+" */
void key_print(
    const struct group *g, const struct key *k, const struct labels *labels, struct buf *out);

#endif
