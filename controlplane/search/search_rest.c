/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/search/search_rest.h"

#include <assert.h>
#include <math.h>
#include <gsl/gsl_cdf.h>

#include "controlplane/search/rest.h"
#include "controlplane/search/search_list.h"
#include "controlplane/search/worth.h"

/* The group that it began with, by always-on labels: all requests since the diagnosis began. NULL: it is
 * counted as other now. */
static struct group *
root_of(const struct search *s)
{
	return groups_find(s->diagnosis->groups, s->origin.group_id);
}

double
search_effect(const struct search_port *port, const struct search *s, double share, double variance)
{
	const struct group *root = root_of(s);
	const struct type_variance t = diagnosis_variance(port, s->diagnosis);
	const struct effect_facts f = { .by_latency = s->origin.problem == PROBLEM_SLOW,
		.share = share,
		.group_variance = root != NULL ? moments_variance(&root->total) : variance,
		.within_variance = t.n > 0 ? t.m2 / t.n : 0 };

	return effect_of(&f);
}

/* Of an edge that is always on, over all requests of the group since the diagnosis began. */
static double
root_share(const struct search *s, const struct group *root, uint32_t edge)
{
	const struct comoments *c = &root->edges[edge];

	if (s->at.by_latency)
		return root->total.mean > 0 ? c->mean_x / root->total.mean : 0;
	return root->total.m2 > 0 ? c->c_xy / root->total.m2 : 0;
}

/* The verdict's effect, at most what the edge that its search began with has of all requests: those of the
 * verdict are fewer. */
static double
named_effect(const struct search_port *port, const struct search *x, const struct group *root)
{
	uint32_t edge = root != NULL ? gap_edge(&root->shape, &x->origin.gap) : UINT32_MAX;
	double effect = x->outcome.verdict->effect;

	if (edge == UINT32_MAX)
		return effect;
	return fmin(effect, search_effect(port, x, root_share(x, root, edge), 0));
}

double
search_left(const struct search_port *port, const struct search *s)
{
	const struct diagnosis *d = s->diagnosis;
	const struct group *root = root_of(s);
	double left = search_effect(port, s, 1, 0);

	for (uint32_t i = 0; i < d->nsearches; i++) {
		const struct search *x = d->searches[i];

		if (x->outcome.verdict != NULL && x->origin.group_id.a == s->origin.group_id.a &&
		    x->origin.group_id.b == s->origin.group_id.b)
			left -= named_effect(port, x, root);
	}
	if (s->origin.problem == PROBLEM_SLOW && root != NULL && root->total.mean > 0)
		left -= sketch_quantile_most(&d->sketch, port->settings.conditions.slow_quantile) /
		        root->total.mean;
	return fmax(0, left);
}

/* Verdicts, and searches that may get one. */
static uint32_t
causes_of(const struct diagnosis *d)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < d->nsearches; i++)
		n += d->searches[i]->outcome.verdict != NULL ||
		     d->searches[i]->phase != SEARCH_ENDED;
	return n;
}

struct left_edge { /* an edge of the path that no search was about */
	struct gap gap;
	uint32_t edge;
	struct measured m;
	double effect; /* without the named edge; 0: not enough, or not certainly */
};

/* Where an edge of the path is measured. */
struct edge_sample {
	struct group **groups;
	uint32_t n;
	struct gap known; /* the cause that has a name, in these groups */
};

static struct measured
measure_in_root(const struct search *s, const struct group *root, uint32_t edge)
{
	const struct comoments *c = &root->edges[edge];

	return (struct measured){ .all = { .n = (double)root->total.n,
				      .t = root->total.mean,
				      .variance = moments_variance(&root->total),
				      .x = c->mean_x },
		.carries = s->at.by_latency ? c->mean_x : comoments_covariance(c),
		.share = root_share(s, root, edge) };
}

static int
measure_in_cycle(struct measured *ret, const struct gap *gap, const struct search_port *port,
    const struct search *s, struct err *e)
{
	struct measure_input in;
	int rc = search_measure_input(&in, port, s, e);

	in.gap = *gap;
	return rc != 0 ? rc : measure_gap(ret, &in, port->scratch, e);
}

/* An edge between always-on labels is measured over all requests of the group, another one over those of
 * this cycle. */
