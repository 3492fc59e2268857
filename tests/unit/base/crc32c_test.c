/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/crc32c.c" /* for the way without the instruction, which this machine may never take */
#include "base/rng.h"

/* RFC 3720, appendix B.4, and the standard check value. */
static void
checksums_equal_published_values(void **state)
{
	uint8_t bytes[32] = { 0 };
	(void)state;

	assert_int_equal(crc32c(0, "123456789", 9), 0xe3069283);
	assert_int_equal(crc32c(0, bytes, sizeof bytes), 0x8a9136aa);
	memset(bytes, 0xff, sizeof bytes);
	assert_int_equal(crc32c(0, bytes, sizeof bytes), 0x62a8ab43);
	for (int i = 0; i < 32; i++)
		bytes[i] = (uint8_t)i;
	assert_int_equal(crc32c(0, bytes, sizeof bytes), 0x46dd794e);
	assert_int_equal(crc32c(0, bytes, 0), 0);
}

static void
table_and_instruction_agree_on_any_division_into_pieces(void **state)
{
	uint8_t bytes[300];
	struct rng r;
	(void)state;

	rng_seed(&r, 1);
	for (size_t i = 0; i < sizeof bytes; i++)
		bytes[i] = (uint8_t)rng_next(&r);
	for (size_t len = 0; len <= sizeof bytes; len++) {
		uint32_t whole = crc32c(0, bytes, len);
		size_t cut = rng_below(&r, len + 1);

		assert_int_equal(whole, ~crc_by_table(~0u, bytes, len));
		assert_int_equal(whole, crc32c(crc32c(0, bytes, cut), bytes + cut, len - cut));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(checksums_equal_published_values),
		cmocka_unit_test(table_and_instruction_agree_on_any_division_into_pieces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
