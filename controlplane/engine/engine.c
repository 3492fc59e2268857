/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/engine/engine.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "base/hash_table.h"
#include "controlplane/engine/engine_inside.h"
#include "controlplane/engine/sampling.h"
#include "controlplane/search/no_evidence.h"
#include "controlplane/engine/trace_age.h"
#include "controlplane/engine/watching.h"

/* Events of all requests, for what one request waited for: 4 MiB. */
enum { HISTORY_EVENTS = 1 << 16 };
enum { RECORDS_MAX = 100000 }; /* of one trace, unless the options say otherwise */

static int take_trace(struct engine *g, struct trace *t, struct mono now, struct err *e);
static int take_incomplete(struct engine *g, const struct trace *t, struct mono now, struct err *e);

static struct engine_options
with_defaults(const struct engine_options *o)
{
	struct engine_options full = *o;

	full.searches_max = o->searches_max > 0 ? o->searches_max : 3;
	full.effort_cycles = o->effort_cycles > 0 ? o->effort_cycles : 64;
	full.budget_share = o->budget_share > 0 ? o->budget_share : 0.01;
	full.learn_share = o->learn_share > 0 ? o->learn_share : 0.05;
	full.recorder_share = o->recorder_share > 0 ? o->recorder_share : 0.005;
	full.levels_share = o->levels_share > 0 ? o->levels_share : 0.005;
	full.shed_ns = o->shed_ns > 0 ? o->shed_ns : 3000000000;
	full.ignore = full.bins = full.deep = NULL;
	full.watch.types = full.watch.objectives = NULL;
	return full;
}

/* Parts that only refer to others. */
static bool
connect_parts(struct engine *g)
{
	struct engine_parts *p = &g->parts;
	const struct engine_options *o = &p->options;
	const struct overhead_facts facts = {
		.labels = p->labels,
		.nodes = &p->nodes,
		.revise = &p->nodes,
		.types = &p->types,
		.plan = p->plan,
		.below = &p->below,
		.clocks = p->clocks,
		.preload = &g->preload,
		.space = &p->learned.space,
		.budget_share = o->budget_share,
		.learn_share = o->learn_share,
	};

	preload_init(&g->preload, g->rules.deep, p->labels);
	p->queues.limits = (struct queue_limits){ o->pause_fill, o->resume_fill, o->shed_ns };
	if ((p->overhead = overhead_new(&facts)) == NULL)
		return false;
	p->learning.is = (struct learning_facts){
		.nodes = &p->nodes,
		.types = &p->types,
		.queues = &p->queues,
		.plan = p->plan,
		.labels = p->labels,
		.learned = &p->learned,
		.overhead = p->overhead,
		.forest = g->forest,
		.clocks = p->clocks,
		.preload = &g->preload,
		.withdraw_ns = o->withdraw_ns,
	};
	return true;
}

int
engine_new(struct engine **ret, const struct engine_options *o, struct forest *f, struct err *e)
{
	const struct assemble_options ao = {
		.memory_max_bytes = (size_t)o->memory_max_bytes,
		.skew_ns = o->skew_ns,
		.patience_ns = o->patience_ns,
		.order_ns = o->order_ns,
		.open_ns = o->open_ns > o->order_ns ? o->open_ns : o->order_ns,
		.late_ends_ns = o->late_ends_ns,
		.records_max = o->records_max > 0 ? (uint32_t)o->records_max : RECORDS_MAX,
	};
	struct engine *g = calloc(1, sizeof *g);
	struct engine_parts *p;
	int rc;

	if (g == NULL)
		return err_set(e, ERR_MEMORY, "engine: out of memory");
	if ((rc = rules_init(&g->rules, o->ignore, o->bins, o->deep, e)) != 0 ||
	    (rc = watcher_init(&g->parts.watcher, &o->watch, e)) != 0) {
		engine_free(g);
		return rc;
	}
	p = &g->parts;
	p->options = with_defaults(o);
	p->nodes.without_probes = o->without_probes;
	g->forest = f;
	p->labels = labels_new();
	p->plan = plan_new();
	p->sampler = sampler_new(
	    &(struct sampler_options){ o->idle_share, (double)o->network_max });
	p->learned.space = p->labels != NULL ? space_new(p->labels) : NULL;
	if (p->labels == NULL || p->plan == NULL || p->learned.space == NULL ||
	    p->sampler == NULL || assemble_new(&p->assemble, &ao, p->labels, e) != 0 ||
	    clocks_new(&p->clocks, e) != 0 || !connect_parts(g) ||
	    engine_report_reset(g, (struct wall){ 0 }, e) != 0) {
		engine_free(g);
		return err_set(e, ERR_MEMORY, "engine: out of memory");
	}
	*ret = g;
	return 0;
}

void
engine_free(struct engine *g)
{
	struct engine_parts *p;

	if (g == NULL)
		return;
	p = &g->parts;
	request_types_release(&p->types);
	nodes_release(&p->nodes);
	live_report_release(&p->live);
	kept_traces_clear(&p->kept);
	captures_release(&p->captures);
	recorder_plan_release(&p->recorder);
	levels_release(&p->levels);
	instrumentation_release(&p->instrumentation);
	watcher_release(&p->watcher);
	rules_release(&g->rules);
	preload_release(&g->preload);
	space_free(p->learned.space);
	plan_free(p->plan);
	overhead_free(p->overhead);
	sampler_free(p->sampler);
	assemble_free(p->assemble);
	clocks_free(p->clocks);
	thread_history_free(p->history);
	while (g->taken_at < g->ntaken)
		trace_free(g->taken[g->taken_at++]);
	free(g->taken);
	labels_free(p->labels);
	arena_release(&g->scratch);
	free(g);
}

