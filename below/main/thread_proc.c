/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE
#include "below/main/thread_proc.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "below/kernel/futex_owner.h"

enum { PAGE = 4096, PIECES = 16, SELF_AT = 2 /* header.self, in words */, STRUCT_MAX = 4096 };

static int
open_file(pid_t pid, pid_t tid, const char *name)
{
	char path[80];

	snprintf(path, sizeof path, "/proc/%d/task/%d/%s", (int)pid, (int)tid, name);
	return open(path, O_RDONLY | O_CLOEXEC);
}

/* Reads from the begin; the text ends with a zero. */
static bool
read_start(int fd, char *text, size_t size)
{
	ssize_t n = pread(fd, text, size - 1, 0);

	text[n > 0 ? n : 0] = '\0';
	return n > 0;
}

static bool
read_file(pid_t pid, pid_t tid, const char *name, char *text, size_t size)
{
	int fd = open_file(pid, tid, name);
	bool ok = fd >= 0 && read_start(fd, text, size);

	if (fd >= 0)
		close(fd);
	return ok;
}

bool
thread_open(struct thread_files *f, pid_t pid, pid_t tid)
{
	if ((f->schedstat = open_file(pid, tid, "schedstat")) >= 0 &&
	    (f->syscall = open_file(pid, tid, "syscall")) >= 0)
		return true;
	if (f->schedstat >= 0)
		close(f->schedstat);
	*f = (struct thread_files){ 0 };
	return false;
}

void
thread_close(struct thread_files *f)
{
	if (f->schedstat > 0)
		close(f->schedstat);
	if (f->syscall > 0)
		close(f->syscall);
	*f = (struct thread_files){ 0 };
}

static bool
counts_read(int fd, struct thread_counts *ret)
{
	unsigned long long run, ready, turns;
	char text[96];

	if (!read_start(fd, text, sizeof text) ||
	    sscanf(text, "%llu %llu %llu", &run, &ready, &turns) != 3)
		return false;
	*ret = (struct thread_counts){ run, ready, turns };
	return true;
}

bool
thread_counts_read(const struct thread_files *f, struct thread_counts *ret)
{
	return counts_read(f->schedstat, ret);
}

bool
thread_is_counted(pid_t tid)
{
	struct thread_counts counts;
	int fd = open_file(tid, tid, "schedstat");
	bool is = fd >= 0 && counts_read(fd, &counts) && counts.turns > 0;

	if (fd >= 0)
		close(fd);
	return is;
}

bool
thread_call_read(const struct thread_files *f, struct look_call *ret)
{
	char text[256];

	return read_start(f->syscall, text, sizeof text) && look_call_parse(ret, text);
}

bool
thread_uninterruptible(pid_t pid, pid_t tid)
{
	char text[256];
	const char *end;

	return read_file(pid, tid, "stat", text, sizeof text) &&
	       (end = strrchr(text, ')')) != NULL && strncmp(end, ") D", 3) == 0;
}

void
thread_wchan(pid_t pid, pid_t tid, char ret[THREAD_WCHAN_MAX + 1])
{
	if (!read_file(pid, tid, "wchan", ret, THREAD_WCHAN_MAX + 1))
		ret[0] = '\0';
}

size_t
thread_memory(pid_t pid, uint64_t from, void *ret, size_t n)
{
	struct iovec here = { ret, n }, there[PIECES + 1];
	size_t pieces = 0, at = 0;
	ssize_t got;

	while (at < n && pieces <= PIECES) { /* a page that is not there ends it, not all of it */
		size_t len = PAGE - (from + at) % PAGE;

		len = len < n - at ? len : n - at;
		there[pieces++] = (struct iovec){ (void *)(uintptr_t)(from + at), len };
		at += len;
	}
	got = process_vm_readv(pid, &here, 1, there, pieces, 0);
	return got > 0 ? (size_t)got : 0;
}

static bool
points_to_itself(pid_t pid, uint64_t at)
{
	uint64_t words[SELF_AT + 1];

	return thread_memory(pid, at, words, sizeof words) == sizeof words && words[0] == at &&
	       words[SELF_AT] == at;
}

/* By the distance of this program's glibc, which need not be that of the other one; else by looking for the pointer. */
static int64_t
find_distance(pid_t pid, uint64_t head)
{
	static const int64_t STEP = 64; /* the alignment of the struct */
	uint64_t own = 0, words[STRUCT_MAX / 8];
	size_t len;

	if (syscall(SYS_get_robust_list, 0, &own, &len) == 0 && own != 0) {
		int64_t distance = (int64_t)(own - (uint64_t)pthread_self());

		if (points_to_itself(pid, head - (uint64_t)distance))
			return distance;
	}
	head &= ~UINT64_C(7);
	if (thread_memory(pid, head - STRUCT_MAX, words, sizeof words) != sizeof words)
		return 0;
	for (size_t i = STRUCT_MAX / 8 - SELF_AT; i-- > 0;) {
		uint64_t at = head - STRUCT_MAX + i * 8;

		if (at % (uint64_t)STEP == 0 && words[i] == at && words[i + SELF_AT] == at)
			return (int64_t)(head - at);
	}
	return 0;
}

uint64_t
thread_pointer(pid_t pid, pid_t tid, int64_t *distance)
{
	uint64_t head = 0, at;
	size_t len;

	if (syscall(SYS_get_robust_list, tid, &head, &len) != 0 || head == 0)
		return 0;
	if (*distance == 0)
		*distance = find_distance(pid, head);
	at = head - (uint64_t)*distance;
	return *distance != 0 && points_to_itself(pid, at) ? at : 0;
}

uint32_t
thread_futex_owner(pid_t pid, const struct look_call *futex)
{
	uint64_t word = futex->arguments[0];
	int at = futex_owner_at(word, futex->arguments[1], (unsigned)futex->arguments[2]);
	uint32_t owner = 0;

	if (at == FUTEX_NO_OWNER ||
	    thread_memory(pid, word + (uint64_t)at, &owner, sizeof owner) != sizeof owner)
		return 0;
	return at == 0 ? owner & FUTEX_OWNER_MASK : owner;
}

void
thread_name(pid_t pid, pid_t tid, char ret[THREAD_NAME_MAX + 1])
{
	char path[64];
	ssize_t n = -1;
	int fd;

	snprintf(path, sizeof path, "/proc/%d/task/%d/comm", (int)pid, (int)tid);
	if ((fd = open(path, O_RDONLY | O_CLOEXEC)) >= 0) {
		n = read(fd, ret, THREAD_NAME_MAX);
		close(fd);
	}
	n = n > 0 && ret[n - 1] == '\n' ? n - 1 : n;
	ret[n > 0 ? n : 0] = '\0';
	thread_name_clean(ret);
}

void
thread_name_clean(char *name)
{
	for (char *c = name; *c != '\0'; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = '?';
}
