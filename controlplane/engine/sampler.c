/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/engine/sampler.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/hash.h"
#include "base/hash_map.h"
#include "searchspace/budget.h"

#define SAME \
	0.05 /* shares that differ by less are taken for the same: each change is a message to all \
	      */
#define RISE 2.0       /* in one window, at most */
#define WEIGHT_MAX 1e3 /* what a record weighs where there is no room at all: more than any rate */

enum {
	SURE = 30
}; /* so many units of a window tell by themselves, fewer together with those before */

struct load { /* of a type, on a node */
	uint32_t type, node;
	uint64_t records, units; /* of this window */
	double sum, share;       /* records a second, and at what share they came: over windows */
	double per_second;       /* records, if all of its requests were sampled */
};

struct payer { /* a node */
	struct spend spend;
	bool there, judged; /* judged: the numbers below are of a window */
	struct outlay pace;
	double idle_core, idle_bytes;
	double weight; /* of a record a second: share of all that there is room for */
	double ordinary,
	    diagnosed;  /* records a second, at SAMPLER_LEAST of ordinary types; at their
	                          share of diagnosed ones */
	double counted; /* records of traces, in this window */
};

struct kind { /* a type */
	struct sampler_type is;
	double share;
};

struct sampler {
	struct sampler_options o;
	double extra;
	struct budget *ordinary, *diagnosed; /* of everything there is room for: 1 */
	struct map loads;
	struct arena arena;
	struct payer *payers;
	uint32_t npayers;
	struct kind *kinds;
	uint32_t nkinds;
	bool open;         /* a window is open, */
	struct mono since; /* from then on */
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
	map_release(&s->loads);
	arena_release(&s->arena);
	free(s->payers);
	free(s->kinds);
	free(s);
}

/* ---- what comes in ---- */

static struct payer *
payer_of(struct sampler *s, uint32_t node)
{
	if (node >= s->npayers) {
		struct payer *more = realloc(s->payers, (node + 1) * sizeof *more);

		if (more == NULL)
			return NULL;
		memset(more + s->npayers, 0, (node + 1 - s->npayers) * sizeof *more);
		s->payers = more;
		s->npayers = node + 1;
	}
	return &s->payers[node];
}

int
sampler_status(struct sampler *s, uint32_t node, const struct status *st, double record_ns,
    double rejected, struct mono now, struct err *e)
{
	struct payer *p = payer_of(s, node);

	if (p == NULL)
		return err_set(e, ERR_MEMORY, "what is spent: out of memory");
	p->there = true;
	spend_status(&p->spend, st, record_ns, rejected, now);
	return 0;
}

void
sampler_node(struct sampler *s, uint32_t node, bool there)
{
	if (node < s->npayers)
		s->payers[node].there = there;
}

int
sampler_records(struct sampler *s, uint32_t type, uint32_t node, uint64_t records, struct err *e)
{
	uint64_t key = ((uint64_t)type << 32 | node) + 1;
	struct load *l = map_get(&s->loads, key);

	if (l == NULL) {
		l = arena_calloc(&s->arena, 1, sizeof *l);
		if (l == NULL || payer_of(s, node) == NULL || !map_put(&s->loads, key, l))
			return err_set(e, ERR_MEMORY, "what is spent: out of memory");
		l->type = type;
		l->node = node;
	}
	l->records += records;
	l->units++;
	return 0;
}

static struct load *
load_next(struct sampler *s, size_t *at)
{
	uint64_t key;

	return map_next(&s->loads, at, &key);
}

/* ---- windows ---- */

static void
window_open(struct sampler *s, struct mono since)
{
	struct load *l;

	for (size_t at = 0; (l = load_next(s, &at)) != NULL;)
		l->records = l->units = 0;
	for (uint32_t i = 0; i < s->npayers; i++)
		spend_mark(&s->payers[i].spend);
	s->since = since;
	s->open = true;
}

/* The records that the agent counted are divided among the types as the records of complete traces
 * are: some of them belong to traces that are incomplete yet. */
static void
load_measure(struct sampler *s, struct load *l)
{
	const struct payer *p = &s->payers[l->node];
	double share = s->kinds[l->type].share, records;

	if (!p->judged || share <= 0 || (p->counted <= 0 && p->pace.records > 0))
		return;
	records = p->counted > 0 ? p->pace.records * (double)l->records / p->counted : 0;
	if (l->units >= SURE)
		l->sum = l->share = 0;
	l->sum = l->sum / 2 + records;
	l->share = l->share / 2 + share;
	l->per_second = l->sum / l->share;
}