struct engine_parts *
engine_parts(struct engine *g)
{
	return &g->parts;
}

const struct engine_parts *
engine_parts_of(const struct engine *g)
{
	return &g->parts;
}

static struct desired_facts
desired_facts(const struct engine *g)
{
	const struct engine_parts *p = &g->parts;

	return (struct desired_facts){
		.plan = p->plan,
		.below = &p->below,
		.recorder = &p->recorder,
		.levels = &p->levels,
		.types = &p->types,
		.overhead = p->overhead,
		.sampler = p->sampler,
		.learning = p->learning.active,
		.sampled = p->options.sampled,
		.lease_ns = p->options.lease_ns,
	};
}

double
engine_sampled(const struct engine *g, const struct request_type *type)
{
	struct desired_facts f = desired_facts(g);

	return desired_sampled(&f, type);
}

/* ---- what a diagnosis lacks ---- */

/* Pending requests without an end count as open if they are that old: most of what is told within 5 s. */
#define OPEN_NS INT64_C(2000000000)
enum { NO_EVIDENCE_EVERY_NS = 500000000, OPEN_LOOK_MAX = 256 };

struct open_look {
	uint32_t type;
	int64_t since_ns;
	uint64_t count;
};

static void
count_pending(void *ctx, const struct trace *t)
{
	struct open_look *l = ctx;

	l->count += t->type == l->type && t->begin_ns >= l->since_ns;
}

static bool
any_traceable(const struct nodes *nodes)
{
	for (uint32_t i = 0; i < nodes->n; i++)
		if (nodes->items[i].connected && nodes->items[i].programs.nprograms > 0)
			return true;
	return false;
}

static void
find_no_evidence(struct engine *g, const struct request_type *type, struct mono now)
{
	struct engine_parts *p = &g->parts;
	struct diagnosis *d = type->diagnosis;
	struct open_look look = { type->label, d->begun.ns, 0 };
	struct evidence_facts f = {
		.lasts_ns = mono_since_ns(now, d->begun),
		.agents = nodes_connected(&p->nodes),
		.confirmed = d->is_ready,
		.traceable = any_traceable(&p->nodes),
		.sampled = engine_sampled(g, type),
		.usable = d->usable,
		.lossy = d->skipped_lossy,
		.no_unit = d->incomplete[INCOMPLETE_NO_UNIT],
		.open = d->incomplete[INCOMPLETE_NO_END],
		.other = d->incomplete[INCOMPLETE_TOO_LONG] + d->incomplete[INCOMPLETE_NO_BEGIN] +
		         d->incomplete[INCOMPLETE_SEVERAL_BEGINS] +
		         d->incomplete[INCOMPLETE_SEVERAL_ENDS] +
		         d->incomplete[INCOMPLETE_END_FIRST],
	};

	if (d->usable == 0)
		assemble_look_pending(
		    p->assemble, now.ns - OPEN_NS, OPEN_LOOK_MAX, count_pending, &look);
	f.open += look.count;
	d->no_evidence = no_evidence(&f);
}

static void
step_no_evidence(struct engine *g, struct mono now)
{
	struct request_types *types = &g->parts.types;

	if (mono_since_ns(now, g->no_evidence_at) < NO_EVIDENCE_EVERY_NS)
		return;
	g->no_evidence_at = now;
	for (uint32_t i = 0; i < types->n; i++)
		if (request_type_diagnosed(&types->items[i]))
			find_no_evidence(g, &types->items[i], now);
}

/* ---- steps ---- */

static int
step_sampling(struct engine *g, struct mono now, struct err *e)
{
	struct engine_parts *p = &g->parts;
	/* Of a request that is not sampled nobody learns that it was slow. */
	const struct sampling_settings settings = { p->options.sampled,
		p->options.recorder_always ? 0 : p->options.enough, p->options.diagnosed_most,
		p->options.budget_share };
	bool changed = false;
	int rc = company_find(
	    &p->company, p->history, &p->types, &p->nodes, p->sampler, p->labels, now, e);

	if (rc == 0)
		rc = sampling_step(p->sampler, &p->types, &settings, &p->company,
		    p->learning.active, now, &changed, e);
	if (rc == 0 && changed)
		nodes_changed(&p->nodes);
	else if (rc == 0 && p->below.n == 0 && nodes_confirmed(&p->nodes, p->plan))
		company_whole(&p->company, p->history, &p->types, p->sampler, now);
	return rc;
}

/* Notes in the audit that an alert started a diagnosis. */
static void
audit_self_start(struct engine *g, const struct request_type *type, enum reason why, uint64_t run,
    struct wall when)
{
	forest_audit_own(g->forest, &(struct audit){ .when = when,
					.actor = ACTOR_ALERT,
					.action = ACTION_START,
					.run = run,
					.reason = why,
					.types = type->name });
}

