/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Confidence intervals of shares.
 *
 * The share of an edge in the variance is the slope of the edge's time on the response time.
 * Let u and v be the deviations of response time and edge time from their means. The share s is
 * where the mean of
 *
 *	z(s) = u (v - s u)
 *
 * is 0. The interval is the set of all s for which the mean of z(s) does not differ from 0
 * significantly, by the standard error of z AT THAT s:
 *
 *	(share - s)^2 E(u^2)^2  <=  c^2 / n  var(z(s))
 *
 * (Fieller 1954; a score interval). It is a quadratic inequality in s, and is solved as such.
 * The usual interval, from the standard error at the estimate, is too narrow: a single slow
 * request pulls the slope towards itself and then seems to fit. Where few slow requests make up
 * the variance, this interval is unbounded, because any share is possible.
 *
 * The standard error of z comes from all requests seen: its square needs E(u^2 v^2), E(u^3 v)
 * and E(u^4), fourth moments that stream like the second ones (moments.h).
 *
 * c is the quantile of |z| over its standard error in bootstrap rounds over the reservoir: the
 * symmetric bootstrap-t (Hall 1988), whose coverage error is of order n^-2, not n^-1.
 *
 * In a group that stands for requests of other times, too, where successive requests depend on each other, the variances of z(0) and
 * d and their covariance are also those of batches of successive requests (dependence.h), which are as few as four: the interval contains those by
 * each number of batches. That response times depend on each other does not decide how wide they are: what an edge has of
 * them is certain if it has it at all times.
 *
 * Shares of the mean are the same with the response time itself as u, and z(s) = v - s u.
 *
 * Cost: O(edges x samples x rounds). docs/calibration.md measures the coverage and lists the
 * methods that were tried.
 */
#include <math.h>
#include <string.h>

#include <gsl/gsl_cdf.h>

#include "analysis/bootstrap.h"
#include "analysis/dependence.h"

/* Edges that are summed at once. With AVX2 a judgement (finding_of()) of 100 edges and 512
 * samples in 200 rounds takes 3.6 ms, without 6.2; of 8 edges and 200 samples 0.41 and 0.50
 * (medians of 5 pairs of runs, Xeon, gcc 12 -O2, November 2026). */
enum { LANES = 4 };

typedef double lanes __attribute__((vector_size(LANES * sizeof(double)), aligned(16)));
typedef double half __attribute__((vector_size(LANES / 2 * sizeof(double)), may_alias));

/* The reservoir by columns. Edges are grouped in tiles of LANES. */
struct sample_columns {
	uint32_t n, nedges, ntiles;
	enum share_of of;
	/* [n]: (response time - mean) / standard deviation; for shares of the mean: response
	 * time / mean */
	double *u;
	/* [ntiles][n]: edge time minus share times response time, over its standard deviation */
	lanes *rest;
	/* [ndrawn][3], of the current round: times drawn, that times u, that times u^2 */
	double *weights;
};

/* Moments of all requests seen, with z(s) = z(0) - s d: variances of z(0) and d and their
 * covariance, relative to the mean of d. */
struct products {
	double zz, zd, dd;
};

/* Deviation of one edge time from its mean, in the unit of u. */
static double
edge_at(const struct group *g, uint32_t sample, uint32_t edge, double mean, double unit)
{
	return (g->samples[sample].edges_ns[edge] - mean) / unit;
}

static double
mean_total(const struct group *g)
{
	double mean = 0;

	for (uint32_t i = 0; i < g->nsamples; i++)
		mean += (double)g->samples[i].total_ns / g->nsamples;
	return mean;
}

/* Fills u. Returns its unit in ns; 0: the samples do not vary. */
static double
scale_totals(struct sample_columns *c, const struct group *g)
{
	double mean = mean_total(g), sum = 0, unit;

	for (uint32_t i = 0; i < c->n; i++) {
		c->u[i] = (double)g->samples[i].total_ns - (c->of == SHARE_OF_MEAN ? 0 : mean);
		sum += c->u[i] * c->u[i] / c->n;
	}
	unit = c->of == SHARE_OF_MEAN ? mean : sqrt(sum);
	if (unit <= 1e-12 * mean)
		return 0;
	for (uint32_t i = 0; i < c->n; i++)
		c->u[i] /= unit;
	return unit;
}

