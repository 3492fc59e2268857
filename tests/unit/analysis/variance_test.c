/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "made.h"

static const struct conditions USUAL = { 0.10, 0.95, 30, 0.95 };

static int64_t
normal_ns(struct rng *r, double mean, double sd)
{
	double x = mean + sd * rng_normal(r);

	return x > 1 ? (int64_t)llround(x) : 1;
}

static void
shares_add_up_to_one(void **state)
{
	struct rng r;
	(void)state;

	for (uint64_t seed = 0; seed < 20; seed++) {
		double share = 0, latency = 0;
		struct finding f;
		struct group *g = NULL;
		struct made m;

		rng_seed(&r, seed);
		made_begin(&m, 12, 200, seed);
		for (int i = 0; i < 3000; i++) {
			int64_t x[12], common = normal_ns(&r, 1e6, 2e5);

			for (int e = 0; e < 12; e++)
				x[e] = normal_ns(&r, 1e5 * (1 + e), 3e4 * (e % 4)) +
				       (e % 3 == 0 ? common : 0);
			x[11] +=
			    2000000 -
			    common /
				2; /* an edge that compensates the others: its share is negative */
			g = made_add(&m, x, NULL, 0);
		}
		assert_int_equal(finding_of(&f, g, &USUAL, 0, 50, 1, &m.arena, NULL), 0);
		assert_int_equal(f.nedges, 12);
		for (uint32_t e = 0; e < 12; e++) {
			share += f.edges[e].share;
			latency += f.edges[e].latency_share;
			assert_true(f.edges[e].interval.low <= f.edges[e].share);
			assert_true(f.edges[e].interval.high >= f.edges[e].share);
			assert_true(f.edges[e].share <= f.edges[f.top].share);
		}
		assert_near(share, 1, 1e-9);
		assert_near(latency, 1, 1e-9);
		made_end(&m);
	}
}

/* One slow request among fast ones: the rounds that miss it make the errors of log(CV) as large as one likes. */
static void
the_upper_limit_of_a_cv_is_one_that_so_many_requests_can_show(void **state)
{
	struct finding f;
	struct group *g = NULL;
	struct made m;
	struct rng r;
	(void)state;

	rng_seed(&r, 1);
	for (int64_t slow_ns = 1000000; slow_ns < INT64_C(100000000000); slow_ns *= 10) {
		made_begin(&m, 1, 200, 1);
		for (int i = 0; i < 40; i++) {
			int64_t x[1] = { normal_ns(&r, 1e6, 1e4) + (i == 7 ? slow_ns : 0) };

			g = made_add(&m, x, NULL, 0);
		}
		assert_int_equal(finding_of(&f, g, &USUAL, 0, 200, 1, &m.arena, NULL), 0);
		assert_true(f.cv_interval.low <= f.cv && f.cv_interval.high >= f.cv);
		assert_true(f.cv_interval.high <= sqrt(40 - 1) + 1e-9);
		made_end(&m);
	}
}

/* Requests come in bursts in which one of two edges varies: what each has of the variance is less certain than if
 * they came in any order, but only if they stand for other times, too. */
static void
shares_of_requests_that_depend_are_uncertain_where_they_stand_for_others(void **state)
{
	double width[2];
	struct finding f;
	struct group *g = NULL;
	struct made m;
	struct rng r;
	(void)state;

	rng_seed(&r, 1);
	made_begin(&m, 2, 600, 1);
	for (int i = 0; i < 600; i++) {
		bool second = i / 60 % 2 == 1;
		int64_t x[2] = { normal_ns(&r, 1e7, second ? 1e4 : 1e6),
			normal_ns(&r, 1e7, second ? 2e6 : 1e4) };

		g = made_add(&m, x, NULL, 0);
	}
	for (int more = 0; more < 2; more++) {
		g->stands_for_more = more;
		assert_int_equal(finding_of(&f, g, &USUAL, 0, 200, 1, &m.arena, NULL), 0);
		width[more] = f.edges[1].interval.high - f.edges[1].interval.low;
		assert_true(more ? f.edges[1].inflation > 2 : f.edges[1].inflation == 1);
	}
	assert_true(width[1] > 1.5 * width[0]);
	made_end(&m);
}

