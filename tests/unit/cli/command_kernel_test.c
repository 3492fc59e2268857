/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/cli/said.h"

static char folder[64], file[96], meta[96], out_folder[96];

static const char text[] =
    "# tracer: nop\n"
    " a-5 [000] ..... 1.000001: sched_waking: comm=b pid=6 prio=120 target_cpu=000\n"
    " a-5 [000] ..... 1.000002: page_fault_user: address=0x1 ip=0x2 error_code=0x4\n"
    "CPU:0 [LOST 7 EVENTS]\n"
    " a-5 [000] ..... 1.500003: sched_switch: prev_comm=a prev_pid=5 prev_prio=120 prev_state=S ==> next_comm=b next_pid=6 next_prio=1\n"
    "what is this?\n";

static int
set_up(void **state)
{
	FILE *f;

	(void)state;
	snprintf(folder, sizeof folder, "/tmp/hone_kernel_XXXXXX");
	if (mkdtemp(folder) == NULL)
		return -1;
	snprintf(file, sizeof file, "%s/web.txt", folder);
	snprintf(meta, sizeof meta, "%s/meta", folder);
	snprintf(out_folder, sizeof out_folder, "%s/out", folder);
	if ((f = fopen(file, "w")) == NULL)
		return -1;
	fputs(text, f);
	return fclose(f);
}

static int
tear_down(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof command, "rm -rf -- '%s'", folder);
	return system(command);
}

/* Runs hone kernel with the arguments, and looks for words in what it prints. */
static void
says(enum exit_code code, const char *out_words, const char *err_words, const char *first, ...)
{
	struct said s;
	va_list ap;

	va_start(ap, first);
	s = said_by("kernel", first, ap);
	va_end(ap);
	said_has(&s, code, out_words, err_words);
	said_drop(&s);
}

static void
text_tells_what_a_recording_has(void **state)
{
	(void)state;
	says(DONE, "3 events in 0.5 s, of web, 1 CPU and 2 threads\n", "", "read", file, NULL);
	says(DONE, "switch       1  a CPU changes", "", "read", file, NULL);
	says(DONE, "no kind stands for 1 event: page_fault_user 1\n", "", "read", file, NULL);
	says(DONE, "the tracer lost 7 events\n", "", "read", file, NULL);
	says(DONE, "1: lines or records that cannot be read; the first: /tmp/hone_kernel_", "",
	    "read", file, NULL);
	says(DONE, "counted", "", "read", file, "--count", "page_*", NULL);
}

static void
json_has_the_same(void **state)
{
	(void)state;
	says(DONE, "\"hosts\": [\n    \"web\"\n  ]", "", "read", file, "--json", NULL);
	says(DONE, "\"switch\": 1,", "", "read", file, "--json", NULL);
	says(DONE, "\"lost\": 7,", "", "read", file, "--json", NULL);
	says(DONE, "\"kind\": \"malformed\"", "", "read", file, "--json", NULL);
	says(DONE, "\"first_ns\": 1000001000,", "", "read", file, "--json", NULL);
}

static void
it_is_written_as_a_recording_of_hone(void **state)
{
	char path[128];

	(void)state;
	says(DONE, "/out written: ", "", "read", file, "--write", out_folder, NULL);
	snprintf(path, sizeof path, "%s/web/metadata", out_folder);
	assert_int_equal(access(path, R_OK), 0);
	snprintf(path, sizeof path, "%s/web/kernel_0", out_folder);
	assert_int_equal(access(path, R_OK), 0);
	says(FAILED, "", "is not an empty folder", "read", file, "--write", out_folder, NULL);
}

static void
misuse_is_told(void **state)
{
	(void)state;
	says(MISUSED, "", "must be read", "write", file, NULL);
	says(MISUSED, "", "needs a recording", "read", NULL);
	says(FAILED, "", "no format \"elf\": ctf, ftrace or psv", "read", file, "--format", "elf",
	    NULL);
	says(
	    FAILED, "", "no recording of the kernel that is known", "read", "/proc/self/exe", NULL);
	says(FAILED, "", "/no/such: No such file", "read", "/no/such", NULL);
	says(FAILED, "", meta, "read", file, "--map", meta, "--format", "psv", NULL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_tells_what_a_recording_has),
		cmocka_unit_test(json_has_the_same),
		cmocka_unit_test(it_is_written_as_a_recording_of_hone),
		cmocka_unit_test(misuse_is_told),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
