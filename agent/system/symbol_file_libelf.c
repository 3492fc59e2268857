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

/* Converts the distance from the file's first byte to an address in the file's own terms, by its
 * first loaded segment. */
static bool
file_address(Elf *elf, uint64_t from_start, uint64_t *ret)
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
		*ret = from_start + p.p_vaddr - p.p_offset;
		return true;
	}
	return false;
}

/* The symbol of one table that contains the address; its name belongs to elf. NULL: none. */
static const char *
find_in_table(Elf *elf, Elf_Scn *section, const GElf_Shdr *head, uint64_t address)
{
	GElf_Shdr strings;
	Elf_Data *data;
	GElf_Sym s;

	if (gelf_getshdr(elf_getscn(elf, head->sh_link), &strings) == NULL ||
	    strings.sh_size > SECTION_BYTES_MAX || (data = elf_getdata(section, NULL)) == NULL)
		return NULL;
	for (int i = 0; gelf_getsym(data, i, &s) != NULL; i++) {
		int type = GELF_ST_TYPE(s.st_info);

		if ((type == STT_OBJECT || type == STT_FUNC) && s.st_shndx != SHN_UNDEF &&
		    address >= s.st_value && address - s.st_value < s.st_size)
			return elf_strptr(elf, head->sh_link, s.st_name);
	}
	return NULL;
}

bool
symbol_file_find(int fd, uint64_t from_start, char name[SYMBOL_NAME_MAX + 1])
{
	const char *found = NULL;
	Elf_Scn *section = NULL;
	uint64_t address;
	int tables = 0;
	GElf_Shdr head;
	Elf *elf;

	if (elf_version(EV_CURRENT) == EV_NONE || !sections_are_bounded(fd) ||
	    (elf = elf_begin(fd, ELF_C_READ, NULL)) == NULL)
		return false;
	if (elf_kind(elf) == ELF_K_ELF && file_address(elf, from_start, &address))
		while (found == NULL && tables < TABLES_MAX &&
		       (section = elf_nextscn(elf, section)) != NULL)
			if (gelf_getshdr(section, &head) != NULL &&
			    (head.sh_type == SHT_SYMTAB || head.sh_type == SHT_DYNSYM) &&
			    head.sh_size <= SECTION_BYTES_MAX) {
				found = find_in_table(elf, section, &head, address);
				tables++;
			}
	name[0] = '\0';
	if (found != NULL)
		strncat(name, found, SYMBOL_NAME_MAX);
	elf_end(elf);
	return name[0] != '\0';
}
