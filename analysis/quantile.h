/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The quantile of values, as all of Hone shows it: the nearest rank, which is the least of the values
 * that at least the fraction q of them does not exceed (definition 1 of Hyndman & Fan, "Sample
 * quantiles in statistical packages", The American Statistician 50(4), 1996: the inverse of the
 * empirical distribution function). So a quantile is the time of a request that occurred, and no
 * request is above p99 that is not among the slowest 1 %.
 *
 * Limits of intervals are quantiles of bootstrap rounds, which are something else: see
 * quantile_of_rounds() in bootstrap.h.
 */
#ifndef ANALYSIS_QUANTILE_H
#define ANALYSIS_QUANTILE_H

#include <stdint.h>

/* The place of the q-quantile among n >= 1 sorted values, counted from 0: ceil(q n) - 1, and 0 for q =
 * 0. q in 0..1; the rounding error of q n does not lead to the next place. */
uint64_t quantile_rank(uint64_t n, double q);

#endif
