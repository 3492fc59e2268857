/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "searchspace/space.h"

#include <stdlib.h>
#include <string.h>

#include "searchspace/graph.h"
#include "searchspace/span.h"

struct space {
	const struct labels *labels;
	struct graph **graphs;
	uint32_t ngraphs, graphs_cap;
	struct spans spans;
};

static int  unit_learn(struct space *s, struct graph *g, const struct trace *t, const struct unit *u, struct err *e);
static void place_seen(struct graph *g, uint32_t place, double offset_ns);
static void step_seen(struct step_taken *s, double took_ns);
static bool *walk(const struct space *s, const struct graph *g, const struct gap *gap,
    const struct label_set *absent, bool forward);
static uint32_t gather(const struct space *s, const struct graph *g, const struct gap *gap, const bool *after,
    const bool *before, struct candidate *out, uint32_t max);

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
	if (g == NULL)
		return;
	free(g->places);
	free(g->seen);
	free(g->first);
	free(g->steps);
	map_release(&g->context_of);
	map_release(&g->place_of);
	map_release(&g->step_of);
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

/* ---- the graph ---- */

struct graph *
space_graph(const struct space *s, uint32_t type)
{
	for (uint32_t i = 0; i < s->ngraphs; i++)
		if (s->graphs[i]->type == type)
			return s->graphs[i];
	return NULL;
}

uint32_t
space_type(const struct space *s, uint32_t i)
{
	return i < s->ngraphs ? s->graphs[i]->type : LABEL_NONE;
}

struct graph *
space_graph_for(struct space *s, uint32_t type)
{
	struct graph *g = space_graph(s, type);

	if (g != NULL)
		return g;
	if (s->ngraphs == s->graphs_cap) {
		uint32_t cap = s->graphs_cap != 0 ? 2 * s->graphs_cap : 16;
		struct graph **more = realloc(s->graphs, cap * sizeof *more);

		if (more == NULL)
			return NULL;
		s->graphs = more;
		s->graphs_cap = cap;
	}
	if ((g = calloc(1, sizeof *g)) == NULL)
		return NULL;
	g->type = type;
	s->graphs[s->ngraphs++] = g;
	return g;
}

/* Numbers are kept in maps as pointers one above them, since a map keeps no NULL. */
static uint32_t
number_of(const struct map *m, uint64_t key)
{
	return (uint32_t)(uintptr_t)map_get(m, key) - 1;	/* UINT32_MAX: absent */
}

static bool
number_put(struct map *m, uint64_t key, uint32_t number)
{
	return map_put(m, key, (void *)(uintptr_t)(number + 1));
}

static bool
grow(void **array, uint32_t n, uint32_t cap, size_t size)
{
	void *more;

	if (n < cap)
		return true;
	if ((more = realloc(*array, (cap != 0 ? 2 * (size_t)cap : 64) * size)) == NULL)
		return false;
	*array = more;
	return true;
}

uint32_t
graph_place(struct graph *g, uint32_t unit, uint32_t span, uint32_t label)
{
	uint64_t pair = (uint64_t)unit << 32 | span;
	uint32_t context = number_of(&g->context_of, pair), place;

	if (context == UINT32_MAX) {
		context = g->ncontexts;
		if (!number_put(&g->context_of, pair, context))
			return UINT32_MAX;
		g->ncontexts++;
	}
	pair = (uint64_t)context << 32 | label;
	if ((place = number_of(&g->place_of, pair)) != UINT32_MAX)
		return place;
	if (!grow((void **)&g->places, g->nplaces, g->places_cap, sizeof *g->places) ||
	    !grow((void **)&g->seen, g->nplaces, g->places_cap, sizeof *g->seen) ||
	    !grow((void **)&g->first, g->nplaces, g->places_cap, sizeof *g->first) ||
	    !number_put(&g->place_of, pair, g->nplaces))
		return UINT32_MAX;
	if (g->nplaces == g->places_cap)
		g->places_cap = g->places_cap != 0 ? 2 * g->places_cap : 64;
	g->places[g->nplaces] = (struct place){ .label = label, .unit = unit, .span = span };
	g->seen[g->nplaces] = 0;
	g->first[g->nplaces] = g->traces;
	return g->nplaces++;
}

