/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/search/search_state.h"

#include <math.h>
#include <assert.h>
#include <stdlib.h>

const struct search *
search_outermost(const struct search *s)
{
	const struct diagnosis *d = s->diagnosis;

	while (s->origin.beside != UINT32_MAX && s->origin.beside < d->nsearches)
		s = d->searches[s->origin.beside];
	return s;
}

int64_t
search_patience_ns(const struct search_port *port, const struct search *s)
{
	const struct diagnosis *d = s->diagnosis;
	const struct group *g = d->groups != NULL ? groups_find(d->groups, s->origin.group_id)
	                                          : NULL;
	double most_ns = FINAL_PATIENCE * (double)port->settings.cycle_max_ns, all_ns, cycle_ns;
	double plenty = s->final.patient ? DECIDE_MANY : NEXT_PLENTY;

	if (g == NULL || g->total.n == 0)
		return 0;
	all_ns = plenty / (double)g->total.n * (double)mono_since_ns(port->now, d->begun);
	cycle_ns = s->cycle.traces > 0 ? plenty / (double)s->cycle.traces *
	                                     (double)mono_since_ns(port->now, s->cycle.begun)
	                               : 0;
	return (int64_t)fmin(most_ns, fmax(all_ns, cycle_ns));
}

struct type_variance
diagnosis_variance(const struct search_port *port, const struct diagnosis *d)
{
	const struct conditions *c = &port->settings.conditions;

	return type_variance_of(
	    d->groups, sketch_quantile_most(&d->sketch, c->slow_quantile), c->traces_min);
}

const struct sketch *
diagnosis_times(const struct diagnosis *d, struct arena *a)
{
	struct sketch *all = arena_calloc(a, 1, sizeof *all);

	for (uint32_t i = 0; all != NULL && d->groups != NULL && i < groups_count(d->groups); i++)
		sketch_merge(all, groups_at(d->groups, i)->sketch);
	return all;
}

struct search *
search_new(struct diagnosis *d, const struct gap *gap, struct hash128 group_id)
{
	struct search *s = calloc(1, sizeof *s);

	if (s == NULL)
		return NULL;
	s->number = d->nsearches;
	s->diagnosis = d;
	s->phase = SEARCH_WAITING;
	s->origin.group_id = group_id;
	s->origin.gap = s->at.gap = s->at.most = *gap;
	s->origin.beside = UINT32_MAX;
	s->at.of_root = 1;
	s->sides.separation.label = LABEL_NONE;
	s->outcome.label = LABEL_NONE;
	rng_seed(&s->rng, d->seed + s->number);
	return s;
}

void
search_free(struct search *s)
{
	if (s == NULL)
		return;
	groups_free(s->cycle.groups);
	below_list_free(s->below.list);
	arena_release(&s->functions_kept);
	label_set_release(&s->enabled.labels);
	label_set_release(&s->enabled.tried);
	label_set_release(&s->enabled.absent);
	label_set_release(&s->enabled.beside);
	label_set_release(&s->sides.must);
	label_set_release(&s->sides.must_not);
	label_set_release(&s->layer.inside);
	free(s->at.path);
	free(s->at.units);
	free(s->enabled.picks);
	free(s);
}

bool
search_is_on(const struct search *s)
{
	return s->phase != SEARCH_WAITING && s->phase != SEARCH_ENDED;
}

void
search_enter(struct search *s, enum search_phase phase)
{
	assert(search_phase_may_follow(s->phase, phase));
	s->phase = phase;
}

void
search_set_task(struct search *s, enum search_task task)
{
	assert(search_task_may_follow(s->task, task));
	s->task = task;
}

int
search_no_memory(const struct search *s, struct err *e)
{
	return err_set(e, ERR_MEMORY, "%s: out of memory", s->diagnosis->run->type);
}

int
search_measure_input(struct measure_input *ret, const struct search_port *port,
    const struct search *s, struct err *e)
{
	uint32_t *enabled = arena_calloc(port->scratch, s->enabled.n + 1, sizeof *enabled);

	assert(s->cycle.groups != NULL);
	if (enabled == NULL)
		return search_no_memory(s, e);
	for (uint32_t i = 0; i < s->enabled.n; i++)
		enabled[i] = s->enabled.picks[i].label;
	*ret = (struct measure_input){ .groups = s->cycle.groups,
		.gap = s->at.gap,
		.must = &s->sides.must,
		.must_not = &s->sides.must_not,
		.by_latency = s->at.by_latency,
		.tail_ns = s->at.tail_ns,
		.by_mean = s->sides.followed == SIDE_SLOW,
		.enabled = enabled,
		.nenabled = s->enabled.n,
		.nlabels = labels_count(port->labels) };
	return 0;
}

double
search_usual_variance(const struct search *s)
{
	const struct group *root = s->diagnosis->groups != NULL
	                               ? groups_find(s->diagnosis->groups, s->origin.group_id)
	                               : NULL;

	return root == NULL || s->diagnosis->disturbed || s->at.by_latency || s->at.tail_ns > 0
	           ? 0
	           : moments_variance(&root->total) * (s->origin.again ? DECIDE_AGAIN_TIMES : 1);
}

struct decide_context
search_decide_context(const struct search *s)
{
	return (struct decide_context){ .deadline_passed = s->cycle.deadline_passed,
		.carried_found = s->at.carried,
		.share_found = s->at.share,
		.root_share = s->origin.share,
		.of_root = s->at.of_root,
		.usual = search_usual_variance(s),
		.slow_side = s->sides.followed == SIDE_SLOW,
		.forced = s->sides.forced,
		.tail = s->at.tail_ns > 0,
		.since = s->sides.since,
		.fast_ns = s->sides.separation.fast_ns };
}
