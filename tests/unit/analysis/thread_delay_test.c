/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kit.h"

#include "analysis/thread_delay.h"
#include "base/rng.h"

#define MS INT64_C(1000000)
#define CONFIDENCE 0.95

enum { FRONT = 10, LOOP = 20, REQUESTS = 1000, PERIOD_MS = 10 };

/* Requests of a front process whose unit on an event loop sleeps; other requests run on the loop meanwhile. */
struct world {
	struct labels *labels;
	struct thread_history *history;
	struct path_parts parts;
	struct thread_wait between[REQUESTS], inside[REQUESTS];
	uint32_t n;
	struct arena arena;
	struct rng rng;
	uint64_t traces;
	struct err e;
};

static int
setup(void **state)
{
	struct world *w = calloc(1, sizeof *w);

	w->labels = labels_new();
	w->history = thread_history_new(200000);
	rng_seed(&w->rng, 1);
	*state = w;
	return 0;
}

static int
teardown(void **state)
{
	struct world *w = *state;

	path_parts_release(&w->parts);
	thread_history_free(w->history);
	labels_free(w->labels);
	arena_release(&w->arena);
	free(w);
	return 0;
}

struct made { /* an event of a request */
	enum record_kind kind;
	const char *text;
	uint32_t pid, unit;
	int64_t at_ns;
};

/* Events of a trace in the order of their units; path: they are also its critical path, except those of unit 2 or more. */
static struct trace
add_trace(struct world *w, const struct made *made, uint32_t n, struct event *events,
    uint64_t group, bool path)
{
	struct unit units[4] = { 0 };
	struct step steps[8];
	struct trace t = { .id = ++w->traces, .events = events, .nevents = n, .units = units };
	struct critpath p = { .nsteps = 0, .steps = steps };

	for (uint32_t i = 0; i < n; i++) {
		struct unit *u = &units[made[i].unit];

		u->first = u->count++ == 0 ? i : u->first;
		t.nunits = made[i].unit + 1;
		events[i] = (struct event){ .time_ns = made[i].at_ns,
			.label = labels_intern(
			    w->labels, made[i].kind, made[i].text, strlen(made[i].text), NULL, 0),
			.unit = made[i].unit,
			.pid = made[i].pid,
			.tid = 1 };
		steps[p.nsteps++] = (struct step){ .time_ns = made[i].at_ns,
			.event = i,
			.label = events[i].label,
			.owner = i > 0 && made[i].unit != made[i - 1].unit ? LABEL_NONE : 1 };
	}
	t.type = events[0].label;
	assert_int_equal(thread_history_add(w->history, &t, w->labels, &w->e), 0);
	if (path)
		assert_int_equal(path_parts_add(&w->parts, &t, &p, group, &w->e), 0);
	t.units = NULL; /* they end here */
	return t;
}

static void
add_other(struct world *w, int64_t at_ns, int64_t work_ns)
{
	struct event events[2];

	add_trace(w,
	    (struct made[]){ { RECORD_REQUEST_BEGIN, "l/hone:request_begin(PUT)", LOOP, 0, at_ns },
		{ RECORD_REQUEST_END, "l/hone:request_end(PUT)", LOOP, 0, at_ns + work_ns } },
	    2, events, 0, false);
}

