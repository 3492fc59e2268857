/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "wire/frame.h"

#include <assert.h>
#include <ctype.h>
#include <endian.h>
#include <string.h>

#include "base/crc32c.h"

enum { AT_MAGIC = 0, AT_VERSION = 4, AT_KIND = 6, AT_LENGTH = 8, AT_CRC = 12, AT_SEQ = 16 };

static const struct {
	const char *name;
	uint32_t max_bytes;
} kinds[] = {
#define KIND(name, number, max_bytes, help) [number] = { #name, max_bytes },
#include "wire/kinds.tbl.h"
#undef KIND
};

static int
is_known(unsigned kind)
{
	return kind < sizeof kinds / sizeof *kinds && kinds[kind].name != NULL;
}

const char *
frame_kind_name(unsigned kind)
{
	return is_known(kind) ? kinds[kind].name : "?";
}

static void
put16(uint8_t *at, uint16_t v)
{
	v = htole16(v);
	memcpy(at, &v, sizeof v);
}

static void
put32(uint8_t *at, uint32_t v)
{
	v = htole32(v);
	memcpy(at, &v, sizeof v);
}

static uint16_t
get16(const uint8_t *at)
{
	uint16_t v;

	memcpy(&v, at, sizeof v);
	return le16toh(v);
}

static uint32_t
get32(const uint8_t *at)
{
	uint32_t v;

	memcpy(&v, at, sizeof v);
	return le32toh(v);
}

static uint32_t
sum(const uint8_t header[FRAME_HEADER_BYTES], const void *payload, size_t length)
{
	uint8_t blank[FRAME_HEADER_BYTES];

	memcpy(blank, header, sizeof blank);
	put32(blank + AT_CRC, 0);
	return crc32c(crc32c(0, blank, sizeof blank), payload, length);
}

void
frame_seal(uint8_t header[FRAME_HEADER_BYTES], enum frame_kind kind, uint64_t seq,
    const void *payload, size_t length)
{
	uint64_t le_seq = htole64(seq);

	assert(length <= UINT32_MAX && (payload != NULL || length == 0));
	put32(header + AT_MAGIC, FRAME_MAGIC);
	put16(header + AT_VERSION, FRAME_VERSION);
	put16(header + AT_KIND, (uint16_t)kind);
	put32(header + AT_LENGTH, (uint32_t)length);
	memcpy(header + AT_SEQ, &le_seq, sizeof le_seq);
	put32(header + AT_CRC, sum(header, payload, length));
}

/* Shows the first bytes, from which a person may recognize the program: "GET " is a web browser. */
static int
fail_magic(struct err *e, const uint8_t *header)
{
	char seen[5] = { 0 };

	for (int i = 0; i < 4; i++)
		seen[i] = isprint(header[i]) ? (char)header[i] : '.';
	return err_set(e, ERR_INPUT,
	    "not a message of Hone: it begins with %02x %02x %02x %02x (\"%s\"); does another program "
	    "use this port?",
	    header[0], header[1], header[2], header[3], seen);
}

int
frame_open(struct frame *ret, const uint8_t header[FRAME_HEADER_BYTES], struct err *e)
{
	struct frame f = { get16(header + AT_VERSION), get16(header + AT_KIND),
		get32(header + AT_LENGTH), get32(header + AT_CRC), 0 };

	memcpy(&f.seq, header + AT_SEQ, sizeof f.seq);
	f.seq = le64toh(f.seq);
	if (get32(header + AT_MAGIC) != FRAME_MAGIC)
		return fail_magic(e, header);
	if (f.version != FRAME_VERSION)
		return err_set(e, ERR_VERSION,
		    "the other side speaks version %u of the protocol, this side %u: install the same release "
		    "on both",
		    f.version, FRAME_VERSION);
	if (!is_known(f.kind))
		return err_set(e, ERR_INPUT, "message of unknown kind %u", f.kind);
	if (f.length > kinds[f.kind].max_bytes)
		return err_set(e, ERR_INPUT, "%s message of %u bytes: at most %u are allowed",
		    kinds[f.kind].name, f.length, kinds[f.kind].max_bytes);
	*ret = f;
	return 0;
}

int
frame_check(const struct frame *f, const uint8_t header[FRAME_HEADER_BYTES], const void *payload,
    struct err *e)
{
	assert(is_known(f->kind) && (payload != NULL || f->length == 0));
	if (sum(header, payload, f->length) == f->crc)
		return 0;
	return err_set(e, ERR_INPUT,
	    "%s message of %u bytes was damaged on the way: its checksum does not match",
	    frame_kind_name(f->kind), f->length);
}
