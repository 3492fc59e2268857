/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/engine/sampler.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/hash.h"
#include "base/hash_map.h"
#include "searchspace/budget.h"

/* A share that differs by less than this fraction is not changed: each change is sent to all agents. */
#define SAME 0.05
/* The factor by which a share rises at most in one window. */
#define RISE 2.0
/* The weight of a record where no cost is left for records. */
#define WEIGHT_MAX 1e3

/* With fewer units in a window, the rate is averaged with earlier windows. */
enum { UNITS_ENOUGH = 30 };

/* The records of a request type on a node. */
struct node_rate {
	uint32_t type, node;
	bool seen;               /* it has had records there */
	uint64_t records, units; /* of this window */
	double sum, share;       /* sums over windows: records per second, sampled share */
	double per_second;       /* records per second if all of its requests were sampled */
};

struct node_cost {
	struct spend spend;
	bool judged; /* the numbers below are of a window */
	struct outlay window;
	double idle_core, idle_bytes;
	double weight; /* of one record per second: its part of the cost available for records */
	/* Records per second, of types under no diagnosis at SAMPLER_LEAST, and of types under
	 * diagnosis at their share. */
	double ordinary, diagnosed;
	double counted; /* records of complete traces in this window */
	bool overrun, was_overrun;
};

/* A request type and the share of its requests that is sampled. */
struct sampled_type {
	struct sampler_type type;
	double share;
};

struct sampler {
	struct sampler_options o;
	double extra;
	struct budget *ordinary, *diagnosed; /* of the cost available for records, which is 1 */
	struct map rates;
	struct arena arena;
	struct node_cost *nodes;
	uint32_t nnodes, nodes_cap;
	struct sampled_type *types;
	uint32_t ntypes, types_cap;
	bool open;         /* a window is open */
	bool held;         /* nothing is decided by it */
	struct mono since; /* when it began, or when the next one may */
};

struct sampler *
sampler_new(const struct sampler_options *o)
{
	const struct budget_options bo = {
		.share = 1, .probed_min = SAMPLER_LEAST, .slack = SAMPLER_SLACK
	};
	struct sampler *s = calloc(1, sizeof *s);

	if (s == NULL)
		return NULL;
	s->o = *o;
	s->ordinary = budget_new(&bo);
	s->diagnosed = budget_new(&bo);
	if (s->ordinary != NULL && s->diagnosed != NULL)
		return s;
	sampler_free(s);
	return NULL;
}

void
sampler_free(struct sampler *s)
{
	if (s == NULL)
		return;
	budget_free(s->ordinary);
	budget_free(s->diagnosed);
	map_release(&s->rates);
	arena_release(&s->arena);
	free(s->nodes);
	free(s->types);
	free(s);
}

/* ---- measurements ---- */

static struct node_cost *
node_cost_of(struct sampler *s, uint32_t node)
{
	if (!array_reserve(s->nodes, s->nodes_cap, node + 1))
		return NULL;
	for (; s->nnodes <= node; s->nnodes++)
		s->nodes[s->nnodes] = (struct node_cost){ 0 };
	return &s->nodes[node];
}

int
sampler_status(struct sampler *s, uint32_t node, const struct status *st, double record_ns,
    double rejected, struct mono now, struct err *e)
{
	struct node_cost *p = node_cost_of(s, node);

	if (p == NULL)
		return err_set(e, ERR_MEMORY, "costs of nodes: out of memory");
	spend_status(&p->spend, st, record_ns, rejected, now);
	return 0;
}

int
sampler_records(struct sampler *s, uint32_t type, uint32_t node, uint64_t records, struct err *e)
{
	uint64_t key = ((uint64_t)type << 32 | node) + 1;
	struct node_rate *l = map_get(&s->rates, key);

	if (l == NULL) {
		l = arena_calloc(&s->arena, 1, sizeof *l);
		if (l == NULL || node_cost_of(s, node) == NULL || !map_put(&s->rates, key, l))
			return err_set(e, ERR_MEMORY, "costs of nodes: out of memory");
		l->type = type;
		l->node = node;
	}
	l->seen = true;
	l->records += records;
	l->units++;
	return 0;
}

static struct node_rate *
rate_next(struct sampler *s, size_t *at)
{
	uint64_t key;

	return map_next(&s->rates, at, &key);
}

