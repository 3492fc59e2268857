/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/search/search_below.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/differential_text.h"
#include "base/array.h"
#include "controlplane/search/gap.h"
#include "instrument/policy.h"

/* Of fewer waits it is not said who ended them. */
enum { WAKERS_FEW = 20 };
enum { ROUNDS_BELOW = 200, ROUNDS_DIFFERENTIAL = 199 };
#define DIFFERENCE_P_MAX 0.05 /* of a function or a state that slow requests have more of */

static void
service_of(char out[LABEL_TEXT_MAX + 1], const struct search_port *port, uint32_t label)
{
	const struct label *l = labels_get(port->labels, label);

	snprintf(out, LABEL_TEXT_MAX + 1, "%.*s", (int)l->service_len, l->text);
}

#define TO(x) (1u << (x))

static const unsigned WAYS[] = {
	[BELOW_NOT_BEGUN] = TO(BELOW_AHEAD) | TO(BELOW_GATHERING) | TO(BELOW_DONE),
	[BELOW_AHEAD] = TO(BELOW_GATHERING) | TO(BELOW_DONE) | TO(BELOW_NOT_BEGUN),
	[BELOW_GATHERING] = TO(BELOW_DONE),
	[BELOW_DONE] = TO(BELOW_NOT_BEGUN),
};

static void
enter(struct below_search *b, enum below_progress state)
{
	assert((WAYS[b->state] & TO(state)) != 0);
	b->state = state;
}

/* ---- which edges ---- */

/* It leads to the begin of a unit: its thread was in no request before, or in another one. */
static bool
leads_to_begin(const struct search_port *port, uint32_t to)
{
	return labels_get(port->labels, to)->kind == RECORD_UNIT_BEGIN;
}

/* A unit is in its thread, waits for another unit that has ended, or has yet to begin. */
static bool
has_a_thread(const struct search_port *port, uint32_t to, bool handed_over)
{
	return !handed_over || leads_to_begin(port, to) ||
	       labels_get(port->labels, to)->kind == RECORD_JOIN;
}

/* A place that is certain. */
static bool
is_for_below(
    const struct search_port *port, const struct search *s, const struct verdict *v, uint32_t to)
{
	return s->diagnosis->below && v->kind == VERDICT_PLACE && v->share_low > 0 &&
	       has_a_thread(port, to, v->handed_over);
}

/* What is measured now may become such a verdict. */
static bool
may_be_for_below(const struct search_port *port, const struct search *s)
{
	const struct gap *gap = &s->at.gap;

	return s->diagnosis->below && s->task == TASK_FINAL_EDGE &&
	       s->final.kind == VERDICT_PLACE &&
	       has_a_thread(port, gap->to, gap->from_unit != gap->to_unit);
}

static bool
is_about(const struct below_search *b, const struct gap *gap)
{
	return gap_same(&b->gap, gap);
}

/* ---- asking ---- */

static void
look_no_longer(struct search_port *port, struct below_search *b)
{
	if (b->looks)
		port->calls->look_below(port->owner, b->service, b->before, false);
	b->looks = false;
}

static void
throw_away(struct search_port *port, struct below_search *b)
{
	look_no_longer(port, b);
	below_list_free(b->list);
	enter(b, BELOW_NOT_BEGUN);
	*b = (struct below_search){ .state = BELOW_NOT_BEGUN };
}

/* About the edge of the search, which leads to this label. False: it cannot be, and `missing` says why; or no memory: *rc. */
static bool
look(struct search_port *port, struct search *s, uint32_t to, int *rc, struct err *e)
{
	struct below_search *b = &s->below;

	service_of(b->service, port, to);
	if (!port->calls->below(port->owner, b->service, b->missing))
		return false;
	if (!port->calls->affordable_below(port->owner, s->diagnosis->type, b->service)) {
		snprintf(b->missing, sizeof b->missing, "over-budget");
		return false;
	}
	if ((b->list = below_list_new()) == NULL) {
		*rc = search_no_memory(s, e);
		return false;
	}
	b->begun = b->asked = port->now;
	b->clear_at = BELOW_CLEAR;
	b->wanted = BELOW_PLENTY;
	b->before = leads_to_begin(port, to);
	b->looks = true;
	port->calls->look_below(port->owner, b->service, b->before, true);
	return true;
}

