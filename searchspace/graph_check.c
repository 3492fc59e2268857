/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Checks a graph that was read from a file for what no application can have.
 */
#include <stdlib.h>

#include "searchspace/graph.h"

struct reachability {
	const struct graph *g;
	/* Of each context: its first vertex; of each vertex: the next one in the same context. */
	uint32_t *head, *next;
	bool *reached; /* of each context */
	uint32_t *queue, n;
};

static void
reach(struct reachability *c, uint32_t context)
{
	if (context == GRAPH_NONE || c->reached[context])
		return;
	c->reached[context] = true;
	c->queue[c->n++] = context;
}

/* Breadth-first search from the units into their spans. A recursive function has a span within
 * a span of the same label, but every span can be entered from its unit. Spans that are only
 * within each other are in no program. Returns a vertex that was not reached, or GRAPH_NONE. */
static uint32_t
unreached(struct reachability *c)
{
	const struct graph *g = c->g;

	for (uint32_t i = 0; i < g->nvertices; i++) {
		const struct place *p = &g->vertices[i].place;
		uint32_t in = graph_context(g, p->unit, p->span);

		c->next[i] = c->head[in];
		c->head[in] = i;
		if (p->span == LABEL_NONE && p->label == p->unit)
			reach(c, in);
	}
	for (uint32_t at = 0; at < c->n; at++)
		for (uint32_t i = c->head[c->queue[at]]; i != GRAPH_NONE; i = c->next[i])
			reach(c, graph_context(
				     g, g->vertices[i].place.unit, g->vertices[i].place.label));
	for (uint32_t i = 0; i < g->nvertices; i++)
		if (!c->reached[graph_context(
			g, g->vertices[i].place.unit, g->vertices[i].place.span)])
			return i;
	return GRAPH_NONE;
}

/* A place is entered once and left once each time it is seen. Glimpsed places have other
 * counts. */
static uint32_t
too_often(const struct graph *g, double *in, double *out)
{
	for (uint32_t i = 0; i < g->nsteps; i++) {
		const struct graph_step *w = &g->steps[i];

		if (g->vertices[w->from].first == 0 || g->vertices[w->to].first == 0)
			continue;
		out[w->from] += (double)w->count;
		in[w->to] += (double)w->count;
	}
	for (uint32_t i = 0; i < g->nvertices; i++)
		if (in[i] > (double)g->vertices[i].place.count ||
		    out[i] > (double)g->vertices[i].place.count)
			return i;
	return GRAPH_NONE;
}

static uint32_t
between_units(const struct graph *g)
{
	for (uint32_t i = 0; i < g->nsteps; i++)
		if (g->vertices[g->steps[i].from].place.unit !=
		    g->vertices[g->steps[i].to].place.unit)
			return g->steps[i].from;
	return GRAPH_NONE;
}

static uint32_t
no_span(const struct graph *g, const struct labels *labels)
{
	for (uint32_t i = 0; i < g->nvertices; i++) {
		uint32_t span = g->vertices[i].place.span;

		if (span != LABEL_NONE && labels_get(labels, span)->kind != RECORD_POINT)
			return i;
	}
	return GRAPH_NONE;
}

const char *
graph_check(const struct graph *g, const struct labels *labels, uint32_t *at)
{
	size_t n = (size_t)g->nvertices + 1, contexts = (size_t)g->ncontexts + 1;
	struct reachability c = { g, malloc(contexts * sizeof(uint32_t)),
		malloc(n * sizeof(uint32_t)), calloc(contexts, sizeof(bool)),
		malloc(contexts * sizeof(uint32_t)), 0 };
	double *in = calloc(n, sizeof *in), *out = calloc(n, sizeof *out);
	const char *what = NULL;

	for (size_t i = 0; c.head != NULL && i < contexts; i++)
		c.head[i] = GRAPH_NONE;
	if (c.head == NULL || c.next == NULL || c.reached == NULL || c.queue == NULL ||
	    in == NULL || out == NULL)
		what = "";
	else if ((*at = between_units(g)) != GRAPH_NONE)
		what = "a step leads to another unit from place";
	else if ((*at = no_span(g, labels)) != GRAPH_NONE)
		what = "the span is not a tracepoint around place";
	else if ((*at = unreached(&c)) != GRAPH_NONE)
		what = "spans are only inside each other at place";
	else if ((*at = too_often(g, in, out)) != GRAPH_NONE)
		what = "more steps than visits at place";
	free(c.head);
	free(c.next);
	free(c.reached);
	free(c.queue);
	free(in);
	free(out);
	return what;
}
