/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A search's cycle.
 *
 *	wait ---> switch ---> gather ---> [decide] ---> switch ...
 *	             ^          |  ^          |
 *	             |          v  |          '--> ended
 *	             '-------- paused
 */
#include "controlplane/search/search.h"

#include <stdio.h>
#include <stdlib.h>

enum { SPREADS_MAX = 2, ROUNDS_MAX = 16, FEW = 5, SHARES_OF_MEMORY = 8 };
static const int64_t SWITCH_MAX_NS = 20000000000;
static const double BESIDE_SURE = 2;

struct search *
search_new(const struct gap *gap, struct hash128 root_key, uint32_t number, uint64_t seed)
{
	struct search *s = calloc(1, sizeof *s);

	if (s == NULL)
		return NULL;
	s->gap = s->root_gap = s->most = *gap;
	s->root_key = root_key;
	s->number = number;
	s->of_root = 1;
	s->phase = PHASE_WAIT;
	s->sep.label = LABEL_NONE;
	rng_seed(&s->rng, seed + number);
	return s;
}

void
search_free(struct search *s)
{
	if (s == NULL)
		return;
	groups_free(s->groups);
	label_set_release(&s->keep);
	label_set_release(&s->must);
	label_set_release(&s->mustnot);
	label_set_release(&s->tried);
	label_set_release(&s->absent);
	label_set_release(&s->deep.inside);
	free(s->path);
	free(s->units);
	free(s->on);
	free(s);
}

bool
search_on(const struct search *s)
{
	return s->phase != PHASE_WAIT && s->phase != PHASE_ENDED;
}

/* ---- traces ---- */

/* What was gathered belongs to the cycle before. */
static int
cycle_begin(
    struct search_port *g, struct search *s, enum phase phase, struct mono now, struct err *e)
{
	struct groups_options o = {
		.groups_max = (uint32_t)g->settings.groups_max,
		.samples_max = (uint32_t)g->settings.samples_max,
		.memory_max_bytes = (size_t)g->settings.memory_max_bytes / SHARES_OF_MEMORY,
		.seed = rng_next(&s->rng),
		.ignore = g->ignore,
	};

	groups_free(s->groups);
	s->traces = s->skipped_lossy = 0;
	s->serial = (struct comoments){ 0 };
	s->deep.which = (struct which){ 0 };
	s->phase = phase;
	s->is_ready = false;
	s->cycle_begun = now;
	s->groups = groups_new(&o, g->labels);
	return s->groups != NULL ? 0 : err_set(e, ERR_MEMORY, "out of memory for groups");
}

/* The trace's path by the labels that this search has on: what others turned on is not there. */
int
search_trace(struct search_port *g, struct search *s, const struct trace *t, struct err *e)
{
	struct critpath path;
	struct shape shape;
	int rc;

	if (s->phase != PHASE_GATHER || !s->is_ready || g->backing_off || !t->probed ||
	    !g->calls->began_after(g->owner, t, s->ready.ns + SETTLE_NS))
		return 0;
	if ((rc = deep_note(g, s, t, e)) != 0)
		return rc;
	if ((rc = critpath_extract(&path, t, g->labels, &s->keep, g->scratch, e)) == 0 &&
	    (rc = deep_path(g, s, t, &path, e)) == 0) {
		bins_apply(g->bins, t, g->labels, &path);
		rc = shape_of(&shape, &path, g->labels, g->scratch, e);
	}
	if (rc != 0)
		return rc == ERR_INPUT ? 0 : rc;
	g->counts->inexact += !shape_exact(&shape, t);
	if (s->traces++ > 0)
		comoments_add(&s->serial, (double)s->before_ns, (double)(t->end_ns - t->begin_ns));
	s->before_ns = t->end_ns - t->begin_ns;
	s->taught += s->explorer != NULL;
	groups_add(s->groups, t, &path, &shape, g->node_names);
	return 0;
}

/* ---- what a cycle decides ---- */

int
search_measure_input(
    struct measure_input *ret, const struct search_port *g, const struct search *s, struct err *e)
{
	uint32_t *enabled = arena_calloc(g->scratch, s->non + 1, sizeof *enabled);