/* Its unit sleeps until at_ns + sleep_ns, and goes on when the loop is free again at free_ns. Requests of group 1 take 20 ms longer, before that. */
static void
add_mine(struct world *w, int64_t at_ns, int64_t sleep_ns, int64_t free_ns, uint64_t group)
{
	int64_t begin_ns = at_ns + MS / 10,
		end_ns = at_ns + sleep_ns > free_ns ? at_ns + sleep_ns : free_ns;
	struct event events[4];
	struct trace t = add_trace(w,
	    (struct made[]){ { RECORD_REQUEST_BEGIN, "f/hone:request_begin(GET)", FRONT, 0,
				 at_ns - (int64_t)group * 20 * MS },
		{ RECORD_FORK, "f/hone:fork(do)", FRONT, 0, at_ns + MS / 20 },
		{ RECORD_UNIT_BEGIN, "l/hone:unit_begin(do)", LOOP, 1, begin_ns },
		{ RECORD_UNIT_END, "l/hone:unit_end(do)", LOOP, 1, end_ns } },
	    4, events, group, true);
	struct thread_wait x = { .trace_id = t.id,
		.begin_ns = at_ns + MS / 20,
		.end_ns = begin_ns,
		.from = { 0, FRONT },
		.to = { 0, LOOP },
		.tid = 1,
		.unit = 1 };

	w->between[w->n] = x;
	x.begin_ns = begin_ns;
	x.end_ns = end_ns;
	w->inside[w->n++] = x;
}

/* One request in ten meets another one that holds the loop for hold_ns, 1 ms after it came. */
static void
play(struct world *w, int64_t hold_ns, bool groups)
{
	for (int64_t i = 3; i < REQUESTS + 3; i++) {
		int64_t at_ns = i * PERIOD_MS * MS,
			sleep_ns = 2 * MS + (int64_t)rng_below(&w->rng, MS / 2);
		bool met = rng_below(&w->rng, 10) == 0;

		if (met)
			add_other(w, at_ns + MS, hold_ns);
		add_mine(w, at_ns, sleep_ns, met ? at_ns + MS + hold_ns : 0,
		    groups ? (uint64_t)i % 2 : 0);
	}
}

static struct thread_delay
delay(struct world *w)
{
	struct thread_delay_events *events;
	struct thread_delay d;

	assert_int_equal(thread_delay_sort(&events, w->history, &w->arena, &w->e), 0);
	assert_int_equal(
	    thread_delay_of(&d, &w->parts, events, w->between, w->n, CONFIDENCE, &w->arena, &w->e),
	    0);
	return d;
}

static double
explains(struct world *w, const struct thread_wait *waits, bool own)
{
	struct thread_delay_events *events;
	double part;

	assert_int_equal(thread_delay_sort(&events, w->history, &w->arena, &w->e), 0);
	assert_int_equal(
	    thread_delay_explains(&part, events, waits, w->n, own, &w->arena, &w->e), 0);
	return part;
}

static void
a_unit_that_has_slept_waits_for_the_loop(void **state)
{
	struct world *w = *state;
	struct thread_delay d;

	play(w, 6 * MS, false);
	d = delay(w);
	assert_in_range(d.requests, REQUESTS - 20, REQUESTS);
	assert_true(d.share > 0.9 && d.share <= 1.02);
	assert_true(d.share_low > 0.7 && d.share_low < d.share && d.share < d.share_high);
	assert_true(explains(w, w->inside, false) > 0.8);
	assert_near(explains(w, w->inside, true), 0, 1e-9);
	assert_near(explains(w, w->between, false), 0, 1e-9);
}

static void
a_loop_that_others_use_while_a_unit_sleeps_delays_nothing(void **state)
{
	struct world *w = *state;

	play(w, MS / 2, false);
	assert_true(fabs(delay(w).share) < 0.02);
	assert_true(explains(w, w->inside, false) < 0.02);
}

/* Other requests hold the loop for 4 of 10 ms, whether a unit sleeps for 2 or for 22 ms. */
static void
a_longer_sleep_in_which_others_work_for_longer_is_no_wait(void **state)
{
	struct world *w = *state;

	for (int64_t i = 3; i < REQUESTS + 3; i++) {
		int64_t at_ns = i * 4 * PERIOD_MS * MS;

		for (int64_t k = 0; k < 4; k++)
			add_other(w, at_ns + k * PERIOD_MS * MS + MS, 4 * MS);
		add_mine(w, at_ns, i % 2 == 0 ? 2 * MS : 22 * MS, 0, 0);
	}
	assert_true(explains(w, w->inside, false) < 0.2);
}

