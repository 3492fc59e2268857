/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE /* memmem() */
#include "analysis/below_time.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct wait {
	int64_t begin_ns, woken_ns, end_ns;
	struct below_part part; /* without ns */
};

struct division { /* of the time into parts */
	struct below_time *time;
	struct below_part *parts;
	uint32_t cap;
};

enum below_state
below_state_of(const char *word, size_t len)
{
	for (unsigned s = 0; s < BELOW_STATES; s++) {
		const char *w = below_state_word((enum below_state)s);

		if (strlen(w) == len && memcmp(w, word, len) == 0)
			return (enum below_state)s;
	}
	return BELOW_UNKNOWN;
}

uint32_t
below_place_len(const char *stack, uint32_t len)
{
	uint32_t innermost = 0;

	for (uint32_t end = len; end > 0;) {
		uint32_t begin = end;

		while (begin > 0 && stack[begin - 1] != ';')
			begin--;
		if (innermost == 0)
			innermost = len - begin;
		if (memmem(&stack[begin], end - begin, "() at ", 6) != NULL)
			return len - begin;
		end = begin > 0 ? begin - 1 : 0;
	}
	return innermost;
}

uint32_t
below_caller_of(const char **ret, const char *stack, uint32_t len, uint32_t place_len)
{
	uint32_t outside = len > place_len ? len - place_len - 1 : 0; /* without its semicolon */
	uint32_t n = below_place_len(stack, outside);
	const char *end;

	*ret = &stack[outside - n];
	if ((end = memchr(*ret, ';', n)) != NULL)
		n = (uint32_t)(end - *ret);
	return n == 3 && memcmp(*ret, "...", 3) == 0 ? 0 : n;
}

static const struct value *
field(const struct event *e, const struct label *l, const char *name)
{
	for (uint32_t i = 0; i < e->nvalues && i < l->nfields; i++)
		if (strcmp(l->fields[i], name) == 0)
			return &e->values[i];
	return NULL;
}

static bool
number(int64_t *ret, const struct event *e, const struct label *l, const char *name)
{
	const struct value *v = field(e, l, name);

	if (v == NULL || (v->type != VALUE_UINT && v->type != VALUE_INT) ||
	    v->u > (uint64_t)INT64_MAX / 4)
		return false;
	*ret = (int64_t)v->u;
	return true;
}

/* "below:lock" */
static enum below_state
state_of(const struct label *l)
{
	const char *colon = memchr(l->event, ':', l->event_len);

	return colon != NULL
	           ? below_state_of(colon + 1, l->event_len - (size_t)(colon + 1 - l->event))
	           : BELOW_UNKNOWN;
}

/* False: it cannot be read. */
static bool
read_wait(struct wait *w, const struct event *e, const struct label *l)
{
	const struct value *state = field(e, l, "owner_state"), *place = field(e, l, "owner_place");
	int64_t off_ns, ready_ns, waker = 0, type = 0;

	if (!number(&off_ns, e, l, "off_ns") || !number(&ready_ns, e, l, "ready_ns") ||
	    ready_ns > off_ns)
		return false;
	*w = (struct wait){ .begin_ns = e->time_ns - off_ns,
		.woken_ns = e->time_ns - ready_ns,
		.end_ns = e->time_ns,
		.part = { .state = state_of(l),
		    .stack = l->name,
		    .stack_len = l->name_len,
		    .owner_state = BELOW_UNKNOWN,
		    .owner_place = "" } };
	if (number(&waker, e, l, "waker") && number(&type, e, l, "waker_type") &&
	    type <= UINT32_MAX) {
		w->part.woken_by_thread = waker != 0;
		w->part.waker_type = (uint32_t)type;
	}
	if (state != NULL && state->type == VALUE_TEXT)
		w->part.owner_state = below_state_of(state->text, state->len);
	if (place != NULL && place->type == VALUE_TEXT) {
		w->part.owner_place = place->text;
		w->part.owner_len = place->len;
	}
	return true;
}

static int
earlier_first(const void *x, const void *y)
{
	const struct wait *a = x, *b = y;

	return a->begin_ns != b->begin_ns ? (a->begin_ns < b->begin_ns ? -1 : 1)
	       : a->end_ns != b->end_ns   ? (a->end_ns < b->end_ns ? -1 : 1)
	                                  : 0;
}

static void
put(struct division *d, const struct below_part *of, enum below_state state, int64_t ns)
{
	static const struct below_part NOTHING = {
		.stack = "", .owner_state = BELOW_UNKNOWN, .owner_place = ""
	};
	struct below_part *p = &d->parts[d->time->nparts];

	if (ns <= 0)
		return;
	assert(d->time->nparts < d->cap);
	*p = of != NULL ? *of : NOTHING;
	p->state = state;
	p->ns = ns;
	d->time->ns[state] += ns;
	d->time->nparts++;
}

