/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The reservoir: whole requests, each of all traces with the same probability, also after a
 * merge. Beside it, once it no longer has all requests, the slowest ones.
 */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/group_inside.h"
#include "base/texts.h"

enum { SAMPLES_FIRST = 8 };

/* Moves the numbers of n of `cap` samples to new memory. */
static bool
move_numbers(double **numbers, struct sample *samples, uint32_t n, uint32_t cap,
    const struct group *g, uint32_t edges_cap, uint32_t keys_cap)
{
	double *more = calloc(cap * ((size_t)edges_cap + keys_cap), sizeof *more), *at = more;

	if (more == NULL)
		return false;
	for (uint32_t i = 0; i < cap; i++, at += (size_t)edges_cap + keys_cap) {
		if (i < n) {
			memcpy(at, samples[i].edges_ns, g->shape.nedges * sizeof *at);
			memcpy(at + edges_cap, samples[i].keys, g->nkeys * sizeof *at);
		}
		samples[i].edges_ns = at;
		samples[i].keys = at + edges_cap;
	}
	free(*numbers);
	*numbers = more;
	return true;
}

/* Makes room for more samples, or more numbers in each, also of the slowest. */
bool
samples_room(struct group_state *p, uint32_t samples, uint32_t edges_cap, uint32_t keys_cap)
{
	struct group *g = &p->group;

	if (!move_numbers(&p->numbers, g->samples, g->nsamples, samples, g, edges_cap, keys_cap) ||
	    (p->slow_cap > 0 && !move_numbers(&p->slow_numbers, g->slow, g->nslow, p->slow_cap, g,
				    edges_cap, keys_cap)))
		return false;
	p->samples_cap = samples;
	p->keys_cap = keys_cap;
	return true;
}

/* ---- the slowest ---- */

static void
swap_slow(struct group *g, uint32_t a, uint32_t b)
{
	struct sample s = g->slow[a];

	g->slow[a] = g->slow[b];
	g->slow[b] = s;
}

static uint32_t
sift_up(struct group *g, uint32_t at)
{
	for (; at > 0 && sample_is_slower(&g->slow[(at - 1) / 2], &g->slow[at]); at = (at - 1) / 2)
		swap_slow(g, at, (at - 1) / 2);
	return at;
}

static uint32_t
sift_down(struct group *g, uint32_t at)
{
	for (uint32_t child; (child = 2 * at + 1) < g->nslow; at = child) {
		if (child + 1 < g->nslow && sample_is_slower(&g->slow[child], &g->slow[child + 1]))
			child++;
		if (!sample_is_slower(&g->slow[at], &g->slow[child]))
			break;
		swap_slow(g, at, child);
	}
	return at;
}

struct sample *
slow_choose(struct group *g, int64_t total_ns, uint64_t number)
{
	struct sample new = { .total_ns = total_ns, .number = number };
	uint32_t at = 0;

	if (g->slow == NULL || g->slow_max == 0)
		return NULL;
	if (g->nslow < g->slow_max)
		at = g->nslow++;
	else if (!sample_is_slower(&new, &g->slow[0]))
		return NULL;
	g->slow[at].total_ns = total_ns;
	g->slow[at].number = number;
	at = at > 0 ? sift_up(g, at) : sift_down(g, at);
	return &g->slow[at];
}

/* No request is known to be among the slowest any more. */
static void
slow_forget(struct group *g)
{
	g->nslow = g->slow_max = 0;
}

/* Begins with the slowest of the reservoir, which has all requests except the one that was just
 * counted. Without memory there are none. */
static void
slow_begin(struct groups *gs, struct group_state *p)
{
	struct group *g = &p->group;
	size_t before = group_state_bytes(p),
	       more = g->slow_max *
	              (((size_t)p->edges_cap + p->keys_cap) * sizeof(double) + sizeof *g->slow);

	if (g->slow != NULL || g->slow_max == 0)
		return;
	if ((gs->o.memory_max_bytes != 0 && gs->bytes + more > gs->o.memory_max_bytes) ||
	    (g->slow = arena_calloc(&p->arena, g->slow_max, sizeof *g->slow)) == NULL ||
	    !move_numbers(
		&p->slow_numbers, g->slow, 0, g->slow_max, g, p->edges_cap, p->keys_cap)) {
		slow_forget(g);
		return;
	}
	p->slow_cap = g->slow_max;
	for (uint32_t i = 0; i < g->nsamples; i++) {
		const struct sample *from = &g->samples[i];
		struct sample *to = slow_choose(g, from->total_ns, from->number);

		if (to == NULL)
			continue;
		to->id = from->id;
		to->order = from->order;
		memcpy(to->edges_ns, from->edges_ns, g->shape.nedges * sizeof *to->edges_ns);
		memcpy(to->keys, from->keys, g->nkeys * sizeof *to->keys);
	}
	gs->bytes += group_state_bytes(p) - before;
}

