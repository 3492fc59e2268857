/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kit.h"

#include "analysis/process_still.h"
#include "base/rng.h"

#define MS INT64_C(1000000)
#define CONFIDENCE 0.95

enum { FRONT = 10, WORKER = 20, EVENTS = 6, PERIOD_MS = 500, STILL_MS = 25 };

/* Requests of a front process that hands each to the one thread of a worker, which works for a while. */
struct world {
	struct labels *labels;
	struct thread_history *history;
	struct path_parts parts;
	struct arena arena;
	struct rng rng;
	uint32_t label[EVENTS], other[EVENTS];
	uint64_t traces;
	int64_t free_ns; /* when the worker's thread is free */
	int64_t
	    early_ns; /* so much too early is a request on its clock that follows another one at once */
	bool still; /* the worker stands still for STILL_MS in each PERIOD_MS */
	struct err e;
};

static const struct {
	enum record_kind kind;
	const char *text, *other;
	uint32_t pid;
} EVENT[EVENTS] = {
	{ RECORD_REQUEST_BEGIN, "f/hone:request_begin(GET)", "f/hone:request_begin(PUT)", FRONT },
	{ RECORD_FORK, "f/hone:fork(do)", "f/hone:fork(put)", FRONT },
	{ RECORD_UNIT_BEGIN, "w/hone:unit_begin(do)", "w/hone:unit_begin(put)", WORKER },
	{ RECORD_UNIT_END, "w/hone:unit_end(do)", "w/hone:unit_end(put)", WORKER },
	{ RECORD_JOIN, "f/hone:join(do)", "f/hone:join(put)", FRONT },
	{ RECORD_REQUEST_END, "f/hone:request_end(GET)", "f/hone:request_end(PUT)", FRONT },
};

