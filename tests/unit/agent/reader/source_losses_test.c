/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "agent/reader/source_losses.h"

static void
losses_are_of_one_poll_and_totals_of_all(void **state)
{
	struct source_losses l = { 0 };
	struct err e;
	(void)state;

	for (int poll = 0; poll < 3; poll++) {
		losses_begin(&l);
		for (uint32_t i = 0; i < 40; i++)
			losses_add(&l, LOSS_RING, 2, i, i + 1);
		losses_add(&l, LOSS_DECODE, 1, 9, 5);
		assert_int_equal(l.count, 41);
	}
	assert_int_equal(l.total[LOSS_RING], 240);
	assert_int_equal(l.total[LOSS_DECODE], 3);
	assert_true(l.list[39].from_ns == 39 && l.list[39].to_ns == 40);
	assert_true(l.list[40].from_ns == 9 &&
		    l.list[40].to_ns == 9); /* begin and end are never reversed */
	assert_string_equal(l.trouble.text, "");
	err_set(&e, ERR_INPUT, "a problem");
	trouble_set(&l, &e);
	losses_begin(&l);
	assert_string_equal(l.trouble.text, "a problem");
	losses_release(&l);
}

int
main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(
	    losses_are_of_one_poll_and_totals_of_all) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
