/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "searchspace/graph.h"

#include <stdlib.h>

/* Numbers are kept in maps as pointers one above them, since a map keeps no NULL. */
static uint32_t
number_of(const struct map *m, uint64_t key)
{
	return (uint32_t)((uintptr_t)map_get(m, key) - 1);	/* GRAPH_NONE: absent */
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

static uint32_t
context(struct graph *g, uint32_t unit, uint32_t span)
{
	uint32_t n = number_of(&g->context_of, pair(unit, span));

	if (n != GRAPH_NONE)
		return n;
	return number_put(&g->context_of, pair(unit, span), g->ncontexts) ? g->ncontexts++ : GRAPH_NONE;
}

static bool
spots_room(struct graph *g)
{
	uint32_t cap = g->spots_cap != 0 ? g->spots_cap * 2 : 64;
	struct spot *more;

	if (g->nspots < g->spots_cap)
		return true;
	if (g->nspots >= GRAPH_PLACES_MAX || (more = realloc(g->spots, cap * sizeof *more)) == NULL)
		return false;
	g->spots = more;
	g->spots_cap = cap;
	return true;
}

static bool
ways_room(struct graph *g)
{
	uint32_t cap = g->ways_cap != 0 ? g->ways_cap * 2 : 64;
	struct way *more;

	if (g->nways < g->ways_cap)
		return true;
	if (g->nways >= GRAPH_STEPS_MAX || (more = realloc(g->ways, cap * sizeof *more)) == NULL)
		return false;
	g->ways = more;
	g->ways_cap = cap;
	return true;
}

uint32_t
graph_spot(struct graph *g, uint32_t unit, uint32_t span, uint32_t label)
{
	uint32_t in = context(g, unit, span), n;

	if (in == GRAPH_NONE || (n = number_of(&g->spot_of, pair(in, label))) != GRAPH_NONE)
		return in == GRAPH_NONE ? GRAPH_NONE : n;
	if (!spots_room(g) || !number_put(&g->spot_of, pair(in, label), g->nspots))
		return GRAPH_NONE;
	g->spots[g->nspots] = (struct spot){
		.place = { .label = label, .unit = unit, .span = span }, .first = g->traces,
		.out = GRAPH_NONE, .in = GRAPH_NONE,
	};
	return g->nspots++;
}

uint32_t
graph_way(struct graph *g, uint32_t from, uint32_t to)
{
	uint32_t n = number_of(&g->way_of, pair(from, to));

	if (n != GRAPH_NONE)
		return n;
	if (!ways_room(g) || !number_put(&g->way_of, pair(from, to), g->nways))
		return GRAPH_NONE;
	g->ways[g->nways] = (struct way){ .from = from, .to = to, .next_out = g->spots[from].out,
		.next_in = g->spots[to].in };
	g->spots[from].out = g->spots[to].in = g->nways;
	return g->nways++;
}

/* ---- merging ---- */

static double
mean_of(double a, uint64_t na, double b, uint64_t nb)
{
	return na == 0 ? b : nb == 0 ? a : a + (b - a) * ((double)nb / ((double)na + (double)nb));
}

static void
spot_merge(struct spot *into, const struct spot *from, uint64_t traces_before)
{
	struct place *p = &into->place;

	if (p->count == 0)
		into->first = traces_before + from->first;
	into->last = traces_before + from->last;
	p->offset_ns = mean_of(p->offset_ns, p->count, from->place.offset_ns, from->place.count);
	p->count += from->place.count;
	p->traces += from->place.traces;
}

int
graph_merge(struct graph *g, const struct graph *from, struct err *e)
{
	uint32_t *spots = malloc((from->nspots + 1) * sizeof *spots);
	bool ok = spots != NULL;

	for (uint32_t i = 0; i < from->nspots && ok; i++) {
		const struct place *p = &from->spots[i].place;

		if ((ok = (spots[i] = graph_spot(g, p->unit, p->span, p->label)) != GRAPH_NONE))
			spot_merge(&g->spots[spots[i]], &from->spots[i], g->traces);
	}
	for (uint32_t i = 0; i < from->nways && ok; i++) {
		const struct way *w = &from->ways[i];
		uint32_t n = graph_way(g, spots[w->from], spots[w->to]);

		if (!(ok = n != GRAPH_NONE))
			break;
		g->ways[n].mean_ns = mean_of(g->ways[n].mean_ns, g->ways[n].count, w->mean_ns, w->count);
		g->ways[n].count += w->count;
	}
	g->traces += from->traces;
	free(spots);
	return ok ? 0 : err_set(e, ERR_MEMORY, "search space: out of memory, or of what one request type may take");
}

/* ---- walking ---- */

enum { AFTER = 1, BEFORE = 2 };

struct walk {
	const struct graph *g;
	const struct labels *labels;
	const struct gap *gap;
	const struct label_set *absent;
	uint8_t *marks;		/* of each spot */
	uint32_t *queue, n;
};

/*
 * Structure is always on: had these traces passed a fork or a join there, it would be an end of the gap. The same
 * holds for the ends themselves.
 */
static bool
may_pass(const struct walk *w, uint32_t label)
{
	return label != w->gap->from && label != w->gap->to && (w->absent == NULL || !label_set_has(w->absent, label)) &&
	    labels_get(w->labels, label)->kind == RECORD_POINT;
}

static void
reach(struct walk *w, uint32_t spot, uint8_t mark)
{
	if ((w->marks[spot] & mark) != 0 || !may_pass(w, w->g->spots[spot].place.label))
		return;
	w->marks[spot] |= mark;
	w->queue[w->n++] = spot;
}

/* Marks all that a walk from the gap's begin (or, against the steps, from its end) can reach. */
static void
spread(struct walk *w, uint8_t mark)
{
	const struct graph *g = w->g;
	uint32_t start = mark == AFTER ? w->gap->from : w->gap->to;

	w->n = 0;
	for (uint32_t i = 0; i < g->nspots; i++)
		if (g->spots[i].place.label == start && g->spots[i].place.unit == w->gap->from_unit)
			w->queue[w->n++] = i;
	for (uint32_t at = 0; at < w->n; at++) {
		const struct spot *s = &g->spots[w->queue[at]];

		for (uint32_t i = s->out; mark == AFTER && i != GRAPH_NONE; i = g->ways[i].next_out)
			reach(w, g->ways[i].to, mark);
		for (uint32_t i = s->in; mark == BEFORE && i != GRAPH_NONE; i = g->ways[i].next_in)
			reach(w, g->ways[i].from, mark);
	}
}

uint32_t
graph_between(const struct graph *g, const struct labels *labels, const struct gap *gap,
    const struct label_set *absent, uint32_t *between)
{
	struct walk w = { g, labels, gap, absent, calloc(g->nspots + 1, 1), between, 0 };
	uint32_t n = 0;

	if (w.marks == NULL)
		return GRAPH_NONE;
	spread(&w, AFTER);
	spread(&w, BEFORE);
	for (uint32_t i = 0; i < g->nspots; i++)
		if (w.marks[i] == (AFTER | BEFORE))
			between[n++] = i;
	free(w.marks);
	return n;
}
