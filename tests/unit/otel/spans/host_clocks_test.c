/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the arrival of spans proves of their hosts' clocks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "otel/spans/host_clocks.h"

static struct span
span_of(const char *service, const char *node)
{
	return (struct span){ .service = { service, (uint32_t)strlen(service) },
		.node = { node, (uint32_t)strlen(node) } };
}

static void
body(struct host_clocks *h, const char *node, int64_t first_ns, int64_t second_ns)
{
	struct span s = span_of("s", node);

	host_clocks_note(h, &s, first_ns);
	host_clocks_note(h, &s, second_ns);
	host_clocks_body(h);
}

static int64_t
ahead(struct host_clocks *h, const char *service, const char *node)
{
	struct span s = span_of(service, node);

	return host_clocks_ahead_ns(h, &s);
}

static void
the_latest_end_of_a_body_is_its_lead(void **state)
{
	struct host_clocks *h = host_clocks_new();
	struct span s = span_of("s", "a");
	(void)state;

	assert_non_null(h);
	assert_int_equal(ahead(h, "s", "a"), 0);
	host_clocks_note(h, &s, 300);
	assert_int_equal(ahead(h, "s", "a"), 0); /* not before the body has ended */
	host_clocks_body(h);
	assert_int_equal(ahead(h, "s", "a"), 0); /* one body may have a wrong time */
	body(h, "a", 200, 300);
	body(h, "a", 300, 200);
	assert_int_equal(ahead(h, "s", "a"), 300);
	assert_int_equal(ahead(h, "another", "a"), 300);
	assert_int_equal(ahead(h, "s", "b"), 0);
	body(h, "b", -900, -700);
	assert_int_equal(ahead(h, "s", "b"), 0); /* late, or behind: it proves nothing */
	body(h, "", 400, 200);                   /* of any host */
	assert_int_equal(ahead(h, "s", ""), 0);
	assert_int_equal(host_clocks_count_ahead(h, 100), 1);
	host_clocks_free(h);
}

static void
one_wrong_time_moves_nothing(void **state)
{
	struct host_clocks *h = host_clocks_new();
	(void)state;

	assert_non_null(h);
	body(h, "a", 1000000, -30);
	assert_int_equal(ahead(h, "s", "a"), 0); /* also as the first one */
	body(h, "a", -20, -30);
	assert_int_equal(ahead(h, "s", "a"), 0);
	body(h, "a", -20, -30);
	assert_int_equal(ahead(h, "s", "a"), 0);
	body(h, "a", 1000000, -30);
	assert_int_equal(ahead(h, "s", "a"), 0);
	body(h, "a", -20, -30);
	assert_int_equal(ahead(h, "s", "a"), 0);
	host_clocks_free(h);
}

static void
a_drifting_or_mended_clock_is_followed(void **state)
{
	struct host_clocks *h = host_clocks_new();
	(void)state;

	assert_non_null(h);
	for (int64_t i = 0; i < 1000; i++) {
		body(h, "a", 3000 + i, 2000 + i);
		assert_true(ahead(h, "s", "a") <= 3000 + i);
		if (i + 1 >= HOST_CLOCKS_FIRST)
			assert_true(ahead(h, "s", "a") >= 3000 + i - HOST_CLOCKS_BODIES);
	}
	for (int i = 0; i < HOST_CLOCKS_BODIES; i++)
		body(h, "a", -5, -9);
	assert_int_equal(ahead(h, "s", "a"), 0);
	host_clocks_free(h);
}

static void
hosts_are_bounded(void **state)
{
	static char names[HOST_CLOCKS_MAX + 1][16], longer[HOST_CLOCKS_NAME_MAX + 9];
	struct host_clocks *h = host_clocks_new();
	(void)state;

	assert_non_null(h);
	for (int i = 0; i <= HOST_CLOCKS_MAX; i++)
		snprintf(names[i], sizeof names[i], "n%d", i);
	for (int i = 0; i < HOST_CLOCKS_MAX * HOST_CLOCKS_FIRST; i++)
		body(h, names[i % HOST_CLOCKS_MAX], 7, 7);
	assert_int_equal(ahead(h, "s", names[0]), 7);
	for (int i = 0; i < HOST_CLOCKS_FIRST; i++)
		body(h, names[HOST_CLOCKS_MAX], 8, 8);
	assert_int_equal(ahead(h, "s", names[0]), 0);
	assert_int_equal(ahead(h, "s", names[HOST_CLOCKS_MAX]), 8);
	memset(longer, 'x', sizeof longer - 1);
	for (int i = 0; i < HOST_CLOCKS_FIRST; i++)
		body(h, longer, 9, 9);
	assert_int_equal(ahead(h, "s", longer), 9);
	host_clocks_free(h);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_latest_end_of_a_body_is_its_lead),
		cmocka_unit_test(one_wrong_time_moves_nothing),
		cmocka_unit_test(a_drifting_or_mended_clock_is_followed),
		cmocka_unit_test(hosts_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
