/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "report/page.h"

#define SCRIPT_BEGIN "<script type=\"application/json\" id=\"document\">"
#define HOSTILE \
	"</script><script>alert(1)</script><!--<img src=x onerror='alert(2)' title=\"&amp;\">"

static char *
page_of(const json_t *document)
{
	struct buf out = { 0 };
	struct err e;

	assert_int_equal(page_write(&out, document, &e), 0);
	buf_u8(&out, 0);
	assert_false(out.failed);
	assert_int_equal(strlen((char *)out.data), out.len - 1);
	return (char *)out.data;
}

static json_t *
document_of_file(void)
{
	json_error_t why;
	json_t *document = json_load_file("tests/data/report.json", 0, &why);

	if (document == NULL)
		fail_msg("tests/data/report.json, line %d: %s (run this in the project's folder)",
		    why.line, why.text);
	return document;
}

/* The document as a browser delimits it: everything up to the first `</script`. */
static json_t *
document_in(const char *page)
{
	const char *begin = strstr(page, SCRIPT_BEGIN), *end;
	json_error_t why;
	json_t *document;

	assert_non_null(begin);
	begin += strlen(SCRIPT_BEGIN);
	end = strstr(begin, "</script");
	assert_non_null(end);
	document = json_loadb(begin, (size_t)(end - begin), 0, &why);
	if (document == NULL)
		fail_msg("what is embedded is no JSON: %s", why.text);
	return document;
}

static size_t
times_in(const char *text, const char *what)
{
	size_t n = 0;

	for (const char *at = text; (at = strstr(at, what)) != NULL; at += strlen(what))
		n++;
	return n;
}

/* Replaces every text of the document by `with`. */
static void
make_hostile(json_t *v, const char *with)
{
	const char *name;
	json_t *member;
	size_t i;

	json_array_foreach (v, i, member) {
		if (json_is_string(member))
			json_array_set_new(v, i, json_string(with));
		else
			make_hostile(member, with);
	}
	json_object_foreach (v, name, member) {
		if (json_is_string(member))
			json_object_set_new(v, name, json_string(with));
		else
			make_hostile(member, with);
	}
}

static void
all_of_the_document_is_in_the_page(void **state)
{
	json_t *document = document_of_file(), *again;
	char *page = page_of(document);
	(void)state;

	again = document_in(page);
	assert_true(json_equal(document, again));
	json_decref(again);
	json_decref(document);
	free(page);
}

static void
texts_of_a_trace_cannot_leave_their_place(void **state)
{
	json_t *document = document_of_file(), *again;
	char *tame = page_of(document), *page;
	(void)state;

	make_hostile(document, HOSTILE);
	json_object_set_new(document, HOSTILE, json_string(HOSTILE));
	page = page_of(document);
	again = document_in(page);
	assert_true(json_equal(document, again));
	for (const char *const *markup =
		 (const char *const[]){ "<script", "</script", "<!--", "<img", "<", ">", NULL };
	     *markup != NULL; markup++)
		assert_int_equal(times_in(page, *markup), times_in(tame, *markup));
	*strstr(page, SCRIPT_BEGIN) = 0;
	assert_null(strstr(page, "onerror='"));
	assert_null(strstr(page, "title=\""));
	json_decref(again);
	json_decref(document);
	free(page);
	free(tame);
}

static void
line_separators_and_control_characters_stay_escaped(void **state)
{
	json_t *document = document_of_file(), *again;
	char *page;
	(void)state;

	make_hostile(document, "a\xe2\x80\xa8"
			       "b\xe2\x80\xa9"
			       "c\x01"
			       "d{{document}}{{page}}");
	page = page_of(document);
	again = document_in(page);
	assert_true(json_equal(document, again));
	assert_null(strchr(strstr(page, SCRIPT_BEGIN), '\x01'));
	assert_null(strchr(page, '\x01'));
	assert_int_equal(times_in(strstr(page, SCRIPT_BEGIN), "\xe2\x80\xa8"), 0);
	assert_int_equal(times_in(page, SCRIPT_BEGIN), 1);
	json_decref(again);
	json_decref(document);
	free(page);
}

static void
problems_are_in_a_table_that_needs_no_script(void **state)
{
	json_t *document = document_of_file(), *problems = json_object_get(document, "problems"),
	       *problem;
	size_t i, n = json_array_size(problems);
	char *page, *table, *end;
	(void)state;

	assert_true(n > 0);
	json_object_set_new(json_array_get(problems, 0), "cost_ms", json_real(38146));
	page = page_of(document);
	table = strstr(page, "<table id=\"plain\">");
	assert_non_null(table);
	end = strstr(table, "</table>");
	assert_non_null(end);
	*end = 0;
	assert_int_equal(times_in(table, "<tr>"), n + 1);
	json_array_foreach (problems, i, problem)
		assert_int_equal(
		    times_in(table, json_string_value(json_object_get(problem, "group"))), 1);
	assert_non_null(strstr(table,
	    "<code>order/hone:unit_begin(place)</code> → <code>order/pool:connection_wait_end</code>"));
	assert_non_null(strstr(table, "38.15 s"));
	json_decref(document);
	free(page);
}

