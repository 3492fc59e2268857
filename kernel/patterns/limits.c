/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernel/patterns/limits.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_cdf.h>

enum { FOLDS = 5 };
static const double QUANTILE = 0.995;

double
limits_log(double x, double resolution)
{
	return log1p(x / resolution);
}

double
limits_value(double y, double resolution)
{
	double x = expm1(y) * resolution;

	return x > 0 ? x : 0;
}

double
limit_score(const struct limit *l, double y)
{
	return y >= l->mean ? (y - l->mean) / l->above : (y - l->mean) / l->below;
}

bool
limit_outside(const struct limits *l, uint32_t measure, double y)
{
	return fabs(limit_score(&l->list[measure], y)) > l->k[l->list[measure].rare];
}

static int
by_size(const void *x, const void *y)
{
	const double *a = x, *b = y;

	return *a < *b ? -1 : *a > *b;
}

/* Of the samples that are not of this fold; FOLDS: of all. v has room for them. */
static void
fit_one(struct limit *ret, const float *y, uint32_t samples, uint32_t nmeasures, uint32_t fold,
    double floor, bool plain, double *v)
{
	double mean = 0, squares = 0, sigma;
	uint32_t n = 0, tail, there = 0;

	for (uint32_t i = 0; i < samples; i++) {
		double x = y[(size_t)i * nmeasures], apart = x - mean;

		if (i % FOLDS == fold)
			continue;
		v[n++] = x;
		there += x > 0;
		mean += apart / n;
		squares += apart * (x - mean);
	}
	sigma = fmax(floor, sqrt(squares / (n - 1)));
	*ret = (struct limit){ mean, sigma, sigma, .rare = there < LIMITS_RARE * n };
	if (plain)
		return;
	qsort(v, n, sizeof *v, by_size);
	tail = (uint32_t)ceil(QUANTILE * n) - 1;
	ret->above = fmax(sigma, (v[tail] - mean) / LIMITS_SIGMAS);
	ret->below = fmax(sigma, (mean - v[n - 1 - tail]) / LIMITS_SIGMAS);
}

/* Three sigma of the normal distribution, for one more value after n. */
static double
predicted(uint32_t n)
{
	return gsl_cdf_tdist_Qinv(gsl_cdf_ugaussian_Q(LIMITS_SIGMAS), n - 1) * sqrt(1 + 1.0 / n);
}

static double
calibrated(const double *scores, uint32_t n)
{
	double rank = floor(LIMITS_ALPHA * (n + 1));

	if (rank >= 1)
		return scores[n - (uint32_t)rank];
	return scores[n - 1] * (LIMITS_SMALL - (LIMITS_SMALL - 1) * LIMITS_ALPHA * (n + 1));
}

/* The scores of what is usual and of what is rare, of each sample by the other folds. */
static void
cross_validate(double *scores[2], struct limits *l, struct limit *others, const float *y,
    const double *floors, const struct limits_options *o, double *v)
{
	for (uint32_t fold = 0; fold < FOLDS; fold++)
		for (uint32_t m = 0; m < l->nmeasures; m++) {
			fit_one(&others[m], y + m, l->samples, l->nmeasures, fold, floors[m],
			    o->plain_quantile, v);
			for (uint32_t i = fold; i < l->samples; i += FOLDS) {
				double s = limit_score(&others[m], y[(size_t)i * l->nmeasures + m]);
				double *most = &scores[l->list[m].rare && !o->one_k][i];

				l->list[m].high += s > LIMITS_SIGMAS;
				l->list[m].low += s < -LIMITS_SIGMAS;
				l->list[m].high_one += s > 1;
				l->list[m].low_one += s < -1;
				*most = fmax(*most, fabs(s));
			}
		}
}

int
limits_fit(struct limits *ret, const float *y, uint32_t samples, uint32_t nmeasures,
    const double *floors, const struct limits_options *o, struct arena *a, struct err *e)
{
	static const struct limits_options none = { 0 };
	struct limit *others;
	double *scores[2], *sorted, *v;

	*ret = (struct limits){ .nmeasures = nmeasures, .samples = samples };
	o = o != NULL ? o : &none;
	if (samples < LIMITS_SAMPLES_MIN)
		return err_set(e, ERR_INPUT, "limits of %u samples; at least %d are needed",
		    samples, LIMITS_SAMPLES_MIN);
	ret->list = arena_calloc(a, (size_t)nmeasures + 1, sizeof *ret->list);
	others = arena_calloc(a, (size_t)nmeasures + 1, sizeof *others);
	scores[0] = arena_calloc(a, samples, sizeof **scores);
	scores[1] = arena_calloc(a, samples, sizeof **scores);
	sorted = arena_calloc(a, samples, sizeof *sorted);
	v = arena_calloc(a, samples, sizeof *v);
	if (ret->list == NULL || others == NULL || scores[0] == NULL || scores[1] == NULL ||
	    sorted == NULL || v == NULL)
		return err_set(e, ERR_MEMORY, "out of memory");
	for (uint32_t m = 0; m < nmeasures; m++)
		fit_one(&ret->list[m], y + m, samples, nmeasures, FOLDS, floors[m],
		    o->plain_quantile, v);
	cross_validate(scores, ret, others, y, floors, o, v);
	for (unsigned rare = 0; rare < 2; rare++) {
		memcpy(sorted, scores[rare], samples * sizeof *sorted);
		qsort(sorted, samples, sizeof *sorted, by_size);
		ret->k[rare] = o->plain_t ? LIMITS_SIGMAS : predicted(samples);
		if (!o->plain_k)
			ret->k[rare] = fmax(ret->k[rare], calibrated(sorted, samples));
	}
	if (o->one_k)
		ret->k[1] = ret->k[0];
	for (uint32_t i = 0; i < samples; i++)
		ret->outside += scores[0][i] > ret->k[0] || scores[1][i] > ret->k[1];
	return 0;
}

/* The share of future things beyond the r-th greatest of n is Beta(r, n + 1 - r); of m, the number beyond is beta-binomial. */
double
limits_chance(uint32_t outside, uint32_t of, uint32_t sample_outside, uint32_t samples)
{
	double r = sample_outside + 1.0, s = samples - (double)sample_outside, m = of, sum = 0;

	if (outside == 0)
		return 1;
	if (s < 1)
		return 1;
	for (uint32_t j = outside; j <= of; j++) {
		double k = j;
		double term = exp(lgamma(m + 1) - lgamma(k + 1) - lgamma(m - k + 1) +
				  lgamma(r + k) + lgamma(s + m - k) - lgamma(r + s + m) +
				  lgamma(r + s) - lgamma(r) - lgamma(s));

		sum += term;
		if (j > outside + 10 && term < sum * 1e-12)
			break;
	}
	return sum < 1 ? sum : 1;
}
