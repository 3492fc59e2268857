/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE /* memmem() */
#include "analysis/below_time.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct wait {
	int64_t begin_ns, woken_ns, end_ns;
	int64_t least_ns;       /* the earliest begin of this and the later ones of its unit */
	struct below_part part; /* without ns */
};

struct cpu_sample {
	int64_t time_ns, weight_ns;
	const struct label *label;
};

struct unit_records {
	struct wait *waits; /* by their ends */
	struct cpu_sample *samples;
	uint32_t nwaits, nsamples;
	int64_t unreadable_to_ns; /* a wait that cannot be read ends then */
};

struct below_records {
	uint32_t nunits;
	struct unit_records *units;
};

struct division { /* of the time into parts */
	struct below_time *time;
	struct below_part *parts;
	uint32_t cap;
	const struct cpu_sample *samples; /* those in the time */
	uint32_t nsamples, next;          /* next: the first that is not before what was divided */
	bool steps;                       /* running time is put where it is, and not divided */
	int64_t running_ns,
	    unseen_ns; /* unseen: UNKNOWN unless it is in a wait or sampled, from so long on */
};

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
	const struct value *state = field(e, l, "owner_state"), *place = field(e, l, "owner_place"),
			   *name = field(e, l, "owner_name"),
			   *waker_name = field(e, l, "waker_name");
	int64_t off_ns, ready_ns, before_ns = 0, waker = 0, type = 0;

	if (!number(&off_ns, e, l, "off_ns") || !number(&ready_ns, e, l, "ready_ns") ||
	    ready_ns > off_ns ||
	    (field(e, l, "before_ns") != NULL && !number(&before_ns, e, l, "before_ns")))
		return false;
	*w = (struct wait){ .begin_ns = e->time_ns - before_ns - off_ns,
		.woken_ns = e->time_ns - before_ns - ready_ns,
		.end_ns = e->time_ns - before_ns,
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
	if (waker_name != NULL && waker_name->type == VALUE_TEXT) {
		w->part.waker_name = waker_name->text;
		w->part.waker_name_len = waker_name->len;
	}
	if (number(&type, e, l, "owner_type") && type <= UINT32_MAX) {
		w->part.owner_is_read = true;
		w->part.owner_type = (uint32_t)type;
	}
	if (state != NULL && state->type == VALUE_TEXT)
		w->part.owner_state = below_state_of(state->text, state->len);
	if (place != NULL && place->type == VALUE_TEXT) {
		w->part.owner_place = place->text;
		w->part.owner_len = place->len;
	}
	if (name != NULL && name->type == VALUE_TEXT) {
		w->part.owner_name = name->text;
		w->part.owner_name_len = name->len;
	}
	return true;
}

/* Counts the records of each unit, and gives them room. False: out of memory. */
static bool
make_room(
    struct below_records *r, const struct trace *t, const struct labels *labels, struct arena *a)
{
	struct wait *waits;
	struct cpu_sample *samples;

	r->nunits = t->nunits;
	r->units = arena_calloc(a, t->nunits + 1, sizeof *r->units);
	waits = arena_alloc(a, (t->nbelow + 1) * sizeof *waits);
	samples = arena_alloc(a, (t->nbelow + 1) * sizeof *samples);
	if (r->units == NULL || waits == NULL || samples == NULL)
		return false;
	for (uint32_t i = 0; i < t->nbelow; i++) {
		struct unit_records *u = &r->units[t->below[i].unit];

		if (labels_get(labels, t->below[i].label)->kind == RECORD_WAIT)
			u->nwaits++;
		else
			u->nsamples++;
	}
	for (uint32_t i = 0; i < t->nunits; i++) {
		struct unit_records *u = &r->units[i];

		u->waits = waits;
		u->samples = samples;
		waits += u->nwaits;
		samples += u->nsamples;
		u->nwaits = u->nsamples = 0;
		u->unreadable_to_ns = INT64_MIN;
	}
	return true;
}

static int
earlier_end_first(const void *x, const void *y)
{
	const struct wait *a = x, *b = y;

	return (a->end_ns > b->end_ns) - (a->end_ns < b->end_ns);
}

int
below_records_of(struct below_records **ret, const struct trace *t, const struct labels *labels,
    struct arena *a, struct err *e)
{
	struct below_records *r = arena_alloc(a, sizeof *r);

