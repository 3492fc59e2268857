/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Count, mean, variance and covariance, streaming and mergeable (Welford 1962; Chan, Golub &
 * LeVeque 1979; covariances: Pebay 2008). All zeroes is empty. Every operation is O(1) unless
 * it says otherwise. m2 is the sum of (x - mean)^2.
 */
#ifndef ANALYSIS_MOMENTS_H
#define ANALYSIS_MOMENTS_H

#include <stdint.h>

struct moments {
	uint64_t n;
	double mean, m2;
};

void moments_add(struct moments *m, double x);
void moments_merge(struct moments *into, const struct moments *from);
/* Of the population: m2 / n; 0 when empty. */
double moments_variance(const struct moments *m);
/* Standard deviation / mean; 0 when the mean is 0. */
double moments_cv(const struct moments *m);

/* Sums of (x - mean)^3 and (x - mean)^4, beside a struct moments: they give the standard error
 * of its variance. */
struct moments_high {
	double m3, m4;
};

/* Call these first, then moments_add() or moments_merge(): `m` is the state without x, or
 * before the merge. */
void moments_high_add(struct moments_high *h, const struct moments *m, double x);
void moments_high_merge(struct moments_high *into, const struct moments *m,
    const struct moments_high *from, const struct moments *from_m);

/* Pairs of values: x of an edge, y the response time. c_xy is the sum of (x - mean_x)(y -
 * mean_y). */
struct comoments {
	uint64_t n;
	double mean_x, mean_y, m2_x, c_xy;
	double c_xxy, c_xyy, c_xxyy,
	    /* Sums of such products of higher order; 0 unless all values are added by the
	     * *_high functions. */
	    c_xyyy;
};

void comoments_add(struct comoments *m, double x, double y);
void comoments_merge(struct comoments *into, const struct comoments *from);
double comoments_covariance(const struct comoments *m); /* c_xy / n; 0 when empty */

/* Like comoments_add() and comoments_merge(), with all sums, for `count` values x that belong
 * to the same y. The moments of y are kept once by the caller, in `y_m` and `y_h`; they must
 * not contain the new values yet. As exact as m2 (Pebay 2008). O(count). */
void comoments_add_high(struct comoments *m, const double *x, uint32_t count, double y,
    const struct moments *y_m, const struct moments_high *y_h);
void comoments_merge_high(struct comoments *into, const struct moments *y_m,
    const struct moments_high *y_h, const struct comoments *from, const struct moments *from_y_m,
    const struct moments_high *from_y_h);

/*
 * Quantiles in fixed memory: DDSketch (Masson, Rim & Lee, VLDB 2019) with a relative error of
 * at most 1 % from 1 ns to 40 days. Merging adds buckets. When a bucket reaches 2^32 - 1
 * values, all counts are halved, which leaves quantiles as they are. O(1) to add, O(buckets)
 * for a quantile or a merge.
 */
enum { SKETCH_BUCKETS = 1792 };

struct sketch {
	uint64_t n;             /* sum of all buckets; halved with them */
	int64_t min_ns, max_ns; /* exact; no quantile is outside this range */
	uint32_t buckets[SKETCH_BUCKETS];
};

void sketch_add(struct sketch *s, int64_t value_ns);
void sketch_merge(struct sketch *into, const struct sketch *from);
/* The nearest rank (quantile.h) of the values within 1 %; q in 0..1; 0 when empty. */
double sketch_quantile(const struct sketch *s, double q);
/* Upper bound of the quantile, by the error of the sketch. */
double sketch_quantile_most(const struct sketch *s, double q);
/* counts[i]: how many values are at most upto_ns[i], which ascend. The bucket that a bound lies in counts as a whole: values up to 2 %
 * above it. O(buckets + n). */
void sketch_counts(const struct sketch *s, const int64_t *upto_ns, uint32_t n, uint64_t *counts);
/* The mean, over all values, of what they have beyond this one, max(0, value - beyond_ns), within 2 %; 0 when empty. O(buckets). */
double sketch_beyond(const struct sketch *s, double beyond_ns);
/* The share of the variance that the slowest `part` of the values carries, 0 to 1: 1 - (1 - part) *
 * var(the others) / var(all), of the values that buckets stand for. Of a normal distribution 0.14 for
 * part = 0.02, of an exponential one 0.33, of two values far apart up to 1. 0 without variance. O(buckets). */
double sketch_tail_carries(const struct sketch *s, double part);

#endif
