/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "agent/reader/record_list.h"
#include "base/rng.h"

static void
sorting_is_by_time_and_keeps_equal_times_in_order(void **state)
{
	struct record_list l = { 0 }, scratch = { 0 };
	struct rng rng;
	(void)state;

	rng_seed(&rng, 3);
	for (uint32_t n = 0; n < 200; n++) {
		l.count = 0;
		for (uint32_t i = 0; i < n; i++) {
			const struct record r = { .time_ns = (int64_t)rng_below(&rng, 20),
				.trace_id = i };
			assert_true(record_list_add(&l, &r));
		}
		assert_true(record_list_sort(&l, &scratch));
		assert_int_equal(l.count, n);
		for (uint32_t i = 1; i < n; i++) {
			const struct record *a = &l.list[i - 1], *b = &l.list[i];
			assert_true(a->time_ns < b->time_ns ||
				    (a->time_ns == b->time_ns && a->trace_id < b->trace_id));
		}
	}
	record_list_release(&l);
	record_list_release(&scratch);
}

static void
a_copy_does_not_depend_on_the_original(void **state)
{
	char text[] = "text";
	struct value values[2] = { { .type = VALUE_TEXT, .len = 4, .text = text },
		{ .type = VALUE_UINT, .u = 7 } };
	const struct record r = { .nvalues = 2, .values = values }, none = { 0 };
	struct record_list l = { 0 };
	struct arena a = { 0 };
	(void)state;

	assert_true(record_list_copy(&l, &a, &r));
	assert_true(record_list_copy(&l, &a, &none));
	memset(text, 'x', 4);
	memset(values, 0, sizeof values);
	assert_memory_equal(l.list[0].values[0].text, "text", 4);
	assert_int_equal(l.list[0].values[1].u, 7);
	assert_int_equal(l.list[1].nvalues, 0);
	record_list_release(&l);
	arena_release(&a);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sorting_is_by_time_and_keeps_equal_times_in_order),
		cmocka_unit_test(a_copy_does_not_depend_on_the_original),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
