/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * If an edge always took its median time, each request would take its own time without the
 * edge, plus the median. So one sort of the edge's times and one of the times without the edge
 * serve all bootstrap rounds: a round keeps the order and repeats or skips requests.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/bootstrap.h"
#include "analysis/quantile.h"

enum { P50, P95, P99, QUANTILES };
static const double QS[QUANTILES] = { 0.5, 0.95, 0.99 };

struct ranked_sample {
	double value;
	uint32_t at; /* index of the sample */
};

static int
by_value(const void *a, const void *b)
{
	const struct ranked_sample *x = a, *y = b;

	return x->value != y->value ? (x->value > y->value) - (x->value < y->value)
	                            : (x->at > y->at) - (x->at < y->at);
}

/* The q-quantile of a round, as quantile_of_samples(). *from and *before carry the scan on to a larger
 * q. */
static double
round_quantile(const struct ranked_sample *sorted, const struct bootstrap *b, double q,
    uint32_t *from, uint32_t *before)
{
	uint64_t rank = quantile_rank(b->n, q);
	uint32_t i = *from;

	while (*before + b->times[sorted[i].at] <= rank)
		*before += b->times[sorted[i++].at];
	*from = i;
	return sorted[i].value;
}

struct what_if_scratch {
	struct ranked_sample *edge, *without; /* [n], sorted by value */
	double *then;                         /* [n] */
	double *rounds[QUANTILES];
};

static int
scratch_begin(struct what_if_scratch *w, const struct group *g, uint32_t edge, uint32_t rounds,
    struct arena *a)
{
	uint32_t n = g->nsamples;

	w->edge = arena_alloc(a, n * sizeof *w->edge);
	w->without = arena_alloc(a, n * sizeof *w->without);
	w->then = arena_alloc(a, n * sizeof *w->then);
	for (int q = 0; q < QUANTILES; q++)
		if ((w->rounds[q] = arena_alloc(a, (rounds + 1) * sizeof **w->rounds)) == NULL)
			return ERR_MEMORY;
	if (w->edge == NULL || w->without == NULL || w->then == NULL)
		return ERR_MEMORY;
	for (uint32_t i = 0; i < n; i++) {
		double x = g->samples[i].edges_ns[edge];

		w->edge[i] = (struct ranked_sample){ x, i };
		w->without[i] = (struct ranked_sample){ (double)g->samples[i].total_ns - x, i };
	}
	qsort(w->edge, n, sizeof *w->edge, by_value);
	qsort(w->without, n, sizeof *w->without, by_value);
	return 0;
}

/* The quantiles of the current round with a constant edge. */
static void
round_measures(double ret[QUANTILES], const struct what_if_scratch *w, const struct bootstrap *b)
{
	uint32_t from = 0, before = 0;
	double median = round_quantile(w->edge, b, 0.5, &from, &before);

	from = before = 0;
	for (int q = 0; q < QUANTILES; q++)
		ret[q] = median + round_quantile(w->without, b, QS[q], &from, &before);
}

static struct measures
measures_of(const double *values, uint32_t n)
{
	struct moments m = { 0 };

	for (uint32_t i = 0; i < n; i++)
		moments_add(&m, values[i]);
	return (struct measures){ moments_cv(&m), quantile_of_samples(values, n, 0.5),
		quantile_of_samples(values, n, 0.95), quantile_of_samples(values, n, 0.99) };
}

static void
measure_points(struct what_if *ret, struct what_if_scratch *w, const struct group *g)
{
	uint32_t n = g->nsamples;
	double median;

	for (uint32_t i = 0; i < n; i++)
		w->then[i] = w->edge[i].value;
	median = quantile_of_samples(w->then, n, 0.5);
	for (uint32_t i = 0; i < n; i++)
		w->then[i] = (double)g->samples[i].total_ns;
	sort_doubles(w->then, n);
	ret->now = measures_of(w->then, n);
	for (uint32_t i = 0; i < n; i++)
		w->then[i] = w->without[i].value + median;
	ret->then = measures_of(w->then, n);
}

/* With probability q^n no sample is above the true q-quantile. While that is likely, the
 * interval has no upper end. */
static struct interval
middle(double *rounds, uint32_t n, double confidence, double estimate, double q, uint32_t samples)
{
	double tail = (1 - confidence) / 2;
	struct interval v;

	if (n == 0)
		return (struct interval){ estimate, estimate };
	sort_doubles(rounds, n);
	v.low = quantile_of_rounds(rounds, n, tail);
	v.high = pow(q, samples) > tail ? INFINITY : quantile_of_rounds(rounds, n, 1 - tail);
	return interval_with(v, estimate);
}

/* Quantiles by the percentile method (a standard error would need the unknown density); the CV
 * like that of a group. */
static int
measure_rounds(struct what_if *ret, struct what_if_scratch *w, uint32_t n, double confidence,
    uint32_t rounds, uint64_t seed, struct arena *a)
{
	double one[QUANTILES];
	struct bootstrap b;
	struct spread s;

	if (bootstrap_begin(&b, n, seed, a) != 0 ||
	    spread_of(&s, w->then, n, n, rounds, seed, a) != 0)
		return ERR_MEMORY;
	for (uint32_t i = 0; i < rounds; i++) {
		bootstrap_draw(&b);
		round_measures(one, w, &b);
		for (int q = 0; q < QUANTILES; q++)
			w->rounds[q][i] = one[q];
	}
	ret->then_interval.cv = interval_with(spread_cv(&s, confidence, 1), ret->then.cv);
	ret->then_interval.p50_ns = middle(
	    w->rounds[P50], rounds, confidence, ret->then.p50_ns, QS[P50], n);
	ret->then_interval.p95_ns = middle(
	    w->rounds[P95], rounds, confidence, ret->then.p95_ns, QS[P95], n);
	ret->then_interval.p99_ns = middle(
	    w->rounds[P99], rounds, confidence, ret->then.p99_ns, QS[P99], n);
	return 0;
}

int
what_if_of(struct what_if *ret, const struct group *g, uint32_t edge, double confidence,
    uint32_t rounds, uint64_t seed, struct arena *a, struct err *e)
{
	struct what_if_scratch w;

	*ret = (struct what_if){ 0 };
	if (g->nsamples == 0 || edge >= g->shape.nedges)
		return 0;
	if (scratch_begin(&w, g, edge, rounds, a) != 0)
		return err_set(e, ERR_MEMORY, "no memory for what if");
	measure_points(ret, &w, g);
	if (measure_rounds(ret, &w, g->nsamples, confidence, rounds, seed, a) != 0)
		return err_set(e, ERR_MEMORY, "no memory for what if");
	return 0;
}