void
sampler_mark_types(
    const struct sampler *s, const bool *nodes, uint32_t nnodes, bool *types, uint32_t ntypes)
{
	struct node_rate *l;
	uint64_t key;

	for (size_t at = 0; (l = map_next(&s->rates, &at, &key)) != NULL;)
		if (l->seen && l->node < nnodes && nodes[l->node] && l->type < ntypes)
			types[l->type] = true;
}

/* ---- windows ---- */

static void
window_open(struct sampler *s, struct mono since)
{
	struct node_rate *l;

	for (size_t at = 0; (l = rate_next(s, &at)) != NULL;)
		l->records = l->units = 0;
	for (uint32_t i = 0; i < s->nnodes; i++)
		spend_mark(&s->nodes[i].spend);
	s->since = since;
	s->open = true;
}

/* The records that the agent counted are divided among the types as the records of complete traces
 * are: some of them belong to traces that are incomplete yet. */
static void
rate_measure(struct sampler *s, struct node_rate *l)
{
	const struct node_cost *p = &s->nodes[l->node];
	double share = s->types[l->type].share, records;

	if (!p->judged || share <= 0 || (p->counted <= 0 && p->window.records > 0))
		return;
	records = p->counted > 0 ? p->window.records * (double)l->records / p->counted : 0;
	if (l->units >= UNITS_ENOUGH)
		l->sum = l->share = 0;
	l->sum = l->sum / 2 + records;
	l->share = l->share / 2 + share;
	l->per_second = l->sum / l->share;
}

/* What windows of other numbers of records say of the cost of one. */
static void
window_learn(struct sampler *s)
{
	struct outlay window;

	for (uint32_t i = 0; i < s->nnodes; i++)
		if (spend_window(&s->nodes[i].spend, &window))
			spend_learn(&s->nodes[i].spend, &window);
}

static void
window_take(struct sampler *s)
{
	struct node_rate *l;

	for (uint32_t i = 0; i < s->nnodes; i++) {
		struct node_cost *p = &s->nodes[i];

		p->counted = 0;
		p->judged = spend_window(&p->spend, &p->window);
		if (!p->judged)
			continue;
		spend_learn(&p->spend, &p->window);
		p->idle_core = spend_idle_core(&p->spend, &p->window) +
		               fmin(p->window.below, s->extra);
		p->idle_bytes = spend_idle_bytes(&p->spend, &p->window);
	}
	for (size_t at = 0; (l = rate_next(s, &at)) != NULL;)
		s->nodes[l->node].counted += (double)l->records;
	for (size_t at = 0; (l = rate_next(s, &at)) != NULL;)
		if (l->type < s->ntypes)
			rate_measure(s, l);
}

void
sampler_forget_type(struct sampler *s, uint32_t type)
{
	struct node_rate *l;

	for (size_t at = 0; (l = rate_next(s, &at)) != NULL;)
		if (l->type == type)
			*l = (struct node_rate){ .type = type, .node = l->node };
	if (type < s->ntypes)
		s->types[type].share = s->types[type].type.most;
}

/* ---- deciding ---- */

/*
 * The cost of one record a second, as a part of what is available for records: the limit less the
 * cost without records. Over the limit, SAMPLER_AIM of that is used. From there up to the limit
 * everything stays as it is, so that noise of the measurement changes no share.
 */
static double
weight_of(double spends, double idle, double limit, double records)
{
	double aim = idle + SAMPLER_AIM * (limit - idle), room;

	if (limit <= 0 || records <= 0)
		return 0;
	if (spends > aim && spends <= limit)
		aim = fmin(limit, spends * (1 + SAME));
	room = aim - idle;
	return room > 0 ? fmin((spends - idle) / records / room, WEIGHT_MAX) : WEIGHT_MAX;
}

static double
core_limit(const struct sampler *s)
{
	return s->o.core_max > 0 ? s->o.core_max + s->extra : 0;
}

/* Sampling less does not lower the cost without records: if that alone is over the limit, a
 * diagnosis has `extra` on top of it. */
static double
node_limit(const struct sampler *s, const struct node_cost *p)
{
	double limit = core_limit(s);

	return limit > 0 && s->extra > 0 ? fmax(limit, p->idle_core + s->extra) : limit;
}

static void
node_weigh(const struct sampler *s, struct node_cost *p)
{
	const struct outlay *w = &p->window;

	p->weight = 0;
	if (p->judged)
		p->weight = fmax(
		    weight_of(outlay_steady_core(w), p->idle_core, node_limit(s, p), w->records),
		    weight_of(w->bytes, p->idle_bytes, s->o.bytes_max, w->records));
}

