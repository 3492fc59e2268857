/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "agent/system/folder.h"

static void
folders_are_made_with_parents_and_removed_with_contents(void **state)
{
	char top[] = "/tmp/folder-test-XXXXXX", path[64], file[80], link_path[80];
	struct stat st;
	struct err e;
	FILE *f;
	(void)state;

	assert_non_null(mkdtemp(top));
	snprintf(path, sizeof path, "%s/a/b", top);
	assert_int_equal(folder_make(path, &e), 0);
	assert_int_equal(folder_make(path, &e), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	snprintf(file, sizeof file, "%s/file", path);
	f = fopen(file, "w");
	assert_non_null(f);
	fclose(f);
	snprintf(link_path, sizeof link_path, "%s/link", path);
	assert_int_equal(symlink("/tmp", link_path), 0);
	assert_true(folder_remove(top));
	assert_int_not_equal(stat(top, &st), 0);
	assert_int_equal(stat("/tmp", &st), 0);
	assert_true(folder_remove(top));
}

static void
a_tmpfs_is_memory_and_proc_is_not(void **state)
{
	(void)state;

	assert_true(folder_is_memory("/dev/shm"));
	assert_false(folder_is_memory("/proc"));
	assert_false(folder_is_memory("/no/such/folder"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(folders_are_made_with_parents_and_removed_with_contents),
		cmocka_unit_test(a_tmpfs_is_memory_and_proc_is_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