static void
the_edge_that_varies_has_the_share(void **state)
{
	struct finding f;
	struct group *g = NULL;
	struct made m;
	struct rng r;
	(void)state;

	rng_seed(&r, 5);
	made_begin(&m, 4, 500, 1);
	for (int i = 0; i < 2000; i++) /* variances 9 : 1 : 0 : 0 */
		g = made_add(&m,
		    (const int64_t[]){
			normal_ns(&r, 5e6, 3e5), normal_ns(&r, 2e6, 1e5), 100000, 5 },
		    NULL, 0);
	assert_int_equal(finding_of(&f, g, &USUAL, 0, 200, 1, &m.arena, NULL), 0);
	assert_int_equal(f.top, 0);
	assert_near(f.edges[0].share, 0.9, 0.02);
	assert_near(f.edges[1].share, 0.1, 0.02);
	assert_near(f.edges[0].own, 0.9, 0.03);
	assert_near(f.edges[2].share, 0, 1e-9);
	assert_near(f.edges[0].latency_share, 5.0 / 7.1, 0.01);
	assert_near(f.edges[0].mean_ns, 5e6, 3e4);
	made_end(&m);
}

static enum problem
judged(double mean, double sd, int n, double slow_ns)
{
	struct finding f;
	struct group *g = NULL;
	struct made m;
	struct rng r;

	rng_seed(&r, 3);
	made_begin(&m, 2, 400, 1);
	for (int i = 0; i < n; i++)
		g = made_add(&m, (const int64_t[]){ normal_ns(&r, mean, sd), 10 }, NULL, 0);
	assert_int_equal(finding_of(&f, g, &USUAL, slow_ns, 200, 1, &m.arena, NULL), 0);
	made_end(&m);
	return f.problem;
}

static void
a_group_is_judged_only_when_the_interval_is_on_one_side(void **state)
{
	(void)state;
	assert_int_equal(judged(1e6, 2e5, 400, 0), PROBLEM_UNPREDICTABLE);
	assert_int_equal(judged(1e6, 5e4, 400, 0), PROBLEM_NONE);
	assert_int_equal(judged(1e6, 1e5, 400, 0), PROBLEM_UNSURE); /* on the threshold */
	assert_int_equal(judged(1e6, 2e5, 29, 0), PROBLEM_UNSURE);  /* too few */
	assert_int_equal(judged(1e6, 5e4, 400, 9e5), PROBLEM_SLOW);
	assert_int_equal(judged(1e6, 5e4, 400, 2e6), PROBLEM_NONE);
	assert_int_equal(judged(1e6, 5e4, 400, 1e6), PROBLEM_UNSURE);
	assert_int_equal(judged(1e6, 0, 400, 0), PROBLEM_NONE);
}

/*
 * Two edges with known shares, 300 runs: the intervals contain the true shares at about the stated
 * rate.
 */
static void
intervals_contain_the_share_at_the_stated_rate(void **state)
{
	enum { RUNS = 300 };
	const double cv = sqrt(5.0) * 1e5 / 3e6, share = 0.8;
	int cv_held = 0, share_held = 0;
	struct rng r;
	(void)state;

	for (uint64_t seed = 0; seed < RUNS; seed++) {
		struct finding f;
		struct group *g = NULL;
		struct made m;

		rng_seed(&r, 1000 + seed);
		made_begin(&m, 2, 200, seed);
		for (int i = 0; i < 200; i++)
			g = made_add(&m,
			    (const int64_t[]){ normal_ns(&r, 2e6, 2e5), normal_ns(&r, 1e6, 1e5) },
			    NULL, 0);
		assert_int_equal(finding_of(&f, g, &USUAL, 0, 200, seed, &m.arena, NULL), 0);
		cv_held += f.cv_interval.low <= cv && cv <= f.cv_interval.high;
		share_held += f.edges[0].interval.low <= share && share <= f.edges[0].interval.high;
		made_end(&m);
	}
	/* 3 standard deviations are 4 % */
	assert_in_range(cv_held, 0.91 * RUNS, 0.99 * RUNS);
	assert_in_range(share_held, 0.91 * RUNS, 0.99 * RUNS);
}

