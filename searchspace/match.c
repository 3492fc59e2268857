/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The path is divided into stays in units: at a fork it continues in another unit and returns
 * at the join. Steps of the graph never leave a unit, so only the stay that contains the gap
 * has to be matched:
 *
 *	path    R a F [U c V] J b E
 *	stay    R a F . . . . J b E      between F and J the path is in unit U, and what the
 *	                                 first unit did meanwhile took no time of the request
 *
 * 1. Forward from the first token of the stay to the begin of the gap: the set of vertices of
 *    each token follows from the set before it.
 * 2. Backward from the last token to the end of the gap.
 * 3. What lies between both sets.
 *
 * Labels elsewhere on the path cannot lie between two neighbours: they are enabled, so they
 * would be neighbours themselves. While the path is in another unit, anything can.
 */
#include "searchspace/match.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "searchspace/match_inside.h"
#include "searchspace/space_inside.h"

enum { NONE = UINT32_MAX };

struct stay {
	uint32_t unit, n;
	uint32_t *labels;
	bool *away; /* the path is in other units between this token and the next */
	uint32_t from,
	    /* The ends of the gap in this stay; NONE: unknown, and so is everything further
	     * on. */
	    to;
	bool round; /* the gap goes back in a loop */
};

static uint8_t
kind_of(const struct matching *m, uint32_t label)
{
	return kind_in(m->kinds, label) & ~KIND_SILENT;
}

/* ---- the path: which token belongs to which stay ---- */

struct open_stay {
	uint32_t unit, stay;
};

/* Assigns each token to a stay: the begin of a unit opens a stay, its end closes it; otherwise
 * the unit's label selects one of the open stays, and those above it have ended. Returns the
 * stay of each token; NULL: out of memory. */
static uint32_t *
stays_of(const struct matching *m, const struct match_path *p)
{
	uint32_t *stay = arena_alloc(m->tmp, p->ntokens * sizeof *stay), depth = 0, count = 0;
	struct open_stay *open = arena_alloc(m->tmp, p->ntokens * sizeof *open);

	if (stay == NULL || open == NULL)
		return NULL;
	for (uint32_t i = 0; i < p->ntokens; i++) {
		bool begins = p->tokens[i] == p->units[i] &&
		              kind_of(m, p->tokens[i]) == RECORD_UNIT_BEGIN;
		uint32_t at = depth;

		if (i > 0 && kind_of(m, p->tokens[i - 1]) == RECORD_UNIT_END && at > 1 && !begins)
			at--;
		while (at > 0 && open[at - 1].unit != p->units[i])
			at--;
		if (begins || at == 0) {
			open[depth] = (struct open_stay){ p->units[i], count++ };
			at = depth + 1;
		}
		depth = at;
		stay[i] = open[depth - 1].stay;
	}
	return stay;
}

static bool
known(const struct matching *m, uint32_t unit, uint32_t label)
{
	return graph_newest(m->g, unit, label) != NONE;
}

/* Collects the tokens of one stay that the graph contains. from, to: tokens; NONE: that end of
 * the gap is not in this stay. false: out of memory. */
static bool
stay_read(struct stay *ret, const struct matching *m, const struct match_path *p,
    const uint32_t *stays, uint32_t which, uint32_t from, uint32_t to)
{
	bool away = false;

	*ret = (struct stay){
		.from = NONE, .to = NONE, .round = from != NONE && to != NONE && to <= from
	};
	ret->labels = arena_alloc(m->tmp, p->ntokens * sizeof *ret->labels);
	ret->away = arena_alloc(m->tmp, p->ntokens * sizeof *ret->away);
	if (ret->labels == NULL || ret->away == NULL)
		return false;
	for (uint32_t i = 0; i < p->ntokens; i++) {
		away |= stays[i] != which && ret->n > 0;
		if (stays[i] != which)
			continue;
		ret->unit = p->units[i];
		if (!known(m, p->units[i], p->tokens[i]))
			continue;
		if (ret->n > 0)
			ret->away[ret->n - 1] = away;
		away = false;
		if (from != NONE && i <= from)
			ret->from = ret->n;
		if (to != NONE && i >= to && ret->to == NONE)
			ret->to = ret->n;
		ret->labels[ret->n++] = p->tokens[i];
	}
	/* If the body of the loop is unknown, the gap is between the known tokens around it. */
	if (ret->round && (ret->from == NONE || ret->to == NONE || ret->to > ret->from))
		ret->round = false;
	return true;
}

