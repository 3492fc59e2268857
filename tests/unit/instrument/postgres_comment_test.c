/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "instrument/postgres/postgres_comment.h"

#define PARENT "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
#define STATE "hone=00f067aa0ba902b7-123456783"
#define COMMENT "/*traceparent='" PARENT "',tracestate='hone%3D00f067aa0ba902b7-123456783'*/"
#define OTHER "/*traceparent='00-0af7651916cd43dd000000000000000f-b7ad6b7169203331-01'*/"

static const struct hone_carrier NONE;

static const struct hone_carrier FULL = {
	.trace_id_high = UINT64_C(0x0af7651916cd43dd),
	.trace_id = UINT64_C(0x8448eb211c80319c),
	.link_id = UINT64_C(0x00f067aa0ba902b7),
	.request_type = 0x12345678,
	.sampled = 1,
	.probed = 1,
	.via = 0x86cd, /* 16 bits of the parent's id, which is not the link */
};

/* Reads from a block of exactly its size, so that a read past its end is detected. */
static int
read_exactly(struct hone_carrier *c, const char *sql, size_t len)
{
	char *copy = malloc(len + (len == 0));
	int rc;

	assert_non_null(copy);
	memcpy(copy, sql, len);
	memset(c, 0x55, sizeof *c);
	rc = comment_context(c, copy, len);
	free(copy);
	return rc;
}

static void
assert_found(const char *sql)
{
	struct hone_carrier c;

	if (read_exactly(&c, sql, strlen(sql)) != 0 || memcmp(&c, &FULL, sizeof c) != 0)
		fail_msg("not found: %s", sql);
}

static void
assert_nothing(const char *sql)
{
	struct hone_carrier c;

	if (read_exactly(&c, sql, strlen(sql)) != -1 || memcmp(&c, &NONE, sizeof c) != 0)
		fail_msg("found in: %s", sql);
}

static void
a_comment_at_either_end_is_found(void **state)
{
	(void)state;

	assert_found("SELECT 1 " COMMENT);
	assert_found("SELECT 1" COMMENT ";");
	assert_found("SELECT 1 " COMMENT " ;\n\t; ");
	assert_found("SELECT 1; " COMMENT);
	assert_found(COMMENT " SELECT 1");
	assert_found(" \n" COMMENT "SELECT 1;");
	assert_found(COMMENT);
	assert_found("/* one */ SELECT 1 /* two */" COMMENT);
	assert_found(COMMENT "SELECT 1 /* the plan is new */");
	assert_found(OTHER "SELECT 1" COMMENT); /* the last one holds */
}

static void
a_comment_in_the_middle_is_not(void **state)
{
	(void)state;

	assert_nothing("SELECT 1 " COMMENT " + 2");
	assert_nothing("SELECT 1 " COMMENT " -- why");
	assert_nothing("SELECT 1 /* a */ /* b */");
	assert_nothing("");
	assert_nothing("SELECT 1");
	assert_nothing("/");
	assert_nothing("/*");
	assert_nothing("*/");
	assert_nothing("/*/");
	assert_nothing("/**/");
}

static void
keys_come_in_any_order_among_others(void **state)
{
	(void)state;

	assert_found(
	    "SELECT 1 /*tracestate='hone%3D00f067aa0ba902b7-123456783',traceparent='" PARENT "'*/");
	assert_found("SELECT 1 /*action='%2Fparam*d',controller='index',framework='spring',"
		     "traceparent='" PARENT
		     "',tracestate='congo%3Dt61rcWkgMzE%2Chone%3D00f067aa0ba902b7-123456783'*/");
	assert_found("SELECT 1 /* db_driver = 'libpq' , traceparent = '" PARENT
		     "',\n\ttracestate='" STATE "' , z='' */");
	assert_found("SELECT 1 /*a%20b='gr\xc3\xbc\xc3\x9f',traceparent='%30"
		     "0-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',"
		     "tracestate='hone%3d00f067aa0ba902b7-123456783'*/");
}

