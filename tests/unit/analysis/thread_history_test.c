/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kit.h"

#include "analysis/thread_history.h"
#include "base/rng.h"

#define MS INT64_C(1000000)
#define CONFIDENCE 0.95

enum { GATEWAY = 10, WORKER = 20 };

struct world {
	struct labels *labels;
	struct thread_history *history;
	struct arena arena;
	uint64_t traces;
	struct thread_wait waits[400];
	uint32_t nwaits;
	struct err e;
};

static int
setup(void **state)
{
	struct world *w = calloc(1, sizeof *w);

	w->labels = labels_new();
	w->history = thread_history_new(100000);
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
	free(w);
	return 0;
}

static uint32_t
label(struct world *w, enum record_kind kind, const char *text)
{
	return labels_intern(w->labels, kind, text, strlen(text), NULL, 0);
}

/* A request of one unit on a thread: it begins, works between its two points, and ends 1 us later.
 * joins: its second point is a join, so the unit waited itself. Returns its id. */
static uint64_t
add_request(struct world *w, const char *type, uint32_t pid, uint32_t tid, int64_t at_ns,
    int64_t work_ns, bool joins)
{
	char begin[64], end[64];
	struct event events[4];
	struct unit unit = { .id = 1, .first = 0, .count = 4, .fork = TRACE_NONE };
	struct trace t = {
		.id = ++w->traces, .nevents = 4, .nunits = 1, .events = events, .units = &unit
	};

	snprintf(begin, sizeof begin, "s/hone:request_begin(%s)", type);
	snprintf(end, sizeof end, "s/hone:request_end(%s)", type);
	for (uint32_t i = 0; i < 4; i++)
		events[i] = (struct event){ .pid = pid, .tid = tid };
	events[0].label = t.type = label(w, RECORD_REQUEST_BEGIN, begin);
	events[1].label = label(w, RECORD_POINT, "s/app:from");
	events[2].label = joins ? label(w, RECORD_JOIN, "s/hone:join(x)")
	                        : label(w, RECORD_POINT, "s/app:to");
	events[3].label = label(w, RECORD_REQUEST_END, end);
	events[0].time_ns = at_ns;
	events[1].time_ns = at_ns + 1000;
	events[2].time_ns = at_ns + 1000 + work_ns;
	events[3].time_ns = at_ns + 2000 + work_ns;
	assert_int_equal(thread_history_add(w->history, &t, w->labels, &w->e), 0);
	return t.id;
}

/* A wait for thread 1 of the gateway that request `id` had. */
static void
add_wait(struct world *w, uint64_t id, int64_t begin_ns, int64_t end_ns)
{
	w->waits[w->nwaits++] = (struct thread_wait){ .trace_id = id,
		.begin_ns = begin_ns,
		.end_ns = end_ns,
		.from = { 0, WORKER },
		.to = { 0, GATEWAY },
		.tid = 1 };
}

static struct wait_finding
cause(struct world *w)
{
	struct wait_finding f;

	assert_int_equal(
	    thread_history_cause(&f, w->history, w->waits, w->nwaits, CONFIDENCE, &w->arena, &w->e),
	    0);
	return f;
}

static void
assert_type(const struct world *w, const struct wait_finding *f, const char *type)
{
	char text[64];

	snprintf(text, sizeof text, "s/hone:request_begin(%s)", type);
	assert_int_equal(f->cause, WAIT_OCCUPIED);
	assert_string_equal(labels_get(w->labels, f->type)->text, text);
	assert_string_equal(labels_get(w->labels, f->unit)->text, text);
}

/* Every 100 ms a request BLOCK works for 40 ms on thread 1, and a request SHORT, which arrived
 * 10 ms after it, waits until the thread is free. */
static void
play_blocked(struct world *w, bool joins)
{
	for (int64_t i = 1; i <= 100; i++) {
		int64_t at_ns = i * 100 * MS;
		uint64_t id;

		add_request(w, "BLOCK", GATEWAY, 1, at_ns, 40 * MS, joins);
		id = add_request(w, "SHORT", GATEWAY, 1, at_ns + 41 * MS, MS / 10, false);
		add_wait(w, id, at_ns + 10 * MS, at_ns + 41 * MS);
		add_request(w, "SHORT", GATEWAY, 1, at_ns + 70 * MS, MS / 10, false);
	}
}

