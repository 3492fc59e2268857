/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Statistics of two samples: is there a change, and how much of it is sure. */
#ifndef REPORT_CHANGE_STATS_H
#define REPORT_CHANGE_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What can be said of calls that got slower, with one-sided error alpha. */
struct slower {
	double calls; /* the share of calls that take longer by more than a bucket, at least */
	double lost;  /* the share of all calls' time that is lost, each counting alike, at least */
	double p;     /* that it is only chance that any are slower */
};

/* Times by buckets of an eighth of an octave (see change.h), of calls of so many requests: calls of
 * one request go alike, so these count as evidence. Either side empty: 0, p 1. O(buckets x buckets
 * that calls are slower by). */
struct slower slower_of(const uint32_t *now, const uint32_t *then, uint32_t nbuckets,
    uint64_t requests_now, uint64_t requests_then, double alpha);

/* Lower bound of now / now_of - then / then_of, one-sided error alpha; both of > 0. */
double more_often(uint64_t now, uint64_t now_of, uint64_t then, uint64_t then_of, double alpha);
/* p of Fisher's exact test that it is not more often; counts under 2^32. O(standard deviation of
 * the counts). */
double more_often_p(uint64_t now, uint64_t now_of, uint64_t then, uint64_t then_of);

/* Makes each p what it is corrected for all n (Benjamini & Hochberg 1995). False: out of memory.
 * O(n log n). */
bool correct_p(double *p, size_t n);

double normal_p(double z);          /* two-sided */
double normal_z(double confidence); /* of a two-sided interval */

#endif