static int
start_for_alert(struct engine *g, const struct request_type *type, uint64_t *id, struct mono now,
    struct wall when, struct err *e)
{
	const struct start_options as_usual = { .seed = 0 };
	const struct label *l = labels_get(g->parts.labels, type->label);
	char name[LABEL_TEXT_MAX + 2];
	struct run *run;
	int rc;

	snprintf(name, sizeof name, "%.*s/%s", (int)l->service_len, l->text, type->name);
	if ((rc = engine_start(g, name, &as_usual, now, when, id, e)) != 0)
		return rc;
	run = type->diagnosis->run;
	hypothesis_text(
	    &run->by, audit_actor_word(ACTOR_ALERT)); /* without memory the audit has it */
	forest_touch_run(g->forest, run);
	return 0;
}

enum self_start
engine_self_start(struct engine *g, uint32_t label, enum reason why, struct mono now,
    struct wall when, uint64_t *run)
{
	struct engine_parts *p = &g->parts;
	struct request_type *type = request_types_known(&p->types, label);
	enum self_start may = self_start_may(
	    &p->watcher.starts, &p->watcher.settings.self_start, label, engine_busy(g), when);
	struct err e;

	*run = 0;
	if (may != SELF_START)
		return may;
	if (type == NULL || start_for_alert(g, type, run, now, when, &e) != 0)
		return SELF_START_FAILED;
	self_start_note(&p->watcher.starts, label, when);
	audit_self_start(g, type, why, *run, when);
	return SELF_START;
}

/* Starts a diagnosis for each alert that has begun, if it may. Without one the alert is told alone. */
static void
step_alerts(struct engine *g, struct mono now, struct wall when)
{
	struct alert *a;

	while ((a = watching_new_alert(&g->parts.watcher)) != NULL)
		a->self_start = engine_self_start(g, a->label,
		    a->kind == ALERT_RANGE ? REASON_LEFT_RANGE : REASON_OBJECTIVE, now, when,
		    &a->run);
}

/* ---- captures ---- */

/* Flight recorders are on while a capture needs them, or always; once they are, it begins. */
static int
step_captures(struct engine *g, struct mono now, struct err *e)
{
	struct engine_parts *p = &g->parts;
	const struct recorder_facts facts = { .nodes = &p->nodes,
		.types = &p->types,
		.overhead = p->overhead,
		.sampler = p->sampler,
		.labels = p->labels,
		.preload = &g->preload,
		.space = p->learned.space,
		.share = p->options.recorder_share };
	int rc = captures_step(&p->captures, p->clocks, p->labels, now, e);

	for (uint32_t i = 0; i < p->types.n; i++)
		p->types.items[i].captured = captures_of(&p->captures, p->types.items[i].label);
	p->captures.always = p->options.recorder_always;
	if (recorder_plan_step(
		&p->recorder, p->captures.always || captures_record(&p->captures), &facts, now))
		nodes_changed(&p->nodes);
	captures_ready(&p->captures, recorder_plan_ready(&p->recorder, &p->nodes), now);
	return rc;
}

int
engine_capture(struct engine *g, const char *name, const struct capture_options *o, struct mono now,
    uint64_t *id, struct err *e)
{
	struct engine_parts *p = &g->parts;
	struct request_type *type;
	int rc;

	if (nodes_connected(&p->nodes) == 0)
		return err_set(
		    e, ERR_MISSING, "no agent is connected; start hone-agent on each node");
	if ((rc = request_types_find(&p->types, p->labels, name, &type, e)) != 0)
		return rc;
	return captures_begin(&p->captures, type->label, o, now, id, e);
}

bool
engine_keep(struct engine *g, uint32_t node, struct keep *ret)
{
	struct engine_parts *p = &g->parts;

	while (captures_next(&p->captures, node, ret)) {
		if (p->nodes.items[node].status.recorder > 0)
			return true;
		captures_asked(&p->captures, node, ret->number, false);
	}
	return false;
}

void
engine_keep_sent(struct engine *g, uint32_t node, uint64_t number)
{
	captures_asked(&g->parts.captures, node, number, true);
}

int
engine_kept(struct engine *g, uint32_t node, const struct kept *k, struct err *e)
{
	return captures_answer(&g->parts.captures, node, k, e);
}

/* ---- log levels ---- */

struct level_facts
engine_level_facts(struct engine *g)
{
	struct engine_parts *p = &g->parts;

	return (struct level_facts){ .levels = &p->levels,
		.nodes = &p->nodes,
		.types = &p->types,
		.labels = p->labels,
		.preload = &g->preload,
		.overhead = p->overhead,
		.sampler = p->sampler,
		.instrumentation = &p->instrumentation,
		.space = p->learned.space };
}

int
engine_set_level(struct engine *g, const char *pattern, uint8_t level, struct err *e)
{
	return levels_set(&g->parts.levels, pattern, level, e);
}

void
engine_end_levels(struct engine *g)
{
	levels_end(&g->parts.levels);
	nodes_changed(&g->parts.nodes);
}

/* Notes in the audit that congestion has disabled them. */
static void
audit_levels(struct engine *g, struct wall when)
{
	const struct congestion *c = &g->parts.queues.pause;

	forest_audit_own(g->forest, &(struct audit){ .when = when,
					.actor = ACTOR_QUEUES,
					.action = ACTION_DISABLE_LEVELS,
					.reason = REASON_CONGESTION,
					.node = c->node,
					.cause = c->reason,
					.queue = c->queue,
					.fill = c->fill });
}

