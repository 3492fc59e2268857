/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Both ends of a connection on memory: libnghttp2 is the client. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <nghttp2/nghttp2.h>

#include "otel/grpc/grpc_call.h"
#include "otel/grpc/grpc_connection.h"

#define SECOND INT64_C(1000000000)
#define TRACES "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
enum { BODY_MAX = 100000, CALLS_MAX = 64 };

struct call { /* of the client */
	struct buf body, answer;
	size_t sent;
	bool held, closed; /* held: its body does not end */
	uint32_t error;    /* of RST_STREAM */
	char http[8], status[8], message[200], details[200];
};

struct ends {
	struct otel_source *source;
	struct grpc_service *service;
	struct grpc_connection *server;
	nghttp2_session *client;
	struct span_bodies bodies;
	struct call calls[CALLS_MAX];
	struct mono now;
	bool alive;
};

/* ---- the client ---- */

static struct call *
call_of(struct ends *t, int32_t id)
{
	return &t->calls[id / 2]; /* 1, 3, 5 ... */
}

static void
copy(char *to, size_t room, const uint8_t *value, size_t len)
{
	snprintf(to, room, "%.*s", (int)len, (const char *)value);
}

static int
on_header(nghttp2_session *s, const nghttp2_frame *f, const uint8_t *name, size_t name_len,
    const uint8_t *value, size_t len, uint8_t flags, void *of)
{
	struct call *c = call_of(of, f->hd.stream_id);
	(void)s;
	(void)flags;

	if (name_len == 7 && memcmp(name, ":status", 7) == 0)
		copy(c->http, sizeof c->http, value, len);
	else if (name_len == 11 && memcmp(name, "grpc-status", 11) == 0)
		copy(c->status, sizeof c->status, value, len);
	else if (name_len == 12 && memcmp(name, "grpc-message", 12) == 0)
		copy(c->message, sizeof c->message, value, len);
	else if (name_len == 23 && memcmp(name, "grpc-status-details-bin", 23) == 0)
		copy(c->details, sizeof c->details, value, len);
	return 0;
}

static int
on_answer(nghttp2_session *s, uint8_t flags, int32_t id, const uint8_t *data, size_t len, void *of)
{
	(void)s;
	(void)flags;
	buf_bytes(&call_of(of, id)->answer, data, len);
	return 0;
}

static int
on_closed(nghttp2_session *s, int32_t id, uint32_t error, void *of)
{
	(void)s;
	call_of(of, id)->closed = true;
	call_of(of, id)->error = error;
	return 0;
}

static ssize_t
read_body(nghttp2_session *s, int32_t id, uint8_t *to, size_t room, uint32_t *flags,
    nghttp2_data_source *source, void *of)
{
	struct call *c = source->ptr;
	size_t n = c->body.len - c->sent;
	(void)s;
	(void)id;
	(void)of;

	n = n < room ? n : room;
	if (n > 0)
		memcpy(to, c->body.data + c->sent, n);
	c->sent += n;
	if (c->sent == c->body.len && !c->held)
		*flags |= NGHTTP2_DATA_FLAG_EOF;
	return n == 0 && c->held ? NGHTTP2_ERR_DEFERRED : (ssize_t)n;
}

#define NV(n, v)                                                                              \
	{                                                                                     \
		(uint8_t *)(uintptr_t)(n), (uint8_t *)(uintptr_t)(v), strlen(n), strlen(v), 0 \
	}

static struct call *
call_begin(struct ends *t, const char *path, const char *type, const char *encoding,
    const void *body, size_t len, bool held)
{
	const nghttp2_nv fields[] = { NV(":method", "POST"), NV(":scheme", "http"),
		NV(":path", path), NV(":authority", "x"), NV("content-type", type),
		NV("te", "trailers"), NV("grpc-encoding", encoding) };
	uint32_t next = nghttp2_session_get_next_stream_id(t->client);
	struct call *c = call_of(t, (int32_t)next);
	nghttp2_data_provider from = { { .ptr = c }, read_body };

	buf_bytes(&c->body, body, len);
	c->held = held;
	assert_int_equal(nghttp2_submit_request(t->client, NULL, fields, 7, &from, NULL), next);
	return c;
}

