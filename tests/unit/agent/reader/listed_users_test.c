/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "agent/reader/listed_users.h"

static void
without_a_list_everybody_is_listed(void **state)
{
	struct listed_users l = { .n = 3 };
	struct err e;
	(void)state;

	assert_int_equal(listed_users_parse(&l, " ", &e), 0);
	assert_true(listed_users_have(&l, 0));
	assert_true(listed_users_have(&l, 1001));
}

static void
a_list_has_names_and_numbers_of_users(void **state)
{
	struct listed_users l = { .n = 9 };
	char many[2048] = "";
	struct err e;
	(void)state;

	assert_int_equal(listed_users_parse(&l, "\troot , 12  ", &e), 0);
	assert_int_equal(l.n, 2);
	assert_true(listed_users_have(&l, 0));
	assert_true(listed_users_have(&l, 12));
	assert_false(listed_users_have(&l, 1));
	assert_int_equal(listed_users_parse(&l, "root no-such-user", &e), ERR_INPUT);
	assert_non_null(strstr(e.text, "no-such-user"));
	assert_int_equal(listed_users_parse(&l, "4294967295", &e), ERR_INPUT);
	assert_int_equal(listed_users_parse(&l, "12x", &e), ERR_INPUT);
	for (uint32_t i = 0; i <= LISTED_USERS_MAX; i++)
		snprintf(many + strlen(many), sizeof many - strlen(many), "%u ", i);
	assert_int_equal(listed_users_parse(&l, many, &e), ERR_INPUT);
	assert_int_equal(l.n, 2);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_a_list_everybody_is_listed),
		cmocka_unit_test(a_list_has_names_and_numbers_of_users),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