/* Of a wait for threads the other requests are recorded first (company_wait.h), and what another search looks for below would lower them: the limits of a
 * node are for both. A unit may be called by one of its kind, so the labels of both units may be the same. */
static bool
company_first(const struct search_port *port, const struct gap *gap)
{
	uint8_t kind = labels_get(port->labels, gap->to)->kind;
	struct mono since;

	return gap->from_unit != gap->to_unit || kind == RECORD_UNIT_BEGIN || kind == RECORD_JOIN ||
	       port->calls->company(port->owner, &since) == COMPANY_COMING;
}

int
search_below_ahead(struct search_port *port, struct search *s, struct err *e)
{
	struct below_search *b = &s->below;
	bool may = search_is_on(s) && may_be_for_below(port, s);
	int rc = 0;

	if ((b->state == BELOW_AHEAD || b->state == BELOW_DONE) && search_is_on(s) &&
	    !(may && is_about(b, &s->at.gap)))
		throw_away(port, b);
	if (search_below_is_ahead(s) && (rc = search_below_ready(port, s, e)) == 1) {
		look_no_longer(port, b);
		rc = 0;
	}
	if (rc != 0 || b->state != BELOW_NOT_BEGUN || !may || port->paused || port->backing_off ||
	    company_first(port, &s->at.gap))
		return rc;
	b->gap = s->at.gap;
	if (look(port, s, s->at.gap.to, &rc, e))
		enter(b, BELOW_AHEAD);
	else
		b->missing[0] = '\0'; /* the verdict asks again */
	return rc;
}

bool
search_below_is_ahead(const struct search *s)
{
	return s->below.state == BELOW_AHEAD && s->below.looks;
}

void
search_below_retreat(struct search_port *port, struct search *s)
{
	if (s->below.state == BELOW_AHEAD)
		throw_away(port, &s->below);
}

bool
search_below_begin(struct search_port *port, struct search *s, const struct verdict *v,
    const struct group *group, uint32_t edge, int *rc, struct err *e)
{
	uint32_t to = group->shape.edges[edge].to;
	struct below_search *b = &s->below;
	bool is_for = is_for_below(port, s, v, to);
	/* ahead of it nodes could not look for a moment */
	bool cut_off = b->state == BELOW_AHEAD && !b->looks &&
	               below_list_requests(b->list) < BELOW_FEW;

	*rc = 0;
	if (b->state != BELOW_NOT_BEGUN && (cut_off || !(is_for && is_about(b, &s->at.gap))))
		throw_away(port, b);
	if (!is_for || (b->state == BELOW_NOT_BEGUN && (port->paused || port->backing_off)))
		return false;
	b->gap = s->at.gap;
	b->kind = v->kind;
	b->share = s->at.tail_ns > 0 ? 0 : v->share;
	if (b->state == BELOW_DONE)
		return false;
	if (b->state == BELOW_NOT_BEGUN) {
		if (!look(port, s, to, rc, e)) {
			enter(b, BELOW_DONE);
			return false;
		}
		search_enter(s, SEARCH_SWITCHING);
	}
	/* of a problem that few requests have, as few as at first may have none */
	if (b->clear_at < v->traces * 2 / 3)
		b->clear_at = (uint32_t)(v->traces * 2 / 3);
	enter(b, BELOW_GATHERING);
	return true;
}

bool
search_below_gathers(const struct search *s)
{
	return s->below.state == BELOW_GATHERING;
}

/* From one step of the path to the next one; times by the clock of the node. */
static int
time_of_passage(struct below_time *ret, const struct below_records *r, const struct trace *t,
    const struct step *to, struct arena *a, struct err *e)
{
	const struct event *begin = &t->events[to[-1].event], *end = &t->events[to->event];
	int64_t took_ns = to->time_ns - to[-1].time_ns;

	return below_time_of(ret, r, end->unit,
	    begin->unit == end->unit ? BELOW_INSIDE : BELOW_BETWEEN, end->time_ns - took_ns,
	    end->time_ns, a, e);
}

