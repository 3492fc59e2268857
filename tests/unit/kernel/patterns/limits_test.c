/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernel/patterns/limits.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/rng.h"

enum { MEASURES = 12 };

/* Heavy tails; a third of the measures is there in one of 30 things only. */
static void
draw(float *y, struct rng *r)
{
	for (int m = 0; m < MEASURES; m++) {
		double x = 1e6 * exp((m % 2 ? 1.0 : 0.3) * rng_normal(r));

		y[m] = m % 3 == 2 && rng_below(r, 30) > 0 ? 0 : (float)limits_log(x, 2e4);
	}
}

static bool
is_outside(const struct limits *l, const float *y)
{
	for (uint32_t m = 0; m < MEASURES; m++)
		if (limit_outside(l, m, y[m]))
			return true;
	return false;
}

static void
of_healthy_things_fewer_than_1_percent_are_outside(void **state)
{
	static const uint32_t sizes[] = { 50, 100, 400, 1500 };
	double floors[MEASURES];
	(void)state;

	for (int m = 0; m < MEASURES; m++)
		floors[m] = m % 3 == 2 ? 0.3
		                       : 0.03; /* as of times that are small: states_floor() */
	for (int k = 0; k < 4; k++) {
		uint32_t outside = 0, all = 0;

		for (uint64_t seed = 0; seed < 40; seed++) {
			float *y = malloc(sizes[k] * MEASURES * sizeof *y), one[MEASURES];
			struct arena a = { 0 };
			struct limits l;
			struct rng r;
			struct err e;

			rng_seed(&r, seed);
			for (uint32_t i = 0; i < sizes[k]; i++)
				draw(y + i * MEASURES, &r);
			assert_int_equal(
			    limits_fit(&l, y, sizes[k], MEASURES, floors, NULL, &a, &e), 0);
			for (int i = 0; i < 500; i++, all++) {
				draw(one, &r);
				outside += is_outside(&l, one);
			}
			free(y);
			arena_release(&a);
		}
		assert_true(outside < 0.01 * all);
	}
}

static void
what_never_varied_has_limits_too(void **state)
{
	float y[60 * 2];
	double floors[2] = { 0.1, 0.1 };
	struct arena a = { 0 };
	struct limits l;
	struct err e;
	(void)state;

	for (int i = 0; i < 60; i++) {
		y[2 * i] = 5;
		y[2 * i + 1] = 0;
	}
	assert_int_equal(limits_fit(&l, y, 60, 2, floors, NULL, &a, &e), 0);
	assert_true(l.list[0].above == 0.1 && l.list[0].below == 0.1 && l.list[0].mean == 5);
	assert_true(!l.list[0].rare && l.list[1].rare);
	assert_false(limit_outside(&l, 0, 5.2));
	assert_true(limit_outside(&l, 0, 5.5));
	assert_true(limit_outside(&l, 0, 4.5));
	assert_true(limit_outside(&l, 1, 0.5));
	assert_int_equal(
	    limits_fit(&l, y, LIMITS_SAMPLES_MIN - 1, 2, floors, NULL, &a, &e), ERR_INPUT);
	arena_release(&a);
}

/* By counting: how often at least `outside` of `of` new things are beyond the (r+1)-th greatest of n. */
static void
the_chance_is_that_of_a_simulation(void **state)
{
	static const struct {
		uint32_t outside, of, r, n;
	} cases[] = { { 1, 1, 0, 9 }, { 1, 10, 0, 50 }, { 2, 20, 1, 40 }, { 5, 50, 2, 60 },
		{ 3, 30, 0, 20 } };
	struct rng r;
	(void)state;

	rng_seed(&r, 5);
	for (int k = 0; k < 5; k++) {
		double p = limits_chance(cases[k].outside, cases[k].of, cases[k].r, cases[k].n);
		uint32_t hits = 0, rounds = 40000;

		for (uint32_t i = 0; i < rounds; i++) {
			double greatest[4] = { 0 };
			uint32_t beyond = 0;

			for (uint32_t s = 0; s < cases[k].n; s++) {
				double x = rng_unit(&r);

				for (uint32_t g = 0; g <= cases[k].r; g++)
					if (x > greatest[g]) {
						double swap = greatest[g];

						greatest[g] = x;
						x = swap;
					}
			}
			for (uint32_t s = 0; s < cases[k].of; s++)
				beyond += rng_unit(&r) > greatest[cases[k].r];
			hits += beyond >= cases[k].outside;
		}
		assert_true(fabs(p - (double)hits / rounds) < 0.012);
	}
	assert_true(limits_chance(0, 10, 0, 10) == 1);
	assert_true(limits_chance(1000, 1000, 0, 1000) < 1e-200);
	assert_true(limits_chance(5, 10, 10, 10) == 1);
}

static void
logarithms_come_back(void **state)
{
	(void)state;
	for (double x = 0; x < 1e12; x = 3 * x + 1)
		assert_true(fabs(limits_value(limits_log(x, 2e4), 2e4) - x) <= 1e-9 * x);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_healthy_things_fewer_than_1_percent_are_outside),
		cmocka_unit_test(what_never_varied_has_limits_too),
		cmocka_unit_test(the_chance_is_that_of_a_simulation),
		cmocka_unit_test(logarithms_come_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
