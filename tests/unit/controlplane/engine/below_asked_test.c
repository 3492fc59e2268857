/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "controlplane/engine/below_asked.h"

static void
a_program_is_asked_for_until_its_last_search_ends(void **state)
{
	struct below_asked b = { 0 };
	(void)state;

	below_asked_set(&b, "cart", false, true);
	below_asked_set(&b, "store", false, true);
	below_asked_set(&b, "cart", false, true);
	assert_int_equal(b.n, 2);
	below_asked_set(&b, "cart", false, false);
	assert_int_equal(b.n, 2);
	below_asked_set(&b, "cart", false, false);
	assert_int_equal(b.n, 1);
	assert_string_equal(b.items[0].service, "store");
	below_asked_set(&b, "other", false, false);
	assert_int_equal(b.n, 1);
	below_asked_set(&b, "store", false, false);
	assert_int_equal(b.n, 0);
}

static void
as_many_are_asked_for_as_a_want_may_have(void **state)
{
	struct below_asked b = { 0 };
	char name[16];
	(void)state;

	for (int i = 0; i <= WANT_BELOW_MAX; i++) {
		snprintf(name, sizeof name, "p%d", i);
		below_asked_set(&b, name, false, true);
	}
	assert_int_equal(b.n, WANT_BELOW_MAX);
	below_asked_set(&b, name, false, false); /* that was left out */
	assert_int_equal(b.n, WANT_BELOW_MAX);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_program_is_asked_for_until_its_last_search_ends),
		cmocka_unit_test(as_many_are_asked_for_as_a_want_may_have),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
