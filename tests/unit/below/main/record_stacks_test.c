/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "below/main/record_stacks.h"

static struct kernel_names names;
static struct record_stacks *x;

static int
begin(void **state)
{
	(void)state;
	x = record_stacks_new();
	return x == NULL || kernel_names_new(&names, NULL) != 0;
}

static int
end(void **state)
{
	(void)state;
	record_stacks_free(x);
	kernel_names_release(&names);
	return 0;
}

static void
name(uint32_t id, const char *folded)
{
	record_stacks_take(x,
	    &(struct below_message){ .kind = BELOW_NAME, .name = { .id = id, .folded = folded } });
}

static void
wait_until(int64_t end_ns, uint32_t tid, uint32_t place)
{
	record_stacks_take(
	    x, &(struct below_message){ .kind = BELOW_WAIT,
		   .wait = {
		       .pid = 7, .tid = tid, .begin_ns = 1, .end_ns = end_ns, .place = place } });
}

static void
run(uint16_t cpu, uint32_t tid)
{
	record_stacks_saw(x,
	    &(struct kernel_event){
		.kind = KERNEL_SWITCH, .cpu = cpu, .change = { .next_tid = tid, .next_pid = 7 } });
}

static void
next_is(int64_t until_ns, int64_t time_ns, uint32_t tid, uint16_t cpu, const char *folded)
{
	struct kernel_event ev;

	assert_int_equal(record_stacks_next(x, until_ns, &names, &ev), 1);
	assert_int_equal(ev.kind, KERNEL_STACK);
	assert_int_equal(ev.time_ns, time_ns);
	assert_int_equal(ev.tid, tid);
	assert_int_equal(ev.pid, 7);
	assert_int_equal(ev.cpu, cpu);
	assert_string_equal(texts_get(names.texts, ev.stack.folded), folded);
}

static void
none(int64_t until_ns)
{
	struct kernel_event ev;

	assert_int_equal(record_stacks_next(x, until_ns, &names, &ev), 0);
}

static void
a_stack_comes_when_its_thread_is_back_on_its_cpu(void **state)
{
	(void)state;
	name(3, "main;save;fsync");
	wait_until(100, 11, 3);
	run(0, 9);
	none(99); /* the switch is at 99: it comes first */
	run(2, 11);
	next_is(120, 100, 11, 2, "main;save;fsync");
	none(120);
	none(INT64_MAX);
}

static void
stacks_come_in_the_order_of_their_times(void **state)
{
	(void)state;
	name(1, "a");
	name(2, "b");
	run(0, 11);
	run(1, 12);
	wait_until(100, 11, 1);
	wait_until(300, 11, 2);
	wait_until(200, 12, 2); /* told by another CPU, later */
	wait_until(200, 11, 1); /* of equal times as they were told */
	next_is(250, 100, 11, 0, "a");
	next_is(250, 200, 12, 1, "b");
	next_is(250, 200, 11, 0, "a");
	none(250);
	wait_until(260, 12, 1);
	next_is(400, 260, 12, 1, "a");
	next_is(400, 300, 11, 0, "b");
	none(400);
}

static void
what_is_told_too_late_is_left_out_and_counted(void **state)
{
	(void)state;
	name(1, "a");
	run(0, 11);
	none(500);
	wait_until(500, 11, 1);
	wait_until(499, 11, 1);
	wait_until(501, 11, 1);
	next_is(600, 501, 11, 0, "a");
	none(600);
	assert_int_equal(record_stacks_counts(x).late, 2);
}

static void
a_stack_whose_thread_is_on_no_cpu_is_left_out_and_counted(void **state)
{
	(void)state;
	name(1, "a");
	run(0, 11);
	run(0, 12); /* it has left again */
	wait_until(100, 11, 1);
	wait_until(101, 12, 1);
	next_is(200, 101, 12, 0, "a");
	none(200);
	assert_int_equal(record_stacks_counts(x).apart, 1);
}

static void
a_wait_without_a_name_is_counted(void **state)
{
	(void)state;
	run(0, 11);
	wait_until(100, 11, 0);
	wait_until(101, 11, 5); /* never named */
	none(200);
	assert_int_equal(record_stacks_counts(x).unnamed, 2);
}

static void
more_than_8192_different_stacks_are_other(void **state)
{
	char folded[32];
	(void)state;

	for (uint32_t id = 1; id <= RECORD_STACKS_NAMES + 2; id++) {
		snprintf(folded, sizeof folded, "main;f%u", id);
		name(id, folded);
	}
	run(0, 11);
	wait_until(100, 11, RECORD_STACKS_NAMES);
	wait_until(101, 11, RECORD_STACKS_NAMES + 1);
	wait_until(102, 11, RECORD_STACKS_NAMES + 2);
	wait_until(103, 11, 0); /* the observer has no more numbers */
	next_is(200, 100, 11, 0, "main;f8192");
	next_is(200, 101, 11, 0, "other");
	next_is(200, 102, 11, 0, "other");
	next_is(200, 103, 11, 0, "other");
	none(200);
}

static void
waiting_stacks_are_bounded_and_the_rest_is_counted(void **state)
{
	struct kernel_event ev;
	int n = 0;
	(void)state;

	name(1, "a");
	run(0, 11);
	for (int i = 0; i < RECORD_STACKS_MAX + 3; i++)
		wait_until(100 + i, 11, 1);
	assert_int_equal(record_stacks_counts(x).lost, 3);
	while (record_stacks_next(x, 100 + n, &names, &ev) == 1) {
		assert_int_equal(ev.time_ns, 100 + n);
		n++;
	}
	assert_int_equal(n, RECORD_STACKS_MAX);
	wait_until(200000, 11, 1); /* there is room again */
	next_is(200000, 200000, 11, 0, "a");
	record_stacks_take(x, &(struct below_message){ .kind = BELOW_LOST, .lost = { 4, 1, 2 } });
	assert_int_equal(record_stacks_counts(x).lost, 7);
}

static void
the_mark_is_the_last_that_was_told(void **state)
{
	(void)state;
	assert_int_equal(record_stacks_mark(x), 0);
	record_stacks_take(x, &(struct below_message){ .kind = BELOW_MARK, .mark_ns = 50 });
	record_stacks_take(x, &(struct below_message){ .kind = BELOW_MARK, .mark_ns = 40 });
	assert_int_equal(record_stacks_mark(x), 50);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
		    a_stack_comes_when_its_thread_is_back_on_its_cpu, begin, end),
		cmocka_unit_test_setup_teardown(
		    stacks_come_in_the_order_of_their_times, begin, end),
		cmocka_unit_test_setup_teardown(
		    what_is_told_too_late_is_left_out_and_counted, begin, end),
		cmocka_unit_test_setup_teardown(
		    a_stack_whose_thread_is_on_no_cpu_is_left_out_and_counted, begin, end),
		cmocka_unit_test_setup_teardown(a_wait_without_a_name_is_counted, begin, end),
		cmocka_unit_test_setup_teardown(
		    more_than_8192_different_stacks_are_other, begin, end),
		cmocka_unit_test_setup_teardown(
		    waiting_stacks_are_bounded_and_the_rest_is_counted, begin, end),
		cmocka_unit_test_setup_teardown(the_mark_is_the_last_that_was_told, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
