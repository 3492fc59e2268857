/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <nghttp2/nghttp2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "otel/grpc/grpc_call.h"
#include "otel/grpc/grpc_connection.h"

/* The window of a connection holds a few batches of the size that exporters send (512 spans, about 200 KB). */
enum { STREAM_WINDOW = 1 << 20, CONNECTION_WINDOW = 4 << 20, OUTPUT_BYTES = 16384 };
enum { ACKS_MAX = 256, SETTINGS_MAX = 16 };
#define FULL 0.9 /* of the memory for spans: then clients are asked to repeat their calls later */

struct grpc_service {
	struct grpc_service_options o;
	nghttp2_session_callbacks *callbacks;
	nghttp2_option *option;
	struct grpc_stats stats;
};

struct grpc_stream { /* a call; its own until the stream is closed */
	TAILQ_ENTRY(grpc_stream) next;
	struct grpc_connection *of;
	int32_t id;
	struct mono since;
	struct grpc_head head;
	struct grpc_refusal refusal;
	struct grpc_message message;
	bool headed;      /* its head is whole */
	size_t counted;   /* of o.bodies: GRPC_CALL_BYTES and the message */
	size_t discarded; /* bytes that came after the refusal */
	struct buf reply;
	size_t replied;
};

TAILQ_HEAD(grpc_streams, grpc_stream); /* the oldest first */

struct grpc_connection {
	struct grpc_service *service;
	nghttp2_session *session;
	struct grpc_streams streams;
	uint32_t nstreams;
	uint64_t answered;
	struct mono now;
	bool broken, mistaken;
};

/* ---- answers ---- */

#define FIELD(n, v, v_len)                                                                   \
	{                                                                                    \
		(uint8_t *)(uintptr_t)(n), (uint8_t *)(uintptr_t)(v), sizeof n - 1, v_len, 0 \
	}
#define FIELD_TEXT(n, v) FIELD(n, v, sizeof v - 1)

static void
forget_message(struct grpc_stream *s)
{
	grpc_message_release(&s->message);
	s->of->service->o.bodies->bytes -= s->counted - GRPC_CALL_BYTES;
	s->counted = GRPC_CALL_BYTES;
}

static int
submit_http(struct grpc_stream *s)
{
	char status[16];
	int len = snprintf(status, sizeof status, "%u", s->refusal.http);
	const nghttp2_nv fields[] = { FIELD(":status", status, (size_t)len),
		FIELD_TEXT("allow", "POST") };

	return nghttp2_submit_response(
	    s->of->session, s->id, fields, s->refusal.http == 405 ? 2 : 1, NULL);
}

/* Headers without a body: "trailers only". */
static int
submit_refusal(struct grpc_stream *s)
{
	struct buf text = { 0 }, retry = { 0 };
	char code[16];
	int len = snprintf(code, sizeof code, "%d", (int)s->refusal.code), rc;
	bool full = s->refusal.code == GRPC_UNAVAILABLE;

	grpc_put_message(&text, s->refusal.why);
	if (full)
		grpc_put_retry(&retry, s->refusal.why);
	rc = text.failed || retry.failed ? NGHTTP2_ERR_NOMEM : 0;
	if (rc == 0) {
		const nghttp2_nv fields[] = { FIELD_TEXT(":status", "200"),
			FIELD_TEXT("content-type", "application/grpc"),
			FIELD_TEXT("grpc-accept-encoding", "identity,deflate,gzip"),
			FIELD("grpc-status", code, (size_t)len),
			FIELD("grpc-message", text.data, text.len),
			FIELD("grpc-status-details-bin", retry.data, retry.len) };

		rc = nghttp2_submit_response(s->of->session, s->id, fields, full ? 6 : 5, NULL);
	}
	buf_release(&text);
	buf_release(&retry);
	return rc;
}

static ssize_t
read_reply(nghttp2_session *session, int32_t id, uint8_t *to, size_t room, uint32_t *flags,
    nghttp2_data_source *source, void *of)
{
	static const nghttp2_nv ok[] = { FIELD_TEXT("grpc-status", "0") };
	struct grpc_stream *s = source->ptr;
	size_t n = s->reply.len - s->replied;
	(void)of;

	n = n < room ? n : room;
	memcpy(to, s->reply.data + s->replied, n);
	s->replied += n;
	if (s->replied == s->reply.len) {
		*flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
		if (nghttp2_submit_trailer(session, id, ok, 1) != 0)
			return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	}
	return (ssize_t)n;
}

