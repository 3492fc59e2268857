/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/search/watch.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Bootstrap rounds; and a group is judged again when it has 1/NEWS more traces. */
enum { ROUNDS = 100, NEWS = 16 };

/* A cheap estimate of what a group's problem costs, ns. */
static double
rank(const struct group *g, double slow_ns)
{
	double n = (double)g->total.n;

	return n * sqrt(moments_variance(&g->total)) +
	       (g->total.mean > slow_ns ? n * (g->total.mean - slow_ns) : 0);
}

static uint32_t
rank_groups(const struct diagnosis *d, double slow_ns, uint64_t traces_min,
    struct group *best[ELIGIBLE_MAX])
{
	double ranks[ELIGIBLE_MAX];
	uint32_t n = 0;

	for (uint32_t i = 0; i < groups_count(d->groups); i++) {
		struct group *group = groups_at(d->groups, i);
		double its = rank(group, slow_ns);
		uint32_t at;

		if (group->total.n < traces_min)
			continue;
		for (at = n; at > 0 && ranks[at - 1] < its; at--)
			;
		if (at == ELIGIBLE_MAX)
			continue;
		n += n < ELIGIBLE_MAX;
		memmove(&best[at + 1], &best[at], (n - 1 - at) * sizeof best[0]);
		memmove(&ranks[at + 1], &ranks[at], (n - 1 - at) * sizeof ranks[0]);
		best[at] = group;
		ranks[at] = its;
	}
	return n;
}

/* The interval of the edge's share lies above those of all other edges: then few traces are enough. */
static bool
stands_out(const struct finding *f, uint32_t edge)
{
	for (uint32_t i = 0; i < f->nedges; i++)
		if (i != edge && f->edges[i].interval.high >= f->edges[edge].interval.low)
			return false;
	return true;
}

static void
insert(struct eligible out[ELIGIBLE_MAX], uint32_t n, const struct eligible *r)
{
	uint32_t at;

	for (at = n; at > 0 && out[at - 1].judged->finding.cost_ns < r->judged->finding.cost_ns;
	     at--)
		out[at] = out[at - 1];
	out[at] = *r;
}

/* ---- what was judged before ---- */

static bool
is_problem(const struct finding *f)
{
	return f->problem == PROBLEM_UNPREDICTABLE || f->problem == PROBLEM_SLOW;
}

static int
judge(struct judged_group *j, const struct search_port *port, const struct diagnosis *d,
    double slow_ns, struct err *e)
{
	struct finding f;
	struct edge_share *edges;
	int rc = finding_judge(
	    &f, j->group, &port->settings.conditions, slow_ns, ROUNDS, d->seed, port->scratch, e);

	if (rc != 0)
		return rc;
	if ((edges = reallocarray(j->finding.edges, f.nedges + 1, sizeof *edges)) == NULL)
		return err_set(e, ERR_MEMORY, "%s: out of memory", d->run->type);
	memcpy(edges, f.edges, f.nedges * sizeof *edges);
	j->finding = f;
	j->finding.edges = edges;
	j->n = j->group->total.n;
	return 0;
}

/* These groups are watched from now on: their findings are kept, those of others freed. */
static void
watch_only(struct watched *w, struct group *const *best, uint32_t n)
{
	struct watched next = { .n = n };

	for (uint32_t i = 0; i < n; i++) {
		next.judged[i].group = best[i];
		for (uint32_t k = 0; k < w->n; k++)
			if (w->judged[k].group == best[i]) {
				next.judged[i] = w->judged[k];
				w->judged[k].finding.edges = NULL;
			}
	}
	for (uint32_t k = 0; k < w->n; k++)
		free(w->judged[k].finding.edges);
	*w = next;
}

void
watched_free(struct watched *w)
{
	if (w != NULL)
		watch_only(w, NULL, 0);
	free(w);
}

int
eligible_groups(struct eligible out[ELIGIBLE_MAX], const struct search_port *port,
    struct diagnosis *d, bool late, struct err *e)
{
	double slow_ns = sketch_quantile_most(&d->sketch, port->settings.conditions.slow_quantile);
	struct group *best[ELIGIBLE_MAX];
	uint32_t n = rank_groups(d, slow_ns, port->settings.conditions.traces_min, best),
		 neligible = 0;
	int rc;

	if (d->watched == NULL && (d->watched = calloc(1, sizeof *d->watched)) == NULL)
		return err_set(e, ERR_MEMORY, "%s: out of memory", d->run->type);
	watch_only(d->watched, best, n);
	for (uint32_t i = 0; i < n; i++) {
		struct judged_group *j = &d->watched->judged[i];
		uint64_t old = late ? 0 : j->n / NEWS;

		if ((j->n == 0 || best[i]->total.n > j->n + old) &&
		    (rc = judge(j, port, d, slow_ns, e)) != 0)
			return rc;
		if (is_problem(&j->finding))
			insert(out, neligible++, &(struct eligible){ best[i], j });
	}
	return (int)neligible;
}

int
eligible_surely(const struct eligible *r, const struct search_port *port, struct diagnosis *d,
    bool late, struct err *e)
{
	const struct conditions *c = &port->settings.conditions;
	struct judged_group *j = r->judged;
	double slow_ns = sketch_quantile_most(&d->sketch, c->slow_quantile);
	int rc;

	if (j->n != r->group->total.n && (rc = judge(j, port, d, slow_ns, e)) != 0)
		return rc;
	if (!is_problem(&j->finding))
		return 0;
	if ((rc = finding_intervals(
		 &j->finding, r->group, c->confidence, ROUNDS, d->seed, port->scratch, e)) != 0)
		return rc;
	return late || r->group->total.n >= NEXT_PLENTY || stands_out(&j->finding, j->finding.top);
}
