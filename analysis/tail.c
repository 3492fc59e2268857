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

#include "analysis/strata.h"

enum { SAMPLES_MIN = 30, SLOW_MIN = 5 };

/* Of the slowest requests that are kept: a round that draws some of them more often must not reach
 * others, which are few and stand for many. */
#define SLOW_PART_MAX 0.8

/* Samples in order of their times, and the weight of each in the difference slow - usual. Ranks are
 * of requests, from 0 to strata.total: a sample that stands for several has as many. */
struct tail_weights {
	struct strata s;
	uint32_t *order; /* [n], fastest first */
	/* [n], by sample: 1 / nslow for each slow request, -1 / nusual for each usual one */
	double *weight;
	double nslow, nusual, usual_first;
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
weights_begin(
    struct tail_weights *p, const struct group *g, double part, uint64_t seed, struct arena *a)
{
	uint32_t n = g->nsamples + g->nslow;
	struct sample_time *t = arena_alloc(a, n * sizeof *t);
	double total, most;

	*p = (struct tail_weights){ .order = arena_alloc(a, n * sizeof *p->order),
		.weight = arena_alloc(a, n * sizeof *p->weight) };
	if (t == NULL || p->order == NULL || p->weight == NULL || strata_of(&p->s, g, seed, a) != 0)
		return ERR_MEMORY;
	for (uint32_t i = 0; i < p->s.n; i++)
		t[i] = (struct sample_time){ p->s.samples[i]->total_ns, i };
	qsort(t, p->s.n, sizeof *t, by_total);
	for (uint32_t i = 0; i < p->s.n; i++)
		p->order[i] = t[i].at;
	total = p->s.total;
	most = g->nslow > 0 ? floor(SLOW_PART_MAX * g->nslow) : 0.4 * total;
	p->nslow = floor(fmax(SLOW_MIN, fmin(most, ceil(part * total))));
	p->usual_first = floor(0.4 * total);
	p->nusual = ceil(0.6 * total) - p->usual_first;
	return 0;
}

/* How many of the ranks [first, first + count) of the round belong to a sample with the ranks
 * [rank, rank + times). */
static double
overlap(double first, double count, double rank, double times)
{
	return fmax(0, fmin(rank + times, first + count) - fmax(rank, first));
}

/* `times`: how often each sample was drawn; NULL: once each. Returns the number of usual samples. */
static uint32_t
weights_set(struct tail_weights *p, const uint32_t *times)
{
	uint32_t nusual = 0;
	double rank = 0;

	for (uint32_t i = 0; i < p->s.n; i++) {
		uint32_t at = p->order[i];
		double n = (times != NULL ? times[at] : 1) * strata_weight(&p->s, at),
		       slow = overlap(p->s.total - p->nslow, p->nslow, rank, n),
		       usual = overlap(p->usual_first, p->nusual, rank, n);

		p->weight[at] = slow / p->nslow - usual / p->nusual;
		nusual += usual > 0;
		rank += n;
	}
	return nusual;
}

static void
measure_points(struct tail *ret, const struct tail_weights *p)
{
	for (uint32_t i = 0; i < p->s.n; i++) {
		const struct sample *s = p->s.samples[i];
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
add_round(double *squares, double *excess, const struct tail_weights *p, const struct tail *t)
{
	double all = 0;

	for (uint32_t e = 0; e < t->nedges; e++)
		excess[e] = 0;
	for (uint32_t i = 0; i < p->s.n; i++) {
		const struct sample *s = p->s.samples[i];
		double w = p->weight[i];

		if (w == 0)
			continue;
		all += w * (double)s->total_ns;
		for (uint32_t e = 0; e < t->nedges; e++)
			excess[e] += w * s->edges_ns[e];
	}
	for (uint32_t e = 0; e < t->nedges; e++) {
		double off = excess[e] - t->edges[e].excess_share * all;

		squares[e] += off * off;
	}
}

static int
measure_rounds(
    struct tail *ret, struct tail_weights *p, double confidence, uint32_t rounds, struct arena *a)
{
	double *squares = arena_calloc(a, ret->nedges, sizeof *squares);
	double *excess = arena_alloc(a, ret->nedges * sizeof *excess);
	double t = gsl_cdf_tdist_Pinv((1 + confidence) / 2, p->nslow - 1),
	       apart = ret->slow_ns - ret->usual_ns;

	if (squares == NULL || excess == NULL)
		return ERR_MEMORY;
	for (uint32_t i = 0; i < rounds; i++) {
		strata_draw(&p->s);
		weights_set(p, p->s.times);
		add_round(squares, excess, p, ret);
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
	if (ret->edges == NULL || weights_begin(&p, g, part, seed, a) != 0)
		return err_set(
		    e, ERR_MEMORY, "no memory for the tail of a group of %u edges", ret->nedges);
	ret->nslow = (uint32_t)p.nslow;
	ret->part = p.nslow / p.s.total;
	ret->nusual = weights_set(&p, NULL);
	measure_points(ret, &p);
	if (measure_rounds(ret, &p, confidence, rounds, a) != 0)
		return err_set(
		    e, ERR_MEMORY, "no memory for the tail of a group of %u edges", ret->nedges);
	return 0;
}
