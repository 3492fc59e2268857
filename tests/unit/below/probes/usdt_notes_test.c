/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "below/probes/usdt_notes.h"

#include <elf.h>
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/below/probes/elf_file.h"

/* A small file: code at 0x1000 (position 0x400), data at 0x5000 (0x500), the notes, .stapsdt.base. */
struct made_file {
	uint8_t bytes[8192];
	size_t notes; /* bytes of them */
};

enum { CODE = 0x400, DATA = 0x500, NAMES = 0x600, SECTIONS = 0x700, NOTES = 0x1000, BASE = 0x9000 };

static void
make(struct made_file *f, uint64_t base)
{
	static const char names[] = "\0.note.stapsdt\0.stapsdt.base\0.strings";
	Elf64_Phdr segments[2] = { { PT_LOAD, PF_R | PF_X, CODE, 0x1000, 0x1000, 0x100, 0x100, 1 },
		{ PT_LOAD, PF_R | PF_W, DATA, 0x5000, 0x5000, 0x100, 0x100, 1 } };
	Elf64_Shdr sections[4] = { { 0 },
		{ .sh_name = 1, .sh_type = SHT_NOTE, .sh_offset = NOTES, .sh_size = f->notes },
		{ .sh_name = 15, .sh_type = SHT_PROGBITS, .sh_addr = base },
		{ .sh_name = 29,
		    .sh_type = SHT_STRTAB,
		    .sh_offset = NAMES,
		    .sh_size = sizeof names } };
	Elf64_Ehdr head = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
		.e_machine = EM_X86_64,
		.e_phoff = sizeof head,
		.e_phentsize = sizeof *segments,
		.e_phnum = 2,
		.e_shoff = SECTIONS,
		.e_shentsize = sizeof *sections,
		.e_shnum = 4,
		.e_shstrndx = 3 };

	memcpy(f->bytes, &head, sizeof head);
	memcpy(f->bytes + sizeof head, segments, sizeof segments);
	memcpy(f->bytes + NAMES, names, sizeof names);
	memcpy(f->bytes + SECTIONS, sections, sizeof sections);
}

static void
add(struct made_file *f, uint64_t address, uint64_t semaphore, const char *texts, size_t len)
{
	uint64_t words[3] = { address, BASE, semaphore };
	Elf64_Nhdr head = { 8, (uint32_t)(sizeof words + len), 3 };
	uint8_t *at = f->bytes + NOTES + f->notes;

	memcpy(at, &head, sizeof head);
	memcpy(at + sizeof head, "stapsdt", 8);
	memcpy(at + sizeof head + 8, words, sizeof words);
	memcpy(at + sizeof head + 8 + sizeof words, texts, len);
	f->notes += (sizeof head + 8 + sizeof words + len + 3) & ~(size_t)3;
}

#define ADD(f, address, semaphore, texts) add(f, address, semaphore, texts, sizeof texts)

static void
probes_have_their_position_in_the_file_and_their_counter(void **state)
{
	struct made_file f = { 0 };
	struct usdt_notes n;
	struct arena a = { 0 };
	struct err e;
	(void)state;

	ADD(&f, 0x1010, 0x5014, "shop\0request__begin\0-4@%ebx 8@-144(%rbp)");
	ADD(&f, 0x10ff, 0, "shop\0request__end\0");
	make(&f, BASE);
	assert_int_equal(usdt_notes_read(&n, f.bytes, sizeof f.bytes, &a, &e), 0);
	assert_int_equal(n.count, 2);
	assert_int_equal(n.left_out, 0);
	assert_string_equal(n.probes[0].provider, "shop");
	assert_string_equal(n.probes[0].name, "request__begin");
	assert_string_equal(n.probes[0].arguments, "-4@%ebx 8@-144(%rbp)");
	assert_int_equal(n.probes[0].offset, CODE + 0x10);
	assert_int_equal(n.probes[0].semaphore_offset, DATA + 0x14);
	assert_int_equal(n.probes[1].semaphore, 0);
	/* The file was moved by 0x10 after it was linked. */
	make(&f, BASE - 0x10);
	assert_int_equal(usdt_notes_read(&n, f.bytes, sizeof f.bytes, &a, &e), 0);
	assert_int_equal(n.probes[0].address, 0x1000);
	assert_int_equal(n.probes[0].offset, CODE);
	arena_release(&a);
}

static void
malformed_notes_are_left_out_and_counted(void **state)
{
	struct made_file f = { 0 };
	struct usdt_notes n;
	struct arena a = { 0 };
	struct err e;
	(void)state;

	ADD(&f, 0x2000, 0, "not\0in_code\0");
	ADD(&f, 0x5000, 0, "in\0data\0");
	ADD(&f, 0x1000, 0x1000, "counter\0in_code\0");
	ADD(&f, 0x1000, 0, "na;me\0x\0");
	ADD(&f, 0x1000, 0, "\0no_provider\0");
	add(&f, 0x1000, 0, "not", 3);
	ADD(&f, 0x1000, 0, "good\0probe\0");
	f.notes += 12; /* a head whose sizes are over the end */
	memset(f.bytes + NOTES + f.notes - 12, 0xff, 12);
	make(&f, BASE);
	assert_int_equal(usdt_notes_read(&n, f.bytes, sizeof f.bytes, &a, &e), 0);
	assert_int_equal(n.count, 1);
	assert_string_equal(n.probes[0].provider, "good");
	assert_int_equal(n.left_out, 7);
	for (size_t len = 0; len < NOTES + f.notes; len += 7) { /* a file that was cut */
		int rc = usdt_notes_read(&n, f.bytes, len, &a, &e);

		assert_true(rc == 0 || rc == ERR_INPUT);
	}
	arena_release(&a);
}

