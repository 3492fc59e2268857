/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The pull parser: every value, with the window moving at every place; and where reading
 * continues after a failure. */
#include <math.h>

#include "formats/json.h"
#include "tests/unit/formats/kit.h"

enum { PIECES = 24 }; /* pieces of up to PIECES - 1 bytes are tried; 0: large ones */

struct at {
	struct input in;
	struct json j;
	struct err e;
};

static void
begin(struct at *a, const char *text, size_t len, size_t piece)
{
	assert_int_equal(input_memory(&a->in, text, len, piece, &a->e), 0);
	json_begin(&a->j, &a->in);
}

static void
end(struct at *a)
{
	json_end(&a->j);
	input_close(&a->in);
}

/* ---- values ---- */

static void
texts_come_without_their_escapes(void **state)
{
	static const struct {
		const char *json, *text;
	} texts[] = {
		{ "\"\"", "" },
		{ "\"plain\"", "plain" },
		{ "\"a text of more than sixteen bytes\"", "a text of more than sixteen bytes" },
		{ "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t" },
		{ "\"\\u0041\\u00fc\\u20ac\\ud83d\\ude00\"",
		    "A\xc3\xbc\xe2\x82\xac\xf0\x9f\x98\x80" },
		{ "\"\\ud83d!\\ude00\\ud83d\\u0041\"", "\xef\xbf\xbd!\xef\xbf\xbd\xef\xbf\xbd"
						       "A" },
		{ "\"\xc3\xbc\"", "\xc3\xbc" },
		{ "\"[{\\\\\"", "[{\\" },
	};
	(void)state;

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		for (size_t piece = 0; piece < PIECES; piece++) {
			struct at a;
			struct text_view t, key;
			char doc[256];

			snprintf(doc, sizeof doc, " { %s : [ %s, 1 ] , \"k\":%s}", texts[i].json,
			    texts[i].json, texts[i].json);
			begin(&a, doc, strlen(doc), piece);
			assert_true(json_enter_object(&a.j));
			assert_true(json_key(&a.j, &key));
			assert_int_equal(key.len, strlen(texts[i].text));
			assert_memory_equal(key.s, texts[i].text, key.len);
			assert_true(json_enter_array(&a.j));
			assert_true(json_element(&a.j));
			assert_true(json_text(&a.j, &t));
			assert_memory_equal(t.s, texts[i].text, strlen(texts[i].text));
			while (json_element(&a.j))
				;
			assert_true(json_key(&a.j, &key));
			assert_true(json_text(&a.j, &t));
			assert_int_equal(t.len, strlen(texts[i].text));
			assert_memory_equal(t.s, texts[i].text, t.len);
			assert_false(json_key(&a.j, &key));
			assert_int_equal(json_next(&a.j), JSON_OVER);
			assert_int_equal(a.j.code, 0);
			end(&a);
		}
}

static void
whole_numbers_are_exact(void **state)
{
	static const struct {
		const char *json;
		bool fits_int;
		int64_t i;
		bool fits_uint;
		uint64_t u;
	} numbers[] = {
		{ "0", true, 0, true, 0 },
		{ "-0", true, 0, true, 0 },
		{ "7", true, 7, true, 7 },
		{ "12345678", true, 12345678, true, 12345678 },
		{ "123456789", true, 123456789, true, 123456789 },
		{ "1674981768697763387", true, 1674981768697763387, true, 1674981768697763387 },
		{ "9223372036854775807", true, INT64_MAX, true, INT64_MAX },
		{ "9223372036854775808", false, 0, true, 9223372036854775808u },
		{ "-9223372036854775808", true, INT64_MIN, false, 0 },
		{ "-9223372036854775809", false, 0, false, 0 },
		{ "18446744073709551615", false, 0, true, UINT64_MAX },
		{ "18446744073709551616", false, 0, false, 0 },
		{ "99999999999999999999999", false, 0, false, 0 },
		{ "1.9", true, 1, true, 1 },
		{ "-1.9", true, -1, false, 0 },
		{ "-0.5", true, 0, true, 0 },
		{ "1e3", true, 1000, true, 1000 },
		{ "2.5E+2", true, 250, true, 250 },
		{ "1e400", false, 0, false, 0 },
		{ "\"42\"", true, 42, true, 42 },
		{ "\"x\"", false, 0, false, 0 },
		{ "true", false, 0, false, 0 },
		{ "[1]", false, 0, false, 0 },
		{ "\"\"", false, 0, false, 0 },
	};
	(void)state;

	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
		for (size_t piece = 0; piece < PIECES; piece++) {
			struct at a;
			char doc[128];
			int64_t n = 99;
			uint64_t u = 99;

			snprintf(doc, sizeof doc, "[%s,%s ]%s", numbers[i].json, numbers[i].json,
			    numbers[i].json);
			begin(&a, doc, strlen(doc), piece);
			assert_true(json_enter_array(&a.j));
			assert_true(json_element(&a.j));
			assert_int_equal(json_int(&a.j, &n), numbers[i].fits_int);
			assert_true(n == (numbers[i].fits_int ? numbers[i].i : 99));
			assert_true(json_element(&a.j));
			assert_int_equal(json_uint(&a.j, &u), numbers[i].fits_uint);
			assert_true(u == (numbers[i].fits_uint ? numbers[i].u : 99));
			assert_false(json_element(&a.j));
			n = 99;
			assert_int_equal(
			    json_int(&a.j, &n), numbers[i].fits_int); /* a document by itself */
			assert_int_equal(json_next(&a.j), JSON_OVER);
			assert_int_equal(a.j.code, 0);
			end(&a);
		}
}

