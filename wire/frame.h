/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What every message on a stream begins with: 24 bytes, little endian.
 *
 *	 0        4         6      8         12        16                24
 *	+--------+---------+------+---------+---------+-----------------+---
 *	| magic  | version | kind | length  | crc32c  | sequence number | payload
 *	+--------+---------+------+---------+---------+-----------------+---
 *
 * crc32c covers the header with its own four bytes as zeroes, then the payload.
 * The sequence number counts RECORDS frames from 1; elsewhere it is 0.
 */
#ifndef WIRE_FRAME_H
#define WIRE_FRAME_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define FRAME_MAGIC 0x454e4f48u /* "HONE" */

enum { FRAME_VERSION = 5, FRAME_HEADER_BYTES = 24 };

enum frame_kind {
#define KIND(name, number, max_bytes, help) FRAME_##name = number,
#include "wire/kinds.tbl.h"
#undef KIND
};

struct frame {
	uint16_t version, kind;
	uint32_t length;
	uint32_t crc;
	uint64_t seq;
};

const char *frame_kind_name(unsigned kind); /* "?" for one that we do not know */

/* Writes the header for payload[0..length). O(length). */
void frame_seal(uint8_t header[FRAME_HEADER_BYTES], enum frame_kind kind, uint64_t seq,
    const void *payload, size_t length);

/* Reads a header: ERR_INPUT for bytes that are no frame, an unknown kind, a length over its kind's
 * largest; ERR_VERSION for another version (words name both). */
int frame_open(struct frame *ret, const uint8_t header[FRAME_HEADER_BYTES], struct err *e);

/* ERR_INPUT unless the payload is what was sealed. O(length). */
int frame_check(const struct frame *f, const uint8_t header[FRAME_HEADER_BYTES],
    const void *payload, struct err *e);

#endif
