/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "otel/grpc/grpc_call.h"

#include <stdlib.h>
#include <string.h>

#include "otel/http/span_request.h"

#define COLLECTOR "/opentelemetry.proto.collector."
enum { PREFIX_BYTES = 5, FIELD_OVERHEAD = 32 };

static struct grpc_refusal
refuse(enum grpc_code code, const char *why)
{
	return (struct grpc_refusal){ 200, code, why };
}

static struct grpc_refusal
none(void)
{
	return (struct grpc_refusal){ 200, GRPC_OK, NULL };
}

/* ---- the head ---- */

static bool
is(const char *s, size_t len, const char *word)
{
	return strlen(word) == len && memcmp(s, word, len) == 0;
}

/* "application/grpc", alone, with a suffix or with parameters. */
static bool
is_grpc(const char *s, size_t len)
{
	static const char type[] = "application/grpc";
	size_t n = sizeof type - 1;

	return len >= n && memcmp(s, type, n) == 0 && (len == n || s[n] == '+' || s[n] == ';');
}

static enum grpc_method
method_of(const char *s, size_t len)
{
	return is(s, len, COLLECTOR "trace.v1.TraceService/Export")       ? GRPC_TRACES
	       : is(s, len, COLLECTOR "metrics.v1.MetricsService/Export") ? GRPC_METRICS
	       : is(s, len, COLLECTOR "logs.v1.LogsService/Export")       ? GRPC_LOGS
	                                                                  : GRPC_OTHER;
}

bool
grpc_head_take(
    struct grpc_head *h, const char *name, size_t name_len, const char *value, size_t value_len)
{
	if (name_len + value_len > GRPC_HEAD_MAX ||
	    h->bytes + name_len + value_len + FIELD_OVERHEAD > GRPC_HEAD_MAX)
		return false;
	h->bytes += (uint32_t)(name_len + value_len) + FIELD_OVERHEAD;
	if (is(name, name_len, ":method"))
		h->post = is(value, value_len, "POST");
	else if (is(name, name_len, ":path"))
		h->method = method_of(value, value_len);
	else if (is(name, name_len, "content-type"))
		h->grpc = is_grpc(value, value_len);
	else if (is(name, name_len, "grpc-encoding"))
		h->encoding = is(value, value_len, "identity") ? GRPC_IDENTITY
		              : is(value, value_len, "gzip") || is(value, value_len, "deflate")
		                  ? GRPC_COMPRESSED
		                  : GRPC_UNKNOWN;
	return true;
}

struct grpc_refusal
grpc_head_refusal(const struct grpc_head *h)
{
	if (!h->post)
		return (struct grpc_refusal){ 405, GRPC_OK, "only POST" };
	if (!h->grpc)
		return (struct grpc_refusal){ 415, GRPC_OK, "only application/grpc" };
	if (h->method == GRPC_METRICS || h->method == GRPC_LOGS)
		return refuse(GRPC_UNIMPLEMENTED,
		    "hone-otel takes traces only: set OTEL_METRICS_EXPORTER and OTEL_LOGS_EXPORTER to none, or to "
		    "another endpoint");
	if (h->method != GRPC_TRACES)
		return refuse(GRPC_UNIMPLEMENTED,
		    "the only method is " COLLECTOR "trace.v1.TraceService/Export");
	if (h->encoding == GRPC_UNKNOWN)
		return refuse(GRPC_UNIMPLEMENTED, "grpc-encoding is neither gzip nor deflate");
	return none();
}

/* ---- the message ---- */

static struct grpc_refusal
too_large(void)
{
	return refuse(
	    GRPC_RESOURCE_EXHAUSTED, "the message is larger than listen.body in hone-otel.conf");
}

static struct grpc_refusal
no_memory(void)
{
	return refuse(GRPC_UNAVAILABLE, "hone-otel is out of memory");
}

void
grpc_message_begin(struct grpc_message *m, size_t bytes_max, enum grpc_encoding encoding)
{
	*m = (struct grpc_message){ .bytes_max = bytes_max, .encoding = encoding };
}

void
grpc_message_release(struct grpc_message *m)
{
	span_body_free(m->body);
	m->body = NULL;
}

static struct grpc_refusal
take_prefix(struct grpc_message *m)
{
	const uint8_t *p = m->prefix;

	m->left = (uint32_t)p[1] << 24 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 8 | p[4];
	m->compressed = p[0] == 1;
	if (p[0] > 1)
		return refuse(GRPC_INVALID_ARGUMENT, "the flag of the message is neither 0 nor 1");
	if (m->compressed && m->encoding == GRPC_IDENTITY)
		return refuse(
		    GRPC_INTERNAL, "the message is compressed, and grpc-encoding does not say how");
	if (m->left > m->bytes_max)
		return too_large();
	if ((m->body = span_body_new(m->bytes_max, m->compressed)) == NULL)
		return no_memory();
	m->done = m->left == 0;
	return none();
}

