/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "forest/reason.h"
#include "forest/verdict.h"

static void
reasons_are_found_by_their_words(void **state)
{
	(void)state;
	for (unsigned i = 1; i < 100; i++) {
		if (!reason_valid(i)) {
			assert_string_equal(reason_word((enum reason)i), "");
			assert_string_equal(reason_text((enum reason)i), "");
			continue;
		}
		assert_true(reason_word((enum reason)i)[0] != '\0');
		assert_true(reason_text((enum reason)i)[0] != '\0');
		assert_int_equal(
		    reason_of_word(reason_word((enum reason)i)), i); /* no word twice */
	}
	assert_int_equal(reason_of_word(""), REASON_NONE);
	assert_int_equal(reason_of_word(NULL), REASON_NONE);
	assert_int_equal(reason_of_word("no such word"), REASON_NONE);
	assert_true(reason_valid(REASON_NONE) && !reason_valid(UINT32_MAX));
}

/* These numbers are in the SQL that converts databases of schema 3 (store_inside.h). */
static void
numbers_of_the_migration_stay(void **state)
{
	(void)state;
	assert_int_equal(REASON_CONGESTION, 20);
	assert_int_equal(REASON_OVER_BUDGET, 21);
	assert_int_equal(REASON_STOPPED, 22);
	assert_int_equal(REASON_EXPLORED, 23);
}

static void
kinds_of_the_preload_layer_have_words(void **state)
{
	(void)state;
	assert_string_equal(preload_word(PRELOAD_NONE), "");
	assert_string_equal(preload_word(PRELOAD_MUTEX), "mutex");
	assert_string_equal(preload_word((enum preload_kind)(PRELOAD_OTHER + 1)), "?");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reasons_are_found_by_their_words),
		cmocka_unit_test(numbers_of_the_migration_stay),
		cmocka_unit_test(kinds_of_the_preload_layer_have_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
