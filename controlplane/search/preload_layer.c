/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What lies in an edge below the program's own tracepoints. Where a helper's
 * tracepoints lie was not learned, and one that is known at one place may be passed at
 * any other; so a provider is explored (explore.c), and what its traces have inside the
 * edge is turned on like any other candidate: a pair at a time, or a point that has no
 * other end.
 *
 * Outside the edge they are not looked at: how often a request locks elsewhere would
 * tear its group into hundreds.
 */
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "controlplane/search/search.h"
#include "searchspace/span.h"

static const double MOST = 0.5;

/*
 * LTTng's helpers, and which of their tracepoints say what the time of a part of the edge is: the
 * inside of a pair; what leads up to a point that is written when the call is over (loading a
 * library); what goes on from a point to itself, again and again, if it takes the longer the more
 * often it does (memory).
 */
static const struct told {
	const char *provider, *events;
	enum preload_kind kind;
	enum { PART_PAIR, PART_UP_TO, PART_ROUNDS } by;
} TOLD[] = {
	{ "lttng_ust_pthread", "lttng_ust_pthread:pthread_mutex_lock_*", PRELOAD_MUTEX, PART_PAIR },
	{ "lttng_ust_dl", "lttng_ust_dl:dl*open", PRELOAD_LIBRARY, PART_UP_TO },
	{ "lttng_ust_libc", "lttng_ust_libc:*alloc", PRELOAD_ALLOCATION, PART_ROUNDS },
	{ "lttng_ust_cyg_profile*", "lttng_ust_cyg_profile*:func_*", PRELOAD_LEAF, PART_PAIR },
};

/* NULL: of a provider that we do not know. */
static const struct told *
told_by(const char *name, size_t len)
{
	for (size_t i = 0; i < sizeof TOLD / sizeof TOLD[0]; i++)
		if (preload_provider_is(TOLD[i].provider, name, len))
			return &TOLD[i];
	return NULL;
}

bool
deep_of(const struct search_port *g, const struct search *s, const char *name)
{
	const struct told *t = told_by(name, strlen(name));

	return preload_provider_is(g->preload->patterns[s->deep.provider], name, strlen(name)) &&
	       (t == NULL || fnmatch(t->events, name, 0) == 0);
}

/* ---- inside the edge ---- */

static bool
is_end(const struct step *x, uint32_t label, uint32_t unit)
{
	return x->label == label && x->unit_label == unit;
}

/* Marks the steps that lie between the edge's two ends. */
static bool *
mark_inside(const struct critpath *p, const struct gap *edge, struct arena *a)
{
	bool *inside = arena_calloc(a, p->nsteps, sizeof *inside);
	uint32_t begun = UINT32_MAX;

	for (uint32_t i = 0; inside != NULL && i < p->nsteps; i++) {
		if (begun != UINT32_MAX && is_end(&p->steps[i], edge->to, edge->to_unit)) {
			memset(inside + begun + 1, true, i - begun - 1);
			begun = UINT32_MAX;
		}
		if (is_end(&p->steps[i], edge->from, edge->from_unit))
			begun = i;
	}
	return inside;
}

/* Which step of the path is which lock: its time goes to that lock's. Of more locks than there is
 * room for, the least is forgotten, and its time is the newcomer's (Metwally et al., "space
 * saving", ICDT 2005): what has much is never lost. */
static void
which_add(struct which *w, const struct value *v, double ns)
{
	char text[WHICH_MAX];
	uint32_t at = 0;

	if (v->type == VALUE_TEXT)
		snprintf(text, sizeof text, "%.*s", (int)v->len, v->text);
	else
		snprintf(text, sizeof text, "0x%llx", (unsigned long long)v->u);
	w->ns += ns;
	for (uint32_t i = 0; i < w->n; i++) {
		if (strcmp(w->each[i].text, text) == 0) {
			w->each[i].ns += ns;
			return;
		}
		at = w->each[i].ns < w->each[at].ns ? i : at;
	}
	if (w->n < WHICHES_MAX)
		at = w->n++;
	memcpy(w->each[at].text, text, sizeof text);
	w->each[at].ns += ns;
}

static void
count_which(struct search *s, const struct trace *t, const struct critpath *p, const bool *inside)
{
	for (uint32_t i = 0; i + 1 < p->nsteps; i++) {
		const struct event *v = &t->events[p->steps[i].event];

		if (inside[i] && inside[i + 1] && p->steps[i].label == s->gap.from &&
		    p->steps[i + 1].label == s->gap.to && v->nvalues > 0 &&
		    v->values[0].type != VALUE_NONE && v->values[0].type != VALUE_REAL)
			which_add(&s->deep.which, &v->values[0],
			    (double)(p->steps[i + 1].time_ns - p->steps[i].time_ns));
	}
}