	if (enabled == NULL)
		return err_set(e, ERR_MEMORY, "out of memory for a decision");
	for (uint32_t i = 0; i < s->non; i++)
		enabled[i] = s->on[i].label;
	*ret = (struct measure_input){ .groups = s->groups,
		.gap = s->gap,
		.must = &s->must,
		.must_not = &s->mustnot,
		.by_latency = s->by_latency,
		.enabled = enabled,
		.nenabled = s->non,
		.nlabels = labels_count(g->labels) };
	return 0;
}

struct decide_context
search_decide_context(const struct search *s, bool deadline_passed)
{
	return (struct decide_context){ .deadline_passed = deadline_passed,
		.carried_found = s->carried,
		.share_found = s->share,
		.root_share = s->root_share,
		.of_root = s->of_root,
		.slow_side = s->follows,
		.forced = s->forced,
		.since = s->since,
		.fast_ns = s->sep.fast_ns };
}

/* Of all groups that have the gap as one edge, the largest. */
static struct group *
one_edge(const struct measured *m, const struct gap *gap, uint32_t *edge)
{
	struct group *best = NULL;

	for (uint32_t i = 0; i < m->nmembers; i++) {
		struct group *group = m->members[i].group;
		uint32_t its = gap_edge(&group->shape, gap);

		if (its != UINT32_MAX && (best == NULL || group->total.n > best->total.n)) {
			best = group;
			*edge = its;
		}
	}
	return best;
}

/*
 * Ends with the gap as it is, and if it is spread, with the smallest that had most of it. What is
 * said of it rests on traces enough: until these are there, or where the gap was cut by what did
 * not help, it is measured once more.
 */
static int
finish(struct search_port *g, struct diagnosis *d, struct search *s, const struct measured *m,
    enum verdict_kind kind, struct mono now, struct wall when, struct err *e)
{
	struct group *group;
	uint32_t edge;
	int rc;

	if (kind == VERDICT_SPREAD)
		s->gap = s->most;
	group = one_edge(m, &s->gap, &edge);
	if (group != NULL && group->total.n >= PLENTY) {
		if ((rc = conclude(g, d, s, group, edge, kind, when, e)) != 0 ||
		    s->phase == PHASE_ENDED)
			return rc;
	} else {
		s->closing = true;
		s->ending = kind;
		for (uint32_t i = s->non; i-- > 0;)
			if (!needed(s, s->on[i].label))
				turn_off(g, d, s, i, REASON_EDGE_MEASURED, when);
	}
	return group != NULL && s->groups != NULL ? 0 : cycle_begin(g, s, PHASE_SWITCH, now, e);
}

static int
closed(struct search_port *g, struct diagnosis *d, struct search *s, bool late, struct wall when,
    struct err *e)
{
	struct measure_input in;
	struct measured m;
	struct group *group;
	uint32_t edge;
	int rc;

	if ((rc = search_measure_input(&in, g, s, e)) != 0 ||
	    (rc = measure_gap(&m, &in, g->scratch, e)) != 0)
		return rc;
	group = one_edge(&m, &s->gap, &edge);
	if (group != NULL && ((group->total.n >= PLENTY && group->total.n >= s->enough) ||
				 (late && group->total.n >= FEW)))
		return conclude(g, d, s, group, edge, s->ending, when, e);
	if (late)
		search_end(g, d, s, REASON_PATH_GONE, when);
	return 0;
}

/* A new cycle, or the end. *again: there is a slow side to follow first. */
static int
go_on(struct search_port *g, struct diagnosis *d, struct search *s, const struct measured *m,
    bool spread, bool *again, struct mono now, struct wall when, struct err *e)
{
	bool cut = d->run->cycles >= d->run->effort;
	int n = 0;

	if (cut && !s->deep.begun && (n = anything_left(g, d, s, e)) < 0)
		return n;
	cut = n > 0; /* the effort is used, but nothing is left that it would have gone to: that is
	                no cut */
	n = 0;
	if (!cut && !s->deep.begun && (n = propose(g, d, s, when, e)) < 0)
		return n;
	if (n == 0 && !cut && !s->deep.begun && (n = explore(g, d, s, when, e)) < 0)
		return n;
	if (n > 0)
		return cycle_begin(g, s, PHASE_SWITCH, now, e);
	s->dear = n == 0 && s->dear < s->unexplored ? s->unexplored : s->dear;
	if (!cut && s->sep.label != LABEL_NONE && !s->follows) {
		*again = true;
		return follow(s, &s->sep, e);
	}
	if (!cut && s->unsure && !s->forced)
		return *again = s->forced = true, 0;
	if (!cut && !spread && s->dear == 0 && (n = deepen(g, d, s, when, e)) != 0)
		return n < 0 ? n : cycle_begin(g, s, PHASE_SWITCH, now, e);
	return finish(g, d, s, m,
	    cut || s->dear > 0 ? VERDICT_CUT
	    : spread           ? VERDICT_SPREAD
			       : VERDICT_PLACE,
	    now, when, e);
}

