/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Bytes being written, and bytes being read, with one rule for both: errors
 * stick. A writer that ran out of memory, or a reader that ran past its end,
 * says so once at the end; nothing in between has to be checked, nothing past
 * the end is ever touched, and a failed reader yields zeroes.
 *
 * Integers: fixed ones little endian; varints are LEB128 (at most 10 bytes),
 * signed ones zigzag before that.
 */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf { /* growing; all zeroes is empty */
	uint8_t *data;
	size_t len, cap;
	bool failed;
};

void buf_release(struct buf *b);
void buf_reset(struct buf *b); /* empty, keeps its memory */
uint8_t *buf_reserve(
    struct buf *b, size_t len); /* room for len more, not counted yet; NULL when failed */
void buf_bytes(struct buf *b, const void *data, size_t len);
void buf_u8(struct buf *b, uint8_t v);
void buf_u32(struct buf *b, uint32_t v);
void buf_u64(struct buf *b, uint64_t v);
void buf_double(struct buf *b, double v);
void buf_uint(struct buf *b, uint64_t v);                /* varint */
void buf_int(struct buf *b, int64_t v);                  /* zigzag varint */
void buf_text(struct buf *b, const char *s, size_t len); /* varint length, bytes */
void buf_printf(struct buf *b, const char *fmt, ...)
    __attribute__((format(printf, 2, 3))); /* no final 0 */

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
uint64_t read_uint(struct reader *r); /* a varint longer than 10 bytes, or past 64 bits, fails */
int64_t read_int(struct reader *r);
/* A varint length and that many bytes, not copied: *len and a pointer into the input; fails past
 * max_len. */
const char *read_text(struct reader *r, size_t max_len, size_t *len);
const uint8_t *read_bytes(struct reader *r, size_t len); /* NULL when failed */
static inline size_t
reader_left(const struct reader *r)
{
	return (size_t)(r->end - r->at);
}

#endif
