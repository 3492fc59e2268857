/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "paths.h"

#include "controlplane/search/thread_pool.h"

/* Four threads that are held for 60 % of the time; requests wait as long as expected. */
static const struct pool_facts HEALTHY = { .effect = 0.6,
	.load = { .threads = 4,
	    .processes = 1,
	    .jobs = 1000,
	    .utilisation = 0.6,
	    .service_ns = 2e6,
	    .service_cv = 1.2,
	    .wait_ns = 1e6,
	    .expected_ns = 1e6,
	    .usual_utilisation = 0.5,
	    .usual_expected_ns = 4e5 } };

static void
step_1_of_few_jobs_nothing_is_known(void **state)
{
	struct pool_facts f = HEALTHY;
	(void)state;

	f.load.jobs = POOL_JOBS_MIN - 1;
	f.load.utilisation = 1;
	assert_int_equal(pool_state(&f), POOL_NONE);
}

static void
step_2_threads_whose_units_wait_for_others_are_no_cause(void **state)
{
	struct pool_facts f = HEALTHY;
	struct verdict v = { .effect = 0.9, .pool = POOL_WAITING, .new_part = NAN };
	(void)state;

	f.effect = 0.9;
	f.load.utilisation = 0.95;
	f.load.joining = 0.51;
	assert_int_equal(pool_state(&f), POOL_WAITING);
	assert_false(verdict_worth(&v, 0.25));
	assert_false(verdict_open(&v, 0.25));
	f.load.joining = 0.49;
	assert_int_equal(pool_state(&f), POOL_SATURATED);
	f.load.joining = 0.9; /* of threads that are mostly free it does not matter */
	f.load.utilisation = 0.2;
	assert_int_equal(pool_state(&f), POOL_UNEXPLAINED);
}

static void
step_3_threads_that_are_always_held_are_saturated(void **state)
{
	struct pool_facts f = HEALTHY;
	(void)state;

	f.load.utilisation = 0.85;
	f.effect = 0.1;
	assert_int_equal(pool_state(&f), POOL_SATURATED);
	f.load.expected_ns = INFINITY;
	f.load.utilisation = 1;
	assert_int_equal(pool_state(&f), POOL_SATURATED);
}

static void
step_4_processes_that_stand_still_lead_to_waits_that_no_load_leads_to(void **state)
{
	struct pool_facts f = HEALTHY;
	(void)state;

	f.effect = 0.27;
	f.still = 0.95;
	f.load.wait_ns = 5e6;
	assert_int_equal(pool_state(&f), POOL_UNEXPLAINED);
	f.still = 0.4;
	assert_int_equal(pool_state(&f), POOL_USUAL);
	f.still = 0.95;
	f.load.wait_ns = 3.9 * f.load.expected_ns;
	assert_int_equal(pool_state(&f), POOL_USUAL);
}

static void
step_5_waits_that_carry_little_are_usual(void **state)
{
	struct pool_facts f = HEALTHY;
	(void)state;

	f.effect = 0.39;
	f.own = 1;
	f.load.service_cv = 9;
	f.load.wait_ns = 5e6;
	assert_int_equal(pool_state(&f), POOL_USUAL);
	f.effect = 0.4;
	f.own = 0;
	assert_int_equal(pool_state(&f), POOL_UNEXPLAINED);
}

static void
step_6_waits_for_units_of_the_same_request_are_told_apart(void **state)
{
	struct pool_facts f = HEALTHY;
	struct verdict v = { .effect = 0.6, .pool = POOL_OWN, .new_part = NAN };
	(void)state;

	f.load.wait_ns = 5e6;
	f.own = 0.6;
	assert_int_equal(pool_state(&f), POOL_OWN);
	assert_true(verdict_worth(&v, 0.25));
	f.own = 0.4;
	assert_int_equal(pool_state(&f), POOL_UNEXPLAINED);
}

static void
step_7_threads_that_are_mostly_held_and_carry_nearly_all_are_saturated(void **state)
{
	struct pool_facts f = HEALTHY;
	(void)state;

	f.load.utilisation = 0.82;
	f.effect = 0.75;
	assert_int_equal(pool_state(&f), POOL_USUAL);
	f.effect = 0.85;
	assert_int_equal(pool_state(&f), POOL_SATURATED);
	f.load.utilisation = 0.71;
	assert_int_equal(pool_state(&f), POOL_USUAL);
	f.effect = 0.96;
	assert_int_equal(pool_state(&f), POOL_SATURATED);
	f.load.service_cv = 1.6; /* 0.96 + 0.16 - 0.6 = 0.52 */
	assert_int_equal(pool_state(&f), POOL_USUAL);
}

