/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/dependence.h"

#include <math.h>
#include <stdlib.h>

#include <gsl/gsl_cdf.h>

enum { BATCHES_LEAST = 8, BATCHES_MOST = 20 };
static const uint32_t BATCHES[] = { BATCHES_LEAST, 12, BATCHES_MOST };

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

static double
batched(const double *x, uint32_t n, uint32_t batches, double mean, double variance)
{
	double between = 0, sum = 0;
	uint32_t of = 0;

	for (uint32_t i = 0, batch = 0; i < n; i++) {
		sum += x[i] - mean;
		of++;
		if ((uint64_t)(i + 1) * batches / n == batch)
			continue;
		between += sum * sum / of;
		sum = of = 0;
		batch++;
	}
	return between / (batches - 1) / variance;
}

double
batch_inflation(const double *x, uint32_t n)
{
	double mean = mean_of(x, n), variance = 0, most = 1;

	for (uint32_t i = 0; i < n; i++)
		variance += (x[i] - mean) * (x[i] - mean) / n;
	for (uint32_t i = 0; i < sizeof BATCHES / sizeof *BATCHES && variance > 0; i++)
		if (n >= DEPENDENCE_MIN && n >= 2 * BATCHES[i])
			most = fmax(most, batched(x, n, BATCHES[i], mean, variance));
	return most;
}

double
inflation_of_all(double inflation, uint32_t n, uint64_t n_all)
{
	return n > 0 && n_all > n ? 1 + (inflation - 1) * (double)n_all / n : inflation;
}

double
batch_stretch(double confidence)
{
	double p = (1 + confidence) / 2;

	return gsl_cdf_tdist_Pinv(p, BATCHES_LEAST - 1) / gsl_cdf_ugaussian_Pinv(p);
}
