/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "controlplane/search/next_step.h"

static void
is(struct next_facts f, enum next_what what, enum next_reason reason)
{
	struct next_step s = next_step(&f);

	assert_int_equal(s.what, what);
	assert_int_equal(s.reason, reason);
}

static void
finishes(struct next_facts f, enum verdict_kind kind, enum next_reason reason)
{
	is(f, NEXT_FINISH, reason);
	assert_int_equal(next_step(&f).kind, kind);
}

/* All tracepoints that could be enabled were tried, and no cut was found. */
static const struct next_facts TRIED = {
	.candidates = TRIAL_NONE, .exploration = TRIAL_NONE, .layer_trial = TRIAL_NONE
};

static void
what_can_be_enabled_is_tried_in_its_order(void **state)
{
	struct next_facts f = { 0 };
	(void)state;

	is(f, NEXT_CANDIDATES, NEXT_LEARNED);
	f.candidates = TRIAL_NONE;
	is(f, NEXT_EXPLORE, NEXT_NOT_LEARNED);
	f.exploration = TRIAL_NONE;
	is(f, NEXT_LAYER, NEXT_OWN_USED_UP);
	f.layer_trial = TRIAL_NONE;
	finishes(f, VERDICT_PLACE, NEXT_NOTHING_LEFT);
}

static void
what_was_enabled_is_a_new_cycle(void **state)
{
	(void)state;

	is((struct next_facts){ .candidates = TRIAL_SOME }, NEXT_CYCLE, NEXT_ENABLED);
	is((struct next_facts){ .candidates = TRIAL_NONE, .exploration = TRIAL_SOME }, NEXT_CYCLE,
	    NEXT_ENABLED);
	is((struct next_facts){ .layer = LAYER_OPEN, .layer_trial = TRIAL_SOME }, NEXT_CYCLE,
	    NEXT_ENABLED);
}

static void
step_1_two_searches_of_one_edge_are_one_too_many(void **state)
{
	struct next_facts f = TRIED;
	(void)state;

	f.duplicate = true;
	is(f, NEXT_END, NEXT_DUPLICATE);
	f.spreads = NEXT_SPREADS_MAX;
	f.spread = true;
	is(f, NEXT_END, NEXT_DUPLICATE);
}

static void
step_2_the_second_spread_in_a_row_is_the_last(void **state)
{
	struct next_facts f = { .spread = true, .spreads = 1 };
	(void)state;

	is(f, NEXT_CANDIDATES, NEXT_LEARNED);
	f.spreads = 2;
	finishes(f, VERDICT_SPREAD, NEXT_SPREAD_TWICE);
	f.task = TASK_PROBE_LAYER;
	f.layer = LAYER_OPEN;
	f.spread = false;
	is(f, NEXT_LAYER, NEXT_OWN_USED_UP);
}

static void
steps_4_and_5_used_effort_cuts_only_what_was_left(void **state)
{
	struct next_facts f = { .effort_used = true };
	(void)state;

	is(f, NEXT_COUNT, NEXT_EFFORT_USED);
	f.left = TRIAL_SOME;
	finishes(f, VERDICT_CUT, NEXT_EFFORT_USED);
	f.separates = f.unsure = true;
	finishes(f, VERDICT_CUT, NEXT_EFFORT_USED);
	f = (struct next_facts){ .effort_used = true, .left = TRIAL_NONE };
	is(f, NEXT_CANDIDATES, NEXT_LEARNED);
	f.candidates = TRIAL_NONE; /* exploring would be one more cycle */
	is(f, NEXT_LAYER, NEXT_OWN_USED_UP);
	f.candidates = TRIAL_OPEN;
	f.layer = LAYER_OPEN;
	f.left = TRIAL_OPEN;
	is(f, NEXT_LAYER, NEXT_OWN_USED_UP);
}

