/* SPDX-License-Identifier: GPL-3.0-or-later */
/* err, arena, buf, clock, rng. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/rng.h"

/* ---- err ---- */

static void
a_failure_is_one_statement_with_its_text(void **state)
{
	struct err e = { 0 };
	(void)state;

	assert_int_equal(err_set(&e, ERR_INPUT, "%s: no such key", "color"), ERR_INPUT);
	assert_int_equal(e.code, ERR_INPUT);
	assert_string_equal(e.text, "color: no such key");
	assert_int_equal(err_prefix(&e, "hone.conf:%d", 7), ERR_INPUT);
	assert_string_equal(e.text, "hone.conf:7: color: no such key");
	assert_int_equal(err_set(&e, ERR_BUSY, "%s, again", e.text), ERR_BUSY);
	assert_string_equal(e.text, "hone.conf:7: color: no such key, again");
}

static void
errno_becomes_text(void **state)
{
	struct err e = { 0 };
	(void)state;

	errno = ENOENT;
	assert_int_equal(err_errno(&e, "/x"), ERR_SYSTEM);
	assert_string_equal(e.text, "/x: No such file or directory");
}

static void
long_texts_are_cut_and_a_text_is_optional(void **state)
{
	struct err e = { 0 };
	char big[1000];
	(void)state;

	memset(big, 'x', sizeof big - 1);
	big[sizeof big - 1] = 0;
	err_set(&e, ERR_INPUT, "%s", big);
	assert_int_equal(strlen(e.text), sizeof e.text - 1);
	err_prefix(&e, "front");
	assert_memory_equal(e.text, "front: xxx", 10);
	assert_int_equal(strlen(e.text), sizeof e.text - 1);
	assert_int_equal(err_set(NULL, ERR_FULL, "%s", big), ERR_FULL);
	assert_int_equal(err_errno(NULL, "%s", big), ERR_SYSTEM);
}

/* ---- arena ---- */

static void
pieces_are_aligned_separate_and_keep_their_content(void **state)
{
	enum { PIECES = 3000 };
	struct arena a = { 0 };
	struct rng r;
	unsigned char *at[PIECES];
	size_t len[PIECES];
	(void)state;

	rng_seed(&r, 1);
	for (int i = 0; i < PIECES; i++) {
		len[i] = rng_below(&r, i % 100 == 0 ? 100000 : 200);
		at[i] = i % 3 == 0 ? (unsigned char *)arena_text(&a, "", 0)
		                   : arena_alloc(&a, len[i]);
		assert_non_null(at[i]);
		if (i % 3 == 0)
			len[i] = 1;
		else
			assert_int_equal((uintptr_t)at[i] % _Alignof(max_align_t), 0);
		memset(at[i], i & 255, len[i]);
	}
	for (int i = 0; i < PIECES; i++)
		for (size_t j = 0; j < len[i]; j++)
			assert_int_equal(at[i][j], i & 255);
	arena_release(&a);
	assert_null(a.blocks);
	assert_int_equal(a.total_bytes, 0);
}

static void
memory_stays_in_proportion(void **state)
{
	struct arena a = { 0 };
	size_t asked = 0;
	(void)state;

	while (asked < 8 << 20) {
		assert_non_null(arena_alloc(&a, 1008));
		asked += 1008;
	}
	assert_true(a.total_bytes < asked + asked / 4);
	arena_reset(&a);
	assert_true(a.total_bytes <= 1 << 20);
	assert_non_null(arena_alloc(&a, 1008));
	assert_true(a.total_bytes <= 1 << 20);
	arena_release(&a);
}

static void
a_failed_allocation_is_null(void **state)
{
	struct arena a = { 0 };
	(void)state;

	assert_null(arena_calloc(&a, SIZE_MAX / 2, 4));
	assert_null(arena_alloc(&a, SIZE_MAX - 8));
	assert_null(arena_text(&a, "x", SIZE_MAX));
	assert_string_equal(arena_text(&a, "hello", 4), "hell");
	assert_int_equal(*(int *)arena_calloc(&a, 1, sizeof(int)), 0);
	arena_release(&a);
}

/* ---- buf ---- */

