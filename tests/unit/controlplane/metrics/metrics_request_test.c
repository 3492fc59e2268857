/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "controlplane/metrics/metrics_request.h"

static void
openmetrics_is_given_to_those_who_ask_for_its_version(void **state)
{
	static const char *const YES[] = { "application/openmetrics-text",
		"application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;"
		"version=0.0.4;q=0.5,*/*;q=0.1", /* of Prometheus 2.42 */
		"text/plain, Application/OpenMetrics-Text; Version=1.0.0; charset=utf-8" };
	static const char *const NO[] = { NULL, "", "*/*", "text/plain;version=0.0.4",
		"application/openmetrics-text;version=0.0.1", "application/openmetrics-texture",
		"application/openmetrics-text;version=", ",,,", "text/html" };
	(void)state;

	for (size_t i = 0; i < sizeof YES / sizeof *YES; i++)
		if (metrics_form_of(YES[i]) != METRICS_OPENMETRICS)
			fail_msg("%s", YES[i]);
	for (size_t i = 0; i < sizeof NO / sizeof *NO; i++)
		if (metrics_form_of(NO[i]) != METRICS_TEXT)
			fail_msg("%s", NO[i]);
}

static void
only_names_of_this_machine_are_local(void **state)
{
	static const char *const YES[] = { NULL, "localhost", "LocalHost:9464", "127.0.0.1",
		"127.0.0.1:9464", "127.1.2.3:1", "[::1]", "[::1]:9464" };
	static const char *const NO[] = { "", "evil.example", "localhost.evil.example",
		"127.0.0.1.evil.example", "127.0.0.1:", "localhost:94x4", "[::2]", "128.0.0.1",
		"1127.0.0.1", "[::1]x" };
	(void)state;

	for (size_t i = 0; i < sizeof YES / sizeof *YES; i++)
		if (!metrics_host_is_local(YES[i]))
			fail_msg("%s", YES[i]);
	for (size_t i = 0; i < sizeof NO / sizeof *NO; i++)
		if (metrics_host_is_local(NO[i]))
			fail_msg("%s", NO[i]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(openmetrics_is_given_to_those_who_ask_for_its_version),
		cmocka_unit_test(only_names_of_this_machine_are_local),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