static void
step_8_a_slow_side_is_followed_once_nothing_cuts_both(void **state)
{
	struct next_facts f = { .separates = true };
	(void)state;

	is(f, NEXT_CANDIDATES, NEXT_LEARNED);
	f = TRIED;
	f.separates = true;
	is(f, NEXT_SLOW_SIDE, NEXT_SEPARATED);
	f.unsure = f.over_budget = f.spread = true;
	is(f, NEXT_SLOW_SIDE, NEXT_SEPARATED);
	f = TRIED;
	f.separates = true;
	f.side = SIDE_SLOW;
	finishes(f, VERDICT_PLACE, NEXT_NOTHING_LEFT);
}

static void
step_9_what_stays_unsure_is_forced(void **state)
{
	struct next_facts f = TRIED;
	(void)state;

	f.side = SIDE_SLOW;
	f.unsure = f.spread = true;
	is(f, NEXT_FORCE, NEXT_EXCESS_UNBOUNDED);
	f.candidates = TRIAL_OPEN;
	is(f, NEXT_CANDIDATES, NEXT_LEARNED);
}

static void
step_10_the_preload_layer_comes_last_and_not_always(void **state)
{
	struct next_facts f = TRIED;
	(void)state;

	f.layer_trial = TRIAL_OPEN;
	is(f, NEXT_LAYER, NEXT_OWN_USED_UP);
	f.spread = true;
	finishes(f, VERDICT_SPREAD, NEXT_NO_PART);
	f.spread = false;
	f.over_budget = true;
	finishes(f, VERDICT_CUT, NEXT_OVER_BUDGET);
}

static void
steps_11_to_13_finish_as_what_was_found(void **state)
{
	struct next_facts f = TRIED;
	(void)state;

	finishes(f, VERDICT_PLACE, NEXT_NOTHING_LEFT);
	f.spread = true;
	finishes(f, VERDICT_SPREAD, NEXT_NO_PART);
	f.over_budget = true;
	finishes(f, VERDICT_CUT, NEXT_OVER_BUDGET);
}

/* For any facts: carried out trial after trial, the function comes to an end, and asks for each
 * trial at most once. */
static void
every_sequence_ends(void **state)
{
	(void)state;

	for (unsigned bits = 0; bits < 1u << 12; bits++) {
		struct next_facts f = { .duplicate = bits & 1,
			.spread = bits >> 1 & 1,
			.spreads = bits >> 2 & 1,
			.unsure = bits >> 3 & 1,
			.separates = bits >> 4 & 1,
			.side = bits >> 5 & 1 ? SIDE_SLOW : SIDE_BOTH,
			.layer = bits >> 6 & 1 ? LAYER_OPEN : LAYER_CLOSED,
			.effort_used = bits >> 7 & 1,
			.over_budget = bits >> 8 & 1 };
		enum trial left = bits >> 9 & 1 ? TRIAL_SOME : TRIAL_NONE;
		enum trial candidates = bits >> 10 & 1 ? TRIAL_SOME : TRIAL_NONE;
		enum trial later = bits >> 11 & 1 ? TRIAL_SOME : TRIAL_NONE;
		int steps = 0;
		enum next_what what;

		while ((what = next_step(&f).what) >= NEXT_COUNT && what <= NEXT_LAYER) {
			assert_true(++steps <= 4);
			if (what == NEXT_COUNT) {
				assert_int_equal(f.left, TRIAL_OPEN);
				f.left = left;
			} else if (what == NEXT_CANDIDATES) {
				assert_int_equal(f.candidates, TRIAL_OPEN);
				f.candidates = candidates;
			} else if (what == NEXT_EXPLORE) {
				assert_int_equal(f.exploration, TRIAL_OPEN);
				f.exploration = later;
			} else {
				assert_int_equal(f.layer_trial, TRIAL_OPEN);
				f.layer_trial = later;
			}
		}
	}
}

