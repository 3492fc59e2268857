/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/search/search_verdict.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/bootstrap.h"
#include "analysis/tail_keys.h"
#include "base/texts.h"
#include "controlplane/search/baseline.h"
#include "controlplane/search/enabled.h"
#include "controlplane/search/explore.h"
#include "controlplane/search/gap.h"
#include "controlplane/search/ground.h"
#include "controlplane/search/population.h"
#include "controlplane/search/preload_layer.h"
#include "controlplane/search/search_below.h"
#include "controlplane/search/search_end.h"
#include "controlplane/search/search_functions.h"
#include "controlplane/search/search_hypothesis.h"
#include "controlplane/search/search_list.h"
#include "controlplane/search/search_rest.h"
#include "controlplane/search/tail_target.h"
#include "controlplane/search/thread_pool.h"
#include "controlplane/search/within.h"
#include "controlplane/search/worth.h"

/* Bootstrap rounds: to judge, and for the intervals of a verdict. */
enum { ROUNDS = 100, ROUNDS_VERDICT = 1000, ROUNDS_TAIL_KEY = 199 };
/* See tail_of(). */
static const double TAIL_PART_MAX = 0.4;

struct final_edge_of {             /* what a verdict rests on */
	const struct group *group; /* that has it as one edge */
	uint32_t edge;
	struct population all;
};

/* Of a tail: the edge's share of what the slow requests take longer than usual ones. 0 without slow requests. */
static int
find_tail_share(struct finding *f, const struct search_port *port, const struct search *s,
    const struct group *all, struct err *e)
{
	double part = fmin(TAIL_PART_MAX, (double)all->ntail / fmax(1, (double)all->total.n));
	struct tail t = { 0 };
	int rc = 0;

	f->problem = PROBLEM_TAIL;
	if (part > 0)
		rc = tail_of(&t, all, part, port->settings.conditions.confidence, ROUNDS_VERDICT,
		    s->diagnosis->seed, port->scratch, e);
	f->edges[0].share = t.nedges > 0 ? t.edges[0].excess_share : 0;
	f->edges[0].interval = t.nedges > 0 ? t.edges[0].interval : (struct interval){ 0 };
	return rc;
}

/* The finding of the population with the problem that the search is about, even if the last requests
 * would be judged otherwise. */
static int
find_shares(struct finding *f, const struct search_port *port, const struct search *s,
    const struct group *all, struct err *e)
{
	const struct conditions *c = &port->settings.conditions;
	double variance = moments_variance(&all->total);
	int rc = finding_judge(f, all, c, 0, ROUNDS, s->diagnosis->seed, port->scratch, e);

	if (rc != 0)
		return rc;
	if (s->at.tail_ns > 0)
		return find_tail_share(f, port, s, all, e);
	f->problem = s->at.by_latency ? PROBLEM_SLOW : PROBLEM_UNPREDICTABLE;
	f->edges[0].share = s->at.by_latency ? f->edges[0].latency_share
	                    : variance > 0   ? comoments_covariance(&all->edges[0]) / variance
	                                     : 0;
	return finding_intervals(
	    f, all, c->confidence, ROUNDS_VERDICT, s->diagnosis->seed, port->scratch, e);
}

/* Of the group that the search began with: the probability of its problem, and what of its cost lies
 * in the edge. */
static int
find_cost(struct verdict *v, const struct search_port *port, const struct search *s, struct err *e)
{
	const struct diagnosis *d = s->diagnosis;
	const struct conditions *c = &port->settings.conditions;
	const struct group *root = groups_find(d->groups, s->origin.group_id);
	struct finding f;
	int rc;

	v->problem = s->origin.problem;
	if (root == NULL)
		return 0;
	rc = finding_judge(&f, root, c, sketch_quantile_most(&d->sketch, c->slow_quantile), ROUNDS,
	    d->seed, port->scratch, e);
	if (rc == 0) {
		v->probability = f.probability;
		if (s->at.tail_ns > 0)
			f.cost_ns = s->origin.hypothesis->cost_ns;
		v->cost_ns = f.cost_ns *
		             (s->at.by_latency ? s->origin.of_group : fmin(1, fmax(0, v->share)));
	}
	return rc;
}

/* The edge that the search began with, in the group that is watched by always-on labels; NULL: it began
 * with a part of an edge. */
static const struct group *
watched_edge(const struct search *s, uint32_t *edge)
{
	const struct group *root = groups_find(s->diagnosis->groups, s->origin.group_id);

	*edge = root != NULL ? gap_edge(&root->shape, &s->origin.gap) : UINT32_MAX;
	return *edge != UINT32_MAX ? root : NULL;
}

/* The covariance with the response time, summed over the group's requests, of the edges with these ends. */
static double
edge_sum(const struct group *g, const struct gap *gap)
{
	double c = 0;

	for (uint32_t i = 0; i < g->shape.nedges; i++) {
		const struct gap x = gap_of(&g->shape, i);

		if (gap_same_ends(&x, gap))
			c += g->edges[i].c_xy;
	}
	return c;
}

/* Of all requests, what is between groups included. */
static double
type_variance(const struct groups *groups)
{
	struct moments all = { 0 };

	for (uint32_t i = 0; i < groups_count(groups); i++)
		moments_merge(&all, &groups_at(groups, i)->total);
	return moments_variance(&all);
}

