/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The gap becomes smaller; the next tracepoints inside it go on, those that are of no use any more
 * off. */
#include <stdlib.h>
#include <string.h>

#include "controlplane/search/search.h"

static const double MOST = 0.5, ALL_PASS = 0.9;

void
narrow(struct search *s, const struct measured *m, const struct part *p)
{
	bool first = s->root_share == 0;

	if (first) {
		s->root_share = m->share;
		s->most = s->gap;
	}
	if (m->nparts == 1 && !first)
		return;
	const struct decide_context c = search_decide_context(s, false);

	if (decide_of_root(&c, m, p) >= MOST)
		s->most = p->gap;
	s->gap = p->gap;
	s->share = m->share * p->of_gap;
	s->of_root *= p->of_gap;
	s->carried = p->carries;
}

/* From now on only the slow side counts. It may well be predictable in itself, so its parts are
 * told by what they take. */
int
follow(struct search *s, const struct separation *sep, struct err *e)
{
	if (!label_set_add(sep->with ? &s->must : &s->mustnot, sep->label) ||
	    (!sep->with && !label_set_add(&s->absent, sep->label)))
		return err_set(e, ERR_MEMORY, "out of memory for a search");
	s->sep = *sep;
	s->since = s->gap;
	s->follows = s->by_latency = true;
	s->root_share = s->share = s->carried = 0;
	s->of_root = 1;
	return 0;
}

bool
needed(const struct search *s, uint32_t label)
{
	if (s->deep.begun && (label == s->deep.above.from || label == s->deep.above.to))
		return true; /* what lies between them is told by them */
	return label == s->gap.from || label == s->gap.to || label == s->most.from ||
	       label == s->most.to || label == s->sep.label || label_set_has(&s->must, label) ||
	       label_set_has(&s->mustnot, label);
}

/* ---- the path that the gap is on ---- */

static int
path_room(struct search *s, uint32_t n, struct err *e)
{
	uint32_t *path = reallocarray(s->path, n, sizeof *path), *units;

	s->path = path != NULL ? path : s->path;
	units = path != NULL ? reallocarray(s->units, n, sizeof *units) : NULL;
	if (units == NULL)
		return err_set(e, ERR_MEMORY, "out of memory for a search");
	s->units = units;
	s->npath = 0;
	return 0;
}

/* The first stretch of the path that is the gap. */
static void
find_stretch(const struct shape *shape, const struct gap *gap, const bool *inside, uint32_t *first,
    uint32_t *last)
{
	uint32_t edge = gap_edge(shape, gap), i = 0;

	if (edge != UINT32_MAX) {
		*first = shape->edges[edge].from_token;
		*last = shape->edges[edge].to_token;
		return;
	}
	while (i + 1 < shape->ntokens && !inside[i])
		i++;
	*first = i;
	while (i + 1 < shape->ntokens && inside[i])
		i++;
	*last = i;
}

int
remember_path(struct search *s, const struct shape *shape, struct arena *a, struct err *e)
{
	bool *inside = arena_calloc(a, shape->nedges, sizeof *inside);
	uint32_t first, last;
	int rc = path_room(s, shape->ntokens, e);

	if (rc != 0 || inside == NULL)
		return rc != 0 ? rc : err_set(e, ERR_MEMORY, "out of memory for a search");
	gap_edges(shape, &s->gap, inside, a);
	find_stretch(shape, &s->gap, inside, &first, &last);
	for (uint32_t i = 0; i < shape->ntokens; i++) {
		if (i > first && i < last)
			continue;
		if (i == first)
			s->at = s->npath;
		if (i == last)
			s->to = s->npath;
		s->path[s->npath] = shape->tokens[i];
		s->units[s->npath++] = shape_unit(shape, i);
	}
	return 0;
}

/* ---- what may go on ---- */

/* Labels that stay out of the question: tried, or on, or of the deeper layer, which has its turn
 * later. */
