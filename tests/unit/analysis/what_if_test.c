/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "made.h"

#include "analysis/strata.h"

static void
what_if_sets_the_edge_to_its_median(void **state)
{
	struct group *g = NULL;
	struct what_if w;
	struct made m;
	(void)state;

	made_begin(&m, 2, 100, 1);
	for (int i = 0; i < 100; i++)
		g = made_add(&m, (const int64_t[]){ i < 90 ? 1000 : 100000, 500 }, NULL, 0);
	assert_int_equal(what_if_of(&w, g, 0, 0.95, 50, 1, &m.arena, NULL), 0);
	assert_true(w.now.cv > 1);
	assert_near(w.then.cv, 0, 1e-12);
	assert_near(w.then.p50_ns, 1500, 0);
	assert_near(w.now.p95_ns, 100500, 0);
	assert_near(w.then.p95_ns, 1500, 0);
	assert_near(w.then.p99_ns, 1500, 0);
	assert_int_equal(what_if_of(&w, g, 1, 0.95, 50, 1, &m.arena, NULL), 0);
	assert_near(w.then.cv, w.now.cv, 1e-12);
	made_end(&m);
}

/* Two gamma edges; the true quantiles are computed from a million requests. */
static void
intervals_contain_the_true_quantiles(void **state)
{
	enum { RUNS = 200, N = 400, TRUTH = 400000 };
	double *truth = malloc(TRUTH * sizeof *truth), p50, p95;
	int held_50 = 0, held_95 = 0, held_cv = 0;
	struct moments all = { 0 };
	struct rng r;
	(void)state;

	rng_seed(&r, 1);
	for (int i = 0; i < TRUTH; i++) { /* the median of an exponential with mean 1 is log 2 */
		truth[i] = 1e6 * (3 - log1p(-rng_unit(&r))) + 1e6 * log(2);
		moments_add(&all, truth[i]);
	}
	p50 = 1e6 * (3 + 2 * log(2));
	p95 = 1e6 * (3 + log(20) + log(2));
	free(truth);
	for (uint64_t seed = 0; seed < RUNS; seed++) {
		struct group *g = NULL;
		struct what_if w;
		struct made m;

		made_begin(&m, 2, N, seed);
		for (int i = 0; i < N; i++)
			g = made_add(&m,
			    (const int64_t[]){ (int64_t)(-1e6 * log1p(-rng_unit(&r))),
				(int64_t)(1e6 * (3 - log1p(-rng_unit(&r)))) },
			    NULL, 0);
		assert_int_equal(what_if_of(&w, g, 0, 0.95, 200, seed, &m.arena, NULL), 0);
		held_50 += w.then_interval.p50_ns.low <= p50 && p50 <= w.then_interval.p50_ns.high;
		held_95 += w.then_interval.p95_ns.low <= p95 && p95 <= w.then_interval.p95_ns.high;
		held_cv += w.then_interval.cv.low <= moments_cv(&all) &&
		           moments_cv(&all) <= w.then_interval.cv.high;
		made_end(&m);
	}
	assert_in_range(held_50, 0.90 * RUNS, 0.995 * RUNS); /* 3 standard deviations are 4.6 % */
	assert_in_range(held_95, 0.90 * RUNS, 0.995 * RUNS);
	assert_in_range(held_cv, 0.88 * RUNS, 0.995 * RUNS);
}

/* Only some of many requests are kept, but the figures are those of all requests. */
static void
what_is_now_is_what_the_group_says(void **state)
{
	struct group *g = NULL;
	struct what_if w;
	struct made m;
	struct rng r;
	(void)state;

	rng_seed(&r, 5);
	for (uint64_t seed = 0; seed < 20; seed++) {
		made_begin_slow(&m, 3, 64, seed % 2 == 0 ? 32 : 0, seed);
		for (int i = 0; i < 3000; i++)
			g = made_add(&m,
			    (const int64_t[]){ (int64_t)(1e6 * pow(1 - rng_unit(&r), -0.4)), 5000,
				(int64_t)(1e6 * rng_unit(&r)) },
			    NULL, 0);
		for (uint32_t edge = 0; edge < 3; edge++) {
			assert_int_equal(
			    what_if_of(&w, g, edge, 0.95, 50, seed, &m.arena, NULL), 0);
			assert_near(w.now.cv, moments_cv(&g->total), 0);
			assert_near(w.now.p50_ns, group_quantile(g, 0.5), 0);
			assert_near(w.now.p95_ns, group_quantile(g, 0.95), 0);
			assert_near(w.now.p99_ns, group_quantile(g, 0.99), 0);
			if (edge != 1)
				continue;
			assert_near(w.then.cv / w.now.cv, 1, 1e-9); /* that edge does not vary */
			assert_near(w.then.p50_ns / w.now.p50_ns, 1, 1e-12);
			assert_near(w.then.p95_ns / w.now.p95_ns, 1, 1e-12);
			assert_near(w.then.p99_ns / w.now.p99_ns, 1, 1e-12);
		}
		made_end(&m);
	}
}

