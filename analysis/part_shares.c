/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/part_shares.h"

#include <math.h>

#include "analysis/bootstrap.h"
#include "analysis/group.h"

/* A group whose edges are the parts. */
static bool
group_of(struct group *g, const struct part_row *rows, uint32_t n, uint32_t nparts, struct arena *a)
{
	*g = (struct group){ .stands_for_more = true };
	g->shape.nedges = nparts;
	g->edges = arena_calloc(a, nparts, sizeof *g->edges);
	g->samples = arena_calloc(a, n, sizeof *g->samples);
	if (g->edges == NULL || g->samples == NULL)
		return false;
	for (uint32_t i = 0; i < n; i++) {
		double total = (double)rows[i].total_ns, *x = arena_alloc(a, nparts * sizeof *x);

		if (x == NULL)
			return false;
		for (uint32_t p = 0; p < nparts; p++)
			x[p] = rows[i].parts_ns[p];
		comoments_add_high(g->edges, x, nparts, total, &g->total, &g->total_high);
		moments_high_add(&g->total_high, &g->total, total);
		moments_add(&g->total, total);
		g->samples[g->nsamples++] = (struct sample){
			.total_ns = rows[i].total_ns, .number = i + 1, .order = i + 1, .edges_ns = x
		};
	}
	return true;
}

static double
ratio(double x, double of)
{
	return of > 0 ? x / of : 0;
}

int
part_shares(struct edge_share *ret, struct part_total *total, const struct part_row *rows,
    uint32_t n, uint32_t nparts, bool by_latency, double confidence, uint32_t rounds, uint64_t seed,
    struct arena *a, struct err *e)
{
	struct finding f = { .problem = by_latency ? PROBLEM_SLOW : PROBLEM_UNPREDICTABLE,
		.nedges = nparts,
		.edges = ret };
	struct group g;
	int rc;

	if (!group_of(&g, rows, n, nparts, a))
		return err_set(e, ERR_MEMORY, "out of memory for the parts of %u requests", n);
	*total = (struct part_total){ g.total.mean, moments_variance(&g.total) };
	for (uint32_t i = 0; i < nparts; i++) {
		struct edge_share *x = &ret[i];

		*x = (struct edge_share){ .mean_ns = g.edges[i].mean_x };
		x->latency_share = ratio(x->mean_ns, total->mean_ns);
		x->share = by_latency ? x->latency_share
		                      : ratio(comoments_covariance(&g.edges[i]), total->variance);
		x->interval = (struct interval){ x->share, x->share };
	}
	rc = finding_intervals(&f, &g, confidence, rounds, seed, a, e);
	for (uint32_t i = 0; rc == 0 && i < nparts && !by_latency; i++)
		if (ret[i].interval.low <= 0 &&
		    share_low_by_events(&ret[i].interval.low, &g, i, false, confidence, a) != 0)
			return err_set(
			    e, ERR_MEMORY, "out of memory for the parts of %u requests", n);
	return rc;
}
