/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/search/settle.h"

#include <assert.h>
#include <math.h>
#include <gsl/gsl_cdf.h>

#include "controlplane/search/enabled.h"
#include "controlplane/search/narrow.h"
#include "controlplane/search/search_hypothesis.h"

struct settle_result
settle_tracepoint(const struct settle_facts *f)
{
	struct settle_result r = { .heir = f->separates || f->is_end };

	/* 1 */
	if (f->separates) {
		r.state = HYPOTHESIS_SEPARATES;
		r.absence = !f->slow_with;
		return r;
	}
	/* 2 and 3 */
	r.state = f->is_end ? HYPOTHESIS_ISOLATES : HYPOTHESIS_NO_HELP;
	r.absence = f->measured && !f->on_path;
	/* 4 */
	r.never_inside = f->measured && !f->inside && !f->retired;
	return r;
}

/* ---- of a search ---- */

static bool
on_path(const struct shape *s, uint32_t label)
{
	for (uint32_t i = 0; i < s->ntokens; i++)
		if (s->tokens[i] == label)
			return true;
	return false;
}

/* Strictly inside what was the gap when it was measured. */
static bool
inside_gap(const struct member *m, uint32_t label)
{
	const struct shape *s = &m->group->shape;

	for (uint32_t i = 0; i + 1 < s->ntokens; i++)
		if (s->tokens[i + 1] == label && m->inside[i] &&
		    (i + 2 == s->ntokens || m->inside[i + 1]))
			return true;
	return false;
}

/* Of the parts that end at the label the one that carries most; NULL: none does. */
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

/* The share of the part with its interval (normal approximation), of all requests; part NULL: of the
 * whole gap if no parts were measured, else 0. */
static void
settle_share(
    struct hypothesis *h, const struct measured *m, const struct part *p, double confidence)
{
	double z = gsl_cdf_ugaussian_Pinv((1 + confidence) / 2);
	double error = p != NULL ? z * p->of_gap_se * fabs(m->share) : 0;

	h->settled_traces = (uint64_t)m->all.n;
	h->settled_share = p != NULL ? p->share : m->nparts == 0 ? m->share : 0;
	h->settled_low = h->settled_share - error;
	h->settled_high = h->settled_share + error;
}

/* What led to it: the edge of the model's path, as measured over all requests. */
static void
motive(const struct search_port *port, struct hypothesis *h, const struct measured *m,
    const struct part *p)
{
	hypothesis_motive(port, h, m->model->group, p->edge);
	h->share = p->share;
	h->traces = (uint64_t)m->all.n;
	h->mean_ns = m->all.t;
	h->cv = m->all.t > 0 ? sqrt(m->all.variance) / m->all.t : 0;
}

static struct settle_facts
facts_of(const struct search_port *port, const struct search *s, const struct decision *x,
    uint32_t label)
{
	const struct member *model = x->m.model;
	char name[LABEL_TEXT_MAX + 1];
	struct settle_facts f = { .separates = label == x->sep.label,
		.slow_with = x->sep.with,
		.is_end = label == s->at.gap.from || label == s->at.gap.to,
		.measured = model != NULL };

	if (model == NULL)
		return f;
	f.on_path = on_path(&model->group->shape, label);
	f.inside = inside_gap(model, label);
	f.retired = !f.inside &&
	            port->calls->retired(port->owner, tracepoint_name(port->labels, label, name));
	return f;
}

static int
settle_one(struct search_port *port, struct search *s, struct pick *pick, const struct decision *x,
    struct err *e)
{
	const struct measured *m = &x->m;
	const struct settle_facts f = facts_of(port, s, x, pick->label);
	const struct settle_result r = settle_tracepoint(&f);
	uint32_t edge = f.measured ? m->parts[m->top].edge : UINT32_MAX;
	struct hypothesis *h = pick->hypothesis;

	assert(pick->fresh);
	pick->fresh = false;
	if (r.never_inside && !label_set_add(&s->enabled.absent, pick->label))
		return search_no_memory(s, e);
	if (r.absence)
		h->presence = '~';
	settle_share(h, m, m->nparts > 0 && r.heir ? &m->parts[m->top] : part_at(m, pick->label),
	    port->settings.conditions.confidence);
	if (f.separates)
		h->separation = x->sep.between;
	if (r.heir && f.measured)
		motive(port, h, m, &m->parts[m->top]);
	hypothesis_settle(port, h, r.state);
	if (r.heir)
		s->at.hypothesis = h;
	return r.heir && f.measured ? hypothesis_evidence(port, h, m->model->group, edge, e) : 0;
}

static enum reason
why_disabled(const struct pick *pick)
{
	return pick->hypothesis->state == HYPOTHESIS_ISOLATES ||
	               pick->hypothesis->state == HYPOTHESIS_SEPARATES
	           ? REASON_NO_END
	           : REASON_NO_HELP;
}

int
settle_picks(struct search_port *port, struct search *s, const struct decision *x, struct err *e)
{
	bool only = x->what == DECIDE_FOLLOW;
	int rc = 0;

	if (x->sep.label != LABEL_NONE)
		s->sides.separation = x->sep;
	for (uint32_t i = s->enabled.n; i-- > 0 && rc == 0;) {
		struct pick *pick = &s->enabled.picks[i];

		if (pick->fresh && (!only || pick->label == x->sep.label))
			rc = settle_one(port, s, pick, x, e);
		if (!only && !is_needed(s, pick->label))
			disable(port, s, i, why_disabled(pick));
	}
	return rc;
}
