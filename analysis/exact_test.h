/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What few observations allow to say: probabilities that are counted, not approximated. Pure functions.
 */
#ifndef ANALYSIS_EXACT_TEST_H
#define ANALYSIS_EXACT_TEST_H

#include <stdint.h>

#include "analysis/bootstrap.h"
#include "base/arena.h"
#include "base/err.h"

/* The probability of k or more successes in n independent trials of probability p each, 0 to 1. Precondition: k <= n. O(n). */
double exact_binomial_tail(uint32_t k, uint32_t n, double p);

/*
 * The interval of a probability of which n independent trials had k successes, by which at least `confidence` of all such intervals hold
 * it (Clopper & Pearson, Biometrika 26, 1934): the p with P(X >= k) = (1 - confidence) / 2, and with P(X <= k) the same, by bisection.
 * 0 successes: from 0; n successes: to 1; no trial: from 0 to 1. O(n).
 */
struct interval exact_proportion(uint32_t k, uint32_t n, double confidence);

/*
 * The probability that the ranks of n values, drawn at random from all n + m values, add up to as much as those of x do, or more: that x
 * is as large beside y by chance (Wilcoxon, Biometrics Bulletin 1, 1945; equal values share the mean of their ranks). The number of choices
 * with each sum is counted by adding one value after the other (the shift algorithm of Streitberg & Röhmel, Statistical Software
 * Newsletter 12, 1986). *ret is 1 if n or m is 0. Precondition: n + m <= EXACT_RANKS_MAX. O((n + m)^2 x min(n, m)^2), in `a`.
 * ERR_MEMORY.
 */
enum { EXACT_RANKS_MAX = 128 };
int exact_rank_sum(double *ret, const double *x, uint32_t n, const double *y, uint32_t m,
    struct arena *a, struct err *e);

#endif
