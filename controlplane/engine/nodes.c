/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Agents: what they say of their nodes, and what we want of them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controlplane/engine/overhead.h"
#include "controlplane/engine/engine_inside.h"
#include "base/texts.h"

/* Of what a record costs, where there is no filter to reject it: so little that nothing is gained,
 * and not 0, so that who is over its budget has a share that falls. */
#define MAPPED_SAVES 0.01
#define FAR_OFF 2.0 /* shares that differ by this factor */

static int programs_keep(struct node *n, const struct programs *p, struct err *e);
static bool names_add(struct texts *names, const char *name);
static void want_make(struct engine *g, struct node *n, struct want *w, struct arena *a);
static uint64_t want_content(const struct want *w);

int
engine_join(struct engine *g, const char *name, const char *version, struct mono now,
    uint32_t *node, struct err *e)
{
	uint32_t i;
	struct node *n;
	int rc;

	for (i = 0; i < g->nnodes && strcmp(g->nodes[i].name, name) != 0; i++)
		;
	if (i == NODES_MAX)
		return err_set(e, ERR_FULL, "%s: %d nodes are the most that one controller takes",
		    name, NODES_MAX);
	if ((rc = assemble_join(g->assemble, i, e)) != 0 ||
	    (rc = clocks_reset(g->clocks, i, e)) != 0)
		return rc;
	n = &g->nodes[i];
	if (i == g->nnodes) {
		snprintf(n->name, sizeof n->name, "%s", name);
		g->node_names[i] = n->name;
		g->nnodes++;
	}
	snprintf(n->version, sizeof n->version, "%s", version);
	n->connected = true;
	n->heard = now;
	n->done_epoch = 0; /* whoever it is now has to say anew what holds */
	n->status = n->before = (struct status){ .tracer_ok = true, .trouble = "" };
	n->status_at = n->before_at = now;
	n->want_made_of = 0;
	nodes_changed(g);
	if ((rc = afford_node(g, i, 0, 0, e)) != 0)
		return rc;
	*node = i;
	return 0;
}

/* A clock that jumped: what is mapped already and what will be do not fit together. */
static void
clock_anew(struct engine *g, uint32_t node)
{
	if (!g->nodes[node].connected)
		return;
	assemble_leave(g->assemble, node);
	assemble_join(g->assemble, node, NULL); /* it was there: no memory is needed */
}

bool
engine_clock(struct engine *g, uint32_t node, const struct clock_echo *answer, int64_t clock_ns,
    struct mono at)
{
	struct clock_sample s = { INT64_MIN, at.ns, clock_ns, clock_ns };

	if (answer != NULL)
		s = (struct clock_sample){ answer->asked_ns, at.ns, answer->came_ns,
			answer->went_ns };
	g->nodes[node].heard = at;
	if (!clocks_sample(g->clocks, node, &s))
		return false;
	clock_anew(g, node);
	return true;
}

/*
 * Times of traces are of their root's node's clock as it was mapped. Where round trips
 * have not bounded it yet, it came with its hello: half a second is more than that
 * takes, and little to lose.
 */
bool
began_after(const struct engine *g, const struct trace *t, int64_t time_ns)
{
	struct clock_state look;
	int64_t wrong_ns;

	clocks_state(g->clocks, t->events[t->units[t->root].first].node, t->begin_ns, &look);
	wrong_ns = !look.known || look.here ? 0 : look.bounded ? look.uncertain_ns : 500000000;
	return t->begin_ns - wrong_ns > time_ns;
}

void
engine_leave(struct engine *g, uint32_t node, struct mono now)
{
	g->nodes[node].connected = false;
	g->nodes[node].heard = now;
	assemble_leave(g->assemble, node);
	nodes_changed(g);
}

/*
 * In programs without libhone there is no filter: a record of a request that is not probed costs as
 * much as one of a probed request, and only the agent is spared its way. The whole node is reckoned
 * with like that where there is such a program: so what is added there is paid for at full price,
 * and what it comes to cannot be lowered by probing less, only by letting go of some.
 */
