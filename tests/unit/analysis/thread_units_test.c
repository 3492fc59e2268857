/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/thread_units.h"
#include "tests/unit/analysis/kit.h"

static uint32_t
note(struct thread_units *t, enum record_kind kind, uint32_t tid, uint64_t trace, uint64_t unit,
    struct open_unit shared[THREAD_UNITS_MAX])
{
	struct record r = { .trace_id = trace, .unit_id = unit, .pid = 1, .tid = tid };

	return thread_units_note(t, 0, kind, &r, shared);
}

static void
a_unit_that_begins_beside_one_of_another_trace_shares_its_thread(void **state)
{
	struct thread_units *t = thread_units_new();
	struct open_unit shared[THREAD_UNITS_MAX];
	(void)state;

	assert_int_equal(note(t, RECORD_UNIT_BEGIN, 1, 10, 100, shared), 0);
	assert_int_equal(note(t, RECORD_UNIT_BEGIN, 1, 10, 101, shared), 0); /* same trace */
	assert_int_equal(note(t, RECORD_UNIT_BEGIN, 2, 20, 200, shared), 0); /* another thread */
	assert_int_equal(note(t, RECORD_UNIT_END, 1, 10, 101, shared), 0);
	assert_int_equal(note(t, RECORD_FORK, 1, 30, 300, shared), 0); /* a fork begins no unit */
	assert_int_equal(note(t, RECORD_UNIT_BEGIN, 1, 30, 300, shared), 1);
	assert_int_equal(shared[0].trace_id, 10);
	assert_int_equal(shared[0].unit_id, 100);
	assert_int_equal(note(t, RECORD_UNIT_END, 1, 10, 100, shared), 0);
	assert_int_equal(note(t, RECORD_UNIT_END, 1, 30, 300, shared), 0);
	assert_int_equal(note(t, RECORD_UNIT_BEGIN, 1, 40, 400, shared), 0);
	thread_units_free(t);
}

static void
a_request_that_begins_discards_the_units_of_its_thread(void **state)
{
	struct thread_units *t = thread_units_new();
	struct open_unit shared[THREAD_UNITS_MAX];
	(void)state;

	note(t, RECORD_REQUEST_BEGIN, 1, 10, 100, shared);
	assert_int_equal(note(t, RECORD_REQUEST_BEGIN, 1, 20, 200, shared), 1);
	assert_int_equal(shared[0].unit_id, 100);
	assert_int_equal(note(t, RECORD_REQUEST_BEGIN, 1, 30, 300, shared), 1);
	assert_int_equal(shared[0].unit_id, 200);
	assert_int_equal(note(t, RECORD_REQUEST_END, 1, 30, 300, shared), 0);
	assert_int_equal(note(t, RECORD_REQUEST_BEGIN, 1, 40, 400, shared), 0);
	thread_units_free(t);
}

static void
units_that_never_end_take_a_fixed_amount_of_memory(void **state)
{
	struct thread_units *t = thread_units_new();
	struct open_unit shared[THREAD_UNITS_MAX];
	(void)state;

	for (uint64_t i = 1; i <= 100000; i++)
		note(t, RECORD_UNIT_BEGIN, (uint32_t)(i % 20000), i, i, shared);
	for (uint64_t i = 1; i <= 10; i++)
		note(t, RECORD_UNIT_BEGIN, 77, i, i, shared);
	assert_int_equal(note(t, RECORD_UNIT_BEGIN, 77, 99, 99, shared), THREAD_UNITS_MAX);
	assert_int_equal(shared[0].unit_id, 7);
	thread_units_free(t);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_unit_that_begins_beside_one_of_another_trace_shares_its_thread),
		cmocka_unit_test(a_request_that_begins_discards_the_units_of_its_thread),
		cmocka_unit_test(units_that_never_end_take_a_fixed_amount_of_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