int
deep_path(struct search_port *g, struct search *s, const struct trace *t, struct critpath *p,
    struct err *e)
{
	const struct label_set *deep = preload_set(g->preload);
	uint32_t n = 0;
	bool *inside;

	if (!s->deep.begun)
		return 0;
	if ((inside = mark_inside(p, &s->deep.above, g->scratch)) == NULL)
		return err_set(e, ERR_MEMORY, "out of memory for a search");
	if (s->deep.found)
		count_which(s, t, p, inside);
	for (uint32_t i = 0; i < p->nsteps; i++)
		if (inside[i] || !label_set_has(deep, p->steps[i].label))
			p->steps[n++] = p->steps[i];
	p->nsteps = n;
	return 0;
}

int
deep_note(struct search_port *g, struct search *s, const struct trace *t, struct err *e)
{
	const struct label_set *deep = preload_set(g->preload);
	struct label_set all = { 0 };
	struct critpath p;
	bool *inside = NULL;
	int rc = ERR_MEMORY;

	if (!s->deep.begun || s->explorer == NULL)
		return 0;
	if (!label_set_copy(&all, &s->keep))
		goto end;
	for (uint32_t w = 0; w < deep->nwords; w++)
		for (uint64_t left = deep->words[w]; left != 0; left &= left - 1)
			if (!label_set_add(&all, w * 64 + (uint32_t)__builtin_ctzll(left)))
				goto end;
	if ((rc = critpath_extract(&p, t, g->labels, &all, g->scratch, e)) != 0) {
		label_set_release(&all);
		return rc == ERR_INPUT ? 0 : rc;
	}
	rc = (inside = mark_inside(&p, &s->deep.above, g->scratch)) != NULL ? 0 : ERR_MEMORY;
	for (uint32_t i = 0; i < p.nsteps && rc == 0; i++)
		if (inside[i] && label_set_has(deep, p.steps[i].label) &&
		    !label_set_add(&s->deep.inside, p.steps[i].label))
			rc = ERR_MEMORY;
end:
	label_set_release(&all);
	return rc == 0 ? 0 : err_set(e, ERR_MEMORY, "out of memory for a search");
}

/* ---- the next step ---- */

/* Was seen inside, and not turned on yet. */
static bool
is_left(const struct search *s, uint32_t label)
{
	return label_set_has(&s->deep.inside, label) && !label_set_has(&s->tried, label);
}

static uint32_t
end_of(const struct search_port *g, const struct search *s, uint32_t begin)
{
	for (uint32_t i = 0; i < s->deep.inside.nwords * 64; i++)
		if (is_left(s, i) &&
		    spans_pair(labels_get(g->labels, begin), labels_get(g->labels, i)))
			return i;
	return LABEL_NONE;
}

/* A pair, or where there is none (any more) a point, into picks[2]. How many. */
static uint32_t
next_of(const struct search_port *g, const struct search *s, uint32_t picks[2])
{
	uint32_t point = LABEL_NONE;

	for (uint32_t i = 0; i < s->deep.inside.nwords * 64; i++) {
		if (!is_left(s, i))
			continue;
		picks[0] = i;
		if ((picks[1] = end_of(g, s, i)) != LABEL_NONE)
			return 2;
		point = point == LABEL_NONE ? i : point;
	}
	picks[0] = point;
	return point != LABEL_NONE;
}

/* What cannot be paid for is left out, both ends. */
static bool
affords_all(
    struct search_port *g, struct diagnosis *d, struct search *s, const uint32_t *picks, uint32_t n)
{
	bool all = true;

	for (uint32_t i = 0; i < n; i++)
		all &= !label_set_has(&d->dear, picks[i]) &&
		       g->calls->affordable(g->owner, d->type, picks[i]);
	s->deep.dear += all ? 0 : n;
	return all;
}

static int
turn_on_next(
    struct search_port *g, struct diagnosis *d, struct search *s, struct wall when, struct err *e)
{
	uint32_t picks[2], n;
	int rc = 0;

	while ((n = next_of(g, s, picks)) > 0) {
		bool can = affords_all(g, d, s, picks, n);

		d->run->cycles += can;
		for (uint32_t i = 0; i < n && rc == 0; i++)
			if (can)
				rc = turn_on(g, d, s, picks[i], when, e);
			else if (!label_set_add(&s->tried, picks[i]))
				rc = err_set(e, ERR_MEMORY, "%s: out of memory", d->run->type);
		if (can || rc != 0) {
			s->deep.probing = can;
			forest_touch_run(g->forest, d->run);
			return rc != 0 ? rc : (int)n;
		}
	}
	return 0;
}

int
deepen(
    struct search_port *g, struct diagnosis *d, struct search *s, struct wall when, struct err *e)
{
	int n;