static void
costs_take(struct engine *g, uint32_t node, const struct status *s)
{
	double record_ns = s->record_ns, rejected_ns = s->rejected_ns;

	if (s->mapped > 0) {
		record_ns = record_ns > 0 ? record_ns : AFFORD_RECORD_NS;
		rejected_ns = (1 - MAPPED_SAVES) * record_ns;
	}
	afford_node(
	    g, node, record_ns, rejected_ns, NULL); /* the node is known: no memory is needed */
}

/* What filters take to reject, share of a core; what mapped programs write instead, the agent
 * counts. */
static double
rejected(struct engine *g, uint32_t node, const struct status *s)
{
	bool assumed;
	double record_ns = afford_record_ns(g, node, &assumed);
	double whole = s->mapped > 0
	                   ? (s->rejected_ns > 0 ? s->rejected_ns : AFFORD_REJECTED_NS) / record_ns
	                   : 1;

	return afford_rejected(g, node) * whole;
}

void
engine_status(struct engine *g, uint32_t node, const struct status *s, struct mono now)
{
	struct node *n = &g->nodes[node];
	bool shed_before = n->status.shed;
	bool assumed;

	if (mono_since_ns(now, n->before_at) > 5000000000) {
		n->before = n->status;
		n->before_at = n->status_at;
	}
	sampler_status(g->sampler, node, s, afford_record_ns(g, node, &assumed),
	    rejected(g, node, s), now, NULL);
	n->status = *s;
	snprintf(n->trouble, sizeof n->trouble, "%s", s->trouble);
	n->status.trouble = n->trouble;
	n->status_at = n->heard = now;
	costs_take(g, node, s);
	if (s->shed && !shed_before)
		queues_shed(g, n, now);
	queues_watch(g, now); /* at once: a step may be some time off */
}

int
engine_programs(struct engine *g, uint32_t node, const struct programs *p, struct err *e)
{
	int rc = programs_keep(&g->nodes[node], p, e);

	g->programs++;
	nodes_changed(g);
	return rc;
}

/* The message's memory is not ours: keep a copy, and a set of the names for quick questions. */
static int
programs_keep(struct node *n, const struct programs *p, struct err *e)
{
	struct arena *a = &n->programs_arena;
	struct texts *names = texts_new();
	struct programs *to = &n->programs;

	*to = (struct programs){ 0 };
	arena_reset(a);
	to->programs = arena_copy(a, p->programs, p->nprograms * sizeof *p->programs);
	to->names = arena_calloc(a, p->nnames + 1, sizeof *p->names);
	if (names == NULL || to->programs == NULL || to->names == NULL)
		goto fail;
	for (uint32_t i = 0; i < p->nprograms; i++)
		if ((to->programs[i].service = arena_text(
			 a, p->programs[i].service, strlen(p->programs[i].service))) == NULL)
			goto fail;
	for (uint32_t i = 0; i < p->nnames; i++)
		if ((to->names[i] = arena_text(a, p->names[i], strlen(p->names[i]))) == NULL ||
		    !names_add(names, p->names[i]))
			goto fail;
	to->nprograms = p->nprograms;
	to->nnames = p->nnames;
	texts_free(n->names);
	n->names = names;
	return 0;
fail:
	texts_free(names);
	return err_set(e, ERR_MEMORY, "%s: out of memory for its programs", n->name);
}

static bool
names_add(struct texts *names, const char *name)
{
	const char *colon = strchr(name, ':');
	char all[TOGGLE_NAME_MAX + 1];
	int len;

	if (texts_intern(names, name, strlen(name)) == UINT32_MAX)
		return false;
	if (colon == NULL)
		return true;
	len = snprintf(all, sizeof all, "%.*s:*", (int)(colon - name), name);
	return texts_intern(names, all, (size_t)len) != UINT32_MAX;
}

