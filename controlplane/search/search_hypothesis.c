/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/search/search_hypothesis.h"

#include <assert.h>

struct hypothesis *
hypothesis_new_from(
    struct search_port *port, const struct diagnosis *d, const struct hypothesis *parent)
{
	struct hypothesis *h = forest_hypothesis_new(
	    port->forest, d->run->id, parent != NULL ? parent->id : 0);

	if (h == NULL)
		return NULL;
	h->cycle = d->run->cycles;
	h->presence = ' ';
	h->made = port->when;
	forest_touch(port->forest, h);
	return h;
}

struct hypothesis *
hypothesis_new_tracepoint(
    struct search_port *port, const struct search *s, uint32_t label, struct err *e)
{
	const struct hypothesis *parent = s->at.hypothesis;
	struct hypothesis *h = hypothesis_new_from(port, s->diagnosis, parent);

	if (h == NULL || !hypothesis_text(&h->tracepoint, labels_get(port->labels, label)->text) ||
	    !hypothesis_text(&h->edge_from, labels_get(port->labels, s->at.gap.from)->text) ||
	    !hypothesis_text(&h->edge_to, labels_get(port->labels, s->at.gap.to)->text)) {
		search_no_memory(s, e);
		return NULL;
	}
	h->presence = '+';
	h->traces = parent->settled_traces;
	h->mean_ns = parent->mean_ns;
	h->cv = parent->cv;
	h->latency_share = parent->latency_share;
	h->share = s->at.share;
	return h;
}

static void
motive_path(const struct search_port *port, struct hypothesis *h, const struct shape *s)
{
	struct buf path = { 0 };

	shape_print(s, port->labels, UINT32_MAX, &path);
	buf_u8(&path, 0);
	if (!path.failed)
		hypothesis_text(&h->group_shape, (const char *)path.data);
	buf_release(&path);
}

void
hypothesis_motive(
    const struct search_port *port, struct hypothesis *h, const struct group *group, uint32_t edge)
{
	assert(edge == UINT32_MAX || edge < group->shape.nedges);
	motive_path(port, h, &group->shape);
	if (edge != UINT32_MAX) {
		const struct shape_edge *x = &group->shape.edges[edge];
		const struct comoments *m = &group->edges[edge];

		hypothesis_text(&h->edge_from, labels_get(port->labels, x->from)->text);
		hypothesis_text(&h->edge_to, labels_get(port->labels, x->to)->text);
		h->share = group->total.m2 > 0 ? m->c_xy / group->total.m2 : 0;
		h->latency_share = group->total.mean > 0 ? m->mean_x / group->total.mean : 0;
	}
	h->group_key[0] = group->shape.key.a;
	h->group_key[1] = group->shape.key.b;
	h->traces = group->total.n;
	h->mean_ns = group->total.mean;
	h->cv = moments_cv(&group->total);
	h->exemplar_slow = group->slowest.id.low;
	h->exemplar_fast = group->fastest.id.low;
	forest_touch(port->forest, h);
}

int
hypothesis_evidence(const struct search_port *port, const struct hypothesis *h,
    const struct group *group, uint32_t edge, struct err *e)
{
	int rc = 0;

	for (uint32_t i = 0; i < group->nsamples && i < EVIDENCE_MAX && rc == 0; i++) {
		const struct sample *x = &group->samples[i];
		const struct evidence v = { .trace = x->id,
			.run = h->run,
			.hypothesis = h->id,
			.total_ns = x->total_ns,
			.edge_ns = edge != UINT32_MAX ? (int64_t)x->edges_ns[edge] : 0 };

		rc = forest_evidence_add(port->forest, &v, e);
	}
	return rc;
}

void
hypothesis_settle(struct search_port *port, struct hypothesis *h, enum hypothesis_state state)
{
	hypothesis_enter(h, state, port->when);
	forest_touch(port->forest, h);
}

void
hypothesis_withdraw(struct search_port *port, struct hypothesis *h, enum reason reason)
{
	h->reason = reason;
	hypothesis_settle(port, h, HYPOTHESIS_WITHDRAWN);
}

void
hypothesis_disable(struct search_port *port, const struct hypothesis *h, enum reason reason)
{
	struct switched log = { .run = h->run,
		.hypothesis = h->id,
		.cycle = h->cycle,
		.reason = reason,
		.subject = reason == REASON_SHED ? port->shed_by : NULL,
		.when = port->when };
	uint64_t owner;

	for (uint32_t i = 0; (log.tracepoint = plan_at(port->plan, i, &owner)) != NULL; i++)
		if (owner == h->id)
			forest_switched(port->forest, &log, NULL);
	plan_release_owner(port->plan, h->id);
}
