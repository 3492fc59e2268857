/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "agent/reader/sources.h"

static void
only_known_source_names_are_accepted(void **state)
{
	struct err e;
	(void)state;

	assert_int_equal(sources_check("hone", &e), 0);
	assert_int_equal(sources_check(" babeltrace2 ", &e), 0);
	assert_int_equal(sources_check("auto", &e), 0);
	assert_int_equal(sources_check("", &e), ERR_INPUT);
	assert_int_equal(sources_check("hone,other", &e), ERR_INPUT);
	assert_non_null(strstr(e.text, "\"other\" is not one of hone, babeltrace2, auto"));
}

static void
two_sources_of_the_same_data_are_refused(void **state)
{
	struct err e;
	(void)state;

	assert_int_equal(sources_check("hone, babeltrace2", &e), ERR_INPUT);
	assert_non_null(strstr(e.text, "read the same sessions"));
	assert_int_equal(sources_check("hone hone", &e), ERR_INPUT);
}

static void
a_linked_source_opens(void **state)
{
	const struct source_place place = { "/nowhere", "hone" };
	struct source_output o;
	struct source s;
	struct err e;
	(void)state;

	assert_int_equal(sources_open(&s, "hone", &place, NULL, &e), 0);
	assert_int_equal(s.poll(s.state, (struct mono){ 1000000000 }, &o, &e), 0);
	assert_int_equal(o.nrecords, 0);
	assert_true(o.watermark_ns > 0);
	s.close(s.state);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_known_source_names_are_accepted),
		cmocka_unit_test(two_sources_of_the_same_data_are_refused),
		cmocka_unit_test(a_linked_source_opens),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
