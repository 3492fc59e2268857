/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The short form of `make calibrate`. The random seeds are fixed, so the result is always the same.
 * Bounds: with the promised rate, a random seed would fail a test with probability 1/1,000
 * (binomial).
 */
#include "kit.h"

#include <gsl/gsl_cdf.h>

#include "simulated.h"

enum { ROUNDS = 100 };

/* P(X <= k) for X binomial with n trials and success probability p. */
static double
at_most(uint32_t k, uint32_t n, double p)
{
	return gsl_cdf_binomial_P(k, p, n);
}

static void
assert_held(const struct covered *c)
{
	if (at_most(c->held, c->runs, 0.93) < 0.001 ||
	    1 - at_most(c->held - 1, c->runs, 0.97) < 0.001)
		fail_msg("%u of %u intervals hold the truth", c->held, c->runs);
}

/* Edges of many kinds together, with as many runs as the whole calibration. */
static void
intervals_contain_the_share_at_the_stated_rate(void **state)
{
	static const uint32_t sizes[] = { 30, 128 };
	static const double shares[] = { 0.02, 0.5, 0.95 };
	(void)state;

	for (int i = 0; i < 2; i++) {
		struct covered all = { 0 };

		for (int f = 0; f < FAMILIES; f++)
			for (int s = 0; s < 3; s++) {
				struct share_cell cell = { (enum family)f,
					s == 1 ? GAMMA_2 : (enum family)f, shares[s], 0, 1 };
				struct covered held = cell_run(&cell, sizes[i], 512, 15, ROUNDS,
				    (uint64_t)(100 * f + s), NULL);

				covered_add(&all, &held);
			}
		assert_held(&all);
	}
}

static double
width(uint32_t n, uint32_t samples_max, uint64_t seed)
{
	static const struct conditions usual = { 0.10, 0.95, 30, 0.95 };
	const struct share_cell cell = { GAMMA_2, NORMAL, 0.5, 0, 1 };
	struct group *g = NULL;
	struct finding f;
	struct sim s;
	struct rng r;
	double wide;

	rng_seed(&r, seed);
	sim_begin(&s, samples_max, seed);
	sim_shape(&s, 0, 3);
	for (uint32_t i = 0; i < n; i++)
		g = cell_add(&s, &cell, &r);
	assert_int_equal(finding_of(&f, g, &usual, 0, 200, 1, &s.scratch, NULL), 0);
	wide = f.edges[0].interval.high - f.edges[0].interval.low;
	sim_end(&s);
	return wide;
}

/*
 * 6,400 requests with a reservoir of 64: the interval is a tenth as wide, except where the
 * reservoir deviates from the whole more than expected (one in 20).
 */
static void
intervals_cover_all_requests_not_only_the_reservoir(void **state)
{
	const struct share_cell cell = { GAMMA_2, NORMAL, 0.5, 0, 1 };
	struct covered all = cell_run(&cell, 1000, 64, 100, ROUNDS, 5, NULL);
	int narrower = 0;
	(void)state;

	assert_held(&all);
	for (uint64_t seed = 0; seed < 20; seed++)
		narrower += width(6400, 64, seed) < width(64, 64, seed) / 5;
	assert_true(narrower >= 16);
}

/*
 * Tails of which the reservoir has too few samples are part of the error too, by the fourth moments
 * of all requests.
 */
static void
intervals_include_tails_outside_of_the_reservoir(void **state)
{
	struct covered all = { 0 }, cv = { 0 };
	(void)state;

	for (int f = 0; f < FAMILIES; f++) {
		const struct share_cell cell = { (enum family)f, GAMMA_2, 0.5, 0, 1 };
		struct covered held = cell_run(&cell, 2048, 128, 30, ROUNDS, 31 + (uint64_t)f, &cv);

		covered_add(&all, &held);
	}
	assert_held(&all);
	assert_held(&cv);
	assert_int_equal(cv.runs, 30 * FAMILIES);
}

/* A log-normal tail, of which 30 or 128 requests show little. */
static void
intervals_of_the_cv_hold_with_a_long_tail(void **state)
{
	const struct share_cell cell = { LOGNORMAL_1, LOGNORMAL_1, 0.5, 0, 1 };
	struct covered few = { 0 }, many = { 0 };
	(void)state;

	cell_run(&cell, 30, 512, 150, ROUNDS, 8, &few);
	cell_run(&cell, 128, 512, 150, ROUNDS, 9, &many);
	covered_add(&many, &few);
	assert_true(at_most(many.held, many.runs, 0.92) > 0.001);
	assert_true(many.below < 0.05 * many.runs);
}

/*
 * One request in 500 has a miss, and misses make half of the variance. Of 4,096 requests about 8
 * have one; of the 128 in the reservoir mostly none has, and then the samples show no variation of
 * that edge.
 */
static void
intervals_include_misses_outside_of_the_reservoir(void **state)
{
	static const struct conditions usual = { 0.10, 0.95, 30, 0.95 };
	const double rare = 1.0 / 500, miss_ns = 1e6 / sqrt(rare * (1 - rare));
	struct covered held = { 0 };
	struct rng r;
	(void)state;

	rng_seed(&r, 77);
	for (int run = 0; run < 150; run++) {
		struct finding f;
		struct group *g = NULL;
		struct sim s;

		sim_begin(&s, 128, rng_next(&r));
		sim_shape(&s, 0, 2);
		for (int i = 0; i < 4096; i++)
			g = sim_add(&s, 0,
			    (const double[]){
				2e7 + 1e6 * rng_normal(&r), rng_unit(&r) < rare ? miss_ns : 0 },
			    NULL, 0, 1, 1);
		assert_int_equal(
		    finding_of(&f, g, &usual, 0, ROUNDS, rng_next(&r), &s.scratch, NULL), 0);
		covered_count(&held, f.edges[1].interval, 0.5);
		sim_end(&s);
	}
	assert_held(&held);
}

