/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "below/probes/probe_price.h"

#include <elf.h>
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "below/probes/usdt_notes.h"
#include "tests/unit/below/probes/elf_file.h"

static void
an_instruction_is_cheap_if_the_kernel_emulates_it(void **state)
{
	static const struct {
		const char *bytes;
		uint8_t len;
		enum probe_way way;
	} cases[] = {
		{ "\x90", 1, PROBE_EMULATED },                     /* nop */
		{ "\x55", 1, PROBE_EMULATED },                     /* push rbp */
		{ "\x41\x57", 2, PROBE_EMULATED },                 /* push r15 */
		{ "\xe8\x00\x00\x00\x00", 5, PROBE_EMULATED },     /* call */
		{ "\xe9\x00\x00\x00\x00", 5, PROBE_EMULATED },     /* jmp */
		{ "\xeb\x10", 2, PROBE_EMULATED },                 /* jmp */
		{ "\x74\x10", 2, PROBE_EMULATED },                 /* je */
		{ "\x0f\x84\x00\x00\x00\x00", 6, PROBE_EMULATED }, /* je */
		{ "\x0f\x1f\x44\x00\x00", 5, PROBE_LONG_NOP },
		{ "\x66\x0f\x1f\x44\x00\x00", 6, PROBE_LONG_NOP },
		{ "\xf3\x0f\x1e\xfa", 4, PROBE_STEPPED },         /* endbr64 */
		{ "\x48\x83\xec\x08", 4, PROBE_STEPPED },         /* sub rsp, 8 */
		{ "\x48\x89\xfb", 3, PROBE_STEPPED },             /* mov rbx, rdi */
		{ "\x6a\x01", 2, PROBE_STEPPED },                 /* push 1 */
		{ "\xff\xd0", 2, PROBE_STEPPED },                 /* call rax */
		{ "\xff\x15\x00\x00\x00\x00", 6, PROBE_STEPPED }, /* call [rip] */
		{ "\xc3", 1, PROBE_STEPPED },                     /* ret */
		{ "\xc5\xf8\x77", 3, PROBE_STEPPED },             /* vzeroupper */
		{ "\xcc", 1, PROBE_NO_CODE },                     /* int3 */
		{ "\xf4", 1, PROBE_NO_CODE },                     /* hlt */
		{ "\xf0\xff\x00", 3, PROBE_NO_CODE },             /* lock inc */
		{ "\x66\xe9\x00\x00\x00\x00", 6, PROBE_NO_CODE }, /* jmp of 16 bits */
		{ "\x06", 1, PROBE_NO_CODE },                     /* none in 64 bits */
		{ "\xe8\x00", 2, PROBE_NO_CODE },                 /* cut */
		{ "", 0, PROBE_NO_CODE },
	};
	(void)state;

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct probe_price p = probe_price_of(
		    (const uint8_t *)cases[i].bytes, cases[i].len);

		if (p.way != cases[i].way)
			print_error("case %zu\n", i);
		assert_int_equal(p.way, cases[i].way);
		assert_int_equal(p.length, p.way == PROBE_NO_CODE ? 0 : cases[i].len);
		assert_true((probe_price_ns(p.way, true) > 1000000) == false);
		assert_int_equal(probe_price_ns(p.way, false) == 0, p.way == PROBE_NO_CODE);
	}
}

static bool
place(const char *bytes, size_t len, bool long_nops, uint32_t *at)
{
	return probe_place_of((const uint8_t *)bytes, len, long_nops, at);
}

#define PLACE(bytes, nops, at) place(bytes, sizeof bytes - 1, nops, at)

