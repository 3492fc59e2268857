/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A traced program chooses the names and the contents of the files that it maps: a length, that many
 * bytes of a name, 2 bytes of position, then the file, which this process maps. Whatever they are, each
 * address has no name, or a short one that can be printed; and another look says the same.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent/system/symbols.h"

enum { NAME_MAX_BYTES = 200, MAPPED_BYTES = 8192 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static char folder[] = "/dev/shm/hone-fuzz-symbols.XXXXXX",
	    path[sizeof folder + NAME_MAX_BYTES + 2];

static void
must(int ok)
{
	if (!ok)
		abort();
}

static void
forget(void)
{
	if (path[0] != '\0')
		unlink(path);
	rmdir(folder);
}

/* The name may be any but those that are no file's. */
static void
choose_path(const uint8_t *name, size_t len)
{
	int at = snprintf(path, sizeof path, "%s/p", folder);

	for (size_t i = 0; i < len; i++)
		path[at++] = name[i] == '/' || name[i] == '\0' ? '_' : (char)name[i];
	path[at] = '\0';
}

static void
look(struct symbols *s, uint64_t address)
{
	char first[SYMBOL_TEXT_MAX + 1] = "";
	const char *name = symbols_name(s, address);

	if (name != NULL) {
		must(name[0] != '\0' && strlen(name) <= SYMBOL_TEXT_MAX);
		must(strchr(name, '+') != NULL);
		for (const char *c = name; *c != '\0'; c++)
			must((unsigned char)*c >= 0x20 && *c != 0x7f);
		memcpy(first, name, strlen(name));
	}
	name = symbols_name(s, address);
	must(strcmp(first, name != NULL ? name : "") == 0);
}

static void
look_at_mapping(uint64_t base, uint64_t from_start)
{
	struct symbols *s = symbols_new((uint32_t)getpid());

	must(s != NULL);
	look(s, base);
	look(s, base + from_start % MAPPED_BYTES);
	look(s, base + MAPPED_BYTES - 1);
	look(s, (uint64_t)(uintptr_t)s); /* of the heap */
	look(s, from_start);
	look(s, UINT64_MAX);
	symbols_free(s);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	uint16_t from_start;
	size_t name_len;
	void *mapped;
	int fd;

	if (len < 1 + sizeof from_start)
		return 0;
	if (path[0] == '\0') {
		must(mkdtemp(folder) != NULL);
		atexit(forget);
	}
	name_len = data[0] % (NAME_MAX_BYTES + 1);
	name_len = name_len < len - 1 - sizeof from_start ? name_len : len - 1 - sizeof from_start;
	choose_path(data + 1, name_len);
	memcpy(&from_start, data + 1 + name_len, sizeof from_start);
	data += 1 + name_len + sizeof from_start;
	len -= 1 + name_len + sizeof from_start;
	must((fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600)) >= 0);
	must(pwrite(fd, data, len, 0) == (ssize_t)len && ftruncate(fd, MAPPED_BYTES) == 0);
	mapped = mmap(NULL, MAPPED_BYTES, PROT_READ, MAP_SHARED, fd, 0);
	must(mapped != MAP_FAILED);
	close(fd);
	look_at_mapping((uint64_t)(uintptr_t)mapped, from_start);
	munmap(mapped, MAPPED_BYTES);
	unlink(path);
	return 0;
}
