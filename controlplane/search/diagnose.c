/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/search/diagnose.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controlplane/search/baseline.h"
#include "controlplane/search/enabled.h"
#include "controlplane/search/gap.h"
#include "controlplane/search/search.h"
#include "controlplane/search/search_captures.h"
#include "controlplane/search/search_end.h"
#include "controlplane/search/search_hypothesis.h"
#include "controlplane/search/search_list.h"
#include "controlplane/search/search_pools.h"
#include "controlplane/search/search_rest.h"
#include "controlplane/search/search_still.h"
#include "controlplane/search/search_verdict.h"
#include "controlplane/search/tail_target.h"
#include "controlplane/search/watch.h"
#include "controlplane/search/worth.h"

/* How long it watches at least; and the part of memory_max_bytes that its groups may use. */
enum { WATCH_MIN_NS = 1000000000, SHARES_OF_MEMORY = 4 };
/* For so many times cycle_max a problem that is not explained yet gets a search for another edge that has become its main one; and it is looked for one when
 * all searches have ended. */
enum { LATE_LOOKS = 2, LAST_LOOKS = 10 };
/* Share of the costliest problem's cost from which on a search begins; and from which on the
 * diagnosis goes on when all searches have ended. */
static const double BEGINS_MIN = 0.1, WAITS_MIN = 0.2;

/* ---- traces ---- */

static void
count_incomplete(struct diagnosis *d, const struct trace *t)
{
	d->incomplete[t->incomplete]++;
	if (t->incomplete == INCOMPLETE_NO_UNIT)
		d->no_unit_label = t->incomplete_label;
}

void
diagnose_incomplete(struct diagnosis *d, const struct trace *t)
{
	assert(!trace_has_times(t));
	if (t->type != d->type)
		return;
	if (t->lossy)
		d->skipped_lossy++;
	else
		count_incomplete(d, t);
}

/* How much the request differs from the usual ones of its path. */
static void
note_presence(struct diagnosis *d, const struct group *g, const struct trace *t)
{
	if (g != NULL)
		presence_add(&d->presence, mono_since_ns(d->stepped, d->begun),
		    (double)(t->end_ns - t->begin_ns) - sketch_quantile(g->sketch, 0.5));
}

int
diagnose_trace(struct search_port *port, struct diagnosis *d, const struct trace *t,
    const struct always_on_path *path, struct err *e)
{
	const struct shape *root = path != NULL ? &path->shape : NULL;
	const struct search_calls *calls = port->calls;
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
	if (t->incomplete != INCOMPLETE_NONE) {
		count_incomplete(d, t);
		for (uint32_t i = 0; i < d->nsearches; i++)
			d->searches[i]->skipped_incomplete++;
		return 0;
	}
	d->usable++;
	if (!calls->began_after(port->owner, t, d->begun.ns + SETTLE_NS))
		return 0;
	if (path == NULL) {
		port->counts->pathless++;
		return 0;
	}
	port->counts->moved += path->path.moved;
	if (port->history != NULL &&
	    ((rc = wait_list_add(&d->waits, t, &path->path, NULL, e)) != 0 ||
		(rc = path_parts_add(&d->parts, t, &path->path, root->key.a, e)) != 0))
		return rc;
	if (d->is_ready && d->groups != NULL &&
	    calls->began_after(port->owner, t, d->ready.ns + SETTLE_NS)) {
		port->counts->inexact += !shape_exact(root, t);
		d->traces++;
		note_presence(d, groups_add(d->groups, t, &path->path, root, port->node_names), t);
	}
	for (uint32_t i = 0; i < d->nsearches && rc == 0; i++) {
		struct search *s = d->searches[i];

		if (s->origin.group_id.a == root->key.a && s->origin.group_id.b == root->key.b)
			rc = search_trace(port, s, t, e);
	}
	return rc;
}

/* ---- searches ---- */

/* Of a tail cov(X, Y) = p (1 - p) times what the slow requests take longer in the edge; see measure.h. */
static double
carried_by(const struct eligible *r, uint32_t edge, const struct diagnosis *d)
{
	const struct finding *f = &r->judged->finding;
	const struct comoments *x = &r->group->edges[edge];

	if (f->problem == PROBLEM_TAIL)
		return f->edges[edge].share * f->cost_ns / (double)r->group->total.n *
		       d->tail.quantile;
	return f->problem == PROBLEM_SLOW ? x->mean_x : comoments_covariance(x);
}

