/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/search/preload_layer.h"

#include <assert.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "searchspace/span.h"

/* Share of the gap that a part of the layer must have to be kept. */
static const double MOST = 0.5;

/*
 * LTTng's helpers, and which of their tracepoints say what the time of a part is spent on: the
 * inside of a pair; what leads up to a point that is recorded when the call is over (loading a
 * library); what leads from a point to itself, iteration after iteration, if its time grows with the
 * number of iterations (memory).
 */
static const struct helper {
	const char *provider, *events;
	enum preload_kind kind;
	enum { PART_PAIR, PART_UP_TO, PART_ITERATIONS } by;
} HELPERS[] = {
	{ "lttng_ust_pthread", "lttng_ust_pthread:pthread_mutex_lock_*", PRELOAD_MUTEX, PART_PAIR },
	{ "lttng_ust_dl", "lttng_ust_dl:dl*open", PRELOAD_LIBRARY, PART_UP_TO },
	{ "lttng_ust_libc", "lttng_ust_libc:*alloc", PRELOAD_ALLOCATION, PART_ITERATIONS },
	{ "lttng_ust_cyg_profile*", "lttng_ust_cyg_profile*:func_*", PRELOAD_LEAF, PART_PAIR },
};

/* NULL: of another provider. */
static const struct helper *
helper_of_event(const char *name, size_t len)
{
	for (size_t i = 0; i < sizeof HELPERS / sizeof HELPERS[0]; i++)
		if (preload_provider_is(HELPERS[i].provider, name, len))
			return &HELPERS[i];
	return NULL;
}

bool
preload_explores(const struct search_port *port, const struct search *s, const char *name)
{
	const struct helper *h = helper_of_event(name, strlen(name));

	assert(s->layer.state != LAYER_CLOSED);
	return preload_provider_is(
		   port->preload->patterns[s->layer.provider], name, strlen(name)) &&
	       (h == NULL || fnmatch(h->events, name, 0) == 0);
}

/* ---- inside the gap ---- */

static bool
is_end(const struct step *x, uint32_t label, uint32_t unit)
{
	return x->label == label && x->unit_label == unit;
}

/* Marks the steps strictly between the gap's ends, in the arena; NULL: out of memory. */
static bool *
mark_inside(const struct critpath *p, const struct gap *gap, struct arena *a)
{
	bool *inside = arena_calloc(a, p->nsteps, sizeof *inside);
	uint32_t begun = UINT32_MAX;

	for (uint32_t i = 0; inside != NULL && i < p->nsteps; i++) {
		if (begun != UINT32_MAX && is_end(&p->steps[i], gap->to, gap->to_unit)) {
			memset(inside + begun + 1, true, i - begun - 1);
			begun = UINT32_MAX;
		}
		if (is_end(&p->steps[i], gap->from, gap->from_unit))
			begun = i;
	}
	return inside;
}

/* When there are more objects than entries, a new one takes over the entry with the least time, and
 * that time with it (Metwally, Agrawal, El Abbadi, "Space-Saving", ICDT 2005): an object with more
 * than 1/OBJECTS_MAX of the time is never lost. */
static void
add_object_time(struct object_times *w, const struct value *v, double ns)
{
	char text[OBJECT_TEXT_MAX];
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
	if (w->n < OBJECTS_MAX)
		at = w->n++;
	memcpy(w->each[at].text, text, sizeof text);
	w->each[at].ns += ns;
}

static void
add_path_objects(
    struct search *s, const struct trace *t, const struct critpath *p, const bool *inside)
{
	for (uint32_t i = 0; i + 1 < p->nsteps; i++) {
		const struct event *v = &t->events[p->steps[i].event];

		if (inside[i] && inside[i + 1] && p->steps[i].label == s->at.gap.from &&
		    p->steps[i + 1].label == s->at.gap.to && v->nvalues > 0 &&
		    v->values[0].type != VALUE_NONE && v->values[0].type != VALUE_REAL)
			add_object_time(&s->layer.objects, &v->values[0],
			    (double)(p->steps[i + 1].time_ns - p->steps[i].time_ns));
	}
}

int
preload_cut_path(struct search_port *port, struct search *s, const struct trace *t,
    struct critpath *path, struct err *e)
{
	const struct label_set *layer = preload_set(port->preload);
	uint32_t n = 0;
	bool *inside;

	if (s->layer.state == LAYER_CLOSED)
		return 0;
	if ((inside = mark_inside(path, &s->layer.above, port->scratch)) == NULL)
		return search_no_memory(s, e);
	if (s->layer.state == LAYER_FOUND)
		add_path_objects(s, t, path, inside);
	for (uint32_t i = 0; i < path->nsteps; i++)
		if (inside[i] || !label_set_has(layer, path->steps[i].label))
			path->steps[n++] = path->steps[i];
	path->nsteps = n;
	return 0;
}

int
preload_note(struct search_port *port, struct search *s, const struct trace *t, struct err *e)
{
	const struct label_set *layer = preload_set(port->preload);
	struct label_set all = { 0 };
	struct critpath p;
	bool *inside = NULL;
	int rc = ERR_MEMORY;

	if (s->layer.state == LAYER_CLOSED || s->task != TASK_EXPLORE)
		return 0;
	if (!label_set_copy(&all, &s->enabled.labels))
		goto end;
	for (uint32_t w = 0; w < layer->nwords; w++)
		for (uint64_t left = layer->words[w]; left != 0; left &= left - 1)
			if (!label_set_add(&all, w * 64 + (uint32_t)__builtin_ctzll(left)))
				goto end;
	if ((rc = critpath_extract(&p, t, port->labels, &all, port->scratch, e)) != 0) {
		label_set_release(&all);
		return rc == ERR_INPUT ? 0 : rc;
	}
	inside = mark_inside(&p, &s->layer.above, port->scratch);
	rc = inside != NULL ? 0 : ERR_MEMORY;
	for (uint32_t i = 0; i < p.nsteps && rc == 0; i++)
		if (inside[i] && label_set_has(layer, p.steps[i].label) &&
		    !label_set_add(&s->layer.inside, p.steps[i].label))
			rc = ERR_MEMORY;
end:
	label_set_release(&all);
	return rc == 0 ? 0 : search_no_memory(s, e);
}