/* As intervals_contain_the_true_quantiles(), with 4,000 requests of which 256 are kept. */
static void
intervals_of_many_contain_the_true_quantiles(void **state)
{
	enum { RUNS = 150, N = 4000 };
	double p50 = 1e6 * (3 + 2 * log(2)), p95 = 1e6 * (3 + log(20) + log(2)),
	       p99 = 1e6 * (3 + log(100) + log(2)), cv = 1e6 / (1e6 * (4 + log(2)));
	int held_50 = 0, held_95 = 0, held_99 = 0, held_cv = 0;
	struct rng r;
	(void)state;

	rng_seed(&r, 9);
	for (uint64_t seed = 0; seed < RUNS; seed++) {
		struct group *g = NULL;
		struct what_if w;
		struct made m;

		made_begin_slow(&m, 2, 256, 128, seed);
		for (int i = 0; i < N; i++)
			g = made_add(&m,
			    (const int64_t[]){ (int64_t)(-1e6 * log1p(-rng_unit(&r))),
				(int64_t)(1e6 * (3 - log1p(-rng_unit(&r)))) },
			    NULL, 0);
		assert_int_equal(what_if_of(&w, g, 0, 0.95, 200, seed, &m.arena, NULL), 0);
		held_50 += w.then_interval.p50_ns.low <= p50 && p50 <= w.then_interval.p50_ns.high;
		held_95 += w.then_interval.p95_ns.low <= p95 && p95 <= w.then_interval.p95_ns.high;
		held_99 += w.then_interval.p99_ns.low <= p99 && p99 <= w.then_interval.p99_ns.high;
		held_cv += w.then_interval.cv.low <= cv && cv <= w.then_interval.cv.high;
		made_end(&m);
	}
	print_message("# of %d intervals %d, %d, %d and %d hold p50, p95, p99 and CV\n", RUNS,
	    held_50, held_95, held_99, held_cv);
	assert_in_range(held_50, 0.90 * RUNS, RUNS);
	assert_in_range(held_95, 0.90 * RUNS, RUNS);
	assert_in_range(held_99, 0.90 * RUNS, RUNS);
	assert_in_range(held_cv, 0.90 * RUNS, RUNS);
}

static void
too_few_samples_give_no_interval(void **state)
{
	struct group *g = NULL;
	struct what_if w;
	struct made m;
	struct rng r;
	(void)state;

	rng_seed(&r, 1);
	made_begin(&m, 2, 512, 1);
	for (int i = 1; i <= 400; i++) {
		g = made_add(&m,
		    (const int64_t[]){
			1000 + (int64_t)rng_below(&r, 1000), 500 + (int64_t)rng_below(&r, 900) },
		    NULL, 0);
		if (i != 71 && i != 72 && i != 367 && i != 368)
			continue;
		assert_int_equal(what_if_of(&w, g, 0, 0.95, 50, 1, &m.arena, NULL), 0);
		assert_true(isfinite(w.then_interval.p50_ns.high));
		assert_int_equal(isfinite(w.then_interval.p95_ns.high) != 0, i >= 72);
		assert_int_equal(isfinite(w.then_interval.p99_ns.high) != 0, i >= 368);
	}
	made_end(&m);
}

/* In each round the quantiles are those of the drawn requests, also where values are equal. */
static void
intervals_lie_among_the_values(void **state)
{
	struct rng r;
	(void)state;

	rng_seed(&r, 3);
	for (uint64_t seed = 0; seed < 50; seed++) {
		struct group *g = NULL;
		struct what_if w;
		struct made m;
		int n = 1 + (int)rng_below(&r, 100);

		made_begin(&m, 2, 100, seed);
		for (int i = 0; i < n; i++)
			g = made_add(&m,
			    (const int64_t[]){
				(int64_t)rng_below(&r, 3), 100 * (int64_t)rng_below(&r, 4) },
			    NULL, 0);
		assert_int_equal(what_if_of(&w, g, 0, 0.95, 50, seed, &m.arena, NULL), 0);
		assert_true(w.then_interval.p50_ns.low >= 0 &&
			    w.then_interval.p50_ns.high <= 302 + (n < 6 ? INFINITY : 0));
		assert_true(w.then_interval.p50_ns.low <= w.then.p50_ns &&
			    w.then.p50_ns <= w.then_interval.p50_ns.high);
		assert_true(w.then_interval.p99_ns.low <= w.then.p99_ns &&
			    w.then.p99_ns <= w.then_interval.p99_ns.high);
		made_end(&m);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_if_sets_the_edge_to_its_median),
		cmocka_unit_test(intervals_contain_the_true_quantiles),
		cmocka_unit_test(what_is_now_is_what_the_group_says),
		cmocka_unit_test(intervals_of_many_contain_the_true_quantiles),
		cmocka_unit_test(too_few_samples_give_no_interval),
		cmocka_unit_test(intervals_lie_among_the_values),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
