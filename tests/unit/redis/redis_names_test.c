/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The name of a command, as a client sends it, becomes one of a bounded number of names, or no
 * name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "instrument/redis/redis_names.h"

static const char *
found(const char *name)
{
	return names_find(name, strlen(name))->text;
}

static void
a_known_name_is_found_in_any_case(void **state)
{
	(void)state;

	names_clear();
	names_add("GET", 3);
	names_add("getset", 6);
	assert_string_equal(found("get"), "get");
	assert_string_equal(found("GeTSeT"), "getset");
	assert_ptr_equal(found("GET"), found("get"));
	assert_string_equal(names_find("get", 3)->type, "redis.get");
}

static void
what_is_not_known_is_other(void **state)
{
	char longer[200];
	(void)state;

	names_clear();
	names_add("get", 3);
	memset(longer, 'x', sizeof longer);
	assert_string_equal(found(""), "other");
	assert_string_equal(found("ge"), "other");
	assert_string_equal(found("gett"), "other");
	assert_string_equal(names_find("get\0x", 5)->text, "other");
	assert_string_equal(names_find("\xff\xfe", 2)->text, "other");
	assert_string_equal(names_find(longer, sizeof longer)->text, "other");
	assert_string_equal(names_find(longer, 3)->type, "redis.other");
}

/* A name that did not fit is not stored in part, and the stored names are unchanged. */
static void
a_full_table_still_answers(void **state)
{
	char name[32];
	unsigned kept = 0;
	(void)state;

	names_clear();
	for (unsigned i = 0; i < 5000; i++) {
		snprintf(name, sizeof name, "command-%u", i);
		names_add(name, strlen(name));
	}
	for (unsigned i = 0; i < 5000; i++) {
		snprintf(name, sizeof name, "Command-%u", i);
		if (strcmp(found(name), "other") == 0)
			continue;
		kept++;
		assert_string_equal(found(name) + 1, name + 1);
	}
	assert_in_range(kept, 1000, 4999);
}

static void
a_name_that_is_added_twice_is_stored_once(void **state)
{
	const char *first;
	(void)state;

	names_clear();
	names_add("get", 3);
	first = found("get");
	for (int i = 0; i < 100000; i++)
		names_add("GET", 3);
	names_add("set", 3);
	assert_ptr_equal(found("get"), first);
	assert_string_equal(found("set"), "set");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_known_name_is_found_in_any_case),
		cmocka_unit_test(what_is_not_known_is_other),
		cmocka_unit_test(a_full_table_still_answers),
		cmocka_unit_test(a_name_that_is_added_twice_is_stored_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