static void
the_final_edge_waits_for_its_traces(void **state)
{
	struct final_facts f = { .found = true, .traces = 149, .passing = 30, .looked = true };
	(void)state;

	assert_int_equal(final_step(&f), FINAL_WAIT);
	f.traces = 150;
	assert_int_equal(final_step(&f), FINAL_CONCLUDE);
	f.passing = 29;
	assert_int_equal(final_step(&f), FINAL_WAIT);
	f.passing = 30;
	f.wanted = 300;
	assert_int_equal(final_step(&f), FINAL_WAIT);
	f.deadline_passed = true;
	assert_int_equal(final_step(&f), FINAL_CONCLUDE);
	f.passing = 5;
	assert_int_equal(final_step(&f), FINAL_CONCLUDE);
	f.passing = 4;
	assert_int_equal(final_step(&f), FINAL_END);
	f.passing = 1000;
	f.found = false;
	assert_int_equal(final_step(&f), FINAL_END);
	f.deadline_passed = false;
	assert_int_equal(final_step(&f), FINAL_WAIT);
}

/* It was measured with 40 after a deadline, and was not sure. */
static void
an_open_final_edge_is_measured_again_with_twice_its_traces(void **state)
{
	struct final_facts f = { .found = true,
		.traces = 79,
		.passing = 79,
		.wanted = 80,
		.open = true,
		.looked = true };
	(void)state;

	assert_int_equal(final_step(&f), FINAL_WAIT);
	f.traces = f.passing = 80;
	assert_int_equal(final_step(&f), FINAL_CONCLUDE);
	f.passing = 29;
	assert_int_equal(final_step(&f), FINAL_WAIT);
	f.passing = 80;
	f.open = false;
	assert_int_equal(final_step(&f), FINAL_WAIT);
	f.open = true;
	f.wanted = 0; /* not measured yet */
	assert_int_equal(final_step(&f), FINAL_WAIT);
}

static void
the_final_edge_is_looked_at_before_it_has_all_its_traces(void **state)
{
	struct final_facts f = { .found = true, .traces = NEXT_CLEAR, .passing = NEXT_PASSING };
	(void)state;

	assert_int_equal(final_step(&f), FINAL_LOOK);
	f.wanted = NEXT_CLEAR + 1; /* it was found with so many */
	assert_int_equal(final_step(&f), FINAL_WAIT);
	f.wanted = 0;
	f.traces = NEXT_CLEAR - 1;
	assert_int_equal(final_step(&f), FINAL_WAIT);
	f.traces = NEXT_PLENTY - 1;
	f.passing = NEXT_PASSING - 1;
	assert_int_equal(final_step(&f), FINAL_WAIT);
	f.passing = NEXT_PASSING;
	f.found = false;
	assert_int_equal(final_step(&f), FINAL_WAIT);
	f.found = f.looked = true;
	assert_int_equal(final_step(&f), FINAL_WAIT);
	f.looked = false;
	f.traces = NEXT_PLENTY;
	assert_int_equal(final_step(&f), FINAL_CONCLUDE);
}

/* Requests come, but not on a path with the edge: a larger edge is a result, too. */
static void
an_edge_that_does_not_come_back_is_taken_back(void **state)
{
	struct final_facts f = { .traces = 5, .can_take_back = true };
	(void)state;

	assert_int_equal(final_step(&f), FINAL_WAIT);
	f.deadline_passed = true;
	assert_int_equal(final_step(&f), FINAL_TAKE_BACK);
	f.can_take_back = false;
	assert_int_equal(final_step(&f), FINAL_END);
	f.can_take_back = true;
	f.traces = 4;
	assert_int_equal(final_step(&f), FINAL_END);
}

