/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>

#include "base/rng.h"
#include "base/texts.h"

static void
equal_texts_have_equal_numbers_from_0_up(void **state)
{
	struct texts *t = texts_new();
	const char *first;
	char s[32];
	struct rng r;
	(void)state;

	assert_int_equal(texts_find(t, "x", 1), UINT32_MAX);
	assert_int_equal(texts_intern(t, "", 0), 0);
	assert_int_equal(texts_intern(t, NULL, 0), 0);
	first = texts_get(t, 0);
	rng_seed(&r, 2);
	for (uint32_t i = 1; i < 5000; i++) {
		int len = snprintf(s, sizeof s, "text %u", i);

		assert_int_equal(texts_find(t, s, (size_t)len), UINT32_MAX);
		assert_int_equal(texts_intern(t, s, (size_t)len), i);
	}
	for (int i = 0; i < 20000; i++) {
		uint32_t id = 1 + (uint32_t)rng_below(&r, 4999);
		int len = snprintf(s, sizeof s, "text %u", id);

		assert_int_equal(texts_intern(t, s, (size_t)len), id);
		assert_int_equal(texts_find(t, s, (size_t)len), id);
		assert_string_equal(texts_get(t, id), s);
	}
	assert_int_equal(texts_count(t), 5000);
	assert_ptr_equal(texts_get(t, 0), first);
	assert_int_equal(texts_intern(t, "a\0b", 3), 5000);
	assert_int_equal(texts_intern(t, "a\0c", 3), 5001);
	texts_free(t);
	texts_free(NULL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_texts_have_equal_numbers_from_0_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
