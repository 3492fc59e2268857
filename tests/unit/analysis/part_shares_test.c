/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/part_shares.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/rng.h"

enum { ROWS = 300 };

/* Part 0 varies by 10 ms, part 1 takes most_ns less that share of part 0, part 2 is half of part 0; the whole is parts 0 and 1. */
static const struct part_row *
make_rows(double most_ns, double less)
{
	static double parts[ROWS][3];
	static struct part_row rows[ROWS];
	struct rng r;

	rng_seed(&r, 3);
	for (int i = 0; i < ROWS; i++) {
		parts[i][0] = (double)rng_below(&r, 10000000);
		parts[i][1] = most_ns - less * parts[i][0];
		parts[i][2] = parts[i][0] / 2;
		rows[i] = (struct part_row){ (int64_t)(parts[i][0] + parts[i][1]), parts[i] };
	}
	return rows;
}

/* Part 1 takes 1 ms always. */
static void
shares_are_covariances_or_means_with_intervals_around_them(void **state)
{
	const struct part_row *rows = make_rows(1e6, 0);
	struct edge_share shares[3];
	struct part_total total;
	struct arena a = { 0 };
	(void)state;

	assert_int_equal(
	    part_shares(shares, &total, rows, ROWS, 3, false, 0.95, 200, 1, &a, NULL), 0);
	assert_true(fabs(shares[0].share - 1) < 1e-6 && fabs(shares[1].share) < 1e-6);
	assert_true(fabs(shares[2].share - 0.5) < 1e-6);
	assert_true(shares[2].interval.low <= shares[2].share &&
		    shares[2].share <= shares[2].interval.high && shares[2].interval.low > 0.4);
	assert_true(total.variance > 0);
	assert_int_equal(
	    part_shares(shares, &total, rows, ROWS, 3, true, 0.95, 200, 1, &a, NULL), 0);
	assert_true(fabs(shares[0].share + shares[1].share - 1) < 1e-6);
	assert_true(fabs(shares[1].share - 1e6 / total.mean_ns) < 1e-9);
	assert_true(fabs(shares[1].mean_ns - 1e6) < 1e-3);
	arena_release(&a);
}

/* Part 1 is the shorter the longer part 0 is. */
static void
the_interval_of_a_negative_share_stays_below_nothing(void **state)
{
	const struct part_row *rows = make_rows(2e6, 0.1);
	struct edge_share shares[2];
	struct part_total total;
	struct arena a = { 0 };
	(void)state;

	assert_int_equal(
	    part_shares(shares, &total, rows, ROWS, 2, false, 0.95, 200, 1, &a, NULL), 0);
	assert_true(shares[1].share < -0.1);
	assert_true(shares[1].interval.low <= shares[1].share &&
		    shares[1].share <= shares[1].interval.high && shares[1].interval.high < 0);
	arena_release(&a);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shares_are_covariances_or_means_with_intervals_around_them),
		cmocka_unit_test(the_interval_of_a_negative_share_stays_below_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
