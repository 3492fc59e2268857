/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <assert.h>
#include <stdlib.h>

#include "base/array.h"
#include "searchspace/space.h"
#include "searchspace/space_inside.h"

/* State while a trace is learned: a whole one, or one with only some tracepoints enabled. */
struct trace_learning {
	struct space *s;
	struct graph *g;
	const struct trace *t;
	bool whole;
	/* Of each event: its vertex, or GRAPH_NONE. Of a silent event: the vertex before it, of
	 * a silent join the one behind it. */
	uint32_t *at;
	uint32_t *names; /* of each unit: the label that began it, or LABEL_NONE */
};

enum { UNCERTAIN = GRAPH_NONE - 1 }; /* it is one of several vertices */

static int
too_much(struct err *e)
{
	return err_set(
	    e, ERR_MEMORY, "search space: out of memory, or over the limits of one request type");
}

static const struct label *
label_at(const struct trace_learning *l, uint32_t event)
{
	return labels_get(l->s->labels, l->t->events[event].label);
}

/* ---- one event ---- */

static bool
see_keys(struct trace_learning *l, uint32_t vertex, const struct event *e)
{
	uint32_t next = l->g->vertices[vertex].keys;

	for (uint32_t i = 0; i < e->nvalues; i++) {
		uint32_t n = next;

		if (e->values[i].type == VALUE_NONE)
			continue;
		/* Fields come in the same order each time, with rare exceptions. */
		if (n == GRAPH_NONE || l->g->keys[n].field != i ||
		    l->g->keys[n].type != e->values[i].type)
			n = graph_key(l->g, vertex, i, e->values[i].type);
		if (n == GRAPH_NONE || !key_value(&l->g->keys[n], &e->values[i]))
			return false;
		next = l->g->keys[n].next;
	}
	return true;
}

static void
see_vertex(struct trace_learning *l, uint32_t vertex, double offset_ns, uint64_t number)
{
	struct vertex *s = &l->g->vertices[vertex];

	assert(vertex < l->g->nvertices);
	if (l->whole && s->first == 0)
		graph_confirm(l->g, vertex);
	s->place.count++;
	s->place.offset_ns += (offset_ns - s->place.offset_ns) / (double)s->place.count;
	s->place.traces += s->last != number;
	s->last = number;
}

static bool
see_step(struct trace_learning *l, uint32_t from, uint32_t to, double took_ns)
{
	uint32_t n = graph_step(l->g, from, to);
	struct graph_step *w;

	if (n == GRAPH_NONE)
		return false;
	w = &l->g->steps[n];
	w->count++;
	w->mean_ns += (took_ns - w->mean_ns) / (double)w->count;
	return true;
}

/* ---- traces with some tracepoints enabled ---- */

/*
 * Finds the vertex of an event in a trace that is not whole. A span whose tracepoint is
 * disabled is missing, so its content seems to be in the span around it. So a label that is
 * known in this unit is taken for the known place, in whichever span it seems to be; if there
 * are several such places, it is UNCERTAIN.
 */
static uint32_t
recognise(struct trace_learning *l, uint32_t unit, uint32_t span, uint32_t label)
{
	uint32_t n = graph_find(l->g, unit, span, label);

	if (n != GRAPH_NONE)
		return n;
	if ((n = graph_newest(l->g, unit, label)) == GRAPH_NONE)
		return graph_vertex(l->g, unit, span, label);
	return l->g->vertices[n].twin == GRAPH_NONE ? n : UNCERTAIN;
}

static bool
counts(const struct graph *g, uint32_t vertex)
{
	const struct vertex *s = &g->vertices[vertex];

	return s->first == 0 && (s->last == g->glimpses || s->place.traces < graph_glimpses_max(g));
}

/* Learns an event of a trace that is not whole. Times are relative to the place before it, if
 * that is known: times since the unit's begin with few tracepoints enabled cannot be compared
 * with those learned with all enabled. */
static bool
glimpse(struct trace_learning *l, uint32_t before, uint32_t vertex, const struct event *e,
    double offset_ns, double took_ns)
{
	struct graph *g = l->g;
	bool first = before != GRAPH_NONE && counts(g, before), second = counts(g, vertex);

	if (second) {
		see_vertex(l, vertex,
		    before != GRAPH_NONE ? g->vertices[before].place.offset_ns + took_ns
					 : offset_ns,
		    g->glimpses);
		if (!see_keys(l, vertex, e))
			return false;
	}
	return before == GRAPH_NONE || (!first && !second) || see_step(l, before, vertex, took_ns);
}

/* ---- units ---- */

static bool
learn_event(struct trace_learning *l, uint32_t before, uint32_t vertex, const struct event *e,
    double offset_ns, double took_ns)
{
	if (!l->whole)
		return glimpse(l, before, vertex, e, offset_ns, took_ns);
	see_vertex(l, vertex, offset_ns, l->g->traces);
	return see_keys(l, vertex, e) &&
	       (before == GRAPH_NONE || see_step(l, before, vertex, took_ns));
}

