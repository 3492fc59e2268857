/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The reservoir: whole requests, each of all traces with the same probability, also after a
 * merge.
 */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/group_inside.h"
#include "base/texts.h"

enum { SAMPLES_FIRST = 8 };

/* Moves the samples' numbers to new memory: room for more samples, or more numbers in each. */
bool
samples_room(struct group_state *p, uint32_t samples, uint32_t edges_cap, uint32_t keys_cap)
{
	struct group *g = &p->group;
	double *numbers = calloc(samples * ((size_t)edges_cap + keys_cap), sizeof *numbers),
	       *at = numbers;

	if (numbers == NULL)
		return false;
	for (uint32_t i = 0; i < samples; i++, at += (size_t)edges_cap + keys_cap) {
		if (i < g->nsamples) {
			memcpy(at, g->samples[i].edges_ns, g->shape.nedges * sizeof *at);
			memcpy(at + edges_cap, g->samples[i].keys, g->nkeys * sizeof *at);
		}
		g->samples[i].edges_ns = at;
		g->samples[i].keys = at + edges_cap;
	}
	free(p->numbers);
	p->numbers = numbers;
	p->samples_cap = samples;
	p->keys_cap = keys_cap;
	return true;
}

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

static void
merge_sample(struct groups *gs, struct group_state *to, const struct group_state *from,
    const struct sample *s, struct loop_match *b)
{
	struct group *g = &to->group;
	const struct group *f = &from->group;
	struct sample *mine = &g->samples[g->nsamples++];
	uint32_t plain = g->shape.ntokens - 1, keyed = loops_with_keys(g),
		 there_keyed = loops_with_keys(f);
	uint32_t fields = g->nkeys - keyed;

	mine->id = s->id;
	mine->total_ns = s->total_ns;
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
		reserve(gs, to, g->nsamples + f->nsamples);
		draw_parts(g, f, part);
		shuffle(&g->rng, order, g->nsamples, part[0]);
		keep_samples(g, order, part[0], room);
		shuffle(&g->rng, order, f->nsamples, part[1]);
		for (uint32_t i = 0; i < part[1]; i++)
			merge_sample(gs, to, from, &f->samples[order[i]], &b);
	}
	loop_match_release(&b);
	free(order);
	free(room);
	return ok ? 0 : ERR_MEMORY;
}
