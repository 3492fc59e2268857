/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Intervals of shares. A share of the variance is the slope of the edge's time on
 * the response time: with u and v what both are off their means, share s is
 * where z(s) = u (v - s u) is 0 in the mean. Hence the interval is all s for which the
 * mean of z(s) is not surely off 0, by z's own standard error AT THAT s:
 *
 *	(share - s)^2 E(u^2)^2  <=  c^2 / n  var(z(s))
 *
 * (Fieller 1954; a score interval). It is a square in s, solved as such. The usual way, a
 * standard error at the estimate, is too sure of itself: a single slow request draws the
 * slope to itself, and is then thought to fit. Where few slow requests make up the
 * variance, this one has no end: any share would do.
 *
 * z's standard error is by all that was ever seen: its square is made of fourth moments, E(u^2 v^2),
 * E(u^3 v) and E(u^4), which stream as the second do.
 *
 * c: how far out z is in the rounds of a bootstrap of the reservoir, in its standard errors; by
 * size, not by side (symmetric bootstrap-t: Hall 1988), whose error in coverage is of
 * order n^-2 and not n^-1.
 *
 * Shares of the mean are the same with u = the response time itself, z(s) = v - s u.
 *
 * docs/calibration.md says what else was tried.
 */
#include <math.h>
#include <string.h>

#include <gsl/gsl_cdf.h>

#include "analysis/bootstrap.h"

enum { LANES = 4 }; /* edges that are done at once; by AVX2 where that is, else by halves */

typedef double lanes __attribute__((vector_size(LANES * sizeof(double)), aligned(16)));

/* The reservoir, by columns; the edges' in tiles of LANES. */
struct sample_columns {
	uint32_t n, nedges, ntiles;
	enum share_of of;
	double
	    *u; /* [n]: total less its mean, over its deviation; of the mean: total over its mean */
	lanes *rest; /* [ntiles][n]: edge less what `share` of the total says, over its deviation */
	double *weights; /* [ndrawn][3], of the round at hand: times, times u, times u^2 */
};

/* Of everything that was seen: z(s) = z(0) - s d, how both parts vary, and together, in the mean of
 * d. */
struct products {
	double zz, zd, dd;
};

/* One edge off its mean, in the unit that u is in. */
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

/* The unit of u: 0 when there is nothing to share out. */
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

/* The edge's rest in its column. Returns the deviation of the sum of z at the reservoir's share, in
 * the rest's unit. */
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
	for (uint32_t i = 0; i < c->n;
	     i++) { /* an edge that goes with the total to the last digit has no rest */
		double f = c->of == SHARE_OF_VARIANCE ? c->u[i] : 1;
		double r = deviation > 1e-9 ? column[i][edge % LANES] / deviation : 0;

		column[i][edge % LANES] = r;
		sum += f * f * r * r;
	}
	return sqrt(sum);
}

struct tile_sums { /* of the round at hand, for a tile: rest and its square, each times u to 0, 1, 2
	            */
	lanes r0, r1, r2, q0, q1, q2;
};

static inline __attribute__((always_inline)) void
sum_column(struct tile_sums *ret, const lanes *column, const double *w, const struct bootstrap *b)
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

#ifdef __x86_64__
__attribute__((target("avx2"))) static void
sum_column_avx2(
    struct tile_sums *ret, const lanes *column, const double *w, const struct bootstrap *b)
{
	sum_column(ret, column, w, b);
}
#endif

/* To the last bit the same either way: each lane is an edge by itself, and nothing is fused. */
static void
sum_tile(
    struct tile_sums *ret, const struct sample_columns *c, const struct bootstrap *b, uint32_t tile)
{
	const lanes *column = &c->rest[(size_t)tile * c->n];

#ifdef __x86_64__
	if (__builtin_cpu_supports("avx2")) {
		sum_column_avx2(ret, column, c->weights, b);
		return;
	}
#endif
	sum_column(ret, column, c->weights, b);
}

struct score_sums {
	double sum, square; /* of z, and its squares about its mean */
};

/* Both u and rest are taken off the round's own means (mu, mr), as they were in what is judged by
 * it; the square of (u - mu)(r - mr) is written out, so that one pass does. */
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

/* How far z is off 0 in a round, in the standard errors that the round would give. */
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
 * All s that the inequality above leaves, around the share. Open on the side where
 * z's error grows as fast as z; there it ends at 0 or 1, as everywhere: shares beyond
 * those take edges that make up for each other, and are believed no further than a plain
 * standard error goes (c of them; but no further than one request's own error).
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

/* z(0) is u v, and d u u; of shares of the mean they are edge and total as such. */
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

/*
 * c for everything that was seen. The rounds tell of as many requests as were kept; what c is
 * beyond the normal quantile goes with 1/n (Hall 1988). Never less than that: rare requests may not
 * have been kept.
 */
static double
critical(double *off, uint32_t rounds, double confidence, const struct group *g)
{
	double c = quantile_of_unsorted_rounds(off, rounds, confidence);
	double normal = gsl_cdf_ugaussian_Pinv((1 + confidence) / 2);

	if (g->total.n <= g->nsamples)
		return c;
	return normal + fmax(0, c - normal) * g->nsamples / (double)g->total.n;
}

/* The reservoir has nothing to share out, others had: so rare, that how sure a share is cannot be
 * told. */
static void
nothing_known(struct edge_share *edges, const struct group *g)
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
	struct bootstrap b;
	double *out, unit;

	for (uint32_t e = 0; e < c.nedges; e++)
		edges[e].interval = (struct interval){ edges[e].share, edges[e].share };
	nothing_known(edges, g);
	if (c.n < 2 || rounds == 0)
		return 0;
	c.ntiles = (c.nedges + LANES - 1) / LANES;
	c.u = arena_alloc(a, c.n * sizeof *c.u);
	c.rest = arena_calloc(a, (size_t)c.ntiles * c.n, sizeof *c.rest);
	c.weights = arena_alloc(a, 3 * c.n * sizeof *c.weights);
	out = arena_alloc(a, (size_t)c.ntiles * LANES * rounds * sizeof *out);
	if (rests == NULL || c.u == NULL || c.rest == NULL || c.weights == NULL || out == NULL ||
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

		edges[e].interval = share_bounds(&p, edges[e].share,
		    critical(&out[(size_t)e * rounds], rounds, confidence, g), (double)g->total.n);
	}
	return 0;
}
