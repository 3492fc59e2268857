/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "below/stacks/code_file.h"

#include <dwarf.h>
#include <elf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "below/stacks/code_file_inside.h"
#include "below/stacks/code_place.h"

enum { SEGMENTS_MAX = 64, NOTES_BYTES_MAX = 64 << 10 };

/* ---- the build id, without libdw ---- */

static struct build_id
find_in_notes(const uint8_t *at, size_t left)
{
	struct build_id none = { 0 }, id = { 0 };
	Elf64_Nhdr head;

	while (left >= sizeof head) {
		size_t name, desc;

		memcpy(&head, at, sizeof head);
		at += sizeof head;
		left -= sizeof head;
		name = ((size_t)head.n_namesz + 3) & ~(size_t)3;
		desc = ((size_t)head.n_descsz + 3) & ~(size_t)3;
		if (name > left || desc > left - name)
			break;
		if (head.n_type == NT_GNU_BUILD_ID && head.n_namesz == 4 &&
		    memcmp(at, "GNU", 4) == 0 && head.n_descsz > 0 &&
		    head.n_descsz <= BUILD_ID_MAX) {
			memcpy(id.bytes, at + name, head.n_descsz);
			id.len = (uint8_t)head.n_descsz;
			return id;
		}
		at += name + desc;
		left -= name + desc;
	}
	return none;
}

struct build_id
build_id_of(int fd)
{
	struct build_id id = { 0 };
	Elf64_Phdr segments[SEGMENTS_MAX];
	Elf64_Ehdr head;
	uint8_t *notes;
	ssize_t got;

	if (pread(fd, &head, sizeof head, 0) != (ssize_t)sizeof head ||
	    memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_ident[EI_CLASS] != ELFCLASS64 ||
	    head.e_phentsize != sizeof *segments || head.e_phoff > INT64_MAX)
		return id;
	got = pread(fd, segments,
	    (head.e_phnum < SEGMENTS_MAX ? head.e_phnum : SEGMENTS_MAX) * sizeof *segments,
	    (off_t)head.e_phoff);
	if ((notes = malloc(NOTES_BYTES_MAX)) == NULL)
		return id;
	for (ssize_t i = 0; i < got / (ssize_t)sizeof *segments && id.len == 0; i++)
		if (segments[i].p_type == PT_NOTE && segments[i].p_offset <= INT64_MAX) {
			size_t size = segments[i].p_filesz < NOTES_BYTES_MAX ? segments[i].p_filesz
			                                                     : NOTES_BYTES_MAX;
			ssize_t n = pread(fd, notes, size, (off_t)segments[i].p_offset);

			if (n > 0)
				id = find_in_notes(notes, (size_t)n);
		}
	free(notes);
	return id;
}

/* ---- opening ---- */

static void
find_index(struct code_file *f)
{
	size_t count;
	GElf_Phdr p;

	if (elf_getphdrnum(f->elf, &count) != 0)
		return;
	for (size_t i = 0; i < count && i < SEGMENTS_MAX; i++)
		if (gelf_getphdr(f->elf, (int)i, &p) != NULL && p.p_type == PT_GNU_EH_FRAME) {
			f->index = elf_getdata_rawchunk(
			    f->elf, (int64_t)p.p_offset, p.p_filesz, ELF_T_BYTE);
			f->index_address = p.p_vaddr;
			return;
		}
}

static void
find_links(struct code_file *f)
{
	enum { SECTIONS_MAX = 1000 };
	Elf_Scn *section = NULL;
	size_t names, n = 0;
	GElf_Shdr head;

	if (elf_getshdrstrndx(f->elf, &names) != 0)
		return;
	for (int i = 0; i < SECTIONS_MAX && n < sizeof f->links / sizeof *f->links &&
			(section = elf_nextscn(f->elf, section)) != NULL;
	     i++) {
		const char *name = gelf_getshdr(section, &head) != NULL
		                       ? elf_strptr(f->elf, names, head.sh_name)
		                       : NULL;

		if (name != NULL && head.sh_type == SHT_PROGBITS &&
		    (head.sh_flags & SHF_EXECINSTR) != 0 &&
		    (strcmp(name, ".plt") == 0 || strncmp(name, ".plt.", 5) == 0)) {
			f->links[n].begin = head.sh_addr;
			f->links[n++].end = head.sh_addr + head.sh_size;
		}
	}
}