/* Other parts of the gap that are surely as large as what is followed has to be: several causes in
 * one edge. */
static int
others_beside(struct search_port *g, struct diagnosis *d, struct search *s,
    const struct decision *x, struct wall when, struct err *e)
{
	const struct decide_context c = search_decide_context(s, s->late);
	const struct measured *m = &x->m;
	int rc = 0;

	if (s->by_latency || x->sep.label != LABEL_NONE || x->what != DECIDE_NARROW)
		return 0;
	for (uint32_t i = 0; i < m->nparts && rc == 0; i++) {
		const struct part *p = &m->parts[i];

		if (i != m->top && m->share * p->of_gap >= g->settings.isolate_min / 2 &&
		    p->of_gap >= g->settings.isolate_min &&
		    p->of_gap >= BESIDE_SURE * p->of_gap_se &&
		    decide_of_root(&c, m, p) >= OF_ROOT_MIN)
			rc = diagnose_beside(g, d, s, m, p, when, e);
	}
	return rc;
}

/* Another search of the same requests is at that edge, or has said it already: a unit that is
 * called from two places, a loop's first round and the others. */
static bool
is_double(const struct diagnosis *d, const struct search *s)
{
	for (uint32_t i = 0; i < d->nsearches; i++) {
		const struct search *x = d->searches[i];

		if (x != s && (search_on(x) || x->verdict != NULL) &&
		    gap_same_ends(&x->gap, &s->gap) && x->root_key.a == s->root_key.a &&
		    x->root_key.b == s->root_key.b && x->follows == s->follows)
			return true;
	}
	return false;
}

/* By what was decided: hypotheses, the smaller gap, the next tracepoints. */
static int
act(struct search_port *g, struct diagnosis *d, struct search *s, const struct decision *x,
    bool *again, struct mono now, struct wall when, struct err *e)
{
	int kept = deep_keeps(g, s, x, e), rc;
	bool deep = s->deep.probing,
	     spread = x->what == DECIDE_SPREAD || x->what == DECIDE_UNSURE || kept == 0;

	if (kept < 0)
		return kept;
	s->unsure = x->what == DECIDE_UNSURE &&
	            !deep; /* of the deeper layer only what is sure is followed */
	s->forced = false;
	if (!deep && (rc = others_beside(g, d, s, x, when, e)) != 0)
		return rc;
	if (!spread)
		narrow(s, &x->m, &x->m.parts[x->m.top]);
	s->deep.found |= deep && !spread && x->m.nparts > 1;
	if ((rc = settle_picks(g, d, s, x, when, e)) != 0 ||
	    (rc = remember_path(s, &x->m.model->group->shape, g->scratch, e)) != 0)
		return rc;
	if (!spread && is_double(d, s)) {
		search_end(g, d, s, REASON_SAME_EDGE, when);
		return 0;
	}
	if (deep) /* what it shows or not, the edge stays the place that it was */
		return go_on(g, d, s, &x->m, false, again, now, when, e);
	s->spreads = !spread ? 0 : s->unsure ? s->spreads : s->spreads + 1;
	if (s->spreads == SPREADS_MAX)
		return finish(g, d, s, &x->m, VERDICT_SPREAD, now, when, e);
	return go_on(g, d, s, &x->m, spread, again, now, when, e);
}

/* Traces with a lost part prove nothing; when they are most of all, that is what has to be said. */
static enum reason
why_gone(const struct search *s)
{
	return s->skipped_lossy > s->traces ? REASON_LOST_RECORDS : REASON_PROBLEM_GONE;
}

static int
gathered(struct search_port *g, struct diagnosis *d, struct search *s, struct mono now,
    struct wall when, struct err *e)
{
	bool late = mono_since_ns(now, s->cycle_begun) > g->settings.cycle_max_ns, again = true;
	int rc = 0;