static int
add_search(struct search_port *port, struct diagnosis *d, const struct eligible *r, uint32_t edge,
    bool again, struct err *e)
{
	const struct shape *shape = &r->group->shape;
	const struct edge_share *share = &r->judged->finding.edges[edge];
	const struct gap gap = gap_of(shape, edge);
	struct search *s;
	struct hypothesis *h;

	if (d->nsearches == SEARCHES_MAX || (search_list_has_gap(d, &gap) && !again))
		return 0;
	if ((s = search_list_add(d, &gap, shape->key)) == NULL ||
	    (h = hypothesis_new_from(port, d, NULL)) == NULL)
		return err_set(e, ERR_MEMORY, "%s: out of memory", d->run->type);
	s->origin.hypothesis = h;
	s->origin.again = again;
	s->origin.problem = r->judged->finding.problem;
	s->at.by_latency = s->origin.problem == PROBLEM_SLOW;
	s->at.tail_ns = s->origin.problem == PROBLEM_TAIL ? d->tail.ns : 0;
	s->origin.of_group = s->origin.share = s->at.share = share->share;
	s->at.carried = carried_by(r, edge, d);
	hypothesis_motive(port, h, r->group, edge);
	h->share = h->settled_share = share->share;
	h->share_low = h->settled_low = share->interval.low;
	h->share_high = h->settled_high = share->interval.high;
	h->settled_traces = h->traces;
	h->cost_ns = r->judged->finding.cost_ns;
	return hypothesis_evidence(port, h, r->group, edge, e);
}

/* Whether an edge that is not the main one has as much as is followed inside an edge. */
static bool
is_followed(const struct search_port *port, const struct judged_group *j, uint32_t edge)
{
	double part = j->new_parts != NULL ? j->new_parts[edge] : 1;

	return j->finding.problem != PROBLEM_SLOW &&
	       j->finding.edges[edge].share * part >= port->settings.isolate_min;
}

/* The group's main edge was searched, and is searched again: see search_again(). */
static bool
is_again(const struct search_port *port, const struct diagnosis *d, const struct eligible *r)
{
	struct type_variance t;
	const struct group *g = r->group;
	const struct gap gap = gap_of(&g->shape, r->judged->finding.top);
	struct again_facts f = {
		.ended = true, .requests = g->total.n, .effect_min = d->run->effect_min
	};

	if (!d->looks_on || r->judged->finding.problem != PROBLEM_UNPREDICTABLE)
		return false;
	for (uint32_t i = 0; i < d->nsearches; i++) {
		const struct search *s = d->searches[i];
		const struct verdict *v = s->outcome.verdict;

		if (!gap_same_ends(&s->origin.gap, &gap))
			continue;
		f.searches++;
		f.ended &= s->phase == SEARCH_ENDED;
		f.requests_then = s->origin.hypothesis->traces;
		f.named = fmax(f.named, v != NULL ? fmax(v->effect, v->share) : 0);
	}
	if (f.searches != 1) /* step 1 of search_again(): what it has does not matter */
		return false;
	t = diagnosis_variance(port, d);
	f.effect = t.m2 > 0 ? type_variance_gap(&t, &gap) / t.m2 : 0;
	return search_again(&f);
}

/* For its main edge, and for others that have as much as is followed inside an edge. */
static int
add_searches(struct search_port *port, struct diagnosis *d, const struct eligible *r, struct err *e)
{
	const struct finding *f = &r->judged->finding;
	double least = port->settings.isolate_min;
	int rc = add_search(port, d, r, f->top, is_again(port, d, r), e);

	for (uint32_t i = 0; i < f->nedges && rc == 0; i++)
		if (i != f->top && is_followed(port, r->judged, i) &&
		    f->edges[i].interval.low >= least / 2)
			rc = add_search(port, d, r, i, false, e);
	return rc;
}

/* Searches that wait begin while there are free slots, in the order in which they were added. */
static int
begin_waiting(struct search_port *port, struct diagnosis *d, struct err *e)
{
	int64_t on = 0;
	int rc = 0;

	for (uint32_t i = 0; i < d->nsearches; i++)
		on += search_is_on(d->searches[i]);
	for (uint32_t i = 0; i < d->nsearches && on < port->settings.searches_max && rc == 0; i++) {
		struct search *s = d->searches[i];

		if (s->phase != SEARCH_WAITING)
			continue;
		rc = search_begin(port, s,
		    s->at.npath == 0 ? groups_find(d->groups, s->origin.group_id) : NULL, e);
		on += search_is_on(s);
	}
	return rc;
}

