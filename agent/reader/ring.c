/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agent/reader/ring.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* The crash ABI of liblttng-ust. */
struct crash_head {
	uint8_t magic[16];
	uint64_t mmap_bytes;
	uint16_t endian, major, minor;
	uint8_t word_bytes, layout;
	struct {
		uint32_t produced, consumed, rest[9];
	} __attribute__((packed)) offset;
	struct {
		uint8_t produced, consumed, rest[6];
	} __attribute__((packed)) length;
	uint32_t stride[3];
	uint64_t ring_bytes, packet_bytes, packets;
	uint32_t mode; /* 1: discard, 0: overwrite; written last */
} __attribute__((packed));

enum { HEAD_BYTES = 4096, LOST_AT = 392 };

static const uint8_t magic[16] = { 0x17, 0x7b, 0xf1, 0x77, 0xbf, 0x17, 0x7b, 0xf1, 0x77, 0xbf, 0x17,
	0x7b, 0xf1, 0x77, 0xbf, 0x17 };

static int
check_head(struct ring *r, const char *name, struct err *e)
{
	struct crash_head h;

	memcpy(&h, r->head, sizeof h);
	if (memcmp(h.magic, magic, sizeof magic) != 0 || h.mode != 1)
		return err_set(
		    e, ERR_MISSING, "%s: not a ring in discard mode, or not initialised yet", name);
	if (h.endian != 0x1234 || h.major != 0 || h.word_bytes != 8 || h.length.produced != 8 ||
	    h.length.consumed != 8)
		return err_set(e, ERR_VERSION,
		    "%s: a ring whose layout is not that of liblttng-ust 2.13 (64 bits)", name);
	if (h.offset.produced > HEAD_BYTES - 8 || h.offset.consumed > HEAD_BYTES - 8 ||
	    h.offset.produced % 8 != 0 || h.offset.consumed % 8 != 0 || h.packet_bytes == 0 ||
	    h.ring_bytes < h.packet_bytes || h.ring_bytes % h.packet_bytes != 0)
		return err_set(e, ERR_VERSION, "%s: a ring with invalid sizes", name);
	r->produced_at = h.offset.produced;
	r->consumed_at = h.offset.consumed;
	r->bytes = h.ring_bytes;
	r->packet_bytes = h.packet_bytes;
	return 0;
}

int
ring_map(struct ring *r, int dir, const char *name, struct err *e)
{
	struct stat st;
	int rc, fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

	memset(r, 0, sizeof *r);
	if (fd < 0)
		return err_errno(e, "%s", name);
	if (fstat(fd, &st) != 0 || st.st_size < HEAD_BYTES) {
		close(fd);
		return err_set(e, ERR_MISSING, "%s: not initialised yet", name);
	}
	void *map = mmap(NULL, HEAD_BYTES, PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	if (map == MAP_FAILED)
		return err_errno(e, "%s", name);
	r->head = map;
	r->head_bytes = HEAD_BYTES;
	if ((rc = check_head(r, name, e)) != 0)
		ring_unmap(r);
	return rc;
}

void
ring_unmap(struct ring *r)
{
	if (r->head != NULL)
		munmap((void *)(uintptr_t)r->head, r->head_bytes);
	memset(r, 0, sizeof *r);
}

static uint64_t
word_at(const struct ring *r, uint32_t at)
{
	assert(r->head != NULL);
	return __atomic_load_n((const uint64_t *)(const void *)(r->head + at), __ATOMIC_ACQUIRE);
}

uint64_t
ring_produced(const struct ring *r)
{
	return word_at(r, r->produced_at);
}

const uint64_t *
ring_produced_word(const struct ring *r)
{
	return (const uint64_t *)(const void *)(r->head + r->produced_at);
}

uint64_t
ring_consumed(const struct ring *r)
{
	return word_at(r, r->consumed_at);
}

bool
ring_lost(const struct ring *r, uint64_t *ret)
{
	*ret = r->no_lost ? 0 : word_at(r, LOST_AT);
	return !r->no_lost && *ret < UINT64_C(1) << 63;
}