static void
window_take(struct sampler *s)
{
	struct load *l;

	for (uint32_t i = 0; i < s->npayers; i++) {
		struct payer *p = &s->payers[i];

		p->counted = 0;
		p->judged = p->there && spend_window(&p->spend, &p->pace);
		if (!p->judged)
			continue;
		spend_learn(&p->spend, &p->pace);
		p->idle_core = spend_idle_core(&p->spend, &p->pace);
		p->idle_bytes = spend_idle_bytes(&p->spend, &p->pace);
	}
	for (size_t at = 0; (l = load_next(s, &at)) != NULL;)
		s->payers[l->node].counted += (double)l->records;
	for (size_t at = 0; (l = load_next(s, &at)) != NULL;)
		if (l->type < s->nkinds)
			load_measure(s, l);
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
payer_limit(const struct sampler *s, const struct payer *p)
{
	double limit = core_limit(s);

	return limit > 0 && s->extra > 0 ? fmax(limit, p->idle_core + s->extra) : limit;
}

static void
payer_weigh(const struct sampler *s, struct payer *p)
{
	const struct outlay *w = &p->pace;

	p->weight = 0;
	if (p->judged && p->there)
		p->weight = fmax(
		    weight_of(outlay_core(w), p->idle_core, payer_limit(s, p), w->records),
		    weight_of(w->bytes, p->idle_bytes, s->o.bytes_max, w->records));
}

static struct budget *
budget_for(struct sampler *s, uint32_t type)
{
	return s->kinds[type].is.diagnosed ? s->diagnosed : s->ordinary;
}

/* Puts each type into the budget of its kind, and takes it out of the other. */
static int
fill(struct sampler *s, struct err *e)
{
	struct load *l;
	int rc = 0;

	for (uint32_t i = 0; i < s->npayers; i++)
		s->payers[i].ordinary = s->payers[i].diagnosed = 0;
	for (uint32_t i = 0; i < s->nkinds; i++)
		budget_drop(s->kinds[i].is.diagnosed ? s->ordinary : s->diagnosed, i, 0);
	for (size_t at = 0; rc == 0 && (l = load_next(s, &at)) != NULL;) {
		if (l->type >= s->nkinds || l->per_second <= 0)
			continue;
		rc = budget_predict(budget_for(s, l->type), l->type, 0, l->node, l->per_second, e);
		if (!s->kinds[l->type].is.diagnosed)
			s->payers[l->node].ordinary += l->per_second *
			                               fmin(SAMPLER_LEAST,
							   s->kinds[l->type].is.most);
	}
	return rc;
}

/* The cost of a record in the budget: its weight, relative to what `others` records a second of the
 * other budget leave. */
static int
weigh(struct sampler *s, struct budget *b, uint32_t node, double others, struct err *e)
{
	double weight = s->payers[node].weight, left = 1 - weight * others;

	weight = left > 0 ? fmin(weight / left, WEIGHT_MAX) : weight > 0 ? WEIGHT_MAX : 0;
	return budget_node(b, node, weight * 1e9, 0, e);
}

static void
take_shares(struct sampler *s, bool diagnosed)
{
	for (uint32_t i = 0; i < s->nkinds; i++) {
		struct kind *k = &s->kinds[i];
		double share = fmax(budget_probed(budget_for(s, i), i), SAMPLER_LEAST);

		if (k->is.diagnosed != diagnosed)
			continue;
		if (!diagnosed)
			share = fmin(share,
			    RISE * k->share); /* what has stopped may begin again as it was */
		share = fmin(share, k->is.most);
		if (fabs(share - k->share) > SAME * k->share || share == k->is.most)
			k->share = share;
	}
}

/* Types under diagnosis first, with all others at their least share; the others share what is left.
 */
static int
decide(struct sampler *s, struct err *e)
{
	struct load *l;
	int rc = fill(s, e);

	for (uint32_t i = 0; rc == 0 && i < s->npayers; i++) {
		payer_weigh(s, &s->payers[i]);
		rc = weigh(s, s->diagnosed, i, s->payers[i].ordinary, e);
	}
	if (rc != 0)
		return rc;
	take_shares(s, true);
	for (size_t at = 0; (l = load_next(s, &at)) != NULL;)
		if (l->type < s->nkinds && s->kinds[l->type].is.diagnosed)
			s->payers[l->node].diagnosed += l->per_second * s->kinds[l->type].share;
	for (uint32_t i = 0; rc == 0 && i < s->npayers; i++)
		rc = weigh(s, s->ordinary, i, s->payers[i].diagnosed, e);
	if (rc == 0)
		take_shares(s, false);
	return rc;
}

/* *other: some type has changed. ERR_MEMORY. */
static int
kinds_take(
    struct sampler *s, const struct sampler_type *types, uint32_t n, bool *other, struct err *e)
{
	if (n > s->nkinds) {
		struct kind *more = realloc(s->kinds, n * sizeof *more);

		if (more == NULL)
			return err_set(e, ERR_MEMORY, "what is spent: out of memory");
		for (uint32_t i = s->nkinds; i < n; i++)
			more[i] = (struct kind){ types[i], types[i].most };
		s->kinds = more;
		s->nkinds = n;
	}
	for (uint32_t i = 0; i < n; i++) {
		struct kind *k = &s->kinds[i];

		*other |= k->is.diagnosed != types[i].diagnosed || k->is.most != types[i].most;
		k->is = types[i];
	}
	return 0;
}

/* Changes when a share changes. */
static uint64_t
shares_hash(const struct sampler *s)
{
	uint64_t hash = 0;

	for (uint32_t i = 0; i < s->nkinds; i++)
		hash = hash_bytes(hash, &s->kinds[i].share, sizeof s->kinds[i].share);
	return hash;
}

int
sampler_step(struct sampler *s, const struct sampler_type *types, uint32_t ntypes, double extra,
    bool hold, struct mono now, bool *changed, struct err *e)
{
	bool due = extra != s->extra, ended;
	uint64_t were;
	int rc;

	s->extra = extra;
	if ((rc = kinds_take(s, types, ntypes, &due, e)) != 0)
		return rc;
	were = shares_hash(s);
	if (hold) {
		s->open = false;
		s->since.ns = now.ns + SAMPLER_SETTLE_NS;
	} else if (!s->open && now.ns >= s->since.ns) {
		window_open(s, now);
	}
	ended = s->open && mono_since_ns(now, s->since) >= SAMPLER_WINDOW_NS;
	if (ended)
		window_take(s);
	if ((ended || due) && (rc = decide(s, e)) != 0)
		return rc;
	*changed = shares_hash(s) != were;
	if (*changed || due) {
		s->open = false;
		s->since.ns = now.ns + SAMPLER_SETTLE_NS;
	} else if (ended) {
		window_open(s, now);
	}
	return 0;
}

/* ---- results ---- */

double
sampler_share(const struct sampler *s, uint32_t type)
{
	return type < s->nkinds ? s->kinds[type].share : 1;
}

const struct spend *
sampler_spend(const struct sampler *s, uint32_t node)
{
	return node < s->npayers && s->payers[node].spend.known ? &s->payers[node].spend : NULL;
}

double
sampler_core_max(const struct sampler *s)
{
	return core_limit(s);
}

static bool
at_least(const struct sampler *s, uint32_t node)
{
	struct load *l;
	uint64_t key;

	for (size_t at = 0; (l = map_next(&s->loads, &at, &key)) != NULL;)
		if (l->node == node && l->type < s->nkinds && l->per_second > 0 &&
		    s->kinds[l->type].share >
			fmin(SAMPLER_LEAST, s->kinds[l->type].is.most) * (1 + SAME))
			return false;
	return true;
}

struct sampler_over
sampler_over(const struct sampler *s, uint32_t node)
{
	const struct payer *p = node < s->npayers ? &s->payers[node] : NULL;
	struct sampler_over o = { 0 };

	if (p == NULL || !p->there || !p->judged || !at_least(s, node))
		return o;
	o.core = outlay_core(&p->pace);
	o.idle = p->idle_core;
	for (int i = 1; i < SPENDERS; i++)
		if (p->pace.core[i] > p->pace.core[o.most])
			o.most = (enum spender)i;
	if (s->o.bytes_max > 0 && p->pace.bytes > s->o.bytes_max)
		o.bytes = p->pace.bytes;
	o.over = o.bytes > 0 || (s->o.core_max > 0 && o.core > core_limit(s));
	return o;
}
