/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A diagnosis: watches a request type's groups for as long as it runs, begins a
 * search for each problem that is worth one, and ends when all have ended.
 */
#include <stdlib.h>
#include <string.h>

#include "controlplane/search/search.h"

enum { WATCH_MIN_NS = 1000000000, SEARCHES_MAX = 32, SHARES_OF_MEMORY = 4 };
static const double BEGINS_MIN = 0.1, WAITS_MIN = 0.2; /* of what the costliest problem costs */

/* ---- traces ---- */

int
diagnose_trace(struct search_port *g, struct diagnosis *d, const struct trace *t,
    const struct always_on_path *path, struct err *e)
{
	const struct shape *root = path != NULL ? &path->shape : NULL;
	int rc = 0;

	if (t->type != d->type)
		return 0;
	sketch_add(&d->sketch, t->end_ns - t->begin_ns);
	d->run->requests++;
	if (t->lossy) {
		d->skipped_lossy++;
		for (uint32_t i = 0; i < d->nsearches; i++)
			d->searches[i]->skipped_lossy++;
		return 0;
	}
	if (!g->calls->began_after(g->owner, t, d->begun.ns + SETTLE_NS))
		return 0;
	if (path == NULL) {
		g->counts->pathless++;
		return 0;
	}
	g->counts->moved += path->path.moved;
	if (d->is_ready && d->groups != NULL &&
	    g->calls->began_after(g->owner, t, d->ready.ns + SETTLE_NS)) {
		g->counts->inexact += !shape_exact(root, t);
		d->traces++;
		groups_add(d->groups, t, &path->path, root, g->node_names);
	}
	for (uint32_t i = 0; i < d->nsearches && rc == 0; i++) {
		struct search *s = d->searches[i];

		if (s->root_key.a == root->key.a && s->root_key.b == root->key.b)
			rc = search_trace(g, s, t, e);
	}
	return rc;
}

/* ---- searches ---- */

static struct search *
add_search(
    struct search_port *g, struct diagnosis *d, const struct gap *gap, struct hash128 root_key)
{
	struct search *s;

	(void)g;
	if (d->nsearches == d->searches_cap) {
		uint32_t cap = d->searches_cap != 0 ? 2 * d->searches_cap : 8;
		struct search **more = reallocarray(d->searches, cap, sizeof *more);

		if (more == NULL)
			return NULL;
		d->searches = more;
		d->searches_cap = cap;
	}
	if ((s = search_new(gap, root_key, d->nsearches, d->seed)) != NULL)
		d->searches[d->nsearches++] = s;
	return s;
}

/* Another search is about that edge, or was when it began. */
static bool
is_known(const struct diagnosis *d, const struct gap *gap)
{
	for (uint32_t i = 0; i < d->nsearches; i++)
		if (gap_same_ends(&d->searches[i]->gap, gap) ||
		    gap_same_ends(&d->searches[i]->root_gap, gap))
			return true;
	return false;
}

static bool
is_searched(const struct diagnosis *d, struct hash128 root_key)
{
	for (uint32_t i = 0; i < d->nsearches; i++)
		if (d->searches[i]->root_key.a == root_key.a &&
		    d->searches[i]->root_key.b == root_key.b)
			return true;
	return false;
}

static int
search_for(struct search_port *g, struct diagnosis *d, const struct ripe *r, uint32_t edge,
    struct wall when, struct err *e)
{
	const struct shape *shape = &r->group->shape;
	const struct edge_share *share = &r->looked->finding.edges[edge];
	struct gap gap = gap_of(shape, edge);
	struct search *s;
	struct hypothesis *h;

	if (is_known(d, &gap) || d->nsearches == SEARCHES_MAX)
		return 0;
	if ((s = add_search(g, d, &gap, shape->key)) == NULL ||
	    (h = hypothesis_from(g, d, NULL, when)) == NULL)
		return err_set(e, ERR_MEMORY, "%s: out of memory", d->run->type);
	s->root_gap = gap;
	s->root = h;
	s->problem = r->looked->finding.problem;
	s->by_latency = s->problem == PROBLEM_SLOW;
	s->of_group = s->root_share = s->share = share->share;
	s->carried = s->by_latency ? r->group->edges[edge].mean_x
	                           : comoments_covariance(&r->group->edges[edge]);
	hypothesis_motive(g, h, r->group, edge);
	h->share = h->settled_share = share->share;
	h->share_low = h->settled_low = share->interval.low;
	h->share_high = h->settled_high = share->interval.high;
	h->settled_traces = h->traces;
	h->cost_ns = r->looked->finding.cost_ns;
	return settle_evidence(g, h, r->group, edge, e);
}

/* Its main edge, and others that have as much as is followed inside an edge. */
static int
searches_for(struct search_port *g, struct diagnosis *d, const struct ripe *r, struct wall when,
    struct err *e)
{
	const struct finding *f = &r->looked->finding;
	int rc = search_for(g, d, r, f->top, when, e);

