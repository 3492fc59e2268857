/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Bucket i holds the values in (g^(i-1), g^i] with g = 1.01 / 0.99 and stands for 2 g^i / (g +
 * 1), which is within 1 % of all of them. Bucket 1790 ends at 40 days; the last bucket also
 * holds all larger values.
 */
#include <assert.h>
#include <math.h>

#include "analysis/moments.h"
#include "analysis/quantile.h"

#define GROWTH (1.01 / 0.99)

static uint32_t
bucket_of(int64_t value_ns)
{
	const double per_bucket = 0.020000666706669435; /* log(GROWTH) */
	double i;

	if (value_ns <= 1)
		return 0;
	i = ceil(log((double)value_ns) / per_bucket);
	return i < SKETCH_BUCKETS ? (uint32_t)i : SKETCH_BUCKETS - 1;
}

/* Halves all counts when a bucket is full; the quantiles stay the same. */
static void
halve(struct sketch *s)
{
	s->n = 0;
	for (int i = 0; i < SKETCH_BUCKETS; i++)
		s->n += s->buckets[i] /= 2;
}

static void
widen(struct sketch *s, int64_t min_ns, int64_t max_ns)
{
	s->min_ns = s->n == 0 || min_ns < s->min_ns ? min_ns : s->min_ns;
	s->max_ns = s->n == 0 || max_ns > s->max_ns ? max_ns : s->max_ns;
}

void
sketch_add(struct sketch *s, int64_t value_ns)
{
	uint32_t *bucket = &s->buckets[bucket_of(value_ns)];

	if (*bucket == UINT32_MAX)
		halve(s);
	widen(s, value_ns, value_ns);
	s->n++;
	++*bucket;
}

void
sketch_merge(struct sketch *into, const struct sketch *from)
{
	uint64_t most = 0;
	int shift;

	for (int i = 0; i < SKETCH_BUCKETS; i++)
		if ((uint64_t)into->buckets[i] + from->buckets[i] > most)
			most = (uint64_t)into->buckets[i] + from->buckets[i];
	shift = most > UINT32_MAX;
	if (from->n > 0)
		widen(into, from->min_ns, from->max_ns);
	into->n = 0;
	for (int i = 0; i < SKETCH_BUCKETS; i++) {
		into->buckets[i] = (uint32_t)(((uint64_t)into->buckets[i] + from->buckets[i]) >>
					      shift);
		into->n += into->buckets[i];
	}
}

static double
bucket_value(int i)
{
	return i == 0 ? 1 : 2 * pow(GROWTH, i) / (GROWTH + 1);
}

double
sketch_quantile(const struct sketch *s, double q)
{
	uint64_t rank, seen = 0;
	double value;
	int i = 0;

	assert(q >= 0 && q <= 1);
	if (s->n == 0)
		return 0;
	rank = quantile_rank(s->n, q);
	while (i < SKETCH_BUCKETS - 1 && (seen += s->buckets[i]) <= rank)
		i++;
	value = bucket_value(i);
	return fmin(fmax(value, (double)s->min_ns), (double)s->max_ns);
}

double
sketch_quantile_most(const struct sketch *s, double q)
{
	return fmin(sketch_quantile(s, q) / 0.99, (double)s->max_ns);
}

void
sketch_counts(const struct sketch *s, const int64_t *upto_ns, uint32_t n, uint64_t *counts)
{
	uint64_t seen = 0;
	uint32_t bucket = 0;

	for (uint32_t i = 0; i < n; i++) {
		for (uint32_t last = bucket_of(upto_ns[i]); bucket <= last; bucket++)
			seen += s->buckets[bucket];
		counts[i] = seen;
	}
}

double
sketch_beyond(const struct sketch *s, double beyond_ns)
{
	double sum = 0;

	for (int i = 0; i < SKETCH_BUCKETS; i++)
		if (s->buckets[i] > 0)
			sum += s->buckets[i] * fmax(0, bucket_value(i) - beyond_ns);
	return s->n > 0 ? sum / (double)s->n : 0;
}

double
sketch_tail_carries(const struct sketch *s, double part)
{
	double rest = floor((1 - part) * (double)s->n), seen = 0;
	struct moments all = { 0 }, others = { 0 };

	assert(part >= 0 && part <= 1);
	for (int i = 0; i < SKETCH_BUCKETS; i++) {
		const struct moments here = { .n = s->buckets[i], .mean = bucket_value(i) },
				     fast = { .n = (uint64_t)fmax(
						  0, fmin(s->buckets[i], rest - seen)),
					     .mean = here.mean };

		moments_merge(&all, &here);
		moments_merge(&others, &fast);
		seen += s->buckets[i];
	}
	return all.m2 > 0 ? 1 - others.m2 / all.m2 : 0;
}
