/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/engine/recorder_plan.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/texts.h"

/* What is measured may exceed the share by this before the plan is made again, and the measure has to be so old. */
#define OVER 1.25
#define SETTLED_NS INT64_C(3000000000)

struct provider {
	uint32_t name; /* in the texts */
	uint32_t tracepoints;
	bool preload;
	double per_second; /* records */
};

void
recorder_plan_release(struct recorder_plan *p)
{
	for (uint32_t i = 0; i < p->n; i++)
		arena_release(&p->items[i].arena);
	p->n = 0;
}

/* ---- one node ---- */

static bool
is_recorded(const char *name)
{
	return strncmp(name, "hone:", 5) != 0 && strncmp(name, "lttng_ust_tracef:", 17) != 0 &&
	       strchr(name, ':') != NULL && !below_is_probe(name);
}

/* The providers of the node's tracepoints; *n of them. NULL: out of memory, or none. */
static struct provider *
list_providers(
    const struct recorder_facts *f, const struct node *node, struct texts *names, uint32_t *n)
{
	struct provider *list = calloc(node->programs.nnames + 1, sizeof *list);

	*n = 0;
	for (uint32_t i = 0; list != NULL && i < node->programs.nnames; i++) {
		const char *name = node->programs.names[i];
		uint32_t id;

		if (!is_recorded(name) ||
		    (id = texts_intern(names, name, strcspn(name, ":"))) == UINT32_MAX)
			continue;
		if (id == *n)
			list[(*n)++] = (struct provider){ .name = id,
				.preload = f->preload != NULL && preload_is(f->preload, name) };
		list[id].tracepoints++;
	}
	return list;
}

static bool
node_has_service(const struct node *n, const struct label *l)
{
	for (uint32_t i = 0; i < n->programs.nprograms; i++)
		if (label_of_service(l, n->programs.programs[i].service))
			return true;
	return false;
}

/* Adds what requests of the type write on the node. */
static void
add_type(const struct recorder_facts *f, const struct node *node, const struct request_type *type,
    const struct texts *names, struct provider *list, uint32_t n)
{
	/* Of a type that is captured the share rises after the plan is made. */
	double requests = type->offered *
	                  (type->captured ? 1 : sampler_share(f->sampler, type->index));
	struct space_export x;

	if (!space_export(f->space, type->label, &x) || x.traces == 0) {
		for (uint32_t i = 0; i < n; i++)
			list[i].per_second += requests * list[i].tracepoints *
			                      (list[i].preload ? OVERHEAD_PRELOAD_PASSES
							       : OVERHEAD_PASSES);
		return;
	}
	for (uint32_t i = 0; i < x.nplaces; i++) {
		const struct label *l = labels_get(f->labels, x.places[i].label);
		uint32_t id;

		if (l->kind != RECORD_POINT || !node_has_service(node, l) ||
		    (id = texts_find(names, l->event, strcspn(l->event, ":"))) >= n)
			continue;
		list[id].per_second += requests * (double)x.places[i].count / (double)x.traces;
	}
}

static int
by_cost(const void *a, const void *b)
{
	const struct provider *x = a, *y = b;

	if (x->per_second != y->per_second)
		return x->per_second < y->per_second ? -1 : 1;
	return x->name < y->name ? -1 : x->name > y->name;
}

static void
choose(struct recorder_node *r, const struct texts *names, const struct provider *list, uint32_t n,
    double record_ns, double share)
{
	double scale = fmax(r->scale, 1);

	r->names = arena_calloc(&r->arena, n + 1, sizeof *r->names);
	for (uint32_t i = 0; r->names != NULL && i < n; i++) {
		double cost = list[i].per_second * record_ns * scale / 1e9;
		char name[TOGGLE_NAME_MAX + 1];
		int len = snprintf(name, sizeof name, "%s:*", texts_get(names, list[i].name));

		if (r->predicted + cost > share || r->n == WANT_RECORDER_MAX ||
		    len >= (int)sizeof name ||
		    (r->names[r->n] = arena_text(&r->arena, name, (size_t)len)) == NULL) {
			r->left_out++;
			continue;
		}
		r->predicted += cost;
		r->n++;
	}
}

