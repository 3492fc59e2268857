/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What cannot be of any application: a file may say it all the same. */
#include <stdlib.h>

#include "searchspace/graph.h"

struct reachability {
	const struct graph *g;
	uint32_t *head, *next; /* of each context, and of each vertex: the vertices in it */
	bool *reached;         /* of each context */
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

/*
 * A function may call itself, so a span may lie in its like; but somewhere each was
 * entered from its unit. Spans that lie in nothing but each other are in no program.
 */
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

/* Each time that a place was passed it was come to once, and left once. What was glimpsed is
 * another count. */
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
		what = "a step to another unit from place";
	else if ((*at = no_span(g, labels)) != GRAPH_NONE)
		what = "no span around place";
	else if ((*at = unreached(&c)) != GRAPH_NONE)
		what = "spans lie in nothing but each other at place";
	else if ((*at = too_often(g, in, out)) != GRAPH_NONE)
		what = "more steps than it was seen at place";
	free(c.head);
	free(c.next);
	free(c.reached);
	free(c.queue);
	free(in);
	free(out);
	return what;
}