int
search_below_trace(struct search_port *port, struct search *s, const struct trace *t,
    const struct critpath *path, const struct shape *shape, struct err *e)
{
	struct below_search *b = &s->below;
	struct arena *a = port->scratch;
	struct below_records *records;
	struct below_time *times = arena_alloc(a, path->nsteps * sizeof *times);
	bool *inside = arena_calloc(a, shape->nedges, sizeof *inside);
	uint32_t *edges, n = 0;
	int rc;

	assert(search_below_gathers(s) || search_below_is_ahead(s));
	if (!b->looks)
		return 0;
	if (times == NULL || inside == NULL)
		return search_no_memory(s, e);
	if (!b->seen) { /* it may not have begun on the node, or after what this request waits for */
		b->seen = t->nbelow > 0;
		b->whole_ns = t->end_ns;
		return 0;
	}
	if (t->begin_ns < b->whole_ns)
		return 0;
	gap_edges(shape, &s->at.gap, inside, a); /* of a path without the gap: none */
	if ((rc = below_records_of(&records, t, port->labels, a, e)) != 0 ||
	    (rc = shape_edges_of_steps(&edges, path, shape, a, e)) != 0)
		return rc;
	for (uint32_t i = 1; i < path->nsteps; i++)
		if (inside[edges[i]] &&
		    (rc = time_of_passage(&times[n++], records, t, &path->steps[i], a, e)) != 0)
			return rc;
	return below_list_add(b->list, t->end_ns - t->begin_ns, times, n) ? 0
	                                                                  : search_no_memory(s, e);
}

/* For nearly all of its time, and of what it has of the problem, nobody saw what the threads did: a request that waits in an event loop has none, or its thread is of another program. More
 * requests say no more. */
static bool
is_unseen(const struct search *s, const struct below_finding *f)
{
	const struct edge_share *unknown = &f->states[BELOW_UNKNOWN];

	return s->at.tail_ns <= 0 && f->mean_ns > 0 && f->share > 0 && f->top == BELOW_UNKNOWN &&
	       unknown->mean_ns >= BELOW_UNSEEN * f->mean_ns &&
	       unknown->share >= BELOW_UNSEEN * f->share;
}

/* As a part of a gap, a state takes over with isolate_min of the edge. */
static bool
stands_out(const struct search_port *port, const struct below_finding *f)
{
	const struct edge_share *top = &f->caused[f->top];

	return f->top != BELOW_UNKNOWN && top->interval.low > 0 &&
	       top->share >= port->settings.isolate_min * f->share;
}

/* Fewer requests say it, too: the state has most of the edge, or certainly more than any other one. */
static bool
is_clear(const struct search_port *port, const struct search *s, const struct below_finding *f)
{
	const struct edge_share *top = &f->caused[f->top];
	double next = 0;

	for (int i = 0; i < BELOW_STATES; i++)
		if (i != (int)f->top)
			next = fmax(next, f->caused[i].interval.high);
	return s->at.tail_ns <= 0 && f->top != BELOW_UNKNOWN &&
	       (top->share >= BELOW_MOST * f->share || top->interval.low > next) &&
	       top->interval.low >= port->settings.isolate_min * f->share;
}

/*
 * Shares of the variance of rare, clustered requests have intervals from 0 to 100 %, though each slow request has the state and no other one. So
 * what slow requests have more of tells it, too: the state has isolate_min of their difference in the edge, with the lower end of its
 * interval, and chance would not give it that.
 */
static bool
differs(const struct search_port *port, const struct below_finding *f, const struct differential *d)
{
	double least_ns = port->settings.isolate_min * (d->slow_ns - d->usual_ns);

	if (f->top == BELOW_UNKNOWN ||
	    f->caused[f->top].share < port->settings.isolate_min * f->share || least_ns <= 0)
		return false;
	for (uint32_t i = 0; i < d->count; i++) {
		const struct difference *x = &d->items[i];

		if (x->of == DIFFERENCE_STATE && x->state == (uint32_t)f->top)
			return x->p <= DIFFERENCE_P_MAX && x->more_ns.low >= least_ns &&
			       x->slow >= DIFFERENTIAL_SLOW_MIN;
	}
	return false;
}

static int
find(struct below_finding *f, const struct search_port *port, const struct search *s, struct err *e)
{
	return below_list_find(f, s->below.list, s->at.by_latency,
	    port->settings.conditions.confidence, ROUNDS_BELOW, s->diagnosis->seed, port->scratch,
	    e);
}

static bool
agrees(const struct search *s, const struct below_finding *f)
{
	return f->share >= DECIDE_OF_ROOT_MIN * s->below.share;
}

