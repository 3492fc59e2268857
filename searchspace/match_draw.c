/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Draws one walk through the gap at random: each step is chosen by how often it was taken,
 * among those from which the end of the gap can be reached. Then gives each vertex beside the
 * walk a time: between the last vertex of the walk that leads to it and the first one that it
 * leads to, in proportion to the learned times.
 */
#include <assert.h>

#include "searchspace/match_inside.h"

static double
weight(uint64_t count)
{
	return count > 0 ? (double)count : 1;
}

static uint32_t
draw_start(const struct matching *m, const struct vertex_list *from, struct rng *rng)
{
	double all = 0, at;
	uint32_t last = GRAPH_NONE;

	for (uint32_t i = 0; i < from->n; i++)
		if ((m->at[from->at[i]].marks & FIRST) != 0)
			all += weight(place_of(m, from->at[i])->count);
	at = rng_unit(rng) * all;
	for (uint32_t i = 0; i < from->n && (last == GRAPH_NONE || at >= 0); i++)
		if ((m->at[from->at[i]].marks & FIRST) != 0) {
			last = from->at[i];
			at -= weight(place_of(m, last)->count);
		}
	return last;
}

static bool
leads_on(const struct matching *m, uint32_t vertex)
{
	return (m->at[vertex].marks & (INSIDE | LAST)) != 0;
}

static uint32_t
draw_step(const struct matching *m, uint32_t vertex, struct rng *rng)
{
	uint32_t last = GRAPH_NONE, n = 0;
	double all = 0, at;

	for (uint32_t w = m->g->vertices[vertex].out; w != GRAPH_NONE; w = m->g->steps[w].next_out)
		if (leads_on(m, m->g->steps[w].to)) {
			all += weight(m->g->steps[w].count);
			last = w;
			n++;
		}
	if (n <= 1)
		return last;
	at = rng_unit(rng) * all;
	for (uint32_t w = m->g->vertices[vertex].out; w != GRAPH_NONE && at >= 0;
	     w = m->g->steps[w].next_out)
		if (leads_on(m, m->g->steps[w].to)) {
			last = w;
			at -= weight(m->g->steps[w].count);
		}
	return last;
}

/* The step that is nearest to the end of the gap: used when the walk has gone back in loops too
 * often. */
static uint32_t
shortest_step(const struct matching *m, uint32_t vertex)
{
	uint32_t best = GRAPH_NONE, hops = UINT32_MAX;

	for (uint32_t w = m->g->vertices[vertex].out; w != GRAPH_NONE;
	     w = m->g->steps[w].next_out) {
		uint32_t to = m->g->steps[w].to,
			 left = (m->at[to].marks & LAST) != 0 ? 0 : m->at[to].hops;

		if (leads_on(m, to) && left < hops) {
			best = w;
			hops = left;
		}
	}
	return best;
}

bool
match_draw(struct matching *m, const struct vertex_list *from, struct rng *rng)
{
	uint64_t left = 2 * (uint64_t)m->inside.n + 64;
	uint32_t vertex, step;
	double now_ns = 0;

	if ((m->walk.at = arena_alloc(m->tmp, (m->inside.n + 1) * sizeof *m->walk.at)) == NULL)
		return false;
	if (!m->met || (vertex = draw_start(m, from, rng)) == GRAPH_NONE)
		return true;
	do {
		step = left > 0 ? draw_step(m, vertex, rng) : shortest_step(m, vertex);
		left -= left > 0;
		assert(step != GRAPH_NONE);
		vertex = m->g->steps[step].to;
		now_ns += m->g->steps[step].mean_ns;
		if ((m->at[vertex].marks & LAST) == 0 && m->at[vertex].walk_at == 0) {
			m->walk.at[m->walk.n] = vertex;
			m->at[vertex].walk_at = ++m->walk.n;
			m->at[vertex].when_ns = now_ns;
		}
	} while ((m->at[vertex].marks & LAST) == 0);
	m->time.mean_ns = now_ns;
	return true;
}

/* ---- vertices beside the walk ---- */

/* Sets, for each vertex beside the walk, the last vertex of the walk that leads to it
 * (forward), or the first one that it leads to. Breadth-first search. */
static void
spread_from(struct matching *m, const uint32_t *start, uint32_t n, uint32_t number, bool forward)
{
	for (uint32_t i = 0; i < n; i++)
		m->queue[i] = start[i];
	for (uint32_t at = 0; at < n; at++) {
		const struct vertex *s = &m->g->vertices[m->queue[at]];

		for (uint32_t w = forward ? s->out : s->in; w != GRAPH_NONE;) {
			uint32_t next = forward ? m->g->steps[w].to : m->g->steps[w].from;
			struct vertex_mark *x;

			w = forward ? m->g->steps[w].next_out : m->g->steps[w].next_in;
			x = &m->at[next];
			if ((x->marks & INSIDE) == 0 || x->walk_at != 0 ||
			    (forward ? x->after : x->before) != UINT32_MAX)
				continue;
			*(forward ? &x->after : &x->before) = number;
			m->queue[n++] = next;
		}
	}
}

