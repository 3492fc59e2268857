/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Asynchronous units over a pool of threads, drawn from a seed, with what the kernel would record of them and with the truth: which span
 * made which call, and how long it was in which state. For tests and the bench.
 *
 * A unit has phases. A phase runs on any thread that is free; then the unit leaves the thread, and comes to another one later. In a phase it
 * computes, is preempted, makes system calls that block or not, and opens and closes nested spans. Between phases a thread waits in
 * epoll_wait, for nobody. Units have other units as parents, which are active at the same time or not.
 */
#ifndef TESTS_UNIT_KERNEL_SPANS_SPAN_POOL_H
#define TESTS_UNIT_KERNEL_SPANS_SPAN_POOL_H

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/rng.h"
#include "kernel/spans/annotate.h"
#include "kernel/spans/span_places.h"

struct pool_call {
	int64_t begin_ns, end_ns, argument, result, wait_ns;
	int32_t number;
	uint8_t wait_state;
	uint32_t next; /* of the same span; UINT32_MAX */
};

struct pool_span {
	uint32_t parent;
	int64_t self_ns[SPAN_STATES], state_ns[SPAN_STATES];
	uint32_t preemptions, ncalls, first_call, last_call;
};

struct pool {
	struct rng r;
	struct kernel_names names;
	struct kernel_event *events;
	struct pool_span *spans;
	struct pool_call *calls;
	struct span_place *places;
	struct place_record *records;
	struct span_of_unit *of_units;
	uint32_t nevents, events_cap, nspans, spans_cap, ncalls, calls_cap, nplaces, places_cap,
	    nrecords, records_cap, nof_units, of_units_cap;
	uint64_t idle_calls;
	uint64_t told[16]; /* of each thread: the unit that the kernel was seen to say last */
	uint64_t here;     /* id of the unit that the thread at hand works for; 0: none */
	/* of the phase at hand */
	int64_t now_ns;
	uint32_t thread, unit;
	uint32_t inside[8], depth; /* spans from the unit inwards */
};

enum { POOL_TID = 100, POOL_THREADS_MAX = 16, POOL_EPOLL_WAIT = 232 };

