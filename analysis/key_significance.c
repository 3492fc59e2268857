/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Response times have heavy tails, and so have sizes. Student's t for Pearson's r and the F
 * test for means then report one request that was large and slow by chance as significant. So
 * the strength of a relation is computed from values (r, between-group share), but p from
 * ranks:
 *
 * - A numeric key gets three tests. Monotone relation: Spearman's rho with Student's t. Whether
 *   the slowest requests have the largest, or the smallest, values: correlation of Savage
 *   scores ("top-down correlation", Iman & Conover 1987), which sees a few large requests that
 *   Spearman's rho does not; its p from the exact mean, variance and skewness over all
 *   permutations, approximated by a gamma distribution (Pearson's type III). p is three times
 *   the least of these (Bonferroni).
 * - A categorical key gets the F test on ranks (Conover & Iman 1981).
 *
 * No p is below that of one permutation among all.
 */
#define _GNU_SOURCE
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_cdf.h>

#include "analysis/key_significance.h"

struct key_scratch {
	double *rank_x, *rank_y, *top_x, *top_y,
	    *bottom_x;  /* [nsamples], by sample; minus their means */
	double *savage; /* [nsamples + 1] */
	uint32_t savage_n;
	uint32_t *at; /* [nsamples] */
};

struct key_scratch *
key_scratch_new(uint32_t n, struct arena *a)
{
	struct key_scratch *w = arena_calloc(a, 1, sizeof *w);
	double *all = arena_calloc(a, 6 * (size_t)n + 1, sizeof *all);

	if (w == NULL || all == NULL || (w->at = arena_alloc(a, n * sizeof *w->at)) == NULL)
		return NULL;
	w->rank_x = all;
	w->rank_y = all + n;
	w->top_x = all + 2 * n;
	w->top_y = all + 3 * n;
	w->bottom_x = all + 4 * n;
	w->savage = all + 5 * n;
	return w;
}

/* ---- orderings ---- */

static int
by_value(const void *a, const void *b, void *values)
{
	uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
	double x = ((const double *)values)[i], y = ((const double *)values)[j];

	return x != y ? (x > y) - (x < y) : (i > j) - (i < j);
}

static int
sort_values(struct ordering *o, uint32_t nsamples, struct arena *a)
{
	if ((o->at = arena_alloc(a, nsamples * sizeof *o->at)) == NULL)
		return ERR_MEMORY;
	for (uint32_t i = 0; i < nsamples; i++)
		if (!isnan(o->values[i]))
			o->at[o->n++] = i;
	qsort_r(o->at, o->n, sizeof *o->at, by_value, o->values);
	for (uint32_t i = 0; i < o->n; i++)
		o->distinct += i == 0 || o->values[o->at[i]] != o->values[o->at[i - 1]];
	return 0;
}

int
ordering_of_key(struct ordering *ret, const struct group *g, uint32_t key, struct arena *a)
{
	assert(key < g->nkeys);
	*ret = (struct ordering){ .values = arena_alloc(a, g->nsamples * sizeof *ret->values) };
	if (ret->values == NULL)
		return ERR_MEMORY;
	for (uint32_t i = 0; i < g->nsamples; i++)
		ret->values[i] = g->samples[i].keys[key];
	return sort_values(ret, g->nsamples, a);
}

int
ordering_of_edge(struct ordering *ret, const struct group *g, uint32_t edge, struct arena *a)
{
	assert(edge < g->shape.nedges);
	*ret = (struct ordering){ .values = arena_alloc(a, g->nsamples * sizeof *ret->values) };
	if (ret->values == NULL)
		return ERR_MEMORY;
	for (uint32_t i = 0; i < g->nsamples; i++)
		ret->values[i] = g->samples[i].edges_ns[edge];
	return sort_values(ret, g->nsamples, a);
}

/* ---- scores ---- */

/* Savage scores 1/n + 1/(n-1) + ..., the expected order statistics of an exponential
 * distribution; savage[i] is the sum of the i lowest. */
static void
savage_for(struct key_scratch *w, uint32_t n)
{
	double score = 0;

	if (w->savage_n == n)
		return;
	w->savage[0] = 0;
	for (uint32_t i = 0; i < n; i++) {
		score += 1.0 / (n - i);
		w->savage[i + 1] = w->savage[i] + score;
	}
	w->savage_n = n;
}

/* Ranks and scores of the samples in `at`, minus their means ((n + 1) / 2 for ranks, 1 for
 * scores). Tied values share the mean of theirs. `bottom` (may be NULL): scores of the reversed
 * order. Returns the logarithm of the number of permutations that ties make equal. */
static double
score(struct key_scratch *w, const uint32_t *at, uint32_t n, const double *values, double *rank,
    double *top, double *bottom)
{
	double ties_log = 0;
	uint32_t end;

	savage_for(w, n);
	for (uint32_t i = 0; i < n; i = end) {
		double high, low;

		for (end = i + 1; end < n && values[at[end]] == values[at[i]]; end++)
			;
		high = (w->savage[end] - w->savage[i]) / (end - i) - 1;
		low = (w->savage[n - i] - w->savage[n - end]) / (end - i) - 1;
		for (uint32_t j = i; j < end; j++) {
			rank[at[j]] = (i + end - 1) / 2.0 - (n - 1) / 2.0;
			top[at[j]] = high;
			if (bottom != NULL)
				bottom[at[j]] = low;
		}
		ties_log += lgamma(end - i + 1.0);
	}
	return ties_log;
}

/* Collects in w->at the edge's samples in their order, without those that lack the key. Returns
 * their number. */
static uint32_t
samples_with_key(struct key_scratch *w, const struct ordering *key, const struct ordering *edge)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < edge->n; i++)
		if (!isnan(key->values[edge->at[i]]))
			w->at[n++] = edge->at[i];
	return n;
}

