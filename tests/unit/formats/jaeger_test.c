/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Jaeger's JSON: real traces with known critical paths, every form of the format, and malformed
 * input. */
#include "formats/json.h"
#include "tests/unit/formats/kit.h"

extern const struct format format_jaeger;

/* ---- published traces with known critical paths ---- */

enum { OPS_MAX = 16 };

struct op {
	char name[64]; /* "[service] operation" */
	int64_t us;
};

struct ops {
	struct op op[OPS_MAX];
	uint32_t n;
};

static struct op *
op_of(struct ops *o, const char *name)
{
	for (uint32_t i = 0; i < o->n; i++)
		if (strcmp(o->op[i].name, name) == 0)
			return &o->op[i];
	assert_true(o->n < OPS_MAX);
	snprintf(o->op[o->n].name, sizeof o->op[0].name, "%s", name);
	o->op[o->n].us = 0;
	return &o->op[o->n++];
}

/* { "[S1] O1": 70, .. } */
static void
take_expected(struct json *j, struct ops *ret)
{
	struct text_view key;
	char name[64];

	while (json_key(j, &key)) {
		snprintf(name, sizeof name, "%.*s", (int)key.len, key.s);
		assert_true(json_int(j, &op_of(ret, name)->us));
	}
}

/* The key "testing": an array of such, or an object that has one as "opTimeExclusive". */
static void
expected_of(const char *path, struct ops *ret)
{
	struct input in;
	struct json j;
	struct text_view key;
	struct err e;

	*ret = (struct ops){ .n = 0 };
	assert_int_equal(input_open(&in, path, &e), 0);
	json_begin(&j, &in);
	assert_true(json_enter_object(&j));
	while (json_key(&j, &key)) {
		if (!text_is(key, "testing"))
			continue;
		if (json_next(&j) == JSON_ARRAY) {
			assert_true(json_enter_array(&j));
			while (json_element(&j))
				if (json_enter_object(&j))
					take_expected(&j, ret);
			continue;
		}
		assert_true(json_enter_object(&j));
		while (json_key(&j, &key))
			if (text_is(key, "opTimeExclusive") && json_enter_object(&j))
				take_expected(&j, ret);
	}
	assert_int_equal(j.code, 0);
	json_end(&j);
	input_close(&in);
}

/* Time on the path by whose it is, and 0 for whose span is on it but without time of its own. */
static void
exclusive_of(const struct kit *k, const struct trace *t, struct ops *ret)
{
	struct arena a = { 0 };
	struct critpath p;
	struct err e;
	int64_t sum = 0;

	*ret = (struct ops){ .n = 0 };
	assert_int_equal(critpath_extract(&p, t, k->labels, NULL, &a, &e), 0);
	for (uint32_t i = 0; i < p.nsteps; i++) {
		const struct label *l = labels_get(
		    k->labels, i > 0 ? p.steps[i].owner : p.steps[0].label);
		char name[64];

		for (int each = 0; each < 2; each++) {
			int64_t took = each == 0 && i > 0
			                   ? p.steps[i].time_ns - p.steps[i - 1].time_ns
			                   : 0;

			snprintf(name, sizeof name, "[%.*s] %.*s", (int)l->service_len, l->text,
			    (int)l->name_len, l->name);
			op_of(ret, name)->us += took / 1000;
			sum += took;
			l = labels_get(k->labels, p.steps[i].label);
		}
	}
	assert_int_equal(sum, t->end_ns - t->begin_ns);
	arena_release(&a);
}

struct fixture {
	const char *file;
	const char *path; /* whose time it is, in order, in us */
	/* Where CRISP's figures are not ours: siblings overlap, CRISP gives each its whole duration
	 * and takes what that is too much from the parent; ours end where the next begins, so that
	 * the path adds up. Op by op, ours less CRISP's. */
	const char *differs;
};

