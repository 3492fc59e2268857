/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <cmocka.h>

#include "otel/grpc/grpc_call.h"

#define TRACES "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
enum { BODY_MAX = 1000 };

static void
take(struct grpc_head *h, const char *name, const char *value)
{
	assert_true(grpc_head_take(h, name, strlen(name), value, strlen(value)));
}

static void
calls_are_told_apart_by_their_heads(void **state)
{
	static const struct {
		const char *method, *path, *type, *encoding;
		unsigned http;
		enum grpc_code code;
		bool refused;
		enum grpc_encoding as;
	} cases[] = {
		{ "POST", TRACES, "application/grpc", NULL, 200, GRPC_OK, false, GRPC_IDENTITY },
		{ "POST", TRACES, "application/grpc+proto", "gzip", 200, GRPC_OK, false,
		    GRPC_COMPRESSED },
		{ "POST", TRACES, "application/grpc;x=y", "identity", 200, GRPC_OK, false,
		    GRPC_IDENTITY },
		{ "POST", TRACES, "application/grpc", "br", 200, GRPC_UNIMPLEMENTED, true,
		    GRPC_UNKNOWN },
		{ "POST", TRACES "s", "application/grpc", NULL, 200, GRPC_UNIMPLEMENTED, true,
		    GRPC_IDENTITY },
		{ "POST", "/opentelemetry.proto.collector.logs.v1.LogsService/Export",
		    "application/grpc", NULL, 200, GRPC_UNIMPLEMENTED, true, GRPC_IDENTITY },
		{ "POST", TRACES, "application/grpcx", NULL, 415, GRPC_OK, true, GRPC_IDENTITY },
		{ "POST", TRACES, "application/json", NULL, 415, GRPC_OK, true, GRPC_IDENTITY },
		{ "GET", TRACES, "application/grpc", NULL, 405, GRPC_OK, true, GRPC_IDENTITY },
	};
	(void)state;

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct grpc_head h = { 0 };
		struct grpc_refusal r;

		take(&h, ":method", cases[i].method);
		take(&h, ":path", cases[i].path);
		take(&h, "content-type", cases[i].type);
		if (cases[i].encoding != NULL)
			take(&h, "grpc-encoding", cases[i].encoding);
		r = grpc_head_refusal(&h);
		assert_int_equal(r.http, cases[i].http);
		assert_int_equal(r.code, cases[i].code);
		assert_true((r.why != NULL) == cases[i].refused);
		assert_int_equal(h.encoding, cases[i].as);
	}
}

static void
a_head_is_bounded(void **state)
{
	static char value[GRPC_HEAD_MAX];
	struct grpc_head h = { 0 };
	int n = 0;
	(void)state;

	assert_false(grpc_head_take(&h, "x", 1, value, sizeof value));
	while (grpc_head_take(&h, "", 0, "", 0)) /* fields of nothing count, too */
		n++;
	assert_int_equal(n, GRPC_HEAD_MAX / 32);
}

/* Adds the bytes in pieces of this size; the refusal of the first that was refused, or of the end. */
static struct grpc_refusal
add_in_pieces(struct grpc_message *m, const void *data, size_t len, size_t piece)
{
	struct grpc_refusal r;
	const uint8_t *at = data;

	for (size_t i = 0; i < len; i += piece) {
		r = grpc_message_add(m, at + i, len - i < piece ? len - i : piece);
		if (r.why != NULL)
			return r;
	}
	return grpc_message_end(m, &data, &len);
}

static void
check_message(
    const void *bytes, size_t len, enum grpc_encoding as, enum grpc_code code, const char *expected)
{
	for (size_t piece = 1; piece <= len + 1; piece++) {
		struct grpc_message m;
		const void *data;
		size_t n;

		grpc_message_begin(&m, BODY_MAX, as);
		assert_int_equal(add_in_pieces(&m, bytes, len, piece).code, code);
		if (code == GRPC_OK) {
			assert_null(grpc_message_end(&m, &data, &n).why);
			assert_int_equal(n, strlen(expected));
			assert_memory_equal(data, expected, n);
		}
		grpc_message_release(&m);
	}
}

