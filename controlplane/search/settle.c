/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the forest is told of what was decided. */
#include <math.h>
#include <string.h>

#include "controlplane/search/search.h"

struct hypothesis *
hypothesis_from(
    struct search_port *g, struct diagnosis *d, const struct hypothesis *parent, struct wall when)
{
	struct hypothesis *h = forest_hypothesis_new(
	    g->forest, d->run->id, parent != NULL ? parent->id : 0);

	if (h == NULL)
		return NULL;
	h->cycle = d->run->cycles;
	h->presence = ' ';
	h->made = when;
	forest_touch(g->forest, h);
	return h;
}

static void
motive_path(struct search_port *g, struct hypothesis *h, const struct shape *s)
{
	struct buf path = { 0 };

	shape_print(s, g->labels, UINT32_MAX, &path);
	buf_u8(&path, 0);
	if (!path.failed)
		hypothesis_text(&h->group_shape, (const char *)path.data);
	buf_release(&path);
}

void
hypothesis_motive(
    struct search_port *g, struct hypothesis *h, const struct group *group, uint32_t edge)
{
	const struct comoments *m = edge != UINT32_MAX ? &group->edges[edge] : NULL;

	motive_path(g, h, &group->shape);
	if (m != NULL) {
		hypothesis_text(
		    &h->edge_from, labels_get(g->labels, group->shape.edges[edge].from)->text);
		hypothesis_text(
		    &h->edge_to, labels_get(g->labels, group->shape.edges[edge].to)->text);
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
	forest_touch(g->forest, h);
}

/* A reservoir's requests are in no order that matters: the first are as good as any. */
int
settle_evidence(struct search_port *g, const struct hypothesis *h, const struct group *group,
    uint32_t edge, struct err *e)
{
	int rc = 0;

	for (uint32_t i = 0; i < group->nsamples && i < EVIDENCE_MAX && rc == 0; i++) {
		const struct sample *x = &group->samples[i];
		const struct evidence v = { .trace = x->id,
			.run = h->run,
			.hypothesis = h->id,
			.total_ns = x->total_ns,
			.edge_ns = edge != UINT32_MAX ? (int64_t)x->edges_ns[edge] : 0 };

		rc = forest_evidence_add(g->forest, &v, e);
	}
	return rc;
}

static bool
on_path(const struct shape *s, uint32_t label)
{
	for (uint32_t i = 0; i < s->ntokens; i++)
		if (s->tokens[i] == label)
			return true;
	return false;
}

/* Strictly inside what was the gap when it was measured: what stands elsewhere on the path is not.
 */
static bool
in_gap(const struct member *m, uint32_t label)
{
	const struct shape *s = &m->group->shape;

	for (uint32_t i = 0; i + 1 < s->ntokens; i++)
		if (s->tokens[i + 1] == label && m->inside[i] &&
		    (i + 2 == s->ntokens || m->inside[i + 1]))
			return true;
	return false;
}

/* Of the parts that a tracepoint made the one that has most; NULL: it stands nowhere in the gap. */
static const struct part *
part_at(const struct measured *m, uint32_t label)
{
	const struct part *best = NULL;

	for (uint32_t i = 0; i < m->nparts; i++) {
		const struct part *p = &m->parts[i];

		if ((p->gap.from == label || p->gap.to == label) &&
		    (best == NULL || p->of_gap > best->of_gap))
			best = p;
	}
	return best;
}

/* What was measured of that part; of nparts 0 the whole gap, of none of them nothing. */
static void
settle_share(struct hypothesis *h, const struct measured *m, const struct part *p)
{
	double of_gap = p != NULL ? p->of_gap : m->nparts == 0;
	double error = p != NULL ? 1.96 * p->of_gap_se * m->share : 0;

	h->settled_traces = (uint64_t)(m->nparts > 0 ? m->pooled : m->n);
	h->settled_share = m->share * of_gap;
	h->settled_low = h->settled_share - error;
	h->settled_high = h->settled_share + error;
}

/* No program has the tracepoint any more: that it is not seen says nothing of the way a request
 * takes. */
static bool
is_retired(const struct search_port *g, uint32_t label)
{
	char name[LABEL_TEXT_MAX + 1];

	return g->calls->retired(g->owner, tracepoint_name(g->labels, label, name));
}

/* One tracepoint of this cycle. Heir: the search goes on from it. */
static int
settle_one(struct search_port *g, struct search *s, struct pick *p, const struct decision *x,
    bool *heir, struct wall when, struct err *e)
{
	const struct group *model = x->m.model != NULL ? x->m.model->group : NULL;
	bool end = p->label == s->gap.from || p->label == s->gap.to,
	     separates = p->label == x->sep.label;
	bool absent = separates ? !x->sep.with : model != NULL && !on_path(&model->shape, p->label);
	uint32_t edge = model != NULL ? x->m.parts[x->m.top].edge : UINT32_MAX;

	p->fresh = false;
	*heir = end || separates;
	if (model != NULL && !separates && !in_gap(x->m.model, p->label) &&
	    !is_retired(g, p->label) && !label_set_add(&s->absent, p->label))
		return err_set(e, ERR_MEMORY, "out of memory for a search");
	if (absent)
		p->hypothesis->presence = '~';
	settle_share(p->hypothesis, &x->m,
	    x->m.nparts > 0 && *heir ? &x->m.parts[x->m.top] : part_at(&x->m, p->label));
	if (separates)
		p->hypothesis->separation = x->sep.between;
	if (*heir && model != NULL)
		hypothesis_motive(g, p->hypothesis, model, edge);
	hypothesis_enter(p->hypothesis,
	    separates ? HYPOTHESIS_SEPARATES
	    : end     ? HYPOTHESIS_ISOLATES
		      : HYPOTHESIS_NO_HELP,
	    when);
	forest_touch(g->forest, p->hypothesis);
	return *heir && model != NULL ? settle_evidence(g, p->hypothesis, model, edge, e) : 0;
}

/* Why it goes off. */
static enum reason
no_more(const struct pick *p)
{
	return p->hypothesis->state == HYPOTHESIS_ISOLATES ||
	               p->hypothesis->state == HYPOTHESIS_SEPARATES
	           ? REASON_NO_END
	           : REASON_NO_HELP;
}

int
settle_picks(struct search_port *g, struct diagnosis *d, struct search *s, const struct decision *x,
    struct wall when, struct err *e)
{
	bool only = x->what == DECIDE_FOLLOW;
	int rc = 0;

	if (x->sep.label != LABEL_NONE)
		s->sep = x->sep;
	for (uint32_t i = s->non; i-- > 0 && rc == 0;) {
		struct pick *p = &s->on[i];
		bool heir = false;

		if (p->fresh && (!only || p->label == x->sep.label))
			rc = settle_one(g, s, p, x, &heir, when, e);
		if (heir)
			s->current = p->hypothesis;
		if (!only && !needed(s, p->label))
			turn_off(g, d, s, i, no_more(p), when);
	}
	return rc;
}
