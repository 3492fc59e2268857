/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* calloc() that fails on request. */
static bool no_memory;

static void *
limited_calloc(size_t n, size_t size)
{
	return no_memory ? NULL : calloc(n, size);
}

#define calloc limited_calloc
#include "base/hash_table.c"
#undef calloc

#include "base/arena.h"
#include "base/hash.h"
#include "base/rng.h"

enum { KEYS = 300, OPERATIONS = 20000, SEEDS = 20 };

/* Bad hashes: many have equal top bits, some are equal. */
static uint64_t
bad_hash(uint32_t key)
{
	return key % 3 == 0 ? hash_u64(key / 9) : key % 3 == 1 ? key / 2 : ~(uint64_t)key;
}

/* Returns the slot of this entry, or NULL. */
static struct hash_slot *
slot_of(const struct hash_table *t, uint32_t entry)
{
	struct hash_slot *s = hash_table_first(t, bad_hash(entry));

	while (s != NULL && s->entry != entry)
		s = hash_table_next(t, s);
	return s;
}

static void
a_table_contains_the_entries_put_and_not_removed(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		struct hash_table t = { 0 };
		bool model[KEYS] = { false };
		uint32_t count = 0;
		struct rng r;

		rng_seed(&r, seed);
		for (int i = 0; i < OPERATIONS; i++) {
			uint32_t entry = (uint32_t)rng_below(&r, KEYS);
			struct hash_slot *s = slot_of(&t, entry);

			assert_int_equal(s != NULL, model[entry]);
			if (s != NULL) {
				hash_table_remove(&t, s);
				count--;
			} else {
				assert_true(hash_table_put(&t, bad_hash(entry), entry));
				count++;
			}
			model[entry] = !model[entry];
			assert_int_equal(t.count, count);
			if (rng_below(&r, 2000) == 0) {
				hash_table_clear(&t);
				memset(model, 0, sizeof model);
				count = 0;
			}
		}
		for (uint32_t entry = 0; entry < KEYS; entry++)
			assert_int_equal(slot_of(&t, entry) != NULL, model[entry]);
		hash_table_release(&t);
		assert_int_equal(t.count, 0);
	}
}

static void
equal_hashes_are_all_visited_once(void **state)
{
	struct hash_table t = { 0 };
	bool seen[100] = { false };
	uint32_t n = 0;
	(void)state;

	for (uint32_t i = 0; i < 100; i++) {
		assert_true(hash_table_put(&t, 7, i));
		assert_true(hash_table_put(&t, hash_u64(i), 1000 + i));
	}
	for (struct hash_slot *s = hash_table_first(&t, 7); s != NULL; s = hash_table_next(&t, s)) {
		assert_true(s->entry < 100 && !seen[s->entry]);
		seen[s->entry] = true;
		n++;
	}
	assert_int_equal(n, 100);
	hash_table_release(&t);
}

static void
claiming_finds_the_first_claim(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		struct hash_table t = { 0 };
		uint32_t first[KEYS], next = 0;
		struct rng r;

		memset(first, 0xff, sizeof first);
		rng_seed(&r, seed);
		for (int i = 0; i < OPERATIONS; i++) {
			uint32_t key = (uint32_t)rng_below(&r, KEYS);
			uint32_t got = hash_table_claim(&t, hash_multiply(key), next);

			if (first[key] == UINT32_MAX)
				first[key] = next++;
			assert_int_equal(got, first[key]);
			assert_int_equal(hash_table_find(&t, hash_multiply(key)), first[key]);
		}
		assert_int_equal(t.count, next);
		assert_int_equal(hash_table_find(&t, hash_multiply(KEYS)), HASH_TABLE_NONE);
		hash_table_release(&t);
	}
}

