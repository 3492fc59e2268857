/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "wire/below.h"

static const struct below_hit HITS[] = { { 4, 7, 8, 9, 10, 1000, 2, { -1, 5 }, "SELECT" },
	{ 5, 7, 8, 0, 0, 1001, 0, { 0 }, "" } };

static const struct below_message MESSAGES[] = {
	{ .kind = BELOW_FOLLOW,
	    .follow = { 7, BELOW_FOLLOW_WAITS, BELOW_CONTEXT_OTEL_MODULE, -336,
		UINT64_C(0x7fff12345678), 8, 32, 24, 29 } },
	{ .kind = BELOW_LIST, .list = 7 },
	{ .kind = BELOW_PROBE, .probe = { 4, 7, "usdt.postgresql:query__start", true, 1 } },
	{ .kind = BELOW_LISTED, .listed = { 7, true, "usdt.postgresql:query__start\n" } },
	{ .kind = BELOW_PROBED, .probed = { 4, true, "" } },
	{ .kind = BELOW_HITS, .hits = { 2, HITS } },
	{ .kind = BELOW_UNFOLLOW, .unfollow = UINT32_MAX },
	{ .kind = BELOW_LEASE, .lease_ms = BELOW_LEASE_MS },
	{ .kind = BELOW_END },
	{ .kind = BELOW_CAN, .can = { BELOW_CAN_WAITS | BELOW_CAN_STACKS, "no CAP_PERFMON" } },
	{ .kind = BELOW_NAME,
	    .name = { 3, "main;serve;append() at dd.c:27;fsync", "append", "dd.c", "fsync", 27 } },
	{ .kind = BELOW_WAIT,
	    .wait = { 7, 8, 9, 10, 1000, 1500, 1501, BELOW_LOCK, 3, UINT64_C(1) << 47, 12,
		BELOW_DISK, 4, "writer", true, 16, 17, 13, 14, 15, "reader" } },
	{ .kind = BELOW_SAMPLE, .sample = { 7, 8, 9, 10, 1000, 1000000, 3 } },
	{ .kind = BELOW_LOST, .number = 1000000, .lost = { 5, 1000, 2000, 3 } },
	{ .kind = BELOW_MARK, .mark_ns = INT64_C(123456789012) },
	{ .kind = BELOW_COST, .cost_cpu_us = 77 },
	{ .kind = BELOW_RECORD, .record = BELOW_RECORD_ON | BELOW_RECORD_TEXTS },
	{ .kind = BELOW_RECORD_OF, .record_of = 7 },
	{ .kind = BELOW_RECORDING, .recording = { true, "no CAP_BPF" } },
	{ .kind = BELOW_EVENTS, .events = { 9, "HONEKEV\1\0" } },
	{ .kind = BELOW_EVENTS_MARK, .events_mark_ns = INT64_C(123456789012) },
	{ .kind = BELOW_PROBED, .probed = { 5, false, "no room", true } },
};

enum { NMESSAGES = sizeof MESSAGES / sizeof *MESSAGES };

static void
every_message_arrives_as_it_was_sent(void **state)
{
	(void)state;

	for (int i = 0; i < NMESSAGES; i++) {
		struct buf once = { 0 }, twice = { 0 };
		struct arena a = { 0 };
		struct below_message m;
		struct err e;

		below_encode(&MESSAGES[i], &once);
		assert_false(once.failed);
		assert_int_equal(below_decode(&m, &a, once.data, once.len, &e), 0);
		assert_int_equal(m.kind, MESSAGES[i].kind);
		assert_int_equal(m.number, MESSAGES[i].number);
		if (m.kind == BELOW_LOST)
			assert_int_equal(m.lost.messages, 3);
		if (m.kind == BELOW_WAIT) {
			assert_int_equal(m.wait.woken_ns, 1500);
			assert_int_equal(m.wait.end_ns, 1501);
			assert_int_equal(m.wait.waker_type, 15);
			assert_string_equal(m.wait.owner_name, "writer");
			assert_true(m.wait.owner_is_read);
			assert_int_equal(m.wait.owner_trace_id, 16);
			assert_int_equal(m.wait.owner_type, 17);
			assert_string_equal(m.wait.waker_name, "reader");
		}
		if (m.kind == BELOW_NAME)
			assert_string_equal(m.name.called, "fsync");
		if (m.kind == BELOW_EVENTS) {
			assert_int_equal(m.events.len, 9);
			assert_memory_equal(m.events.bytes, "HONEKEV\1\0", 9);
		}
		below_encode(&m, &twice);
		assert_int_equal(once.len, twice.len);
		assert_memory_equal(once.data, twice.data, once.len);
		arena_release(&a);
		buf_release(&once);
		buf_release(&twice);
	}
}

