/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Groups. The edges, loops and keys of a group grow when a trace goes back in a loop where none
 * did before; existing numbers are kept, so arrays only get longer. For the traces before, the
 * new edge took no time and was never passed: their moments become what they would be had the
 * loop been known.
 */
#include <assert.h>
#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/group_inside.h"
#include "base/array.h"
#include "base/hash_map.h"
#include "base/texts.h"

enum { IGNORED_UNKNOWN, IGNORED_NO, IGNORED_YES };

struct groups *
groups_new(const struct groups_options *o, const struct labels *labels)
{
	struct groups *g = calloc(1, sizeof *g);

	if (g == NULL)
		return NULL;
	g->o = *o;
	g->labels = labels;
	return g;
}

static void
group_state_free(struct group_state *p)
{
	struct arena arena = p->arena; /* the arena contains p */

	texts_free(p->group.texts);
	map_release(&p->loop_of);
	free(p->numbers);
	free(p->slow_numbers);
	arena_release(&arena);
}

void
groups_free(struct groups *g)
{
	if (g == NULL)
		return;
	for (uint32_t i = 0; i < g->count; i++)
		group_state_free(g->states[i]);
	free(g->states);
	free(g->ignored);
	free(g->times);
	map_release(&g->by_key);
	free(g);
}

/* ---- excluded waits ---- */

static bool
matches(const struct groups *gs, uint32_t label)
{
	const char *text = labels_get(gs->labels, label)->text;

	for (const char *const *p = gs->o.ignore; *p != NULL; p++)
		if (fnmatch(*p, text, 0) == 0)
			return true;
	return false;
}

static bool
label_ignored(struct groups *gs, uint32_t label)
{
	uint32_t n = gs->nignored;

	if (gs->o.ignore == NULL)
		return false;
	if (!array_reserve(gs->ignored, gs->nignored, label + 1))
		return matches(gs, label);
	for (; n < gs->nignored; n++)
		gs->ignored[n] = IGNORED_UNKNOWN;
	if (gs->ignored[label] == IGNORED_UNKNOWN)
		gs->ignored[label] = matches(gs, label) ? IGNORED_YES : IGNORED_NO;
	return gs->ignored[label] == IGNORED_YES;
}

bool
edge_is_ignored(struct groups *gs, const struct shape_edge *e)
{
	return label_ignored(gs, e->from) || label_ignored(gs, e->to);
}

static int64_t
ignored_ns(struct groups *gs, const struct shape *s)
{
	int64_t sum = 0;

	for (uint32_t i = 0; gs->o.ignore != NULL && i < s->nedges; i++)
		sum += edge_is_ignored(gs, &s->edges[i]) ? s->times_ns[i] : 0;
	return sum;
}

/* ---- new groups ---- */

void *
group_more(struct group_state *p, const void *from, size_t size_bytes, size_t room_bytes)
{
	void *to = arena_calloc(&p->arena, 1, room_bytes);

	if (to != NULL && size_bytes > 0)
		memcpy(to, from, size_bytes);
	return to;
}

/* Moves the arrays by edge and by loop to new memory with that much room. */
bool
group_widen(struct group_state *p, uint32_t edges_cap, uint32_t loops_cap)
{
	struct group *g = &p->group;
	struct shape *s = &g->shape;
	uint32_t counted = g->edges != NULL ? s->nedges : 0;

	assert(edges_cap >= s->nedges && loops_cap >= s->nloops);
	if (!MORE(s->edges, s->nedges, edges_cap) || !MORE(s->times_ns, s->nedges, edges_cap) ||
	    !MORE(s->passes, s->nedges, edges_cap) || !MORE(s->loops, s->nloops, loops_cap) ||
	    !MORE(s->iterations, s->nloops, loops_cap) || !MORE(g->edges, counted, edges_cap) ||
	    !MORE(g->edge_ignored, counted, edges_cap) || !MORE(g->passed, counted, edges_cap) ||
	    !MORE(g->passes, counted, edges_cap) || !MORE(g->tail_ns, counted, edges_cap))
		return false;
	p->edges_cap = edges_cap;
	p->loops_cap = loops_cap;
	return true;
}

