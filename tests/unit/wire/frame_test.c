/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "wire/frame.h"

static void
a_sealed_frame_opens(void **state)
{
	uint8_t header[FRAME_HEADER_BYTES], payload[64];
	struct frame f;
	struct rng r;
	struct err e;
	(void)state;

	rng_seed(&r, 1);
	for (int i = 0; i < 1000; i++) {
		enum frame_kind kind = FRAME_HELLO + (enum frame_kind)rng_below(&r, FRAME_REFUSE);
		size_t length = rng_below(&r, sizeof payload + 1);
		uint64_t seq = rng_next(&r);

		for (size_t j = 0; j < length; j++)
			payload[j] = (uint8_t)rng_next(&r);
		frame_seal(header, kind, seq, payload, length);
		assert_int_equal(frame_open(&f, header, &e), 0);
		assert_int_equal(f.version, FRAME_VERSION);
		assert_int_equal(f.kind, kind);
		assert_int_equal(f.length, length);
		assert_true(f.seq == seq);
		assert_int_equal(frame_check(&f, header, payload, &e), 0);
	}
}

/* Compares with the layout in the header's comment, byte by byte. */
static void
the_header_has_the_documented_layout(void **state)
{
	static const uint8_t want[] = { 'H', 'O', 'N', 'E', FRAME_VERSION, 0, 3, 0, 2, 0, 0, 0 };
	static const uint8_t seq[] = { 8, 7, 6, 5, 4, 3, 2, 1 };
	uint8_t header[FRAME_HEADER_BYTES];
	(void)state;

	frame_seal(header, FRAME_RECORDS, 0x0102030405060708, "hi", 2);
	assert_memory_equal(header, want, sizeof want);
	assert_memory_equal(header + 16, seq, sizeof seq);
}

static void
every_flipped_bit_is_detected(void **state)
{
	uint8_t header[FRAME_HEADER_BYTES], payload[200];
	struct frame f;
	struct err e;
	(void)state;

	memset(payload, 0x5a, sizeof payload);
	frame_seal(header, FRAME_RECORDS, 77, payload, sizeof payload);
	for (size_t bit = 0; bit < 8 * (sizeof header + sizeof payload); bit++) {
		uint8_t *at = bit / 8 < sizeof header ? &header[bit / 8]
		                                      : &payload[bit / 8 - sizeof header];

		*at ^= (uint8_t)(1 << bit % 8);
		/*
		 * a length that was increased cannot be checked without that many bytes: the reader
		 * waits for them
		 */
		if (frame_open(&f, header, &e) == 0 && f.length <= sizeof payload)
			assert_int_equal(frame_check(&f, header, payload, &e), ERR_INPUT);
		*at ^= (uint8_t)(1 << bit % 8);
	}
	assert_int_equal(frame_open(&f, header, &e), 0);
	assert_int_equal(frame_check(&f, header, payload, &e), 0);
}

static void
another_version_is_named_with_ours(void **state)
{
	uint8_t header[FRAME_HEADER_BYTES];
	char ours[32];
	struct frame f;
	struct err e;
	(void)state;

	snprintf(ours, sizeof ours, "this side %d:", FRAME_VERSION);
	frame_seal(header, FRAME_HELLO, 0, "", 0);
	header[4] = 200;
	assert_int_equal(frame_open(&f, header, &e), ERR_VERSION);
	assert_non_null(strstr(e.text, "speaks version 200 "));
	assert_non_null(strstr(e.text, ours));
	header[6] = 200; /* frame kinds of another version are not checked */
	assert_int_equal(frame_open(&f, header, &e), ERR_VERSION);
}

static void
other_protocols_are_distinguished(void **state)
{
	struct frame f;
	struct err e;
	(void)state;

	assert_int_equal(
	    frame_open(&f, (const uint8_t *)"GET / HTTP/1.1\r\nHost: localhost", &e), ERR_INPUT);
	assert_non_null(strstr(e.text, "47 45 54 20 (\"GET \")"));
}

static void
each_kind_has_a_payload_limit(void **state)
{
	static const struct {
		unsigned number, max_bytes;
		const char *name;
	} kinds[] = {
#define KIND(name, number, max_bytes, help) { number, max_bytes, #name },
#include "wire/kinds.tbl.h"
#undef KIND
	};
	uint8_t header[FRAME_HEADER_BYTES];
	struct frame f;
	struct err e;
	(void)state;

	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		uint32_t length = kinds[i].max_bytes;

		assert_string_equal(frame_kind_name(kinds[i].number), kinds[i].name);
		frame_seal(header, (enum frame_kind)kinds[i].number, 0, "", 0);
		memcpy(header + 8, &length, sizeof length);
		assert_int_equal(frame_open(&f, header, &e), 0);
		length++;
		memcpy(header + 8, &length, sizeof length);
		assert_int_equal(frame_open(&f, header, &e), ERR_INPUT);
		assert_non_null(strstr(e.text, kinds[i].name));
	}
	frame_seal(header, (enum frame_kind)0, 0, "", 0);
	assert_int_equal(frame_open(&f, header, &e), ERR_INPUT);
	frame_seal(header, (enum frame_kind)99, 0, "", 0);
	assert_int_equal(frame_open(&f, header, &e), ERR_INPUT);
	assert_non_null(strstr(e.text, "unknown kind 99"));
	assert_string_equal(frame_kind_name(0), "?");
	assert_string_equal(frame_kind_name(99), "?");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sealed_frame_opens),
		cmocka_unit_test(the_header_has_the_documented_layout),
		cmocka_unit_test(every_flipped_bit_is_detected),
		cmocka_unit_test(another_version_is_named_with_ours),
		cmocka_unit_test(other_protocols_are_distinguished),
		cmocka_unit_test(each_kind_has_a_payload_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