static void
step_8_waits_that_the_load_does_not_explain_are_a_cause(void **state)
{
	struct pool_facts f = HEALTHY;
	(void)state;

	f.load.wait_ns = 5e6;
	assert_int_equal(pool_state(&f), POOL_UNEXPLAINED);
	f = HEALTHY;
	f.still = 0.6;
	assert_int_equal(pool_state(&f), POOL_USUAL); /* no longer than expected */
	f.load.wait_ns = 1.4e6;
	assert_int_equal(pool_state(&f), POOL_UNEXPLAINED);
	f.still = 0.4;
	assert_int_equal(pool_state(&f), POOL_USUAL);
}

static void
step_9_waits_that_a_few_long_units_lead_to_are_a_cause(void **state)
{
	struct pool_facts f = HEALTHY;
	(void)state;

	f.load.usual_expected_ns = 2.9e5;
	assert_int_equal(pool_state(&f), POOL_USUAL); /* as a healthy pool with this load */
	f.effect = 0.85;                              /* 0.85 + 0.12 - 0.51 = 0.46 */
	assert_int_equal(pool_state(&f), POOL_LONG);
	f.load.usual_expected_ns = 3.1e5;
	assert_int_equal(pool_state(&f), POOL_USUAL);
	f.load.usual_expected_ns = 2.9e5;
	f.load.utilisation = 0.69;
	assert_int_equal(pool_state(&f), POOL_USUAL);
}

static void
step_10_an_effect_that_is_large_for_its_load_is_a_cause(void **state)
{
	struct pool_facts f = HEALTHY;
	(void)state;

	f.load.utilisation = 0.2;
	f.effect = 0.5;
	assert_int_equal(pool_state(&f), POOL_USUAL);
	f.effect = 0.66;
	assert_int_equal(pool_state(&f), POOL_UNEXPLAINED);
	f.load.utilisation = 0.5;
	f.effect = 0.83;
	assert_int_equal(pool_state(&f), POOL_USUAL);
	f.load.service_cv = 3;
	assert_int_equal(pool_state(&f), POOL_LONG);
}

static void
step_11_other_waits_are_what_the_load_leads_to(void **state)
{
	struct verdict v = { .effect = 0.6, .pool = POOL_USUAL, .new_part = NAN };
	(void)state;

	assert_int_equal(pool_state(&HEALTHY), POOL_USUAL);
	assert_false(verdict_worth(&v, 0.25));
	v.pool = POOL_SATURATED;
	assert_true(verdict_worth(&v, 0.25));
	assert_false(verdict_worth(&v, 0.7));
}

/* Response times vary by a wait for thread 3, and by as much elsewhere. */
static double
lost_of(struct paths *p, uint32_t requests)
{
	struct thread_history *history = thread_history_new(100000);
	struct event events[3] = { { .pid = 1, .tid = 9 }, { .pid = 1, .tid = 9 },
		{ .pid = 1, .tid = 3 } };
	struct unit unit = { .count = 3, .fork = TRACE_NONE };
	struct trace t = { .nevents = 3, .nunits = 1, .events = events, .units = &unit };
	struct step steps[3] = { { .label = p->of['('], .owner = 1 },
		{ .event = 1, .label = p->of['a'], .owner = 1 },
		{ .event = 2, .label = p->of[')'], .owner = LABEL_NONE } };
	const struct critpath path = { .nsteps = 3, .steps = steps };
	struct path_parts parts = { 0 };
	struct wait_list waits = { 0 };
	struct thread_delay_events *sorted;
	struct type_variance all;
	struct rng r;
	double lost;

	rng_seed(&r, 3);
	for (uint32_t i = 1; i <= requests + 1; i++) { /* after the last one, one more second */
		int64_t time_ns[2] = { 1000000 + (int64_t)rng_below(&r, 1000000),
			1000000 + (int64_t)rng_below(&r, 1000000) };

		events[0].time_ns = i * INT64_C(20000000) + (i > requests ? 1000000000 : 0);
		events[1].time_ns = events[0].time_ns + time_ns[0];
		events[2].time_ns = events[1].time_ns + time_ns[1];
		for (uint32_t k = 0; k < 3; k++) {
			events[k].label = steps[k].label;
			steps[k].time_ns = events[k].time_ns;
		}
		t.id = i;
		assert_int_equal(thread_history_add(history, &t, p->labels, NULL), 0);
		if (i > requests)
			break;
		assert_int_equal(path_parts_add(&parts, &t, &path, 0, NULL), 0);
		assert_int_equal(wait_list_add(&waits, &t, &path, NULL, NULL), 0);
		paths_add(p, "(a)", time_ns);
	}
	all = type_variance_of(p->groups, 0, 1);
	assert_int_equal(thread_delay_sort(&sorted, history, &p->arena, NULL), 0);
	assert_int_equal(
	    pool_delay(&lost, &all, &parts, &waits, sorted, p->labels, p->of[')'], &p->arena, NULL),
	    0);
	path_parts_release(&parts);
	wait_list_release(&waits);
	thread_history_free(history);
	return lost;
}

