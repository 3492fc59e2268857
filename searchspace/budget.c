/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "searchspace/budget.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* Rates are added up as integers (thousandths of a record per second), so that adding and
 * removing leaves no rounding error. */
#define RATE_MAX_MILLI \
	((uint64_t)1 << 50) /* 10^12 records per second: more than any machine makes */

struct cost_key {
	uint32_t type, node, label;
};

struct tracepoint_cost { /* an enabled tracepoint, for a type, on a node */
	struct cost_key key;
	/* Thousandths of a record per second, if all requests were probed. */
	uint64_t milli;
	/* Sums over the measured windows, each with half of the weight of the next. */
	double records, probed;
};

struct type_load { /* all tracepoints of a type on one node */
	uint32_t type, node;
	uint32_t share; /* index of the type's share, while shares are computed */
	uint64_t milli;
};

struct type_share { /* share of a type's requests that is probed */
	uint32_t type;
	bool fixed, fresh; /* its fair share is final; it has no share yet */
	/* fair: computed now; could: if the others kept theirs, above 1 where there is room. */
	double now, fair, could;
};

struct node_budget {                   /* a node */
	double record_ns, rejected_ns; /* 0: not reported */
	uint64_t milli;                /* of all its loads */
	/* ns per second that remain; what the types that still rise would take at a share
	 * of 1. */
	double left, weight;
	double
	    unprobed; /* records per second of requests that are not probed, at the present shares */
};

/* Sorted by type, node, label: queries are ranges, and the same calls give the same sums. */
struct budget {
	struct budget_options o;
	struct tracepoint_cost *costs;
	struct type_load *loads;
	struct type_share *shares;
	struct node_budget *nodes;
	uint32_t ncosts, nloads, nshares, nnodes;
	uint32_t costs_cap, loads_cap, shares_cap, nodes_cap;
	bool dirty; /* shares were computed before the last change */
};

static void divide(struct budget *b);
static double allowed_ns(const struct budget *b);

struct budget *
budget_new(const struct budget_options *o)
{
	struct budget *b = calloc(1, sizeof *b);

	assert(o->share >= 0 && o->probed_min >= 0 && o->probed_min <= 1 && o->slack >= 1);
	if (b != NULL)
		b->o = *o;
	return b;
}

void
budget_free(struct budget *b)
{
	if (b == NULL)
		return;
	free(b->costs);
	free(b->loads);
	free(b->shares);
	free(b->nodes);
	free(b);
}

/* ---- arrays ---- */

static int
key_order(const struct cost_key *a, const struct cost_key *b)
{
	if (a->type != b->type)
		return a->type < b->type ? -1 : 1;
	if (a->node != b->node)
		return a->node < b->node ? -1 : 1;
	return a->label == b->label ? 0 : a->label < b->label ? -1 : 1;
}

