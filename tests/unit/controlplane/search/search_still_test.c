/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "controlplane/search/search_still.h"

static void
a_process_that_certainly_has_the_least_effect_is_a_cause(void **state)
{
	(void)state;

	/* 1 */
	assert_false(still_is_cause(&(struct process_still){ .share_low = 0.9 }, 0.25));
	/* 2 */
	assert_true(still_is_cause(
	    &(struct process_still){ .stills = 3, .share = 0.4, .share_low = 0.25 }, 0.25));
	/* 3 */
	assert_false(still_is_cause(
	    &(struct process_still){ .stills = 30, .share = 0.9, .share_low = 0.24 }, 0.25));
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_process_that_certainly_has_the_least_effect_is_a_cause),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
