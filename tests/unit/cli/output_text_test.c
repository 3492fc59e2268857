/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The answers in golden/NAME.json are printed; golden/NAME.ascii and NAME.utf8 have the expected
 * text. HONE_GOLDEN=write writes these two again, to be read before they are committed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/err.h"
#include "cli/output.h"
#include "cli/progress.h"

static const char *
golden(const char *name, const char *ending)
{
	static char path[512];
	const char *slash = strrchr(__FILE__, '/');

	snprintf(path, sizeof path, "%.*s/golden/%s.%s", (int)(slash - __FILE__), __FILE__, name,
	    ending);
	return path;
}

static json_t *
answer_of(const char *name)
{
	json_error_t e;
	json_t *a = json_load_file(golden(name, "json"), JSON_REJECT_DUPLICATES, &e);

	if (a == NULL)
		fail_msg("%s:%d: %s", golden(name, "json"), e.line, e.text);
	return a;
}

static char *
text_of_file(const char *path)
{
	FILE *f = fopen(path, "r");
	char *text = calloc(1, 1 << 16);

	if (f == NULL)
		fail_msg("%s: cannot be read", path);
	assert_true(fread(text, 1, (1 << 16) - 1, f) > 0);
	fclose(f);
	return text;
}

static void
must_be(const char *name, const char *ending, const char *text)
{
	const char *path = golden(name, ending), *mode = getenv("HONE_GOLDEN");
	char *expected;

	if (mode != NULL && strcmp(mode, "write") == 0) {
		FILE *f = fopen(path, "w");

		assert_non_null(f);
		fputs(text, f);
		fclose(f);
	}
	expected = text_of_file(path);
	assert_string_equal(text, expected);
	free(expected);
}

typedef void print(struct pen *p, const json_t *answer);

static char *said(print *pr, const json_t *a, bool colour);

/* Prints the answer `name`; the text must equal that kept under the other name. */
static void
check_as(const char *answer, const char *name, print *pr)
{
	json_t *a = answer_of(answer);

	for (int utf8 = 0; utf8 < 2; utf8++) {
		char *text = NULL;
		size_t len;
		struct pen p = { .utf8 = utf8, .columns = 100 };

		p.out = open_memstream(&text, &len);
		pr(&p, a);
		fclose(p.out);
		pen_release(&p);
		for (size_t i = 0; i < len && !utf8; i++)
			assert_true(
			    text[i] == '\n' || text[i] == '\t' ||
			    ((unsigned char)text[i] >= 0x20 && (unsigned char)text[i] < 0x7f));
		assert_null(strchr(text, '\033'));
		must_be(name, utf8 ? "utf8" : "ascii", text);
		free(text);
	}
	json_decref(a);
}

static void
check(const char *name, print *pr)
{
	check_as(name, name, pr);
}

static void
print_verdict(struct pen *p, const json_t *answer)
{
	json_t *quiet = json_pack("{s:i, s:b, s:[]}", "added", 0, "quiet", 1, "runs");

	output_text.verdict(p, answer, quiet);
	json_decref(quiet);
}

static void
status_reads_well(void **state)
{
	(void)state;
	check("status", output_text.status);
	check("idle", output_text.status);
}

static void
agents_and_tracepoints_read_well(void **state)
{
	(void)state;
	check("agents", output_text.agents);
	check("tracepoints", output_text.tracepoints);
}

static void
a_check_reads_well(void **state)
{
	(void)state;
	check("check", check_print);
	check("checked", check_print);
}

static void
a_verdict_reads_well(void **state)
{
	(void)state;
	check("verdict", print_verdict);
	check("lost", print_verdict);
	check("doubted", print_verdict);
	check("gone", print_verdict);
	check("several", print_verdict);
}

static void
print_dot(struct pen *p, const json_t *answer)
{
	struct buf text = { 0 };

	if (json_object_get(answer, "runs") != NULL)
		dot_forest(&text, answer);
	else
		dot_space(&text, answer);
	assert_false(text.failed);
	fwrite(text.data, 1, text.len, p->out);
	buf_release(&text);
}

static void
what_diagnoses_found_reads_well(void **state)
{
	(void)state;
	check("forest", output_text.forest);
	check("why", output_text.why);
	check("whytp", output_text.why);
	check("history", output_text.history);
	check("diff", output_text.diff);
	check("audit", output_text.audit);
}

static void
a_space_reads_well(void **state)
{
	(void)state;
	check("space", output_text.space);
	check("versions", output_text.versions);
	check_as("space", "stats", output_text.space_stats);
}

/* The output is valid for graphviz, also with texts that contain the end of a string. */
static void
graphs_are_as_graphviz_wants_them(void **state)
{
	json_t *odd = json_pack("{s:[{s:i, s:s, s:s, s:[{s:i, s:n, s:s, s:s}], s:[]}]}", "runs",
	    "run", 1, "type", "a\"];b\\", "state", "x\ny", "hypotheses", "id", 1, "parent",
	    "tracepoint", "\\\"", "presence", "+", "verdicts");
	char *text = said(print_dot, odd, false);
	(void)state;

	check_as("forest", "forest-dot", print_dot);
	check_as("space", "space-dot", print_dot);
	assert_non_null(strstr(text, "label=\"a\\\"];b\\\\: diagnosis 1, x?y\""));
	assert_non_null(strstr(text, "+ \\\\\\\""));
	free(text);
	json_decref(odd);
}

