/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "controlplane/search/search_phase.h"

static void
every_phase_has_a_name_and_ends(void **state)
{
	(void)state;

	for (enum search_phase p = SEARCH_WAITING; p <= SEARCH_ENDED; p++) {
		assert_true(search_phase_text(p)[0] != '\0');
		assert_int_equal(search_phase_may_follow(p, SEARCH_ENDED), p != SEARCH_ENDED);
		assert_false(search_phase_may_follow(p, SEARCH_WAITING));
		assert_false(search_phase_may_follow(SEARCH_ENDED, p));
	}
}

static void
traces_count_only_after_a_confirmation(void **state)
{
	(void)state;

	assert_false(search_phase_may_follow(SEARCH_WAITING, SEARCH_GATHERING));
	assert_false(search_phase_may_follow(SEARCH_PAUSED, SEARCH_GATHERING));
	assert_false(search_phase_may_follow(SEARCH_BACKING_OFF, SEARCH_GATHERING));
	assert_true(search_phase_may_follow(SEARCH_SWITCHING, SEARCH_GATHERING));
	assert_true(search_phase_may_follow(SEARCH_UNCONFIRMED, SEARCH_GATHERING));
}

static void
the_final_edge_is_the_last_task_unless_it_is_narrowed_once_more(void **state)
{
	(void)state;

	for (enum search_task t = TASK_NARROW; t <= TASK_FINAL_EDGE; t++) {
		assert_int_equal(search_task_may_follow(TASK_FINAL_EDGE, t),
		    t == TASK_FINAL_EDGE || t == TASK_NARROW);
		assert_true(search_task_may_follow(t, t));
	}
	assert_false(search_task_may_follow(TASK_EXPLORE, TASK_FINAL_EDGE));
}

static enum phase_next
next_of(enum search_phase phase, struct phase_facts f)
{
	f.phase = phase;
	return phase_next(&f);
}

static void
what_has_not_begun_or_has_ended_does_not_go_on(void **state)
{
	const struct phase_facts all = { .paused = true,
		.paused_long = true,
		.backing_off = true,
		.fresh = true,
		.any_enabled = true,
		.over_budget = true,
		.confirmed = true,
		.in_cycle_ns = INT64_MAX,
		.since_check_ns = INT64_MAX };
	(void)state;

	assert_int_equal(next_of(SEARCH_WAITING, all), PHASE_NEXT_NONE);
	assert_int_equal(next_of(SEARCH_ENDED, all), PHASE_NEXT_NONE);
}

static void
a_pause_ends_when_queues_are_short(void **state)
{
	(void)state;

	for (enum search_phase p = SEARCH_PAUSED; p <= SEARCH_BACKING_OFF; p++) {
		assert_int_equal(
		    next_of(p, (struct phase_facts){ .paused = true, .confirmed = true }),
		    PHASE_NEXT_NONE);
		assert_int_equal(
		    next_of(p, (struct phase_facts){ .confirmed = true }), PHASE_NEXT_RESUME);
	}
}

static void
a_long_pause_withdraws_what_is_fresh(void **state)
{
	struct phase_facts f = { .paused = true, .paused_long = true, .fresh = true };
	(void)state;

	assert_int_equal(next_of(SEARCH_SWITCHING, f), PHASE_NEXT_WITHDRAW);
	assert_int_equal(next_of(SEARCH_UNCONFIRMED, f), PHASE_NEXT_WITHDRAW);
	f.fresh = false;
	assert_int_equal(next_of(SEARCH_SWITCHING, f), PHASE_NEXT_NONE);
	f.fresh = true;
	f.paused_long = false;
	assert_int_equal(next_of(SEARCH_SWITCHING, f), PHASE_NEXT_NONE);
}

static void
an_agent_that_backs_off_withdraws_at_once(void **state)
{
	const struct phase_facts f = { .backing_off = true, .confirmed = true };
	(void)state;

	assert_int_equal(next_of(SEARCH_SWITCHING, f), PHASE_NEXT_WITHDRAW);
	assert_int_equal(next_of(SEARCH_UNCONFIRMED, f), PHASE_NEXT_WITHDRAW);
	/* first, its traces no longer count */
	assert_int_equal(next_of(SEARCH_GATHERING, f), PHASE_NEXT_SUSPEND);
}