static int
submit_success(struct grpc_stream *s, const struct receipt *receipt)
{
	static const nghttp2_nv fields[] = { FIELD_TEXT(":status", "200"),
		FIELD_TEXT("content-type", "application/grpc") };
	const nghttp2_data_provider from = { { .ptr = s }, read_reply };

	grpc_put_success(&s->reply, receipt);
	return s->reply.failed ? NGHTTP2_ERR_NOMEM
	                       : nghttp2_submit_response(s->of->session, s->id, fields, 2, &from);
}

static int
answer(struct grpc_stream *s, const struct receipt *receipt)
{
	struct grpc_stats *stats = &s->of->service->stats;

	s->of->answered++;
	if (s->refusal.why == NULL)
		return submit_success(s, receipt);
	stats->refused++;
	stats->full += s->refusal.code == GRPC_UNAVAILABLE;
	return s->refusal.http != 200 ? submit_http(s) : submit_refusal(s);
}

static void
refuse(struct grpc_stream *s, struct grpc_refusal why)
{
	if (why.why == NULL)
		return;
	forget_message(s);
	s->refusal = why;
}

static void
refuse_full(struct grpc_stream *s, const char *why)
{
	refuse(s, (struct grpc_refusal){ 200, GRPC_UNAVAILABLE, why });
}

/* ---- a call ---- */

static void
head_whole(struct grpc_stream *s)
{
	const struct grpc_service *service = s->of->service;

	s->headed = true;
	refuse(s, grpc_head_refusal(&s->head));
	if (s->refusal.why == NULL && otel_source_fill(service->o.source) >= FULL)
		refuse_full(s, "the memory for spans is full");
	grpc_message_begin(&s->message, service->o.body_max, s->head.encoding);
}

/* False: the client sends and sends what was refused. */
static bool
take_bytes(struct grpc_stream *s, const uint8_t *data, size_t len)
{
	struct span_bodies *bodies = s->of->service->o.bodies;
	size_t bytes;

	if (s->refusal.why != NULL) {
		s->discarded += len;
		return s->discarded <= GRPC_DISCARDED_MAX;
	}
	refuse(s, grpc_message_add(&s->message, data, len));
	if (s->refusal.why != NULL)
		return true;
	bytes = GRPC_CALL_BYTES + grpc_message_bytes(&s->message);
	bodies->bytes += bytes - s->counted;
	s->counted = bytes;
	if (bodies->bytes > bodies->bytes_max)
		refuse_full(s, "too many bodies are being received");
	return true;
}

static int
call_whole(struct grpc_stream *s)
{
	struct receipt receipt = { 0 };
	const void *data;
	size_t len;

	if (s->refusal.why == NULL)
		refuse(s, grpc_message_end(&s->message, &data, &len));
	if (s->refusal.why == NULL &&
	    otel_source_receive(s->of->service->o.source, SPANS_OTLP_PROTO, data, len, s->of->now,
		&receipt, NULL) != 0)
		refuse_full(s, "hone-otel is out of memory");
	if (s->refusal.why == NULL && receipt.malformed)
		refuse(s, (struct grpc_refusal){ 200, GRPC_INVALID_ARGUMENT, receipt.why });
	forget_message(s);
	return answer(s, &receipt);
}

/* ---- callbacks ---- */

