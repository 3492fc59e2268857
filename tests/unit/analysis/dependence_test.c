/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "analysis/dependence.h"
#include "base/rng.h"

enum { N = 1000, SERIES = 400 };

/* Each value is r times the one before it, and noise: the mean varies by (1 + r) / (1 - r) times as much
 * as that of independent values (Wilks, J. Climate 10, 1997). */
static void
make_series(double *x, uint32_t n, double r, struct rng *rng)
{
	double last = rng_normal(rng) / sqrt(1 - r * r);

	for (uint32_t i = 0; i < n; i++)
		x[i] = last = r * last + rng_normal(rng);
}

static void
independent_values_are_seldom_taken_for_dependent(void **state)
{
	double x[N], sum = 0;
	uint32_t taken = 0;
	struct rng rng;
	(void)state;

	rng_seed(&rng, 1);
	for (int i = 0; i < SERIES; i++) {
		make_series(x, N, 0, &rng);
		taken += values_depend(x, N);
		sum += batch_inflation(x, N);
	}
	assert_true(taken < SERIES * 5 / 100);
	assert_true(sum / SERIES < 1.6);
}

static void
the_inflation_of_correlated_values_is_found(void **state)
{
	double x[N];
	struct rng rng;
	(void)state;

	rng_seed(&rng, 2);
	for (double r = 0.3; r < 0.95; r += 0.3) {
		double sum = 0;

		for (int i = 0; i < SERIES; i++) {
			make_series(x, N, r, &rng);
			assert_true(values_depend(x, N));
			sum += batch_inflation(x, N);
		}
		sum *= (1 - r) / (1 + r) / SERIES;
		assert_true(sum > 0.9 && sum < 1.6);
	}
}

/* Neighbours that hardly correlate, but 20 requests in a row that are slow together, as behind a lock that is held
 * now and then: one lag alone does not show how much that is. */
static void
intervals_from_batches_hold_where_bursts_make_values_depend(void **state)
{
	uint32_t held[2] = { 0 }; /* as if independent; by batches */
	double x[N];
	struct rng rng;
	(void)state;

	rng_seed(&rng, 3);
	for (int i = 0; i < SERIES; i++) {
		double mean = 0, square = 0, se, limit = 1.96;

		for (uint32_t k = 0, left = 0; k<N; k++, left -= left> 0) {
			left = left == 0 && rng_below(&rng, 80) == 0 ? 20 : left;
			x[k] = rng_normal(&rng) + (left > 0 ? 3 : 0);
			mean += x[k] / N;
		}
		for (uint32_t k = 0; k < N; k++)
			square += (x[k] - mean) * (x[k] - mean) / N;
		se = sqrt(square / N);
		held[0] += fabs(mean - 3 * 20.0 / 99) <= limit * se;
		if (values_depend(x, N))
			limit *= batch_stretch(0.95, 8) * sqrt(batch_inflation(x, N));
		held[1] += fabs(mean - 3 * 20.0 / 99) <= limit * se;
	}
	assert_true(held[0] < SERIES * 60 / 100);
	assert_true(held[1] > SERIES * 92 / 100);
}

static void
few_values_and_equal_ones_say_nothing(void **state)
{
	double x[DEPENDENCE_MIN] = { 0 };
	(void)state;

	assert_false(values_depend(x, DEPENDENCE_MIN));
	assert_true(batch_inflation(x, DEPENDENCE_MIN) == 1);
	for (uint32_t i = DEPENDENCE_MIN / 2; i < DEPENDENCE_MIN; i++)
		x[i] = 1;
	assert_false(values_depend(x, DEPENDENCE_MIN - 1));
	assert_true(batch_inflation(x, DEPENDENCE_MIN - 1) == 1);
	assert_true(values_depend(x, DEPENDENCE_MIN));
	assert_true(batch_inflation(x, DEPENDENCE_MIN) > 2);
	assert_true(batch_inflation(x, 0) == 1);
}

/* Of 512 kept of 2,048 requests, neighbours are 4 apart. */
static void
what_was_not_kept_depends_as_well(void **state)
{
	(void)state;

	assert_true(fabs(inflation_of_all(3, 512, 2048) - 9) < 1e-9);
	assert_true(inflation_of_all(3, 512, 512) == 3);
	assert_true(inflation_of_all(1, 512, 2048) == 1);
	assert_true(inflation_of_all(1, 0, 0) == 1);
}

/* y follows x with a factor of 2 and noise of its own: in the long run, too. */
static void
variances_in_the_long_run_are_those_of_the_means(void **state)
{
	double x[N], y[N];
	struct long_run sum = { 0 };
	struct rng rng;
	(void)state;

	rng_seed(&rng, 5);
	for (int i = 0; i < SERIES; i++) {
		struct long_run of;

		make_series(x, N, 0.6, &rng);
		for (uint32_t k = 0; k < N; k++)
			y[k] = 2 * x[k] + rng_normal(&rng);
		of = long_run_of(x, y, N, 12);
		assert_true(of.xx * of.yy >= of.xy * of.xy);
		sum.xx += of.xx / SERIES;
		sum.xy += of.xy / SERIES;
		sum.yy += of.yy / SERIES;
	}
	/* The noise has a variance of 1, and so 1 / (1 - r)^2 in the long run. */
	assert_true(fabs(sum.xx / 6.25 - 1) < 0.1);
	assert_true(fabs(sum.xy / 12.5 - 1) < 0.1);
	assert_true(fabs(sum.yy / 26 - 1) < 0.1);
	assert_true(fabs(long_run_of(x, x, N, N).xx * (N - 1) / N - 1 / (1 - 0.36)) < 0.5);
}

static void
a_limit_from_few_batches_is_that_of_student(void **state)
{
	(void)state;

	assert_true(fabs(batch_stretch(0.95, 8) - 2.3646 / 1.9600) < 1e-3);
	assert_true(fabs(batch_stretch(0.95, 4) - 3.1824 / 1.9600) < 1e-3);
	assert_true(batch_stretch(0.99, 8) > batch_stretch(0.95, 8));
}

static void
samples_come_in_the_order_of_the_requests(void **state)
{
	struct sample samples[4] = { { .order = 7 }, { .order = 1 }, { .order = 9 },
		{ .order = 3 } };
	struct group g = { .nsamples = 4, .samples = samples };
	struct arena a = { 0 };
	const uint32_t *order = samples_in_order(&g, &a);
	(void)state;

	assert_non_null(order);
	assert_int_equal(order[0], 1);
	assert_int_equal(order[1], 3);
	assert_int_equal(order[2], 0);
	assert_int_equal(order[3], 2);
	arena_release(&a);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(independent_values_are_seldom_taken_for_dependent),
		cmocka_unit_test(the_inflation_of_correlated_values_is_found),
		cmocka_unit_test(intervals_from_batches_hold_where_bursts_make_values_depend),
		cmocka_unit_test(few_values_and_equal_ones_say_nothing),
		cmocka_unit_test(what_was_not_kept_depends_as_well),
		cmocka_unit_test(variances_in_the_long_run_are_those_of_the_means),
		cmocka_unit_test(a_limit_from_few_batches_is_that_of_student),
		cmocka_unit_test(samples_come_in_the_order_of_the_requests),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
