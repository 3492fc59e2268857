/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/search/search.h"

#include <assert.h>

#include "controlplane/search/enabled.h"
#include "controlplane/search/explore.h"
#include "controlplane/search/narrow.h"
#include "controlplane/search/preload_layer.h"
#include "controlplane/search/preload_step.h"
#include "controlplane/search/propose.h"
#include "controlplane/search/search_below.h"
#include "controlplane/search/search_end.h"
#include "controlplane/search/search_functions.h"
#include "controlplane/search/search_list.h"
#include "controlplane/search/search_verdict.h"
#include "controlplane/search/search_hypothesis.h"
#include "controlplane/search/settle.h"
#include "controlplane/search/tail_target.h"

/* Decisions in a row on the same traces; and the part of memory_max_bytes that a search may use. */
enum { DECISIONS_MAX = 16, SHARES_OF_MEMORY = 8 };

/* ---- traces ---- */

/* What was gathered belongs to the cycle before. */
static int
cycle_begin(struct search_port *port, struct search *s, enum search_phase phase, struct err *e)
{
	struct search_cycle *c = &s->cycle;
	struct groups_options o = {
		.groups_max = (uint32_t)port->settings.groups_max,
		.samples_max = (uint32_t)port->settings.samples_max,
		.memory_max_bytes = (size_t)port->settings.memory_max_bytes / SHARES_OF_MEMORY,
		.slow_max = s->at.tail_ns > 0 ? TAIL_KEPT : 0,
		.tail_ns = s->at.tail_ns,
		.seed = rng_next(&s->rng),
		.ignore = port->ignore,
	};

	groups_free(c->groups);
	c->traces = s->skipped_lossy = s->skipped_incomplete = 0;
	s->layer.objects = (struct object_times){ 0 };
	s->company_asked = s->company_due = (struct mono){ 0 };
	search_enter(s, phase);
	c->begun = port->now;
	c->groups = groups_new(&o, port->labels);
	return c->groups != NULL ? 0 : search_no_memory(s, e);
}

/* The final edge is measured, and what is below it is looked at. */
static bool
looks_below(const struct search *s)
{
	return search_below_gathers(s) || search_functions_gather(s);
}

/* The path consists of the labels that this search has enabled: what other searches enabled is left
 * out. */
int
search_trace(struct search_port *port, struct search *s, const struct trace *t, struct err *e)
{
	struct search_cycle *c = &s->cycle;
	struct critpath path;
	struct shape shape;
	int rc;

	if (s->phase != SEARCH_GATHERING || port->backing_off || !t->probed ||
	    !port->calls->began_after(port->owner, t, c->ready.ns + SETTLE_NS))
		return 0;
	if (!looks_below(s) && (rc = preload_note(port, s, t, e)) != 0)
		return rc;
	if ((rc = critpath_extract(&path, t, port->labels, &s->enabled.labels, port->scratch, e)) ==
		0 &&
	    (rc = preload_cut_path(port, s, t, &path, e)) == 0) {
		bins_apply(port->bins, t, port->labels, &path);
		rc = shape_of(&shape, &path, port->labels, port->scratch, e);
	}
	if (rc == 0 && search_below_gathers(s))
		return search_below_trace(port, s, t, &path, &shape, e);
	if (rc == 0 && search_below_is_ahead(s) &&
	    (rc = search_below_trace(port, s, t, &path, &shape, e)) != 0)
		return rc;
	if (rc == 0 && search_functions_gather(s))
		return search_functions_trace(port, s, t, &path, &shape, e);
	if (rc == 0 && port->history != NULL)
		rc = wait_list_add(&s->diagnosis->waits, t, &path, &s->at.gap, e);
	if (rc != 0)
		return rc == ERR_INPUT ? 0 : rc;
	port->counts->inexact += !shape_exact(&shape, t);
	c->traces++;
	s->exploration.traces += s->exploration.hypothesis != NULL;
	groups_add(c->groups, t, &path, &shape, port->node_names);
	return 0;
}