static void
a_function_is_probed_where_each_call_passes_once_with_the_stack_of_its_entry(void **state)
{
	uint32_t at = 99;
	(void)state;

	assert_true(PLACE("\xf3\x0f\x1e\xfa\x55\x48\x89\xe5\xc3", false, &at)); /* endbr64; push */
	assert_int_equal(at, 4);
	assert_true(PLACE("\x48\x89\xf8\x85\xff\x74\x00\xc3", false, &at)); /* mov; test; je */
	assert_int_equal(at, 5);
	assert_false(PLACE("\x48\x83\xec\x08\x90\xc3", false, &at)); /* sub rsp; nop */
	assert_false(PLACE("\x48\x89\xf8\xc3\x90", false, &at));     /* mov; ret; nop */
	assert_false(PLACE("\xff\xe0\x90", false, &at));             /* jmp rax; nop */
	assert_false(PLACE("\x0f\x05\x90", false, &at));             /* syscall; nop */
	assert_false(PLACE("\x48\x89\xf8\x06", false, &at));         /* mov; no instruction */
	/* mov; push; ...; a jump back to the push, or to the mov's end, would pass it again. */
	assert_false(PLACE("\x48\x89\xf8\x55\x90\xeb\xfc\xc3", false, &at));
	/* A jump to behind the push, or to the entry itself, does not. */
	assert_true(PLACE("\x48\x89\xf8\x55\x90\xeb\xfd\xc3", false, &at));
	assert_int_equal(at, 3);
	assert_true(PLACE("\x48\x89\xf8\x55\x5d\xeb\xf9", false, &at));
	/* A long nop is cheap where the kernel says so. */
	assert_true(PLACE("\x0f\x1f\x44\x00\x00\x48\x89\xf8\x55\x5d\xc3", false, &at));
	assert_int_equal(at, 8);
	assert_true(PLACE("\x0f\x1f\x44\x00\x00\x48\x89\xf8\x55\x5d\xc3", true, &at));
	assert_int_equal(at, 0);
	assert_false(PLACE("", false, &at));
}

/* The position in the file of an address; 0: not in the file. */
static size_t
position(const uint8_t *file, uint64_t address)
{
	const Elf64_Ehdr *h = (const Elf64_Ehdr *)file;
	const Elf64_Phdr *p = (const Elf64_Phdr *)(file + h->e_phoff);

	for (int i = 0; i < h->e_phnum; i++)
		if (p[i].p_type == PT_LOAD && address >= p[i].p_vaddr &&
		    address - p[i].p_vaddr < p[i].p_filesz)
			return p[i].p_offset + (address - p[i].p_vaddr);
	return 0;
}

static void
measure(const char *path)
{
	size_t len, functions = 0, placed = 0, first = 0;
	const uint8_t *file = elf_file(path, &len);
	const Elf64_Ehdr *h = (const Elf64_Ehdr *)file;
	const Elf64_Shdr *s;
	struct usdt_notes n;
	struct arena a = { 0 };
	uint32_t cheap = 0, at;

	if (file == NULL)
		return;
	s = (const Elf64_Shdr *)(file + h->e_shoff);
	for (int i = 0; i < h->e_shnum; i++)
		for (const Elf64_Sym *y = (const Elf64_Sym *)(file + s[i].sh_offset);
		     s[i].sh_type == SHT_DYNSYM &&
		     (const uint8_t *)y < file + s[i].sh_offset + s[i].sh_size;
		     y++) {
			size_t from = position(file, y->st_value);

			if (ELF64_ST_TYPE(y->st_info) != STT_FUNC || y->st_size < 64 || from == 0)
				continue;
			functions++;
			first += probe_price_of(file + from, y->st_size).way == PROBE_EMULATED;
			placed += probe_place_of(file + from, y->st_size, false, &at);
		}
	assert_int_equal(usdt_notes_read(&n, file, len, &a, NULL), 0);
	for (uint32_t i = 0; i < n.count; i++)
		cheap += probe_price_of(file + n.probes[i].offset, 16).way == PROBE_EMULATED;
	print_message(
	    "# %s: %zu functions of 64 bytes or more, %zu have a cheap first instruction, %zu a cheap place; %u of %u USDT "
	    "probes are cheap\n",
	    path, functions, first, placed, cheap, n.count);
	if (functions > 100)
		assert_true(placed * 10 > functions * 7);
	assert_int_equal(cheap, n.count); /* <sys/sdt.h> writes a nop */
	munmap((void *)file, len);
	arena_release(&a);
}

static void
most_functions_of_installed_programs_and_all_their_probes_are_cheap(void **state)
{
	static const char *const patterns[] = { "/usr/lib/postgresql/*/bin/postgres",
		"/usr/bin/python3.[0-9]*", "/usr/sbin/nginx", "/usr/bin/redis-server" };
	(void)state;

	for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
		glob_t found;

		if (glob(patterns[i], 0, NULL, &found) != 0)
			continue;
		for (size_t k = 0; k < found.gl_pathc; k++)
			if (strstr(found.gl_pathv[k], "config") == NULL)
				measure(found.gl_pathv[k]);
		globfree(&found);
	}
}

static uint64_t missing_part;

/* The exits, relative to the part's address 0x1000; returns their number. */
static int
exits_of(const char *code, size_t len, uint64_t *exits)
{
	const struct code_part parts[] = { { 0x1000, (const uint8_t *)code, len },
		{ 0x2000, (const uint8_t *)"\x90\xc3", 2 } };

	return probe_exits_of(parts, 2, exits, 4, &missing_part);
}

