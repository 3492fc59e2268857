/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/hash.h"
#include "base/hash_map.h"
#include "base/rng.h"

enum { KEYS = 500, OPERATIONS = 200000 };

/* Keys near each other, far apart, and with equal low bits. */
static uint64_t
key_of(uint64_t i)
{
	return i % 3 == 0 ? i : i % 3 == 1 ? i << 32 : hash_u64(i);
}

static void
check_map(const struct map *m, void *const *model)
{
	size_t count = 0, at = 0;
	uint64_t key;
	void *value;

	for (uint64_t i = 0; i < KEYS; i++) {
		assert_ptr_equal(map_get(m, key_of(i)), model[i]);
		count += model[i] != NULL;
	}
	assert_int_equal(m->count, count);
	while ((value = map_next(m, &at, &key)) != NULL) {
		assert_ptr_equal(map_get(m, key), value);
		count--;
	}
	assert_int_equal(count, 0);
}

/* Grows, shrinks and churns a map and compares it with a plain array. */
static void
a_map_equals_a_plain_array(void **state)
{
	static char values[KEYS];
	void *model[KEYS] = { NULL };
	struct map m = { 0 };
	struct rng r;
	(void)state;

	rng_seed(&r, 1);
	for (int i = 0; i < OPERATIONS; i++) {
		uint64_t k = rng_below(&r, KEYS);
		void *value = &values[rng_below(&r, KEYS)];

		if (rng_below(&r, OPERATIONS) > (uint64_t)i) {
			assert_true(map_put(&m, key_of(k), value));
			model[k] = value;
		} else {
			assert_ptr_equal(map_take(&m, key_of(k)), model[k]);
			model[k] = NULL;
		}
		if (i % 1000 == 0)
			check_map(&m, model);
	}
	check_map(&m, model);
	map_release(&m);
	assert_null(map_get(&m, 1));
	assert_null(map_take(&m, 1));
}

static void
null_is_not_stored(void **state)
{
	struct map m = { 0 };
	size_t at = 0;
	(void)state;

	assert_true(map_put(&m, 5, NULL));
	assert_true(map_put(&m, 5, &m));
	assert_true(map_put(&m, 5, NULL));
	assert_null(map_get(&m, 5));
	assert_int_equal(m.count, 0);
	assert_null(map_next(&m, &at, NULL));
	map_release(&m);
}

static void
visited_entries_may_be_removed(void **state)
{
	struct map m = { 0 };
	uint64_t key = 0;
	size_t at = 0, visits = 0;
	(void)state;

	for (uint64_t i = 1; i <= 1000; i++)
		assert_true(map_put(&m, i, &m));
	for (; map_next(&m, &at, &key) != NULL; visits++)
		assert_ptr_equal(map_take(&m, key), &m);
	assert_int_equal(visits, 1000);
	assert_int_equal(m.count, 0);
	map_release(&m);
}

/* Each step adds one key and removes the oldest: the table must not grow with removed keys. */
static void
churn_keeps_the_size(void **state)
{
	struct map m = { 0 };
	(void)state;

	for (uint64_t i = 0; i < 100000; i++) {
		assert_true(map_put(&m, hash_u64(i), &m));
		if (i >= 100)
			assert_ptr_equal(map_take(&m, hash_u64(i - 100)), &m);
	}
	assert_int_equal(m.count, 100);
	assert_true(m.entries_cap <= 1024);
	map_release(&m);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_map_equals_a_plain_array),
		cmocka_unit_test(null_is_not_stored),
		cmocka_unit_test(visited_entries_may_be_removed),
		cmocka_unit_test(churn_keeps_the_size),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
