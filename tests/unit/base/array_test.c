/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdbool.h>
#include <stdlib.h>

/* reallocarray() that fails on request and counts its calls. */
static bool no_memory;
static int moves;

static void *
limited_reallocarray(void *p, size_t n, size_t size)
{
	moves++;
	return no_memory ? NULL : reallocarray(p, n, size);
}

#define reallocarray limited_reallocarray
#include "base/array.c"
#undef reallocarray

#include "base/rng.h"

static void
items_keep_their_values_and_growing_is_rare(void **state)
{
	uint64_t *items = NULL;
	uint32_t n = 0, cap = 0;
	(void)state;

	moves = 0;
	for (; n < 100000; n++) {
		assert_true(array_reserve(items, cap, n + 1));
		assert_true(cap > n);
		items[n] = n * UINT64_C(3);
	}
	for (uint32_t i = 0; i < n; i++)
		assert_int_equal(items[i], i * UINT64_C(3));
	assert_true(moves < 20);
	free(items);
}

static void
any_sequence_of_sizes_can_be_reserved(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 50; seed++) {
		unsigned char *items = NULL;
		size_t n, cap = 0, before = 0;
		struct rng r;

		rng_seed(&r, seed);
		for (int i = 0; i < 30; i++) {
			n = (size_t)rng_below(&r, UINT64_C(1) << rng_below(&r, 18));
			assert_true(array_reserve(items, cap, n));
			assert_true(cap >= n && cap >= before);
			if (n > 0)
				items[n - 1] = 1;
			before = cap;
		}
		free(items);
	}
}

static void
the_capacity_stays_within_the_maximum(void **state)
{
	char *items = NULL;
	uint32_t n = 0, cap = 0;
	(void)state;

	while (array_reserve_max(items, cap, n + 1, 100))
		items[n++] = 'x';
	assert_int_equal(n, 100);
	assert_int_equal(cap, 100);
	assert_true(array_reserve_max(items, cap, 100, 100));
	free(items);
}

static void
without_memory_everything_is_unchanged(void **state)
{
	uint32_t *items = NULL, *was, cap = 0;
	size_t wide_cap = 0;
	(void)state;

	no_memory = true;
	assert_false(array_reserve(items, cap, 1));
	assert_null(items);
	assert_int_equal(cap, 0);
	no_memory = false;
	assert_true(array_reserve(items, cap, 1));
	items[0] = 5;
	was = items;
	no_memory = true;
	assert_false(array_reserve(items, cap, cap + 1));
	assert_ptr_equal(items, was);
	assert_int_equal(items[0], 5);
	no_memory = false;
	/* more than half of the range of `cap` */
	assert_false(array_reserve(items, cap, UINT32_MAX));
	free(items);
	items = NULL;
	assert_false(array_reserve(items, wide_cap, SIZE_MAX / 2)); /* the product overflows */
	assert_int_equal(wide_cap, 0);
}

static void
a_ring_has_the_newest_items_in_their_order(void **state)
{
	uint64_t *items = NULL, *at;
	uint32_t n = 0, cap = 0, next = 0;
	(void)state;

	for (uint64_t i = 1; i <= 250; i++) {
		uint64_t oldest = i > 100 ? i - 99 : 1;

		assert_non_null(at = array_newest(items, cap, n, next, 100));
		*at = i;
		assert_int_equal(n, i - oldest + 1);
		assert_true(n == 100 || next == 0);
		for (uint32_t k = 0; k < n; k++)
			assert_int_equal(items[(next + k) % n], oldest + k);
	}
	assert_int_equal(cap, 100);
	free(items);
}

static void
a_ring_without_memory_is_unchanged(void **state)
{
	uint64_t *items = NULL, *at;
	uint32_t n = 0, cap = 0, next = 0;
	(void)state;

	while (n < 16) {
		assert_non_null(at = array_newest(items, cap, n, next, 17));
		*at = n;
	}
	no_memory = true;
	assert_null(array_newest(items, cap, n, next, 17));
	no_memory = false;
	assert_int_equal(n, 16);
	assert_int_equal(cap, 16);
	assert_int_equal(next, 0);
	assert_int_equal(items[15], 16);
	free(items);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(items_keep_their_values_and_growing_is_rare),
		cmocka_unit_test(any_sequence_of_sizes_can_be_reserved),
		cmocka_unit_test(the_capacity_stays_within_the_maximum),
		cmocka_unit_test(without_memory_everything_is_unchanged),
		cmocka_unit_test(a_ring_has_the_newest_items_in_their_order),
		cmocka_unit_test(a_ring_without_memory_is_unchanged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
