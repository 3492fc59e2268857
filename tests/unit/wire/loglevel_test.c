/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "wire/loglevel.h"

static void
each_level_has_a_word_that_is_read_as_it(void **state)
{
	uint8_t got;
	(void)state;

	for (int level = 0; level <= UINT8_MAX; level++) {
		if (!loglevel_fits((uint8_t)level))
			continue;
		got = 77;
		assert_true(loglevel_read(loglevel_word((uint8_t)level), &got));
		assert_int_equal(got, level);
	}
	assert_true(LOGLEVEL_ERR < LOGLEVEL_INFO && LOGLEVEL_INFO < LOGLEVEL_DEBUG);
}

static void
other_words_for_a_level_are_read_and_what_is_none_is_refused(void **state)
{
	static const char *const none[] = { "", "Info", "infos", "6", "debug-" };
	uint8_t got = 77;
	(void)state;

	for (size_t i = 0; i < sizeof none / sizeof none[0]; i++)
		assert_false(loglevel_read(none[i], &got));
	assert_int_equal(got, 77);
	assert_true(loglevel_read("log", &got) && got == LOGLEVEL_INFO);
	assert_true(loglevel_read("warn", &got) && got == LOGLEVEL_WARNING);
	assert_true(loglevel_read("off", &got) && got == LOGLEVEL_NONE);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_level_has_a_word_that_is_read_as_it),
		cmocka_unit_test(other_words_for_a_level_are_read_and_what_is_none_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