/* ---- watching ---- */

/* The group is searched, and has twice as many requests as it had then, of which its main edge is
 * another. */
static bool
is_other(const struct diagnosis *d, const struct eligible *r)
{
	const struct gap gap = gap_of(&r->group->shape, r->judged->finding.top);

	for (uint32_t i = 0; i < d->nsearches; i++) {
		const struct search_origin *o = &d->searches[i]->origin;

		if (o->group_id.a == r->group->shape.key.a &&
		    o->group_id.b == r->group->shape.key.b &&
		    r->group->total.n < 2 * o->hypothesis->traces)
			return false;
	}
	return d->nsearches < SEARCHES_MAX && !search_list_has_gap(d, &gap);
}

/* Whether the tail is searched, and which requests are slow. Findings of before are of something else
 * when that changes. */
static enum tail_what
choose_tail(struct search_port *port, struct diagnosis *d)
{
	double quantile = d->tail.quantile, before = d->tail.ns;
	const struct sketch *times = quantile > 0 ? diagnosis_times(d, port->scratch) : NULL;
	const struct tail_facts f = { .searching = d->nsearches > 0,
		.asked = quantile,
		.requests = d->traces,
		.watched_ns = mono_since_ns(port->now, d->begun) };
	enum tail_what what = tail_choose(&f);

	if (what == TAIL_AS_BEFORE)
		return what;
	if (what == TAIL_NONE)
		d->run->tail_quantile = d->tail.quantile = 0;
	d->tail.ns = what == TAIL_SEARCH && times != NULL ? sketch_quantile(times, quantile) : 0;
	if ((before > 0) != (d->tail.ns > 0)) {
		watched_free(d->watched);
		d->watched = NULL;
	}
	return what;
}

/* The group is not searched yet, and its main edge, or another that has as much as is followed, is no
 * search's either. */
static bool
is_new(const struct search_port *port, const struct diagnosis *d, const struct eligible *r)
{
	const struct finding *f = &r->judged->finding;

	if (d->nsearches == SEARCHES_MAX)
		return false;
	if (is_again(port, d, r))
		return true;
	if (search_list_has_group(d, r->group->shape.key))
		return d->looks_on && is_other(d, r);
	for (uint32_t i = 0; i < f->nedges; i++) {
		struct gap gap = gap_of(&r->group->shape, i);

		if ((i == f->top || is_followed(port, r->judged, i)) &&
		    !search_list_has_gap(d, &gap))
			return true;
	}
	return false;
}

/*
 * Eligible groups get searches, from the costliest one down to a share of its cost; also those that have the least effect of
 * the type's variance (type_variance.h): a few requests that are very slow cost less than many that vary a little. Groups that are
 * not new are not judged with intervals: most have the problem that is searched already.
 */
static int
watch(struct search_port *port, struct diagnosis *d, bool late, bool ended, struct err *e)
{
	struct eligible eligible[ELIGIBLE_MAX];
	bool enough = late || d->nsearches > 0, left = search_captures_hold(port, d);
	int n = eligible_groups(eligible, port, d, late, e), rc = n < 0 ? n : 0;
	const struct type_variance t = diagnosis_variance(port, d);
	double worth_ns = 0, least_m2 = d->run->effect_min * t.m2;

	for (int i = 0; i < n && rc == 0; i++) {
		double cost_ns = eligible[i].judged->finding.cost_ns;
		int sure = 1;

		if (cost_ns <= 0 ||
		    (cost_ns < worth_ns && type_variance_group(&t, eligible[i].group) < least_m2))
			continue;
		if (!left && is_new(port, d, &eligible[i]) &&
		    (sure = eligible_surely(&eligible[i], port, d, enough, e)) > 0)
			rc = add_searches(port, d, &eligible[i], e);
		if (sure < 0)
			return sure;
		if (sure > 0 && worth_ns <= 0)
			worth_ns = cost_ns * (ended ? WAITS_MIN : BEGINS_MIN);
	}
	return rc != 0 ? rc : begin_waiting(port, d, e);
}

/* What it is compared with: kept with the diagnosis, since the run that has it may be deleted meanwhile. */
static void
read_before(const struct search_port *port, struct diagnosis *d)
{
	const struct run *run = d->run->compared != 0 ? forest_run(port->forest, d->run->compared)
	                                              : NULL;
	struct baseline *b = run != NULL ? arena_alloc(&d->kept, sizeof *b) : NULL;

	if (b != NULL && baseline_read(b, run->baseline, &d->kept))
		d->before = b;
	else
		d->run->compared = 0;
}

