/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One search. A cycle gathers traces until the group that matters is ripe,
 * decides, and turns on the next tracepoints inside the edge that carries the
 * problem; until nothing is left to turn on inside it.
 *
 *	watch ---> [decide] ---> switch ---> gather ---> [decide] ---> ...
 *	               |  ^         |           |            |
 *	               |  '------ paused <------'            |
 *	               '----------------> ended <------------'
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "controlplane/diagnose.h"
#include "controlplane/engine_inside.h"

enum { CHECK_NS = 100000000, WATCH_MIN_NS = 1000000000, CYCLES_MAX = 64, SPREADS_MAX = 2, SETTLE_NS = 50000000 };
static const int64_t SWITCH_MAX_NS = 20000000000;

static int  groups_begin(struct engine *g, struct diagnosis *d, struct mono now, struct err *e);
static int  watched(struct engine *g, struct diagnosis *d, struct mono now, struct wall when, struct err *e);
static int  gathered(struct engine *g, struct diagnosis *d, struct mono now, struct wall when, struct err *e);
static int  next_cycle(struct engine *g, struct diagnosis *d, const struct choice *c, struct mono now,
    struct wall when, struct err *e);
static int  close_in(struct engine *g, struct diagnosis *d, struct mono now, struct err *e);
static int  turn_on(struct engine *g, struct diagnosis *d, uint32_t label, struct wall when, struct err *e);
static int  withdraw(struct engine *g, struct diagnosis *d, struct mono now, struct wall when, struct err *e);
static bool shed(const struct engine *g);
static const char *why_too_few(const struct diagnosis *d, const char *else_words);
static void narrow(struct diagnosis *d, const struct choice *c);

int
diagnose_trace(struct engine *g, struct diagnosis *d, const struct trace *t, struct err *e)
{
	struct critpath plain, path;
	struct shape root, shape;
	struct arena *a = &g->scratch;
	int rc;

	if (t->type != d->type)
		return 0;
	sketch_add(&d->sketch, t->end_ns - t->begin_ns);
	if (t->lossy) {
		d->skipped_lossy++;
		return 0;
	}
	if (!d->is_ready || !began_after(g, t, d->ready.ns + SETTLE_NS) ||
	    (d->phase == PHASE_GATHER && !t->probed))
		return 0;
	if ((rc = critpath_extract(&plain, t, g->labels, &(struct label_set){ 0 }, a, e)) != 0) {
		g->pathless += rc == ERR_INPUT;
		return rc == ERR_INPUT ? 0 : rc;
	}
	g->moved += plain.moved;
	if ((rc = shape_of(&root, &plain, g->labels, a, e)) != 0)
		return rc;
	path = plain;
	shape = root;
	if (d->phase == PHASE_GATHER) {
		if (root.key.a != d->root_key.a || root.key.b != d->root_key.b)
			return 0;
		if ((rc = critpath_extract(&path, t, g->labels, &d->keep, a, e)) != 0 ||
		    (rc = shape_of(&shape, &path, g->labels, a, e)) != 0)
			return rc;
	}
	g->inexact += !shape_exact(&shape, t);
	d->cycle_traces++;
	groups_add(d->groups, t, &path, &shape, g->node_names);
	return 0;
}