	s->deep.probing = false;
	if (g->preload->patterns == NULL || s->deep.found || s->gap.from_unit != s->gap.to_unit ||
	    d->run->cycles >= d->run->effort)
		return 0;
	if (!s->deep.begun) {
		s->deep.begun = true;
		s->deep.above = s->gap;
		s->explored = 0;
	}
	while ((n = turn_on_next(g, d, s, when, e)) == 0 &&
	       g->preload->patterns[s->deep.provider] != NULL) {
		if ((n = explore(g, d, s, when, e)) != 0)
			return n;
		s->deep.provider++;
		s->explored = 0;
	}
	return n;
}

/* ---- what it tells ---- */

/* NULL: nothing is known of such a part. */
static const struct told *
told_of(struct search_port *g, const struct gap *part)
{
	const struct label *from = labels_get(g->labels, part->from),
			   *to = labels_get(g->labels, part->to);
	const struct told *t = preload_label(g->preload, part->to)
	                           ? told_by(to->event, to->event_len)
	                           : NULL;

	if (t == NULL || (t->by == PART_PAIR && !spans_pair(from, to)) ||
	    (t->by == PART_ROUNDS && part->from != part->to))
		return NULL;
	return t;
}

/* Of what no helper of LTTng's says, but the operator has named, any part counts. */
static bool
tells(struct search_port *g, const struct gap *part)
{
	const struct label *deep = labels_get(
	    g->labels, preload_label(g->preload, part->to) ? part->to : part->from);

	return told_of(g, part) != NULL || told_by(deep->event, deep->event_len) == NULL;
}

/* Whether the time of that edge of a group grows with how often it goes round. */
static int
grows_with_rounds(struct search_port *g, const struct group *group, uint32_t edge, struct err *e)
{
	struct key_finding *keys;
	int n = keys_explain(&keys, group, edge, 0.01, g->settings.explain_min, g->scratch, e);

	for (int i = 0; i < n; i++) {
		const struct key *k = &group->keys[keys[i].key];

		if (k->kind == KEY_ITERATIONS && group->shape.loops[k->field].edge == edge &&
		    keys[i].rho > 0)
			return 1;
	}
	return n < 0 ? n : 0;
}

static bool
separates(struct search_port *g, uint32_t label)
{
	return label != LABEL_NONE && preload_label(g->preload, label);
}

int
deep_keeps(struct search_port *g, const struct search *s, const struct decision *x, struct err *e)
{
	const struct part *top = &x->m.parts[x->m.top];
	const struct told *t;

	if (!s->deep.probing || x->what != DECIDE_NARROW || separates(g, s->sep.label) ||
	    separates(g, x->sep.label))
		return 1; /* nothing of this layer is on; or it tells slow from fast, and stays */
	if (x->m.nparts == 1 || top->of_gap < MOST || !tells(g, &top->gap))
		return 0;
	t = told_of(g, &top->gap);
	if (t == NULL || t->by != PART_ROUNDS)
		return 1;
	return top->one ? grows_with_rounds(g, x->m.model->group, top->edge, e) : 0;
}

/* "pthread_mutex_lock_req" and its other end are both pthread_mutex_lock. */
static int
base_len(const struct label *begin, const struct label *end)
{
	int same = 0;

	while (same < (int)begin->event_len && same < (int)end->event_len &&
	       begin->event[same] == end->event[same])
		same++;
	while (same > 0 && begin->event[same] != '_')
		same--;
	return same;
}

static int
out_of_memory(struct err *e)
{
	return err_set(e, ERR_MEMORY, "out of memory for a verdict");
}

/* The object with most of the time: a lock's address. */
static int
verdict_object(struct verdict *v, const struct which *w, struct err *e)
{
	uint32_t most = 0;

	for (uint32_t i = 0; i < w->n; i++)
		most = w->each[i].ns > w->each[most].ns ? i : most;
	if (w->n == 0 || w->ns <= 0)
		return 0;
	v->object_share = w->each[most].ns / w->ns;
	return hypothesis_text(&v->object, w->each[most].text) ? 0 : out_of_memory(e);
}

int
deep_verdict(struct verdict *v, struct search_port *g, const struct search *s, struct err *e)
{
	const struct label *from = labels_get(g->labels, s->gap.from),
			   *to = labels_get(g->labels, s->gap.to);
	const struct told *t = told_of(g, &s->gap);
	bool pair = spans_pair(from, to);
	char call[LABEL_TEXT_MAX + 1];

	if (!s->deep.found || (t == NULL && !pair))
		return 0;
	snprintf(
	    call, sizeof call, "%.*s", pair ? base_len(from, to) : (int)to->event_len, to->event);
	v->preload = t != NULL ? t->kind : PRELOAD_OTHER;
	if (!hypothesis_text(&v->above_from, labels_get(g->labels, s->deep.above.from)->text) ||
	    !hypothesis_text(&v->above_to, labels_get(g->labels, s->deep.above.to)->text) ||
	    !hypothesis_text(&v->call, call))
		return out_of_memory(e);
	return pair ? verdict_object(v, &s->deep.which, e) : 0;
}