static void
step_levels(struct engine *g, struct mono now, struct wall when)
{
	struct engine_parts *p = &g->parts;
	uint64_t holds = p->levels.holds;
	bool changed = levels_hold(&p->levels, p->queues.paused, p->learning.active, now);

	if (p->levels.holds != holds)
		audit_levels(g, when);
	changed |= levels_choose(&p->levels, &p->nodes, &g->preload);
	if (changed) {
		level_rates_begin(&p->levels.rates, now);
		nodes_changed(&p->nodes);
	}
	level_rates_step(&p->levels.rates, now);
}

int
engine_take(struct engine *g, struct trace *t, struct err *e)
{
	if (!array_reserve(g->taken, g->taken_cap, g->ntaken + 1)) {
		trace_free(t);
		return err_set(e, ERR_MEMORY, "engine: out of memory");
	}
	g->taken[g->ntaken++] = t;
	return 0;
}

void
engine_elsewhere(struct engine *g, const struct assemble_counts *n)
{
	g->parts.elsewhere = true;
	g->parts.elsewhere_counts = *n;
}

void
engine_delayed(struct engine *g, int64_t ns)
{
	sketch_add(&g->parts.delay, ns > 0 ? ns : 0);
}

void
engine_counts(const struct engine *g, struct assemble_counts *ret)
{
	if (g->parts.elsewhere)
		*ret = g->parts.elsewhere_counts;
	else
		assemble_counts(g->parts.assemble, ret);
}

static int
take_taken(struct engine *g, struct mono now, struct err *e)
{
	struct engine_parts *p = &g->parts;
	int rc = 0;

	while (rc == 0 && g->taken_at < g->ntaken) {
		struct trace *t = g->taken[g->taken_at++];
		bool whole = trace_has_times(t);

		rc = whole ? take_trace(g, t, now, e) : take_incomplete(g, t, now, e);
		if (rc != 0 || !whole || p->live.report == NULL || !kept_traces_add(&p->kept, t))
			trace_free(t);
	}
	if (g->taken_at == g->ntaken)
		g->taken_at = g->ntaken = 0;
	return rc;
}

int
engine_step(struct engine *g, struct mono now, struct wall when, struct err *e)
{
	struct engine_parts *p = &g->parts;
	struct trace *t;
	int rc = 0;

	if (p->live.since.ns == 0)
		p->live.since = when;
	/* 1. congestion, which may forbid the rest to enable anything */
	queues_update(&p->queues, &p->nodes, now);
	/* 2. traces that are complete */
	if (rc == 0)
		rc = take_taken(g, now, e);
	while (rc == 0 && (t = assemble_next(p->assemble)) != NULL) {
		rc = take_trace(g, t, now, e);
		if (rc != 0 || p->live.report == NULL || !kept_traces_add(&p->kept, t))
			trace_free(t);
	}
	while (rc == 0 && (t = assemble_next_incomplete(p->assemble)) != NULL) {
		rc = take_incomplete(g, t, now, e);
		trace_free(t);
	}
	/* 3. alerts begin and end, and start diagnoses */
	if (rc == 0)
		rc = watching_step(&p->watcher, &p->types, now, when, e);
	step_alerts(g, now, when);
	/* 4. learning and diagnoses decide */
	if (rc == 0)
		rc = learning_step(&p->learning, now, when, e);
	for (uint32_t i = 0; i < p->types.n && rc == 0; i++) {
		if (request_type_diagnosed(&p->types.items[i]))
			rc = diagnose_step(
			    engine_search_port(g), p->types.items[i].diagnosis, now, when, e);
		arena_reset(&g->scratch);
	}
	step_no_evidence(g, now);
	if (rc == 0)
		rc = step_captures(g, now, e);
	step_levels(g, now, when);
	/* 5. shares of requests, which follow from what is enabled */
	if (rc == 0)
		rc = step_sampling(g, now, e);
	return rc != 0 ? rc : overhead_step(p->overhead, now, e);
}

/* The path of the trace, once for the report and the diagnosis, in the scratch arena. *ret NULL: it
 * has none, or neither needs it. ERR_MEMORY. */
static int
extract_path(struct engine *g, const struct trace *t, bool diagnosed, struct always_on_path *space,
    const struct always_on_path **ret, struct err *e)
{
	struct report *report = g->parts.live.report;
	struct err why = { 0 };
	int rc;

	*ret = NULL;
	if (report == NULL && (!diagnosed || !trace_is_evidence(t)))
		return 0;
	rc = always_on_path_extract(space, t, g->parts.labels, g->rules.made, &g->scratch, &why);
	if (rc == 0) {
		*ret = space;
	} else if (rc == ERR_INPUT) {
		if (report != NULL)
			report_add_pathless(report, t, &why);
		rc = 0;
	} else if (e != NULL) {
		*e = why;
	}
	return rc;
}

static int
count_instrumentation(struct engine *g, const struct trace *t, struct mono now, struct err *e)
{
	struct engine_parts *p = &g->parts;

	return instrumentation_trace(&p->instrumentation, t, p->labels, &p->nodes, now)
	           ? 0
	           : err_set(e, ERR_MEMORY, "out of memory for facts of the instrumentation");
}

