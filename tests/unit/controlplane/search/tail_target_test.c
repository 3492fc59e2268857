/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "controlplane/search/tail_target.h"

static const int64_t S = 1000000000;

static void
step_1_a_search_goes_on_with_what_it_began(void **state)
{
	(void)state;
	assert_int_equal(
	    tail_choose(&(struct tail_facts){ .searching = true, .asked = 0.99, .requests = 2000 }),
	    TAIL_AS_BEFORE);
}

static void
step_2_no_tail_is_searched_that_was_not_asked_for(void **state)
{
	(void)state;
	assert_int_equal(tail_choose(&(struct tail_facts){ .requests = 1000000 }), TAIL_NONE);
}

static void
steps_3_and_4_the_tail_is_gathered_until_there_is_enough_of_it(void **state)
{
	struct tail_facts f = { .asked = 0.999, .requests = 20000, .watched_ns = 10 * S };
	(void)state;

	assert_int_equal(tail_choose(&f), TAIL_SEARCH);
	f.requests = 19999;
	f.watched_ns = TAIL_GATHER_MAX_NS;
	assert_int_equal(tail_choose(&f), TAIL_GATHER);
	f.watched_ns++;
	assert_int_equal(tail_choose(&f), TAIL_NONE);
}

static void
it_says_how_long_enough_requests_take(void **state)
{
	(void)state;
	assert_true(llabs(tail_gather_ns(400, 0.99, 10 * S) - 50 * S) < 1000);
	assert_true(llabs(tail_gather_ns(4000, 0.999, 10 * S) - 50 * S) < 1000);
	assert_true(tail_gather_ns(0, 0.99, 10 * S) == INT64_MAX);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(step_1_a_search_goes_on_with_what_it_began),
		cmocka_unit_test(step_2_no_tail_is_searched_that_was_not_asked_for),
		cmocka_unit_test(steps_3_and_4_the_tail_is_gathered_until_there_is_enough_of_it),
		cmocka_unit_test(it_says_how_long_enough_requests_take),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