/* Within one unit of the last place of what the C library makes of it. */
static void
reals_are_right(void **state)
{
	static const char *const reals[] = { "0.1", "3.14159265358979", "1e22", "1e-7",
		"123456.789e3", "2.2250738585072014e-308", "1.7976931348623157e308",
		"0.00000000000000000000012345", "123456789012345678901234567890", "-5.5e-3" };
	(void)state;

	for (size_t i = 0; i < sizeof reals / sizeof *reals; i++) {
		double d = 0, want = strtod(reals[i], NULL);

		assert_true(json_number_real(reals[i], strlen(reals[i]), &d));
		assert_true(d >= nextafter(want, -INFINITY) && d <= nextafter(want, INFINITY));
	}
	for (const char *const *no = (const char *const[]){ "", "-", ".", "e5", "1e", "1-2",
		 "1.2.3", "0x1", "1e999", NULL };
	     *no != NULL; no++) {
		double d = 7;

		assert_false(json_number_real(*no, strlen(*no), &d));
		assert_true(d == 7);
	}
}

static void
any_value_is_an_attribute(void **state)
{
	static const char doc[] =
	    "[1,-1,18446744073709551615,1.5,\"x\",true,false,null,{\"a\":[1]},[ ],1e5]";
	static const uint8_t types[] = { VALUE_INT, VALUE_INT, VALUE_UINT, VALUE_REAL, VALUE_TEXT,
		VALUE_UINT, VALUE_UINT, VALUE_NONE, VALUE_TEXT, VALUE_TEXT, VALUE_REAL };
	(void)state;

	for (size_t piece = 0; piece < PIECES; piece++) {
		struct at a;
		struct value v;
		size_t n = 0;

		begin(&a, doc, strlen(doc), piece);
		assert_true(json_enter_array(&a.j));
		for (; json_element(&a.j); n++) {
			assert_true(json_value(&a.j, &v));
			assert_int_equal(v.type, types[n]);
			if (n == 8) {
				assert_int_equal(v.len, 9);
				assert_memory_equal(v.text, "{\"a\":[1]}", 9);
			}
		}
		assert_int_equal(n, sizeof types);
		end(&a);
	}
}

static void
long_texts_are_cut_between_characters(void **state)
{
	char doc[1024] = "[[\"";
	struct at a;
	struct value v;
	(void)state;

	for (int i = 0; i < 150; i++)
		strcat(doc, "\xc3\xbc");
	strcat(doc, "\"],\"");
	for (int i = 0; i < 150; i++)
		strcat(doc, "\xc3\xbc");
	strcat(doc, "\"]");
	begin(&a, doc, strlen(doc), 5);
	assert_true(json_enter_array(&a.j));
	assert_true(json_element(&a.j));
	assert_true(json_value(&a.j, &v));
	assert_int_equal(v.len, 254); /* [", and 126 of two bytes */
	assert_true(json_element(&a.j));
	assert_true(json_value(&a.j, &v));
	assert_int_equal(v.len, 254);
	end(&a);
}