static void
numbers_are_read_back_unchanged(void **state)
{
	static const uint64_t edges[] = { 0, 1, 127, 128, 16383, 16384, UINT32_MAX, INT64_MAX,
		1ull << 63, UINT64_MAX };
	struct buf b = { 0 };
	struct reader r;
	struct rng rng;
	(void)state;

	rng_seed(&rng, 2);
	for (int i = 0; i < 1000; i++) {
		uint64_t v = i < 10 ? edges[i] : rng_next(&rng) >> rng_below(&rng, 64);

		buf_uint(&b, v);
		buf_int(&b, (int64_t)v);
		buf_u8(&b, (uint8_t)v);
		buf_u32(&b, (uint32_t)v);
		buf_u64(&b, v);
		buf_double(&b, (double)v / 3);
	}
	rng_seed(&rng, 2);
	r = reader_of(b.data, b.len);
	for (int i = 0; i < 1000; i++) {
		uint64_t v = i < 10 ? edges[i] : rng_next(&rng) >> rng_below(&rng, 64);

		assert_true(read_uint(&r) == v);
		assert_true(read_int(&r) == (int64_t)v);
		assert_int_equal(read_u8(&r), (uint8_t)v);
		assert_int_equal(read_u32(&r), (uint32_t)v);
		assert_true(read_u64(&r) == v);
		assert_true(read_double(&r) == (double)v / 3);
	}
	assert_false(r.failed);
	assert_int_equal(reader_left(&r), 0);
	buf_release(&b);
}

static void
integers_are_little_endian_and_varints_leb128(void **state)
{
	static const uint8_t want[] = { 4, 3, 2, 1, 0xac, 2, 3, 2, 'h', 'i', '4', '2' };
	struct buf b = { 0 };
	(void)state;

	buf_u32(&b, 0x01020304);
	buf_uint(&b, 300);
	buf_int(&b, -2);
	buf_text(&b, "hi", 2);
	buf_printf(&b, "%d", 42);
	assert_int_equal(b.len, sizeof want);
	assert_memory_equal(b.data, want, sizeof want);
	buf_release(&b);
}

static void
a_reader_past_its_end_stays_failed_and_yields_zeroes(void **state)
{
	/* on the heap, where the sanitizer detects a read past the end */
	uint8_t *three = malloc(3);
	struct reader r;
	size_t len;
	(void)state;

	memcpy(three, "\x01\x02\x03", 3);
	r = reader_of(three, 3);
	assert_int_equal(read_u8(&r), 1);
	assert_int_equal(read_u32(&r), 0);
	assert_true(r.failed);
	assert_int_equal(read_u8(&r), 0);
	assert_true(read_uint(&r) == 0);
	assert_null(read_bytes(&r, 0));
	assert_null(read_text(&r, 10, &len));
	assert_int_equal(len, 0);
	free(three);
}

static void
malformed_varints_and_texts_fail(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
	} bad[] = {
		{ "", 0 }, { "\x80", 1 },
		{ "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 10 },     /* more than 64 bits */
		{ "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00", 11 }, /* more than 10 bytes */
	};
	struct reader r;
	size_t len;
	(void)state;

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		r = reader_of(bad[i].bytes, bad[i].len);
		assert_true(read_uint(&r) == 0);
		assert_true(r.failed);
	}
	r = reader_of("\x04"
		      "abcd",
	    5);
	assert_null(read_text(&r, 3, &len));
	assert_true(r.failed);
	r = reader_of("\x05"
		      "abcd",
	    5);
	assert_null(read_text(&r, 9, &len));
	assert_true(r.failed);
}

static void
a_writer_without_memory_fails_at_its_end(void **state)
{
	struct buf b = { 0 };
	(void)state;

	buf_u8(&b, 1);
	assert_null(buf_reserve(&b, SIZE_MAX / 2));
	buf_u8(&b, 2);
	assert_true(b.failed);
	assert_int_equal(b.len, 1);
	buf_reset(&b);
	buf_u8(&b, 3);
	assert_false(b.failed);
	buf_release(&b);
}

/* ---- clock ---- */

static void
wall_clock_times_print_as_utc(void **state)
{
	static const struct {
		int64_t ns;
		const char *want;
	} cases[] = {
		{ 0, "1970-01-01T00:00:00.000Z" },
		{ 1795234706123456789, "2026-11-21T04:18:26.123Z" },
		{ -1, "1969-12-31T23:59:59.999Z" },
		{ INT64_MAX, "2262-04-11T23:47:16.854Z" },
		{ INT64_MIN, "1677-09-21T00:12:43.145Z" },
	};
	char out[25];
	(void)state;

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		wall_print((struct wall){ cases[i].ns }, out);
		assert_string_equal(out, cases[i].want);
	}
}