/* ---- the reservoir ---- */

/* Makes room for that many samples in total, as far as memory allows: otherwise the reservoir
 * keeps its size. It grows with the traces up to its maximum, so whenever growth stops, all
 * traces so far are in it, or each with the same probability. */
static void
reserve(struct groups *gs, struct group_state *p, uint32_t samples)
{
	struct group *g = &p->group;
	size_t before = group_state_bytes(p), more;

	samples = samples < g->samples_max ? samples : g->samples_max;
	if (samples <= p->samples_cap)
		return;
	more = (samples - p->samples_cap) * ((size_t)p->edges_cap + p->keys_cap) * sizeof(double);
	if ((gs->o.memory_max_bytes == 0 || gs->bytes + more <= gs->o.memory_max_bytes) &&
	    samples_room(p, samples, p->edges_cap, p->keys_cap))
		gs->bytes += group_state_bytes(p) - before;
	else
		g->samples_max = p->samples_cap;
}

/* The sample for the trace that was just counted, or NULL: each of the n traces so far is in
 * the reservoir with the same probability (Vitter 1985, algorithm R). */
struct sample *
sample_choose(struct groups *gs, struct group_state *p)
{
	struct group *g = &p->group;
	uint64_t at;

	assert(g->nsamples <= g->samples_max && g->total.n > 0);
	if (g->nsamples == p->samples_cap)
		reserve(gs, p, p->samples_cap == 0 ? SAMPLES_FIRST : 2 * p->samples_cap);
	if (g->nsamples == g->samples_max) {
		if (g->slow_max > g->samples_max / 2)
			slow_forget(g); /* for want of memory */
		slow_begin(gs, p);
		at = rng_below(&g->rng, g->total.n);
		return at < g->samples_max ? &g->samples[at] : NULL;
	}
	return &g->samples[g->nsamples++];
}

/* ---- merging ---- */

/* How many samples of each group are kept, as if they were drawn from all traces of both. */
static void
draw_parts(struct group *to, const struct group *from, uint32_t part[2])
{
	uint64_t left[2] = { to->total.n, from->total.n };
	uint32_t have[2] = { to->nsamples, from->nsamples };

	part[0] = part[1] = 0;
	while (part[0] + part[1] < to->samples_max && part[0] + part[1] < have[0] + have[1]) {
		int which = rng_below(&to->rng, left[0] + left[1]) >= left[0];

		/* Only where memory for samples was short. */
		if (part[which] == have[which])
			which = !which;
		part[which]++;
		left[which] -= left[which] > 0;
	}
}

/* Puts a random selection of `part` of the n numbers in front (Fisher-Yates). */
static void
shuffle(struct rng *rng, uint32_t *order, uint32_t n, uint32_t part)
{
	for (uint32_t i = 0; i < n; i++)
		order[i] = i;
	for (uint32_t i = 0; i < part; i++) {
		uint32_t at = i + (uint32_t)rng_below(rng, n - i), swap = order[i];

		order[i] = order[at];
		order[at] = swap;
	}
}

static void
keep_samples(struct group *g, const uint32_t *order, uint32_t part, struct sample *room)
{
	memcpy(room, g->samples, g->nsamples * sizeof *room);
	for (uint32_t i = 0; i < g->nsamples; i++)
		g->samples[i] = room[order[i]];
	g->nsamples = part;
}

static double
number_here(
    struct groups *gs, struct group_state *to, uint32_t key, const struct group *from, double x)
{
	struct key *k = &to->group.keys[key];
	uint8_t type = from->keys[key].type;
	const char *text;

	if (isnan(x))
		return x;
	if (k->type == VALUE_NONE)
		k->type = type;
	if ((k->type == VALUE_TEXT) != (type == VALUE_TEXT))
		return (double)NAN;
	if (type != VALUE_TEXT)
		return x;
	text = texts_get(from->texts, (uint32_t)x);
	return keys_text(
	    gs, to, text, strlen(text), k->kind == KEY_PROCESS || k->kind == KEY_THREAD);
}

/* Which loop of one group is which of the other. */
struct loop_match {
	/* [loops of the target]: number in the source, or UINT32_MAX */
	uint32_t *loop_there;
	struct loop_order *order; /* of the source's loops */
	double *back_from;        /* temporary */
};

