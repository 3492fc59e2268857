/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "searchspace/space.h"

#include <stdlib.h>

#include "searchspace/graph.h"
#include "searchspace/span.h"

struct space {
	const struct labels *labels;
	struct graph **graphs;
	uint32_t ngraphs, graphs_cap;
	struct spans spans;
};

struct space *
space_new(const struct labels *labels)
{
	struct space *s = calloc(1, sizeof *s);

	if (s != NULL)
		s->labels = labels;
	return s;
}

static void
graph_free(struct graph *g)
{
	free(g->spots);
	free(g->ways);
	map_release(&g->context_of);
	map_release(&g->spot_of);
	map_release(&g->way_of);
	free(g);
}

void
space_free(struct space *s)
{
	if (s == NULL)
		return;
	for (uint32_t i = 0; i < s->ngraphs; i++)
		graph_free(s->graphs[i]);
	free(s->graphs);
	spans_release(&s->spans);
	free(s);
}

const struct labels *
space_labels(const struct space *s)
{
	return s->labels;
}

/* ---- types ---- */

const struct graph *
space_graph(const struct space *s, uint32_t i)
{
	return i < s->ngraphs ? s->graphs[i] : NULL;
}

uint32_t
space_type(const struct space *s, uint32_t i)
{
	return i < s->ngraphs ? s->graphs[i]->type : LABEL_NONE;
}

static struct graph *
find(const struct space *s, uint32_t type)
{
	for (uint32_t i = 0; i < s->ngraphs; i++)
		if (s->graphs[i]->type == type)
			return s->graphs[i];
	return NULL;
}

struct graph *
space_graph_of(struct space *s, uint32_t type)
{
	struct graph *g = find(s, type);

	if (g != NULL)
		return g;
	if (s->ngraphs == s->graphs_cap) {
		uint32_t cap = s->graphs_cap != 0 ? s->graphs_cap * 2 : 16;
		struct graph **more = reallocarray(s->graphs, cap, sizeof *more);

		if (more == NULL)
			return NULL;
		s->graphs = more;
		s->graphs_cap = cap;
	}
	if ((g = calloc(1, sizeof *g)) == NULL)
		return NULL;
	g->type = type;
	return s->graphs[s->ngraphs++] = g;
}

/* ---- learning ---- */

static void
see_spot(struct graph *g, uint32_t spot, double offset_ns)
{
	struct spot *s = &g->spots[spot];

	s->place.count++;
	s->place.offset_ns += (offset_ns - s->place.offset_ns) / (double)s->place.count;
	s->place.traces += s->last != g->traces;
	s->last = g->traces;
}

static void
see_way(struct way *w, double took_ns)
{
	w->count++;
	w->mean_ns += (took_ns - w->mean_ns) / (double)w->count;
}

/* `events` begin with the one that began the unit. */
static bool
learn_events(struct space *s, struct graph *g, const struct event *events, uint32_t n)
{
	const uint32_t *spans = spans_of(&s->spans, s->labels, events, n);
	uint32_t before = GRAPH_NONE, spot, way;

	if (spans == NULL)
		return false;
	for (uint32_t i = 0; i < n; i++, before = spot) {
		if ((spot = graph_spot(g, events[0].label, spans[i], events[i].label)) == GRAPH_NONE)
			return false;
		see_spot(g, spot, (double)(events[i].time_ns - events[0].time_ns));
		if (before == GRAPH_NONE)
			continue;
		if ((way = graph_way(g, before, spot)) == GRAPH_NONE)
			return false;
		see_way(&g->ways[way], (double)(events[i].time_ns - events[i - 1].time_ns));
	}
	return true;
}

/* A unit whose begin was lost is none that a path could name; what came before the begin lies on no path. */
static bool
learn_unit(struct space *s, struct graph *g, const struct event *events, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		uint8_t kind = labels_get(s->labels, events[i].label)->kind;

		if (kind == RECORD_UNIT_BEGIN || kind == RECORD_REQUEST_BEGIN)
			return learn_events(s, g, events + i, n - i);
	}
	return true;
}

int
space_learn(struct space *s, const struct trace *t, struct err *e)
{
	struct graph *g = space_graph_of(s, t->type);
	bool ok = g != NULL;

	if (ok)
		g->traces++;
	for (uint32_t i = 0; i < t->nunits && ok; i++)
		ok = learn_unit(s, g, &t->events[t->units[i].first], t->units[i].count);
	return ok ? 0 : err_set(e, ERR_MEMORY, "search space: out of memory, or of what one request type may take");
}