static void
a_verdict_is_not_kept_against_its_own_measurement(void **state)
{
	struct verdict_facts f = { .share = 0.5,
		.share_low = 0.4,
		.share_high = 0.6,
		.root_share = 0.8,
		.can_take_back = true,
		.sure = true,
		.traces = 1000 };
	(void)state;

	assert_int_equal(verdict_step(&f), VERDICT_STEP_KEEP);
	f.share = 0.15;
	f.share_low = 0.1;
	f.share_high = 0.19; /* less than a quarter of 0.8 */
	assert_int_equal(verdict_step(&f), VERDICT_STEP_TAKE_BACK);
	f.share_high = 0.2; /* but 1,000 requests say so, too */
	assert_int_equal(verdict_step(&f), VERDICT_STEP_TAKE_BACK);
	f.traces = 150;
	f.deadline_passed = true;
	assert_int_equal(verdict_step(&f), VERDICT_STEP_KEEP);
	f.share_low = 0;
	assert_int_equal(verdict_step(&f), VERDICT_STEP_TAKE_BACK);
	f.can_take_back = false;
	assert_int_equal(verdict_step(&f), VERDICT_STEP_END);
}

/* Requests within a short time are correlated: all of them may have waited in the same queue, or
 * none. */
static void
few_traces_do_not_contradict_before_the_deadline(void **state)
{
	struct verdict_facts f = { .share = 0.15,
		.share_low = 0.1,
		.share_high = 0.19,
		.root_share = 0.8,
		.can_take_back = true,
		.sure = true,
		.traces = 999 };
	(void)state;

	assert_int_equal(verdict_step(&f), VERDICT_STEP_MORE);
	f.share_high = 0.3; /* nor are they enough to keep it */
	assert_int_equal(verdict_step(&f), VERDICT_STEP_MORE);
	f.share_high = 0.19;
	f.traces = 1000;
	assert_int_equal(verdict_step(&f), VERDICT_STEP_TAKE_BACK);
	f.traces = 150;
	f.deadline_passed = true;
	assert_int_equal(verdict_step(&f), VERDICT_STEP_TAKE_BACK);
}

/* A burst is over: what is left of the variance has shares that do not contradict the search. */
static void
a_problem_that_went_away_is_no_verdict(void **state)
{
	struct verdict_facts f = { .carries = 9.9,
		.carried_found = 100,
		.share = 0.5,
		.share_low = 0.4,
		.share_high = 0.6,
		.root_share = 0.8,
		.sure = true,
		.traces = 999 };
	(void)state;

	assert_int_equal(verdict_step(&f), VERDICT_STEP_MORE);
	f.traces = 1000;
	assert_int_equal(verdict_step(&f), VERDICT_STEP_GONE);
	f.carries = 10;
	assert_int_equal(verdict_step(&f), VERDICT_STEP_KEEP);
	f.carries = 9.9;
	f.traces = 150;
	f.deadline_passed = true;
	assert_int_equal(verdict_step(&f), VERDICT_STEP_GONE);
	f.carried_found = 0; /* not known */
	assert_int_equal(verdict_step(&f), VERDICT_STEP_KEEP);
}

static void
for_nearly_enough_requests_the_deadline_is_put_off_once(void **state)
{
	struct verdict_facts f = { .share = 0.17,
		.share_low = -0.02,
		.share_high = 0.51,
		.effective = VERDICT_EFFECTIVE_MIN,
		.traces = 667,
		.deadline_passed = true,
		.patience_passed = true };
	(void)state;

	assert_int_equal(verdict_step(&f), VERDICT_STEP_MORE);
	f.traces = 666;
	assert_int_equal(verdict_step(&f), VERDICT_STEP_KEEP);
	f.traces = DECIDE_MANY;
	assert_int_equal(verdict_step(&f), VERDICT_STEP_KEEP);
	f.traces = 999;
	f.put_off = true;
	assert_int_equal(verdict_step(&f), VERDICT_STEP_KEEP);
	f.put_off = false;
	f.sure = true;
	assert_int_equal(verdict_step(&f), VERDICT_STEP_KEEP);
}

