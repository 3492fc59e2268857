/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The port through which searches see the engine: controlplane/search/port.h. */
#include <string.h>

#include "controlplane/engine/engine_inside.h"
#include "controlplane/engine/overhead.h"
#include "base/texts.h"

static bool
port_confirmed(void *owner)
{
	return nodes_done(owner);
}

static bool
port_began_after(void *owner, const struct trace *t, int64_t time_ns)
{
	return began_after(owner, t, time_ns);
}

static bool
port_affordable(void *owner, uint32_t type, uint32_t label)
{
	return afford(owner, type, label);
}

static bool
port_affordable_unknown(void *owner, uint32_t type, const char *name)
{
	return afford_unknown(owner, type, name);
}

static int
port_enabled(void *owner, const char *name, struct err *e)
{
	return afford_on(owner, name, e);
}

static bool
port_over_budget(void *owner, uint32_t type)
{
	return afford_over(owner, type);
}

static bool
port_costs_measured(void *owner)
{
	return afford_measured(owner);
}

static bool
port_any_fresh(void *owner)
{
	const struct engine *g = owner;

	for (uint32_t i = 0; i < g->ntypes; i++)
		if (g->types[i].diagnosis != NULL && diagnosis_has_fresh(g->types[i].diagnosis))
			return true;
	return false;
}

static const struct programs *
port_programs(void *owner, uint32_t node)
{
	const struct engine *g = owner;

	return node < g->nnodes ? &g->nodes[node].programs : NULL;
}

/* A node that has not listed its tracepoints yet counts as having it. O(nodes). */
static bool
port_retired(void *owner, const char *name)
{
	const struct engine *g = owner;

	for (uint32_t i = 0; i < g->nnodes; i++) {
		const struct node *n = &g->nodes[i];

		if (n->connected &&
		    (n->names == NULL || texts_find(n->names, name, strlen(name)) != UINT32_MAX))
			return false;
	}
	return true;
}

static void
port_audit(
    void *owner, const char *by, const char *did, uint64_t run, const char *why, struct wall when)
{
	forest_audit_own(((struct engine *)owner)->forest, by, did, run, why, when);
}

static void
port_ended(void *owner, struct wall when)
{
	learn_keep(owner, when);
	nodes_changed(owner);
}

static const struct search_calls CALLS = {
	.confirmed = port_confirmed,
	.began_after = port_began_after,
	.affordable = port_affordable,
	.affordable_unknown = port_affordable_unknown,
	.enabled = port_enabled,
	.over_budget = port_over_budget,
	.costs_measured = port_costs_measured,
	.any_fresh = port_any_fresh,
	.programs = port_programs,
	.retired = port_retired,
	.audit = port_audit,
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
	};
}

struct search_port *
engine_search_port(struct engine *g)
{
	g->port = (struct search_port){
		.calls = &CALLS,
		.owner = g,
		.labels = g->labels,
		.forest = g->forest,
		.plan = g->plan,
		.space = g->space,
		.preload = &g->preload,
		.node_names = g->node_names,
		.scratch = &g->scratch,
		.counts = &g->diagnosed,
		.settings = settings_of(&g->o),
		.ignore = g->rules.ignore,
		.bins = g->rules.made,
		.paused = g->paused,
		.backing_off = g->rest,
		.paused_since = g->paused_since,
		.paused_why = g->paused_why,
		.shed_why = g->shed_why,
	};
	return &g->port;
}
