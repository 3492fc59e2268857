/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which edge is responsible for the variation. With the response time T and the edges x_i of a
 * group, T = sum x_i and var(T) = sum cov(x_i, T): the share of an edge is cov(x_i, T) /
 * var(T), and shares add up to 1. For groups that are consistently slow: shares of the mean.
 * Intervals by a seeded bootstrap over the reservoir (Efron 1979), studentized (Hall 1988), for
 * shares as score intervals (bootstrap.h, share_interval.c). Of a group that stands
 * for requests to come, those of shares are wider where successive requests depend on each other (dependence.h). How often they contain the true
 * value: docs/calibration.md, `make calibrate`.
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
	PROBLEM_UNSURE,
	PROBLEM_TAIL
}; /* UNSURE: too few traces, or the interval contains the threshold. TAIL: its slowest requests are
      searched; never of finding_of() */

struct conditions { /* defaults: 0.10, 0.95, 30, 0.95 */
	double cv_max;
	double slow_quantile; /* of the response times of the request type */
	uint32_t traces_min;
	double confidence;
};

struct interval {
	double low, high;
};

struct edge_share {
	double share; /* cov(x, T) / var(T), or mean(x) / mean(T) for PROBLEM_SLOW */
	struct interval interval;
	/* var(x) / var(T); the rest of the share is covariance with other edges */
	double own;
	double mean_ns, latency_share;
	/* How many successive requests tell as much of the share as an independent one, >= 1: the interval
	 * is wider by its root (dependence.h). */
	double inflation;
};

struct finding {
	enum problem problem;
	double cv;
	struct interval cv_interval;
	double mean_ns;
	/* Cost of the problem: traces x excess over the median of the group (PROBLEM_SLOW: over
	 * slow_ns), in ns of response time of all requests. */
	double cost_ns;
	uint32_t nedges;
	struct edge_share *edges; /* [nedges] of the group's shape */
	uint32_t top;             /* the edge with the largest share */
	/* Probability that the CV (PROBLEM_SLOW: the mean) is above its threshold, as the
	 * fraction of bootstrap rounds; for NONE and UNSURE the larger of both. */
	double probability;
};

/*
 * Judges a group. `slow_ns` is the response time of the request type at
 * conditions.slow_quantile (0: unknown). A group may be judged repeatedly while its traces
 * arrive: UNPREDICTABLE and SLOW are only returned if a confidence sequence, which holds at all
 * judgements together, is beyond the threshold. The intervals in the finding are for this
 * judgement alone. In the arena. rounds: bootstrap rounds, 200 by default, at least 2 / (1 -
 * confidence). O(edges x samples x rounds): about 4 ms for 100 edges, 512 samples, 200 rounds.
 * ERR_MEMORY.
 */
int finding_of(struct finding *ret, const struct group *g, const struct conditions *c,
    double slow_ns, uint32_t rounds, uint64_t seed, struct arena *a, struct err *e);

/* The two parts of finding_of(): everything except the intervals of shares (each interval is
 * the share alone), in O(samples x rounds); and these intervals, which take nearly all of the
 * time. */
int finding_judge(struct finding *ret, const struct group *g, const struct conditions *c,
    double slow_ns, uint32_t rounds, uint64_t seed, struct arena *a, struct err *e);
int finding_intervals(struct finding *f, const struct group *g, double confidence, uint32_t rounds,
    uint64_t seed, struct arena *a, struct err *e);

/* A key that explains why an edge takes long. */
struct key_finding {
	uint32_t edge;
	uint32_t key; /* index into the keys of the group */
	/* r: Pearson, rho: Spearman; otherwise share: between-group share of the edge's
	 * variance */
	bool numeric;
	double r, rho, share;
	/* Compared with explain_min. Numeric: the larger of rho^2, and r^2 without the
	 * sample that raises it most. Category: share, less what so many categories explain
	 * by chance. */
	double explains;
	double p; /* corrected for all pairs that were tried (Benjamini & Hochberg 1995) */
	uint32_t n;
};

/*
 * Tests all keys of the group against the times of the edges. Returns those with p <= q
 * (default 0.01) that explain at least `explain_min`, edge by edge in the order asked, best
 * first; among equals the nearest to the edge. Where the values of one categorical key are
 * parts of another's (thread, process, node), the finer one is left out if it adds no
 * explanation; of equal ones all but the nearest. p is corrected for all edges and keys of this
 * call, so ask for all edges at once; `tried` (may be NULL) is their number. In the arena.
 * Returns the number of findings, or ERR_MEMORY. p is computed from ranks and holds for heavy
 * tails (key_significance.c). O(edges x keys x samples + (edges + keys) x samples log samples):
 * 5 ms for 1 edge, 20 ms for 10, of 100 keys and 512 samples.
 */
int keys_explain_edges(struct key_finding **ret, const struct group *g, const uint32_t *edges,
    uint32_t nedges, double q, double explain_min, uint32_t *tried, struct arena *a, struct err *e);

/* The same for one edge. */
int keys_explain(struct key_finding **ret, const struct group *g, uint32_t edge, double q,
    double explain_min, struct arena *a, struct err *e);

/* CV, p50, p95 and p99 if the edge always took its median time. `now` is the group's figures (see
 * group_quantile() in strata.h); what_if.c says how `then` follows from the samples. Intervals
 * by bootstrap. Where there are too few samples to bound a quantile from above (at 95 %
 * confidence p95: under 72, p99: under 368), `high` is INFINITY. */
struct measures {
	double cv, p50_ns, p95_ns, p99_ns;
};

struct what_if {
	struct measures now, then;
	struct {
		struct interval cv, p50_ns, p95_ns, p99_ns;
	} then_interval;
};

/* Uses the arena for temporary memory. All zeroes without samples. O(samples (log samples +
 * rounds)): 1 ms for 512 samples, 200 rounds. ERR_MEMORY. */
int what_if_of(struct what_if *ret, const struct group *g, uint32_t edge, double confidence,
    uint32_t rounds, uint64_t seed, struct arena *a, struct err *e);

/* What the slowest requests spend more time on than usual ones, by edge: mean over the slowest
 * part minus mean over the middle (40th to 60th percentile). The slowest are the real ones if the
 * group keeps them (group.slow), otherwise those of the reservoir. Intervals from the bootstrap
 * standard error and Student's t, since the slowest are few. */
struct tail_edge {
	double slow_ns, usual_ns;
	/* (slow - usual) as a fraction of the difference in response times; these add up to 1 */
	double excess_share;
	struct interval interval; /* of excess_share */
};

struct tail {
	/* Fraction of requests that count as slow: as requested, or more so that there are at
	 * least 5, or less so that they are at most four fifths of those that the group keeps as its
	 * slowest. */
	double part;
	uint32_t nslow, nusual;   /* number of requests */
	double slow_ns, usual_ns; /* mean response times */
	uint32_t nedges;
	struct tail_edge *edges; /* [nedges]; nedges 0: too few samples (under 30) */
};

/* part: at most 0.4, usually 0.01. In the arena. O((edges x (nslow + nusual) + samples) x
 * rounds): 2 ms for 100 edges, 512 samples, 200 rounds. ERR_MEMORY. */
int tail_of(struct tail *ret, const struct group *g, double part, double confidence,
    uint32_t rounds, uint64_t seed, struct arena *a, struct err *e);

/* Appends "service/provider:event.field", "node of service/...", or "iterations of ( label ...
 * )+". */
void key_print(
    const struct group *g, const struct key *k, const struct labels *labels, struct buf *out);

#endif
