/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "below/main/thread_times.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/rng.h"

#define MS INT64_C(1000000)

enum { TICK_MS = 4 };

/* What was handed on: time by state, without the ends of waits that are ready. */
struct heard {
	int64_t ns[BELOW_STATES], least_end_ns, last_end_ns;
	int messages;
	uint64_t unit;
};

static void
hear(void *of, const struct below_message *m)
{
	struct heard *h = of;
	int64_t end_ns;

	if (m->kind == BELOW_WAIT) {
		const struct below_wait *w = &m->wait;

		assert_true(w->begin_ns <= w->woken_ns && w->woken_ns <= w->end_ns);
		h->ns[w->state] += w->woken_ns - w->begin_ns;
		h->ns[BELOW_READY] += w->end_ns - w->woken_ns;
		h->unit = w->unit_id;
		end_ns = w->end_ns;
	} else {
		assert_int_equal(m->kind, BELOW_SAMPLE);
		h->ns[BELOW_RUNNING] += m->sample.weight_ns;
		end_ns = m->sample.time_ns;
	}
	assert_true(end_ns >= h->least_end_ns);
	h->last_end_ns = end_ns > h->last_end_ns ? end_ns : h->last_end_ns;
	h->messages++;
}

/* A thread that sleeps, is ready, and runs in turn, as its kernel counts it. */
struct model {
	struct rng rng;
	int64_t now_ns, until_ns; /* until_ns: of what it does now */
	enum below_state does;    /* TIMER, LOCK, READY, RUNNING */
	uint64_t run_ns, counted_ns, ready_ns, turns;
	int64_t ready_since_ns, truth[BELOW_STATES];
	int64_t least_ms, most_ms;
};

static int64_t
some_time(struct model *m)
{
	return (m->least_ms + (int64_t)rng_below(&m->rng, (uint64_t)(m->most_ms - m->least_ms))) *
	           MS +
	       (int64_t)rng_below(&m->rng, 1000000);
}

static void
do_next(struct model *m)
{
	switch (m->does) {
	case BELOW_READY: /* it gets a CPU */
		m->ready_ns += (uint64_t)(m->now_ns - m->ready_since_ns);
		m->turns++;
		m->does = BELOW_RUNNING;
		m->until_ns = m->now_ns + some_time(m);
		break;
	case BELOW_RUNNING:
		m->counted_ns = m->run_ns;
		m->does = rng_below(&m->rng, 2) > 0 ? BELOW_TIMER : BELOW_LOCK;
		m->until_ns = m->now_ns + some_time(m);
		break;
	default:
		m->does = BELOW_READY;
		m->ready_since_ns = m->now_ns;
		m->until_ns = m->now_ns + (rng_below(&m->rng, 3) > 0 ? 1000 : some_time(m) / 2);
		break;
	}
}

static void
advance(struct model *m, int64_t to_ns)
{
	while (m->now_ns < to_ns) {
		int64_t at_ns = m->until_ns < to_ns ? m->until_ns : to_ns;

		m->truth[m->does] += at_ns - m->now_ns;
		if (m->does == BELOW_RUNNING)
			m->run_ns += (uint64_t)(at_ns - m->now_ns);
		if (m->does == BELOW_RUNNING &&
		    at_ns / (TICK_MS * MS) != m->now_ns / (TICK_MS * MS))
			m->counted_ns = m->run_ns -
			                (uint64_t)(at_ns % (TICK_MS * MS)) % (m->run_ns + 1);
		m->now_ns = at_ns;
		if (at_ns == m->until_ns)
			do_next(m);
	}
}

static struct thread_look
look_of(const struct model *m, bool inside)
{
	bool asleep = m->does == BELOW_TIMER || m->does == BELOW_LOCK;

	return (struct thread_look){ .time_ns = m->now_ns,
		.inside = inside,
		.trace_id = inside ? 7 : 0,
		.unit_id = inside ? 9 : 0,
		.run_ns = m->counted_ns,
		.ready_ns = m->ready_ns,
		.turns = m->turns,
		.asleep = asleep,
		.state = asleep ? m->does : BELOW_RUNNING,
		.owner_state = BELOW_UNKNOWN };
}

static int64_t
apart(int64_t a, int64_t b)
{
	return a > b ? a - b : b - a;
}

/* Looks at 1 to 3 ms, states of 5 to 40 ms: each state is right within the time between looks for each of its ends, on average by far
 * less; all of the time between the first and the last look is told, once. */