/* The type with this label of a request_begin. NULL: it has none, and there is no place for it. While it is learned which records a type
 * has, its costs belong to the type: none is replaced. */
static struct request_type *
type_of(struct engine *g, uint32_t label, struct mono now)
{
	struct engine_parts *p = &g->parts;
	uint32_t known = p->types.n;
	bool replaced;
	struct request_type *type = request_types_of(
	    &p->types, p->labels, label, now, !p->learning.active, &replaced);

	if (replaced) {
		overhead_forget_type(p->overhead, type->index);
		sampler_forget_type(p->sampler, type->index);
	}
	if (replaced || p->types.n > known)
		nodes_changed(&p->nodes); /* while learning, the new type is probed as well */
	return type;
}

/* A trace that was given up: of a diagnosis of its type, it counts as a request without evidence. */
static int
take_incomplete(struct engine *g, const struct trace *t, struct mono now, struct err *e)
{
	struct request_type *type = t->type == LABEL_NONE ? NULL : type_of(g, t->type, now);

	if (type != NULL && request_type_diagnosed(type))
		diagnose_incomplete(type->diagnosis, t);
	return count_instrumentation(g, t, now, e);
}

/* By how much clocks_trace() moved each unit; before: the time of the first event of each. */
static void
shifts_since(const struct trace *t, int64_t *before)
{
	for (uint32_t i = 0; i < t->nunits; i++)
		before[i] = t->units[i].count > 0 ? t->events[t->units[i].first].time_ns - before[i]
		                                  : 0;
}

static int64_t *
times_of_units(const struct trace *t, struct arena *a)
{
	int64_t *times = arena_alloc(a, (t->nunits + 1) * sizeof *times);

	for (uint32_t i = 0; times != NULL && i < t->nunits; i++)
		times[i] = t->units[i].count > 0 ? t->events[t->units[i].first].time_ns : 0;
	return times;
}

/* Brings its units onto one clock, and captures it if it is asked for. */
static int
order_trace(struct engine *g, const struct request_type *type, struct trace *t, struct mono now,
    struct err *e)
{
	struct engine_parts *p = &g->parts;
	int64_t *shift_ns = NULL;

	if ((type->captured || p->captures.always) &&
	    (shift_ns = times_of_units(t, &g->scratch)) == NULL)
		return err_set(e, ERR_MEMORY, "out of memory for a captured trace");
	/* A clock has jumped: the trace is no evidence. */
	t->lossy |= !clocks_trace(p->clocks, t, p->labels);
	if (shift_ns == NULL || type->sketch == NULL)
		return 0;
	shifts_since(t, shift_ns);
	return captures_trace(
	    &p->captures, t, type->sketch, shift_ns, p->clocks, p->labels, now, e);
}

/* Since the history began anew only traces that did not begin before: of the other requests of that time not all are known. */
static int
remember_threads(
    struct engine *g, const struct request_type *type, const struct trace *t, struct err *e)
{
	struct engine_parts *p = &g->parts;
	int64_t since_ns = p->company.since.ns;
	int rc;

	if (p->history == NULL || (since_ns != 0 && !trace_began_after(p->clocks, t, since_ns)))
		return 0;
	if ((rc = thread_history_add(p->history, t, p->labels, e)) != 0 ||
	    engine_sampled(g, type) >= 1)
		return rc;
	thread_history_partial(p->history);
	if (p->company.of[type->index] || request_type_diagnosed(type))
		company_partial(&p->company, p->history);
	return 0;
}

static int
take_trace(struct engine *g, struct trace *t, struct mono now, struct err *e)
{
	const struct always_on_path *path;
	struct always_on_path extracted;
	struct engine_parts *p = &g->parts;
	struct request_type *type = type_of(g, t->type, now);
	int rc = 0;

	if (type == NULL) {
		p->types.untyped++;
		return 0;
	}
	if ((rc = order_trace(g, type, t, now, e)) != 0)
		return rc;
	request_type_trace(type, t, engine_sampled(g, type), now);
	if ((rc = count_instrumentation(g, t, now, e)) != 0 ||
	    (rc = remember_threads(g, type, t, e)) != 0)
		return rc;
	rc = extract_path(g, t, request_type_diagnosed(type), &extracted, &path, e);
	if (rc == 0)
		rc = watching_trace(
		    &p->watcher, type, p->labels, t, path, engine_sampled(g, type), e);
	if (rc == 0 && p->live.report != NULL && path != NULL)
		rc = report_add_path(p->live.report, t, path, p->nodes.names, e);
	if (rc == 0)
		rc = overhead_trace(p->overhead, type, t, e);
	if (rc == 0)
		rc = sampling_trace(p->sampler, type, t, e);
	if (rc == 0 && p->levels.rules.n > 0)
		rc = levels_count(&p->levels, p->labels, &p->nodes.binaries, t, e);
	if (rc == 0 && p->learning.active)
		rc = learning_trace(&p->learning, t, e);
	if (rc == 0 && request_type_diagnosed(type)) {
		if (!p->learning.active)
			rc = learned_space_add(&p->learned, type, t, p->labels, &g->preload,
			    diagnosis_explores(type->diagnosis), e);
		if (rc == 0)
			rc = diagnose_trace(engine_search_port(g), type->diagnosis, t, path, e);
	}
	arena_reset(&g->scratch);
	return rc;
}