static bool
copy_shape(struct group_state *p, const struct shape *from)
{
	struct shape *to = &p->group.shape;

	*to = *from;
	to->tokens = arena_copy(&p->arena, from->tokens, from->ntokens * sizeof *from->tokens);
	to->bins = arena_copy(&p->arena, from->bins, from->ntokens * sizeof *from->bins);
	to->first_step = arena_copy(
	    &p->arena, from->first_step, from->ntokens * sizeof *from->first_step);
	return to->tokens != NULL && to->bins != NULL && to->first_step != NULL &&
	       group_widen(p, from->nedges + SPARE_LOOPS, from->nloops + SPARE_LOOPS);
}

static size_t
stride(const struct group_state *p)
{
	return (size_t)p->edges_cap + p->keys_cap;
}

size_t
group_state_bytes(const struct group_state *p)
{
	return p->arena.total_bytes +
	       (p->samples_cap + (size_t)p->slow_cap) * stride(p) * sizeof(double) +
	       p->group.shape.nloops * (size_t)LOOP_BYTES;
}

static struct group_state *
group_state_new(struct groups *gs, uint32_t type, const struct shape *s)
{
	struct arena arena = { 0 };
	struct group_state *p = arena_calloc(&arena, 1, sizeof *p);
	struct group *g;
	bool ok;

	if (p == NULL)
		return NULL;
	g = &p->group;
	p->arena = arena;
	ok = copy_shape(p, s) && keys_find(p, gs->labels) &&
	     (g->sketch = arena_calloc(&p->arena, 1, sizeof *g->sketch)) != NULL &&
	     (g->samples = arena_calloc(&p->arena, gs->o.samples_max, sizeof *g->samples)) !=
	         NULL &&
	     (g->texts = texts_new()) != NULL;
	for (uint32_t i = 0; ok && i < s->nedges; i++)
		g->edge_ignored[i] = edge_is_ignored(gs, &s->edges[i]);
	for (uint32_t i = 0; ok && i < s->nloops; i++)
		ok = loops_know(p, i);
	if (!ok) {
		group_state_free(p);
		return NULL;
	}
	g->type = type;
	g->samples_max = gs->o.samples_max;
	g->slow_max = gs->o.slow_max < g->samples_max / 2 ? gs->o.slow_max : g->samples_max / 2;
	g->slowest.total_ns = g->fastest.total_ns = -1;
	/* Depends on the shape, not on the order of groups. */
	rng_seed(&g->rng, gs->o.seed ^ s->key.a);
	return p;
}

static struct group_state *
find(const struct groups *gs, struct hash128 key)
{
	struct group_state *p = map_get(&gs->by_key, key.a);

	while (p != NULL && p->group.shape.key.b != key.b)
		p = p->same_hash;
	return p;
}

/* Adds a new group. Half of the memory is reserved for the reservoirs of existing groups, since
 * many shapes occur once. */
static bool
keep_state(struct groups *gs, struct group_state *p)
{
	uint64_t key = p->group.shape.key.a;

	if (gs->o.memory_max_bytes != 0 &&
	    gs->bytes + group_state_bytes(p) > gs->o.memory_max_bytes / 2) {
		gs->full = true;
		return false;
	}
	if (!array_reserve(gs->states, gs->cap, gs->count + 1))
		return false;
	p->same_hash = map_get(&gs->by_key, key);
	if (!map_put(&gs->by_key, key, p))
		return false;
	gs->states[gs->count++] = p;
	gs->bytes += group_state_bytes(p);
	return true;
}

struct group_state *
groups_state_for(struct groups *gs, uint32_t type, const struct shape *s)
{
	struct group_state *p = find(gs, s->key);

	if (p != NULL || gs->count >= gs->o.groups_max || gs->full)
		return p;
	if ((p = group_state_new(gs, type, s)) == NULL)
		return NULL;
	if (!keep_state(gs, p)) {
		group_state_free(p);
		return NULL;
	}
	return p;
}

/* ---- adding a trace ---- */

void
note_exemplars(struct group *g, struct exemplar x)
{
	if (g->slowest.total_ns < 0 || x.total_ns > g->slowest.total_ns)
		g->slowest = x;
	if (g->fastest.total_ns < 0 || x.total_ns < g->fastest.total_ns)
		g->fastest = x;
}

/* The times of the trace by the group's edges, 0 for excluded waits; *ignored is their sum.
 * NULL: out of memory. */
