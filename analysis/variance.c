/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <assert.h>
#include <math.h>

#include <gsl/gsl_cdf.h>

#include "analysis/bootstrap.h"
#include "analysis/dependence.h"

static double
ratio(double a, double b)
{
	return b != 0 ? a / b : 0;
}

/*
 * How much wider an interval must be so that it holds at all judgements of a growing group
 * together, not only at one: an interval of 95 % confidence that is checked again and again is
 * wrong sooner or later. A confidence sequence by the normal mixture (Robbins 1970; Howard,
 * Ramdas, McAuliffe, Sekhon 2021, who also say where it is tightest, here at the first
 * judgement; asymptotic version: Waudby-Smith, Arbour, Sinha, Kennedy, Ramdas 2024). Returns
 * the factor by which it is wider than the normal interval.
 */
static double
sequential_stretch(const struct conditions *c, double n)
{
	double wrong = 2 * log(1 / (1 - c->confidence));
	double rho = fmax(1, c->traces_min) / (wrong + log(1 + wrong));

	return sqrt((n + rho) / n * (log((n + rho) / rho) + wrong)) /
	       gsl_cdf_ugaussian_Pinv((1 + c->confidence) / 2);
}

/* An upper limit beyond what that many requests can show is none: their CV is largest when one has all of the
 * time. */
static double
cv_most(uint64_t n)
{
	return sqrt(fmax(1, (double)n - 1));
}

/* The spread of all requests seen. Standard errors by the influence function of estimate_of(),
 * whose mean square follows from the third and fourth moments; the distribution of the errors
 * is that of the reservoir's rounds. */
static struct spread
spread_of_all(const struct spread *kept, const struct group *g)
{
	double n = (double)g->total.n, mean = g->total.mean, variance = moments_variance(&g->total);
	struct spread s = *kept;

	s.mean = mean;
	s.mean_se = sqrt(variance / n);
	s.log_cv = -INFINITY;
	s.se = 0;
	if (variance <= 1e-24 * mean * mean || mean <= 0)
		return s;
	s.log_cv = log(variance * n / (n - 1)) / 2 - log(mean);
	s.se = sqrt(fmax(0, (g->total_high.m4 / n / variance / variance - 1) / 4 -
				g->total_high.m3 / n / variance / mean + variance / mean / mean) /
		    n);
	return s;
}

struct judgement {
	struct spread all;
	struct interval cv, mean; /* for this judgement */
	double cv_low, mean_low;  /* for all judgements together */
};

static struct interval
interval_union(struct interval a, struct interval b)
{
	return interval_with(interval_with(a, b.low), b.high);
}

static bool
within(struct interval v, double x)
{
	return v.low <= x && x <= v.high;
}

/*
 * If the interval from the reservoir alone does not contain the value of all requests, the
 * difference comes from rare requests that the reservoir does not hold, perhaps from a single
 * one, whose rarity cannot be estimated. Then the intervals are extended to both, and the lower
 * of both bounds decides.
 */
static void
widen_by_reservoir(
    struct judgement *j, const struct spread *kept, const struct conditions *c, double stretch)
{
	struct interval cv = spread_cv(kept, c->confidence, 1),
			mean = spread_mean(kept, c->confidence, 1);

	if (!within(cv, exp(j->all.log_cv))) {
		j->cv = interval_union(j->cv, cv);
		j->cv_low = fmin(j->cv_low, spread_cv(kept, c->confidence, stretch).low);
	}
	if (!within(mean, j->all.mean)) {
		j->mean = interval_union(j->mean, mean);
		j->mean_low = fmin(j->mean_low, spread_mean(kept, c->confidence, stretch).low);
	}
}