int
diagnose_step(struct engine *g, struct diagnosis *d, struct mono now, struct wall when, struct err *e)
{
	bool withdrawn = (g->paused && mono_since_ns(now, g->paused_since) > g->o.withdraw_ns) || shed(g);

	if (d->groups == NULL)
		return groups_begin(g, d, now, e);
	switch (d->phase) {
	case PHASE_SWITCH:
		if (withdrawn)
			return withdraw(g, d, now, when, e);
		if (nodes_done(g)) {
			d->phase = PHASE_GATHER;
			d->is_ready = true;
			d->ready = d->cycle_begun = now;
		} else if (mono_since_ns(now, d->cycle_begun) > SWITCH_MAX_NS) {
			diagnose_end(g, d, RUN_NOT_FOUND, "given up: an agent did not confirm that its tracepoints are "
			    "on; see 'hone agents'", when);
		}
		return 0;
	case PHASE_PAUSED:
		if (g->paused || shed(g))
			return 0;
		d->phase = PHASE_GATHER;	/* what was gathered decides again, once more is there */
		d->is_ready = false;
		return groups_begin(g, d, now, e);
	case PHASE_WATCH:
	case PHASE_GATHER:
		/* While an agent is being told something new, or a new one has come, its traces prove nothing. */
		if (d->is_ready && !nodes_done(g))
			d->is_ready = false;
		else if (!d->is_ready && nodes_done(g)) {
			d->is_ready = true;
			d->ready = now;
		}
		if (d->npicks > 0 && withdrawn)
			return withdraw(g, d, now, when, e);
		if (g->paused || mono_since_ns(now, d->checked) < CHECK_NS)
			return 0;	/* paused: a decision would only turn more on */
		d->checked = now;
		return d->phase == PHASE_WATCH ? watched(g, d, now, when, e) : gathered(g, d, now, when, e);
	case PHASE_ENDED:
		break;
	}
	return 0;
}

static bool
shed(const struct engine *g)
{
	for (uint32_t i = 0; i < g->nnodes; i++)
		if (g->nodes[i].connected && g->nodes[i].status.shed)
			return true;
	return false;
}

static int
groups_begin(struct engine *g, struct diagnosis *d, struct mono now, struct err *e)
{
	struct groups_options o = {
		.groups_max = (uint32_t)g->o.groups_max,
		.samples_max = (uint32_t)g->o.samples_max,
		.memory_max_bytes = (size_t)g->o.memory_max_bytes,
		.seed = d->seed + d->run->cycles,
	};

	groups_free(d->groups);
	d->cycle_traces = d->skipped_lossy = 0;
	d->cycle_begun = now;
	d->groups = groups_new(&o, g->labels);
	return d->groups != NULL ? 0 : err_set(e, ERR_MEMORY, "%s: out of memory for groups", d->run->type);
}

/* ---- what a cycle decides ---- */

static int
watched(struct engine *g, struct diagnosis *d, struct mono now, struct wall when, struct err *e)
{
	bool late = mono_since_ns(now, d->cycle_begun) > g->o.cycle_max_ns;
	struct choice c;
	int rc;

	if (mono_since_ns(now, d->cycle_begun) < WATCH_MIN_NS)
		return 0;
	if ((rc = choose(&c, g, d, late, e)) != 0)
		return rc;
	if (c.group == NULL) {
		if (late && d->cycle_traces >= g->o.conditions.traces_min)
			diagnose_end(g, d, RUN_NOT_FOUND, "no group of requests is unpredictable or slow by the conditions "
			    "set", when);
		else if (late && mono_since_ns(now, d->cycle_begun) > 3 * g->o.cycle_max_ns)
			diagnose_end(g, d, RUN_NOT_FOUND, why_too_few(d, "too few requests of this type came"), when);
		return 0;
	}
	if ((d->current = hypothesis_from(g, d, 0, when)) == NULL)
		return err_set(e, ERR_MEMORY, "%s: out of memory", d->run->type);
	d->root_key = c.group->shape.key;
	hypothesis_motive(g, d->current, &c);
	hypothesis_settle(g, d->current, HYPOTHESIS_ISOLATES, &c, when);
	narrow(d, &c);
	return next_cycle(g, d, &c, now, when, e);
}

/* Traces with a lost part prove nothing; when they are most of all, that is what has to be said. */
static const char *
why_too_few(const struct diagnosis *d, const char *else_words)
{
	return d->skipped_lossy > d->cycle_traces ? "most traces had lost records, and prove nothing; 'hone agents' shows "
	    "where records are lost" : else_words;
}

