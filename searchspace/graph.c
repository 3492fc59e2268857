/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "searchspace/graph.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "base/array.h"

/* Maps store numbers plus 1 as pointers, since a map holds no NULL. */
static uint32_t
number_of(const struct map *m, uint64_t key)
{
	return (uint32_t)((uintptr_t)map_get(m, key) - 1); /* GRAPH_NONE: absent */
}

static bool
number_put(struct map *m, uint64_t key, uint32_t number)
{
	return map_put(m, key, (void *)((uintptr_t)number + 1));
}

static uint64_t
pair(uint32_t high, uint32_t low)
{
	return (uint64_t)high << 32 | low;
}

void
graph_release(struct graph *g)
{
	for (uint32_t i = 0; i < g->nkeys; i++)
		free(g->keys[i].texts);
	free(g->vertices);
	free(g->steps);
	free(g->links);
	free(g->keys);
	free(g->exported.places);
	free(g->exported.steps);
	free(g->exported.concurrency);
	free(g->exported.keys);
	map_release(&g->context_of);
	map_release(&g->vertex_of);
	map_release(&g->step_of);
	map_release(&g->link_of);
	map_release(&g->newest_of);
	map_release(&g->same_of);
	*g = (struct graph){ .type = g->type };
}

static uint32_t
context(struct graph *g, uint32_t unit, uint32_t span)
{
	uint32_t n = number_of(&g->context_of, pair(unit, span));

	if (n != GRAPH_NONE)
		return n;
	return number_put(&g->context_of, pair(unit, span), g->ncontexts) ? g->ncontexts++
	                                                                  : GRAPH_NONE;
}

uint32_t
graph_context(const struct graph *g, uint32_t unit, uint32_t span)
{
	return number_of(&g->context_of, pair(unit, span));
}

uint32_t
graph_find(const struct graph *g, uint32_t unit, uint32_t span, uint32_t label)
{
	uint32_t in = graph_context(g, unit, span);

	return in == GRAPH_NONE ? GRAPH_NONE : number_of(&g->vertex_of, pair(in, label));
}

uint32_t
graph_newest(const struct graph *g, uint32_t unit, uint32_t label)
{
	return number_of(&g->newest_of, pair(unit, label));
}

/* Adds the new vertex to the ring of its label and to the list of its unit. false: out of
 * memory, unchanged. */
static bool
join_same(struct graph *g, uint32_t vertex)
{
	struct vertex *s = &g->vertices[vertex];
	uint32_t first = number_of(&g->same_of, s->place.label),
		 newest = graph_newest(g, s->place.unit, s->place.label);

	if (first == GRAPH_NONE && !number_put(&g->same_of, s->place.label, vertex))
		return false;
	if (!number_put(&g->newest_of, pair(s->place.unit, s->place.label), vertex)) {
		if (first == GRAPH_NONE)
			map_take(&g->same_of, s->place.label);
		return false;
	}
	s->twin = newest;
	s->same = first == GRAPH_NONE ? vertex : g->vertices[first].same;
	if (first != GRAPH_NONE)
		g->vertices[first].same = vertex;
	return true;
}

uint32_t
graph_vertex(struct graph *g, uint32_t unit, uint32_t span, uint32_t label)
{
	uint32_t in = context(g, unit, span), n;

	if (in == GRAPH_NONE || (n = number_of(&g->vertex_of, pair(in, label))) != GRAPH_NONE)
		return in == GRAPH_NONE ? GRAPH_NONE : n;
	if (!array_reserve_max(g->vertices, g->vertices_cap, g->nvertices + 1, GRAPH_PLACES_MAX) ||
	    !number_put(&g->vertex_of, pair(in, label), g->nvertices))
		return GRAPH_NONE;
	g->vertices[g->nvertices] = (struct vertex){
		.place = { .label = label, .unit = unit, .span = span },
		.out = GRAPH_NONE,
		.in = GRAPH_NONE,
		.keys = GRAPH_NONE,
	};
	if (!join_same(g, g->nvertices)) {
		map_take(&g->vertex_of, pair(in, label));
		return GRAPH_NONE;
	}
	return g->nvertices++;
}

uint32_t
graph_step(struct graph *g, uint32_t from, uint32_t to)
{
	uint32_t newest = g->vertices[from].out, n;

	assert(from < g->nvertices && to < g->nvertices);
	/* Most vertices have one outgoing step: these need no lookup in the map, which is a
	 * cache miss when the map is large. */
	if (newest != GRAPH_NONE && g->steps[newest].to == to)
		return newest;
	if (newest != GRAPH_NONE && (n = number_of(&g->step_of, pair(from, to))) != GRAPH_NONE)
		return n;
	if (!array_reserve_max(g->steps, g->steps_cap, g->nsteps + 1, GRAPH_STEPS_MAX) ||
	    !number_put(&g->step_of, pair(from, to), g->nsteps))
		return GRAPH_NONE;
	g->steps[g->nsteps] = (struct graph_step){ .from = from,
		.to = to,
		.next_out = g->vertices[from].out,
		.next_in = g->vertices[to].in };
	g->vertices[from].out = g->vertices[to].in = g->nsteps;
	return g->nsteps++;
}