/* Passes bytes both ways until neither end has any. */
static void
exchange(struct ends *t)
{
	struct buf out = { 0 };
	const uint8_t *bytes;
	ssize_t n;
	bool some = true;

	while (some) {
		some = false;
		while (t->alive && (n = nghttp2_session_mem_send(t->client, &bytes)) > 0) {
			some = true;
			t->alive = grpc_connection_take(t->server, bytes, (size_t)n, t->now);
		}
		buf_reset(&out);
		grpc_connection_output(t->server, &out);
		if (out.len > 0) {
			some = true;
			assert_int_equal(
			    nghttp2_session_mem_recv(t->client, out.data, out.len), out.len);
		}
	}
	buf_release(&out);
}

/* ---- both ends ---- */

static void
ends_open(struct ends *t, size_t bodies_max, size_t spans_bytes)
{
	struct otel_source_options o = { { spans_bytes, 100, SECOND, SECOND }, 1 << 16, SECOND,
		SECOND, 100 * SECOND };
	nghttp2_session_callbacks *callbacks;
	struct grpc_service_options g;
	struct err e;

	memset(t, 0, sizeof *t);
	t->now = (struct mono){ 1000 * SECOND };
	t->bodies.bytes_max = bodies_max;
	t->alive = true;
	assert_int_equal(otel_source_new(&t->source, &o, &e), 0);
	otel_source_clocks(t->source, t->now, (struct wall){ t->now.ns }, t->now);
	g = (struct grpc_service_options){ BODY_MAX, &t->bodies, t->source };
	assert_int_equal(grpc_service_new(&t->service, &g, &e), 0);
	assert_int_equal(grpc_connection_new(&t->server, t->service, &e), 0);
	assert_int_equal(nghttp2_session_callbacks_new(&callbacks), 0);
	nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_answer);
	nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_closed);
	assert_int_equal(nghttp2_session_client_new(&t->client, callbacks, t), 0);
	nghttp2_session_callbacks_del(callbacks);
	nghttp2_submit_settings(t->client, NGHTTP2_FLAG_NONE, NULL, 0);
}

/* Whatever was sent, nothing of it is counted afterwards. */
static void
ends_close(struct ends *t)
{
	grpc_connection_free(t->server);
	assert_int_equal(t->bodies.bytes, 0);
	grpc_service_free(t->service);
	nghttp2_session_del(t->client);
	otel_source_free(t->source);
	for (int i = 0; i < CALLS_MAX; i++) {
		buf_release(&t->calls[i].body);
		buf_release(&t->calls[i].answer);
	}
}

static void
field(struct buf *to, uint8_t number, const void *bytes, size_t len)
{
	buf_u8(to, (uint8_t)(number << 3 | 2));
	buf_text(to, bytes, len);
}

static void
time_field(struct buf *to, uint8_t number, int64_t ns)
{
	buf_u8(to, (uint8_t)(number << 3 | 1));
	buf_u64(to, (uint64_t)ns);
}

/* A message with one span of this id, with its prefix. It ends before it begins if it is bad. */
static void
put_span(struct buf *to, uint8_t id, int64_t end_ns, bool bad)
{
	uint8_t trace[16] = { 1, id }, span_id[8] = { 2, id };
	struct buf span = { 0 }, scope = { 0 }, resource = { 0 }, request = { 0 };

	field(&span, 1, trace, sizeof trace);
	field(&span, 2, span_id, sizeof span_id);
	field(&span, 5, "GET /", 5);
	time_field(&span, 7, bad ? end_ns + 5 : end_ns - 1000);
	time_field(&span, 8, end_ns);
	field(&scope, 2, span.data, span.len);
	field(&resource, 2, scope.data, scope.len);
	field(&request, 1, resource.data, resource.len);
	buf_bytes(to, "\0\0\0\0", 4);
	assert_true(request.len < 256);
	buf_u8(to, (uint8_t)request.len);
	buf_bytes(to, request.data, request.len);
	buf_release(&span);
	buf_release(&scope);
	buf_release(&resource);
	buf_release(&request);
}

static struct call *
call_span(struct ends *t, uint8_t id, bool bad, bool held)
{
	struct buf body = { 0 };
	struct call *c;

	put_span(&body, id, t->now.ns, bad);
	c = call_begin(t, TRACES, "application/grpc", "identity", body.data, body.len, held);
	buf_release(&body);
	return c;
}

static uint64_t
spans_taken(const struct ends *t)
{
	struct otel_source_stats s;

	otel_source_stats(t->source, &s);
	return s.gather.results[GATHERED];
}

