/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_randist.h>

#include "analysis/bootstrap.h"
#include "analysis/quantile.h"

/* GSL's allocation functions end the program when out of memory, so the state of the generator
 * is in the arena. */
int
bootstrap_begin(struct bootstrap *b, uint32_t n, uint64_t seed, struct arena *a)
{
	assert(n >= 1);
	*b = (struct bootstrap){ .n = n,
		.rng = { gsl_rng_taus2, arena_alloc(a, gsl_rng_taus2->size) } };
	b->drawn = arena_alloc(a, n * sizeof *b->drawn);
	b->times = arena_alloc(a, n * sizeof *b->times);
	if (b->rng.state == NULL || b->drawn == NULL || b->times == NULL)
		return ERR_MEMORY;
	gsl_rng_set(&b->rng, (unsigned long)((seed ^ seed >> 32) & UINT32_MAX));
	return 0;
}

/* A 32-bit number times n, shifted right by 32 bits. The bias is at most n / 2^32, far below
 * the error of a few hundred rounds. */
void
bootstrap_draw(struct bootstrap *b)
{
	memset(b->times, 0, b->n * sizeof *b->times);
	for (uint32_t i = 0; i < b->n; i++)
		b->times[(uint64_t)gsl_rng_get(&b->rng) * b->n >> 32]++;
	b->ndrawn = 0;
	for (uint32_t i = 0; i < b->n; i++) {
		b->drawn[b->ndrawn] = (struct draw){ i, b->times[i] };
		b->ndrawn += b->times[i] > 0;
	}
}

struct unsampled
unsampled_of(uint32_t n, uint64_t n_all)
{
	double part = n_all > n ? (double)n / (double)n_all : 1;

	return (struct unsampled){ sqrt(part), sqrt(1 - part), 0 };
}

void
unsampled_draw(struct unsampled *u, struct bootstrap *b)
{
	if (u->rest > 0)
		u->normal = gsl_ran_gaussian_ziggurat(&b->rng, 1);
}

static int
by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void
insert_sorted(double *v, uint32_t n)
{
	for (uint32_t i = 1; i < n; i++) {
		double x = v[i];
		uint32_t at = i;

		for (; at > 0 && v[at - 1] > x; at--)
			v[at] = v[at - 1];
		v[at] = x;
	}
}

static double
median_of_three(double a, double b, double c)
{
	if (a > b)
		return a < c ? a : b > c ? b : c;
	return b < c ? b : a > c ? a : c;
}

/* Hoare's partition: values <= pivot come first, values >= pivot after them. Returns how many
 * come first. */
static uint32_t
split(double *v, uint32_t n, double pivot)
{
	int64_t i = -1, j = n;

	for (;;) {
		double swap;

		while (v[++i] < pivot)
			;
		while (v[--j] > pivot)
			;
		if (i >= j)
			return (uint32_t)j + 1;
		swap = v[i];
		v[i] = v[j];
		v[j] = swap;
	}
}

/* Quicksort (Hoare 1962) with inlined comparison: the rounds of each edge are sorted, and the
 * function calls of qsort() would take half of the time of a judgement. After too many bad
 * splits qsort() takes over. */
static void
sort_part(double *v, uint32_t n, uint32_t splits)
{
	while (n > 24) {
		double pivot = median_of_three(v[0], v[n / 2], v[n - 1]);
		uint32_t left;

		if (splits-- == 0) {
			qsort(v, n, sizeof *v, by_size);
			return;
		}
		left = split(v, n, pivot);
		sort_part(v, left, splits);
		v += left;
		n -= left;
	}
	insert_sorted(v, n);
}

void
sort_doubles(double *values, uint32_t n)
{
	uint32_t splits = 2;

	for (uint32_t left = n; left > 1; left /= 2)
		splits += 2;
	sort_part(values, n, splits);
}

double
select_rank(double *v, uint32_t n, uint32_t rank)
{
	uint32_t low = 0, high = n - 1;

	assert(rank < n);
	while (low < high) {
		double pivot = v[low + (high - low) / 2];
		uint32_t left = low + split(v + low, high - low + 1, pivot);

		if (rank < left)
			high = left - 1;
		else
			low = left;
	}
	return v[rank];
}

static double
between(const double *sorted, uint32_t n, double at)
{
	uint32_t low = at > 0 ? (uint32_t)at : 0;

	if (at <= 0 || n < 2)
		return sorted[0];
	return low + 1 < n ? sorted[low] + (at - low) * (sorted[low + 1] - sorted[low])
	                   : sorted[n - 1];
}

double
quantile_of_rounds(const double *sorted, uint32_t n, double p)
{
	return between(sorted, n, p * (n + 1) - 1);
}

/* Behind the rank that select_rank() placed, all values are as large or larger: the next in
 * order is the least of them. */
double
quantile_of_unsorted_rounds(double *values, uint32_t n, double p)
{
	double at = p * (n + 1) - 1, next;
	uint32_t low = at > 0 ? (uint32_t)at : 0;

	assert(n > 0);
	if (low >= n - 1)
		low = n - 1;
	next = select_rank(values, n, low);
	if (at <= 0 || low == n - 1)
		return next;
	for (uint32_t i = low + 2; i < n; i++)
		if (values[i] < values[low + 1])
			values[low + 1] = values[i];
	return next + (at - low) * (values[low + 1] - next);
}

