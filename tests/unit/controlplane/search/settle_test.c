/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "controlplane/search/settle.h"

static void
what_separates_is_settled_as_that_whatever_else_holds(void **state)
{
	(void)state;

	for (unsigned bits = 0; bits < 1u << 6; bits++) {
		const struct settle_facts f = { .separates = true,
			.slow_with = bits & 1,
			.is_end = bits >> 1 & 1,
			.measured = bits >> 2 & 1,
			.on_path = bits >> 3 & 1,
			.inside = bits >> 4 & 1,
			.retired = bits >> 5 & 1 };
		struct settle_result r = settle_tracepoint(&f);

		assert_int_equal(r.state, HYPOTHESIS_SEPARATES);
		assert_true(r.heir);
		assert_int_equal(r.absence, !f.slow_with);
		assert_false(r.never_inside);
	}
}

static void
an_end_of_the_gap_isolates_and_is_the_heir(void **state)
{
	struct settle_facts f = {
		.is_end = true, .measured = true, .on_path = true, .inside = true
	};
	struct settle_result r = settle_tracepoint(&f);
	(void)state;

	assert_int_equal(r.state, HYPOTHESIS_ISOLATES);
	assert_true(r.heir);
	assert_false(r.absence);
	f.is_end = false;
	r = settle_tracepoint(&f);
	assert_int_equal(r.state, HYPOTHESIS_NO_HELP);
	assert_false(r.heir);
}

static void
what_the_path_lacks_is_never_inside_unless_it_is_retired(void **state)
{
	struct settle_facts f = { .measured = true };
	(void)state;

	assert_true(settle_tracepoint(&f).never_inside);
	assert_true(settle_tracepoint(&f).absence);
	f.on_path = true; /* elsewhere on the path */
	assert_true(settle_tracepoint(&f).never_inside);
	assert_false(settle_tracepoint(&f).absence);
	f.inside = true;
	assert_false(settle_tracepoint(&f).never_inside);
	f.inside = f.on_path = false;
	f.retired = true;
	assert_false(settle_tracepoint(&f).never_inside);
	f.retired = f.measured = false;
	assert_false(settle_tracepoint(&f).never_inside);
	assert_false(settle_tracepoint(&f).absence);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_separates_is_settled_as_that_whatever_else_holds),
		cmocka_unit_test(an_end_of_the_gap_isolates_and_is_the_heir),
		cmocka_unit_test(what_the_path_lacks_is_never_inside_unless_it_is_retired),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
