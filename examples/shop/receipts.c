/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE
#include "receipts.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "service.h"

enum { PAGE = 4096, PAGES = 16384, READ = 150, RECEIPT = 32768, DROP_EVERY_MS = 100 };

static int file = -1, filled;
static atomic_int cold;

static int
fill(void)
{
	char page[PAGE];

	for (int i = 0; i < PAGES; i++) {
		memset(page, i, sizeof page);
		if (pwrite(file, page, sizeof page, (off_t)i * PAGE) != PAGE)
			return -1;
	}
	return fdatasync(file);
}

/* What a machine that is short of memory does. */
static void *
drop_pages(void *unused)
{
	(void)unused;
	for (;;) {
		if (atomic_load(&cold) > 0)
			posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
		service_pause(DROP_EVERY_MS);
	}
	return NULL;
}

int
receipts_open(const char *path)
{
	pthread_t thread;

	file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	if (file < 0 || posix_fadvise(file, 0, 0, POSIX_FADV_RANDOM) != 0) {
		perror(path);
		return -1;
	}
	return pthread_create(&thread, NULL, drop_pages, NULL) == 0 ? 0 : -1;
}

void
receipts_cold(int degree)
{
	if (degree > 0 && !filled && fill() != 0) {
		perror("the receipts");
		return;
	}
	filled |= degree > 0;
	atomic_store(&cold, degree);
}

__attribute__((noinline)) int64_t
receipts_read(int64_t user)
{
	int degree = atomic_load(&cold);
	static __thread int64_t receipt[RECEIPT / 8]; /* on the stack it would hide the callers */
	int64_t sum = 0;

	if (degree == 0 || service_random() >= 0.25)
		return 0;
	for (int i = 0; i < degree * READ; i++) {
		off_t at = (off_t)(service_random() * (PAGES * PAGE / RECEIPT)) * RECEIPT;

		if (pread(file, receipt, sizeof receipt, at) != sizeof receipt)
			return -1;
		sum += receipt[user % (int64_t)(sizeof receipt / sizeof *receipt)];
	}
	return sum;
}