/* Fills the edge's column with rests. Returns the standard deviation of the sum of z at the
 * reservoir's share, in the unit of the rest. */
static double
scale_edge(struct sample_columns *c, const struct group *g, uint32_t edge, double unit)
{
	lanes *column = &c->rest[(size_t)(edge / LANES) * c->n];
	double mean = 0, uu = 0, uv = 0, sum = 0, deviation;

	for (uint32_t i = 0; i < c->n && c->of == SHARE_OF_VARIANCE; i++)
		mean += g->samples[i].edges_ns[edge] / c->n;
	for (uint32_t i = 0; i < c->n; i++) {
		double f = c->of == SHARE_OF_VARIANCE ? c->u[i] : 1;

		uu += f * c->u[i];
		uv += f * edge_at(g, i, edge, mean, unit);
	}
	for (uint32_t i = 0; i < c->n; i++) {
		double r = edge_at(g, i, edge, mean, unit) - uv / uu * c->u[i];

		column[i][edge % LANES] = r;
		sum += r * r / c->n;
	}
	deviation = sqrt(sum);
	sum = 0;
	/* An edge that is proportional to the response time has no rest. */
	for (uint32_t i = 0; i < c->n; i++) {
		double f = c->of == SHARE_OF_VARIANCE ? c->u[i] : 1;
		double r = deviation > 1e-9 ? column[i][edge % LANES] / deviation : 0;

		column[i][edge % LANES] = r;
		sum += f * f * r * r;
	}
	return sqrt(sum);
}

/* Sums of the current round for one tile: r is the rest, q its square; the digit is the power
 * of u. */
struct tile_sums {
	lanes r0, r1, r2, q0, q1, q2;
};

#ifdef __x86_64__
__attribute__((target("avx2"))) static void
sum_tile_avx2(
    struct tile_sums *ret, const lanes *column, const double *w, const struct bootstrap *b)
{
	struct tile_sums s = { 0 };

	for (uint32_t i = 0; i < b->ndrawn; i++, w += 3) {
		lanes r = column[b->drawn[i].at], q = r * r;

		s.r0 += r * w[0];
		s.r1 += r * w[1];
		s.r2 += r * w[2];
		s.q0 += q * w[0];
		s.q1 += q * w[1];
		s.q2 += q * w[2];
	}
	*ret = s;
}
#endif

/* The same in two passes of two lanes: vectors of 16 bytes, which every 64-bit machine has. */
static void
sum_tile_by_halves(
    struct tile_sums *ret, const lanes *column, const double *weights, const struct bootstrap *b)
{
	for (int h = 0; h < 2; h++) {
		half r0 = { 0 }, r1 = { 0 }, r2 = { 0 }, q0 = { 0 }, q1 = { 0 }, q2 = { 0 };
		const double *w = weights;

		for (uint32_t i = 0; i < b->ndrawn; i++, w += 3) {
			half r = ((const half *)&column[b->drawn[i].at])[h], q = r * r;

			r0 += r * w[0];
			r1 += r * w[1];
			r2 += r * w[2];
			q0 += q * w[0];
			q1 += q * w[1];
			q2 += q * w[2];
		}
		((half *)&ret->r0)[h] = r0;
		((half *)&ret->r1)[h] = r1;
		((half *)&ret->r2)[h] = r2;
		((half *)&ret->q0)[h] = q0;
		((half *)&ret->q1)[h] = q1;
		((half *)&ret->q2)[h] = q2;
	}
}

/* Both give the same result to the last bit: each lane is one edge, and no operations are
 * fused. */
static void
sum_tile(
    struct tile_sums *ret, const struct sample_columns *c, const struct bootstrap *b, uint32_t tile)
{
	const lanes *column = &c->rest[(size_t)tile * c->n];

#ifdef __x86_64__
	if (__builtin_cpu_supports("avx2")) {
		sum_tile_avx2(ret, column, c->weights, b);
		return;
	}
#endif
	sum_tile_by_halves(ret, column, c->weights, b);
}

struct score_sums {
	double sum, square; /* sum of z; sum of squares of z about its mean */
};

