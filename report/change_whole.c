/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/change_whole.h"

#include <math.h>
#include <stdlib.h>

#include "base/rng.h"
#include "report/change_stats.h"

enum { PER_OCTAVE = 8, DEALT_MAX = 1000, POOLED_MAX = 100000, TESTS = 3 };

struct sides {
	uint32_t nbuckets;
	const uint32_t *now, *then;
	uint64_t n, m; /* requests */
};

static uint64_t
count_of(const uint32_t *buckets, uint32_t from, uint32_t to)
{
	uint64_t n = 0;

	for (uint32_t i = from; i < to; i++)
		n += buckets[i];
	return n;
}

/* A time in the middle of a bucket; the unit cancels out. */
static double
time_of(uint32_t bucket)
{
	return exp2(bucket / (double)PER_OCTAVE);
}

/* The mean over n requests, and with `squares` the mean of the squares. */
static double
mean_of(const uint32_t *buckets, uint32_t nbuckets, double n, bool squares)
{
	double sum = 0;

	for (uint32_t i = 0; i < nbuckets; i++)
		sum += buckets[i] * (squares ? time_of(i) * time_of(i) : time_of(i));
	return sum / n;
}

/* The sum of `few` times that are drawn from all without replacement. */
static double
deal(double *times, uint64_t all, uint64_t few, struct rng *r)
{
	double sum = 0;

	for (uint64_t i = 0; i < few; i++) {
		uint64_t k = i + rng_below(r, all - i);
		double t = times[k];

		times[k] = times[i];
		times[i] = t;
		sum += t;
	}
	return sum;
}

/* Step 2 by dealing: the parts of deals in which the smaller side has as large, or as small, a sum. */
static bool
deal_all(const struct sides *s, double *high_p, double *low_p)
{
	const uint32_t *side = s->n <= s->m ? s->now : s->then;
	uint64_t few = s->n <= s->m ? s->n : s->m, all = s->n + s->m, at = 0;
	double *times = malloc(all * sizeof *times);
	double real = mean_of(side, s->nbuckets, 1, false), slack = 1e-9 * real;
	uint32_t high = 1, low = 1;
	struct rng r;

	if (times == NULL)
		return false;
	for (uint32_t i = 0; i < s->nbuckets; i++)
		for (uint64_t k = s->now[i] + (uint64_t)s->then[i]; k > 0; k--)
			times[at++] = time_of(i);
	rng_seed(&r, 1);
	for (uint32_t i = 0; i < WHOLE_ROUNDS; i++) {
		double sum = deal(times, all, few, &r);

		high += sum >= real - slack;
		low += sum <= real + slack;
	}
	free(times);
	*high_p = (side == s->now ? high : low) / (WHOLE_ROUNDS + 1.0);
	*low_p = (side == s->now ? low : high) / (WHOLE_ROUNDS + 1.0);
	return true;
}

/* Step 2 by the normal approximation: the variance of the difference of means over all deals. */
static void
approximate(const struct sides *s, double *high_p, double *low_p)
{
	double n = (double)s->n, m = (double)s->m, all = n + m;
	double a = mean_of(s->now, s->nbuckets, n, false),
	       b = mean_of(s->then, s->nbuckets, m, false), mean = (n * a + m * b) / all;
	double square = (n * mean_of(s->now, s->nbuckets, n, true) +
			    m * mean_of(s->then, s->nbuckets, m, true)) /
	                all;
	double variance = (square - mean * mean) * all / (all - 1) * (1 / n + 1 / m);
	double z = variance > 0 ? (a - b) / sqrt(variance) : 0;

	*high_p = z > 0 ? normal_p(z) / 2 : 1 - normal_p(z) / 2;
	*low_p = 1 - *high_p;
}

/* Step 3: with the bucket that has the quantile of `then`. */
static void
beyond(const struct sides *s, double quantile, double *high_p, double *low_p)
{
	uint64_t seen = 0, now, then;
	uint32_t at = 0;

	while (at + 1 < s->nbuckets && (double)(seen + s->then[at]) < quantile * (double)s->m)
		seen += s->then[at++];
	now = count_of(s->now, at + 1, s->nbuckets);
	then = count_of(s->then, at + 1, s->nbuckets);
	*high_p = more_often_p(now, s->n, then, s->m);
	now = count_of(s->now, 0, at);
	then = count_of(s->then, 0, at);
	*low_p = more_often_p(now, s->n, then, s->m);
}

bool
whole_judge(
    struct whole *ret, const uint32_t *now, const uint32_t *then, uint32_t nbuckets, double alpha)
{
	struct sides s = { nbuckets, now, then, count_of(now, 0, nbuckets),
		count_of(then, 0, nbuckets) };
	uint64_t few = s.n < s.m ? s.n : s.m;
	double high[TESTS], low[TESTS];

	*ret = (struct whole){ WHOLE_TOO_FEW, s.n, s.m, 1, 1 };
	if (few == 0) /* 1. */
		return true;
	if (few > DEALT_MAX || s.n + s.m > POOLED_MAX)
		approximate(&s, &high[0], &low[0]);
	else if (!deal_all(&s, &high[0], &low[0])) /* 2. */
		return false;
	beyond(&s, 0.5, &high[1], &low[1]); /* 3. */
	beyond(&s, 0.95, &high[2], &low[2]);
	for (int i = 0; i < TESTS; i++) {
		ret->slower_p = fmin(ret->slower_p, TESTS * high[i]);
		ret->faster_p = fmin(ret->faster_p, TESTS * low[i]);
	}
	if (fmin(ret->slower_p, ret->faster_p) <= alpha) /* 4. */
		ret->state = ret->slower_p <= ret->faster_p ? WHOLE_SLOWER : WHOLE_FASTER;
	else if (few >= WHOLE_REQUESTS_MIN) /* 5. */
		ret->state = WHOLE_SAME;
	return true;
}