/* ---- the final edge ---- */

/* Requests of which so many are slow, of a tail; at least as many as the final edge is to have. */
static uint64_t
tail_requests(const struct search *s, int slow)
{
	double n = slow / (1 - s->diagnosis->tail.quantile);

	return s->final.wanted > (uint64_t)n ? s->final.wanted : (uint64_t)n;
}

/* Of the members that have the gap as one edge, the group with most traces; or NULL. */
static struct group *
largest_with_edge(const struct measured *m, const struct gap *gap, uint32_t *edge)
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

static int go_on(
    struct search_port *port, struct search *s, struct next_facts *f, bool *again, struct err *e);

/*
 * The way to a smaller edge was contradicted by more requests, and the edge that it led from does have the problem: what was
 * followed were requests that had none of it, or one that had something else. With what is known now of how much all of them
 * vary, it is narrowed once more, by all tracepoints.
 */
static int
narrow_again(struct search_port *port, struct search *s, const struct group *group, uint32_t edge,
    struct err *e)
{
	const struct search_position *at = &s->at;
	struct next_facts f = { 0 };
	struct measure_input in;
	struct measured m;
	bool again;
	int rc;

	assert(!s->second.begun && s->task == TASK_FINAL_EDGE && edge < group->shape.nedges);
	if ((rc = search_measure_input(&in, port, s, e)) != 0 ||
	    (rc = measure_gap(&m, &in, port->scratch, e)) != 0 ||
	    (rc = remember_path(s, &group->shape, port->scratch, e)) != 0)
		return rc;
	s->second = (struct second_way){ true, s->final.kind, at->gap };
	s->final = (struct final_edge){ 0 };
	s->at.most = at->gap;
	s->at.share = m.share;
	s->at.carried = m.carries;
	s->at.of_root = 1;
	s->at.spreads = 0;
	label_set_release(&s->enabled.tried);
	label_set_release(&s->enabled.absent);
	label_set_release(&s->enabled.beside);
	search_set_task(s, TASK_NARROW);
	return go_on(port, s, &f, &again, e);
}

/* Of this cycle's traces. A larger edge is measured in a cycle of its own. */
static int
conclude_cycle(struct search_port *port, struct search *s, const struct group *group, uint32_t edge,
    enum verdict_kind kind, struct err *e)
{
	int rc = conclude(port, s, s->cycle.groups, group, edge, kind, e);

	if (rc == CONCLUDE_NARROW)
		return narrow_again(port, s, group, edge, e);
	return rc == CONCLUDE_MEASURE ? cycle_begin(port, s, SEARCH_SWITCHING, e) : rc;
}

static struct final_facts
final_facts_of(const struct search *s, const struct measured *m, const struct group *group)
{
	return (struct final_facts){ .found = group != NULL,
		.traces = (uint64_t)m->all.n,
		.passing = (uint64_t)m->all.passing,
		.wanted = s->at.tail_ns > 0 ? tail_requests(s, DECIDE_SLOW_PLENTY)
		                            : s->final.wanted,
		.open = s->at.tail_ns <= 0 && s->final.open,
		.looked = (uint64_t)m->all.n < s->final.look_at || s->final.kind != VERDICT_PLACE ||
		          s->second.begun || s->layer.state == LAYER_FOUND || s->at.tail_ns > 0,
		.can_take_back = can_take_back(s),
		.deadline_passed = s->cycle.deadline_passed };
}

/*
 * Ends with a verdict of this kind about the gap, or if it is spread, about the smallest edge that
 * had most of it. The verdict rests on this cycle's traces, and on more if they are too few; if none
 * of them has the gap as one edge, on those of a new cycle. Tracepoints that did not help are then
 * disabled.
 */
