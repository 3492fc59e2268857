/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A graph as plain arrays, for display and for other formats.
 */
#include <stdlib.h>

#include "searchspace/graph.h"

static bool
resize(void **array, uint32_t n, size_t size_bytes)
{
	void *more = reallocarray(*array, (size_t)n + 1, size_bytes);

	if (more != NULL)
		*array = more;
	return more != NULL;
}

static bool
export_room(struct graph *g)
{
	struct graph_export *l = &g->exported;

	return resize((void **)&l->places, g->nvertices, sizeof *l->places) &&
	       resize((void **)&l->steps, g->nsteps, sizeof *l->steps) &&
	       resize((void **)&l->concurrency, g->nlinks, sizeof *l->concurrency) &&
	       resize((void **)&l->keys, g->nkeys, sizeof *l->keys);
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
