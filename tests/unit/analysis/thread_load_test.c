/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kit.h"

#include "analysis/thread_load.h"
#include "base/rng.h"

enum { GATEWAY = 10, POOL = 20, REQUESTS = 20000 };

struct world {
	struct labels *labels;
	struct thread_history *history;
	struct arena arena;
	uint64_t traces;
	struct thread_wait *waits;
	uint32_t nwaits;
	struct err e;
};

static int
setup(void **state)
{
	struct world *w = calloc(1, sizeof *w);

	w->labels = labels_new();
	w->history = thread_history_new(4 * REQUESTS);
	w->waits = calloc(REQUESTS, sizeof *w->waits);
	*state = w;
	return 0;
}

static int
teardown(void **state)
{
	struct world *w = *state;

	thread_history_free(w->history);
	labels_free(w->labels);
	arena_release(&w->arena);
	free(w->waits);
	free(w);
	return 0;
}

static uint32_t
label(struct world *w, enum record_kind kind, const char *text)
{
	return labels_intern(w->labels, kind, text, strlen(text), NULL, 0);
}

/* A unit that begins on the thread and ends; joins: with a join between, at joins_ns; child_ns: of a unit elsewhere that ends then, 0: its
 * records are lost. */
static void
add_parent(struct world *w, uint32_t tid, int64_t begin_ns, int64_t child_ns, int64_t joins_ns,
    int64_t end_ns)
{
	struct event events[5];
	uint32_t n = 0;
	struct unit units[2] = { { .id = 1, .fork = TRACE_NONE },
		{ .id = 2, .fork = 1, .first = 4, .count = 1 } };
	struct trace t = {
		.id = ++w->traces, .nunits = child_ns > 0 ? 2 : 1, .events = events, .units = units
	};

	t.type = label(w, RECORD_REQUEST_BEGIN, "g/hone:request_begin(T)");
	events[n++] = (struct event){ .time_ns = begin_ns,
		.label = label(w, RECORD_UNIT_BEGIN, "p/hone:unit_begin(u)") };
	if (joins_ns > 0) {
		events[n++] = (struct event){ .time_ns = begin_ns + 1000,
			.link_id = 77,
			.label = label(w, RECORD_FORK, "p/hone:fork(v)") };
		events[n++] = (struct event){ .time_ns = joins_ns,
			.link_id = 77,
			.label = label(w, RECORD_JOIN, "p/hone:join(v)") };
	}
	events[n++] = (struct event){ .time_ns = end_ns,
		.label = label(w, RECORD_UNIT_END, "p/hone:unit_end(u)") };
	for (uint32_t i = 0; i < n; i++) {
		events[i].pid = POOL;
		events[i].tid = tid;
	}
	units[0].count = n;
	if (child_ns > 0)
		events[n++] = (struct event){ .time_ns = child_ns,
			.unit = 1,
			.pid = GATEWAY,
			.label = label(w, RECORD_UNIT_END, "g/hone:unit_end(v)") };
	t.nevents = n;
	assert_int_equal(thread_history_add(w->history, &t, w->labels, &w->e), 0);
}

static void
add_unit(struct world *w, uint32_t tid, int64_t begin_ns, int64_t joins_ns, int64_t end_ns)
{
	add_parent(w, tid, begin_ns, 0, joins_ns, end_ns);
}

static void
add_wait(struct world *w, uint32_t tid, int64_t begin_ns, int64_t end_ns)
{
	w->waits[w->nwaits++] = (struct thread_wait){ .trace_id = w->traces,
		.begin_ns = begin_ns,
		.end_ns = end_ns,
		.from = { 0, GATEWAY },
		.to = { 0, POOL },
		.tid = tid };
}

static double
exponential(struct rng *r, double mean)
{
	return -mean * log(1 - rng_unit(r));
}

