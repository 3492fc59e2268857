/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The bootstrap (Efron 1979): estimates the error of a statistic by drawing as many samples as
 * there are, with replacement, in many rounds. Seeded, so that results are reproducible (GSL's
 * taus2, L'Ecuyer 1999, the fastest generator of GSL). For the files of this room only.
 */
#ifndef ANALYSIS_BOOTSTRAP_H
#define ANALYSIS_BOOTSTRAP_H

#include <gsl/gsl_rng.h>

#include "analysis/variance.h"

struct draw {
	uint32_t at;    /* index of the sample */
	uint32_t times; /* how often it was drawn, >= 1 */
};

struct bootstrap {
	uint32_t n; /* number of samples */
	uint32_t ndrawn;
	/* Of the current round: each sample that was drawn, in ascending order. */
	struct draw *drawn;
	uint32_t *times; /* [n], including those drawn 0 times */
	gsl_rng rng;
};

/* All memory is in the arena. n >= 1. ERR_MEMORY. */
int bootstrap_begin(struct bootstrap *b, uint32_t n, uint64_t seed, struct arena *a);
void bootstrap_draw(struct bootstrap *b); /* draws the next round; O(n) */

/*
 * Estimate and standard error come from all n_all requests seen; the distribution of the error,
 * in standard errors, comes from the n samples of the reservoir. The error of a round has two
 * parts: that of the samples, which is drawn, and that of the other requests, which is
 * independent of it and, since they are many, normal. The error of the round is the weighted
 * sum of both.
 */
struct unsampled {
	double seen, rest; /* weights of both parts; their squares add up to 1 */
	double normal;     /* normal deviate of the current round */
};

struct unsampled unsampled_of(uint32_t n, uint64_t n_all);
/* Draws `normal` for the next round. */
void unsampled_draw(struct unsampled *u, struct bootstrap *b);

/* The p-quantile of sorted values such that one more value lies below it with probability p: it
 * has p of the n + 1 gaps below it. Limited to the least and the largest value. */
double quantile_of_rounds(const double *sorted, uint32_t n, double p);
void sort_doubles(double *values, uint32_t n);
/* The value at `rank` (< n) in sorted order; afterwards no value before it is larger and none
 * behind it smaller (quickselect: Hoare 1961, "find"). O(n) on average, O(n^2) at worst. */
double select_rank(double *values, uint32_t n, uint32_t rank);
/* Like quantile_of_rounds(), of unsorted values; changes their order. n > 0. O(n) on average. */
double quantile_of_unsorted_rounds(double *values, uint32_t n, double p);
/* The q-quantile of n > 0 sorted values: the nearest rank (quantile.h). */
double quantile_of_samples(const double *sorted, uint32_t n, double q);

struct interval interval_with(struct interval v, double x); /* extended to contain x */

/* ---- intervals of the edges' shares ---- */

/* What an edge has a share of. */
enum share_of { SHARE_OF_VARIANCE, SHARE_OF_MEAN };

/* Sets the interval of each edge of the group, from its `share`. The method is described in
 * share_interval.c. Uses the arena for temporary memory. ERR_MEMORY. */
int share_intervals(struct edge_share *edges, const struct group *g, enum share_of of,
    double confidence, uint32_t rounds, uint64_t seed, struct arena *a);

/* Variation of response times, and its error: bootstrap-t (Efron 1981; Hall 1988) of the mean,
 * and of the logarithm of the coefficient of variation (CV). */
struct spread {
	double log_cv, se; /* se 0: all values are equal, log_cv is undefined */
	double mean, mean_se;
	double *t, *mean_t; /* [rounds], sorted: errors of the rounds, in standard errors */
	uint32_t rounds;
};

/* Of n >= 1 values out of n_all >= n requests; standard errors are those of n. In the arena.
 * O(n x rounds). ERR_MEMORY. */
int spread_of(struct spread *ret, const double *values, uint32_t n, uint64_t n_all, uint32_t rounds,
    uint64_t seed, struct arena *a);

/* `stretch` multiplies the distance of the ends from the estimate; 1: an interval of this
 * confidence. */
struct interval spread_cv(const struct spread *s, double confidence, double stretch);
struct interval spread_mean(const struct spread *s, double confidence, double stretch);
/* Probability that the CV is above `cv`, 0 to 1. */
double spread_cv_above(const struct spread *s, double cv);
double spread_mean_above(const struct spread *s, double mean);

#endif