static int
on_begin(nghttp2_session *session, const nghttp2_frame *f, void *of)
{
	struct grpc_connection *c = of;
	struct span_bodies *bodies = c->service->o.bodies;
	struct grpc_stream *s;

	if (f->hd.type != NGHTTP2_HEADERS || f->headers.cat != NGHTTP2_HCAT_REQUEST)
		return 0;
	c->service->stats.calls++;
	if (bodies->bytes + GRPC_CALL_BYTES > bodies->bytes_max ||
	    (s = calloc(1, sizeof *s)) == NULL) {
		c->service->stats.refused++;
		c->service->stats.full++;
		return nghttp2_submit_rst_stream(
			   session, NGHTTP2_FLAG_NONE, f->hd.stream_id, NGHTTP2_REFUSED_STREAM) == 0
		           ? 0
		           : NGHTTP2_ERR_CALLBACK_FAILURE;
	}
	bodies->bytes += s->counted = GRPC_CALL_BYTES;
	s->of = c;
	s->id = f->hd.stream_id;
	s->since = c->now;
	TAILQ_INSERT_TAIL(&c->streams, s, next);
	c->nstreams++;
	return nghttp2_session_set_stream_user_data(session, s->id, s) == 0
	           ? 0
	           : NGHTTP2_ERR_CALLBACK_FAILURE;
}

static int
on_field(nghttp2_session *session, const nghttp2_frame *f, const uint8_t *name, size_t name_len,
    const uint8_t *value, size_t value_len, uint8_t flags, void *of)
{
	struct grpc_stream *s = nghttp2_session_get_stream_user_data(session, f->hd.stream_id);
	(void)flags;
	(void)of;

	if (s == NULL || s->headed || f->hd.type != NGHTTP2_HEADERS)
		return 0; /* trailers of a request mean nothing here */
	return grpc_head_take(
		   &s->head, (const char *)name, name_len, (const char *)value, value_len)
	           ? 0
	           : NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE; /* resets the stream */
}

static int
on_frame(nghttp2_session *session, const nghttp2_frame *f, void *of)
{
	struct grpc_stream *s;
	(void)of;

	if (f->hd.type != NGHTTP2_HEADERS && f->hd.type != NGHTTP2_DATA)
		return 0;
	if ((s = nghttp2_session_get_stream_user_data(session, f->hd.stream_id)) == NULL)
		return 0;
	if (!s->headed)
		head_whole(s);
	if ((f->hd.flags & NGHTTP2_FLAG_END_STREAM) == 0)
		return 0;
	return call_whole(s) == 0 ? 0 : NGHTTP2_ERR_CALLBACK_FAILURE;
}

static int
on_data(
    nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *data, size_t len, void *of)
{
	struct grpc_stream *s = nghttp2_session_get_stream_user_data(session, id);
	(void)flags;
	(void)of;

	if (s == NULL || take_bytes(s, data, len))
		return 0;
	return nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, id, NGHTTP2_CANCEL) == 0
	           ? 0
	           : NGHTTP2_ERR_CALLBACK_FAILURE;
}

static void
stream_free(struct grpc_stream *s)
{
	forget_message(s);
	s->of->service->o.bodies->bytes -= s->counted;
	TAILQ_REMOVE(&s->of->streams, s, next);
	s->of->nstreams--;
	buf_release(&s->reply);
	free(s);
}

static int
on_close(nghttp2_session *session, int32_t id, uint32_t code, void *of)
{
	struct grpc_stream *s = nghttp2_session_get_stream_user_data(session, id);
	(void)code;
	(void)of;

	if (s != NULL) {
		nghttp2_session_set_stream_user_data(session, id, NULL);
		stream_free(s);
	}
	return 0;
}

/* ---- the service ---- */

int
grpc_service_new(struct grpc_service **ret, const struct grpc_service_options *o, struct err *e)
{
	struct grpc_service *s = calloc(1, sizeof *s);

	if (s == NULL || nghttp2_session_callbacks_new(&s->callbacks) != 0 ||
	    nghttp2_option_new(&s->option) != 0) {
		grpc_service_free(s);
		return err_set(e, ERR_MEMORY, "out of memory");
	}
	s->o = *o;
	nghttp2_session_callbacks_set_on_begin_headers_callback(s->callbacks, on_begin);
	nghttp2_session_callbacks_set_on_header_callback(s->callbacks, on_field);
	nghttp2_session_callbacks_set_on_frame_recv_callback(s->callbacks, on_frame);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(s->callbacks, on_data);
	nghttp2_session_callbacks_set_on_stream_close_callback(s->callbacks, on_close);
	nghttp2_option_set_no_closed_streams(s->option, 1);
	nghttp2_option_set_max_outbound_ack(s->option, ACKS_MAX);
	nghttp2_option_set_max_settings(s->option, SETTINGS_MAX);
	*ret = s;
	return 0;
}