static void
a_message_that_is_cut_off_or_too_long_is_refused(void **state)
{
	(void)state;

	for (int i = 0; i < NMESSAGES; i++) {
		struct buf b = { 0 };
		struct arena a = { 0 };
		struct below_message m;
		struct err e;

		below_encode(&MESSAGES[i], &b);
		for (size_t len = 0; len < b.len; len++)
			assert_int_equal(below_decode(&m, &a, b.data, len, &e), ERR_INPUT);
		buf_u8(&b, 0);
		assert_int_equal(below_decode(&m, &a, b.data, b.len, &e), ERR_INPUT);
		arena_release(&a);
		buf_release(&b);
	}
}

static void
assert_refused(struct below_message m)
{
	struct buf b = { 0 };
	struct arena a = { 0 };
	struct err e;

	below_encode(&m, &b);
	assert_int_equal(below_decode(&m, &a, b.data, b.len, &e), ERR_INPUT);
	arena_release(&a);
	buf_release(&b);
}

static void
impossible_values_are_refused(void **state)
{
	struct below_message m = MESSAGES[11];
	struct below_hit hit = HITS[0];
	(void)state;

	m.wait.woken_ns = m.wait.begin_ns - 1;
	assert_refused(m);
	m = MESSAGES[11];
	m.wait.end_ns = m.wait.woken_ns - 1;
	assert_refused(m);
	m = MESSAGES[11];
	m.wait.state = BELOW_STATES;
	assert_refused(m);
	m = MESSAGES[13];
	m.lost.count = 0;
	assert_refused(m);
	m = MESSAGES[13];
	m.lost.from_ns = m.lost.to_ns + 1;
	assert_refused(m);
	m = MESSAGES[10];
	m.name.id = 0;
	assert_refused(m);
	m = MESSAGES[0];
	m.follow.flags = BELOW_FOLLOW_FLAGS + 1;
	assert_refused(m);
	m = MESSAGES[0];
	m.follow.context = BELOW_CONTEXTS;
	assert_refused(m);
	m = MESSAGES[5];
	hit.nvalues = BELOW_VALUES_MAX + 1;
	m.hits = (struct below_hits){ 1, &hit };
	assert_refused(m);
	m.hits.count = 0;
	assert_refused(m);
	assert_refused(
	    (struct below_message){ .kind = BELOW_RECORD, .record = BELOW_RECORD_FLAGS + 1 });
	assert_refused((struct below_message){ .kind = BELOW_RECORD_OF });
	assert_refused((struct below_message){ .kind = BELOW_EVENTS, .events = { 0, "" } });
	assert_refused((struct below_message){ .kind = BELOW_EVENTS_MARK, .events_mark_ns = -1 });
	assert_refused((struct below_message){ .kind = 99 });
}

static void
every_state_has_a_word(void **state)
{
	(void)state;

	for (int i = 0; i < BELOW_STATES; i++) {
		assert_non_null(below_state_word(i));
		assert_non_null(below_state_text(i));
	}
	assert_string_equal(below_state_word(BELOW_LOCK), "lock");
	assert_string_equal(below_state_word(200), "unknown");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_message_arrives_as_it_was_sent),
		cmocka_unit_test(a_message_that_is_cut_off_or_too_long_is_refused),
		cmocka_unit_test(impossible_values_are_refused),
		cmocka_unit_test(every_state_has_a_word),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