static int
finish(struct search_port *port, struct search *s, enum verdict_kind kind, struct err *e)
{
	struct group *group = NULL;
	uint32_t edge;
	int rc;

	if (kind == VERDICT_PLACE && s->second.begun && gap_same(&s->at.gap, &s->second.gap))
		kind = s->second.kind;
	if (kind == VERDICT_SPREAD)
		s->at.gap = s->at.most;
	if (s->cycle.groups != NULL) {
		struct measure_input in;
		struct final_facts f;
		struct measured m;

		if ((rc = search_measure_input(&in, port, s, e)) != 0 ||
		    (rc = measure_gap(&m, &in, port->scratch, e)) != 0)
			return rc;
		group = largest_with_edge(&m, &s->at.gap, &edge);
		f = final_facts_of(s, &m, group);
		f.deadline_passed = false;
		if (final_step(&f) == FINAL_CONCLUDE)
			return conclude_cycle(port, s, group, edge, kind, e);
	}
	search_set_task(s, TASK_FINAL_EDGE);
	s->final.kind = kind;
	disable_unneeded(port, s, REASON_EDGE_MEASURED);
	return group != NULL ? 0 : cycle_begin(port, s, SEARCH_SWITCHING, e);
}

static int
measure_final_edge(struct search_port *port, struct search *s, struct err *e)
{
	struct measure_input in;
	struct final_facts f;
	struct measured m;
	struct group *group;
	enum final_step step;
	uint32_t edge;
	int rc;

	assert(s->task == TASK_FINAL_EDGE);
	if (mono_since_ns(port->now, s->company_due) < 0)
		return 0;
	if ((rc = search_measure_input(&in, port, s, e)) != 0 ||
	    (rc = measure_gap(&m, &in, port->scratch, e)) != 0)
		return rc;
	group = largest_with_edge(&m, &s->at.gap, &edge);
	f = final_facts_of(s, &m, group);
	step = final_step(&f);
	s->final.look = step == FINAL_LOOK;
	switch (step) {
	case FINAL_LOOK:
	case FINAL_CONCLUDE:
		return conclude_cycle(port, s, group, edge, s->final.kind, e);
	case FINAL_TAKE_BACK:
		take_back(port, s, VERDICT_HIDDEN, REASON_HIDES_EDGE);
		return cycle_begin(port, s, SEARCH_SWITCHING, e);
	case FINAL_END:
		search_end(port, s, REASON_PATH_GONE);
		break;
	case FINAL_WAIT:
		break;
	}
	return 0;
}

/* What ends the gathering below early. */
static const char *
cut_word(enum phase_next next)
{
	return next == PHASE_NEXT_SPEND_LESS ? "over-budget"
	       : next == PHASE_NEXT_GIVE_UP  ? "unconfirmed"
	                                     : "congested";
}

/* The verdict is made of the traces that it was measured with, with what came from below its edge. */
static int
conclude_below(struct search_port *port, struct search *s, const char *cut, struct err *e)
{
	struct measure_input in;
	struct group *group;
	struct measured m;
	uint32_t edge;
	int rc;

	search_below_stop(port, s, cut);
	search_functions_stop(port, s);
	if ((rc = search_measure_input(&in, port, s, e)) != 0 ||
	    (rc = measure_gap(&m, &in, port->scratch, e)) != 0)
		return rc;
	group = largest_with_edge(&m, &s->at.gap, &edge);
	assert(group != NULL);
	return conclude_cycle(port, s, group, edge, s->below.kind, e);
}

/* One turn of what looks below the final edge: first at threads, then at functions. */
static int
decide_below(struct search_port *port, struct search *s, struct err *e)
{
	int rc;

	if (search_functions_gather(s)) {
		rc = search_functions_ready(port, s, e);
		return rc == 1 ? conclude_below(port, s, NULL, e) : rc;
	}
	if ((rc = search_below_ready(port, s, e)) != 1)
		return rc;
	search_below_stop(port, s, NULL);
	if (search_functions_begin(port, s, &rc, e) || rc != 0)
		return rc;
	return conclude_below(port, s, NULL, e);
}