/* Contains the CV also if the slowest samples are of a mode of which they show too many or too few. */
static struct interval
cv_with_rare(struct interval v, const double *values, uint32_t n, double confidence)
{
	struct rare_modes m;
	double mean = 0, square = 0, top = 0, top_square = 0;

	rare_modes_of(&m, values, n, confidence);
	for (uint32_t i = 0; i < n; i++)
		mean += values[i] / n;
	for (uint32_t i = 0; i < n; i++)
		square += (values[i] - mean) * (values[i] - mean);
	for (uint32_t i = 0; i < m.n; i++) {
		double u = values[m.at[i]] - mean;

		top += u;
		top_square += u * u;
		for (int end = 0; end < 2; end++) {
			double a = m.weights[i].rare[end], b = m.weights[i].other[end];
			double shift = (a - b) * top / n,
			       variance = (a * top_square + b * (square - top_square)) / n -
			                  shift * shift;

			if (variance > 0 && mean + shift > 0)
				v = interval_with(v, sqrt(variance) / (mean + shift));
		}
	}
	return v;
}

/* The influence of each request on log(CV), one after the other. */
static void
influences_in_order(double *f, const struct group *g, const uint32_t *order)
{
	double n = g->nsamples, mean = 0, variance = 0;

	for (uint32_t i = 0; i < g->nsamples; i++)
		mean += (double)g->samples[i].total_ns / n;
	for (uint32_t i = 0; i < g->nsamples; i++) {
		double u = (double)g->samples[i].total_ns - mean;

		variance += u * u / n;
	}
	for (uint32_t i = 0; i < g->nsamples; i++) {
		double u = (double)g->samples[order[i]].total_ns - mean;

		f[i] = variance > 0 && mean > 0 ? (u * u / variance - 1) / 2 - u / mean : 0;
	}
}

/*
 * Where what the CV rests on depends on the requests before, its standard error comes from batches of
 * successive requests (dependence.h), of the length with which the interval is widest.
 */
static int
widen_by_batches(struct judgement *j, const struct group *g, double confidence, struct arena *a)
{
	double *f = arena_alloc(a, g->nsamples * sizeof *f),
	       part = (double)g->total.n / g->nsamples, square = j->all.se * j->all.se;
	const uint32_t *order = samples_in_order(g, a);
	bool depends;

	if (f == NULL || order == NULL)
		return ERR_MEMORY;
	for (uint32_t i = 0; i < g->nsamples; i++)
		f[i] = (double)g->samples[order[i]].total_ns;
	depends = values_depend(f, g->nsamples);
	influences_in_order(f, g, order);
	if (!depends && !values_depend(f, g->nsamples))
		return 0;
	for (uint32_t i = 0; i < BATCH_COUNTS && g->nsamples >= 2 * BATCH_COUNT[i]; i++) {
		double alone = long_run_of(f, f, g->nsamples, g->nsamples).xx,
		       more = long_run_of(f, f, g->nsamples, BATCH_COUNT[i]).xx - alone;
		struct spread s = j->all;

		s.se = sqrt(fmax(0, square + more * part / (double)g->total.n));
		j->cv = interval_union(
		    j->cv, spread_cv(&s, confidence, batch_stretch(confidence, BATCH_COUNT[i])));
	}
	return 0;
}

static int
measure_totals(struct judgement *j, const struct group *g, const struct conditions *c,
    uint32_t rounds, uint64_t seed, struct arena *a)
{
	double *totals = arena_alloc(a, g->nsamples * sizeof *totals),
	       stretch = sequential_stretch(c, (double)g->total.n);
	struct spread kept;

	if (totals == NULL)
		return ERR_MEMORY;
	for (uint32_t i = 0; i < g->nsamples; i++)
		totals[i] = (double)g->samples[i].total_ns;
	if (spread_of(&kept, totals, g->nsamples, g->total.n, rounds, seed, a) != 0)
		return ERR_MEMORY;
	j->all = spread_of_all(&kept, g);
	j->cv = spread_cv(&j->all, c->confidence, 1);
	if (g->total.n <= g->nsamples)
		j->cv = cv_with_rare(j->cv, totals, g->nsamples, c->confidence);
	if (g->stands_for_more && widen_by_batches(j, g, c->confidence, a) != 0)
		return ERR_MEMORY;
	j->cv.high = fmin(j->cv.high, cv_most(g->total.n));
	j->cv = interval_with(j->cv, moments_cv(&g->total));
	j->mean = spread_mean(&j->all, c->confidence, 1);
	j->cv_low = spread_cv(&j->all, c->confidence, stretch).low;
	j->mean_low = spread_mean(&j->all, c->confidence, stretch).low;
	if (g->total.n > g->nsamples)
		widen_by_reservoir(j, &kept, c, stretch);
	return 0;
}

