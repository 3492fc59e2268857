/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE
#include "below/stacks/code_file.h"

#include <fcntl.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

static struct code_file *self;
static int self_fd;

static int
first_object(struct dl_phdr_info *info, size_t size, void *base)
{
	(void)size;
	*(uint64_t *)base = info->dlpi_addr;
	return 1; /* the program itself comes first */
}

/* The address of code of this program in the terms of its file. */
static uint64_t
address_of(const void *code)
{
	uint64_t base = 0;

	dl_iterate_phdr(first_object, &base);
	return (uintptr_t)code - base;
}

int compiled_function(int x);

static inline __attribute__((always_inline)) int
compiled_into_it(int x)
{
	return rand() % (x + 3);
}

__attribute__((noinline)) int
compiled_function(int x)
{
	int sum = x;

	for (int i = 0; i < x; i++)
		sum ^= compiled_into_it(i);
	return sum;
}

static void
an_address_has_its_function_its_line_and_what_is_compiled_into_it(void **state)
{
	struct code_name names[CODE_INLINED_MAX];
	uint64_t begins, address = address_of((const void *)(uintptr_t)compiled_function);
	bool inlined = false;
	int n;
	(void)state;

	n = code_file_name(self, address, names);
	assert_true(n >= 1);
	assert_string_equal(names[n - 1].function, "compiled_function");
	assert_string_equal(names[n - 1].file, "code_file_test.c");
	assert_true(names[n - 1].line > 0);
	assert_true(code_file_function_start(self, address + 1, &begins));
	assert_int_equal(begins, address);
	assert_true(compiled_function(0) == 0);
	for (int i = 0; i < 120 && !inlined; i++) {
		n = code_file_name(self, address + (uint64_t)i, names);
		inlined = n == 2 && strcmp(names[0].function, "compiled_into_it") == 0 &&
		          strcmp(names[1].function, "compiled_function") == 0 &&
		          names[1].line > names[0].line;
	}
	assert_true(inlined);
}

static void
jumps_of_the_linker_are_called_so(void **state)
{
	struct code_name names[CODE_INLINED_MAX];
	char line[400];
	unsigned long address = 0;
	FILE *f = popen("readelf -SW /proc/$PPID/exe", "r");
	(void)state;

	assert_non_null(f);
	while (fgets(line, sizeof line, f) != NULL) {
		char *at = strstr(line, ".plt ");

		if (at != NULL && address == 0 && strstr(line, ".rela") == NULL)
			sscanf(at, ".plt PROGBITS %lx", &address);
	}
	pclose(f);
	if (address == 0)
		skip();
	assert_int_equal(code_file_name(self, address + 16, names), 1);
	assert_string_equal(names[0].function, CODE_LINK_NAME);
}

static void
what_is_outside_of_the_code_has_no_name_and_no_rules(void **state)
{
	static const uint8_t bytes[64];
	struct code_state s = {
		.low = 0x1000, .bytes = bytes, .nbytes = sizeof bytes, .exact = true
	};
	struct code_name names[CODE_INLINED_MAX];
	uint64_t address;
	(void)state;

	s.registers[7] = 0x1000;
	assert_int_equal(code_file_name(self, 1, names), 0);
	assert_int_equal(code_file_name(self, UINT64_MAX, names), 0);
	assert_int_equal(code_file_step(self, UINT64_MAX, &s), STEP_NO_RULES);
	assert_false(code_file_address(self, UINT64_MAX, &address));
	assert_int_equal(s.registers[7], 0x1000);
}

static void
a_step_needs_the_bytes_and_zeroes_are_the_start_of_a_thread(void **state)
{
	static const uint8_t bytes[64];
	struct code_state s = { .low = 0x1000, .bytes = bytes, .nbytes = 4, .exact = true };
	uint64_t address = address_of((const void *)(uintptr_t)compiled_function);
	(void)state;

	s.registers[7] = 0x1000; /* at the entry the return address is on top of the stack */
	assert_int_equal(code_file_step(self, address, &s), STEP_BYTES_MISSED);
	assert_true(s.exact && s.registers[7] == 0x1000);
	s.nbytes = sizeof bytes;
	assert_int_equal(code_file_step(self, address, &s), STEP_START);
	s.bytes = (const uint8_t *)"\x10\x20\0\0\0\0\0\0";
	s.nbytes = 8;
	assert_int_equal(code_file_step(self, address, &s), STEP_CALLER);
	assert_int_equal(s.registers[16], 0x2010);
	assert_int_equal(s.registers[7], 0x1008);
	assert_false(s.exact);
}

static void
what_is_no_program_is_not_opened_and_a_cut_one_does_no_harm(void **state)
{
	struct code_name names[CODE_INLINED_MAX];
	int fd = memfd_create("cut", MFD_CLOEXEC);
	static uint8_t head[64 << 10];
	ssize_t n = pread(self_fd, head, sizeof head, 0);
	(void)state;

	assert_true(fd >= 0 && n > 1000);
	assert_null(code_file_open(fd, "empty"));
	assert_int_equal(write(fd, "#!/bin/sh\n", 10), 10);
	assert_null(code_file_open(fd, "script"));
	for (ssize_t len = 64; len < n; len += len / 3) {
		struct code_file *f;

		assert_int_equal(ftruncate(fd, 0), 0);
		assert_int_equal(pwrite(fd, head, (size_t)len, 0), len);
		if ((f = code_file_open(fd, "cut")) != NULL)
			code_file_name(f, 0x1500, names);
		code_file_close(f);
		assert_true(build_id_of(fd).len <= BUILD_ID_MAX);
	}
	close(fd);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_address_has_its_function_its_line_and_what_is_compiled_into_it),
		cmocka_unit_test(jumps_of_the_linker_are_called_so),
		cmocka_unit_test(what_is_outside_of_the_code_has_no_name_and_no_rules),
		cmocka_unit_test(a_step_needs_the_bytes_and_zeroes_are_the_start_of_a_thread),
		cmocka_unit_test(what_is_no_program_is_not_opened_and_a_cut_one_does_no_harm),
	};
	int failed;

	self_fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	self = code_file_open(self_fd, "/proc/self/exe");
	if (self == NULL)
		return 1;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	code_file_close(self);
	close(self_fd);
	return failed;
}
