/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Loops that occur after a group was made: their edges, their keys, and the values of these
 * keys for the samples that exist already.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/group_inside.h"

static uint64_t
loop_key(const struct shape_loop *l)
{
	return (uint64_t)l->first << 32 | l->last;
}

bool
loops_know(struct group_state *p, uint32_t loop)
{
	return map_put(
	    &p->loop_of, loop_key(&p->group.shape.loops[loop]), (void *)(uintptr_t)(loop + 1));
}

uint32_t
loops_with_keys(const struct group *g)
{
	uint32_t n = 0;

	while (n < g->nkeys && g->keys[g->nkeys - 1 - n].kind == KEY_ITERATIONS)
		n++;
	return n;
}

static int
by_first(const void *a, const void *b)
{
	const struct loop_order *x = a, *y = b;

	return x->first != y->first ? (x->first > y->first) - (x->first < y->first)
	                            : (x->last < y->last) - (x->last > y->last);
}

void
loops_order(struct loop_order *ret, const struct shape *s)
{
	for (uint32_t i = 0; i < s->nloops; i++)
		ret[i] = (struct loop_order){ s->loops[i].first, s->loops[i].last, i };
	qsort(ret, s->nloops, sizeof *ret, by_first);
}

/*
 * How often a body ran in a sample that never went back in it: as often as the path reached its
 * first token. This follows from the iterations of the loops that the sample knows, token by
 * token from the beginning: what reaches a token is what left the previous one, minus what went
 * back from there, plus what came back to it. O(tokens + loops).
 */
double
loops_runs_before(const double *iterations, const struct loop_order *order, uint32_t nloops,
    const struct shape_loop *body, double *back_from)
{
	double onward = 1;
	uint32_t i = 0;

	memset(back_from, 0, (body->last + 1) * sizeof *back_from);
	for (uint32_t token = 0;; token++) {
		double came = onward;

		for (; i < nloops && order[i].first == token; i++) {
			if (token == body->first && order[i].last < body->last)
				break;
			if (order[i].last <= body->last)
				back_from[order[i].last] += iterations[order[i].loop] - came;
			came = iterations[order[i].loop];
		}
		if (token == body->first)
			return came;
		onward = came - back_from[token];
	}
}

/* Sets the new loop's key in the samples that exist already. */
static bool
backdate(struct group_state *p, const struct shape_loop *body)
{
	struct group *g = &p->group;
	uint32_t nloops = g->shape.nloops, base = g->nkeys - nloops;
	struct loop_order *order = malloc((nloops + 1) * sizeof *order);
	double *back_from = malloc((body->last + 1) * sizeof *back_from);
	bool ok = order != NULL && back_from != NULL;

	if (ok)
		loops_order(order, &g->shape);
	for (uint32_t i = 0; ok && i < g->nsamples + g->nslow; i++)
		sample_at(g, i)->keys[g->nkeys] = loops_runs_before(
		    sample_at(g, i)->keys + base, order, nloops, body, back_from);
	free(order);
	free(back_from);
	return ok;
}

/* Makes room for one more loop, its edge and its key. */
static bool
loop_room(struct groups *gs, struct group_state *p)
{
	struct group *g = &p->group;
	bool edges = g->shape.nedges == p->edges_cap || g->shape.nloops == p->loops_cap;
	bool keys = g->nkeys == p->keys_cap && g->nkeys < KEYS_MAX;
	uint32_t edges_cap = p->edges_cap * (edges ? 2 : 1),
		 keys_cap = p->keys_cap * (keys ? 2 : 1);
	size_t before = group_state_bytes(p),
	       most = gs->bytes + LOOP_BYTES + (edges || keys ? before : 0);

	if (gs->o.memory_max_bytes != 0 && most > gs->o.memory_max_bytes)
		return false;
	if (!edges && !keys)
		return true;
	if ((keys && !MORE(g->keys, g->nkeys, keys_cap)) ||
	    (p->samples_cap > 0 && !samples_room(p, p->samples_cap, edges_cap, keys_cap)) ||
	    (edges && !group_widen(p, edges_cap, 2 * p->loops_cap)))
		return false;
	p->keys_cap = keys_cap;
	gs->bytes += group_state_bytes(p) - before;
	return true;
}

static bool
add_loop(struct groups *gs, struct group_state *p, const struct shape *from, uint32_t loop)
{
	struct group *g = &p->group;
	struct shape *s = &g->shape;
	const struct shape_loop *l = &from->loops[loop];
	struct shape_loop mine = { l->first, l->last, s->nedges };
	bool keyed = s->nloops == loops_with_keys(g) && g->nkeys < KEYS_MAX;

	assert(loop < from->nloops && loops_number(p, &from->loops[loop], loop) == UINT32_MAX);
	if (!loop_room(gs, p) || (keyed && !backdate(p, l)) ||
	    !map_put(&p->loop_of, loop_key(l), (void *)(uintptr_t)(s->nloops + 1)))
		return false;
	for (uint32_t i = 0; i < g->nsamples + g->nslow; i++)
		sample_at(g, i)->edges_ns[s->nedges] = 0;
	g->edges[s->nedges] = (struct comoments){ .n = g->total.n, .mean_y = g->edges[0].mean_y };
	g->edge_ignored[s->nedges] = edge_is_ignored(gs, &from->edges[l->edge]);
	s->edges[s->nedges] = from->edges[l->edge];
	s->times_ns[s->nedges] = 0;
	s->passes[s->nedges++] = 0;
	s->iterations[s->nloops] = shape_runs(s, l->first, l->last);
	if (keyed)
		keys_add(g, (struct key){ KEY_ITERATIONS, VALUE_UINT, l->first, s->nloops });
	s->loops[s->nloops++] = mine;
	gs->bytes += LOOP_BYTES;
	return true;
}

uint32_t
loops_number(const struct group_state *p, const struct shape_loop *l, uint32_t guess)
{
	const struct shape *s = &p->group.shape;

	if (guess < s->nloops && s->loops[guess].first == l->first &&
	    s->loops[guess].last == l->last)
		return guess;
	return (uint32_t)(uintptr_t)map_get(&p->loop_of, loop_key(l)) - 1;
}

/* Adds the new loops of `from` to the group's shape. */
bool
loops_take(struct groups *gs, struct group_state *p, const struct shape *from)
{
	for (uint32_t i = 0; i < from->nloops; i++)
		if (loops_number(p, &from->loops[i], i) == UINT32_MAX && !add_loop(gs, p, from, i))
			return false;
	return true;
}