	for (uint32_t i = 0; i < f->nedges && f->problem == PROBLEM_UNPREDICTABLE && rc == 0; i++)
		if (i != f->top && f->edges[i].share >= g->settings.isolate_min &&
		    f->edges[i].interval.low >= g->settings.isolate_min / 2)
			rc = search_for(g, d, r, i, when, e);
	return rc;
}

int
diagnose_beside(struct search_port *g, struct diagnosis *d, struct search *by,
    const struct measured *m, const struct part *p, struct wall when, struct err *e)
{
	struct search *s;

	if (is_known(d, &p->gap) || d->nsearches == SEARCHES_MAX)
		return 0;
	if ((s = add_search(g, d, &p->gap, by->root_key)) == NULL ||
	    (s->root = hypothesis_from(g, d, by->current, when)) == NULL ||
	    !label_set_copy(&s->must, &by->must) || !label_set_copy(&s->mustnot, &by->mustnot) ||
	    !label_set_copy(&s->absent, &by->absent))
		return err_set(e, ERR_MEMORY, "%s: out of memory", d->run->type);
	s->root_gap = p->gap;
	s->problem = by->problem;
	s->of_group = by->of_group * p->of_gap;
	s->root_share = s->share = m->share * p->of_gap;
	s->carried = p->carries;
	hypothesis_motive(g, s->root, m->model->group, p->edge);
	hypothesis_text(&s->root->edge_to, labels_get(g->labels, p->gap.to)->text);
	s->root->share = s->root->settled_share = s->share;
	s->root->settled_traces = (uint64_t)m->pooled;
	s->root->cost_ns = by->root->cost_ns * p->of_gap;
	return remember_path(s, &m->model->group->shape, g->scratch, e);
}

/* Those that wait begin while there is room, in the order in which they were found. */
static int
begin_waiting(
    struct search_port *g, struct diagnosis *d, struct mono now, struct wall when, struct err *e)
{
	int64_t on = 0;
	int rc = 0;

	for (uint32_t i = 0; i < d->nsearches; i++)
		on += search_on(d->searches[i]);
	for (uint32_t i = 0; i < d->nsearches && on < g->settings.searches_max && rc == 0; i++) {
		struct search *s = d->searches[i];

		if (s->phase != PHASE_WAIT)
			continue;
		rc = search_begin(g, d, s,
		    s->npath == 0 ? groups_find(d->groups, s->root_key) : NULL, now, when, e);
		on += search_on(s);
	}
	return rc;
}

/* ---- watching ---- */

/* Its main edge, or another that has as much as is followed, is not searched yet. */
static bool
has_news(const struct search_port *g, const struct diagnosis *d, const struct ripe *r)
{
	const struct finding *f = &r->looked->finding;

	if (d->nsearches == SEARCHES_MAX || is_searched(d, r->group->shape.key))
		return false;
	for (uint32_t i = 0; i < f->nedges; i++) {
		struct gap gap = gap_of(&r->group->shape, i);

		if ((i == f->top || (f->problem == PROBLEM_UNPREDICTABLE &&
					f->edges[i].share >= g->settings.isolate_min)) &&
		    !is_known(d, &gap))
			return true;
	}
	return false;
}

/* What is ripe and worth it gets a search. ended: all that were are over. What has no news is
 * looked at no further: most groups have the problem that is searched already. */
static int
watch(struct search_port *g, struct diagnosis *d, bool late, bool ended, struct mono now,
    struct wall when, struct err *e)
{
	struct ripe ripe[RIPE_MAX];
	bool enough = late || d->nsearches > 0;
	int n = ripe_groups(ripe, g, d, late, e), rc = n < 0 ? n : 0;
	double worth_ns = 0;

	for (int i = 0; i < n && rc == 0; i++) {
		double cost_ns = ripe[i].looked->finding.cost_ns;
		int sure = 1;

		if (cost_ns <= 0 || cost_ns < worth_ns)
			break;
		if (has_news(g, d, &ripe[i]) && (sure = ripe_surely(&ripe[i], g, d, enough, e)) > 0)
			rc = searches_for(g, d, &ripe[i], when, e);
		if (sure < 0)
			return sure;
		if (sure > 0 && worth_ns <= 0)
			worth_ns = cost_ns * (ended ? WAITS_MIN : BEGINS_MIN);
	}
	return rc != 0 ? rc : begin_waiting(g, d, now, when, e);
}

static int
groups_begin(struct search_port *g, struct diagnosis *d, struct err *e)
{
	struct groups_options o = {
		.groups_max = (uint32_t)g->settings.groups_max,
		.samples_max = (uint32_t)g->settings.samples_max,
		.memory_max_bytes = (size_t)g->settings.memory_max_bytes / SHARES_OF_MEMORY,
		.seed = d->seed,
		.ignore = g->ignore,
	};

	d->groups = groups_new(&o, g->labels);
	return d->groups != NULL
	           ? 0
	           : err_set(e, ERR_MEMORY, "%s: out of memory for groups", d->run->type);
}

/* ---- the end ---- */