static const struct fixture fixtures[] = {
	{ "crisp/1.json", "S1.O1 100", "" },
	{ "crisp/2.json", "S1.O1 10 S2.O2 50 S1.O1 40", "" },
	{ "crisp/3.json", "S2.O2 100", "" },
	{ "crisp/5.json", "S1.O1 10 S2.O2 20 S1.O1 10 S2.O2 10 S1.O1 10 S2.O2 30 S1.O1 10", "" },
	{ "crisp/6.json", "S1.O1 10 S2.O2 20 S1.O1 10 S3.O3 10 S1.O1 10 S4.O4 30 S1.O1 10", "" },
	{ "crisp/8.json", "S1.O1 10 S2.O2 10 S3.O3 50 S1.O1 30", "" },
	{ "crisp/9.json", "S1.O1 60 S4.O4 30 S1.O1 10", "" },
	{ "crisp/10.json", "S1.O1 10 S2.O2 199 S3.O3 99 S4.O4 300 S1.O1 392",
	    "[S1] O1 +2, [S2] O2 -1, [S3] O3 -1" },
	{ "crisp/12.json", "S1.O1 10 S2.O2 20 S4.O4 20 S2.O2 20 S1.O1 30", "" },
	{ "crisp/13.json", "S1.O1 10 S2.O2 20 S4.O4 20 S2.O2 20 S1.O1 30", "" },
	{ "crisp/15.json",
	    "S1.O1 10 S2.O2 10 S1.O1 5 S3.O2 10 S1.O1 5 S4.O2 10 S1.O1 5 S5.O2 10 S1.O1 5 S6.O2 10 "
	    "S1.O1 5 S7.O3 15",
	    "" },
	{ "crisp/16.json",
	    "S1.O1 10 S2.O2 10 S1.O1 10 S4.O4 10 S1.O1 10 S5.O5 10 S1.O1 10 S6.O6 10 S7.O7 10 S6.O6 10 "
	    "S1.O1 10",
	    "" },
	{ "crisp/18.json",
	    "S1.O1 10 S2.O2 20 S3.O3 10 S2.O2 10 S4.O4 10 S2.O2 10 S5.O5 10 S2.O2 30 S1.O1 10 S6.O6 20 "
	    "S7.O7 10 S8.O8 20 S7.O7 10 S9.O9 10 S7.O7 10 S6.O6 20 S1.O1 30",
	    "" },
	{ "crisp/19.json", "S1.O1 10 S2.O2 195 S3.O3 95 S4.O4 300",
	    "[S1] O1 +10, [S2] O2 -5, [S3] O3 -5" },
	{ "crisp/20.json", "S1.O1 10 S2.O2 195 S3.O3 95 S4.O4 300",
	    "[S1] O1 +10, [S2] O2 -5, [S3] O3 -5" },
	{ "crisp/22.json", "S1.O1 50 S2.O2 50 S1.O1 50 S2.O2 50 S1.O1 50 S2.O2 50", "" },
	{ "crisp/23.json",
	    "S1.O1 50 S2.O2 50 S3.O3 50 S2.O2 50 S3.O3 50 S2.O2 50 S3.O3 50 S1.O1 50 S2.O2 50 S3.O3 50 "
	    "S2.O2 50 S3.O3 50 S2.O2 50 S3.O3 50",
	    "" },
	{ "crisp/25.json",
	    "S1.O1 50 S2.O2 50 S3.O3 50 S2.O2 50 S3.O3 50 S2.O2 50 S3.O3 50 S1.O1 50 S2.O2 50 S3.O3 50 "
	    "S2.O2 50 S3.O3 50 S2.O2 50 S3.O3 50",
	    "" },
	{ "crisp/err_pattern1/err1.json", "S1.O1 70 S2.O2 30", "" },
	{ "crisp/err_pattern1/err2.json", "S1.O1 70 S2.O2 30", "" },
	{ "crisp/err_pattern3/err1.json", "S2.O2 70 S3.O3 30", "" },
	{ "crisp/err_pattern3/err2.json", "S2.O2 70 S3.O3 30", "" },
};

