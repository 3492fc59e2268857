/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/search/functions.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

/* What was seen in an edge: main calls serve, which calls lookup (with two others) and log, which is usual. */
static const struct difference_node TREE[] = {
	{ "", 0, 100, 20 },
	{ "main", 0, 100, 20 },
	{ "serve() at a.c:5", 1, 100, 20 },
	{ "write_log", 2, 15, 15 },
	{ "lookup() at a.c:9", 2, 80, 4 },
	{ "probe+0x12", 4, 80, 4 },
	{ "hash", 5, 50, 2 },
	{ "lookup", 6, 40, 2 },
	{ "[lock]", 6, 40, 2 },
	{ "compare", 4, 30, 2 },
};
enum { COUNT = sizeof TREE / sizeof *TREE };

static void
names_that_no_symbol_has_and_begins_of_threads_are_no_functions(void **state)
{
	char name[FUNCTION_NAME_MAX + 1];
	(void)state;

	assert_true(function_name(name, &TREE[2]));
	assert_string_equal(name, "serve");
	assert_true(function_name(name, &TREE[3]));
	assert_string_equal(name, "write_log");
	assert_false(function_name(name, &TREE[0]));
	assert_false(function_name(name, &TREE[1]));
	assert_false(function_name(name, &TREE[5]));
	assert_false(function_name(name, &TREE[8]));
	assert_false(
	    function_name(name, &(struct difference_node){ "__libc_start_main", 0, 1, 1 }));
}

static void
functions_are_chosen_from_the_outside_in_and_once(void **state)
{
	bool tried[COUNT] = { false };
	uint32_t chosen[3];
	(void)state;

	assert_int_equal(functions_choose(chosen, 3, TREE, COUNT, 0, false, 0.3, tried), 3);
	assert_true(chosen[0] == 2 && chosen[1] == 4 && chosen[2] == 9);
	assert_true(tried[7]); /* lookup again */
	/* hash has less than 0.7 of the edge's 80, and is not below compare */
	assert_int_equal(functions_choose(chosen, 3, TREE, COUNT, 0, false, 0.7, tried), 0);
	assert_int_equal(functions_choose(chosen, 3, TREE, COUNT, 9, false, 0.3, tried), 0);
	assert_int_equal(functions_choose(chosen, 3, TREE, COUNT, 4, false, 0.3, tried), 1);
	assert_int_equal(chosen[0], 6);
	assert_int_equal(functions_choose(chosen, 3, TREE, COUNT, 0, false, 0.3, tried), 0);
}

static void
of_slow_requests_all_time_counts(void **state)
{
	bool tried[COUNT] = { false };
	uint32_t chosen[1];
	(void)state;

	/* of what slow requests have more of, write_log has nothing; of their time, 15 of 100 */
	tried[4] = tried[2] = true;
	assert_int_equal(functions_choose(chosen, 1, TREE, COUNT, 2, true, 0.15, tried), 1);
	assert_int_equal(chosen[0], 3);
	memset(tried, 0, sizeof tried);
	tried[4] = true;
	assert_int_equal(functions_choose(chosen, 1, TREE, COUNT, 2, false, 0.15, tried), 1);
	assert_int_equal(chosen[0], 9);
	assert_int_equal(functions_choose(chosen, 1, TREE, 0, 0, false, 0.3, tried), 0);
}

static void
what_is_called_so_often_that_probes_would_be_seen_is_not_timed(void **state)
{
	(void)state;

	assert_true(function_is_timed(1, 250000));
	assert_false(function_is_timed(1.1, 250000));
	assert_true(function_is_timed(300, 100e6));
	assert_false(function_is_timed(1, 0));
}

static struct edge_share
share_of(double share, double low)
{
	return (struct edge_share){ .share = share, .interval = { low, 1 } };
}

static void
it_goes_on_below_the_deepest_function_that_takes_over(void **state)
{
	const uint32_t nodes[] = { 2, 4, 9 };
	struct edge_share shares[] = { share_of(0.9, 0.8), share_of(0.7, 0.5), share_of(0.2, 0.1) };
	bool over[3];
	(void)state;

	assert_int_equal(functions_follow(over, shares, nodes, 3, 0.9, 0.3, TREE), 1);
	assert_true(over[0] && over[1] && !over[2]);
	shares[1] = share_of(0.7, -0.1); /* not certain */
	assert_int_equal(functions_follow(over, shares, nodes, 3, 0.9, 0.3, TREE), 0);
	assert_true(over[0] && !over[1]);
	shares[0] = share_of(0.1, 0.05);
	assert_int_equal(functions_follow(over, shares, nodes, 3, 0.9, 0.3, TREE), UINT32_MAX);
}

static void
more_requests_help_where_a_large_share_may_be_none(void **state)
{
	struct edge_share shares[] = { share_of(0.9, 0.8), share_of(0.7, -0.1) };
	(void)state;

	assert_true(functions_are_unsure(shares, 2, 0.9, 0.3));
	assert_false(functions_are_unsure(shares, 1, 0.9, 0.3));
	shares[1] = share_of(0.2, -0.1); /* too small in any case */
	assert_false(functions_are_unsure(shares, 2, 0.9, 0.3));
	shares[1] = (struct edge_share){ 0 }; /* its calls are torn */
	assert_false(functions_are_unsure(shares, 2, 0.9, 0.3));
	assert_false(functions_are_unsure(shares, 2, -0.1, 0.3));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_that_no_symbol_has_and_begins_of_threads_are_no_functions),
		cmocka_unit_test(functions_are_chosen_from_the_outside_in_and_once),
		cmocka_unit_test(of_slow_requests_all_time_counts),
		cmocka_unit_test(what_is_called_so_often_that_probes_would_be_seen_is_not_timed),
		cmocka_unit_test(it_goes_on_below_the_deepest_function_that_takes_over),
		cmocka_unit_test(more_requests_help_where_a_large_share_may_be_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