static void
agents_that_do_not_confirm_end_the_search(void **state)
{
	struct phase_facts f = { .in_cycle_ns = PHASE_SWITCH_MAX_NS };
	(void)state;

	assert_int_equal(next_of(SEARCH_SWITCHING, f), PHASE_NEXT_NONE);
	f.in_cycle_ns++;
	assert_int_equal(next_of(SEARCH_SWITCHING, f), PHASE_NEXT_GIVE_UP);
	f.paused = true;
	assert_int_equal(next_of(SEARCH_SWITCHING, f), PHASE_NEXT_NONE);
	f.confirmed = true;
	assert_int_equal(next_of(SEARCH_SWITCHING, f), PHASE_NEXT_GATHER);
}

static void
gathering_is_suspended_while_agents_confirm(void **state)
{
	struct phase_facts f = { .since_check_ns = PHASE_CHECK_NS };
	(void)state;

	assert_int_equal(next_of(SEARCH_GATHERING, f), PHASE_NEXT_SUSPEND);
	assert_int_equal(next_of(SEARCH_UNCONFIRMED, f), PHASE_NEXT_NONE);
	f.confirmed = true;
	assert_int_equal(next_of(SEARCH_UNCONFIRMED, f), PHASE_NEXT_GATHER);
	assert_int_equal(next_of(SEARCH_GATHERING, f), PHASE_NEXT_DECIDE);
}

static void
what_is_over_budget_goes_before_a_decision(void **state)
{
	struct phase_facts f = { .confirmed = true,
		.over_budget = true,
		.any_enabled = true,
		.since_check_ns = PHASE_CHECK_NS };
	(void)state;

	assert_int_equal(next_of(SEARCH_GATHERING, f), PHASE_NEXT_SPEND_LESS);
	f.any_enabled = false;
	assert_int_equal(next_of(SEARCH_GATHERING, f), PHASE_NEXT_DECIDE);
	f.paused = true;
	assert_int_equal(next_of(SEARCH_GATHERING, f), PHASE_NEXT_NONE);
	f.paused = false;
	f.since_check_ns--;
	assert_int_equal(next_of(SEARCH_GATHERING, f), PHASE_NEXT_NONE);
}

/* Whatever the facts, the phase that a step leads to may follow. */
static void
every_step_is_an_allowed_transition(void **state)
{
	(void)state;

	for (enum search_phase p = SEARCH_WAITING; p <= SEARCH_ENDED; p++)
		for (unsigned bits = 0; bits < 1u << 9; bits++) {
			const struct phase_facts f = { .paused = bits & 1,
				.paused_long = bits >> 1 & 1,
				.backing_off = bits >> 2 & 1,
				.fresh = bits >> 3 & 1,
				.any_enabled = bits >> 4 & 1,
				.over_budget = bits >> 5 & 1,
				.confirmed = bits >> 6 & 1,
				.in_cycle_ns = bits >> 7 & 1 ? INT64_MAX : 0,
				.since_check_ns = bits >> 8 & 1 ? INT64_MAX : 0 };
			enum search_phase to = p;

			switch (next_of(p, f)) {
			case PHASE_NEXT_NONE:
				continue;
			case PHASE_NEXT_WITHDRAW:
				to = f.backing_off ? SEARCH_BACKING_OFF : SEARCH_PAUSED;
				break;
			case PHASE_NEXT_GATHER:
				to = SEARCH_GATHERING;
				break;
			case PHASE_NEXT_SUSPEND:
			case PHASE_NEXT_RESUME:
				to = SEARCH_UNCONFIRMED;
				break;
			case PHASE_NEXT_GIVE_UP:
				to = SEARCH_ENDED;
				break;
			case PHASE_NEXT_SPEND_LESS:
			case PHASE_NEXT_DECIDE:
				to = SEARCH_SWITCHING;
				break;
			}
			assert_true(search_phase_may_follow(p, to));
		}
}