/* ---- agents ---- */

int
engine_join(struct engine *g, const char *name, const char *version, struct mono now,
    uint32_t *node, struct err *e)
{
	struct engine_parts *p = &g->parts;
	int rc;

	if ((rc = nodes_join(&p->nodes, name, version, now, node, e)) != 0)
		return rc;
	if ((rc = assemble_join(p->assemble, *node, e)) != 0 ||
	    (rc = clocks_reset(p->clocks, *node, e)) != 0 ||
	    (rc = overhead_node(p->overhead, *node, e)) != 0)
		nodes_leave(&p->nodes, *node, now);
	return rc;
}

bool
engine_clock(struct engine *g, uint32_t node, const struct clock_echo *answer, int64_t clock_ns,
    struct mono at)
{
	struct engine_parts *p = &g->parts;
	struct clock_sample s = { INT64_MIN, at.ns, clock_ns, clock_ns };

	assert(node < p->nodes.n);
	if (answer != NULL)
		s = (struct clock_sample){ answer->asked_ns, at.ns, answer->came_ns,
			answer->went_ns };
	p->nodes.items[node].heard = at;
	if (!clocks_sample(p->clocks, node, &s))
		return false;
	/* Its clock jumped: times that were mapped before do not fit those that will be. */
	if (p->nodes.items[node].connected) {
		assemble_leave(p->assemble, node);
		assemble_join(p->assemble, node, NULL); /* needs no memory: it was joined before */
		captures_leave(&p->captures, node);
	}
	return true;
}

void
engine_leave(struct engine *g, uint32_t node, struct mono now)
{
	nodes_leave(&g->parts.nodes, node, now);
	assemble_leave(g->parts.assemble, node);
	captures_leave(&g->parts.captures, node);
}

void
engine_status(struct engine *g, uint32_t node, const struct status *s, struct mono now)
{
	struct engine_parts *p = &g->parts;
	bool shed_before;

	assert(node < p->nodes.n);
	shed_before = p->nodes.items[node].status.shed;
	sampling_status(p->sampler, p->overhead, node, s, now, NULL);
	nodes_status(&p->nodes, node, s, now);
	overhead_node(p->overhead, node, NULL); /* needs no memory: the node is known */
	if (s->shed && !shed_before)
		queues_shed(&p->queues, &p->nodes, node, now);
	queues_status(&p->queues, &p->nodes, node, now);
}

static uint64_t
process_hash(const struct program *x)
{
	return hash_bytes(x->pid, x->service, strlen(x->service));
}

/* The processes of a list, by process_hash(). False: out of memory. */
static bool
index_processes(struct hash_table *ret, const struct programs *p)
{
	bool ok = true;

	for (uint32_t i = 0; i < p->nprograms && ok; i++)
		ok = hash_table_claim(ret, process_hash(&p->programs[i]), i) != HASH_TABLE_NONE;
	return ok;
}

/* Adds a line to the run's ended programs. Without memory, or beyond RUN_PROGRAMS_MAX, none. */
static void
add_ended(struct engine *g, struct run *run, const char *node, const struct program *x)
{
	struct buf all = { 0 };
	uint32_t lines = 0;

	for (const char *at = run->ended_programs; (at = strchr(at, '\n')) != NULL; at++)
		lines++;
	if (lines == RUN_PROGRAMS_MAX)
		return;
	buf_printf(&all, "%s%u\t%s\t%s\n", run->ended_programs, x->pid, node, x->service);
	buf_u8(&all, 0);
	if (!all.failed && hypothesis_text(&run->ended_programs, (const char *)all.data))
		forest_touch_run(g->forest, run);
	buf_release(&all);
}

/* Programs that are no longer in the node's list, for each diagnosis of a type whose traces they were
 * in; without memory, none. O(programs), and O(rows) for each that has ended. */
static void
note_ended_programs(struct engine *g, uint32_t node, const struct programs *now)
{
	const struct node *n = &g->parts.nodes.items[node];
	struct hash_table alive = { 0 };
	bool known = index_processes(&alive, now);

	for (uint32_t i = 0; i < n->programs.nprograms && known; i++) {
		const struct program *x = &n->programs.programs[i];

		if (hash_table_find(&alive, process_hash(x)) != HASH_TABLE_NONE)
			continue;
		for (uint32_t t = 0; t < g->parts.types.n; t++) {
			struct request_type *type = &g->parts.types.items[t];

			if (request_type_diagnosed(type) &&
			    instrumentation_has(&g->parts.instrumentation, type->label,
				g->parts.labels, x->service))
				add_ended(g, type->diagnosis->run, n->name, x);
		}
	}
	hash_table_release(&alive);
}

int
engine_programs(struct engine *g, uint32_t node, const struct programs *p, struct err *e)
{
	if (g->parts.nodes.items[node].connected)
		note_ended_programs(g, node, p);
	return nodes_programs(&g->parts.nodes, node, p, e);
}

void
engine_done(struct engine *g, uint32_t node, const struct done *d, struct mono now)
{
	nodes_done(&g->parts.nodes, node, d, now);
}

void
engine_mailbox(struct engine *g, double fill)
{
	g->parts.queues.mailbox_fill = fill;
}

