/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "below/probes/usdt_notes.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { NOTE_TYPE = 3, ARGUMENTS_BYTES_MAX = 1023 };

struct usdt_file {
	const uint8_t *bytes;
	size_t len;
	Elf64_Ehdr head;
	uint64_t base; /* address of .stapsdt.base; 0: none */
	bool has_base;
};

/* A part of the file; NULL: it is not in it. */
static const uint8_t *
part_of(const struct usdt_file *f, uint64_t offset, uint64_t size)
{
	return offset <= f->len && size <= f->len - offset ? f->bytes + offset : NULL;
}

static bool
segment(const struct usdt_file *f, uint32_t i, Elf64_Phdr *ret)
{
	const uint8_t *at = part_of(f, f->head.e_phoff + (uint64_t)i * sizeof *ret, sizeof *ret);

	if (f->head.e_phoff > f->len || at == NULL)
		return false;
	memcpy(ret, at, sizeof *ret);
	return true;
}

static bool
section(const struct usdt_file *f, uint32_t i, Elf64_Shdr *ret)
{
	const uint8_t *at = part_of(f, f->head.e_shoff + (uint64_t)i * sizeof *ret, sizeof *ret);

	if (f->head.e_shoff > f->len || at == NULL)
		return false;
	memcpy(ret, at, sizeof *ret);
	return true;
}

/* The position in the file of an address in a loaded segment with all of these flags. */
static bool
offset_of(const struct usdt_file *f, uint64_t address, uint32_t flags, uint64_t *ret)
{
	Elf64_Phdr p;

	for (uint32_t i = 0; i < f->head.e_phnum && segment(f, i, &p); i++)
		if (p.p_type == PT_LOAD && (p.p_flags & flags) == flags && address >= p.p_vaddr &&
		    address - p.p_vaddr < p.p_filesz && p.p_offset <= f->len &&
		    address - p.p_vaddr < f->len - p.p_offset) {
			*ret = p.p_offset + (address - p.p_vaddr);
			return true;
		}
	return false;
}

/* A terminated text of at most max bytes; *at moves behind it. NULL: it is longer, or not terminated. */
static const char *
text(const uint8_t **at, const uint8_t *end, size_t max)
{
	size_t left = (size_t)(end - *at);
	const uint8_t *begin = *at, *stop = memchr(begin, '\0', left < max + 1 ? left : max + 1);

	if (stop == NULL)
		return NULL;
	*at = stop + 1;
	return (const char *)begin;
}

