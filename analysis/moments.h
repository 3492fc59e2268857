/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Count, mean, variance and covariance, streaming and mergeable (Welford 1962;
 * Chan, Golub & LeVeque 1979; for covariances Pebay 2008). All zeroes is empty.
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
double moments_variance(const struct moments *m); /* of the population: m2 / n; 0 when empty */
double moments_cv(const struct moments *m); /* standard deviation / mean; 0 when the mean is 0 */

/* The third and the fourth, beside a struct moments: how far its variance may be off. */
struct moments_high {
	double m3, m4;
};

/* `m` is without x still, or without what is merged into it: first these, then moments_add() or
 * moments_merge(). */
void moments_high_add(struct moments_high *h, const struct moments *m, double x);
void moments_high_merge(struct moments_high *into, const struct moments *m,
    const struct moments_high *from, const struct moments *from_m);

/* Two values that belong together: x an edge, y the response time. */
struct comoments {
	uint64_t n;
	double mean_x, mean_y, m2_x, c_xy;
	double c_xxy, c_xyy, c_xxyy,
	    c_xyyy; /* sums of such products, off the means: 0 unless all is by the *_high */
};

void comoments_add(struct comoments *m, double x, double y);
void comoments_merge(struct comoments *into, const struct comoments *from);
double comoments_covariance(const struct comoments *m); /* c_xy / n */

/* As comoments_add() and comoments_merge(), of all sums, for `count` values x at once that belong
 * to the same y, whose own moments are kept once, by the caller: in `y_m` and `y_h`, which are
 * without the new ones still. As exact as m2 (Pebay 2008). O(count). */
void comoments_add_high(struct comoments *m, const double *x, uint32_t count, double y,
    const struct moments *y_m, const struct moments_high *y_h);
void comoments_merge_high(struct comoments *into, const struct moments *y_m,
    const struct moments_high *y_h, const struct comoments *from, const struct moments *from_y_m,
    const struct moments_high *from_y_h);

/* Quantiles in fixed memory: DDSketch (Masson, Rim & Lee, VLDB 2019), relative error at most 1 %,
 * from 1 ns to 10 days; merging is addition. When a bucket has counted 2^32 values, all counts are
 * halved: quantiles stay what they are. */
enum { SKETCH_BUCKETS = 1792 };

struct sketch {
	uint64_t n;             /* of all buckets; halved with them */
	int64_t min_ns, max_ns; /* exact; no quantile is outside of them */
	uint32_t buckets[SKETCH_BUCKETS];
};

void sketch_add(struct sketch *s, int64_t value_ns);
void sketch_merge(struct sketch *into, const struct sketch *from);
double sketch_quantile(const struct sketch *s, double q); /* q in 0..1; 0 when empty */
double sketch_quantile_most(
    const struct sketch *s, double q); /* the quantile itself is not above this */

#endif
