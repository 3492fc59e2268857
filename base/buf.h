/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Writing and reading bytes. Errors are sticky: a writer that ran out of memory, or a reader that ran past
 * its end, sets `failed`, which is checked once at the end. Nothing past the end is touched, a
 * failed writer ignores further writes, and a failed reader returns zeroes.
 *
 * Fixed integers are little endian; varints are LEB128 of at most 10 bytes, signed ones zigzag
 * encoded.
 */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf { /* grows; all zeroes is an empty buffer */
	uint8_t *data;
	size_t len, cap;
	bool failed;
};

void buf_release(struct buf *b);
void buf_reset(struct buf *b); /* empty and not failed; keeps its memory */

/* Room for len more bytes, which the caller adds to b->len after it has written them. NULL: the buffer has
 * failed. */
uint8_t *buf_reserve(struct buf *b, size_t len);

void buf_bytes(struct buf *b, const void *data, size_t len);
void buf_u8(struct buf *b, uint8_t v);
void buf_u32(struct buf *b, uint32_t v);
void buf_u64(struct buf *b, uint64_t v);
void buf_double(struct buf *b, double v);
void buf_uint(struct buf *b, uint64_t v); /* varint */
void buf_int(struct buf *b, int64_t v);   /* zigzag varint */
void buf_text(
    struct buf *b, const char *s, size_t len); /* the length as a varint, then the bytes */

/* Appends formatted text; the terminating 0 is not counted in b->len. */
void buf_printf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

struct reader {
	const uint8_t *at, *end;
	bool failed;
};

static inline struct reader
reader_of(const void *data, size_t len)
{
	const uint8_t *p = (const uint8_t *)data;

	return (struct reader){ p, p + len, false };
}

uint8_t read_u8(struct reader *r);
uint32_t read_u32(struct reader *r);
uint64_t read_u64(struct reader *r);
double read_double(struct reader *r);
uint64_t read_uint(struct reader *r); /* fails for a varint of over 10 bytes or over 64 bits */
int64_t read_int(struct reader *r);

/* A varint length and that many bytes: a pointer into the input, and *len. NULL and a *len of 0: the
 * reader failed, or the length is over max_len. */
const char *read_text(struct reader *r, size_t max_len, size_t *len);

/* The next len bytes, a pointer into the input. NULL: the reader failed. */
const uint8_t *read_bytes(struct reader *r, size_t len);

static inline size_t
reader_left(const struct reader *r)
{
	return (size_t)(r->end - r->at);
}

#endif
