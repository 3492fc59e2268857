/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/variance.h"

/*
 * A bootstrap round draws as many samples as there are, with repeats; it is kept
 * as how often each was drawn. Every use of the same seed draws the same
 * rounds, so a group's measures are of the same requests without keeping all draws.
 */
struct rounds {
	const struct group *g;
	uint32_t n, count;
	double *drawn;		/* [n], of the round at hand */
	double *total;		/* [n], less the mean: squares of what is left are small enough to be exact */
	double *weighed;	/* [n], drawn times total */
	double mean;
	double sum_y, sum_yy;	/* of the round at hand */
	struct rng rng;
};

static int
rounds_begin(struct rounds *r, const struct group *g, uint32_t count, struct arena *a)
{
	*r = (struct rounds){ .g = g, .n = g->nsamples, .count = count };
	r->drawn = arena_alloc(a, r->n * sizeof *r->drawn);
	r->total = arena_alloc(a, r->n * sizeof *r->total);
	r->weighed = arena_alloc(a, r->n * sizeof *r->weighed);
	if (r->drawn == NULL || r->total == NULL || r->weighed == NULL)
		return ERR_MEMORY;
	for (uint32_t i = 0; i < r->n; i++)
		r->mean += (double)g->samples[i].total_ns / (double)r->n;
	for (uint32_t i = 0; i < r->n; i++)
		r->total[i] = (double)g->samples[i].total_ns - r->mean;
	return 0;
}

static void
rounds_next(struct rounds *r)
{
	memset(r->drawn, 0, r->n * sizeof *r->drawn);
	for (uint32_t i = 0; i < r->n; i++)
		r->drawn[rng_below(&r->rng, r->n)]++;
	r->sum_y = r->sum_yy = 0;
	for (uint32_t i = 0; i < r->n; i++) {
		r->weighed[i] = r->drawn[i] * r->total[i];
		r->sum_y += r->weighed[i];
		r->sum_yy += r->weighed[i] * r->total[i];
	}
}

static int
by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The middle `confidence` of values, which are sorted for it; never without the estimate itself. */
static struct interval
middle(double *values, uint32_t n, double confidence, double estimate)
{
	double tail = (1 - confidence) / 2;
	struct interval v = { estimate, estimate };
	uint32_t low, high;

	if (n == 0)
		return v;
	qsort(values, n, sizeof *values, by_size);
	low = (uint32_t)(tail * (n - 1) + 0.5);
	high = n - 1 - low;
	v.low = values[low] < estimate ? values[low] : estimate;
	v.high = values[high] > estimate ? values[high] : estimate;
	return v;
}

static double
ratio(double a, double b)
{
	return b != 0 ? a / b : 0;
}

/* Intervals of CV and mean. */
static int
measure_totals(struct finding *f, struct interval *mean, struct rounds *r, const struct conditions *c,
    uint64_t seed, struct arena *a)
{
	double *cvs = arena_alloc(a, r->count * sizeof *cvs), *means = arena_alloc(a, r->count * sizeof *means);
	double n = r->n;

	if (cvs == NULL || means == NULL)
		return ERR_MEMORY;
	rng_seed(&r->rng, seed);
	for (uint32_t i = 0; i < r->count; i++) {
		double apart, variance;

		rounds_next(r);
		apart = ratio(r->sum_y, n);
		variance = ratio(r->sum_yy, n) - apart * apart;
		means[i] = r->mean + apart;
		cvs[i] = ratio(sqrt(variance > 0 ? variance : 0), means[i]);
	}
	f->cv_interval = middle(cvs, r->count, c->confidence, f->cv);
	*mean = middle(means, r->count, c->confidence, f->mean_ns);
	return 0;
}

/* What a round says of an edge: its share of the variance, or of the mean. */
static double
round_share(const struct rounds *r, const double *x, double mean_x, bool of_mean)
{
	double sum_x = 0, sum_xy = 0, n = r->n;

	for (uint32_t i = 0; i < r->n; i++) {
		sum_x += r->drawn[i] * x[i];
		sum_xy += r->weighed[i] * x[i];
	}
	if (of_mean)
		return ratio(mean_x + sum_x / n, r->mean + r->sum_y / n);
	return ratio(sum_xy - sum_x * r->sum_y / n, r->sum_yy - r->sum_y * r->sum_y / n);
}

/* The edges' times of all samples, edge by edge, less their means (which go behind them). */
static double *
edge_columns(const struct group *g, struct arena *a)
{
	uint32_t nedges = g->shape.nedges, n = g->nsamples;
	double *columns = arena_calloc(a, (size_t)nedges * n + nedges, sizeof *columns);
	double *means = columns != NULL ? columns + (size_t)nedges * n : NULL;

	for (uint32_t e = 0; columns != NULL && e < nedges; e++) {
		for (uint32_t i = 0; i < n; i++)
			means[e] += g->samples[i].edges_ns[e] / n;
		for (uint32_t i = 0; i < n; i++)
			columns[(size_t)e * n + i] = g->samples[i].edges_ns[e] - means[e];
	}
	return columns;
}

