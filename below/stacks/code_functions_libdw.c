/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "below/stacks/code_functions.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "below/probes/probe_price.h"
#include "below/stacks/code_file_inside.h"
#include "below/stacks/code_place.h"

enum { PART_BYTES_MAX = 64 << 10, SEGMENTS_MAX = 64 };

/* ---- names ---- */

/* A name is a length and so many letters. Returns what follows it; NULL: there is none. */
static const char *
take_source_name(const char *at, const char **name, size_t *len)
{
	char *end;
	unsigned long n;

	if (*at < '1' || *at > '9')
		return NULL;
	n = strtoul(at, &end, 10);
	if (n > strlen(end))
		return NULL;
	*name = end;
	*len = n;
	return end + n;
}

/* Behind template arguments, whose own names and lists are skipped. */
static const char *
skip_arguments(const char *at)
{
	const char *name, *next;
	size_t len;
	int depth = 0;

	for (; *at != '\0'; at = next) {
		next = take_source_name(at, &name, &len);
		if (next != NULL)
			continue;
		if (*at == 'L') { /* a number: "Li3E" */
			if ((next = strchr(at, 'E')) == NULL)
				return at + strlen(at);
			next++;
			continue;
		}
		next = at + 1;
		depth += strchr("INXJF", *at) != NULL;
		depth -= *at == 'E';
		if (depth == 0)
			return next;
	}
	return at;
}

/* The last part of a mangled name (Itanium C++ ABI, 5.1): of a function without its scopes. False: it has another form. */
static bool
last_name(const char *symbol, const char **name, size_t *len)
{
	const char *at = symbol + 2, *next;
	bool any = false, nested;

	if (strncmp(symbol, "_Z", 2) != 0)
		return false;
	nested = *at == 'N';
	for (at += nested; *at != '\0' && *at != 'E'; at = next) {
		next = take_source_name(at, name, len);
		if (next != NULL) {
			any = true;
			if (!nested)
				break;
		} else if (*at == 'I') {
			next = skip_arguments(at);
		} else if (*at == 'S') { /* a scope that is abbreviated: "St", "S1_" */
			for (next = at + 1; *next != '_' && (*next < 'a' || *next > 'z'); next++)
				if (*next == '\0')
					return false;
			next++;
		} else if (strchr("KVrROL", *at) != NULL) {
			next = at + 1;
		} else {
			return false;
		}
	}
	return any;
}

static bool
is_mangled_of(const char *symbol, const char *name)
{
	const char *last;
	size_t len;

	return last_name(symbol, &last, &len) && len == strlen(name) &&
	       memcmp(last, name, len) == 0;
}

bool
code_name_is_of(const char *symbol, const char *name)
{
	char plain[PLACE_FUNCTION_MAX + 1];

	code_function_name(plain, symbol);
	return name[0] != '\0' && (strcmp(plain, name) == 0 || is_mangled_of(plain, name));
}

/* ---- code ---- */

static bool
offset_of(const struct code_file *f, uint64_t address, size_t len, uint64_t *ret)
{
	size_t count;
	GElf_Phdr p;

	if (elf_getphdrnum(f->elf, &count) != 0)
		return false;
	for (size_t i = 0; i < count && i < SEGMENTS_MAX; i++)
		if (gelf_getphdr(f->elf, (int)i, &p) != NULL && p.p_type == PT_LOAD &&
		    (p.p_flags & PF_X) != 0 && address >= p.p_vaddr && len <= p.p_filesz &&
		    address - p.p_vaddr <= p.p_filesz - len) {
			*ret = p.p_offset + (address - p.p_vaddr);
			return true;
		}
	return false;
}

struct code_parts_found {
	uint64_t address[FILE_FUNCTIONS_MAX + FUNCTION_PARTS_MAX];
	size_t len[FILE_FUNCTIONS_MAX + FUNCTION_PARTS_MAX];
	uint32_t n;
};

static bool
add(struct code_parts_found *to, uint64_t address, size_t len)
{
	for (uint32_t i = 0; i < to->n; i++)
		if (to->address[i] == address)
			return true;
	if (to->n == sizeof to->len / sizeof *to->len)
		return false;
	to->address[to->n] = address;
	to->len[to->n++] = len;
	return true;
}

/* The functions, and their parts that lie elsewhere. False: there are too many. */
static bool
find(struct code_parts_found *functions, struct code_parts_found *parts, struct code_file *f,
    const char *name)
{
	int count = dwfl_module_getsymtab(f->module);

	for (int i = 1; i < count; i++) {
		GElf_Sym symbol;
		GElf_Addr at;
		const char *text = dwfl_module_getsym_info(
		    f->module, i, &symbol, &at, NULL, NULL, NULL);

		if (text == NULL || GELF_ST_TYPE(symbol.st_info) != STT_FUNC ||
		    symbol.st_size == 0 || symbol.st_shndx == SHN_UNDEF ||
		    !code_name_is_of(text, name))
			continue;
		if (!add(strstr(text, ".cold") != NULL ? parts : functions, at - f->bias,
			symbol.st_size))
			return false;
	}
	return true;
}

