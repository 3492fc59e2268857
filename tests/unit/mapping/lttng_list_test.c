/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parsing of LTTng's list of tracepoints, and its comparison with a mapping. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "map_file.h"
#include "mapping/lttng_list.h"

/* In the format of lttng-tools 2.13. */
static const char LISTED[] =
    "UST events:\n"
    "-------------\n"
    "\n"
    "PID: 26315 - Name: /usr/sbin/a-broker-with-a-long-name\n"
    "      broker:queued (loglevel: TRACE_DEBUG_LINE (13)) (type: tracepoint)\n"
    "        field: kind (string)\n"
    "        field: job (integer)\n"
    "      broker:done (loglevel: TRACE_INFO (6)) (type: tracepoint)\n"
    "        field: job (string)\n"
    "        field: ratio (float)\n"
    "        field: list (unknown)\n"
    "        field: state (enum) [no write]\n"
    "      broker:tick (loglevel: TRACE_INFO (6)) (type: tracepoint)\n"
    "\n"
    "PID: 1 - Name: other\n"
    "      rpc:begin (loglevel: TRACE_INFO (6)) (type: tracepoint)\n"
    "\n";

static void
a_listing_is_parsed(void **state)
{
	char comm[LTTNG_LIST_COMM_BYTES];
	struct lttng_list l;
	struct err e = { 0 };

	(void)state;
	assert_int_equal(lttng_list_read(&l, LISTED, sizeof LISTED - 1, &e), 0);
	assert_int_equal(l.nprograms, 2);
	assert_int_equal(l.programs[0].pid, 26315);
	assert_string_equal(l.programs[0].name, "/usr/sbin/a-broker-with-a-long-name");
	lttng_list_comm(&l.programs[0], comm);
	assert_string_equal(comm, "a-broker-with-a");
	assert_int_equal(l.programs[0].nevents, 3);
	assert_string_equal(l.programs[0].events[0].name, "broker:queued");
	assert_int_equal(l.programs[0].events[0].nfields, 2);
	assert_string_equal(
	    l.programs[0].events[0].fields[0].name, "job"); /* in the order of declaration */
	assert_int_equal(l.programs[0].events[0].fields[0].type, MAP_FIELD_INT);
	assert_int_equal(l.programs[0].events[0].fields[1].type, MAP_FIELD_TEXT);
	assert_int_equal(l.programs[0].events[1].fields[0].type, MAP_FIELD_ENUM);
	assert_int_equal(l.programs[0].events[1].fields[1].type, MAP_FIELD_OTHER);
	assert_int_equal(l.programs[0].events[1].fields[2].type, MAP_FIELD_REAL);
	assert_int_equal(l.programs[0].events[2].nfields, 0);
	lttng_list_comm(&l.programs[1], comm);
	assert_string_equal(comm, "other");
	assert_int_equal(l.programs[1].nevents, 1);
	lttng_list_release(&l);
}

static void
other_files_are_refused_and_a_cut_listing_is_parsed_to_its_end(void **state)
{
	struct lttng_list l;
	struct err e = { 0 };

	(void)state;
	assert_int_equal(lttng_list_read(&l, "", 0, &e), ERR_INPUT);
	assert_int_equal(lttng_list_read(&l, "Error: no session daemon\n", 25, &e), ERR_INPUT);
	assert_non_null(strstr(e.text, "want what lttng list --userspace --fields writes"));
	assert_int_equal(lttng_list_read(&l, "PID: 99999999999 - Name: x\n", 27, &e), ERR_INPUT);
	for (size_t len = 0; len < sizeof LISTED; len++)
		if (lttng_list_read(&l, LISTED, len, &e) == 0) {
			assert_true(
			    l.nprograms >= 1 && l.nprograms <= 2 && l.programs[0].nevents <= 3);
			lttng_list_release(&l);
		}
}

struct said {
	char text[4000];
	uint32_t wrong;
};

static void
take(void *of, bool wrong, int line, const char *words)
{
	struct said *s = of;
	size_t len = strlen(s->text);

	s->wrong += wrong;
	snprintf(
	    s->text + len, sizeof s->text - len, "%s%d: %s\n", wrong ? "" : "note ", line, words);
}

