/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>

#include "base/hash.c" /* its SipHash, with a key of our choice, has known answers */
#include "base/rng.h"

/* As CPython 3.11 with PYTHONHASHSEED=0 hashes bytes. */
static void
the_hash_is_siphash_1_3(void **state)
{
	static const struct {
		const char *s;
		uint64_t want;
	} cases[] = {
		{ "a", 0x407448d2b89b1813 },
		{ "abcdefg", 0x6db12aae9070f506 },
		{ "abcdefgh", 0x3f7b849c0b8e35ea },
		{ "Hone diagnoses requests", 0xa6e4e37f52237d78 },
	};
	(void)state;

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct sip s = sip_absorb(0, 0, 0, (const uint8_t *)cases[i].s, strlen(cases[i].s));

		assert_true(sip_end(&s, 0xff) == cases[i].want);
	}
	assert_true(
	    hash_u64(0x9e3779b97f4a7c15) == 0xe220a8397b1dcdaf); /* splitmix64's first from 0 */
}

static void
seed_length_and_every_bit_count(void **state)
{
	char bytes[24] = { 0 };
	uint64_t whole = hash_bytes(1, bytes, sizeof bytes);
	struct hash128 both = hash_bytes128(1, bytes, sizeof bytes);
	(void)state;

	assert_true(hash_bytes(2, bytes, sizeof bytes) != whole);
	assert_true(hash_bytes(1, bytes, sizeof bytes - 1) != whole);
	assert_true(both.a != both.b && both.a != whole && both.b != whole);
	for (size_t i = 0; i < sizeof bytes * 8; i++) {
		struct hash128 other;

		bytes[i / 8] ^= (char)(1 << i % 8);
		other = hash_bytes128(1, bytes, sizeof bytes);
		assert_true(hash_bytes(1, bytes, sizeof bytes) != whole);
		assert_true(other.a != both.a && other.b != both.b);
		bytes[i / 8] ^= (char)(1 << i % 8);
	}
}

enum { KEYS = 500, OPERATIONS = 200000 };

/* Keys that are near each other, far apart, and equal in their low bits. */
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

/* Grows, shrinks, churns; a plain array is the truth. */
static void
a_map_does_what_an_array_does(void **state)
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
the_visited_may_be_taken(void **state)
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

/* One comes, the oldest goes: the table must not grow with those that went. */
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
	assert_true(m.cap <= 1024);
	map_release(&m);
}

static void
equal_texts_have_equal_numbers_from_0_up(void **state)
{
	struct texts *t = texts_new();
	const char *first;
	char s[32];
	struct rng r;
	(void)state;

	assert_int_equal(texts_find(t, "x", 1), UINT32_MAX);
	assert_int_equal(texts_intern(t, "", 0), 0);
	assert_int_equal(texts_intern(t, NULL, 0), 0);
	first = texts_get(t, 0);
	rng_seed(&r, 2);
	for (uint32_t i = 1; i < 5000; i++) {
		int len = snprintf(s, sizeof s, "text %u", i);

		assert_int_equal(texts_find(t, s, (size_t)len), UINT32_MAX);
		assert_int_equal(texts_intern(t, s, (size_t)len), i);
	}
	for (int i = 0; i < 20000; i++) {
		uint32_t id = 1 + (uint32_t)rng_below(&r, 4999);
		int len = snprintf(s, sizeof s, "text %u", id);

		assert_int_equal(texts_intern(t, s, (size_t)len), id);
		assert_int_equal(texts_find(t, s, (size_t)len), id);
		assert_string_equal(texts_get(t, id), s);
	}
	assert_int_equal(texts_count(t), 5000);
	assert_ptr_equal(texts_get(t, 0), first);
	assert_int_equal(texts_intern(t, "a\0b", 3), 5000);
	assert_int_equal(texts_intern(t, "a\0c", 3), 5001);
	texts_free(t);
	texts_free(NULL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_hash_is_siphash_1_3),
		cmocka_unit_test(seed_length_and_every_bit_count),
		cmocka_unit_test(a_map_does_what_an_array_does),
		cmocka_unit_test(null_is_not_stored),
		cmocka_unit_test(the_visited_may_be_taken),
		cmocka_unit_test(churn_keeps_the_size),
		cmocka_unit_test(equal_texts_have_equal_numbers_from_0_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