/* Binary search for the first entry not before the key; the same for loads and shares below. */
static uint32_t
cost_at(const struct budget *b, const struct cost_key *k)
{
	uint32_t low = 0, high = b->ncosts;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (key_order(&b->costs[mid].key, k) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static uint32_t
load_at(const struct budget *b, uint32_t type, uint32_t node)
{
	uint32_t low = 0, high = b->nloads;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;
		const struct type_load *l = &b->loads[mid];

		if (l->type < type || (l->type == type && l->node < node))
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static uint32_t
share_at(const struct budget *b, uint32_t type)
{
	uint32_t low = 0, high = b->nshares;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (b->shares[mid].type < type)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static struct tracepoint_cost *
cost_find(const struct budget *b, const struct cost_key *k)
{
	uint32_t i = cost_at(b, k);

	return i < b->ncosts && key_order(&b->costs[i].key, k) == 0 ? &b->costs[i] : NULL;
}

static int
node_room(struct budget *b, uint32_t node, struct err *e)
{
	if (node < b->nnodes)
		return 0;
	if (node >= BUDGET_NODES_MAX)
		return err_set(e, ERR_FULL, "budget: node %u: at most %d nodes are supported", node,
		    BUDGET_NODES_MAX);
	if (!array_reserve(b->nodes, b->nodes_cap, node + 1))
		return err_set(e, ERR_MEMORY, "budget: out of memory");
	for (; b->nnodes <= node; b->nnodes++)
		b->nodes[b->nnodes] = (struct node_budget){ .left = allowed_ns(b) };
	return 0;
}

/* Allocates all that one more entry may need, before anything changes. */
static int
room(struct budget *b, uint32_t node, struct err *e)
{
	if (!array_reserve(b->costs, b->costs_cap, b->ncosts + 1) ||
	    !array_reserve(b->loads, b->loads_cap, b->nloads + 1) ||
	    !array_reserve(b->shares, b->shares_cap, b->nshares + 1))
		return err_set(e, ERR_MEMORY, "budget: out of memory");
	return node_room(b, node, e);
}

/* *ret: the entry of the key, a new one of rate 0 if there was none. */
static int
cost_make(struct tracepoint_cost **ret, struct budget *b, const struct cost_key *k, struct err *e)
{
	uint32_t at = cost_at(b, k), l, s;
	int rc;

	if (at < b->ncosts && key_order(&b->costs[at].key, k) == 0)
		goto found;
	if ((rc = room(b, k->node, e)) != 0)
		return rc;
	memmove(&b->costs[at + 1], &b->costs[at], (b->ncosts++ - at) * sizeof b->costs[0]);
	b->costs[at] = (struct tracepoint_cost){ .key = *k };
	l = load_at(b, k->type, k->node);
	if (l == b->nloads || b->loads[l].type != k->type || b->loads[l].node != k->node) {
		memmove(&b->loads[l + 1], &b->loads[l], (b->nloads++ - l) * sizeof b->loads[0]);
		b->loads[l] = (struct type_load){ .type = k->type, .node = k->node };
	}
	s = share_at(b, k->type);
	if (s == b->nshares || b->shares[s].type != k->type) {
		memmove(&b->shares[s + 1], &b->shares[s], (b->nshares++ - s) * sizeof b->shares[0]);
		b->shares[s] = (struct type_share){ .type = k->type, .fresh = true };
	}
found:
	*ret = &b->costs[at];
	return 0;
}

/* ---- input ---- */

int
budget_node(struct budget *b, uint32_t node, double record_ns, double rejected_ns, struct err *e)
{
	struct node_budget *n;
	int rc;

	if ((rc = node_room(b, node, e)) != 0)
		return rc;
	n = &b->nodes[node];
	if (n->record_ns == record_ns && n->rejected_ns == rejected_ns)
		return 0;
	n->record_ns = record_ns;
	n->rejected_ns = rejected_ns;
	/* Without a load nothing follows from it. Each agent reports its costs, most of them while nothing is enabled. */
	b->dirty |= n->milli > 0;
	return 0;
}

static uint64_t
milli_of(double per_second)
{
	if (!(per_second > 0))
		return 0;
	return per_second * 1e3 < (double)RATE_MAX_MILLI ? (uint64_t)llround(per_second * 1e3)
	                                                 : RATE_MAX_MILLI;
}

static void
cost_rate(struct budget *b, struct tracepoint_cost *t, double per_second)
{
	struct type_load *l = &b->loads[load_at(b, t->key.type, t->key.node)];
	uint64_t milli = milli_of(per_second);

	assert(l->type == t->key.type && l->node == t->key.node && l->milli >= t->milli);
	if (milli == t->milli)
		return;
	l->milli += milli - t->milli;
	b->nodes[t->key.node].milli += milli - t->milli;
	t->milli = milli;
	b->dirty = true;
}

int
budget_predict(struct budget *b, uint32_t type, uint32_t label, uint32_t node, double per_second,
    struct err *e)
{
	struct tracepoint_cost *t;
	int rc = cost_make(&t, b, &(struct cost_key){ type, node, label }, e);

	if (rc != 0)
		return rc;
	if (t->probed == 0)
		cost_rate(b, t, per_second);
	return 0;
}

int
budget_measured(struct budget *b, uint32_t type, uint32_t label, uint32_t node, double per_second,
    double probed, struct err *e)
{
	struct tracepoint_cost *t;
	int rc;

	if (!(probed > 0) || !(per_second >= 0))
		return 0;
	if ((rc = cost_make(&t, b, &(struct cost_key){ type, node, label }, e)) != 0)
		return rc;
	t->records = t->records / 2 + per_second;
	t->probed = t->probed / 2 + probed;
	cost_rate(b, t, t->records / t->probed);
	return 0;
}

/* Entries are sorted by node before label, so all entries of the type are visited. */
void
budget_drop(struct budget *b, uint32_t type, uint32_t label)
{
	uint32_t first = cost_at(b, &(struct cost_key){ .type = type }), to = first, i,
		 s = share_at(b, type), l;

	for (i = first; i < b->ncosts && b->costs[i].key.type == type; i++) {
		if (b->costs[i].key.label == label)
			cost_rate(b, &b->costs[i], 0);
		else
			b->costs[to++] = b->costs[i];
	}
	if (to == i)
		return;
	memmove(&b->costs[to], &b->costs[i], (b->ncosts - i) * sizeof b->costs[0]);
	b->ncosts -= i - to;
	b->dirty = true;
	if (to > first)
		return;
	/* The last tracepoint of the type: its reduced share is discarded. */
	memmove(&b->shares[s], &b->shares[s + 1], (--b->nshares - s) * sizeof b->shares[0]);
	l = load_at(b, type, 0);
	for (i = l; i < b->nloads && b->loads[i].type == type; i++)
		;
	memmove(&b->loads[l], &b->loads[i], (b->nloads - i) * sizeof b->loads[0]);
	b->nloads -= i - l;
}

/* ---- cost ---- */

static double
allowed_ns(const struct budget *b)
{
	return b->o.share * 1e9;
}

static double
rejected_ns(const struct budget *b, const struct node_budget *n)
{
	return n->record_ns > 0 ? n->rejected_ns : b->o.rejected_ns;
}

/* What a record of a probed request costs more than a rejected one. */
static double
taken_ns(const struct budget *b, const struct node_budget *n)
{
	double record_ns = n->record_ns > 0 ? n->record_ns : b->o.record_ns;

	return fmax(record_ns - rejected_ns(b, n), 0);
}

/* What a load costs at a share of 1, beyond its cost at 0, in ns per second. */
static double
weight_of(const struct budget *b, const struct type_load *l)
{
	return (double)l->milli / 1e3 * taken_ns(b, &b->nodes[l->node]);
}

bool
budget_fits(const struct budget *b, uint32_t type, uint32_t label, uint32_t node, double per_second)
{
	const struct tracepoint_cost *there = cost_find(b, &(struct cost_key){ type, node, label });
	struct node_budget n = { 0 };
	double records;

	if (node < b->nnodes)
		n = b->nodes[node];
	if (there != NULL)
		n.milli -= there->milli;
	records = (double)(n.milli + milli_of(per_second)) / 1e3;
	return records * (rejected_ns(b, &n) + b->o.probed_min * taken_ns(b, &n)) <= allowed_ns(b);
}

/* ---- max-min fair shares ---- */

/* Sets what remains of each node's budget after the types with a final share, and what the
 * other types would take of it at a share of 1. */
static void
count_left(struct budget *b)
{
	for (uint32_t i = 0; i < b->nnodes; i++) {
		struct node_budget *n = &b->nodes[i];

		n->left = allowed_ns(b) - (double)n->milli / 1e3 * rejected_ns(b, n);
		n->weight = 0;
	}
	for (uint32_t i = 0; i < b->nloads; i++) {
		const struct type_load *l = &b->loads[i];
		const struct type_share *s = &b->shares[l->share];

		if (s->fixed)
			b->nodes[l->node].left -= s->fair * weight_of(b, l);
		else
			b->nodes[l->node].weight += weight_of(b, l);
	}
}

static double
level_of(const struct node_budget *n)
{
	return n->weight > 0 ? fmax(n->left, 0) / n->weight : HUGE_VAL;
}

/* One step of water filling: all open shares rise to the level at which a node is full, or to
 * 1; shares of types on full nodes become final. false: done. */
static bool
fill_round(struct budget *b)
{
	double level = 1;

	count_left(b);
	for (uint32_t i = 0; i < b->nnodes; i++)
		level = fmin(level, level_of(&b->nodes[i]));
	for (uint32_t i = 0; i < b->nshares; i++)
		if (!b->shares[i].fixed)
			b->shares[i].fair = level;
	if (level >= 1)
		return false;
	for (uint32_t i = 0; i < b->nloads; i++)
		if (b->loads[i].milli > 0 && level_of(&b->nodes[b->loads[i].node]) <= level)
			b->shares[b->loads[i].share].fixed = true;
	return true;
}

static void
divide_fairly(struct budget *b)
{
	uint32_t s = 0;

	for (uint32_t i = 0; i < b->nloads; i++) {
		while (b->shares[s].type != b->loads[i].type)
			s++;
		assert(s < b->nshares);
		b->loads[i].share = s;
	}
	for (uint32_t i = 0; i < b->nshares; i++)
		b->shares[i].fixed = false;
	while (fill_round(b))
		;
}

/* The share that each type could have if the others kept their fair shares. */
static void
count_room(struct budget *b)
{
	for (uint32_t i = 0; i < b->nshares; i++) {
		b->shares[i].could = HUGE_VAL;
		b->shares[i].fixed = true;
	}
	count_left(b);
	for (uint32_t i = 0; i < b->nloads; i++) {
		struct type_share *s = &b->shares[b->loads[i].share];
		double weight = weight_of(b, &b->loads[i]);

		if (weight > 0)
			s->could = fmin(
			    s->could, fmax(b->nodes[b->loads[i].node].left, 0) / weight + s->fair);
	}
}

/* Sets what remains of each node's budget at the present shares. */
static void
count_now(struct budget *b)
{
	for (uint32_t i = 0; i < b->nnodes; i++) {
		b->nodes[i].left = allowed_ns(b) -
		                   (double)b->nodes[i].milli / 1e3 * rejected_ns(b, &b->nodes[i]);
		b->nodes[i].unprobed = 0;
	}
	for (uint32_t i = 0; i < b->nloads; i++) {
		const struct type_load *l = &b->loads[i];
		double now = b->shares[l->share].now;

		b->nodes[l->node].left -= now * weight_of(b, l);
		b->nodes[l->node].unprobed += (1 - now) * (double)l->milli / 1e3;
	}
}

/*
 * Computes the shares. 1. A type that could have much more rises to its fair share. 2. On nodes
 * that are over budget, shares are limited to the fair share. A node where all types have at
 * most their fair share is not over budget, and reducing a share cannot bring another node over
 * budget, so one pass suffices.
 */
static void
divide(struct budget *b)
{
	b->dirty = false;
	divide_fairly(b);
	count_room(b);
	for (uint32_t i = 0; i < b->nshares; i++) {
		struct type_share *s = &b->shares[i];

		if (s->fresh || (s->fair > s->now && s->could >= b->o.slack * s->now))
			s->now = s->fair;
		s->fresh = false;
	}
	count_now(b);
	for (uint32_t i = 0; i < b->nloads; i++) {
		struct type_share *s = &b->shares[b->loads[i].share];

		if (b->nodes[b->loads[i].node].left < 0)
			s->now = fmin(s->now, s->fair);
	}
	count_now(b);
}

double
budget_probed(struct budget *b, uint32_t type)
{
	uint32_t s;

	if (b->dirty)
		divide(b);
	s = share_at(b, type);
	return s < b->nshares && b->shares[s].type == type ? b->shares[s].now : 1;
}

double
budget_spent(struct budget *b, uint32_t node)
{
	if (node >= b->nnodes)
		return 0;
	if (b->dirty)
		divide(b);
	return (allowed_ns(b) - b->nodes[node].left) / 1e9;
}

double
budget_rejected(struct budget *b, uint32_t node)
{
	if (node >= b->nnodes)
		return 0;
	if (b->dirty)
		divide(b);
	return b->nodes[node].unprobed * rejected_ns(b, &b->nodes[node]) / 1e9;
}
