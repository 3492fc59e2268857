/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include <cmocka.h>

#include "cli/export/push.h"

/* ---- a back end that answers as it is told ---- */

static struct {
	const struct push_answer *answers;
	int nanswers, posts;
	int waits[64], nwaits;
	bool gzipped;
} back;

static void
post(void *connection, const void *body, size_t len, struct push_answer *ret)
{
	const unsigned char *b = body;

	(void)connection;
	back.gzipped = len > 2 && b[0] == 0x1f && b[1] == 0x8b;
	*ret = back.answers[back.posts < back.nanswers ? back.posts : back.nanswers - 1];
	back.posts++;
}

static void
note_wait(void *ctx, int ms)
{
	(void)ctx;
	back.waits[back.nwaits++] = ms;
}

static double
half(void *ctx)
{
	(void)ctx;
	return 0.5;
}

/* Pushes so many requests of one span. */
static struct push_counts
pushed(const struct push_answer *answers, int nanswers, int requests)
{
	static const struct push_calls calls = { NULL, post, NULL };
	struct push_counts n = { 0 };
	struct push_options o = {
		.format = "otlp", .calls = &calls, .wait = note_wait, .random = half, .counts = &n
	};
	struct exported_unit unit = { .span = { .trace = { 0, 1 }, .id = 1, .end_ns = 1000 },
		.parent = EXPORTED_NONE };
	struct exported x = { .n = 1, .units = &unit };
	struct export_sink *s;
	struct err e;

	memset(&back, 0, sizeof back);
	back.answers = answers;
	back.nanswers = nanswers;
	assert_int_equal(push_open(&s, &o, &e), 0);
	for (int i = 0; i < requests; i++)
		assert_int_equal(s->put(s, &x, &e), 0);
	assert_int_equal(s->close(s, &e), 0);
	return n;
}

static void
spans_go_in_batches_and_all_are_counted(void **state)
{
	const struct push_answer ok = {
		.status = 200, .retry_after_s = -1, .len = 2, .body = "{}"
	};
	struct push_counts n = pushed(&ok, 1, 2 * PUSH_BATCH_SPANS + 1);

	(void)state;
	assert_true(back.gzipped);
	assert_int_equal(back.posts, 3);
	assert_int_equal(n.batches, 3);
	assert_int_equal(n.spans, 2 * PUSH_BATCH_SPANS + 1);
	assert_int_equal(n.dropped + n.rejected + n.retries, 0);
	assert_string_equal(n.why, "");
}

static void
without_a_request_nothing_is_sent(void **state)
{
	const struct push_answer ok = { .status = 200 };

	(void)state;
	assert_int_equal(pushed(&ok, 1, 0).spans, 0);
	assert_int_equal(back.posts, 0);
}

static void
overload_is_waited_for_as_the_back_end_says(void **state)
{
	static const struct push_answer answers[] = { { .status = 503, .retry_after_s = 7 },
		{ .status = 429, .retry_after_s = -1 }, { .status = 502, .retry_after_s = -1 },
		{ .status = 200, .retry_after_s = -1 } };
	struct push_counts n = pushed(answers, 4, 1);

	(void)state;
	assert_int_equal(n.spans, 1);
	assert_int_equal(n.retries, 3);
	assert_int_equal(back.waits[0], 7000);
	assert_int_equal(back.waits[1], PUSH_WAIT_MS * 3 / 2);
	assert_int_equal(back.waits[2], PUSH_WAIT_MS * 9 / 4);
}

static void
after_too_many_attempts_a_batch_is_dropped_and_the_next_is_tried(void **state)
{
	static struct push_answer answers[PUSH_RETRIES + 2];
	struct push_counts n;

	(void)state;
	for (int i = 0; i <= PUSH_RETRIES; i++)
		answers[i] = (struct push_answer){ .status = 504, .retry_after_s = -1 };
	answers[PUSH_RETRIES + 1] = (struct push_answer){ .status = 200, .retry_after_s = -1 };
	n = pushed(answers, PUSH_RETRIES + 2, PUSH_BATCH_SPANS + 3);
	assert_int_equal(back.posts, PUSH_RETRIES + 2);
	assert_int_equal(n.dropped, PUSH_BATCH_SPANS);
	assert_int_equal(n.dropped_batches, 1);
	assert_int_equal(n.spans, 3);
	assert_string_equal(n.why, "the back end answered 504");
}

static void
a_back_end_that_is_gone_is_asked_no_more(void **state)
{
	const struct push_answer none = { .status = 0, .retry_after_s = -1, .why = "refused" };
	struct push_counts n = pushed(&none, 1, 3 * PUSH_BATCH_SPANS);

	(void)state;
	assert_int_equal(back.posts, PUSH_RETRIES + 1);
	assert_int_equal(n.dropped, 3 * PUSH_BATCH_SPANS);
	assert_int_equal(n.dropped_batches, 3);
	assert_string_equal(n.why, "refused");
}