static void
a_value_that_is_not_read_is_skipped(void **state)
{
	static const char doc[] =
	    "{\"a\":{\"x\":[\"]}\\\"\",{}]},\"b\":\"\\\\\",\"c\":-1.5e3,\"d\":[],\"e\":null,\"f\":true,\"g\":7}";
	(void)state;

	for (size_t piece = 0; piece < PIECES; piece++) {
		struct at a;
		struct text_view key;
		int64_t v = 0;
		int n = 0;

		begin(&a, doc, strlen(doc), piece);
		assert_true(json_enter_object(&a.j));
		for (; json_key(&a.j, &key); n++)
			if (text_is(key, "g"))
				assert_true(json_int(&a.j, &v));
			else if (text_is(key, "b"))
				assert_false(json_int(
				    &a.j, &v)); /* a value of another kind is skipped, too */
		assert_int_equal(n, 7);
		assert_int_equal(v, 7);
		assert_int_equal(a.j.code, 0);
		end(&a);
	}
}

/* ---- bounds ---- */

static void
depth_is_bounded_where_it_is_entered(void **state)
{
	enum { DEPTH = 100000 };
	static char doc[2 * DEPTH + 16];
	struct at a;
	struct kit k;
	int entered = 0;
	(void)state;

	memset(doc, '[', DEPTH);
	memset(doc + DEPTH, ']', DEPTH);
	strcpy(doc + 2 * DEPTH, " 5");
	begin(&a, doc, strlen(doc), 0);
	json_skip(&a.j);
	assert_int_equal(json_next(&a.j), JSON_NUMBER);
	end(&a);

	kit_begin(&k, 0);
	begin(&a, doc, strlen(doc), 0);
	while (json_enter_array(&a.j) && json_element(&a.j))
		entered++;
	assert_int_equal(entered, JSON_DEPTH_MAX);
	assert_int_equal(a.j.code, ERR_FULL);
	assert_int_equal(json_trouble(&a.j, k.r, 1, &a.e), 1);
	assert_false(json_element(&a.j));
	assert_int_equal(kit_skipped(&k, SKIP_OVERSIZE), 1);
	assert_int_equal(json_next(&a.j), JSON_NUMBER);
	end(&a);
	kit_end(&k);
}

/* Held texts stay unchanged while the window moves. */
static void
held_texts_stay(void **state)
{
	enum { TEXTS = 20000 };
	struct buf b = { 0 };
	struct text_view *all = malloc(TEXTS * sizeof *all);
	struct at a;
	int n = 0;
	(void)state;

	buf_printf(&b, "[");
	for (int i = 0; i < TEXTS; i++)
		buf_printf(&b, "%s\"%s%d and some more bytes of it\"", i > 0 ? "," : "",
		    i % 3 == 0 ? "\\u0041" : "A", i);
	buf_printf(&b, "]");
	for (size_t piece = 0; piece < 5000; piece = piece * 3 + 61) {
		char want[64];

		begin(&a, (char *)b.data, b.len, piece);
		json_hold(&a.j);
		assert_true(json_enter_array(&a.j));
		for (n = 0; json_element(&a.j); n++)
			assert_true(json_text(&a.j, &all[n]));
		assert_int_equal(n, TEXTS);
		for (int i = 0; i < TEXTS; i++) {
			snprintf(want, sizeof want, "A%d and some more bytes of it", i);
			assert_int_equal(all[i].len, strlen(want));
			assert_memory_equal(all[i].s, want, all[i].len);
		}
		json_release(&a.j);
		end(&a);
	}
	free(all);
	buf_release(&b);
}

/* A single text that is much longer than the window is copied at most twice for each piece, and
 * is complete. */
static void
a_text_may_be_long(void **state)
{
	enum { LEN = 3 << 20 };
	struct buf b = { 0 };
	struct at a;
	struct text_view t;
	(void)state;

	buf_printf(&b, "[\"");
	for (int i = 0; i < LEN; i++)
		buf_u8(&b, (uint8_t)('a' + i % 26));
	buf_printf(&b, "\",3]");
	for (size_t piece = 0; piece < 3; piece++) {
		begin(&a, (char *)b.data, b.len, piece * 4000);
		assert_true(json_enter_array(&a.j));
		assert_true(json_element(&a.j));
		assert_true(json_text(&a.j, &t));
		assert_int_equal(t.len, LEN);
		assert_int_equal(t.s[LEN - 1], 'a' + (LEN - 1) % 26);
		assert_true(json_element(&a.j));
		assert_int_equal(json_next(&a.j), JSON_NUMBER);
		end(&a);
	}
	buf_release(&b);
}

/* ---- failures ---- */

