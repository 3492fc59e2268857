/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "otel/http/span_body.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* ZLIB_BYTES: what zlib allocates to inflate, by zlib.h. ANY_HEADER: gzip's or zlib's, window of 32 KiB. */
enum { PIECE_BYTES = 65536, ZLIB_BYTES = 44 << 10, ANY_HEADER = 32 + 15 };

struct span_body {
	size_t bytes_max, came;
	bool compressed, ended; /* ended: its compressed stream has */
	enum body_state state;
	struct buf bytes;
	z_stream z;
};

struct span_body *
span_body_new(size_t bytes_max, bool compressed)
{
	struct span_body *b = calloc(1, sizeof *b);

	if (b == NULL)
		return NULL;
	b->bytes_max = bytes_max;
	b->compressed = compressed;
	if (compressed && inflateInit2(&b->z, ANY_HEADER) != Z_OK) {
		free(b);
		return NULL;
	}
	return b;
}

void
span_body_free(struct span_body *b)
{
	if (b == NULL)
		return;
	if (b->compressed)
		inflateEnd(&b->z);
	buf_release(&b->bytes);
	free(b);
}

static enum body_state
add_plain(struct span_body *b, const void *data, size_t len)
{
	if (len > b->bytes_max - b->bytes.len)
		return BODY_TOO_LARGE;
	buf_bytes(&b->bytes, data, len);
	return b->bytes.failed ? BODY_MEMORY : BODY_OK;
}

/* Each round gives at least a byte or takes all that is left, and gives at most one byte more than there is room for. */
static enum body_state
add_compressed(struct span_body *b, const void *data, size_t len)
{
	b->z.next_in = (Bytef *)(uintptr_t)data;
	b->z.avail_in = (uInt)len;
	while (b->z.avail_in > 0 || b->z.avail_out == 0) {
		size_t room = b->bytes_max - b->bytes.len + 1;
		uint8_t *to;
		int rc;

		if (b->ended)
			return b->z.avail_in > 0 ? BODY_DAMAGED : BODY_OK;
		room = room < PIECE_BYTES ? room : PIECE_BYTES;
		if ((to = buf_reserve(&b->bytes, room)) == NULL)
			return BODY_MEMORY;
		b->z.next_out = to;
		b->z.avail_out = (uInt)room;
		rc = inflate(&b->z, Z_NO_FLUSH);
		b->bytes.len += room - b->z.avail_out;
		if (b->bytes.len > b->bytes_max)
			return BODY_TOO_LARGE;
		if (rc == Z_BUF_ERROR) /* no progress is possible: more has to come */
			return BODY_OK;
		if (rc != Z_OK && rc != Z_STREAM_END)
			return rc == Z_MEM_ERROR ? BODY_MEMORY : BODY_DAMAGED;
		b->ended = rc == Z_STREAM_END;
	}
	return BODY_OK;
}

enum body_state
span_body_add(struct span_body *b, const void *data, size_t len)
{
	const uint8_t *at = data;

	b->came = b->came + len < b->came ? SIZE_MAX : b->came + len;
	if (b->state == BODY_OK && b->came > b->bytes_max)
		b->state = BODY_TOO_LARGE;
	for (size_t n; b->state == BODY_OK && len > 0; at += n, len -= n) {
		n = len < PIECE_BYTES ? len : PIECE_BYTES;
		b->state = b->compressed ? add_compressed(b, at, n) : add_plain(b, at, n);
	}
	if (b->state != BODY_OK)
		buf_release(&b->bytes);
	return b->state;
}

enum body_state
span_body_end(struct span_body *b, const void **data, size_t *len)
{
	if (b->state == BODY_OK && b->compressed && !b->ended)
		b->state = BODY_DAMAGED;
	*data = b->bytes.data != NULL ? (const void *)b->bytes.data : "";
	*len = b->state == BODY_OK ? b->bytes.len : 0;
	return b->state;
}

size_t
span_body_bytes(const struct span_body *b)
{
	return sizeof *b + b->bytes.cap + (b->compressed ? ZLIB_BYTES : 0);
}

size_t
span_body_came(const struct span_body *b)
{
	return b->came;
}
