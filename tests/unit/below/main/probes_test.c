/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "below/main/probes.h"

static void
what_is_passed_most_goes_off_until_the_rest_fits(void **state)
{
	/* 5 % of a core is 83,333 passes a second */
	struct probe_rate list[] = { { 1, 5000, 600 }, { 2, 60000, 600 }, { 3, 57000, 600 },
		{ 4, 20000, 600 } };
	(void)state;

	assert_int_equal(probes_over(list, 4), 1);
	assert_int_equal(list[0].id, 2);
	assert_int_equal(probes_over(list + 1, 3), 0);
	list[1].per_second = 5e6;
	assert_int_equal(probes_over(list, 1), 0);
	assert_int_equal(probes_over(list + 1, 3), 1);
	assert_int_equal(probes_over(NULL, 0), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_passed_most_goes_off_until_the_rest_fits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
