/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The command `hone map`: its output and its exit status, without LTTng. */
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

static const char FITS[] =
    "[program]\nservice = brok*\n[request job]\nbegin = b:queued\nbegin_id = job\nend = b:done\nend_id = task\n"
    "correlate = field\nstep = b:started job -> task\nlimit = 2min\n[request call]\nbegin = c:begin\nend = c:end\ncorrelate = thread\n"
    "type_field = op\nnested = no\n";

static const char LISTED[] =
    "PID: 1 - Name: /bin/init\n      x:y (loglevel: TRACE_INFO (6)) (type: tracepoint)\n"
    "PID: 7 - Name: /usr/bin/broker\n      b:queued (loglevel: TRACE_INFO (6)) (type: tracepoint)\n        field: job (integer)\n"
    "      b:started (loglevel: TRACE_INFO (6)) (type: tracepoint)\n        field: task (integer)\n        field: job (integer)\n"
    "      b:done (loglevel: TRACE_INFO (6)) (type: tracepoint)\n        field: task (integer)\n"
    "PID: 8 - Name: broker2\n      b:done (loglevel: TRACE_INFO (6)) (type: tracepoint)\n        field: task (integer)\n"
    "      c:begin (loglevel: TRACE_INFO (6)) (type: tracepoint)\n        field: op (string)\n"
    "      c:end (loglevel: TRACE_INFO (6)) (type: tracepoint)\n";

static char map[] = "/tmp/cli_map.XXXXXX", listed[] = "/tmp/cli_listed.XXXXXX";

static int
make_files(void **state)
{
	int a = mkstemp(map), b = mkstemp(listed);

	(void)state;
	return a < 0 || b < 0 || close(a) != 0 || close(b) != 0 ? -1 : 0;
}

static int
drop_files(void **state)
{
	(void)state;
	return unlink(map) + unlink(listed);
}

static void
put(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

/* Runs `hone map` with these arguments; checks the exit code and the texts in out and err. */
static void
says(enum exit_code code, const char *out_words, const char *err_words, const char *first, ...)
{
	struct said s;
	va_list ap;

	va_start(ap, first);
	s = said_by("map", first, ap);
	va_end(ap);
	said_has(&s, code, out_words, err_words);
	said_drop(&s);
}

static void
a_correct_mapping_has_no_errors(void **state)
{
	(void)state;
	put(map, FITS);
	put(listed, LISTED);
	/* the two programs of this name together have all events, b:done counted once */
	says(DONE, ": no errors, compared with 5 tracepoints of broker (process 7 and others)\n",
	    "", "check", map, "--events", listed, NULL);
	says(DONE, ": no errors; not compared with a program\n", "", "check", map, "--no-program",
	    NULL);
	says(DONE, "\"tracepoints\": 5", "", "check", map, "--events", listed, "--json", NULL);
	says(DONE, "\"program\": null", "", "check", map, "--no-program", "--json", NULL);
}

static void
errors_have_lines_and_exit_status_1(void **state)
{
	(void)state;
	put(listed, LISTED);
	put(map,
	    "[program]\nservice = broker\n[request job]\nbegin = b:queud\nend = b:done\ncorrelate = thread\n");
	says(FAILED, ":4: begin: the program has no tracepoint b:queud; did you mean b:queued?\n",
	    "", "check", map, "--events", listed, NULL);
	says(FAILED, ": 1 error, compared with 3 tracepoints of broker (process 7)\n", "", "check",
	    map, "--events", listed, NULL);
	says(FAILED, "\"line\": 4", "", "check", map, "--events", listed, "--json", NULL);
	put(map,
	    "[program]\nservice = broker\n[request job]\nbegin = b:queued\nend = b:done\ncorelate = thread\n");
	says(FAILED, ":6: no key \"corelate\"; did you mean correlate?", "", "check", map,
	    "--no-program", NULL);
	says(FAILED, "\"service\": null", "", "check", map, "--no-program", "--json", NULL);
	says(FAILED, "\"line\": 6", "", "check", map, "--no-program", "--json", NULL);
	says(FAILED, "", "hone: map show: ", "show", map, NULL);
	put(map,
	    "[program]\nservice = other\n[request job]\nbegin = b:queued\nend = b:done\ncorrelate = thread\n");
	says(FAILED, "",
	    "no running program named other has tracepoints; found: init, broker, broker2", "check",
	    map, "--events", listed, NULL);
	put(listed, "nothing\n");
	says(FAILED, "", "no program in it", "check", map, "--events", listed, NULL);
	says(
	    FAILED, "", "/no/listing: No such file", "check", map, "--events", "/no/listing", NULL);
	says(FAILED, "", "/no/map: no such file", "check", "/no/map", NULL);
}

static void
show_explains_the_rules(void **state)
{
	(void)state;
	put(map, FITS);
	says(DONE, "its type is the name of its begin tracepoint", "", "show", map, NULL);
	says(DONE,
	    "b:started belongs to it if field job matches; from then on field task is an id of it, too",
	    "", "show", map, NULL);
	says(DONE, "ends with b:done, if field task matches", "", "show", map, NULL);
	says(DONE, "discarded if it is not ended after 2 min 0 s", "", "show", map, NULL);
	says(DONE, "its type is field op of c:begin", "", "show", map, NULL);
	says(DONE, "a second c:begin discards it and begins another", "", "show", map, NULL);
	says(DONE, "always-on tracepoints: b:queued, b:started, b:done, c:begin, c:end", "", "show",
	    map, NULL);
	says(DONE, "\"limit_s\": 120.0", "", "show", map, "--json", NULL);
}

static void
misuse_is_reported(void **state)
{
	(void)state;
	says(MISUSED, "", "hone: map: needs an action", NULL);
	says(MISUSED, "", "hone: chek: unknown action; must be check or show", "chek", map, NULL);
	says(MISUSED, "", "hone: map check: needs one file", "check", NULL);
	says(MISUSED, "", "--events: cannot be combined with --no-program", "check", map,
	    "--events", listed, "--no-program", NULL);
	says(MISUSED, "", "--socket: unknown flag", "check", map, "--socket", "x", NULL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_correct_mapping_has_no_errors),
		cmocka_unit_test(errors_have_lines_and_exit_status_1),
		cmocka_unit_test(show_explains_the_rules),
		cmocka_unit_test(misuse_is_reported),
	};

	return cmocka_run_group_tests(tests, make_files, drop_files);
}