/* Learns the events from `begin` on, which began the unit. */
static bool
learn_events(struct trace_learning *l, uint32_t unit, uint32_t begin, uint32_t n)
{
	const struct event *events = &l->t->events[begin];
	const uint32_t *spans = spans_of(&l->s->spans, l->s->labels, events, n);
	uint32_t before = GRAPH_NONE, vertex;
	int64_t before_ns = 0;

	if (spans == NULL)
		return false;
	for (uint32_t i = 0; i < n; i++) {
		if (label_at(l, begin + i)->silent) {
			l->at[begin + i] = before;
			continue;
		}
		if (l->names[unit] == LABEL_NONE)
			l->names[unit] = events[i].label;
		vertex = l->whole ? graph_vertex(l->g, l->names[unit], spans[i], events[i].label)
		                  : recognise(l, l->names[unit], spans[i], events[i].label);
		if (vertex == GRAPH_NONE)
			return false;
		if (vertex == UNCERTAIN)
			vertex = GRAPH_NONE;
		else if (!learn_event(l, before, vertex, &events[i],
			     (double)(events[i].time_ns - events[0].time_ns),
			     (double)(events[i].time_ns - before_ns)))
			return false;
		for (uint32_t k = begin + i; k > begin && label_at(l, k - 1)->silent &&
					     label_at(l, k - 1)->kind == RECORD_JOIN;
		     k--)
			l->at[k - 1] = vertex;
		l->at[begin + i] = before = vertex;
		before_ns = events[i].time_ns;
	}
	return true;
}

/* A unit without its begin is skipped, since no path can contain it; events before the begin
 * are on no path. */
static bool
learn_unit(struct trace_learning *l, uint32_t unit)
{
	const struct unit *u = &l->t->units[unit];

	for (uint32_t i = 0; i < u->count; i++) {
		uint8_t kind = label_at(l, u->first + i)->kind;

		if (kind == RECORD_UNIT_BEGIN || kind == RECORD_REQUEST_BEGIN)
			return learn_events(l, unit, u->first + i, u->count - i);
	}
	return true;
}

/* ---- forks and joins ---- */

static bool
see_link(struct trace_learning *l, uint32_t event, uint32_t name)
{
	uint32_t vertex = l->at[event], n;

	if (vertex == GRAPH_NONE || name == LABEL_NONE)
		return true;
	if (!l->whole && l->g->vertices[vertex].first != 0 &&
	    ((n = graph_find(l->g, name, LABEL_NONE, name)) == GRAPH_NONE ||
		l->g->vertices[n].first != 0))
		return true; /* both are known from whole traces, and so are their links */
	if ((n = graph_link(l->g, vertex, name)) == GRAPH_NONE)
		return false;
	l->g->links[n].count += l->whole || l->g->links[n].count == 0;
	return true;
}

static bool
is_fork(const struct trace_learning *l, const struct unit *u)
{
	return u->fork < l->t->nevents && label_at(l, u->fork)->kind == RECORD_FORK;
}

static bool
learn_joins(struct trace_learning *l, uint32_t first)
{
	struct map unit_of = { 0 }; /* link id to its unit + 1 */
	bool ok = true;

	for (uint32_t i = 0; i < l->t->nunits && ok; i++) {
		const struct unit *u = &l->t->units[i];

		if (is_fork(l, u) && l->t->events[u->fork].link_id != 0)
			ok = map_put(
			    &unit_of, l->t->events[u->fork].link_id, (void *)((uintptr_t)i + 1));
	}
	for (uint32_t i = first; i < l->t->nevents && ok; i++) {
		uintptr_t unit;

		if (label_at(l, i)->kind != RECORD_JOIN)
			continue;
		if ((unit = (uintptr_t)map_get(&unit_of, l->t->events[i].link_id)) != 0)
			ok = see_link(l, i, l->names[unit - 1]);
	}
	map_release(&unit_of);
	return ok;
}

static bool
learn_links(struct trace_learning *l)
{
	for (uint32_t i = 0; i < l->t->nunits; i++)
		if (is_fork(l, &l->t->units[i]) && !see_link(l, l->t->units[i].fork, l->names[i]))
			return false;
	for (uint32_t i = 0; i < l->t->nevents; i++)
		if (label_at(l, i)->kind == RECORD_JOIN)
			return learn_joins(l, i);
	return true;
}

/* ---- a trace ---- */

/* Room for n numbers, all UINT32_MAX (GRAPH_NONE, LABEL_NONE). false: out of memory. */
static bool
numbers_ready(uint32_t **array, uint32_t *cap, uint32_t n)
{
	if (!array_reserve(*array, *cap, n))
		return false;
	for (uint32_t i = 0; i < n; i++)
		(*array)[i] = UINT32_MAX;
	return true;
}

static int
teach(struct trace_learning *l, struct err *e)
{
	const struct trace *t = l->t;

	if (!numbers_ready(&l->s->at, &l->s->at_cap, t->nevents) ||
	    !numbers_ready(&l->s->names, &l->s->names_cap, t->nunits))
		return too_much(e);
	l->at = l->s->at;
	l->names = l->s->names;
	for (uint32_t i = 0; i < t->nunits; i++)
		if (!learn_unit(l, i))
			return too_much(e);
	return learn_links(l) ? 0 : too_much(e);
}

/* With the first whole trace of a type everything that was glimpsed is discarded: its steps may
 * skip any places. */
int
space_learn(struct space *s, const struct trace *t, struct err *e)
{
	struct trace_learning l = {
		.s = s, .g = space_graph_of(s, t->type), .t = t, .whole = true
	};

	if (l.g == NULL)
		return too_much(e);
	if (l.g->traces == 0)
		graph_release(l.g);
	l.g->traces++;
	s->version.traces++;
	return teach(&l, e);
}

int
space_learn_more(struct space *s, const struct trace *t, struct err *e)
{
	struct trace_learning l = { .s = s, .g = space_graph_of(s, t->type), .t = t };

	if (l.g == NULL)
		return too_much(e);
	l.g->glimpses++;
	return teach(&l, e);
}