/* A throttle sleeps for longer when the loop has much to do. */
static void
a_sleep_that_ends_when_the_loop_is_free_is_no_wait(void **state)
{
	struct world *w = *state;

	for (int64_t i = 3; i < REQUESTS + 3; i++) {
		int64_t at_ns = i * 4 * PERIOD_MS * MS;
		bool busy = i % 4 == 0;

		for (int64_t k = 0; k < 20 && busy; k++)
			add_other(w, at_ns + k * MS + MS / 4, 6 * MS / 10);
		add_mine(w, at_ns, busy ? 19 * MS + (int64_t)rng_below(&w->rng, MS) : 2 * MS, 0, 0);
	}
	assert_true(explains(w, w->inside, false) < 0.1);
	assert_true(delay(w).share < 0.1);
}

static double
exponential_ns(struct world *w, double mean_ns)
{
	return -log(1 - rng_unit(&w->rng)) * mean_ns;
}

/* Others come to the loop at random and have it for 1 ms on average, `load` of all time. Every 100 ms, a unit waits for a call of 2 ms, one
 * time in ten of 30 ms, and then for the loop, behind those that came before. */
static void
play_queue(struct world *w, double load)
{
	int64_t free_ns = 0, next_ns = 0;

	for (int64_t i = 1; i <= REQUESTS; i++) {
		int64_t at_ns = i * 100 * MS,
			back_ns = at_ns + (rng_below(&w->rng, 10) == 0 ? 30 * MS : 2 * MS);

		while (next_ns < back_ns) {
			int64_t begin_ns = next_ns > free_ns ? next_ns : free_ns;

			free_ns = begin_ns + (int64_t)exponential_ns(w, MS);
			add_other(w, begin_ns, free_ns - begin_ns);
			next_ns += (int64_t)exponential_ns(w, MS / load);
		}
		add_mine(w, at_ns, back_ns - at_ns, free_ns, 0);
	}
}

static void
a_call_that_is_slow_at_times_is_no_wait_for_a_loop_with_much_to_do(void **state)
{
	struct world *w = *state;

	play_queue(w, 0.6);
	assert_true(explains(w, w->inside, false) < 0.25);
	assert_true(delay(w).share < 0.25);
}

/* The waits for it have a quarter of the variance there, and the lower end of what goes with them stays below what makes it one for the loop. */
static void
nor_for_one_that_is_held_four_fifths_of_the_time(void **state)
{
	struct world *w = *state;

	play_queue(w, 0.8);
	assert_true(explains(w, w->inside, false) < 0.5);
}

/* Its next event comes after 1 or 2 ms of work. */
static void
what_a_unit_does_after_the_wait_changes_nothing(void **state)
{
	struct world *w = *state;

	for (int64_t i = 3; i < REQUESTS + 3; i++) {
		int64_t at_ns = i * 2 * PERIOD_MS * MS, free_ns = at_ns + 2 * MS;

		if (i % 10 == 0) {
			add_other(w, at_ns + MS, 4 * MS);
			add_other(w, at_ns + 5 * MS + MS / 50, 4 * MS);
			free_ns = at_ns + 9 * MS + MS / 50;
		}
		add_mine(w, at_ns, 0, free_ns + MS + (int64_t)rng_below(&w->rng, MS), 0);
	}
	assert_true(explains(w, w->inside, false) > 0.8);
}