/* ---- after a decision ---- */

static enum trial
trial_of(int n)
{
	return n > 0 ? TRIAL_SOME : TRIAL_NONE;
}

/* Carries out next_step() until something was enabled, or nothing is left. *again: decide again on
 * the same traces. */
static int
go_on(struct search_port *port, struct search *s, struct next_facts *f, bool *again, struct err *e)
{
	const struct run *run = s->diagnosis->run;
	int n;

	f->effort_used = run->cycles >= run->effort;
	f->separates = s->sides.separation.label != LABEL_NONE;
	f->side = s->sides.followed;
	f->layer = s->layer.state;
	f->task = s->task;
	f->spreads = s->at.spreads;
	for (;;) {
		struct search_budget *b = &s->budget;
		struct next_step next;

		b->left_out = b->left_out < b->unexplored ? b->unexplored : b->left_out;
		f->over_budget = b->left_out > 0;
		next = next_step(f);
		switch (next.what) {
		case NEXT_END:
			search_end(port, s, REASON_SAME_EDGE);
			return 0;
		case NEXT_COUNT:
			if ((n = count_candidates(port, s, e)) < 0)
				return n;
			f->left = trial_of(n);
			break;
		case NEXT_CANDIDATES:
			if ((n = propose(port, s, e)) < 0)
				return n;
			f->candidates = trial_of(n);
			break;
		case NEXT_EXPLORE:
			if ((n = explore(port, s, e)) < 0)
				return n;
			f->exploration = trial_of(n);
			if (n == 0 && s->exploration.before_loops) /* it was to come before these */
				f->candidates = TRIAL_OPEN;
			s->exploration.before_loops = false;
			break;
		case NEXT_LAYER:
			if ((n = preload_step(port, s, e)) < 0)
				return n;
			f->layer_trial = trial_of(n);
			break;
		case NEXT_CYCLE:
			return cycle_begin(port, s, SEARCH_SWITCHING, e);
		case NEXT_SLOW_SIDE:
			*again = true;
			return follow_slow_side(s, &s->sides.separation, e);
		case NEXT_FORCE:
			*again = s->sides.forced = true;
			return 0;
		case NEXT_FINISH:
			return finish(port, s, next.kind, e);
		}
	}
}

/* Other parts of the gap that certainly carry as much as is followed: several causes in one edge. */
static int
add_searches_beside(
    struct search_port *port, struct search *s, const struct decision *x, struct err *e)
{
	const struct decide_context c = search_decide_context(s);
	const struct measured *m = &x->m;
	double least = port->settings.isolate_min;
	int rc = 0;

	if (s->at.by_latency || s->sides.followed == SIDE_SLOW || x->sep.label != LABEL_NONE ||
	    x->what != DECIDE_NARROW)
		return 0;
	for (uint32_t i = 0; i < m->nparts && rc == 0; i++) {
		const struct part *p = &m->parts[i];

		if (i != m->top && p->share >= least / 2 && p->of_gap >= least &&
		    p->of_gap >= DECIDE_BESIDE_SE * p->of_gap_se &&
		    decide_of_root(&c, m, p) >= DECIDE_OF_ROOT_MIN)
			rc = search_list_add_beside(port, s, m, p, e);
	}
	return rc;
}

/*
 * 1. Parts beside the top part that carry as much become searches of their own. Not in the preload
 *    layer: there only the part that explains the edge counts.
 * 2. The gap becomes the top part, if one takes over.
 * 3. This cycle's hypotheses are settled, and tracepoints that did not help disabled.
 * 4. The next step.
 */
static int
act(struct search_port *port, struct search *s, const struct decision *x, bool *again,
    struct err *e)
{
	int kept = preload_keeps(port, s, x, e), rc;
	bool probing = s->task == TASK_PROBE_LAYER, narrows = x->what == DECIDE_NARROW && kept != 0;
	struct next_facts f = { .spread = !narrows && !probing,
		.unsure = x->what == DECIDE_UNSURE && !probing };