static int
measure_edges(struct finding *f, struct rounds *r, const struct conditions *c, uint64_t seed, struct arena *a)
{
	uint32_t nedges = f->nedges, n = r->n;
	double *shares = arena_alloc(a, (size_t)nedges * r->count * sizeof *shares);
	double *columns = edge_columns(r->g, a);

	if (shares == NULL || columns == NULL)
		return ERR_MEMORY;
	rng_seed(&r->rng, seed);
	for (uint32_t i = 0; i < r->count; i++) {
		rounds_next(r);
		for (uint32_t e = 0; e < nedges; e++)
			shares[(size_t)e * r->count + i] = round_share(r, &columns[(size_t)e * n],
			    columns[(size_t)nedges * n + e], f->problem == PROBLEM_SLOW);
	}
	for (uint32_t e = 0; e < nedges; e++)
		f->edges[e].interval = middle(&shares[(size_t)e * r->count], r->count, c->confidence,
		    f->edges[e].share);
	return 0;
}

/* The edges' shares by everything that was ever seen, not only by the reservoir. */
static void
share_out(struct finding *f, const struct group *g)
{
	double variance = moments_variance(&g->total);

	for (uint32_t e = 0; e < f->nedges; e++) {
		const struct comoments *m = &g->edges[e];
		struct edge_share *s = &f->edges[e];

		s->mean_ns = m->mean_x;
		s->latency_share = ratio(m->mean_x, g->total.mean);
		s->own = m->n > 0 ? ratio(m->m2_x / (double)m->n, variance) : 0;
		s->share = f->problem == PROBLEM_SLOW ? s->latency_share :
		    ratio(comoments_covariance(m), variance);
		if (s->share > f->edges[f->top].share)
			f->top = e;
	}
}

static enum problem
judge(const struct finding *f, struct interval mean, uint64_t n, const struct conditions *c, double slow_ns)
{
	if (n < c->traces_min)
		return PROBLEM_UNSURE;
	if (f->cv_interval.low > c->cv_max)
		return PROBLEM_UNPREDICTABLE;
	if (slow_ns > 0 && mean.low > slow_ns)
		return PROBLEM_SLOW;
	if (f->cv_interval.high <= c->cv_max && (slow_ns <= 0 || mean.high <= slow_ns))
		return PROBLEM_NONE;
	return PROBLEM_UNSURE;
}

/* What requests waited beyond `usual`, all together. */
static double
excess_ns(const struct group *g, double usual_ns)
{
	double sum = 0;

	for (uint32_t i = 0; i < g->nsamples; i++)
		if ((double)g->samples[i].total_ns > usual_ns)
			sum += (double)g->samples[i].total_ns - usual_ns;
	return g->nsamples > 0 ? sum / g->nsamples * (double)g->total.n : 0;
}

int
finding_of(struct finding *ret, const struct group *g, const struct conditions *c, double slow_ns, uint32_t rounds,
    uint64_t seed, struct arena *a, struct err *e)
{
	struct interval mean;
	struct rounds r;

	*ret = (struct finding){ .cv = moments_cv(&g->total), .mean_ns = g->total.mean, .nedges = g->shape.nedges };
	ret->edges = arena_calloc(a, ret->nedges, sizeof *ret->edges);
	if (ret->edges == NULL || rounds_begin(&r, g, g->nsamples > 0 ? rounds : 0, a) != 0 ||
	    measure_totals(ret, &mean, &r, c, seed, a) != 0)
		return err_set(e, ERR_MEMORY, "no memory to judge a group of %u edges", ret->nedges);
	ret->problem = judge(ret, mean, g->total.n, c, slow_ns);
	ret->cost_ns = excess_ns(g, ret->problem == PROBLEM_SLOW ? slow_ns : sketch_quantile(g->sketch, 0.5));
	share_out(ret, g);
	if (measure_edges(ret, &r, c, seed, a) != 0)
		return err_set(e, ERR_MEMORY, "no memory to judge a group of %u edges", ret->nedges);
	return 0;
}

/* ---- what if ---- */

static double
rank(const double *sorted, uint32_t n, double q)
{
	double at = q * (n - 1);
	uint32_t low = (uint32_t)at;

	return low + 1 < n ? sorted[low] + (at - low) * (sorted[low + 1] - sorted[low]) : sorted[n - 1];
}

static double
cv_of(const double *values, uint32_t n)
{
	struct moments m = { 0 };

	for (uint32_t i = 0; i < n; i++)
		moments_add(&m, values[i]);
	return moments_cv(&m);
}

void
what_if_of(struct what_if *ret, const struct group *g, uint32_t edge, struct arena *a)
{
	uint32_t n = g->nsamples;
	double *now = arena_alloc(a, n * sizeof *now), *then = arena_alloc(a, n * sizeof *then), median;

	*ret = (struct what_if){ 0 };
	if (n == 0 || edge >= g->shape.nedges || now == NULL || then == NULL)
		return;
	for (uint32_t i = 0; i < n; i++)
		now[i] = g->samples[i].edges_ns[edge];
	qsort(now, n, sizeof *now, by_size);
	median = rank(now, n, 0.5);
	for (uint32_t i = 0; i < n; i++) {
		now[i] = (double)g->samples[i].total_ns;
		then[i] = now[i] - g->samples[i].edges_ns[edge] + median;
	}
	qsort(now, n, sizeof *now, by_size);
	qsort(then, n, sizeof *then, by_size);
	ret->cv_now = cv_of(now, n);
	ret->cv_then = cv_of(then, n);
	ret->p50_then_ns = rank(then, n, 0.5);
	ret->p95_now_ns = rank(now, n, 0.95);
	ret->p95_then_ns = rank(then, n, 0.95);
	ret->p99_now_ns = rank(now, n, 0.99);
	ret->p99_then_ns = rank(then, n, 0.99);
}
