/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A graph as plain arrays, for display and for other formats.
 */
#include "base/array.h"
#include "searchspace/space.h"
#include "searchspace/space_inside.h"

static bool
export_room(struct graph *g)
{
	struct graph_export *l = &g->exported;

	return array_reserve(l->places, l->places_cap, g->nvertices + 1) &&
	       array_reserve(l->steps, l->steps_cap, g->nsteps + 1) &&
	       array_reserve(l->concurrency, l->concurrency_cap, g->nlinks + 1) &&
	       array_reserve(l->keys, l->keys_cap, g->nkeys + 1);
}

static struct place_key
key_of(const struct space *s, const struct graph *g, const struct graph_key *k)
{
	const struct label *l = labels_get(s->labels, g->vertices[k->vertex].place.label);

	return (struct place_key){ .place = k->vertex,
		.field = k->field < l->nfields ? l->fields[k->field] : "",
		.type = k->type,
		.count = k->count,
		.low = k->low,
		.high = k->high,
		.texts = k->ntexts };
}

bool
space_export(struct space *s, uint32_t type, struct space_export *ret)
{
	struct graph *g = space_find(s, type);
	struct graph_export *l;

	*ret = (struct space_export){ 0 };
	if (g == NULL || !export_room(g))
		return false;
	l = &g->exported;
	for (uint32_t i = 0; i < g->nvertices; i++)
		l->places[i] = g->vertices[i].place;
	for (uint32_t i = 0; i < g->nsteps; i++)
		l->steps[i] = (struct space_step){ g->steps[i].from, g->steps[i].to,
			g->steps[i].count, g->steps[i].mean_ns };
	for (uint32_t i = 0; i < g->nlinks; i++)
		l->concurrency[i] = (struct concurrency){ g->links[i].vertex, g->links[i].unit,
			g->links[i].count };
	for (uint32_t i = 0; i < g->nkeys; i++)
		l->keys[i] = key_of(s, g, &g->keys[i]);
	*ret = (struct space_export){ l->places, l->steps, l->concurrency, l->keys, g->nvertices,
		g->nsteps, g->nlinks, g->nkeys, g->traces };
	return true;
}