/* u and the rest are centred on the means of the round (mu, mr), as the data are centred in the
 * estimate; the square of (u - mu)(r - mr) is expanded so that one pass suffices. */
static struct score_sums
scores_of_variance(const struct tile_sums *s, int l, double n, double mu, double uu)
{
	double mr = s->r0[l] / n, sum = s->r1[l] - n * mu * mr;
	double square = s->q2[l] - 2 * mr * s->r2[l] - 2 * mu * s->q1[l] + mr * mr * uu +
	                4 * mu * mr * s->r1[l] + mu * mu * s->q0[l] - 3 * n * mu * mu * mr * mr;

	return (struct score_sums){ sum, square - sum * sum / n };
}

static struct score_sums
scores_of_mean(const struct tile_sums *s, int l, double n)
{
	return (struct score_sums){ s->r0[l], s->q0[l] - s->r0[l] * s->r0[l] / n };
}

/* One bootstrap round: for each edge |sum of z| in the standard errors of that round. */
static void
round_of(double *out, const struct sample_columns *c, struct bootstrap *b, const double *rests,
    uint32_t rounds)
{
	double mu = 0, uu = 0, n = c->n;

	bootstrap_draw(b);
	for (uint32_t i = 0; i < b->ndrawn; i++) {
		double u = c->u[b->drawn[i].at], *w = &c->weights[3 * i];

		w[0] = b->drawn[i].times;
		w[1] = w[0] * u;
		w[2] = w[1] * u;
		mu += w[1] / n;
		uu += w[2];
	}
	for (uint32_t tile = 0; tile < c->ntiles; tile++) {
		struct tile_sums s;

		sum_tile(&s, c, b, tile);
		for (uint32_t l = 0; l < LANES && tile * LANES + l < c->nedges; l++) {
			struct score_sums off = c->of == SHARE_OF_VARIANCE
			                            ? scores_of_variance(&s, (int)l, n, mu, uu)
			                            : scores_of_mean(&s, (int)l, n);
			double rest = rests[tile * LANES + l];

			out[(size_t)(tile * LANES + l) * rounds] = off.square > 1e-12 * rest * rest
			                                               ? fabs(off.sum) /
			                                                     sqrt(off.square)
			                                               : 0;
		}
	}
}

/*
 * All s that satisfy the inequality above, around the share. Where the standard error of z
 * grows as fast as z, the interval is open; it is then cut at 0 or 1. Shares beyond 0 and 1
 * belong to edges that compensate each other; there, the interval reaches no further than a
 * plain standard error (c of them, at most the error of one request).
 */
static struct interval
share_bounds(const struct products *p, double share, double c, double n_all)
{
	double k = c * c / n_all, a, b, d, root, plain;
	struct interval v = { -INFINITY, INFINITY };

	a = 1 - k * p->dd;
	b = share - k * p->zd;
	d = share * share - k * p->zz;
	root = b * b - a * d > 0 ? sqrt(b * b - a * d) : 0;
	if (a > 0)
		v = (struct interval){ (b - root) / a, (b + root) / a };
	else if (a < 0 && b * b - a * d > 0 && share <= (b + root) / a)
		v.high = (b + root) / a;
	else if (a < 0 && b * b - a * d > 0)
		v.low = (b - root) / a;
	plain = p->zz - 2 * share * p->zd + share * share * p->dd;
	plain = fmin(sqrt(k), 1) * sqrt(fmax(0, plain));
	v.low = fmin(share - plain, fmax(v.low, 0));
	v.high = fmax(share + plain, fmin(v.high, 1));
	return v;
}

/* z(0) is u v, and d is u u. For shares of the mean they are edge time and response time. */
static struct products
products_of(const struct group *g, uint32_t edge, enum share_of of)
{
	const struct comoments *m = &g->edges[edge];
	double n = (double)g->total.n, square = n * g->total.mean * g->total.mean, var, cov;

	if (of == SHARE_OF_MEAN)
		return (
		    struct products){ m->m2_x / square, m->c_xy / square, g->total.m2 / square };
	var = moments_variance(&g->total);
	cov = comoments_covariance(m) / var;
	square = n * var * var;
	return (struct products){ m->c_xxyy / square - cov * cov, m->c_xyyy / square - cov,
		g->total_high.m4 / square - 1 };
}

