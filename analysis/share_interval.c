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
 * c: how far out z is in the rounds of a bootstrap, in its standard errors; by
 * size, not by side (symmetric bootstrap-t: Hall 1988), whose error in coverage is of
 * order n^-2 and not n^-1.
 *
 * Shares of the mean are the same with u = the response time itself, z(s) = v - s u.
 *
 * docs/calibration.md says what else was tried.
 */
#include <math.h>
#include <string.h>

#include "analysis/bootstrap.h"

enum { LANES = 2 };	/* edges that are done at once */

typedef double lanes __attribute__((vector_size(LANES * sizeof(double))));

/* The reservoir, by columns; the edges' in tiles of LANES. */
struct columns {
	uint32_t n, nedges, ntiles;
	enum share_of of;
	double *u;		/* [n]: total less its mean, over its deviation; of the mean: total over its mean */
	lanes  *rest;		/* [ntiles][n]: edge less what `share` of the total says, over its deviation */
	double *weights;	/* [ndrawn][3], of the round at hand: times, times u, times u^2 */
	struct unseen unseen;
};

/* What share_bounds() needs: means over the reservoir, in units of u. */
struct products {
	double uu, uv, uuvv, uuuv, uuuu;
	double rest;		/* the deviation of the sum of z at the reservoir's share, in the rest's unit */
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
scale_totals(struct columns *c, const struct group *g)
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

/* The edge's rest in its column, its products, and the share that the reservoir alone would give. */
static struct products
scale_edge(struct columns *c, const struct group *g, uint32_t edge, double unit)
{
	lanes *column = &c->rest[(size_t)(edge / LANES) * c->n];
	struct products p = { 0 };
	double mean = 0, share, sum = 0, deviation;

	for (uint32_t i = 0; i < c->n && c->of == SHARE_OF_VARIANCE; i++)
		mean += g->samples[i].edges_ns[edge] / c->n;
	for (uint32_t i = 0; i < c->n; i++) {
		double v = edge_at(g, i, edge, mean, unit), u = c->u[i];
		double f = c->of == SHARE_OF_VARIANCE ? u : 1;

		p.uu += f * u / c->n;
		p.uv += f * v / c->n;
		p.uuvv += f * f * v * v / c->n;
		p.uuuv += f * f * u * v / c->n;
		p.uuuu += f * f * u * u / c->n;
	}
	share = p.uv / p.uu;
	for (uint32_t i = 0; i < c->n; i++) {
		double r = edge_at(g, i, edge, mean, unit) - share * c->u[i];

		column[i][edge % LANES] = r;
		sum += r * r / c->n;
	}
	deviation = sqrt(sum);
	sum = 0;
	for (uint32_t i = 0; i < c->n; i++) {	/* an edge that goes with the total to the last digit has no rest */
		double f = c->of == SHARE_OF_VARIANCE ? c->u[i] : 1;
		double r = deviation > 1e-9 ? column[i][edge % LANES] / deviation : 0;

		column[i][edge % LANES] = r;
		sum += f * f * r * r;
	}
	p.rest = sqrt(sum);
	return p;
}

struct sums {			/* of the round at hand, for a tile: rest and its square, each times u to 0, 1, 2 */
	lanes r0, r1, r2, q0, q1, q2;
};

static struct sums
sum_tile(const struct columns *c, const struct bootstrap *b, uint32_t tile)
{
	const lanes *column = &c->rest[(size_t)tile * c->n];
	const double *w = c->weights;
	struct sums s = { 0 };

	for (uint32_t i = 0; i < b->ndrawn; i++, w += 3) {
		lanes r = column[b->drawn[i].at], q = r * r;

		s.r0 += r * w[0];
		s.r1 += r * w[1];
		s.r2 += r * w[2];
		s.q0 += q * w[0];
		s.q1 += q * w[1];
		s.q2 += q * w[2];
	}
	return s;
}

struct off {
	double sum, square;	/* of z, and its squares about its mean */
};

/* Both u and rest are taken off the round's own means (mu, mr), as they were in what is judged by it; the square of
 * (u - mu)(r - mr) is written out, so that one pass does. */
static struct off
off_variance(const struct sums *s, int l, double n, double mu, double uu)
{
	double mr = s->r0[l] / n, sum = s->r1[l] - n * mu * mr;
	double square = s->q2[l] - 2 * mr * s->r2[l] - 2 * mu * s->q1[l] + mr * mr * uu + 4 * mu * mr * s->r1[l] +
	    mu * mu * s->q0[l] - 3 * n * mu * mu * mr * mr;

	return (struct off){ sum, square - sum * sum / n };
}

static struct off
off_mean(const struct sums *s, int l, double n)
{
	return (struct off){ s->r0[l], s->q0[l] - s->r0[l] * s->r0[l] / n };
}

/* How far z is off 0 in a round, in the standard errors that the round would give. */
static void
round_of(double *out, struct columns *c, struct bootstrap *b, const struct products *p, uint32_t rounds)
{
	double mu = 0, uu = 0, n = c->n;

	bootstrap_draw(b);
	unseen_draw(&c->unseen, b);
	for (uint32_t i = 0; i < b->ndrawn; i++) {
		double u = c->u[b->drawn[i].at], *w = &c->weights[3 * i];

		w[0] = b->drawn[i].times;
		w[1] = w[0] * u;
		w[2] = w[1] * u;
		mu += w[1] / n;
		uu += w[2];
	}
	for (uint32_t tile = 0; tile < c->ntiles; tile++) {
		struct sums s = sum_tile(c, b, tile);

		for (uint32_t l = 0; l < LANES && tile * LANES + l < c->nedges; l++) {
			struct off off = c->of == SHARE_OF_VARIANCE ? off_variance(&s, (int)l, n, mu, uu) : off_mean(&s, (int)l, n);
			double rest = p[tile * LANES + l].rest;

			off.sum = c->unseen.seen * off.sum + c->unseen.rest * c->unseen.normal * rest;
			out[(size_t)(tile * LANES + l) * rounds] = off.square > 1e-12 * rest * rest ?
			    fabs(off.sum) / sqrt(off.square) : 0;
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

	a = p->uu * p->uu - k * (p->uuuu - p->uu * p->uu);
	b = share * p->uu * p->uu - k * (p->uuuv - p->uv * p->uu);
	d = share * share * p->uu * p->uu - k * (p->uuvv - p->uv * p->uv);
	root = b * b - a * d > 0 ? sqrt(b * b - a * d) : 0;
	if (a > 0)
		v = (struct interval){ (b - root) / a, (b + root) / a };
	else if (a < 0 && b * b - a * d > 0 && share <= (b + root) / a)
		v.high = (b + root) / a;
	else if (a < 0 && b * b - a * d > 0)
		v.low = (b - root) / a;
	plain = p->uuvv - p->uv * p->uv - 2 * share * (p->uuuv - p->uv * p->uu) +
	    share * share * (p->uuuu - p->uu * p->uu);
	plain = fmin(sqrt(k), 1) * sqrt(fmax(0, plain)) / p->uu;
	v.low = fmin(share - plain, fmax(v.low, 0));
	v.high = fmax(share + plain, fmin(v.high, 1));
	return v;
}

/*
 * The share is by all that was ever seen, its error by the reservoir. Where what the reservoir
 * alone would say does not hold the share, rare requests that it has not kept make
 * the share, and how sure that is nobody knows: then both are in the interval.
 */
static struct interval
bounds_of(const struct products *p, double share, double c, const struct group *g)
{
	struct interval all = share_bounds(p, share, c, (double)g->total.n), kept;

	if (g->total.n <= g->nsamples)
		return all;
	kept = share_bounds(p, p->uv / p->uu, c, g->nsamples);
	return kept.low <= share && share <= kept.high ? all : interval_with(kept, share);
}

int
share_intervals(struct edge_share *edges, const struct group *g, enum share_of of, double confidence,
    uint32_t rounds, uint64_t seed, struct arena *a)
{
	struct columns c = { .n = g->nsamples, .nedges = g->shape.nedges, .of = of,
		.unseen = unseen_of(g->nsamples, g->total.n) };
	struct products *products = arena_alloc(a, c.nedges * sizeof *products);
	struct bootstrap b;
	double *out, unit;

	for (uint32_t e = 0; e < c.nedges; e++)
		edges[e].interval = (struct interval){ edges[e].share, edges[e].share };
	if (c.n < 2 || rounds == 0)
		return 0;
	c.ntiles = (c.nedges + LANES - 1) / LANES;
	c.u = arena_alloc(a, c.n * sizeof *c.u);
	c.rest = arena_calloc(a, (size_t)c.ntiles * c.n, sizeof *c.rest);
	c.weights = arena_alloc(a, 3 * c.n * sizeof *c.weights);
	out = arena_alloc(a, (size_t)c.ntiles * LANES * rounds * sizeof *out);
	if (products == NULL || c.u == NULL || c.rest == NULL || c.weights == NULL || out == NULL ||
	    bootstrap_begin(&b, c.n, seed, a) != 0)
		return ERR_MEMORY;
	if ((unit = scale_totals(&c, g)) <= 0)
		return 0;
	for (uint32_t e = 0; e < c.nedges; e++)
		products[e] = scale_edge(&c, g, e, unit);
	for (uint32_t i = 0; i < rounds; i++)
		round_of(&out[i], &c, &b, products, rounds);
	for (uint32_t e = 0; e < c.nedges; e++) {
		edges[e].interval = bounds_of(&products[e], edges[e].share,
		    quantile_of_unsorted_rounds(&out[(size_t)e * rounds], rounds, confidence), g);
	}
	return 0;
}