/* The least possible p: one distinguishable permutation among all. */
static double
p_least(double ties_log, uint32_t n)
{
	return exp(ties_log - lgamma(n + 1.0));
}

/* ---- numbers ---- */

static double
p_spearman(double rho, uint32_t n)
{
	double rest = 1 - rho * rho;

	return rest > 0 ? 2 * gsl_cdf_tdist_Q(fabs(rho) * sqrt((n - 2) / rest), n - 2) : 0;
}

static double
correlation(const uint32_t *at, uint32_t n, const double *x, const double *y)
{
	double xx = 0, yy = 0, xy = 0;

	for (uint32_t i = 0; i < n; i++) {
		xx += x[at[i]] * x[at[i]];
		yy += y[at[i]] * y[at[i]];
		xy += x[at[i]] * y[at[i]];
	}
	return xx > 0 && yy > 0 ? fmax(-1, fmin(1, xy / sqrt(xx) / sqrt(yy))) : 0;
}

/* p of a correlation of scores at least this high. Over all permutations the sum of products
 * has variance xx yy / (n - 1) and third moment xxx yyy n / ((n - 1)(n - 2)). */
static double
p_scores(const uint32_t *at, uint32_t n, const double *x, const double *y)
{
	double xx = 0, yy = 0, xy = 0, xxx = 0, yyy = 0, z, skew, shape;

	for (uint32_t i = 0; i < n; i++) {
		double a = x[at[i]], b = y[at[i]];

		xx += a * a;
		yy += b * b;
		xy += a * b;
		xxx += a * a * a;
		yyy += b * b * b;
	}
	if (xx <= 0 || yy <= 0)
		return 1;
	z = xy / sqrt(xx * yy / (n - 1));
	skew = xxx * yyy * n / (n - 1) / (n - 2) / pow(xx * yy / (n - 1), 1.5);
	if (skew < 0.01)
		return gsl_cdf_ugaussian_Q(z);
	shape = 4 / (skew * skew);
	return z * sqrt(shape) + shape > 0 ? gsl_cdf_gamma_Q(z * sqrt(shape) + shape, shape, 1) : 1;
}

struct pearson { /* Pearson's r, and the least r^2 after removing any one sample */
	double r, square_least;
};

static struct pearson
pearson_of(const uint32_t *at, uint32_t n, const double *x, const double *y)
{
	struct comoments m = { 0 };
	struct moments my = { 0 };
	struct pearson l = { 0, 1 };
	double by = n / (n - 1.0);

	for (uint32_t i = 0; i < n; i++) {
		comoments_add(&m, x[at[i]], y[at[i]]);
		moments_add(&my, y[at[i]]);
	}
	if (m.m2_x <= 0 || my.m2 <= 0)
		return (struct pearson){ 0, 0 };
	l.r = fmax(-1, fmin(1, m.c_xy / sqrt(m.m2_x) / sqrt(my.m2)));
	for (uint32_t i = 0; i < n; i++) {
		double dx = x[at[i]] - m.mean_x, dy = y[at[i]] - my.mean;
		double xx = m.m2_x - by * dx * dx, yy = my.m2 - by * dy * dy,
		       xy = m.c_xy - by * dx * dy;

		l.square_least = fmin(l.square_least,
		    xx > 1e-9 * m.m2_x && yy > 1e-9 * my.m2 ? xy * xy / xx / yy : 0);
	}
	return l;
}

