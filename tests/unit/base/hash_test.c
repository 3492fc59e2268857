/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/hash.c" /* its SipHash, whose outputs for a chosen key are known */

/* Expected values: CPython 3.11 with PYTHONHASHSEED=0, hash of bytes. */
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
	    /* the first output of splitmix64 from state 0 */
	    hash_u64(0x9e3779b97f4a7c15) == 0xe220a8397b1dcdaf);
}

static void
seed_length_and_every_bit_change_the_hash(void **state)
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

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_hash_is_siphash_1_3),
		cmocka_unit_test(seed_length_and_every_bit_change_the_hash),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