static bool
loop_match_new(struct loop_match *b, const struct group_state *to, const struct group_state *from)
{
	const struct shape *here = &to->group.shape, *there = &from->group.shape;

	b->loop_there = malloc((here->nloops + 1) * sizeof *b->loop_there);
	b->order = malloc((there->nloops + 1) * sizeof *b->order);
	b->back_from = malloc(here->ntokens * sizeof *b->back_from);
	if (b->loop_there == NULL || b->order == NULL || b->back_from == NULL)
		return false;
	for (uint32_t i = 0; i < here->nloops; i++)
		b->loop_there[i] = loops_number(from, &here->loops[i], i);
	loops_order(b->order, there);
	return true;
}

static void
loop_match_release(struct loop_match *b)
{
	free(b->loop_there);
	free(b->order);
	free(b->back_from);
}

/* Sets all of `mine` except its time. */
static void
merge_sample(struct groups *gs, struct group_state *to, struct sample *mine,
    const struct group_state *from, const struct sample *s, struct loop_match *b)
{
	struct group *g = &to->group;
	const struct group *f = &from->group;
	uint32_t plain = g->shape.ntokens - 1, keyed = loops_with_keys(g),
		 there_keyed = loops_with_keys(f);
	uint32_t fields = g->nkeys - keyed;

	mine->id = s->id;
	mine->number = s->number + g->total.n;
	mine->order = s->order + gs->added;
	memcpy(mine->edges_ns, s->edges_ns, plain * sizeof *s->edges_ns);
	for (uint32_t i = 0; i < g->shape.nloops; i++)
		mine->edges_ns[g->shape.loops[i].edge] =
		    b->loop_there[i] == UINT32_MAX
			? 0
			: s->edges_ns[f->shape.loops[b->loop_there[i]].edge];
	for (uint32_t i = 0; i < fields; i++)
		mine->keys[i] = number_here(gs, to, i, f, s->keys[i]);
	for (uint32_t i = 0; i < keyed; i++) {
		double *runs = &mine->keys[fields + i];

		if (b->loop_there[i] < there_keyed)
			*runs = s->keys[fields + b->loop_there[i]];
		else if (there_keyed == f->shape.nloops)
			*runs = loops_runs_before(s->keys + fields, b->order, f->shape.nloops,
			    &g->shape.loops[i], b->back_from);
		else
			*runs = (double)NAN;
	}
}

static bool
has_all(const struct group *g)
{
	return g->nsamples == g->total.n;
}

/* The slowest of both, before their reservoirs are merged. */
static void
merge_slow(
    struct groups *gs, struct group_state *to, const struct group_state *from, struct loop_match *b)
{
	struct group *g = &to->group;
	const struct group *f = &from->group;
	const struct sample *theirs = f->nslow > 0 ? f->slow : f->samples;
	uint32_t n = f->nslow > 0 ? f->nslow : f->nsamples;

	if (g->total.n + f->total.n <= g->samples_max)
		return; /* the reservoir will have all */
	if (has_all(g))
		slow_begin(gs, to);
	if (g->slow == NULL || (f->nslow == 0 && !has_all(f)) ||
	    (f->nslow > 0 && f->slow_max < g->slow_max)) {
		slow_forget(g);
		return;
	}
	for (uint32_t i = 0; i < n; i++) {
		struct sample *mine = slow_choose(
		    g, theirs[i].total_ns, theirs[i].number + g->total.n);

		if (mine != NULL)
			merge_sample(gs, to, mine, from, &theirs[i], b);
	}
}

int
samples_merge(struct groups *gs, struct group_state *to, const struct group_state *from)
{
	struct group *g = &to->group;
	const struct group *f = &from->group;
	uint32_t most = g->nsamples > f->nsamples ? g->nsamples : f->nsamples, part[2];
	uint32_t *order = malloc((most + 1) * sizeof *order);
	struct sample *room = malloc((most + 1) * sizeof *room);
	struct loop_match b = { 0 };
	bool ok = loop_match_new(&b, to, from) && order != NULL && room != NULL;

	if (ok) {
		merge_slow(gs, to, from, &b);
		reserve(gs, to, g->nsamples + f->nsamples);
		draw_parts(g, f, part);
		shuffle(&g->rng, order, g->nsamples, part[0]);
		keep_samples(g, order, part[0], room);
		shuffle(&g->rng, order, f->nsamples, part[1]);
		for (uint32_t i = 0; i < part[1]; i++) {
			struct sample *mine = &g->samples[g->nsamples++];

			mine->total_ns = f->samples[order[i]].total_ns;
			merge_sample(gs, to, mine, from, &f->samples[order[i]], &b);
		}
	}
	loop_match_release(&b);
	free(order);
	free(room);
	return ok ? 0 : ERR_MEMORY;
}
