/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/engine/desired_state.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/hash.h"

double
desired_sampled(const struct desired_facts *f, const struct request_type *type)
{
	return f->learning ? 1 : sampler_share(f->sampler, type->index);
}

/* Programs that run on the node. */
static void
ask_below(const struct node *n, const struct below_asked *b, struct want *w, struct arena *a)
{
	if ((w->below = arena_calloc(a, b->n + 1, sizeof *w->below)) == NULL)
		return;
	for (uint32_t i = 0; i < b->n && !n->backing_off; i++) {
		const char *service = b->items[i].service;

		if (node_has_program(n, service) &&
		    (w->below[w->nbelow] = arena_text(a, service, strlen(service))) != NULL)
			w->before |= (uint64_t)(b->items[i].before > 0) << w->nbelow++;
	}
}

static void
want_recorder(const struct node *n, uint32_t index, const struct recorder_plan *p, struct want *w,
    struct arena *a)
{
	const struct recorder_node *r = &p->items[index];

	if (!p->on || index >= p->n || n->backing_off ||
	    (w->recorder = arena_calloc(a, r->n + 1, sizeof *w->recorder)) == NULL)
		return;
	for (uint32_t i = 0; i < r->n; i++)
		if ((w->recorder[w->nrecorder] = arena_text(a, r->names[i], strlen(r->names[i]))) !=
		    NULL)
			w->nrecorder++;
}

/* Those of the plan are for probed requests; if their log level has them on, too, for all sampled ones, which are more. */
static void
want_toggles(const struct node *n, const struct level_choice *levels, const struct plan *plan,
    struct want *w, struct arena *a)
{
	uint32_t count = plan_count(plan);

	for (uint32_t i = 0; i < count && w->ntoggles < TOGGLES_MAX; i++) {
		uint64_t owner;
		const char *name = plan_at(plan, i, &owner);

		if (node_has_tracepoint(n, name))
			w->toggles[w->ntoggles++] = (struct toggle){
				arena_text(a, name, strlen(name)), level_choice_names(levels, name)
			};
	}
	for (uint32_t i = 0; i < levels->n && w->ntoggles < TOGGLES_MAX; i++)
		if (!plan_wants(plan, levels->names[i]))
			w->toggles[w->ntoggles++] = (struct toggle){
				arena_text(a, levels->names[i], strlen(levels->names[i])), true
			};
}

/*
 * What a change costs: each new name is a round trip of the tracer with every program of the node,
 * and a rule that stays until the session ends (LTTng can disable a rule, not remove it), which
 * every later change and every program that starts has to evaluate. So names keep their spelling,
 * rates change in steps, and a wildcard stands for a whole provider. Rates alone cost a write to
 * shared memory.
 */
static void
make(const struct node *n, uint32_t index, const struct desired_facts *f, struct want *w,
    struct arena *a)
{
	struct level_choice levels = levels_of(f->levels, index);

	*w = (struct want){ .lease_ms = f->lease_ns / 1000000,
		.sampled = f->sampled,
		.overrun = !f->learning && sampler_overrun(f->sampler, index) };
	w->toggles = arena_calloc(
	    a, (size_t)plan_count(f->plan) + levels.n + 1, sizeof *w->toggles);
	if (w->toggles == NULL)
		return;
	ask_below(n, f->below, w, a);
	want_recorder(n, index, f->recorder, w, a);
	if (!n->backing_off)
		want_toggles(n, &levels, f->plan, w, a);
}

static void
make_rates(struct want_rates *r, bool backing_off, const struct desired_facts *f)
{
	if ((r->rates = arena_calloc(&r->arena, f->types->n + 1, sizeof *r->rates)) == NULL)
		return;
	for (uint32_t i = 0; i < f->types->n && r->n < RATES_MAX; i++) {
		const struct request_type *type = &f->types->items[i];
		double sampled = desired_sampled(f, type), probed = 0;
		bool is_probed = request_type_diagnosed(type) || f->learning;
		const char *name;

		if (!is_probed && sampled == f->sampled)
			continue;
		if (is_probed && !backing_off)
			probed = fmin(overhead_probed(f->overhead, type), sampled);
		if ((name = arena_text(&r->arena, type->name, strlen(type->name))) == NULL)
			return;
		r->rates[r->n++] = (struct rate){
			.request_type = name,
			.sampled = sampled,
			.probed = probed,
		};
		r->hash = hash_bytes(r->hash, name, strlen(name) + 1);
		r->hash = hash_bytes(
		    r->hash, (const double[]){ sampled, probed }, 2 * sizeof(double));
	}
}

/* The rates of this revision, which the first node makes for all. NULL: out of memory. */
static struct want_rates *
rates_of(struct nodes *nodes, bool backing_off, uint64_t revision, const struct desired_facts *f)
{
	struct want_rates **latest = &nodes->rates[backing_off], *fresh;

	if (*latest != NULL && (*latest)->revision == revision)
		return *latest;
	if ((fresh = calloc(1, sizeof *fresh)) == NULL)
		return NULL;
	fresh->refs = 1;
	fresh->revision = revision;
	make_rates(fresh, backing_off, f);
	want_rates_unref(*latest);
	return *latest = fresh;
}

/* Of all but the epoch and the rates, which have a hash of their own. */
static uint64_t
content_hash(const struct want *w, uint64_t rates_hash)
{
	struct want plain = *w;
	struct buf b = { 0 };
	uint64_t hash;

	plain.epoch = 0;
	plain.nrates = 0;
	want_encode(&plain, &b);
	hash = hash_bytes(rates_hash, b.data, b.len);
	buf_release(&b);
	return hash;
}

const struct want *
desired_state(struct nodes *nodes, uint32_t node, const struct desired_facts *f)
{
	struct node *n = &nodes->items[node];
	uint64_t revision = nodes_revision(nodes, f->plan), hash;
	struct arena fresh = { 0 };
	struct want_rates *rates;
	struct want w;

	assert(node < nodes->n);
	if (n->want_revision == revision && n->want.epoch != 0)
		return &n->want;
	make(n, node, f, &w, &fresh);
	if ((rates = rates_of(nodes, n->backing_off, revision, f)) != NULL) {
		rates->refs++;
		w.nrates = rates->n;
		w.rates = rates->rates;
	}
	hash = content_hash(&w, rates != NULL ? rates->hash : 0);
	/* The first epoch is above any that an earlier controller gave: those count up from an
	 * earlier time. */
	w.epoch = n->want.epoch == 0 ? (uint64_t)n->heard.ns
	                             : n->want.epoch + (hash != n->want_hash);
	arena_release(&n->want_arena);
	n->want_arena = fresh;
	want_rates_unref(n->want_rates);
	n->want_rates = rates;
	n->want = w;
	n->want_hash = hash;
	n->maybe_on |= w.ntoggles > 0;
	n->want_revision = revision;
	return &n->want;
}
