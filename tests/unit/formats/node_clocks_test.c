/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What pairs of spans prove of a clock. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "formats/node_clocks.h"

static void
the_least_distance_of_a_pair_of_nodes_bounds_it(void **state)
{
	struct node_clocks *c = node_clocks_new();
	(void)state;

	assert_non_null(c);
	assert_int_equal(node_clocks_note(c, 1, 2, 70), 70);
	assert_int_equal(node_clocks_note(c, 1, 2, 90), 70);
	assert_int_equal(node_clocks_note(c, 2, 1, 400), 400); /* another direction */
	assert_int_equal(node_clocks_note(c, 1, 3, 500), 500);
	assert_int_equal(node_clocks_note(c, 1, 2, -5), 0); /* it is behind */
	assert_int_equal(node_clocks_note(c, 1, 2, 90), 0);
	node_clocks_free(c);
}

static void
a_drifting_clock_is_followed(void **state)
{
	struct node_clocks *c = node_clocks_new();
	(void)state;

	assert_non_null(c);
	for (int64_t i = 0; i < 1000; i++) {
		int64_t ahead = node_clocks_note(c, 1, 2, 1000 + i);

		assert_true(ahead <= 1000 + i && ahead >= 1000 + i - 2 * NODE_CLOCKS_WINDOW);
	}
	node_clocks_free(c);
}

/* Past the bound all are forgotten, and known anew. */
static void
pairs_of_nodes_are_bounded(void **state)
{
	struct node_clocks *c = node_clocks_new();
	(void)state;

	assert_non_null(c);
	assert_int_equal(node_clocks_note(c, 0, 0, 5), 5);
	for (uint32_t i = 1; i < NODE_CLOCKS_MAX; i++)
		node_clocks_note(c, i, 0, 7);
	assert_int_equal(node_clocks_note(c, 0, 0, 9), 5);
	assert_int_equal(node_clocks_note(c, NODE_CLOCKS_MAX, 0, 7), 7);
	assert_int_equal(node_clocks_note(c, 0, 0, 9), 9);
	node_clocks_free(c);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_least_distance_of_a_pair_of_nodes_bounds_it),
		cmocka_unit_test(a_drifting_clock_is_followed),
		cmocka_unit_test(pairs_of_nodes_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
