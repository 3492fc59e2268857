/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "map_file.h"

#define PROGRAM "[program]\nservice = x\n"
#define THREAD PROGRAM "[request r]\nbegin = a:b\nend = a:e\ncorrelate = thread\n"
#define SPAN                                                                                     \
	PROGRAM "[request r]\nbegin = o:start\nend = o:end\ncorrelate = span\nbegin_id = span\n" \
		"end_id = span\ntrace_id = trace\nparent_id = parent\n"
#define FIELD PROGRAM "[request r]\nbegin = a:b\nend = a:e\ncorrelate = field\nbegin_id = job\n"

static struct mapping *
must_load(const char *text)
{
	struct mapping *m = NULL;
	struct err e = { 0 };

	if (map_of_text(&m, text, &e) != 0)
		fail_msg("%s", e.text);
	return m;
}

static void
a_file_is_parsed_into_its_rules(void **state)
{
	struct mapping *m = must_load(
	    "# of a broker\n"
	    "[program]\nservice = broker\n"
	    "[request rpc]\nbegin = rpc:start\nend = rpc:*_end	# any end\ncorrelate = thread\ntype = RPC\nnested = no\n"
	    "[request job]\nbegin = broker:queued\nbegin_id = job\nend = broker:done\nend_id = task\n"
	    "correlate = field\ntype_field = kind\nlimit = 5min\ncarry = no\n"
	    "step = broker:started job -> task\nstep = broker:sent  no as task->ticket\nstep=broker:read ticket\n");
	const struct map_rule *r;

	(void)state;
	assert_string_equal(m->service, "broker");
	assert_int_equal(m->nrules, 2);
	r = &m->rules[0];
	assert_string_equal(r->name, "rpc");
	assert_int_equal(r->line, 4);
	assert_int_equal(r->correlate, MAP_THREAD);
	assert_string_equal(r->begin, "rpc:start");
	assert_string_equal(r->end, "rpc:*_end");
	assert_string_equal(r->type, "RPC");
	assert_null(r->type_field);
	assert_false(r->nested);
	assert_int_equal(r->limit_ns, 60000000000);
	r = &m->rules[1];
	assert_int_equal(r->correlate, MAP_FIELD);
	assert_string_equal(r->begin_id, "job");
	assert_string_equal(r->end_id, "task");
	assert_string_equal(r->type_field, "kind");
	assert_null(r->type);
	assert_int_equal(r->limit_ns, 300000000000);
	assert_false(r->carry);
	assert_int_equal(r->nids, 3);
	assert_string_equal(r->ids[0], "job");
	assert_string_equal(r->ids[1], "task");
	assert_string_equal(r->ids[2], "ticket");
	assert_int_equal(r->end_kind, 1);
	assert_int_equal(r->nsteps, 3);
	assert_string_equal(r->steps[0].event, "broker:started");
	assert_int_equal(r->steps[0].id_kind, 0);
	assert_int_equal(r->steps[0].gives_kind, 1);
	assert_string_equal(r->steps[1].id, "no");
	assert_int_equal(r->steps[1].id_kind, 1);
	assert_int_equal(r->steps[1].gives_kind, 2);
	assert_null(r->steps[2].gives);
	assert_int_equal(r->steps[2].id_kind, 2);
	map_free(m);
}

static void
a_span_has_alternative_fields(void **state)
{
	struct mapping *m = must_load(
	    SPAN "service_field = service_name|service\ntype_field = op_name | operation | name\n");
	const struct map_rule *r = &m->rules[0];

	(void)state;
	assert_int_equal(r->correlate, MAP_SPAN);
	assert_int_equal(r->service_fields.n, 2);
	assert_string_equal(r->service_fields.names[1], "service");
	assert_int_equal(r->type_fields.n, 3);
	assert_string_equal(r->type_fields.names[2], "name");
	assert_string_equal(r->trace_fields.names[0], "trace");
	assert_string_equal(r->parent_fields.names[0], "parent");
	assert_string_equal(map_pattern(m, 0), "o:start");
	map_free(m);
}