static void
a_function_is_left_by_returns_and_by_jumps_out_of_its_parts(void **state)
{
	uint64_t exits[4] = { 0 };
	(void)state;

	/* push rbp; je +1; ret; pop rbp; ret; nothing leads to the other part: nop; ret */
	assert_int_equal(exits_of("\x55\x74\x01\xc3\x5d\xc3", 6, exits), 2);
	assert_true(exits[0] == 0x1003 && exits[1] == 0x1005);
	/* je +5; jmp to the other part (0x2000); jmp elsewhere (0x3000) */
	assert_int_equal(
	    exits_of("\x74\x05\xe9\xf9\x0f\x00\x00\xe9\xf4\x1f\x00\x00", 12, exits), 2);
	assert_true(exits[0] == 0x1007 && exits[1] == 0x2001);
	/* jmp rax is a call in the last place, but after add rax, rdx the case of a switch; so is one by index */
	assert_int_equal(exits_of("\xff\xe0", 2, exits), 1);
	assert_int_equal(exits_of("\x48\x01\xd0\xff\xe0", 5, exits), 0);
	assert_int_equal(exits_of("\x48\x01\xd1\xff\xe0", 5, exits), 1);
	assert_int_equal(exits_of("\xff\x24\xc5\x00\x00\x40\x00", 7, exits), 0);
	assert_int_equal(exits_of("\xff\x60\x10", 3, exits), 1); /* jmp [rax + 16] */
	assert_int_equal(exits_of("\x3e\xff\xe0", 3, exits), 0); /* notrack jmp rax */
	/* je out of it; no instruction; more than there is room for */
	assert_int_equal(exits_of("\x74\x7f\xc3", 3, exits), -1);
	assert_int_equal(missing_part, 0x1000 + 2 + 0x7f);
	assert_int_equal(exits_of("\x06\xc3", 2, exits), -1);
	assert_int_equal(missing_part, 0);
	assert_int_equal(
	    exits_of("\x74\x01\xc3\x74\x01\xc3\x74\x01\xc3\x74\x01\xc3\xc3", 13, exits), -1);
}

static void
what_only_looks_like_code_is_never_probed(void **state)
{
	uint64_t exits[4] = { 0 };
	(void)state;

	/* behind the last return lie constants; behind a jump by a table lie its cases */
	assert_int_equal(exits_of("\x55\x5d\xc3\xc3\xc3", 5, exits), 1);
	assert_int_equal(exits[0], 0x1002);
	assert_int_equal(exits_of("\x48\x01\xd0\xff\xe0\xc3\x90\xc3", 8, exits), 2);
	/* a jump into itself */
	assert_int_equal(exits_of("\xeb\xff\xc0\xc3", 4, exits), -1);
	assert_int_equal(exits_of("", 0, exits), -1);
}

static void
the_begin_of_a_function_is_its_first_instruction_where_none_is_cheap(void **state)
{
	enum probe_way way;
	uint32_t at;
	(void)state;

	assert_true(probe_entry_of((const uint8_t *)"\x48\x89\xfb\x55\xc3", 5, &at, &way));
	assert_true(at == 3 && way == PROBE_EMULATED);
	assert_true(probe_entry_of((const uint8_t *)"\x48\x83\xec\x08\xc3", 5, &at, &way));
	assert_true(at == 0 && way == PROBE_STEPPED);
	assert_true(
	    probe_entry_of((const uint8_t *)"\xf3\x0f\x1e\xfa\x48\x83\xec\x08\xc3", 9, &at, &way));
	assert_true(at == 4 && way == PROBE_STEPPED);
	/* sub rsp, 8; jmp to the begin: a call passes it many times */
	assert_false(probe_entry_of((const uint8_t *)"\x48\x83\xec\x08\xeb\xfa", 6, &at, &way));
	assert_false(probe_entry_of((const uint8_t *)"\xcc", 1, &at, &way));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_instruction_is_cheap_if_the_kernel_emulates_it),
		cmocka_unit_test(
		    a_function_is_probed_where_each_call_passes_once_with_the_stack_of_its_entry),
		cmocka_unit_test(a_function_is_left_by_returns_and_by_jumps_out_of_its_parts),
		cmocka_unit_test(what_only_looks_like_code_is_never_probed),
		cmocka_unit_test(
		    the_begin_of_a_function_is_its_first_instruction_where_none_is_cheap),
		cmocka_unit_test(
		    most_functions_of_installed_programs_and_all_their_probes_are_cheap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