static enum problem
judge(const struct judgement *j, uint64_t n, const struct conditions *c, double slow_ns)
{
	if (n < c->traces_min)
		return PROBLEM_UNSURE;
	if (j->cv_low > c->cv_max)
		return PROBLEM_UNPREDICTABLE;
	if (slow_ns > 0 && j->mean_low > slow_ns)
		return PROBLEM_SLOW;
	if (j->cv.high <= c->cv_max && (slow_ns <= 0 || j->mean.high <= slow_ns))
		return PROBLEM_NONE;
	return PROBLEM_UNSURE;
}

static double
probability(enum problem p, const struct judgement *j, const struct conditions *c, double slow_ns)
{
	double varies = spread_cv_above(&j->all, c->cv_max);
	double slow = slow_ns > 0 ? spread_mean_above(&j->all, slow_ns) : 0;

	return p == PROBLEM_UNPREDICTABLE ? varies : p == PROBLEM_SLOW ? slow : fmax(varies, slow);
}

/* Shares of the edges, from all requests seen, not only from the reservoir. */
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
		s->share = f->problem == PROBLEM_SLOW ? s->latency_share
		                                      : ratio(comoments_covariance(m), variance);
		s->interval = (struct interval){ s->share, s->share };
		if (s->share > f->edges[f->top].share)
			f->top = e;
	}
}

/* Time that all requests together spent beyond `usual_ns`. */
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
finding_judge(struct finding *ret, const struct group *g, const struct conditions *c,
    double slow_ns, uint32_t rounds, uint64_t seed, struct arena *a, struct err *e)
{
	struct judgement j = { 0 };

	assert(c->confidence > 0 && c->confidence < 1);
	*ret = (struct finding){ .problem = PROBLEM_UNSURE,
		.cv = moments_cv(&g->total),
		.mean_ns = g->total.mean,
		.nedges = g->shape.nedges };
	ret->edges = arena_calloc(a, ret->nedges, sizeof *ret->edges);
	if (ret->edges == NULL ||
	    (g->nsamples > 0 && measure_totals(&j, g, c, rounds, seed, a) != 0))
		return err_set(
		    e, ERR_MEMORY, "no memory to judge a group of %u edges", ret->nedges);
	if (g->nsamples > 0) {
		ret->problem = judge(&j, g->total.n, c, slow_ns);
		ret->probability = probability(ret->problem, &j, c, slow_ns);
		ret->cv_interval = j.cv;
	}
	ret->cost_ns = excess_ns(
	    g, ret->problem == PROBLEM_SLOW ? slow_ns : sketch_quantile(g->sketch, 0.5));
	share_out(ret, g);
	return 0;
}

int
finding_intervals(struct finding *f, const struct group *g, double confidence, uint32_t rounds,
    uint64_t seed, struct arena *a, struct err *e)
{
	assert(f->nedges == g->shape.nedges);
	if (share_intervals(f->edges, g,
		f->problem == PROBLEM_SLOW ? SHARE_OF_MEAN : SHARE_OF_VARIANCE, confidence, rounds,
		seed, a) != 0)
		return err_set(
		    e, ERR_MEMORY, "no memory for the shares of a group of %u edges", f->nedges);
	return 0;
}

int
finding_of(struct finding *ret, const struct group *g, const struct conditions *c, double slow_ns,
    uint32_t rounds, uint64_t seed, struct arena *a, struct err *e)
{
	int rc = finding_judge(ret, g, c, slow_ns, rounds, seed, a, e);

	return rc != 0 ? rc : finding_intervals(ret, g, c->confidence, rounds, seed, a, e);
}
