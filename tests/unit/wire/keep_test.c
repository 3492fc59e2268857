/* SPDX-License-Identifier: GPL-3.0-or-later */
/* keep and kept. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "wire/keep.h"

static const struct keep asked = { 7, UINT64_C(0x893a5b0228c4b908), -5, 1234567890123 };

static void
a_keep_arrives_as_it_was_sent(void **state)
{
	struct buf b = { 0 };
	struct keep k;
	(void)state;

	keep_encode(&asked, &b);
	assert_int_equal(keep_decode(&k, b.data, b.len, NULL), 0);
	assert_memory_equal(&k, &asked, sizeof k);
	buf_release(&b);
}

static void
a_keep_is_whole_or_refused(void **state)
{
	struct keep k = { 0 }, no_id = asked, reversed = asked;
	struct buf b = { 0 };
	(void)state;

	keep_encode(&asked, &b);
	for (size_t len = 0; len < b.len; len++)
		assert_int_equal(keep_decode(&k, b.data, len, NULL), ERR_INPUT);
	buf_u8(&b, 0);
	assert_int_equal(keep_decode(&k, b.data, b.len, NULL), ERR_INPUT);
	no_id.trace_id = 0;
	reversed.from_ns = reversed.to_ns + 1;
	buf_reset(&b);
	keep_encode(&no_id, &b);
	assert_int_equal(keep_decode(&k, b.data, b.len, NULL), ERR_INPUT);
	buf_reset(&b);
	keep_encode(&reversed, &b);
	assert_int_equal(keep_decode(&k, b.data, b.len, NULL), ERR_INPUT);
	assert_int_equal(k.trace_id, 0);
	buf_release(&b);
}

static struct kept
answer(void)
{
	return (struct kept){ .number = 7,
		.trace_id = asked.trace_id,
		.result = KEPT_READ,
		.rings = 4,
		.overwritten = 2,
		.unlisted = 1,
		.undecoded = 300,
		.cut = 5,
		.horizon_ns = 17,
		.failure = "",
		.batch = "not looked into",
		.batch_len = 15 };
}

static void
an_answer_arrives_as_it_was_sent(void **state)
{
	struct kept out = answer(), in;
	struct arena a = { 0 };
	struct buf b = { 0 };
	(void)state;

	kept_encode(&out, &b);
	assert_int_equal(kept_decode(&in, &a, b.data, b.len, NULL), 0);
	assert_int_equal(in.number, 7);
	assert_int_equal(in.trace_id, asked.trace_id);
	assert_int_equal(in.result, KEPT_READ);
	assert_int_equal(in.rings, 4);
	assert_int_equal(in.overwritten, 2);
	assert_int_equal(in.unlisted, 1);
	assert_int_equal(in.undecoded, 300);
	assert_int_equal(in.cut, 5);
	assert_int_equal(in.horizon_ns, 17);
	assert_string_equal(in.failure, "");
	assert_int_equal(in.batch_len, 15);
	assert_memory_equal(in.batch, "not looked into", 15);
	arena_release(&a);
	buf_release(&b);
}

static void
assert_refused(const struct kept *k)
{
	struct arena a = { 0 };
	struct buf b = { 0 };
	struct kept in;

	kept_encode(k, &b);
	assert_int_equal(kept_decode(&in, &a, b.data, b.len, NULL), ERR_INPUT);
	arena_release(&a);
	buf_release(&b);
}

static void
an_answer_that_cannot_be_is_refused(void **state)
{
	struct kept k = answer();
	(void)state;

	k.overwritten = 5; /* of 4 rings */
	assert_refused(&k);
	k = answer();
	k.result = KEPT_REFUSED; /* and has records */
	assert_refused(&k);
	k = answer();
	k.result = KEPT_SILENT; /* no agent says that */
	k.batch_len = 0;
	assert_refused(&k);
}

static void
an_answer_that_was_cut_off_is_refused(void **state)
{
	struct kept k = answer(), in;
	struct arena a = { 0 };
	struct buf b = { 0 };
	(void)state;

	k.batch_len = 0;
	kept_encode(&k, &b);
	for (size_t len = 0; len < b.len; len++)
		assert_int_equal(kept_decode(&in, &a, b.data, len, NULL), ERR_INPUT);
	arena_release(&a);
	buf_release(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_keep_arrives_as_it_was_sent),
		cmocka_unit_test(a_keep_is_whole_or_refused),
		cmocka_unit_test(an_answer_arrives_as_it_was_sent),
		cmocka_unit_test(an_answer_that_cannot_be_is_refused),
		cmocka_unit_test(an_answer_that_was_cut_off_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