/* What the edge that the search began with carries of what the type varies by, 0 to 1. 0: it began inside one. */
static double
began_effect(const struct type_variance *t, const struct search *s)
{
	uint32_t edge;

	return watched_edge(s, &edge) != NULL && t->m2 > 0
	           ? fmin(1, fmax(0, type_variance_gap(t, &s->origin.gap) / t->m2))
	           : 0;
}

static double
find_effect(const struct search_port *port, struct search *s, const struct verdict *v,
    const struct group *all)
{
	const struct groups *groups = s->diagnosis->groups;
	const struct type_variance t = diagnosis_variance(port, s->diagnosis);
	uint32_t edge;
	const struct group *root = watched_edge(s, &edge);
	double variance = moments_variance(&all->total);
	struct effect_facts f = { .tail = s->at.tail_ns > 0,
		.tail_variance = v->tail_carries,
		.by_latency = s->origin.problem == PROBLEM_SLOW,
		.share = v->share,
		.group_variance = variance,
		.within_variance = t.n > 0 ? t.m2 / t.n : 0 };

	s->outcome.of_began = 0;
	/* of a slow side that was followed the share is of the latency */
	if (!f.by_latency && variance > 0)
		f.share = comoments_covariance(&all->edges[0]) / variance;
	if (f.tail) {
		root = groups_find(groups, s->origin.group_id);
		f.group_variance = moments_variance(root != NULL ? &root->total : &all->total);
		f.within_variance = type_variance(groups);
		return effect_of(&f);
	}
	if (root != NULL && root->total.m2 > 0) {
		f.began_share = edge_sum(root, &s->origin.gap) / root->total.m2;
		f.began_effect = began_effect(&t, s);
		if (!f.by_latency && f.began_share > 0 && f.began_effect > 0)
			s->outcome.of_began = effect_of(&f) / f.began_effect;
	}
	return effect_of(&f);
}

/* Labels, and brackets around loops, one on each line, terminated. */
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

/* How well a key explains the edge, as one number: the stronger of both correlations; of a category
 * the root of its share. */
static double
key_r(const struct key_finding *k)
{
	if (!k->numeric)
		return sqrt(k->share);
	return fabs(k->rho) > fabs(k->r) ? k->rho : k->r;
}

/* The best key of an edge that explains as much; *found NULL: none does. */
static int
best_key(const struct key_finding **found, const struct search_port *port,
    const struct group *group, uint32_t edge, double explain_min, struct err *e)
{
	struct key_finding *keys;
	int n = keys_explain(&keys, group, edge, 0.01, explain_min, port->scratch, e);

	*found = n > 0 ? &keys[0] : NULL;
	return n < 0 ? n : 0;
}

/*
 * What a key has to explain is explain_min of the edge's time over all requests.
 *
 * 1. A key of all requests, the number of iterations of a loop that others do not take included.
 * 2. A key of the requests with this path, as far as the problem lies among them.
 * 3. A key of the edge that the search began with, as far as its problem lies in this edge. What two
 *    independent causes in one edge have in common is at most a quarter.
 */
static int
find_key(struct verdict *v, struct buf *name, const struct search_port *port,
    const struct search *s, const struct final_edge_of *x, double share, struct err *e)
{
	uint32_t first;
	const struct group *watched = watched_edge(s, &first);
	const struct {
		const struct group *of;
		uint32_t edge;
		double part; /* of the problem */
	} tries[] = { { &x->all.group, 0, 1 },
		{ x->group, x->edge, s->at.by_latency ? 1 : x->all.within_model },
		{ watched, first, s->origin.share > 0 ? fmin(1, share / s->origin.share) : 0 } };
	const struct key_finding *k = NULL;

	for (uint32_t i = 0; i < sizeof tries / sizeof tries[0] && k == NULL; i++) {
		const struct group *of = tries[i].of;
		int rc;

		if (of == NULL || tries[i].part < port->settings.explain_min)
			continue;
		rc = best_key(
		    &k, port, of, tries[i].edge, port->settings.explain_min / tries[i].part, e);
		if (rc != 0)
			return rc;
		if (k == NULL)
			continue;
		key_print(of, &of->keys[k->key], port->labels, name);
		v->key_r = key_r(k);
		v->key_p = k->p;
		v->key_n = k->n;
	}
	buf_u8(name, 0);
	v->key = (char *)name->data;
	return 0;
}

static const char *
kept_text(const struct group *g, double value)
{
	return texts_get(g->texts, (uint32_t)value);
}

/* What requests that take longer than v->tail_ns in the edge of the population, or as a whole, have that the others have not. *share of those that are compared
 * take longer; 0: nothing is known of them. */