static void
a_verdict_that_is_not_sure_waits_until_the_deadline_or_for_enough_requests(void **state)
{
	struct verdict_facts f = { .share = 0.5,
		.share_low = -0.1,
		.share_high = 0.9,
		.effective = VERDICT_EFFECTIVE_MIN,
		.traces = DECIDE_MANY };
	(void)state;

	assert_int_equal(verdict_step(&f), VERDICT_STEP_MORE);
	f.patience_passed = true;
	assert_int_equal(verdict_step(&f), VERDICT_STEP_MORE);
	f.deadline_passed = true;
	assert_int_equal(verdict_step(&f), VERDICT_STEP_KEEP);
	f.patience_passed = false;
	assert_int_equal(verdict_step(&f), VERDICT_STEP_MORE);
	f.share_low = 0.1;
	f.sure = true;
	assert_int_equal(verdict_step(&f), VERDICT_STEP_KEEP);
}

/* Whatever is asked for otherwise, a look that is not clear changes nothing. */
static void
of_few_requests_only_a_clear_verdict_is_kept(void **state)
{
	const struct verdict_facts clear = { .share = 0.9,
		.share_low = VERDICT_CLEAR_MIN,
		.share_high = 1,
		.root_share = 0.9,
		.carries = 90,
		.carried_found = 100,
		.can_take_back = true,
		.sure = true,
		.traces = NEXT_CLEAR,
		.effective = VERDICT_EFFECTIVE_MIN,
		.look = true };
	struct verdict_facts f = clear;
	(void)state;

	assert_int_equal(verdict_step(&f), VERDICT_STEP_KEEP);
	f.share_low = VERDICT_CLEAR_MIN - 0.01;
	assert_int_equal(verdict_step(&f), VERDICT_STEP_WAIT);
	f.look = false;
	assert_int_equal(verdict_step(&f), VERDICT_STEP_KEEP);
	f = clear;
	f.effective = VERDICT_EFFECTIVE_MIN - 1;
	assert_int_equal(verdict_step(&f), VERDICT_STEP_WAIT);
	f = clear;
	f.rest_open = true;
	assert_int_equal(verdict_step(&f), VERDICT_STEP_WAIT);
	f = clear;
	f.few_open = true;
	assert_int_equal(verdict_step(&f), VERDICT_STEP_WAIT);
	f = clear;
	f.calm = true;
	assert_int_equal(verdict_step(&f), VERDICT_STEP_WAIT);
	f = clear;
	f.worth_open = true;
	assert_int_equal(verdict_step(&f), VERDICT_STEP_WAIT);
	f = clear;
	f.carries = 9;
	assert_int_equal(verdict_step(&f), VERDICT_STEP_WAIT);
	f.deadline_passed = true;
	assert_int_equal(verdict_step(&f), VERDICT_STEP_WAIT);
}

static void
exploring_is_enough_with_traces_and_costs(void **state)
{
	(void)state;

	assert_false(next_explored_enough(49, true, false));
	assert_true(next_explored_enough(50, true, false));
	assert_false(next_explored_enough(50, false, false));
	assert_true(next_explored_enough(0, false, true));
}

static void
a_verdict_waits_until_it_is_known_whether_it_is_worth_mending(void **state)
{
	struct verdict_facts f = { .share = 0.3,
		.share_low = 0.1,
		.share_high = 0.5,
		.sure = true,
		.worth_open = true,
		.effective = VERDICT_EFFECTIVE_MIN,
		.traces = VERDICT_WORTH_TRACES - 1 };
	(void)state;

	assert_int_equal(verdict_step(&f), VERDICT_STEP_MORE);
	f.traces++;
	assert_int_equal(verdict_step(&f), VERDICT_STEP_KEEP);
	f.traces--;
	f.deadline_passed = true;
	assert_int_equal(verdict_step(&f), VERDICT_STEP_KEEP);
	f = (struct verdict_facts){ .share = 0.3,
		.share_low = 0.1,
		.share_high = 0.5,
		.sure = true,
		.effective = VERDICT_EFFECTIVE_MIN };
	assert_int_equal(verdict_step(&f), VERDICT_STEP_KEEP);
}