	s->late = late;
	if (s->closing)
		return closed(g, d, s, late, when, e);
	if (s->explorer != NULL && !explored_enough(g, s, late))
		return 0;
	for (int round = 0; round < ROUNDS_MAX && again && rc == 0; round++) {
		const struct decide_context c = search_decide_context(s, late);
		const struct decide_thresholds limits = { g->settings.conditions.traces_min,
			g->settings.isolate_min };
		struct measure_input in;
		struct decision x;

		again = false;
		if ((rc = search_measure_input(&in, g, s, e)) != 0 ||
		    (rc = decide_measured(&x, &in, &c, &limits, g->scratch, e)) != 0)
			return rc;
		if (x.what != DECIDE_WAIT && s->explorer != NULL)
			explore_end(g, s, when);
		if (x.what == DECIDE_WAIT) {
			if (late)
				search_end(g, d, s, why_gone(s), when);
			return 0;
		}
		if (x.what == DECIDE_FOLLOW) {
			again = true;
			if ((rc = settle_picks(g, d, s, &x, when, e)) == 0)
				rc = follow(s, &x.sep, e);
		} else {
			rc = act(g, d, s, &x, &again, now, when, e);
		}
	}
	return rc;
}

/* An end of its gap costs more than there is: the gap cannot even be seen. */
static void
end_dear(
    struct search_port *g, struct diagnosis *d, struct search *s, uint32_t dear, struct wall when)
{
	if (!hypothesis_settled(s->root->state)) {
		s->root->reason = REASON_OVER_BUDGET;
		hypothesis_enter(s->root, HYPOTHESIS_WITHDRAWN, when);
		forest_touch(g->forest, s->root);
	}
	s->reason_label = dear;
	search_end(g, d, s, REASON_END_OVER_BUDGET, when);
}

int
search_begin(struct search_port *g, struct diagnosis *d, struct search *s, struct group *model,
    struct mono now, struct wall when, struct err *e)
{
	struct measured m = { 0 };
	struct member member = { .group = model };
	uint32_t dear;
	bool again;
	int rc;

	s->current = s->root;
	if ((model != NULL && (rc = remember_path(s, &model->shape, g->scratch, e)) != 0) ||
	    (rc = hold_ends(g, d, s, &dear, when, e)) != 0)
		return rc;
	if (dear != LABEL_NONE) {
		end_dear(g, d, s, dear, when);
		return 0;
	}
	hypothesis_enter(s->root, HYPOTHESIS_ISOLATES, when);
	forest_touch(g->forest, s->root);
	m.members = &member;
	m.nmembers = model != NULL;
	return go_on(g, d, s, &m, false, &again, now, when, e);
}

/* ---- from step to step ---- */

/* What stays wanted is off, or on again, where agents rest: the log says so. */
static void
log_rest(struct search_port *g, const struct diagnosis *d, const struct search *s, bool on,
    struct wall when)
{
	char name[LABEL_TEXT_MAX + 1];

	for (uint32_t i = 0; i < s->non; i++)
		forest_switched(g->forest,
		    &(struct switched){ .run = d->run->id,
			.hypothesis = s->on[i].hypothesis->id,
			.cycle = d->run->cycles,
			.on = on,
			.tracepoint = tracepoint_name(g->labels, s->on[i].label, name),
			.reason = on ? REASON_BACKOFF_OVER : REASON_SHED,
			.subject = on ? NULL : g->shed_by,
			.when = when },
		    NULL);
}

/* Congestion: the newest tracepoints go off; what was known before them stays known, and they may
 * be tried again. */
static int
withdraw(struct search_port *g, struct diagnosis *d, struct search *s, struct mono now,
    struct wall when, struct err *e)
{
	enum reason reason = g->backing_off ? REASON_SHED : REASON_CONGESTION;

	s->rests = g->backing_off;
	if (s->non > 0 || s->explorer != NULL)
		g->calls->audit(g->owner, "full queues", "off: the newest tracepoints", d->run->id,
		    REASON_CONGESTION, s->rests ? g->shed_why : g->paused_why, when);
	for (uint32_t i = s->non; i-- > 0;) {
		struct pick p = s->on[i];

		if (!p.fresh)
			continue;
		turn_off(g, d, s, i, reason, when);
		label_set_del(&s->tried, p.label);
		p.hypothesis->reason = REASON_CONGESTION;
		hypothesis_enter(p.hypothesis, HYPOTHESIS_WITHDRAWN, when);
		forest_touch(g->forest, p.hypothesis);
	}
	if (s->explorer != NULL)
		explore_withdraw(g, s, reason, when);
	if (s->rests)
		log_rest(g, d, s, false, when);
	return cycle_begin(g, s, PHASE_PAUSED, now, e);
}

