/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/function_times.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

enum { START = 7, DONE = 8, OTHER = 9 };

/* Events of a unit at 10, 20, 30 ... : '(' a begin, ')' an end, '.' another one. The function's time from 25 to 75. */
static struct function_time
time_of(const char *text)
{
	const struct function_labels f = { START, DONE };
	struct event events[16] = { 0 };
	struct unit unit = { .count = (uint32_t)strlen(text) };
	const struct trace t = { .nunits = 1, .units = &unit, .events = events };
	struct function_time ret;

	for (uint32_t i = 0; i < unit.count; i++)
		events[i] = (struct event){ .time_ns = 10 * (i + 1),
			.label = text[i] == '('   ? START
			         : text[i] == ')' ? DONE
			                          : OTHER };
	function_times_of(&ret, &t, 0, &f, 1, 25, 75);
	return ret;
}

static void
calls_count_as_far_as_they_lie_in_the_part(void **state)
{
	struct function_time t;
	(void)state;

	t = time_of("..(..)..");
	assert_true(t.ns == 30 && t.calls == 1 && !t.torn);
	t = time_of("..()()..");
	assert_true(t.ns == 20 && t.calls == 2 && !t.torn);
	t = time_of("(......)"); /* around it */
	assert_true(t.ns == 50 && t.calls == 0 && !t.torn);
	t = time_of("(..)..(."); /* into it; the last one has no end */
	assert_true(t.ns == 15 && t.calls == 1 && t.torn);
	t = time_of("()......");
	assert_true(t.ns == 0 && t.calls == 0 && !t.torn);
	t = time_of("........");
	assert_true(t.ns == 0 && t.calls == 0 && !t.torn);
}

static void
a_function_that_calls_itself_is_one_call_of_the_outermost(void **state)
{
	struct function_time t = time_of("..((.))."); /* 30 to 70 */
	(void)state;

	assert_true(t.ns == 40 && t.calls == 2 && !t.torn);
}

static void
a_call_with_one_end_is_torn_and_its_time_is_left_out(void **state)
{
	struct function_time t;
	(void)state;

	t = time_of("..(.....");
	assert_true(t.ns == 0 && t.calls == 1 && t.torn);
	t = time_of("...)....");
	assert_true(t.ns == 0 && t.torn);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_count_as_far_as_they_lie_in_the_part),
		cmocka_unit_test(a_function_that_calls_itself_is_one_call_of_the_outermost),
		cmocka_unit_test(a_call_with_one_end_is_torn_and_its_time_is_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