static void
intervals_contain_shares_of_negatively_correlated_edges(void **state)
{
	const struct share_cell cell = { GAMMA_2, GAMMA_2, 0.3, 0.5, -1 };
	struct covered held = cell_run(&cell, 64, 512, 150, ROUNDS, 6, NULL);
	(void)state;

	assert_held(&held);
}

/* Shares of the mean, for a group that is slow for its type. */
static void
intervals_contain_shares_of_the_latency(void **state)
{
	static const struct conditions usual = { 0.10, 0.95, 30, 0.95 };
	const struct share_cell cell = { GAMMA_05, LOGNORMAL_05, 0.5, 0.5, 1 };
	double first = 20 + sqrt(0.5) * (family_mean(GAMMA_2) + family_mean(GAMMA_05));
	double truth = first / (first + 21 +
				   sqrt(0.5) * (family_mean(GAMMA_2) + family_mean(LOGNORMAL_05)));
	struct covered held = { 0 };
	struct rng r;
	(void)state;

	rng_seed(&r, 21);
	for (int run = 0; run < 200; run++) {
		struct finding f;
		struct group *g = NULL;
		struct sim s;

		sim_begin(&s, 512, rng_next(&r));
		sim_shape(&s, 0, 3);
		for (int i = 0; i < 60; i++)
			g = cell_add(&s, &cell, &r);
		assert_int_equal(
		    finding_of(&f, g, &usual, 30e6, ROUNDS, rng_next(&r), &s.scratch, NULL), 0);
		assert_int_equal(f.problem, PROBLEM_SLOW);
		covered_count(&held, f.edges[0].interval, truth);
		sim_end(&s);
	}
	assert_held(&held);
}

/* 30 requests without a miss cannot show that misses exist; with one miss, the interval is wide. */
static void
few_misses_give_a_wide_interval(void **state)
{
	const struct share_cell cell = { MISS, GAMMA_2, 0.8, 0, 1 };
	struct covered few = cell_run(&cell, 30, 512, 100, ROUNDS, 7, NULL),
		       many = cell_run(&cell, 512, 512, 30, ROUNDS, 7, NULL);
	(void)state;

	assert_true(few.wide > few.runs / 4);
	assert_true(
	    few.held <
	    0.93 * few.runs); /* known deficiency: change docs/calibration.md with this bound */
	assert_int_equal(many.wide, 0);
}

static void
types_without_a_fault_get_no_finding(void **state)
{
	struct false_findings sum = { 0 };
	(void)state;

	for (uint64_t i = 0; i < 60; i++) {
		struct false_findings f = healthy_run(3, ROUNDS, 5000 + i);

		false_findings_add(&sum, &f);
	}
	if (1 - at_most(sum.any, sum.types, 0.01) < 0.001)
		fail_msg("%u of %u types", sum.any, sum.types);
	assert_true(sum.looks > 300);
}

/*
 * The same simulation with a fault gives findings; else the test above would also pass for an
 * analysis that finds no fault at all.
 */
static void
types_with_a_fault_get_a_finding(void **state)
{
	static const struct conditions usual = { 0.10, 0.95, 30, 0.95 };
	int seen = 0;
	struct rng r;
	(void)state;

	rng_seed(&r, 1);
	for (int i = 0; i < 40; i++) {
		struct healthy h;
		struct finding f;
		struct group *g = NULL;
		struct sim s;

		healthy_type(&h, &r);
		sim_begin(&s, 512, 1);
		sim_shape(&s, 0, h.group[0].nedges);
		for (int k = 0; k < 120; k++) {
			double x[HEALTHY_EDGES_MAX];

			healthy_draw(&h.group[0], x, &r);
			x[0] += 1e7 * exponential_of(&r) / 3;
			g = sim_add(&s, 0, x, NULL, 0, 1, 1);
		}
		assert_int_equal(finding_of(&f, g, &usual, 0, ROUNDS, 1, &s.scratch, NULL), 0);
		seen += f.problem == PROBLEM_UNPREDICTABLE && f.top == 0 && f.probability > 0.98;
		sim_end(&s);
	}
	assert_true(seen >= 39);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(intervals_contain_the_share_at_the_stated_rate),
		cmocka_unit_test(intervals_cover_all_requests_not_only_the_reservoir),
		cmocka_unit_test(intervals_include_tails_outside_of_the_reservoir),
		cmocka_unit_test(intervals_of_the_cv_hold_with_a_long_tail),
		cmocka_unit_test(intervals_include_misses_outside_of_the_reservoir),
		cmocka_unit_test(intervals_contain_shares_of_negatively_correlated_edges),
		cmocka_unit_test(intervals_contain_shares_of_the_latency),
		cmocka_unit_test(few_misses_give_a_wide_interval),
		cmocka_unit_test(types_without_a_fault_get_no_finding),
		cmocka_unit_test(types_with_a_fault_get_a_finding),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
