/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A connection of HTTP/2 with prior knowledge (RFC 9113, 3.3), by libnghttp2 on memory: bytes in, bytes out, no socket.
 *
 *	bytes ---> grpc_connection_take() ---> otel_source_receive()
 *	bytes <--- grpc_connection_output() <--- answers
 *
 * A call is answered when all of it has come, also one that is refused; what is refused is not kept, and after
 * GRPC_DISCARDED_MAX bytes of it the stream is reset. Bounded: GRPC_STREAMS_MAX calls of a connection, their messages (the
 * budget that all doors share counts them, and GRPC_CALL_BYTES for each call), the head of a call (GRPC_HEAD_MAX). Calls
 * over the budget get RST_STREAM with REFUSED_STREAM, or UNAVAILABLE with RetryInfo: clients repeat both. One thread.
 */
#ifndef OTEL_GRPC_GRPC_CONNECTION_H
#define OTEL_GRPC_GRPC_CONNECTION_H

#include "base/clock.h"
#include "base/err.h"
#include "otel/http/span_body.h"
#include "otel/spans/otel_source.h"

enum {
	GRPC_STREAMS_MAX = 32,
	GRPC_CALL_BYTES = 1024, /* of a call without its message, with libnghttp2's part */
	GRPC_DISCARDED_MAX = 64 << 20
};

struct grpc_stats {
	uint64_t calls, refused; /* refused: by their head, their size, or damage */
	uint64_t full;           /* of these: since a bound of memory was reached, to be repeated */
	uint64_t broken;         /* connections that were ended for a mistake of the peer */
};

struct grpc_service; /* what connections have in common */

struct grpc_service_options {
	size_t body_max;
	struct span_bodies *bodies;
	struct otel_source *source;
};

/* What the options name must outlive *ret. ERR_MEMORY. */
int grpc_service_new(
    struct grpc_service **ret, const struct grpc_service_options *o, struct err *e);
void grpc_service_free(struct grpc_service *s); /* NULL is fine */
struct grpc_stats *grpc_service_stats(struct grpc_service *s);

struct grpc_connection;

/* About 20 KB. The service must outlive *ret. ERR_MEMORY. */
int grpc_connection_new(struct grpc_connection **ret, struct grpc_service *s, struct err *e);
void grpc_connection_free(struct grpc_connection *c); /* NULL is fine */

/* Takes bytes, cut anywhere. False: as of grpc_connection_output(). */
bool grpc_connection_take(struct grpc_connection *c, const void *data, size_t len, struct mono now);

/* Appends what is to be written, some 16 KiB at a time; nothing: there is nothing. False: the connection is broken or
 * was ended, and is to be closed once this is written. */
bool grpc_connection_output(struct grpc_connection *c, struct buf *to);

/* Asks the peer to make no more calls here (GOAWAY). */
void grpc_connection_end(struct grpc_connection *c);

/* Calls that are open; when the oldest of them began; calls that were answered. */
uint32_t grpc_connection_open_calls(const struct grpc_connection *c);
struct mono grpc_connection_oldest(const struct grpc_connection *c);
uint64_t grpc_connection_answered(const struct grpc_connection *c);

#endif