static bool
read_fixture(struct kit *k, const char *file, char path[512])
{
	char inside[256];

	snprintf(inside, sizeof inside, "jaeger/%s", file);
	if (!kit_data(path, inside))
		return false;
	kit_begin(k, 0);
	assert_int_equal(reading_file(k->r, path, &k->e), 0);
	assert_int_equal(reading_end(k->r, &k->e), 0);
	assert_int_equal(k->ntraces, 1);
	return true;
}

static void
critical_paths_equal_those_of_crisp(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof fixtures / sizeof *fixtures; i++) {
		const struct fixture *f = &fixtures[i];
		struct ops ours, theirs;
		struct kit k;
		char path[512], differs[512] = "";

		if (!read_fixture(&k, f->file, path))
			return;
		assert_string_equal(kit_path(&k, k.traces[0], 1000), f->path);
		expected_of(path, &theirs);
		exclusive_of(&k, k.traces[0], &ours);
		assert_int_equal(ours.n, theirs.n);
		for (uint32_t o = 0; o < theirs.n; o++) {
			int64_t more = op_of(&ours, theirs.op[o].name)->us - theirs.op[o].us;
			size_t len = strlen(differs);

			if (more != 0)
				snprintf(differs + len, sizeof differs - len, "%s%s %+lld",
				    len > 0 ? ", " : "", theirs.op[o].name, (long long)more);
		}
		assert_int_equal(ours.n,
		    theirs.n); /* op_of() would have added an operation that is not on our path */
		assert_string_equal(differs, f->differs);
		kit_end(&k);
	}
}

/* Their names say what they are; what runs at the same time has one of it on the path. */
static void
shapes_give_the_paths_that_their_names_say(void **state)
{
	static const struct {
		const char *file, *path;
	} shapes[] = {
		{ "base_case", "SERVICE_A.A_SPAN_START 1000" },
		{ "single_child_case",
		    "SERVICE_A.A_SPAN_START 10 SERVICE_B.B_SPAN 100 SERVICE_A.A_SPAN_START 890" },
		{ "sequential_children_case",
		    "SERVICE_A.A_SPAN_START 10 SERVICE_B.B_SPAN 100 SERVICE_A.A_SPAN_START 90 "
		    "SERVICE_C.C_SPAN 100 SERVICE_A.A_SPAN_START 700" },
		{ "concurrent_children_case", "SERVICE_A.A_SPAN_START 100 SERVICE_C.C_SPAN 100 "
					      "SERVICE_A.A_SPAN_START 800" },
		{ "concurrent_children_case_2",
		    "SERVICE_A.A_SPAN_START 10 SERVICE_B.B_SPAN 100 "
		    "SERVICE_A.A_SPAN_START 40 SERVICE_C.D_SPAN 100 SERVICE_A.A_SPAN_START 750" },
		{ "nested_concurrent_case",
		    "SERVICE_A.A_SPAN_START 400 SERVICE_C.C_SPAN 200 SERVICE_F.F_SPAN 200 "
		    "SERVICE_C.C_SPAN 100 SERVICE_A.A_SPAN_START 100" },
	};
	(void)state;

	for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
		struct kit k;
		char file[256], path[512];

		snprintf(file, sizeof file, "shapes/test_trace_%s.json", shapes[i].file);
		if (!read_fixture(&k, file, path))
			return;
		assert_string_equal(kit_path(&k, k.traces[0], 1000), shapes[i].path);
		kit_end(&k);
	}
}

/* ---- forms ---- */

#define SPAN(id, refs, begin, duration, process, more)                                \
	"{\"traceID\":\"7\",\"spanID\":\"" id "\",\"operationName\":\"op" id          \
	"\",\"references\":[" refs "],\"startTime\":" begin ",\"duration\":" duration \
	",\"processID\":\"" process "\"" more "}"
