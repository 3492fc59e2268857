/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A graph as plain arrays, for those who show it or write it elsewhere. */
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
look_room(struct graph *g)
{
	struct look *l = &g->look;

	return resize((void **)&l->places, g->nspots, sizeof *l->places) &&
	       resize((void **)&l->steps, g->nways, sizeof *l->steps) &&
	       resize((void **)&l->concurrency, g->nlinks, sizeof *l->concurrency) &&
	       resize((void **)&l->keys, g->nkeys, sizeof *l->keys);
}

static struct place_key
key_of(const struct space *s, const struct graph *g, const struct key *k)
{
	const struct label *l = labels_get(s->labels, g->spots[k->spot].place.label);

	return (struct place_key){ .place = k->spot,
		.field = k->field < l->nfields ? l->fields[k->field] : "",
		.type = k->type,
		.count = k->count,
		.low = k->low,
		.high = k->high,
		.texts = k->ntexts };
}

bool
space_look(struct space *s, uint32_t type, struct space_look *ret)
{
	struct graph *g = space_find(s, type);
	struct look *l;

	*ret = (struct space_look){ 0 };
	if (g == NULL || !look_room(g))
		return false;
	l = &g->look;
	for (uint32_t i = 0; i < g->nspots; i++)
		l->places[i] = g->spots[i].place;
	for (uint32_t i = 0; i < g->nways; i++)
		l->steps[i] = (struct space_step){ g->ways[i].from, g->ways[i].to, g->ways[i].count,
			g->ways[i].mean_ns };
	for (uint32_t i = 0; i < g->nlinks; i++)
		l->concurrency[i] = (struct concurrency){ g->links[i].spot, g->links[i].unit,
			g->links[i].count };
	for (uint32_t i = 0; i < g->nkeys; i++)
		l->keys[i] = key_of(s, g, &g->keys[i]);
	*ret = (struct space_look){ l->places, l->steps, l->concurrency, l->keys, g->nspots,
		g->nways, g->nlinks, g->nkeys, g->traces };
	return true;
}