static int
measure_edge(struct left_edge *ret, const struct edge_sample *cycle, const struct search_port *port,
    const struct search *s, struct err *e)
{
	struct group *root = root_of(s);
	uint32_t edge = root != NULL ? gap_edge(&root->shape, &ret->gap) : UINT32_MAX;
	const struct edge_sample always_on = { &root, 1, s->origin.gap },
				 *x = edge != UINT32_MAX ? &always_on : cycle;
	double least = s->diagnosis->run->effect_min,
	       z = gsl_cdf_ugaussian_Pinv((1 + port->settings.conditions.confidence) / 2), low;
	struct rest_share rest;
	int rc = 0;

	if (edge != UINT32_MAX)
		ret->m = measure_in_root(s, root, edge);
	else
		rc = measure_in_cycle(&ret->m, &ret->gap, port, s, e);
	if (rc != 0 || search_effect(port, s, ret->m.share, ret->m.all.variance) < least ||
	    (rc = rest_share_of(&rest, x->groups, x->n, &x->known, &ret->gap, s->at.by_latency,
		 port->scratch, e)) != 0)
		return rc;
	low = search_effect(port, s, rest.share - z * rest.se, ret->m.all.variance);
	if (low >= least / 2)
		ret->effect = search_effect(port, s, rest.share, ret->m.all.variance);
	return 0;
}

/* Of what an edge between always-on labels carries, the part that was not there in the baseline; of others, and without one: 1. */
static int
new_part(double *ret, const struct search_port *port, const struct search *s, const struct gap *gap,
    struct err *e)
{
	const struct diagnosis *d = s->diagnosis;
	const struct group *root = root_of(s);
	uint32_t edge = root != NULL ? gap_edge(&root->shape, gap) : UINT32_MAX;
	struct baseline now;
	int rc;

	*ret = 1;
	if (d->before == NULL || edge == UINT32_MAX)
		return 0;
	if ((rc = baseline_of(&now, d->groups, port->labels, 0, 0, d->seed, port->scratch, e)) == 0)
		*ret = baseline_more(&now, d->before, labels_get(port->labels, gap->from)->text,
		    labels_get(port->labels, gap->to)->text,
		    root->shape.edges[edge].owner == LABEL_NONE)
		           .part;
	return rc;
}

/* *ret->effect 0: there is none. */
static int
largest_edge(struct left_edge *ret, const struct search_port *port, const struct search *s,
    const struct shape *shape, uint32_t edge, struct err *e)
{
	struct edge_sample cycle = { .n = groups_count(s->cycle.groups),
		.known = gap_of(shape, edge) };

	ret->effect = 0;
	cycle.groups = arena_calloc(port->scratch, cycle.n + 1, sizeof(struct group *));
	if (cycle.groups == NULL)
		return search_no_memory(s, e);
	for (uint32_t i = 0; i < cycle.n; i++)
		cycle.groups[i] = groups_at(s->cycle.groups, i);
	for (uint32_t i = 0; i < shape->nedges; i++) {
		struct left_edge x = { .gap = gap_of(shape, i), .edge = i };
		double part = 1;
		int rc;

		if (i == edge || search_list_has_gap(s->diagnosis, &x.gap))
			continue;
		if ((rc = measure_edge(&x, &cycle, port, s, e)) != 0 ||
		    (x.effect > 0 && (rc = new_part(&part, port, s, &x.gap, e)) != 0))
			return rc;
		x.effect *= part;
		if (x.effect >= s->diagnosis->run->effect_min && x.effect > ret->effect)
			*ret = x;
	}
	return 0;
}

static struct rest_facts
rest_facts_of(const struct search_port *port, const struct search *s)
{
	const struct run *run = s->diagnosis->run;
	const struct verdict *v = s->outcome.verdict;

	return (struct rest_facts){ .worth = verdict_sure(v) && verdict_worth(v, run->effect_min),
		.left = search_left(port, s),
		.effect_min = run->effect_min,
		.causes = causes_of(s->diagnosis),
		.causes_max = run->causes_max };
}

int
search_rest(struct search_port *port, const struct search *s, const struct group *group,
    uint32_t edge, struct err *e)
{
	struct rest_facts f = rest_facts_of(port, s);

	assert(s->outcome.verdict != NULL && s->phase != SEARCH_ENDED);
	if (s->diagnosis->tail.ns > 0)
		return 0;
	for (; rest_step(&f) == REST_SEARCH; f.causes = causes_of(s->diagnosis)) {
		struct left_edge x;
		int rc = largest_edge(&x, port, s, &group->shape, edge, e);

		if (rc != 0 || x.effect <= 0)
			return rc;
		if ((rc = search_list_add_rest(port, s, &x.m, group, x.edge, e)) != 0)
			return rc;
		if (causes_of(s->diagnosis) == f.causes)
			return 0; /* SEARCHES_MAX */
	}
	return 0;
}