#define CHILD_OF(id) "{\"refType\":\"CHILD_OF\",\"traceID\":\"7\",\"spanID\":\"" id "\"}"
#define FOLLOWS(id) "{\"refType\":\"FOLLOWS_FROM\",\"traceID\":\"7\",\"spanID\":\"" id "\"}"
#define PROCESSES                                                                                               \
	"\"processes\":{\"p1\":{\"serviceName\":\"front\",\"tags\":[{\"key\":\"hostname\",\"type\":\"string\"," \
	"\"value\":\"node1\"}]},\"p2\":{\"serviceName\":\"back\",\"tags\":[{\"key\":\"ip\",\"value\":\"10.0.0.2\"}]}}"
#define TRACE_ID(id, spans) "{\"traceID\":\"" id "\",\"spans\":[" spans "]," PROCESSES "}"
#define TRACE(spans) TRACE_ID("7", spans)
#define OTHER(spans) TRACE_ID("8", spans)
#define TWO SPAN("1", "", "0", "100", "p1", "") "," SPAN("2", CHILD_OF("1"), "10", "20", "p2", "")
#define DATA(traces) "{\"data\":[" traces "],\"errors\":null}"

static void
all_forms_give_the_same_traces(void **state)
{
	static const char *const forms[] = {
		DATA(TRACE(TWO) "," OTHER(TWO)),
		"[" TRACE(TWO) "," OTHER(TWO) "]",
		TRACE(TWO) "\n" OTHER(TWO) "\n",
		TRACE(TWO) OTHER(TWO),
		DATA(TRACE(TWO)) "\n" DATA(OTHER(TWO)),
		"\xef\xbb\xbf [" TRACE(TWO) "]\n\n" DATA(OTHER(TWO)),
		"{" PROCESSES ",\"traceID\":\"7\",\"spans\":[" TWO "]}" OTHER(TWO),
	};
	(void)state;

	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
		for (size_t piece = 0; piece < 70; piece = piece < 9 ? piece + 1 : piece * 2) {
			struct kit k;

			kit_begin(&k, 0);
			assert_int_equal(
			    kit_read_pieces(&k, &format_jaeger, forms[i], strlen(forms[i]), piece),
			    0);
			assert_int_equal(k.ntraces, 2);
			for (int t = 0; t < 2; t++)
				assert_string_equal(kit_path(&k, k.traces[t], 1000),
				    "front.op1 10 back.op2 20 front.op1 70");
			assert_int_equal(kit_counts(&k).spans, 4);
			assert_string_equal(
			    reading_nodes(k.r)[k.traces[0]->events[0].node], "node1");
			for (int s = 0; s < SKIPS; s++)
				assert_int_equal(kit_skipped(&k, s), 0);
			kit_end(&k);
		}
}

static const struct value *
value_of(const struct kit *k, const struct event *e, const char *field)
{
	const struct label *l = labels_get(k->labels, e->label);

	for (uint32_t f = 0; f < e->nvalues; f++)
		if (strcmp(l->fields[f], field) == 0)
			return &e->values[f];
	return NULL;
}

static void
tags_become_fields(void **state)
{
	static const char text[] = TRACE(SPAN("1", "", "0", "100", "p1",
	    ",\"tags\":[{\"key\":\"items\",\"type\":\"int64\",\"value\":12},{\"key\":\"error\",\"value\":true},"
	    "{\"key\":\"shard\",\"value\":\"e\\u00fc\"},{\"key\":\"ratio\",\"value\":0.5},"
	    "{\"key\":\"cached\",\"value\":false}]") "," SPAN("2", CHILD_OF("1"), "10", "20", "p2",
	    ",\"tags\":[{\"key\":\"b\",\"value\":\"x\"}]"));
	struct kit k;
	const struct event *e;
	(void)state;

	kit_begin(&k, 0);
	assert_int_equal(kit_read(&k, &format_jaeger, text), 0);
	assert_int_equal(k.ntraces, 1);
	e = &k.traces[0]->events[0];
	assert_int_equal(e->nvalues, labels_get(k.labels, e->label)->nfields);
	assert_int_equal(value_of(&k, e, "items")->i, 12);
	assert_int_equal(value_of(&k, e, "failed")->u, 1);
	assert_memory_equal(value_of(&k, e, "shard")->text, "e\xc3\xbc", 3);
	assert_true(value_of(&k, e, "ratio")->d == 0.5);
	assert_int_equal(value_of(&k, e, "cached")->u, 0);
	e = &k.traces[0]->events[k.traces[0]->units[1].first];
	assert_int_equal(value_of(&k, e, "failed")->u, 0);
	assert_int_equal(value_of(&k, e, "b")->len, 1);
	kit_end(&k);
}