static bool
has_fresh(const struct search *s)
{
	for (uint32_t i = 0; i < s->non; i++)
		if (s->on[i].fresh)
			return true;
	return s->explorer != NULL;
}

bool
diagnosis_has_fresh(const struct diagnosis *d)
{
	for (uint32_t i = 0; i < d->nsearches; i++)
		if (has_fresh(d->searches[i]))
			return true;
	return false;
}

/* What is on costs more than there is, as measuring has shown: one thing at a time goes off, until
 * it does not. */
static int
spend_less(struct search_port *g, struct diagnosis *d, struct search *s, struct mono now,
    struct wall when, struct err *e)
{
	if (s->explorer != NULL) {
		explore_less(g, s, when);
	} else if (!let_go(g, d, s, when)) {
		if (!g->calls->any_fresh(g->owner))
			end_dear(g, d, s, s->on[s->non - 1].label, when);
		return 0;
	}
	return cycle_begin(g, s, PHASE_SWITCH, now, e);
}

/* While an agent is being told something new, or a new one has come, its traces prove nothing. */
static void
note_ready(const struct search_port *g, struct search *s, struct mono now)
{
	if (s->is_ready && (!g->calls->confirmed(g->owner) || g->backing_off)) {
		s->is_ready = false;
	} else if (!s->is_ready && g->calls->confirmed(g->owner) && !g->backing_off) {
		s->is_ready = true;
		s->ready = now;
	}
}

static int
gather(struct search_port *g, struct diagnosis *d, struct search *s, bool withdrawn,
    struct mono now, struct wall when, struct err *e)
{
	note_ready(g, s, now);
	if (withdrawn)
		return withdraw(g, d, s, now, when, e);
	if (s->non + (s->explorer != NULL) > 0 && g->calls->over_budget(g->owner, d->type))
		return spend_less(g, d, s, now, when, e);
	if (g->paused || !s->is_ready || mono_since_ns(now, s->checked) < CHECK_NS)
		return 0; /* paused: a decision would only turn more on */
	s->checked = now;
	return gathered(g, d, s, now, when, e);
}

int
search_step(struct search_port *g, struct diagnosis *d, struct search *s, struct mono now,
    struct wall when, struct err *e)
{
	bool long_paused = g->paused &&
	                   mono_since_ns(now, g->paused_since) > g->settings.withdraw_ns;
	bool withdrawn = g->backing_off || (long_paused && has_fresh(s));

	switch (s->phase) {
	case PHASE_SWITCH:
		if (withdrawn)
			return withdraw(g, d, s, now, when, e);
		if (g->calls->confirmed(g->owner)) {
			s->phase = PHASE_GATHER;
			s->is_ready = true;
			s->ready = s->cycle_begun = now;
		} else if (!g->paused && mono_since_ns(now, s->cycle_begun) > SWITCH_MAX_NS) {
			search_end(g, d, s, REASON_UNCONFIRMED, when);
		}
		return 0;
	case PHASE_PAUSED:
		if (g->paused)
			return 0;
		if (s->rests)
			log_rest(g, d, s, true, when);
		s->rests = false;
		return cycle_begin(
		    g, s, PHASE_GATHER, now, e); /* decides anew, once traces are there */
	case PHASE_GATHER:
		return gather(g, d, s, withdrawn, now, when, e);
	case PHASE_WATCH:
	case PHASE_WAIT:
	case PHASE_ENDED:
		break;
	}
	return 0;
}

static void
give_up(struct search_port *g, struct hypothesis *h, struct wall when)
{
	if (h == NULL || hypothesis_settled(h->state))
		return;
	h->reason = REASON_STOPPED;
	hypothesis_enter(h, HYPOTHESIS_WITHDRAWN, when);
	forest_touch(g->forest, h);
}

void
search_end(struct search_port *g, struct diagnosis *d, struct search *s, enum reason reason,
    struct wall when)
{
	while (s->non > 0) {
		give_up(g, s->on[s->non - 1].hypothesis, when);
		turn_off(g, d, s, s->non - 1, REASON_STOPPED, when);
	}
	if (s->explorer != NULL)
		explore_end(g, s, when);
	give_up(g, s->root, when);
	s->reason = reason;
	groups_free(s->groups);
	s->groups = NULL;
	s->phase = PHASE_ENDED;
}