static bool
is_name(const char *s)
{
	for (const char *at = s; *at != '\0'; at++)
		if (!((*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') ||
			(*at >= '0' && *at <= '9') || strchr("_-.:$", *at) != NULL))
			return false;
	return s[0] != '\0';
}

/* Adds the probe of a description. False: out of memory. */
static bool
add_probe(struct usdt_notes *ret, const struct usdt_file *f, const uint8_t *at, size_t len,
    struct arena *a)
{
	const uint8_t *end = at + len;
	const char *provider, *name, *arguments;
	struct usdt_probe p = { 0 };
	uint64_t words[3], moved = 0;

	if (len < sizeof words || ret->count == USDT_PROBES_MAX) {
		ret->left_out++;
		return true;
	}
	memcpy(words, at, sizeof words);
	at += sizeof words;
	provider = text(&at, end, USDT_NAME_MAX);
	name = provider != NULL ? text(&at, end, USDT_NAME_MAX) : NULL;
	arguments = name != NULL ? text(&at, end, ARGUMENTS_BYTES_MAX) : NULL;
	if (f->has_base)
		moved = f->base - words[1];
	p.address = words[0] + moved;
	p.semaphore = words[2] != 0 ? words[2] + moved : 0;
	if (arguments == NULL || !is_name(provider) || !is_name(name) ||
	    !offset_of(f, p.address, PF_R | PF_X, &p.offset) ||
	    (p.semaphore != 0 && !offset_of(f, p.semaphore, PF_R | PF_W, &p.semaphore_offset))) {
		ret->left_out++;
		return true;
	}
	p.provider = arena_text(a, provider, strlen(provider));
	p.name = arena_text(a, name, strlen(name));
	p.arguments = arena_text(a, arguments, strlen(arguments));
	if (p.provider == NULL || p.name == NULL || p.arguments == NULL)
		return false;
	ret->probes[ret->count++] = p;
	return true;
}

static size_t
padded(uint32_t size)
{
	return ((size_t)size + 3) & ~(size_t)3;
}

static int
read_section(struct usdt_notes *ret, const struct usdt_file *f, const uint8_t *at, size_t left,
    struct arena *a)
{
	static const char owner[] = "stapsdt";
	Elf64_Nhdr head;

	while (left >= sizeof head) {
		size_t name, description;

		memcpy(&head, at, sizeof head);
		at += sizeof head;
		left -= sizeof head;
		name = padded(head.n_namesz);
		description = padded(head.n_descsz);
		if (name > left ||
		    head.n_descsz > left - name) { /* the rest cannot be told apart */
			ret->left_out++;
			break;
		}
		if (head.n_type == NOTE_TYPE && head.n_namesz == sizeof owner &&
		    memcmp(at, owner, sizeof owner) == 0 &&
		    !add_probe(ret, f, at + name, head.n_descsz, a))
			return ERR_MEMORY;
		description = description < left - name ? description : left - name;
		at += name + description;
		left -= name + description;
	}
	return 0;
}

/* Whether the name of a section is this one. */
static bool
is_called(const struct usdt_file *f, const Elf64_Shdr *names, uint32_t name, const char *wanted)
{
	size_t size = strlen(wanted) + 1;
	const uint8_t *at;

	if (name > names->sh_size || size > names->sh_size - name || names->sh_offset > f->len)
		return false;
	at = part_of(f, names->sh_offset + name, size);
	return at != NULL && memcmp(at, wanted, size) == 0;
}

int
usdt_notes_read(
    struct usdt_notes *ret, const uint8_t *file, size_t len, struct arena *a, struct err *e)
{
	struct usdt_file f = { .bytes = file, .len = len };
	Elf64_Shdr names, s;
	Elf64_Phdr p;
	int rc = 0;

	*ret = (struct usdt_notes){ 0 };
	if (len < sizeof f.head)
		return err_set(e, ERR_INPUT, "not an ELF file");
	memcpy(&f.head, file, sizeof f.head);
	if (memcmp(f.head.e_ident, ELFMAG, SELFMAG) != 0 ||
	    f.head.e_ident[EI_CLASS] != ELFCLASS64 || f.head.e_ident[EI_DATA] != ELFDATA2LSB ||
	    f.head.e_machine != EM_X86_64)
		return err_set(e, ERR_INPUT, "not an ELF file for x86-64");
	if (f.head.e_shnum == 0)
		return 0;
	if (f.head.e_shentsize != sizeof s || f.head.e_phentsize != sizeof p ||
	    !section(&f, f.head.e_shstrndx, &names))
		return err_set(e, ERR_INPUT, "the section headers of the file are malformed");
	for (uint32_t i = 0; i < f.head.e_shnum && section(&f, i, &s); i++)
		if (!f.has_base && is_called(&f, &names, s.sh_name, ".stapsdt.base")) {
			f.base = s.sh_addr;
			f.has_base = true;
		}
	for (uint32_t i = 0; i < f.head.e_shnum && rc == 0 && section(&f, i, &s); i++) {
		const uint8_t *at = part_of(&f, s.sh_offset, s.sh_size);

		if (s.sh_type != SHT_NOTE || at == NULL ||
		    !is_called(&f, &names, s.sh_name, ".note.stapsdt"))
			continue;
		if (ret->probes == NULL &&
		    (ret->probes = arena_calloc(a, USDT_PROBES_MAX, sizeof *ret->probes)) == NULL)
			rc = ERR_MEMORY;
		else
			rc = read_section(ret, &f, at, s.sh_size, a);
	}
	return rc != 0 ? err_set(e, rc, "out of memory while USDT probes were read") : 0;
}

/* ---- arguments ---- */

/* "rbx", "ebx", "bx", "bl" and the like: the number of the register in DWARF; -1: none. *len: bytes of the name. */
static int
register_of(const char *s, size_t *len)
{
	static const char *const names[17][4] = { { "rax", "eax", "ax", "al" },
		{ "rdx", "edx", "dx", "dl" }, { "rcx", "ecx", "cx", "cl" },
		{ "rbx", "ebx", "bx", "bl" }, { "rsi", "esi", "si", "sil" },
		{ "rdi", "edi", "di", "dil" }, { "rbp", "ebp", "bp", "bpl" },
		{ "rsp", "esp", "sp", "spl" }, { "r8", "r8d", "r8w", "r8b" },
		{ "r9", "r9d", "r9w", "r9b" }, { "r10", "r10d", "r10w", "r10b" },
		{ "r11", "r11d", "r11w", "r11b" }, { "r12", "r12d", "r12w", "r12b" },
		{ "r13", "r13d", "r13w", "r13b" }, { "r14", "r14d", "r14w", "r14b" },
		{ "r15", "r15d", "r15w", "r15b" }, { "rip", "eip", "ip", "" } };

	*len = strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789");
	for (int r = 0; r < 17 && *len > 0; r++)
		for (int k = 0; k < 4; k++)
			if (strlen(names[r][k]) == *len && strncmp(names[r][k], s, *len) == 0)
				return r;
	return -1;
}

static bool
integer(const char **at, int64_t *ret)
{
	char *end;

	errno = 0;
	*ret = strtoll(*at, &end, 0);
	if (end == *at || errno != 0)
		return false;
	*at = end;
	return true;
}

/* One argument, up to `end`. */
static struct usdt_argument
argument(const char *at, const char *end)
{
	struct usdt_argument a = { .kind = USDT_UNKNOWN }, unknown = { .kind = USDT_UNKNOWN };
	int64_t size;
	size_t len;
	int r;

	if (!integer(&at, &size) || *at++ != '@' ||
	    (size != 1 && size != -1 && size != 2 && size != -2 && size != 4 && size != -4 &&
		size != 8 && size != -8))
		return unknown;
	a.is_signed = unknown.is_signed = size < 0;
	a.size = unknown.size = (uint8_t)(size < 0 ? -size : size);
	if (*at == '$') {
		a.kind = USDT_CONSTANT;
		at++;
		return integer(&at, &a.constant) && at == end ? a : unknown;
	}
	if (*at != '%') {
		a.kind = USDT_MEMORY;
		if (*at != '(' && !integer(&at, &a.constant))
			return unknown;
		if (*at++ != '(')
			return unknown;
	} else
		a.kind = USDT_REGISTER;
	if (*at++ != '%' || (r = register_of(at, &len)) < 0)
		return unknown;
	/* "ah" and the like are no low part; addresses have 64 bits; a place relative to rip is that of the instruction
	 * that was there, which is unknown. */
	if (r == 16 ||
	    (a.kind == USDT_MEMORY && (len < 2 || at[0] != 'r' || (r >= 8 && at[len - 1] > '9'))))
		return unknown;
	a.dwarf_register = (uint8_t)r;
	at += len;
	if (a.kind == USDT_MEMORY && *at++ != ')')
		return unknown;
	return at == end ? a : unknown;
}

uint32_t
usdt_arguments(struct usdt_argument ret[USDT_ARGUMENTS_MAX], const char *arguments)
{
	uint32_t n = 0;

	for (const char *at = arguments + strspn(arguments, " ");
	     *at != '\0' && n < USDT_ARGUMENTS_MAX;) {
		const char *end = at + strcspn(at, " ");

		ret[n++] = argument(at, end);
		at = end + strspn(end, " ");
	}
	return n;
}