/* A queue with random arrivals and exponential service times, in front of these threads. */
static struct thread_load
play(struct world *w, uint32_t threads, double utilisation)
{
	double free_ns[8] = { 0 }, at_ns = 1e6, service_ns = 1e6;
	struct thread_load l;
	struct rng r;

	rng_seed(&r, 7);
	for (uint32_t i = 0; i < REQUESTS; i++) {
		double serve_ns = exponential(&r, service_ns), begin_ns;
		uint32_t first = 0;

		at_ns += exponential(&r, service_ns / (threads * utilisation));
		for (uint32_t k = 1; k < threads; k++)
			first = free_ns[k] < free_ns[first] ? k : first;
		begin_ns = fmax(at_ns, free_ns[first]);
		free_ns[first] = begin_ns + serve_ns;
		add_unit(w, first, (int64_t)begin_ns, 0, (int64_t)(begin_ns + serve_ns));
		add_wait(w, first, (int64_t)at_ns, (int64_t)begin_ns);
	}
	assert_int_equal(thread_load_of(&l, w->history, w->waits, w->nwaits, &w->arena, &w->e), 0);
	return l;
}

static void
the_wait_of_one_thread_is_that_of_pollaczek_and_khinchine(void **state)
{
	const struct thread_load l = play(*state, 1, 0.6);

	assert_int_equal(l.threads, 1);
	assert_int_equal(l.processes, 1);
	assert_int_equal(l.jobs, REQUESTS);
	assert_near(l.utilisation, 0.6, 0.02);
	assert_near(l.service_cv, 1, 0.05);
	assert_near(l.expected_ns / 1.5e6, 1, 0.1); /* 0.6 / (1 - 0.6) ms */
	assert_near(l.wait_ns / l.expected_ns, 1, 0.1);
}

static void
the_wait_of_several_threads_is_near_that_of_mmc(void **state)
{
	const struct thread_load l = play(*state, 4, 0.7);

	assert_int_equal(l.threads, 4);
	assert_near(l.utilisation, 0.7, 0.02);
	assert_near(l.wait_ns / l.expected_ns, 1, 0.15);
}

static void
threads_that_are_always_held_let_requests_wait_for_ever(void **state)
{
	(void)state;
	assert_true(isinf(thread_load_expected_ns(4, 1, 1e6, 1)));
	assert_near(
	    thread_load_expected_ns(1, 0.5, 1e6, 0) / 5e5, 1, 1e-9); /* M/D/1: half of M/M/1 */
}

static void
a_unit_of_an_event_loop_does_not_hold_it_while_it_waits(void **state)
{
	struct world *w = *state;
	struct thread_load l;

	/* each unit runs for 1 us and 9 us, and waits 1.2 ms between; the next one begins meanwhile */
	for (int64_t i = 0; i < 1000; i++) {
		int64_t at_ns = 1000000 + i * 500000;

		add_unit(w, 1, at_ns, at_ns + 1200000, at_ns + 1209000);
		add_wait(w, 1, at_ns - 100, at_ns);
	}
	assert_int_equal(thread_load_of(&l, w->history, w->waits, w->nwaits, &w->arena, &w->e), 0);
	assert_near(l.utilisation, 0.02, 0.001);
	assert_int_equal(l.jobs, 2000);
	assert_near(l.joining, 0, 1e-9);
}

static void
a_unit_of_a_pool_holds_its_thread_while_it_waits(void **state)
{
	struct world *w = *state;
	struct thread_load l;

	for (int64_t i = 0; i < 1000; i++) { /* 1 us and 199 us of its own, 800 us until the join */
		int64_t at_ns = 1000000 + i * 2000000;

		add_unit(w, 1, at_ns, at_ns + 801000, at_ns + 1000000);
		add_wait(w, 1, at_ns - 100, at_ns);
	}
	assert_int_equal(thread_load_of(&l, w->history, w->waits, w->nwaits, &w->arena, &w->e), 0);
	assert_near(l.utilisation, 0.5, 0.001);
	assert_near(l.joining, 0.8, 0.001);
}

/* 1 us and 199 us of its own, 800 us until the join, in which the other one ends after 200 us, or after the join. */
static void
a_unit_that_works_until_its_join_does_not_wait(void **state)
{
	struct world *w = *state;
	struct thread_load l;

	for (int64_t i = 0; i < 1000; i++) {
		int64_t at_ns = 1000000 + i * 2000000;

		add_parent(
		    w, 1, at_ns, at_ns + 201000 + i % 2 * 800000, at_ns + 801000, at_ns + 1000000);
		add_wait(w, 1, at_ns - 100, at_ns);
	}
	assert_int_equal(thread_load_of(&l, w->history, w->waits, w->nwaits, &w->arena, &w->e), 0);
	assert_near(l.utilisation, 0.5, 0.001);
	assert_near(l.joining, 0.5, 0.001); /* 200 and 800 of 1,000 us */
}