static void
what_is_not_quite_the_form_gives_nothing(void **state)
{
	static const char *const inside[] = {
		"",
		" ",
		",",
		"traceparent",
		"traceparent=",
		"traceparent=" PARENT,
		"traceparent='",
		"traceparent='" PARENT,
		"traceparent=\"" PARENT "\"",
		"traceparent='" PARENT "',",
		",traceparent='" PARENT "'",
		"traceparent='" PARENT "' tracestate='x=1'",
		"traceparent='" PARENT "';",
		"traceparent:'" PARENT "'",
		"the context: traceparent='" PARENT "'",
		"traceparent='" PARENT "' is the context",
		"='x',traceparent='" PARENT "'",
		"traceparent='" PARENT "',traceparent='" PARENT "'",
		"Traceparent='" PARENT "'",
		"xtraceparent='" PARENT "'",
		"traceparent=' " PARENT "'",
		"traceparent='" PARENT "%00'",
		"traceparent='" PARENT "%2'",
		"traceparent='" PARENT "%zz'",
		"a='it\\'s',traceparent='" PARENT "'",
		"a='it''s',traceparent='" PARENT "'",
		"a='$',traceparent='" PARENT "'",
		"traceparent='00-00000000000000000000000000000000-b7ad6b7169203331-01'",
		"traceparent='ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'",
		"traceparent=''",
		"tracestate='" STATE "'",
	};
	char sql[512];
	(void)state;

	for (size_t i = 0; i < sizeof inside / sizeof *inside; i++) {
		snprintf(sql, sizeof sql, "SELECT 1 /*%s*/", inside[i]);
		assert_nothing(sql);
		snprintf(sql, sizeof sql, "/*%s*/ SELECT 1", inside[i]);
		assert_nothing(sql);
	}
}

static void
what_only_looks_like_a_comment_is_none(void **state)
{
	(void)state;

	assert_nothing("SELECT '"
		       "/*traceparent=''" PARENT "''*/"
		       "'");
	assert_nothing("SELECT $$" COMMENT "$$");
	assert_nothing("SELECT $a$" COMMENT "$a$;");
	assert_nothing("SELECT 1 AS \"/*x*/\"");
	assert_nothing("SELECT 1 AS \"" COMMENT "\"");
	assert_nothing("SELECT 1 -- " COMMENT);
	assert_nothing("SELECT 1 --" COMMENT ";");
	assert_nothing("SELECT '-' -- '" COMMENT);
	assert_nothing("SELECT E'\\'' -- " COMMENT);
	assert_nothing("SELECT 'a''b' -- it's " COMMENT);
	assert_nothing("SELECT $$--'$$ -- " COMMENT);
	assert_nothing("SELECT 1 /* a -- b */ -- " COMMENT);
	assert_nothing("SELECT $1 --$1 " COMMENT);
	assert_nothing("-- " COMMENT "\nSELECT 1");
	assert_nothing("'" COMMENT "' SELECT 1");
}

static void
comments_in_comments_are_of_no_use(void **state)
{
	(void)state;

	assert_nothing("SELECT 1 /* " COMMENT " */");
	assert_nothing("SELECT 1 /*" COMMENT "*/");
	assert_nothing("/* " COMMENT " */ SELECT 1");
	assert_nothing("SELECT 1 /* a='/*',traceparent='" PARENT "' */ */");
	assert_nothing("SELECT 1 /* */traceparent='" PARENT "'*/");
}

/* Two dashes that do not begin a comment: only the whole text shows where the comment is. */
static void
dashes_in_quotes_hide_nothing(void **state)
{
	(void)state;

	assert_found("SELECT 'a--b' " COMMENT);
	assert_found("SELECT 'it''s--' " COMMENT);
	assert_found("SELECT E'it\\'s--' " COMMENT);
	assert_found("SELECT E'a''b\\'--' " COMMENT);
	assert_found("SELECT \"a--b\" FROM t " COMMENT);
	assert_found("SELECT $$--$$ " COMMENT);
	assert_found("SELECT $a$--$b$ $a$ " COMMENT);
	assert_found("SELECT a$b FROM c$d WHERE x = '--$d' " COMMENT);
	assert_found("SELECT $1 || '--' " COMMENT);
	assert_found("SELECT 1 /* /* -- */ -- */ " COMMENT);
	assert_found("-- a note, it's\nSELECT 1 " COMMENT);
	assert_found("-- a note\rSELECT 1 " COMMENT);
	assert_found("SELECT '--\n--' " COMMENT);
}

