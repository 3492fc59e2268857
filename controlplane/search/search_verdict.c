/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The verdict: nothing smaller is to be had. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controlplane/search/search.h"

enum { ROUNDS = 100, ROUNDS_VERDICT = 1000 };

/* What the search is about, whatever the group itself would be judged to be. */
static int
find(struct finding *f, struct search_port *g, const struct diagnosis *d, const struct search *s,
    const struct group *group, struct err *e)
{
	double variance = moments_variance(&group->total);
	int rc = finding_judge(
	    f, group, &g->settings.conditions, 0, ROUNDS, d->seed, g->scratch, e);

	if (rc != 0)
		return rc;
	f->problem = s->by_latency ? PROBLEM_SLOW : PROBLEM_UNPREDICTABLE;
	for (uint32_t i = 0; i < f->nedges; i++)
		f->edges[i].share = s->by_latency ? f->edges[i].latency_share
		                    : variance > 0
		                        ? comoments_covariance(&group->edges[i]) / variance
		                        : 0;
	return finding_intervals(
	    f, group, g->settings.conditions.confidence, ROUNDS_VERDICT, d->seed, g->scratch, e);
}

/* Of the group that the search began with: how sure its problem is, and what of its cost lies in
 * the edge. */
static int
of_root(struct verdict *v, struct search_port *g, const struct diagnosis *d, const struct search *s,
    struct err *e)
{
	const struct group *root = groups_find(d->groups, s->root_key);
	struct finding f;
	int rc;

	v->problem = s->problem;
	if (root == NULL)
		return 0;
	rc = finding_judge(&f, root, &g->settings.conditions,
	    sketch_quantile_most(&d->sketch, g->settings.conditions.slow_quantile), ROUNDS, d->seed,
	    g->scratch, e);
	if (rc == 0) {
		v->probability = f.probability;
		v->cost_ns = f.cost_ns * (s->by_latency ? s->of_group : fmin(1, fmax(0, v->share)));
	}
	return rc;
}

/* Labels and brackets, one on each line, terminated. */
static void
print_path(const struct shape *s, const struct labels *labels, struct buf *out)
{
	for (uint32_t i = 0; i < s->ntokens; i++) {
		buf_printf(out, "%s", i > 0 ? "\n" : "");
		for (uint32_t n = shape_opens(s, i); n > 0; n--)
			buf_printf(out, "(\n");
		buf_printf(out, "%s", labels_get(labels, s->tokens[i])->text);
		for (uint32_t n = shape_closes(s, i); n > 0; n--)
			buf_printf(out, "\n)+");
	}
	buf_u8(out, 0);
}

/* One number for how well a key explains: the stronger of both correlations, or the root of a
 * category's share. */
static double
key_r(const struct key_finding *k)
{
	if (!k->numeric)
		return sqrt(k->share);
	return fabs(k->rho) > fabs(k->r) ? k->rho : k->r;
}

static int
find_key(struct verdict *v, struct buf *name, struct search_port *g, const struct group *group,
    uint32_t edge, struct err *e)
{
	struct key_finding *keys;
	int found = keys_explain(&keys, group, edge, 0.01, g->settings.explain_min, g->scratch, e);

	if (found > 0) {
		key_print(group, &group->keys[keys[0].key], g->labels, name);
		v->key_r = key_r(&keys[0]);
		v->key_p = keys[0].p;
		v->key_n = keys[0].n;
	}
	buf_u8(name, 0);
	v->key = (char *)name->data;
	return found < 0 ? found : 0;
}

static int
find_what_if(struct verdict *v, struct search_port *g, const struct diagnosis *d,
    const struct group *group, uint32_t edge, struct err *e)
{
	struct what_if w;
	int rc = what_if_of(&w, group, edge, g->settings.conditions.confidence, ROUNDS_VERDICT,
	    d->seed, g->scratch, e);

	if (rc != 0)
		return rc;
	v->cv_now = w.now.cv;
	v->cv_then = w.then.cv;
	v->cv_then_low = w.then_interval.cv.low;
	v->cv_then_high = w.then_interval.cv.high;
	v->p50_then_ns = w.then.p50_ns;
	v->p95_now_ns = w.now.p95_ns;
	v->p95_then_ns = w.then.p95_ns;
	v->p99_now_ns = w.now.p99_ns;
	v->p99_then_ns = w.then.p99_ns;
	return 0;
}