static uint8_t *
read_code(const struct code_file *f, int fd, uint64_t address, size_t len)
{
	uint8_t *code;
	uint64_t offset;

	if (len > PART_BYTES_MAX || !offset_of(f, address, len, &offset) ||
	    (code = malloc(len)) == NULL)
		return NULL;
	if (pread(fd, code, len, (off_t)offset) == (ssize_t)len)
		return code;
	free(code);
	return NULL;
}

/* Of a function: itself, and parts that lie elsewhere. */
struct code_parts {
	struct code_part list[CODE_PARTS_MAX];
	uint32_t n;
};

/* Adds what the rules for unwinding say is a function of its own, as the part of a stripped file has no symbol. */
static bool
add_missing(struct code_parts *to, struct code_file *f, int fd, uint64_t address)
{
	uint64_t begin, end;
	uint8_t *code;

	if (to->n == sizeof to->list / sizeof *to->list ||
	    !code_file_function_range(f, address, &begin, &end) ||
	    (code = read_code(f, fd, begin, end - begin)) == NULL)
		return false;
	to->list[to->n++] = (struct code_part){ begin, code, end - begin };
	return true;
}

/* Which of the parts belong to which function is not told: with those of others nothing is lost, as no jump leads to them. */
static enum function_lack
take(struct file_function *ret, struct code_file *f, int fd, struct code_parts *parts)
{
	uint64_t exits[FUNCTION_EXITS_MAX], missing;
	enum probe_way way;
	uint32_t entry;
	int n;

	*ret = (struct file_function){ 0 };
	if (!probe_entry_of(parts->list[0].code, parts->list[0].len, &entry, &way) ||
	    !offset_of(f, parts->list[0].address + entry, 1, &ret->entry))
		return FUNCTION_NO_PLACE;
	ret->is_dear = way != PROBE_EMULATED;
	while (
	    (n = probe_exits_of(parts->list, parts->n, exits, FUNCTION_EXITS_MAX, &missing)) < 0 &&
	    missing != 0 && add_missing(parts, f, fd, missing))
		;
	if (n <= 0)
		return FUNCTION_NO_EXITS;
	for (int i = 0; i < n; i++)
		if (!offset_of(f, exits[i], 1, &ret->exits[i]))
			return FUNCTION_NO_EXITS;
	ret->nexits = (uint32_t)n;
	return FUNCTION_IS_PROBED;
}

/* Frees the code of the parts from `from` on. */
static void
release(struct code_parts *parts, uint32_t from)
{
	for (uint32_t i = from; i < parts->n; i++)
		free((uint8_t *)parts->list[i].code);
	parts->n = from;
}

void
code_file_functions(struct file_functions *ret, struct code_file *f, int fd, const char *name)
{
	struct code_parts_found functions = { 0 }, cold = { 0 };
	struct code_parts parts = { .n = 1 }; /* the function itself, and what has its name */
	uint32_t ncold;

	memset(ret, 0, sizeof *ret);
	if (!find(&functions, &cold, f, name) || functions.n > FILE_FUNCTIONS_MAX ||
	    cold.n > FUNCTION_PARTS_MAX) {
		ret->lack = FUNCTION_MANY;
		return;
	}
	if (functions.n == 0)
		ret->lack = FUNCTION_MISSING;
	for (uint32_t i = 0; i < cold.n; i++) {
		uint8_t *code = read_code(f, fd, cold.address[i], cold.len[i]);

		if (code != NULL)
			parts.list[parts.n++] = (struct code_part){ cold.address[i], code,
				cold.len[i] };
	}
	ncold = parts.n;
	for (uint32_t i = 0; i < functions.n; i++) {
		uint8_t *code = read_code(f, fd, functions.address[i], functions.len[i]);
		enum function_lack lack = FUNCTION_NO_EXITS;

		parts.list[0] = (struct code_part){ functions.address[i], code, functions.len[i] };
		if (code != NULL)
			lack = take(&ret->list[ret->count], f, fd, &parts);
		ret->count += lack == FUNCTION_IS_PROBED;
		if (ret->lack == FUNCTION_IS_PROBED)
			ret->lack = lack;
		free(code);
		release(&parts, ncold);
	}
	release(&parts, 1);
	if (ret->lack != FUNCTION_IS_PROBED)
		ret->count = 0; /* of several functions some would be missed */
}