/* ---- what a part says ---- */

/* The helper whose tracepoints say what the part's time is spent on; NULL: none. */
static const struct helper *
helper_of(const struct search_port *port, const struct gap *part)
{
	const struct label *from = labels_get(port->labels, part->from),
			   *to = labels_get(port->labels, part->to);
	const struct helper *h = preload_label(port->preload, part->to)
	                             ? helper_of_event(to->event, to->event_len)
	                             : NULL;

	if (h == NULL || (h->by == PART_PAIR && !spans_pair(from, to)) ||
	    (h->by == PART_ITERATIONS && part->from != part->to))
		return NULL;
	return h;
}

/* A helper says what the part is; or the operator has named another provider: then any part counts.
 */
static bool
is_explained(const struct search_port *port, const struct gap *part)
{
	const struct label *of = labels_get(
	    port->labels, preload_label(port->preload, part->to) ? part->to : part->from);

	return helper_of(port, part) != NULL || helper_of_event(of->event, of->event_len) == NULL;
}

/*
 * Whether the time of that edge grows with its iterations, and so does explain_min of its variance. 1, 0,
 * or a negative code. Ranks alone do not say that: where each iteration takes the same short time, most
 * requests are in the order of their iterations (rho^2 above 0.5), and the few slow ones, which make the
 * variance, have any number of them (r^2 near 0).
 */
static int
grows_with_iterations(
    struct search_port *port, const struct group *group, uint32_t edge, struct err *e)
{
	struct key_finding *keys;
	int n = keys_explain(
	    &keys, group, edge, 0.01, port->settings.explain_min, port->scratch, e);

	for (int i = 0; i < n; i++) {
		const struct key *k = &group->keys[keys[i].key];

		if (k->kind == KEY_ITERATIONS && group->shape.loops[k->field].edge == edge &&
		    keys[i].rho > 0 && keys[i].r > 0)
			return keys[i].r * keys[i].r >= port->settings.explain_min;
	}
	return n < 0 ? n : 0;
}

static bool
is_of_layer(struct search_port *port, uint32_t label)
{
	return label != LABEL_NONE && preload_label(port->preload, label);
}

int
preload_keeps(
    struct search_port *port, const struct search *s, const struct decision *x, struct err *e)
{
	const struct part *top;
	const struct helper *h;

	/* a label of the layer that separates stays enabled, whatever the parts say */
	if (s->task != TASK_PROBE_LAYER || x->what != DECIDE_NARROW ||
	    is_of_layer(port, s->sides.separation.label) || is_of_layer(port, x->sep.label))
		return 1;
	top = &x->m.parts[x->m.top];
	if (x->m.nparts == 1 || top->of_gap < MOST || !is_explained(port, &top->gap))
		return 0;
	h = helper_of(port, &top->gap);
	if (h == NULL || h->by != PART_ITERATIONS)
		return 1;
	return top->one ? grows_with_iterations(port, x->m.model->group, top->edge, e) : 0;
}

/* ---- the verdict ---- */

/* Length of the name of the call that both ends of a pair are of: of pthread_mutex_lock_req and
 * pthread_mutex_lock_acq that of pthread_mutex_lock. */
static int
call_len(const struct label *begin, const struct label *end)
{
	int same = 0;

	while (same < (int)begin->event_len && same < (int)end->event_len &&
	       begin->event[same] == end->event[same])
		same++;
	while (same > 0 && begin->event[same] != '_')
		same--;
	return same;
}

/* The object with most of the time. */
static int
verdict_object(struct verdict *v, const struct search *s, struct err *e)
{
	const struct object_times *w = &s->layer.objects;
	uint32_t most = 0;

	for (uint32_t i = 0; i < w->n; i++)
		most = w->each[i].ns > w->each[most].ns ? i : most;
	if (w->n == 0 || w->ns <= 0)
		return 0;
	v->object_share = w->each[most].ns / w->ns;
	return hypothesis_text(&v->object, w->each[most].text) ? 0 : search_no_memory(s, e);
}

int
preload_verdict(struct verdict *v, struct search_port *port, const struct search *s, struct err *e)
{
	const struct label *from = labels_get(port->labels, s->at.gap.from),
			   *to = labels_get(port->labels, s->at.gap.to);
	const struct gap *above = &s->layer.above;
	const struct helper *h = helper_of(port, &s->at.gap);
	bool pair = spans_pair(from, to);
	char call[LABEL_TEXT_MAX + 1];

	if (s->layer.state != LAYER_FOUND || (h == NULL && !pair))
		return 0;
	snprintf(
	    call, sizeof call, "%.*s", pair ? call_len(from, to) : (int)to->event_len, to->event);
	v->preload = h != NULL ? h->kind : PRELOAD_OTHER;
	if (!hypothesis_text(&v->above_from, labels_get(port->labels, above->from)->text) ||
	    !hypothesis_text(&v->above_to, labels_get(port->labels, above->to)->text) ||
	    !hypothesis_text(&v->call, call))
		return search_no_memory(s, e);
	return pair ? verdict_object(v, s, e) : 0;
}