uint32_t
nodes_tracepoints(const struct engine *g, bool deep)
{
	struct texts *all = texts_new();
	uint32_t count = 0;

	for (uint32_t i = 0; all != NULL && i < g->nnodes; i++)
		for (uint32_t k = 0; k < g->nodes[i].programs.nnames; k++) {
			const char *name = g->nodes[i].programs.names[k];

			if (deep || !preload_is(&g->preload, name))
				texts_intern(all, name, strlen(name));
		}
	if (all != NULL)
		count = texts_count(all);
	texts_free(all);
	return count;
}

/* Sums do not mind the order; each pair counts once, on however many nodes it is. What a program
 * was started with is not its version: helpers do not count. */
uint64_t
nodes_fingerprint(const struct engine *g)
{
	struct texts *pairs = texts_new();
	uint64_t sum = 0;

	for (uint32_t i = 0; pairs != NULL && i < g->nnodes; i++) {
		const struct programs *p = &g->nodes[i].programs;

		for (uint32_t k = 0; k < p->nprograms; k++)
			for (uint32_t t = p->programs[k].first;
			     t < p->programs[k].first + p->programs[k].count; t++) {
				char pair[2 * TOGGLE_NAME_MAX + 2];
				int len;

				if (preload_is(&g->preload, p->names[t]))
					continue;
				len = snprintf(pair, sizeof pair, "%s/%s", p->programs[k].service,
				    p->names[t]);

				len = len < (int)sizeof pair ? len : (int)sizeof pair - 1;
				texts_intern(pairs, pair, (size_t)len);
			}
	}
	for (uint32_t i = 0; pairs != NULL && i < texts_count(pairs); i++)
		sum += hash_bytes(0, texts_get(pairs, i), strlen(texts_get(pairs, i)));
	texts_free(pairs);
	return sum != 0 ? sum : 1;
}

void
engine_done(struct engine *g, uint32_t node, const struct done *d, struct mono now)
{
	struct node *n = &g->nodes[node];

	n->heard = now;
	n->done_epoch = d->epoch;
	snprintf(n->failure, sizeof n->failure, "%s", d->failure);
}

void
nodes_changed(struct engine *g)
{
	g->wants++;
}

/* Makes the node's want anew when anything it is made of has changed; a new epoch only if it
 * differs. */
const struct want *
engine_want(struct engine *g, uint32_t node)
{
	struct node *n = &g->nodes[node];
	uint64_t made_of = g->wants + plan_version(g->plan) + 1, hash;
	struct arena fresh = { 0 };
	struct want w;

	if (n->want_made_of == made_of && n->want.epoch != 0)
		return &n->want;
	want_make(g, n, &w, &fresh);
	hash = want_content(&w);
	if (n->want.epoch == 0)
		w.epoch = (uint64_t)
		              n->heard.ns; /* above any epoch that a controller before us gave it */
	else
		w.epoch = n->want.epoch + (hash != n->want_hash);
	arena_release(&n->want_arena);
	n->want_arena = fresh;
	n->want = w;
	n->want_hash = hash;
	n->want_made_of = made_of;
	return &n->want;
}

/* ---- how many requests are sampled ---- */

static bool
is_dear(const struct type *type)
{
	return type->diagnosis != NULL && type->diagnosis->phase != PHASE_ENDED;
}

int
nodes_trace(struct engine *g, const struct type *type, const struct trace *t, struct err *e)
{
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < t->nunits; i++)
		if (t->units[i].count > 0)
			rc = sampler_records(g->sampler, (uint32_t)(type - g->types),
			    t->events[t->units[i].first].node, t->units[i].count, e);
	return rc;
}

/* Requests come now faster, now slower, and each new share is a message to all nodes: so it moves
 * when it is far off. */