/* ---- walking ---- */

static bool
may_pass(const struct matching *m, uint32_t label)
{
	uint8_t kind = kind_in(m->kinds, label);

	return (kind == RECORD_POINT || (kind & KIND_SILENT) != 0) && !m->blocked[label];
}

static uint32_t
step_next(const struct matching *m, uint32_t step, bool forward, uint32_t *vertex)
{
	const struct graph_step *w = &m->g->steps[step];

	*vertex = forward ? w->to : w->from;
	return forward ? w->next_out : w->next_in;
}

static void
take(struct matching *m, struct vertex_list *l, uint32_t vertex)
{
	assert(vertex < m->g->nvertices);
	if (m->at[vertex].taken == m->stamp)
		return;
	m->at[vertex].taken = m->stamp;
	l->at[l->n++] = vertex;
}

/* All vertices of this label in the unit. */
static void
take_all(struct matching *m, struct vertex_list *l, uint32_t unit, uint32_t label)
{
	m->stamp++;
	l->n = 0;
	for (uint32_t s = graph_newest(m->g, unit, label); s != NONE; s = m->g->vertices[s].twin)
		take(m, l, s);
}

/* Replaces the list by the vertices of `label` that walks from the list (or to it, if not
 * forward) reach. If the space has no such walk, a step is missing in it: all vertices of that
 * label, so that matching can continue. */
static void
advance(struct matching *m, struct vertex_list *l, uint32_t unit, uint32_t label, bool away,
    bool forward)
{
	uint32_t n = l->n;

	memcpy(m->queue, l->at, n * sizeof *m->queue);
	l->n = 0;
	m->stamp++;
	for (uint32_t at = 0; at < n; at++) {
		const struct vertex *s = &m->g->vertices[m->queue[at]];
		uint32_t next;

		for (uint32_t w = forward ? s->out : s->in; w != GRAPH_NONE;) {
			w = step_next(m, w, forward, &next);
			if (place_of(m, next)->label == label)
				take(m, l, next);
			if (m->at[next].seen == m->stamp ||
			    (!away && !may_pass(m, place_of(m, next)->label)))
				continue;
			m->at[next].seen = m->stamp;
			m->queue[n++] = next;
		}
	}
	if (l->n == 0)
		take_all(m, l, unit, label);
}

/* From one token of the stay to another; to a smaller index it goes backwards. */
static void
advance_to(
    struct matching *m, struct vertex_list *l, const struct stay *s, uint32_t from, uint32_t to)
{
	for (; from < to; from++)
		advance(m, l, s->unit, s->labels[from + 1], s->away[from], true);
	for (; from > to; from--)
		advance(m, l, s->unit, s->labels[from - 1], s->away[from - 1], false);
}

/* Adds the items of `more` that are missing. Returns whether there were any. */
static bool
join(struct matching *m, struct vertex_list *l, const struct vertex_list *more)
{
	uint32_t before = l->n;

	m->stamp++;
	for (uint32_t i = 0; i < l->n; i++)
		m->at[l->at[i]].taken = m->stamp;
	for (uint32_t i = 0; i < more->n; i++)
		take(m, l, more->at[i]);
	return l->n > before;
}

static bool
list_new(struct matching *m, struct vertex_list *l)
{
	l->n = 0;
	return (l->at = arena_alloc(m->tmp, (m->g->nvertices + 1) * sizeof *l->at)) != NULL;
}

/*
 * The set at one end of the gap (`near`), reached from that end's side of the stay. A gap that
 * goes back in a loop is passed any number of times, so what another iteration reaches counts
 * as well: each time the set at `far`, where an iteration begins, grows, until it does not.
 * false: out of memory.
 */