/* One unit in ten holds the thread for 5 ms, the others for 0.4 to 0.6 ms; or all do for times that are exponential. */
static void
what_long_jobs_lead_to_is_told_from_what_others_do(void **state)
{
	struct world *w = *state;
	double at_ns = 1e6, free_ns = 0;
	struct thread_load l;
	struct rng r;

	rng_seed(&r, 5);
	for (uint32_t i = 0; i < REQUESTS; i++) {
		double serve_ns = rng_unit(&r) < 0.1 ? 5e6 : 4e5 + 2e5 * rng_unit(&r), begin_ns;

		at_ns += exponential(&r, 1.9e6);
		begin_ns = fmax(at_ns, free_ns);
		free_ns = begin_ns + serve_ns;
		add_unit(w, 1, (int64_t)begin_ns, 0, (int64_t)free_ns);
		add_wait(w, 1, (int64_t)at_ns, (int64_t)begin_ns);
	}
	assert_int_equal(thread_load_of(&l, w->history, w->waits, w->nwaits, &w->arena, &w->e), 0);
	assert_near(l.utilisation, 0.5, 0.02);
	assert_near(l.usual_utilisation, 0.263, 0.01);
	/* of Pollaczek and Khinchine, with the second moments 2.73 and 0.253 ms^2 */
	assert_near(l.expected_ns / 1.44e6, 1, 0.1);
	assert_near(l.usual_expected_ns / 0.9e5, 1, 0.1);
}

static void
times_that_vary_from_unit_to_unit_are_not_long(void **state)
{
	const struct thread_load l = play(*state, 1, 0.6);

	/* exponential: three times as many take 2 to 4 medians as take more */
	assert_near(l.usual_expected_ns / l.expected_ns, 1, 1e-9);
	assert_near(l.usual_utilisation, l.utilisation, 1e-9);
}

/* Units follow each other at once, and the clock of each trace is wrong by up to 50 us. */
static void
a_unit_that_seems_to_begin_before_the_last_one_ends_comes_after_it(void **state)
{
	struct world *w = *state;
	struct thread_load l;
	struct rng r;

	rng_seed(&r, 3);
	for (int64_t i = 1; i <= 1000; i++) {
		int64_t at_ns = i * 1000000 + (int64_t)rng_below(&r, 100000);

		add_unit(w, 1, at_ns, 0, at_ns + 1000000);
		add_wait(w, 1, at_ns - 100, at_ns);
	}
	assert_int_equal(thread_load_of(&l, w->history, w->waits, w->nwaits, &w->arena, &w->e), 0);
	assert_int_equal(l.jobs, 1000);
	assert_true(l.utilisation > 0.97);
	assert_near(l.service_ns / 1e6, 1, 0.02);
}

static void
without_waits_there_is_no_load(void **state)
{
	struct world *w = *state;
	struct thread_load l;

	add_unit(w, 1, 1000, 0, 2000);
	assert_int_equal(thread_load_of(&l, w->history, w->waits, 0, &w->arena, &w->e), 0);
	assert_int_equal(l.threads + l.jobs, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
		    the_wait_of_one_thread_is_that_of_pollaczek_and_khinchine, setup, teardown),
		cmocka_unit_test_setup_teardown(
		    the_wait_of_several_threads_is_near_that_of_mmc, setup, teardown),
		cmocka_unit_test(threads_that_are_always_held_let_requests_wait_for_ever),
		cmocka_unit_test_setup_teardown(
		    a_unit_of_an_event_loop_does_not_hold_it_while_it_waits, setup, teardown),
		cmocka_unit_test_setup_teardown(
		    a_unit_of_a_pool_holds_its_thread_while_it_waits, setup, teardown),
		cmocka_unit_test_setup_teardown(
		    a_unit_that_works_until_its_join_does_not_wait, setup, teardown),
		cmocka_unit_test_setup_teardown(
		    what_long_jobs_lead_to_is_told_from_what_others_do, setup, teardown),
		cmocka_unit_test_setup_teardown(
		    times_that_vary_from_unit_to_unit_are_not_long, setup, teardown),
		cmocka_unit_test_setup_teardown(
		    a_unit_that_seems_to_begin_before_the_last_one_ends_comes_after_it, setup,
		    teardown),
		cmocka_unit_test_setup_teardown(without_waits_there_is_no_load, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