void
engine_queues(const struct engine *g, struct engine_queues *ret)
{
	const struct queues *q = &g->parts.queues;

	*ret = (struct engine_queues){ q->paused, q->paused ? q->pause : (struct congestion){ 0 },
		q->shed, q->pauses, q->sheds, q->paused_since, q->paused_ns };
}

const struct want *
engine_want(struct engine *g, uint32_t node)
{
	struct desired_facts f = desired_facts(g);

	return desired_state(&g->parts.nodes, node, &f);
}

uint64_t
engine_revision(const struct engine *g)
{
	return nodes_revision(&g->parts.nodes, g->parts.plan);
}

bool
engine_keeps_due(struct engine *g)
{
	return captures_due(&g->parts.captures);
}

uint64_t
engine_done_epoch(const struct engine *g, uint32_t node)
{
	assert(node < g->parts.nodes.n);
	return g->parts.nodes.items[node].confirmed_epoch;
}

/* Maps all times in the batch to the controller's clock: records in their order, then the
 * watermark, which then holds for them. */
static void
map_times(struct clocks *clocks, uint32_t node, struct batch *b)
{
	for (uint32_t i = 0; i < b->nrecords; i++)
		b->records[i].time_ns = clocks_map(clocks, node, b->records[i].time_ns);
	b->watermark_ns = clocks_map(clocks, node, b->watermark_ns);
	for (uint32_t i = 0; i < b->nlosses; i++) {
		b->losses[i].from_ns = clocks_near(clocks, node, b->losses[i].from_ns);
		b->losses[i].to_ns = clocks_near(clocks, node, b->losses[i].to_ns);
	}
}

int
engine_batch(
    struct engine *g, uint32_t node, const void *data, size_t len, struct mono now, struct err *e)
{
	struct engine_parts *p = &g->parts;
	int64_t oldest_ns = 0;
	struct batch b;
	int rc;

	assert(node < p->nodes.n);
	arena_reset(&g->scratch);
	if ((rc = batch_decode(&b, &g->scratch, data, len, e)) == 0) {
		map_times(p->clocks, node, &b);
		rc = assemble_batch(p->assemble, node, &b, e);
	}
	if (rc == 0 && b.nrecords > 0)
		oldest_ns = b.records[0].time_ns;
	arena_reset(&g->scratch);
	if (rc != 0)
		return rc;
	p->nodes.items[node].heard = now;
	if (oldest_ns > 0)
		p->nodes.items[node].recorded = now;
	if (oldest_ns > 0 && now.ns > oldest_ns)
		sketch_add(&p->delay, now.ns - oldest_ns);
	return 0;
}

/* ---- operators ---- */

/* What a diagnosis needs: an agent, a strategy, requests of the type, and no other diagnosis of it.
 */
static int
may_start(struct engine *g, const char *name, const char *strategy_name, struct request_type **type,
    const struct strategy **strategy, struct err *e)
{
	struct engine_parts *p = &g->parts;
	int rc;

	if (nodes_connected(&p->nodes) == 0)
		return err_set(
		    e, ERR_MISSING, "no agent is connected; start hone-agent on each node");
	if ((*strategy = strategy_find(strategy_name != NULL ? strategy_name : "flat")) == NULL)
		return err_set(e, ERR_INPUT, "%s: no such strategy", strategy_name);
	if ((rc = request_types_find(&p->types, p->labels, name, type, e)) != 0)
		return rc;
	if (request_type_diagnosed(*type))
		return err_set(e, ERR_BUSY,
		    "%s: is under diagnosis already (run %llu); 'hone stop %s' ends it", name,
		    (unsigned long long)(*type)->diagnosis->run->id, (*type)->name);
	return 0;
}

static int
begin_run(struct engine *g, const struct request_type *type, struct diagnosis *d,
    const struct start_options *o, struct wall when)
{
	struct engine_parts *p = &g->parts;
	struct space_stats learned;
	bool explores = !space_stats(p->learned.space, type->label, &learned) ||
	                learned.traces == 0;
	const struct run *before = forest_run_baseline(g->forest, type->name);
	struct run *run = d->run;

	run->effort = (uint32_t)(o->effort_cycles > 0 ? o->effort_cycles
						      : p->options.effort_cycles);
	run->effect_min = o->effect_min > 0 ? o->effect_min : p->options.effect_min;
	run->causes_max = (uint32_t)(o->causes_max > 0           ? o->causes_max
				     : p->options.causes_max > 0 ? p->options.causes_max
								 : 1);
	run->left = NAN;
	run->tail_quantile = o->tail_quantile;
	run->healthy = o->healthy;
	run->compared = before != NULL && !o->healthy && !o->no_baseline ? before->id : 0;
	run->seed = d->seed;
	run->state = RUN_ACTIVE;
	run->begun = when;
	run->tracepoints_all = nodes_tracepoints(&p->nodes, NULL);
	if (!hypothesis_text(&run->strategy, d->strategy->name) ||
	    !hypothesis_text(&run->version, space_version(p->learned.space)->name))
		return ERR_MEMORY;
	run->reason = explores && !o->healthy ? REASON_NOTHING_LEARNED : REASON_NONE;
	forest_touch_run(g->forest, run);
	return 0;
}

