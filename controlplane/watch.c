/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which groups have a problem, by always-on labels alone. */
#include <math.h>
#include <string.h>

#include "controlplane/search.h"

enum { ROUNDS = 100, PLENTY = 150 };

/* A cheap stand-in for what a group's problem costs. */
static double
rank(const struct group *g, double slow_ns)
{
	double n = (double)g->total.n;

	return n * sqrt(moments_variance(&g->total)) + (g->total.mean > slow_ns ? n * (g->total.mean - slow_ns) : 0);
}

static uint32_t
rank_groups(const struct diagnosis *d, double slow_ns, uint64_t traces_min, struct group *best[RIPE_MAX])
{
	double ranks[RIPE_MAX];
	uint32_t n = 0;

	for (uint32_t i = 0; i < groups_count(d->groups); i++) {
		struct group *group = groups_at(d->groups, i);
		double its = rank(group, slow_ns);
		uint32_t at;

		if (group->total.n < traces_min)
			continue;
		for (at = n; at > 0 && ranks[at - 1] < its; at--)
			;
		if (at == RIPE_MAX)
			continue;
		n += n < RIPE_MAX;
		memmove(&best[at + 1], &best[at], (n - 1 - at) * sizeof best[0]);
		memmove(&ranks[at + 1], &ranks[at], (n - 1 - at) * sizeof ranks[0]);
		best[at] = group;
		ranks[at] = its;
	}
	return n;
}

/* Whether an edge's share is surely larger than any other's: then a few traces are enough to go on with it. */
static bool
stands_out(const struct finding *f, uint32_t edge)
{
	for (uint32_t i = 0; i < f->nedges; i++)
		if (i != edge && f->edges[i].interval.high >= f->edges[edge].interval.low)
			return false;
	return true;
}

static uint32_t
insert(struct ripe out[RIPE_MAX], uint32_t n, const struct ripe *r)
{
	uint32_t at;

	for (at = n; at > 0 && out[at - 1].finding.cost_ns < r->finding.cost_ns; at--)
		out[at] = out[at - 1];
	out[at] = *r;
	return n + 1;
}

int
ripe_groups(struct ripe out[RIPE_MAX], struct engine *g, struct diagnosis *d, bool late, struct err *e)
{
	const struct conditions *c = &g->o.conditions;
	double slow_ns = sketch_quantile_most(&d->sketch, c->slow_quantile);
	struct group *best[RIPE_MAX];
	uint32_t n = rank_groups(d, slow_ns, c->traces_min, best), ripe = 0;
	int rc;

	for (uint32_t i = 0; i < n; i++) {
		struct ripe r = { .group = best[i] };

		if ((rc = finding_judge(&r.finding, r.group, c, slow_ns, ROUNDS, d->seed, &g->scratch, e)) != 0)
			return rc;
		if (r.finding.problem != PROBLEM_UNPREDICTABLE && r.finding.problem != PROBLEM_SLOW)
			continue;
		rc = finding_intervals(&r.finding, r.group, c->confidence, ROUNDS, d->seed, &g->scratch, e);
		if (rc != 0)
			return rc;
		if (late || r.group->total.n >= PLENTY || stands_out(&r.finding, r.finding.top))
			ripe = insert(out, ripe, &r);
	}
	return (int)ripe;
}
