/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A traced program owns the file of its ring, and may shorten it while we have it mapped. A load from
 * the mapping then raises SIGBUS. So all rings are mapped within one range of addresses, and a handler
 * replaces a page of that range which has lost its file by a page of zeroes: the load returns 0, and
 * ring_intact() says so from then on. This costs nothing as long as no file is shortened; pread()
 * instead of a load costs a system call for each ring and poll.
 */
#define _GNU_SOURCE
#include "agent/reader/ring.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
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

/* ---- the range of addresses ---- */

enum { RINGS_MAX = 65536 }; /* more than the kernel's default limit of mappings (65530) */

static struct {
	pthread_mutex_t lock;
	uint8_t *base; /* NULL: not reserved yet; no access but to rings */
	size_t page_bytes;
	uint32_t next; /* where the search for a free place begins */
	bool used[RINGS_MAX];
	struct sigaction before; /* what SIGBUS did before */
} range = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* Any other fault does what it did before: it is repeated when the handler returns. */
static void
on_bus_error(int signal_number, siginfo_t *i, void *context)
{
	uintptr_t at = (uintptr_t)i->si_addr - (uintptr_t)range.base;
	int error = errno;

	(void)context;
	if (i->si_code <= 0 || at >= RINGS_MAX * range.page_bytes ||
	    mmap(range.base + at / range.page_bytes * range.page_bytes, range.page_bytes, PROT_READ,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
		sigaction(signal_number, &range.before, NULL);
	errno = error;
}

static void
place_clear(uint32_t place)
{
	mmap(range.base + place * range.page_bytes, range.page_bytes, PROT_NONE,
	    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

static bool
range_reserve(void)
{
	struct sigaction act = { .sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO };
	void *base;

	if (range.base != NULL)
		return true;
	range.page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	base = mmap(NULL, RINGS_MAX * range.page_bytes, PROT_NONE,
	    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (base == MAP_FAILED)
		return false;
	range.base = base;
	return sigaction(SIGBUS, &act, &range.before) == 0;
}

/* Maps the first page of the file. NULL, with errno: no memory, or no place left. */
static const uint8_t *
range_map(int fd)
{
	void *map = NULL;
	uint32_t n = 0;

	pthread_mutex_lock(&range.lock);
	if (range_reserve()) {
		errno = ENOMEM;
		for (; n < RINGS_MAX && range.used[range.next]; n++)
			range.next = (range.next + 1) % RINGS_MAX;
		if (n < RINGS_MAX) {
			map = mmap(range.base + range.next * range.page_bytes, HEAD_BYTES,
			    PROT_READ, MAP_SHARED | MAP_FIXED, fd, 0);
			range.used[range.next] = map != MAP_FAILED;
		}
	}
	pthread_mutex_unlock(&range.lock);
	return map == MAP_FAILED ? NULL : map;
}

static void
range_unmap(const uint8_t *head)
{
	uint32_t place = (uint32_t)((size_t)(head - range.base) / range.page_bytes);

	pthread_mutex_lock(&range.lock);
	place_clear(place);
	range.used[place] = false;
	pthread_mutex_unlock(&range.lock);
}

/* ---- one ring ---- */

enum { MODE_OVERWRITE, MODE_DISCARD };

/* overwrite: a ring in that mode will do, too. */
static int
check_head(struct ring *r, const uint8_t *head, const char *name, bool overwrite, struct err *e)
{
	struct crash_head h;

	memcpy(&h, head, sizeof h);
	if (memcmp(h.magic, magic, sizeof magic) != 0 ||
	    (h.mode != MODE_DISCARD && !(overwrite && h.mode == MODE_OVERWRITE)))
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

bool
ring_peek(int dir, const char *name, uint64_t *produced, uint64_t *bytes)
{
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	uint8_t head[HEAD_BYTES];
	struct ring r;
	bool ok;

	if (fd < 0)
		return false;
	ok = pread(fd, head, sizeof head, 0) == (ssize_t)sizeof head &&
	     check_head(&r, head, name, true, NULL) == 0;
	close(fd);
	if (!ok)
		return false;
	memcpy(produced, head + r.produced_at, sizeof *produced);
	*bytes = r.bytes;
	return true;
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
	r->head = range_map(fd);
	rc = r->head != NULL ? 0 : err_errno(e, "%s", name);
	close(fd);
	if (rc != 0)
		return rc;
	if ((rc = check_head(r, r->head, name, false, e)) != 0)
		ring_unmap(r);
	return rc;
}

void
ring_unmap(struct ring *r)
{
	if (r->head != NULL)
		range_unmap(r->head);
	memset(r, 0, sizeof *r);
}

static uint64_t
word_at(const struct ring *r, uint32_t at)
{
	assert(r->head != NULL);
	return __atomic_load_n((const uint64_t *)(const void *)(r->head + at), __ATOMIC_ACQUIRE);
}

bool
ring_intact(const struct ring *r)
{
	uint64_t first;

	memcpy(&first, magic, sizeof first);
	return word_at(r, 0) == first;
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