static int
groups_begin(const struct search_port *port, struct diagnosis *d, struct err *e)
{
	struct groups_options o = {
		.groups_max = (uint32_t)port->settings.groups_max,
		.samples_max = (uint32_t)port->settings.samples_max,
		.slow_max = TAIL_KEPT,
		.memory_max_bytes = (size_t)port->settings.memory_max_bytes / SHARES_OF_MEMORY,
		.seed = d->seed,
		.ignore = port->ignore,
	};

	read_before(port, d);
	d->groups = groups_new(&o, port->labels);
	return d->groups != NULL
	           ? 0
	           : err_set(e, ERR_MEMORY, "%s: out of memory for groups", d->run->type);
}

/* ---- the end ---- */

/* What the edges carry, as the baseline of later runs. Without memory there is none. */
static void
keep_baseline(struct search_port *port, struct diagnosis *d)
{
	struct baseline b;
	struct buf text = { 0 };
	struct err e;

	if (baseline_of(&b, d->groups, port->labels,
		(double)mono_since_ns(port->now, d->begun) / 1e9,
		port->settings.conditions.confidence, d->seed, port->scratch, &e) == 0) {
		baseline_print(&b, &text);
		buf_u8(&text, 0);
		if (!text.failed)
			hypothesis_text(&d->run->baseline, (char *)text.data);
	}
	buf_release(&text);
}

/* Ends, as the problem that was there is not any more: with what it was, and when. */
static void
end_gone(struct search_port *port, struct diagnosis *d, const struct presence_state *p)
{
	const struct hypothesis *most = d->rare.h;
	char edge[2 * LABEL_TEXT_MAX + 8] = "";

	for (uint32_t i = 0; i < d->nsearches; i++) {
		const struct hypothesis *h = d->searches[i]->at.hypothesis;

		if (most == NULL || h->cost_ns > most->cost_ns)
			most = h;
	}
	d->run->problem_from = (struct wall){ d->run->begun.ns + p->from_ns };
	d->run->problem_to = (struct wall){ d->run->begun.ns + p->to_ns };
	if (most != NULL)
		snprintf(edge, sizeof edge, "%s -> %s", most->edge_from, most->edge_to);
	diagnose_end(port, d, RUN_GONE, REASON_PROBLEM_STOPPED, edge, port->when);
}

/* No search has a verdict: the reason of the last one. */
static void
end_without(struct search_port *port, struct diagnosis *d)
{
	const struct search_outcome *o = &d->searches[d->nsearches - 1]->outcome;
	const struct presence_state p = presence_look(
	    &d->presence, mono_since_ns(port->now, d->begun));

	if (p.quiet) {
		end_gone(port, d, &p);
		return;
	}
	diagnose_end(port, d, RUN_NOT_FOUND, o->reason,
	    o->reason == REASON_END_OVER_BUDGET ? labels_get(port->labels, o->label)->text : "",
	    port->when);
}

/* NULL: it is about captured requests. */
static const struct search *
search_of(const struct diagnosis *d, const struct verdict *v)
{
	for (uint32_t i = 0; i < d->nsearches; i++)
		if (d->searches[i]->outcome.verdict == v)
			return d->searches[i];
	return NULL;
}

/* Two searches came to one edge, or to one of two positions of it and began with these: the effect of what a search began with is that of all
 * positions. Labels alone do not say it: units of different kinds may pass the same ones. */
static bool
same_edge(const struct search *a, const struct search *b)
{
	return gap_same(&a->at.gap, &b->at.gap) ||
	       (gap_same_ends(&a->at.gap, &b->at.gap) &&
		   gap_same_ends(&a->origin.gap, &b->origin.gap) &&
		   !gap_same(&a->origin.gap, &b->origin.gap));
}

/* Two sure verdicts are about the same edge. */
static bool
same_place(const struct diagnosis *d, const struct verdict *a, const struct verdict *b)
{
	const struct search *x = search_of(d, a), *y = search_of(d, b);

	return verdict_sure(a) && verdict_sure(b) && strcmp(a->from, b->from) == 0 &&
	       strcmp(a->to, b->to) == 0 && (x == NULL || y == NULL || same_edge(x, y));
}

