/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "controlplane/honed/limited_log.h"

#define SECOND INT64_C(1000000000)

/* What is logged goes to this file. */
struct written {
	FILE *file;
	int before;
};

static void
divert(struct written *w)
{
	log_open("test", LOG_INFO);
	assert_non_null(w->file = tmpfile());
	assert_true((w->before = dup(STDERR_FILENO)) >= 0);
	assert_true(dup2(fileno(w->file), STDERR_FILENO) >= 0);
}

/* Returns the number of lines with these words. */
static int
restored(struct written *w, const char *words)
{
	char line[4096];
	int n = 0;

	dup2(w->before, STDERR_FILENO);
	close(w->before);
	rewind(w->file);
	while (fgets(line, sizeof line, w->file) != NULL)
		n += strstr(line, words) != NULL;
	fclose(w->file);
	return n;
}

static void
a_peer_has_fifty_lines_at_once_and_then_one_in_five_seconds(void **state)
{
	struct mono now = { SECOND };
	struct limited_log l;
	struct written w;
	int n;
	(void)state;

	limited_log_init(&l, now);
	divert(&w);
	for (int i = 0; i < 1000; i++)
		limited_log(&l, now, LOG_INFO, "line %d", i);
	for (int s = 0; s < 100; s++) {
		now.ns += SECOND;
		for (int i = 0; i < 10; i++)
			limited_log(&l, now, LOG_INFO, "line %d", i);
	}
	n = restored(&w, "line ");
	assert_in_range(n, 50 + 19, 50 + 20);
	assert_int_equal(l.left_out, 2000 - n);
}

static void
the_number_of_lines_left_out_is_told_once_there_is_room(void **state)
{
	struct mono now = { SECOND };
	struct limited_log l;
	struct written w;
	(void)state;

	limited_log_init(&l, now);
	divert(&w);
	for (int i = 0; i < 53; i++)
		limited_log(&l, now, LOG_WARN, "line %d", i);
	limited_log_flush(&l, now, "agent a: ");
	assert_int_equal(l.left_out, 3);
	now.ns += 6 * SECOND;
	limited_log_flush(&l, now, "agent a: ");
	limited_log_flush(&l, now, "agent a: ");
	assert_int_equal(restored(&w, "agent a: 3 more lines"), 1);
	assert_int_equal(l.left_out, 0);
}

static void
each_line_has_its_level(void **state)
{
	struct mono now = { SECOND };
	struct limited_log l;
	struct written w;
	(void)state;

	limited_log_init(&l, now);
	divert(&w);
	log_open("test", LOG_WARN);
	limited_log(&l, now, LOG_INFO, "line");
	limited_log(&l, now, LOG_WARN, "line");
	assert_int_equal(restored(&w, "line"), 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_peer_has_fifty_lines_at_once_and_then_one_in_five_seconds),
		cmocka_unit_test(the_number_of_lines_left_out_is_told_once_there_is_room),
		cmocka_unit_test(each_line_has_its_level),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
