/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The file is this program, which contains probes. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "below/probes/file_probes.h"
#include "tests/usdt_note.h"

/* A place that the kernel would single-step: too dear. */
#define DEAR_PROBE()                                                    \
	__asm__ volatile("990: mov %%rax, %%rax\n"                      \
			 ".pushsection .note.stapsdt, \"\", \"note\"\n" \
			 ".balign 4\n"                                  \
			 ".4byte 992f - 991f, 994f - 993f, 3\n"         \
			 "991: .asciz \"stapsdt\"\n"                    \
			 "992: .balign 4\n"                             \
			 "993: .8byte 990b, 0, 0\n"                     \
			 ".asciz \"test\"\n"                            \
			 ".asciz \"dear\"\n"                            \
			 ".asciz \"\"\n"                                \
			 "994: .balign 4\n"                             \
			 ".popsection\n" ::                             \
			     : "rax")

static void
the_probes_of_a_file_are_read_but_those_that_are_dear(void **state)
{
	static struct file_probes p;
	int fd = open("/proc/self/exe", O_RDONLY);
	(void)state;

	USDT_PROBE("test", "first", 1);
	USDT_PROBE("test", "second", 2);
	DEAR_PROBE();
	file_probes_read(&p, fd, 0);
	assert_true(p.total == 2 && p.count == 2 && p.left_out == 1);
	assert_string_equal(p.list[0].name, "test:first");
	assert_string_equal(p.list[1].name, "test:second");
	assert_true(p.list[0].offset != 0 && p.list[0].semaphore == 0);
	assert_true(p.list[0].nvalues == 1 && p.list[0].values[0].kind == USDT_REGISTER &&
		    p.list[0].values[0].size == 8);
	file_probes_read(&p, fd, 1); /* the second answer */
	assert_true(p.total == 2 && p.count == 1);
	assert_string_equal(p.list[0].name, "test:second");
	file_probes_read(&p, fd, 2);
	assert_int_equal(p.count, 0);
	close(fd);
}

static void
what_is_no_program_has_none(void **state)
{
	static struct file_probes p;
	int fd = open("/proc/self/cmdline", O_RDONLY), pipes[2];
	(void)state;

	file_probes_read(&p, fd, 0);
	assert_int_equal(p.total, 0);
	close(fd);
	assert_int_equal(pipe(pipes), 0);
	file_probes_read(&p, pipes[0], 0);
	assert_int_equal(p.total, 0);
	close(pipes[0]);
	close(pipes[1]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_probes_of_a_file_are_read_but_those_that_are_dear),
		cmocka_unit_test(what_is_no_program_has_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