static void
the_monotonic_clock_does_not_go_back(void **state)
{
	struct mono last = clock_mono(), now;
	(void)state;

	for (int i = 0; i < 1000; i++, last = now) {
		now = clock_mono();
		assert_true(mono_since_ns(now, last) >= 0);
	}
	assert_true(clock_wall().ns > 1700000000000000000);
}

/* ---- rng ---- */

/*
 * Expected values from the reference implementation for the state 1, 2, 3, 4; likewise splitmix64
 * from 1234567.
 */
static void
the_generator_is_xoshiro256starstar_seeded_by_splitmix64(void **state)
{
	static const uint64_t want[] = { 11520, 0, 1509978240, 1215971899390074240,
		1216172134540287360 };
	struct rng r = { { 1, 2, 3, 4 } };
	(void)state;

	for (int i = 0; i < 5; i++)
		assert_true(rng_next(&r) == want[i]);
	rng_seed(&r, 1234567);
	assert_true(r.s[0] == 6457827717110365317u);
	assert_true(r.s[1] == 3203168211198807973u);
	assert_true(r.s[2] == 9817491932198370423u);
}

/* Count of each of n values in 60000 draws: within five standard deviations of the mean. */
static void
below_is_uniform(void **state)
{
	int seen[6] = { 0 };
	struct rng r;
	(void)state;

	rng_seed(&r, 3);
	for (int i = 0; i < 60000; i++)
		seen[rng_below(&r, 6)]++;
	for (int i = 0; i < 6; i++)
		assert_true(abs(seen[i] - 10000) < 5 * 92);
	for (int i = 0; i < 1000; i++) {
		assert_true(rng_below(&r, 1) == 0);
		assert_true(rng_below(&r, UINT64_MAX) < UINT64_MAX);
	}
}

/* A plain remainder would put two thirds of the draws into the lower half. */
static void
below_has_no_bias_of_a_plain_remainder(void **state)
{
	uint64_t n = (uint64_t)3 << 62;
	struct rng r;
	int low = 0;
	(void)state;

	rng_seed(&r, 4);
	for (int i = 0; i < 30000; i++)
		low += rng_below(&r, n) < n / 3;
	assert_true(abs(low - 10000) < 5 * 82);
}

static void
unit_and_normal_draws_have_the_expected_moments(void **state)
{
	double sum = 0, squares = 0, unit = 0, x;
	int n = 100000, beyond = 0;
	struct rng r;
	(void)state;

	rng_seed(&r, 5);
	for (int i = 0; i < n; i++) {
		x = rng_unit(&r);
		assert_true(x >= 0 && x < 1);
		unit += x;
		x = rng_normal(&r);
		sum += x;
		squares += x * x;
		beyond += fabs(x) > 1.959964;
	}
	assert_true(fabs(unit / n - 0.5) < 0.005);
	assert_true(fabs(sum / n) < 0.016);
	assert_true(fabs(squares / n - 1) < 0.023);
	assert_true(abs(beyond - n / 20) < 5 * 69);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_failure_is_one_statement_with_its_text),
		cmocka_unit_test(errno_becomes_text),
		cmocka_unit_test(long_texts_are_cut_and_a_text_is_optional),
		cmocka_unit_test(pieces_are_aligned_separate_and_keep_their_content),
		cmocka_unit_test(memory_stays_in_proportion),
		cmocka_unit_test(a_failed_allocation_is_null),
		cmocka_unit_test(numbers_are_read_back_unchanged),
		cmocka_unit_test(integers_are_little_endian_and_varints_leb128),
		cmocka_unit_test(a_reader_past_its_end_stays_failed_and_yields_zeroes),
		cmocka_unit_test(malformed_varints_and_texts_fail),
		cmocka_unit_test(a_writer_without_memory_fails_at_its_end),
		cmocka_unit_test(wall_clock_times_print_as_utc),
		cmocka_unit_test(the_monotonic_clock_does_not_go_back),
		cmocka_unit_test(the_generator_is_xoshiro256starstar_seeded_by_splitmix64),
		cmocka_unit_test(below_is_uniform),
		cmocka_unit_test(below_has_no_bias_of_a_plain_remainder),
		cmocka_unit_test(unit_and_normal_draws_have_the_expected_moments),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
