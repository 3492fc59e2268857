/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "controlplane/metrics/metrics_text.h"

static void
is_text(struct buf *b, const char *expected)
{
	assert_false(b->failed);
	assert_int_equal(b->len, strlen(expected));
	assert_memory_equal(b->data, expected, b->len);
	buf_reset(b);
}

static struct metric_label
label_of(const char *name, const char *value, size_t len)
{
	return (struct metric_label){ name, value, len };
}

static void
a_counter_is_named_as_each_format_wants(void **state)
{
	static const char *const EXPECTED[] = {
		"# HELP a_b_total Of b.\n# TYPE a_b_total counter\na_b_total 3\n",
		"# HELP a_b Of b.\n# TYPE a_b counter\na_b_total 3\n# EOF\n",
	};
	struct buf b = { 0 };
	(void)state;

	for (int form = METRICS_TEXT; form <= METRICS_OPENMETRICS; form++) {
		struct metric_lines m = { .out = &b, .form = (enum metrics_form)form };

		metric_begin(&m, "a_b", METRIC_COUNTER, "Of b.");
		metric_put(&m, "", NULL, 0, 3);
		metric_end(&m);
		is_text(&b, EXPECTED[form]);
	}
	buf_release(&b);
}

static void
any_bytes_of_a_label_become_one_value_in_utf_8(void **state)
{
	static const struct {
		const char *bytes, *text;
	} CASES[] = {
		{ "plain", "plain" }, { "a\"b\\c\nd", "a\\\"b\\\\c\\nd" },
		{ "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x90\x9d",
		    "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x90\x9d" },
		{ "\xff", "\xef\xbf\xbd" },                 /* no UTF-8 */
		{ "\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd" }, /* overlong */
		{ "\xed\xa0\x80",
		    "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" }, /* half of a surrogate pair */
		{ "x\xe2\x82", "x\xef\xbf\xbd\xef\xbf\xbd" }, /* cut off */
	};
	struct buf b = { 0 };
	struct metric_lines m = { .out = &b };
	char expected[200];
	(void)state;

	for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
		const struct metric_label l = label_of("l", CASES[i].bytes, strlen(CASES[i].bytes));

		metric_begin(&m, "m", METRIC_GAUGE, "H.");
		buf_reset(&b);
		metric_put(&m, "", &l, 1, 1);
		snprintf(expected, sizeof expected, "m{l=\"%s\"} 1\n", CASES[i].text);
		is_text(&b, expected);
	}
	buf_release(&b);
}

static void
numbers_are_exact_or_absent(void **state)
{
	static const struct {
		double value;
		const char *text;
	} CASES[] = { { 0, "m 0\n" }, { 9007199254740991.0, "m 9007199254740991\n" },
		{ 0.25, "m 0.25\n" }, { -3, "m -3\n" }, { INFINITY, "m +Inf\n" },
		{ 1e300, "m 1e+300\n" }, { NAN, "" } };
	struct buf b = { 0 };
	struct metric_lines m = { .out = &b };
	(void)state;

	metric_begin(&m, "m", METRIC_GAUGE, "H.");
	for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
		buf_reset(&b);
		metric_put(&m, "", NULL, 0, CASES[i].value);
		is_text(&b, CASES[i].text);
	}
	buf_release(&b);
}

static void
an_exemplar_stands_on_the_line_of_its_bucket_in_openmetrics_only(void **state)
{
	const struct metric_label le = label_of("le", "0.5", 3);
	struct buf b = { 0 };
	(void)state;

	for (int form = METRICS_TEXT; form <= METRICS_OPENMETRICS; form++) {
		struct metric_lines m = { .out = &b, .form = (enum metrics_form)form };

		metric_begin(&m, "m", METRIC_HISTOGRAM, "H.");
		buf_reset(&b);
		metric_put(&m, "_bucket", &le, 1, 7);
		metric_exemplar(&m, 0xab, 0xcd, 0.3);
		is_text(&b,
		    form == METRICS_TEXT
			? "m_bucket{le=\"0.5\"} 7\n"
			: "m_bucket{le=\"0.5\"} 7 # {trace_id=\"00000000000000ab00000000000000cd\"} 0.3\n");
	}
	buf_release(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_counter_is_named_as_each_format_wants),
		cmocka_unit_test(any_bytes_of_a_label_become_one_value_in_utf_8),
		cmocka_unit_test(numbers_are_exact_or_absent),
		cmocka_unit_test(an_exemplar_stands_on_the_line_of_its_bucket_in_openmetrics_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