struct code_file *
code_file_open(int fd, const char *name)
{
	static char *debug_path; /* NULL: libdwfl's default, below /usr/lib/debug */
	static const Dwfl_Callbacks callbacks = { .find_elf = dwfl_build_id_find_elf,
		.find_debuginfo = dwfl_standard_find_debuginfo,
		.debuginfo_path = &debug_path };
	struct code_file *f = calloc(1, sizeof *f);
	int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	GElf_Ehdr head;

	if (f == NULL || own < 0)
		goto fail;
	if ((f->dwfl = dwfl_begin(&callbacks)) == NULL)
		goto fail;
	dwfl_report_begin(f->dwfl);
	f->module = dwfl_report_elf(f->dwfl, name, name, own, 0, true);
	if (f->module != NULL)
		own = -1; /* libdwfl's now */
	if (dwfl_report_end(f->dwfl, NULL, NULL) != 0 || f->module == NULL ||
	    (f->elf = dwfl_module_getelf(f->module, &f->bias)) == NULL ||
	    gelf_getehdr(f->elf, &head) == NULL || head.e_machine != EM_X86_64 ||
	    head.e_ident[EI_CLASS] != ELFCLASS64)
		goto fail;
	f->rules = dwfl_module_eh_cfi(f->module, &f->rules_bias);
	f->library = code_is_library(name);
	find_index(f);
	find_links(f);
	return f;
fail:
	if (own >= 0)
		close(own);
	code_file_close(f);
	return NULL;
}

void
code_file_close(struct code_file *f)
{
	if (f == NULL)
		return;
	if (f->dwfl != NULL)
		dwfl_end(f->dwfl);
	free(f);
}

bool
code_file_address(const struct code_file *f, uint64_t offset, uint64_t *ret)
{
	size_t count;
	GElf_Phdr p;

	if (elf_getphdrnum(f->elf, &count) != 0)
		return false;
	for (size_t i = 0; i < count && i < SEGMENTS_MAX; i++)
		if (gelf_getphdr(f->elf, (int)i, &p) != NULL && p.p_type == PT_LOAD &&
		    (p.p_flags & PF_X) != 0 && offset >= (p.p_offset & ~UINT64_C(4095)) &&
		    offset < p.p_offset + p.p_filesz) {
			*ret = p.p_vaddr + offset - p.p_offset;
			return true;
		}
	return false;
}

/* ---- names ---- */

static void
set_text(char *to, size_t size, const char *from)
{
	size_t n = from != NULL ? strnlen(from, size - 1) : 0;

	memcpy(to, from != NULL ? from : "", n);
	to[n] = '\0';
}

static void
set_file(struct code_name *n, const char *path, int line)
{
	const char *slash = path != NULL ? strrchr(path, '/') : NULL;

	set_text(n->file, sizeof n->file, slash != NULL ? slash + 1 : path);
	n->line = path != NULL && line > 0 ? (uint32_t)line : 0;
}

/* Whether `a` is a better name than `b` for one function: the C library's "fsync" rather than its "__fsync" and "__GI_fsync". */
static bool
is_plainer(const char *a, const char *b)
{
	size_t under_a = strspn(a, "_"), under_b = strspn(b, "_"), len_a = strlen(a),
	       len_b = strlen(b);

	if (under_a != under_b)
		return under_a < under_b;
	return len_a != len_b ? len_a < len_b : strcmp(a, b) < 0;
}

