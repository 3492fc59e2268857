/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "otel/control/span_levels.h"

static const struct span_levels LEVELS = {
	.lists = { { LOGLEVEL_ERR, "shop:refused , pay*" }, { LOGLEVEL_WARNING, "" },
	    { LOGLEVEL_INFO, "shop,@o/express, *:GET *" } },
	.n = 3,
};

static void
a_span_has_the_most_severe_level_of_a_pattern_for_its_scope_or_name(void **state)
{
	static const struct {
		const char *name;
		uint8_t level;
	} cases[] = { { "shop:refused_begin", LOGLEVEL_ERR }, { "shop:refused_end", LOGLEVEL_ERR },
		{ "payment:a_end", LOGLEVEL_ERR }, { "shop:refused again_begin", LOGLEVEL_INFO },
		{ "shop:voucher_begin", LOGLEVEL_INFO },
		{ "shopping:voucher_begin", LOGLEVEL_USUAL },
		{ "@o/express:middleware_end", LOGLEVEL_INFO },
		{ "http:GET /a_end", LOGLEVEL_INFO }, { "http:PUT /a_end", LOGLEVEL_USUAL },
		{ "opamp:pg_begin", LOGLEVEL_USUAL }, { "event:exception", LOGLEVEL_NONE } };
	(void)state;

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
		assert_int_equal(span_levels_of(&LEVELS, cases[i].name), cases[i].level);
	assert_int_equal(
	    span_levels_of(&(struct span_levels){ 0 }, "shop:refused_begin"), LOGLEVEL_USUAL);
}

static void
all_names_of_programs_get_one(void **state)
{
	const char *names[] = { "shop:refused_begin", "event:e", "x:y_end" };
	struct programs p = { .nnames = 3, .names = names };
	struct arena a = { 0 };
	(void)state;

	assert_true(span_levels_fill(&LEVELS, &p, &a));
	assert_true(p.levels[0] == LOGLEVEL_ERR && p.levels[1] == LOGLEVEL_NONE &&
		    p.levels[2] == LOGLEVEL_USUAL);
	arena_release(&a);
}

static void
too_many_or_too_long_patterns_do_not_fit(void **state)
{
	char *text = malloc(4096);
	(void)state;

	assert_true(span_levels_fit(""));
	assert_true(span_levels_fit(" , ,a, "));
	memset(text, 'a', 4096);
	text[SPAN_LEVEL_PATTERN_MAX] = '\0';
	assert_true(span_levels_fit(text));
	text[SPAN_LEVEL_PATTERN_MAX] = 'a';
	text[SPAN_LEVEL_PATTERN_MAX + 1] = '\0';
	assert_false(span_levels_fit(text));
	for (int i = 0; i <= SPAN_LEVEL_PATTERNS_MAX; i++)
		memcpy(text + 2 * i, "a,", 3);
	assert_false(span_levels_fit(text));
	text[2 * SPAN_LEVEL_PATTERNS_MAX] = '\0';
	assert_true(span_levels_fit(text));
	free(text);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
		    a_span_has_the_most_severe_level_of_a_pattern_for_its_scope_or_name),
		cmocka_unit_test(all_names_of_programs_get_one),
		cmocka_unit_test(too_many_or_too_long_patterns_do_not_fit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
