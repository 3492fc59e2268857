/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <assert.h>
#include <stdlib.h>

#include "searchspace/graph.h"

/* The mean of two parts from the means of both. */
static double
mean_of(double a, uint64_t na, double b, uint64_t nb)
{
	return na == 0 ? b : nb == 0 ? a : a + (b - a) * ((double)nb / ((double)na + (double)nb));
}

static bool
glimpsed(const struct graph *g, uint32_t vertex)
{
	return g->vertices[vertex].first == 0;
}

static void
vertex_merge(struct graph *g, uint32_t n, const struct graph *from, const struct vertex *b)
{
	struct vertex *a = &g->vertices[n];
	uint64_t traces = g->traces + from->traces;

	if (b->first != 0) {
		if (a->first == 0) {
			graph_confirm(g, n);
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
step_merge(struct graph *g, uint32_t a, uint32_t b, const struct graph_step *from)
{
	uint32_t n = graph_step(g, a, b);
	struct graph_step *w;

	if (n == GRAPH_NONE)
		return false;
	w = &g->steps[n];
	w->mean_ns = mean_of(w->mean_ns, w->count, from->mean_ns, from->count);
	w->count += from->count;
	return true;
}

static bool
key_merge(struct graph *g, uint32_t vertex, const struct graph_key *from)
{
	uint32_t n = graph_key(g, vertex, from->field, from->type);
	struct graph_key *k;

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

/* Merges steps, links and keys. `vertices` are those of `from` in g. What is glimpsed in `from`
 * is added only where g has not seen it in a whole trace. */
static bool
around_merge(struct graph *g, const struct graph *from, const uint32_t *vertices)
{
	bool ok = true;

	for (uint32_t i = 0; i < from->nsteps && ok; i++) {
		const struct graph_step *w = &from->steps[i];
		uint32_t a = vertices[w->from], b = vertices[w->to];
		bool whole = !glimpsed(from, w->from) && !glimpsed(from, w->to);

		if (whole || glimpsed(g, a) || glimpsed(g, b))
			ok = step_merge(g, a, b, w);
	}
	for (uint32_t i = 0; i < from->nlinks && ok; i++) {
		const struct graph_link *k = &from->links[i];
		uint32_t unit = graph_find(from, k->unit, LABEL_NONE, k->unit), n;
		bool whole = !glimpsed(from, k->vertex) && !glimpsed(from, unit);

		if (!whole && !glimpsed(g, vertices[k->vertex]) && !glimpsed(g, vertices[unit]))
			continue;
		if ((ok = (n = graph_link(g, vertices[k->vertex], k->unit)) != GRAPH_NONE))
			g->links[n].count += k->count;
	}
	for (uint32_t i = 0; i < from->nkeys && ok; i++) {
		const struct graph_key *k = &from->keys[i];

		if (!glimpsed(from, k->vertex) || glimpsed(g, vertices[k->vertex]))
			ok = key_merge(g, vertices[k->vertex], k);
	}
	return ok;
}

int
graph_merge(struct graph *g, const struct graph *from, struct err *e)
{
	uint32_t *vertices = malloc((from->nvertices + 1) * sizeof *vertices);
	bool ok = vertices != NULL;

	assert(g != from && g->type == from->type);
	if (g->traces == 0 && from->traces > 0)
		graph_release(g); /* glimpsed places are discarded, as in space_learn() */
	for (uint32_t i = 0; i < from->nvertices && ok; i++) {
		const struct place *p = &from->vertices[i].place;

		if ((ok = (vertices[i] = graph_vertex(g, p->unit, p->span, p->label)) !=
		          GRAPH_NONE))
			vertex_merge(g, vertices[i], from, &from->vertices[i]);
	}
	ok = ok && around_merge(g, from, vertices);
	g->traces += from->traces;
	free(vertices);
	return ok ? 0
	          : err_set(e, ERR_MEMORY,
			"search space: out of memory, or over the limits of one request type");
}
