/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "otel/spans/services.h"

#define S INT64_C(1000000000)

static void
note(struct services *s, const char *service, const char *node, int64_t now_ns)
{
	struct span span = { .service = { service, (uint32_t)strlen(service) },
		.node = { node, node != NULL ? (uint32_t)strlen(node) : 0 } };

	services_note(s, &span, (struct mono){ now_ns });
}

static void
each_service_at_each_place_is_a_program(void **state)
{
	struct services *s = services_new();
	struct program before = { .service = "gate", .pid = 7 };
	struct programs p = { .nprograms = 1, .programs = &before };
	struct arena a = { 0 };
	(void)state;

	for (int i = 0; i < 3; i++) {
		note(s, "front", "web-1", i);
		note(s, "front", "web-2", i);
		note(s, "back", NULL, i);
	}
	assert_int_equal(services_count(s), 3);
	assert_int_equal(services_changes(s), 3);
	assert_true(services_programs(s, &p, &a));
	assert_int_equal(p.nprograms, 4);
	assert_int_equal(p.programs[0].pid, 7); /* what was there stays */
	assert_string_equal(p.programs[1].service, "front");
	assert_string_equal(p.programs[2].service, "front");
	assert_string_equal(p.programs[3].service, "back");
	assert_int_equal(p.programs[3].count, 0);
	arena_release(&a);
	services_free(s);
}

static void
a_service_that_is_quiet_is_forgotten(void **state)
{
	struct services *s = services_new();
	(void)state;

	note(s, "a", NULL, 0);
	note(s, "b", NULL, 0);
	note(s, "c", NULL, 0);
	note(s, "b", NULL, 100 * S);
	services_turn(s, (struct mono){ SERVICE_QUIET_NS });
	assert_int_equal(services_count(s), 1);
	note(s, "b", NULL, SERVICE_QUIET_NS);
	assert_int_equal(services_count(s), 1);
	note(s, "a", NULL, SERVICE_QUIET_NS);
	assert_int_equal(services_count(s), 2);
	services_free(s);
}

static void
services_are_bounded_and_counted(void **state)
{
	struct services *s = services_new();
	char name[200];
	(void)state;

	for (int i = 0; i < SERVICES_MAX + 10; i++) {
		snprintf(name, sizeof name, "s%d", i);
		note(s, name, NULL, 0);
	}
	assert_int_equal(services_count(s), SERVICES_MAX);
	assert_int_equal(services_left(s), 10);
	memset(name, 'x', sizeof name - 1);
	name[sizeof name - 1] = '\0';
	note(s, name, NULL, 0);
	note(s, "", NULL, 0);
	assert_int_equal(services_left(s), 12);
	services_free(s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_service_at_each_place_is_a_program),
		cmocka_unit_test(a_service_that_is_quiet_is_forgotten),
		cmocka_unit_test(services_are_bounded_and_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