static void
states_are_right_within_the_time_between_two_looks(void **state)
{
	enum { SECONDS = 60 };
	(void)state;

	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct model m = { .now_ns = MS,
			.until_ns = MS,
			.does = BELOW_TIMER,
			.least_ms = 5,
			.most_ms = 40 };
		struct thread_times t = { .pid = 1, .tid = 2 };
		struct heard h = { 0 };
		int64_t begin_ns = 0, told = 0;

		rng_seed(&m.rng, seed);
		advance(&m, 50 * MS);
		for (int i = 0; i < BELOW_STATES; i++)
			m.truth[i] = 0;
		begin_ns = m.now_ns;
		while (m.now_ns < SECONDS * 1000 * MS) {
			struct thread_look l = look_of(&m, true);

			thread_times_look(&t, &l, hear, &h);
			h.least_end_ns = thread_times_open_ns(&t);
			advance(&m, m.now_ns + MS + (int64_t)rng_below(&m.rng, 2000000));
		}
		h.least_end_ns = 0;
		thread_times_end(&t, hear, &h);
		for (int i = 0; i < BELOW_STATES; i++)
			told += h.ns[i];
		assert_int_equal(told, t.last.time_ns - begin_ns);
		assert_int_equal(h.unit, 9);
		/* of about 700 turns of some 20 ms each */
		for (int i = 0; i < BELOW_STATES; i++)
			assert_true(apart(h.ns[i], m.truth[i]) < SECONDS * 10 * MS);
	}
}

static struct thread_look
at(int64_t ms, bool inside, bool asleep, uint64_t turns, int64_t run_ms, int64_t ready_ms)
{
	return (struct thread_look){ .time_ns = ms * MS,
		.inside = inside,
		.trace_id = inside ? 7 : 0,
		.unit_id = inside ? 9 : 0,
		.asleep = asleep,
		.state = BELOW_TIMER,
		.turns = turns,
		.run_ns = (uint64_t)(run_ms * MS),
		.ready_ns = (uint64_t)(ready_ms * MS),
		.owner_state = BELOW_UNKNOWN };
}

static void
take_all(const struct thread_look *looks, int n, struct heard *h)
{
	struct thread_times t = { .pid = 1, .tid = 2 };

	for (int i = 0; i < n; i++)
		thread_times_look(&t, &looks[i], hear, h);
	thread_times_end(&t, hear, h);
}

static void
what_lies_before_and_after_the_looks_at_a_unit_is_unknown(void **state)
{
	const struct thread_look looks[] = { at(10, false, true, 1, 0, 0),
		at(12, true, true, 2, 0, 0), at(20, true, true, 2, 0, 0),
		at(23, false, true, 3, 0, 0) };
	struct heard h = { 0 };
	(void)state;

	take_all(looks, 4, &h);
	assert_int_equal(h.ns[BELOW_TIMER], 8 * MS);
	assert_int_equal(h.ns[BELOW_UNKNOWN], 5 * MS);
	assert_int_equal(h.last_end_ns, 23 * MS);
}

static void
a_thread_that_got_no_cpu_is_ready_not_running(void **state)
{
	struct thread_look looks[40];
	struct heard h = { 0 };
	(void)state;

	for (int i = 0; i < 40; i++)
		looks[i] = at(10 + i, true, false, 5, 100, 0);
	take_all(looks, 40, &h);
	assert_int_equal(h.ns[BELOW_READY], 39 * MS);
	assert_int_equal(h.ns[BELOW_RUNNING], 0);
}

/* It was seen on a CPU each time, but ran for 10 of 60 ms: why it slept between is not known. */
static void
sleep_that_no_look_saw_is_unknown_not_running(void **state)
{
	struct thread_look looks[61];
	struct heard h = { 0 };
	(void)state;

	for (int i = 0; i <= 60; i++)
		looks[i] = at(10 + i, true, false, (uint64_t)i, i / 6, 0);
	looks[60].asleep = true;
	take_all(looks, 61, &h);
	assert_int_equal(h.ns[BELOW_RUNNING], 10 * MS);
	assert_true(h.ns[BELOW_UNKNOWN] >= 48 * MS);
}

static void
a_short_time_on_a_cpu_between_two_looks_at_sleeps_is_counted(void **state)
{
	const struct thread_look looks[] = { at(10, true, true, 2, 0, 0),
		at(20, true, true, 3, 3, 1), at(30, true, true, 3, 3, 1) };
	struct heard h = { 0 };
	(void)state;

	take_all(looks, 3, &h);
	assert_int_equal(h.ns[BELOW_RUNNING], 3 * MS);
	assert_int_equal(h.ns[BELOW_READY], 1 * MS);
	assert_int_equal(h.ns[BELOW_TIMER], 16 * MS);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(states_are_right_within_the_time_between_two_looks),
		cmocka_unit_test(what_lies_before_and_after_the_looks_at_a_unit_is_unknown),
		cmocka_unit_test(a_thread_that_got_no_cpu_is_ready_not_running),
		cmocka_unit_test(sleep_that_no_look_saw_is_unknown_not_running),
		cmocka_unit_test(a_short_time_on_a_cpu_between_two_looks_at_sleeps_is_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