/* The plainest of the symbols that stand for the same function. O(symbols). */
static const char *
plainest(struct code_file *f, const char *name, const GElf_Sym *symbol, GElf_Addr value)
{
	int count = dwfl_module_getsymtab(f->module);

	for (int i = 1; i < count; i++) {
		GElf_Sym other;
		GElf_Addr at;
		const char *its = dwfl_module_getsym_info(
		    f->module, i, &other, &at, NULL, NULL, NULL);

		if (its != NULL && its[0] != '\0' && at == value &&
		    other.st_size == symbol->st_size &&
		    GELF_ST_TYPE(other.st_info) == GELF_ST_TYPE(symbol->st_info) &&
		    is_plainer(its, name))
			name = its;
	}
	return name;
}

/* The symbol that contains the address; one without a size must be where the function begins. */
static bool
find_symbol(struct code_file *f, uint64_t address, char ret[128])
{
	uint64_t begins;
	GElf_Off from;
	GElf_Sym symbol;
	const char *name = dwfl_module_addrinfo(
	    f->module, address + f->bias, &from, &symbol, NULL, NULL, NULL);

	if (name == NULL || name[0] == '\0' ||
	    (symbol.st_size != 0
		    ? from >= symbol.st_size
		    : !code_file_function_start(f, address, &begins) || address - from != begins))
		return false;
	if (f->library && name[0] == '_')
		name = plainest(f, name, &symbol, address + f->bias - from);
	code_function_name(ret, name);
	return ret[0] != '\0';
}

/* The compilation unit that contains the address: by .debug_aranges, which not every compiler writes, else one by one. */
static Dwarf_Die *
find_unit(struct code_file *f, uint64_t address, Dwarf_Die *space, Dwarf_Addr *bias)
{
	Dwarf_Die *unit = dwfl_module_addrdie(f->module, address + f->bias, bias);
	Dwarf *dwarf;
	Dwarf_CU *at = NULL;
	uint8_t type;

	if (unit != NULL || (dwarf = dwfl_module_getdwarf(f->module, bias)) == NULL)
		return unit;
	while (dwarf_get_units(dwarf, at, &at, NULL, &type, space, NULL) == 0)
		if (type == DW_UT_compile && dwarf_haspc(space, address + f->bias - *bias) == 1)
			return space;
	return NULL;
}

/* Where the inlined function `die` is called from. */
static void
set_call_site(struct code_name *n, Dwarf_Die *unit, Dwarf_Die *die)
{
	Dwarf_Word file = 0, line = 0;
	Dwarf_Attribute a;
	Dwarf_Files *files;
	size_t count;

	if (dwarf_formudata(dwarf_attr(die, DW_AT_call_file, &a), &file) == 0 &&
	    dwarf_formudata(dwarf_attr(die, DW_AT_call_line, &a), &line) == 0 &&
	    line <= INT32_MAX && dwarf_getsrcfiles(unit, &files, &count) == 0)
		set_file(n, dwarf_filesrc(files, file, NULL, NULL), (int)line);
}

/* The functions that the address is compiled into, from the debug information. Returns their number. */
static int
find_scopes(Dwarf_Die *unit, uint64_t address, struct code_name ret[CODE_INLINED_MAX])
{
	Dwarf_Die *scopes = NULL, innermost;
	int n = 0, count = dwarf_getscopes(unit, address, &scopes);

	if (count <= 0)
		return 0;
	/* dwarf_getscopes() goes on with where an inlined function is defined. Wanted is where it was compiled to. */
	innermost = scopes[0];
	free(scopes);
	scopes = NULL;
	count = dwarf_getscopes_die(&innermost, &scopes);
	for (int i = 0; i < count && n < CODE_INLINED_MAX; i++) {
		int tag = dwarf_tag(&scopes[i]);

		if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_subprogram)
			continue;
		set_text(ret[n].function, sizeof ret[n].function, dwarf_diename(&scopes[i]));
		if (++n < CODE_INLINED_MAX && tag == DW_TAG_inlined_subroutine)
			set_call_site(&ret[n], unit, &scopes[i]);
		if (tag == DW_TAG_subprogram)
			break;
	}
	if (count > 0)
		free(scopes);
	return n;
}