bool
key_significance_of_number(struct key_finding *f, const struct ordering *key,
    const struct ordering *edge, struct key_scratch *w)
{
	uint32_t n = samples_with_key(w, key, edge);
	double ties_log, p;
	struct pearson l;

	if (key->distinct < 2)
		return false;
	score(w, w->at, n, edge->values, w->rank_y, w->top_y, NULL);
	ties_log = score(w, key->at, n, key->values, w->rank_x, w->top_x, w->bottom_x);
	l = pearson_of(w->at, n, key->values, edge->values);
	f->n = n;
	f->numeric = true;
	f->r = l.r;
	f->rho = correlation(w->at, n, w->rank_x, w->rank_y);
	f->explains = fmax(l.square_least, f->rho * f->rho);
	p = fmin(p_spearman(f->rho, n), fmin(p_scores(w->at, n, w->top_x, w->top_y),
					    p_scores(w->at, n, w->bottom_x, w->top_y)));
	f->p = fmin(1, 3 * fmax(p, p_least(ties_log, n)));
	return true;
}

/* ---- categories ---- */

struct within_categories {
	uint32_t categories;
	double values, ranks; /* sums of squares within categories */
	double ties_log;
};

/* Of the samples of the key, category by category. */
static struct within_categories
within_of(const struct ordering *key, const double *values, const double *ranks)
{
	struct within_categories s = { 0 };
	uint32_t end;

	for (uint32_t i = 0; i < key->n; i = end, s.categories++) {
		struct moments value = { 0 }, rank = { 0 };

		for (end = i; end < key->n && key->values[key->at[end]] == key->values[key->at[i]];
		     end++) {
			moments_add(&value, values[key->at[end]]);
			moments_add(&rank, ranks[key->at[end]]);
		}
		s.values += value.m2;
		s.ranks += rank.m2;
		s.ties_log += lgamma(end - i + 1.0);
	}
	return s;
}

static double
p_of_f(double less, double more, double df, double df_rest)
{
	return more > 0 ? gsl_cdf_fdist_Q(fmax(0, less - more) / df / (more / df_rest), df, df_rest)
	                : 0;
}

/* 1 - part / of, adjusted for the share that the categories explain by chance, by their number. */
static double
share_adjusted(double of, double part, double df_of, double df_part)
{
	return of > 0 ? fmax(0, 1 - part / df_part / (of / df_of)) : 0;
}

bool
key_significance_of_category(struct key_finding *f, const struct ordering *key,
    const struct ordering *edge, struct key_scratch *w)
{
	struct moments value = { 0 }, rank = { 0 };
	uint32_t n = samples_with_key(w, key, edge);
	struct within_categories s;

	if (key->distinct < 2 || key->distinct > n / 2)
		return false;
	score(w, w->at, n, edge->values, w->rank_y, w->top_y, NULL);
	for (uint32_t i = 0; i < n; i++) {
		moments_add(&value, edge->values[w->at[i]]);
		moments_add(&rank, w->rank_y[w->at[i]]);
	}
	s = within_of(key, edge->values, w->rank_y);
	f->n = n;
	f->numeric = false;
	f->share = value.m2 > 0 ? fmax(0, 1 - s.values / value.m2) : 0;
	f->explains = share_adjusted(value.m2, s.values, n - 1, n - s.categories);
	f->p = p_of_f(
	    rank.m2, s.ranks > 1e-9 * rank.m2 ? s.ranks : 0, s.categories - 1, n - s.categories);
	f->p = fmin(1, fmax(f->p, p_least(s.ties_log, n)));
	return true;
}

/* Whether each value of `finer` goes with one value of `coarser`, where both are known. */
static bool
determines(const struct ordering *finer, const struct ordering *coarser)
{
	for (uint32_t i = 0, first = UINT32_MAX; i < finer->n; i++) {
		uint32_t at = finer->at[i];

		if (i == 0 || finer->values[at] != finer->values[finer->at[i - 1]])
			first = UINT32_MAX;
		if (isnan(coarser->values[at]))
			continue;
		if (first == UINT32_MAX)
			first = at;
		else if (coarser->values[at] != coarser->values[first])
			return false;
	}
	return true;
}

enum key_nesting
key_nesting(const struct ordering *finer, const struct ordering *coarser,
    const struct ordering *edge, double q, double explain_min, struct key_scratch *w)
{
	struct within_categories fine, coarse;
	uint32_t n;
	double df, p;

	if (finer->n != coarser->n || finer->distinct < coarser->distinct ||
	    !determines(finer, coarser))
		return NESTED_NOT;
	if (finer->distinct == coarser->distinct)
		return NESTED_SAME;
	n = samples_with_key(w, finer, edge);
	score(w, w->at, n, edge->values, w->rank_y, w->top_y, NULL);
	fine = within_of(finer, edge->values, w->rank_y);
	coarse = within_of(coarser, edge->values, w->rank_y);
	df = (double)n - fine.categories;
	p = p_of_f(coarse.ranks, fine.ranks, fine.categories - coarse.categories, df);
	return p <= q && share_adjusted(coarse.values, fine.values, (double)n - coarse.categories,
			     df) >= explain_min
	           ? NESTED_ADDS
	           : NESTED_ADDS_NOTHING;
}