static bool
out_of_question(struct label_set *ret, struct search_port *g, const struct search *s)
{
	const struct label_set *deep = preload_set(g->preload);

	if (!label_set_copy(ret, &s->tried))
		return false;
	for (uint32_t w = 0; w < deep->nwords; w++)
		for (uint64_t left = deep->words[w]; left != 0; left &= left - 1)
			if (!label_set_add(ret, w * 64 + (uint32_t)__builtin_ctzll(left)))
				return false;
	for (uint32_t i = 0; i < s->non; i++)
		if (!label_set_add(ret, s->on[i].label))
			return false;
	return true;
}

/* While two kinds of requests are compared, only what both pass cuts both. What is left keeps its
 * order; a span whose other end is gone is none any more. */
static int
keep_common(struct candidate *c, int n, uint32_t *number)
{
	int left = 0;

	for (int i = 0; i < n; i++)
		number[i] = c[i].share >= ALL_PASS ? (uint32_t)left++ : UINT32_MAX;
	for (int i = 0; i < n; i++) {
		struct candidate x = c[i];

		if (number[i] == UINT32_MAX)
			continue;
		x.partner = x.partner != UINT32_MAX ? number[x.partner] : UINT32_MAX;
		x.around = x.around != UINT32_MAX ? number[x.around] : UINT32_MAX;
		c[number[i]] = x;
	}
	return left;
}

/* Those that may lie inside the gap and were not tried. */
static int
candidates(struct candidate **ret, struct search_port *g, const struct diagnosis *d,
    struct search *s, struct gap_time *time, struct err *e)
{
	const struct match_path path = { .ntokens = s->npath,
		.tokens = s->path,
		.units = s->units,
		.edge = s->at,
		.edge_to = s->to };
	struct label_set without = { 0 };
	int n = ERR_MEMORY;

	if (out_of_question(&without, g, s))
		n = match_between(ret, time, g->space, d->type, &path, &s->absent, &without,
		    &s->rng, g->scratch, e);
	else
		err_set(e, ERR_MEMORY, "%s: out of memory", d->run->type);
	label_set_release(&without);
	if (n > 0 && s->sep.label != LABEL_NONE && !s->follows) {
		uint32_t *number = arena_calloc(g->scratch, (size_t)n, sizeof *number);

		return number != NULL ? keep_common(*ret, n, number)
		                      : err_set(e, ERR_MEMORY, "%s: out of memory", d->run->type);
	}
	return n;
}

static int
on_room(struct search *s, struct err *e)
{
	uint32_t cap = s->on_cap != 0 ? 2 * s->on_cap : 16;
	struct pick *more;

	if (s->non < s->on_cap)
		return 0;
	if ((more = reallocarray(s->on, cap, sizeof *more)) == NULL)
		return err_set(e, ERR_MEMORY, "out of memory for a search");
	s->on = more;
	s->on_cap = cap;
	return 0;
}

/* It is on for that hypothesis; counted unless it was on for another. */
static int
switch_on(struct search_port *g, struct diagnosis *d, struct search *s, const struct pick *p,
    enum reason reason, struct wall when, struct err *e)
{
	char name[LABEL_TEXT_MAX + 1];
	const struct switched log = { .run = d->run->id,
		.hypothesis = p->hypothesis->id,
		.cycle = d->run->cycles,
		.on = true,
		.tracepoint = tracepoint_name(g->labels, p->label, name),
		.reason = reason,
		.when = when };
	int rc;

	if (!label_set_add(&s->keep, p->label) || !label_set_add(&s->tried, p->label))
		return err_set(e, ERR_MEMORY, "%s: out of memory", d->run->type);
	d->run->tracepoints += !plan_wants(g->plan, name) &&
	                       !preload_label(g->preload, p->label); /* exploring counted those */
	if ((rc = on_room(s, e)) != 0 ||
	    (rc = plan_want(g->plan, name, p->hypothesis->id, e)) != 0 ||
	    (rc = g->calls->enabled(g->owner, name, e)) != 0)
		return rc;
	s->on[s->non++] = *p;
	return forest_switched(g->forest, &log, e);
}

/* That a tracepoint, turned on, would show a smaller edge. */
static struct hypothesis *
hypothesis_of(struct search_port *g, struct diagnosis *d, struct search *s, uint32_t label,
    struct wall when, struct err *e)
{
	struct hypothesis *h = hypothesis_from(g, d, s->current, when);