static char *
page_of(const json_t *answer)
{
	struct buf page = { 0 };
	struct err e;
	char *text;

	assert_int_equal(forest_page_write(&page, answer, &e), 0);
	buf_u8(&page, 0);
	text = strdup((const char *)page.data);
	buf_release(&page);
	return text;
}

static void
a_page_has_the_whole_document_and_loads_no_resource(void **state)
{
	json_t *a = answer_of("forest"),
	       *h = json_array_get(
		   json_object_get(json_array_get(json_object_get(a, "runs"), 0), "hypotheses"), 0);
	char *text;
	(void)state;

	json_object_set_new(h, "tracepoint", json_string("<script>alert(1)</script>&\""));
	json_object_set_new(h, "state", json_string("x\" onload=\"y"));
	text = page_of(a);
	assert_non_null(strstr(text, "&#60;script&#62;alert(1)&#60;/script&#62;&#38;&#34;"));
	assert_non_null(strstr(text, "class=\"state x--onload--y\""));
	assert_null(strstr(text, "<script"));
	assert_null(strstr(text, "http://"));
	assert_null(strstr(text, "https://"));
	assert_null(strstr(text, "url("));
	assert_null(strstr(text, " style="));
	assert_non_null(strstr(text, "default-src 'none'"));
	assert_non_null(strstr(text, "shop:lock_begin"));
	assert_true(strlen(text) < 40000);
	free(text);
	json_decref(a);
}

/* Requests without a verdict are not called predictable. */
static void
few_requests_are_not_called_no_problem(void **state)
{
	(void)state;
	check("few", output_text.analysis);
}

static void
an_analysis_reads_well(void **state)
{
	(void)state;
	check("analysis", output_text.analysis);
	check("baselines", output_text.baselines);
}

static char *
said(print *pr, const json_t *a, bool colour)
{
	struct pen p = { .utf8 = true, .colour = colour, .columns = 100 };
	char *text = NULL;
	size_t len;

	p.out = open_memstream(&text, &len);
	pr(&p, a);
	fclose(p.out);
	pen_release(&p);
	return text;
}

/* An answer that lacks all members, or has members of other types, is printed without a crash. */
static void
empty_answers_are_printed(void **state)
{
	static print *const printers[] = { print_verdict };
	print *const others[] = { output_text.status, output_text.agents, output_text.tracepoints,
		output_text.forest, output_text.started, output_text.stopped, output_text.learning,
		output_text.learned, output_text.why, output_text.history, output_text.diff,
		output_text.space, output_text.space_stats, output_text.versions, output_text.done,
		output_text.audit, print_dot };
	json_t *empty = json_object(),
	       *odd = json_pack("{s:s, s:[i,s], s:{s:i, s:[i]}, s:[n]}", "types", "x", "agents", 1,
		   "y", "run", "type", 3, "hypotheses", 7, "runs");
	(void)state;

	for (size_t i = 0; i < 18; i++) {
		print *pr = i < 17 ? others[i] : printers[0];

		free(said(pr, empty, false));
		free(said(pr, odd, false));
	}
	free(page_of(empty));
	free(page_of(odd));
	json_decref(empty);
	json_decref(odd);
}

/* Hypotheses that are parents of each other are not a tree; printing them must end. */
static void
a_malformed_tree_ends(void **state)
{
	json_t *a = json_pack("{s:[{s:s, s:[{s:i, s:i}, {s:i, s:i}, {s:i, s:n}, {s:i, s:i}]}]}",
	    "runs", "type", "T", "hypotheses", "id", 1, "parent", 2, "id", 2, "parent", 1, "id", 3,
	    "parent", "id", 3, "parent", 3);
	(void)state;

	free(said(output_text.forest, a, false));
	json_decref(a);
}

static void
colours_are_printed_on_request(void **state)
{
	json_t *a = answer_of("verdict");
	char *text = said(print_verdict, a, true);
	(void)state;

	assert_non_null(strstr(text, "\033[32misolates\033[0m"));
	free(text);
	json_decref(a);
}

