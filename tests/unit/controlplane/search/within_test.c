/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "controlplane/search/within.h"

enum { MOST = 16 };

/* The names of the tracepoints of a path, with blanks between, all in unit 1; those after a '>' in unit 2. Whether the edge after the token
 * number `at` lies within a span, and in which: "a_start a_end", or "". */
static const char *
within(const char *path, uint32_t at)
{
	static char said[100];
	struct labels *labels = labels_new();
	uint32_t tokens[MOST], units[MOST], begin, end;
	struct shape_edge edges[MOST] = { { 0 } };
	struct shape shape = { .tokens = tokens, .edges = edges };
	char copy[200], text[60];

	snprintf(copy, sizeof copy, "%s", path);
	for (char *word = strtok(copy, " "); word != NULL; word = strtok(NULL, " ")) {
		bool other = word[0] == '>';

		snprintf(text, sizeof text, "s/p:%s", word + other);
		tokens[shape.ntokens] = labels_intern(
		    labels, RECORD_POINT, text, strlen(text), NULL, 0);
		units[shape.ntokens++] = other ? 2 : 1;
	}
	shape.nedges = shape.ntokens - 1;
	for (uint32_t i = 0; i < shape.nedges; i++)
		edges[i] = (struct shape_edge){ .from = tokens[i],
			.to = tokens[i + 1],
			.from_unit = units[i],
			.to_unit = units[i + 1],
			.from_token = i,
			.to_token = i + 1 };
	said[0] = '\0';
	if (within_span(&shape, at, labels, &begin, &end))
		snprintf(said, sizeof said, "%s %s", labels_get(labels, begin)->event + 2,
		    labels_get(labels, end)->event + 2);
	labels_free(labels);
	return said;
}

static void
the_innermost_span_around_the_edge_is_named(void **state)
{
	(void)state;

	assert_string_equal(
	    within("wait__start release acquire wait__done", 1), "wait__start wait__done");
	assert_string_equal(within("a_begin b_start x y b_end a_end", 2), "b_start b_end");
	assert_string_equal(within("a_begin b_start b_end x y a_end", 3), "a_begin a_end");
	assert_string_equal(within("b_start b_end x y", 2), "");
	assert_string_equal(within("x y b_start b_end", 0), "");
}

static void
an_edge_that_is_a_span_lies_in_the_next_one(void **state)
{
	(void)state;

	assert_string_equal(within("a_begin b_start b_end a_end", 1), "a_begin a_end");
	assert_string_equal(within("b_start b_end", 0), "");
	/* one end of the edge is an end of the span */
	assert_string_equal(within("b_start x b_end", 0), "b_start b_end");
}

static void
spans_of_other_units_and_begins_without_an_end_do_not_count(void **state)
{
	(void)state;

	assert_string_equal(within("a_begin >x >y a_end", 1), "");
	assert_string_equal(within("a_begin x >y a_end", 1), "");
	assert_string_equal(within("a_begin b_start x y a_end", 2), "a_begin a_end");
	assert_string_equal(
	    within("a_begin b_start b_start b_end x y b_end a_end", 4), "b_start b_end");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_innermost_span_around_the_edge_is_named),
		cmocka_unit_test(an_edge_that_is_a_span_lies_in_the_next_one),
		cmocka_unit_test(spans_of_other_units_and_begins_without_an_end_do_not_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
