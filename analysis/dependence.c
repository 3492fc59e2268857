/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/dependence.h"

#include <math.h>
#include <stdlib.h>

#include <gsl/gsl_cdf.h>

const uint32_t BATCH_COUNT[BATCH_COUNTS] = { 4, 8, 12, 20 };

/* A variance from four batches is too uncertain to be told as an effective number of requests. */
enum { INFLATION_FROM = 1 };

struct ordered_sample {
	uint64_t order;
	uint32_t at;
};

static int
by_order(const void *a, const void *b)
{
	const struct ordered_sample *x = a, *y = b;

	return (x->order > y->order) - (x->order < y->order);
}

uint32_t *
samples_in_order(const struct group *g, struct arena *a)
{
	struct ordered_sample *places = arena_alloc(a, (g->nsamples + 1) * sizeof *places);
	uint32_t *ret = arena_alloc(a, (g->nsamples + 1) * sizeof *ret);

	if (places == NULL || ret == NULL)
		return NULL;
	for (uint32_t i = 0; i < g->nsamples; i++)
		places[i] = (struct ordered_sample){ g->samples[i].order, i };
	qsort(places, g->nsamples, sizeof *places, by_order);
	for (uint32_t i = 0; i < g->nsamples; i++)
		ret[i] = places[i].at;
	return ret;
}

static double
mean_of(const double *x, uint32_t n)
{
	double mean = 0;

	for (uint32_t i = 0; i < n; i++)
		mean += x[i] / n;
	return mean;
}

bool
values_depend(const double *x, uint32_t n)
{
	double mean = mean_of(x, n), square = 0, neighbours = 0;

	for (uint32_t i = 0; i < n; i++) {
		square += (x[i] - mean) * (x[i] - mean);
		neighbours += i > 0 ? (x[i] - mean) * (x[i - 1] - mean) : 0;
	}
	return n >= DEPENDENCE_MIN && neighbours * sqrt(n) > 2 * square;
}

struct long_run
long_run_of(const double *x, const double *y, uint32_t n, uint32_t batches)
{
	double mean_x = mean_of(x, n), mean_y = mean_of(y, n), sum_x = 0, sum_y = 0;
	struct long_run ret = { 0 };
	uint32_t of = 0;

	for (uint32_t i = 0, batch = 0; i < n; i++) {
		sum_x += x[i] - mean_x;
		sum_y += y[i] - mean_y;
		of++;
		if ((uint64_t)(i + 1) * batches / n == batch)
			continue;
		ret.xx += sum_x * sum_x / of / (batches - 1);
		ret.xy += sum_x * sum_y / of / (batches - 1);
		ret.yy += sum_y * sum_y / of / (batches - 1);
		sum_x = sum_y = of = 0;
		batch++;
	}
	return ret;
}

double
batch_inflation(const double *x, uint32_t n)
{
	double mean = mean_of(x, n), variance = 0, most = 1;

	for (uint32_t i = 0; i < n; i++)
		variance += (x[i] - mean) * (x[i] - mean) / n;
	for (uint32_t i = INFLATION_FROM; i < BATCH_COUNTS && variance > 0; i++)
		if (n >= DEPENDENCE_MIN && n >= 2 * BATCH_COUNT[i])
			most = fmax(most, long_run_of(x, x, n, BATCH_COUNT[i]).xx / variance);
	return most;
}

double
inflation_of_all(double inflation, uint32_t n, uint64_t n_all)
{
	return n > 0 && n_all > n ? 1 + (inflation - 1) * (double)n_all / n : inflation;
}

double
batch_stretch(double confidence, uint32_t batches)
{
	double p = (1 + confidence) / 2;

	return gsl_cdf_tdist_Pinv(p, batches - 1) / gsl_cdf_ugaussian_Pinv(p);
}