/* A verdict of a better rank is about the same edge: a second search of the group came to it, too. */
static bool
is_named_before(const struct forest *forest, const struct diagnosis *d, const struct verdict *v)
{
	const struct verdict *x;

	for (uint32_t rank = 1;
	     rank < v->rank && (x = forest_verdict(forest, d->run->id, rank)) != NULL; rank++)
		if (same_place(d, x, v))
			return true;
	return false;
}

/* The searches of these verdicts began with different edges: what both carry are different parts of what the type varies by. */
static bool
began_apart(const struct diagnosis *d, const struct verdict *a, const struct verdict *b)
{
	const struct search *x = search_of(d, a), *y = search_of(d, b);

	return x != NULL && y != NULL &&
	       !gap_same_ends(&search_outermost(x)->origin.gap, &search_outermost(y)->origin.gap);
}

/* The effect of the edge that the verdict is the first one of: what searches that began with different edges, on different paths, found it to have. */
static double
place_effect(const struct forest *forest, const struct diagnosis *d, const struct verdict *v)
{
	double effect = v->effect;
	const struct verdict *x, *y;

	for (uint32_t rank = v->rank + 1;
	     v->pool == POOL_NONE && (x = forest_verdict(forest, d->run->id, rank)) != NULL;
	     rank++) {
		bool adds = x->pool == POOL_NONE && same_place(d, v, x);

		for (uint32_t i = v->rank; i < rank && adds; i++) {
			y = forest_verdict(forest, d->run->id, i);
			adds = !same_place(d, y, x) || began_apart(d, y, x);
		}
		effect += adds && x->effect > 0 ? x->effect : 0;
	}
	return effect > 1 ? 1 : effect;
}

/* The others may have such a place in them. */
static bool
is_one_place(const struct verdict *v)
{
	return v->kind != VERDICT_SPREAD && v->kind != VERDICT_HIDDEN && v->kind != VERDICT_CUT;
}

static struct worth_facts
worth_facts_of(const struct forest *forest, const struct diagnosis *d)
{
	const struct run *run = d->run;
	struct worth_facts f = { .effect_min = run->effect_min };
	const struct verdict *v;

	for (uint32_t rank = 1; (v = forest_verdict(forest, run->id, rank)) != NULL; rank++) {
		if (!verdict_sure(v)) {
			f.open += verdict_open(v, run->effect_min);
			f.open_worth += verdict_worth(v, run->effect_min);
			continue;
		}
		f.sure++;
		if (v->pool == POOL_NONE && is_one_place(v) &&
		    v->effect >= VERDICT_COUNTS * run->effect_min && !is_named_before(forest, d, v))
			f.together += place_effect(forest, d, v);
		if (!verdict_worth(v, run->effect_min))
			continue;
		f.worth++;
		f.apart |= v->problem != PROBLEM_UNPREDICTABLE || v->pool != POOL_NONE ||
		           isnan(v->effect) || !isnan(v->new_part) || verdict_is_rare(v);
		if (!is_named_before(forest, d, v)) {
			double effect = place_effect(forest, d, v);

			f.second = fmax(f.second, fmin(f.most, effect));
			f.most = fmax(f.most, effect);
		}
		f.saves = fmax(f.saves, verdict_saves_all(v));
		f.saves_own = fmax(f.saves_own, verdict_saves(v));
	}
	return f;
}

/* What groups have that have too few requests to be judged, and those of them that come often enough to have them by `looks`
 * times cycle_max; and *effect beside them. */
static void
find_unjudged(
    struct look_facts *f, const struct search_port *port, const struct diagnosis *d, int looks)
{
	const struct type_variance t = diagnosis_variance(port, d);
	double enough = (double)port->settings.conditions.traces_min, m2 = 0, due = 0, all = 0,
	       part = (double)mono_since_ns(port->now, d->begun) /
	              (looks * (double)port->settings.cycle_max_ns);

	for (uint32_t i = 0; i < groups_count(d->groups); i++) {
		const struct group *g = groups_at(d->groups, i);
		double n = (double)g->total.n, apart = g->total.mean - t.usual.mean, its;

		its = n < enough ? g->total.m2 + n * apart * apart : type_variance_group(&t, g);
		all += its;
		m2 += n < enough ? its : 0;
		due += n < enough && n >= enough * part ? its : 0;
	}
	f->unjudged = all > 0 ? m2 / all : 0;
	f->due = all > 0 ? due / all : 0;
	f->effect *= all > 0 ? fmin(1, t.m2 / all) : 1;
}