int
engine_start(struct engine *g, const char *name, const struct start_options *o, struct mono now,
    struct wall when, uint64_t *run, struct err *e)
{
	const struct engine_options *usual = &g->parts.options;
	const struct strategy *strategy = NULL;
	struct diagnosis *d;
	struct request_type *type = NULL;
	int rc = may_start(g, name, o->strategy, &type, &strategy, e);

	if (rc != 0)
		return rc;
	if ((d = calloc(1, sizeof *d)) == NULL ||
	    (d->run = forest_run_new(g->forest, type->name)) == NULL) {
		free(d);
		return err_set(e, ERR_MEMORY, "%s: out of memory", name);
	}
	if (g->parts.history == NULL)
		g->parts.history = thread_history_new(HISTORY_EVENTS); /* or none is kept */
	diagnosis_free(type->diagnosis);
	type->diagnosis = d;
	d->type = type->label;
	d->no_unit_label = LABEL_NONE;
	d->strategy = strategy;
	d->k = (uint32_t)(o->tracepoints_per_cycle > 0 ? o->tracepoints_per_cycle
						       : usual->tracepoints_per_cycle);
	d->seed = o->seed != 0 ? o->seed : usual->seed;
	d->tail = (struct tail_state){ .quantile = o->tail_quantile };
	d->below = o->below == LOOK_BELOW_AS_CONFIGURED ? g->parts.options.below
	                                                : o->below == LOOK_BELOW;
	d->begun = d->checked = d->ready = now;
	d->phase = PHASE_WATCH;
	if (begin_run(g, type, d, o, when) != 0)
		return err_set(e, ERR_MEMORY, "%s: out of memory", name);
	nodes_changed(&g->parts.nodes);
	*run = d->run->id;
	return 0;
}

int
engine_stop(struct engine *g, const char *name, struct wall when, struct err *e)
{
	struct engine_parts *p = &g->parts;
	struct request_type *only = NULL;
	bool any = name == NULL && p->learning.active;
	int rc;

	if (name != NULL && (rc = request_types_find(&p->types, p->labels, name, &only, e)) != 0)
		return rc;
	if (name == NULL)
		learning_end(&p->learning);
	any |= captures_stop(&p->captures, only != NULL ? only->label : LABEL_NONE);
	for (uint32_t i = 0; name == NULL && i < p->nodes.n; i++)
		captures_leave(&p->captures, i); /* what is still to come is not waited for */
	for (uint32_t i = 0; i < p->types.n; i++) {
		struct request_type *type = &p->types.items[i];

		if (!request_type_diagnosed(type) || (only != NULL && only != type))
			continue;
		diagnose_end(
		    engine_search_port(g), type->diagnosis, RUN_STOPPED, REASON_OPERATOR, "", when);
		any = true;
	}
	if (any)
		return 0;
	return err_set(e, ERR_MISSING,
	    name != NULL ? "%s: is not under diagnosis" : "nothing runs%s",
	    name != NULL ? name : "");
}

int
engine_learn_as(struct engine *g, int64_t for_ns, const char *name, struct mono now, struct err *e)
{
	return learning_begin(&g->parts.learning, for_ns, name, now, e);
}

int
engine_learn(struct engine *g, int64_t for_ns, struct mono now, struct err *e)
{
	return engine_learn_as(g, for_ns, NULL, now, e);
}

bool
engine_learned(struct engine *g)
{
	return learned_space_unsaved(&g->parts.learned);
}

/*
 * All requests are in it, also those under diagnosis: by the always-on labels of their paths alone,
 * so that tracepoints that a search enables do not split groups.
 */
int
engine_report_reset(struct engine *g, struct wall when, struct err *e)
{
	struct engine_parts *p = &g->parts;
	struct report_options o = report_defaults();
	struct assemble_counts n;
	int rc;

	o.conditions = p->options.conditions;
	o.groups_max = (uint32_t)p->options.groups_max;
	o.samples_max = (uint32_t)p->options.samples_max;
	o.memory_max_bytes = (size_t)p->options.report_max_bytes;
	o.types_max = TYPES_MAX;
	o.seed = p->options.seed;
	o.explain_min = p->options.explain_min;
	o.structure_only = true;
	o.ignore = g->rules.ignore;
	o.bins = g->rules.made;
	o.bin_rules = g->rules.bins;
	assemble_counts(p->assemble, &n);
	if ((rc = live_report_reset(&p->live, &o, p->labels, n.used, when, e)) == 0)
		kept_traces_clear(&p->kept);
	return rc;
}

struct space *
engine_space(struct engine *g)
{
	return g->parts.learned.space;
}

void
engine_space_use(struct engine *g, struct space *s)
{
	learned_space_use(&g->parts.learned, s);
	overhead_forget(g->parts.overhead);
}

uint64_t
engine_fingerprint(struct engine *g)
{
	return learned_space_fingerprint(&g->parts.learned, &g->parts.nodes, &g->preload);
}

bool
engine_stale(struct engine *g)
{
	return learned_space_stale(&g->parts.learned, &g->parts.nodes, &g->preload);
}

bool
engine_busy(const struct engine *g)
{
	return g->parts.learning.active || request_types_diagnosed(&g->parts.types);
}

struct labels *
engine_labels(struct engine *g)
{
	return g->parts.labels;
}

bool
engine_quiet(const struct engine *g)
{
	return plan_count(g->parts.plan) == 0 && nodes_confirmed(&g->parts.nodes, g->parts.plan);
}