static bool
go_round(struct matching *m, struct vertex_list *l, const struct stay *s, uint32_t far,
    uint32_t near, bool forward)
{
	struct vertex_list begins, more;

	if (!list_new(m, &begins) || !list_new(m, &more))
		return false;
	memcpy(begins.at, l->at, l->n * sizeof *l->at);
	begins.n = l->n;
	for (;;) {
		memcpy(l->at, begins.at, begins.n * sizeof *l->at);
		l->n = begins.n;
		advance_to(m, l, s, far, near);
		memcpy(more.at, l->at, l->n * sizeof *l->at);
		more.n = l->n;
		advance(m, &more, s->unit, s->labels[far], false, forward);
		if (!join(m, &begins, &more))
			return true;
	}
}

/* Where to start towards token `to`: at the nearest token in the direction of `at` that has
 * only one vertex, since the path must be there. */
static uint32_t
nearest_sure(const struct matching *m, const struct stay *s, uint32_t at, uint32_t to)
{
	for (; to != at; to = to > at ? to - 1 : to + 1)
		if (m->g->vertices[graph_newest(m->g, s->unit, s->labels[to])].twin == NONE)
			break;
	return to;
}

/* The set at token `to`, starting from `at` or a nearer token. */
static void
walk_to(struct matching *m, struct vertex_list *l, const struct stay *s, uint32_t at, uint32_t to)
{
	at = nearest_sure(m, s, at, to);
	take_all(m, l, s->unit, s->labels[at]);
	advance_to(m, l, s, at, to);
}

/* The set at the begin of the gap: what the tokens before it lead to. Without any, the begin of
 * the unit. */
static bool
set_from(struct matching *m, struct vertex_list *l, const struct stay *s)
{
	if (!list_new(m, l))
		return false;
	if (s->from == NONE) {
		if (s->unit < labels_count(m->labels))
			take_all(m, l, s->unit, s->unit);
		return true;
	}
	walk_to(m, l, s, 0, s->round ? s->to : s->from);
	return !s->round || go_round(m, l, s, s->to, s->from, true);
}

/* The set at the end of the gap: from where the tokens behind it are reached. Without any,
 * empty. */
static bool
set_to(struct matching *m, struct vertex_list *l, const struct stay *s)
{
	if (!list_new(m, l))
		return false;
	if (s->to == NONE)
		return true;
	walk_to(m, l, s, s->n - 1, s->round ? s->from : s->to);
	return !s->round || go_round(m, l, s, s->from, s->to, false);
}

/* ---- inside the gap ---- */

/* Marks a vertex. spread() marks what walks from (or to) a set reach. `ends`: the path left the
 * unit by silent structure, so structure ends the walk. */
static void
mark(struct matching *m, uint32_t vertex, uint32_t as)
{
	if ((m->at[vertex].marks & (AFTER | BEFORE | LAST)) == 0)
		m->marked.at[m->marked.n++] = vertex;
	m->at[vertex].marks |= as;
}

static void
spread(struct matching *m, const struct vertex_list *start, uint8_t as, bool ends)
{
	uint32_t n = 0;

	for (; n < start->n; n++) {
		m->queue[n] = start->at[n];
		m->at[start->at[n]].hops = 0;
	}
	for (uint32_t at = 0; at < n; at++) {
		const struct vertex *s = &m->g->vertices[m->queue[at]];
		uint32_t next, hops = at < start->n ? 0 : m->at[m->queue[at]].hops;

		for (uint32_t w = as == AFTER ? s->out : s->in; w != GRAPH_NONE;) {
			w = step_next(m, w, as == AFTER, &next);
			m->met |= (m->at[next].marks & LAST) != 0 && as == AFTER;
			if ((m->at[next].marks & as) != 0 ||
			    !may_pass(m, place_of(m, next)->label) ||
			    (ends && kind_in(m->kinds, place_of(m, next)->label) != RECORD_POINT))
				continue;
			mark(m, next, as);
			if (as == BEFORE)
				m->at[next].hops = hops + 1;
			m->queue[n++] = next;
		}
	}
}

