/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "controlplane/honed/want_sender.h"

#define MS INT64_C(1000000)

static struct toggle two[] = { { "a:one" }, { "a:two" } };

static struct want
want_of(uint64_t epoch, uint32_t ntoggles, struct toggle *toggles)
{
	return (struct want){ .epoch = epoch,
		.lease_ms = 5000,
		.sampled = 1,
		.ntoggles = ntoggles,
		.toggles = toggles };
}

static const struct buf *
due_at(struct sent *s, const struct want *w, bool safe, uint64_t confirmed, int64_t at_ms)
{
	struct arena scratch = { 0 };
	const struct buf *b = sent_due(
	    s, w, safe, confirmed, (struct mono){ at_ms * MS }, &scratch);

	arena_release(&scratch);
	return b;
}

/* The agent has reported nothing. */
static bool
due(struct sent *s, const struct want *w, bool safe, int64_t at_ms)
{
	const struct buf *b = due_at(s, w, safe, 0, at_ms);

	assert_true(b == NULL || b == &s->payload);
	return b != NULL;
}

static void
assert_sent(const struct sent *s, uint64_t epoch, uint32_t ntoggles)
{
	struct arena a = { 0 };
	struct want w;
	struct err e;

	if (want_decode(&w, &a, s->payload.data, s->payload.len, &e) < 0)
		fail_msg("%s", e.text);
	assert_int_equal(w.epoch, epoch);
	assert_int_equal(w.ntoggles, ntoggles);
	arena_release(&a);
}

static void
changes_are_sent_at_once_and_the_lease_is_renewed_each_second(void **state)
{
	struct sent s = { 0 };
	struct want w = want_of(1, 0, NULL), next = want_of(2, 2, two);
	(void)state;

	assert_true(due(&s, &w, true, 10000));
	assert_sent(&s, 1, 0);
	assert_false(due(&s, &w, true, 10500));
	assert_true(due(&s, &next, true, 10501));
	assert_sent(&s, 2, 2);
	assert_false(due(&s, &next, true, 11000));
	assert_true(due(&s, &next, true, 11480));
	assert_sent(&s, 2, 2);
	sent_release(&s);
}

static void
assert_renews(const struct buf *b, uint64_t epoch)
{
	struct arena a = { 0 };
	struct want w;
	struct err e;

	assert_non_null(b);
	assert_true(b->len < 16);
	if (want_decode(&w, &a, b->data, b->len, &e) < 0)
		fail_msg("%s", e.text);
	assert_true(w.renews);
	assert_int_equal(w.epoch, epoch);
	assert_int_equal(w.lease_ms, 5000);
	arena_release(&a);
}

static void
what_the_agent_has_reported_is_renewed_by_its_epoch(void **state)
{
	struct sent s = { 0 };
	struct want w = want_of(7, 2, two), next = want_of(8, 1, two);
	(void)state;

	assert_ptr_equal(due_at(&s, &w, true, 0, 10000), &s.payload);
	assert_ptr_equal(due_at(&s, &w, true, 6, 11000), &s.payload); /* of another epoch */
	assert_renews(due_at(&s, &w, true, 7, 12000), 7);
	assert_null(due_at(&s, &w, true, 7, 12500));
	/* One that may not be sent yet: the agent has the old one. */
	assert_renews(due_at(&s, &w, false, 7, 13000), 7);
	assert_ptr_equal(due_at(&s, &next, true, 7, 13001), &s.payload);
	assert_sent(&s, 8, 1);
	assert_ptr_equal(due_at(&s, &next, true, 7, 14000), &s.payload);
	assert_renews(due_at(&s, &next, true, 8, 15000), 8);
	assert_sent(&s, 8, 1);
	/* After it has connected again it has reported nothing. */
	assert_ptr_equal(due_at(&s, &next, true, 0, 16000), &s.payload);
	sent_release(&s);
}

static void
tracepoints_are_enabled_only_after_they_are_stored(void **state)
{
	struct sent s = { 0 };
	struct want none = want_of(1, 0, NULL), on = want_of(2, 2, two);
	(void)state;

	assert_true(due(&s, &none, true, 10000));
	assert_false(due(&s, &on, false, 10100));
	assert_true(due(&s, &on, false, 11000)); /* the old one, to renew the lease */
	assert_sent(&s, 1, 0);
	assert_true(due(&s, &on, true, 11100));
	assert_sent(&s, 2, 2);
	sent_release(&s);
}