static void
a_node_that_left_is_not_said_to_be_off(void **state)
{
	json_t *a = answer_of("verdict"),
	       *gone = json_pack("{s:i, s:b, s:[{s:s, s:f, s:f}, {s:s, s:f, s:f}]}", "added", 0,
		   "quiet", 1, "unknown", "node", "n2", "since_s", 12.0, "lease_left_s", 3.0,
		   "node", "n3", "since_s", 60.0, "lease_left_s", 0.0);
	struct pen p = { .columns = 100 };
	char *text = NULL;
	size_t len;
	(void)state;

	p.out = open_memstream(&text, &len);
	output_text.verdict(&p, a, gone);
	fclose(p.out);
	pen_release(&p);
	assert_non_null(strstr(text, "confirmed by all connected agents"));
	assert_non_null(strstr(text, "off on n2, whose agent left 12"));
	assert_non_null(strstr(text, "its lease ends in 3"));
	assert_non_null(strstr(text, "off on n3"));
	assert_non_null(strstr(text, "its lease has ended"));
	free(text);
	json_decref(a);
	json_decref(gone);
}

static void
enabled_tracepoints_are_reported(void **state)
{
	json_t *a = answer_of("verdict"), *loud = json_pack("{s:i, s:b}", "added", 2, "quiet", 0);
	struct pen p = { .columns = 100 };
	char *text = NULL;
	size_t len;
	(void)state;

	p.out = open_memstream(&text, &len);
	output_text.verdict(&p, a, loud);
	fclose(p.out);
	pen_release(&p);
	assert_non_null(strstr(text, "2 added tracepoints are STILL ON"));
	free(text);
	json_decref(a);
	json_decref(loud);
}

static void
json_is_the_answer_itself(void **state)
{
	json_t *a = answer_of("status"), *again;
	char *text = said(output_json.status, a, false);
	(void)state;

	again = json_loads(text, 0, NULL);
	assert_true(json_equal(a, again));
	free(text);
	json_decref(a);
	json_decref(again);
}

static void
numbers_are_short(void **state)
{
	struct pen p = { .utf8 = true };
	(void)state;

	assert_string_equal(pen_ms(&p, 0), "0.00 ms");
	assert_string_equal(pen_ms(&p, 0.0123), "12.3 us");
	assert_string_equal(pen_ms(&p, 9.996), "10.0 ms");
	assert_string_equal(pen_ms(&p, 999.6), "1.00 s");
	assert_string_equal(pen_count(&p, 1234567), "1,234,567");
	assert_string_equal(pen_count(&p, -1234), "-1,234");
	assert_string_equal(pen_count(&p, 100), "100");
	assert_string_equal(pen_seconds(&p, 125), "2 min 5 s");
	assert_string_equal(pen_share(&p, 0.044), "4.4 %");
	assert_string_equal(pen_share(&p, 0.996), "100 %");
	assert_string_equal(pen_bar(&p, 0.5, 4), "██░░");
	assert_string_equal(pen_bar(&p, 2, 3), "███");
	assert_string_equal(pen_bar(&p, -1, 3), "░░░");
	assert_string_equal(pen_shorten(&p, "abcdefghijklmnop", 10), "abc…klmnop");
	assert_string_equal(pen_shorten(&p, "äbcdefghijklmnöp", 10), "äbc…klmnöp");
	assert_string_equal(pen_clean(&p, "a\033[1mb\nc\xff\xc3"
					  "d\xe2\x80\xae"
					  "ä"),
	    "a?[1mb?c??d???ä");
	pen_release(&p);
}

static void
progress_is_a_line_on_a_terminal_and_lines_elsewhere(void **state)
{
	struct pen p = { .columns = 60 };
	struct progress g;
	char *text = NULL;
	size_t len;
	(void)state;

	p.out = open_memstream(&text, &len);
	progress_open(&g, &p);
	progress_show(&g, 0.5, "cycle 1", "3 traces");
	progress_show(&g, 0.6, "cycle 1", "4 traces");
	progress_show(&g, 0.7, "cycle 2", "5 traces");
	progress_close(&g);
	p.live = true;
	progress_show(&g, 0.5, "cycle 3", "6 traces");
	progress_close(&g);
	fclose(p.out);
	assert_string_equal(
	    text, "cycle 1\ncycle 2\n\r\033[K############............ cycle 3  6 traces\r\033[K");
	free(text);
	pen_release(&p);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(status_reads_well),
		cmocka_unit_test(agents_and_tracepoints_read_well),
		cmocka_unit_test(a_check_reads_well),
		cmocka_unit_test(a_verdict_reads_well),
		cmocka_unit_test(what_diagnoses_found_reads_well),
		cmocka_unit_test(a_space_reads_well),
		cmocka_unit_test(graphs_are_as_graphviz_wants_them),
		cmocka_unit_test(a_page_has_the_whole_document_and_loads_no_resource),
		cmocka_unit_test(an_analysis_reads_well),
		cmocka_unit_test(few_requests_are_not_called_no_problem),
		cmocka_unit_test(empty_answers_are_printed),
		cmocka_unit_test(a_malformed_tree_ends),
		cmocka_unit_test(colours_are_printed_on_request),
		cmocka_unit_test(a_node_that_left_is_not_said_to_be_off),
		cmocka_unit_test(enabled_tracepoints_are_reported),
		cmocka_unit_test(json_is_the_answer_itself),
		cmocka_unit_test(numbers_are_short),
		cmocka_unit_test(progress_is_a_line_on_a_terminal_and_lines_elsewhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