uint32_t
graph_link(struct graph *g, uint32_t vertex, uint32_t unit)
{
	uint32_t n = number_of(&g->link_of, pair(vertex, unit));

	assert(vertex < g->nvertices);
	if (n != GRAPH_NONE)
		return n;
	if (!array_reserve_max(g->links, g->links_cap, g->nlinks + 1, GRAPH_LINKS_MAX) ||
	    !number_put(&g->link_of, pair(vertex, unit), g->nlinks))
		return GRAPH_NONE;
	g->links[g->nlinks] = (struct graph_link){ .vertex = vertex, .unit = unit };
	return g->nlinks++;
}

/* ---- glimpsed places ---- */

uint64_t
graph_glimpses_max(const struct graph *g)
{
	return g->traces > 0 ? g->traces : 1;
}

/* Its steps stay, with a count of 0: how often they are taken is not known yet. */
void
graph_confirm(struct graph *g, uint32_t vertex)
{
	struct vertex *s = &g->vertices[vertex];

	assert(vertex < g->nvertices);
	for (uint32_t i = s->out; i != GRAPH_NONE; i = g->steps[i].next_out)
		g->steps[i].count = 0;
	for (uint32_t i = s->in; i != GRAPH_NONE; i = g->steps[i].next_in)
		g->steps[i].count = 0;
	for (uint32_t i = s->keys; i != GRAPH_NONE; i = g->keys[i].next)
		g->keys[i].count = 0;
	s->place.count = s->place.traces = 0;
	s->last = 0;
	s->first = g->traces;
}

/* ---- keys ---- */

uint32_t
graph_key(struct graph *g, uint32_t vertex, uint32_t field, uint8_t type)
{
	uint32_t *at = &g->vertices[vertex].keys, last = GRAPH_NONE;

	assert(vertex < g->nvertices);
	for (uint32_t i = *at; i != GRAPH_NONE; last = i, i = g->keys[i].next)
		if (g->keys[i].field == field && g->keys[i].type == type)
			return i;
	if (!array_reserve_max(g->keys, g->keys_cap, g->nkeys + 1, GRAPH_KEYS_MAX))
		return GRAPH_NONE;
	*(last == GRAPH_NONE ? at : &g->keys[last].next) = g->nkeys;
	g->keys[g->nkeys] = (struct graph_key){
		.vertex = vertex, .next = GRAPH_NONE, .field = (uint16_t)field, .type = type
	};
	return g->nkeys++;
}

/* The texts are not a hash_table (base/hash_table.h): its slots are 16 bytes instead of 4, and a
 * graph may have 2^22 keys. */
static bool
texts_room(struct graph_key *k)
{
	uint32_t cap = k->texts_cap != 0 ? k->texts_cap * 2 : 8, *more;

	if (k->ntexts * 2 < k->texts_cap)
		return true;
	if ((more = calloc(cap, sizeof *more)) == NULL)
		return false;
	for (uint32_t i = 0; i < k->texts_cap; i++)
		if (k->texts[i] != 0) {
			uint32_t at = k->texts[i] & (cap - 1);

			while (more[at] != 0)
				at = (at + 1) & (cap - 1);
			more[at] = k->texts[i];
		}
	free(k->texts);
	k->texts = more;
	k->texts_cap = cap;
	return true;
}

bool
key_text(struct graph_key *k, uint32_t hash)
{
	uint32_t at;

	assert(hash != 0);
	if (k->ntexts >= KEY_TEXTS_MAX)
		return true;
	if (!texts_room(k))
		return false;
	for (at = hash & (k->texts_cap - 1); k->texts[at] != 0; at = (at + 1) & (k->texts_cap - 1))
		if (k->texts[at] == hash)
			return true;
	k->texts[at] = hash;
	k->ntexts++;
	return true;
}

/* The seed of the hash is fixed, because hashes of texts are stored in files. */
bool
key_value(struct graph_key *k, const struct value *v)
{
	double x = v->type == VALUE_INT    ? (double)v->i
	           : v->type == VALUE_UINT ? (double)v->u
	                                   : v->d;

	if (v->type == VALUE_TEXT) {
		uint32_t hash = (uint32_t)hash_bytes(1, v->text, v->len);

		k->count++;
		return k->ntexts >= KEY_TEXTS_MAX || key_text(k, hash != 0 ? hash : 1);
	}
	if (!isfinite(x))
		return true; /* part of no range */
	k->low = k->count == 0 || x < k->low ? x : k->low;
	k->high = k->count == 0 || x > k->high ? x : k->high;
	k->count++;
	return true;
}
