/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "agent/reader/overrun.h"

#define SECOND INT64_C(1000000000)

enum { SHOP = 1000, OTHER = 1001, N = 4 };

/* Looks once a second for so long, or until programs have ended; returns how many. */
static uint32_t
ended_after(struct overrun *o, struct writer list[N], bool told, int seconds)
{
	uint32_t ended = 0;

	if (o->looked_ns == 0)
		overrun_decide(o, false, list, 0, SECOND);
	for (int i = 0; i < seconds && ended == 0; i++)
		ended = overrun_decide(o, told, list, N, o->looked_ns + SECOND);
	return ended;
}

static bool
has_ended(const struct writer list[N], const void *of)
{
	for (int i = 0; i < N; i++)
		if (list[i].of == of)
			return list[i].ended;
	fail();
	return false;
}

static char front[1], back[1], jam[1], quiet[1];

static void
fill(struct writer list[N], uint64_t jammed)
{
	list[0] = (struct writer){ front, SHOP, 900, false };
	list[1] = (struct writer){ quiet, OTHER, 40, false };
	list[2] = (struct writer){ jam, OTHER, jammed, false };
	list[3] = (struct writer){ back, SHOP, 2500, false };
}

static void
a_program_that_does_not_obey_the_rates_is_no_longer_read_after_10_s(void **state)
{
	struct overrun o = { 0 };
	struct writer list[N];
	(void)state;

	fill(list, 300000);
	assert_int_equal(ended_after(&o, list, true, 9), 0);
	assert_int_equal(ended_after(&o, list, true, 1), 1);
	assert_true(has_ended(list, jam));
	assert_false(has_ended(list, quiet));
	assert_false(has_ended(list, front));
	assert_false(has_ended(list, back));
}

static void
while_the_shares_can_be_lowered_no_program_is_blamed(void **state)
{
	struct overrun o = { 0 };
	struct writer list[N];
	(void)state;

	fill(list, 300000);
	assert_int_equal(ended_after(&o, list, false, 100), 0);
	for (int i = 0; i < 50; i++) { /* over for 4 s, then not */
		assert_int_equal(ended_after(&o, list, true, 4), 0);
		assert_int_equal(ended_after(&o, list, false, 4), 0);
	}
}

static void
what_programs_that_obey_can_write_is_read(void **state)
{
	struct overrun o = { 0 };
	struct writer list[N];
	(void)state;

	fill(list, 19000);
	assert_int_equal(ended_after(&o, list, true, 100), 0);
}

/* Many that write little each. */
static void
all_programs_of_a_user_count_together(void **state)
{
	struct overrun o = { 0 };
	struct writer list[N] = { { jam, OTHER, 15000, false }, { front, SHOP, 16000, false },
		{ quiet, OTHER, 9000, false }, { back, OTHER, 8000, false } };
	(void)state;

	assert_int_equal(ended_after(&o, list, true, 10), 1);
	assert_true(has_ended(list, jam));
	assert_false(has_ended(list, front));
	assert_int_equal(ended_after(&o, list, true, 9), 0);
}

static void
time_in_which_nobody_looked_counts_little(void **state)
{
	struct overrun o = { 0 };
	struct writer list[N];
	(void)state;

	fill(list, 300000);
	assert_int_equal(ended_after(&o, list, true, 1), 0);
	assert_int_equal(overrun_decide(&o, true, list, N, o.looked_ns + 3600 * SECOND), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
		    a_program_that_does_not_obey_the_rates_is_no_longer_read_after_10_s),
		cmocka_unit_test(while_the_shares_can_be_lowered_no_program_is_blamed),
		cmocka_unit_test(what_programs_that_obey_can_write_is_read),
		cmocka_unit_test(all_programs_of_a_user_count_together),
		cmocka_unit_test(time_in_which_nobody_looked_counts_little),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
