/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kit.h"

#include "analysis/slices.h"

static uint64_t
all_counts(const struct slices *s)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < s->ncounts; i++)
		n += s->counts[i].count;
	return n;
}

static void
slices_widen_until_there_is_room_and_lose_nothing(void **state)
{
	struct slices s;
	(void)state;

	slices_init(&s, 100000);
	for (int64_t i = 0; i < 1000; i++) {
		assert_true(slices_open(&s, (i - 300) * SLICE_NS));
		assert_true(slices_count(&s, SLICE_CALLS, (uint32_t)i % 7, 1));
	}
	assert_true(s.n <= SLICES_MAX);
	assert_int_equal(s.length_ns, 8 * SLICE_NS);
	assert_int_equal(all_counts(&s), 1000);
	assert_int_equal(s.lost, 0);
	slices_release(&s);
}

static void
pauses_take_no_room(void **state)
{
	struct slices s;
	(void)state;

	slices_init(&s, 1000);
	for (int64_t i = 0; i < SLICES_MAX; i++)
		assert_true(
		    slices_open(&s, i * 3600 * SLICE_NS) && slices_count(&s, SLICE_TOTAL, 0, 1));
	assert_int_equal(s.length_ns, SLICE_NS);
	assert_int_equal(s.n, SLICES_MAX);
	slices_release(&s);
}

static void
counts_are_limited_by_longer_slices_and_then_lost(void **state)
{
	struct slices s;
	(void)state;

	slices_init(&s, 10);
	for (uint32_t i = 0; i < 100; i++)
		assert_true(
		    slices_open(&s, i * SLICE_NS) && slices_count(&s, SLICE_SELF, i % 5, 7));
	assert_true(s.ncounts <= 10);
	assert_int_equal(all_counts(&s), 100);
	for (uint32_t i = 0; i < 20; i++)
		assert_true(slices_count(&s, SLICE_WAY, i, 0));
	assert_int_equal(s.n, 1);
	assert_int_equal(s.ncounts, 10);
	assert_int_equal(s.lost, 15);
	slices_release(&s);
}

static void
sorted_counts_are_in_the_order_of_time_and_go_on(void **state)
{
	struct slices s;
	(void)state;

	slices_init(&s, 100);
	for (int64_t i = 9; i >= 0; i--)
		for (uint32_t k = 0; k < 3; k++)
			assert_true(slices_open(&s, i * SLICE_NS) &&
				    slices_count(&s, SLICE_STEP, 2 - k, 0));
	assert_true(slices_sort(&s));
	for (uint32_t i = 0; i < 30; i++) {
		assert_int_equal(slice_of(s.counts[i].key), i / 3);
		assert_int_equal(slice_subject(s.counts[i].key), i % 3);
		assert_int_equal(slice_what(s.counts[i].key), SLICE_STEP);
		assert_int_equal(s.at[i / 3], i / 3);
	}
	assert_true(slices_open(&s, 4 * SLICE_NS) && slices_count(&s, SLICE_STEP, 1, 0));
	assert_int_equal(s.ncounts, 30);
	assert_int_equal(s.counts[13].count, 2);
	slices_release(&s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slices_widen_until_there_is_room_and_lose_nothing),
		cmocka_unit_test(pauses_take_no_room),
		cmocka_unit_test(counts_are_limited_by_longer_slices_and_then_lost),
		cmocka_unit_test(sorted_counts_are_in_the_order_of_time_and_go_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