/* The phase to which carrying out a step leads: search_step(). */
static enum search_phase
phase_after(enum search_phase phase, enum phase_next next, bool backing_off)
{
	switch (next) {
	case PHASE_NEXT_WITHDRAW:
		return backing_off ? SEARCH_BACKING_OFF : SEARCH_PAUSED;
	case PHASE_NEXT_GATHER:
		return SEARCH_GATHERING;
	case PHASE_NEXT_SUSPEND:
	case PHASE_NEXT_RESUME:
		return SEARCH_UNCONFIRMED;
	case PHASE_NEXT_GIVE_UP:
		return SEARCH_ENDED;
	case PHASE_NEXT_SPEND_LESS:
		return SEARCH_SWITCHING;
	case PHASE_NEXT_NONE:
	case PHASE_NEXT_DECIDE:
		break;
	}
	return phase;
}

/* From SWITCHING, which search_begin() enters, by all combinations of facts. */
static void
every_phase_and_every_step_is_reached_from_the_first(void **state)
{
	bool reached[SEARCH_PHASES] = { [SEARCH_WAITING] = true, [SEARCH_SWITCHING] = true };
	bool steps[PHASE_NEXT_DECIDE + 1] = { false };
	(void)state;

	assert_true(search_phase_may_follow(SEARCH_WAITING, SEARCH_SWITCHING));
	for (unsigned round = 0; round < SEARCH_PHASES; round++)
		for (unsigned bits = 0; bits < SEARCH_PHASES << 9; bits++) {
			const struct phase_facts f = { .phase = (enum search_phase)(bits >> 9),
				.paused = bits & 1,
				.paused_long = bits >> 1 & 1,
				.backing_off = bits >> 2 & 1,
				.fresh = bits >> 3 & 1,
				.any_enabled = bits >> 4 & 1,
				.over_budget = bits >> 5 & 1,
				.confirmed = bits >> 6 & 1,
				.in_cycle_ns = bits >> 7 & 1 ? INT64_MAX : 0,
				.since_check_ns = bits >> 8 & 1 ? INT64_MAX : 0 };
			enum phase_next next = phase_next(&f);
			enum search_phase to = phase_after(f.phase, next, f.backing_off);

			if (!reached[f.phase])
				continue;
			if (to != f.phase)
				assert_true(search_phase_may_follow(f.phase, to));
			reached[to] = steps[next] = true;
		}
	for (unsigned i = 0; i < SEARCH_PHASES; i++)
		assert_true(reached[i]);
	for (unsigned i = 0; i <= PHASE_NEXT_DECIDE; i++)
		assert_true(steps[i]);
}

static void
every_task_is_reached_from_the_first(void **state)
{
	bool reached[SEARCH_TASKS] = { [TASK_NARROW] = true };
	(void)state;

	for (unsigned round = 0; round < SEARCH_TASKS; round++)
		for (unsigned from = 0; from < SEARCH_TASKS; from++)
			for (unsigned to = 0; to < SEARCH_TASKS; to++)
				reached[to] |= reached[from] &&
				               search_task_may_follow(
						   (enum search_task)from, (enum search_task)to);
	for (unsigned i = 0; i < SEARCH_TASKS; i++)
		assert_true(reached[i]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_phase_has_a_name_and_ends),
		cmocka_unit_test(traces_count_only_after_a_confirmation),
		cmocka_unit_test(the_final_edge_is_the_last_task_unless_it_is_narrowed_once_more),
		cmocka_unit_test(what_has_not_begun_or_has_ended_does_not_go_on),
		cmocka_unit_test(a_pause_ends_when_queues_are_short),
		cmocka_unit_test(a_long_pause_withdraws_what_is_fresh),
		cmocka_unit_test(an_agent_that_backs_off_withdraws_at_once),
		cmocka_unit_test(agents_that_do_not_confirm_end_the_search),
		cmocka_unit_test(gathering_is_suspended_while_agents_confirm),
		cmocka_unit_test(what_is_over_budget_goes_before_a_decision),
		cmocka_unit_test(every_step_is_an_allowed_transition),
		cmocka_unit_test(every_phase_and_every_step_is_reached_from_the_first),
		cmocka_unit_test(every_task_is_reached_from_the_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