static void
keep_inside(struct matching *m, uint8_t marks, bool all)
{
	for (uint32_t i = 0; i < m->marked.n; i++) {
		struct vertex_mark *x = &m->at[m->marked.at[i]];

		if ((all ? (x->marks & marks) != marks : (x->marks & marks) == 0) ||
		    (x->marks & INSIDE) != 0)
			continue;
		x->marks |= INSIDE;
		m->inside.at[m->inside.n++] = m->marked.at[i];
	}
}

/* Marks the vertices at the begin from which a walk to the end of the gap can start. */
static void
mark_first(struct matching *m, const struct vertex_list *from)
{
	for (uint32_t i = 0; i < from->n; i++)
		for (uint32_t w = m->g->vertices[from->at[i]].out; w != GRAPH_NONE;
		     w = m->g->steps[w].next_out)
			if ((m->at[m->g->steps[w].to].marks & (INSIDE | LAST)) != 0)
				m->at[from->at[i]].marks |= FIRST;
}

/* Number of traces that had this end of the gap. */
static uint64_t
traces_of(const struct matching *m, const struct vertex_list *l)
{
	uint64_t traces = 0;

	for (uint32_t i = 0; i < l->n; i++)
		traces += place_of(m, l->at[i])->traces;
	return traces;
}

static void
spread_between(struct matching *m, const struct vertex_list *from, const struct vertex_list *to)
{
	for (uint32_t i = 0; i < m->marked.n; i++)
		m->at[m->marked.at[i]].marks = 0;
	m->marked.n = 0;
	for (uint32_t i = 0; i < to->n; i++)
		mark(m, to->at[i], LAST);
	spread(m, from, AFTER, false);
	spread(m, to, BEFORE, false);
}

/* Where the gap lies in time, if all traces pass its ends, and at one vertex each. */
static struct gap_order
order_of(const struct matching *m, const struct vertex_list *from, const struct vertex_list *to)
{
	struct gap_order o = { 0 };

	if (from->n != 1 || to->n != 1 || !match_is_once(m, from->at[0]) ||
	    !match_is_once(m, to->at[0]))
		return o;
	o.begin_ns = place_of(m, from->at[0])->offset_ns;
	o.end_ns = place_of(m, to->at[0])->offset_ns;
	o.known = o.begin_ns < o.end_ns;
	return o;
}

/* How often a trace that has units of this kind has one. */
static double
passes_of(const struct matching *m, uint32_t unit)
{
	uint64_t count = 0, traces = 0;

	for (uint32_t i = graph_newest(m->g, unit, unit); i != NONE; i = m->g->vertices[i].twin) {
		count += place_of(m, i)->count;
		traces += place_of(m, i)->traces;
	}
	return traces > 0 ? (double)count / (double)traces : 0;
}

/* Both ends in one unit. 1. If walks match the whole path, what lies on them. 2. Otherwise a
 * step is missing in the space: what lies on any walk between the ends. 3. If there is none, or
 * an end is unknown: what follows the begin or precedes the end. */
static bool
in_one_unit(struct matching *m, const struct stay *s, struct rng *rng, uint64_t *passing)
{
	struct vertex_list from, to, all_from, all_to;
	uint64_t before, behind;

	if (!set_from(m, &from, s) || !set_to(m, &to, s) || !list_new(m, &all_from) ||
	    !list_new(m, &all_to))
		return false;
	spread_between(m, &from, &to);
	if (!m->met && s->from != NONE && s->to != NONE) {
		take_all(m, &all_from, s->unit, s->labels[s->from]);
		take_all(m, &all_to, s->unit, s->labels[s->to]);
		spread_between(m, &all_from, &all_to);
		if (m->met) {
			from = all_from;
			to = all_to;
		} else {
			spread_between(m, &from, &to);
		}
	}
	keep_inside(m, AFTER | BEFORE, m->met);
	mark_first(m, &from);
	before = traces_of(m, &from);
	behind = traces_of(m, &to);
	*passing = to.n == 0 || before < behind ? before : behind;
	m->order = order_of(m, &from, &to);
	m->unit_passes = passes_of(m, s->unit);
	return match_draw(m, &from, rng) && match_position(m, &from, &to);
}

/* Ends in two units. Nothing lies on the link; but where its structure is silent or was not
 * recorded, what the first unit did after `from` and what the other did before `to` lie in the
 * gap. */
