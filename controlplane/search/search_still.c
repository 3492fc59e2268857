/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/search/search_still.h"

#include "controlplane/search/gap.h"
#include "controlplane/search/search_hypothesis.h"
#include "controlplane/search/search_list.h"
#include "controlplane/search/search_verdict.h"

bool
still_is_cause(const struct process_still *still, double effect_min)
{
	/* 1 */
	if (still->stills == 0)
		return false;
	/* 2 and 3 */
	return still->share_low >= effect_min;
}

/* The group with most requests that has the edge between two units, and its number. NULL: none. */
static const struct group *
group_with(const struct diagnosis *d, uint32_t from, uint32_t to, uint32_t *edge)
{
	const struct group *ret = NULL;

	for (uint32_t i = 0; i < groups_count(d->groups); i++) {
		const struct group *g = groups_at(d->groups, i);

		for (uint32_t k = 0; k < g->shape.nedges; k++) {
			const struct shape_edge *x = &g->shape.edges[k];

			if (x->from == from && x->to == to && x->owner == LABEL_NONE &&
			    (ret == NULL || g->total.n > ret->total.n)) {
				ret = g;
				*edge = k;
			}
		}
	}
	return ret;
}

static int
give_verdict(struct search_port *port, struct diagnosis *d, const struct group *g, uint32_t edge,
    struct err *e)
{
	const struct gap gap = gap_of(&g->shape, edge);
	struct search *s = search_list_add(d, &gap, g->shape.key);
	struct hypothesis *h = s != NULL ? hypothesis_new_from(port, d, NULL) : NULL;
	int rc;

	if (h == NULL)
		return err_set(e, ERR_MEMORY, "%s: out of memory", d->run->type);
	s->still = &d->still;
	s->origin.hypothesis = s->at.hypothesis = h;
	s->origin.problem = PROBLEM_UNPREDICTABLE;
	hypothesis_motive(port, h, g, edge);
	s->origin.of_group = s->origin.share = s->at.share = h->share;
	h->settled_share = h->share;
	h->settled_traces = h->traces;
	if ((rc = hypothesis_evidence(port, h, g, edge, e)) != 0)
		return rc;
	hypothesis_enter(h, HYPOTHESIS_ISOLATES, port->when);
	return conclude(port, s, d->groups, g, edge, VERDICT_PLACE, e);
}

/* The longer it lasts, the more seldom: a look sorts the whole history. */
static int64_t
look_after_ns(int64_t lasts_ns)
{
	return lasts_ns / 4 > STILL_LOOK_NS ? lasts_ns / 4 : STILL_LOOK_NS;
}

int
search_still(struct search_port *port, struct diagnosis *d, struct err *e)
{
	const struct group *g;
	struct process_still still;
	struct arena a = { 0 };
	uint32_t edge;
	int rc;

	if (port->history == NULL || d->still.stills > 0 || d->tail.ns > 0 ||
	    d->nsearches == SEARCHES_MAX ||
	    mono_since_ns(
		port->now, d->still_looked.ns > d->begun.ns ? d->still_looked : d->begun) <
		look_after_ns(mono_since_ns(port->now, d->begun)))
		return 0;
	d->still_looked = port->now;
	rc = process_still_of(
	    &still, &d->parts, port->history, port->settings.conditions.confidence, &a, e);
	arena_release(&a);
	if (rc != 0 || !still_is_cause(&still, d->run->effect_min) ||
	    (g = group_with(d, still.from, still.to, &edge)) == NULL)
		return rc;
	d->still = still;
	return give_verdict(port, d, g, edge, e);
}
