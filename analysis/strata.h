/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * All that a group keeps of its requests, as a stratified sample: the slowest ones, which are all there
 * are, and the rest of the reservoir, each of which stands for as many others (Cochran, Sampling
 * Techniques, 1977, chapter 5). Figures of the tail come from the real slowest requests then, and
 * not from the two or three of them that a reservoir happens to have.
 */
#ifndef ANALYSIS_STRATA_H
#define ANALYSIS_STRATA_H

#include "analysis/bootstrap.h"

struct strata {
	uint32_t n, nrest; /* samples; of these the first nrest are of the reservoir */
	const struct sample **samples;
	double rest;     /* requests that each of those stands for, >= 1; the others are 1 each */
	double total;    /* requests in all; without slowest ones the number of samples */
	uint32_t *times; /* of the current round, by sample */
	struct bootstrap of_rest, of_slow;
};

/* In the arena. ERR_MEMORY. */
int strata_of(struct strata *ret, const struct group *g, uint64_t seed, struct arena *a);

/* Draws the next round, each stratum by itself, and sets `times`. O(n). */
void strata_draw(struct strata *s);

static inline double
strata_weight(const struct strata *s, uint32_t sample)
{
	return sample < s->nrest ? s->rest : 1;
}

/* The q-quantile of a group's response times: exact while the reservoir has all requests, then of the
 * sketch. 0 without requests. O(samples). NAN: out of memory. */
double group_quantile(const struct group *g, double q);

#endif