	if (kept < 0)
		return kept;
	/* 1 */
	s->sides.forced = false;
	if (!probing && (rc = add_searches_beside(port, s, x, e)) != 0)
		return rc;
	/* 2 */
	if (narrows)
		narrow(s, &x->m, &x->m.parts[x->m.top]);
	if (narrows && probing && x->m.nparts > 1)
		s->layer.state = LAYER_FOUND;
	/* 3 */
	if ((rc = remember_path(s, &x->m.model->group->shape, port->scratch, e)) != 0 ||
	    (rc = settle_picks(port, s, x, e)) != 0)
		return rc;
	/* 4 */
	f.duplicate = narrows && search_is_duplicate(s);
	if (!probing && !f.duplicate)
		s->at.spreads = narrows ? 0 : f.unsure ? s->at.spreads : s->at.spreads + 1;
	return go_on(port, s, &f, again, e);
}

/* What this cycle enabled is disabled, and not tried again. */
static void
withdraw_cuts(struct search_port *port, struct search *s)
{
	for (uint32_t i = s->enabled.n; i-- > 0;) {
		struct pick pick = s->enabled.picks[i];

		if (!pick.fresh)
			continue;
		disable(port, s, i, REASON_HIDES_EDGE);
		hypothesis_withdraw(port, pick.hypothesis, REASON_HIDES_EDGE);
	}
}

/* With what this cycle enabled, the paths do not show where the gap is. The next step is as if nothing
 * had been enabled. */
static int
lose_cuts(struct search_port *port, struct search *s, struct err *e)
{
	struct next_facts f = { 0 };
	bool again;

	withdraw_cuts(port, s);
	return go_on(port, s, &f, &again, e);
}

/* Lossy and incomplete traces are no evidence; when they are most of all, that is the reason. */
static enum reason
why_no_traces(const struct search *s)
{
	if (s->skipped_incomplete > s->cycle.traces && s->skipped_incomplete > s->skipped_lossy)
		return REASON_INCOMPLETE;
	return s->skipped_lossy > s->cycle.traces ? REASON_LOST_RECORDS : REASON_PROBLEM_GONE;
}

/* The deadline has passed without a decision. Where requests came all the same, and this cycle's tracepoints may
 * be why their paths do not have the gap, the gap is the result if it is measured again without them. */
static int
end_late(struct search_port *port, struct search *s, struct err *e)
{
	enum reason reason = why_no_traces(s);

	if (reason != REASON_PROBLEM_GONE || s->task != TASK_NARROW || !has_fresh(s) ||
	    s->cycle.traces < (uint64_t)port->settings.conditions.traces_min) {
		search_end(port, s, reason);
		return 0;
	}
	withdraw_cuts(port, s);
	disable_unneeded(port, s, REASON_HIDES_EDGE);
	search_set_task(s, TASK_FINAL_EDGE);
	s->final = (struct final_edge){ VERDICT_HIDDEN, 0 };
	return cycle_begin(port, s, SEARCH_SWITCHING, e);
}

/* Twice as long where the final edge was measured and the interval left open what is said of it: what is rare is not sure
 * before; and once more as long if the deadline was put off. Of a tail, whose requests are rare: at least twice the time in which enough
 * of them come. */
static int64_t
cycle_max_ns(const struct search_port *port, const struct search *s)
{
	const struct diagnosis *d = s->diagnosis;
	bool open = s->task == TASK_FINAL_EDGE && s->final.wanted > 0;
	int64_t usual_ns = port->settings.cycle_max_ns * ((open ? 2 : 1) + s->final.put_off),
		tail_ns;

	if (open && s->final.open && search_patience_ns(port, s) > usual_ns)
		usual_ns = search_patience_ns(port, s);
	if (s->at.tail_ns <= 0 || d->usable == 0)
		return usual_ns;
	tail_ns = (int64_t)(2.0 * (double)tail_requests(s, DECIDE_SLOW_PLENTY) / (double)d->usable *
			    (double)mono_since_ns(port->now, d->begun));
	return tail_ns > usual_ns ? tail_ns : usual_ns;
}