	if (r == NULL || !make_room(r, t, labels, a))
		return err_set(e, ERR_MEMORY, "out of memory for %u waits and samples", t->nbelow);
	for (uint32_t i = 0; i < t->nbelow; i++) {
		const struct event *x = &t->below[i];
		const struct label *l = labels_get(labels, x->label);
		struct unit_records *u = &r->units[x->unit];
		struct cpu_sample *s = &u->samples[u->nsamples];

		if (l->kind == RECORD_WAIT) {
			if (read_wait(&u->waits[u->nwaits], x, l))
				u->nwaits++;
			else
				u->unreadable_to_ns = later(u->unreadable_to_ns, x->time_ns);
		} else if (number(&s->weight_ns, x, l, "weight_ns")) {
			int64_t before_ns = 0;

			number(&before_ns, x, l, "before_ns");
			s->time_ns = x->time_ns - before_ns;
			s->label = l;
			u->nsamples++;
		}
	}
	for (uint32_t i = 0; i < r->nunits; i++) {
		struct unit_records *u = &r->units[i];
		bool in_order = true;

		for (uint32_t w = 1; w < u->nwaits; w++)
			in_order &= u->waits[w - 1].end_ns <= u->waits[w].end_ns;
		if (!in_order)
			qsort(u->waits, u->nwaits, sizeof *u->waits, earlier_end_first);
		for (uint32_t w = u->nwaits; w-- > 0;)
			u->waits[w].least_ns = w + 1 < u->nwaits ? sooner(u->waits[w].begin_ns,
								       u->waits[w + 1].least_ns)
			                                         : u->waits[w].begin_ns;
	}
	*ret = r;
	return 0;
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

/* The wait between from_ns and to_ns, which lie inside it. */
static void
put_wait(struct division *d, const struct wait *w, int64_t from_ns, int64_t to_ns)
{
	int64_t woken_ns = later(from_ns, sooner(w->woken_ns, to_ns));

	put(d, &w->part, w->part.state, woken_ns - from_ns);
	put(d, &w->part, BELOW_READY, to_ns - woken_ns);
}

/* Time in no wait. */
static void
put_gap(struct division *d, int64_t from_ns, int64_t to_ns)
{
	bool seen = false;

	while (d->next < d->nsamples && d->samples[d->next].time_ns <= to_ns)
		seen |= d->samples[d->next++].time_ns >= from_ns;
	if (!seen && to_ns - from_ns >= d->unseen_ns) {
		put(d, NULL, BELOW_UNKNOWN, to_ns - from_ns);
		return;
	}
	if (d->steps)
		put(d, NULL, BELOW_RUNNING, to_ns - from_ns);
	else
		d->running_ns += to_ns - from_ns;
	d->time->unseen_ns += seen ? 0 : to_ns - from_ns;
}

/*
 * The waits in the order of their begins, `open` being the one that reaches furthest and what it covers from `at_ns` on not
 * being put yet. A wait that begins before the open one ends overlaps it, until the first of both ends.
 */
static void
put_waits(struct division *d, const struct wait *w, uint32_t n, int64_t from_ns, int64_t to_ns)
{
	const struct wait *open = NULL;
	int64_t at_ns = from_ns, open_to_ns = from_ns;

	for (uint32_t i = 0; i < n; i++) {
		int64_t begin_ns = later(w[i].begin_ns, at_ns), end_ns = sooner(w[i].end_ns, to_ns);
		int64_t both_ns = sooner(end_ns, open_to_ns);

		if (end_ns <= begin_ns)
			continue;
		if (open != NULL && begin_ns < open_to_ns) {
			put_wait(d, open, at_ns, begin_ns);
			put(d, NULL, BELOW_UNKNOWN, both_ns - begin_ns);
			at_ns = both_ns;
			if (end_ns > open_to_ns) {
				open = &w[i];
				open_to_ns = end_ns;
			}
			continue;
		}
		if (open != NULL)
			put_wait(d, open, at_ns, open_to_ns);
		put_gap(d, open_to_ns, begin_ns);
		open = &w[i];
		at_ns = begin_ns;
		open_to_ns = end_ns;
	}
	if (open != NULL)
		put_wait(d, open, at_ns, open_to_ns);
	put_gap(d, open_to_ns, to_ns);
}

/* Divides the running time by the samples' weights; the last one has the rest. */
static void
put_running(struct division *d)
{
	double weights = 0, before = 0;
	int64_t given_ns = 0;

	for (uint32_t i = 0; i < d->nsamples; i++) {
		weights += (double)d->samples[i].weight_ns;
		d->time->weight_ns += d->samples[i].weight_ns;
	}
	for (uint32_t i = 0; i < d->nsamples; i++) {
		const struct cpu_sample *s = &d->samples[i];
		struct below_part p = { .stack = s->label->name,
			.stack_len = s->label->name_len,
			.owner_state = BELOW_UNKNOWN,
			.owner_place = "" };
		int64_t upto_ns;

		before += (double)s->weight_ns;
		upto_ns = weights > 0 && before < weights
		              ? (int64_t)((double)d->running_ns * (before / weights))
		              : d->running_ns;
		upto_ns = sooner(later(upto_ns, given_ns), d->running_ns);
		put(d, &p, BELOW_RUNNING, upto_ns - given_ns);
		given_ns = upto_ns;
	}
	put(d, NULL, BELOW_RUNNING, d->running_ns - given_ns);
}

/* Of n waits by their ends, the first that ends after from_ns. */
static uint32_t
first_after(const struct wait *w, uint32_t n, int64_t from_ns)
{
	uint32_t low = 0, high = n;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (w[middle].end_ns > from_ns)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/* Of n samples by time, the first that is not before at_ns. */
static uint32_t
first_at(const struct cpu_sample *s, uint32_t n, int64_t at_ns)
{
	uint32_t low = 0, high = n;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (s[middle].time_ns >= at_ns)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

static int
divide(struct below_time *ret, const struct below_records *r, uint32_t unit, enum below_side side,
    bool steps, int64_t from_ns, int64_t to_ns, struct arena *a, struct err *e)
{
	struct division d = {
		.time = ret, .steps = steps, .unseen_ns = side == BELOW_INSIDE ? BELOW_UNSEEN_NS : 0
	};
	const struct unit_records *u = &r->units[unit];
	uint32_t first, end, n = 0;
	struct wait *waits;

	assert(unit < r->nunits && from_ns <= to_ns);
	*ret = (struct below_time){ 0 };
	first = end = first_after(u->waits, u->nwaits, from_ns);
	while (end < u->nwaits && u->waits[end].least_ns < to_ns)
		end++;
	d.samples = &u->samples[first_at(u->samples, u->nsamples, from_ns)];
	while (&d.samples[d.nsamples] < &u->samples[u->nsamples] &&
	       d.samples[d.nsamples].time_ns <= to_ns)
		d.nsamples++;
	d.cap = 6 * (end - first) + d.nsamples + 4;
	waits = arena_alloc(a, (end - first + 1) * sizeof *waits);
	d.parts = arena_alloc(a, d.cap * sizeof *d.parts);
	if (waits == NULL || d.parts == NULL)
		return err_set(e, ERR_MEMORY, "out of memory for %u waits", end - first);
	ret->parts = d.parts;
	for (uint32_t i = first; i < end; i++)
		if (u->waits[i].begin_ns < to_ns)
			waits[n++] = u->waits[i];
	ret->waits = n;
	ret->samples = d.nsamples;
	if (u->unreadable_to_ns > from_ns) {
		put(&d, NULL, BELOW_UNKNOWN, to_ns - from_ns);
		return 0;
	}
	qsort(waits, n, sizeof *waits, earlier_first);
	put_waits(&d, waits, n, from_ns, to_ns);
	if (!steps)
		put_running(&d);
	return 0;
}

int
below_time_of(struct below_time *ret, const struct below_records *r, uint32_t unit,
    enum below_side side, int64_t from_ns, int64_t to_ns, struct arena *a, struct err *e)
{
	return divide(ret, r, unit, side, false, from_ns, to_ns, a, e);
}

int
below_steps_of(struct below_time *ret, const struct below_records *r, uint32_t unit,
    int64_t from_ns, int64_t to_ns, struct arena *a, struct err *e)
{
	return divide(ret, r, unit, BELOW_INSIDE, true, from_ns, to_ns, a, e);
}