static int
gathered(struct engine *g, struct diagnosis *d, struct mono now, struct wall when, struct err *e)
{
	bool late = mono_since_ns(now, d->cycle_begun) > g->o.cycle_max_ns, spread;
	struct choice c;
	int rc;

	if (!d->is_ready)
		return 0;
	if ((rc = choose(&c, g, d, late, e)) != 0)
		return rc;
	if (c.group == NULL) {
		if (!late)
			return 0;
		if ((rc = settle_separated(g, d, when, e)) != 0)
			return rc;
		if (d->phase != PHASE_ENDED)
			diagnose_end(g, d, RUN_NOT_FOUND, why_too_few(d, "the requests under diagnosis stopped coming, or "
			    "their problem went away"), when);
		return 0;
	}
	if (d->closing)
		return conclude(g, d, &c, false, when, e);
	spread = d->npicks > 0 && c.finding.edges[c.edge].share < g->o.isolate_min * c.gap_share;
	if ((rc = settle_picks(g, d, &c, spread, when, e)) != 0)
		return rc;
	if (!spread) {
		narrow(d, &c);
		d->spreads = 0;
	} else if (++d->spreads == SPREADS_MAX) {
		return close_in(g, d, now, e);
	}
	return next_cycle(g, d, &c, now, when, e);
}

/*
 * Two cuts and no part of the edge has taken over: what makes it slow is spread
 * over it, and smaller edges would each be a smaller truth. Measures the edge
 * once more as it is, to end with that.
 */
static int
close_in(struct engine *g, struct diagnosis *d, struct mono now, struct err *e)
{
	d->closing = true;
	d->phase = PHASE_SWITCH;
	d->is_ready = false;
	return groups_begin(g, d, now, e);
}

/* The problem is now inside this smaller edge. */
static void
narrow(struct diagnosis *d, const struct choice *c)
{
	const struct shape_edge *edge = &c->group->shape.edges[c->edge];

	d->gap = (struct gap){ edge->from, edge->to, edge->from_unit, edge->to_unit };
	d->gap_share = c->finding.edges[c->edge].share;
	d->has_gap = true;
}

/* Turns on what the strategy wants inside the gap; or, with nothing left there, says what was found. */
static int
next_cycle(struct engine *g, struct diagnosis *d, const struct choice *c, struct mono now, struct wall when,
    struct err *e)
{
	struct between *all = arena_calloc(&g->scratch, CANDIDATES_MAX, sizeof *all);
	struct candidate *some = arena_calloc(&g->scratch, CANDIDATES_MAX, sizeof *some);
	uint32_t picked[PICKS_MAX], left = 0, n;
	int found, rc = 0;

	if (all == NULL || some == NULL)
		return err_set(e, ERR_MEMORY, "%s: out of memory", d->run->type);
	found = space_between(g->space, d->type, &d->gap, &d->absent, all, CANDIDATES_MAX, e);
	if (found < 0)
		return found;
	for (int i = 0; i < found; i++)
		if (!label_set_has(&d->tried, all[i].label) && !label_set_has(&d->keep, all[i].label))
			all[left++] = all[i];
	if (left == 0 || d->run->cycles >= CYCLES_MAX || d->non == ON_MAX)
		return conclude(g, d, c, left == 0, when, e);
	n = d->strategy->propose(some, left, NULL, d->k < ON_MAX - d->non ? d->k : ON_MAX - d->non, NULL, picked);
	d->run->cycles++;
	d->npicks = 0;
	for (uint32_t i = 0; i < n && rc == 0; i++)
		rc = turn_on(g, d, all[picked[i]].label, when, e);
	if (rc != 0)
		return rc;
	d->run->tracepoints = d->used;
	forest_touch_run(g->forest, d->run);
	d->phase = PHASE_SWITCH;
	d->is_ready = false;
	return groups_begin(g, d, now, e);
}