bool
search_below_agrees(const struct search_port *port, const struct search *s, int *rc, struct err *e)
{
	struct below_finding f;

	return (*rc = find(&f, port, s, e)) == 0 && agrees(s, &f);
}

int
search_below_ready(const struct search_port *port, struct search *s, struct err *e)
{
	struct below_search *b = &s->below;
	uint32_t n = below_list_requests(b->list);
	char missing[BELOW_WHY_MAX + 1];
	struct below_finding f;
	int rc;

	if (n > 0 && !b->timed) { /* traces come without a time */
		b->begun = port->now;
		b->timed = true;
	}
	if (!b->looks || n >= BELOW_REQUESTS_MAX ||
	    mono_since_ns(port->now, b->begun) > BELOW_MAX_NS ||
	    !port->calls->below(port->owner, b->service, missing))
		return 1;
	if (n < b->wanted) {
		if (n < b->clear_at || !search_below_gathers(s))
			return 0;
		b->clear_at = n + n / 2;
		return (rc = find(&f, port, s, e)) != 0
		           ? rc
		           : (is_clear(port, s, &f) || is_unseen(s, &f)) && agrees(s, &f);
	}
	if ((rc = find(&f, port, s, e)) != 0)
		return rc;
	b->wanted = 2 * n < BELOW_REQUESTS_MAX ? 2 * n : BELOW_REQUESTS_MAX;
	return stands_out(port, &f) || (is_unseen(s, &f) && agrees(s, &f));
}

void
search_below_stop(struct search_port *port, struct search *s, const char *cut)
{
	struct below_search *b = &s->below;

	if (b->state != BELOW_AHEAD && b->state != BELOW_GATHERING)
		return;
	enter(b, BELOW_DONE);
	look_no_longer(port, b);
	if (!port->calls->below(port->owner, b->service, b->missing)) {
		below_list_free(b->list); /* of a part of the requests */
		b->list = NULL;
	} else if (below_list_requests(b->list) < BELOW_FEW)
		snprintf(b->missing, sizeof b->missing, "%s",
		    cut != NULL ? cut
		    : b->seen   ? "few-requests"
				: "no-records");
}

/* ---- the verdict ---- */

/* A line for each state that takes time: word, share, its interval, mean ns. */
static void
put_states(struct buf *out, const struct below_finding *f)
{
	for (unsigned i = 0; i < BELOW_STATES; i++) {
		const struct edge_share *x = &f->states[i];

		if (x->mean_ns > 0)
			buf_printf(out, "%s%s\t%.6g\t%.6g\t%.6g\t%.6g", out->len > 0 ? "\n" : "",
			    below_state_word((enum below_state)i), x->share, x->interval.low,
			    x->interval.high, x->mean_ns);
	}
	buf_u8(out, 0);
}

/* A line for each with at least that share: word of the state, share, part of the edge, mean ns, place; after a tab who called it, or of a holder its
 * thread, if that is known. */
static void
put_found(struct buf *out, const struct below_found *x, uint32_t n, double least)
{
	for (uint32_t i = 0; i < n && x[i].share > 0 && x[i].share >= least; i++)
		buf_printf(out, "%s%s\t%.6g\t%.6g\t%.6g\t%s%s%s", i > 0 ? "\n" : "",
		    below_state_word(x[i].state), x[i].share, x[i].of_edge, x[i].mean_ns,
		    x[i].place, x[i].caller[0] != '\0' ? "\t" : "", x[i].caller);
	buf_u8(out, 0);
}

/* The request type that libhone publishes under this number; NULL: none that begins requests here. */
static const struct label *
label_of_type(const struct labels *labels, uint32_t type)
{
	for (uint32_t i = 0; i < labels_count(labels) && type != 0; i++) {
		const struct label *l = labels_get(labels, i);
		char name[LABEL_TEXT_MAX + 1];

		if (l->kind != RECORD_REQUEST_BEGIN)
			continue;
		snprintf(name, sizeof name, "%.*s", (int)l->name_len, l->name);
		if (hone_policy_type(name) == type)
			return l;
	}
	return NULL;
}

/* A line for each of n types of requests, with at least that share: waits, share, part of the edge, and the request
 * type, which is empty for a thread that served none; then the name of the thread, if that is known. Requests of an unknown type are left out.
 * None, if all together have too few waits. */
