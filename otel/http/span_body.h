/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The body of a request as it comes, piece by piece: as it is, or inflated (zlib; RFC 1952, RFC 1950). Bounded by bytes_max
 * of what is kept, and of what comes in at all: past either it is too large, and no more of it is kept or inflated.
 */
#ifndef OTEL_HTTP_SPAN_BODY_H
#define OTEL_HTTP_SPAN_BODY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

enum body_state {
	BODY_OK,
	BODY_TOO_LARGE, /* before or after inflation */
	BODY_DAMAGED, /* not what Content-Encoding says, or bytes behind its end, or its end is missing */
	BODY_MEMORY
};

struct span_bodies { /* of all requests at all doors */
	size_t bytes, bytes_max;
};

struct span_body;

/* compressed: gzip, or deflate with zlib's header. NULL: out of memory. */
struct span_body *span_body_new(size_t bytes_max, bool compressed);
void span_body_free(struct span_body *b); /* NULL is fine */

/* O(bytes in + bytes out). After another result than BODY_OK further pieces are only counted. */
enum body_state span_body_add(struct span_body *b, const void *data, size_t len);

/* Nothing follows. The bytes are valid until span_body_free(). */
enum body_state span_body_end(struct span_body *b, const void **data, size_t *len);

/* Memory that it takes; and the bytes that came, also those that were not kept. */
size_t span_body_bytes(const struct span_body *b);
size_t span_body_came(const struct span_body *b);

#endif
