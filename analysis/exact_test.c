/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/exact_test.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

enum { BISECTIONS = 60 }; /* to the last bit of a probability */

double
exact_binomial_tail(uint32_t k, uint32_t n, double p)
{
	double sum = 0;

	assert(k <= n);
	if (k == 0 || p >= 1)
		return 1;
	if (p <= 0)
		return 0;
	for (uint32_t i = k; i <= n; i++)
		sum += exp(lgamma(n + 1.0) - lgamma(i + 1.0) - lgamma(n - i + 1.0) + i * log(p) +
			   (n - i) * log1p(-p));
	return fmin(1, sum);
}

/* The p of which that many successes or more are as probable as that; their probability grows with p. */
static double
solve(uint32_t k, uint32_t n, double probability)
{
	double low = 0, high = 1;

	for (int i = 0; i < BISECTIONS; i++) {
		double p = (low + high) / 2;

		if (exact_binomial_tail(k, n, p) < probability)
			low = p;
		else
			high = p;
	}
	return (low + high) / 2;
}

struct interval
exact_proportion(uint32_t k, uint32_t n, double confidence)
{
	double beyond = (1 - confidence) / 2;

	return (struct interval){ k == 0 ? 0 : solve(k, n, beyond),
		k == n ? 1 : solve(k + 1, n, 1 - beyond) };
}

/* ---- ranks ---- */

struct value_of_sample {
	double value;
	bool first; /* it is of the sample whose ranks are added up */
};

static int
by_value(const void *a, const void *b)
{
	const struct value_of_sample *x = a, *y = b;

	return (x->value > y->value) - (x->value < y->value);
}

/* Twice the rank of each, so that the means of equal ones are whole; returns the sum of the sample's. */
static uint32_t
double_ranks(const struct value_of_sample *all, uint32_t n, uint32_t *ranks)
{
	uint32_t sum = 0, end;

	for (uint32_t i = 0; i < n; i = end) {
		for (end = i + 1; end < n && all[end].value == all[i].value; end++)
			;
		for (uint32_t k = i; k < end; k++) {
			ranks[k] = i + 1 + end;
			sum += all[k].first ? ranks[k] : 0;
		}
	}
	return sum;
}

/* Of all choices of n from the ranks, the share with this sum or less. ways: [n + 1][sums], all 0; sums is above any of them. */
static double
share_up_to(
    const uint32_t *ranks, uint32_t all, uint32_t n, uint32_t sum, double *ways, uint32_t sums)
{
	double up_to = 0, total = 0;

	ways[0] = 1;
	for (uint32_t i = 0; i < all; i++)
		for (uint32_t k = n; k-- > 0;)
			for (uint32_t s = 0; s + ranks[i] < sums; s++)
				ways[(k + 1) * sums + s + ranks[i]] += ways[k * sums + s];
	for (uint32_t s = 0; s < sums; s++) {
		total += ways[n * sums + s];
		up_to += s <= sum ? ways[n * sums + s] : 0;
	}
	return up_to / total;
}

int
exact_rank_sum(double *ret, const double *x, uint32_t n, const double *y, uint32_t m,
    struct arena *a, struct err *e)
{
	uint32_t all = n + m, least = n < m ? n : m, sums = 2 * all * least + 1, sum;
	struct value_of_sample *list = arena_calloc(a, all + 1, sizeof *list);
	uint32_t *ranks = arena_calloc(a, all + 1, sizeof *ranks);
	double *ways = arena_calloc(a, (size_t)(least + 1) * sums, sizeof *ways);

	assert(all <= EXACT_RANKS_MAX);
	*ret = 1;
	if (list == NULL || ranks == NULL || ways == NULL)
		return err_set(e, ERR_MEMORY, "out of memory for ranks");
	if (least == 0)
		return 0;
	/* What is large in x is small in y. Of the smaller sample the sum is made: from above of x, negated, or from below of y. */
	for (uint32_t i = 0; i < all; i++)
		list[i] = (struct value_of_sample){ (i < n ? x[i] : y[i - n]) * (n <= m ? -1 : 1),
			(i < n) == (n <= m) };
	qsort(list, all, sizeof *list, by_value);
	sum = double_ranks(list, all, ranks);
	*ret = share_up_to(ranks, all, least, sum, ways, sums);
	return 0;
}
