/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "agent/reader/quarantine.h"

#define MS INT64_C(1000000)

static const struct ring_looks CALM = { .drains = true };

/* Looks the same every 100 ms for that long; the last decision. */
static enum quarantine
last_after(struct suspicion *s, const struct ring_looks *looks, int64_t ms)
{
	enum quarantine q = QUARANTINE_NONE;

	if (s->looked_ns == 0)
		quarantine_decide(s, &CALM, 1);
	for (int64_t at = 0; at < ms && q == QUARANTINE_NONE; at += 100)
		q = quarantine_decide(s, looks, s->looked_ns + 100 * MS);
	return q;
}

static void
a_damaged_ring_is_no_longer_read_at_once(void **state)
{
	const struct ring_looks damaged = { .damaged = true };
	struct suspicion s = { 0 };
	(void)state;

	assert_int_equal(quarantine_decide(&s, &CALM, 1), QUARANTINE_NONE);
	assert_int_equal(quarantine_decide(&s, &damaged, 2), QUARANTINE_DAMAGED);
}

static void
impossible_positions_are_tolerated_for_less_than_a_second(void **state)
{
	const struct ring_looks invalid = { .invalid = true, .drains = true };
	struct suspicion s = { 0 };
	(void)state;

	assert_int_equal(last_after(&s, &invalid, 900), QUARANTINE_NONE);
	assert_int_equal(last_after(&s, &CALM, 900), QUARANTINE_NONE);
	assert_int_equal(last_after(&s, &invalid, 900), QUARANTINE_NONE);
	assert_int_equal(last_after(&s, &invalid, 200), QUARANTINE_POSITIONS);
}

static void
a_ring_that_stays_full_while_others_are_drained_is_given_up_after_10_s(void **state)
{
	const struct ring_looks stuck = { .stuck = true, .drains = true };
	struct suspicion s = { 0 };
	(void)state;

	assert_int_equal(last_after(&s, &stuck, 9900), QUARANTINE_NONE);
	assert_int_equal(last_after(&s, &stuck, 200), QUARANTINE_STUCK);
}

static void
a_burst_that_ends_is_forgotten_and_one_that_only_pauses_is_not(void **state)
{
	const struct ring_looks stuck = { .stuck = true, .drains = true };
	struct suspicion s = { 0 };
	int rounds = 0;
	(void)state;

	for (int i = 0; i < 100; i++) {
		assert_int_equal(last_after(&s, &stuck, 5000), QUARANTINE_NONE);
		assert_int_equal(last_after(&s, &CALM, 6000), QUARANTINE_NONE);
	}
	while (last_after(&s, &stuck, 5000) == QUARANTINE_NONE) {
		assert_int_equal(last_after(&s, &CALM, 1000), QUARANTINE_NONE);
		assert_true(++rounds < 3);
	}
}

static void
while_the_consumer_daemon_hangs_no_program_is_blamed_for_a_minute(void **state)
{
	const struct ring_looks stuck = { .stuck = true };
	struct suspicion s = { 0 };
	(void)state;

	assert_int_equal(last_after(&s, &stuck, 59900), QUARANTINE_NONE);
	assert_int_equal(last_after(&s, &stuck, 200), QUARANTINE_STUCK);
}

static void
time_in_which_nobody_looked_does_not_count_as_stuck(void **state)
{
	const struct ring_looks stuck = { .invalid = true, .stuck = true, .drains = true };
	struct suspicion s = { 0 };
	(void)state;

	quarantine_decide(&s, &stuck, 1);
	assert_int_equal(quarantine_decide(&s, &stuck, 3600000 * MS), QUARANTINE_NONE);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_damaged_ring_is_no_longer_read_at_once),
		cmocka_unit_test(impossible_positions_are_tolerated_for_less_than_a_second),
		cmocka_unit_test(
		    a_ring_that_stays_full_while_others_are_drained_is_given_up_after_10_s),
		cmocka_unit_test(a_burst_that_ends_is_forgotten_and_one_that_only_pauses_is_not),
		cmocka_unit_test(while_the_consumer_daemon_hangs_no_program_is_blamed_for_a_minute),
		cmocka_unit_test(time_in_which_nobody_looked_does_not_count_as_stuck),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
