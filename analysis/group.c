/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/group.h"

enum { TEXTS_MAX = 256, KEYS_MAX = 1024 };

/* A group and what belongs to it: all is in the arena but the moving parts of texts. */
struct place {
	struct group group;
	struct arena arena;
	struct place *same_hash;
};

struct groups {
	struct groups_options o;
	const struct labels *labels;
	struct place **places;
	uint32_t count, cap;
	struct map by_key;	/* half of the key to the newest place with it */
	uint64_t other;
};

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
place_free(struct place *p)
{
	struct arena arena = p->arena;	/* which p lies in */

	texts_free(p->group.texts);
	arena_release(&arena);
}

void
groups_free(struct groups *g)
{
	if (g == NULL)
		return;
	for (uint32_t i = 0; i < g->count; i++)
		place_free(g->places[i]);
	free(g->places);
	map_release(&g->by_key);
	free(g);
}

/* ---- keys ---- */

/* Numbers that only tell requests apart: nothing follows from their size. */
static bool
is_identity(const struct label *l, const char *field)
{
	return l->kind != RECORD_POINT && (strcmp(field, "trace_id_high") == 0 || strcmp(field, "probed") == 0);
}

static void
add_key(struct group *g, struct key k)
{
	if (g->nkeys < KEYS_MAX)
		g->keys[g->nkeys++] = k;
}

static void
find_label_keys(struct group *g, uint32_t token, const struct label *l)
{
	for (uint32_t f = 0; f < l->nfields; f++)
		if (!is_identity(l, l->fields[f]))
			add_key(g, (struct key){ KEY_FIELD, VALUE_NONE, token, f });
	/* The node stays what it is within a unit. */
	if (l->kind == RECORD_REQUEST_BEGIN || l->kind == RECORD_UNIT_BEGIN)
		add_key(g, (struct key){ KEY_NODE, VALUE_TEXT, token, 0 });
}

static bool
find_keys(struct group *g, const struct labels *labels, struct arena *a)
{
	size_t most = 0;

	for (uint32_t i = 0; i < g->shape.ntokens; i++)
		most += 1 + (g->shape.tokens[i] < SHAPE_CLOSE ? labels_get(labels, g->shape.tokens[i])->nfields : 0);
	g->keys = arena_alloc(a, (most < KEYS_MAX ? most : KEYS_MAX) * sizeof *g->keys);
	if (g->keys == NULL)
		return false;
	for (uint32_t i = 0; i < g->shape.ntokens; i++) {
		if (g->shape.tokens[i] == SHAPE_OPEN)
			add_key(g, (struct key){ KEY_ITERATIONS, VALUE_UINT, i, 0 });
		else if (g->shape.tokens[i] != SHAPE_CLOSE)
			find_label_keys(g, i, labels_get(labels, g->shape.tokens[i]));
	}
	return true;
}

static double
text_number(struct group *g, const char *s, size_t len)
{
	uint32_t id = texts_find(g->texts, s, len);

	if (id == UINT32_MAX && texts_count(g->texts) < TEXTS_MAX)
		id = texts_intern(g->texts, s, len);
	return id != UINT32_MAX ? (double)id : (double)NAN;
}

/* A key is of the type that it is first seen with; values of another kind are missing. */
static double
field_number(struct group *g, struct key *k, const struct event *e)
{
	const struct value *v = k->field < e->nvalues ? &e->values[k->field] : NULL;

	if (v == NULL || v->type == VALUE_NONE)
		return (double)NAN;
	if (k->type == VALUE_NONE)
		k->type = v->type;
	if ((v->type == VALUE_TEXT) != (k->type == VALUE_TEXT))
		return (double)NAN;
	switch (v->type) {
	case VALUE_INT:
		return (double)v->i;
	case VALUE_UINT:
		return (double)v->u;
	case VALUE_REAL:
		return isfinite(v->d) ? v->d : (double)NAN;
	default:
		return text_number(g, v->text, v->len);
	}
}

static void
read_keys(struct group *g, double *out, const struct trace *t, const struct critpath *p, const struct shape *s,
    const char *const *node_names)
{
	uint32_t loop = 0;

	for (uint32_t i = 0; i < g->nkeys; i++) {
		struct key *k = &g->keys[i];
		const struct event *e;

		if (k->kind == KEY_ITERATIONS) {
			out[i] = (double)s->iterations[loop++];
			continue;
		}
		e = &t->events[p->steps[s->first_step[k->token]].event];
		if (k->kind == KEY_FIELD)
			out[i] = field_number(g, k, e);
		else
			out[i] = text_number(g, node_names[e->node], strlen(node_names[e->node]));
	}
}

/* ---- making a group ---- */

static bool
copy_shape(struct shape *to, const struct shape *from, struct arena *a)
{
	*to = *from;
	to->tokens = arena_copy(a, from->tokens, from->ntokens * sizeof *from->tokens);
	to->edges = arena_copy(a, from->edges, from->nedges * sizeof *from->edges);
	to->times_ns = arena_copy(a, from->times_ns, from->nedges * sizeof *from->times_ns);
	to->iterations = arena_copy(a, from->iterations, from->nloops * sizeof *from->iterations);
	to->first_step = arena_copy(a, from->first_step, from->ntokens * sizeof *from->first_step);
	return to->tokens != NULL && to->edges != NULL && to->times_ns != NULL && to->iterations != NULL &&
	    to->first_step != NULL;
}

