/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The files of the live page. */
#define _GNU_SOURCE
#include <openssl/evp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "controlplane/web/web_files.h"

static int
set_up(void **state)
{
	(void)state;
	return web_files_init();
}

static int
tear_down(void **state)
{
	(void)state;
	web_files_release();
	return 0;
}

static const char *
find(const struct web_piece *p, const char *what)
{
	return memmem(p->text, p->len, what, strlen(what));
}

static void
the_page_is_one_document_that_loads_nothing_from_elsewhere(void **state)
{
	const struct web_piece *head = web_page_head(), *tail = web_page_tail();
	(void)state;

	assert_non_null(find(head, "<!doctype html>"));
	assert_non_null(find(head, "<style>"));
	assert_non_null(find(tail, "function typesView("));
	assert_non_null(find(tail, "</html>"));
	for (int i = 0; i < 2; i++) {
		assert_null(find(i == 0 ? head : tail, "https://"));
		assert_null(find(i == 0 ? head : tail, "{s"
						       "tates}"));
		assert_null(find(i == 0 ? head : tail, "{s"
						       "cript}"));
	}
	/* nothing in the script ends its element, or begins one that hides the end */
	assert_ptr_equal(find(tail, "</script"), tail->text);
	assert_null(find(tail, "<!--"));
	assert_null(find(head, "href=\"live"));
}

/* The text between the tags, and whether the policy has its hash (openssl dgst -sha256 -binary | base64). */
static void
check_hash(const struct web_piece *p, const char *begin, const char *end)
{
	const char *from = find(p, begin) + strlen(begin), *to;
	unsigned char hash[32], base64[45];
	char source[64];

	to = memmem(from, (size_t)(p->text + p->len - from), end, strlen(end));
	assert_non_null(to);
	assert_int_equal(EVP_Digest(from, (size_t)(to - from), hash, NULL, EVP_sha256(), NULL), 1);
	EVP_EncodeBlock(base64, hash, sizeof hash);
	snprintf(source, sizeof source, "'sha256-%.44s'", (const char *)base64);
	assert_non_null(strstr(web_page_policy(), source));
}

static void
the_policy_permits_the_style_and_the_script_by_their_hashes(void **state)
{
	(void)state;
	check_hash(web_page_head(), "<style>", "</style>");
	check_hash(web_page_tail(), "<script>", "</script>");
	assert_null(strstr(web_page_policy(), "unsafe"));
}

static void
other_paths_have_no_file(void **state)
{
	(void)state;
	assert_non_null(web_file("/uplot.js"));
	assert_non_null(find(web_file("/live.js")->text, "function strip("));
	assert_null(web_file(""));
	assert_null(web_file("/"));
	assert_null(web_file("uplot.js"));
	assert_null(web_file("/uplot.js/"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
		    the_page_is_one_document_that_loads_nothing_from_elsewhere, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
		    the_policy_permits_the_style_and_the_script_by_their_hashes, set_up, tear_down),
		cmocka_unit_test_setup_teardown(other_paths_have_no_file, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
