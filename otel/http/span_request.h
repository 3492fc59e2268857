/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a request asks for, by its head, and the bytes of its answer: OTLP/HTTP (opentelemetry-proto,
 * docs/specification.md) and Zipkin's API, version 2. Pure.
 *
 *	POST /v1/traces		application/x-protobuf, application/json	200, partial success in the body
 *	POST /v1/metrics, /v1/logs						404: only traces are taken here
 *	POST /api/v2/spans	application/json				202
 *
 *	400 malformed   404 no such path   405 not POST   413 too large   415 other type or encoding   503 full, Retry-After
 *
 * A client repeats 429, 502, 503 and 504 only. The body of an OTLP answer has the type of the request: that of a failure is
 * google.rpc.Status { 1 code, 2 message }.
 */
#ifndef OTEL_HTTP_SPAN_REQUEST_H
#define OTEL_HTTP_SPAN_REQUEST_H

#include "base/buf.h"
#include "otel/spans/otel_source.h"

enum { RETRY_AFTER_S = 2 };

struct request_head { /* NULL: there is no such header */
	const char *method, *path, *content_type, *content_encoding;
};

struct span_request {
	enum span_format format; /* also of the answer to a request that is refused */
	bool compressed;
	bool otlp;       /* false: Zipkin */
	unsigned status; /* 0: its body is to be read; else it is refused with this status */
	const char *why; /* of a refusal */
};

struct span_request span_request_of(const struct request_head *h, bool zipkin);

/* "application/json", "application/x-protobuf", or "text/plain; charset=utf-8" for a refusal of Zipkin's. */
const char *span_reply_type(const struct span_request *r);

/* The status for a body that was read, and its bytes. receipt: NULL for a refusal, whose reason is r->status, r->why. */
unsigned span_reply(const struct span_request *r, const struct receipt *receipt, struct buf *to);

#endif