/* After it has the loop again, and before it ends, it passes an added tracepoint. */
static void
a_tracepoint_after_the_wait_changes_nothing(void **state)
{
	struct world *w = *state;

	for (int64_t i = 3; i < REQUESTS + 3; i++) {
		int64_t at_ns = i * PERIOD_MS * MS, begin_ns = at_ns + MS / 10,
			back_ns = begin_ns + 2 * MS + (int64_t)rng_below(&w->rng, MS / 2);
		struct event events[3];

		if (i % 10 == 0) {
			add_other(w, at_ns + MS, 6 * MS);
			back_ns = at_ns + 7 * MS;
		}
		w->inside[w->n] = (struct thread_wait){ .begin_ns = begin_ns,
			.end_ns = back_ns + MS / 5,
			.from = { 0, LOOP },
			.to = { 0, LOOP },
			.tid = 1 };
		w->inside[w->n++].trace_id = add_trace(w,
		    (struct made[]){
			{ RECORD_REQUEST_BEGIN, "l/hone:request_begin(GET)", LOOP, 0, begin_ns },
			{ RECORD_POINT, "l/app:back", LOOP, 0, back_ns + MS / 10 },
			{ RECORD_REQUEST_END, "l/hone:request_end(GET)", LOOP, 0,
			    back_ns + MS / 5 } },
		    3, events, 0, false)
		                                 .id;
	}
	assert_true(explains(w, w->inside, false) > 0.8);
}

/* One has the loop until it goes on, and 20 others begin and end then. */
static void
events_of_one_time_are_before_the_unit_that_goes_on_then(void **state)
{
	struct world *w = *state;

	for (int64_t i = 3; i < REQUESTS + 3; i++) {
		int64_t at_ns = i * PERIOD_MS * MS, free_ns = at_ns + (i % 10 == 0 ? 7 : 2) * MS;

		add_other(w, at_ns + MS, free_ns - at_ns - MS);
		for (int64_t k = 0; k < 20; k++)
			add_other(w, free_ns, 0);
		add_mine(w, at_ns, 0, free_ns, 0);
	}
	assert_true(explains(w, w->inside, false) > 0.9);
	assert_true(delay(w).share > 0.9);
}

static void
what_lies_between_groups_does_not_count(void **state)
{
	struct world *w = *state;
	struct thread_delay d;

	play(w, 6 * MS, true);
	d = delay(w);
	assert_true(d.share > 0.9 && d.share <= 1.02);
}

/* Of two units of a request on one loop, the second one waits for the first, which takes 0.1 or 5 ms. */
static void
a_unit_that_waits_for_another_of_its_request_is_told_apart(void **state)
{
	struct world *w = *state;

	for (int64_t i = 1; i <= REQUESTS; i++) {
		int64_t at_ns = i * PERIOD_MS * MS,
			free_ns = at_ns + (i % 5 == 0 ? 5 * MS : MS / 5);
		struct event events[6];
		struct trace t = add_trace(w,
		    (struct made[]){
			{ RECORD_REQUEST_BEGIN, "f/hone:request_begin(GET)", FRONT, 0, at_ns },
			{ RECORD_FORK, "f/hone:fork(b)", FRONT, 0, at_ns + 1000 },
			{ RECORD_UNIT_BEGIN, "l/hone:unit_begin(a)", LOOP, 1, at_ns + 2000 },
			{ RECORD_UNIT_END, "l/hone:unit_end(a)", LOOP, 1, free_ns },
			{ RECORD_UNIT_BEGIN, "l/hone:unit_begin(b)", LOOP, 2, free_ns + 1000 },
			{ RECORD_UNIT_END, "l/hone:unit_end(b)", LOOP, 2, free_ns + 2000 } },
		    6, events, 0, false);

		w->between[w->n++] = (struct thread_wait){ .trace_id = t.id,
			.begin_ns = at_ns + 1000,
			.end_ns = free_ns + 1000,
			.from = { 0, FRONT },
			.to = { 0, LOOP },
			.tid = 1,
			.unit = 2 };
	}
	assert_true(explains(w, w->between, true) > 0.95);
	assert_near(explains(w, w->between, false), 0, 1e-9);
}