static int
setup(void **state)
{
	struct world *w = calloc(1, sizeof *w);

	w->labels = labels_new();
	w->history = thread_history_new(100000);
	rng_seed(&w->rng, 1);
	for (int i = 0; i < EVENTS; i++) {
		w->label[i] = labels_intern(
		    w->labels, EVENT[i].kind, EVENT[i].text, strlen(EVENT[i].text), NULL, 0);
		w->other[i] = labels_intern(
		    w->labels, EVENT[i].kind, EVENT[i].other, strlen(EVENT[i].other), NULL, 0);
	}
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

/* The time at which the worker goes on that would go on at at_ns. */
static int64_t
awake(const struct world *w, int64_t at_ns)
{
	int64_t in_ns = at_ns % (PERIOD_MS * MS);

	return w->still && in_ns < STILL_MS * MS ? at_ns - in_ns + STILL_MS * MS : at_ns;
}

/* recorded: its events are known. mine: it is of the type under diagnosis. Requests come in the order of time. */
static void
add_request(struct world *w, int64_t at_ns, int64_t work_ns, bool recorded, bool mine)
{
	const int64_t begin_ns = awake(w,
			  w->free_ns > at_ns + 200000 ? w->free_ns - w->early_ns : at_ns + 200000),
		      end_ns = awake(w, begin_ns + work_ns),
		      times[EVENTS] = { at_ns, at_ns + 100000, begin_ns, end_ns, end_ns + 100000,
			      end_ns + 200000 };
	struct event events[EVENTS];
	struct step steps[EVENTS];
	struct unit units[2] = { { .id = 1, .first = 0, .count = 4, .fork = TRACE_NONE },
		{ .id = 2, .first = 4, .count = 2, .fork = 1 } };
	static const uint32_t PLACE[EVENTS] = { 0, 1, 4, 5, 2, 3 }; /* in the trace, by unit */
	struct trace t = { .id = ++w->traces,
		.type = mine ? w->label[0] : w->other[0],
		.nevents = EVENTS,
		.nunits = 2,
		.events = events,
		.units = units };
	const struct critpath path = { .nsteps = EVENTS, .steps = steps };

	w->free_ns = end_ns;
	if (!recorded)
		return;
	for (uint32_t i = 0; i < EVENTS; i++) {
		uint32_t label = mine ? w->label[i] : w->other[i];

		events[PLACE[i]] = (struct event){ .time_ns = times[i],
			.label = label,
			.unit = PLACE[i] >= 4,
			.pid = EVENT[i].pid,
			.tid = 1 };
		steps[i] = (struct step){ .time_ns = times[i],
			.event = PLACE[i],
			.label = label,
			.owner = i == 2 || i == 4 ? LABEL_NONE : w->label[0] };
	}
	assert_int_equal(thread_history_add(w->history, &t, w->labels, &w->e), 0);
	if (mine)
		assert_int_equal(path_parts_add(&w->parts, &t, &path, 0, &w->e), 0);
}

/* For 10 s, 150 requests/s, of which each works for 1 to 3 ms. */
static void
add_requests(struct world *w, double recorded, double mine)
{
	for (int64_t at_ns = MS; at_ns < 10000 * MS;
	     at_ns += (int64_t)(-log(1 - rng_unit(&w->rng)) * 1e9 / 150))
		add_request(w, at_ns, MS + (int64_t)rng_below(&w->rng, 2 * MS),
		    rng_unit(&w->rng) < recorded, rng_unit(&w->rng) < mine);
}

static struct process_still
find(struct world *w)
{
	struct process_still s;

	assert_int_equal(
	    process_still_of(&s, &w->parts, w->history, CONFIDENCE, &w->arena, &w->e), 0);
	return s;
}

static void
a_process_that_is_stopped_stands_still(void **state)
{
	struct world *w = *state;
	struct process_still s;

	w->still = true;
	add_requests(w, 1, 1);
	s = find(w);
	assert_in_range(s.stills, 15, 25); /* 20 in 10 s */
	assert_in_range(s.certain, PROCESS_STILL_MIN, s.stills);
	assert_int_equal(s.process.pid, WORKER);
	assert_true(s.still_ns > STILL_MS * MS && s.still_ns < 1.5 * STILL_MS * MS);
	assert_true(s.period_ns > 0.7 * PERIOD_MS * MS && s.period_ns < 1.4 * PERIOD_MS * MS);
	/* what waits behind those that were held up is no standing still */
	assert_true(s.share > 0.25 && s.share < 0.9 && s.share_low > 0.1 && s.share_low < s.share);
	assert_true(s.share_high > s.share);
	assert_int_equal(s.from, w->label[1]);
	assert_int_equal(s.to, w->label[2]);
	assert_int_equal(s.waits, s.requests);
	assert_true(s.wait_low > 0.1 && s.wait_low < s.wait_share && s.wait_share < s.wait_high);
}

static void
a_queue_is_no_standing_still(void **state)
{
	struct world *w = *state;

	add_requests(w, 1, 1);
	for (int i = 1; i < 50; i++) /* long work */
		add_request(w, 10000 * MS + i * 100 * MS, 40 * MS, true, i % 2 == 0);
	assert_int_equal(find(w).stills, 0);
}

/* A request seems to begin on the thread before the last one ends: the thread was not free in between. */
static void
nor_where_the_clock_of_a_request_is_wrong(void **state)
{
	struct world *w = *state;

	w->early_ns = 100000;
	a_queue_is_no_standing_still(state);
}

/* Certain stills of 4 ms are rare; one unit in a hundred works for 6 ms. */
static void
work_that_is_slow_is_no_standing_still(void **state)
{
	struct world *w = *state;
	struct process_still s;
	int n = 0;

	for (int64_t at_ns = MS; at_ns < 10000 * MS; at_ns += 2 * MS) {
		if (n % 500 == 250) /* it was stopped, before a request that it was free for */
			w->free_ns = at_ns + 4 * MS;
		add_request(w, at_ns, n++ % 100 == 99 ? 6 * MS : MS / 5, true, true);
	}
	s = find(w);
	assert_true(s.certain >= PROCESS_STILL_MIN);
	assert_true(s.share < 0.25);
}

static void
what_another_type_holds_the_thread_with_is_no_standing_still(void **state)
{
	struct world *w = *state;

	add_requests(w, 1, 0.5);
	assert_int_equal(find(w).stills, 0);
}

static void
work_that_is_not_recorded_is_no_standing_still(void **state)
{
	struct world *w = *state;

	add_requests(w, 0.5, 1);
	thread_history_partial(w->history);
	assert_int_equal(find(w).stills, 0);
}

static void
what_is_recorded_since_the_history_began_anew_counts(void **state)
{
	struct world *w = *state;

	add_requests(w, 0.5, 1);
	thread_history_partial(w->history);
	assert_true(thread_history_is_partial(w->history));
	thread_history_clear(w->history);
	assert_false(thread_history_is_partial(w->history));
	assert_int_equal(find(w).stills, 0); /* what was there is forgotten */
	w->parts.nitems = 0;
	w->free_ns = 0;
	w->still = true;
	add_requests(w, 1, 1);
	assert_true(find(w).stills >= PROCESS_STILL_MIN);
}

static void
without_records_nothing_stands_still(void **state)
{
	assert_int_equal(find(*state).stills, 0);
}

static void
once_or_twice_is_not_enough(void **state)
{
	struct world *w = *state;

	for (int64_t at_ns = MS; at_ns < 10000 * MS; at_ns += 7 * MS) {
		w->still = at_ns > 2900 * MS && at_ns < 3800 * MS;
		add_request(w, at_ns, 2 * MS, true, true);
	}
	assert_int_equal(find(w).stills, 0);
}

static void
only_the_newest_parts_are_kept(void **state)
{
	struct world *w = *state;
	struct process_still s;

	w->still = true;
	for (int i = 0; i < 6; i++) { /* 9,000 requests of 5 parts */
		add_requests(w, 1, 1);
		w->free_ns = 0;
	}
	assert_int_equal(w->parts.nitems, PATH_PARTS_MAX);
	s = find(w);
	assert_in_range(s.requests, 1, PATH_PARTS_MAX / 5);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
		    a_process_that_is_stopped_stands_still, setup, teardown),
		cmocka_unit_test_setup_teardown(a_queue_is_no_standing_still, setup, teardown),
		cmocka_unit_test_setup_teardown(
		    nor_where_the_clock_of_a_request_is_wrong, setup, teardown),
		cmocka_unit_test_setup_teardown(
		    work_that_is_slow_is_no_standing_still, setup, teardown),
		cmocka_unit_test_setup_teardown(
		    what_another_type_holds_the_thread_with_is_no_standing_still, setup, teardown),
		cmocka_unit_test_setup_teardown(
		    work_that_is_not_recorded_is_no_standing_still, setup, teardown),
		cmocka_unit_test_setup_teardown(
		    what_is_recorded_since_the_history_began_anew_counts, setup, teardown),
		cmocka_unit_test_setup_teardown(
		    without_records_nothing_stands_still, setup, teardown),
		cmocka_unit_test_setup_teardown(once_or_twice_is_not_enough, setup, teardown),
		cmocka_unit_test_setup_teardown(only_the_newest_parts_are_kept, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
