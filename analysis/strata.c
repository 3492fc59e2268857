/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/strata.h"

#include <math.h>
#include <stdlib.h>

#include "analysis/quantile.h"

int
strata_of(struct strata *ret, const struct group *g, uint64_t seed, struct arena *a)
{
	struct strata *s = ret;

	*s = (struct strata){ .rest = 1, .total = g->nsamples };
	s->samples = arena_alloc(a, (g->nsamples + g->nslow + 1) * sizeof *s->samples);
	s->times = arena_alloc(a, (g->nsamples + g->nslow + 1) * sizeof *s->times);
	if (s->samples == NULL || s->times == NULL)
		return ERR_MEMORY;
	for (uint32_t i = 0; i < g->nsamples; i++)
		if (!sample_is_slow(g, &g->samples[i]))
			s->samples[s->nrest++] = &g->samples[i];
	s->n = s->nrest;
	for (uint32_t i = 0; i < g->nslow; i++)
		s->samples[s->n++] = &g->slow[i];
	if (g->nslow > 0) {
		s->total = (double)g->total.n;
		s->rest = (s->total - g->nslow) / fmax(1, s->nrest);
	}
	if ((s->nrest > 0 && bootstrap_begin(&s->of_rest, s->nrest, seed, a) != 0) ||
	    (g->nslow > 0 && bootstrap_begin(&s->of_slow, g->nslow, seed + 1, a) != 0))
		return ERR_MEMORY;
	s->of_rest.times = s->times;
	s->of_slow.times = s->times + s->nrest;
	return 0;
}

void
strata_draw(struct strata *s)
{
	if (s->of_rest.n > 0)
		bootstrap_draw(&s->of_rest);
	if (s->of_slow.n > 0)
		bootstrap_draw(&s->of_slow);
}

double
group_quantile(const struct group *g, double q)
{
	double *values, quantile;

	if (g->nsamples == 0 || g->total.n > g->nsamples)
		return sketch_quantile(g->sketch, q);
	if ((values = malloc(g->nsamples * sizeof *values)) == NULL)
		return NAN;
	for (uint32_t i = 0; i < g->nsamples; i++)
		values[i] = (double)g->samples[i].total_ns;
	quantile = select_rank(values, g->nsamples, (uint32_t)quantile_rank(g->nsamples, q));
	free(values);
	return quantile;
}
