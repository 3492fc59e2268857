/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How much less successive requests tell than independent ones. Requests that wait in one queue, for
 * one lock, or behind one burst take alike, so a mean over them varies by more than their number says.
 */
#ifndef ANALYSIS_DEPENDENCE_H
#define ANALYSIS_DEPENDENCE_H

#include <stdbool.h>

#include "analysis/group.h"

/* Fewer values are too few for batches. */
enum { DEPENDENCE_MIN = 24 };

/* The index of each sample in the order of the requests. In the arena. NULL: out of memory.
 * O(n log n). */
uint32_t *samples_in_order(const struct group *g, struct arena *a);

/* Whether neighbours in this order are correlated, beyond what chance has in one of 40 series. O(n). */
bool values_depend(const double *in_order, uint32_t n);

/*
 * By how much the variance of the mean of these values, which are in the order of the requests, is
 * larger than that of as many independent ones; at least 1. From the means of batches of successive values (Conway,
 * Management Science 10, 1963; Schmeiser, Operations Research 30, 1982: few and long batches, since short
 * ones depend on each other): the largest result of 8, 12 and 20 batches, as the length of dependence is not known.
 * 1 for fewer than DEPENDENCE_MIN values. O(n).
 */
double batch_inflation(const double *in_order, uint32_t n);

/* The same where n samples were kept of n_all values, each with the same probability: neighbours are n_all / n
 * values apart, and so much more of the correlation lies between them. */
double inflation_of_all(double inflation, uint32_t n, uint64_t n_all);

/* Numbers of batches that intervals are from, each with Student's t for it: 4, 8, 12, 20. The widest interval holds where the length of
 * dependence is not known. */
enum { BATCH_COUNTS = 4 };
extern const uint32_t BATCH_COUNT[BATCH_COUNTS];

/* Variances and covariance in the long run: those of independent values whose means would be as uncertain as those of
 * these, by the means of that many batches. */
struct long_run {
	double xx, xy, yy;
};

/* Of x and y, which are in the order of the requests. 2 <= batches <= n. O(n). */
struct long_run long_run_of(const double *x, const double *y, uint32_t n, uint32_t batches);

/* By how much a limit in standard errors is larger if the standard error is from that many batches: Student's t
 * over the normal quantile. 0 < confidence < 1; batches >= 2. */
double batch_stretch(double confidence, uint32_t batches);

#endif