static void
a_request_that_holds_the_thread_is_named(void **state)
{
	struct world *w = *state;
	struct wait_finding f;

	play_blocked(w, false);
	f = cause(w);
	assert_type(w, &f, "BLOCK");
	assert_int_equal(f.waits, 100);
	assert_near(f.share, 30.001 / 31, 1e-3);
	assert_true(f.share_low <= f.share && f.share <= f.share_high);
}

static void
a_unit_that_waited_itself_held_no_thread(void **state)
{
	struct world *w = *state;

	play_blocked(w, true);
	assert_int_equal(cause(w).cause, WAIT_UNKNOWN);
}

static void
work_on_other_threads_is_not_the_cause(void **state)
{
	struct world *w = *state;

	for (int64_t i = 1; i <= 100; i++) {
		uint64_t id = add_request(w, "SHORT", GATEWAY, 1, i * 100 * MS, MS / 10, false);

		add_request(w, "BLOCK", GATEWAY, 2, i * 100 * MS - 50 * MS, 49 * MS, false);
		add_request(w, "BLOCK", WORKER, 1, i * 100 * MS - 50 * MS, 49 * MS, false);
		add_wait(w, id, i * 100 * MS - 30 * MS, i * 100 * MS);
	}
	assert_int_equal(cause(w).cause, WAIT_UNKNOWN);
}

static void
a_request_does_not_wait_for_itself(void **state)
{
	struct world *w = *state;

	for (int64_t i = 1; i <= 100; i++) {
		uint64_t id = add_request(w, "LONG", GATEWAY, 1, i * 100 * MS, 50 * MS, false);

		add_wait(w, id, i * 100 * MS + 10 * MS, i * 100 * MS + 40 * MS);
	}
	assert_int_equal(cause(w).cause, WAIT_UNKNOWN);
}

/* Two processes serve requests, every 2 ms on average, at random times. Every 200 ms the gateway
 * is stopped for 30 ms (both_stop: the worker, too), and a request waits for that. */
static void
play_stops(struct world *w, bool both_stop)
{
	struct rng rng;

	rng_seed(&rng, 7);
	for (int64_t at_ns = 0; at_ns < 20000 * MS;
	     at_ns += (int64_t)rng_below(&rng, (uint64_t)(4 * MS))) {
		bool stopped = at_ns % (200 * MS) >= 100 * MS && at_ns % (200 * MS) < 130 * MS;
		int64_t resumed_ns = at_ns - at_ns % (200 * MS) + 130 * MS;

		/* work that began before the stop ends after it */
		if (!stopped)
			add_request(w, "SHORT", GATEWAY, (uint32_t)rng_below(&rng, 8), at_ns,
			    at_ns % (200 * MS) < 100 * MS && at_ns % (200 * MS) > 99 * MS
				? resumed_ns - at_ns
				: MS / 10,
			    false);
		if (!stopped || !both_stop)
			add_request(w, "PART", WORKER, 1, at_ns, MS / 10, false);
	}
	for (int64_t i = 0; i < 100; i++)
		add_wait(w, UINT64_MAX, i * 200 * MS + 101 * MS, i * 200 * MS + 131 * MS);
}

static void
a_process_that_stands_still_is_named(void **state)
{
	struct world *w = *state;
	struct wait_finding f;

	play_stops(w, false);
	f = cause(w);
	assert_int_equal(f.cause, WAIT_STILL);
	assert_true(f.share > 0.8);
	assert_false(f.from_too);
}

static void
two_processes_that_stand_still_are_both_named(void **state)
{
	struct world *w = *state;
	struct wait_finding f;

	play_stops(w, true);
	f = cause(w);
	assert_int_equal(f.cause, WAIT_STILL);
	assert_true(f.from_too);
}

/* The only thread of a process works for long without recording anything: the process is silent,
 * but not stopped. */