static void
tracepoints_are_disabled_without_a_store(void **state)
{
	struct sent s = { 0 };
	struct toggle second[] = { { "a:two" } }, other[] = { { "a:three" } };
	struct want on = want_of(1, 2, two), less = want_of(2, 1, second),
		    none = want_of(3, 0, NULL), swapped = want_of(4, 1, other);
	(void)state;

	assert_true(due(&s, &on, true, 10000));
	assert_true(due(&s, &less, false, 10001));
	assert_sent(&s, 2, 1);
	assert_false(due(&s, &swapped, false, 10002));
	assert_true(due(&s, &none, false, 10003));
	assert_sent(&s, 3, 0);
	sent_release(&s);
}

static void
what_is_replaced_is_not_renewed_without_a_store(void **state)
{
	struct sent s = { 0 };
	struct toggle first[] = { { "a:one" } }, other[] = { { "a:three" } },
		      both[] = { { "a:three" }, { "a:one" } };
	struct want on = want_of(1, 1, first), swapped = want_of(2, 1, other),
		    more = want_of(3, 2, both);
	(void)state;

	assert_true(due(&s, &on, true, 10000));
	assert_false(due(&s, &swapped, false, 11000));
	assert_false(due(&s, &swapped, false, 15000));
	s.told = false; /* the agent has connected again */
	s.at = (struct mono){ 0 };
	assert_false(due(&s, &swapped, false, 15100));
	/* What is only added to does go on. */
	assert_true(due(&s, &more, false, 16000));
	assert_sent(&s, 1, 1);
	assert_true(due(&s, &swapped, true, 16100));
	assert_sent(&s, 2, 1);
	sent_release(&s);
}

static void
a_tracepoint_for_more_requests_waits_for_the_database(void **state)
{
	struct sent s = { 0 };
	struct toggle sampled[] = { { "a:two", true } }, probed[] = { { "a:two" } };
	struct want few = want_of(1, 1, probed), more = want_of(2, 1, sampled),
		    again = want_of(3, 1, probed);
	(void)state;

	assert_true(due(&s, &few, true, 10000));
	assert_false(due(&s, &more, false, 10001));
	assert_true(due(&s, &more, true, 10002));
	assert_true(due(&s, &again, false, 10003));
	assert_sent(&s, 3, 1);
	sent_release(&s);
}

static void
an_agent_without_a_want_gets_no_new_one_before_it_is_stored(void **state)
{
	struct sent s = { 0 };
	struct want on = want_of(1, 2, two);
	(void)state;

	assert_false(due(&s, &on, false, 10000));
	assert_false(due(&s, &on, false, 20000));
	assert_true(due(&s, &on, true, 20001));
	sent_release(&s);
}

static void
a_program_to_look_below_waits_for_the_database(void **state)
{
	const char *below[] = { "shop-cart", "shop-store" };
	struct sent s = { 0 };
	struct want w = want_of(1, 0, NULL), next = want_of(2, 0, NULL);
	(void)state;

	next.below = below;
	next.nbelow = 1;
	assert_true(due(&s, &w, true, 10000));
	assert_false(due(&s, &next, false, 10100));
	assert_true(due(&s, &next, true, 10200));
	next.epoch = 3;
	next.nbelow = 2;
	assert_false(due(&s, &next, false, 10300));
	assert_true(due(&s, &next, true, 10400));
	next.epoch = 4;
	next.below = &below[1];
	next.nbelow = 1;
	assert_true(due(&s, &next, false, 10500)); /* one less needs no write */
	w.epoch = 5;
	assert_true(due(&s, &w, false, 10600));
	sent_release(&s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(changes_are_sent_at_once_and_the_lease_is_renewed_each_second),
		cmocka_unit_test(a_program_to_look_below_waits_for_the_database),
		cmocka_unit_test(what_the_agent_has_reported_is_renewed_by_its_epoch),
		cmocka_unit_test(tracepoints_are_enabled_only_after_they_are_stored),
		cmocka_unit_test(tracepoints_are_disabled_without_a_store),
		cmocka_unit_test(what_is_replaced_is_not_renewed_without_a_store),
		cmocka_unit_test(a_tracepoint_for_more_requests_waits_for_the_database),
		cmocka_unit_test(an_agent_without_a_want_gets_no_new_one_before_it_is_stored),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