static void
a_failure_stays_and_has_its_offset(void **state)
{
	static const struct {
		const char *doc;
		bool truncated;
		uint64_t from, to;
	} bad[] = {
		{ "[1,", true, 3, 3 },
		{ "[1,2", true, 4, 4 },
		{ "[\"ab", true, 1, 4 },
		{ "[1 2]", false, 3, 3 },
		{ "[1,]", false, 3, 3 },
		{ "[tru]", false, 1, 4 },
		{ "[\"\\q\"]", false, 1, 4 },
		{ "[\"a\tb\"]", false, 3, 3 },
		{ "[}", false, 1, 1 },
		{ "[\x01]", false, 1, 1 },
		{ "[\"\\u12g4\"]", false, 1, 8 },
		{ "[&]", false, 1, 1 },
	};
	(void)state;

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		for (size_t piece = 0; piece < 4; piece++) {
			struct at a;
			struct value v;

			begin(&a, bad[i].doc, strlen(bad[i].doc), piece);
			assert_true(json_enter_array(&a.j));
			while (json_element(&a.j))
				json_value(&a.j, &v);
			assert_int_equal(a.j.code, ERR_INPUT);
			assert_int_equal(a.j.truncated, bad[i].truncated);
			assert_in_range(input_offset(&a.in), bad[i].from, bad[i].to);
			assert_int_equal(json_next(&a.j), JSON_OVER);
			assert_false(json_element(&a.j));
			assert_false(json_enter_array(&a.j));
			end(&a);
		}
}

/* All places where reading may continue: in the array, on the next line, nowhere. */
static void
reading_continues_behind_a_failure(void **state)
{
	static const struct {
		const char *doc;
		int rc;
		int64_t sum;
	} cases[] = {
		{ "[1,nope,2,3]", 1, 6 },
		{ "[nope,2]", 1, 2 },
		{ "[1,[[x],{\"a\":2}],3]", 1, 4 },
		{ "[1,\"\\q]\",3]", 1, 4 },
		{ "[1,nope\n[10,20]\n", 0, 31 },
		{ "[1,\"abc\n[10,20]", 0, 31 },
		{ "[1,nope", 0, 1 },
		{ "[\n1,\nnope,\n2]\n[5]", 1, 8 },
		{ "[1,{\"a\" 1},2]\n[5]", 1, 8 },
		{ "nope\n[5]", 0, 5 },
		{ "]\n[5]", 0, 5 },
	};
	(void)state;

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		for (size_t piece = 0; piece < 6; piece++) {
			struct at a;
			struct kit k;
			int64_t sum = 0, v;
			int rc, first_rc = -1;

			kit_begin(&k, 0);
			begin(&a, cases[i].doc, strlen(cases[i].doc), piece);
			while (json_next(&a.j) != JSON_OVER || a.j.code != 0) {
				uint32_t depth = json_enter_array(&a.j) ? 1 : 0;

				do {
					while (json_element(&a.j)) {
						struct text_view t;

						v = 0;
						if (json_next(&a.j) == JSON_ARRAY) {
							json_enter_array(&a.j);
							while (json_element(&a.j) &&
							       json_enter_array(&a.j))
								while (json_element(&a.j))
									json_int(&a.j, &v);
						} else if (json_next(&a.j) == JSON_OBJECT) {
							json_enter_object(&a.j);
							json_key(&a.j, &t);
						} else if (json_int(&a.j, &v)) {
							sum += v;
						}
					}
					rc = 0;
					if (a.j.code != 0) {
						rc = json_trouble(&a.j, k.r, depth, &a.e);
						first_rc = first_rc < 0 ? rc : first_rc;
					}
				} while (rc > 0);
				assert_true(rc == 0);
			}
			assert_int_equal(first_rc, cases[i].rc);
			assert_int_equal(sum, cases[i].sum);
			assert_int_equal(
			    kit_skipped(&k, SKIP_MALFORMED) + kit_skipped(&k, SKIP_TRUNCATED), 1);
			end(&a);
			kit_end(&k);
		}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_come_without_their_escapes),
		cmocka_unit_test(whole_numbers_are_exact),
		cmocka_unit_test(reals_are_right),
		cmocka_unit_test(any_value_is_an_attribute),
		cmocka_unit_test(long_texts_are_cut_between_characters),
		cmocka_unit_test(a_value_that_is_not_read_is_skipped),
		cmocka_unit_test(depth_is_bounded_where_it_is_entered),
		cmocka_unit_test(held_texts_stay),
		cmocka_unit_test(a_text_may_be_long),
		cmocka_unit_test(a_failure_stays_and_has_its_offset),
		cmocka_unit_test(reading_continues_behind_a_failure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
