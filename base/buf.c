/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/buf.h"

#include <assert.h>
#include <endian.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

enum { VARINT_MAX_BYTES = 10, CAP_MIN_BYTES = 256 };

void
buf_release(struct buf *b)
{
	free(b->data);
	*b = (struct buf){ 0 };
}

void
buf_reset(struct buf *b)
{
	b->len = 0;
	b->failed = false;
}

static bool
grow(struct buf *b, size_t len)
{
	size_t n = b->len + len < CAP_MIN_BYTES ? CAP_MIN_BYTES : b->len + len;

	assert(b->len <= b->cap);
	if (b->failed || len > SIZE_MAX / 4 || !array_reserve(b->data, b->cap, n))
		b->failed = true;
	return !b->failed;
}

uint8_t *
buf_reserve(struct buf *b, size_t len)
{
	if (b->failed || (b->cap - b->len < len && !grow(b, len)) ||
	    (b->data == NULL && !grow(b, 1)))
		return NULL;
	return b->data + b->len;
}

void
buf_bytes(struct buf *b, const void *data, size_t len)
{
	uint8_t *at = buf_reserve(b, len);

	assert(data != NULL || len == 0);
	if (at == NULL || len == 0)
		return;
	memcpy(at, data, len);
	b->len += len;
}

void
buf_u8(struct buf *b, uint8_t v)
{
	buf_bytes(b, &v, sizeof v);
}

void
buf_u32(struct buf *b, uint32_t v)
{
	v = htole32(v);
	buf_bytes(b, &v, sizeof v);
}

void
buf_u64(struct buf *b, uint64_t v)
{
	v = htole64(v);
	buf_bytes(b, &v, sizeof v);
}

void
buf_double(struct buf *b, double v)
{
	uint64_t bits;

	memcpy(&bits, &v, sizeof bits);
	buf_u64(b, bits);
}

void
buf_uint(struct buf *b, uint64_t v)
{
	uint8_t *at = buf_reserve(b, VARINT_MAX_BYTES);
	size_t n = 0;

	if (at == NULL)
		return;
	for (; v >= 0x80; v >>= 7)
		at[n++] = (uint8_t)(v | 0x80);
	at[n++] = (uint8_t)v;
	b->len += n;
}

void
buf_int(struct buf *b, int64_t v)
{
	buf_uint(b, (uint64_t)v << 1 ^ (v < 0 ? UINT64_MAX : 0));
}

void
buf_text(struct buf *b, const char *s, size_t len)
{
	buf_uint(b, len);
	buf_bytes(b, s, len);
}

void
buf_printf(struct buf *b, const char *fmt, ...)
{
	va_list ap, again;
	uint8_t *at;
	int len;

	assert(b->len <= b->cap);
	va_start(ap, fmt);
	va_copy(again, ap);
	len = vsnprintf(NULL, 0, fmt, ap);
	if (len < 0)
		b->failed = true;
	else if ((at = buf_reserve(b, (size_t)len + 1)) != NULL) {
		vsnprintf((char *)at, (size_t)len + 1, fmt, again);
		b->len += (size_t)len;
	}
	va_end(again);
	va_end(ap);
}

/* Moves to the end, so that later reads fail as well. */
static void
fail(struct reader *r)
{
	assert(r->at <= r->end);
	r->failed = true;
	r->at = r->end;
}

const uint8_t *
read_bytes(struct reader *r, size_t len)
{
	const uint8_t *at = r->at;

	if (r->failed || reader_left(r) < len) {
		fail(r);
		return NULL;
	}
	r->at += len;
	return at;
}

uint8_t
read_u8(struct reader *r)
{
	const uint8_t *at = read_bytes(r, 1);

	return at == NULL ? 0 : *at;
}

uint32_t
read_u32(struct reader *r)
{
	const uint8_t *at = read_bytes(r, sizeof(uint32_t));
	uint32_t v = 0;

	if (at != NULL)
		memcpy(&v, at, sizeof v);
	return le32toh(v);
}

uint64_t
read_u64(struct reader *r)
{
	const uint8_t *at = read_bytes(r, sizeof(uint64_t));
	uint64_t v = 0;

	if (at != NULL)
		memcpy(&v, at, sizeof v);
	return le64toh(v);
}

double
read_double(struct reader *r)
{
	uint64_t bits = read_u64(r);
	double v;

	memcpy(&v, &bits, sizeof v);
	return v;
}

uint64_t
read_uint(struct reader *r)
{
	uint64_t v = 0;
	unsigned shift = 0;
	uint8_t byte;

	if (r->at < r->end && *r->at < 0x80) /* the common case */
		return *r->at++;
	for (const uint8_t *at = r->at; at < r->end && shift < 64; shift += 7) {
		byte = *at++;
		if (shift == 63 && byte > 1)
			break;
		v |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80) {
			r->at = at;
			return v;
		}
	}
	fail(r);
	return 0;
}

int64_t
read_int(struct reader *r)
{
	uint64_t v = read_uint(r);

	return (int64_t)(v >> 1 ^ (v & 1 ? UINT64_MAX : 0));
}

const char *
read_text(struct reader *r, size_t max_len, size_t *len)
{
	uint64_t n = read_uint(r);
	const uint8_t *at = NULL;

	assert(len != NULL);
	if (n <= max_len)
		at = read_bytes(r, (size_t)n);
	else
		fail(r);
	*len = at == NULL ? 0 : (size_t)n;
	return (const char *)at;
}