static struct grpc_refusal
refusal_of(enum body_state s)
{
	return s == BODY_OK          ? none()
	       : s == BODY_TOO_LARGE ? too_large()
	       : s == BODY_DAMAGED
	           ? refuse(GRPC_INVALID_ARGUMENT,
			 "the message is not compressed as grpc-encoding says, or is damaged")
	           : no_memory();
}

struct grpc_refusal
grpc_message_add(struct grpc_message *m, const void *data, size_t len)
{
	struct grpc_refusal r = none();
	const uint8_t *at = data;
	size_t n;

	for (; len > 0 && r.why == NULL; at += n, len -= n) {
		if (m->done)
			return refuse(
			    GRPC_INVALID_ARGUMENT, "bytes follow the message: the call is unary");
		if (m->nprefix < PREFIX_BYTES) {
			n = 1;
			m->prefix[m->nprefix++] = *at;
			if (m->nprefix == PREFIX_BYTES)
				r = take_prefix(m);
			continue;
		}
		n = len < m->left ? len : m->left;
		r = refusal_of(span_body_add(m->body, at, n));
		m->left -= (uint32_t)n;
		m->done = m->left == 0;
	}
	return r;
}

struct grpc_refusal
grpc_message_end(struct grpc_message *m, const void **data, size_t *len)
{
	*data = "";
	*len = 0;
	if (!m->done)
		return refuse(GRPC_INVALID_ARGUMENT, "the call ends before its message");
	/* An empty message may have the flag. */
	if (m->compressed && span_body_came(m->body) == 0)
		return none();
	return refusal_of(span_body_end(m->body, data, len));
}

size_t
grpc_message_bytes(const struct grpc_message *m)
{
	return m->body != NULL ? span_body_bytes(m->body) : 0;
}

/* ---- the answer ---- */

void
grpc_put_success(struct buf *to, const struct receipt *receipt)
{
	static const struct span_request otlp = { .otlp = true, .format = SPANS_OTLP_PROTO };
	struct buf message = { 0 };

	span_reply(&otlp, receipt, &message);
	buf_u8(to, 0);
	for (int shift = 24; shift >= 0; shift -= 8)
		buf_u8(to, (uint8_t)(message.len >> shift));
	buf_bytes(to, message.data, message.len);
	to->failed |= message.failed;
	buf_release(&message);
}

void
grpc_put_message(struct buf *to, const char *why)
{
	for (const char *s = why; *s != '\0'; s++)
		if (*s >= ' ' && *s <= '~' && *s != '%')
			buf_u8(to, (uint8_t)*s);
		else
			buf_printf(to, "%%%02X", (unsigned)(unsigned char)*s);
}

static void
put_base64(struct buf *to, const uint8_t *s, size_t len)
{
	static const char digits[] =
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (size_t i = 0; i < len; i += 3) {
		size_t n = len - i < 3 ? len - i : 3;
		uint32_t v = (uint32_t)s[i] << 16 | (n > 1 ? (uint32_t)s[i + 1] << 8 : 0) |
		             (n > 2 ? s[i + 2] : 0);

		for (size_t k = 0; k <= n; k++) /* gRPC: padding may be left out */
			buf_u8(to, (uint8_t)digits[v >> (18 - 6 * k) & 63]);
	}
}

/* Status { 1 code, 2 message, 3 Any { 1 type_url, 2 RetryInfo { 1 Duration { 1 seconds } } } }. */
void
grpc_put_retry(struct buf *to, const char *why)
{
	static const char type[] = "type.googleapis.com/google.rpc.RetryInfo";
	static const uint8_t info[] = { 1 << 3 | 2, 2, 1 << 3, RETRY_AFTER_S };
	const struct span_request otlp = {
		.otlp = true, .format = SPANS_OTLP_PROTO, .status = 503, .why = why
	};
	size_t type_len = sizeof type - 1;
	struct buf status = { 0 };

	span_reply(&otlp, NULL, &status);
	buf_u8(&status, 3 << 3 | 2);
	buf_uint(&status, 2 + type_len + 2 + sizeof info);
	buf_u8(&status, 1 << 3 | 2);
	buf_text(&status, type, type_len);
	buf_u8(&status, 2 << 3 | 2);
	buf_text(&status, (const char *)info, sizeof info);
	if (!status.failed)
		put_base64(to, status.data, status.len);
	to->failed |= status.failed;
	buf_release(&status);
}
