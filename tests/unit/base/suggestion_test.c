/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/suggestion.h"
#include "base/rng.h"

/* The edit distance by its recursive definition on the rest of both words. */
static uint32_t
slow(const char *a, const char *b)
{
	uint32_t add, take, change;

	if (*a == '\0' || *b == '\0')
		return (uint32_t)(strlen(a) + strlen(b));
	add = 1 + slow(a, b + 1);
	take = 1 + slow(a + 1, b);
	change = (*a != *b) + slow(a + 1, b + 1);
	return add < take ? (add < change ? add : change) : take < change ? take : change;
}

static void
the_distance_equals_its_recursive_definition(void **state)
{
	char a[8], b[8], long_word[300];
	struct rng r;

	(void)state;
	rng_seed(&r, 1);
	for (int i = 0; i < 2000; i++) {
		uint64_t la = rng_below(&r, 7), lb = rng_below(&r, 7);

		for (uint64_t j = 0; j < 8; j++) {
			a[j] = j < la ? (char)('a' + rng_below(&r, 3)) : '\0';
			b[j] = j < lb ? (char)('a' + rng_below(&r, 3)) : '\0';
		}
		assert_int_equal(edit_distance(a, b), slow(a, b));
	}
	memset(long_word, 'x', sizeof long_word);
	long_word[299] = '\0';
	assert_int_equal(edit_distance(long_word, "x"), UINT32_MAX);
	long_word[255] = '\0';
	assert_int_equal(edit_distance(long_word, "x"), 254);
}

static const char *
of(const char *said, const char *a, const char *b)
{
	struct suggestion n = { .said = said };

	suggestion_try(&n, a);
	suggestion_try(&n, b);
	return n.best;
}

static void
only_near_words_are_suggested(void **state)
{
	(void)state;
	assert_string_equal(of("begni", "end", "begin"), "begin");
	assert_null(of("colour", "begin", "end"));
	assert_string_equal(of("be", "begin", "end"), "begin"); /* a prefix */
	assert_string_equal(
	    of("abcd", "abce", "abcf"), "abce"); /* the first of those with equal distance */
	assert_string_equal(of("begin", "begin_id", "begin"), "begin");
	assert_null(of("xy", "ab", "cd"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_distance_equals_its_recursive_definition),
		cmocka_unit_test(only_near_words_are_suggested),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