static double
enough(const struct engine *g, struct type *type)
{
	double share = (double)g->o.enough / type->offered;

	if (g->o.enough == 0 || type->offered <= 0)
		return 1;
	if (type->enough <= 0 || share > FAR_OFF * type->enough || share < type->enough / FAR_OFF)
		type->enough = share;
	return fmin(type->enough, 1);
}

/* A diagnosis may cost something more; learning is held by a budget of its own, and ends. */
int
nodes_sample(struct engine *g, struct mono now, struct err *e)
{
	struct sampler_type types[TYPES_MAX];
	bool any = false, changed;
	int rc;

	for (uint32_t i = 0; i < g->ntypes; i++) {
		bool dear = is_dear(&g->types[i]);

		types[i] = (struct sampler_type){
			dear ? 1 : fmin(g->o.sampled, enough(g, &g->types[i])), dear
		};
		any |= dear;
	}
	rc = sampler_step(g->sampler, types, g->ntypes, any ? g->o.budget_share : 0,
	    g->learning.active, now, &changed, e);
	if (rc == 0 && changed)
		nodes_changed(g);
	return rc;
}

double
nodes_sampled(const struct engine *g, const struct type *type)
{
	return g->learning.active ? 1 : sampler_share(g->sampler, (uint32_t)(type - g->types));
}

/*
 * What a want costs: each new name is a round trip of the tracer with every program
 * of the node, and a rule that stays until the session ends (LTTng can disable a rule,
 * not take it away), which every later change and every program that starts has to look
 * at. So names come back as they were, rates change in steps, and a wildcard stands for
 * a whole provider where all of it is wanted. Rates alone cost a write to shared memory.
 */
static void
want_make(struct engine *g, struct node *n, struct want *w, struct arena *a)
{
	uint32_t count = plan_count(g->plan);

	*w = (struct want){ .lease_ms = g->o.lease_ns / 1000000, .sampled = g->o.sampled };
	w->toggles = arena_calloc(a, count + 1, sizeof *w->toggles);
	w->rates = arena_calloc(a, g->ntypes + 1, sizeof *w->rates);
	if (w->toggles == NULL || w->rates == NULL)
		return;
	for (uint32_t i = 0; i < count && w->ntoggles < TOGGLES_MAX && !n->rests; i++) {
		uint64_t owner;
		const char *name = plan_at(g->plan, i, &owner);

		if (n->names != NULL && texts_find(n->names, name, strlen(name)) != UINT32_MAX)
			w->toggles[w->ntoggles++].name = arena_text(a, name, strlen(name));
	}
	for (uint32_t i = 0; i < g->ntypes && w->nrates < RATES_MAX; i++) {
		double sampled = nodes_sampled(g, &g->types[i]);
		bool probed = is_dear(&g->types[i]) || g->learning.active;

		if (!probed && sampled == g->o.sampled)
			continue;
		w->rates[w->nrates++] = (struct rate){
			.request_type = arena_text(a, g->types[i].name, strlen(g->types[i].name)),
			.sampled = sampled,
			.probed = probed && !n->rests
			              ? fmin(afford_probed(g, &g->types[i]), sampled)
			              : 0
		};
	}
}

static uint64_t
want_content(const struct want *w)
{
	struct want plain = *w;
	struct buf b = { 0 };
	uint64_t hash;

	plain.epoch = 0;
	want_encode(&plain, &b);
	hash = hash_bytes(0, b.data, b.len);
	buf_release(&b);
	return hash;
}

bool
nodes_done(const struct engine *g)
{
	for (uint32_t i = 0; i < g->nnodes; i++) {
		const struct node *n = &g->nodes[i];

		if (n->connected && (n->want.epoch == 0 || n->done_epoch != n->want.epoch ||
					n->want_made_of != g->wants + plan_version(g->plan) + 1))
			return false;
	}
	return true;
}

void
node_release(struct node *n)
{
	texts_free(n->names);
	arena_release(&n->programs_arena);
	arena_release(&n->want_arena);
}
