/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Folders of the test's own stand for control groups. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <cmocka.h>

#include "agent/system/cgroup.h"
#include "agent/system/folder.h"

static char top[] = "/tmp/cgroup_test_XXXXXX";

static void
make_group(const char *below, const char *processes)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof path, "%s%s", top, below);
	mkdir(path, 0700);
	snprintf(path, sizeof path, "%s%s/cgroup.procs", top, below);
	assert_non_null(f = fopen(path, "w"));
	fputs(processes, f);
	fclose(f);
}

static void
processes_of_a_group_and_of_those_below_it_are_found(void **state)
{
	pid_t pids[8];
	uint32_t n;
	int sum = 0;
	(void)state;

	assert_non_null(mkdtemp(top));
	make_group("", "1\n0\n2\n");
	make_group("/a", "4\n");
	make_group("/a/b", "8\n16\n");
	n = cgroup_processes(top, pids, 0, 8);
	assert_int_equal(n, 5);
	for (uint32_t i = 0; i < n; i++)
		sum += pids[i];
	assert_int_equal(sum, 31);
	assert_int_equal(cgroup_processes(top, pids, n, 8), 8); /* no more than there is room for */
	assert_int_equal(cgroup_processes("/no/such/group", pids, 3, 8), 3);
	folder_remove(top);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(processes_of_a_group_and_of_those_below_it_are_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