/* c for all requests seen. The rounds are valid for as many requests as the reservoir holds;
 * the excess of c over the normal quantile decreases with 1/n (Hall 1988). Never below the
 * normal quantile: the reservoir may miss rare requests. */
static double
critical(double *off, uint32_t rounds, double confidence, const struct group *g)
{
	double c = quantile_of_unsorted_rounds(off, rounds, confidence);
	double normal = gsl_cdf_ugaussian_Pinv((1 + confidence) / 2);

	if (g->total.n <= g->nsamples)
		return c;
	return normal + fmax(0, c - normal) * g->nsamples / (double)g->total.n;
}

/*
 * Whether successive requests depend on each other: their response times, or the edge's times, or z at the share. *inflation: how many of
 * them tell as much of the edge's share as an independent one.
 */
static bool
edge_depends(double *inflation, const struct group *g, const struct sample_columns *c,
    uint32_t edge, const uint32_t *order, double *values)
{
	uint32_t n = g->nsamples;
	bool depends;

	for (uint32_t i = 0; i < n; i++)
		values[i] = (double)g->samples[order[i]].total_ns;
	depends = values_depend(values, n);
	for (uint32_t i = 0; i < n; i++)
		values[i] = g->samples[order[i]].edges_ns[edge];
	depends |= values_depend(values, n);
	for (uint32_t i = 0; i < n; i++)
		values[i] = (c->of == SHARE_OF_VARIANCE ? c->u[order[i]] : 1) *
		            c->rest[(size_t)(edge / LANES) * n + order[i]][edge % LANES];
	depends |= values_depend(values, n);
	*inflation = inflation_of_all(depends ? batch_inflation(values, n) : 1, n, g->total.n);
	return depends;
}

/* z(0) and d of each request, one after the other, relative to the mean of d. */
static void
terms_in_order(double *z, double *d, const struct group *g, enum share_of of, uint32_t edge,
    const uint32_t *order)
{
	double n = g->nsamples, t = mean_total(g), x = 0, mean = 0;

	for (uint32_t i = 0; i < g->nsamples; i++)
		x += g->samples[i].edges_ns[edge] / n;
	for (uint32_t i = 0; i < g->nsamples; i++) {
		const struct sample *s = &g->samples[order[i]];
		double u = (double)s->total_ns - t;

		z[i] = of == SHARE_OF_MEAN ? s->edges_ns[edge] : u * (s->edges_ns[edge] - x);
		d[i] = of == SHARE_OF_MEAN ? (double)s->total_ns : u * u;
		mean += d[i] / n;
	}
	for (uint32_t i = 0; i < g->nsamples && mean > 0; i++) {
		z[i] /= mean;
		d[i] /= mean;
	}
}

/* p by so many batches of the samples, of which z and d are in order: what their means vary by beyond what the samples do alone. part: requests by samples. */
static struct products
products_by_batches(const struct products *p, const double *z, const double *d, uint32_t n,
    const struct long_run *alone, double part, uint32_t batches)
{
	struct long_run of = long_run_of(z, d, n, batches);

	return (struct products){ p->zz + (of.xx - alone->xx) * part,
		p->zd + (of.xy - alone->xy) * part, p->dd + (of.yy - alone->yy) * part };
}

/* The interval together with those by batches of successive requests. */
static struct interval
with_batches(struct interval v, const struct products *p, const struct group *g, double share,
    double limit, double confidence, const double *z, const double *d)
{
	struct long_run alone = long_run_of(z, d, g->nsamples, g->nsamples);
	double part = (double)g->total.n / g->nsamples;

	for (uint32_t i = 0; i < BATCH_COUNTS && g->nsamples >= 2 * BATCH_COUNT[i]; i++) {
		const struct products q = products_by_batches(
		    p, z, d, g->nsamples, &alone, part, BATCH_COUNT[i]);
		struct interval x = share_bounds(&q, share,
		    limit * batch_stretch(confidence, BATCH_COUNT[i]), (double)g->total.n);

		v = interval_with(interval_with(v, x.low), x.high);
	}
	return v;
}

/* By which factor the mean number of events is smaller or larger than the one that was seen, at most. Of more the factors are those of as many: GSL's inverse of
 * chi-squared does not converge for some numbers from 940 on, and 9 % is wider than needed. */
