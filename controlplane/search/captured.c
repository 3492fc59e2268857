/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/search/captured.h"

#include <assert.h>
#include <math.h>

#include "analysis/exact_test.h"

/* An edge has most of a request's excess with more than this part of it. */
static const double MOST = 0.5;
/* Edges whose proportions differ by less than this factor of their odds are improbable alike, as these are estimates. */
static const double ALIKE = 2;
/* Part of the outliers that have the same edge while more of them are waited for. */
static const double AGREE = 0.8;

/* See captured_limit_ns(). */
static const double FAR = 10, TIMES_MEDIAN = 4;

struct edge_facts { /* of each edge */
	double usual_ns, proportion, excess_ns;
	uint32_t with;
};

static double
row_sum(const double *row, uint32_t n)
{
	double sum = 0;

	for (uint32_t i = 0; i < n; i++)
		sum += row[i];
	return sum;
}

/* The time of usual requests, and the proportion of it, with Perks's weight. Returns their mean response time. */
static double
fill_usual(struct edge_facts *edges, const struct captured_facts *f)
{
	double mean_ns = 0, n = f->usual;

	for (uint32_t i = 0; i < f->usual; i++) {
		const double *row = &f->usual_ns[(size_t)i * f->nedges];
		double total_ns = row_sum(row, f->nedges);

		mean_ns += total_ns / n;
		for (uint32_t k = 0; k < f->nedges; k++) {
			edges[k].usual_ns += row[k] / n;
			edges[k].proportion += total_ns > 0 ? row[k] / total_ns / (n + 1) : 0;
		}
	}
	for (uint32_t k = 0; k < f->nedges; k++)
		edges[k].proportion += 1.0 / f->nedges / (n + 1);
	return mean_ns;
}

static void
fill_slow(struct edge_facts *edges, const struct captured_facts *f, double usual_ns)
{
	for (uint32_t i = 0; i < f->slow; i++) {
		const double *row = &f->slow_ns[(size_t)i * f->nedges];
		double excess_ns = row_sum(row, f->nedges) - usual_ns;

		for (uint32_t k = 0; k < f->nedges && excess_ns > 0; k++)
			if (row[k] - edges[k].usual_ns > MOST * excess_ns) {
				edges[k].with++;
				edges[k].excess_ns += row[k] - edges[k].usual_ns;
			}
	}
}

/* The probability that any edge has it in so many requests that this is as improbable. */
static double
place_p(const struct edge_facts *edges, const struct captured_facts *f, double tail)
{
	double sum = 0;

	for (uint32_t k = 0; k < f->nedges; k++)
		for (uint32_t j = 1; j <= f->slow; j++) {
			double its = exact_binomial_tail(j, f->slow, edges[k].proportion);

			if (its <= tail) {
				sum += its;
				break;
			}
		}
	return fmin(1, sum);
}

/* The proportion with ALIKE times the odds: of a small one twice as much, and never all. */
static double
alike(double proportion)
{
	double odds = ALIKE * proportion / fmax(1e-12, 1 - proportion);

	return odds / (1 + odds);
}

/* The edge with most requests, of those the more improbable one. */
static uint32_t
choose(const struct edge_facts *edges, const struct captured_facts *f)
{
	uint32_t best = UINT32_MAX;

	for (uint32_t k = 0; k < f->nedges; k++)
		if (edges[k].with > 0 && (best == UINT32_MAX || edges[k].with > edges[best].with ||
					     (edges[k].with == edges[best].with &&
						 edges[k].proportion < edges[best].proportion)))
			best = k;
	return best;
}

static int
usual_p(double *ret, const struct captured_facts *f, uint32_t edge, struct arena *a, struct err *e)
{
	double slow[CAPTURED_SLOW_MAX], usual[CAPTURED_USUAL_MAX];

	for (uint32_t i = 0; i < f->slow; i++)
		slow[i] = f->slow_ns[(size_t)i * f->nedges + edge];
	for (uint32_t i = 0; i < f->usual; i++)
		usual[i] = f->usual_ns[(size_t)i * f->nedges + edge];
	return exact_rank_sum(ret, slow, f->slow, usual, f->usual, a, e);
}

int
captured_judge(
    struct captured_finding *ret, const struct captured_facts *f, struct arena *a, struct err *e)
{
	struct edge_facts *edges = arena_calloc(a, f->nedges + 1, sizeof *edges), *x;
	int rc;

