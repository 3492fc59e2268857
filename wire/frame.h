/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The header of every message on a stream: 24 bytes, little endian.
 *
 *	 0        4         6      8         12        16                24
 *	+--------+---------+------+---------+---------+-----------------+---
 *	| magic  | version | kind | length  | crc32c  | sequence number | payload
 *	+--------+---------+------+---------+---------+-----------------+---
 *
 * crc32c is computed over the header with these four bytes as zeroes, then the payload. The sequence number
 * is the batch's in RECORDS frames, from 1; 0 in others.
 */
#ifndef WIRE_FRAME_H
#define WIRE_FRAME_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define FRAME_MAGIC 0x454e4f48u /* "HONE" */

enum { FRAME_VERSION = 15, FRAME_HEADER_BYTES = 24 };

/* Text of REFUSE: honed closes the connection and has read nothing from it, so the peer may connect and send it again. */
#define REFUSED_UNHEARD "too many connections have sent nothing"

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

const char *frame_kind_name(unsigned kind); /* "?" for an unknown kind */

/* Writes the header for payload[0..length). O(length). */
void frame_seal(uint8_t header[FRAME_HEADER_BYTES], enum frame_kind kind, uint64_t seq,
    const void *payload, size_t length);

/* Parses a header. ERR_INPUT: not a frame, an unknown kind, or a length over the maximum of the kind;
 * ERR_VERSION: another version (the text names both). */
int frame_open(struct frame *ret, const uint8_t header[FRAME_HEADER_BYTES], struct err *e);

/* 0, or ERR_INPUT if header or payload was damaged: the checksum differs. O(length). */
int frame_check(const struct frame *f, const uint8_t header[FRAME_HEADER_BYTES],
    const void *payload, struct err *e);

#endif