static void
each_required_tracepoint_is_listed_once(void **state)
{
	struct mapping *m = must_load(PROGRAM
	    "[request a]\nbegin = p:b\nend = p:e\ncorrelate = thread\n"
	    "[request b]\nbegin = q:*_b\nend = p:e\ncorrelate = field\nbegin_id = i\nend_id = i\nstep = p:b i\n");

	(void)state;
	assert_string_equal(map_pattern(m, 0), "p:b");
	assert_string_equal(map_pattern(m, 1), "p:e");
	assert_string_equal(map_pattern(m, 2), "q:*_b");
	assert_null(map_pattern(m, 3));
	assert_true(map_needs(m, "p:b"));
	assert_true(map_needs(m, "q:x_b"));
	assert_false(map_needs(m, "q:x_bb"));
	assert_false(map_needs(m, "p:x"));
	map_free(m);
}

static void
errors_name_the_line_and_the_permitted_values(void **state)
{
	static const struct {
		const char *text, *words;
	} bad[] = {
		{ "", ": [program] with service = NAME is missing" },
		{ "[program]\n", ": [program] with service = NAME is missing" },
		{ PROGRAM, ": no [request NAME]: want one for each way in" },
		{ "[program]\nservice =\n[request r]\n", ":2: service: want the program's name" },
		{ "[program]\nservice = a/b\n[request r]\n",
		    ":2: service: want the program's name" },
		{ "[program]\nservice = abcdefghijklmnop\n",
		    ":2: service: the kernel keeps 15 letters of a program's name; "
		    "want abcdefghijklmno" },
		{ SPAN "carry = yes\n", ":11: carry does not go with correlate = span" },
		{ SPAN "step = a:b c\n", ":11: step goes with correlate = field only" },
		{ SPAN "type_field = a |\n", ":11: type_field:  is no field" },
		{ SPAN "service_field = a | b c\n", ":11: service_field: \"c\" is too much" },
		{ SPAN "service_field = a|b|c|d|e|f|g|h|i\n", ":11: service_field: over 8 fields" },
		{ PROGRAM
		    "[request r]\nbegin = a:b\nend = a:e\ncorrelate = span\nbegin_id = s\nend_id = s\ntrace_id = t\n",
		    ":3: [request r] needs parent_id" },
		{ THREAD "trace_id = t\n", ":7: trace_id goes with correlate = span only" },
		{ "[program]\n[program]\n", ":2: [program] was in line 1 already" },
		{ "[program]\nservice = a\nservice = b\n",
		    ":3: service was given in line 2 already" },
		{ "[program]\nservic = a\n",
		    ":2: no key \"servic\"; did you mean service? [program] has: service" },
		{ "[progam]\n",
		    ":1: no section [progam]; did you mean program? there are [program] and [request NAME]" },
		{ "[requst a]\n",
		    ":1: no section [requst a]; did you mean request? there are [program] and [request NAME]" },
		{ "[request]\n", ":1: want [request NAME]" },
		{ "[request a b]\n", ":1: want [request NAME]" },
		{ "begin = a:b\n", ":1: a key before the first [section]" },
		{ THREAD "[request r]\n", ":7: [request r] was in line 3 already" },
		{ THREAD "begni = a:b\n",
		    ":7: no key \"begni\"; did you mean begin? [request] has: begin, end, correlate" },
		{ THREAD "colour = red\n", ":7: no key \"colour\"; [request] has: begin" },
		{ THREAD "begin = a:b\n", ":7: begin was given in line 4 already" },
		{ PROGRAM "[request r]\nend = a:b\ncorrelate = thread\n",
		    ":3: [request r] needs begin" },
		{ PROGRAM "[request r]\nbegin = a:b\ncorrelate = thread\n",
		    ":3: [request r] needs end" },
		{ PROGRAM "[request r]\nbegin = a:b\nend = a:e\n",
		    ":3: [request r] needs correlate = thread, field or span" },
		{ PROGRAM "[request r]\ncorrelate = thred\n",
		    ":4: correlate: unknown \"thred\"; did you mean thread? want thread, "
		    "field or span" },
		{ PROGRAM "[request r]\ncorrelate =\n",
		    ":4: correlate: unknown \"\"; want thread, field or span" },
		{ PROGRAM "[request r]\ncorrelate = thread\nbegin = ab\nend = a:e\n",
		    ":5: begin: ab is no tracepoint: want "
		    "provider:event" },
		{ PROGRAM "[request r]\ncorrelate = thread\nbegin = a:b c\nend = a:e\n",
		    ":5: begin: a:b c is no tracepoint" },
		{ PROGRAM "[request r]\ncorrelate = thread\nbegin = a:b\nend = :e\n",
		    ":6: end: :e is no tracepoint" },
		{ PROGRAM "[request r]\ncorrelate = thread\nbegin = a:b\nend = a:b\n",
		    ":6: end: a:b is its begin" },
		{ THREAD "begin_id = x\n", ":7: begin_id goes with correlate = field only" },
		{ THREAD "carry = yes\n", ":7: carry goes with correlate = field only" },
		{ THREAD "step = a:b x\n", ":7: step goes with correlate = field only" },
		{ THREAD "type = a\ntype_field = b\n",
		    ":7: type and type_field (line 8): want one of them" },
		{ THREAD "type = \"\"\n", ":7: type: want 1 to 63 plain letters" },
		{ THREAD "type = \"a\\n\"\n", ":7: type: want 1 to 63 plain letters" },
		{ THREAD "type_field = a.b\n",
		    ":7: type_field: a.b is no field: want a name of letters, digits and _" },
		{ THREAD "nested = maybe\n", ":7: nested: " },
		{ THREAD "limit = 5\n", ":7: limit: " },
		{ THREAD "limit = 0s\n", ":7: limit: 0s is out of range, want 1ms to 24h" },
		{ FIELD, ":3: [request r] needs end_id" },
		{ FIELD "end_id = job\nnested = no\n",
		    ":9: nested goes with correlate = thread only" },
		{ FIELD "end_id = job x\n",
		    ":8: end_id: \"x\" is too much: want FIELD, or FIELD as NAME" },
		{ FIELD "end_id = job as\n", ":8: end_id: a name is missing after \"as\"" },
		{ FIELD "end_id =\n", ":8: end_id: a field is missing" },
		{ FIELD "end_id = job\nstep =\n", ":9: step:  is no tracepoint" },
		{ FIELD "end_id = job\nstep = a:s\n", ":9: step: a field is missing" },
		{ FIELD "end_id = job\nstep = a:s job ->\n", ":9: step: a field is missing" },
		{ FIELD "end_id = job\nstep = a:s job -> t x\n",
		    ":9: step: \"x\" is too much: want provider:event FIELD, or" },
		{ FIELD "end_id = no\nstep = a:s job -> task\n",
		    ":8: which id is no? [request r] has: job, task; want e.g. \"no as "
		    "job\"" },
		{ FIELD "end_id = job\nstep = a:s job -> task\nstep = a:t no\n",
		    ":10: which id is no? [request r] has: job, task" },
		{ FIELD "end_id = job as tsk\n",
		    ":8: which id is tsk? [request r] has: job; want e.g. \"job as job\"" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		struct mapping *m = NULL;
		struct err e = { 0 };

		assert_int_equal(map_of_text(&m, bad[i].text, &e), ERR_INPUT);
		if (strncmp(e.text, "/tmp/map_test.", 14) != 0 ||
		    strstr(e.text, bad[i].words) == NULL)
			fail_msg("want %s, got %s", bad[i].words, e.text);
	}
}

static void
fields_of_other_names_may_hold_the_same_id(void **state)
{
	struct mapping *m = must_load(FIELD "end_id = number\nstep = a:s n\n");

	(void)state;
	assert_int_equal(m->rules[0].nids, 1);
	assert_int_equal(m->rules[0].end_kind, 0);
	assert_int_equal(m->rules[0].steps[0].id_kind, 0);
	map_free(m);
}

static void
the_sizes_of_a_mapping_are_bounded(void **state)
{
	static char text[64 * 1024];
	struct mapping *m;
	struct err e = { 0 };
	size_t len = (size_t)sprintf(text, PROGRAM);

	(void)state;
	for (int i = 0; i <= MAP_RULES_MAX; i++)
		len += (size_t)sprintf(
		    text + len, "[request r%d]\nbegin=a:b\nend=a:e\ncorrelate=thread\n", i);
	assert_int_equal(map_of_text(&m, text, &e), ERR_INPUT);
	assert_non_null(strstr(e.text, ":259: over 64 requests"));
	len = (size_t)sprintf(text, FIELD "end_id = job\n");
	for (int i = 0; i <= MAP_STEPS_MAX; i++)
		len += (size_t)sprintf(text + len, "step = a:s job -> t%d\n", i);
	assert_int_equal(map_of_text(&m, text, &e), ERR_INPUT);
	assert_non_null(strstr(e.text, ":25: over 16 steps"));
	strstr(text, "step = a:s job -> t16")[0] = '\0';
	m = must_load(text);
	assert_int_equal(m->rules[0].nids, 1 + MAP_STEPS_MAX);
	map_free(m);
	assert_int_equal(map_load(&m, "/no/such/file", &e), ERR_MISSING);
	assert_int_equal(map_load(&m, "/", &e), ERR_SYSTEM);
}

static void
a_begin_end_pair_is_a_mapping_of_any_program(void **state)
{
	struct mapping *m;
	struct err e;

	(void)state;
	assert_int_equal(map_of_pair(&m, "a:*_b", "a:*_e", &e), 0);
	assert_string_equal(m->service, "*");
	assert_int_equal(m->nrules, 1);
	assert_int_equal(m->rules[0].correlate, MAP_THREAD);
	assert_false(m->rules[0].nested);
	assert_true(map_needs(m, "a:x_e"));
	map_free(m);
	assert_int_equal(map_of_pair(&m, "ab", "a:e", &e), ERR_INPUT);
}

/* ---- folders ---- */

static void
put_file(const char *folder, const char *name, const char *text)
{
	char path[200];
	FILE *f;

	snprintf(path, sizeof path, "%s/%s", folder, name);
	if ((f = fopen(path, "w")) == NULL)
		fail_msg("%s", path);
	fputs(text, f);
	fclose(f);
}

static void
remove_file(const char *folder, const char *name)
{
	char path[200];

	snprintf(path, sizeof path, "%s/%s", folder, name);
	assert_int_equal(unlink(path), 0);
}

#define OF(service)                     \
	"[program]\nservice = " service \
	"\n[request r]\nbegin = a:b\nend = a:e\ncorrelate = thread\n"

static void
a_folder_has_one_mapping_for_each_program(void **state)
{
	char folder[] = "/tmp/maps_test.XXXXXX";
	struct maps maps;
	struct err e = { 0 };

	(void)state;
	assert_non_null(mkdtemp(folder));
	put_file(folder, "b.map", OF("nfsd"));
	put_file(folder, "a.map", OF("nf*"));
	put_file(folder, "c.map~", "nonsense");
	put_file(folder, ".d.map", "nonsense");
	assert_int_equal(maps_load(&maps, folder, &e), 0);
	assert_int_equal(maps.count, 2);
	assert_string_equal(maps.list[0]->service, "nf*");
	assert_ptr_equal(
	    maps_of(&maps, "nfsd"), maps.list[1]); /* an exact name precedes a pattern */
	assert_ptr_equal(maps_of(&maps, "nfsx"), maps.list[0]);
	assert_null(maps_of(&maps, "smbd"));
	maps_release(&maps);
	put_file(folder, "c.map", OF("nfsd"));
	assert_int_equal(maps_load(&maps, folder, &e), ERR_INPUT);
	assert_non_null(strstr(e.text, "/c.map: service = nfsd has "));
	assert_non_null(strstr(e.text, "/b.map already"));
	assert_int_equal(maps.count, 0);
	put_file(folder, "c.map", "nonsense");
	assert_int_equal(maps_load(&maps, folder, &e), ERR_INPUT);
	assert_non_null(strstr(e.text, "/c.map:1: "));
	remove_file(folder, "a.map");
	remove_file(folder, "b.map");
	remove_file(folder, "c.map");
	remove_file(folder, "c.map~");
	remove_file(folder, ".d.map");
	assert_int_equal(maps_load(&maps, folder, &e), 0);
	assert_int_equal(maps.count, 0);
	maps_release(&maps);
	assert_int_equal(rmdir(folder), 0);
	assert_int_equal(maps_load(&maps, folder, &e), 0); /* an empty folder is no error */
	assert_int_equal(maps.count, 0);
	assert_int_equal(maps_load(&maps, "/dev/null", &e), ERR_SYSTEM);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_is_parsed_into_its_rules),
		cmocka_unit_test(a_span_has_alternative_fields),
		cmocka_unit_test(each_required_tracepoint_is_listed_once),
		cmocka_unit_test(errors_name_the_line_and_the_permitted_values),
		cmocka_unit_test(fields_of_other_names_may_hold_the_same_id),
		cmocka_unit_test(the_sizes_of_a_mapping_are_bounded),
		cmocka_unit_test(a_begin_end_pair_is_a_mapping_of_any_program),
		cmocka_unit_test(a_folder_has_one_mapping_for_each_program),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