static void
silence_during_the_same_work_is_work(void **state)
{
	struct world *w = *state;
	struct wait_finding f;

	for (int64_t i = 1; i <= 100; i++) {
		int64_t at_ns = i * 100 * MS;
		uint64_t id = 0;

		for (int64_t k = 2; k < 50; k++)
			id = add_request(w, "SHORT", GATEWAY, 1, at_ns + k * MS, MS / 10, false);
		add_request(w, "BLOCK", GATEWAY, 1, at_ns + 51 * MS, 45 * MS, false);
		id = add_request(w, "SHORT", GATEWAY, 1, at_ns + 97 * MS, MS / 10, false);
		add_wait(w, id, at_ns + 52 * MS, at_ns + 97 * MS);
	}
	f = cause(w);
	assert_type(w, &f, "BLOCK");
}

static void
a_cause_of_a_small_part_is_not_named(void **state)
{
	struct world *w = *state;

	for (int64_t i = 1; i <= 100; i++) {
		uint64_t id = add_request(w, "SHORT", GATEWAY, 1, i * 100 * MS, MS / 10, false);

		add_request(w, "BLOCK", GATEWAY, 1, i * 100 * MS - 50 * MS, 5 * MS, false);
		add_wait(w, id, i * 100 * MS - 50 * MS, i * 100 * MS);
	}
	assert_int_equal(cause(w).cause, WAIT_UNKNOWN);
}

static void
few_waits_show_no_cause(void **state)
{
	struct world *w = *state;

	play_blocked(w, false);
	w->nwaits = THREAD_HISTORY_WAITS_MIN - 1;
	assert_int_equal(cause(w).cause, WAIT_UNKNOWN);
	w->nwaits = THREAD_HISTORY_WAITS_MIN;
	assert_int_equal(cause(w).cause, WAIT_OCCUPIED);
}

/* The history keeps the newest events: waits from before them are not examined, the others give
 * the same cause. */
static void
a_full_history_forgets_the_oldest_waits(void **state)
{
	struct world *w = *state;
	struct wait_finding f;

	thread_history_free(w->history);
	w->history = thread_history_new(12 * 30);
	play_blocked(w, false);
	f = cause(w);
	assert_type(w, &f, "BLOCK");
	assert_int_equal(f.waits, 30);
	assert_near(f.share, 30.001 / 31, 1e-3);
}

/* The result does not depend on the order in which traces were completed. */
static void
the_order_of_traces_does_not_matter(void **state)
{
	struct world *w = *state, *other = NULL;
	struct wait_finding a, b;

	for (int64_t i = 1; i <= 50; i++) {
		add_request(w, "BLOCK", GATEWAY, 1, i * 100 * MS, 40 * MS, false);
		add_wait(w, UINT64_MAX, i * 100 * MS + 10 * MS, i * 100 * MS + 41 * MS);
	}
	a = cause(w);
	assert_int_equal(setup((void **)&other), 0);
	label(other, RECORD_REQUEST_BEGIN, "s/hone:request_begin(BLOCK)");
	for (int64_t i = 50; i >= 1; i--)
		add_request(other, "BLOCK", GATEWAY, 1, i * 100 * MS, 40 * MS, false);
	memcpy(other->waits, w->waits, sizeof w->waits);
	other->nwaits = w->nwaits;
	b = cause(other);
	assert_memory_equal(&a, &b, sizeof a);
	teardown((void **)&other);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_request_that_holds_the_thread_is_named),
		TEST(a_unit_that_waited_itself_held_no_thread),
		TEST(work_on_other_threads_is_not_the_cause),
		TEST(a_request_does_not_wait_for_itself),
		TEST(a_process_that_stands_still_is_named),
		TEST(two_processes_that_stand_still_are_both_named),
		TEST(silence_during_the_same_work_is_work),
		TEST(a_cause_of_a_small_part_is_not_named),
		TEST(few_waits_show_no_cause),
		TEST(a_full_history_forgets_the_oldest_waits),
		TEST(the_order_of_traces_does_not_matter),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
