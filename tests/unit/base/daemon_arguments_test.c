/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <getopt.h>

#include "base/daemon_arguments.h"

enum { WORDS = 140 };

/* Reads these words, up to a NULL, as a program with that name would. */
static bool
read_words(struct daemon_arguments *a, bool sweeps, const char *const *words)
{
	char *argv[WORDS] = { (char *)(uintptr_t) "program" };
	int argc = 1;

	while (words[argc - 1] != NULL) {
		argv[argc] = (char *)(uintptr_t)words[argc - 1];
		argc++;
	}
	*a = (struct daemon_arguments){ .file = "usual" };
	opterr = 0;
	optind = 0; /* getopt_long() begins anew */
	return daemon_arguments_read(a, argc, argv, sweeps);
}
#define READ(a, sweeps, ...) \
	read_words(a, sweeps, (const char *const[]){ __VA_ARGS__ __VA_OPT__(, ) NULL })

static void
each_option_sets_its_field(void **state)
{
	struct daemon_arguments a;
	(void)state;

	assert_true(READ(&a, false, "-c", "here", "--set", "a.b=1", "-nv", "-o", "c.d=2"));
	assert_string_equal(a.file, "here");
	assert_int_equal(a.nassignments, 2);
	assert_string_equal(a.assignments[0], "a.b=1");
	assert_string_equal(a.assignments[1], "c.d=2");
	assert_true(a.check && a.print && !a.sweep && !a.help && !a.version);
	assert_true(READ(&a, false, "-hV"));
	assert_true(a.help && a.version && !a.check);
}

static void
without_options_the_usual_file_is_read(void **state)
{
	struct daemon_arguments a;
	(void)state;

	assert_true(READ(&a, false));
	assert_string_equal(a.file, "usual");
	assert_int_equal(a.nassignments, 0);
}

static void
what_is_misused_is_refused(void **state)
{
	static const char *const WRONG[][3] = { { "-x" }, { "more" }, { "-c" }, { "--print" },
		{ "-v", "-h" }, { "--sweep" }, { "-n", "more" } };
	struct daemon_arguments a;
	(void)state;

	for (size_t i = 0; i < sizeof WRONG / sizeof WRONG[0]; i++)
		assert_false(read_words(&a, false, WRONG[i]));
}

static void
only_a_program_that_sweeps_has_the_option(void **state)
{
	struct daemon_arguments a;
	(void)state;

	assert_true(READ(&a, true, "--sweep"));
	assert_true(a.sweep);
	assert_false(READ(&a, false, "--sweep"));
}

static void
assignments_are_bounded(void **state)
{
	const char *words[WORDS] = { 0 };
	struct daemon_arguments a;
	(void)state;

	for (int i = 0; i < DAEMON_ASSIGNMENTS_MAX; i++) {
		words[2 * i] = "-o";
		words[2 * i + 1] = "a.b=1";
	}
	assert_true(read_words(&a, false, words));
	assert_int_equal(a.nassignments, DAEMON_ASSIGNMENTS_MAX);
	words[2 * DAEMON_ASSIGNMENTS_MAX] = "-o";
	words[2 * DAEMON_ASSIGNMENTS_MAX + 1] = "a.b=1";
	assert_false(read_words(&a, false, words));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_option_sets_its_field),
		cmocka_unit_test(without_options_the_usual_file_is_read),
		cmocka_unit_test(what_is_misused_is_refused),
		cmocka_unit_test(only_a_program_that_sweeps_has_the_option),
		cmocka_unit_test(assignments_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
