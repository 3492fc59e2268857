/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Whether a key has to do with an edge's time: tests whose p holds whatever the
 * times and the key are spread like, since they look at ranks only. Used by keys.c
 * alone.
 */
#ifndef ANALYSIS_KEY_SIGNIFICANCE_H
#define ANALYSIS_KEY_SIGNIFICANCE_H

#include "analysis/variance.h"

/* The samples' values of one key, or one edge, in their order; sorted once, used with all others.
 */
struct ordering {
	uint32_t n;     /* values that are known */
	uint32_t *at;   /* [n]: samples, least first */
	double *values; /* [nsamples] by sample; NAN: missing */
	uint32_t distinct;
};

/* In the arena. O(n log n). ERR_MEMORY. */
int ordering_of_key(struct ordering *ret, const struct group *g, uint32_t key, struct arena *a);
int ordering_of_edge(struct ordering *ret, const struct group *g, uint32_t edge, struct arena *a);

struct key_scratch; /* memory for one test at a time */

struct key_scratch *key_scratch_new(uint32_t nsamples, struct arena *a); /* NULL: out of memory */

/* Sets all of the finding but key, edge, and what is done to p for all that was tried. false:
 * nothing to test, one of both is constant, or the categories are too many. O(samples). */
bool key_significance_of_number(struct key_finding *f, const struct ordering *key,
    const struct ordering *edge, struct key_scratch *w);
bool key_significance_of_category(struct key_finding *f, const struct ordering *key,
    const struct ordering *edge, struct key_scratch *w);

/*
 * Of two categories: what the finer one adds to the coarser, of which each of its
 * own is a part. NESTED_NOT: it is no finer one.
 */
enum key_nesting { NESTED_NOT, NESTED_SAME, NESTED_ADDS_NOTHING, NESTED_ADDS };

enum key_nesting key_nesting(const struct ordering *finer, const struct ordering *coarser,
    const struct ordering *edge, double q, double explain_min, struct key_scratch *w);

#endif
