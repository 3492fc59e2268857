/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <zlib.h>

#include "otel/http/span_body.h"

/* gzip (31) or zlib (15) of n bytes of a text that repeats. */
static size_t
deflated(uint8_t **ret, size_t n, int window)
{
	uint8_t *plain = malloc(n + 1);
	z_stream z = { 0 };
	size_t len;

	for (size_t i = 0; i < n; i++)
		plain[i] = (uint8_t)('a' + i % 7);
	assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, window, 8, Z_DEFAULT_STRATEGY), Z_OK);
	*ret = malloc(deflateBound(&z, n) + 1);
	z.next_in = plain;
	z.avail_in = (uInt)n;
	z.next_out = *ret;
	z.avail_out = (uInt)deflateBound(&z, n);
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	len = z.total_out;
	deflateEnd(&z);
	free(plain);
	return len;
}

static enum body_state
feed(struct span_body *b, const uint8_t *data, size_t len, size_t piece, const void **out,
    size_t *out_len)
{
	for (size_t i = 0; i < len; i += piece)
		span_body_add(b, data + i, len - i < piece ? len - i : piece);
	return span_body_end(b, out, out_len);
}

static void
a_body_is_the_same_in_any_pieces(void **state)
{
	static const size_t sizes[] = { 0, 1, 1000, 65535, 65536, 65537, 300000 };
	static const int windows[] = { 31, 15 };
	(void)state;

	for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++)
		for (int w = 0; w < 2; w++)
			for (size_t piece = 1; piece < 1000000; piece = piece * 7 + 1) {
				uint8_t *data;
				size_t len = deflated(&data, sizes[s], windows[w]), n;
				struct span_body *b = span_body_new(300000, true);
				const void *out;

				assert_int_equal(feed(b, data, len, piece, &out, &n), BODY_OK);
				assert_int_equal(n, sizes[s]);
				for (size_t i = 0; i < n; i++)
					assert_int_equal(((const char *)out)[i], 'a' + i % 7);
				span_body_free(b);
				free(data);
			}
}

static void
a_bomb_stops_at_the_bound(void **state)
{
	uint8_t *data;
	size_t len = deflated(&data, 50 << 20, 31), n;
	struct span_body *b = span_body_new(1 << 20, true);
	const void *out;
	(void)state;

	assert_true(len < 100000);
	assert_int_equal(feed(b, data, len, 4096, &out, &n), BODY_TOO_LARGE);
	assert_int_equal(n, 0);
	assert_true(span_body_bytes(b) < 100000); /* nothing of it is kept */
	assert_int_equal(span_body_came(b), len);
	span_body_free(b);
	free(data);
}

static void
the_bound_is_exact(void **state)
{
	const void *out;
	size_t n;
	(void)state;

	for (int more = 0; more < 2; more++)
		for (int compressed = 0; compressed < 2; compressed++) {
			uint8_t *data = calloc(1, 100001);
			size_t len = 100000 + (size_t)more;
			struct span_body *b = span_body_new(100000, compressed != 0);

			if (compressed) {
				free(data);
				len = deflated(&data, 100000 + (size_t)more, 31);
			}
			assert_int_equal(
			    feed(b, data, len, 999, &out, &n), more ? BODY_TOO_LARGE : BODY_OK);
			assert_int_equal(n, more ? 0 : 100000);
			span_body_free(b);
			free(data);
		}
}

static void
what_is_damaged_is_told(void **state)
{
	uint8_t *data;
	size_t len = deflated(&data, 5000, 31), n;
	const void *out;
	struct span_body *b;
	(void)state;

	for (size_t cut = 0; cut < len; cut++) { /* its end is missing */
		b = span_body_new(10000, true);
		assert_int_equal(feed(b, data, cut, 10, &out, &n), BODY_DAMAGED);
		span_body_free(b);
	}
	data[len] = 'x'; /* a byte behind the end */
	b = span_body_new(10000, true);
	assert_int_equal(feed(b, data, len + 1, 10, &out, &n), BODY_DAMAGED);
	span_body_free(b);
	data[len - 8] ^= 1; /* its checksum */
	b = span_body_new(10000, true);
	assert_int_equal(feed(b, data, len, 10, &out, &n), BODY_DAMAGED);
	span_body_free(b);
	b = span_body_new(10000, true);
	assert_int_equal(feed(b, (const uint8_t *)"hello", 5, 10, &out, &n), BODY_DAMAGED);
	span_body_free(b);
	free(data);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_body_is_the_same_in_any_pieces),
		cmocka_unit_test(a_bomb_stops_at_the_bound),
		cmocka_unit_test(the_bound_is_exact),
		cmocka_unit_test(what_is_damaged_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
