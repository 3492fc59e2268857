/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "below/stacks/code_place.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const struct code_frame waits[] = { { "__futex_abstimed_wait", "", 0, true },
	{ "pthread_mutex_lock", "", 0, true }, { "append", "/src/dd.c", 27, false },
	{ "serve", "/src/dd.c", 60, false }, { "main", "/src/dd.c", 90, false },
	{ "_start", "", 0, false } };

static void
the_place_is_the_innermost_function_of_the_program(void **state)
{
	struct code_place p;
	(void)state;

	code_place_make(&p, waits, 6, 5, STACK_COMPLETE);
	assert_string_equal(p.function, "append");
	assert_string_equal(p.file, "dd.c");
	assert_int_equal(p.line, 27);
	assert_string_equal(p.call, "pthread_mutex_lock");
	assert_string_equal(p.folded,
	    "_start;main;serve() at dd.c:60;append() at dd.c:27;pthread_mutex_lock;__futex_abstimed_wait");
	assert_int_equal(p.frames, 5);
}

static void
the_innermost_caller_with_a_known_line_has_it(void **state)
{
	static const struct code_frame sorts[] = { { "compare", "a.c", 3, false },
		{ "qsort", "msort.c", 9, true }, { "order", "", 0, false },
		{ "serve", "b.c", 4, false }, { "main", "b.c", 8, false } };
	struct code_place p;
	(void)state;

	code_place_make(&p, sorts, 5, 5, STACK_COMPLETE);
	assert_string_equal(p.folded, "main;serve() at b.c:4;order;qsort;compare() at a.c:3");
	code_place_make(&p, &sorts[2], 3, 3, STACK_COMPLETE);
	assert_string_equal(p.function, "order");
	assert_string_equal(p.folded, "main;serve() at b.c:4;order");
}

static void
a_stack_of_libraries_only_has_its_innermost_function(void **state)
{
	struct code_place p;
	(void)state;

	code_place_make(&p, waits, 2, 2, STACK_BYTES_MISSED);
	assert_string_equal(p.function, "__futex_abstimed_wait");
	assert_string_equal(p.call, "");
	assert_string_equal(p.folded, "...;pthread_mutex_lock;__futex_abstimed_wait");
	code_place_make(&p, NULL, 0, 0, STACK_NO_PROCESS);
	assert_string_equal(p.folded, "");
	assert_string_equal(p.function, "");
}

static void
a_long_stack_keeps_its_inner_end(void **state)
{
	struct code_frame frames[PLACE_FRAMES_MAX];
	char names[PLACE_FRAMES_MAX][PLACE_FUNCTION_MAX + 1];
	struct code_place p;
	(void)state;

	for (int i = 0; i < PLACE_FRAMES_MAX; i++) {
		snprintf(names[i], sizeof names[i], "function_%0100d", i);
		frames[i] = (struct code_frame){ names[i], "x.c", 1, false };
	}
	code_place_make(&p, frames, PLACE_FRAMES_MAX, PLACE_FRAMES_MAX, STACK_COMPLETE);
	assert_true(strlen(p.folded) <= PLACE_FOLDED_MAX);
	assert_memory_equal(p.folded, "...;", 4);
	assert_non_null(strstr(p.folded, "00() at x.c:1"));
	assert_string_equal(strstr(p.folded, "0000() at"), "0000() at x.c:1");
	for (int i = 0; i < 12; i++) { /* of every length that may just fit */
		memset(names[PLACE_FRAMES_MAX - 1], 'y', 100 + (size_t)i);
		code_place_make(&p, frames, 9 + (size_t)(i % 2), 9, STACK_COMPLETE);
		assert_true(strlen(p.folded) <= PLACE_FOLDED_MAX);
	}
}

static void
names_hold_nothing_that_ends_an_entry_or_a_line(void **state)
{
	const struct code_frame odd[] = { { "a;b\nc", "d;e", 1, false } };
	struct code_place p;
	(void)state;

	code_place_make(&p, odd, 1, 1, STACK_COMPLETE);
	assert_string_equal(p.folded, "a_b_c() at d_e:1");
}

static void
what_compilers_append_to_a_name_is_dropped(void **state)
{
	static const char *const of[][2] = { { "flush.isra.0", "flush" },
		{ "flush.part.3.isra.1", "flush" }, { "flush.constprop.0.cold", "flush" },
		{ "flush.cold", "flush" }, { "fsync@@GLIBC_2.2.5", "fsync" }, { "flush", "flush" },
		{ ".isra.0", ".isra.0" } };
	char name[PLACE_FUNCTION_MAX + 1], long_name[400];
	(void)state;

	for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
		code_function_name(name, of[i][0]);
		assert_string_equal(name, of[i][1]);
	}
	memset(long_name, 'x', sizeof long_name - 1);
	long_name[sizeof long_name - 1] = '\0';
	code_function_name(name, long_name);
	assert_int_equal(strlen(name), PLACE_FUNCTION_MAX);
}

static void
equal_places_have_equal_keys_and_others_do_not(void **state)
{
	struct code_frame other[6];
	struct code_place a, b;
	(void)state;

	memset(&a, 0x55, sizeof a);
	code_place_make(&a, waits, 6, 5, STACK_COMPLETE);
	code_place_make(&b, waits, 6, 5, STACK_COMPLETE);
	assert_int_equal(a.key, b.key);
	memcpy(other, waits, sizeof other);
	other[2].line = 28;
	code_place_make(&b, other, 6, 5, STACK_COMPLETE);
	assert_int_not_equal(a.key, b.key);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_place_is_the_innermost_function_of_the_program),
		cmocka_unit_test(the_innermost_caller_with_a_known_line_has_it),
		cmocka_unit_test(a_stack_of_libraries_only_has_its_innermost_function),
		cmocka_unit_test(a_long_stack_keeps_its_inner_end),
		cmocka_unit_test(names_hold_nothing_that_ends_an_entry_or_a_line),
		cmocka_unit_test(what_compilers_append_to_a_name_is_dropped),
		cmocka_unit_test(equal_places_have_equal_keys_and_others_do_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
