/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The slowest requests compared with the usual ones. Each bootstrap round selects both anew,
 * since it is random which requests are the slowest. With few slow requests the error that the
 * rounds show is itself uncertain, hence Student's t.
 */
#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include <gsl/gsl_cdf.h>

#include "analysis/bootstrap.h"

enum { SAMPLES_MIN = 30, SLOW_MIN = 5 };

/* Samples in order of their times, and the weight of each in the difference slow - usual. */
struct tail_weights {
	uint32_t *order; /* [n], fastest first */
	/* [n], by sample: 1 / nslow for slow ones, -1 / nusual for usual ones */
	double *weight;
	uint32_t n, nslow, nusual, usual_first;
};

struct sample_time {
	int64_t total_ns;
	uint32_t at;
};

static int
by_total(const void *a, const void *b)
{
	const struct sample_time *x = a, *y = b;

	return x->total_ns != y->total_ns
	           ? (x->total_ns > y->total_ns) - (x->total_ns < y->total_ns)
	           : (x->at > y->at) - (x->at < y->at);
}

static int
weights_begin(struct tail_weights *p, const struct group *g, double part, struct arena *a)
{
	struct sample_time *t = arena_alloc(a, g->nsamples * sizeof *t);

	*p = (struct tail_weights){ .n = g->nsamples };
	p->order = arena_alloc(a, p->n * sizeof *p->order);
	p->weight = arena_alloc(a, p->n * sizeof *p->weight);
	if (t == NULL || p->order == NULL || p->weight == NULL)
		return ERR_MEMORY;
	for (uint32_t i = 0; i < p->n; i++)
		t[i] = (struct sample_time){ g->samples[i].total_ns, i };
	qsort(t, p->n, sizeof *t, by_total);
	for (uint32_t i = 0; i < p->n; i++)
		p->order[i] = t[i].at;
	p->nslow = (uint32_t)fmax(SLOW_MIN, fmin(0.4 * p->n, ceil(part * p->n)));
	p->usual_first = (uint32_t)(0.4 * p->n);
	p->nusual = (uint32_t)ceil(0.6 * p->n) - p->usual_first;
	return 0;
}

/* How many of the ranks [first, first + count) of the round belong to a sample with the ranks
 * [rank, rank + times). */
static double
overlap(uint32_t first, uint32_t count, uint32_t rank, uint32_t times)
{
	uint32_t low = rank > first ? rank : first,
		 high = rank + times < first + count ? rank + times : first + count;

	return high > low ? high - low : 0;
}

/* `times`: how often each sample was drawn; NULL: once each. */
static void
weights_set(struct tail_weights *p, const uint32_t *times)
{
	uint32_t rank = 0;

	for (uint32_t i = 0; i < p->n; i++) {
		uint32_t n = times != NULL ? times[p->order[i]] : 1;

		p->weight[p->order[i]] = overlap(p->n - p->nslow, p->nslow, rank, n) / p->nslow -
		                         overlap(p->usual_first, p->nusual, rank, n) / p->nusual;
		rank += n;
	}
}

static void
measure_points(struct tail *ret, const struct tail_weights *p, const struct group *g)
{
	for (uint32_t i = 0; i < p->n; i++) {
		const struct sample *s = &g->samples[i];
		double w = p->weight[i];

		ret->slow_ns += w > 0 ? w * (double)s->total_ns : 0;
		ret->usual_ns -= w < 0 ? w * (double)s->total_ns : 0;
		for (uint32_t e = 0; e < ret->nedges && w != 0; e++) {
			ret->edges[e].slow_ns += w > 0 ? w * s->edges_ns[e] : 0;
			ret->edges[e].usual_ns -= w < 0 ? w * s->edges_ns[e] : 0;
		}
	}
	for (uint32_t e = 0; e < ret->nedges && ret->slow_ns > ret->usual_ns; e++)
		ret->edges[e].excess_share = (ret->edges[e].slow_ns - ret->edges[e].usual_ns) /
		                             (ret->slow_ns - ret->usual_ns);
}

/* Adds the squared error of a round, by edge: the excess of the slow ones on it minus its share
 * of the whole excess. */
static void
add_round(double *squares, double *excess, const struct tail_weights *p, const struct tail *t,
    const struct group *g)
{
	double all = 0;

	for (uint32_t e = 0; e < t->nedges; e++)
		excess[e] = 0;
	for (uint32_t i = 0; i < p->n; i++) {
		double w = p->weight[i];

		if (w == 0)
			continue;
		all += w * (double)g->samples[i].total_ns;
		for (uint32_t e = 0; e < t->nedges; e++)
			excess[e] += w * g->samples[i].edges_ns[e];
	}
	for (uint32_t e = 0; e < t->nedges; e++) {
		double off = excess[e] - t->edges[e].excess_share * all;

		squares[e] += off * off;
	}
}

static int
measure_rounds(struct tail *ret, struct tail_weights *p, const struct group *g, double confidence,
    uint32_t rounds, uint64_t seed, struct arena *a)
{
	double *squares = arena_calloc(a, ret->nedges, sizeof *squares);
	double *excess = arena_alloc(a, ret->nedges * sizeof *excess);
	double t = gsl_cdf_tdist_Pinv((1 + confidence) / 2, p->nslow - 1),
	       apart = ret->slow_ns - ret->usual_ns;
	struct bootstrap b;

	if (squares == NULL || excess == NULL || bootstrap_begin(&b, p->n, seed, a) != 0)
		return ERR_MEMORY;
	for (uint32_t i = 0; i < rounds; i++) {
		bootstrap_draw(&b);
		weights_set(p, b.times);
		add_round(squares, excess, p, ret, g);
	}
	for (uint32_t e = 0; e < ret->nedges; e++) {
		double wide = apart > 0 && rounds > 0 ? t * sqrt(squares[e] / rounds) / apart : 0;

		ret->edges[e].interval.low = ret->edges[e].excess_share - wide;
		ret->edges[e].interval.high = ret->edges[e].excess_share + wide;
	}
	return 0;
}

int
tail_of(struct tail *ret, const struct group *g, double part, double confidence, uint32_t rounds,
    uint64_t seed, struct arena *a, struct err *e)
{
	struct tail_weights p;

	assert(part > 0 && part <= 0.4);
	*ret = (struct tail){ .part = part };
	if (g->nsamples < SAMPLES_MIN)
		return 0;
	ret->nedges = g->shape.nedges;
	ret->edges = arena_calloc(a, ret->nedges, sizeof *ret->edges);
	if (ret->edges == NULL || weights_begin(&p, g, part, a) != 0)
		return err_set(
		    e, ERR_MEMORY, "no memory for the tail of a group of %u edges", ret->nedges);
	ret->nslow = p.nslow;
	ret->nusual = p.nusual;
	ret->part = fmax(part, (double)p.nslow / p.n);
	weights_set(&p, NULL);
	measure_points(ret, &p, g);
	if (measure_rounds(ret, &p, g, confidence, rounds, seed, a) != 0)
		return err_set(
		    e, ERR_MEMORY, "no memory for the tail of a group of %u edges", ret->nedges);
	return 0;
}
