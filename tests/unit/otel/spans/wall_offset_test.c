/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "otel/spans/wall_offset.h"

#define MS INT64_C(1000000)
#define S (1000 * MS)

static bool
look(struct wall_offset *o, int64_t mono_ns, int64_t wall_ns, int64_t width_ns)
{
	return wall_offset_look(o, (struct mono){ mono_ns }, (struct wall){ wall_ns },
	    (struct mono){ mono_ns + width_ns });
}

static void
wall_times_become_monotonic_times(void **state)
{
	struct wall_offset o = { 0 };
	(void)state;

	assert_false(look(&o, 100 * S, 5000 * S, 0));
	assert_int_equal(wall_offset_mono_ns(&o, 5001 * S), 101 * S);
	assert_int_equal(wall_offset_mono_ns(&o, 4999 * S), 99 * S);
	assert_int_equal(wall_offset_mono_ns(&o, INT64_MAX), INT64_MAX / 2);
	assert_int_equal(wall_offset_mono_ns(&o, INT64_MIN), -(INT64_MAX / 2));
}

/* Slewed by 500 ppm for an hour, looked at each second. */
static void
a_slewed_clock_is_followed(void **state)
{
	struct wall_offset o = { 0 };
	int64_t wall = 5000 * S;
	(void)state;

	for (int64_t i = 0; i < 3600; i++, wall += S + S / 2000)
		assert_false(look(&o, (100 + i) * S, wall, MS));
	assert_int_equal(o.steps, 0);
	assert_in_range(wall_offset_mono_ns(&o, wall) / MS, 3700000, 3700001);
}

static void
a_step_is_told_once(void **state)
{
	struct wall_offset o = { 0 };
	(void)state;

	look(&o, 100 * S, 5000 * S, 0);
	assert_true(look(&o, 101 * S, 4000 * S, 0));
	assert_false(look(&o, 102 * S, 4001 * S, 0));
	assert_true(look(&o, 103 * S, 4002 * S + 25 * MS, 0));
	assert_int_equal(o.steps, 2);
}

/* The process was stopped between the two clocks: that is no step. */
static void
a_reading_that_took_long_is_ignored(void **state)
{
	struct wall_offset o = { 0 };
	(void)state;

	look(&o, 100 * S, 5000 * S, 0);
	assert_false(look(&o, 101 * S, 5003 * S, 2 * S));
	assert_int_equal(wall_offset_mono_ns(&o, 5000 * S), 100 * S);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wall_times_become_monotonic_times),
		cmocka_unit_test(a_slewed_clock_is_followed),
		cmocka_unit_test(a_step_is_told_once),
		cmocka_unit_test(a_reading_that_took_long_is_ignored),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
