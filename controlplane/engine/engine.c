/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/engine/engine.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controlplane/engine/overhead.h"
#include "controlplane/engine/engine_inside.h"

#define CHANCE 5.0      /* standard deviations of a count: once in hours, looked at every second */
#define OFFERED_NEW 0.2 /* what one second weighs beside those before */

static int take_trace(struct engine *g, struct trace *t, struct mono now, struct err *e);
static struct type *type_for(struct engine *g, uint32_t label);

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
	if ((rc = rules_init(&g->rules, o->ignore, o->bins, o->deep, e)) != 0) {
		engine_free(g);
		return rc;
	}
	g->o = *o;
	g->o.searches_max = o->searches_max > 0 ? o->searches_max : 3;
	g->o.effort_cycles = o->effort_cycles > 0 ? o->effort_cycles : 64;
	g->o.budget_share = o->budget_share > 0 ? o->budget_share : 0.01;
	g->o.learn_share = o->learn_share > 0 ? o->learn_share : 0.05;
	g->o.shed_ns = o->shed_ns > 0 ? o->shed_ns : 10000000000;
	g->forest = f;
	g->labels = labels_new();
	preload_init(&g->preload, g->rules.deep, g->labels);
	g->plan = plan_new();
	g->afford = afford_new(&g->o);
	g->sampler = sampler_new(
	    &(struct sampler_options){ o->idle_share, (double)o->network_max });
	g->space = g->labels != NULL ? space_new(g->labels) : NULL;
	if (g->labels == NULL || g->plan == NULL || g->space == NULL || g->afford == NULL ||
	    g->sampler == NULL || assemble_new(&g->assemble, &ao, g->labels, e) != 0 ||
	    clocks_new(&g->clocks, e) != 0 || engine_report_reset(g, (struct wall){ 0 }, e) != 0) {
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
	preload_release(&g->preload);
	space_free(g->space);
	plan_free(g->plan);
	afford_free(g->afford);
	sampler_free(g->sampler);
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
	queues_watch(g, now);
	while (rc == 0 && (t = assemble_next(g->assemble)) != NULL) {
		rc = take_trace(g, t, now, e);
		trace_free(t);
	}
	if (rc == 0)
		rc = learn_step(g, now, when, e);
	for (uint32_t i = 0; i < g->ntypes && rc == 0; i++) {
		struct diagnosis *d = g->types[i].diagnosis;

		if (d != NULL && d->phase != PHASE_ENDED)
			rc = diagnose_step(engine_search_port(g), d, now, when, e);
		arena_reset(&g->scratch);
	}
	if (rc == 0)
		rc = nodes_sample(g, now, e);
	return rc != 0 ? rc : afford_step(g, now, e);
}

/* Of few that are sampled one second has half as many and the next twice as many: what chance
 * explains moves it a little, what it does not explain is another load, and taken at once. */
static void
offered_take(struct type *type, double sampled, double seconds)
{
	double expected = type->offered * sampled * seconds, came = (double)type->window_traces;

	if (type->offered == 0 || fabs(came - expected) > CHANCE * sqrt(expected + 1))
		type->offered = came / seconds / sampled;
	else
		type->offered += OFFERED_NEW * (came / seconds / sampled - type->offered);
}

/* Where another share was sampled meanwhile, what was offered cannot be told: it is as it was. */
static void
window_end(struct engine *g, struct type *type, struct mono now)
{
	double sampled = nodes_sampled(g, type),
	       seconds = (double)mono_since_ns(now, type->window) / 1e9;

	type->per_second = (double)type->window_traces / seconds;
	if (sampled > 0 && (sampled == type->window_sampled || type->offered == 0))
		offered_take(type, sampled, seconds);
	type->window_sampled = sampled;
	type->window_traces = 0;
	type->window = now;
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
	t->lossy |= !clocks_trace(g->clocks, t, g->labels); /* no evidence either */
	type->traces++;
	type->window_traces++;
	if (mono_since_ns(now, type->window) >= 1000000000)
		window_end(g, type, now);
	moments_add(&type->total, (double)took_ns);
	sketch_add(type->sketch, took_ns);
	if (g->report != NULL)
		rc = report_add(g->report, t, g->node_names, e);
	if (rc == 0)
		rc = afford_trace(g, type, t, e);
	if (rc == 0)
		rc = nodes_trace(g, type, t, e);
	if (rc == 0 && g->learning.active)
		rc = learn_trace(g, t, e);
	if (rc == 0 && type->diagnosis != NULL && type->diagnosis->phase != PHASE_ENDED) {
		if (!g->learning.active)
			rc = learn_new(g, type, t, diagnosis_explores(type->diagnosis), e);
		if (rc == 0)
			rc = diagnose_trace(engine_search_port(g), type->diagnosis, t, e);
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
	if (type->name == NULL || type->sketch == NULL ||
	    !map_put(&g->type_of, (uint64_t)label + 1, type)) {
		free(type->name);
		free(type->sketch);
		return NULL;
	}
	g->ntypes++;
	nodes_changed(g); /* while we learn, it is to be probed as well */
	return type;
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
				strncmp(l->text, name, l->service_len) == 0 &&
				strcmp(slash + 1, t->name) == 0);

		if (same && found != NULL)
			return err_set(e, ERR_INPUT,
			    "%s: several services have this request type; say %.*s/%s", name,
			    (int)l->service_len, l->text, t->name);
		if (same)
			found = t;
		if (len < sizeof seen - 1)
			len += (size_t)snprintf(
			    seen + len, sizeof seen - len, "%s%s", len > 0 ? ", " : "", t->name);
	}
	*ret = found;
	if (found != NULL)
		return 0;
	if (g->ntypes == 0)
		return err_set(e, ERR_MISSING,
		    "%s: no request of any type has been seen yet; is the application "
		    "instrumented with libhone, and under load? See 'hone agents'",
		    name);
	return err_set(
	    e, ERR_MISSING, "%s: no request of this type has been seen; seen: %s", name, seen);
}