/* Decides on what was gathered, and carries the decision out. */
static int
decide_cycle(struct search_port *port, struct search *s, struct err *e)
{
	const struct decide_thresholds limits = { port->settings.conditions.traces_min,
		port->settings.isolate_min };
	bool late = mono_since_ns(port->now, s->cycle.begun) > cycle_max_ns(port, s);
	bool again = true;
	int rc = 0;

	if (looks_below(s))
		return decide_below(port, s, e);
	s->cycle.deadline_passed = late;
	if (s->task == TASK_FINAL_EDGE)
		return measure_final_edge(port, s, e);
	if (s->task == TASK_EXPLORE && !next_explored_enough(s->exploration.traces,
					   port->calls->costs_measured(port->owner), late))
		return 0;
	for (int i = 0; i < DECISIONS_MAX && again && rc == 0; i++) {
		struct decide_context c = search_decide_context(s);
		struct measure_input in;
		struct decision x;

		again = false;
		c.cuts = s->task == TASK_NARROW && has_fresh(s);
		if ((rc = search_measure_input(&in, port, s, e)) != 0 ||
		    (rc = decide_measured(&x, &in, &c, &limits, port->scratch, e)) != 0)
			return rc;
		if (x.what == DECIDE_WAIT)
			return late ? end_late(port, s, e) : 0;
		if (x.what == DECIDE_LOST)
			return lose_cuts(port, s, e);
		if (s->task == TASK_EXPLORE)
			explore_end(port, s);
		if (x.what == DECIDE_FOLLOW) {
			again = true;
			if ((rc = settle_picks(port, s, &x, e)) == 0)
				rc = follow_slow_side(s, &x.sep, e);
		} else {
			rc = act(port, s, &x, &again, e);
		}
	}
	return rc;
}

int
search_begin(struct search_port *port, struct search *s, struct group *model, struct err *e)
{
	struct next_facts f = { 0 };
	uint32_t over_budget;
	bool again;
	int rc;

	assert(s->phase == SEARCH_WAITING && (model != NULL || s->at.npath > 0));
	s->at.hypothesis = s->origin.hypothesis;
	if (model != NULL && (rc = remember_path(s, &model->shape, port->scratch, e)) != 0)
		return rc;
	if ((rc = enable_ends(port, s, &over_budget, e)) != 0)
		return rc;
	if (over_budget != LABEL_NONE) {
		search_end_over_budget(port, s, over_budget);
		return 0;
	}
	hypothesis_settle(port, s->origin.hypothesis, HYPOTHESIS_ISOLATES);
	/* if nothing can cut it, its verdict rests on as many traces as it was found with */
	s->final.wanted = s->origin.hypothesis->traces;
	rc = go_on(port, s, &f, &again, e);
	if (s->task != TASK_FINAL_EDGE)
		s->final.wanted = 0;
	return rc == 0 ? search_below_ahead(port, s, e) : rc;
}

/* ---- from step to step ---- */

/* What stays in the plan is disabled, or enabled again, where an agent backs off: the log says so. */
static void
log_backoff(struct search_port *port, const struct search *s, bool over)
{
	char name[LABEL_TEXT_MAX + 1];

	for (uint32_t i = 0; i < s->enabled.n; i++) {
		const struct pick *pick = &s->enabled.picks[i];
		const struct switched log = { .run = s->diagnosis->run->id,
			.hypothesis = pick->hypothesis->id,
			.cycle = s->diagnosis->run->cycles,
			.on = over,
			.tracepoint = tracepoint_name(port->labels, pick->label, name),
			.reason = over ? REASON_BACKOFF_OVER : REASON_SHED,
			.subject = over ? NULL : port->shed_by,
			.when = port->when };

		forest_switched(port->forest, &log, NULL);
	}
}