	if (h == NULL || !hypothesis_text(&h->tracepoint, labels_get(g->labels, label)->text) ||
	    !hypothesis_text(&h->edge_from, labels_get(g->labels, s->gap.from)->text) ||
	    !hypothesis_text(&h->edge_to, labels_get(g->labels, s->gap.to)->text)) {
		err_set(e, ERR_MEMORY, "%s: out of memory", d->run->type);
		return NULL;
	}
	h->presence = '+';
	h->traces = s->current->settled_traces;
	h->mean_ns = s->current->mean_ns;
	h->cv = s->current->cv;
	h->latency_share = s->current->latency_share;
	h->share = s->share;
	return h;
}

int
turn_on(struct search_port *g, struct diagnosis *d, struct search *s, uint32_t label,
    struct wall when, struct err *e)
{
	struct hypothesis *h = hypothesis_of(g, d, s, label, when, e);

	if (h == NULL)
		return ERR_MEMORY;
	hypothesis_enter(h, HYPOTHESIS_PROBING, when);
	forest_touch(g->forest, h);
	return switch_on(g, d, s, &(struct pick){ label, true, h }, REASON_SPLITS_EDGE, when, e);
}

static int
hold(struct search_port *g, struct diagnosis *d, struct search *s, uint32_t label, uint32_t *dear,
    enum reason reason, struct wall when, struct err *e)
{
	if (label_set_has(&d->dear, label) || !g->calls->affordable(g->owner, d->type, label)) {
		*dear = label;
		return 0;
	}
	return switch_on(g, d, s, &(struct pick){ label, false, s->root }, reason, when, e);
}

int
hold_ends(struct search_port *g, struct diagnosis *d, struct search *s, uint32_t *dear,
    struct wall when, struct err *e)
{
	int rc = 0;

	*dear = LABEL_NONE;
	for (uint32_t i = 0; i < s->npath && rc == 0; i++) {
		uint32_t label = s->path[i];

		if (labels_get(g->labels, label)->kind == RECORD_POINT && needed(s, label) &&
		    !label_set_has(&s->keep, label))
			rc = hold(g, d, s, label, dear, REASON_EDGE_END, when, e);
	}
	for (uint32_t w = 0; w < s->mustnot.nwords && rc == 0; w++)
		for (uint64_t left = s->mustnot.words[w]; left != 0 && rc == 0; left &= left - 1)
			rc = hold(g, d, s, w * 64 + (uint32_t)__builtin_ctzll(left), dear,
			    REASON_SPLITS_TRACES, when, e);
	return rc;
}

static uint32_t
on_in_all(const struct diagnosis *d)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < d->nsearches; i++)
		n += d->searches[i]->non;
	return n;
}

/* ---- within the budget ---- */

struct offer { /* candidates, in their order */
	struct candidate *some;
	uint32_t n;
	bool *out; /* was picked, or is too dear */
	uint32_t dear;
};

/* What was picked, or of its neighbours the nearest that the budget has room for; UINT32_MAX: it
 * has for none. */
static uint32_t
nearest(struct offer *o, struct search_port *g, const struct diagnosis *d, uint32_t pick)
{
	for (uint32_t away = 0; away < o->n; away++)
		for (int side = 0; side < (away > 0 ? 2 : 1); side++) {
			uint32_t i = side == 0 ? pick + away : pick - away;

			if (i >= o->n || o->out[i])
				continue; /* before the first one, too: it wraps */
			o->out[i] = true;
			if (!label_set_has(&d->dear, o->some[i].label) &&
			    g->calls->affordable(g->owner, d->type, o->some[i].label))
				return i;
			o->dear++;
		}
	return UINT32_MAX;
}

/* None of what may lie inside the gap can be paid for: kept as what was believed and could not be
 * searched. */
static int
give_up_gap(struct search_port *g, struct diagnosis *d, struct search *s, uint32_t label,
    struct wall when, struct err *e)
{
	struct hypothesis *h;

	if (gap_same(&s->given_up, &s->gap))
		return 0;
	s->given_up = s->gap;
	if ((h = hypothesis_of(g, d, s, label, when, e)) == NULL)
		return ERR_MEMORY;
	h->reason = REASON_OVER_BUDGET;
	hypothesis_enter(h, HYPOTHESIS_WITHDRAWN, when);
	forest_touch(g->forest, h);
	return 0;
}

