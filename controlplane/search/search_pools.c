/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/search/search_pools.h"

#include "controlplane/search/gap.h"
#include "controlplane/search/search_hypothesis.h"
#include "controlplane/search/search_list.h"
#include "controlplane/search/thread_pool.h"

struct pool_edge {
	const struct group *group;
	uint32_t edge;
};

static uint32_t
to_of(const struct pool_edge *x)
{
	return x->group->shape.edges[x->edge].to;
}

static double
carried_of(const struct pool_edge *x)
{
	return x->group->edges[x->edge].c_xy;
}

/* It began with a wait between two units. These may have one label: the edge says it. */
static bool
began_with_wait(const struct diagnosis *d, const struct search *s)
{
	const struct gap *gap = &s->origin.gap;
	const struct group *g = groups_find(d->groups, s->origin.group_id);
	uint32_t edge = g != NULL ? gap_edge(&g->shape, gap) : UINT32_MAX;

	return gap->from_unit != gap->to_unit ||
	       (edge != UINT32_MAX && g->shape.edges[edge].owner == LABEL_NONE);
}

/* 2 */
static bool
is_searched(const struct search_port *port, const struct diagnosis *d, uint32_t to)
{
	for (uint32_t i = 0; i < d->nsearches; i++)
		if (pool_same_service(port->labels, d->searches[i]->origin.gap.to, to) &&
		    began_with_wait(d, d->searches[i]))
			return true;
	return false;
}

/* 1 and 2 */
static uint32_t
find_pools(
    struct pool_edge ret[POOLS_MAX], const struct search_port *port, const struct diagnosis *d)
{
	uint32_t n = 0, left = 0;

	for (uint32_t i = 0; i < groups_count(d->groups); i++) {
		const struct group *g = groups_at(d->groups, i);

		for (uint32_t k = 0; k < g->shape.nedges; k++) {
			const struct pool_edge x = { g, k };
			uint32_t at = 0;

			if (g->shape.edges[k].owner != LABEL_NONE ||
			    g->total.n < port->settings.conditions.traces_min)
				continue;
			while (
			    at < n && !pool_same_service(port->labels, to_of(&ret[at]), to_of(&x)))
				at++;
			if (at < n && carried_of(&ret[at]) < carried_of(&x))
				ret[at] = x;
			else if (at == n && n < POOLS_MAX)
				ret[n++] = x;
		}
	}
	for (uint32_t i = 0; i < n; i++)
		if (carried_of(&ret[i]) > 0 && !is_searched(port, d, to_of(&ret[i])))
			ret[left++] = ret[i];
	return left;
}

static int
add(struct search_port *port, struct diagnosis *d, const struct pool_edge *x, struct err *e)
{
	const struct gap gap = gap_of(&x->group->shape, x->edge);
	double variance = moments_variance(&x->group->total);
	struct search *s = search_list_add(d, &gap, x->group->shape.key);
	struct hypothesis *h = s != NULL ? hypothesis_new_from(port, d, NULL) : NULL;

	if (h == NULL)
		return err_set(e, ERR_MEMORY, "%s: out of memory", d->run->type);
	s->origin.hypothesis = h;
	s->origin.problem = PROBLEM_UNPREDICTABLE;
	s->at.carried = comoments_covariance(&x->group->edges[x->edge]);
	s->origin.of_group = s->origin.share = s->at.share = variance > 0 ? s->at.carried / variance
	                                                                  : 0;
	hypothesis_motive(port, h, x->group, x->edge);
	h->share = h->settled_share = s->at.share;
	h->settled_traces = h->traces;
	return hypothesis_evidence(port, h, x->group, x->edge, e);
}

int
search_pools(struct search_port *port, struct diagnosis *d, struct err *e)
{
	struct pool_edge pools[POOLS_MAX];
	const struct pool_edge *most = NULL;
	const struct type_variance t = diagnosis_variance(port, d);
	struct thread_delay_events *events;
	struct arena a = { 0 };
	double most_delay = POOL_EFFECT_MIN;
	uint32_t n;
	int rc;

	if (port->history == NULL || d->tail.ns > 0 || d->nsearches == SEARCHES_MAX ||
	    mono_since_ns(port->now, d->pools_looked) < POOLS_LOOK_NS)
		return 0;
	d->pools_looked = port->now;
	n = find_pools(pools, port, d);
	if (n == 0)
		return 0;
	rc = thread_delay_sort(&events, port->history, &a, e);
	for (uint32_t i = 0; i < n && rc == 0; i++) {
		struct arena its = { 0 };
		double delay;

		rc = pool_delay(&delay, &t, &d->parts, &d->waits, events, port->labels,
		    to_of(&pools[i]), &its, e);
		arena_release(&its);
		if (rc == 0 && delay >= most_delay) { /* not of NAN */
			most_delay = delay;
			most = &pools[i];
		}
	}
	arena_release(&a);
	/* 3 */
	return rc == 0 && most != NULL ? add(port, d, most, e) : rc;
}