static void
check(const char *rule, const char *wanted)
{
	char text[2000];
	struct said said = { 0 };
	struct mapping *m;
	struct lttng_list l;
	struct err e = { 0 };
	uint32_t wrong;

	snprintf(text, sizeof text, "[program]\nservice = x\n%s", rule);
	if (map_of_text(&m, text, &e) != 0 ||
	    lttng_list_read(&l, LISTED, sizeof LISTED - 1, &e) != 0)
		fail_msg("%s", e.text);
	wrong = map_check(m, l.programs[0].events, l.programs[0].nevents, take, &said);
	assert_string_equal(said.text, wanted);
	assert_int_equal(wrong, said.wrong);
	lttng_list_release(&l);
	map_free(m);
}

static void
a_mapping_is_compared_with_it(void **state)
{
	(void)state;
	check(
	    "[request r]\nbegin=broker:queued\nend=broker:tick\ncorrelate=thread\ntype_field=kind\nnested=no\n",
	    "");
	check("[request r]\nbegin=broker:queud\nend=broker:t*k\ncorrelate=thread\nnested=no\n",
	    "4: begin: the program has no tracepoint broker:queud; did you mean broker:queued?\n");
	check("[request r]\nbegin=rpc:begin\nend=broker:x*\ncorrelate=thread\nnested=no\n",
	    "4: begin: the program has no tracepoint rpc:begin\n5: end: broker:x* describes no tracepoint of the program\n");
	check(
	    "[request r]\nbegin=broker:queued\nend=broker:tick\ncorrelate=thread\ntype_field=knd\nnested=no\n",
	    "7: type_field: broker:queued has no field knd; did you mean kind?\n");
	check(
	    "[request r]\nbegin=broker:queued\nend=broker:tick\ncorrelate=thread\ntype_field=job\nnested=no\n",
	    "note 7: type_field: job is a number: each of its values is a request type of its own\n");
	check(
	    "[request r]\nbegin=broker:queued\nend=broker:done\ncorrelate=field\nbegin_id=job\nend_id=job\n",
	    "8: end_id: field job is a text, and id job was a number before: they are never equal\n");
	check(
	    "[request r]\nbegin=broker:queued\nend=broker:done\ncorrelate=field\nbegin_id=job\nend_id=state\n",
	    "");
	check(
	    "[request r]\nbegin=broker:queued\nend=broker:done\ncorrelate=field\nbegin_id=job\nend_id=list\n",
	    "8: end_id: field list is neither number nor text; an id is a whole number or a text\n");
	check(
	    "[request r]\nbegin=broker:queued\nend=broker:done\ncorrelate=field\nbegin_id=job\nend_id=state\nstep=broker:tick no\n"
	    "step=broker:tuck job\n",
	    "9: step: broker:tick has no field no; it has: none\n"
	    "10: step: the program has no tracepoint broker:tuck; did you mean broker:tick?\n");
	check("[request r]\nbegin=broker:queued\nend=broker:tick\ncorrelate=thread\nnested=no\n"
	      "[request s]\nbegin=broker:q*\nend=broker:done\ncorrelate=thread\nnested=no\n"
	      "[request t]\nbegin=broker:tick\nend=broker:*\ncorrelate=thread\nnested=no\n",
	    "9: begin: broker:queued begins [request r] in line 4 already: this one never does\n"
	    "note 15: end: broker:tick is described by begin, too: it ends a request where one is open\n"
	    "note 15: end: broker:queued also begins [request r] (line 4): where it ends one it begins none\n"
	    "note 14: begin: broker:tick also ends [request r] (line 5): where it ends one it begins none\n"
	    "note 15: end: broker:queued also begins [request s] (line 9): where it ends one it begins none\n");
}

static void
without_a_program_only_the_mapping_file_is_checked(void **state)
{
	struct said said = { 0 };
	struct mapping *m;
	struct err e = { 0 };

	(void)state;
	assert_int_equal(
	    map_of_text(&m,
		"[program]\nservice=x\n[request r]\nbegin=a:b\nend=a:e\ncorrelate=thread\n"
		"[request s]\nbegin=a:b\nend=a:f\ncorrelate=thread\nnested=yes\n",
		&e),
	    0);
	assert_int_equal(map_check(m, NULL, 0, take, &said), 1);
	assert_non_null(strstr(said.text, "note 3: [request r] does not say whether it is nested"));
	assert_non_null(strstr(said.text,
	    "\n8: begin: a:b begins [request r] in line 4 already: this one never does\n"));
	assert_null(strstr(said.text, "[request s] does not say"));
	map_free(m);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_listing_is_parsed),
		cmocka_unit_test(other_files_are_refused_and_a_cut_listing_is_parsed_to_its_end),
		cmocka_unit_test(a_mapping_is_compared_with_it),
		cmocka_unit_test(without_a_program_only_the_mapping_file_is_checked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
