/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "controlplane/relay/numbers.h"

static struct relay_head
message(const char *source, uint64_t epoch, uint64_t number, uint64_t before, uint64_t items)
{
	struct relay_head h = { .kind = RELAY_RECORDS,
		.epoch = epoch,
		.number = number,
		.before = before,
		.items = items };

	snprintf(h.source, sizeof h.source, "%s", source);
	return h;
}

static void
takes(struct relay_numbers *n, struct relay_head h, enum relay_verdict v, uint64_t messages,
    uint64_t items)
{
	struct relay_gap gap;

	assert_int_equal(relay_numbers_take(n, &h, &gap), v);
	assert_int_equal(gap.messages, messages);
	assert_int_equal(gap.items, items);
}

static void
a_message_that_comes_twice_counts_once(void **state)
{
	struct relay_numbers n = { 0 };
	(void)state;

	takes(&n, message("a", 7, 1, 0, 10), RELAY_NEW_RUN, 0, 0);
	takes(&n, message("a", 7, 1, 0, 10), RELAY_AGAIN, 0, 0);
	takes(&n, message("a", 7, 2, 10, 5), RELAY_NEXT, 0, 0);
	takes(&n, message("a", 7, 1, 0, 10), RELAY_AGAIN, 0, 0);
	assert_int_equal(n.counts.items, 15);
	assert_int_equal(n.counts.again, 2);
	relay_numbers_release(&n);
}

static void
what_is_missing_is_known_to_the_last_record(void **state)
{
	struct relay_numbers n = { 0 };
	(void)state;

	takes(&n, message("a", 7, 3, 40, 10), RELAY_NEW_RUN, 0, 0); /* we begin in the middle */
	takes(&n, message("a", 7, 6, 77, 3), RELAY_NEXT, 2, 27);
	takes(&n, message("a", 7, 7, 80, 3), RELAY_NEXT, 0, 0);
	takes(&n, message("a", 7, 5, 60, 17), RELAY_AGAIN, 0, 0); /* it was counted as lost */
	assert_int_equal(n.counts.lost_items, 27);
	assert_int_equal(n.counts.lost_messages, 2);
	/* The books: what the writer wrote since we began. */
	assert_int_equal(n.counts.items + n.counts.lost_items, 83 - 40);
	relay_numbers_release(&n);
}

static void
a_run_that_was_replaced_is_over_whatever_its_epoch(void **state)
{
	struct relay_numbers n = { 0 };
	(void)state;

	takes(&n, message("a", 7, 1, 0, 1), RELAY_NEW_RUN, 0, 0);
	takes(&n, message("a", 5, 1, 0, 1), RELAY_NEW_RUN, 0, 0); /* its clock was set back */
	takes(&n, message("a", 7, 2, 1, 1), RELAY_OVER, 0, 0);
	takes(&n, message("a", 9, 3, 4, 1), RELAY_NEW_RUN, 2, 4);
	takes(&n, message("a", 5, 2, 1, 1), RELAY_OVER, 0, 0);
	takes(&n, message("a", 7, 3, 1, 1), RELAY_OVER, 0, 0);
	assert_int_equal(n.counts.over, 3);
	relay_numbers_release(&n);
}

static void
sources_count_apart(void **state)
{
	struct relay_numbers n = { 0 };
	(void)state;

	takes(&n, message("a", 7, 1, 0, 1), RELAY_NEW_RUN, 0, 0);
	takes(&n, message("b", 7, 1, 0, 1), RELAY_NEW_RUN, 0, 0);
	takes(&n, message("a", 7, 2, 1, 1), RELAY_NEXT, 0, 0);
	takes(&n, message("b", 7, 4, 9, 1), RELAY_NEXT, 2, 8);
	relay_numbers_release(&n);
}

static void
more_sources_than_the_limit_are_refused(void **state)
{
	struct relay_numbers n = { 0 };
	char name[16];
	(void)state;

	for (int i = 0; i < RELAY_SOURCES_MAX; i++) {
		snprintf(name, sizeof name, "s%d", i);
		takes(&n, message(name, 1, 1, 0, 1), RELAY_NEW_RUN, 0, 0);
	}
	takes(&n, message("more", 1, 1, 0, 1), RELAY_TOO_MANY, 0, 0);
	assert_int_equal(n.counts.refused, 1);
	relay_numbers_release(&n);
}

static void
a_head_is_read_as_it_was_written_and_no_prefix_of_it_is(void **state)
{
	struct relay_head h = message("gate-1", UINT64_MAX, 12345, 678, 90), same;
	struct buf b = { 0 };
	struct err e;
	(void)state;

	relay_head_encode(&h, &b);
	for (size_t len = 0; len < b.len; len++) {
		struct reader r = reader_of(b.data, len);

		assert_int_not_equal(relay_head_decode(&same, &r, RELAY_RECORDS, &e), 0);
	}
	{
		struct reader r = reader_of(b.data, b.len), other = r;

		assert_int_equal(relay_head_decode(&same, &r, RELAY_RECORDS, &e), 0);
		assert_memory_equal(&same, &h, sizeof h);
		assert_int_equal(relay_head_decode(&same, &other, RELAY_ROWS, &e), ERR_INPUT);
		b.data[0]++;
		other = reader_of(b.data, b.len);
		assert_int_equal(relay_head_decode(&same, &other, RELAY_RECORDS, &e), ERR_VERSION);
	}
	buf_release(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_message_that_comes_twice_counts_once),
		cmocka_unit_test(what_is_missing_is_known_to_the_last_record),
		cmocka_unit_test(a_run_that_was_replaced_is_over_whatever_its_epoch),
		cmocka_unit_test(sources_count_apart),
		cmocka_unit_test(more_sources_than_the_limit_are_refused),
		cmocka_unit_test(a_head_is_read_as_it_was_written_and_no_prefix_of_it_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
