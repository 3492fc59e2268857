/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

#include "agent/system/symbols.h"

int global_lock = 3, bss_locks[4096];
static int own_lock = 7;

static const char *
name_of(struct symbols *s, const void *at)
{
	const char *name = symbols_name(s, (uint64_t)(uintptr_t)at);

	return name != NULL ? name : "";
}

static void
an_address_has_the_name_of_its_symbol(void **state)
{
	struct symbols *s = symbols_new((uint32_t)getpid());
	const char *data;
	(void)state;

	assert_non_null(s);
	assert_string_equal(name_of(s, &global_lock), "symbols_test+global_lock");
	assert_string_equal(name_of(s, &own_lock), "symbols_test+own_lock");
	assert_string_equal(name_of(s, &bss_locks[0]), "symbols_test+bss_locks");
	assert_string_equal(name_of(s, &bss_locks[4000]),
	    "symbols_test+bss_locks"); /* far past the end of the file */
	assert_string_equal(name_of(s, (const char *)(uintptr_t)name_of), "symbols_test+name_of");
	data = name_of(s, stdout); /* in a library: a symbol, or an offset */
	assert_true(strncmp(data, "libc", 4) == 0 && strchr(data, '+') != NULL);
	assert_ptr_equal(name_of(s, &own_lock), name_of(s, &own_lock)); /* looked up once */
	symbols_free(s);
}

static void
an_address_outside_of_files_has_no_name(void **state)
{
	struct symbols *s = symbols_new((uint32_t)getpid());
	void *heap = malloc(100),
	     *map = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int stack = 0;
	(void)state;

	assert_null(symbols_name(s, (uint64_t)(uintptr_t)heap));
	assert_null(symbols_name(s, (uint64_t)(uintptr_t)&stack));
	assert_null(symbols_name(s, 0));
	assert_null(symbols_name(s, 1));
	assert_null(symbols_name(s, UINT64_MAX));
	assert_null(symbols_name(s, (uint64_t)1 << 63));
	assert_true(map != MAP_FAILED);
	munmap(map, 4096);
	free(heap);
	symbols_free(s);
	symbols_free(NULL);
}

static void
a_process_that_does_not_exist_has_no_names(void **state)
{
	struct symbols *s = symbols_new(UINT32_MAX);
	(void)state;

	assert_null(symbols_name(s, (uint64_t)(uintptr_t)&own_lock));
	symbols_free(s);
}

static void
no_more_than_256_addresses_are_looked_up(void **state)
{
	struct symbols *s = symbols_new((uint32_t)getpid());
	int named = 0;
	(void)state;

	for (int i = 0; i < 4096; i++)
		named += symbols_name(s, (uint64_t)(uintptr_t)&bss_locks[i]) != NULL;
	assert_int_equal(named, 256);
	symbols_free(s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_address_has_the_name_of_its_symbol),
		cmocka_unit_test(an_address_outside_of_files_has_no_name),
		cmocka_unit_test(a_process_that_does_not_exist_has_no_names),
		cmocka_unit_test(no_more_than_256_addresses_are_looked_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
