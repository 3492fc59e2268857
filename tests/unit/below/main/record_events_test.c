/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "below/main/record_events.h"

static struct kernel_names names;
static struct record_events x = { .names = &names };

static int
begin(void **state)
{
	(void)state;
	return kernel_names_new(&names, NULL);
}

static int
end(void **state)
{
	(void)state;
	kernel_names_release(&names);
	return 0;
}

static void
a_wake_up_is_by_what_the_cpu_did(void **state)
{
	static const struct {
		uint8_t by;
		uint16_t vector;
		enum wake_context context;
	} cases[] = { { RECORD_BY_TASK, RECORD_NO_VECTOR, WAKE_TASK },
		{ RECORD_BY_KERNEL_TASK, RECORD_NO_VECTOR, WAKE_KERNEL_TASK },
		{ RECORD_BY_HRTIMER, RECORD_NO_VECTOR, WAKE_TIMER },
		{ RECORD_BY_SOFTIRQ, SOFTIRQ_TIMER, WAKE_TIMER },
		{ RECORD_BY_SOFTIRQ, SOFTIRQ_HRTIMER, WAKE_TIMER },
		{ RECORD_BY_SOFTIRQ, SOFTIRQ_NET_RX, WAKE_NETWORK },
		{ RECORD_BY_SOFTIRQ, SOFTIRQ_NET_TX, WAKE_NETWORK },
		{ RECORD_BY_SOFTIRQ, SOFTIRQ_BLOCK, WAKE_BLOCK },
		{ RECORD_BY_SOFTIRQ, SOFTIRQ_RCU, WAKE_INTERRUPT },
		{ RECORD_BY_STORAGE, 11, WAKE_BLOCK }, { RECORD_BY_IRQ, 11, WAKE_INTERRUPT },
		{ RECORD_BY_IPI, 251, WAKE_INTERRUPT } };
	(void)state;

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const struct record_other r = { .head = { .time_ns = 5,
						    .tid = 1,
						    .pid = 2,
						    .kind = RECORD_WAKING,
						    .vector = cases[i].vector,
						    .a = 7 },
			.pid = 8,
			.by = cases[i].by,
			.is_new = 1 };
		struct kernel_event ev[RECORD_EVENTS_MAX];

		assert_int_equal(record_events_make(&x, 3, &r.head, sizeof r, ev), 1);
		assert_int_equal(ev[0].kind, KERNEL_WAKING);
		assert_int_equal(ev[0].cpu, 3);
		assert_int_equal(ev[0].waking.tid, 7);
		assert_int_equal(ev[0].waking.pid, 8);
		assert_int_equal(ev[0].waking.by, cases[i].context);
		assert_int_equal(ev[0].waking.vector, cases[i].vector);
		assert_true(ev[0].waking.is_new);
	}
}

static void
a_new_thread_has_the_name_of_its_parent(void **state)
{
	struct record_name r = { .other.head = { .tid = 1, .pid = 1, .kind = RECORD_FORK, .a = 9 },
		.other.pid = 10 };
	struct kernel_event ev[RECORD_EVENTS_MAX];
	(void)state;

	memcpy(r.name, "sixteen letters!", RECORD_COMM);
	assert_int_equal(record_events_make(&x, 0, &r.other.head, sizeof r, ev), 2);
	assert_int_equal(ev[0].kind, KERNEL_FORK);
	assert_int_equal(ev[0].child.tid, 9);
	assert_int_equal(ev[0].child.pid, 10);
	assert_int_equal(ev[1].kind, KERNEL_NAME);
	assert_int_equal(ev[1].tid, 9);
	assert_int_equal(ev[1].pid, 10);
	assert_false(ev[1].thread.asleep);
	assert_string_equal(texts_get(names.texts, ev[1].thread.name), "sixteen letters!");
}

static void
only_a_printable_first_line_is_kept(void **state)
{
	static const struct {
		const char *bytes, *line;
	} cases[] = { { "GET /cart HTTP/1.1\r\nCookie: secret", "GET /cart HTTP/1.1" },
		{ "HTTP/1.1 200 OK\nbody", "HTTP/1.1 200 OK" }, { "\x16\x03\x01 no text", "" },
		{ "half \xc3\xa4 line\n", "" }, { "", "" }, { "\r\n", "" },
		{ "no end", "no end" } };
	(void)state;

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct record_text r = { .message.head.kind = RECORD_SEND,
			.message.head.flags = (uint8_t)strlen(cases[i].bytes),
			.message.head.a = 0xf0000098,
			.message.bytes = 100,
			.message.ends = { .here_port = 80, .there_port = 1234 } };
		struct kernel_event ev[RECORD_EVENTS_MAX];
		struct kernel_connection c;

		memcpy(r.text, cases[i].bytes, strlen(cases[i].bytes));
		assert_int_equal(record_events_make(&x, 0, &r.message.head, sizeof r, ev), 1);
		assert_string_equal(texts_get(names.texts, ev[0].message.text), cases[i].line);
		assert_int_equal(ev[0].flags, 0);
		assert_int_equal(ev[0].message.bytes, 100);
		c = kernel_connection(&names, ev[0].message.connection);
		assert_int_equal(c.here.port, 80);
		assert_int_equal(c.there.port, 1234);
		assert_int_equal(c.net, 0xf0000098);
	}
}

static void
short_and_unknown_records_give_nothing(void **state)
{
	struct record_text r = { 0 };
	struct kernel_event ev[RECORD_EVENTS_MAX];
	(void)state;

	for (int kind = 0; kind < 256; kind++) {
		r.message.head.kind = (uint8_t)kind;
		assert_int_equal(
		    record_events_make(&x, 0, &r.message.head, sizeof r.message.head, ev), 0);
		for (size_t len = sizeof r.message.head; len <= sizeof r; len++)
			assert_in_range(
			    record_events_make(&x, 0, &r.message.head, len, ev) + 1, 1, 3);
	}
}

static void
what_was_lost_is_told_of_its_cpu_or_of_all(void **state)
{
	const struct record_lost r = {
		.head = { .time_ns = 100, .kind = RECORD_LOST, .tid = 3 }, .count = 4, .from_ns = 60
	};
	struct kernel_event ev[RECORD_EVENTS_MAX];
	(void)state;

	assert_int_equal(record_events_make(&x, 2, &r.head, sizeof r, ev), 1);
	assert_int_equal(ev[0].cpu, 2);
	assert_int_equal(ev[0].lost.count, 4);
	assert_int_equal(ev[0].lost.from_ns, 60);
	assert_int_equal(record_events_make(&x, UINT32_MAX, &r.head, sizeof r, ev), 1);
	assert_int_equal(ev[0].cpu, KERNEL_CPU_ALL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_wake_up_is_by_what_the_cpu_did),
		cmocka_unit_test(a_new_thread_has_the_name_of_its_parent),
		cmocka_unit_test(only_a_printable_first_line_is_kept),
		cmocka_unit_test(short_and_unknown_records_give_nothing),
		cmocka_unit_test(what_was_lost_is_told_of_its_cpu_or_of_all),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
