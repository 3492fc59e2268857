/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Statistics of two samples: whether there is a change, and a lower bound on its size. */
#ifndef REPORT_CHANGE_STATS_H
#define REPORT_CHANGE_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Lower bounds, with one-sided error alpha. */
struct slower {
	double calls; /* share of calls that are slower by more than one bucket */
	double lost;  /* share of the calls' time that is lost, each call weighted equally */
	double p;     /* of the hypothesis that no call is slower */
};

/* Compares two histograms of call times in buckets of an eighth of an octave. The number of requests,
 * not of calls, is the sample size, since calls of one request are correlated. If one side is empty:
 * 0, p = 1. O(buckets x buckets of slow-down). */
struct slower slower_of(const uint32_t *now, const uint32_t *then, uint32_t nbuckets,
    uint64_t requests_now, uint64_t requests_then, double alpha);

/* Lower bound of now / now_of - then / then_of with one-sided error alpha; now_of, then_of > 0. */
double more_often(uint64_t now, uint64_t now_of, uint64_t then, uint64_t then_of, double alpha);
/* p of Fisher's exact test of the hypothesis that `now` is not more frequent; counts under 2^32.
 * O(standard deviation of the counts). */
double more_often_p(uint64_t now, uint64_t now_of, uint64_t then, uint64_t then_of);

/* Replaces each p by its value corrected for n tests (Benjamini & Hochberg 1995). False: out of
 * memory. O(n log n). */
bool correct_p(double *p, size_t n);

double normal_p(double z);          /* two-sided */
double normal_z(double confidence); /* of a two-sided interval */

#endif
