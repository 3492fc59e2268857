/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agent/system/symbol_file.h"

#include <gelf.h>
#include <libelf.h>
#include <string.h>
#include <unistd.h>

enum { SECTION_BYTES_MAX = 64 << 20, TABLES_MAX = 2 };

/*
 * libelf allocates memory for each section that the file claims to have. A file with 65280 sections
 * or more states their number elsewhere (e_shnum is 0), where only the file's size bounds it. No
 * program has that many, so such files are not opened. 0 is the same in both byte orders.
 */
static bool
sections_are_bounded(int fd)
{
	union {
		Elf64_Ehdr wide;
		Elf32_Ehdr narrow;
	} head;

	if (pread(fd, &head, sizeof head, 0) != (ssize_t)sizeof head)
		return false;
	if (head.wide.e_ident[EI_CLASS] == ELFCLASS64)
		return head.wide.e_shnum != 0;
	return head.narrow.e_shnum != 0;
}

/* The address, in the file's own terms, where its first byte is or would be mapped: by its first
 * loaded segment. */
static bool
file_begin(Elf *elf, uint64_t *ret)
{
	size_t count;
	GElf_Phdr p;

	if (elf_getphdrnum(elf, &count) != 0)
		return false;
	for (size_t i = 0; i < count && i <= INT32_MAX; i++) {
		if (gelf_getphdr(elf, (int)i, &p) == NULL)
			return false;
		if (p.p_type != PT_LOAD)
			continue;
		*ret = p.p_vaddr - p.p_offset;
		return true;
	}
	return false;
}

/* What is searched: the symbol that contains an address (name NULL), or the exported object of a name. */
struct wanted {
	const char *name;
	uint64_t address, bytes;
};

static bool
is_wanted(const struct wanted *w, const GElf_Sym *s, const char *name)
{
	int type = GELF_ST_TYPE(s->st_info);

	if (s->st_shndx == SHN_UNDEF)
		return false;
	if (w->name != NULL)
		return type == STT_OBJECT && GELF_ST_BIND(s->st_info) == STB_GLOBAL &&
		       s->st_size >= w->bytes && name != NULL && strcmp(name, w->name) == 0;
	return (type == STT_OBJECT || type == STT_FUNC) && w->address >= s->st_value &&
	       w->address - s->st_value < s->st_size;
}

/* The symbol of one table that is wanted; its name belongs to elf. NULL: none. */
static const char *
find_in_table(
    Elf *elf, Elf_Scn *section, const GElf_Shdr *head, const struct wanted *w, GElf_Sym *ret)
{
	GElf_Shdr strings;
	const char *name;
	Elf_Data *data;

	if (gelf_getshdr(elf_getscn(elf, head->sh_link), &strings) == NULL ||
	    strings.sh_size > SECTION_BYTES_MAX || (data = elf_getdata(section, NULL)) == NULL)
		return NULL;
	for (int i = 0; gelf_getsym(data, i, ret) != NULL; i++) {
		name = w->name != NULL ? elf_strptr(elf, head->sh_link, ret->st_name) : NULL;
		if (is_wanted(w, ret, name))
			return elf_strptr(elf, head->sh_link, ret->st_name);
	}
	return NULL;
}

/* Searches at most two symbol tables. The name belongs to elf. */
static const char *
find_in_file(Elf *elf, const struct wanted *w, GElf_Sym *ret)
{
	const char *found = NULL;
	Elf_Scn *section = NULL;
	int tables = 0;
	GElf_Shdr head;

	while (
	    found == NULL && tables < TABLES_MAX && (section = elf_nextscn(elf, section)) != NULL)
		if (gelf_getshdr(section, &head) != NULL &&
		    (head.sh_type == SHT_DYNSYM ||
			(head.sh_type == SHT_SYMTAB && w->name == NULL)) &&
		    head.sh_size <= SECTION_BYTES_MAX) {
			found = find_in_table(elf, section, &head, w, ret);
			tables++;
		}
	return found;
}

/* NULL: no ELF file whose sections are bounded. The caller ends it. */
static Elf *
elf_open(int fd)
{
	Elf *elf;

	if (elf_version(EV_CURRENT) == EV_NONE || !sections_are_bounded(fd) ||
	    (elf = elf_begin(fd, ELF_C_READ, NULL)) == NULL)
		return NULL;
	if (elf_kind(elf) == ELF_K_ELF)
		return elf;
	elf_end(elf);
	return NULL;
}

bool
symbol_file_find(int fd, uint64_t from_start, char name[SYMBOL_NAME_MAX + 1])
{
	struct wanted w = { 0 };
	const char *found = NULL;
	GElf_Sym symbol;
	Elf *elf = elf_open(fd);

	if (elf == NULL)
		return false;
	if (file_begin(elf, &w.address)) {
		w.address += from_start;
		found = find_in_file(elf, &w, &symbol);
	}
	name[0] = '\0';
	if (found != NULL)
		strncat(name, found, SYMBOL_NAME_MAX);
	elf_end(elf);
	return name[0] != '\0';
}

bool
symbol_file_place(int fd, const char *name, uint64_t bytes, uint64_t *from_start)
{
	struct wanted w = { .name = name, .bytes = bytes };
	GElf_Sym symbol;
	uint64_t begin;
	bool found;
	Elf *elf = elf_open(fd);

	if (elf == NULL)
		return false;
	found = file_begin(elf, &begin) && find_in_file(elf, &w, &symbol) != NULL;
	if (found)
		*from_start = symbol.st_value - begin;
	elf_end(elf);
	return found;
}
