/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Limits of many measures of one thing: three sigma, widened so far that of things that are as the ones before, at most 1 % are outside of
 * any limit.
 *
 * Times and counts are compared as logarithms: y = ln(1 + x / resolution), since times have heavy tails, and what is below the resolution matters to
 * nobody. Per measure, on each side of the mean, one sigma is the greatest of
 *	- the standard deviation;
 *	- a third of the distance to the 99.5 % (0.5 %) quantile: a wait that only one request in fifty has, has no normal distribution;
 *	- the change that the resolution stands for: a measure that never varied has limits, too.
 * A thing is outside if one measure is more than k sigma from its mean. k is the greater of
 *	- the quantile of the t distribution that stands for three sigma of a sample of this size, times sqrt(1 + 1/n): the prediction interval for
 *	  one more value (Hahn and Meeker, Statistical Intervals, 1991, section 4.7);
 *	- the (n + 1) LIMITS_ALPHA-th greatest of the scores of the sample's own things, each by the means and sigmas of the other folds of the
 *	  sample (conformal prediction: Vovk, Gammerman and Shafer, 2005; by cross-validation): it makes good for many measures at once. In samples that are
 *	  too small for this rank it is the greatest one, times 1 to LIMITS_SMALL.
 * What comes in less than LIMITS_RARE of the things has a k of its own: a wait that is seen for the first time is the one thing that small samples
 * cannot know, and would widen the limits of all others.
 * Which of this is needed was measured: bench/kernel_patterns_limits.c, docs/kernel.md.
 */
#ifndef KERNEL_PATTERNS_LIMITS_H
#define KERNEL_PATTERNS_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"

#define LIMITS_ALPHA 0.004 /* for each of both k */
#define LIMITS_SMALL 2.5
#define LIMITS_RARE 0.2
#define LIMITS_SIGMAS 3

enum { LIMITS_SAMPLES_MIN = 50 };

struct limit {
	double mean, below, above; /* of y; one sigma on each side */
	bool rare;
	/* How many of the sample's own things are below and above, by the other folds' means and sigmas: by over LIMITS_SIGMAS; by over one. */
	uint32_t low, high, low_one, high_one;
};

struct limits {
	struct limit *list; /* by measure */
	uint32_t nmeasures, samples;
	double k[2];      /* of what is usual; of what is rare */
	uint32_t outside; /* of the sample's own things, by the other folds' means and sigmas */
};

struct limits_options { /* what is left out; for measuring what it is good for */
	bool plain_quantile, plain_t, plain_k, one_k;
};

/*
 * y is [samples][nmeasures]; floors is [nmeasures]: the least sigma, > 0. Samples must be in an order that means nothing. *ret is in the arena. o may be NULL.
 * ERR_INPUT: fewer than LIMITS_SAMPLES_MIN samples; ERR_MEMORY. O(nmeasures x samples x log samples).
 */
int limits_fit(struct limits *ret, const float *y, uint32_t samples, uint32_t nmeasures,
    const double *floors, const struct limits_options *o, struct arena *a, struct err *e);

/* How many sigma y is from the mean; negative: below. */
double limit_score(const struct limit *l, double y);
/* Whether it is outside of the measure's limits. */
bool limit_outside(const struct limits *l, uint32_t measure, double y);

/* The probability that at least `outside` of `of` things are outside, if they are as the sample, in which `sample_outside` of `samples`
 * were: exact for any distribution of scores (the exceedances of an order statistic are beta-binomial; Wilks 1942). O(of). */
double limits_chance(uint32_t outside, uint32_t of, uint32_t sample_outside, uint32_t samples);

double limits_log(double x, double resolution);
double limits_value(double y, double resolution); /* the inverse, >= 0 */

#endif