static void
only_the_script_with_the_number_of_the_document_may_run(void **state)
{
	json_t *document = document_of_file();
	char *page = page_of(document), *other, *number, nonce[33];
	(void)state;

	number = strstr(page, "script-src 'nonce-");
	assert_non_null(number);
	memcpy(nonce, number + strlen("script-src 'nonce-"), 32);
	nonce[32] = 0;
	assert_int_equal(strspn(nonce, "0123456789abcdef"), 32);
	assert_int_equal(times_in(page, nonce), 4);
	assert_non_null(strstr(page, "default-src 'none'"));
	assert_null(strstr(page, "unsafe"));
	json_object_set_new(document, "made", json_string("another time"));
	other = page_of(document);
	assert_null(strstr(other, nonce));
	json_decref(document);
	free(other);
	free(page);
}

/* The page loads no other resource: its only addresses are the namespaces of SVG. */
static void
the_script_of_differential_flame_graphs_is_there_where_an_edge_has_one(void **state)
{
	json_t *document = document_of_file(), *without = document_of_file(), *edge;
	char *page;
	(void)state;

	edge = json_array_get(
	    json_object_get(
		json_array_get(json_object_get(
				   json_array_get(json_object_get(document, "types"), 0), "groups"),
		    0),
		"edges"),
	    0);
	assert_true(json_is_object(edge));
	assert_int_equal(json_object_set_new(edge, "below", json_pack("{s:i}", "slow", 8)), 0);
	page = page_of(document);
	assert_non_null(strstr(page, "function belowPart"));
	free(page);
	page = page_of(without);
	assert_null(strstr(page, "function belowPart"));
	free(page);
	json_decref(document);
	json_decref(without);
}

static void
without_data_it_is_small_and_loads_no_resource(void **state)
{
	json_t *document = json_object();
	char *page = page_of(document);
	(void)state;

	assert_true(strlen(page) < 64 * 1024);
	assert_int_equal(times_in(page, "://"), times_in(page, "http://www.w3.org/2000/svg"));
	assert_null(strstr(page, "innerHTML"));
	assert_null(strstr(page, "src=\""));
	assert_null(strstr(page, "url("));
	assert_null(strstr(page, "{{"));
	assert_non_null(strstr(page, "None was found."));
	json_decref(document);
	free(page);
}

static void
a_document_that_lacks_or_mixes_members_is_still_a_page(void **state)
{
	static const char *const odd[] = {
		"{\"problems\":[{}]}",
		"{\"problems\":[null,1,\"x\",[]],\"types\":3,\"source\":[]}",
		"{\"problems\":[{\"type\":\"a\",\"group\":\"b\"}],\"types\":[{\"type\":\"a\",\"groups\":[{\"group\":\"b\",\"top\":-1}]}]}",
		"{\"problems\":[{\"type\":\"a\",\"group\":\"b\"}],\"types\":[{\"type\":\"a\",\"groups\":[{\"group\":\"b\",\"top\":7,\"edges\":[]}]}]}",
		"{\"problems\":[{\"type\":1,\"cost_ms\":\"x\"}],\"types\":[null,{\"groups\":{}}],\"source\":{\"files\":[{}]}}",
	};
	(void)state;

	for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
		json_t *document = json_loads(odd[i], 0, NULL), *again;
		char *page = page_of(document);

		again = document_in(page);
		assert_true(json_equal(document, again));
		json_decref(again);
		json_decref(document);
		free(page);
	}
}

static void
what_is_no_document_is_refused(void **state)
{
	struct buf out = { 0 };
	struct err e;
	json_t *array = json_array(), *broken = json_object();
	(void)state;

	assert_int_equal(page_write(&out, array, &e), ERR_INPUT);
	json_object_set_new_nocheck(broken, "text", json_string_nocheck("\xff\xfe"));
	assert_int_equal(page_write(&out, broken, &e), ERR_INPUT);
	assert_int_equal(out.len, 0);
	json_decref(array);
	json_decref(broken);
	buf_release(&out);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_of_the_document_is_in_the_page),
		cmocka_unit_test(texts_of_a_trace_cannot_leave_their_place),
		cmocka_unit_test(line_separators_and_control_characters_stay_escaped),
		cmocka_unit_test(problems_are_in_a_table_that_needs_no_script),
		cmocka_unit_test(only_the_script_with_the_number_of_the_document_may_run),
		cmocka_unit_test(
		    the_script_of_differential_flame_graphs_is_there_where_an_edge_has_one),
		cmocka_unit_test(without_data_it_is_small_and_loads_no_resource),
		cmocka_unit_test(a_document_that_lacks_or_mixes_members_is_still_a_page),
		cmocka_unit_test(what_is_no_document_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
