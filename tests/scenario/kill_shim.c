/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Preloaded into honed: counts the points at which a crash matters, and kills honed at one of them.
 *
 * 	before each write to the database or its log, after each sync of it,
 * 	before and after each message that changes a node's desired state
 *
 * 	KILL_AT=N        kill -9 at the N-th point; 0 or unset: never
 * 	KILL_COUNT=FILE  appends a line "N what" for each point that is passed
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { FDS = 4096, WANT = 5, HEADER_BYTES = 24 };

static _Atomic uint32_t last_crc[FDS];
static _Atomic long points;
static long kill_at;
static int count_fd = -1;

__attribute__((constructor)) static void
begin(void)
{
	const char *at = getenv("KILL_AT"), *count = getenv("KILL_COUNT");

	kill_at = at != NULL ? atol(at) : 0;
	if (count != NULL)
		count_fd = open(count, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
}

static void
point(const char *what)
{
	long n = atomic_fetch_add(&points, 1) + 1;
	char line[80];
	int len = snprintf(line, sizeof line, "%ld %s\n", n, what);

	if (count_fd >= 0 && write(count_fd, line, (size_t)len) < 0)
		abort();
	if (n == kill_at)
		kill(getpid(), SIGKILL);
}

/* Of the database: its name is asked of the kernel, whoever opened it, however. */
static int
is_database(int fd)
{
	char link[40], path[512];
	ssize_t len;

	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	if ((len = readlink(link, path, sizeof path - 1)) < 0)
		return 0;
	path[len] = '\0';
	return strstr(path, "/forest.db") != NULL && strstr(path, "-shm") == NULL &&
	       strstr(path, ".lock") == NULL;
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t
pwrite64(int fd, const void *data, size_t len, off64_t at)
{
	if (is_database(fd))
		point("write");
	return NEXT(pwrite64)(fd, data, len, at);
}

ssize_t
pwrite(int fd, const void *data, size_t len, off_t at)
{
	if (is_database(fd))
		point("write");
	return NEXT(pwrite)(fd, data, len, at);
}

int
ftruncate64(int fd, off64_t size)
{
	if (is_database(fd))
		point("truncate");
	return NEXT(ftruncate64)(fd, size);
}

int
fdatasync(int fd)
{
	int rc = NEXT(fdatasync)(fd);

	if (is_database(fd))
		point("sync");
	return rc;
}

int
fsync(int fd)
{
	int rc = NEXT(fsync)(fd);

	if (is_database(fd))
		point("sync");
	return rc;
}

/* The header's checksum tells a new want from one that is said again (wire/frame.h). */
static int
is_new_want(int fd, const uint8_t *h, size_t n)
{
	uint32_t crc;

	if (n < HEADER_BYTES || fd < 0 || fd >= FDS || memcmp(h, "HONE", 4) != 0 ||
	    (h[6] | h[7] << 8) != WANT)
		return 0;
	memcpy(&crc, h + 12, sizeof crc);
	return atomic_exchange(&last_crc[fd], crc) != crc;
}

ssize_t
send(int fd, const void *data, size_t len, int flags)
{
	int is_want = is_new_want(fd, data, len);
	ssize_t n;

	if (is_want)
		point("before a want");
	n = NEXT(send)(fd, data, len, flags);
	if (is_want)
		point("after a want");
	return n;
}