/* Whether a group varies by more than the limit by all that is known, which is not certain yet. */
static bool
is_undecided(const struct search_port *port, const struct diagnosis *d)
{
	for (uint32_t i = 0; d->watched != NULL && i < d->watched->n; i++)
		if (d->watched->judged[i].finding.problem == PROBLEM_UNSURE &&
		    d->watched->judged[i].finding.cv > port->settings.conditions.cv_max)
			return true;
	return false;
}

/* Without a search: whether one may begin yet. */
static bool
is_open(const struct search_port *port, const struct diagnosis *d, int64_t waited_ns)
{
	bool early = waited_ns < LATE_LOOKS * port->settings.cycle_max_ns,
	     rare = d->traces >= port->settings.conditions.traces_min && d->before == NULL;
	struct look_facts f = { 0 };

	if (waited_ns >= LAST_LOOKS * port->settings.cycle_max_ns || (!early && !rare))
		return false;
	find_unjudged(&f, port, d, rare ? LAST_LOOKS : LATE_LOOKS);
	return (early && is_undecided(port, d)) || f.due > d->run->effect_min;
}

static bool
looks_on(const struct search_port *port, const struct diagnosis *d, bool late)
{
	const struct presence_state p = presence_look(
	    &d->presence, mono_since_ns(port->now, d->begun));
	const struct worth_facts w = worth_facts_of(port->forest, d);
	int64_t watched_ns = mono_since_ns(port->now, d->begun);
	struct look_facts f = { .late = late,
		.latest = watched_ns >= LATE_LOOKS * port->settings.cycle_max_ns,
		.effect_min = d->run->effect_min,
		.worth = worth_state(&w) == RUN_FOUND ? w.worth : 0,
		.effect = w.most,
		.quiet = p.quiet,
		.seen_ns = p.to_ns - p.from_ns,
		.watched_ns = watched_ns };
	const struct verdict *first = forest_verdict(port->forest, d->run->id, 1);

	f.pool = first != NULL && first->pool != POOL_NONE && first->pool != POOL_STILL &&
	         isnan(first->new_part);
	find_unjudged(&f, port, d, LATE_LOOKS);
	return look_on(&f);
}

static bool
found_so_far(const struct search_port *port, const struct diagnosis *d)
{
	const struct worth_facts w = worth_facts_of(port->forest, d);

	return worth_state(&w) == RUN_FOUND;
}

/* The verdict of the first rank: see forest_verdict_new(). Of a problem that has stopped, what
 * was measured last may be of requests that do not have it, and not worth mending: it is gone, all the same. */
static void
end_found(struct search_port *port, struct diagnosis *d)
{
	const struct worth_facts f = worth_facts_of(port->forest, d);
	const struct presence_state p = presence_look(
	    &d->presence, mono_since_ns(port->now, d->begun));
	const struct verdict *first = forest_verdict(port->forest, d->run->id, 1);

	d->run->verdict = first->hypothesis;
	for (uint32_t i = 0; i < d->nsearches && !(d->tail.ns > 0); i++)
		if (d->searches[i]->outcome.verdict == first)
			d->run->left = search_left(port, d->searches[i]);
	if (p.quiet)
		end_gone(port, d, &p);
	else
		diagnose_end(port, d, worth_state(&f), REASON_NONE, "", port->when);
}

/* Captured requests have decided. If the verdict is sure and none has come for long, it is gone. */
static void
end_captured(struct search_port *port, struct diagnosis *d)
{
	const struct worth_facts f = worth_facts_of(port->forest, d);
	struct presence_state p = presence_look(&d->presence, mono_since_ns(port->now, d->begun));
	double silent_ns = (double)(mono_since_ns(port->now, d->begun) - d->rare.to_ns);
	bool gone = rare_is_gone(d->rare.n, (double)(d->rare.to_ns - d->rare.from_ns), silent_ns);

	d->run->verdict = forest_verdict(port->forest, d->run->id, 1)->hypothesis;
	p.from_ns = d->rare.from_ns;
	p.to_ns = d->rare.to_ns;
	if (worth_state(&f) == RUN_FOUND && gone)
		end_gone(port, d, &p);
	else
		diagnose_end(port, d, worth_state(&f), REASON_NONE, "", port->when);
}

static uint64_t
incomplete_traces(const struct diagnosis *d)
{
	uint64_t n = 0;

	for (int i = INCOMPLETE_NONE + 1; i < INCOMPLETES; i++)
		n += d->incomplete[i];
	return n;
}