static void
what_follows_is_waited_for_only_if_it_ends_before(void **state)
{
	static const char text[] = TRACE(SPAN("1", "", "0", "100", "p1", "") "," SPAN(
	    "2", FOLLOWS("1"), "10", "20", "p2", "") "," SPAN("3", FOLLOWS("1"), "50", "200", "p2",
	    "") "," SPAN("4", CHILD_OF("1"), "90", "200", "p1", ""));
	struct kit k;
	(void)state;

	kit_begin(&k, 0);
	assert_int_equal(kit_read(&k, &format_jaeger, text), 0);
	assert_string_equal(
	    kit_path(&k, k.traces[0], 1000), "front.op1 10 back.op2 20 front.op1 60 front.op4 10");
	assert_int_equal(k.traces[0]->nunits, 4);
	kit_end(&k);
}

/* ---- malformed input ---- */

static void
a_bad_span_costs_that_span(void **state)
{
	static const char *const bad[] = {
		"{\"spanID\":\"3\",\"startTime\":NaN,\"duration\":1}",
		"{\"spanID\":\"3\" \"startTime\":1}",
		"{\"spanID\":tru}",
		"{\"spanID\":\"3\",\"tags\":[{\"key\":\"a\",\"value\":\"\\x\"}]}",
		"{spanID:3}",
		"nope",
		"{\"a\":\"\x01 \\\" }\"}",
	};
	char text[4096];
	(void)state;

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		for (size_t piece = 0; piece < 5; piece++) {
			struct kit k;

			snprintf(text, sizeof text,
			    DATA(TRACE(SPAN("1", "", "0", "100", "p1", "") ",%s," SPAN(
				"2", CHILD_OF("1"), "10", "20", "p2", "")) "," OTHER(TWO)),
			    bad[i]);
			kit_begin(&k, 0);
			assert_int_equal(
			    kit_read_pieces(&k, &format_jaeger, text, strlen(text), piece), 0);
			assert_int_equal(k.ntraces, 2);
			assert_string_equal(kit_path(&k, k.traces[0], 1000),
			    "front.op1 10 back.op2 20 front.op1 70");
			assert_true(k.traces[0]->lossy);
			assert_false(k.traces[1]->lossy);
			assert_int_equal(kit_skipped(&k, SKIP_MALFORMED), 1);
			assert_in_range(kit_counts(&k).skipped[SKIP_MALFORMED].offset,
			    (uint64_t)(strstr(text, bad[i]) - text),
			    (uint64_t)(strstr(text, bad[i]) - text) + strlen(bad[i]));
			kit_end(&k);
		}
}

static void
a_cut_line_costs_that_line(void **state)
{
	static const char line[] = TRACE(TWO), next[] = OTHER(TWO);
	char text[3 * sizeof line];
	(void)state;

	for (size_t cut = 1; cut < sizeof line - 1; cut++) {
		struct kit k;

		snprintf(text, sizeof text, "%s\n%.*s\n%s\n", line, (int)cut, line, next);
		kit_begin(&k, 0);
		assert_int_equal(kit_read(&k, &format_jaeger, text), 0);
		assert_int_equal(k.ntraces, 2);
		assert_true(kit_skipped(&k, SKIP_MALFORMED) == 1);
		kit_end(&k);
	}
}