static void
plan_node(struct recorder_node *r, const struct recorder_facts *f, uint32_t node, struct mono now)
{
	struct texts *names = texts_new();
	const struct node *n = &f->nodes->items[node];
	struct provider *list = NULL;
	uint32_t count = 0;
	bool assumed;

	arena_release(&r->arena);
	r->names = NULL;
	r->n = r->left_out = 0;
	r->predicted = 0;
	r->made = now;
	r->programs = n->programs_at;
	if (names != NULL && n->connected && (list = list_providers(f, n, names, &count)) != NULL) {
		for (uint32_t i = 0; i < f->types->n; i++)
			add_type(f, n, &f->types->items[i], names, list, count);
		qsort(list, count, sizeof *list, by_cost);
		choose(r, names, list, count, overhead_record_ns(f->overhead, node, &assumed),
		    f->share);
	}
	free(list);
	texts_free(names);
}

/* ---- all nodes ---- */

double
recorder_measured(const struct node *n, double record_ns)
{
	double seconds = (double)mono_since_ns(n->status_at, n->before_at) / 1e9;

	if (seconds <= 0 || n->status.recorder_records < n->before.recorder_records)
		return 0;
	return (double)(n->status.recorder_records - n->before.recorder_records) / seconds *
	       record_ns / 1e9;
}

double
recorder_horizon_s(const struct node *n)
{
	double seconds = (double)mono_since_ns(n->status_at, n->before_at) / 1e9;
	uint64_t written = n->status.recorder_written - n->before.recorder_written;

	if (n->status.recorder == 0)
		return NAN;
	if (seconds <= 0 || n->status.recorder_written <= n->before.recorder_written)
		return INFINITY;
	return (double)n->status.recorder_bytes / ((double)written / seconds);
}

/* Scales the costs of a node whose recorder takes more than the share. True: it did. */
static bool
scale_up(struct recorder_node *r, const struct recorder_facts *f, uint32_t node, struct mono now)
{
	const struct node *n = &f->nodes->items[node];
	bool assumed;
	double measured = recorder_measured(n, overhead_record_ns(f->overhead, node, &assumed));

	if (r->n == 0 || measured <= OVER * f->share || mono_since_ns(now, r->made) < SETTLED_NS ||
	    n->before_at.ns < r->made.ns)
		return false;
	r->scale = fmax(r->scale, 1) * fmax(1.5, r->predicted > 0 ? measured / r->predicted : 1.5);
	return true;
}

/* What was left out may fit by now. True: it is time to look. */
static bool
relax(struct recorder_node *r, struct mono now)
{
	if (mono_since_ns(now, r->made) < RECORDER_RELAX_NS)
		return false;
	r->scale = fmax(1, r->scale / 2);
	return true;
}

bool
recorder_plan_step(
    struct recorder_plan *p, bool on, const struct recorder_facts *f, struct mono now)
{
	uint64_t captured = 0;
	bool all, changed;

	for (uint32_t i = 0; i < f->types->n; i++)
		if (f->types->items[i].captured)
			captured = hash_bytes(captured + 1, &i, sizeof i);
	/* Where none is any more, answers are still to come: the rules stay. */
	all = on && (!p->on || (captured != 0 && p->captured != captured));
	changed = all || on != p->on;

	if (!p->on && on)
		for (uint32_t i = 0; i < p->n; i++)
			p->items[i].scale = 1;
	p->on = on;
	if (!on)
		return changed;
	p->n = f->nodes->n;
	for (uint32_t i = 0; i < p->n; i++)
		if (all || p->items[i].programs != f->nodes->items[i].programs_at ||
		    scale_up(&p->items[i], f, i, now) || relax(&p->items[i], now)) {
			plan_node(&p->items[i], f, i, now);
			changed = true;
		}
	p->captured = captured;
	return changed;
}

bool
recorder_plan_ready(const struct recorder_plan *p, const struct nodes *nodes)
{
	bool any = false;

	for (uint32_t i = 0; i < p->n && p->on; i++) {
		const struct node *n = &nodes->items[i];

		if (!n->connected || p->items[i].n == 0)
			continue;
		if (n->status.recorder == 0 &&
		    (n->status.recorder_missing == NULL || n->status.recorder_missing[0] == '\0'))
			return false;
		any = true;
	}
	return any;
}
