/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "otel/http/span_request.h"

static void
requests_are_told_apart_by_their_heads(void **state)
{
	static const struct {
		struct request_head h;
		bool zipkin;
		unsigned status;
		enum span_format format;
		bool compressed;
	} cases[] = {
		{ { "POST", "/v1/traces", "application/json", NULL }, false, 0, SPANS_OTLP_JSON,
		    false },
		{ { "POST", "/v1/traces", "application/x-protobuf", "gzip" }, false, 0,
		    SPANS_OTLP_PROTO, true },
		{ { "POST", "/v1/traces", "Application/JSON; charset=utf-8", "identity" }, false, 0,
		    SPANS_OTLP_JSON, false },
		{ { "POST", "/v1/traces", "application/x-protobuf", "deflate" }, false, 0,
		    SPANS_OTLP_PROTO, true },
		{ { "POST", "/v1/traces", "application/jsonx", NULL }, false, 415, SPANS_OTLP_JSON,
		    false },
		{ { "POST", "/v1/traces", NULL, NULL }, false, 415, SPANS_OTLP_JSON, false },
		{ { "POST", "/v1/traces", "application/x-protobuf", "br" }, false, 415,
		    SPANS_OTLP_PROTO, false },
		{ { "GET", "/v1/traces", "application/json", NULL }, false, 405, SPANS_OTLP_JSON,
		    false },
		{ { "POST", "/v1/metrics", "application/x-protobuf", NULL }, false, 404,
		    SPANS_OTLP_PROTO, false },
		{ { "POST", "/v1/logs", "application/json", NULL }, false, 404, SPANS_OTLP_JSON,
		    false },
		{ { "POST", "/api/v2/spans", "application/json", NULL }, false, 404,
		    SPANS_OTLP_JSON, false },
		{ { "POST", "/api/v2/spans", "application/json", "gzip" }, true, 0, SPANS_ZIPKIN,
		    true },
		{ { "POST", "/api/v2/spans", "application/x-protobuf", NULL }, true, 415,
		    SPANS_ZIPKIN, false },
		{ { "POST", "/v1/traces", "application/json", NULL }, true, 404, SPANS_ZIPKIN,
		    false },
	};
	(void)state;

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct span_request r = span_request_of(&cases[i].h, cases[i].zipkin);

		assert_int_equal(r.status, cases[i].status);
		assert_int_equal(r.format, cases[i].format);
		assert_true(r.compressed == cases[i].compressed);
		assert_true((r.why != NULL) == (r.status != 0));
	}
}

static unsigned
reply(const struct span_request *r, const struct receipt *receipt, struct buf *b)
{
	buf_reset(b);
	return span_reply(r, receipt, b);
}

static void
answers_have_the_form_of_the_request(void **state)
{
	struct span_request json = { .otlp = true, .format = SPANS_OTLP_JSON },
			    proto = { .otlp = true, .format = SPANS_OTLP_PROTO },
			    zipkin = { .format = SPANS_ZIPKIN };
	struct receipt all = { .taken = 3 },
		       some = { .taken = 1, .rejected = 298, .lost = 2, .why = "a \"b\"\n\xff" },
		       none = { .malformed = true, .why = "no" };
	static const uint8_t partial[] = { 0x0a, 12, 0x08, 0xac, 0x02, 0x12, 7, 'a', ' ', '"', 'b',
		'"', '?', '?' },
			     status[] = { 0x08, 3, 0x12, 2, 'n', 'o' };
	struct buf b = { 0 };
	(void)state;

	assert_int_equal(reply(&json, &all, &b), 200);
	assert_memory_equal(b.data, "{}", b.len);
	assert_int_equal(reply(&json, &some, &b), 200);
	buf_u8(&b, 0);
	assert_string_equal((char *)b.data,
	    "{\"partialSuccess\":{\"rejectedSpans\":\"300\",\"errorMessage\":\"a \\\"b\\\"??\"}}");
	assert_int_equal(reply(&json, &none, &b), 400);
	buf_u8(&b, 0);
	assert_string_equal((char *)b.data, "{\"code\":3,\"message\":\"no\"}");
	assert_int_equal(reply(&proto, &all, &b), 200);
	assert_int_equal(b.len, 0);
	assert_int_equal(reply(&proto, &some, &b), 200);
	assert_int_equal(b.len, sizeof partial);
	assert_memory_equal(b.data, partial, sizeof partial);
	assert_int_equal(reply(&proto, &none, &b), 400);
	assert_int_equal(b.len, sizeof status);
	assert_memory_equal(b.data, status, sizeof status);
	assert_int_equal(reply(&zipkin, &all, &b), 202);
	assert_int_equal(b.len, 0);
	assert_int_equal(reply(&zipkin, &some, &b), 202);
	some.taken = 0;
	assert_int_equal(
	    reply(&zipkin, &some, &b), 202); /* two of them were lost: too late is not bad */
	some.lost = 0;
	assert_int_equal(reply(&zipkin, &some, &b), 400);
	assert_int_equal(reply(&json, &some, &b), 200);
	proto.status = 503;
	proto.why = "full";
	assert_int_equal(reply(&proto, NULL, &b), 503);
	assert_int_equal(b.data[1], 14);
	assert_string_equal(span_reply_type(&proto), "application/x-protobuf");
	buf_release(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests_are_told_apart_by_their_heads),
		cmocka_unit_test(answers_have_the_form_of_the_request),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