#define pool_room(p, what)                                                                        \
	(array_reserve((p)->what, (p)->what##_cap, (p)->n##what + 1) ? &(p)->what[(p)->n##what++] \
								     : (abort(), (p)->what))

static inline struct kernel_event *
pool_event(struct pool *p, enum kernel_event_kind kind)
{
	struct kernel_event *ev = pool_room(p, events);

	*ev = (struct kernel_event){ .time_ns = p->now_ns,
		.tid = POOL_TID + p->thread,
		.cpu = (uint16_t)p->thread,
		.kind = kind };
	return ev;
}

/* The kernel sees the thread: at the begin of a system call, and when it leaves its CPU. */
static inline void
pool_sight(struct pool *p)
{
	if (p->told[p->thread] == p->here)
		return;
	p->told[p->thread] = p->here;
	pool_event(p, KERNEL_UNIT)->unit.id = p->here;
}

static inline void
pool_pass(struct pool *p, unsigned state, int64_t ns)
{
	p->now_ns += ns;
	p->spans[p->inside[p->depth - 1]].self_ns[state] += ns;
	for (uint32_t i = 0; i < p->depth; i++)
		p->spans[p->inside[i]].state_ns[state] += ns;
}

static inline int64_t
pool_some(struct pool *p, int64_t most)
{
	return 1 + (int64_t)rng_below(&p->r, (uint64_t)most);
}

/* Off the CPU, and on it again. */
static inline void
pool_leave_cpu(struct pool *p, uint8_t flags)
{
	struct kernel_event *ev;

	pool_sight(p);
	ev = pool_event(p, KERNEL_SWITCH);
	ev->flags = flags;
	ev->change.syscall = SYSCALL_UNKNOWN;
}

static inline void
pool_enter_cpu(struct pool *p)
{
	struct kernel_event *ev = pool_event(p, KERNEL_SWITCH);

	ev->change.next_tid = ev->tid;
	ev->change.syscall = SYSCALL_UNKNOWN;
	ev->tid = 0;
}

static inline void
pool_wake(struct pool *p, enum wake_context by)
{
	struct kernel_event *ev = pool_event(p, KERNEL_WAKING);

	ev->waking.tid = ev->tid;
	ev->waking.by = (uint8_t)by;
	ev->waking.vector = KERNEL_VECTOR_NONE;
	ev->tid = 0;
}

static inline void
pool_block(struct pool *p, struct pool_call *c)
{
	static const struct {
		enum wake_context by;
		enum below_state state;
	} ways[] = { { WAKE_TIMER, BELOW_TIMER }, { WAKE_BLOCK, BELOW_DISK },
		{ WAKE_NETWORK, BELOW_NETWORK } };
	unsigned way = c->number == 35 ? 0 : (unsigned)rng_below(&p->r, 3); /* sleep: a timer */

	c->wait_ns = pool_some(p, 5000);
	c->wait_state = (uint8_t)ways[way].state;
	pool_pass(p, BELOW_RUNNING, pool_some(p, 50));
	pool_leave_cpu(p, SWITCH_ASLEEP);
	pool_pass(p, ways[way].state, c->wait_ns);
	pool_wake(p, ways[way].by);
	pool_pass(p, BELOW_READY, pool_some(p, 200));
	pool_enter_cpu(p);
}

static inline void
pool_call(struct pool *p)
{
	static const int32_t numbers[] = { 0, 1, 3, 35, 74, 202 };
	struct pool_span *s = &p->spans[p->inside[p->depth - 1]];
	struct pool_call c = { .begin_ns = p->now_ns,
		.argument = (int64_t)rng_below(&p->r, 1000),
		.result = (int64_t)rng_below(&p->r, 100) - 20,
		.number = numbers[rng_below(&p->r, 6)],
		.next = UINT32_MAX };
	struct kernel_event *ev;
	uint32_t at = p->ncalls;

	pool_sight(p);
	ev = pool_event(p, KERNEL_SYSCALL_IN);
	ev->call.number = c.number;
	ev->call.value = c.argument;
	if (rng_below(&p->r, 2) == 0)
		pool_block(p, &c);
	pool_pass(p, BELOW_RUNNING, pool_some(p, 100));
	ev = pool_event(p, KERNEL_SYSCALL_OUT);
	ev->call.number = c.number;
	ev->call.value = c.result;
	c.end_ns = p->now_ns;
	*pool_room(p, calls) = c;
	s = &p->spans[p->inside[p->depth - 1]];
	if (s->ncalls++ == 0)
		s->first_call = at;
	else
		p->calls[s->last_call].next = at;
	s->last_call = at;
}

static inline uint32_t
pool_span(struct pool *p, uint32_t parent)
{
	*pool_room(p, spans) = (struct pool_span){ .parent = parent };
	return p->nspans - 1;
}

static inline void
pool_record(struct pool *p)
{
	*pool_room(
	    p, records) = (struct place_record){ p->now_ns, 0, POOL_TID + p->thread, p->unit };
}

static inline void
pool_steps(struct pool *p, unsigned steps)
{
	for (unsigned i = 0; i < steps; i++) {
		unsigned what = (unsigned)rng_below(&p->r, 8);
		int64_t from_ns = p->now_ns;

		pool_pass(p, BELOW_RUNNING, pool_some(p, 300));
		if (what < 4) {
			pool_call(p);
		} else if (what == 4) {
			pool_leave_cpu(p, 0);
			p->spans[p->inside[p->depth - 1]].preemptions++;
			pool_pass(p, SPAN_PREEMPTED, pool_some(p, 2000));
			pool_enter_cpu(p);
		} else if (what == 5 && p->depth < 8) {
			from_ns = p->now_ns;
			p->inside[p->depth] = pool_span(p, p->inside[p->depth - 1]);
			p->depth++;
			pool_steps(p, 1 + (unsigned)rng_below(&p->r, 4));
			p->depth--;
			*pool_room(p, places) = (struct span_place){ from_ns, p->now_ns,
				p->inside[p->depth], 0, POOL_TID + p->thread };
			*pool_room(p, of_units) = (struct span_of_unit){ from_ns, p->now_ns,
				p->unit, p->inside[p->depth] };
		}
		if (rng_below(&p->r, 3) == 0)
			pool_record(p);
	}
}

static inline int
pool_by_time(const void *x, const void *y)
{
	const struct kernel_event *a = x, *b = y;

	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	return a->reserved - b->reserved;
}

/* A thread waits for work, for nobody. */
static inline int64_t
pool_idle(struct pool *p, int64_t from_ns, int64_t to_ns)
{
	struct kernel_event *ev;

	p->now_ns = from_ns;
	p->here = 0;
	pool_sight(p);
	ev = pool_event(p, KERNEL_SYSCALL_IN);
	ev->call.number = POOL_EPOLL_WAIT;
	pool_leave_cpu(p, SWITCH_ASLEEP);
	p->now_ns = to_ns - 20;
	pool_wake(p, WAKE_NETWORK);
	p->now_ns = to_ns - 10;
	pool_enter_cpu(p);
	ev = pool_event(p, KERNEL_SYSCALL_OUT);
	ev->call.number = POOL_EPOLL_WAIT;
	p->idle_calls++;
	return to_ns;
}

static inline void
pool_make(struct pool *p, uint64_t seed, uint32_t nthreads, uint32_t nunits)
{
	int64_t free_ns[POOL_THREADS_MAX];
	struct pool_unit {
		uint32_t span, phases;
		int64_t from_ns, ready_ns;
	} *units = calloc(nunits, sizeof *units);
	uint32_t left = nunits;
	struct err e;

	memset(p, 0, sizeof *p);
	rng_seed(&p->r, seed);
	if (units == NULL || kernel_names_new(&p->names, &e) != 0 ||
	    texts_intern(p->names.hosts, "a", 1) != 0)
		abort();
	for (uint32_t i = 0; i < nunits; i++) {
		units[i].span = pool_span(p, i > 0 && rng_below(&p->r, 2) == 0
						 ? units[rng_below(&p->r, i)].span
						 : SPAN_NONE);
		units[i].phases = 1 + (uint32_t)rng_below(&p->r, 6);
		units[i].from_ns = -1;
	}
	for (uint32_t t = 0; t < nthreads; t++) {
		p->thread = t;
		p->now_ns = 100;
		pool_enter_cpu(p);
		free_ns[t] = 110;
	}
	while (left > 0) {
		uint32_t u = (uint32_t)rng_below(&p->r, nunits),
			 t = (uint32_t)rng_below(&p->r, nthreads);

		if (units[u].phases == 0)
			continue;
		p->thread = t;
		p->unit = u;
		p->now_ns = free_ns[t] = pool_idle(p, free_ns[t],
		    (free_ns[t] > units[u].ready_ns ? free_ns[t] : units[u].ready_ns) + 30 +
			pool_some(p, 500));
		if (units[u].from_ns < 0)
			units[u].from_ns = p->now_ns;
		p->inside[0] = units[u].span;
		p->depth = 1;
		p->here = u + 1000;
		pool_record(p);
		pool_steps(p, 1 + (unsigned)rng_below(&p->r, 6));
		pool_record(p);
		*pool_room(p, places) = (struct span_place){ free_ns[t], p->now_ns, units[u].span,
			0, POOL_TID + t };
		free_ns[t] = units[u].ready_ns = p->now_ns;
		/* A thread waits between phases, and another unit is on it or not; so is the one that left it. */
		p->unit = nunits + t;
		p->now_ns += 5;
		pool_record(p);
		if (--units[u].phases == 0) {
			*pool_room(p, of_units) = (struct span_of_unit){ units[u].from_ns,
				units[u].ready_ns, u, units[u].span };
			left--;
		}
	}
	for (uint32_t t = 0; t < nthreads; t++) {
		p->thread = t;
		p->now_ns = free_ns[t] + 100;
		p->here = 0;
		pool_leave_cpu(p, SWITCH_ASLEEP);
	}
	/* Each thread has its own CPU, and its events are in their order. */
	for (uint32_t t = 0; t < nthreads; t++)
		for (uint32_t i = 0, n = 0; i < p->nevents; i++)
			if (p->events[i].cpu == t)
				p->events[i].reserved = (uint16_t)(n++ & 0x7fff);
	qsort(p->events, p->nevents, sizeof *p->events, pool_by_time);
	free(units);
}

static inline void
pool_release(struct pool *p)
{
	free(p->events);
	free(p->spans);
	free(p->calls);
	free(p->places);
	free(p->records);
	free(p->of_units);
	kernel_names_release(&p->names);
}

#endif