void
grpc_service_free(struct grpc_service *s)
{
	if (s == NULL)
		return;
	nghttp2_session_callbacks_del(s->callbacks);
	nghttp2_option_del(s->option);
	free(s);
}

struct grpc_stats *
grpc_service_stats(struct grpc_service *s)
{
	return &s->stats;
}

/* ---- the connection ---- */

int
grpc_connection_new(struct grpc_connection **ret, struct grpc_service *s, struct err *e)
{
	static const nghttp2_settings_entry settings[] = {
		{ NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, GRPC_STREAMS_MAX },
		{ NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, STREAM_WINDOW },
		{ NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, GRPC_HEAD_MAX },
		{ NGHTTP2_SETTINGS_ENABLE_PUSH, 0 },
	};
	struct grpc_connection *c = calloc(1, sizeof *c);

	if (c == NULL)
		return err_set(e, ERR_MEMORY, "out of memory");
	c->service = s;
	TAILQ_INIT(&c->streams);
	if (nghttp2_session_server_new2(&c->session, s->callbacks, c, s->option) != 0 ||
	    nghttp2_submit_settings(c->session, NGHTTP2_FLAG_NONE, settings,
		sizeof settings / sizeof settings[0]) != 0 ||
	    nghttp2_session_set_local_window_size(
		c->session, NGHTTP2_FLAG_NONE, 0, CONNECTION_WINDOW) != 0) {
		grpc_connection_free(c);
		return err_set(e, ERR_MEMORY, "out of memory");
	}
	*ret = c;
	return 0;
}

void
grpc_connection_free(struct grpc_connection *c)
{
	if (c == NULL)
		return;
	while (!TAILQ_EMPTY(&c->streams))
		stream_free(TAILQ_FIRST(&c->streams));
	nghttp2_session_del(c->session);
	free(c);
}

/* False: all is said, for example after GOAWAY. */
static bool
is_wanted(const struct grpc_connection *c)
{
	return nghttp2_session_want_read(c->session) != 0 ||
	       nghttp2_session_want_write(c->session) != 0;
}

bool
grpc_connection_take(struct grpc_connection *c, const void *data, size_t len, struct mono now)
{
	ssize_t n;

	if (c->broken)
		return false;
	c->now = now;
	n = nghttp2_session_mem_recv(c->session, data, len);
	if (n < 0 || (size_t)n < len) {
		c->broken = true;
		c->service->stats.broken++;
		/* A peer that speaks HTTP/1 is told where it may do that. */
		c->mistaken = n == NGHTTP2_ERR_BAD_CLIENT_MAGIC;
	}
	return !c->broken && is_wanted(c);
}

bool
grpc_connection_output(struct grpc_connection *c, struct buf *to)
{
	static const char mistaken[] =
	    "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n"
	    "Here is OTLP by gRPC (HTTP/2). OTLP/HTTP is taken at port 4318 usually.\n";
	const uint8_t *bytes;
	ssize_t n;

	if (c->mistaken) {
		c->mistaken = false;
		buf_bytes(to, mistaken, sizeof mistaken - 1);
		return false;
	}
	for (size_t before = to->len; to->len - before < OUTPUT_BYTES && !to->failed;) {
		if ((n = nghttp2_session_mem_send(c->session, &bytes)) <= 0) {
			c->broken |= n < 0;
			break;
		}
		buf_bytes(to, bytes, (size_t)n);
	}
	return !c->broken && !to->failed && is_wanted(c);
}

void
grpc_connection_end(struct grpc_connection *c)
{
	nghttp2_submit_goaway(c->session, NGHTTP2_FLAG_NONE,
	    nghttp2_session_get_last_proc_stream_id(c->session), NGHTTP2_NO_ERROR, NULL, 0);
}

uint32_t
grpc_connection_open_calls(const struct grpc_connection *c)
{
	return c->nstreams;
}

struct mono
grpc_connection_oldest(const struct grpc_connection *c)
{
	return TAILQ_EMPTY(&c->streams) ? c->now : TAILQ_FIRST(&c->streams)->since;
}

uint64_t
grpc_connection_answered(const struct grpc_connection *c)
{
	return c->answered;
}