static int
turn_on(struct engine *g, struct diagnosis *d, uint32_t label, struct wall when, struct err *e)
{
	char name[LABEL_TEXT_MAX + 1];
	struct hypothesis *h = hypothesis_from(g, d, d->current->id, when);
	struct switched s;
	int rc;

	if (h == NULL || !hypothesis_text(&h->tracepoint, labels_get(g->labels, label)->text) ||
	    !label_set_add(&d->keep, label) || !label_set_add(&d->tried, label))
		return err_set(e, ERR_MEMORY, "%s: out of memory", d->run->type);
	h->state = HYPOTHESIS_PROBING;
	h->presence = '+';
	hypothesis_text(&h->edge_from, labels_get(g->labels, d->gap.from)->text);
	hypothesis_text(&h->edge_to, labels_get(g->labels, d->gap.to)->text);
	h->traces = d->current->settled_traces;
	h->share = d->gap_share;
	forest_touch(g->forest, h);
	if ((rc = plan_want(g->plan, tracepoint_of(g, label, name), h->id, e)) != 0)
		return rc;
	s = (struct switched){ .run = d->run->id, .hypothesis = h->id, .cycle = d->run->cycles, .on = true,
		.tracepoint = name, .why = "lies in the middle of the edge that carries most", .when = when };
	if ((rc = forest_switched(g->forest, &s, e)) != 0)
		return rc;
	d->on[d->non++] = (struct pick){ label, h };
	d->npicks++;
	d->used++;
	return 0;
}

void
turn_off(struct engine *g, struct diagnosis *d, uint32_t label, const char *why, struct wall when)
{
	char name[LABEL_TEXT_MAX + 1];
	struct switched s = { .run = d->run->id, .cycle = d->run->cycles, .on = false, .why = why, .when = when };
	uint32_t i;

	for (i = 0; i < d->non && d->on[i].label != label; i++)
		;
	if (i == d->non)
		return;
	s.hypothesis = d->on[i].hypothesis->id;
	s.tracepoint = tracepoint_of(g, label, name);
	plan_release(g->plan, name, s.hypothesis);
	label_set_del(&d->keep, label);
	forest_switched(g->forest, &s, NULL);
	if (i + d->npicks >= d->non)
		d->npicks--;
	d->non--;
	memmove(&d->on[i], &d->on[i + 1], (d->non - i) * sizeof d->on[0]);
}

/* Congestion: the newest tracepoints go off; what was known before them stays known, and they may be tried again. */
static int
withdraw(struct engine *g, struct diagnosis *d, struct mono now, struct wall when, struct err *e)
{
	while (d->npicks > 0) {
		struct pick p = d->on[d->non - 1];

		turn_off(g, d, p.label, "withdrawn: queues are full", when);
		label_set_del(&d->tried, p.label);
		hypothesis_settle(g, p.hypothesis, HYPOTHESIS_WITHDRAWN, NULL, when);
	}
	d->phase = PHASE_PAUSED;
	d->is_ready = false;
	return groups_begin(g, d, now, e);
}

void
diagnose_end(struct engine *g, struct diagnosis *d, enum run_state state, const char *words, struct wall when)
{
	uint64_t at = 0;
	struct hypothesis *h;

	while (d->non > 0)
		turn_off(g, d, d->on[d->non - 1].label, "the diagnosis ended", when);
	while ((h = forest_next(g->forest, d->run->id, &at)) != NULL)
		if (!hypothesis_settled(h->state))
			hypothesis_settle(g, h, HYPOTHESIS_WITHDRAWN, NULL, when);
	d->run->state = state;
	d->run->ended = when;
	if (words != NULL)
		hypothesis_text(&d->run->words, words);
	forest_touch_run(g->forest, d->run);
	groups_free(d->groups);
	d->groups = NULL;
	d->phase = PHASE_ENDED;
	nodes_changed(g);
}

static void
verdict_free(struct run_verdict *v)
{
	if (v == NULL)
		return;
	free(v->from);
	free(v->to);
	free(v->path);
	free(v->key);
	free(v);
}

void
diagnosis_free(struct diagnosis *d)
{
	if (d == NULL)
		return;
	groups_free(d->groups);
	label_set_release(&d->keep);
	label_set_release(&d->tried);
	label_set_release(&d->absent);
	verdict_free(d->verdict);
	free(d);
}
