/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "controlplane/relay/events.h"

static void
all_readers_agree_on_the_first_run_with_the_highest_term(void **state)
{
	struct leader l = { 0 };
	(void)state;

	assert_true(leader_take(&l, 1, 70));
	assert_true(leader_take(&l, 1, 70));
	assert_false(leader_take(&l, 1, 50)); /* it took the same term later */
	assert_true(leader_take(&l, 2, 50));
	assert_false(leader_take(&l, 1, 70)); /* it was stopped, and wakes */
	assert_false(leader_take(&l, 2, 70));
	assert_true(leader_take(&l, 2, 50));
	assert_true(leader_take(&l, 9, 70));
	assert_false(leader_take(&l, 2, 50));
}

/* Also one that has read nothing of the deciders before it. */
static void
a_decider_that_begins_takes_a_term_over_all_before(void **state)
{
	struct leader gate = { 0 }, none = { 0 }, read = { 40, 7 };
	uint64_t term = 0, before;
	int64_t end = 0;
	struct err e;
	(void)state;

	for (uint64_t run = 1; run < 5; run++) {
		before = term;
		assert_int_equal(next_term(&none, end, &term, &e), 0);
		assert_true(term > before);
		assert_true(leader_take(&gate, term, run));
		end += 1 + (int64_t)(run % 2); /* what it writes */
	}
	assert_int_equal(next_term(&read, end, &term, &e), 0);
	assert_int_equal(term, 41);
	read.term = UINT64_MAX;
	assert_int_equal(next_term(&read, end, &term, &e), ERR_INPUT);
}

static void
an_order_counts_only_by_a_beat_of_the_gate_that_is_young(void **state)
{
	const int64_t now_ns = INT64_C(90000000000);
	(void)state;

	assert_true(order_counts(now_ns, now_ns));
	assert_true(order_counts(now_ns - ORDER_AGE_MAX_NS, now_ns));
	assert_false(order_counts(now_ns - ORDER_AGE_MAX_NS - 1, now_ns));
	assert_false(order_counts(now_ns + 1, now_ns)); /* of no beat that it has sent */
	assert_false(order_counts(INT64_MIN, now_ns));
}

static struct relay_head
head(enum relay_kind kind, uint64_t items)
{
	return (struct relay_head){
		.kind = (uint8_t)kind, .source = "x", .epoch = 3, .number = 1, .items = items
	};
}

static void
events_are_read_as_they_were_written_and_no_prefix_is(void **state)
{
	struct events_writer w = { 0 };
	struct buf b = { 0 };
	struct events_message m;
	struct relay_event x;
	struct relay_head h;
	struct err e;
	(void)state;

	events_add(&w, RELAY_JOINED, 1, "one", 3);
	events_add(&w, RELAY_FRAME, 1 << 20, "", 0);
	events_add(&w, RELAY_LEFT, 7, "gone", 4);
	h = head(RELAY_EVENTS, 3);
	assert_int_equal(events_end(&w, &h, -5, 6, 7, &b, &e), 0);
	assert_int_equal(w.n, 0);
	for (size_t len = 0; len <= b.len; len++) {
		struct reader r = reader_of(b.data, len);
		int rc = relay_head_decode(&h, &r, RELAY_EVENTS, &e);

		if (rc == 0)
			rc = events_open(&m, &r, &e);
		for (uint32_t i = 0; rc == 0 && i < 3; i++)
			rc = events_next(&x, &r, &e);
		assert_int_equal(rc == 0, len == b.len);
	}
	assert_int_equal(m.beat_ns, -5);
	assert_int_equal(m.records, 6);
	assert_int_equal(m.bytes, 7);
	assert_int_equal(x.kind, RELAY_LEFT);
	assert_int_equal(x.link, 7);
	assert_memory_equal(x.body, "gone", x.len);
	buf_release(&b);
	events_release(&w);
}

static void
a_gate_finds_the_echo_of_this_run_of_its_own_only(void **state)
{
	const struct relay_echo echoes[] = { { "a", 1, 100 }, { "b", 2, 200 }, { "ab", 3, 300 } };
	struct orders_writer w = { 0 };
	struct buf b = { 0 };
	struct relay_order o;
	struct err e;
	(void)state;

	orders_add(&w, 1, RELAY_WANT, 5, "w", 1);
	orders_add(&w, 2, RELAY_REFUSE, 6, "no", 2);
	{
		struct relay_head h = head(RELAY_ORDERS, 2);

		assert_int_equal(orders_end(&w, &h, 4, echoes, 3, &b, &e), 0);
	}
	for (int i = 0; i < 2; i++) {
		struct reader r = reader_of(b.data, b.len);
		uint64_t term;
		uint32_t echo, n;
		int64_t beat_ns;
		struct relay_head h;

		assert_int_equal(relay_head_decode(&h, &r, RELAY_ORDERS, &e), 0);
		assert_int_equal(orders_term(&term, &r, &e), 0);
		assert_int_equal(term, 4);
		assert_int_equal(orders_open(&r, "b", i == 0 ? 2 : 9, &echo, &beat_ns, &n, &e), 0);
		assert_int_equal(n, 2);
		assert_int_equal(echo, i == 0 ? 1 : UINT32_MAX);
		assert_int_equal(beat_ns, i == 0 ? 200 : INT64_MIN);
		assert_int_equal(orders_next(&o, &r, &e), 0);
		assert_int_equal(o.kind, RELAY_WANT);
		assert_int_equal(orders_next(&o, &r, &e), 0);
		assert_int_equal(o.echo, 2);
		assert_int_equal(orders_next(&o, &r, &e), ERR_INPUT);
	}
	buf_release(&b);
	orders_release(&w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_readers_agree_on_the_first_run_with_the_highest_term),
		cmocka_unit_test(a_decider_that_begins_takes_a_term_over_all_before),
		cmocka_unit_test(an_order_counts_only_by_a_beat_of_the_gate_that_is_young),
		cmocka_unit_test(events_are_read_as_they_were_written_and_no_prefix_is),
		cmocka_unit_test(a_gate_finds_the_echo_of_this_run_of_its_own_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
