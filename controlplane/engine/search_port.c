/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The port through which searches see the engine: controlplane/search/port.h. */
#include "controlplane/engine/engine_inside.h"
#include "controlplane/engine/trace_age.h"

enum { MISTAKES_LOOKED_AT = 64, CAPTURED_MAX = 512 };

static struct engine_parts *
parts_of(void *owner)
{
	return &((struct engine *)owner)->parts;
}

static bool
port_confirmed(void *owner)
{
	return nodes_confirmed(&parts_of(owner)->nodes, parts_of(owner)->plan);
}

static bool
port_began_after(void *owner, const struct trace *t, int64_t time_ns)
{
	return trace_began_after(parts_of(owner)->clocks, t, time_ns);
}

static bool
port_affordable(void *owner, uint32_t type, uint32_t label)
{
	return overhead_fits(parts_of(owner)->overhead, type, label);
}

static bool
port_affordable_unknown(void *owner, uint32_t type, const char *name)
{
	return overhead_fits_unknown(parts_of(owner)->overhead, type, name);
}

static bool
port_affordable_below(void *owner, uint32_t type, const char *service)
{
	return overhead_fits_below(parts_of(owner)->overhead, type, service);
}

static int
port_enabled(void *owner, const char *name, struct err *e)
{
	return overhead_enabled(parts_of(owner)->overhead, name, e);
}

static bool
port_over_budget(void *owner, uint32_t type)
{
	return overhead_exceeded(parts_of(owner)->overhead, type);
}

static bool
port_costs_measured(void *owner)
{
	return overhead_measured(parts_of(owner)->overhead);
}

static bool
port_any_fresh(void *owner)
{
	const struct request_types *types = &parts_of(owner)->types;

	for (uint32_t i = 0; i < types->n; i++)
		if (types->items[i].diagnosis != NULL &&
		    diagnosis_has_fresh(types->items[i].diagnosis))
			return true;
	return false;
}

static const struct programs *
port_programs(void *owner, uint32_t node)
{
	const struct nodes *nodes = &parts_of(owner)->nodes;

	return node < nodes->n ? &nodes->items[node].programs : NULL;
}

/* A node that has not listed its tracepoints yet counts as having it. O(nodes). */
static bool
port_retired(void *owner, const char *name)
{
	const struct nodes *nodes = &parts_of(owner)->nodes;

	for (uint32_t i = 0; i < nodes->n; i++) {
		const struct node *n = &nodes->items[i];

		if (n->connected && (!n->listed || node_has_tracepoint(n, name)))
			return false;
	}
	return true;
}

static void
port_audit(void *owner, const struct audit *own)
{
	forest_audit_own(((struct engine *)owner)->forest, own);
}

static bool
port_mistaken(void *owner, uint32_t type, const uint32_t *path, uint32_t n, uint32_t from,
    struct mono since, struct mono now, struct mistake *ret)
{
	const struct mistake_limits limits = mistake_defaults();
	struct engine_parts *p = parts_of(owner);
	struct place_table facts = { 0 };
	struct mistake found[MISTAKES_LOOKED_AT];
	bool concerns = false;
	uint32_t count = 0;

	if (instrumentation_facts(
		&facts, &p->instrumentation, p->assemble, &p->types, p->labels, since, now))
		count = mistakes_find(found, MISTAKES_LOOKED_AT, &facts, p->labels, NULL, &limits);
	for (uint32_t i = 0; i < count && !concerns; i++)
		if ((concerns = mistake_concerns(&found[i], type, path, n, from)))
			*ret = found[i];
	place_table_release(&facts);
	return concerns;
}

static bool
port_below(void *owner, const char *service, char missing[BELOW_WHY_MAX + 1])
{
	return nodes_below(&parts_of(owner)->nodes, service, missing);
}

static enum company_state
port_company(void *owner, struct mono *since)
{
	const struct engine_parts *p = parts_of(owner);

	*since = p->company.since;
	return company_state(&p->company, p->history, &p->types, p->sampler);
}

static void
port_look_below(void *owner, const char *service, bool before, bool on)
{
	below_asked_set(&parts_of(owner)->below, service, before, on);
	nodes_changed(&parts_of(owner)->nodes);
}

/* Recorders are on some seconds after they are asked for, if they can be. */
#define ABOUT_TO_NS INT64_C(15000000000)