uint32_t
graph_step(struct graph *g, uint32_t from, uint32_t to)
{
	uint64_t key = (uint64_t)from << 32 | to;
	uint32_t step = number_of(&g->step_of, key);

	if (step != UINT32_MAX)
		return step;
	if (!grow((void **)&g->steps, g->nsteps, g->steps_cap, sizeof *g->steps) ||
	    !number_put(&g->step_of, key, g->nsteps))
		return UINT32_MAX;
	if (g->nsteps == g->steps_cap)
		g->steps_cap = g->steps_cap != 0 ? 2 * g->steps_cap : 64;
	g->steps[g->nsteps] = (struct step_taken){ .from = from, .to = to };
	return g->nsteps++;
}

/* ---- learning ---- */

int
space_learn(struct space *s, const struct trace *t, struct err *e)
{
	struct graph *g = space_graph_for(s, t->type);
	int rc = 0;

	if (g == NULL)
		return err_set(e, ERR_MEMORY, "space: out of memory");
	g->traces++;
	for (uint32_t i = 0; i < t->nunits && rc == 0; i++)
		rc = unit_learn(s, g, t, &t->units[i], e);
	return rc;
}

/* A unit whose begin was lost is no unit that we know; its events would make places that no path has. */
static int
unit_learn(struct space *s, struct graph *g, const struct trace *t, const struct unit *u, struct err *e)
{
	const struct event *events = &t->events[u->first];
	struct span_stack open = { 0 };
	uint32_t before = UINT32_MAX, unit;
	uint8_t kind;

	if (u->count == 0)
		return 0;
	unit = events[0].label;
	kind = labels_get(s->labels, unit)->kind;
	if (kind != RECORD_UNIT_BEGIN && kind != RECORD_REQUEST_BEGIN)
		return 0;
	for (uint32_t i = 0; i < u->count; i++) {
		uint32_t span, place, step;

		if (!span_enter(&s->spans, &open, s->labels, events[i].label, &span))
			return err_set(e, ERR_MEMORY, "space: out of memory");
		place = graph_place(g, unit, span, events[i].label);
		if (place == UINT32_MAX)
			return err_set(e, ERR_MEMORY, "space: out of memory");
		place_seen(g, place, (double)(events[i].time_ns - events[0].time_ns));
		if (before != UINT32_MAX) {
			if ((step = graph_step(g, before, place)) == UINT32_MAX)
				return err_set(e, ERR_MEMORY, "space: out of memory");
			step_seen(&g->steps[step], (double)(events[i].time_ns - events[i - 1].time_ns));
		}
		before = place;
	}
	return 0;
}

static void
place_seen(struct graph *g, uint32_t place, double offset_ns)
{
	struct place *p = &g->places[place];

	p->count++;
	p->offset_ns += (offset_ns - p->offset_ns) / (double)p->count;
	if (g->seen[place] != g->traces) {
		g->seen[place] = g->traces;
		p->traces++;
	}
}

static void
step_seen(struct step_taken *s, double took_ns)
{
	s->count++;
	s->mean_ns += (took_ns - s->mean_ns) / (double)s->count;
}

static void
stats_add(const struct space *s, const struct graph *g, struct texts *distinct, struct space_stats *ret)
{
	ret->traces += g->traces;
	ret->places += g->nplaces;
	ret->steps += g->nsteps;
	for (uint32_t i = 0; i < g->nplaces; i++) {
		ret->new_in_last_tenth += g->first[i] > g->traces - g->traces / 10;
		if (labels_get(s->labels, g->places[i].label)->kind == RECORD_POINT)
			texts_intern(distinct, (const char *)&g->places[i].label, sizeof g->places[i].label);
	}
}

bool
space_stats(const struct space *s, uint32_t type, struct space_stats *ret)
{
	struct texts *distinct = texts_new();
	bool any = false;

	*ret = (struct space_stats){ 0 };
	for (uint32_t i = 0; i < s->ngraphs && distinct != NULL; i++)
		if (type == LABEL_NONE || s->graphs[i]->type == type) {
			stats_add(s, s->graphs[i], distinct, ret);
			any = true;
		}
	if (distinct != NULL)
		ret->labels = texts_count(distinct);
	texts_free(distinct);
	return any;
}

/* ---- what may lie between ---- */

int
space_between(const struct space *s, uint32_t type, const struct gap *gap, const struct label_set *absent,
    struct candidate *out, uint32_t max, struct err *e)
{
	const struct graph *g = space_graph(s, type);
	bool *after, *before;
	int n = 0;