#define EVENTS_MOST 500.0

static double
times_fewer(double events, double confidence)
{
	events = fmin(events, EVENTS_MOST);
	return gsl_cdf_chisq_Pinv((1 - confidence) / 2, 2 * events) / (2 * events);
}

static double
times_more(double events, double confidence)
{
	events = fmin(events, EVENTS_MOST);
	return gsl_cdf_chisq_Pinv((1 + confidence) / 2, 2 * events + 2) / (2 * events);
}

/* How many requests, or bursts of them, make up what the edge has of the variance, and what the rest has; see share_few_low(). */
struct event_counts {
	double edge, rest;
};

static double
fewer_events(double events, double n, double mean, double variance)
{
	return variance > 0 ? fmin(events, n * mean * mean / variance) : events;
}

/* The same by batches of successive requests: what comes in bursts comes as often as these. */
static int
count_bursts(struct event_counts *events, const struct products *p, const struct group *g,
    uint32_t edge, double share, double confidence, struct arena *a)
{
	uint32_t n = g->nsamples;
	double *z = arena_alloc(a, n * sizeof *z), *d = arena_alloc(a, n * sizeof *d);
	const uint32_t *order = samples_in_order(g, a);
	double part = (double)g->total.n / n;
	struct long_run alone;

	if (z == NULL || d == NULL || order == NULL)
		return ERR_MEMORY;
	terms_in_order(z, d, g, SHARE_OF_VARIANCE, edge, order);
	alone = long_run_of(z, d, n, n);
	for (uint32_t i = 1; i < BATCH_COUNTS && n >= 2 * BATCH_COUNT[i]; i++) {
		const struct products q = products_by_batches(
		    p, z, d, n, &alone, part, BATCH_COUNT[i]);
		double stretch = batch_stretch(confidence, BATCH_COUNT[i]),
		       few = (double)g->total.n / (stretch * stretch);

		events->edge = fewer_events(events->edge, few, share, q.zz);
		events->rest = fewer_events(events->rest, few, 1 - share, q.dd - 2 * q.zd + q.zz);
	}
	return 0;
}

int
share_few_low(
    struct few_low *ret, const struct group *g, uint32_t edge, double confidence, struct arena *a)
{
	struct products p = products_of(g, edge, SHARE_OF_VARIANCE);
	double share = comoments_covariance(&g->edges[edge]) / moments_variance(&g->total);
	double n = (double)g->total.n, rest = 1 - share;
	/* means of (u v)^2, and of the same with what is not of the edge */
	double square = p.zz + share * share, both = p.zd + share, all = p.dd + 1,
	       others = all - 2 * both + square;
	struct event_counts events = { INFINITY, INFINITY };
	double few, many = 0;
	int rc;

	*ret = (struct few_low){ 0 };
	/* no mean of squares is less than the square of the mean, but where some of them are of samples, which may have none of the few */
	if (!(share > 0) || square < share * share || others < rest * rest)
		return 0;
	events.edge = fewer_events(events.edge, n, share, square);
	events.rest = fewer_events(events.rest, n, rest, others);
	if (g->stands_for_more && g->nsamples >= DEPENDENCE_MIN &&
	    (rc = count_bursts(&events, &p, g, edge, share, confidence, a)) != 0)
		return rc;
	if (!(events.edge >= 1))
		return 0;
	few = share * times_fewer(events.edge, confidence);
	if (rest > 0)
		many = rest * times_more(events.rest, confidence);
	*ret = (struct few_low){ few / (few + many), events.edge };
	return 0;
}

double
share_all_low(double share, double events, double confidence)
{
	return events > 0 ? fmin(1, share) * pow((1 - confidence) / 2, 1 / events) : 0;
}

/* What the edge takes of a usual request: of what comes anywhere, at any time, so much falls into it. */
static int
usual_part(double *ret, const struct group *g, uint32_t edge, struct arena *a)
{
	double *x = arena_alloc(a, g->nsamples * sizeof *x), total;

	*ret = 1;
	if (g->nsamples == 0)
		return 0;
	if (x == NULL)
		return ERR_MEMORY;
	for (uint32_t i = 0; i < g->nsamples; i++)
		x[i] = (double)g->samples[i].total_ns;
	total = quantile_of_unsorted_rounds(x, g->nsamples, 0.5);
	for (uint32_t i = 0; i < g->nsamples; i++)
		x[i] = g->samples[i].edges_ns[edge];
	if (total > 0)
		*ret = fmin(1, fmax(0, quantile_of_unsorted_rounds(x, g->nsamples, 0.5) / total));
	return 0;
}

