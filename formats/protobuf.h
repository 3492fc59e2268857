/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The fields of a message of protobuf (encoding specification, proto3), where it lies: nothing is copied, and no memory is taken. A message
 * within is a field of bytes, read by a reader of its own. Groups, which proto3 does not have, are malformed.
 *
 *	struct reader r = reader_of(data, len);
 *	struct proto_field f = { 0 };
 *
 *	while (proto_next(&r, &f))
 *		if (proto_is(&f, 1, PROTO_BYTES))
 *			...
 *	ok = !proto_malformed(&r, &f);
 */
#ifndef FORMATS_PROTOBUF_H
#define FORMATS_PROTOBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

enum proto_wire { PROTO_VARINT, PROTO_FIXED64, PROTO_BYTES, PROTO_FIXED32 = 5 };

struct proto_field {
	uint32_t number;
	uint8_t wire;
	uint64_t n;           /* of numbers */
	const uint8_t *bytes; /* of PROTO_BYTES */
	size_t len;
	bool cut; /* it exceeds the message that contains it */
};

/* Decodes the next field of a message. False: the end, or malformed (r->failed). A cut field is no failure: in a truncated file all messages
 * around the last complete one are cut. O(1). */
static inline bool
proto_next(struct reader *r, struct proto_field *f)
{
	uint64_t tag;

	if (r->failed || reader_left(r) == 0)
		return false;
	tag = read_uint(r);
	*f = (struct proto_field){ .number = (uint32_t)(tag >> 3), .wire = tag & 7 };
	r->failed |= f->number == 0 || tag >> 3 > 0x1fffffff;
	switch (f->wire) {
	case PROTO_VARINT:
		f->n = read_uint(r);
		break;
	case PROTO_FIXED64:
		f->n = read_u64(r);
		break;
	case PROTO_BYTES:
		f->n = read_uint(r);
		f->cut = f->n > reader_left(r);
		f->len = f->cut ? reader_left(r) : (size_t)f->n;
		f->bytes = read_bytes(r, f->len);
		break;
	case PROTO_FIXED32:
		f->n = read_u32(r);
		break;
	default:
		r->failed = true;
	}
	return !r->failed;
}

/* After the last field. */
static inline bool
proto_malformed(const struct reader *r, const struct proto_field *last)
{
	return r->failed || last->cut;
}

static inline bool
proto_is(const struct proto_field *f, uint32_t number, enum proto_wire wire)
{
	return f->number == number && f->wire == wire;
}

#endif