static struct budget *
budget_for(struct sampler *s, uint32_t type)
{
	return s->types[type].type.diagnosed ? s->diagnosed : s->ordinary;
}

/* Puts each type into the budget of the types under diagnosis, or of the others, and takes it out of
 * the other budget. */
static int
fill(struct sampler *s, struct err *e)
{
	struct node_rate *l;
	int rc = 0;

	for (uint32_t i = 0; i < s->nnodes; i++)
		s->nodes[i].ordinary = s->nodes[i].diagnosed = 0;
	for (uint32_t i = 0; i < s->ntypes; i++)
		budget_drop(s->types[i].type.diagnosed ? s->ordinary : s->diagnosed, i, 0);
	for (size_t at = 0; rc == 0 && (l = rate_next(s, &at)) != NULL;) {
		if (l->type >= s->ntypes || l->per_second <= 0)
			continue;
		rc = budget_predict(budget_for(s, l->type), l->type, 0, l->node, l->per_second, e);
		if (!s->types[l->type].type.diagnosed)
			s->nodes[l->node].ordinary += l->per_second *
			                              fmin(SAMPLER_LEAST,
							  s->types[l->type].type.most);
	}
	return rc;
}

/* The cost of a record in the budget: its weight, relative to what `others` records a second of the
 * other budget leave. */
static int
weigh(struct sampler *s, struct budget *b, uint32_t node, double others, struct err *e)
{
	double weight = s->nodes[node].weight, left = 1 - weight * others;

	weight = left > 0 ? fmin(weight / left, WEIGHT_MAX) : weight > 0 ? WEIGHT_MAX : 0;
	return budget_node(b, node, weight * 1e9, 0, e);
}

static void
take_shares(struct sampler *s, bool diagnosed)
{
	for (uint32_t i = 0; i < s->ntypes; i++) {
		struct sampled_type *k = &s->types[i];
		double share = fmax(budget_probed(budget_for(s, i), i), SAMPLER_LEAST);

		if (k->type.diagnosed != diagnosed)
			continue;
		/* The traffic of a type that has stopped may resume at its former rate: rise in steps. */
		if (!diagnosed && !k->type.at_once)
			share = fmin(share, RISE * k->share);
		share = fmin(share, k->type.most);
		if (fabs(share - k->share) > SAME * k->share || share == k->type.most)
			k->share = share;
	}
}

/* Types under diagnosis first, with all others at their least share; the others share what is left.
 */
static int
decide_shares(struct sampler *s, struct err *e)
{
	struct node_rate *l;
	int rc = fill(s, e);

	for (uint32_t i = 0; rc == 0 && i < s->nnodes; i++) {
		node_weigh(s, &s->nodes[i]);
		rc = weigh(s, s->diagnosed, i, s->nodes[i].ordinary, e);
	}
	if (rc != 0)
		return rc;
	take_shares(s, true);
	for (size_t at = 0; (l = rate_next(s, &at)) != NULL;)
		if (l->type < s->ntypes && s->types[l->type].type.diagnosed)
			s->nodes[l->node].diagnosed += l->per_second * s->types[l->type].share;
	for (uint32_t i = 0; rc == 0 && i < s->nnodes; i++)
		rc = weigh(s, s->ordinary, i, s->nodes[i].diagnosed, e);
	if (rc == 0)
		take_shares(s, false);
	return rc;
}

static bool
is_at_least(const struct sampled_type *t)
{
	return t->share <= fmin(SAMPLER_LEAST, t->type.most) * (1 + SAME);
}

/* At the end of a window. Returns whether some node has changed. */
static bool
mark_overruns(struct sampler *s)
{
	struct node_rate *l;
	bool changed = false;

	for (uint32_t i = 0; i < s->nnodes; i++) {
		struct node_cost *p = &s->nodes[i];

		p->was_overrun = p->overrun;
		p->overrun = p->judged && s->o.core_max > 0 &&
		             outlay_steady_core(&p->window) > core_limit(s);
	}
	for (size_t at = 0; (l = rate_next(s, &at)) != NULL;)
		if (l->type < s->ntypes && l->per_second > 0 && !is_at_least(&s->types[l->type]))
			s->nodes[l->node].overrun = false;
	for (uint32_t i = 0; i < s->nnodes; i++)
		changed |= s->nodes[i].overrun != s->nodes[i].was_overrun;
	return changed;
}