/* Turns on what was picked, or what is beside it. How many. */
static int
turn_on_all(struct search_port *g, struct diagnosis *d, struct search *s, struct offer *o,
    const uint32_t *picked, uint32_t n, struct wall when, struct err *e)
{
	int on = 0, rc = 0;

	for (uint32_t i = 0; i < n && rc == 0; i++) {
		uint32_t at = nearest(o, g, d, picked[i]);

		if (at == UINT32_MAX)
			break;
		rc = turn_on(g, d, s, o->some[at].label, when, e);
		on++;
	}
	s->dear += on > 0 ? 0 : o->dear;
	if (rc == 0 && on == 0)
		rc = give_up_gap(g, d, s, o->some[picked[0]].label, when, e);
	return rc != 0 ? rc : on;
}

int
anything_left(struct search_port *g, struct diagnosis *d, struct search *s, struct err *e)
{
	struct gap_time time;
	struct candidate *some;

	return candidates(&some, g, d, s, &time, e);
}

int
propose(
    struct search_port *g, struct diagnosis *d, struct search *s, struct wall when, struct err *e)
{
	struct gap_time time;
	struct offer o = { 0 };
	uint32_t *picked, n;
	int left = candidates(&o.some, g, d, s, &time, e), on;

	s->dear = s->unexplored;
	if (left <= 0)
		return left;
	o.n = (uint32_t)left;
	picked = arena_calloc(g->scratch, o.n, sizeof *picked);
	o.out = arena_calloc(g->scratch, o.n, sizeof *o.out);
	if (picked == NULL || o.out == NULL)
		return err_set(e, ERR_MEMORY, "%s: out of memory", d->run->type);
	n = d->strategy->propose(o.some, o.n, &time, d->k, &s->rng, picked);
	d->run->cycles++; /* what goes on is of the cycle that begins */
	if ((on = turn_on_all(g, d, s, &o, picked, n, when, e)) <= 0) {
		d->run->cycles--;
		return on;
	}
	d->npicks = (uint32_t)on;
	if (on_in_all(d) > d->run->tracepoints_most)
		d->run->tracepoints_most = on_in_all(d);
	forest_touch_run(g->forest, d->run);
	return on;
}

/* Of the deeper layer a pair goes as a whole: its one end tells nothing. */
bool
let_go(struct search_port *g, struct diagnosis *d, struct search *s, struct wall when)
{
	bool any = false;

	for (uint32_t i = s->non; i-- > 0;) {
		struct pick p = s->on[i];

		if (!p.fresh)
			continue;
		turn_off(g, d, s, i, REASON_OVER_BUDGET, when);
		g->calls->audit(g->owner, "the budget", "off: a tracepoint", d->run->id,
		    REASON_OVER_BUDGET, NULL, when);
		if (label_set_add(&d->dear, p.label))
			label_set_del(
			    &s->tried, p.label); /* it is asked for again, refused, and counted */
		p.hypothesis->reason = REASON_OVER_BUDGET;
		hypothesis_enter(p.hypothesis, HYPOTHESIS_WITHDRAWN, when);
		forest_touch(g->forest, p.hypothesis);
		if (!s->deep.probing)
			return true;
		any = true;
	}
	return any;
}

void
turn_off(struct search_port *g, struct diagnosis *d, struct search *s, uint32_t at,
    enum reason reason, struct wall when)
{
	char name[LABEL_TEXT_MAX + 1];
	struct pick p = s->on[at];
	const struct switched log = { .run = d->run->id,
		.hypothesis = p.hypothesis->id,
		.cycle = d->run->cycles,
		.tracepoint = tracepoint_name(g->labels, p.label, name),
		.reason = reason,
		.subject = reason == REASON_SHED ? g->shed_by : NULL,
		.when = when };

	plan_release(g->plan, name, p.hypothesis->id);
	label_set_del(&s->keep, p.label);
	forest_switched(g->forest, &log, NULL);
	s->non--;
	memmove(&s->on[at], &s->on[at + 1], (s->non - at) * sizeof s->on[0]);
}