static const double *
lay_times(struct groups *gs, const struct group_state *p, const struct shape *s, int64_t *ignored)
{
	const struct group *g = &p->group;
	uint32_t plain = s->ntokens - 1;
	double *times;

	assert(s->ntokens == g->shape.ntokens);
	if (!array_reserve(gs->times, gs->ntimes, g->shape.nedges))
		return NULL;
	times = gs->times;
	for (uint32_t i = 0; i < plain; i++)
		times[i] = (double)s->times_ns[i];
	for (uint32_t i = plain; i < g->shape.nedges; i++)
		times[i] = 0;
	for (uint32_t i = 0; i < s->nloops; i++)
		times[g->shape.loops[loops_number(p, &s->loops[i], i)].edge] =
		    (double)s->times_ns[s->loops[i].edge];
	*ignored = 0;
	for (uint32_t i = 0; i < g->shape.nedges && gs->o.ignore != NULL; i++)
		if (g->edge_ignored[i]) {
			*ignored += (int64_t)times[i];
			times[i] = 0;
		}
	return times;
}

static void
count_passes(const struct group_state *p, const struct shape *s)
{
	const struct group *g = &p->group;

	for (uint32_t i = 0; i + 1 < s->ntokens; i++) {
		g->passed[i]++;
		g->passes[i] += s->passes[i];
	}
	for (uint32_t i = 0; i < s->nloops; i++) {
		uint32_t at = g->shape.loops[loops_number(p, &s->loops[i], i)].edge;

		g->passed[at] += s->passes[s->loops[i].edge] > 0;
		g->passes[at] += s->passes[s->loops[i].edge];
	}
}

bool
same_path(const struct shape *a, const struct shape *b)
{
	return a->ntokens == b->ntokens &&
	       memcmp(a->tokens, b->tokens, a->ntokens * sizeof *a->tokens) == 0 &&
	       memcmp(a->bins, b->bins, a->ntokens * sizeof *a->bins) == 0;
}

static struct group *
to_other(struct groups *gs, const struct trace *t, const struct shape *s)
{
	gs->other.traces++;
	moments_add(&gs->other.total, (double)(t->end_ns - t->begin_ns - ignored_ns(gs, s)));
	return NULL;
}

static void
add_tail(struct group *g, const double *times, int64_t total_ns)
{
	g->ntail++;
	g->tail_total_ns += (double)total_ns;
	for (uint32_t i = 0; i < g->shape.nedges; i++)
		g->tail_ns[i] += times[i];
}

struct group *
groups_add(struct groups *gs, const struct trace *t, const struct critpath *p,
    const struct shape *s, const char *const *node_names)
{
	struct group_state *state;
	struct exemplar x = { { t->id_high, t->id }, t->end_ns - t->begin_ns };
	const double *times;
	struct sample *sample;
	struct group *g;
	int64_t ignored;

	gs->added++;
	if (!shape_exact(s, t)) {
		gs->other.inexact++;
		return to_other(gs, t, s);
	}
	if ((state = groups_state_for(gs, t->type, s)) == NULL)
		return to_other(gs, t, s);
	g = &state->group;
	if (!same_path(&g->shape, s)) {
		gs->other.collisions++;
		return to_other(gs, t, s);
	}
	if (!loops_take(gs, state, s) || (times = lay_times(gs, state, s, &ignored)) == NULL)
		return to_other(gs, t, s);
	x.total_ns -= ignored;
	comoments_add_high(
	    g->edges, times, g->shape.nedges, (double)x.total_ns, &g->total, &g->total_high);
	moments_high_add(&g->total_high, &g->total, (double)x.total_ns);
	moments_add(&g->total, (double)x.total_ns);
	moments_add(&g->ignored, (double)ignored);
	if (gs->o.tail_ns > 0 && (double)x.total_ns > gs->o.tail_ns)
		add_tail(g, times, x.total_ns);
	count_passes(state, s);
	sketch_add(g->sketch, x.total_ns);
	note_exemplars(g, x);
	g->lossy += t->lossy;
	g->moved += p->moved;
	if ((sample = sample_choose(gs, state)) != NULL) {
		sample->total_ns = x.total_ns;
		sample->number = g->total.n;
		sample->order = gs->added;
		sample->id = x.id;
		memcpy(sample->edges_ns, times, g->shape.nedges * sizeof *times);
		keys_read(gs, state, sample->keys, t, p, s, node_names);
	}
	if ((sample = slow_choose(g, x.total_ns, g->total.n)) != NULL) {
		sample->order = gs->added;
		sample->id = x.id;
		memcpy(sample->edges_ns, times, g->shape.nedges * sizeof *times);
		keys_read(gs, state, sample->keys, t, p, s, node_names);
	}
	return g;
}

