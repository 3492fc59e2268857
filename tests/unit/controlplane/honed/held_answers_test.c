/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "controlplane/honed/held_answers.h"

#define START_NS INT64_C(1000000000)

struct told {
	char text
	    [200]; /* what peers were told: their letters, and a - before one that was refused */
};

static void
give(void *of, void *peer, char *text)
{
	assert_string_equal(text, peer);
	strcat(((struct told *)of)->text, peer);
	free(text);
}

static void
refuse(void *of, void *peer, const char *why)
{
	assert_true(strlen(why) > 0);
	strcat(((struct told *)of)->text, "-");
	strcat(((struct told *)of)->text, peer);
}

static bool
has(const void *feed, uint64_t put)
{
	return *(const uint64_t *)feed >= put;
}

static void
ask(struct held_answers *l, const char *name, int64_t now_ns)
{
	struct err e;

	assert_int_equal(
	    held_answers_add(l, (void *)(uintptr_t)name, strdup(name), (struct mono){ now_ns }, &e),
	    0);
}

static void
an_answer_is_given_when_it_is_committed_and_in_the_log(void **state)
{
	struct told told = { "" };
	struct held_answers l = { .port = { &told, give, refuse } };
	const struct mono now = { START_NS };
	uint64_t in_log = 0;
	(void)state;

	ask(&l, "a", START_NS);
	held_answers_step(&l, has, &in_log, now);
	assert_string_equal(told.text, ""); /* it is not even committed */
	held_answers_committed(&l, 3);
	ask(&l, "b", START_NS);
	ask(&l, "c", START_NS);
	in_log = 2;
	held_answers_step(&l, has, &in_log, now);
	assert_string_equal(told.text, "");
	in_log = 3;
	held_answers_step(&l, has, &in_log, now);
	assert_string_equal(told.text, "a");
	held_answers_committed(&l, 7);
	in_log = 6;
	held_answers_step(&l, has, &in_log, now);
	assert_string_equal(told.text, "a");
	in_log = 7;
	held_answers_step(&l, has, &in_log, now);
	assert_string_equal(told.text, "abc");
	assert_null(l.first);
}

static void
who_has_waited_for_5_s_is_told_that_it_is_not_in_the_log(void **state)
{
	struct told told = { "" };
	struct held_answers l = { .port = { &told, give, refuse } };
	uint64_t in_log = 0;
	(void)state;

	ask(&l, "a", START_NS);
	held_answers_committed(&l, 1);
	ask(&l, "b", START_NS + 1);
	held_answers_step(&l, has, &in_log, (struct mono){ START_NS + ANSWER_HELD_NS - 1 });
	assert_string_equal(told.text, "");
	held_answers_step(&l, has, &in_log, (struct mono){ START_NS + ANSWER_HELD_NS });
	assert_string_equal(told.text, "-a");
	ask(&l, "c", START_NS + ANSWER_HELD_NS);
	held_answers_end(&l, "it ends");
	assert_string_equal(told.text, "-a-b-c");
	assert_null(l.first);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_answer_is_given_when_it_is_committed_and_in_the_log),
		cmocka_unit_test(who_has_waited_for_5_s_is_told_that_it_is_not_in_the_log),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
