/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kit.h"

#include "analysis/bootstrap.h"
#include "base/rng.h"

enum { N = 400 };

static void
the_weights_of_a_rare_mode_are_at_the_ends_of_an_exact_interval(void **state)
{
	double values[30];
	struct rare_modes m;
	(void)state;

	for (int i = 0; i < 30; i++)
		values[i] = (i * 7) % 30;
	rare_modes_of(&m, values, 30, 0.95);
	assert_int_equal(m.n, RARE_MOST);
	for (uint32_t i = 0; i < m.n; i++) {
		assert_near(values[m.at[i]], 29 - i, 0);
		for (int end = 0; end < 2; end++)
			assert_near(
			    (i + 1) * m.weights[i].rare[end] + (29 - i) * m.weights[i].other[end],
			    30, 1e-9);
	}
	/* Garwood: a count of 1 is of a mean of 0.0253 to 5.572, of 10 of 4.795 to 18.39 */
	assert_near(m.weights[0].rare[0], 0.0253, 1e-4);
	assert_near(m.weights[0].rare[1], 5.572, 1e-3);
	assert_near(10 * m.weights[9].rare[0], 4.795, 1e-3);
	assert_near(10 * m.weights[9].rare[1], 18.39, 1e-2);
}

static void
at_most_a_third_is_rare(void **state)
{
	const double values[7] = { 3, 1, 2, 5, 4, 7, 6 };
	struct rare_modes m;
	(void)state;

	rare_modes_of(&m, values, 7, 0.95);
	assert_int_equal(m.n, 2);
	rare_modes_of(&m, values, 2, 0.95);
	assert_int_equal(m.n, 0);
}

static void
a_pareto_tail_is_found_with_its_index(void **state)
{
	double values[N], median = 0;
	struct rng rng;
	(void)state;

	rng_seed(&rng, 3);
	for (int run = 0; run < 40; run++) {
		struct sample_tail t;
		struct arena a = { 0 };
		int has = 0;

		for (int i = 0; i < N; i++)
			values[i] = 1000 + pow(1 - rng_unit(&rng), -0.5);
		assert_int_equal(sample_tail_of(&t, values, N, &a), 0);
		for (int i = 0; i < N; i++)
			has += t.has[i];
		assert_int_equal(has, 20);
		assert_true(t.centre > 1001 && t.centre < 1003);
		median += t.radius[TAIL_STEPS / 2] / t.radius[TAIL_STEPS - 1] / 40;
		arena_release(&a);
	}
	/* the root of 2, less what the centre takes from both */
	assert_true(median > 1.3 && median < 1.7);
}

static void
equal_values_and_few_have_no_tail(void **state)
{
	double values[N];
	struct sample_tail t;
	struct arena a = { 0 };
	(void)state;

	for (int i = 0; i < N; i++)
		values[i] = 7;
	assert_int_equal(sample_tail_of(&t, values, N, &a), 0);
	for (int i = 0; i < N; i++)
		assert_false(t.has[i]);
	assert_near(t.centre, 7, 1e-9);
	for (int i = 0; i < N; i++)
		values[i] = i;
	assert_int_equal(sample_tail_of(&t, values, 6, &a), 0);
	for (int i = 0; i < 6; i++)
		assert_false(t.has[i]);
	assert_near(t.centre, 2.5, 1e-9);
	arena_release(&a);
}

static void
only_draws_from_the_tail_have_a_distance_of_their_own(void **state)
{
	double values[N];
	struct sample_tail t;
	struct bootstrap b;
	struct arena a = { 0 };
	struct rng rng;
	(void)state;

	rng_seed(&rng, 4);
	for (int i = 0; i < N; i++)
		values[i] = -log1p(-rng_unit(&rng));
	assert_int_equal(sample_tail_of(&t, values, N, &a), 0);
	assert_int_equal(bootstrap_begin(&b, N, 1, &a), 0);
	for (int round = 0; round < 20; round++) {
		uint32_t n = 0;

		bootstrap_draw_tail(&b, &t);
		for (uint32_t i = 0; i < b.ndrawn; i++) {
			const struct draw *d = &b.drawn[i];
			double radius = d->factor * t.distance[d->at];

			n += d->times;
			if (!t.has[d->at])
				assert_true(d->factor == 1);
			else
				assert_true(radius > 0 && radius <= t.radius[0] * (1 + 1e-9));
		}
		assert_int_equal(n, N);
	}
	arena_release(&a);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_weights_of_a_rare_mode_are_at_the_ends_of_an_exact_interval),
		cmocka_unit_test(at_most_a_third_is_rare),
		cmocka_unit_test(a_pareto_tail_is_found_with_its_index),
		cmocka_unit_test(equal_values_and_few_have_no_tail),
		cmocka_unit_test(only_draws_from_the_tail_have_a_distance_of_their_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