static void
a_truncated_file_gives_the_traces_before_the_cut(void **state)
{
	static const char text[] = DATA(TRACE(TWO) "," OTHER(TWO));
	(void)state;

	for (size_t cut = 1; cut < sizeof text - 1; cut++) {
		struct kit k;
		uint32_t complete = 0;

		kit_begin(&k, 0);
		assert_int_equal(kit_read_pieces(&k, &format_jaeger, text, cut, 7), 0);
		for (const char *at = text;
		     (at = strstr(at, "}]}}}")) != NULL && at + 5 <= text + cut; at++)
			complete++;
		assert_int_equal(k.ntraces, complete);
		assert_int_equal(kit_skipped(&k, SKIP_TRUNCATED), 1);
		kit_end(&k);
	}
}

static void
incomplete_and_nonsense_spans_are_counted(void **state)
{
	static const char text[] = TRACE(TWO
	    ","
	    "{\"operationName\":\"no id\",\"startTime\":1,\"duration\":1},{\"spanID\":\"8\",\"duration\":1},"
	    "{\"spanID\":\"9\",\"startTime\":1},{\"spanID\":\"a\",\"startTime\":\"x\",\"duration\":1}," SPAN(
		"b", CHILD_OF("1"), "50", "-20", "p1", "") "," SPAN("c", CHILD_OF("1"),
		"9223372036854775807", "1", "p1",
		"") "," SPAN("d", CHILD_OF("1"), "1", "9223372036854775807", "p1", "") ", 7, null");
	struct kit k;
	(void)state;

	kit_begin(&k, 0);
	assert_int_equal(kit_read(&k, &format_jaeger, text), 0);
	assert_int_equal(k.ntraces, 1);
	assert_string_equal(
	    kit_path(&k, k.traces[0], 1000), "front.op1 10 back.op2 20 front.op1 70");
	assert_int_equal(kit_skipped(&k, SKIP_INCOMPLETE), 1);
	assert_int_equal(kit_skipped(&k, SKIP_UNTIMED), 5);
	assert_int_equal(kit_skipped(&k, SKIP_NEGATIVE), 1);
	assert_int_equal(kit_skipped(&k, SKIP_MALFORMED), 2);
	kit_end(&k);
}

/* A trace larger than the window's bound is skipped, and the traces after it are read. */
static void
a_huge_trace_is_passed_over(void **state)
{
	enum { SPANS = 400000 };
	struct buf b = { 0 };
	struct kit k;
	(void)state;

	buf_printf(&b, "{\"data\":[{\"traceID\":\"9\",\"spans\":[");
	for (int i = 0; i < SPANS; i++)
		buf_printf(&b,
		    "%s{\"spanID\":\"%x\",\"references\":[{\"refType\":\"CHILD_OF\",\"spanID\":\"1\"}],"
		    "\"startTime\":1,\"duration\":1,\"operationName\":\"%0128d\"}",
		    i > 0 ? "," : "", i + 1, i);
	buf_printf(&b, "],\"processes\":{}}," TRACE(TWO) "]}");
	assert_false(b.failed);
	assert_true(b.len > INPUT_WINDOW_MAX_BYTES);
	kit_begin(&k, 0);
	assert_int_equal(kit_read_pieces(&k, &format_jaeger, b.data, b.len, 0), 0);
	assert_int_equal(k.ntraces, 1);
	assert_int_equal(kit_skipped(&k, SKIP_OVERSIZE), 1);
	buf_release(&b);
	kit_end(&k);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(critical_paths_equal_those_of_crisp),
		cmocka_unit_test(shapes_give_the_paths_that_their_names_say),
		cmocka_unit_test(all_forms_give_the_same_traces),
		cmocka_unit_test(tags_become_fields),
		cmocka_unit_test(what_follows_is_waited_for_only_if_it_ends_before),
		cmocka_unit_test(a_bad_span_costs_that_span),
		cmocka_unit_test(a_cut_line_costs_that_line),
		cmocka_unit_test(a_truncated_file_gives_the_traces_before_the_cut),
		cmocka_unit_test(incomplete_and_nonsense_spans_are_counted),
		cmocka_unit_test(a_huge_trace_is_passed_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