/*
 * Requests that wait in the same queue one after the other wait alike: so many say no more than
 * fewer that are independent would. How many times more there are of them, by the correlation r of
 * neighbours, as if it fell off like r, r^2, r^3, ... (effective sample size of an AR(1) process:
 * Wilks, J. Climate 10, 1997). 1 where r may be chance.
 */
static double
alike(const struct comoments *serial)
{
	double n = (double)serial->n, r;

	if (n < 3 || serial->m2_x <= 0)
		return 1;
	r = fmin(serial->c_xy / serial->m2_x,
	    0.98); /* both series are the same, but for one at each end */
	return r * sqrt(n) > 2 ? (1 + r) / (1 - r) : 1;
}

static void
measured(struct verdict *v, const struct group *group, const struct finding *f, uint32_t edge,
    double times)
{
	const struct edge_share *share = &f->edges[edge];

	v->traces = group->total.n;
	v->mean_ns = f->mean_ns;
	v->cv = f->cv;
	v->share = share->share;
	v->share_low = share->share - (share->share - share->interval.low) * sqrt(times);
	v->share_high = share->share + (share->interval.high - share->share) * sqrt(times);
	v->latency_share = share->latency_share;
	if (group->slowest.total_ns >= 0) {
		v->slowest = group->slowest.id;
		v->slowest_ns = group->slowest.total_ns;
	}
	if (group->fastest.total_ns >= 0) {
		v->fastest = group->fastest.id;
		v->fastest_ns = group->fastest.total_ns;
	}
}

/* Which of the positions on the path it is, where the path passes its ends several times. */
static void
find_position(struct verdict *v, const struct shape *shape, uint32_t edge)
{
	uint32_t before;

	v->positions = gap_positions(shape, edge, &before);
	v->position = before + 1;
	v->loop_back = shape->edges[edge].to_token <= shape->edges[edge].from_token;
}

/* Tracepoints that may lie inside the edge and were not looked at. Of those that were not seen
 * while learning only where the search came to its end: a fault may pass them for the first time.
 */
static int
find_left_out(struct verdict *v, struct search_port *g, const struct diagnosis *d,
    const struct search *s, struct err *e)
{
	const struct label *of = labels_get(g->labels, s->gap.from_unit);
	char service[LABEL_TEXT_MAX + 1];

	v->over_budget = s->dear;
	v->preload_over_budget = s->deep.dear;
	if (v->kind == VERDICT_SPREAD || v->kind == VERDICT_CUT)
		return 0;
	if ((v->unlearned = explore_unseen(g, d, s)) == 0)
		return 0;
	snprintf(service, sizeof service, "%.*s", (int)of->service_len, of->text);
	return hypothesis_text(&v->unlearned_service, service)
	           ? 0
	           : err_set(e, ERR_MEMORY, "%s: out of memory", d->run->type);
}

/*
 * What led to the edge was measured while other tracepoints were on, at another time; the last word
 * has what is measured of it alone. An edge that then has surely less than what is followed at all,
 * or that might as well have nothing, is not where the problem is.
 */
static bool
contradicted(const struct verdict *v, const struct search *s)
{
	double least = OF_ROOT_MIN * s->root_share;

	return v->share_high < least || (v->share < least && v->share_low <= 0);
}

/* By twice as many traces it may be surer. */
static int
wait_for_more(struct search *s, const struct verdict *v)
{
	s->closing = true;
	s->ending = v->kind;
	s->enough = 2 * v->traces;
	return 0;
}

/* Back to the smallest edge that had most of it, or the one that all began with; else the end. */
static int
take_back(struct search_port *g, struct diagnosis *d, struct search *s, struct wall when)
{
	const struct gap *back = !gap_same(&s->gap, &s->most) ? &s->most : &s->root_gap;

	if (gap_same(&s->gap, back) || s->follows)
		return search_end(g, d, s, REASON_CONTRADICTED, when), 0;
	for (uint32_t i = s->non; i-- > 0;)
		if (s->deep.found && preload_label(g->preload, s->on[i].label))
			turn_off(g, d, s, i, REASON_CONTRADICTED, when);
	if (s->deep.found)
		back = &s->deep.above;
	s->deep.found = s->deep.probing = false;
	s->most = s->gap = *back;
	s->closing = true;
	s->enough = 0;
	s->ending = VERDICT_SPREAD;
	return 0;
}