static void
what_requests_lose_is_known_of_many_and_is_the_least_that_it_may_be(void **state)
{
	struct paths p;
	double lost;
	(void)state;

	paths_begin(&p, "(a)");
	assert_true(isnan(lost_of(&p, 2)));
	assert_true(isnan(lost_of(&p, POOL_JOBS_MIN - 1)));
	paths_end(&p);
	paths_begin(&p, "(a)");
	lost = lost_of(&p, 150);
	assert_true(lost > 0.3 && lost < 0.45); /* of half of it */
	paths_end(&p);
}

/* With a baseline it does not matter what the waits come from. */
static void
what_is_new_is_worth_mending_whatever_it_waits_for(void **state)
{
	struct verdict v = { .effect = 0.6, .new_part = 0.9, .new_low = 0.7 };
	(void)state;

	for (int between = 0; between < 2;
	     between++) { /* or inside a unit, where units take turns */
		v.handed_over = between;
		v.pool = POOL_USUAL;
		v.new_low = 0.7;
		assert_true(verdict_worth(&v, 0.25));
		v.new_low = 0.55; /* a queue may be that long for a minute */
		assert_false(verdict_worth(&v, 0.25));
		v.pool = POOL_LONG; /* but not for no reason */
		assert_true(verdict_worth(&v, 0.25));
		v.new_low = 0.45;
		assert_false(verdict_worth(&v, 0.25));
	}
	v.pool = POOL_NONE; /* no wait for a thread */
	v.handed_over = false;
	assert_true(verdict_worth(&v, 0.25));
	v.new_part = 0.2; /* of 60 %: 12 % */
	v.new_low = 0.1;
	assert_false(verdict_worth(&v, 0.25));
	v.new_part = 0.3;
	assert_true(verdict_worth(&v, 0.25));
	v.new_low = 0;
	assert_false(verdict_worth(&v, 0.25));
	v.pool = POOL_STILL;
	v.new_low = 0.1;
	assert_true(verdict_worth(&v, 0.25));
	v.pool = POOL_SATURATED;
	v.new_part = 0;
	assert_false(verdict_worth(&v, 0.25));
}

/* All waits for the threads are certainly new, though one edge alone has too few of them for an interval. */
static void
a_wait_of_which_enough_is_new_is_sure(void **state)
{
	struct verdict v = { .share_low = -0.1,
		.handed_over = true,
		.pool = POOL_USUAL,
		.new_part = 0.9,
		.new_low = 0.7,
		.from = (char *)"a/hone:fork(x)",
		.to = (char *)"b/hone:unit_begin(x)" };
	(void)state;

	assert_true(verdict_sure(&v));
	v.new_low = 0.55;
	assert_false(verdict_sure(&v));
	v.new_low = NAN;
	assert_false(verdict_sure(&v));
	v.new_low = 0.7;
	v.handed_over = false;
	assert_false(verdict_sure(&v));
}

/* Of rare bursts one edge alone shows too few for an interval. */
static void
a_wait_is_sure_if_all_waits_for_its_threads_certainly_have_enough(void **state)
{
	struct verdict v = { .share_low = 0,
		.handed_over = true,
		.pool = POOL_LONG,
		.pool_low = 0.5,
		.new_part = NAN,
		.new_low = NAN,
		.from = (char *)"a/hone:fork(x)",
		.to = (char *)"b/hone:unit_begin(x)" };
	(void)state;

	assert_true(verdict_sure(&v));
	v.pool_low = 0.2;
	assert_false(verdict_sure(&v));
	v.pool_low = NAN;
	assert_false(verdict_sure(&v));
	v.pool_low = 0.5;
	v.new_part = 0.8; /* how much of it is new is what counts */
	v.new_low = 0.1;
	assert_false(verdict_sure(&v));
	v.new_part = v.new_low = NAN;
	v.pool = POOL_USUAL;
	assert_false(verdict_sure(&v));
	v.pool = POOL_NONE;
	assert_false(verdict_sure(&v));
}