static bool
in_two_units(struct matching *m, const struct stay *s, const struct stay *t, bool leaves,
    bool enters, uint64_t *passing)
{
	struct vertex_list from, to, none = { 0 };

	if (!set_from(m, &from, s) || !set_to(m, &to, t))
		return false;
	*passing = traces_of(m, leaves ? &to : &from);
	if (!leaves) {
		spread(m, &from, AFTER, true);
		keep_inside(m, AFTER, true);
		if (!match_position(m, &from, &none))
			return false;
	}
	if (!enters) {
		spread(m, &to, BEFORE, true);
		keep_inside(m, BEFORE, true);
		return match_position(m, &none, &to);
	}
	return true;
}

/* ---- entry ---- */

static bool
matching_init(struct matching *m, const struct match_path *p, const struct label_set *absent)
{
	uint32_t nlabels = labels_count(m->labels), n = m->g->nvertices + 1;

	m->blocked = arena_calloc(m->tmp, nlabels + 1, sizeof *m->blocked);
	/* calloc() allocates only the pages that are visited. */
	m->at = calloc(n, sizeof *m->at);
	/* A vertex may be in it twice: as a start, and when it is reached. */
	m->queue = arena_alloc(m->tmp, 2 * n * sizeof *m->queue);
	if (m->blocked == NULL || m->at == NULL || m->queue == NULL || !list_new(m, &m->marked) ||
	    !list_new(m, &m->inside))
		return false;
	for (uint32_t i = 0; i < p->ntokens; i++)
		if (p->tokens[i] < nlabels)
			m->blocked[p->tokens[i]] = true;
	for (uint32_t i = 0; absent != NULL && i < absent->nwords; i++)
		for (uint64_t left = absent->words[i]; left != 0; left &= left - 1) {
			uint64_t label = (uint64_t)i * 64 + (uint64_t)__builtin_ctzll(left);

			if (label < nlabels)
				m->blocked[label] = true;
		}
	return true;
}

static bool
match_gap(struct matching *m, const struct match_path *p, struct rng *rng, uint64_t *passing)
{
	const uint32_t *stays = stays_of(m, p);
	uint8_t leaves = kind_of(m, p->tokens[p->edge]), enters = kind_of(m, p->tokens[p->edge_to]);
	struct stay s, t;

	if (stays == NULL)
		return false;
	if (stays[p->edge] == stays[p->edge_to])
		return stay_read(&s, m, p, stays, stays[p->edge], p->edge, p->edge_to) &&
		       in_one_unit(m, &s, rng, passing);
	return stay_read(&s, m, p, stays, stays[p->edge], p->edge, NONE) &&
	       stay_read(&t, m, p, stays, stays[p->edge_to], NONE, p->edge_to) &&
	       in_two_units(m, &s, &t,
		   leaves == RECORD_FORK || leaves == RECORD_UNIT_END ||
		       leaves == RECORD_REQUEST_END,
		   enters == RECORD_JOIN || enters == RECORD_UNIT_BEGIN ||
		       enters == RECORD_REQUEST_BEGIN,
		   passing);
}

int
match_between(struct candidate **ret, struct gap_time *gap, const struct space *s, uint32_t type,
    const struct match_path *path, const struct label_set *absent, const struct label_set *without,
    struct rng *rng, struct arena *a, struct err *e)
{
	struct arena tmp = { 0 };
	struct matching m = { .labels = space_labels(s), .tmp = &tmp };
	uint64_t passing = 1;
	int n = 0;

	assert(path->edge < path->ntokens && path->edge_to < path->ntokens);
	*ret = NULL;
	*gap = (struct gap_time){ 0 };
	if ((m.g = space_find(s, type)) == NULL)
		return 0;
	m.kinds = labels_kinds(m.labels);
	if (!matching_init(&m, path, absent) || !match_gap(&m, path, rng, &passing))
		n = err_set(e, ERR_MEMORY, "search space: out of memory");
	else
		n = match_collect(&m, passing, without, ret, a, e);
	*gap = m.time;
	free(m.at);
	arena_release(&tmp);
	return n;
}