static double
mean_offset(const struct matching *m, const struct vertex_list *l)
{
	double sum = 0, n = 0;

	for (uint32_t i = 0; i < l->n; i++) {
		const struct place *p = place_of(m, l->at[i]);

		sum += p->offset_ns * weight(p->count);
		n += weight(p->count);
	}
	return n > 0 ? sum / n : 0;
}

struct time_anchor { /* a time on the walk, and the same as time since the unit's begin */
	double when_ns, offset_ns;
};

static double
in_proportion(struct time_anchor a, struct time_anchor b, double offset_ns)
{
	double part = b.offset_ns > a.offset_ns
	                  ? (offset_ns - a.offset_ns) / (b.offset_ns - a.offset_ns)
	                  : 0;

	return a.when_ns + (b.when_ns - a.when_ns) * (part < 0 ? 0 : part > 1 ? 1 : part);
}

static struct time_anchor
anchor_of(
    const struct matching *m, uint32_t number, struct time_anchor begin, struct time_anchor end)
{
	uint32_t vertex;

	if (number == 0 || number == UINT32_MAX)
		return begin;
	if (number > m->walk.n)
		return end;
	vertex = m->walk.at[number - 1];
	return (struct time_anchor){ m->at[vertex].when_ns, place_of(m, vertex)->offset_ns };
}

/* With a walk: number 0 is the begin of the gap, 1 and up are the vertices of the walk, the
 * last number is the end of the gap. */
static bool
position_by_walk(struct matching *m, const struct vertex_list *from, const struct vertex_list *to)
{
	uint32_t end = m->walk.n + 1;
	struct time_anchor begins = { 0, mean_offset(m, from) },
			   ends = { m->time.mean_ns, mean_offset(m, to) };

	for (uint32_t i = 0; i < m->inside.n; i++)
		m->at[m->inside.at[i]].before = m->at[m->inside.at[i]].after = UINT32_MAX;
	for (uint32_t i = m->walk.n; i > 0; i--)
		spread_from(m, &m->walk.at[i - 1], 1, i, true);
	spread_from(m, from->at, from->n, 0, true);
	for (uint32_t i = 1; i < end; i++)
		spread_from(m, &m->walk.at[i - 1], 1, i, false);
	spread_from(m, to->at, to->n, end, false);
	for (uint32_t i = 0; i < m->inside.n; i++) {
		uint32_t vertex = m->inside.at[i];
		struct time_anchor a, b;

		if (m->at[vertex].walk_at != 0) {
			m->at[vertex].after = m->at[vertex].walk_at;
			continue;
		}
		a = anchor_of(m, m->at[vertex].after, begins, ends);
		b = anchor_of(m, m->at[vertex].before, begins, ends);
		if (b.when_ns < a.when_ns) /* it leads back in a loop */
			b = a;
		m->at[vertex].when_ns = in_proportion(a, b, place_of(m, vertex)->offset_ns);
	}
	return true;
}

/* Without a walk: by the time since the begin of the gap, or else since the first vertex;
 * positions set before are kept. */
static void
position_by_offset(struct matching *m, const struct vertex_list *from, const struct vertex_list *to,
    uint32_t first)
{
	double begin_ns = mean_offset(m, from), was_ns = m->time.mean_ns;

	for (uint32_t i = first; from->n == 0 && i < m->inside.n; i++) {
		double offset_ns = place_of(m, m->inside.at[i])->offset_ns;

		begin_ns = i == first || offset_ns < begin_ns ? offset_ns : begin_ns;
	}
	for (uint32_t i = first; i < m->inside.n; i++) {
		double since_ns = place_of(m, m->inside.at[i])->offset_ns - begin_ns;

		m->at[m->inside.at[i]].when_ns = was_ns + (since_ns > 0 ? since_ns : 0);
		if (was_ns + since_ns > m->time.mean_ns)
			m->time.mean_ns = was_ns + since_ns;
	}
	if (to->n > 0 && was_ns + mean_offset(m, to) - begin_ns > m->time.mean_ns &&
	    m->inside.n > first)
		m->time.mean_ns = was_ns + mean_offset(m, to) - begin_ns;
}

bool
match_position(struct matching *m, const struct vertex_list *from, const struct vertex_list *to)
{
	if (m->met)
		return position_by_walk(m, from, to);
	position_by_offset(m, from, to, m->npositioned);
	m->npositioned = m->inside.n;
	return true;
}
