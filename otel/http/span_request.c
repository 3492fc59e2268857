/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "otel/http/span_request.h"

#include <string.h>
#include <strings.h>

/* google.rpc.Code */
enum {
	CODE_UNKNOWN = 2,
	CODE_INVALID_ARGUMENT = 3,
	CODE_NOT_FOUND = 5,
	CODE_RESOURCE_EXHAUSTED = 8,
	CODE_UNIMPLEMENTED = 12,
	CODE_UNAVAILABLE = 14
};

/* Whether a header begins with this word, alone or before parameters. */
static bool
names(const char *header, const char *word)
{
	size_t len = strlen(word);

	return header != NULL && strncasecmp(header, word, len) == 0 &&
	       strchr("; \t", header[len]) != NULL; /* the end is in it, too */
}

static struct span_request
refuse(struct span_request r, unsigned status, const char *why)
{
	r.status = status;
	r.why = why;
	return r;
}

struct span_request
span_request_of(const struct request_head *h, bool zipkin)
{
	struct span_request r = { .otlp = !zipkin,
		.format = zipkin ? SPANS_ZIPKIN : SPANS_OTLP_JSON };
	bool json = names(h->content_type, "application/json");
	bool proto = names(h->content_type, "application/x-protobuf");

	if (proto && !zipkin)
		r.format = SPANS_OTLP_PROTO;
	if (!zipkin && (strcmp(h->path, "/v1/metrics") == 0 || strcmp(h->path, "/v1/logs") == 0))
		return refuse(r, 404,
		    "hone-otel takes traces only: set OTEL_METRICS_EXPORTER and OTEL_LOGS_EXPORTER to none, or to "
		    "another endpoint");
	if (strcmp(h->path, zipkin ? "/api/v2/spans" : "/v1/traces") != 0)
		return refuse(r, 404,
		    zipkin ? "spans are taken at /api/v2/spans" : "traces are taken at /v1/traces");
	if (strcmp(h->method, "POST") != 0)
		return refuse(r, 405, "only POST");
	if (!json && (!proto || zipkin))
		return refuse(r, 415,
		    zipkin ? "Content-Type is not application/json"
			   : "Content-Type is neither application/json nor application/x-protobuf");
	r.compressed = names(h->content_encoding, "gzip") || names(h->content_encoding, "deflate");
	if (h->content_encoding != NULL && !r.compressed && !names(h->content_encoding, "identity"))
		return refuse(r, 415, "Content-Encoding is neither gzip nor deflate");
	return r;
}

const char *
span_reply_type(const struct span_request *r)
{
	return !r->otlp                        ? "text/plain; charset=utf-8"
	       : r->format == SPANS_OTLP_PROTO ? "application/x-protobuf"
	                                       : "application/json";
}

/* ---- JSON ---- */

static void
put_json_text(struct buf *b, const char *s)
{
	buf_u8(b, '"');
	for (; *s != '\0'; s++)
		if (*s == '"' || *s == '\\')
			buf_printf(b, "\\%c", *s);
		else
			buf_u8(b, *s < ' ' || *s > '~' ? '?' : (uint8_t)*s);
	buf_u8(b, '"');
}

/* ---- protobuf ---- */

static void
put_proto_text(struct buf *b, uint8_t field, const char *s)
{
	size_t len = strlen(s);

	buf_u8(b, (uint8_t)(field << 3 | 2));
	buf_uint(b, len);
	for (size_t i = 0; i < len; i++) /* a string is UTF-8 */
		buf_u8(b, s[i] < ' ' || s[i] > '~' ? '?' : (uint8_t)s[i]);
}

static void
put_proto_number(struct buf *b, uint8_t field, uint64_t n)
{
	buf_u8(b, (uint8_t)(field << 3));
	buf_uint(b, n);
}

/* ---- answers ---- */

static uint64_t
code_of(unsigned status)
{
	return status == 400   ? CODE_INVALID_ARGUMENT
	       : status == 404 ? CODE_NOT_FOUND
	       : status == 405 ? CODE_UNIMPLEMENTED
	       : status == 413 ? CODE_RESOURCE_EXHAUSTED
	       : status == 415 ? CODE_INVALID_ARGUMENT
	       : status == 503 ? CODE_UNAVAILABLE
	                       : CODE_UNKNOWN;
}

static void
put_failure(const struct span_request *r, unsigned status, const char *why, struct buf *to)
{
	if (!r->otlp) {
		buf_printf(to, "%s\n", why);
	} else if (r->format == SPANS_OTLP_PROTO) {
		put_proto_number(to, 1, code_of(status));
		put_proto_text(to, 2, why);
	} else {
		buf_printf(to, "{\"code\":%llu,\"message\":", (unsigned long long)code_of(status));
		put_json_text(to, why);
		buf_u8(to, '}');
	}
}

/* ExportTraceServiceResponse { 1 partial_success { 1 rejected_spans, 2 error_message } }; empty if all were taken. */
static void
put_success(const struct span_request *r, const struct receipt *receipt, struct buf *to)
{
	uint64_t rejected = (uint64_t)receipt->rejected + receipt->lost;
	struct buf part = { 0 };

	if (r->format == SPANS_OTLP_JSON) {
		if (rejected == 0) {
			buf_bytes(to, "{}", 2);
			return;
		}
		buf_printf(to, "{\"partialSuccess\":{\"rejectedSpans\":\"%llu\",\"errorMessage\":",
		    (unsigned long long)rejected);
		put_json_text(to, receipt->why);
		buf_bytes(to, "}}", 2);
	} else if (rejected > 0) {
		put_proto_number(&part, 1, rejected);
		put_proto_text(&part, 2, receipt->why);
		buf_u8(to, 1 << 3 | 2);
		buf_uint(to, part.len);
		buf_bytes(to, part.data, part.len);
		to->failed |= part.failed;
		buf_release(&part);
	}
}

/* Zipkin's API has no partial success: a list of which no span was taken is refused whole. */
static bool
is_bad(const struct span_request *r, const struct receipt *receipt)
{
	return receipt->malformed ||
	       (!r->otlp && receipt->rejected > 0 && receipt->taken + receipt->lost == 0);
}

unsigned
span_reply(const struct span_request *r, const struct receipt *receipt, struct buf *to)
{
	if (receipt == NULL || is_bad(r, receipt)) {
		unsigned status = receipt == NULL ? r->status : 400;

		put_failure(r, status, receipt == NULL ? r->why : receipt->why, to);
		return status;
	}
	if (!r->otlp)
		return 202;
	put_success(r, receipt, to);
	return 200;
}