static void
put_types(struct buf *out, const struct labels *labels, const struct below_waker *types, uint32_t n,
    uint32_t waits, double least)
{
	for (uint32_t i = 0; i < n && waits >= WAKERS_FEW; i++) {
		const struct below_waker *w = &types[i];
		const struct label *l = label_of_type(labels, w->type);

		if (w->share > 0 && w->share >= least && (l != NULL || w->type == 0))
			buf_printf(out, "%s%u\t%.6g\t%.6g\t%.*s%s%s", out->len > 0 ? "\n" : "",
			    w->waits, w->share, w->of_edge, l != NULL ? (int)l->name_len : 0,
			    l != NULL ? l->name : "", w->thread[0] != '\0' ? "\t" : "", w->thread);
	}
}

/* Who ended the waits at the first place, and for whom the lock was held when they began. */
static void
put_wakers(struct buf *wakers, struct buf *held, const struct labels *labels,
    const struct below_finding *f, double least)
{
	put_types(wakers, labels, f->wakers, f->nwakers, f->waits, least);
	if (f->places[0].state == BELOW_LOCK)
		put_types(held, labels, f->held, f->nheld, f->held_waits, least);
}

/* A lock is released, and a thread that waits for another one is woken, by someone who can be named. */
static bool
has_wakers(const struct below_finding *f)
{
	return f->nplaces > 0 &&
	       (f->places[0].state == BELOW_LOCK || f->places[0].state == BELOW_THREAD);
}

/* What slow requests have more of than the others; d->count is 0 if that cannot be said. */
static int
put_differential(struct verdict *v, struct differential *d, struct search_port *port,
    const struct search *s, struct err *e)
{
	struct difference_node *tree;
	struct buf text = { 0 };
	uint32_t count;
	int rc = below_parts_compare(d, &tree, &count, below_list_parts(s->below.list),
	    (int64_t)s->at.tail_ns, v->confidence, ROUNDS_DIFFERENTIAL, s->diagnosis->seed,
	    port->scratch, e);

	if (rc != 0 || d->count == 0)
		return rc;
	differential_write(&text, d, tree, count, DIFFERENCE_P_MAX);
	v->below_differential = (char *)text.data;
	return text.failed ? search_no_memory(s, e) : 0;
}

int
search_below_verdict(
    struct verdict *v, struct search_port *port, const struct search *s, struct err *e)
{
	const struct below_search *b = &s->below;
	struct buf states = { 0 }, places = { 0 }, holders = { 0 }, wakers = { 0 }, held = { 0 };
	double isolate_min = port->settings.isolate_min;
	struct differential d = { 0 };
	struct below_finding f;
	bool told;
	int rc;

	if (!hypothesis_text(&v->below_missing, b->missing))
		return search_no_memory(s, e);
	if (b->list == NULL || below_list_requests(b->list) < BELOW_FEW)
		return 0;
	if ((rc = find(&f, port, s, e)) != 0)
		return rc;
	if (!agrees(s, &f))
		return hypothesis_text(&v->below_missing, "elsewhere") ? 0 : search_no_memory(s, e);
	if (!f.unseen && (rc = put_differential(v, &d, port, s, e)) != 0)
		return rc;
	v->below_requests = f.requests;
	put_states(&states, &f);
	told = stands_out(port, &f) || differs(port, &f, &d);
	/* A place or a holder takes over with so much of what it is a part of. */
	put_found(&places, f.places, told ? f.nplaces : 0, isolate_min * f.share);
	put_found(&holders, f.holders, told && f.nplaces > 0 ? f.nholders : 0,
	    isolate_min * f.places[0].share);
	if (told && has_wakers(&f))
		put_wakers(&wakers, &held, port->labels, &f, isolate_min * f.places[0].share);
	buf_u8(&wakers, 0);
	buf_u8(&held, 0);
	if (!hypothesis_text(&v->below_top, told ? below_state_word(f.top) : ""))
		rc = search_no_memory(s, e);
	v->below_states = (char *)states.data;
	v->below_places = (char *)places.data;
	v->below_holders = (char *)holders.data;
	v->below_wakers = (char *)wakers.data;
	v->below_held = (char *)held.data;
	if (states.failed || places.failed || holders.failed || wakers.failed || held.failed)
		rc = search_no_memory(s, e);
	return rc;
}