/* ---- promises ---- */

static void
spans_of_a_call_are_taken(void **state)
{
	struct ends t;
	struct call *c, *bad;
	(void)state;

	ends_open(&t, 1 << 20, 1 << 20);
	c = call_span(&t, 1, false, false);
	bad = call_span(&t, 2, true, false);
	exchange(&t);
	assert_true(c->closed && bad->closed);
	assert_string_equal(c->http, "200");
	assert_string_equal(c->status, "0");
	assert_int_equal(c->answer.len, 5);
	assert_string_equal(bad->status, "0"); /* partial success */
	assert_true(bad->answer.len > 5 && bad->answer.data[7] == 8 && bad->answer.data[8] == 1);
	assert_int_equal(spans_taken(&t), 1);
	assert_int_equal(grpc_connection_answered(t.server), 2);
	assert_int_equal(grpc_connection_open_calls(t.server), 0);
	assert_int_equal(t.bodies.bytes, 0);
	ends_close(&t);
}

static void
other_calls_are_told_what_is_wrong(void **state)
{
	static const char large[] = "\0\377\0\0\0", junk[] = "\0\0\0\0\5hello";
	struct ends t;
	struct call *metrics, *type, *big, *none, *malformed;
	(void)state;

	ends_open(&t, 1 << 20, 1 << 20);
	metrics = call_begin(&t, "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export",
	    "application/grpc", "identity", junk, sizeof junk - 1, false);
	type = call_begin(&t, TRACES, "application/json", "identity", "{}", 2, false);
	big = call_begin(&t, TRACES, "application/grpc", "gzip", large, sizeof large - 1, false);
	none = call_begin(&t, TRACES, "application/grpc", "gzip", "", 0, false);
	malformed = call_begin(
	    &t, TRACES, "application/grpc", "gzip", junk, sizeof junk - 1, false);
	exchange(&t);
	assert_string_equal(metrics->status, "12");
	assert_non_null(strstr(metrics->message, "OTEL_METRICS_EXPORTER"));
	assert_string_equal(type->http, "415");
	assert_string_equal(type->status, "");
	assert_string_equal(big->status, "8");
	assert_string_equal(none->status, "3");
	assert_string_equal(malformed->status, "3");
	assert_int_equal(grpc_service_stats(t.service)->refused, 5);
	assert_int_equal(grpc_service_stats(t.service)->full, 0);
	ends_close(&t);
}

static void
a_full_budget_asks_to_repeat_the_call(void **state)
{
	static char zeroes[60000];
	char prefix[] = { 0, 0, 0, (char)0xea, 0x60 };
	struct ends t;
	struct call *first, *second, *third;
	(void)state;

	/* Room for one body of 60,000 bytes and its call, not for two. */
	ends_open(&t, 100000, 1 << 20);
	first = call_begin(&t, TRACES, "application/grpc", "identity", prefix, 5, true);
	buf_bytes(&first->body, zeroes, sizeof zeroes - 1);
	exchange(&t);
	second = call_begin(&t, TRACES, "application/grpc", "identity", prefix, 5, false);
	buf_bytes(&second->body, zeroes, sizeof zeroes);
	exchange(&t);
	assert_string_equal(second->status, "14");
	assert_true(strlen(second->details) > 70); /* RetryInfo */
	assert_true(t.bodies.bytes > 59000 && t.bodies.bytes < 100000);
	t.bodies.bytes_max = t.bodies.bytes;
	third = call_span(&t, 1, false, false);
	exchange(&t);
	assert_true(third->closed);
	assert_int_equal(third->error, NGHTTP2_REFUSED_STREAM);
	assert_int_equal(grpc_service_stats(t.service)->full, 2);
	assert_int_equal(grpc_connection_oldest(t.server).ns, t.now.ns);
	assert_int_equal(grpc_connection_open_calls(t.server), 1);
	ends_close(&t);
}

static void
full_memory_for_spans_asks_to_repeat_the_call(void **state)
{
	struct ends t;
	struct call *c = NULL;
	(void)state;

	ends_open(&t, 1 << 20, 10000);
	for (uint8_t i = 0; i < CALLS_MAX - 1 && otel_source_fill(t.source) < 0.9; i++) {
		c = call_span(&t, i, false, false);
		exchange(&t);
		assert_string_equal(c->status, "0");
	}
	c = call_span(&t, 99, false, false);
	exchange(&t);
	assert_string_equal(c->status, "14");
	ends_close(&t);
}