static void
bad_data_is_not_sent_again(void **state)
{
	static const int statuses[] = { 400, 401, 404, 413, 415, 500, 301 };

	(void)state;
	for (size_t i = 0; i < sizeof statuses / sizeof statuses[0]; i++) {
		struct push_answer a = {
			.status = statuses[i], .retry_after_s = 1, .len = 3, .body = "why"
		};
		struct push_counts n = pushed(&a, 1, 1);

		assert_int_equal(back.posts, 1);
		assert_int_equal(n.dropped, 1);
		assert_non_null(strstr(n.why, "why"));
	}
}

static void
a_wait_that_is_too_long_is_not_begun(void **state)
{
	const struct push_answer a = { .status = 503, .retry_after_s = 3600 };

	(void)state;
	assert_int_equal(pushed(&a, 1, 1).dropped, 1);
	assert_int_equal(back.nwaits, 0);
}

static struct push_answer
said(const char *body)
{
	struct push_answer a = { .status = 200, .retry_after_s = -1, .len = strlen(body) };

	strcpy(a.body, body);
	return a;
}

static void
partial_success_is_counted_and_not_sent_again(void **state)
{
	struct push_answer a = said(
	    "{\"partialSuccess\":{\"rejectedSpans\":\"2\",\"errorMessage\":\"too old\"}}");
	struct push_counts n = pushed(&a, 1, 5);

	(void)state;
	assert_int_equal(back.posts, 1);
	assert_int_equal(n.rejected, 2);
	assert_int_equal(n.spans, 3);
	assert_string_equal(n.why, "the back end answered 200: too old");
}

static void
nonsense_in_an_answer_rejects_nothing_and_never_more_than_was_sent(void **state)
{
	static const struct {
		const char *body;
		uint64_t rejected;
	} all[] = { { "", 0 }, { "{", 0 }, { "[]", 0 }, { "{\"partialSuccess\":3}", 0 },
		{ "{\"partialSuccess\":{\"rejectedSpans\":-4}}", 0 },
		{ "{\"partialSuccess\":{\"rejectedSpans\":\"-4\"}}", 0 },
		{ "{\"partialSuccess\":{\"rejectedSpans\":99}}", 5 } };

	(void)state;
	for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
		struct push_answer a = said(all[i].body);
		struct push_counts n = pushed(&a, 1, 5);

		assert_int_equal(n.rejected, all[i].rejected);
		assert_int_equal(n.spans, 5 - all[i].rejected);
	}
}

/* ---- addresses and headers ---- */

static void
an_address_without_a_path_gets_the_usual_one(void **state)
{
	static const char *const all[][3] = { { "http://h", "otlp", "http://h/v1/traces" },
		{ "http://h:4318/", "otlp", "http://h:4318/v1/traces" },
		{ "HTTPS://h", "zipkin", "HTTPS://h/api/v2/spans" },
		{ "https://h/otlp/v1/traces?k=1", "otlp", "https://h/otlp/v1/traces?k=1" } };
	static const char *const wrong[] = { "h:4318", "ftp://h", "http://", "http:///x",
		"http://h/a b", "http://h\n", "" };
	struct arena a = { 0 };
	const char *url;
	struct err e;

	(void)state;
	for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
		assert_int_equal(push_url(&url, all[i][0], all[i][1], &a, &e), 0);
		assert_string_equal(url, all[i][2]);
	}
	for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
		assert_int_equal(push_url(&url, wrong[i], "otlp", &a, &e), ERR_INPUT);
	arena_release(&a);
}

static void
headers_are_read_as_open_telemetry_writes_them(void **state)
{
	static const char *const wrong[] = { "a", "=b", "a b=c", "a=%0a", "a=%", "a=%g0", "a=b\r" };
	const char *lines[PUSH_HEADERS_MAX + 1];
	char many[4 * (PUSH_HEADERS_MAX + 2)] = "";
	struct arena a = { 0 };
	struct err e;

	(void)state;
	assert_int_equal(push_headers(lines, " api-key=s%20e=cret ,, x=1%2C2", &a, &e), 0);
	assert_string_equal(lines[0], "api-key: s e=cret");
	assert_string_equal(lines[1], "x: 1,2");
	assert_null(lines[2]);
	for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
		assert_int_equal(push_headers(lines, wrong[i], &a, &e), ERR_INPUT);
	for (int i = 0; i <= PUSH_HEADERS_MAX; i++)
		strcat(many, "a=b,");
	assert_int_equal(push_headers(lines, many, &a, &e), ERR_INPUT);
	arena_release(&a);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(spans_go_in_batches_and_all_are_counted),
		cmocka_unit_test(without_a_request_nothing_is_sent),
		cmocka_unit_test(overload_is_waited_for_as_the_back_end_says),
		cmocka_unit_test(after_too_many_attempts_a_batch_is_dropped_and_the_next_is_tried),
		cmocka_unit_test(a_back_end_that_is_gone_is_asked_no_more),
		cmocka_unit_test(bad_data_is_not_sent_again),
		cmocka_unit_test(a_wait_that_is_too_long_is_not_begun),
		cmocka_unit_test(partial_success_is_counted_and_not_sent_again),
		cmocka_unit_test(
		    nonsense_in_an_answer_rejects_nothing_and_never_more_than_was_sent),
		cmocka_unit_test(an_address_without_a_path_gets_the_usual_one),
		cmocka_unit_test(headers_are_read_as_open_telemetry_writes_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