static void
a_verdict_waits_while_its_requests_vary_much_less_than_all(void **state)
{
	struct verdict_facts f = { .share = 0.5,
		.share_low = 0.4,
		.share_high = 0.6,
		.sure = true,
		.calm = true,
		.effective = VERDICT_EFFECTIVE_MIN,
		.traces = VERDICT_WORTH_TRACES - 1 };
	(void)state;

	assert_int_equal(verdict_step(&f), VERDICT_STEP_MORE);
	f.deadline_passed = true;
	assert_int_equal(verdict_step(&f), VERDICT_STEP_KEEP);
	f.deadline_passed = false;
	f.traces++;
	assert_int_equal(verdict_step(&f), VERDICT_STEP_KEEP);
}

static void
a_verdict_waits_while_its_traces_are_worth_few_independent_ones(void **state)
{
	struct verdict_facts f = { .share = 0.3,
		.share_low = 0.1,
		.share_high = 0.5,
		.sure = true,
		.effective = VERDICT_EFFECTIVE_MIN - 1,
		.traces = VERDICT_DEPENDENT_TRACES - 1 };
	(void)state;

	assert_int_equal(verdict_step(&f), VERDICT_STEP_MORE);
	f.traces++;
	assert_int_equal(verdict_step(&f), VERDICT_STEP_KEEP);
	f.traces--;
	f.effective++;
	assert_int_equal(verdict_step(&f), VERDICT_STEP_KEEP);
	f.effective--;
	f.deadline_passed = true;
	assert_int_equal(verdict_step(&f), VERDICT_STEP_KEEP);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_verdict_waits_until_it_is_known_whether_it_is_worth_mending),
		cmocka_unit_test(a_verdict_waits_while_its_requests_vary_much_less_than_all),
		cmocka_unit_test(a_verdict_waits_while_its_traces_are_worth_few_independent_ones),
		cmocka_unit_test(what_can_be_enabled_is_tried_in_its_order),
		cmocka_unit_test(what_was_enabled_is_a_new_cycle),
		cmocka_unit_test(step_1_two_searches_of_one_edge_are_one_too_many),
		cmocka_unit_test(step_2_the_second_spread_in_a_row_is_the_last),
		cmocka_unit_test(steps_4_and_5_used_effort_cuts_only_what_was_left),
		cmocka_unit_test(step_8_a_slow_side_is_followed_once_nothing_cuts_both),
		cmocka_unit_test(step_9_what_stays_unsure_is_forced),
		cmocka_unit_test(step_10_the_preload_layer_comes_last_and_not_always),
		cmocka_unit_test(steps_11_to_13_finish_as_what_was_found),
		cmocka_unit_test(every_sequence_ends),
		cmocka_unit_test(the_final_edge_waits_for_its_traces),
		cmocka_unit_test(an_open_final_edge_is_measured_again_with_twice_its_traces),
		cmocka_unit_test(the_final_edge_is_looked_at_before_it_has_all_its_traces),
		cmocka_unit_test(of_few_requests_only_a_clear_verdict_is_kept),
		cmocka_unit_test(an_edge_that_does_not_come_back_is_taken_back),
		cmocka_unit_test(a_verdict_is_not_kept_against_its_own_measurement),
		cmocka_unit_test(few_traces_do_not_contradict_before_the_deadline),
		cmocka_unit_test(a_problem_that_went_away_is_no_verdict),
		cmocka_unit_test(for_nearly_enough_requests_the_deadline_is_put_off_once),
		cmocka_unit_test(
		    a_verdict_that_is_not_sure_waits_until_the_deadline_or_for_enough_requests),
		cmocka_unit_test(exploring_is_enough_with_traces_and_costs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