/* Why fewer traces than needed are evidence. */
static enum reason
why_few(const struct diagnosis *d)
{
	uint64_t incomplete = incomplete_traces(d);

	/* 1 */
	if (d->skipped_lossy <= d->traces && incomplete <= d->traces)
		return REASON_FEW_REQUESTS;
	/* 2 */
	if (d->skipped_lossy >= incomplete)
		return REASON_LOST_RECORDS;
	/* 3 */
	if (d->incomplete[INCOMPLETE_NO_UNIT] * 2 > incomplete)
		return REASON_UNIT_MISSING;
	/* 4 */
	if (d->incomplete[INCOMPLETE_NO_END] * 2 > incomplete)
		return REASON_END_MISSING;
	/* 5 */
	return REASON_INCOMPLETE;
}

/* Of enough requests. That there is no problem is only said of those that could be judged. */
static void
end_without_problem(struct search_port *port, struct diagnosis *d)
{
	struct look_facts f = { 0 };
	enum reason why = REASON_NO_PROBLEM;

	find_unjudged(&f, port, d, LATE_LOOKS);
	if (f.unjudged > d->run->effect_min)
		why = REASON_RARE_PATHS;
	else if (is_undecided(port, d))
		why = REASON_UNDECIDED;
	diagnose_end(port, d, RUN_NOT_FOUND, why, "", port->when);
}

static void
end_unfound(struct search_port *port, struct diagnosis *d, int64_t waited_ns)
{
	if (d->traces >= port->settings.conditions.traces_min && d->before != NULL)
		diagnose_end(port, d, RUN_NOTHING, REASON_AS_BASELINE, "", port->when);
	else if (d->traces >= port->settings.conditions.traces_min)
		end_without_problem(port, d);
	else if (waited_ns > 3 * port->settings.cycle_max_ns)
		diagnose_end(port, d, RUN_NOT_FOUND, why_few(d),
		    why_few(d) == REASON_UNIT_MISSING
			? labels_get(port->labels, d->no_unit_label)->text
			: "",
		    port->when);
}

static bool
all_ended(const struct diagnosis *d)
{
	for (uint32_t i = 0; i < d->nsearches; i++)
		if (d->searches[i]->phase != SEARCH_ENDED)
			return false;
	return d->nsearches > 0;
}

/* The effects of verdicts, and what waits for threads come from, by all that is known by now. */
static int
judge_effects(struct search_port *port, struct diagnosis *d, struct err *e)
{
	int rc = 0;

	for (uint32_t i = 0; i < d->nsearches && rc == 0; i++)
		rc = search_effect_again(port, d->searches[i], e);
	return rc;
}

static int
check(struct search_port *port, struct diagnosis *d, struct err *e)
{
	int64_t waited_ns = mono_since_ns(port->now, d->begun);
	bool late = waited_ns > port->settings.cycle_max_ns, ended, looks;
	int rc;

	if (waited_ns < WATCH_MIN_NS)
		return 0;
	if (d->run->healthy) {
		if (late && d->traces >= port->settings.conditions.traces_min)
			diagnose_end(port, d, RUN_BASELINE, REASON_NONE, "", port->when);
		else if (late)
			end_unfound(port, d, waited_ns);
		return 0;
	}
	if (choose_tail(port, d) == TAIL_GATHER)
		return 0;
	if ((rc = search_still(port, d, e)) != 0)
		return rc;
	ended = all_ended(d);
	/* so the end rests on a judgement that is less than STILL_LOOK_NS old */
	if (ended && mono_since_ns(port->now, d->judged) >= STILL_LOOK_NS) {
		d->judged = port->now;
		if ((rc = judge_effects(port, d, e)) != 0)
			return rc;
	}
	looks = ended && looks_on(port, d, late);
	/* once more at the end: what was searched first may have taken all the time, and there is more to see by now */
	d->looks_on = looks || (ended && !found_so_far(port, d) &&
				   waited_ns < LAST_LOOKS * port->settings.cycle_max_ns);
	if (d->looks_on && (rc = search_pools(port, d, e)) != 0)
		return rc;
	if ((rc = watch(port, d, late, ended, e)) != 0)
		return rc;
	ended = d->nsearches == 0 ? late && !is_open(port, d, waited_ns) : !looks && all_ended(d);
	if ((rc = search_captures(port, d, ended && !found_so_far(port, d), e)) != 0)
		return rc < 0 ? rc : 0;
	if (!ended)
		return 0;
	if (d->rare.h != NULL)
		end_captured(port, d);
	else if (d->nsearches == 0)
		end_unfound(port, d, waited_ns);
	else if (forest_verdict(port->forest, d->run->id, 1) != NULL)
		end_found(port, d);
	else
		end_without(port, d);
	return 0;
}