static void
later_versions_and_strangers_are_understood(void **state)
{
	static const char sql[] =
	    "SELECT 1 /*traceparent='cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more'*/";
	struct hone_carrier c;
	(void)state;

	assert_int_equal(read_exactly(&c, sql, sizeof sql - 1), 0);
	assert_true(c.trace_id == FULL.trace_id && c.link_id == UINT64_C(0xb7ad6b7169203331));
	assert_int_equal(hone_from_known(&c), 0);
}

/* A text of `len` blanks, with these at its beginning and its end. */
static char *
long_text(size_t len, const char *first, const char *last)
{
	char *s = malloc(len + 1);

	assert_non_null(s);
	memset(s, ' ', len);
	memcpy(s, first, strlen(first));
	memcpy(s + len - strlen(last), last, strlen(last));
	s[len] = '\0';
	return s;
}

static void
work_is_bounded(void **state)
{
	char pad[COMMENT_MAX_BYTES + 64], *s;
	(void)state;

	s = long_text(8 << 20, "SELECT 1", "\n" COMMENT);
	assert_found(s);
	free(s);
	s = long_text(8 << 20, "SELECT '--'", COMMENT); /* one line, longer than is read */
	assert_nothing(s);
	free(s);
	s = long_text(8 << 20, "SELECT '--'",
	    "\n'--' " COMMENT); /* -- in the last line, the text too long to read */
	assert_nothing(s);
	free(s);
	memset(pad, 'x', sizeof pad);
	s = malloc(2 * sizeof pad);
	assert_non_null(s);
	snprintf(s, 2 * sizeof pad, "SELECT 1 /*a='%.*s',traceparent='" PARENT "'*/",
	    COMMENT_MAX_BYTES, pad);
	assert_nothing(s);
	snprintf(s, 2 * sizeof pad,
	    "SELECT 1 /*a='%.*s',traceparent='" PARENT "',tracestate='" STATE "'*/",
	    COMMENT_MAX_BYTES - 200, pad);
	assert_found(s);
	free(s);
}

static void
the_setting_has_both_headers_as_they_are(void **state)
{
	struct hone_carrier c;
	(void)state;

	assert_int_equal(setting_context(&c, PARENT " " STATE), 0);
	assert_memory_equal(&c, &FULL, sizeof c);
	assert_int_equal(setting_context(&c, PARENT " congo=1," STATE), 0);
	assert_memory_equal(&c, &FULL, sizeof c);
	assert_int_equal(setting_context(&c, PARENT), 0);
	assert_int_equal(hone_from_known(&c), 0);
	for (const char *const *bad =
		 (const char *const[]){ "", " ", "x", " " PARENT, PARENT "x " STATE, STATE, NULL };
	     *bad; bad++) {
		assert_int_equal(setting_context(&c, *bad), -1);
		assert_memory_equal(&c, &NONE, sizeof c);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_comment_at_either_end_is_found),
		cmocka_unit_test(a_comment_in_the_middle_is_not),
		cmocka_unit_test(keys_come_in_any_order_among_others),
		cmocka_unit_test(what_is_not_quite_the_form_gives_nothing),
		cmocka_unit_test(what_only_looks_like_a_comment_is_none),
		cmocka_unit_test(comments_in_comments_are_of_no_use),
		cmocka_unit_test(dashes_in_quotes_hide_nothing),
		cmocka_unit_test(later_versions_and_strangers_are_understood),
		cmocka_unit_test(work_is_bounded),
		cmocka_unit_test(the_setting_has_both_headers_as_they_are),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