static void
the_same_seed_finds_the_same(void **state)
{
	struct finding f[2];
	struct group *g = NULL;
	struct made m;
	struct rng r;
	(void)state;

	rng_seed(&r, 5);
	made_begin(&m, 3, 100, 1);
	for (int i = 0; i < 300; i++)
		g = made_add(&m,
		    (const int64_t[]){ normal_ns(&r, 5e6, 3e5), normal_ns(&r, 2e6, 1e5), 7 }, NULL,
		    0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(finding_of(&f[i], g, &USUAL, 0, 100, 9, &m.arena, NULL), 0);
	assert_memory_equal(f[0].edges, f[1].edges, 3 * sizeof f[0].edges[0]);
	assert_memory_equal(&f[0].cv_interval, &f[1].cv_interval, sizeof f[0].cv_interval);
	made_end(&m);
}

static void
shares_of_a_slow_group_are_of_its_mean(void **state)
{
	struct finding f;
	struct group *g = NULL;
	struct made m;
	struct rng r;
	(void)state;

	rng_seed(&r, 5);
	made_begin(&m, 2, 100, 1);
	for (int i = 0; i < 300; i++)
		g = made_add(&m,
		    (const int64_t[]){ normal_ns(&r, 9e6, 1e3), normal_ns(&r, 1e6, 1e5) }, NULL, 0);
	assert_int_equal(finding_of(&f, g, &USUAL, 8e6, 100, 9, &m.arena, NULL), 0);
	assert_int_equal(f.problem, PROBLEM_SLOW);
	assert_int_equal(f.top, 0);
	assert_near(f.edges[0].share, 0.9, 0.01);
	assert_near(f.cost_ns / 300, 2e6, 5e4); /* time above the type's threshold of slow */
	made_end(&m);
}

static void
an_empty_group_is_unsure(void **state)
{
	struct group g = { .sketch = calloc(1, sizeof(struct sketch)) };
	struct arena a = { 0 };
	struct finding f;
	struct what_if w;
	(void)state;

	assert_int_equal(finding_of(&f, &g, &USUAL, 0, 100, 9, &a, NULL), 0);
	assert_int_equal(f.problem, PROBLEM_UNSURE);
	assert_int_equal(what_if_of(&w, &g, 0, 0.95, 50, 1, &a, NULL), 0);
	assert_near(w.now.cv, 0, 0);
	free(g.sketch);
	arena_release(&a);
}

/*
 * A CV exactly at the threshold, checked every 10 requests from 30 to 3,000: a plain 95 % interval
 * is beyond it at some check far more often than 1 time in 40; the verdict is not.
 */
static void
frequent_checks_give_no_more_findings(void **state)
{
	enum { RUNS = 60 };
	int naive = 0, judged_so = 0;
	(void)state;

	for (uint64_t seed = 0; seed < RUNS; seed++) {
		bool beyond = false, said = false;
		struct made m;
		struct rng r;

		rng_seed(&r, 4000 + seed);
		made_begin(&m, 2, 512, seed);
		for (int i = 1; i <= 3000; i++) {
			struct group *g = made_add(
			    &m, (const int64_t[]){ normal_ns(&r, 1e6, 1e5), 10 }, NULL, 0);
			struct finding f;

			if (i < 30 || i % (i < 300 ? 10 : 100) != 0)
				continue;
			assert_int_equal(finding_of(&f, g, &USUAL, 0, 80, seed, &m.arena, NULL), 0);
			beyond |= f.cv_interval.low > USUAL.cv_max;
			said |= f.problem == PROBLEM_UNPREDICTABLE;
			arena_reset(&m.arena);
		}
		naive += beyond;
		judged_so += said;
		made_end(&m);
	}
	assert_true(naive >= 6); /* 1.5 would be expected */
	assert_true(judged_so <= 3);
}

/*
 * 10 ms mostly, and one request of 100 s within an hour: one request is no proof that a group is
 * unpredictable.
 */
static void
one_extreme_request_is_no_proof(void **state)
{
	struct finding f;
	struct group *g = NULL;
	struct made m;
	struct rng r;
	(void)state;

	rng_seed(&r, 5);
	made_begin(&m, 2, 64, 1);
	for (int i = 0; i < 5000; i++)
		g = made_add(&m,
		    (const int64_t[]){ normal_ns(&r, 1e7, 2e5) + (i == 100 ? 1000000000 : 0), 10 },
		    NULL, 0);
	for (uint32_t i = 0; i < g->nsamples; i++)
		/* the slow request is not in the reservoir */
		assert_true(g->samples[i].total_ns < 20000000);
	assert_true(moments_cv(&g->total) > 0.5);
	assert_int_equal(finding_of(&f, g, &USUAL, 0, 200, 1, &m.arena, NULL), 0);
	assert_int_equal(f.problem, PROBLEM_UNSURE);
	assert_true(f.cv_interval.low < 0.03 && f.cv_interval.high >= f.cv);
	made_end(&m);
}

/* All samples are equal, to the last ns: they carry no information about the few others. */
static void
equal_samples_give_no_shares(void **state)
{
	struct finding f;
	struct group *g = NULL;
	struct made m;
	(void)state;

	made_begin(&m, 2, 64, 1);
	for (int i = 0; i < 5000; i++)
		g = made_add(
		    &m, (const int64_t[]){ i == 100 ? 1000000000 : 10000000, 10 }, NULL, 0);
	for (uint32_t i = 0; i < g->nsamples; i++)
		assert_int_equal(g->samples[i].total_ns, 10000010);
	assert_int_equal(finding_of(&f, g, &USUAL, 0, 200, 1, &m.arena, NULL), 0);
	assert_int_equal(f.problem, PROBLEM_UNSURE);
	assert_near(f.cv_interval.low, 0, 0);
	assert_true(f.cv_interval.high >= f.cv);
	assert_near(f.edges[0].share, 1, 1e-9);
	for (int e = 0; e < 2; e++)
		assert_true(f.edges[e].interval.low <= 0 && f.edges[e].interval.high >= 1);
	made_end(&m);
}

/* Times from a nanosecond to a day: fourth powers stay finite. */
static void
very_long_and_very_short_times_have_intervals(void **state)
{
	static const double scale_ns[] = { 2, 8.64e13 };
	(void)state;

	for (int i = 0; i < 2; i++) {
		struct finding f;
		struct group *g = NULL;
		struct made m;
		struct rng r;

		rng_seed(&r, 5);
		made_begin(&m, 2, 64, 1);
		for (int k = 0; k < 400; k++)
			g = made_add(&m,
			    (const int64_t[]){ (int64_t)(scale_ns[i] * (1 + rng_unit(&r))),
				(int64_t)(scale_ns[i] * (1 + rng_unit(&r))) },
			    NULL, 0);
		assert_int_equal(finding_of(&f, g, &USUAL, 0, 200, 1, &m.arena, NULL), 0);
		assert_int_equal(f.problem, PROBLEM_UNPREDICTABLE);
		for (int e = 0; e < 2; e++) {
			assert_near(f.edges[e].share, 0.5, 0.1);
			assert_true(
			    f.edges[e].interval.low > 0.35 && f.edges[e].interval.high < 0.65);
		}
		made_end(&m);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shares_add_up_to_one),
		cmocka_unit_test(the_upper_limit_of_a_cv_is_one_that_so_many_requests_can_show),
		cmocka_unit_test(
		    shares_of_requests_that_depend_are_uncertain_where_they_stand_for_others),
		cmocka_unit_test(the_edge_that_varies_has_the_share),
		cmocka_unit_test(a_group_is_judged_only_when_the_interval_is_on_one_side),
		cmocka_unit_test(intervals_contain_the_share_at_the_stated_rate),
		cmocka_unit_test(the_same_seed_finds_the_same),
		cmocka_unit_test(shares_of_a_slow_group_are_of_its_mean),
		cmocka_unit_test(frequent_checks_give_no_more_findings),
		cmocka_unit_test(one_extreme_request_is_no_proof),
		cmocka_unit_test(equal_samples_give_no_shares),
		cmocka_unit_test(very_long_and_very_short_times_have_intervals),
		cmocka_unit_test(an_empty_group_is_unsure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
