/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/rng.h"
#include "controlplane/relay/gate_clock.h"

#define MS INT64_C(1000000)

/* n messages that take 5 ms and up to 400 ms more, of a gate whose clock is behind ours by this. */
static void
hear(struct gate_clock *g, struct rng *r, int64_t behind_ns, int n)
{
	for (int i = 0; i < n; i++)
		gate_clock_sample(
		    g, behind_ns + 5 * MS + (int64_t)rng_below(r, (uint64_t)(400 * MS)));
}

static void
clocks_that_agree_do_not_differ_whatever_the_ways_are(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed < 200; seed++) {
		struct gate_clock a = { 0 }, b = { 0 };
		int64_t x, y;
		struct rng r;

		rng_seed(&r, seed);
		hear(&a, &r, 0, 40);
		hear(&b, &r, 4 * MS, 100);
		assert_true(gate_clock_least(&a, &x) && gate_clock_least(&b, &y));
		assert_false(gate_clocks_differ(x, y, 5 * MS));
	}
}

static void
a_clock_that_is_behind_or_ahead_is_noticed(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed < 200; seed++) {
		struct gate_clock a = { 0 }, b = { 0 };
		int64_t x, y;
		struct rng r;

		rng_seed(&r, seed);
		hear(&a, &r, 0, 40);
		hear(&b, &r, (seed % 2 ? 1 : -1) * 600 * MS, 40);
		assert_true(gate_clock_least(&a, &x) && gate_clock_least(&b, &y));
		assert_true(gate_clocks_differ(x, y, 5 * MS));
		assert_true(gate_clocks_differ(y, x, 5 * MS));
	}
}

static void
few_messages_say_nothing_and_old_ones_are_forgotten(void **state)
{
	struct gate_clock g = { 0 };
	int64_t least;
	struct rng r;
	(void)state;

	rng_seed(&r, 7);
	hear(&g, &r, 0, GATE_CLOCK_SAMPLES - 1);
	assert_false(gate_clock_least(&g, &least));
	hear(&g, &r, 0, 1);
	assert_true(gate_clock_least(&g, &least));
	assert_true(least < 100 * MS);
	hear(&g, &r, 3000 * MS, 2 * GATE_CLOCK_SAMPLES + 1); /* its clock was set */
	assert_true(gate_clock_least(&g, &least));
	assert_true(least > 3000 * MS);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(clocks_that_agree_do_not_differ_whatever_the_ways_are),
		cmocka_unit_test(a_clock_that_is_behind_or_ahead_is_noticed),
		cmocka_unit_test(few_messages_say_nothing_and_old_ones_are_forgotten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