/* Congestion: disables this cycle's tracepoints; they may be tried again, but for what requests pass most often if an agent has
 * shed load. What was settled before stays. */
static int
withdraw(struct search_port *port, struct search *s, struct err *e)
{
	bool backing_off = port->backing_off;
	enum reason reason = backing_off ? REASON_SHED : REASON_CONGESTION;
	const struct congestion *why = backing_off ? &port->shed : &port->pause;

	if (s->enabled.n > 0 || s->exploration.hypothesis != NULL)
		port->calls->audit(port->owner, &(struct audit){ .when = port->when,
						    .actor = ACTOR_QUEUES,
						    .action = ACTION_DISABLE_NEWEST,
						    .run = s->diagnosis->run->id,
						    .reason = REASON_CONGESTION,
						    .node = why->node,
						    .cause = why->reason,
						    .queue = why->queue,
						    .fill = why->fill });
	if (backing_off &&
	    s->phase != SEARCH_SWITCHING) /* before agents confirmed, they may not have been on */
		avoid_as_often(s);
	for (uint32_t i = s->enabled.n; i-- > 0;) {
		struct pick pick = s->enabled.picks[i];

		if (!pick.fresh)
			continue;
		disable(port, s, i, reason);
		label_set_del(&s->enabled.tried, pick.label);
		hypothesis_withdraw(port, pick.hypothesis, REASON_CONGESTION);
	}
	if (s->exploration.hypothesis != NULL)
		explore_withdraw(port, s, reason);
	if (backing_off)
		log_backoff(port, s, false);
	return cycle_begin(port, s, backing_off ? SEARCH_BACKING_OFF : SEARCH_PAUSED, e);
}

static int
resume(struct search_port *port, struct search *s, struct err *e)
{
	if (s->phase == SEARCH_BACKING_OFF)
		log_backoff(port, s, true);
	return cycle_begin(port, s, SEARCH_UNCONFIRMED, e);
}

/* What is enabled costs more than the budget, as measured: one thing at a time is disabled, until it
 * does not. */
static int
spend_less(struct search_port *port, struct search *s, struct err *e)
{
	const struct search_enabled *x = &s->enabled;

	if (s->exploration.hypothesis != NULL) {
		explore_less(port, s);
	} else if (!disable_newest(port, s)) {
		/* another search may have something newer */
		if (!port->calls->any_fresh(port->owner))
			search_end_over_budget(port, s, x->picks[x->n - 1].label);
		return 0;
	}
	return cycle_begin(port, s, SEARCH_SWITCHING, e);
}

static struct phase_facts
phase_facts_of(const struct search_port *port, const struct search *s)
{
	const struct search_calls *calls = port->calls;
	struct phase_facts f = { .phase = s->phase,
		.paused = port->paused,
		.backing_off = port->backing_off,
		.fresh = has_fresh(s),
		.any_enabled = s->enabled.n > 0 || s->exploration.hypothesis != NULL ||
		               looks_below(s) || search_below_is_ahead(s),
		.confirmed = calls->confirmed(port->owner),
		.in_cycle_ns = mono_since_ns(port->now, s->cycle.begun),
		.since_check_ns = mono_since_ns(port->now, s->cycle.checked) };

	f.paused_long = port->paused &&
	                mono_since_ns(port->now, port->paused_since) > port->settings.withdraw_ns;
	f.over_budget = f.any_enabled && calls->over_budget(port->owner, s->diagnosis->type);
	if (search_below_gathers(s)) { /* in the cycle of the final edge, which began earlier */
		f.in_cycle_ns = mono_since_ns(port->now, s->below.asked);
		f.over_budget &= f.in_cycle_ns > BELOW_START_NS;
	} else if (search_below_is_ahead(s)) {
		f.over_budget &= mono_since_ns(port->now, s->below.asked) > BELOW_START_NS;
	} else if (search_functions_gather(s)) {
		f.in_cycle_ns = mono_since_ns(port->now, search_functions_stepped(s));
	}
	return f;
}

