/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controlplane/afford.h"
#include "controlplane/engine_inside.h"

static int take_trace(struct engine *g, struct trace *t, struct mono now, struct err *e);
static struct type *type_for(struct engine *g, uint32_t label);
static void watch_queues(struct engine *g, struct mono now);

int
engine_new(struct engine **ret, const struct engine_options *o, struct forest *f, struct err *e)
{
	struct assemble_options ao = {
		.memory_max_bytes = (size_t)o->memory_max_bytes,
		.skew_ns = o->skew_ns,
		.patience_ns = o->patience_ns,
	};
	struct engine *g = calloc(1, sizeof *g);
	int rc;

	if (g == NULL)
		return err_set(e, ERR_MEMORY, "engine: out of memory");
	if ((rc = rules_init(&g->rules, o->ignore, o->bins, e)) != 0) {
		engine_free(g);
		return rc;
	}
	g->o = *o;
	g->o.searches_max = o->searches_max > 0 ? o->searches_max : 3;
	g->o.effort_cycles = o->effort_cycles > 0 ? o->effort_cycles : 64;
	g->o.budget_share = o->budget_share > 0 ? o->budget_share : 0.01;
	g->o.learn_share = o->learn_share > 0 ? o->learn_share : 0.05;
	g->forest = f;
	g->labels = labels_new();
	g->plan = plan_new();
	g->afford = afford_new(&g->o);
	g->space = g->labels != NULL ? space_new(g->labels) : NULL;
	if (g->labels == NULL || g->plan == NULL || g->space == NULL || g->afford == NULL ||
	    assemble_new(&g->assemble, &ao, g->labels, e) != 0 || clocks_new(&g->clocks, e) != 0 ||
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
	if (g == NULL)
		return;
	for (uint32_t i = 0; i < g->ntypes; i++) {
		diagnosis_free(g->types[i].diagnosis);
		free(g->types[i].name);
		free(g->types[i].sketch);
		map_release(&g->types[i].seen);
	}
	for (uint32_t i = 0; i < g->nnodes; i++)
		node_release(&g->nodes[i]);
	map_release(&g->type_of);
	report_free(g->report);
	rules_release(&g->rules);
	space_free(g->space);
	plan_free(g->plan);
	afford_free(g->afford);
	assemble_free(g->assemble);
	clocks_free(g->clocks);
	labels_free(g->labels);
	arena_release(&g->scratch);
	free(g);
}

int
engine_step(struct engine *g, struct mono now, struct wall when, struct err *e)
{
	struct trace *t;
	int rc = 0;

	if (g->reported.ns == 0)
		g->reported = when;
	watch_queues(g, now);
	while (rc == 0 && (t = assemble_next(g->assemble)) != NULL) {
		rc = take_trace(g, t, now, e);
		trace_free(t);
	}
	if (rc == 0)
		rc = learn_step(g, now, when, e);
	for (uint32_t i = 0; i < g->ntypes && rc == 0; i++) {
		struct diagnosis *d = g->types[i].diagnosis;

		if (d != NULL && d->phase != PHASE_ENDED)
			rc = diagnose_step(g, d, now, when, e);
		arena_reset(&g->scratch);
	}
	return rc != 0 ? rc : afford_step(g, now, e);
}

static int
take_trace(struct engine *g, struct trace *t, struct mono now, struct err *e)
{
	struct type *type = type_for(g, t->type);
	int64_t took_ns = t->end_ns - t->begin_ns;
	int rc = 0;

	if (type == NULL) {
		g->untyped++;
		return 0;
	}
	t->lossy |= !clocks_trace(g->clocks, t, g->labels);	/* no evidence either */
	type->traces++;
	type->window_traces++;
	if (mono_since_ns(now, type->window) >= 1000000000) {
		type->per_second = (double)type->window_traces * 1e9 / (double)mono_since_ns(now, type->window);
		type->window_traces = 0;
		type->window = now;
	}
	moments_add(&type->total, (double)took_ns);
	sketch_add(type->sketch, took_ns);
	if (g->report != NULL)
		rc = report_add(g->report, t, g->node_names, e);
	if (rc == 0)
		rc = afford_trace(g, type, t, e);
	if (rc == 0 && g->learning.active)
		rc = learn_trace(g, t, e);
	if (rc == 0 && type->diagnosis != NULL && type->diagnosis->phase != PHASE_ENDED) {
		if (!g->learning.active)
			rc = learn_new(g, type, t, diagnosis_explores(type->diagnosis), e);
		if (rc == 0)
			rc = diagnose_trace(g, type->diagnosis, t, e);
	}
	arena_reset(&g->scratch);
	return rc;
}

/* The type of that label, made when it is new; NULL when there are too many or no memory. */
static struct type *
type_for(struct engine *g, uint32_t label)
{
	struct type *type = map_get(&g->type_of, (uint64_t)label + 1);
	const struct label *l;

	if (type != NULL || g->ntypes == TYPES_MAX)
		return type;
	l = labels_get(g->labels, label);
	type = &g->types[g->ntypes];
	*type = (struct type){ .label = label };
	type->name = strndup(l->name, l->name_len);
	type->sketch = calloc(1, sizeof *type->sketch);
	if (type->name == NULL || type->sketch == NULL || !map_put(&g->type_of, (uint64_t)label + 1, type)) {
		free(type->name);
		free(type->sketch);
		return NULL;
	}
	g->ntypes++;
	nodes_changed(g);	/* while we learn, it is to be probed as well */
	return type;
}

/*
 * New tracepoints go on only while every queue on the way has room. The two
 * thresholds lie apart, or a queue that hovers at one would make us flicker.
 */
static void
watch_queues(struct engine *g, struct mono now)
{
	double fullest = 0;
	const char *whose = "";

	for (uint32_t i = 0; i < g->nnodes; i++)
		if (g->nodes[i].connected && node_fill(&g->nodes[i]) > fullest) {
			fullest = node_fill(&g->nodes[i]);
			whose = g->nodes[i].name;
		}
	if (!g->paused && fullest > g->o.pause_fill) {
		g->paused = true;
		g->paused_since = now;
	} else if (g->paused && fullest < g->o.resume_fill) {
		g->paused = false;
	}
	if (g->paused && whose[0] != '\0')
		snprintf(g->paused_why, sizeof g->paused_why, "the queues of agent %s are %.0f %% full", whose,
		    fullest * 100);
}

int
engine_type(struct engine *g, const char *name, struct type **ret, struct err *e)
{
	char seen[240] = "";
	size_t len = 0;
	struct type *found = NULL;

	for (uint32_t i = 0; i < g->ntypes; i++) {
		struct type *t = &g->types[i];
		const struct label *l = labels_get(g->labels, t->label);
		const char *slash = strchr(name, '/');
		bool same = strcmp(t->name, name) == 0 ||
		    (slash != NULL && (size_t)(slash - name) == l->service_len &&
		    strncmp(l->text, name, l->service_len) == 0 && strcmp(slash + 1, t->name) == 0);

		if (same && found != NULL)
			return err_set(e, ERR_INPUT, "%s: several services have this request type; say %.*s/%s",
			    name, (int)l->service_len, l->text, t->name);
		if (same)
			found = t;
		if (len < sizeof seen - 1)
			len += (size_t)snprintf(seen + len, sizeof seen - len, "%s%s", len > 0 ? ", " : "", t->name);
	}
	*ret = found;
	if (found != NULL)
		return 0;
	if (g->ntypes == 0)
		return err_set(e, ERR_MISSING, "%s: no request of any type has been seen yet; is the application "
		    "instrumented with libhone, and under load? See 'hone agents'", name);
	return err_set(e, ERR_MISSING, "%s: no request of this type has been seen; seen: %s", name, seen);
}

int
engine_start(struct engine *g, const char *name, const struct start_options *o, struct mono now,
    struct wall when, uint64_t *run, struct err *e)
{
	const struct strategy *strategy = strategy_find(o->strategy != NULL ? o->strategy : "flat");
	struct space_stats learned;
	bool explores = false;
	struct diagnosis *d;
	struct type *type;
	uint32_t agents = 0;
	int rc;

	for (uint32_t i = 0; i < g->nnodes; i++)
		agents += g->nodes[i].connected;
	if (agents == 0)
		return err_set(e, ERR_MISSING, "no agent is connected; start hone-agent on each node");
	if (strategy == NULL)
		return err_set(e, ERR_INPUT, "%s: no such strategy", o->strategy);
	if ((rc = engine_type(g, name, &type, e)) != 0)
		return rc;
	if (type->diagnosis != NULL && type->diagnosis->phase != PHASE_ENDED)
		return err_set(e, ERR_BUSY, "%s: is under diagnosis already (run %llu); 'hone stop %s' ends it",
		    name, (unsigned long long)type->diagnosis->run->id, type->name);
	if ((d = calloc(1, sizeof *d)) == NULL || (d->run = forest_run_new(g->forest, type->name)) == NULL) {
		free(d);
		return err_set(e, ERR_MEMORY, "%s: out of memory", name);
	}
	diagnosis_free(type->diagnosis);
	type->diagnosis = d;
	d->type = type->label;
	d->strategy = strategy;
	d->k = (uint32_t)(o->tracepoints_per_cycle > 0 ? o->tracepoints_per_cycle : g->o.tracepoints_per_cycle);
	d->seed = o->seed != 0 ? o->seed : g->o.seed;
	d->begun = d->checked = d->ready = now;
	d->phase = PHASE_WATCH;
	d->run->effort = (uint32_t)(o->effort_cycles > 0 ? o->effort_cycles : g->o.effort_cycles);
	d->run->seed = d->seed;
	d->run->state = RUN_ACTIVE;
	d->run->begun = when;
	d->run->tracepoints_all = nodes_tracepoints(g);
	explores = !space_stats(g->space, type->label, &learned) || learned.traces == 0;
	if (!hypothesis_text(&d->run->strategy, strategy->name) ||
	    !hypothesis_text(&d->run->version, space_version(g->space)->name) ||
	    !hypothesis_text(&d->run->words, explores ? "nothing has been learned of it: what is inside an edge is explored first; "
	    "after 'hone learn' fewer tracepoints would do" : ""))
		return err_set(e, ERR_MEMORY, "%s: out of memory", name);
	forest_touch_run(g->forest, d->run);
	nodes_changed(g);
	*run = d->run->id;
	return 0;
}

int
engine_stop(struct engine *g, const char *name, struct wall when, struct err *e)
{
	struct type *only = NULL;
	bool any = g->learning.active;
	int rc;

	if (name != NULL && (rc = engine_type(g, name, &only, e)) != 0)
		return rc;
	if (name == NULL)
		learn_end(g);
	else
		any = false;
	for (uint32_t i = 0; i < g->ntypes; i++) {
		struct diagnosis *d = g->types[i].diagnosis;

		if (d == NULL || d->phase == PHASE_ENDED || (only != NULL && only != &g->types[i]))
			continue;
		diagnose_end(g, d, RUN_STOPPED, "stopped by an operator", when);
		any = true;
	}
	if (any)
		return 0;
	return err_set(e, ERR_MISSING, name != NULL ? "%s: is not under diagnosis" : "nothing runs%s",
	    name != NULL ? name : "");
}

/* All times in the batch by our clock: records in their order, then the watermark, which is true of them. */
static void
map_times(struct engine *g, uint32_t node, struct batch *b)
{
	for (uint32_t i = 0; i < b->nrecords; i++)
		b->records[i].time_ns = clocks_map(g->clocks, node, b->records[i].time_ns);
	b->watermark_ns = clocks_map(g->clocks, node, b->watermark_ns);
	for (uint32_t i = 0; i < b->nlosses; i++) {
		b->losses[i].from_ns = clocks_near(g->clocks, node, b->losses[i].from_ns);
		b->losses[i].to_ns = clocks_near(g->clocks, node, b->losses[i].to_ns);
	}
}

int
engine_batch(struct engine *g, uint32_t node, const void *data, size_t len, struct mono now, struct err *e)
{
	int64_t oldest_ns = 0;
	struct batch b;
	int rc;

	arena_reset(&g->scratch);
	if ((rc = batch_decode(&b, &g->scratch, data, len, e)) == 0) {
		map_times(g, node, &b);
		rc = assemble_batch(g->assemble, node, &b, e);
	}
	if (rc == 0 && b.nrecords > 0)
		oldest_ns = b.records[0].time_ns;
	arena_reset(&g->scratch);
	if (rc != 0)
		return rc;
	g->nodes[node].heard = now;
	if (oldest_ns > 0 && now.ns > oldest_ns)
		sketch_add(&g->delay, now.ns - oldest_ns);
	return 0;
}

/* What was counted stays counted. */
static void
end_window(struct engine *g)
{
	struct report_counts n;

	report_counts(g->report, &n);
	g->windows.moved += n.moved;
	g->windows.pathless += n.pathless;
	g->windows.inexact += n.inexact;
}

/*
 * Every request is in it, also those of types under diagnosis: their paths by
 * always-on tracepoints alone, so that what a search turns on does not tear groups
 * apart.
 */
int
engine_report_reset(struct engine *g, struct wall when, struct err *e)
{
	struct report_options o = report_defaults();
	struct assemble_counts n;
	struct report *fresh;

	if (g->o.report_max_bytes == 0)
		return 0;
	o.conditions = g->o.conditions;
	o.groups_max = (uint32_t)g->o.groups_max;
	o.samples_max = (uint32_t)g->o.samples_max;
	o.memory_max_bytes = (size_t)g->o.report_max_bytes;
	o.types_max = TYPES_MAX;
	o.seed = g->o.seed;
	o.explain_min = g->o.explain_min;
	o.structure_only = true;
	o.ignore = g->rules.ignore;
	o.bins = g->rules.made;
	o.bin_rules = g->rules.bins;
	if ((fresh = report_new(&o, g->labels)) == NULL)
		return err_set(e, ERR_MEMORY, "no memory for a report");
	if (g->report != NULL)
		end_window(g);
	report_free(g->report);
	g->report = fresh;
	g->reported = when;
	assemble_counts(g->assemble, &n);
	g->reported_used = n.used;
	return 0;
}

struct space *
engine_space(struct engine *g)
{
	return g->space;
}

void
engine_space_use(struct engine *g, struct space *s)
{
	space_free(g->space);
	g->space = s;
	g->spaces++;
	g->taught = false;
	afford_forget(g);
}

uint64_t
engine_fingerprint(struct engine *g)
{
	if (g->fingerprint_of != g->programs) {
		g->fingerprint = nodes_fingerprint(g);
		g->fingerprint_of = g->programs;
	}
	return g->fingerprint;
}

bool
engine_stale(struct engine *g)
{
	uint64_t learned = space_version(g->space)->fingerprint;

	return learned != 0 && g->programs > 0 && learned != engine_fingerprint(g);
}

bool
engine_busy(const struct engine *g)
{
	bool busy = g->learning.active;

	for (uint32_t i = 0; i < g->ntypes; i++)
		busy |= g->types[i].diagnosis != NULL && g->types[i].diagnosis->phase != PHASE_ENDED;
	return busy;
}

struct labels *
engine_labels(struct engine *g)
{
	return g->labels;
}

bool
engine_quiet(const struct engine *g)
{
	return plan_count(g->plan) == 0 && nodes_done(g);
}

const char *
tracepoint_of(const struct engine *g, uint32_t label, char out[LABEL_TEXT_MAX + 1])
{
	const struct label *l = labels_get(g->labels, label);

	snprintf(out, LABEL_TEXT_MAX + 1, "%.*s", (int)l->event_len, l->event);
	return out;
}
