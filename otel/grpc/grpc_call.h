/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A unary call of OTLP by gRPC: what its head asks for, the message in its body, and the bytes of its answer
 * (grpc, doc/PROTOCOL-HTTP2.md and doc/compression.md; opentelemetry-proto, docs/specification.md). Pure.
 *
 *	POST /opentelemetry.proto.collector.trace.v1.TraceService/Export, application/grpc
 *
 *	body := flag (1 byte: 1 if compressed), length (4 bytes, big endian), message; exactly one
 *
 *	0 OK, also with partial success   3 INVALID_ARGUMENT: malformed   8 RESOURCE_EXHAUSTED: too large
 *	12 UNIMPLEMENTED: another method, another encoding   13 INTERNAL: compressed without grpc-encoding
 *	14 UNAVAILABLE: full; with RetryInfo, so that clients repeat the call
 *
 * What is no gRPC is answered by HTTP: 405 if it is not POST, 415 if its type is not application/grpc.
 */
#ifndef OTEL_GRPC_GRPC_CALL_H
#define OTEL_GRPC_GRPC_CALL_H

#include "otel/http/span_body.h"
#include "otel/spans/otel_source.h"

enum grpc_code {
	GRPC_OK,
	GRPC_INVALID_ARGUMENT = 3,
	GRPC_RESOURCE_EXHAUSTED = 8,
	GRPC_UNIMPLEMENTED = 12,
	GRPC_INTERNAL = 13,
	GRPC_UNAVAILABLE = 14
};

struct grpc_refusal {  /* why NULL: the call is not refused */
	unsigned http; /* not 200: it is no gRPC, and is answered by this status alone */
	enum grpc_code code;
	const char *why;
};

/* ---- the head ---- */

enum { GRPC_HEAD_MAX = 16384 }; /* bytes of all fields, 32 for each with them (RFC 9113, 6.5.2) */

enum grpc_method { GRPC_OTHER, GRPC_TRACES, GRPC_METRICS, GRPC_LOGS };
enum grpc_encoding { GRPC_IDENTITY, GRPC_COMPRESSED, GRPC_UNKNOWN };

struct grpc_head { /* all zeroes: no field has come */
	bool post, grpc;
	enum grpc_method method;
	enum grpc_encoding encoding;
	uint32_t bytes;
};

/* Takes a field. False: the head is larger than GRPC_HEAD_MAX. O(length). */
bool grpc_head_take(
    struct grpc_head *h, const char *name, size_t name_len, const char *value, size_t value_len);

/* Whether the call is refused by its head. */
struct grpc_refusal grpc_head_refusal(const struct grpc_head *h);

/* ---- the message ---- */

struct grpc_message { /* as made by grpc_message_begin() */
	size_t bytes_max;
	enum grpc_encoding encoding;
	uint8_t prefix[5], nprefix;
	bool done, compressed;
	uint32_t left;
	struct span_body *body; /* NULL before its prefix has come */
};

void grpc_message_begin(struct grpc_message *m, size_t bytes_max, enum grpc_encoding encoding);
void grpc_message_release(struct grpc_message *m);

/* Takes bytes of the call's body, cut anywhere. A message of over bytes_max, before or after it is inflated, is refused as
 * soon as that is known. After a refusal nothing may be added. O(bytes in + bytes out). */
struct grpc_refusal grpc_message_add(struct grpc_message *m, const void *data, size_t len);

/* Nothing follows. The message is valid until grpc_message_release(). */
struct grpc_refusal grpc_message_end(struct grpc_message *m, const void **data, size_t *len);

size_t grpc_message_bytes(const struct grpc_message *m); /* memory that it takes */

/* ---- the answer ---- */

/* The body for a call whose spans were taken: a prefix and ExportTraceServiceResponse. */
void grpc_put_success(struct buf *to, const struct receipt *receipt);
/* The value of grpc-message: percent-encoded. */
void grpc_put_message(struct buf *to, const char *why);
/* The value of grpc-status-details-bin for GRPC_UNAVAILABLE: google.rpc.Status with RetryInfo, in base64. */
void grpc_put_retry(struct buf *to, const char *why);

#endif
