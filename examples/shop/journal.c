/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int fd = -1;

int
journal_open(const char *path)
{
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	if (fd < 0)
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
	return fd < 0 ? -1 : 0;
}

int
journal_write(const char *entry, size_t length)
{
	ssize_t n = write(fd, entry, length);

	if (n == (ssize_t)length)
		return 0;
	fprintf(stderr, "journal: %s\n", n < 0 ? strerror(errno) : "entry written in part");
	return -1;
}

int
journal_sync(void)
{
	if (fdatasync(fd) == 0)
		return 0;
	fprintf(stderr, "journal: %s\n", strerror(errno));
	return -1;
}
