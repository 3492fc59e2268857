/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/search/search_list.h"

#include <assert.h>
#include <math.h>

#include "base/array.h"
#include "controlplane/search/narrow.h"
#include "controlplane/search/search_hypothesis.h"

static bool
same_group(struct hash128 a, struct hash128 b)
{
	return a.a == b.a && a.b == b.b;
}

struct search *
search_list_add(struct diagnosis *d, const struct gap *gap, struct hash128 group_id)
{
	struct search *s;

	assert(d->nsearches < SEARCHES_MAX);
	if (!array_reserve(d->searches, d->searches_cap, d->nsearches + 1))
		return NULL;
	if ((s = search_new(d, gap, group_id)) != NULL)
		d->searches[d->nsearches++] = s;
	return s;
}

bool
search_list_has_gap(const struct diagnosis *d, const struct gap *gap)
{
	for (uint32_t i = 0; i < d->nsearches; i++)
		if (gap_same_ends(&d->searches[i]->at.gap, gap) ||
		    gap_same_ends(&d->searches[i]->origin.gap, gap))
			return true;
	return false;
}

bool
search_list_has_group(const struct diagnosis *d, struct hash128 group_id)
{
	for (uint32_t i = 0; i < d->nsearches; i++)
		if (same_group(d->searches[i]->origin.group_id, group_id))
			return true;
	return false;
}

bool
search_is_duplicate(const struct search *s)
{
	const struct diagnosis *d = s->diagnosis;

	for (uint32_t i = 0; i < d->nsearches; i++) {
		const struct search *x = d->searches[i];

		if (x != s && (search_is_on(x) || x->outcome.verdict != NULL) &&
		    gap_same_ends(&x->at.gap, &s->at.gap) &&
		    same_group(x->origin.group_id, s->origin.group_id) &&
		    x->sides.followed == s->sides.followed)
			return true;
	}
	return false;
}

bool
search_list_has_beside(const struct search *s)
{
	const struct diagnosis *d = s->diagnosis;

	for (uint32_t i = 0; i < d->nsearches; i++) {
		const struct search *x = d->searches[i];

		if (x->origin.beside == s->number &&
		    (x->phase != SEARCH_ENDED || x->outcome.verdict != NULL))
			return true;
	}
	return false;
}

int
search_list_add_beside(struct search_port *port, const struct search *by, const struct measured *m,
    const struct part *part, struct err *e)
{
	struct diagnosis *d = by->diagnosis;
	struct hypothesis *h;
	struct search *s;

	if (search_list_has_gap(d, &part->gap) || d->nsearches == SEARCHES_MAX)
		return 0;
	if ((s = search_list_add(d, &part->gap, by->origin.group_id)) == NULL ||
	    (h = s->origin.hypothesis = hypothesis_new_from(port, d, by->at.hypothesis)) == NULL ||
	    !label_set_copy(&s->sides.must, &by->sides.must) ||
	    !label_set_copy(&s->sides.must_not, &by->sides.must_not) ||
	    !label_set_copy(&s->enabled.absent, &by->enabled.absent))
		return search_no_memory(by, e);
	s->origin.problem = by->origin.problem;
	s->origin.beside = by->number;
	s->origin.of_group = by->origin.of_group * decide_of_gap(m, part);
	s->origin.share = s->at.share = part->share;
	s->at.by_latency = by->at.by_latency;
	s->at.tail_ns = by->at.tail_ns;
	s->at.carried = part->share * (s->at.by_latency ? m->all.t : m->all.whole);
	hypothesis_motive(port, h, m->model->group, part->edge);
	hypothesis_text(&h->edge_to, labels_get(port->labels, part->gap.to)->text);
	h->share = h->settled_share = s->at.share;
	h->settled_traces = (uint64_t)m->all.n;
	h->cost_ns = by->origin.hypothesis->cost_ns * decide_of_gap(m, part);
	return remember_path(s, &m->model->group->shape, port->scratch, e);
}

int
search_list_add_rest(struct search_port *port, const struct search *by, const struct measured *m,
    const struct group *group, uint32_t edge, struct err *e)
{
	const struct gap gap = gap_of(&group->shape, edge);
	struct diagnosis *d = by->diagnosis;
	struct hypothesis *h;
	struct search *s;
	int rc;

	if (d->nsearches == SEARCHES_MAX)
		return 0;
	if ((s = search_list_add(d, &gap, by->origin.group_id)) == NULL ||
	    (h = s->origin.hypothesis = hypothesis_new_from(port, d, NULL)) == NULL ||
	    !label_set_copy(&s->enabled.absent, &by->enabled.absent))
		return search_no_memory(by, e);
	s->origin.problem = by->origin.problem;
	s->origin.of_group = s->origin.share = s->at.share = m->share;
	s->at.by_latency = by->at.by_latency;
	s->at.carried = m->carries;
	hypothesis_motive(port, h, group, edge);
	h->share = h->settled_share = m->share;
	h->traces = h->settled_traces = (uint64_t)m->all.n;
	h->mean_ns = m->all.t;
	h->cv = m->all.t > 0 ? sqrt(m->all.variance) / m->all.t : 0;
	h->cost_ns = by->outcome.verdict->cost_ns *
	             (by->outcome.verdict->share > 0 ? m->share / by->outcome.verdict->share : 0);
	if ((rc = hypothesis_evidence(port, h, group, edge, e)) != 0)
		return rc;
	return remember_path(s, &group->shape, port->scratch, e);
}
