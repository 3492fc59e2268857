/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "below/main/look_cause.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { READ = 0, POLL = 7, NANOSLEEP = 35, FSYNC = 74, FUTEX = 202, FUTEX_WAKE = 1 };

static struct look_sleep
in(int number, uint64_t operation, uint64_t timeout)
{
	return (struct look_sleep){ .call = { .number = number,
					.arguments = { 4096, operation, 0, timeout } },
		.kernel_place = "" };
}

static enum below_state
uninterruptible(int number, const char *place)
{
	struct look_sleep s = in(number, 0, 0);

	s.uninterruptible = true;
	s.kernel_place = place;
	return look_cause(&s);
}

static void
a_futex_is_a_lock_only_if_its_word_names_an_owner(void **state)
{
	struct look_sleep s = in(FUTEX, 128, 0), timed = in(FUTEX, 128, 4096),
			  other = in(FUTEX, FUTEX_WAKE, 0);
	(void)state;

	assert_int_equal(look_cause(&s), BELOW_THREAD);
	assert_int_equal(look_cause(&timed), BELOW_UNKNOWN); /* a thread or the time */
	assert_int_equal(look_cause(&other), BELOW_UNKNOWN);
	s.owner = timed.owner = 77;
	assert_int_equal(look_cause(&s), BELOW_LOCK);
	assert_int_equal(look_cause(&timed), BELOW_LOCK);
}

static void
what_may_have_several_causes_is_unknown(void **state)
{
	const struct look_sleep sleep = in(NANOSLEEP, 0, 0), read = in(READ, 0, 0),
				poll = in(POLL, 0, 0), none = in(LOOK_NO_CALL, 0, 0),
				sync = in(FSYNC, 0, 0);
	(void)state;

	assert_int_equal(look_cause(&sleep), BELOW_TIMER);
	assert_int_equal(look_cause(&read), BELOW_UNKNOWN);
	assert_int_equal(look_cause(&poll), BELOW_UNKNOWN);
	assert_int_equal(look_cause(&none), BELOW_UNKNOWN);
	assert_int_equal(look_cause(&sync), BELOW_UNKNOWN);
}

static void
an_uninterruptible_sleep_is_the_disk_only_where_the_kernel_waits_for_storage(void **state)
{
	(void)state;
	assert_int_equal(uninterruptible(FSYNC, ""), BELOW_DISK);
	assert_int_equal(uninterruptible(READ, "folio_wait_bit_common"), BELOW_DISK);
	assert_int_equal(uninterruptible(READ, "rwsem_down_write_slowpath"), BELOW_UNKNOWN);
	assert_int_equal(uninterruptible(READ, ""), BELOW_UNKNOWN);
	assert_int_equal(uninterruptible(LOOK_NO_CALL, ""), BELOW_FAULT);
}

static void
the_line_of_the_kernel_is_read_and_no_other(void **state)
{
	static const char *const BAD[] = { "", "\n", "x", "-1", "-1 0x7f", "-2 0x1 0x2",
		"202 0x1 0x2 0x3", "202 0x1 0x2 0x3 0x4 0x5 0x6 0x7", "99999999999999999999" };
	struct look_call c;
	(void)state;

	assert_true(look_call_parse(&c, "running\n"));
	assert_int_equal(c.number, LOOK_ON_CPU);
	assert_true(look_call_parse(&c, "-1 0x7fff10 0x401000\n"));
	assert_int_equal(c.number, LOOK_NO_CALL);
	assert_int_equal(c.sp, 0x7fff10);
	assert_true(look_call_parse(&c, "202 0x10 0x80 0x2 0x0 0x5 0x6 0x7ffe 0x7f01\n"));
	assert_int_equal(c.number, FUTEX);
	assert_int_equal(c.arguments[0], 0x10);
	assert_int_equal(c.arguments[5], 6);
	assert_int_equal(c.sp, 0x7ffe);
	assert_int_equal(c.pc, 0x7f01);
	for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++)
		assert_false(look_call_parse(&c, BAD[i]));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_futex_is_a_lock_only_if_its_word_names_an_owner),
		cmocka_unit_test(what_may_have_several_causes_is_unknown),
		cmocka_unit_test(
		    an_uninterruptible_sleep_is_the_disk_only_where_the_kernel_waits_for_storage),
		cmocka_unit_test(the_line_of_the_kernel_is_read_and_no_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