static void
a_message_is_the_same_however_it_is_cut(void **state)
{
	static const char plain[] = "\0\0\0\0\5hello", empty[] = "\0\0\0\0\0",
			  flagged[] = "\1\0\0\0\0";
	uint8_t packed[100] = { 1 };
	uLongf n = sizeof packed - 5;
	(void)state;

	check_message(plain, sizeof plain - 1, GRPC_IDENTITY, GRPC_OK, "hello");
	check_message(plain, sizeof plain - 1, GRPC_COMPRESSED, GRPC_OK, "hello");
	check_message(empty, sizeof empty - 1, GRPC_IDENTITY, GRPC_OK, "");
	check_message(flagged, sizeof flagged - 1, GRPC_COMPRESSED, GRPC_OK, "");
	assert_int_equal(compress(packed + 5, &n, (const Bytef *)"hello hello", 11), Z_OK);
	packed[4] = (uint8_t)n;
	check_message(packed, n + 5, GRPC_COMPRESSED, GRPC_OK, "hello hello");
	check_message(packed, n + 5, GRPC_IDENTITY, GRPC_INTERNAL, NULL);
	check_message(packed, n + 4, GRPC_COMPRESSED, GRPC_INVALID_ARGUMENT, NULL);
}

static void
what_is_no_message_is_refused(void **state)
{
	static const char two[] = "\0\0\0\0\1a\0\0\0\0\1b", flag[] = "\2\0\0\0\0",
			  cut[] = "\0\0\0\0", shorter[] = "\0\0\0\0\2a",
			  damaged[] = "\1\0\0\0\4abcd", large[] = "\0\377\377\377\377";
	uint8_t zeroes[100000] = { 0 }, bomb[1000] = { 1 };
	uLongf n = sizeof bomb - 5;
	(void)state;

	check_message(two, sizeof two - 1, GRPC_IDENTITY, GRPC_INVALID_ARGUMENT, NULL);
	check_message(flag, sizeof flag - 1, GRPC_IDENTITY, GRPC_INVALID_ARGUMENT, NULL);
	check_message(cut, sizeof cut - 1, GRPC_IDENTITY, GRPC_INVALID_ARGUMENT, NULL);
	check_message("", 0, GRPC_IDENTITY, GRPC_INVALID_ARGUMENT, NULL);
	check_message(shorter, sizeof shorter - 1, GRPC_IDENTITY, GRPC_INVALID_ARGUMENT, NULL);
	check_message(damaged, sizeof damaged - 1, GRPC_COMPRESSED, GRPC_INVALID_ARGUMENT, NULL);
	check_message(large, sizeof large - 1, GRPC_IDENTITY, GRPC_RESOURCE_EXHAUSTED, NULL);
	assert_int_equal(compress(bomb + 5, &n, zeroes, sizeof zeroes), Z_OK);
	bomb[4] = (uint8_t)n;
	check_message(bomb, n + 5, GRPC_COMPRESSED, GRPC_RESOURCE_EXHAUSTED, NULL);
}

static void
answers_are_as_grpc_and_otlp_write_them(void **state)
{
	struct receipt all = { .taken = 3 }, part = { .taken = 1, .rejected = 2, .why = "no" };
	struct buf b = { 0 };
	(void)state;

	grpc_put_success(&b, &all);
	assert_int_equal(b.len, 5);
	assert_memory_equal(b.data, "\0\0\0\0\0", 5);
	buf_reset(&b);
	grpc_put_success(&b, &part);
	assert_int_equal(b.len, 13);
	assert_memory_equal(b.data, "\0\0\0\0\10\12\6\10\2\22\2no", 13);
	buf_reset(&b);
	grpc_put_message(&b, "50 %\n\303\274");
	assert_int_equal(b.len, strlen("50 %25%0A%C3%BC"));
	assert_memory_equal(b.data, "50 %25%0A%C3%BC", b.len);
	buf_reset(&b);
	/* google.rpc.Status { 14, "full", RetryInfo of 2 s }, written and encoded by another program */
	grpc_put_retry(&b, "full");
	assert_int_equal(b.len,
	    strlen(
		"CA4SBGZ1bGwaMAoodHlwZS5nb29nbGVhcGlzLmNvbS9nb29nbGUucnBjLlJldHJ5SW5mbxIECgIIAg"));
	assert_memory_equal(b.data,
	    "CA4SBGZ1bGwaMAoodHlwZS5nb29nbGVhcGlzLmNvbS9nb29nbGUucnBjLlJldHJ5SW5mbxIECgIIAg",
	    b.len);
	buf_release(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_are_told_apart_by_their_heads),
		cmocka_unit_test(a_head_is_bounded),
		cmocka_unit_test(a_message_is_the_same_however_it_is_cut),
		cmocka_unit_test(what_is_no_message_is_refused),
		cmocka_unit_test(answers_are_as_grpc_and_otlp_write_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
