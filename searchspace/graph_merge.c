/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>

#include "searchspace/graph.h"

/* Of all, from the means of two parts. */
static double
mean_of(double a, uint64_t na, double b, uint64_t nb)
{
	return na == 0 ? b : nb == 0 ? a : a + (b - a) * ((double)nb / ((double)na + (double)nb));
}

static bool
glimpsed(const struct graph *g, uint32_t spot)
{
	return g->spots[spot].first == 0;
}

static void
spot_merge(struct graph *g, uint32_t n, const struct graph *from, const struct spot *b)
{
	struct spot *a = &g->spots[n];
	uint64_t traces = g->traces + from->traces;

	if (b->first != 0) {
		if (a->first == 0) {
			graph_learned(g, n);
			a->first = g->traces + b->first;
		}
		a->last = g->traces + b->last;
	} else if (a->first != 0)
		return;
	a->place.offset_ns = mean_of(
	    a->place.offset_ns, a->place.count, b->place.offset_ns, b->place.count);
	a->place.count += b->place.count;
	a->place.traces += b->place.traces;
	if (a->place.traces > traces)
		a->place.traces = traces > 0 ? traces : 1;
}

static bool
way_merge(struct graph *g, uint32_t a, uint32_t b, const struct way *from)
{
	uint32_t n = graph_way(g, a, b);
	struct way *w;

	if (n == GRAPH_NONE)
		return false;
	w = &g->ways[n];
	w->mean_ns = mean_of(w->mean_ns, w->count, from->mean_ns, from->count);
	w->count += from->count;
	return true;
}

static bool
key_merge(struct graph *g, uint32_t spot, const struct key *from)
{
	uint32_t n = graph_key(g, spot, from->field, from->type);
	struct key *k;

	if (n == GRAPH_NONE)
		return false;
	k = &g->keys[n];
	if (from->count > 0) {
		k->low = k->count == 0 || from->low < k->low ? from->low : k->low;
		k->high = k->count == 0 || from->high > k->high ? from->high : k->high;
	}
	k->count += from->count;
	for (uint32_t i = 0; i < from->texts_cap; i++)
		if (from->texts[i] != 0 && !key_text(k, from->texts[i]))
			return false;
	return true;
}

/* spots: those of `from` in g. What was glimpsed there is news only where it is not known here. */
static bool
around_merge(struct graph *g, const struct graph *from, const uint32_t *spots)
{
	bool ok = true;

	for (uint32_t i = 0; i < from->nways && ok; i++) {
		const struct way *w = &from->ways[i];
		uint32_t a = spots[w->from], b = spots[w->to];
		bool whole = !glimpsed(from, w->from) && !glimpsed(from, w->to);

		if (whole || glimpsed(g, a) || glimpsed(g, b))
			ok = way_merge(g, a, b, w);
	}
	for (uint32_t i = 0; i < from->nlinks && ok; i++) {
		const struct link *k = &from->links[i];
		uint32_t unit = graph_find(from, k->unit, LABEL_NONE, k->unit), n;
		bool whole = !glimpsed(from, k->spot) && !glimpsed(from, unit);

		if (!whole && !glimpsed(g, spots[k->spot]) && !glimpsed(g, spots[unit]))
			continue;
		if ((ok = (n = graph_link(g, spots[k->spot], k->unit)) != GRAPH_NONE))
			g->links[n].count += k->count;
	}
	for (uint32_t i = 0; i < from->nkeys && ok; i++) {
		const struct key *k = &from->keys[i];

		if (!glimpsed(from, k->spot) || glimpsed(g, spots[k->spot]))
			ok = key_merge(g, spots[k->spot], k);
	}
	return ok;
}

int
graph_merge(struct graph *g, const struct graph *from, struct err *e)
{
	uint32_t *spots = malloc((from->nspots + 1) * sizeof *spots);
	bool ok = spots != NULL;

	if (g->traces == 0 && from->traces > 0)
		graph_release(g); /* as when it is taught a whole trace, see space_learn() */
	for (uint32_t i = 0; i < from->nspots && ok; i++) {
		const struct place *p = &from->spots[i].place;

		if ((ok = (spots[i] = graph_spot(g, p->unit, p->span, p->label)) != GRAPH_NONE))
			spot_merge(g, spots[i], from, &from->spots[i]);
	}
	ok = ok && around_merge(g, from, spots);
	g->traces += from->traces;
	free(spots);
	return ok ? 0
	          : err_set(e, ERR_MEMORY,
			"search space: out of memory, or of what one request type may take");
}