static void
an_empty_table_finds_no_entry_and_has_no_memory(void **state)
{
	struct hash_table t = { 0 };
	(void)state;

	assert_int_equal(hash_table_find(&t, 1), HASH_TABLE_NONE);
	assert_null(hash_table_first(&t, 1));
	hash_table_clear(&t);
	hash_table_release(&t);
}

static void
clearing_works_when_the_round_wraps(void **state)
{
	struct hash_table t = { 0 };
	(void)state;

	assert_true(hash_table_put(&t, 1, 1));
	hash_table_clear(&t);
	t.round = UINT32_MAX;
	assert_true(hash_table_put(&t, 2, 2));
	hash_table_clear(&t);
	assert_int_equal(t.round, 1);
	assert_true(hash_table_put(&t, 3, 3)); /* makes find() probe the slots */
	assert_int_equal(hash_table_find(&t, 1), HASH_TABLE_NONE);
	assert_int_equal(hash_table_find(&t, 2), HASH_TABLE_NONE);
	assert_int_equal(hash_table_find(&t, 3), 3);
	hash_table_release(&t);
}

static void
without_memory_a_table_stays_as_it_was(void **state)
{
	struct hash_table t = { 0 };
	uint32_t n = 0;
	(void)state;

	no_memory = true;
	assert_false(hash_table_reserve(&t, 1));
	assert_false(hash_table_put(&t, 1, 1));
	assert_int_equal(hash_table_claim(&t, 1, 1), HASH_TABLE_NONE);
	no_memory = false;
	assert_true(hash_table_put(&t, hash_u64(n), n));
	n++;
	no_memory = true;
	while (hash_table_put(&t, hash_u64(n), n))
		n++;
	assert_int_equal(n, SLOTS_MIN / 4 * 3);
	assert_false(hash_table_reserve(&t, 1000));
	assert_false(hash_table_reserve(&t, UINT32_MAX));
	assert_int_equal(hash_table_claim(&t, hash_u64(n), n), HASH_TABLE_NONE);
	assert_int_equal(t.count, n);
	for (uint32_t i = 0; i < n; i++)
		assert_int_equal(hash_table_claim(&t, hash_u64(i), 77), i);
	no_memory = false;
	assert_true(hash_table_put(&t, hash_u64(n), n));
	hash_table_release(&t);
}

static void
a_reserved_table_does_not_allocate(void **state)
{
	struct hash_table t = { 0 };
	(void)state;

	assert_true(hash_table_reserve(&t, 1000));
	assert_true(2 * 1000 <= t.mask + 1);
	no_memory = true;
	for (int round = 0; round < 3; round++) {
		for (uint32_t i = 0; i < 1000; i++)
			assert_int_equal(hash_table_claim(&t, hash_u64(i), i), i);
		hash_table_clear(&t);
	}
	no_memory = false;
	hash_table_release(&t);
}

static void
a_table_in_an_arena_is_full_at_its_limit(void **state)
{
	struct arena a = { 0 };
	struct hash_table t;
	uint32_t n = 0;
	(void)state;

	assert_true(hash_table_in_arena(&t, &a, 100));
	while (hash_table_put(&t, hash_u64(n), n))
		n++;
	assert_true(n >= 100);
	assert_false(hash_table_reserve(&t, 1000));
	for (uint32_t i = 0; i < n; i++)
		assert_int_equal(hash_table_find(&t, hash_u64(i)), i);
	hash_table_release(&t);
	arena_release(&a);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_table_contains_the_entries_put_and_not_removed),
		cmocka_unit_test(equal_hashes_are_all_visited_once),
		cmocka_unit_test(claiming_finds_the_first_claim),
		cmocka_unit_test(an_empty_table_finds_no_entry_and_has_no_memory),
		cmocka_unit_test(clearing_works_when_the_round_wraps),
		cmocka_unit_test(without_memory_a_table_stays_as_it_was),
		cmocka_unit_test(a_reserved_table_does_not_allocate),
		cmocka_unit_test(a_table_in_an_arena_is_full_at_its_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