/* ---- merging ---- */

/* from_edge: the same edge there; UINT32_MAX: no trace of `f` took it. */
static void
merge_edge(struct group *g, uint32_t edge, const struct group *f, uint32_t from_edge)
{
	const struct comoments none = { .n = f->total.n, .mean_y = f->total.mean };
	bool there = from_edge != UINT32_MAX;

	comoments_merge_high(&g->edges[edge], &g->total, &g->total_high,
	    there ? &f->edges[from_edge] : &none, &f->total, &f->total_high);
	g->passed[edge] += there ? f->passed[from_edge] : 0;
	g->passes[edge] += there ? f->passes[from_edge] : 0;
	g->tail_ns[edge] += there ? f->tail_ns[from_edge] : 0;
}

static void
merge_counts(struct group_state *to, const struct group_state *from)
{
	struct group *g = &to->group;
	const struct group *f = &from->group;

	for (uint32_t i = 0; i + 1 < g->shape.ntokens; i++)
		merge_edge(g, i, f, i);
	for (uint32_t i = 0; i < g->shape.nloops; i++) {
		uint32_t there = loops_number(from, &g->shape.loops[i], i);

		merge_edge(g, g->shape.loops[i].edge, f,
		    there == UINT32_MAX ? UINT32_MAX : f->shape.loops[there].edge);
	}
	moments_high_merge(&g->total_high, &g->total, &f->total_high, &f->total);
	moments_merge(&g->total, &f->total);
	moments_merge(&g->ignored, &f->ignored);
	g->ntail += f->ntail;
	g->tail_total_ns += f->tail_total_ns;
	sketch_merge(g->sketch, f->sketch);
	if (f->slowest.total_ns >= 0) {
		note_exemplars(g, f->slowest);
		note_exemplars(g, f->fastest);
	}
	g->lossy += f->lossy;
	g->moved += f->moved;
}

static int
merge_state(struct groups *gs, const struct group_state *from)
{
	const struct group *f = &from->group;
	struct group_state *to = groups_state_for(gs, f->type, &f->shape);

	if (to == NULL || !same_path(&to->group.shape, &f->shape) ||
	    !loops_take(gs, to, &f->shape)) {
		gs->other.collisions += to != NULL && !same_path(&to->group.shape, &f->shape)
		                            ? f->total.n
		                            : 0;
		gs->other.traces += f->total.n;
		moments_merge(&gs->other.total, &f->total);
		return 0;
	}
	if (samples_merge(gs, to, from) != 0)
		return ERR_MEMORY;
	merge_counts(to, from);
	return 0;
}

int
groups_merge(struct groups *into, const struct groups *from, struct err *e)
{
	for (uint32_t i = 0; i < from->count; i++)
		if (merge_state(into, from->states[i]) != 0)
			return err_set(e, ERR_MEMORY, "no memory to merge %u groups", from->count);
	into->added += from->added;
	into->other.traces += from->other.traces;
	into->other.collisions += from->other.collisions;
	into->other.inexact += from->other.inexact;
	moments_merge(&into->other.total, &from->other.total);
	return 0;
}

/* ---- queries ---- */

uint32_t
groups_count(const struct groups *gs)
{
	return gs->count;
}

struct group *
groups_at(const struct groups *gs, uint32_t i)
{
	assert(i < gs->count);
	return &gs->states[i]->group;
}

struct group *
groups_find(const struct groups *gs, struct hash128 key)
{
	struct group_state *p = find(gs, key);

	return p != NULL ? &p->group : NULL;
}

const struct groups_other *
groups_other(const struct groups *gs)
{
	return &gs->other;
}

struct exemplar
group_median(const struct group *g)
{
	double middle = sketch_quantile(g->sketch, 0.5), least = INFINITY;
	struct exemplar x = { .total_ns = -1 };

	for (uint32_t i = 0; i < g->nsamples; i++) {
		double apart = fabs((double)g->samples[i].total_ns - middle);

		if (apart < least) {
			least = apart;
			x = (struct exemplar){ g->samples[i].id, g->samples[i].total_ns };
		}
	}
	return x;
}