static int
find_slow_key(struct verdict *v, double *share, const struct search_port *port,
    const struct search *s, const struct final_edge_of *x, uint32_t edge, struct err *e)
{
	const struct group *all = &x->all.group;
	struct buf name = { 0 }, value = { 0 };
	struct tail_key k;
	int rc = tail_key_of(&k, all, edge, v->tail_ns, x->group->shape.edges[x->edge].from_token,
	    0.01, ROUNDS_TAIL_KEY, s->diagnosis->seed, port->scratch, e);

	*share = 0;
	if (rc != 0 || k.key == UINT32_MAX)
		return rc;
	*share = k.nslow / ((double)k.nslow + k.nusual);
	key_print(all, &all->keys[k.key], port->labels, &name);
	if (all->keys[k.key].type == VALUE_TEXT)
		buf_printf(&value, "%s", kept_text(all, k.value));
	else
		buf_printf(&value, "%.15g", k.value);
	buf_u8(&name, 0);
	buf_u8(&value, 0);
	v->tail_key = (char *)name.data;
	v->tail_value = (char *)value.data;
	v->tail_has = k.has;
	v->tail_with = k.slow;
	v->tail_without = k.usual;
	v->tail_p = k.p;
	return name.failed || value.failed ? search_no_memory(s, e) : 0;
}

/* What the slow requests of a tail have that the others have not, and how much of the variance they carry. */
static int
find_tail(struct verdict *v, const struct search_port *port, const struct search *s,
    const struct final_edge_of *x, struct err *e)
{
	const struct diagnosis *d = s->diagnosis;
	const struct sketch *times;
	double share;

	if (s->at.tail_ns <= 0)
		return 0;
	if ((times = diagnosis_times(d, port->scratch)) == NULL)
		return search_no_memory(s, e);
	v->tail_quantile = d->tail.quantile;
	v->tail_ns = s->at.tail_ns;
	v->tail_requests = x->all.group.ntail;
	v->tail_carries = tail_carries(times, d->tail.quantile);
	return find_slow_key(v, &share, port, s, x, TAIL_KEYS_WHOLE, e);
}

/* Not of a tail: what the few requests have that take long in the edge, where these have most of what it varies by, and no key explains all of it. */
static int
find_few(struct verdict *v, const struct search_port *port, const struct search *s,
    const struct final_edge_of *x, struct err *e)
{
	double above_ns, share;
	uint32_t nslow;
	int rc;

	if (s->at.tail_ns > 0 || s->at.by_latency || v->kind == VERDICT_SPREAD || v->key[0] != '\0')
		return 0;
	rc = tail_division(
	    &above_ns, &nslow, &x->all.group, 0, s->diagnosis->seed, port->scratch, e);
	if (rc != 0 || isnan(above_ns))
		return rc;
	v->tail_ns = above_ns;
	rc = find_slow_key(v, &share, port, s, x, 0, e);
	v->tail_ns = share > 0 ? above_ns : 0;
	v->tail_requests = (uint64_t)lround(share * x->all.passing);
	return rc;
}