/* What a hypothesis that ends a search has become. */
static enum hypothesis_state
state_of(const struct verdict *v)
{
	if (v->kind == VERDICT_SPREAD || v->kind == VERDICT_CUT)
		return HYPOTHESIS_ISOLATES;
	return v->key[0] != '\0' ? HYPOTHESIS_EXPLAINED : HYPOTHESIS_BOTTOM;
}

static int
keep(struct search_port *g, struct diagnosis *d, struct search *s, struct verdict *v,
    const struct group *group, uint32_t edge, struct wall when, struct err *e)
{
	struct hypothesis *h = hypothesis_from(g, d, s->current, when);

	if (h == NULL || !hypothesis_text(&h->key, v->key))
		return err_set(e, ERR_MEMORY, "%s: out of memory", d->run->type);
	hypothesis_motive(g, h, group, edge);
	h->share = h->settled_share = v->share;
	h->share_low = h->settled_low = v->share_low;
	h->share_high = h->settled_high = v->share_high;
	h->settled_traces = v->traces;
	h->cost_ns = v->cost_ns;
	h->separation = s->sep.label != LABEL_NONE ? s->sep.between : 0;
	h->key_r = v->key_r;
	h->key_p = v->key_p;
	h->key_n = v->key_n;
	hypothesis_enter(h, state_of(v), when);
	v->run = d->run->id;
	v->hypothesis = h->id;
	v->when = when;
	if ((s->verdict = forest_verdict_new(g->forest, v)) == NULL)
		return err_set(e, ERR_MEMORY, "%s: out of memory", d->run->type);
	return settle_evidence(g, h, group, edge, e);
}

int
conclude(struct search_port *g, struct diagnosis *d, struct search *s, struct group *group,
    uint32_t edge, enum verdict_kind kind, struct wall when, struct err *e)
{
	const struct shape_edge *x = &group->shape.edges[edge];
	struct verdict v = { .kind = kind, .confidence = g->settings.conditions.confidence };
	struct buf path = { 0 }, key = { 0 };
	struct finding f;
	int rc;

	v.from = (char *)labels_get(g->labels, x->from)->text;
	v.to = (char *)labels_get(g->labels, x->to)->text;
	v.tracepoint = s->sep.label != LABEL_NONE
	                   ? (char *)labels_get(g->labels, s->sep.label)->text
	                   : "";
	print_path(&group->shape, g->labels, &path);
	v.path = (char *)path.data;
	if ((rc = find(&f, g, d, s, group, e)) != 0 ||
	    (rc = find_key(&v, &key, g, group, edge, e)) != 0 ||
	    (rc = find_what_if(&v, g, d, group, edge, e)) != 0)
		goto end;
	if (path.failed || key.failed) {
		rc = err_set(e, ERR_MEMORY, "%s: out of memory", d->run->type);
		goto end;
	}
	measured(&v, group, &f, edge, alike(&s->serial));
	if (contradicted(&v, s)) {
		rc = take_back(g, d, s, when);
		goto end;
	}
	if (!verdict_sure(&v) && !s->late) {
		rc = wait_for_more(s, &v);
		goto end;
	}
	if ((rc = of_root(&v, g, d, s, e)) != 0)
		goto end;
	if (kind == VERDICT_PLACE && s->sep.label != LABEL_NONE)
		v.kind = VERDICT_SEPARATED;
	else if (kind == VERDICT_PLACE && v.key[0] != '\0')
		v.kind = VERDICT_KEY;
	find_position(&v, &group->shape, edge);
	v.by_latency = s->by_latency;
	v.effective_traces = (double)v.traces / alike(&s->serial);
	v.separation = v.kind == VERDICT_SEPARATED ? s->sep.between : 0;
	v.slow_with = v.kind == VERDICT_SEPARATED && s->sep.with;
	if ((rc = find_left_out(&v, g, d, s, e)) == 0 && v.kind != VERDICT_SPREAD)
		rc = deep_verdict(&v, g, s, e);
	if (rc == 0 && (rc = keep(g, d, s, &v, group, edge, when, e)) == 0)
		search_end(g, d, s, REASON_NONE, when);
end:
	buf_release(&path);
	buf_release(&key);
	free(v.unlearned_service);
	free(v.above_from);
	free(v.above_to);
	free(v.call);
	free(v.object);
	return rc;
}