/* What a diagnosis needs: agents, a strategy, requests of the type, none of it under way. */
static int
may_start(struct engine *g, const char *name, const char *strategy_name, struct type **type,
    const struct strategy **strategy, struct err *e)
{
	uint32_t agents = 0;
	int rc;

	for (uint32_t i = 0; i < g->nnodes; i++)
		agents += g->nodes[i].connected;
	if (agents == 0)
		return err_set(
		    e, ERR_MISSING, "no agent is connected; start hone-agent on each node");
	if ((*strategy = strategy_find(strategy_name != NULL ? strategy_name : "flat")) == NULL)
		return err_set(e, ERR_INPUT, "%s: no such strategy", strategy_name);
	if ((rc = engine_type(g, name, type, e)) != 0)
		return rc;
	if ((*type)->diagnosis != NULL && (*type)->diagnosis->phase != PHASE_ENDED)
		return err_set(e, ERR_BUSY,
		    "%s: is under diagnosis already (run %llu); 'hone stop %s' ends it", name,
		    (unsigned long long)(*type)->diagnosis->run->id, (*type)->name);
	return 0;
}

static int
run_begin(struct engine *g, const struct type *type, struct diagnosis *d, int64_t effort_cycles,
    struct wall when)
{
	struct space_stats learned;
	bool explores = !space_stats(g->space, type->label, &learned) || learned.traces == 0;
	struct run *run = d->run;

	run->effort = (uint32_t)(effort_cycles > 0 ? effort_cycles : g->o.effort_cycles);
	run->seed = d->seed;
	run->state = RUN_ACTIVE;
	run->begun = when;
	run->tracepoints_all = nodes_tracepoints(g, true);
	if (!hypothesis_text(&run->strategy, d->strategy->name) ||
	    !hypothesis_text(&run->version, space_version(g->space)->name) ||
	    !hypothesis_text(&run->words,
		explores
		    ? "nothing has been learned of it: what is inside an edge is explored first; "
		      "after 'hone learn' fewer tracepoints would do"
		    : ""))
		return ERR_MEMORY;
	forest_touch_run(g->forest, run);
	return 0;
}

int
engine_start(struct engine *g, const char *name, const struct start_options *o, struct mono now,
    struct wall when, uint64_t *run, struct err *e)
{
	const struct strategy *strategy = NULL;
	struct diagnosis *d;
	struct type *type = NULL;
	int rc = may_start(g, name, o->strategy, &type, &strategy, e);

	if (rc != 0)
		return rc;
	if ((d = calloc(1, sizeof *d)) == NULL ||
	    (d->run = forest_run_new(g->forest, type->name)) == NULL) {
		free(d);
		return err_set(e, ERR_MEMORY, "%s: out of memory", name);
	}
	diagnosis_free(type->diagnosis);
	type->diagnosis = d;
	d->type = type->label;
	d->strategy = strategy;
	d->k = (uint32_t)(o->tracepoints_per_cycle > 0 ? o->tracepoints_per_cycle
						       : g->o.tracepoints_per_cycle);
	d->seed = o->seed != 0 ? o->seed : g->o.seed;
	d->begun = d->checked = d->ready = now;
	d->phase = PHASE_WATCH;
	if (run_begin(g, type, d, o->effort_cycles, when) != 0)
		return err_set(e, ERR_MEMORY, "%s: out of memory", name);
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
		diagnose_end(engine_search_port(g), d, RUN_STOPPED, "stopped by an operator", when);
		any = true;
	}
	if (any)
		return 0;
	return err_set(e, ERR_MISSING,
	    name != NULL ? "%s: is not under diagnosis" : "nothing runs%s",
	    name != NULL ? name : "");
}

/* All times in the batch by our clock: records in their order, then the watermark, which is true of
 * them. */
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
engine_batch(
    struct engine *g, uint32_t node, const void *data, size_t len, struct mono now, struct err *e)
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
		busy |= g->types[i].diagnosis != NULL &&
		        g->types[i].diagnosis->phase != PHASE_ENDED;
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
