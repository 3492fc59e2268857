/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Bucket i holds the values in (g^(i-1), g^i] with g = 1.01 / 0.99, and answers
 * 2 g^i / (g + 1), which is within 1 % of all of them. Bucket 1719 ends at 10 days.
 */
#include <math.h>

#include "analysis/moments.h"

#define GROWTH (1.01 / 0.99)

static uint32_t
bucket_of(int64_t value_ns)
{
	const double per_bucket = 0.020000666706669435;	/* log(GROWTH) */
	double i;

	if (value_ns <= 1)
		return 0;
	i = ceil(log((double)value_ns) / per_bucket);
	return i < SKETCH_BUCKETS ? (uint32_t)i : SKETCH_BUCKETS - 1;
}

void
sketch_add(struct sketch *s, int64_t value_ns)
{
	s->n++;
	s->buckets[bucket_of(value_ns)]++;
}

void
sketch_merge(struct sketch *into, const struct sketch *from)
{
	into->n += from->n;
	for (int i = 0; i < SKETCH_BUCKETS; i++)
		into->buckets[i] += from->buckets[i];
}

double
sketch_quantile(const struct sketch *s, double q)
{
	uint64_t rank, seen = 0;
	int i = 0;

	if (s->n == 0)
		return 0;
	rank = (uint64_t)(q * (double)(s->n - 1));
	while (i < SKETCH_BUCKETS - 1 && (seen += s->buckets[i]) <= rank)
		i++;
	return i == 0 ? 1 : 2 * pow(GROWTH, i) / (GROWTH + 1);
}
