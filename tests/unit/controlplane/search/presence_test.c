/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "controlplane/search/presence.h"

#define MS INT64_C(1000000)
#define S (1000 * MS)

/* A request every 10 ms from `from` to `to`, that much off. */
static void
add(struct presence *p, int64_t from_ns, int64_t to_ns, double deviation_ns)
{
	for (int64_t at = from_ns; at < to_ns; at += 10 * MS)
		presence_add(p, at, deviation_ns);
}

static void
nothing_was_seen_before_a_request_varies(void **state)
{
	struct presence p = { 0 };
	(void)state;

	assert_false(presence_look(&p, 5 * S).seen);
	add(&p, 0, 2 * S, 0);
	assert_false(presence_look(&p, 5 * S).seen);
	presence_add(&p, -1 * S, 1e6);
	assert_true(presence_look(&p, 5 * S).seen);
	assert_true(presence_look(&p, 5 * S).from_ns == 0);
}

static void
a_burst_has_a_begin_and_an_end(void **state)
{
	struct presence p = { 0 };
	struct presence_state s;
	(void)state;

	add(&p, 0, 2 * S, 1e5);
	add(&p, 2 * S, 5 * S, 2e6);
	s = presence_look(&p, 5 * S);
	assert_true(s.seen && !s.quiet);
	add(&p, 5 * S, 9 * S, 1e5);
	s = presence_look(&p, 9 * S);
	assert_true(s.quiet);
	assert_true(s.from_ns == 2 * S && s.to_ns == 5 * S);
}

static void
it_is_quiet_after_a_time_and_some_requests(void **state)
{
	struct presence p = { 0 };
	(void)state;

	add(&p, 0, 3 * S, 2e6);
	add(&p, 3 * S, 5 * S - 10 * MS, 1e5);
	assert_false(presence_look(&p, 5 * S - 10 * MS).quiet);
	assert_true(presence_look(&p, 5 * S).quiet);

	p = (struct presence){ 0 };
	add(&p, 0, 3 * S, 2e6);
	for (int i = 0; i < PRESENCE_QUIET_REQUESTS - 1; i++)
		presence_add(&p, 3 * S + i * MS, 1e5);
	assert_false(presence_look(&p, 60 * S).quiet);
	presence_add(&p, 4 * S, 1e5);
	assert_true(presence_look(&p, 60 * S).quiet);
}

static void
what_is_left_may_vary_by_a_tenth(void **state)
{
	struct presence p = { 0 };
	(void)state;

	add(&p, 0, 1 * S, 1e6);
	add(&p, 1 * S, 9 * S, 0.32e6); /* its square is a little more than a tenth */
	assert_false(presence_look(&p, 9 * S).quiet);
	p = (struct presence){ 0 };
	add(&p, 0, 1 * S, 1e6);
	add(&p, 1 * S, 9 * S, 0.31e6);
	assert_true(presence_look(&p, 9 * S).quiet);
}

/* A burst of 500 ms every 4 s. */
static void
what_comes_back_is_not_quiet_between(void **state)
{
	struct presence p = { 0 };
	(void)state;

	for (int64_t at = 0; at < 20 * S; at += 4 * S) {
		add(&p, at, at + 500 * MS, 2e6);
		add(&p, at + 500 * MS, at + 4 * S, 1e5);
	}
	assert_false(presence_look(&p, 20 * S).quiet);
	add(&p, 20 * S, 28 * S, 1e5);
	assert_true(presence_look(&p, 28 * S).quiet);
}

static void
a_long_diagnosis_has_coarser_slices_of_the_same_requests(void **state)
{
	struct presence p = { 0 };
	struct presence_state s;
	uint64_t n = 0;
	(void)state;

	add(&p, 0, 100 * S, 1e5);
	add(&p, 100 * S, 200 * S, 2e6);
	add(&p, 200 * S, 1000 * S, 1e5);
	assert_true(p.slice_ns == 4 * S && p.n == 250);
	for (uint32_t i = 0; i < p.n; i++)
		n += p.slices[i].requests;
	assert_int_equal(n, 100000);
	s = presence_look(&p, 1000 * S);
	assert_true(s.quiet && s.from_ns == 100 * S && s.to_ns == 200 * S);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_was_seen_before_a_request_varies),
		cmocka_unit_test(a_burst_has_a_begin_and_an_end),
		cmocka_unit_test(it_is_quiet_after_a_time_and_some_requests),
		cmocka_unit_test(what_is_left_may_vary_by_a_tenth),
		cmocka_unit_test(what_comes_back_is_not_quiet_between),
		cmocka_unit_test(a_long_diagnosis_has_coarser_slices_of_the_same_requests),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