/* 20 waits within 20 ms. */
static void
waits_of_one_moment_explain_nothing(void **state)
{
	struct world *w = *state;

	add_other(w, 0, MS);
	for (int64_t i = 0; i < 20; i++) {
		int64_t at_ns = 1010 * MS + i * MS;

		add_other(w, at_ns + MS / 5, i % 2 * MS / 2);
		add_mine(w, at_ns, MS / 5, at_ns + MS / 5 + i % 2 * MS / 2, 0);
	}
	assert_near(explains(w, w->inside, false), 0, 1e-9);
}

/* Of 15 waits one is long as the loop was held, another one for another reason. */
static void
what_may_be_chance_explains_nothing(void **state)
{
	struct world *w = *state;

	add_other(w, 0, MS);
	for (int64_t i = 1; i <= 15; i++) {
		int64_t at_ns = i * 101 * MS;

		if (i == 5)
			add_other(w, at_ns + MS / 5, 8 * MS);
		add_mine(w, at_ns, i == 10 ? 5 * MS : MS, i == 5 ? at_ns + MS / 5 + 8 * MS : 0, 0);
	}
	assert_true(explains(w, w->inside, false) < 0.5);
}

static void
sorted_once_all_questions_have_the_answers_that_they_have_alone(void **state)
{
	struct world *w = *state;
	struct thread_delay_events *events;
	struct thread_delay d;
	double part;

	play(w, 6 * MS, false);
	assert_int_equal(thread_delay_sort(&events, w->history, &w->arena, &w->e), 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(thread_delay_of(&d, &w->parts, events, w->between, w->n,
				     CONFIDENCE, &w->arena, &w->e),
		    0);
		assert_true(d.share == delay(w).share);
		assert_int_equal(
		    thread_delay_explains(&part, events, w->inside, w->n, false, &w->arena, &w->e),
		    0);
		assert_true(part > 0 && part == explains(w, w->inside, false));
	}
}

static void
few_waits_explain_nothing(void **state)
{
	struct world *w = *state;
	struct thread_delay d;

	assert_near(explains(w, w->inside, false), 0, 1e-9);
	d = delay(w);
	assert_int_equal(d.requests, 0);
	assert_near(d.share, 0, 1e-9);
	for (int i = 1; i < THREAD_HISTORY_WAITS_MIN; i++)
		add_mine(w, i * PERIOD_MS * MS, MS, 0, 0);
	assert_near(explains(w, w->inside, false), 0, 1e-9);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
		    a_unit_that_has_slept_waits_for_the_loop, setup, teardown),
		cmocka_unit_test_setup_teardown(
		    a_loop_that_others_use_while_a_unit_sleeps_delays_nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(
		    a_longer_sleep_in_which_others_work_for_longer_is_no_wait, setup, teardown),
		cmocka_unit_test_setup_teardown(
		    a_sleep_that_ends_when_the_loop_is_free_is_no_wait, setup, teardown),
		cmocka_unit_test_setup_teardown(
		    a_call_that_is_slow_at_times_is_no_wait_for_a_loop_with_much_to_do, setup,
		    teardown),
		cmocka_unit_test_setup_teardown(
		    nor_for_one_that_is_held_four_fifths_of_the_time, setup, teardown),
		cmocka_unit_test_setup_teardown(
		    what_a_unit_does_after_the_wait_changes_nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(
		    a_tracepoint_after_the_wait_changes_nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(
		    events_of_one_time_are_before_the_unit_that_goes_on_then, setup, teardown),
		cmocka_unit_test_setup_teardown(
		    what_lies_between_groups_does_not_count, setup, teardown),
		cmocka_unit_test_setup_teardown(
		    a_unit_that_waits_for_another_of_its_request_is_told_apart, setup, teardown),
		cmocka_unit_test_setup_teardown(
		    waits_of_one_moment_explain_nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(
		    what_may_be_chance_explains_nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(
		    sorted_once_all_questions_have_the_answers_that_they_have_alone, setup,
		    teardown),
		cmocka_unit_test_setup_teardown(few_waits_explain_nothing, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