static int64_t
later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static int64_t
sooner(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* The wait between from_ns and to_ns, which lie inside it. */
static void
put_wait(struct division *d, const struct wait *w, int64_t from_ns, int64_t to_ns)
{
	int64_t woken_ns = later(from_ns, sooner(w->woken_ns, to_ns));

	put(d, &w->part, w->part.state, woken_ns - from_ns);
	put(d, &w->part, BELOW_READY, to_ns - woken_ns);
}

/*
 * The waits in the order of their begins, `open` being the one that reaches furthest and what it covers from `at_ns` on not
 * being put yet. A wait that begins before the open one ends overlaps it, until the first of both ends. Returns the time in
 * waits.
 */
static int64_t
put_waits(struct division *d, const struct wait *w, uint32_t n, int64_t from_ns, int64_t to_ns)
{
	const struct wait *open = NULL;
	int64_t at_ns = from_ns, open_to_ns = from_ns, waited_ns = 0;

	for (uint32_t i = 0; i < n; i++) {
		int64_t begin_ns = later(w[i].begin_ns, at_ns), end_ns = sooner(w[i].end_ns, to_ns);
		int64_t both_ns = sooner(end_ns, open_to_ns);

		if (end_ns <= begin_ns)
			continue;
		if (open != NULL && begin_ns < open_to_ns) {
			put_wait(d, open, at_ns, begin_ns);
			put(d, NULL, BELOW_UNKNOWN, both_ns - begin_ns);
			waited_ns += both_ns - at_ns;
			at_ns = both_ns;
			if (end_ns > open_to_ns) {
				open = &w[i];
				open_to_ns = end_ns;
			}
			continue;
		}
		if (open != NULL) {
			put_wait(d, open, at_ns, open_to_ns);
			waited_ns += open_to_ns - at_ns;
		}
		open = &w[i];
		at_ns = begin_ns;
		open_to_ns = end_ns;
	}
	if (open != NULL) {
		put_wait(d, open, at_ns, open_to_ns);
		waited_ns += open_to_ns - at_ns;
	}
	return waited_ns;
}

/* Divides the running time by the samples' weights; the last one has the rest. */
static void
put_running(struct division *d, const struct trace *t, const struct labels *labels, uint32_t unit,
    int64_t from_ns, int64_t to_ns, int64_t running_ns)
{
	double weights = 0, before = 0;
	int64_t given_ns = 0;

	for (int round = 0; round < 2; round++)
		for (uint32_t i = 0; i < t->nbelow; i++) {
			const struct event *x = &t->below[i];
			const struct label *l = labels_get(labels, x->label);
			struct below_part p = { .stack = l->name,
				.stack_len = l->name_len,
				.owner_state = BELOW_UNKNOWN,
				.owner_place = "" };
			int64_t weight_ns, upto_ns;

			if (l->kind != RECORD_SAMPLE || x->unit != unit || x->time_ns < from_ns ||
			    x->time_ns > to_ns || !number(&weight_ns, x, l, "weight_ns"))
				continue;
			if (round == 0) {
				weights += (double)weight_ns;
				d->time->samples++;
				continue;
			}
			before += (double)weight_ns;
			upto_ns = weights > 0 && before < weights
			              ? (int64_t)((double)running_ns * (before / weights))
			              : running_ns;
			upto_ns = sooner(later(upto_ns, given_ns), running_ns);
			put(d, &p, BELOW_RUNNING, upto_ns - given_ns);
			given_ns = upto_ns;
		}
	put(d, NULL, BELOW_RUNNING, running_ns - given_ns);
}

int
below_time_of(struct below_time *ret, const struct trace *t, const struct labels *labels,
    uint32_t unit, int64_t from_ns, int64_t to_ns, struct arena *a, struct err *e)
{
	struct division d = { .time = ret, .cap = 4 * t->nbelow + 4 };
	struct wait *waits = arena_alloc(a, (t->nbelow + 1) * sizeof *waits);
	bool readable = true, in_order = true;

	assert(unit < t->nunits && from_ns <= to_ns);
	*ret = (struct below_time){ 0 };
	d.parts = arena_alloc(a, d.cap * sizeof *d.parts);
	if (waits == NULL || d.parts == NULL)
		return err_set(e, ERR_MEMORY, "out of memory for %u waits", t->nbelow);
	ret->parts = d.parts;
	for (uint32_t i = 0; i < t->nbelow; i++) {
		const struct event *x = &t->below[i];
		const struct label *l = labels_get(labels, x->label);
		struct wait *w = &waits[ret->waits];

		if (l->kind != RECORD_WAIT || x->unit != unit || x->time_ns <= from_ns)
			continue;
		if (!read_wait(w, x, l)) {
			readable = false;
		} else if (w->begin_ns < to_ns) {
			in_order &= ret->waits == 0 || earlier_first(&w[-1], w) <= 0;
			ret->waits++;
		}
	}
	if (!readable) {
		put(&d, NULL, BELOW_UNKNOWN, to_ns - from_ns);
		return 0;
	}
	if (!in_order)
		qsort(waits, ret->waits, sizeof *waits, earlier_first);
	put_running(&d, t, labels, unit, from_ns, to_ns,
	    to_ns - from_ns - put_waits(&d, waits, ret->waits, from_ns, to_ns));
	return 0;
}
