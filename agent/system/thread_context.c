/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE
#include "agent/system/thread_context.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "agent/system/process.h"
#include "agent/system/symbol_file.h"

enum { CONTEXT_BYTES_MAX = 4096, OFFSET_MAX = 1 << 30, MAPS_LINES_MAX = 65536 };

static const char LIBRARY[] = "libhone.so";

const char *
thread_context_text(enum thread_context c)
{
	static const char *const TEXTS[] = {
		[THREAD_CONTEXT_FOUND] = "its context is known",
		[THREAD_CONTEXT_NONE] = "it uses no libhone that says where its context lies",
		[THREAD_CONTEXT_HIDDEN] = "its mappings may not be read",
		[THREAD_CONTEXT_UNREAD] = "its memory may not be read",
		[THREAD_CONTEXT_BAD] = "what its libhone says of its context is malformed",
	};

	return TEXTS[c];
}

static bool
lies_within(const struct hone_context_place *p, uint16_t at, uint16_t bytes)
{
	return at % bytes == 0 && at + (uint32_t)bytes <= p->context_bytes;
}

enum thread_context
thread_context_check(const struct hone_context_place *p)
{
	bool ok = p->magic == HONE_CONTEXT_MAGIC && p->size >= sizeof *p &&
	          p->context_bytes <= CONTEXT_BYTES_MAX && p->offset != 0 && p->offset % 8 == 0 &&
	          p->offset > -OFFSET_MAX && p->offset < OFFSET_MAX &&
	          lies_within(p, p->trace_id_high, 8) && lies_within(p, p->trace_id, 8) &&
	          lies_within(p, p->unit_id, 8) && lies_within(p, p->request_type, 4) &&
	          lies_within(p, p->sampled, 1) && lies_within(p, p->probed, 1);

	return ok ? THREAD_CONTEXT_FOUND : THREAD_CONTEXT_BAD;
}

/* Takes one line of /proc/PID/maps. True: it maps the begin of a file libhone.so*, whose path as the process
 * sees it, and address, are set. */
static bool
is_library(const char *line, char path[PATH_MAX], uint64_t *begin)
{
	unsigned long long from, to, offset;
	const char *file;
	int name = 0;
	size_t len;

	if (sscanf(line, "%llx-%llx %*s %llx %*s %*s %n", &from, &to, &offset, &name) != 3 ||
	    name == 0 || offset != 0 || line[name] != '/')
		return false;
	len = strcspn(line + name, "\n");
	if (len >= PATH_MAX)
		return false;
	memcpy(path, line + name, len);
	path[len] = '\0';
	file = strrchr(path, '/') + 1;
	*begin = from;
	return strncmp(file, LIBRARY, sizeof LIBRARY - 1) == 0;
}

static enum thread_context
library_find(pid_t pid, char path[PATH_MAX], uint64_t *begin)
{
	char maps[64], *line = NULL;
	bool found = false;
	size_t room = 0;
	FILE *f;
	int err;

	snprintf(maps, sizeof maps, "/proc/%d/maps", (int)pid);
	if ((f = fopen(maps, "re")) == NULL)
		return errno == EACCES || errno == EPERM ? THREAD_CONTEXT_HIDDEN
		                                         : THREAD_CONTEXT_NONE;
	errno = 0;
	for (int i = 0; !found && i < MAPS_LINES_MAX && getline(&line, &room, f) > 0; i++)
		found = is_library(line, path, begin);
	err = errno;
	free(line);
	fclose(f);
	if (found)
		return THREAD_CONTEXT_FOUND;
	return err == EACCES || err == EPERM ? THREAD_CONTEXT_HIDDEN : THREAD_CONTEXT_NONE;
}

enum thread_context
thread_context_find(pid_t pid, struct hone_context_place *ret, uint64_t *address)
{
	struct iovec here = { ret, sizeof *ret }, there = { NULL, sizeof *ret };
	enum thread_context c;
	uint64_t begin, from_start;
	char path[PATH_MAX];
	bool found;
	int fd;

	if ((c = library_find(pid, path, &begin)) != THREAD_CONTEXT_FOUND)
		return c;
	if ((fd = process_file(pid, path)) < 0)
		return THREAD_CONTEXT_HIDDEN;
	found = symbol_file_place(fd, HONE_CONTEXT_SYMBOL, sizeof *ret, &from_start);
	close(fd);
	if (!found)
		return THREAD_CONTEXT_NONE;
	*address = begin + from_start;
	there.iov_base = (void *)(uintptr_t)*address;
	if (process_vm_readv(pid, &here, 1, &there, 1, 0) != (ssize_t)sizeof *ret)
		return errno == ESRCH ? THREAD_CONTEXT_NONE : THREAD_CONTEXT_UNREAD;
	return thread_context_check(ret);
}