static void
calls_of_a_connection_are_bounded(void **state)
{
	struct ends t;
	int opened = 0, refused = 0;
	(void)state;

	ends_open(&t, 1 << 20, 1 << 20);
	for (int i = 0; i < CALLS_MAX - 1; i++) /* before the client knows the bound */
		call_span(&t, (uint8_t)i, false, true);
	nghttp2_session_set_next_stream_id(t.client, 1000001);
	exchange(&t);
	for (int i = 0; i < CALLS_MAX; i++) {
		opened += t.calls[i].sent > 0 && !t.calls[i].closed;
		refused += t.calls[i].closed;
	}
	assert_int_equal(grpc_connection_open_calls(t.server), GRPC_STREAMS_MAX);
	assert_true(opened + refused >= GRPC_STREAMS_MAX);
	assert_true(t.bodies.bytes < GRPC_STREAMS_MAX * (GRPC_CALL_BYTES + 1024));
	ends_close(&t);
}

static void
a_large_head_resets_its_call_only(void **state)
{
	static char path[20000];
	struct ends t;
	struct call *large, *c;
	(void)state;

	memset(path, 'a', sizeof path - 1);
	path[0] = '/';
	ends_open(&t, 1 << 20, 1 << 20);
	large = call_begin(&t, path, "application/grpc", "identity", "", 0, false);
	c = call_span(&t, 1, false, false);
	exchange(&t);
	assert_true(large->closed && large->error != NGHTTP2_NO_ERROR);
	assert_string_equal(c->status, "0");
	ends_close(&t);
}

static void
what_is_refused_is_not_read_forever(void **state)
{
	static char zeroes[1 << 20];
	struct ends t;
	struct call *c;
	(void)state;

	ends_open(&t, 1 << 20, 1 << 20);
	c = call_begin(&t, "/other", "application/grpc", "identity", "", 0, true);
	exchange(&t);
	for (int i = 0; i < 70 && !c->closed; i++) {
		buf_bytes(&c->body, zeroes, sizeof zeroes);
		nghttp2_session_resume_data(t.client, 1);
		exchange(&t);
		assert_true(t.bodies.bytes <= GRPC_CALL_BYTES);
	}
	assert_true(c->closed);
	assert_int_equal(c->error, NGHTTP2_CANCEL);
	ends_close(&t);
}

static void
a_peer_that_speaks_http_1_is_told_so(void **state)
{
	struct ends t;
	struct buf out = { 0 };
	(void)state;

	ends_open(&t, 1 << 20, 1 << 20);
	assert_false(grpc_connection_take(t.server, "POST /v1/traces HTTP/1.1\r\n", 26, t.now));
	assert_false(grpc_connection_output(t.server, &out));
	buf_u8(&out, 0);
	assert_non_null(strstr((char *)out.data, "HTTP/1.1 400"));
	assert_non_null(strstr((char *)out.data, "4318"));
	assert_false(grpc_connection_take(t.server, "x", 1, t.now));
	assert_int_equal(grpc_service_stats(t.service)->broken, 1);
	buf_release(&out);
	ends_close(&t);
}

static void
a_connection_that_is_ended_takes_no_new_call(void **state)
{
	struct ends t;
	struct call *c;
	(void)state;

	ends_open(&t, 1 << 20, 1 << 20);
	c = call_span(&t, 1, false, false);
	exchange(&t);
	assert_string_equal(c->status, "0");
	grpc_connection_end(t.server);
	exchange(&t);
	assert_int_equal(nghttp2_session_check_request_allowed(t.client), 0);
	ends_close(&t);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(spans_of_a_call_are_taken),
		cmocka_unit_test(other_calls_are_told_what_is_wrong),
		cmocka_unit_test(a_full_budget_asks_to_repeat_the_call),
		cmocka_unit_test(full_memory_for_spans_asks_to_repeat_the_call),
		cmocka_unit_test(calls_of_a_connection_are_bounded),
		cmocka_unit_test(a_large_head_resets_its_call_only),
		cmocka_unit_test(what_is_refused_is_not_read_forever),
		cmocka_unit_test(a_peer_that_speaks_http_1_is_told_so),
		cmocka_unit_test(a_connection_that_is_ended_takes_no_new_call),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