/* Agents have not confirmed for long what is asked for ahead of the verdict. */
static bool
is_long_unconfirmed(
    const struct search_port *port, const struct search *s, const struct phase_facts *f)
{
	return !f->confirmed && s->cycle.ready.ns < s->below.asked.ns &&
	       mono_since_ns(port->now, s->below.asked) > PHASE_SWITCH_MAX_NS;
}

/* What stands in the way of looking ahead ends that, and the edge is measured on. After congestion it is measured anew, and so is what is below.
 * True: that was it. */
static bool
look_ahead_no_longer(
    struct search_port *port, struct search *s, const struct phase_facts *f, enum phase_next next)
{
	if (next == PHASE_NEXT_WITHDRAW) {
		search_below_retreat(port, s);
		return false;
	}
	if (!search_below_is_ahead(s))
		return false;
	if (next == PHASE_NEXT_SPEND_LESS) {
		search_below_stop(port, s, "over-budget");
		return true;
	}
	/* whatever the phase: it costs as long as it is asked for */
	if (next == PHASE_NEXT_NONE &&
	    (f->paused_long || mono_since_ns(port->now, s->below.asked) > BELOW_AHEAD_MAX_NS)) {
		search_below_stop(port, s, f->paused_long ? "congested" : NULL);
		return true;
	}
	if (next != PHASE_NEXT_GIVE_UP && !is_long_unconfirmed(port, s, f))
		return false;
	search_below_stop(port, s, "unconfirmed");
	s->cycle.begun = port->now;
	search_enter(
	    s, SEARCH_SWITCHING); /* so that it is given up if this is not confirmed, either */
	return true;
}

int
search_step(struct search_port *port, struct search *s, struct err *e)
{
	int rc;

	if (!search_is_on(s))
		return 0;
	for (;;) {
		const struct phase_facts f = phase_facts_of(port, s);
		enum phase_next next = phase_next(&f);

		/* What stands in the way of looking below does not stand in that of the verdict. */
		if (looks_below(s) && (next == PHASE_NEXT_WITHDRAW || next == PHASE_NEXT_GIVE_UP ||
					  next == PHASE_NEXT_SPEND_LESS))
			return conclude_below(port, s, cut_word(next), e);
		if (look_ahead_no_longer(port, s, &f, next))
			return 0;
		switch (next) {
		case PHASE_NEXT_NONE:
			return 0;
		case PHASE_NEXT_WITHDRAW:
			return withdraw(port, s, e);
		case PHASE_NEXT_GIVE_UP:
			search_end(port, s, REASON_UNCONFIRMED);
			return 0;
		case PHASE_NEXT_RESUME:
			return resume(port, s, e);
		case PHASE_NEXT_SPEND_LESS:
			return spend_less(port, s, e);
		case PHASE_NEXT_DECIDE:
			s->cycle.checked = port->now;
			rc = decide_cycle(port, s, e);
			/* what is below is kept for the functions that are timed */
			return rc == 0 && !search_functions_gather(s)
			           ? search_below_ahead(port, s, e)
			           : rc;
		case PHASE_NEXT_SUSPEND:
			search_enter(s, SEARCH_UNCONFIRMED);
			break;
		case PHASE_NEXT_GATHER:
			s->cycle.ready = port->now;
			if (s->phase == SEARCH_SWITCHING) {
				if (!looks_below(s))
					s->cycle.begun = port->now;
				search_enter(s, SEARCH_GATHERING);
				return 0;
			}
			search_enter(s, SEARCH_GATHERING);
			break;
		}
	}
}