/* ---- how much is known ---- */

static void
add_stats(const struct space *s, const struct graph *g, struct label_set *seen, struct space_stats *ret)
{
	uint64_t newest = (g->traces + 9) / 10;

	ret->traces += g->traces;
	ret->places += g->nspots;
	ret->steps += g->nways;
	for (uint32_t i = 0; i < g->nspots; i++) {
		uint32_t label = g->spots[i].place.label;

		ret->new_in_last_tenth += g->spots[i].first > g->traces - newest;
		if (labels_get(s->labels, label)->kind == RECORD_POINT && !label_set_has(seen, label))
			ret->labels += label_set_add(seen, label);
	}
}

bool
space_stats(const struct space *s, uint32_t type, struct space_stats *ret)
{
	struct label_set seen = { 0 };
	bool any = false;

	*ret = (struct space_stats){ 0 };
	for (uint32_t i = 0; i < s->ngraphs; i++)
		if (type == LABEL_NONE || s->graphs[i]->type == type) {
			add_stats(s, s->graphs[i], &seen, ret);
			any = true;
		}
	label_set_release(&seen);
	return any;
}

/* ---- what may lie between ---- */

struct found {
	struct between candidate;
	uint64_t traces;
	uint32_t order;		/* among the places, as they were learned */
};

/* Places of one label become one: a tracepoint is switched by its name, wherever it is. at: of each label, where it
 * stands in found + 1. */
static uint32_t
merge_places(const struct graph *g, const uint32_t *spots, uint32_t n, struct found *found, uint32_t *at)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < n; i++) {
		const struct place *p = &g->spots[spots[i]].place;
		struct between *c;

		if (at[p->label] == 0) {
			found[count] = (struct found){ .candidate.label = p->label, .order = count };
			at[p->label] = ++count;
		}
		c = &found[at[p->label] - 1].candidate;
		c->count += p->count;
		c->offset_ns += (p->offset_ns - c->offset_ns) * (double)p->count / (double)c->count;
		found[at[p->label] - 1].traces += p->traces;
	}
	return count;
}

static int
by_offset(const void *x, const void *y)
{
	const struct found *a = (const struct found *)x, *b = (const struct found *)y;

	if (a->candidate.offset_ns != b->candidate.offset_ns)
		return a->candidate.offset_ns < b->candidate.offset_ns ? -1 : 1;
	return a->order < b->order ? -1 : 1;
}

/* Traces that had this end of the gap; never 0. */
static uint64_t
passing(const struct graph *g, uint32_t unit, uint32_t label)
{
	uint64_t traces = 0;

	for (uint32_t i = 0; i < g->nspots; i++)
		if (g->spots[i].place.label == label && g->spots[i].place.unit == unit)
			traces += g->spots[i].place.traces;
	return traces > 0 ? traces : 1;
}

static uint32_t
put_out(const struct graph *g, const struct gap *gap, const struct found *found, uint32_t n, struct between *out,
    uint32_t max)
{
	uint64_t from = passing(g, gap->from_unit, gap->from), to = passing(g, gap->to_unit, gap->to);
	double through = (double)(from < to ? from : to);

	if (n > max)
		n = max;
	for (uint32_t i = 0; i < n; i++) {
		out[i] = found[i].candidate;
		out[i].share = (double)found[i].traces < through ? (double)found[i].traces / through : 1;
	}
	return n;
}

int
space_between(const struct space *s, uint32_t type, const struct gap *gap, const struct label_set *absent,
    struct between *out, uint32_t max, struct err *e)
{
	const struct graph *g = find(s, type);
	struct found *found = NULL;
	uint32_t *spots, *at, n = GRAPH_NONE;

	if (g == NULL || gap->from_unit != gap->to_unit)
		return 0;
	spots = malloc((g->nspots + 1) * sizeof *spots);
	at = calloc(labels_count(s->labels) + 1, sizeof *at);
	if (spots != NULL && at != NULL)
		n = graph_between(g, s->labels, gap, absent, spots);
	if (n != GRAPH_NONE && (found = malloc((n + 1) * sizeof *found)) != NULL) {
		n = merge_places(g, spots, n, found, at);
		qsort(found, n, sizeof *found, by_offset);
		n = put_out(g, gap, found, n, out, max);
	}
	free(at);
	free(spots);
	free(found);
	return found != NULL ? (int)n : err_set(e, ERR_MEMORY, "search space: out of memory");
}
