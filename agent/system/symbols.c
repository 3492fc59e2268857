/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE
#include "agent/system/symbols.h"

#include <assert.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/system/symbol_file.h"
#include "base/arena.h"
#include "base/hash_map.h"

enum { LOOKUPS_MAX = 256 };

/* Stands in the table for an address that has no name. */
static const char NO_NAME[] = "";

struct symbols {
	uint32_t pid, lookups;
	/* Address + 1 (0 is no hash key) to its text, or to NO_NAME. */
	struct map names;
	struct arena arena;
};

/* The part of the address space that one file takes: its mappings, and its zero-initialised data
 * directly behind them. */
struct file_range {
	/* The address of the file's first byte, and the end of the last mapping. */
	uint64_t first_byte, end;
	char path[PATH_MAX];
};

struct symbols *
symbols_new(uint32_t pid)
{
	struct symbols *s = calloc(1, sizeof *s);

	if (s != NULL)
		s->pid = pid;
	return s;
}

void
symbols_free(struct symbols *s)
{
	if (s == NULL)
		return;
	map_release(&s->names);
	arena_release(&s->arena);
	free(s);
}

/* Takes one line of /proc/PID/maps into account. True: the address lies in this mapping, which
 * belongs to the file in *range. Zero-initialised data is mapped without a file name directly
 * behind the mapping with one, so it counts as part of that file. */
static bool
range_take_line(struct file_range *range, const char *line, uint64_t address)
{
	unsigned long long from, to, offset;
	int name = 0;
	size_t len;

	if (sscanf(line, "%llx-%llx %*s %llx %*s %*s %n", &from, &to, &offset, &name) != 3)
		return false;
	len = strcspn(line + name, "\n");
	if (line[name] == '/' && len < sizeof range->path &&
	    (strncmp(range->path, line + name, len) != 0 || range->path[len] != '\0')) {
		memcpy(range->path, line + name, len);
		range->path[len] = '\0';
		range->first_byte = from - offset;
		range->end = from;
	}
	if (line[name] != '/' && (len > 0 || from != range->end))
		range->path[0] = '\0';
	range->end = to;
	return range->path[0] != '\0' && address >= from && address < to;
}

static bool
range_find(struct file_range *range, uint32_t pid, uint64_t address)
{
	char path[64], *line = NULL;
	bool found = false;
	size_t room = 0;
	FILE *f;

	snprintf(path, sizeof path, "/proc/%u/maps", pid);
	if ((f = fopen(path, "re")) == NULL)
		return false;
	range->path[0] = '\0';
	while (!found && getline(&line, &room, f) > 0)
		found = range_take_line(range, line, address);
	free(line);
	fclose(f);
	return found;
}

/* Opens a file as the process sees it, which may have another root. -1: no regular file. */
static int
open_of_process(uint32_t pid, const char *file)
{
	char path[PATH_MAX + 32];
	struct stat st;
	int fd;

	snprintf(path, sizeof path, "/proc/%u/root%s", pid, file);
	if ((fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)) < 0)
		return -1;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		return fd;
	close(fd);
	return -1;
}

static void
describe(
    char text[SYMBOL_TEXT_MAX + 1], uint32_t pid, const struct file_range *at, uint64_t address)
{
	const char *file = strrchr(at->path, '/') + 1;
	uint64_t from_start = address - at->first_byte;
	char name[SYMBOL_NAME_MAX + 1];
	int fd = open_of_process(pid, at->path);

	if (fd >= 0 && symbol_file_find(fd, from_start, name))
		snprintf(text, SYMBOL_TEXT_MAX + 1, "%.30s+%s", file, name);
	else
		snprintf(text, SYMBOL_TEXT_MAX + 1, "%.30s+0x%llx", file,
		    (unsigned long long)from_start);
	if (fd >= 0)
		close(fd);
	/* It is printed on terminals: no control characters. */
	for (char *c = text; *c != '\0'; c++)
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			*c = '_';
}

const char *
symbols_name(struct symbols *s, uint64_t address)
{
	const char *name;
	char text[SYMBOL_TEXT_MAX + 1] = "";
	struct file_range at;

	assert(s != NULL);
	name = map_get(&s->names, address + 1);
	if (name != NULL || s->lookups == LOOKUPS_MAX)
		return name != NULL && name[0] != '\0' ? name : NULL;
	s->lookups++;
	if (range_find(&at, s->pid, address))
		describe(text, s->pid, &at, address);
	name = text[0] != '\0' ? arena_text(&s->arena, text, strlen(text)) : NO_NAME;
	if (name == NULL || !map_put(&s->names, address + 1, (void *)(uintptr_t)name))
		return NULL;
	return name[0] != '\0' ? name : NULL;
}