static struct place *
place_new(struct groups *gs, const struct trace *t, const struct shape *s)
{
	struct arena arena = { 0 };
	struct place *p = arena_calloc(&arena, 1, sizeof *p);
	struct group *g;

	if (p == NULL)
		return NULL;
	g = &p->group;
	if (!copy_shape(&g->shape, s, &arena) || !find_keys(g, gs->labels, &arena) ||
	    (g->edges = arena_calloc(&arena, s->nedges, sizeof *g->edges)) == NULL ||
	    (g->sketch = arena_calloc(&arena, 1, sizeof *g->sketch)) == NULL ||
	    (g->samples = arena_calloc(&arena, gs->o.samples_max, sizeof *g->samples)) == NULL ||
	    (g->texts = texts_new()) == NULL) {
		arena_release(&arena);
		return NULL;
	}
	g->type = t->type;
	g->samples_max = gs->o.samples_max;
	rng_seed(&g->rng, gs->o.seed ^ s->key.a);	/* by the shape, not by which group came first */
	p->arena = arena;
	return p;
}

static struct place *
find(const struct groups *gs, struct hash128 key)
{
	struct place *p = map_get(&gs->by_key, key.a);

	while (p != NULL && p->group.shape.key.b != key.b)
		p = p->same_hash;
	return p;
}

static struct place *
find_or_make(struct groups *gs, const struct trace *t, const struct shape *s)
{
	struct place *p = find(gs, s->key), **more;

	if (p != NULL || gs->count >= gs->o.groups_max)
		return p;
	if (gs->count == gs->cap) {
		uint32_t cap = gs->cap != 0 ? gs->cap * 2 : 16;

		if ((more = realloc(gs->places, cap * sizeof *more)) == NULL)
			return NULL;
		gs->places = more;
		gs->cap = cap;
	}
	if ((p = place_new(gs, t, s)) == NULL)
		return NULL;
	p->same_hash = map_get(&gs->by_key, s->key.a);
	if (!map_put(&gs->by_key, s->key.a, p)) {
		place_free(p);
		return NULL;
	}
	gs->places[gs->count++] = p;
	return p;
}

/* ---- adding to it ---- */

/* The place in the reservoir for the trace just counted, or NULL: each of the n traces so far is in it with the
 * same probability. */
static struct sample *
choose_sample(struct place *p)
{
	struct group *g = &p->group;
	struct sample *s;
	uint64_t at;

	if (g->nsamples == g->samples_max) {
		at = rng_below(&g->rng, g->total.n);
		return at < g->samples_max ? &g->samples[at] : NULL;
	}
	s = &g->samples[g->nsamples];
	s->edges_ns = arena_alloc(&p->arena, (g->shape.nedges + g->nkeys) * sizeof *s->edges_ns);
	if (s->edges_ns == NULL)
		return NULL;
	s->keys = s->edges_ns + g->shape.nedges;
	g->nsamples++;
	return s;
}

static void
note_exemplars(struct group *g, struct exemplar x)
{
	if (g->slowest.trace_id == 0 || x.total_ns > g->slowest.total_ns)
		g->slowest = x;
	if (g->fastest.trace_id == 0 || x.total_ns < g->fastest.total_ns)
		g->fastest = x;
}

struct group *
groups_add(struct groups *gs, const struct trace *t, const struct critpath *p, const struct shape *s,
    const char *const *node_names)
{
	struct place *place = find_or_make(gs, t, s);
	int64_t total_ns = t->end_ns - t->begin_ns;
	struct sample *sample;
	struct group *g;

	if (place == NULL || place->group.shape.ntokens != s->ntokens ||
	    memcmp(place->group.shape.tokens, s->tokens, s->ntokens * sizeof *s->tokens) != 0) {
		gs->other++;
		return NULL;
	}
	g = &place->group;
	moments_add(&g->total, (double)total_ns);
	for (uint32_t i = 0; i < s->nedges; i++)
		comoments_add(&g->edges[i], (double)s->times_ns[i], (double)total_ns);
	sketch_add(g->sketch, total_ns);
	note_exemplars(g, (struct exemplar){ t->id, total_ns });
	g->lossy += t->lossy;
	if ((sample = choose_sample(place)) != NULL) {
		sample->trace_id = t->id;
		sample->total_ns = total_ns;
		for (uint32_t i = 0; i < s->nedges; i++)
			sample->edges_ns[i] = (double)s->times_ns[i];
		read_keys(g, sample->keys, t, p, s, node_names);
	}
	return g;
}

uint32_t
groups_count(const struct groups *gs)
{
	return gs->count;
}

struct group *
groups_at(const struct groups *gs, uint32_t i)
{
	return &gs->places[i]->group;
}

struct group *
groups_find(const struct groups *gs, struct hash128 key)
{
	struct place *p = find(gs, key);

	return p != NULL ? &p->group : NULL;
}

uint64_t
groups_other(const struct groups *gs)
{
	return gs->other;
}
