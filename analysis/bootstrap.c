/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_randist.h>

#include "analysis/bootstrap.h"
#include "analysis/quantile.h"

enum { TAIL_LEAST = 3 }; /* samples that an index is from */

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
static uint32_t
draw_below(struct bootstrap *b, uint32_t n)
{
	return (uint32_t)((uint64_t)gsl_rng_get(&b->rng) * n >> 32);
}

static void
draw_times(struct bootstrap *b)
{
	memset(b->times, 0, b->n * sizeof *b->times);
	for (uint32_t i = 0; i < b->n; i++)
		b->times[draw_below(b, b->n)]++;
}

void
bootstrap_draw(struct bootstrap *b)
{
	draw_times(b);
	b->ndrawn = 0;
	for (uint32_t i = 0; i < b->n; i++) {
		b->drawn[b->ndrawn] = (struct draw){ i, b->times[i], 1 };
		b->ndrawn += b->times[i] > 0;
	}
}

/* The mean of a Poisson distribution of which at most k are seen with probability p: by bisection. */
static double
poisson_mean(uint32_t k, double p)
{
	double low = 0, high = k + 40 + 20 * sqrt(k + 1);

	for (int i = 0; i < 50; i++) {
		double mean = (low + high) / 2, term = exp(-mean), sum = term;

		for (uint32_t x = 1; x <= k; x++)
			sum += term *= mean / x;
		if (sum > p)
			low = mean;
		else
			high = mean;
	}
	return low;
}

void
rare_modes_of(struct rare_modes *ret, const double *values, uint32_t n, double confidence)
{
	double tail = (1 - confidence) / 2;

	*ret = (struct rare_modes){ 0 };
	for (uint32_t i = 0; i < n; i++) {
		uint32_t at = ret->n;

		while (at > 0 && values[i] > values[ret->at[at - 1]])
			at--;
		if (at >= RARE_MOST)
			continue;
		ret->n += ret->n < RARE_MOST;
		memmove(&ret->at[at + 1], &ret->at[at], (ret->n - 1 - at) * sizeof *ret->at);
		ret->at[at] = i;
	}
	if (ret->n > n / 3)
		ret->n = n / 3;
	for (uint32_t i = 0; i < ret->n; i++) {
		double count = i + 1, low = poisson_mean(i, 1 - tail) / n,
		       high = fmin(1, poisson_mean(i + 1, tail) / n);

		ret->weights[i].rare[0] = low * n / count;
		ret->weights[i].rare[1] = high * n / count;
		ret->weights[i].other[0] = (1 - low) * n / (n - count);
		ret->weights[i].other[1] = (1 - high) * n / (n - count);
	}
}

/* Hill's index of values that are all beyond `from` (Annals of Statistics 3, 1975). */
static double
tail_index(const double *far, uint32_t n, double from)
{
	double sum = 0;

	for (uint32_t i = 0; i < n; i++)
		sum += log(far[i] / from) / n;
	return sum;
}

int
sample_tail_of(struct sample_tail *ret, const double *values, uint32_t n, struct arena *a)
{
	double *sorted = arena_alloc(a, (n + 1) * sizeof *sorted), from, index;
	uint32_t k = (uint32_t)lround(sqrt(n));

	*ret = (struct sample_tail){ .has = arena_calloc(a, n + 1, sizeof *ret->has),
		.distance = arena_calloc(a, n + 1, sizeof *ret->distance) };
	if (sorted == NULL || ret->has == NULL || ret->distance == NULL)
		return ERR_MEMORY;
	for (uint32_t i = 0; i < n; i++)
		ret->centre += values[i] / n;
	if (k < TAIL_LEAST || n < 4 * k)
		return 0;
	memcpy(sorted, values, n * sizeof *sorted);
	sort_doubles(sorted, n);
	ret->centre = 0;
	for (uint32_t i = 0; i < n - k; i++)
		ret->centre += sorted[i] / (n - k);
	for (uint32_t i = 0; i < k; i++)
		sorted[n - k + i] -= ret->centre;
	from = sorted[n - k - 1] - ret->centre;
	/* values that are equal to the last one before the tail are not in it */
	if (!(from > 1e-9 * fabs(ret->centre)))
		return 0;
	/* the largest of k is no nearer than the one that is expected: of two modes far apart, Hill's index is no index */
	index = fmin(tail_index(sorted + n - k, k, from), log(sorted[n - 1] / from) / log(k + 1));
	for (uint32_t i = 0; i < n; i++) {
		double distance = values[i] - ret->centre;

		if (!(distance > from * (1 + 1e-12)))
			continue;
		ret->has[i] = true;
		ret->distance[i] = distance;
	}
	for (uint32_t i = 0; i < TAIL_STEPS; i++) {
		ret->radius[i] = from * pow((i + 0.5) / TAIL_STEPS, -index);
		ret->mean += ret->radius[i] / TAIL_STEPS;
		ret->square += ret->radius[i] * ret->radius[i] / TAIL_STEPS;
	}
	return 0;
}

