/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * If an edge always took its median time, each request would take its own time without the
 * edge, plus the median. So one sort of the edge's times and one of the times without the edge
 * serve all bootstrap rounds: a round keeps the order and repeats or skips requests.
 *
 * `now` is the group's own figures, of all requests. Where the group does not keep all of them,
 * `then` is these figures times the ratio of then to now in the samples (the ratio estimator:
 * Cochran, Sampling Techniques, 1977, chapter 6), because what a sample lacks of slow requests it
 * lacks of both; an edge that does not vary changes nothing, exactly. The CV needs no sample but
 * for the median: var(T - x) = var(T) + var(x) - 2 cov(x, T).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/quantile.h"
#include "analysis/strata.h"

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

struct what_if_scratch {
	struct strata s;
	bool whole;                                   /* the samples are all requests */
	struct ranked_sample *edge, *without, *total; /* [n], sorted by value */
	double *then;                                 /* [nsamples]: of the reservoir */
	struct measures kept_now, kept_then;          /* of the samples */
	double *rounds[QUANTILES];
};

/* The nearest rank among the requests that the samples stand for; `times`: how often each sample was
 * drawn, NULL: once. *from and *before carry the scan on to a larger q. */
static double
ranked_quantile(const struct what_if_scratch *w, const struct ranked_sample *sorted,
    const uint32_t *times, double q, uint32_t *from, double *before)
{
	double rank = (double)quantile_rank((uint64_t)w->s.total, q) + 0.5;

	for (;; ++*from) {
		uint32_t at = sorted[*from].at;
		double n = (times != NULL ? times[at] : 1) * strata_weight(&w->s, at);

		if (*before + n > rank || *from + 1 == w->s.n)
			return sorted[*from].value;
		*before += n;
	}
}

static int
scratch_begin(struct what_if_scratch *w, const struct group *g, uint32_t edge, uint32_t rounds,
    uint64_t seed, struct arena *a)
{
	uint32_t n;

	if (strata_of(&w->s, g, seed, a) != 0)
		return ERR_MEMORY;
	n = w->s.n;
	w->whole = g->total.n == g->nsamples;
	w->edge = arena_alloc(a, n * sizeof *w->edge);
	w->without = arena_alloc(a, n * sizeof *w->without);
	w->total = arena_alloc(a, n * sizeof *w->total);
	w->then = arena_alloc(a, g->nsamples * sizeof *w->then);
	for (int q = 0; q < QUANTILES; q++)
		if ((w->rounds[q] = arena_alloc(a, (rounds + 1) * sizeof **w->rounds)) == NULL)
			return ERR_MEMORY;
	if (w->edge == NULL || w->without == NULL || w->total == NULL || w->then == NULL)
		return ERR_MEMORY;
	for (uint32_t i = 0; i < n; i++) {
		double x = w->s.samples[i]->edges_ns[edge],
		       total = (double)w->s.samples[i]->total_ns;

		w->edge[i] = (struct ranked_sample){ x, i };
		w->without[i] = (struct ranked_sample){ total - x, i };
		w->total[i] = (struct ranked_sample){ total, i };
	}
	qsort(w->edge, n, sizeof *w->edge, by_value);
	qsort(w->without, n, sizeof *w->without, by_value);
	qsort(w->total, n, sizeof *w->total, by_value);
	return 0;
}

/* The quantiles of the samples as they are, and with a constant edge. Returns the median of the edge. */
static double
measure_samples(const struct what_if_scratch *w, const uint32_t *times, double now[QUANTILES],
    double then[QUANTILES])
{
	uint32_t from = 0, from_now = 0;
	double before = 0, before_now = 0,
	       median = ranked_quantile(w, w->edge, times, 0.5, &from, &before);

	from = 0;
	before = 0;
	for (int q = 0; q < QUANTILES; q++) {
		now[q] = ranked_quantile(w, w->total, times, QS[q], &from_now, &before_now);
		then[q] = median + ranked_quantile(w, w->without, times, QS[q], &from, &before);
	}
	return median;
}

static double
scaled(double whole, double part, double of)
{
	return of > 0 ? whole * (part / of) : part;
}

/* The CV without the variance of the edge. Of all requests, where the samples are not all: the
 * difference of sums would not be exactly 0 where it should be. */