static bool
port_capturing(void *owner, uint32_t type, bool *on)
{
	const struct engine *g = owner;
	const struct capture *x = captures_active(&g->parts.captures, type);

	*on = x != NULL && x->ready.ns != 0;
	return x != NULL &&
	       (x->ready.ns != 0 || mono_since_ns(g->port.now, x->begun) < ABOUT_TO_NS);
}

static bool
port_capture(void *owner, uint32_t type, int64_t over_ns)
{
	struct engine *g = owner;
	const struct capture_options o = { .over_ns = over_ns,
		.count = CAPTURE_DIAGNOSIS,
		.for_ns = CAPTURE_DIAGNOSIS_NS,
		.diagnosis = true };
	struct err e;
	uint64_t id;
	int rc = captures_begin(&g->parts.captures, type, &o, g->port.now, &id, &e);

	return rc == 0 || rc == ERR_BUSY; /* a user captures them */
}

static void
port_captured_enough(void *owner, uint32_t type)
{
	captures_stop_diagnosis(&parts_of(owner)->captures, type);
}

static uint32_t
port_captured(void *owner, uint32_t type, struct captured_request *list, uint32_t max)
{
	const struct captured *all[CAPTURED_MAX];
	uint32_t n = captures_list(
	    &parts_of(owner)->captures, type, all, max < CAPTURED_MAX ? max : CAPTURED_MAX);

	for (uint32_t i = 0; i < n; i++)
		list[i] = (struct captured_request){ .trace = all[i]->trace,
			.at_ns = all[i]->at.ns,
			.usual = all[i]->usual,
			.whole = all[i]->whole_at.ns != 0,
			.lacks = captured_lacks(all[i]),
			.recorded = captured_unrecorded(all[i]) };
	return n;
}

static void
port_ended(void *owner, struct wall when)
{
	struct engine_parts *p = parts_of(owner);

	if (!request_types_diagnosed(&p->types)) {
		thread_history_free(p->history);
		p->history = NULL;
		((struct engine *)owner)->port.history = NULL;
	}
	learned_space_diagnosed(&p->learned, &p->nodes, &((struct engine *)owner)->preload, when);
	nodes_changed(&p->nodes);
}

static const struct search_calls CALLS = {
	.confirmed = port_confirmed,
	.began_after = port_began_after,
	.affordable = port_affordable,
	.affordable_unknown = port_affordable_unknown,
	.affordable_below = port_affordable_below,
	.enabled = port_enabled,
	.over_budget = port_over_budget,
	.costs_measured = port_costs_measured,
	.any_fresh = port_any_fresh,
	.programs = port_programs,
	.retired = port_retired,
	.audit = port_audit,
	.mistaken = port_mistaken,
	.below = port_below,
	.company = port_company,
	.look_below = port_look_below,
	.capture = port_capture,
	.capturing = port_capturing,
	.captured_enough = port_captured_enough,
	.captured = port_captured,
	.ended = port_ended,
};

static struct search_settings
settings_of(const struct engine_options *o)
{
	return (struct search_settings){
		.conditions = o->conditions,
		.groups_max = o->groups_max,
		.samples_max = o->samples_max,
		.memory_max_bytes = o->memory_max_bytes,
		.searches_max = o->searches_max,
		.isolate_min = o->isolate_min,
		.explain_min = o->explain_min,
		.withdraw_ns = o->withdraw_ns,
		.cycle_max_ns = o->cycle_max_ns,
		.outlier_wait_ns = o->outlier_wait_ns,
		.functions = o->functions,
	};
}

struct search_port *
engine_search_port(struct engine *g)
{
	struct engine_parts *p = &g->parts;

	g->port = (struct search_port){
		.calls = &CALLS,
		.owner = g,
		.labels = p->labels,
		.forest = g->forest,
		.plan = p->plan,
		.space = p->learned.space,
		.preload = &g->preload,
		.node_names = p->nodes.names,
		.scratch = &g->scratch,
		.counts = &p->diagnosed,
		.history = p->history,
		.settings = settings_of(&p->options),
		.ignore = g->rules.ignore,
		.bins = g->rules.made,
		.paused = p->queues.paused,
		.backing_off = p->queues.backing_off,
		.paused_since = p->queues.paused_since,
		.pause = p->queues.pause,
		.shed = p->queues.shed,
		.shed_by = p->queues.shed_by,
	};
	return &g->port;
}