/* No search has come to a verdict: why the last one has not. */
static void
end_without(struct search_port *g, struct diagnosis *d, struct wall when)
{
	const struct search *s = d->searches[d->nsearches - 1];

	diagnose_end(g, d, RUN_NOT_FOUND, s->reason,
	    s->reason == REASON_END_OVER_BUDGET ? labels_get(g->labels, s->reason_label)->text : "",
	    when);
}

/* The sure ones come first. */
static void
end_found(struct search_port *g, struct diagnosis *d, struct wall when)
{
	const struct verdict *v = forest_verdict(g->forest, d->run->id, 1);

	d->run->verdict = v->hypothesis;
	diagnose_end(g, d, verdict_sure(v) ? RUN_FOUND : RUN_UNSURE, REASON_NONE, "", when);
}

static void
end_unfound(struct search_port *g, struct diagnosis *d, int64_t waited_ns, struct wall when)
{
	if (d->traces >= g->settings.conditions.traces_min)
		diagnose_end(g, d, RUN_NOT_FOUND, REASON_NO_PROBLEM, "", when);
	else if (waited_ns > 3 * g->settings.cycle_max_ns)
		diagnose_end(g, d, RUN_NOT_FOUND,
		    d->skipped_lossy > d->traces ? REASON_LOST_RECORDS : REASON_FEW_REQUESTS, "",
		    when);
}

static bool
all_ended(const struct diagnosis *d)
{
	for (uint32_t i = 0; i < d->nsearches; i++)
		if (d->searches[i]->phase != PHASE_ENDED)
			return false;
	return d->nsearches > 0;
}

static int
check(struct search_port *g, struct diagnosis *d, struct mono now, struct wall when, struct err *e)
{
	int64_t waited_ns = mono_since_ns(now, d->begun);
	bool late = waited_ns > g->settings.cycle_max_ns, ended = all_ended(d);
	int rc;

	if (waited_ns < WATCH_MIN_NS)
		return 0;
	if ((rc = watch(g, d, late, ended, now, when, e)) != 0)
		return rc;
	if (d->nsearches == 0 && late)
		end_unfound(g, d, waited_ns, when);
	else if (all_ended(d) && forest_verdict(g->forest, d->run->id, 1) != NULL)
		end_found(g, d, when);
	else if (all_ended(d))
		end_without(g, d, when);
	return 0;
}

static enum phase
phase_of(const struct diagnosis *d)
{
	for (uint32_t i = 0; i < d->nsearches; i++)
		if (search_on(d->searches[i]))
			return d->searches[i]->phase;
	return PHASE_WATCH;
}

int
diagnose_step(
    struct search_port *g, struct diagnosis *d, struct mono now, struct wall when, struct err *e)
{
	int64_t every_ns = phase_of(d) == PHASE_WATCH ? CHECK_NS : 10 * CHECK_NS;
	int rc = 0;

	if (d->groups == NULL)
		return groups_begin(g, d, e);
	if (d->is_ready && !g->calls->confirmed(g->owner)) {
		d->is_ready = false;
	} else if (!d->is_ready && g->calls->confirmed(g->owner)) {
		d->is_ready = true;
		d->ready = now;
	}
	for (uint32_t i = 0; i < d->nsearches && rc == 0; i++) {
		rc = search_step(g, d, d->searches[i], now, when, e);
		arena_reset(g->scratch);
	}
	if (rc == 0 && !g->paused && mono_since_ns(now, d->checked) >= every_ns) {
		d->checked = now;
		rc = check(g, d, now, when, e);
	}
	if (d->phase != PHASE_ENDED)
		d->phase = phase_of(d);
	return rc;
}

void
diagnose_end(struct search_port *g, struct diagnosis *d, enum run_state state, enum reason reason,
    const char *subject, struct wall when)
{
	for (uint32_t i = 0; i < d->nsearches; i++)
		if (d->searches[i]->phase != PHASE_ENDED)
			search_end(g, d, d->searches[i], reason, when);
	d->run->state = state;
	d->run->ended = when;
	d->run->reason = reason;
	hypothesis_text(&d->run->subject, subject); /* without memory for it: "" */
	forest_touch_run(g->forest, d->run);
	watched_free(d->watched);
	d->watched = NULL;
	groups_free(d->groups);
	d->groups = NULL;
	d->phase = PHASE_ENDED;
	g->calls->ended(g->owner, when);
}

bool
diagnosis_explores(const struct diagnosis *d)
{
	for (uint32_t i = 0; i < d->nsearches; i++)
		if (d->searches[i]->explorer != NULL && !d->searches[i]->deep.begun)
			return true; /* of the deeper layer nothing is learned */
	return false;
}

void
diagnosis_free(struct diagnosis *d)
{
	if (d == NULL)
		return;
	for (uint32_t i = 0; i < d->nsearches; i++)
		search_free(d->searches[i]);
	free(d->searches);
	watched_free(d->watched);
	groups_free(d->groups);
	label_set_release(&d->dear);
	free(d);
}