	if (g == NULL || gap->from_unit != gap->to_unit)
		return 0;
	after = walk(s, g, gap, absent, true);
	before = walk(s, g, gap, absent, false);
	if (after != NULL && before != NULL)
		n = (int)gather(s, g, gap, after, before, out, max);
	else
		n = err_set(e, ERR_MEMORY, "space: out of memory");
	free(after);
	free(before);
	return n;
}

static bool
may_pass(const struct graph *g, uint32_t place, const struct gap *gap, const struct label_set *absent)
{
	const struct place *p = &g->places[place];

	return p->unit == gap->from_unit && p->label != gap->from && p->label != gap->to &&
	    (absent == NULL || !label_set_has(absent, p->label));
}

/*
 * Marks all places that a walk reaches from the gap's begin (or, backwards, from
 * its end) without passing its ends or an absent label. Steps are sorted by
 * where they start from by counting, so the whole is linear.
 */
static bool *
walk(const struct space *s, const struct graph *g, const struct gap *gap, const struct label_set *absent, bool forward)
{
	bool *reached = calloc(g->nplaces + 1, sizeof *reached);
	uint32_t *first = calloc((size_t)g->nplaces + 2, sizeof *first);
	uint32_t *next = malloc((g->nsteps + 1) * sizeof *next), *queue = malloc((g->nplaces + 1) * sizeof *queue);
	uint32_t start = forward ? gap->from : gap->to, n = 0;

	(void)s;
	if (reached == NULL || first == NULL || next == NULL || queue == NULL) {
		free(reached);
		reached = NULL;
		goto out;
	}
	for (uint32_t i = 0; i < g->nsteps; i++)
		first[(forward ? g->steps[i].from : g->steps[i].to) + 1]++;
	for (uint32_t i = 0; i < g->nplaces; i++)
		first[i + 1] += first[i];
	for (uint32_t i = g->nsteps; i-- > 0;)
		next[--first[(forward ? g->steps[i].from : g->steps[i].to) + 1]] = forward ? g->steps[i].to : g->steps[i].from;
	/* now first[p + 1] is where the steps of p begin, and first[p + 2] where they end */
	first[g->nplaces + 1] = g->nsteps;
	for (uint32_t i = 0; i < g->nplaces; i++)
		if (g->places[i].label == start && g->places[i].unit == gap->from_unit)
			queue[n++] = i;
	for (uint32_t at = 0; at < n; at++)
		for (uint32_t k = first[queue[at] + 1]; k < first[queue[at] + 2]; k++)
			if (!reached[next[k]] && may_pass(g, next[k], gap, absent)) {
				reached[next[k]] = true;
				queue[n++] = next[k];
			}
out:
	free(first);
	free(next);
	free(queue);
	return reached;
}

static int
by_offset(const void *x, const void *y)
{
	const struct candidate *a = x, *b = y;

	if (a->offset_ns != b->offset_ns)
		return a->offset_ns < b->offset_ns ? -1 : 1;
	return a->label < b->label ? -1 : a->label > b->label;
}

/* Places of one label become one candidate: a tracepoint is switched by its name, wherever it is. */
static uint32_t
gather(const struct space *s, const struct graph *g, const struct gap *gap, const bool *after, const bool *before,
    struct candidate *out, uint32_t max)
{
	struct map at = { 0 };		/* label -> candidate + 1 */
	uint64_t through = 1;
	uint32_t n = 0;

	for (uint32_t i = 0; i < g->nplaces; i++)
		if (g->places[i].label == gap->from && g->places[i].unit == gap->from_unit && g->places[i].traces > through)
			through = g->places[i].traces;
	for (uint32_t i = 0; i < g->nplaces; i++) {
		const struct place *p = &g->places[i];
		uint32_t k;

		if (!after[i] || !before[i] || labels_get(s->labels, p->label)->kind != RECORD_POINT)
			continue;
		if ((k = number_of(&at, p->label)) == UINT32_MAX) {
			if (n == max || !number_put(&at, p->label, n))
				continue;
			k = n++;
			out[k] = (struct candidate){ .label = p->label };
		}
		out[k].count += p->count;
		out[k].offset_ns += (p->offset_ns - out[k].offset_ns) * (double)p->count / (double)out[k].count;
		out[k].share += (double)p->traces / (double)through;
	}
	map_release(&at);
	for (uint32_t i = 0; i < n; i++)
		if (out[i].share > 1)
			out[i].share = 1;
	qsort(out, n, sizeof *out, by_offset);
	return n;
}
