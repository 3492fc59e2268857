/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE
#include "agent/system/symbols.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/hash.h"

enum { NAMES_MAX = 256, NAME_MAX_BYTES = 63, TABLE_MAX = 64 << 20 };
static const char NOTHING[] = "";

struct symbols {
	uint32_t pid, count;
	struct map names; /* address + 1 -> text; NOTHING: looked up in vain */
	struct arena arena;
};

struct place { /* a file's stretch of the address space: its mappings, and its data right behind
	          them */
	uint64_t from, to; /* from: where the file's first byte is */
	char path[PATH_MAX];
};

struct symbols *
symbols_new(uint32_t pid)
{
	struct symbols *s = calloc(1, sizeof(*s));

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

/* ---- where it is ---- */

/* Takes a line of maps into account; true: the address is in the place, and that is of a file. Data
 * that is not in the file (bss) is mapped without a name, right behind what is. */
static bool
place_line(struct place *at, const char *line, uint64_t address)
{
	unsigned long long from, to, offset;
	int name = 0;
	size_t len;

	if (sscanf(line, "%llx-%llx %*s %llx %*s %*s %n", &from, &to, &offset, &name) != 3)
		return false;
	len = strcspn(line + name, "\n");
	if (line[name] == '/' && len < sizeof(at->path) &&
	    (strncmp(at->path, line + name, len) != 0 || at->path[len] != '\0')) {
		memcpy(at->path, line + name, len);
		at->path[len] = '\0';
		at->from = from - offset;
		at->to = from;
	}
	if (line[name] != '/' && (len > 0 || from != at->to))
		at->path[0] = '\0';
	at->to = to;
	return at->path[0] != '\0' && address >= from && address < to;
}

static bool
place_find(struct place *at, uint32_t pid, uint64_t address)
{
	char path[64], *line = NULL;
	bool found = false;
	size_t room = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%u/maps", pid);
	if ((f = fopen(path, "re")) == NULL)
		return false;
	at->path[0] = '\0';
	while (!found && getline(&line, &room, f) > 0)
		found = place_line(at, line, address);
	free(line);
	fclose(f);
	return found;
}

/* ---- what its file calls it ---- */

/* As the process sees it, which may live under another root. Read, not mapped: who writes to the
 * file meanwhile must not end us. */
static int
file_open(uint32_t pid, const char *file)
{
	char path[PATH_MAX + 32];
	struct stat st;
	int fd;

	snprintf(path, sizeof(path), "/proc/%u/root%s", pid, file);
	if ((fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)) < 0)
		return -1;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		return fd;
	close(fd);
	return -1;
}

static bool
read_at(int fd, void *to, size_t bytes, uint64_t offset)
{
	return offset <= INT64_MAX - bytes && pread(fd, to, bytes, (off_t)offset) == (ssize_t)bytes;
}

/* n things of that size; the caller's. NULL: too many, not there, out of memory. */
static void *
read_table(int fd, uint64_t offset, uint64_t n, size_t size)
{
	void *all = n > 0 && n <= TABLE_MAX / size ? malloc(n * size) : NULL;

	if (all != NULL && !read_at(fd, all, n * size, offset)) {
		free(all);
		all = NULL;
	}
	return all;
}

/* From how far it is from the file's first byte, in memory, to the address in the file's own terms.
 */
static bool
own_address(int fd, const Elf64_Ehdr *head, uint64_t *address)
{
	Elf64_Phdr *p = read_table(fd, head->e_phoff, head->e_phnum, sizeof(*p));
	uint32_t k = 0;

	while (p != NULL && k < head->e_phnum && p[k].p_type != PT_LOAD)
		k++;
	if (p != NULL && k < head->e_phnum)
		*address += p[k].p_vaddr - p[k].p_offset;
	free(p);
	return p != NULL;
}

/* The object or function that has it, in one table of symbols. */
static bool
symbol_in(int fd, const Elf64_Shdr *symbols, const Elf64_Shdr *strings, uint64_t address,
    char name[NAME_MAX_BYTES + 1])
{
	uint64_t n = symbols->sh_size / sizeof(Elf64_Sym), k = 0;
	Elf64_Sym *s = read_table(fd, symbols->sh_offset, n, sizeof(*s));
	bool found = false;

	for (; s != NULL && k < n && !found; k++) {
		int type = ELF64_ST_TYPE(s[k].st_info);

		found = (type == STT_OBJECT || type == STT_FUNC) && s[k].st_shndx != SHN_UNDEF &&
		        address >= s[k].st_value && address - s[k].st_value < s[k].st_size &&
		        s[k].st_name < strings->sh_size;
	}
	if (found) /* at the file's end there are fewer bytes: what is there is a name, too */
		found = pread(fd, name, NAME_MAX_BYTES,
			    (off_t)(strings->sh_offset + s[k - 1].st_name)) > 0 &&
		        name[0] != '\0';
	free(s);
	return found;
}

static bool
symbol_find(int fd, uint64_t address, char name[NAME_MAX_BYTES + 1])
{
	Elf64_Shdr *s = NULL;
	Elf64_Ehdr head;
	bool found = false;
	int tables = 0;

	if (read_at(fd, &head, sizeof(head), 0) && memcmp(head.e_ident, ELFMAG, SELFMAG) == 0 &&
	    head.e_ident[EI_CLASS] == ELFCLASS64 && own_address(fd, &head, &address))
		s = read_table(fd, head.e_shoff, head.e_shnum, sizeof(*s));
	/* A file has one table of each type; one that says it has thousands is not worth the time.
	 */
	for (uint32_t k = 0; s != NULL && !found && tables < 2 && k < head.e_shnum; k++)
		if ((s[k].sh_type == SHT_SYMTAB || s[k].sh_type == SHT_DYNSYM) &&
		    s[k].sh_link < head.e_shnum) {
			found = symbol_in(fd, &s[k], &s[s[k].sh_link], address, name);
			tables++;
		}
	free(s);
	return found;
}

static void
describe(char text[SYMBOL_TEXT_MAX + 1], uint32_t pid, const struct place *at, uint64_t address)
{
	const char *file = strrchr(at->path, '/') + 1;
	char name[NAME_MAX_BYTES + 1] = "";
	int fd = file_open(pid, at->path);

	if (fd >= 0 && symbol_find(fd, address - at->from, name))
		snprintf(text, SYMBOL_TEXT_MAX + 1, "%.30s+%s", file, name);
	else
		snprintf(text, SYMBOL_TEXT_MAX + 1, "%.30s+0x%llx", file,
		    (unsigned long long)(address - at->from));
	if (fd >= 0)
		close(fd);
	for (char *c = text; *c != '\0'; c++) /* it is shown to people */
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			*c = '_';
}

const char *
symbols_name(struct symbols *s, uint64_t address)
{
	const char *known = map_get(&s->names, address + 1);
	char text[SYMBOL_TEXT_MAX + 1] = "";
	struct place at;

	if (known != NULL || s->count == NAMES_MAX)
		return known != NULL && known[0] != '\0' ? known : NULL;
	s->count++;
	if (place_find(&at, s->pid, address))
		describe(text, s->pid, &at, address);
	known = text[0] != '\0' ? arena_text(&s->arena, text, strlen(text)) : NOTHING;
	if (known == NULL || !map_put(&s->names, address + 1, (void *)(uintptr_t)known))
		return NULL;
	return known[0] != '\0' ? known : NULL;
}