static void
arguments_name_registers_memory_and_constants(void **state)
{
	struct usdt_argument a[USDT_ARGUMENTS_MAX];
	(void)state;

	assert_int_equal(
	    usdt_arguments(a, "-4@%ebx 8@-144(%rbp) -4@$-1 1@%r15b 8@(%rdi) 2@%ax"), 6);
	assert_true(a[0].kind == USDT_REGISTER && a[0].dwarf_register == 3 && a[0].size == 4 &&
		    a[0].is_signed);
	assert_true(a[1].kind == USDT_MEMORY && a[1].dwarf_register == 6 && a[1].constant == -144 &&
		    !a[1].is_signed);
	assert_true(a[2].kind == USDT_CONSTANT && a[2].constant == -1);
	assert_true(a[3].kind == USDT_REGISTER && a[3].dwarf_register == 15 && a[3].size == 1);
	assert_true(a[4].kind == USDT_MEMORY && a[4].dwarf_register == 5 && a[4].constant == 0);
	assert_true(a[5].kind == USDT_REGISTER && a[5].dwarf_register == 0 && a[5].size == 2);
	assert_int_equal(
	    usdt_arguments(
		a, "8@x(%rip) 8@8(%rax,%rbx,4) 8@16(%rip) 3@%rax 8@%zax 8@ @ 8@8(%eax) 8@0(%r8d)"),
	    9);
	for (int i = 0; i < 9; i++)
		assert_int_equal(a[i].kind, USDT_UNKNOWN);
	assert_int_equal(usdt_arguments(a, ""), 0);
	assert_int_equal(
	    usdt_arguments(
		a, "1@%al 1@%al 1@%al 1@%al 1@%al 1@%al 1@%al 1@%al 1@%al 1@%al 1@%al 1@%al 1@%al"),
	    12);
}

/* readelf(1) prints the same probes, in the same order. */
static void
compare(const char *path)
{
	char command[400], line[2000];
	struct usdt_notes n;
	struct usdt_argument decoded[USDT_ARGUMENTS_MAX];
	struct arena a = { 0 };
	struct err e;
	size_t len;
	const uint8_t *file = elf_file(path, &len);
	uint32_t i = 0, known = 0;
	FILE *f;

	if (file == NULL)
		return;
	assert_int_equal(usdt_notes_read(&n, file, len, &a, &e), 0);
	snprintf(command, sizeof command, "readelf -nW %s 2>/dev/null", path);
	assert_non_null(f = popen(command, "r"));
	while (fgets(line, sizeof line, f) != NULL) {
		char *provider = strstr(line, "Provider: "), *name = strstr(line, "Name: "),
		     *arguments = strstr(line, "Arguments:");
		unsigned long address, base, semaphore;

		line[strcspn(line, "\n")] = '\0';
		if (provider != NULL || name != NULL || arguments != NULL ||
		    strstr(line, "Location: ") != NULL)
			assert_true(i < n.count);
		if (provider != NULL)
			assert_string_equal(n.probes[i].provider, provider + 10);
		else if (name != NULL)
			assert_string_equal(n.probes[i].name, name + 6);
		else if (sscanf(line, " Location: %lx, Base: %lx, Semaphore: %lx", &address, &base,
			     &semaphore) == 3) {
			assert_int_equal(n.probes[i].address, address);
			assert_int_equal(n.probes[i].semaphore, semaphore);
		} else if (arguments != NULL) {
			uint32_t count = usdt_arguments(decoded, n.probes[i].arguments);

			arguments += strspn(arguments + 10, " ") + 10;
			assert_string_equal(n.probes[i].arguments, arguments);
			for (uint32_t k = 0; k < count; k++)
				known += decoded[k].kind == USDT_UNKNOWN;
			i++;
		}
	}
	pclose(f);
	assert_int_equal(i, n.count);
	assert_int_equal(n.left_out, 0);
	print_message("# %s: %u probes, %u arguments not decoded\n", path, n.count, known);
	munmap((void *)file, len);
	arena_release(&a);
}

static void
installed_programs_have_the_probes_that_readelf_prints(void **state)
{
	static const char *const patterns[] = { "/usr/lib/postgresql/*/bin/postgres",
		"/usr/bin/python3.[0-9]*", "/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
		"/usr/lib/x86_64-linux-gnu/libpython3.*.so.1.0", "/proc/self/exe" };
	(void)state;

	if (system("command -v readelf >/dev/null") != 0)
		skip();
	for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
		glob_t found;

		if (glob(patterns[i], 0, NULL, &found) != 0)
			continue;
		for (size_t k = 0; k < found.gl_pathc; k++)
			if (strstr(found.gl_pathv[k], "config") == NULL)
				compare(found.gl_pathv[k]);
		globfree(&found);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(probes_have_their_position_in_the_file_and_their_counter),
		cmocka_unit_test(malformed_notes_are_left_out_and_counted),
		cmocka_unit_test(arguments_name_registers_memory_and_constants),
		cmocka_unit_test(installed_programs_have_the_probes_that_readelf_prints),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
