/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The bootstrap (Efron 1979): what an estimate would have been, had other
 * requests been seen, is tried by drawing as many samples as there are, with
 * repeats, many times over. Seeded: the same rounds every time (GSL's taus2,
 * L'Ecuyer 1999, its quickest). Used by this room alone.
 */
#ifndef ANALYSIS_BOOTSTRAP_H
#define ANALYSIS_BOOTSTRAP_H

#include <gsl/gsl_rng.h>

#include "analysis/variance.h"

struct draw {
	uint32_t at;    /* the sample */
	uint32_t times; /* how often it was drawn: 1 up */
};

struct bootstrap {
	uint32_t n; /* samples */
	uint32_t ndrawn;
	struct draw *drawn; /* of the round at hand: each sample that was drawn, in their order */
	uint32_t *times;    /* [n], 0 too */
	gsl_rng rng;
};

/* Everything is in the arena. n >= 1. 0 or ERR_MEMORY. */
int bootstrap_begin(struct bootstrap *b, uint32_t n, uint64_t seed, struct arena *a);
void bootstrap_draw(struct bootstrap *b); /* the next round. O(n) */

/*
 * An estimate and its standard error are by all that was ever seen; what its error is in standard
 * errors, the reservoir tells. Of n_all requests, n are there to draw from; the others' part of the
 * error is independent of what is drawn, and they are many: normal. So a round's error is the sum
 * of both parts.
 */
struct unsampled {
	double seen, rest; /* the weights of both parts; their squares add up to 1 */
	double normal;     /* of the round at hand */
};

struct unsampled unsampled_of(uint32_t n, uint64_t n_all);
void unsampled_draw(struct unsampled *u, struct bootstrap *b); /* for the next round */

/* Of sorted values; p-th of n values is where p of n + 1 gaps are below it, so that one more value
 * falls below it with chance p. Ends at the ends. */
double quantile_of_rounds(const double *sorted, uint32_t n, double p);
void sort_doubles(double *values, uint32_t n);
/* The value that stands at `rank` (< n) when they are sorted; afterwards none before it is larger,
 * none behind it smaller. (Hoare 1961, "find".) O(n) on average. */
double select_rank(double *values, uint32_t n, uint32_t rank);
/* As quantile_of_rounds() of them sorted; leaves them in some order. n > 0. O(n) on average. */
double quantile_of_unsorted_rounds(double *values, uint32_t n, double p);
/* The q-quantile of a sample, sorted: linear between neighbours. */
double quantile_of_samples(const double *sorted, uint32_t n, double q);

struct interval interval_with(struct interval v, double x); /* stretched to hold x too */

/* ---- intervals of the edges' shares ---- */

/* What of the total an edge is asked for. */
enum share_of { SHARE_OF_VARIANCE, SHARE_OF_MEAN };

/*
 * Sets the interval of each of the group's edges, whose `share` is set. See
 * share_interval.c for the method. In the arena, for a while. ERR_MEMORY.
 */
int share_intervals(struct edge_share *edges, const struct group *g, enum share_of of,
    double confidence, uint32_t rounds, uint64_t seed, struct arena *a);

/*
 * How much requests' times differ, and how sure that is: bootstrap-t (Efron 1981;
 * Hall 1988) of the mean, and of the logarithm of the coefficient of variation.
 */
struct spread {
	double log_cv, se; /* se 0: they are all the same, log_cv is not known */
	double mean, mean_se;
	double *t, *mean_t; /* [rounds], sorted: the rounds' errors in standard errors */
	uint32_t rounds;
};

/* Of n >= 1 values out of n_all >= n; errors are those of n. In the arena. O(n x rounds).
 * ERR_MEMORY. */
int spread_of(struct spread *ret, const double *values, uint32_t n, uint64_t n_all, uint32_t rounds,
    uint64_t seed, struct arena *a);

/* `stretch`: how much further away than usual the ends are. 1: an interval of that confidence. */
struct interval spread_cv(const struct spread *s, double confidence, double stretch);
struct interval spread_mean(const struct spread *s, double confidence, double stretch);
double spread_cv_above(const struct spread *s, double cv); /* confidence that it is, 0 to 1 */
double spread_mean_above(const struct spread *s, double mean);

#endif