/* *changed: some type has changed. ERR_MEMORY. */
static int
types_take(
    struct sampler *s, const struct sampler_type *types, uint32_t n, bool *changed, struct err *e)
{
	if (!array_reserve(s->types, s->types_cap, n))
		return err_set(e, ERR_MEMORY, "costs of nodes: out of memory");
	for (; s->ntypes < n; s->ntypes++)
		s->types[s->ntypes] = (struct sampled_type){ types[s->ntypes],
			types[s->ntypes].most };
	for (uint32_t i = 0; i < n; i++) {
		struct sampled_type *k = &s->types[i];

		*changed |= k->type.diagnosed != types[i].diagnosed ||
		            k->type.at_once != types[i].at_once || k->type.most != types[i].most;
		k->type = types[i];
	}
	return 0;
}

/* Changes when a share changes. */
static uint64_t
shares_hash(const struct sampler *s)
{
	uint64_t hash = 0;

	for (uint32_t i = 0; i < s->ntypes; i++)
		hash = hash_bytes(hash, &s->types[i].share, sizeof s->types[i].share);
	return hash;
}

/* All tracepoints are on: nothing is decided by that, but the cost of a record is known by it. */
static void
hold_on(struct sampler *s, struct mono now)
{
	bool ended = s->held && mono_since_ns(now, s->since) >= SAMPLER_WINDOW_NS;

	if (ended)
		window_learn(s);
	if (ended || !s->held)
		window_open(s, now);
	s->held = true;
}

int
sampler_step(struct sampler *s, const struct sampler_type *types, uint32_t ntypes, double extra,
    bool hold, struct mono now, bool *changed, struct err *e)
{
	bool due = extra != s->extra, ended, overruns;
	uint64_t were;
	int rc;

	s->extra = extra;
	if ((rc = types_take(s, types, ntypes, &due, e)) != 0)
		return rc;
	were = shares_hash(s);
	if (hold) {
		hold_on(s, now);
	} else if (s->held) {
		s->held = s->open = false;
		s->since.ns = now.ns + SAMPLER_SETTLE_NS;
	} else if (!s->open && now.ns >= s->since.ns) {
		window_open(s, now);
	}
	ended = s->open && !hold && mono_since_ns(now, s->since) >= SAMPLER_WINDOW_NS;
	if (ended)
		window_take(s);
	overruns = ended && mark_overruns(s);
	if ((ended || due) && (rc = decide_shares(s, e)) != 0)
		return rc;
	*changed = shares_hash(s) != were;
	if (*changed || due) {
		s->open = false;
		s->since.ns = now.ns + SAMPLER_SETTLE_NS;
	} else if (ended) {
		window_open(s, now);
	}
	*changed |= overruns;
	return 0;
}

/* ---- results ---- */

double
sampler_share(const struct sampler *s, uint32_t type)
{
	return type < s->ntypes ? s->types[type].share : 1;
}

const struct spend *
sampler_spend(const struct sampler *s, uint32_t node)
{
	return node < s->nnodes && s->nodes[node].spend.known ? &s->nodes[node].spend : NULL;
}

double
sampler_core_max(const struct sampler *s)
{
	return core_limit(s);
}

static bool
all_at_least(const struct sampler *s, uint32_t node)
{
	struct node_rate *l;
	uint64_t key;

	for (size_t at = 0; (l = map_next(&s->rates, &at, &key)) != NULL;)
		if (l->node == node && l->type < s->ntypes && l->per_second > 0 &&
		    !is_at_least(&s->types[l->type]))
			return false;
	return true;
}

struct sampler_over
sampler_over(const struct sampler *s, uint32_t node)
{
	const struct node_cost *p = node < s->nnodes ? &s->nodes[node] : NULL;
	struct sampler_over o = { 0 };

	if (p == NULL || !p->judged || !all_at_least(s, node))
		return o;
	o.core = outlay_steady_core(&p->window);
	o.idle = p->idle_core;
	for (int i = 1; i < SPENDERS; i++)
		if (p->window.core[i] > p->window.core[o.most])
			o.most = (enum spender)i;
	if (s->o.bytes_max > 0 && p->window.bytes > s->o.bytes_max)
		o.bytes = p->window.bytes;
	o.over = o.bytes > 0 || (s->o.core_max > 0 && o.core > core_limit(s));
	return o;
}

bool
sampler_overrun(const struct sampler *s, uint32_t node)
{
	return node < s->nnodes && s->nodes[node].overrun;
}