static int
find_what_if(struct verdict *v, const struct search_port *port, const struct search *s,
    const struct group *all, struct err *e)
{
	struct what_if w;
	int rc = what_if_of(&w, all, 0, port->settings.conditions.confidence, ROUNDS_VERDICT,
	    s->diagnosis->seed, port->scratch, e);

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

static int
fill_measured(
    struct verdict *v, const struct population *all, const struct finding *f, struct arena *a)
{
	const struct group *g = &all->group;
	const struct edge_share *share = &f->edges[0];
	int rc;

	v->traces = g->total.n;
	v->effective_traces = (double)v->traces / fmax(1, share->inflation);
	v->passing = (uint64_t)all->passing;
	v->passes = all->passes;
	v->mean_ns = f->mean_ns;
	v->cv = f->cv;
	v->share = share->share;
	v->share_low = share->interval.low;
	v->share_high = share->interval.high;
	v->latency_share = share->latency_share;
	if (v->share_low <= 0 && !v->by_latency && !(v->tail_quantile > 0) &&
	    (rc = share_low_by_events(&v->share_low, g, 0, verdict_is_rare(v), v->confidence, a)) !=
		0)
		return rc;
	if (g->slowest.total_ns >= 0) {
		v->slowest = g->slowest.id;
		v->slowest_ns = g->slowest.total_ns;
	}
	if (g->fastest.total_ns >= 0) {
		v->fastest = g->fastest.id;
		v->fastest_ns = g->fastest.total_ns;
	}
	return 0;
}

/* Which of the positions on the path it is, where the path passes its ends several times. */
static void
fill_position(struct verdict *v, const struct shape *shape, uint32_t edge)
{
	uint32_t before;

	v->positions = gap_positions(shape, edge, &before);
	v->position = before + 1;
	v->loop_back = shape->edges[edge].to_token <= shape->edges[edge].from_token;
}

/* Tracepoints that may lie inside the edge and were not examined. Those that were not seen while
 * learning count only where the search came to its end: a fault may pass them for the first time. */
static int
find_left_out(struct verdict *v, struct search_port *port, const struct search *s, struct err *e)
{
	const struct label *of = labels_get(port->labels, s->at.gap.from_unit);
	char service[LABEL_TEXT_MAX + 1];
	struct buf names = { 0 };
	bool kept;

	v->over_budget = s->budget.left_out;
	v->preload_over_budget = s->layer.over_budget;
	if (v->kind == VERDICT_SPREAD || v->kind == VERDICT_CUT || v->kind == VERDICT_HIDDEN)
		return 0;
	v->unlearned = explore_unseen(port, s, &names);
	buf_u8(&names, 0);
	snprintf(service, sizeof service, "%.*s", (int)of->service_len, of->text);
	kept = v->unlearned == 0 ||
	       (!names.failed && hypothesis_text(&v->unlearned_service, service) &&
		   hypothesis_text(&v->unlearned_names, (char *)names.data));
	buf_release(&names);
	return kept ? 0 : search_no_memory(s, e);
}

/* ---- steps ---- */

static void
want_more(struct search *s, const struct verdict *v)
{
	search_set_task(s, TASK_FINAL_EDGE);
	s->final = (struct final_edge){ .kind = v->kind,
		.wanted = 2 * v->traces,
		.again = s->final.again,
		.open = v->share_low <= 0,
		.patient = s->final.patient,
		.put_off = s->final.put_off };
}

/* The smallest edge that had most of the problem, or the one that the search began with. */
static const struct gap *
larger_gap(const struct search *s)
{
	return !gap_same(&s->at.gap, &s->at.most) ? &s->at.most : &s->origin.gap;
}

bool
can_take_back(const struct search *s)
{
	return (s->sides.followed == SIDE_SLOW || !gap_same(&s->at.gap, larger_gap(s))) &&
	       !search_list_has_beside(s);
}

/* All requests are followed again. */
static void
leave_side(struct search *s)
{
	label_set_release(&s->sides.must);
	label_set_release(&s->sides.must_not);
	s->sides = (struct search_sides){ .separation.label = LABEL_NONE };
}

void
take_back(struct search_port *port, struct search *s, enum verdict_kind kind, enum reason reason)
{
	const struct gap back = s->layer.state == LAYER_FOUND    ? s->layer.above
	                        : s->sides.followed == SIDE_SLOW ? s->sides.since
	                                                         : *larger_gap(s);
	bool again = !s->second.begun && s->layer.state != LAYER_FOUND;

	if (s->layer.state == LAYER_FOUND) {
		s->layer.state = LAYER_OPEN;
	} else {
		/* what was open, or separated, was the smaller edge; its labels would cut this one */
		s->layer.state = LAYER_CLOSED;
		if (s->sides.separation.label != LABEL_NONE)
			leave_side(s);
	}
	s->at.most = s->at.gap = back;
	disable_unneeded(port, s, reason);
	search_set_task(s, TASK_FINAL_EDGE);
	s->final = (struct final_edge){ kind, 0, again };
}

static enum hypothesis_state
state_of(const struct verdict *v)
{
	if (v->kind == VERDICT_SPREAD || v->kind == VERDICT_CUT || v->kind == VERDICT_HIDDEN)
		return HYPOTHESIS_ISOLATES;
	return v->key[0] != '\0' ? HYPOTHESIS_EXPLAINED : HYPOTHESIS_BOTTOM;
}

static int
keep(struct search_port *port, struct search *s, struct verdict *v, const struct final_edge_of *x,
    struct err *e)
{
	struct hypothesis *h = hypothesis_new_from(port, s->diagnosis, s->at.hypothesis);

	if (h == NULL || !hypothesis_text(&h->key, v->key))
		return search_no_memory(s, e);
	hypothesis_motive(port, h, &x->all.group, 0);
	h->share = h->settled_share = v->share;
	h->share_low = h->settled_low = v->share_low;
	h->share_high = h->settled_high = v->share_high;
	h->settled_traces = v->traces;
	h->cost_ns = v->cost_ns;
	h->separation = s->sides.separation.label != LABEL_NONE ? s->sides.separation.between : 0;
	h->key_r = v->key_r;
	h->key_p = v->key_p;
	h->key_n = v->key_n;
	hypothesis_enter(h, state_of(v), port->when);
	v->run = s->diagnosis->run->id;
	v->hypothesis = h->id;
	v->when = port->when;
	if ((s->outcome.verdict = forest_verdict_new(port->forest, v)) == NULL)
		return search_no_memory(s, e);
	return hypothesis_evidence(port, h, x->group, x->edge, e);
}

/* What the requests waited for in the edge; own: for which other units of the same request. */
static int
find_wait(struct verdict *v, const struct search_port *port, const struct search *s, bool own,
    struct err *e)
{
	struct arena a = { 0 };
	struct wait_finding f;
	uint32_t n;
	struct thread_wait *waits = wait_list_of(&s->diagnosis->waits, &s->at.gap, &n, &a);
	int rc = 0;

	for (uint32_t i = 0; i < n; i++)
		waits[i].own = own;
	v->wait_unit = NULL;
	if (s->still != NULL) {
		v->wait_cause = WAIT_STILL;
		v->waits = s->still->waits;
		v->wait_share = s->still->wait_share;
		v->wait_share_low = s->still->wait_low;
		v->wait_share_high = s->still->wait_high;
	} else if (waits != NULL && port->history != NULL &&
		   (rc = thread_history_cause(&f, port->history, waits, n, v->confidence, &a, e)) ==
		       0) {
		v->wait_cause = f.cause;
		v->waits = f.waits;
		v->wait_share = f.share;
		v->wait_share_low = f.share_low;
		v->wait_share_high = f.share_high;
		v->wait_from_too = f.from_too;
		if (f.cause == WAIT_OCCUPIED) {
			const struct label *type = labels_get(port->labels, f.type);
			char name[LABEL_TEXT_MAX + 1];

			snprintf(name, sizeof name, "%.*s", (int)type->name_len, type->name);
			v->wait_unit = (char *)labels_get(port->labels, f.unit)->text;
			free(v->wait_type); /* of other requests */
			v->wait_type = NULL;
			rc = hypothesis_text(&v->wait_type, name) ? 0 : search_no_memory(s, e);
		}
	}
	arena_release(&a);
	return rc;
}

/* What the waits in an edge between two units come from, or in one inside a unit that is a wait for its thread. Its effect is that of all
 * waits for these threads. (Not of a tail, which a queue's is not: effect_of().) again: an edge inside a unit gets no state where
 * nothing is known of all waits for its thread. */
static int
find_pool(struct verdict *v, const struct search_port *port, const struct search *s, bool again,
    struct err *e)
{
	const struct diagnosis *d = s->diagnosis;
	struct pool_facts f = { .effect = v->effect,
		.still = v->wait_cause == WAIT_STILL ? v->wait_share : 0 };
	const struct type_variance t = diagnosis_variance(port, d);
	struct arena a = { 0 };
	struct thread_delay_events *events;
	bool inside = true;
	double delay;
	int rc;

	if (v->problem == PROBLEM_SLOW || s->at.tail_ns > 0 || port->history == NULL)
		return 0;
	rc = thread_delay_sort(&events, port->history, &a, e);
	if (rc == 0 && !v->handed_over)
		rc = pool_inside(&inside, &d->waits, events, &s->at.gap, &a, e);
	if (rc != 0 || !inside) {
		arena_release(&a);
		return rc;
	}
	rc = pool_load(&f.load, &d->waits, port->history, port->labels, s->at.gap.to, &a, e);
	if (rc == 0)
		rc = pool_own(&f.own, &d->waits, events, &s->at.gap, &a, e);
	if (rc == 0)
		rc = pool_delay(
		    &delay, &t, &d->parts, &d->waits, events, port->labels, s->at.gap.to, &a, e);
	arena_release(&a);
	if (rc != 0 || (again && !v->handed_over && isnan(delay)))
		return rc;
	f.effect = s->still != NULL
	               ? fmin(1, s->still->share)
	               : fmax(fmax(v->effect, delay), pool_effect(&t, port->labels, s->at.gap.to));
	f.effect_low = delay;
	v->pool = s->still != NULL ? POOL_STILL : pool_state(&f);
	if (v->pool == POOL_NONE)
		return 0;
	v->effect = f.effect;
	v->pool_threads = f.load.threads;
	v->pool_utilisation = f.load.utilisation;
	v->pool_service_ns = f.load.service_ns;
	v->pool_service_cv = f.load.service_cv;
	v->pool_wait_ns = f.load.wait_ns;
	v->pool_expected_ns = f.load.expected_ns;
	v->pool_low = s->still != NULL ? NAN : delay;
	return 0;
}

/* A process that stands still has threads that are stopped, or ready and without a CPU. One whose thread was seen to wait for something
 * else most of the time had no work, or could not do it. */
static bool
refutes_still(const struct verdict *v)
{
	enum below_state top = v->below_top != NULL
	                           ? below_state_of(v->below_top, strlen(v->below_top))
	                           : BELOW_UNKNOWN;

	return top != BELOW_UNKNOWN && top != BELOW_READY && top != BELOW_RUNNING;
}

int
search_effect_again(struct search_port *port, struct search *s, struct err *e)
{
	const struct verdict *v = s->outcome.verdict;
	const struct type_variance t = diagnosis_variance(port, s->diagnosis);
	struct verdict now;
	double now_effect = 0;
	struct mono since;
	uint32_t edge;
	bool was_still;
	int rc = 0;

	if (v == NULL || v->pool == POOL_STILL)
		return 0;
	was_still = v->wait_cause == WAIT_STILL;
	/* what is known of the threads since then is less, or has just been forgotten */
	if (s->company_known && (port->calls->company(port->owner, &since) != COMPANY_KNOWN ||
				    mono_since_ns(port->now, since) < COMPANY_ENOUGH_NS))
		return 0;
	/* what waits between two units have is in pool_effect(), an edge inside a unit is not */
	if (v->pool == POOL_NONE || !v->handed_over) {
		if (s->outcome.of_began <= 0 || watched_edge(s, &edge) == NULL)
			return 0;
		now_effect = s->outcome.of_began * began_effect(&t, s);
	}
	now = *v;
	now.effect = now_effect;
	if (v->pool != POOL_NONE) {
		now.pool = POOL_NONE;
		if ((rc = find_pool(&now, port, s, true, e)) != 0 || now.pool == POOL_NONE)
			return rc;
	}
	/* what else threads did is recorded since the search waits for them: it was not known at once */
	if ((v->pool == POOL_OWN) != (now.pool == POOL_OWN) ||
	    (now.pool != POOL_NONE && v->wait_cause == WAIT_UNKNOWN)) {
		now.wait_cause = WAIT_UNKNOWN;
		now.wait_type = NULL; /* the one there was is of the forest */
		if ((rc = find_wait(&now, port, s, now.pool == POOL_OWN, e)) != 0)
			return rc;
		if (now.wait_cause == WAIT_STILL && refutes_still(&now))
			now.wait_cause = WAIT_UNKNOWN;
		if (now.wait_cause != v->wait_cause || now.pool != v->pool)
			rc = forest_verdict_wait(port->forest, v, &now) ? 0
			                                                : search_no_memory(s, e);
		free(now.wait_type);
	}
	/* the pool was judged by what was known of the wait before */
	if (rc == 0 && now.pool != POOL_NONE && now.wait_cause == WAIT_STILL && !was_still)
		rc = find_pool(&now, port, s, true, e);
	forest_verdict_pool(port->forest, v, &now);
	return rc;
}

/* The edge between always-on labels that the search, or the one that it is beside, began with, in the groups of always-on labels.
 * NULL: it began inside one. */
static const struct gap *
always_on_gap(const struct search *s)
{
	uint32_t edge;

	s = search_outermost(s);
	return watched_edge(s, &edge) != NULL ? &s->origin.gap : NULL;
}

/* What of it was not there before: in the edge that the search began with, and, if that is a wait for threads, in all waits for them; else in all of
 * the response time. */
static int
find_new(struct verdict *v, const struct search_port *port, const struct search *s, struct err *e)
{
	const struct diagnosis *d = s->diagnosis;
	const struct gap *gap = always_on_gap(s);
	bool inside = !v->handed_over && v->pool != POOL_NONE && v->pool != POOL_STILL;
	struct baseline now;
	struct more more;
	int rc;

	v->new_part = v->new_low = NAN;
	if (d->before == NULL)
		return 0;
	if ((rc = baseline_of(&now, d->groups, port->labels,
		 (double)mono_since_ns(port->now, d->begun) / 1e9, v->confidence, d->seed,
		 port->scratch, e)) != 0)
		return rc;
	if (v->handed_over || (inside && gap == NULL))
		more = baseline_more(&now, d->before, v->from, v->to, true);
	else if (gap != NULL)
		more = baseline_more(&now, d->before, labels_get(port->labels, gap->from)->text,
		    labels_get(port->labels, gap->to)->text, inside);
	else
		more = carried_more(&now.variance, &d->before->variance);
	v->new_part = more.part;
	v->new_low = more.low;
	return 0;
}

/* A mistake of the instrumentation that makes the verdict doubtful. */
static int
find_mistake(struct verdict *v, const struct search_port *port, const struct search *s,
    const struct group *group, uint32_t edge, struct err *e)
{
	const struct shape *shape = &group->shape;
	struct mistake m;

	if (!port->calls->mistaken(port->owner, s->diagnosis->type, shape->tokens, shape->ntokens,
		shape->edges[edge].from_token, s->diagnosis->begun, port->now, &m))
		return 0;
	v->mistake_count = m.count;
	v->mistake_of = m.of;
	if (hypothesis_text(&v->mistake, mistake_word(m.kind)) &&
	    hypothesis_text(&v->mistake_at, labels_get(port->labels, m.at)->text) &&
	    hypothesis_text(
		&v->mistake_to, m.to != LABEL_NONE ? labels_get(port->labels, m.to)->text : ""))
		return 0;
	return search_no_memory(s, e);
}

/* The span around the edge, which names what it is a part of. */
static int
find_within(struct verdict *v, struct search_port *port, const struct search *s,
    const struct shape *shape, uint32_t edge, struct err *e)
{
	uint32_t begin, end;

	if (v->preload != PRELOAD_NONE || !within_span(shape, edge, port->labels, &begin, &end))
		return 0;
	return hypothesis_text(&v->above_from, labels_get(port->labels, begin)->text) &&
	               hypothesis_text(&v->above_to, labels_get(port->labels, end)->text)
	           ? 0
	           : search_no_memory(s, e);
}

static enum verdict_ground
find_ground(const struct verdict *v, const struct search_port *port, const struct search *s,
    const struct shape *shape, uint32_t edge)
{
	const char *top = v->below_top != NULL ? v->below_top : "";
	const struct ground_facts f = { .looks = s->diagnosis->below,
		.followed = ground_is_followed(shape, port->labels, shape->edges[edge].to),
		.told = top[0] != '\0',
		.top = below_state_of(top, strlen(top)) };

	return ground_of(&f);
}

/* What is said of the verdict beside what was measured; then it is kept, what is left of the problem gets
 * searches, and the search ends. */
static int
complete(struct search_port *port, struct search *s, struct verdict *v,
    const struct final_edge_of *x, struct err *e)
{
	const struct separation *sep = &s->sides.separation;
	int rc = find_cost(v, port, s, e);

	if (rc != 0 || (rc = find_wait(v, port, s, false, e)) != 0 ||
	    (rc = find_few(v, port, s, x, e)) != 0)
		return rc;
	if (v->kind == VERDICT_PLACE && sep->label != LABEL_NONE)
		v->kind = VERDICT_SEPARATED;
	else if (v->kind == VERDICT_PLACE && v->key[0] != '\0')
		v->kind = VERDICT_KEY;
	fill_position(v, &x->group->shape, x->edge);
	if ((rc = find_pool(v, port, s, false, e)) != 0 ||
	    (v->pool == POOL_OWN && (rc = find_wait(v, port, s, true, e)) != 0) ||
	    (rc = find_new(v, port, s, e)) != 0)
		return rc;
	v->separation = v->kind == VERDICT_SEPARATED ? sep->between : 0;
	v->slow_with = v->kind == VERDICT_SEPARATED && sep->with;
	if ((rc = find_left_out(v, port, s, e)) == 0 && v->kind != VERDICT_SPREAD)
		rc = preload_verdict(v, port, s, e);
	if (rc == 0)
		rc = find_within(v, port, s, &x->group->shape, x->edge, e);
	if (rc == 0)
		rc = search_below_verdict(v, port, s, e);
	if (rc == 0)
		rc = search_functions_verdict(v, s, e);
	v->ground = find_ground(v, port, s, &x->group->shape, x->edge);
	if (rc == 0 && v->wait_cause == WAIT_STILL && refutes_still(v)) {
		v->wait_cause = WAIT_UNKNOWN;
		rc = find_pool(v, port, s, false, e);
	}
	if (rc == 0)
		rc = find_mistake(v, port, s, x->group, x->edge, e);
	if (rc == 0 && (rc = keep(port, s, v, x, e)) == 0 &&
	    (s->still != NULL || (rc = search_rest(port, s, x->group, x->edge, e)) == 0))
		search_end(port, s, REASON_NONE);
	return rc;
}

/* Whether it would be worth mending if it were sure: what few requests have needs many. Waits for threads are known by all of these, too. */
static bool
is_worth_patience(const struct search *s, const struct verdict *v)
{
	return v->share_low <= 0 && !v->handed_over && !(v->tail_quantile > 0) &&
	       verdict_worth(v, s->diagnosis->run->effect_min);
}

static struct verdict_facts
facts_of(const struct search_port *port, const struct search *s, const struct verdict *v,
    const struct group *all)
{
	double n = fmax(1, (double)all->total.n), mean_ns = all->edges[0].mean_x;

	return (struct verdict_facts){
		.carries = s->at.by_latency ? mean_ns
		           : s->at.tail_ns > 0
		               ? (all->tail_ns[0] - (double)all->ntail * mean_ns) / n
		               : comoments_covariance(&all->edges[0]),
		.carried_found = s->at.carried,
		.share = v->share,
		.share_low = v->share_low,
		.share_high = v->share_high,
		.root_share = s->origin.share,
		.can_take_back = can_take_back(s),
		.sure = v->share_low > 0,
		.worth_open = worth_is_open(v, s->diagnosis->run->effect_min),
		.calm = moments_variance(&all->total) < DECIDE_CALM_MAX * search_usual_variance(s),
		.traces = v->traces,
		.effective = v->effective_traces,
		.deadline_passed = s->cycle.deadline_passed,
		.patience_passed = mono_since_ns(port->now, s->cycle.begun) >
		                   search_patience_ns(port, s),
		.put_off = s->final.put_off,
		.look = s->final.look,
		.rest_open = 1 - v->share >= s->diagnosis->run->effect_min
	};
}

/* What few slow requests have is not known yet, and more of them may tell it: find_few(). */
static int
is_few_open(bool *ret, const struct verdict *v, const struct search_port *port,
    const struct search *s, const struct final_edge_of *x, struct err *e)
{
	uint32_t nslow;
	double above_ns;
	int rc = tail_division(
	    &above_ns, &nslow, &x->all.group, 0, s->diagnosis->seed, port->scratch, e);

	*ret = rc == 0 && !isnan(above_ns) && nslow < TAIL_KEYS_SLOW_MIN && v->key[0] == '\0' &&
	       !s->at.by_latency && s->at.tail_ns <= 0;
	return rc;
}

/* Of a wait for threads other requests are recorded first: what the threads did meanwhile. */
static int
waits_for_company(
    bool *ret, const struct search_port *port, struct search *s, struct verdict *v, struct err *e)
{
	enum below_progress below = s->below.state;
	struct company_facts f = { .awaited = v->handed_over && s->still == NULL &&
		                              s->origin.problem != PROBLEM_SLOW &&
		                              s->at.tail_ns <= 0 && !port->paused &&
		                              !port->backing_off };
	struct mono since;
	int rc = 0;

	*ret = false;
	if (below == BELOW_GATHERING || below == BELOW_DONE) /* it has waited, or cannot */
		return 0;
	s->company_known = false;
	if (!f.awaited || port->history == NULL)
		return 0;
	f.state = port->calls->company(port->owner, &since);
	f.known_ns = mono_since_ns(port->now, since);
	f.waited_ns = s->company_asked.ns != 0 ? mono_since_ns(port->now, s->company_asked) : 0;
	s->company_known = f.state == COMPANY_KNOWN;
	if (s->company_known && f.known_ns >= COMPANY_ENOUGH_NS)
		rc = find_wait(v, port, s, false, e);
	f.named = v->wait_cause != WAIT_UNKNOWN;
	*ret = company_wait(&f);
	if (s->company_asked.ns == 0)
		s->company_asked = port->now;
	return rc;
}

/* Its verdict could be made: it is looked at again after a while, of all requests that have come by then. */
static void
wait_on(const struct search_port *port, struct search *s, const struct verdict *v)
{
	search_set_task(s, TASK_FINAL_EDGE);
	s->final.kind = v->kind;
	s->company_due.ns = port->now.ns + COMPANY_LOOK_NS;
}

/* It is known what the threads did, all other requests being recorded: below the tracepoints is nothing that says more, and it would lower
 * what is recorded. */
static bool
says_enough(const struct search *s, const struct verdict *v)
{
	return s->company_known && v->wait_cause != WAIT_UNKNOWN;
}

int
conclude(struct search_port *port, struct search *s, const struct groups *groups,
    const struct group *group, uint32_t edge, enum verdict_kind kind, struct err *e)
{
	const struct shape_edge *edge_of = &group->shape.edges[edge];
	uint32_t splits = s->sides.separation.label;
	struct verdict v = { .kind = kind,
		.confidence = port->settings.conditions.confidence,
		.by_latency = s->at.by_latency,
		.from = (char *)labels_get(port->labels, edge_of->from)->text,
		.to = (char *)labels_get(port->labels, edge_of->to)->text,
		.tracepoint = splits != LABEL_NONE ? (char *)labels_get(port->labels, splits)->text
		                                   : "",
		.pool_utilisation = NAN,
		.pool_service_ns = NAN,
		.pool_service_cv = NAN,
		.pool_wait_ns = NAN,
		.pool_expected_ns = NAN,
		.pool_low = NAN,
		.new_part = NAN,
		.new_low = NAN };
	struct final_edge_of x = { .group = group, .edge = edge };
	struct buf path = { 0 }, key = { 0 };
	struct verdict_facts facts;
	struct finding f;
	bool waits;
	int rc;

	assert(edge < group->shape.nedges);
	if ((rc = population_of(
		 &x.all, groups, group, edge, s->diagnosis->seed, port->scratch, e)) != 0)
		return rc;
	print_path(&group->shape, port->labels, &path);
	v.path = (char *)path.data;
	if ((rc = find_shares(&f, port, s, &x.all.group, e)) != 0 ||
	    (rc = find_key(&v, &key, port, s, &x, f.edges[0].share, e)) != 0 ||
	    (rc = find_tail(&v, port, s, &x, e)) != 0 ||
	    (rc = find_what_if(&v, port, s, &x.all.group, e)) != 0)
		goto end;
	if (path.failed || key.failed) {
		rc = search_no_memory(s, e);
		goto end;
	}
	v.handed_over = edge_of->owner == LABEL_NONE;
	if (fill_measured(&v, &x.all, &f, port->scratch) != 0) {
		rc = search_no_memory(s, e);
		goto end;
	}
	v.effect = find_effect(port, s, &v, &x.all.group);
	s->final.patient = is_worth_patience(s, &v);
	facts = facts_of(port, s, &v, &x.all.group);
	if (facts.look && (rc = is_few_open(&facts.few_open, &v, port, s, &x, e)) != 0)
		goto end;
	switch (s->still != NULL ? VERDICT_STEP_KEEP : verdict_step(&facts)) {
	case VERDICT_STEP_END:
		search_end(port, s, REASON_CONTRADICTED);
		break;
	case VERDICT_STEP_GONE:
		search_end(port, s, REASON_PROBLEM_GONE);
		break;
	case VERDICT_STEP_TAKE_BACK:
		take_back(port, s, VERDICT_SPREAD, REASON_CONTRADICTED);
		rc = CONCLUDE_MEASURE;
		break;
	case VERDICT_STEP_WAIT:
		search_set_task(s, TASK_FINAL_EDGE);
		s->final.kind = v.kind;
		s->final.look = false;
		s->final.look_at = facts.traces + facts.traces / 3;
		break;
	case VERDICT_STEP_MORE:
		want_more(s, &v);
		s->final.put_off |= facts.deadline_passed && facts.patience_passed;
		break;
	case VERDICT_STEP_KEEP:
		if (s->final.again && v.share_low > 0)
			rc = CONCLUDE_NARROW;
		else if ((rc = waits_for_company(&waits, port, s, &v, e)) == 0 && waits)
			wait_on(port, s, &v);
		else if (rc == 0 &&
			 (s->still != NULL || says_enough(s, &v) ||
			     (!search_below_begin(port, s, &v, group, edge, &rc, e) && rc == 0)))
			rc = complete(port, s, &v, &x, e);
		break;
	}
end:
	population_release(&x.all);
	buf_release(&path);
	buf_release(&key);
	free(v.tail_key);
	free(v.tail_value);
	free(v.unlearned_service);
	free(v.unlearned_names);
	free(v.above_from);
	free(v.above_to);
	free(v.call);
	free(v.object);
	free(v.wait_type);
	free(v.mistake);
	free(v.mistake_at);
	free(v.mistake_to);
	free(v.below_top);
	free(v.below_states);
	free(v.below_places);
	free(v.below_holders);
	free(v.below_wakers);
	free(v.below_held);
	free(v.below_functions);
	free(v.below_missing);
	free(v.below_differential);
	return rc;
}
