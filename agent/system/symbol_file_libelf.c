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
	bool thread_local;
};

static bool
is_wanted(const struct wanted *w, const GElf_Sym *s, const char *name)
{
	int type = GELF_ST_TYPE(s->st_info);

	if (s->st_shndx == SHN_UNDEF)
		return false;
	if (w->name != NULL)
		return type == (w->thread_local ? STT_TLS : STT_OBJECT) &&
		       GELF_ST_BIND(s->st_info) == STB_GLOBAL && s->st_size >= w->bytes &&
		       name != NULL && strcmp(name, w->name) == 0;
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

/* ---- thread-local variables ---- */

static bool
segment_of(Elf *elf, uint32_t type, GElf_Phdr *ret)
{
	size_t count;

	if (elf_getphdrnum(elf, &count) != 0)
		return false;
	for (size_t i = 0; i < count && i <= INT32_MAX; i++)
		if (gelf_getphdr(elf, (int)i, ret) != NULL && ret->p_type == type)
			return true;
	return false;
}

/* The loader puts the program's own block directly below the thread pointer. */
static bool
find_fixed(Elf *elf, const GElf_Sym *symbol, struct tls_symbol *ret)
{
	GElf_Phdr block;
	uint64_t align;

	if (!segment_of(elf, PT_TLS, &block) || block.p_memsz > SECTION_BYTES_MAX ||
	    symbol->st_value > block.p_memsz)
		return false;
	align = block.p_align > 1 && block.p_align <= SECTION_BYTES_MAX ? block.p_align : 1;
	ret->model = TLS_FIXED;
	ret->offset = (int64_t)symbol->st_value -
	              (int64_t)((block.p_memsz + align - 1) / align * align);
	return true;
}

static bool
take_relocation(const GElf_Rela *r, struct tls_symbol *ret)
{
	switch (GELF_R_TYPE(r->r_info)) {
	case R_X86_64_TPOFF64:
		ret->model = TLS_OFFSET;
		break;
	case R_X86_64_TLSDESC:
		ret->model = TLS_DESCRIPTOR;
		break;
	case R_X86_64_DTPMOD64:
		ret->model = TLS_MODULE;
		break;
	default:
		return false;
	}
	ret->from_start = r->r_offset;
	return true;
}

/* A relocation of the symbol: by its name, since each section of relocations may have a symbol table of its own. */
static bool
find_relocation(
    Elf *elf, Elf_Scn *section, const GElf_Shdr *head, const char *name, struct tls_symbol *ret)
{
	Elf_Scn *table = elf_getscn(elf, head->sh_link);
	GElf_Shdr symbols;
	Elf_Data *relocations, *names;

	if (table == NULL || gelf_getshdr(table, &symbols) == NULL ||
	    symbols.sh_type != SHT_DYNSYM || symbols.sh_size > SECTION_BYTES_MAX ||
	    (names = elf_getdata(table, NULL)) == NULL ||
	    (relocations = elf_getdata(section, NULL)) == NULL)
		return false;
	for (int i = 0;; i++) {
		const char *its;
		GElf_Rela r;
		GElf_Sym s;

		if (gelf_getrela(relocations, i, &r) == NULL)
			return false;
		if (GELF_R_SYM(r.r_info) != 0 && GELF_R_SYM(r.r_info) <= INT32_MAX &&
		    gelf_getsym(names, (int)GELF_R_SYM(r.r_info), &s) != NULL &&
		    GELF_ST_TYPE(s.st_info) == STT_TLS &&
		    (its = elf_strptr(elf, symbols.sh_link, s.st_name)) != NULL &&
		    strcmp(its, name) == 0 && take_relocation(&r, ret))
			return true;
	}
}

static bool
find_dynamic(Elf *elf, const char *name, struct tls_symbol *ret)
{
	Elf_Scn *section = NULL;
	GElf_Shdr head;

	while ((section = elf_nextscn(elf, section)) != NULL)
		if (gelf_getshdr(section, &head) != NULL && head.sh_type == SHT_RELA &&
		    head.sh_size <= SECTION_BYTES_MAX &&
		    find_relocation(elf, section, &head, name, ret))
			return true;
	return false;
}

bool
symbol_file_tls(int fd, const char *name, struct tls_symbol *ret)
{
	const struct wanted w = { .name = name, .bytes = 8, .thread_local = true };
	Elf *elf = elf_open(fd);
	bool found = false;
	GElf_Phdr interpreter;
	uint64_t begin;
	GElf_Sym symbol;

	if (elf == NULL)
		return false;
	*ret = (struct tls_symbol){ 0 };
	if (gelf_getclass(elf) == ELFCLASS64 && find_in_file(elf, &w, &symbol) != NULL &&
	    file_begin(elf, &begin)) {
		if (segment_of(elf, PT_INTERP, &interpreter))
			found = find_fixed(elf, &symbol, ret);
		else if ((found = find_dynamic(elf, name, ret))) {
			ret->offset = (int64_t)symbol.st_value;
			ret->from_start -= begin;
		}
	}
	elf_end(elf);
	return found;
}
