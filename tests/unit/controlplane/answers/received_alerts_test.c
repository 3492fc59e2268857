/* SPDX-License-Identifier: GPL-3.0-or-later */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "controlplane/answers/received_alerts.h"

static struct received_alerts r;

static int
message(const char *text, struct err *e)
{
	return received_alerts_read(&r, text, strlen(text), e);
}

static void
types_of_firing_alerts_are_named_once(void **state)
{
	struct err e;
	(void)state;

	assert_int_equal(
	    message(
		"{\"version\":\"4\",\"status\":\"firing\",\"alerts\":["
		"{\"status\":\"firing\",\"labels\":{\"type\":\"GET\",\"service\":\"front\"}},"
		"{\"status\":\"firing\",\"labels\":{\"type\":\"GET\",\"service\":\"front\",\"x\":\"y\"}},"
		"{\"status\":\"firing\",\"labels\":{\"type\":\"PUT\"}},"
		"{\"status\":\"resolved\",\"labels\":{\"type\":\"DELETE\"}},"
		"{\"status\":\"firing\",\"labels\":{\"type\":\"OWN\",\"source\":\"hone\"}},"
		"{\"status\":\"firing\",\"labels\":{\"alertname\":\"DiskFull\"}},"
		"{\"status\":\"firing\",\"labels\":{\"type\":\"\"}}]}",
		&e),
	    0);
	assert_int_equal(r.alerts, 7);
	assert_int_equal(r.resolved, 1);
	assert_int_equal(r.own, 1);
	assert_int_equal(r.unnamed, 2);
	assert_int_equal(r.ntypes, 2);
	assert_string_equal(r.types[0], "front/GET");
	assert_string_equal(r.types[1], "PUT");
}

static void
more_types_than_have_a_place_are_counted(void **state)
{
	static char text[20000];
	size_t at = (size_t)sprintf(text, "{\"version\":\"4\",\"alerts\":[");
	struct err e;
	(void)state;

	for (int i = 0; i < RECEIVED_TYPES_MAX + 3; i++)
		at += (size_t)sprintf(text + at,
		    "%s{\"status\":\"firing\",\"labels\":{\"type\":\"T%d\"}}", i > 0 ? "," : "", i);
	at += (size_t)sprintf(text + at,
	    ",{\"status\":\"firing\",\"labels\":{\"type\":\"%0*d\"}}]}", RECEIVED_NAME_MAX + 1, 1);
	assert_int_equal(received_alerts_read(&r, text, at, &e), 0);
	assert_int_equal(r.ntypes, RECEIVED_TYPES_MAX);
	assert_int_equal(r.left_out, 3);
	assert_int_equal(r.unnamed, 1);
}

static void
what_is_no_message_is_refused_with_its_reason(void **state)
{
	static const struct {
		const char *text, *says;
	} BAD[] = { { "", "byte" }, { "{", "byte" }, { "[]", "version" },
		{ "{\"version\":\"3\",\"alerts\":[]}", "version" },
		{ "{\"version\":4,\"alerts\":[]}", "version" }, { "{\"version\":\"4\"}", "alerts" },
		{ "{\"version\":\"4\",\"alerts\":{}}", "alerts" },
		{ "{\"version\":\"4\",\"alerts\":[1]}", "status" },
		{ "{\"version\":\"4\",\"alerts\":[{\"status\":\"on\",\"labels\":{}}]}", "status" },
		{ "{\"version\":\"4\",\"alerts\":[{\"status\":\"firing\"}]}", "labels" },
		{ "{\"version\":\"4\",\"alerts\":[]} x", "byte" } };
	(void)state;

	for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++) {
		struct err e = { 0 };

		assert_int_equal(message(BAD[i].text, &e), ERR_INPUT);
		assert_non_null(strstr(e.text, BAD[i].says));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(types_of_firing_alerts_are_named_once),
		cmocka_unit_test(more_types_than_have_a_place_are_counted),
		cmocka_unit_test(what_is_no_message_is_refused_with_its_reason),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