static double
then_cv(const struct what_if_scratch *w, const struct group *g, uint32_t edge, double median)
{
	const struct comoments *x = &g->edges[edge];
	struct moments m = { 0 };
	double mean = g->total.mean - x->mean_x + median, variance;

	if (w->whole) {
		for (uint32_t i = 0; i < g->nsamples; i++)
			moments_add(&m, w->then[i]);
		return moments_cv(&m);
	}
	variance = moments_variance(&g->total) + x->m2_x / (double)x->n -
	           2 * comoments_covariance(x);
	return mean > 0 ? sqrt(fmax(0, variance)) / mean : 0;
}

static void
measure_points(struct what_if *ret, struct what_if_scratch *w, const struct group *g, uint32_t edge)
{
	double now[QUANTILES], then[QUANTILES], all[QUANTILES],
	    median = measure_samples(w, NULL, now, then);

	for (uint32_t i = 0; i < g->nsamples; i++)
		w->then[i] = (double)g->samples[i].total_ns - g->samples[i].edges_ns[edge] + median;
	for (int q = 0; q < QUANTILES; q++)
		all[q] = w->whole ? now[q] : sketch_quantile(g->sketch, QS[q]);
	w->kept_now = (struct measures){ 0, now[P50], now[P95], now[P99] };
	w->kept_then = (struct measures){ 0, then[P50], then[P95], then[P99] };
	ret->now = (struct measures){ moments_cv(&g->total), all[P50], all[P95], all[P99] };
	ret->then = (struct measures){ then_cv(w, g, edge, median),
		scaled(all[P50], then[P50], now[P50]), scaled(all[P95], then[P95], now[P95]),
		scaled(all[P99], then[P99], now[P99]) };
}

/* With probability q^n no sample is above the true q-quantile. While that is likely, the
 * interval has no upper end. */
static struct interval
middle(double *rounds, uint32_t n, double confidence, double estimate, double q, double samples)
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

/* The interval of the CV: that of the samples, moved to the estimate and narrowed to the number of all
 * requests, but for the median of the edge, which is of the samples (`median`: its relative error
 * in terms of the mean); extended to that of the samples if the estimate is outside of it, since then rare
 * requests decide (as widen_by_reservoir() in variance.c). */
static struct interval
cv_interval(const struct what_if_scratch *w, struct spread s, const struct group *g, double cv,
    double median, double confidence)
{
	struct interval kept = spread_cv(&s, confidence, 1), all;

	if (w->whole || s.se <= 0 || cv <= 0)
		return interval_with(kept, cv);
	s.log_cv = log(cv);
	s.se = hypot(s.se * sqrt((double)g->nsamples / (double)g->total.n), median);
	all = interval_with(spread_cv(&s, confidence, 1), cv);
	return kept.low <= cv && cv <= kept.high
	           ? all
	           : interval_with(interval_with(all, kept.low), kept.high);
}

/* Quantiles by the percentile method (a standard error would need the unknown density). The ratio
 * of a round times the figure of all requests, which has an error, too: that of the round, less
 * by as much as all requests are more than the samples. */
static int
measure_rounds(struct what_if *ret, struct what_if_scratch *w, const struct group *g,
    double confidence, uint32_t rounds, uint64_t seed, struct arena *a)
{
	const double kept[QUANTILES] = { w->kept_now.p50_ns, w->kept_now.p95_ns,
		w->kept_now.p99_ns };
	const double all[QUANTILES] = { ret->now.p50_ns, ret->now.p95_ns, ret->now.p99_ns };
	double part = sqrt((double)g->nsamples / (double)g->total.n), n = w->s.n;
	double now[QUANTILES], then[QUANTILES];
	struct moments median = { 0 };
	struct spread s;

	if (spread_of(&s, w->then, g->nsamples, g->nsamples, rounds, seed, a) != 0)
		return ERR_MEMORY;
	for (uint32_t i = 0; i < rounds; i++) {
		strata_draw(&w->s);
		moments_add(&median, measure_samples(w, w->s.times, now, then));
		for (int q = 0; q < QUANTILES; q++)
			w->rounds[q][i] = w->whole
			                      ? then[q]
			                      : scaled(all[q] *
							   (1 + part * (scaled(1, now[q], kept[q]) -
									   1)),
						    then[q], now[q]);
	}
	ret->then_interval.cv = cv_interval(
	    w, s, g, ret->then.cv, sqrt(moments_variance(&median)) / g->total.mean, confidence);
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
	if (scratch_begin(&w, g, edge, rounds, seed, a) != 0)
		return err_set(e, ERR_MEMORY, "no memory for what if");
	measure_points(ret, &w, g, edge);
	if (measure_rounds(ret, &w, g, confidence, rounds, seed, a) != 0)
		return err_set(e, ERR_MEMORY, "no memory for what if");
	return 0;
}