double
quantile_of_samples(const double *sorted, uint32_t n, double q)
{
	return sorted[quantile_rank(n, q)];
}

struct interval
interval_with(struct interval v, double x)
{
	return (struct interval){ fmin(v.low, x), fmax(v.high, x) };
}

/* ---- spread ---- */

struct spread_estimate {
	double mean, mean_se, log_cv, se;
};

/*
 * Mean and log(CV) with their standard errors, by influence functions. The influence of a value
 * on log(CV) is
 *
 *	(u^2 / var - 1) / 2 - u / mean,	u = value - mean
 *
 * The logarithm makes the error independent of the scale: spread multiplies, it does not add.
 */
static struct spread_estimate
estimate_of(const double *values, const struct draw *drawn, uint32_t ndrawn, double n)
{
	struct spread_estimate o = { 0 };
	double variance = 0, sum = 0;

	for (uint32_t i = 0; i < ndrawn; i++)
		o.mean += drawn[i].times * values[drawn[i].at];
	o.mean /= n;
	for (uint32_t i = 0; i < ndrawn; i++) {
		double u = values[drawn[i].at] - o.mean;

		variance += drawn[i].times * u * u;
	}
	variance /= n;
	if (variance <= 1e-24 * o.mean * o.mean || o.mean <= 0)
		return o;
	for (uint32_t i = 0; i < ndrawn; i++) {
		double u = values[drawn[i].at] - o.mean,
		       f = (u * u * (1 / variance) - 1) / 2 - u * (1 / o.mean);

		sum += drawn[i].times * f * f;
	}
	o.mean_se = sqrt(variance / n);
	o.se = sqrt(sum) / n;
	o.log_cv = log(variance * n / (n - 1)) / 2 - log(o.mean);
	return o;
}

int
spread_of(struct spread *ret, const double *values, uint32_t n, uint64_t n_all, uint32_t rounds,
    uint64_t seed, struct arena *a)
{
	struct unsampled u = unsampled_of(n, n_all);
	struct bootstrap b;
	struct spread_estimate all, o;

	assert(n >= 1 && n_all >= n);
	if (bootstrap_begin(&b, n, seed, a) != 0)
		return ERR_MEMORY;
	*ret = (struct spread){ .rounds = rounds };
	ret->t = arena_calloc(a, rounds, sizeof *ret->t);
	ret->mean_t = arena_calloc(a, rounds, sizeof *ret->mean_t);
	if (ret->t == NULL || ret->mean_t == NULL)
		return ERR_MEMORY;
	for (uint32_t i = 0; i < n; i++)
		b.drawn[i] = (struct draw){ i, 1 };
	all = estimate_of(values, b.drawn, n, n);
	for (uint32_t i = 0; i < rounds && all.se > 0; i++) {
		bootstrap_draw(&b);
		unsampled_draw(&u, &b);
		o = estimate_of(values, b.drawn, b.ndrawn, n);
		if (o.se > 0) {
			ret->t[i] = (u.seen * (o.log_cv - all.log_cv) +
					u.rest * u.normal * all.se) /
			            o.se;
			ret->mean_t[i] = (u.seen * (o.mean - all.mean) +
					     u.rest * u.normal * all.mean_se) /
			                 o.mean_se;
		}
	}
	sort_doubles(ret->t, rounds);
	sort_doubles(ret->mean_t, rounds);
	ret->log_cv = all.log_cv;
	ret->mean = all.mean;
	ret->se = all.se;
	ret->mean_se = all.mean_se;
	return 0;
}

/* Bootstrap-t interval: the errors of the rounds, in standard errors, are taken as ours. */
static struct interval
bootstrap_t_interval(
    double estimate, double se, const double *t, uint32_t rounds, double confidence, double stretch)
{
	double tail = (1 - confidence) / 2;
	struct interval v = { estimate, estimate };

	if (se > 0 && rounds > 0) {
		v.low -= fmax(0, quantile_of_rounds(t, rounds, 1 - tail)) * stretch * se;
		v.high -= fmin(0, quantile_of_rounds(t, rounds, tail)) * stretch * se;
	}
	return v;
}

struct interval
spread_cv(const struct spread *s, double confidence, double stretch)
{
	struct interval v = bootstrap_t_interval(
	    s->log_cv, s->se, s->t, s->rounds, confidence, stretch);

	return s->se > 0 ? (struct interval){ exp(v.low), exp(v.high) } : (struct interval){ 0, 0 };
}

struct interval
spread_mean(const struct spread *s, double confidence, double stretch)
{
	return bootstrap_t_interval(s->mean, s->mean_se, s->mean_t, s->rounds, confidence, stretch);
}

/* The fraction of rounds whose error, if it were ours, puts the true value above the
 * threshold. */
static double
above(double estimate, double se, const double *t, uint32_t rounds, double threshold)
{
	uint32_t n = 0;

	if (se <= 0 || rounds == 0)
		return estimate > threshold;
	for (uint32_t i = 0; i < rounds; i++)
		n += estimate - t[i] * se > threshold;
	return (n + 0.5) / (rounds + 1);
}

double
spread_cv_above(const struct spread *s, double cv)
{
	return s->se > 0 ? above(s->log_cv, s->se, s->t, s->rounds, log(cv)) : 0 > cv;
}

double
spread_mean_above(const struct spread *s, double mean)
{
	return above(s->mean, s->mean_se, s->mean_t, s->rounds, mean);
}
