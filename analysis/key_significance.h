/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Whether a key is related to the time of an edge. The tests look at ranks only, so their p
 * holds for any distribution of times and keys. Used by keys.c.
 */
#ifndef ANALYSIS_KEY_SIGNIFICANCE_H
#define ANALYSIS_KEY_SIGNIFICANCE_H

#include "analysis/variance.h"

/* The values of one key, or the times of one edge, sorted once and used in all tests. */
struct ordering {
	uint32_t n;     /* number of values that are not missing */
	uint32_t *at;   /* [n]: samples, in ascending order of value */
	double *values; /* [nsamples], by sample; NAN: missing */
	uint32_t distinct;
};

/* In the arena. O(n log n). ERR_MEMORY. */
int ordering_of_key(struct ordering *ret, const struct group *g, uint32_t key, struct arena *a);
int ordering_of_edge(struct ordering *ret, const struct group *g, uint32_t edge, struct arena *a);

struct key_scratch; /* temporary memory of one test at a time */

/* NULL: out of memory. */
struct key_scratch *key_scratch_new(uint32_t nsamples, struct arena *a);

/* Fills the finding, except key and edge; p is not corrected yet. false: no test is possible,
 * because one of both is constant or there are too many categories. O(samples). */
bool key_significance_of_number(struct key_finding *f, const struct ordering *key,
    const struct ordering *edge, struct key_scratch *w);
bool key_significance_of_category(struct key_finding *f, const struct ordering *key,
    const struct ordering *edge, struct key_scratch *w);

/* Compares two categorical keys: whether each value of the finer one goes with one value of the
 * coarser one, and what the finer one explains beyond it. NESTED_NOT: it is not finer.
 * O(samples). */
enum key_nesting { NESTED_NOT, NESTED_SAME, NESTED_ADDS_NOTHING, NESTED_ADDS };

enum key_nesting key_nesting(const struct ordering *finer, const struct ordering *coarser,
    const struct ordering *edge, double q, double explain_min, struct key_scratch *w);

#endif