static void
a_wait_is_sure_if_many_requests_wait_much_longer_than_any_load_explains(void **state)
{
	struct verdict v = { .share_low = 0,
		.handed_over = true,
		.pool = POOL_UNEXPLAINED,
		.pool_low = NAN,
		.pool_wait_ns = 464e6,
		.pool_expected_ns = 1e5,
		.pool_service_ns = 3e6,
		.effect = 1,
		.traces = 5 * VERDICT_MANY,
		.passing = VERDICT_MANY,
		.new_part = NAN,
		.new_low = NAN,
		.from = (char *)"a/hone:fork(x)",
		.to = (char *)"b/hone:unit_begin(x)" };
	(void)state;

	assert_true(verdict_sure(&v));
	v.pool_wait_ns = 29 * v.pool_expected_ns;
	assert_false(verdict_sure(&v));
	v.pool_wait_ns = 31 * v.pool_expected_ns;
	assert_true(verdict_sure(&v));
	v.passing--;
	assert_false(verdict_sure(&v));
	v.passing++;
	v.pool_service_ns =
	    4e6; /* threads that are mostly free: expected is next to nothing, and so are the waits */
	assert_false(verdict_sure(&v));
	v.pool_service_ns = v.pool_expected_ns = 0;
	assert_false(verdict_sure(&v));
	v.pool_expected_ns = 1e5;
	v.effect = 0.2;
	assert_false(verdict_sure(&v));
	v.effect = 1;
	v.pool = POOL_LONG;
	assert_false(verdict_sure(&v));
}

static void
step_11_waits_that_certainly_have_most_are_a_cause_whatever_their_load(void **state)
{
	struct pool_facts f = HEALTHY;
	struct verdict v = { .effect = 0.75, .pool = POOL_MOST, .new_part = NAN };
	(void)state;

	f.load.utilisation = 0.6;
	f.effect = 0.75;
	f.effect_low = 0.55;
	assert_int_equal(pool_state(&f), POOL_MOST);
	assert_true(verdict_worth(&v, 0.25));
	f.effect = 0.65;
	assert_int_equal(pool_state(&f), POOL_USUAL);
	f.effect = 0.75;
	f.effect_low = 0.45;
	assert_int_equal(pool_state(&f), POOL_USUAL);
	f.effect_low = NAN;
	assert_int_equal(pool_state(&f), POOL_USUAL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(step_1_of_few_jobs_nothing_is_known),
		cmocka_unit_test(step_2_threads_whose_units_wait_for_others_are_no_cause),
		cmocka_unit_test(step_3_threads_that_are_always_held_are_saturated),
		cmocka_unit_test(
		    step_4_processes_that_stand_still_lead_to_waits_that_no_load_leads_to),
		cmocka_unit_test(step_5_waits_that_carry_little_are_usual),
		cmocka_unit_test(step_6_waits_for_units_of_the_same_request_are_told_apart),
		cmocka_unit_test(
		    step_7_threads_that_are_mostly_held_and_carry_nearly_all_are_saturated),
		cmocka_unit_test(step_8_waits_that_the_load_does_not_explain_are_a_cause),
		cmocka_unit_test(step_9_waits_that_a_few_long_units_lead_to_are_a_cause),
		cmocka_unit_test(step_10_an_effect_that_is_large_for_its_load_is_a_cause),
		cmocka_unit_test(step_11_other_waits_are_what_the_load_leads_to),
		cmocka_unit_test(
		    what_requests_lose_is_known_of_many_and_is_the_least_that_it_may_be),
		cmocka_unit_test(what_is_new_is_worth_mending_whatever_it_waits_for),
		cmocka_unit_test(
		    step_11_waits_that_certainly_have_most_are_a_cause_whatever_their_load),
		cmocka_unit_test(a_wait_of_which_enough_is_new_is_sure),
		cmocka_unit_test(
		    a_wait_is_sure_if_many_requests_wait_much_longer_than_any_load_explains),
		cmocka_unit_test(a_wait_is_sure_if_all_waits_for_its_threads_certainly_have_enough),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
