/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Exact probabilities, against sums that are counted by hand or by trying all choices. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "analysis/exact_test.h"
#include "base/rng.h"

static void
assert_close(double x, double y)
{
	if (fabs(x - y) > 1e-9)
		fail_msg("%.12g is not %.12g", x, y);
}

static double
rank_sum(const double *x, uint32_t n, const double *y, uint32_t m)
{
	struct arena a = { 0 };
	double p;

	assert_int_equal(exact_rank_sum(&p, x, n, y, m, &a, NULL), 0);
	arena_release(&a);
	return p;
}

static void
the_tail_of_a_binomial_is_the_sum_of_its_terms(void **state)
{
	(void)state;
	assert_close(exact_binomial_tail(0, 5, 0.1), 1);
	assert_close(exact_binomial_tail(5, 5, 0.1), 1e-5);
	assert_close(exact_binomial_tail(2, 3, 0.5), 0.5);
	assert_close(exact_binomial_tail(1, 4, 0.25), 1 - 81.0 / 256);
	assert_close(exact_binomial_tail(1, 4, 0), 0);
	assert_close(exact_binomial_tail(4, 4, 1), 1);
}

static void
a_proportion_of_few_has_the_interval_of_clopper_and_pearson(void **state)
{
	struct interval all = exact_proportion(3, 3, 0.95), none = exact_proportion(0, 3, 0.95),
			some = exact_proportion(5, 10, 0.95),
			nothing = exact_proportion(0, 0, 0.95);
	(void)state;

	assert_close(all.low, pow(0.025, 1.0 / 3));
	assert_close(all.high, 1);
	assert_close(none.low, 0);
	assert_close(none.high, 1 - pow(0.025, 1.0 / 3));
	assert_true(fabs(some.low - 0.1871) < 1e-4 && fabs(some.high - 0.8129) < 1e-4);
	assert_close(nothing.low, 0);
	assert_close(nothing.high, 1);
}

static void
values_above_all_others_are_one_choice_of_all(void **state)
{
	const double slow[] = { 100, 90, 80 }, usual[] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	(void)state;

	assert_close(rank_sum(slow, 1, usual, 8), 1.0 / 9);
	assert_close(rank_sum(slow, 2, usual, 8), 1.0 / 45);
	assert_close(rank_sum(slow, 3, usual, 8), 1.0 / 165);
	assert_close(rank_sum(usual, 8, slow, 3), 1);
	assert_close(rank_sum(slow, 3, usual, 0), 1);
}

static void
equal_values_say_nothing(void **state)
{
	const double same[] = { 0, 0, 0, 0, 0, 0, 0, 0 };
	(void)state;

	assert_close(rank_sum(same, 3, same, 5), 1);
}

/* All choices of n of the values, whose ranks add up to as much as those of the first n. */
static double
by_trying(const double *all, uint32_t n, uint32_t m)
{
	double ranks[16], observed = 0, hits = 0, choices = 0;

	for (uint32_t i = 0; i < n + m; i++) {
		ranks[i] = 0.5;
		for (uint32_t k = 0; k < n + m; k++)
			ranks[i] += all[k] < all[i] ? 1 : all[k] == all[i] ? 0.5 : 0;
		observed += i < n ? ranks[i] : 0;
	}
	for (uint32_t set = 0; set < 1u << (n + m); set++) {
		double sum = 0;

		if ((uint32_t)__builtin_popcount(set) != n)
			continue;
		for (uint32_t i = 0; i < n + m; i++)
			sum += set >> i & 1 ? ranks[i] : 0;
		choices++;
		hits += sum >= observed - 1e-9;
	}
	return hits / choices;
}

static void
it_is_the_share_of_all_choices(void **state)
{
	struct rng r;
	(void)state;

	rng_seed(&r, 1);
	for (int i = 0; i < 300; i++) {
		uint32_t n = 1 + (uint32_t)rng_below(&r, 6), m = 1 + (uint32_t)rng_below(&r, 6);
		double all[12];

		for (uint32_t k = 0; k < n + m; k++)
			all[k] = (double)rng_below(&r, i % 2 ? 5 : 1000) + (k < n ? i % 3 : 0);
		assert_close(rank_sum(all, n, all + n, m), by_trying(all, n, m));
	}
}

static void
the_largest_samples_are_counted(void **state)
{
	double x[EXACT_RANKS_MAX];
	(void)state;

	for (int i = 0; i < EXACT_RANKS_MAX; i++)
		x[i] = i % 2 ? i : -i;
	assert_true(rank_sum(x, 64, x + 64, 64) > 0.4 && rank_sum(x, 64, x + 64, 64) < 0.6);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_tail_of_a_binomial_is_the_sum_of_its_terms),
		cmocka_unit_test(a_proportion_of_few_has_the_interval_of_clopper_and_pearson),
		cmocka_unit_test(values_above_all_others_are_one_choice_of_all),
		cmocka_unit_test(equal_values_say_nothing),
		cmocka_unit_test(it_is_the_share_of_all_choices),
		cmocka_unit_test(the_largest_samples_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