void
bootstrap_draw_tail(struct bootstrap *b, const struct sample_tail *t)
{
	draw_times(b);
	b->ndrawn = 0;
	for (uint32_t i = 0; i < b->n; i++) {
		if (b->times[i] == 0)
			continue;
		if (!t->has[i]) {
			b->drawn[b->ndrawn++] = (struct draw){ i, b->times[i], 1 };
			continue;
		}
		for (uint32_t k = 0; k < b->times[i]; k++)
			b->drawn[b->ndrawn++] = (struct draw){ i, 1,
				t->radius[draw_below(b, TAIL_STEPS)] / t->distance[i] };
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
/* Values are centred; `centre` is what was taken from them. */
static struct spread_estimate
estimate_of(
    const double *values, double centre, const struct draw *drawn, uint32_t ndrawn, double n)
{
	struct spread_estimate o = { 0 };
	double variance = 0, sum = 0, mean = 0;

	for (uint32_t i = 0; i < ndrawn; i++)
		mean += drawn[i].times * drawn[i].factor * values[drawn[i].at];
	mean /= n;
	o.mean = centre + mean;
	for (uint32_t i = 0; i < ndrawn; i++) {
		double u = drawn[i].factor * values[drawn[i].at] - mean;

		variance += drawn[i].times * u * u;
	}
	variance /= n;
	if (variance <= 1e-24 * o.mean * o.mean || o.mean <= 0)
		return o;
	for (uint32_t i = 0; i < ndrawn; i++) {
		double u = drawn[i].factor * values[drawn[i].at] - mean,
		       f = (u * u * (1 / variance) - 1) / 2 - u * (1 / o.mean);

		sum += drawn[i].times * f * f;
	}
	o.mean_se = sqrt(variance / n);
	o.se = sqrt(sum) / n;
	o.log_cv = log(variance * n / (n - 1)) / 2 - log(o.mean);
	return o;
}

/* Mean and log(CV) of the population that rounds draw from. */
static void
population_of(
    double *mean, double *log_cv, const double *values, uint32_t n, const struct sample_tail *t)
{
	double sum = 0, square = 0, variance;

	for (uint32_t i = 0; i < n; i++) {
		sum += t->has[i] ? t->mean : values[i];
		square += t->has[i] ? t->square : values[i] * values[i];
	}
	sum /= n;
	variance = square / n - sum * sum;
	*mean = t->centre + sum;
	*log_cv = log(variance * n / (n - 1)) / 2 - log(*mean);
}

int
spread_of(struct spread *ret, const double *values, uint32_t n, uint64_t n_all, uint32_t rounds,
    uint64_t seed, struct arena *a)
{
	struct unsampled u = unsampled_of(n, n_all);
	struct bootstrap b;
	struct spread_estimate all, o;
	struct sample_tail t;
	double *centred = arena_alloc(a, n * sizeof *centred), mean, log_cv;

	assert(n >= 1 && n_all >= n);
	if (centred == NULL || bootstrap_begin(&b, n, seed, a) != 0 ||
	    sample_tail_of(&t, values, n, a) != 0)
		return ERR_MEMORY;
	for (uint32_t i = 0; i < n; i++)
		centred[i] = values[i] - t.centre;
	*ret = (struct spread){ .rounds = rounds };
	ret->t = arena_calloc(a, rounds, sizeof *ret->t);
	ret->mean_t = arena_calloc(a, rounds, sizeof *ret->mean_t);
	if (ret->t == NULL || ret->mean_t == NULL)
		return ERR_MEMORY;
	for (uint32_t i = 0; i < n; i++)
		b.drawn[i] = (struct draw){ i, 1, 1 };
	all = estimate_of(centred, t.centre, b.drawn, n, n);
	population_of(&mean, &log_cv, centred, n, &t);
	for (uint32_t i = 0; i < rounds && all.se > 0; i++) {
		bootstrap_draw_tail(&b, &t);
		unsampled_draw(&u, &b);
		o = estimate_of(centred, t.centre, b.drawn, b.ndrawn, n);
		if (o.se > 0) {
			ret->t[i] = (u.seen * (o.log_cv - log_cv) + u.rest * u.normal * all.se) /
			            o.se;
			ret->mean_t[i] = (u.seen * (o.mean - mean) +
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
