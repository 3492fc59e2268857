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
	double factor;  /* its distance from the usual is multiplied by that; 1: as it was seen */
};

/*
 * The slowest samples stand for a tail of which they show a part: an interval from draws of them alone ends too soon. So
 * rounds draw the values in it from a Pareto distribution with Hill's index of the sqrt(n) slowest (Davidson & Flachaire, J. Econometrics
 * 141, 2007, for measures of inequality, to which the CV belongs). Values are distances from the mean of
 * those that are not in the tail. The largest is what one of 2 TAIL_STEPS sqrt(n) values has.
 */
enum { TAIL_STEPS = 16 }; /* distances, each as likely as the others */

struct sample_tail {
	bool *has;                 /* [samples]: whether it is in the tail */
	double *distance;          /* [samples], of those in the tail */
	double radius[TAIL_STEPS]; /* distances to draw */
	double mean, square;       /* of radius and of its square */
	double centre;             /* mean of the values that are not in the tail */
};

struct bootstrap {
	uint32_t n; /* number of samples */
	uint32_t ndrawn;
	/* Of the current round: each sample that was drawn, in ascending order; up to n. */
	struct draw *drawn;
	uint32_t *times; /* [n], including those drawn 0 times */
	gsl_rng rng;
};

/* The tail of n values; no value is in it if they are too few, or do not vary. In the arena. O(n log n). ERR_MEMORY. */
int sample_tail_of(struct sample_tail *ret, const double *values, uint32_t n, struct arena *a);

/* All memory is in the arena. n >= 1. ERR_MEMORY. */
int bootstrap_begin(struct bootstrap *b, uint32_t n, uint64_t seed, struct arena *a);
/*
 * The slowest samples may be of a mode that is rare. If that mode has the slowest `count` of n samples, its true part is
 * in the exact interval of a Poisson count (Garwood, Biometrika 28, 1936); weights (with mean 1) of its samples and of the others at both
 * ends of it.
 */
enum { RARE_MOST = 10 }; /* of more, the rounds tell as much */

struct rare_modes {
	uint32_t n;             /* modes: the slowest sample, the two slowest, ... */
	uint32_t at[RARE_MOST]; /* samples, the slowest first */
	struct {
		double rare[2], other[2]; /* where it is rarer than it seems; more frequent */
	} weights[RARE_MOST];
};

/* At most a third of n is rare. O(n). */
void rare_modes_of(struct rare_modes *ret, const double *values, uint32_t n, double confidence);

void bootstrap_draw(struct bootstrap *b); /* draws the next round; O(n) */
/* The same, with a distance of its own for each draw of a sample in the tail. */
void bootstrap_draw_tail(struct bootstrap *b, const struct sample_tail *t);

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

/*
 * The lower end of the interval of the share of an edge in the variance by the number of the requests that make up what it has, which is that of a Poisson distribution.
 * Where few requests make up the variance share_intervals() says that any share is possible, since the mean of their squares has no normal distribution. How often such requests
 * come is known all the same, up to the factors of the exact interval of a Poisson mean (Garwood, Biometrika 28, 1936), and if they came so much
 * more seldom, and what else varies so much more often, the edge would have this share.
 *
 * What counts as their number is the square of the sum of what each adds to the covariance by the sum of the squares of that: few large ones among many
 * small ones count as few. In a group that stands for requests of other times, too, those that come together count once: their number is no larger than by the
 * means of batches of successive requests (dependence.h), as few as eight of them, each with the uncertainty of that many batches.
 *
 * ret->low 0: it is less than one, the edge has none of the variance, or the moments of the group are those of samples that do not have the few. Uses the arena for temporary memory. O(1), with
 * batches O(samples log samples). ERR_MEMORY.
 */
struct few_low {
	double low;    /* share */
	double events; /* the number of requests, or of bursts of them */
};
int share_few_low(
    struct few_low *ret, const struct group *g, uint32_t edge, double confidence, struct arena *a);

/* The same of an edge that has all of the variance, or this share, nearly all: of `events` requests, or bursts of them, none was seen that another place
 * has. So many of them at least are the edge's, by the exact interval of a share of none (Clopper & Pearson, Biometrika 26, 1934), and others may make up as much as they do. O(1). */
double share_all_low(double share, double events, double confidence);

/*
 * The lower end of a share whose interval reaches to 0. few: the edge is one that few passages take nearly all of the time of.
 *
 * 1. `few`, and SHARE_FEW_MIN events make it up: by share_few_low().
 * 2. Not `few`, of SHARE_BURSTS_OF samples it has SHARE_NEARLY_ALL of the variance, SHARE_BURSTS_MIN events make it up, and as many that fall anywhere, as a preemption does, would all be in
 *    it by chance only: what it takes of a usual request, to the power of their number, is at most SHARE_CHANCE_P. By share_all_low().
 * 3. Otherwise *low stays what it is, which is less than 0 where the interval is.
 *
 * Costs and errors as of share_few_low().
 */
int share_low_by_events(double *low, const struct group *g, uint32_t edge, bool few,
    double confidence, struct arena *a);
#define SHARE_FEW_MIN 4.0
#define SHARE_NEARLY_ALL 0.9
#define SHARE_BURSTS_MIN 2.0
#define SHARE_BURSTS_OF 135 /* samples: among fewer, bursts cannot be told from each other */
#define SHARE_CHANCE_P 0.01

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