static enum phase
phase_of(const struct diagnosis *d)
{
	static const enum phase PHASES[SEARCH_PHASES] = {
		[SEARCH_SWITCHING] = PHASE_SWITCH,
		[SEARCH_GATHERING] = PHASE_GATHER,
		[SEARCH_UNCONFIRMED] = PHASE_GATHER,
		[SEARCH_PAUSED] = PHASE_PAUSED,
		[SEARCH_BACKING_OFF] = PHASE_PAUSED,
	};

	for (uint32_t i = 0; i < d->nsearches; i++)
		if (search_is_on(d->searches[i]))
			return PHASES[d->searches[i]->phase];
	return PHASE_WATCH;
}

int
diagnose_step(
    struct search_port *port, struct diagnosis *d, struct mono now, struct wall when, struct err *e)
{
	int64_t every_ns = phase_of(d) == PHASE_WATCH ? PHASE_CHECK_NS : 10 * PHASE_CHECK_NS;
	bool confirmed;
	int rc = 0;

	assert(d->phase != PHASE_ENDED);
	port->now = d->stepped = now;
	port->when = when;
	if (d->groups == NULL)
		return groups_begin(port, d, e);
	confirmed = port->calls->confirmed(port->owner);
	if (confirmed && !d->is_ready)
		d->ready = now;
	d->is_ready = confirmed;
	for (uint32_t i = 0; i < d->nsearches && rc == 0; i++) {
		rc = search_step(port, d->searches[i], e);
		arena_reset(port->scratch);
	}
	if (rc == 0 && !port->paused && mono_since_ns(now, d->checked) >= every_ns) {
		d->checked = now;
		rc = check(port, d, e);
	}
	if (d->phase != PHASE_ENDED)
		d->phase = phase_of(d);
	return rc;
}

void
diagnose_end(struct search_port *port, struct diagnosis *d, enum run_state state,
    enum reason reason, const char *subject, struct wall when)
{
	assert(d->phase != PHASE_ENDED);
	port->when = when;
	for (uint32_t i = 0; i < d->nsearches; i++)
		if (d->searches[i]->phase != SEARCH_ENDED)
			search_end(port, d->searches[i], reason);
	if (d->groups != NULL && state == RUN_BASELINE)
		keep_baseline(port, d);
	if (d->rare.asked)
		port->calls->captured_enough(port->owner, d->type);
	d->run->state = state;
	d->run->ended = when;
	d->run->reason = reason;
	hypothesis_text(&d->run->subject, subject); /* without memory for it: "" */
	forest_touch_run(port->forest, d->run);
	watched_free(d->watched);
	d->watched = NULL;
	groups_free(d->groups);
	d->groups = NULL;
	wait_list_release(&d->waits);
	path_parts_release(&d->parts);
	d->phase = PHASE_ENDED;
	port->calls->ended(port->owner, when);
}

bool
diagnosis_explores(const struct diagnosis *d)
{
	/* of the preload layer nothing is learned */
	for (uint32_t i = 0; i < d->nsearches; i++)
		if (d->searches[i]->task == TASK_EXPLORE &&
		    d->searches[i]->layer.state == LAYER_CLOSED)
			return true;
	return false;
}

uint32_t
diagnosis_awaited(const struct diagnosis *d, uint32_t *labels, uint32_t max)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < d->nsearches && n < max; i++) {
		const struct search *s = d->searches[i];
		const struct verdict *v = s->outcome.verdict;
		const struct gap *gap = &s->at.gap;

		if ((search_is_on(s) || v != NULL) &&
		    (gap->from_unit != gap->to_unit || (v != NULL && v->pool != POOL_NONE)))
			labels[n++] = gap->to;
	}
	return n;
}

bool
diagnosis_has_fresh(const struct diagnosis *d)
{
	for (uint32_t i = 0; i < d->nsearches; i++)
		if (has_fresh(d->searches[i]))
			return true;
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
	wait_list_release(&d->waits);
	path_parts_release(&d->parts);
	arena_release(&d->kept);
	groups_free(d->groups);
	label_set_release(&d->over_budget);
	free(d);
}
