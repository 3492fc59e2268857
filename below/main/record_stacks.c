/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "below/main/record_stacks.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/texts.h"

#define OTHER "other"

struct waiting_stack {
	int64_t time_ns;
	uint32_t tid, pid;
	uint32_t text; /* in folded */
};

struct record_stacks {
	struct texts *folded; /* 0 is "": no name */
	uint32_t *places;     /* by the observer's id: number in folded */
	uint32_t nplaces, places_cap;
	uint32_t other; /* in folded; 0: not needed yet */

	struct waiting_stack *waiting; /* by time, from `first` on */
	uint32_t first, nwaiting, waiting_cap;
	uint32_t *running; /* tid, by CPU */
	uint32_t nrunning, running_cap;

	int64_t mark_ns, handed_ns;
	struct record_stacks_counts counts;
};

struct record_stacks *
record_stacks_new(void)
{
	struct record_stacks *x = calloc(1, sizeof *x);

	if (x == NULL || (x->folded = texts_new()) == NULL ||
	    texts_intern(x->folded, "", 0) == UINT32_MAX) {
		record_stacks_free(x);
		return NULL;
	}
	return x;
}

void
record_stacks_free(struct record_stacks *x)
{
	if (x == NULL)
		return;
	texts_free(x->folded);
	free(x->places);
	free(x->waiting);
	free(x->running);
	free(x);
}

/* ---- what the observer tells ---- */

static uint32_t
other(struct record_stacks *x)
{
	uint32_t text;

	if (x->other == 0 && (text = texts_intern(x->folded, OTHER, strlen(OTHER))) != UINT32_MAX)
		x->other = text;
	return x->other;
}

static bool
is_full(const struct record_stacks *x)
{
	return texts_count(x->folded) > RECORD_STACKS_NAMES; /* with "" */
}

/* A place without memory for its name has none. */
static void
take_name(struct record_stacks *x, const struct below_name *name)
{
	uint32_t text = is_full(x) ? other(x)
	                           : texts_intern(x->folded, name->folded, strlen(name->folded));

	if (text == UINT32_MAX ||
	    !array_reserve_max(x->places, x->places_cap, name->id + UINT64_C(1), UINT64_C(1) << 17))
		return;
	while (x->nplaces <= name->id)
		x->places[x->nplaces++] = 0;
	x->places[name->id] = text;
}

static uint32_t
text_of(struct record_stacks *x, uint32_t place)
{
	if (place != 0 && place < x->nplaces && x->places[place] != 0)
		return x->places[place];
	return is_full(x) ? other(x) : 0; /* the observer numbers no more places, either */
}

static void
take_wait(struct record_stacks *x, const struct below_wait *w)
{
	const struct waiting_stack s = { w->end_ns, w->tid, w->pid, text_of(x, w->place) };
	uint32_t at;

	if (s.text == 0) {
		x->counts.unnamed++;
		return;
	}
	if (s.time_ns <= x->handed_ns) {
		x->counts.late++;
		return;
	}
	if (x->nwaiting - x->first >= RECORD_STACKS_MAX ||
	    !array_reserve(x->waiting, x->waiting_cap, x->nwaiting + UINT64_C(1))) {
		x->counts.lost++;
		return;
	}
	for (at = x->nwaiting++; at > x->first && x->waiting[at - 1].time_ns > s.time_ns; at--)
		x->waiting[at] = x->waiting[at - 1];
	x->waiting[at] = s;
}

void
record_stacks_take(void *of, const struct below_message *m)
{
	struct record_stacks *x = of;

	if (m->kind == BELOW_NAME)
		take_name(x, &m->name);
	else if (m->kind == BELOW_WAIT)
		take_wait(x, &m->wait);
	else if (m->kind == BELOW_LOST)
		x->counts.lost += m->lost.count;
	else if (m->kind == BELOW_MARK && m->mark_ns > x->mark_ns)
		x->mark_ns = m->mark_ns;
}

int64_t
record_stacks_mark(const struct record_stacks *x)
{
	return x->mark_ns;
}

/* ---- among the events ---- */

void
record_stacks_saw(struct record_stacks *x, const struct kernel_event *ev)
{
	if (ev->kind != KERNEL_SWITCH || ev->cpu == KERNEL_CPU_ALL ||
	    !array_reserve(x->running, x->running_cap, ev->cpu + UINT64_C(1)))
		return;
	while (x->nrunning <= ev->cpu)
		x->running[x->nrunning++] = 0;
	x->running[ev->cpu] = ev->change.next_tid;
}

/* KERNEL_CPU_ALL: none. */
static uint16_t
cpu_of(const struct record_stacks *x, uint32_t tid)
{
	for (uint32_t cpu = 0; cpu < x->nrunning; cpu++)
		if (x->running[cpu] == tid)
			return (uint16_t)cpu;
	return KERNEL_CPU_ALL;
}

static int
make_event(const struct record_stacks *x, const struct waiting_stack *s, uint16_t cpu,
    struct kernel_names *names, struct kernel_event *ret)
{
	const char *folded = texts_get(x->folded, s->text);

	memset(ret, 0, sizeof *ret);
	ret->time_ns = s->time_ns;
	ret->tid = s->tid;
	ret->pid = s->pid;
	ret->cpu = cpu;
	ret->kind = KERNEL_STACK;
	ret->stack.folded = texts_intern(names->texts, folded, strlen(folded));
	return ret->stack.folded != UINT32_MAX ? 1 : ERR_MEMORY;
}

int
record_stacks_next(
    struct record_stacks *x, int64_t until_ns, struct kernel_names *names, struct kernel_event *ret)
{
	if (until_ns > x->handed_ns)
		x->handed_ns = until_ns;
	while (x->first < x->nwaiting && x->waiting[x->first].time_ns <= until_ns) {
		const struct waiting_stack *s = &x->waiting[x->first++];
		uint16_t cpu = cpu_of(x, s->tid);

		if (cpu != KERNEL_CPU_ALL)
			return make_event(x, s, cpu, names, ret);
		x->counts.apart++;
	}
	if (x->first > x->nwaiting / 2) { /* moves fewer than were handed on since the last time */
		memmove(x->waiting, x->waiting + x->first,
		    (x->nwaiting - x->first) * sizeof *x->waiting);
		x->nwaiting -= x->first;
		x->first = 0;
	}
	return 0;
}

struct record_stacks_counts
record_stacks_counts(const struct record_stacks *x)
{
	return x->counts;
}