int
code_file_name(struct code_file *f, uint64_t address, struct code_name ret[CODE_INLINED_MAX])
{
	char symbol[128];
	bool has_symbol;
	Dwarf_Addr bias = 0;
	Dwarf_Die space, *unit;
	int n = 0;

	memset(ret, 0, CODE_INLINED_MAX * sizeof *ret);
	for (size_t i = 0; i < sizeof f->links / sizeof *f->links; i++)
		if (address >= f->links[i].begin && address < f->links[i].end) {
			set_text(ret[0].function, sizeof ret[0].function, CODE_LINK_NAME);
			return 1;
		}
	has_symbol = find_symbol(f, address, symbol);
	unit = find_unit(f, address, &space, &bias);
	if (unit != NULL) {
		Dwarf_Line *line = dwarf_getsrc_die(unit, address + f->bias - bias);
		int number = 0;

		if (line != NULL && dwarf_lineno(line, &number) == 0)
			set_file(&ret[0], dwarf_linesrc(line, NULL, NULL), number);
		n = find_scopes(unit, address + f->bias - bias, ret);
	}
	if (n == 0 && has_symbol)
		n = 1;
	/* The symbol is how other tools call the function; the debug information may leave the name out. */
	if (n > 0 && n < CODE_INLINED_MAX && has_symbol &&
	    (ret[n - 1].function[0] == '\0' || strncmp(symbol, "_Z", 2) != 0))
		set_text(ret[n - 1].function, sizeof ret[n - 1].function, symbol);
	for (int i = 0; i < n; i++)
		if (ret[i].function[0] == '\0')
			return 0;
	return n;
}

/*
 * .eh_frame_hdr, as the linker writes it (Linux Standard Base, 10.6.2):
 *
 *	u8 version = 1, encodings of: .eh_frame (any), count (0x03, u32), table (0x3b, s32 from the section's begin)
 *	... address of .eh_frame, u32 count, then count x { s32 begin of function, s32 its rules }, sorted
 */
enum { INDEX_HEAD = 12, INDEX_ROW = 8 }; /* bytes */

static uint64_t
begin_of_row(const struct code_file *f, uint32_t row)
{
	const uint8_t *data = f->index->d_buf;
	int32_t begin;

	memcpy(&begin, data + INDEX_HEAD + (size_t)row * INDEX_ROW, sizeof begin);
	return f->index_address + (uint64_t)(int64_t)begin;
}

/* The number of the row that the address belongs to. False: there is none. */
static bool
find_row(const struct code_file *f, uint64_t address, uint32_t *row, uint32_t *count)
{
	const uint8_t *data = f->index != NULL ? f->index->d_buf : NULL;
	uint32_t low = 0, high;

	if (data == NULL || f->index->d_size < INDEX_HEAD || data[0] != 1 ||
	    (data[1] & 0x0f) == 0x04 || (data[1] & 0x0f) == 0x0c || data[2] != 0x03 ||
	    data[3] != 0x3b)
		return false;
	memcpy(count, data + 8, sizeof *count);
	if (*count > (f->index->d_size - INDEX_HEAD) / INDEX_ROW)
		return false;
	for (high = *count; low < high;) {
		uint32_t mid = low + (high - low) / 2;

		if (begin_of_row(f, mid) <= address)
			low = mid + 1;
		else
			high = mid;
	}
	*row = low - 1;
	return low > 0;
}

bool
code_file_function_start(struct code_file *f, uint64_t address, uint64_t *ret)
{
	uint32_t row, count;

	if (!find_row(f, address, &row, &count))
		return false;
	*ret = begin_of_row(f, row);
	return *ret <= address;
}

bool
code_file_function_range(struct code_file *f, uint64_t address, uint64_t *begin, uint64_t *end)
{
	uint32_t row, count;

	if (!find_row(f, address, &row, &count) || row + 1 == count)
		return false;
	*begin = begin_of_row(f, row);
	*end = begin_of_row(f, row + 1);
	return *begin <= address && address < *end;
}