int
share_low_by_events(
    double *low, const struct group *g, uint32_t edge, bool few, double confidence, struct arena *a)
{
	double share = comoments_covariance(&g->edges[edge]) / moments_variance(&g->total);
	struct few_low by;
	double usual = 0;
	int rc;

	if (!few && !(share >= SHARE_NEARLY_ALL))
		return 0;
	if ((rc = share_few_low(&by, g, edge, confidence, a)) != 0 ||
	    (!few && (rc = usual_part(&usual, g, edge, a)) != 0))
		return rc;
	/* 1 */
	if (few && by.events >= SHARE_FEW_MIN)
		*low = by.low;
	/* 2 */
	if (!few && g->nsamples >= SHARE_BURSTS_OF && by.events >= SHARE_BURSTS_MIN &&
	    pow(usual, by.events) <= SHARE_CHANCE_P)
		*low = share_all_low(share, by.events, confidence);
	return 0;
}

/* The samples do not vary, but other requests did: too rare to tell how certain a share is. */
static void
set_unknown(struct edge_share *edges, const struct group *g)
{
	for (uint32_t e = 0; e < g->shape.nedges && g->total.n > g->nsamples && g->total.m2 > 0;
	     e++)
		edges[e].interval = interval_with((struct interval){ 0, 1 }, edges[e].share);
}

int
share_intervals(struct edge_share *edges, const struct group *g, enum share_of of,
    double confidence, uint32_t rounds, uint64_t seed, struct arena *a)
{
	struct sample_columns c = { .n = g->nsamples, .nedges = g->shape.nedges, .of = of };
	double *rests = arena_alloc(a, c.nedges * sizeof *rests);
	const uint32_t *order;
	struct bootstrap b;
	double *out, *values, *others, unit;

	for (uint32_t e = 0; e < c.nedges; e++) {
		edges[e].interval = (struct interval){ edges[e].share, edges[e].share };
		edges[e].inflation = 1;
	}
	set_unknown(edges, g);
	if (c.n < 2 || rounds == 0)
		return 0;
	c.ntiles = (c.nedges + LANES - 1) / LANES;
	c.u = arena_alloc(a, c.n * sizeof *c.u);
	c.rest = arena_calloc(a, (size_t)c.ntiles * c.n, sizeof *c.rest);
	c.weights = arena_alloc(a, 3 * c.n * sizeof *c.weights);
	out = arena_alloc(a, (size_t)c.ntiles * LANES * rounds * sizeof *out);
	values = arena_alloc(a, c.n * sizeof *values);
	others = arena_alloc(a, c.n * sizeof *others);
	order = samples_in_order(g, a);
	if (rests == NULL || c.u == NULL || c.rest == NULL || c.weights == NULL || out == NULL ||
	    values == NULL || others == NULL || order == NULL ||
	    bootstrap_begin(&b, c.n, seed, a) != 0)
		return ERR_MEMORY;
	if ((unit = scale_totals(&c, g)) <= 0)
		return 0;
	for (uint32_t e = 0; e < c.nedges; e++)
		rests[e] = scale_edge(&c, g, e, unit);
	for (uint32_t i = 0; i < rounds; i++)
		round_of(&out[i], &c, &b, rests, rounds);
	for (uint32_t e = 0; e < c.nedges; e++) {
		struct products p = products_of(g, e, of);
		double limit = critical(&out[(size_t)e * rounds], rounds, confidence, g);
		struct interval v = share_bounds(&p, edges[e].share, limit, (double)g->total.n);

		if (g->stands_for_more &&
		    edge_depends(&edges[e].inflation, g, &c, e, order, values)) {
			terms_in_order(values, others, g, of, e, order);
			v = with_batches(
			    v, &p, g, edges[e].share, limit, confidence, values, others);
		}
		edges[e].interval = v;
	}
	return 0;
}