	assert(f->slow <= CAPTURED_SLOW_MAX && f->usual <= CAPTURED_USUAL_MAX);
	*ret = (struct captured_finding){
		.edge = UINT32_MAX, .share = { 0, 1 }, .place_p = 1, .usual_p = 1, .p = 1
	};
	if (edges == NULL)
		return err_set(e, ERR_MEMORY, "out of memory for the edges of captured requests");
	if (f->usual < CAPTURED_USUAL_LEAST)
		return 0;
	fill_slow(edges, f, fill_usual(edges, f));
	if ((ret->edge = choose(edges, f)) == UINT32_MAX)
		return 0;
	x = &edges[ret->edge];
	if ((rc = usual_p(&ret->usual_p, f, ret->edge, a, e)) != 0)
		return rc;
	ret->with = x->with;
	ret->excess_ns = x->excess_ns / x->with;
	ret->usual_share = x->proportion * (f->usual + 1.0) / f->usual -
	                   1.0 / f->nedges / (double)f->usual;
	ret->share = exact_proportion(x->with, f->slow, f->confidence);
	ret->place_p = place_p(
	    edges, f, exact_binomial_tail(x->with, f->slow, alike(x->proportion)));
	ret->p = fmax(ret->place_p, ret->usual_p);
	ret->sure = ret->p <= VERDICT_CAPTURED_P;
	return 0;
}

/* ---- when ---- */

int64_t
captured_limit_ns(const struct sketch *times)
{
	double median_ns = sketch_quantile(times, 0.5), most_ns = sketch_quantile(times, 0.9);

	if (times->n < CAPTURED_KNOWN)
		return 0;
	return (int64_t)fmax(median_ns + FAR * (most_ns - median_ns), TIMES_MEDIAN * median_ns);
}

static int64_t
wait_ns(const struct rare_facts *f)
{
	double ns = RARE_WAIT_GAPS * (double)f->lasts_ns / fmax(1, (double)f->over);

	return (int64_t)fmin(fmax(ns, RARE_WAIT_LEAST_NS),
	    (double)(f->wait_ns > 0 ? f->wait_ns : RARE_WAIT_MOST_NS));
}

enum rare_step
rare_next(const struct rare_facts *f)
{
	/* 1 */
	if (!f->ends)
		return !f->asked && !f->searched && f->lasts_ns >= RARE_ASK_NS && f->over_ns > 0
		           ? RARE_ASK
		           : RARE_NOT;
	/* 2 */
	if (f->over_ns == 0 || f->over >= f->cut_min)
		return RARE_NOT;
	/* 3 */
	if (f->pending > 0)
		return RARE_WAIT;
	/* 4 */
	if (f->slow >= CAPTURED_ENOUGH && f->usual >= CAPTURED_USUAL_LEAST)
		return RARE_DECIDE;
	/* 5 */
	if (!f->asked && f->over > 0)
		return RARE_ASK;
	/* 6 */
	if (f->over + f->slow > 0 && f->recording && f->lasts_ns < wait_ns(f))
		return RARE_WAIT;
	/* 7 and 8 */
	return f->slow > 0 && f->usual >= CAPTURED_USUAL_LEAST ? RARE_DECIDE : RARE_NOT;
}

bool
rare_may_wait(const struct rare_facts *f)
{
	return f->recording && f->over > 0 && f->over < f->cut_min && f->slow < CAPTURED_SLOW_MAX &&
	       f->lasts_ns < (f->wait_ns > 0 ? f->wait_ns : RARE_WAIT_MOST_NS);
}

bool
rare_wait_on(const struct rare_facts *f, const struct captured_finding *x, uint32_t slow)
{
	return !x->sure && x->with >= AGREE * slow && rare_may_wait(f);
}

bool
rare_is_gone(uint32_t n, double span_ns, double silent_ns)
{
	return n > 1 && span_ns > 0 && silent_ns > 0 &&
	       pow(1 + silent_ns / span_ns, 1.0 - n) <= RARE_GONE_P;
}

bool
rare_is_left(const struct rare_facts *f)
{
	return f->asked && f->recorded && f->over > 0 && f->over < f->cut_min &&
	       f->carries >= RARE_CARRIES;
}
