/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "made.h"

static void
excesses_add_up_to_one(void **state)
{
	struct rng r;
	(void)state;

	for (uint64_t seed = 0; seed < 20; seed++) {
		double sum = 0, usual = 0, slow = 0;
		struct group *g = NULL;
		struct tail t;
		struct made m;

		rng_seed(&r, seed);
		made_begin(&m, 5, 300, seed);
		for (int i = 0; i < 300; i++) {
			int64_t x[5];

			for (int e = 0; e < 5; e++)
				x[e] = (int64_t)(1e5 * (e + 1) * (1 - log1p(-rng_unit(&r))));
			g = made_add(&m, x, NULL, 0);
		}
		assert_int_equal(tail_of(&t, g, 0.01, 0.95, 100, seed, &m.arena, NULL), 0);
		assert_int_equal(t.nedges, 5);
		for (uint32_t e = 0; e < 5; e++) {
			sum += t.edges[e].excess_share;
			slow += t.edges[e].slow_ns;
			usual += t.edges[e].usual_ns;
			assert_true(t.edges[e].interval.low <= t.edges[e].excess_share);
			assert_true(t.edges[e].interval.high >= t.edges[e].excess_share);
		}
		assert_near(sum, 1, 1e-9);
		assert_near(slow / t.slow_ns, 1, 1e-9);
		assert_near(usual / t.usual_ns, 1, 1e-9);
		made_end(&m);
	}
}

/* 500 requests; the 5 slowest are slow by their second edge, the others vary in neither. */
static void
the_excess_of_the_slowest_is_on_their_edge(void **state)
{
	struct group *g = NULL;
	struct tail t;
	struct made m;
	(void)state;

	made_begin(&m, 3, 500, 1);
	for (int i = 0; i < 500; i++)
		g = made_add(
		    &m, (const int64_t[]){ 1000 + i, i % 100 == 7 ? 90000 : 2000, 300 }, NULL, 0);
	assert_int_equal(tail_of(&t, g, 0.01, 0.95, 100, 1, &m.arena, NULL), 0);
	assert_int_equal(t.nslow, 5);
	assert_near(t.part, 0.01, 1e-12);
	assert_near(t.edges[1].slow_ns, 90000, 1e-6);
	assert_near(t.edges[1].usual_ns, 2000, 1e-6);
	assert_near(t.edges[0].slow_ns, 1207, 1e-6); /* of requests 7, 107, ... 407 */
	assert_true(t.edges[1].excess_share > 0.99);
	assert_near(t.edges[2].excess_share, 0, 1e-12);
	made_end(&m);
}

/* 20,000 requests, of which 64 are kept. Of the 60 that wait on the second edge, the 25 slowest
 * are judged, each of them exactly; the reservoir contains none of them or one. */
static void
the_slowest_are_those_of_all_requests(void **state)
{
	enum { ALL = 20000, RARE = 333 };
	struct group *g = NULL;
	struct tail t;
	struct made m;
	(void)state;

	made_begin_slow(&m, 3, 64, 32, 1);
	for (int i = 0; i < ALL; i++) {
		int64_t wait = i % RARE == 7 ? 100000 + i / RARE * 7919 % 100 * 100 : 2000;

		g = made_add(&m, (const int64_t[]){ 1000 + i % 50, wait, 300 }, NULL, 0);
	}
	assert_int_equal(g->nsamples, 64);
	assert_int_equal(g->nslow, 32);
	for (uint32_t i = 0; i < g->nslow; i++)
		assert_true(g->slow[i].edges_ns[1] >= 100000);
	assert_int_equal(tail_of(&t, g, 0.01, 0.95, 100, 1, &m.arena, NULL), 0);
	assert_int_equal(t.nslow, 25); /* four fifths of those that are kept */
	assert_near(t.part, 25.0 / ALL, 1e-12);
	assert_true(t.edges[1].slow_ns > 100000 && t.slow_ns > 101300);
	assert_near(t.edges[1].usual_ns, 2000, 1e-6);
	assert_true(t.edges[1].excess_share > 0.99 && t.edges[1].interval.low > 0.98);
	made_end(&m);
}

/* Like intervals_contain_the_excess(), but most requests are not kept: the share in the slowest 1 %
 * of very many. */
static void
intervals_contain_the_excess_of_many(void **state)
{
	enum { RUNS = 200, N = 3000, KEPT = 128 };
	struct interval held[RUNS];
	double wait = 0, all = 0, truth;
	uint32_t count = 0;
	struct rng r;
	(void)state;

	rng_seed(&r, 12);
	for (uint64_t run = 0; run < RUNS; run++) {
		struct group *g = NULL;
		struct tail t;
		struct made m;

		made_begin_slow(&m, 2, KEPT, KEPT / 2, run);
		for (int i = 0; i < N; i++)
			g = made_add(&m,
			    (const int64_t[]){
				(int64_t)(rng_unit(&r) < 0.2 ? -1e6 * log1p(-rng_unit(&r)) : 0),
				(int64_t)(-1e6 * log1p(-rng_unit(&r))) },
			    NULL, 0);
		assert_int_equal(tail_of(&t, g, 0.01, 0.95, 100, run, &m.arena, NULL), 0);
		assert_int_equal(t.nslow, N / 100);
		held[run] = t.edges[0].interval;
		wait += t.edges[0].slow_ns - t.edges[0].usual_ns;
		all += t.slow_ns - t.usual_ns;
		made_end(&m);
	}
	truth = wait / all;
	for (int i = 0; i < RUNS; i++)
		count += held[i].low <= truth && truth <= held[i].high;
	assert_in_range(count, 0.90 * RUNS, 0.995 * RUNS);
}

static void
too_few_samples_have_no_tail(void **state)
{
	struct group *g = NULL;
	struct tail t;
	struct made m;
	(void)state;

	made_begin(&m, 2, 500, 1);
	for (int i = 1; i <= 31; i++) {
		g = made_add(&m, (const int64_t[]){ 1000 + i, 10 }, NULL, 0);
		assert_int_equal(tail_of(&t, g, 0.01, 0.95, 20, 1, &m.arena, NULL), 0);
		assert_int_equal(t.nedges, i >= 30 ? 2 : 0);
	}
	assert_int_equal(t.nslow, 5); /* the smallest number for which a tail is judged */
	assert_near(t.part, 5.0 / 31, 1e-12);
	made_end(&m);
}

/*
 * 20 % of the requests wait, exponentially with mean 1 ms, in addition to 1 ms exponential: the
 * intervals must contain the mean excess share of the wait over many such groups.
 */
static void
intervals_contain_the_excess(void **state)
{
	enum { RUNS = 200 };
	struct interval held[RUNS];
	double wait = 0, all = 0, truth;
	uint32_t count = 0;
	struct rng r;
	(void)state;

	rng_seed(&r, 11);
	for (uint64_t run = 0; run < RUNS; run++) {
		struct group *g = NULL;
		struct tail t;
		struct made m;

		made_begin(&m, 2, 300, run);
		for (int i = 0; i < 300; i++)
			g = made_add(&m,
			    (const int64_t[]){
				(int64_t)(rng_unit(&r) < 0.2 ? -1e6 * log1p(-rng_unit(&r)) : 0),
				(int64_t)(-1e6 * log1p(-rng_unit(&r))) },
			    NULL, 0);
		assert_int_equal(tail_of(&t, g, 0.01, 0.95, 100, run, &m.arena, NULL), 0);
		held[run] = t.edges[0].interval;
		wait += t.edges[0].slow_ns - t.edges[0].usual_ns;
		all += t.slow_ns - t.usual_ns;
		made_end(&m);
	}
	truth = wait / all;
	for (int i = 0; i < RUNS; i++)
		count += held[i].low <= truth && truth <= held[i].high;
	assert_in_range(count, 0.90 * RUNS, 0.995 * RUNS);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(excesses_add_up_to_one),
		cmocka_unit_test(the_excess_of_the_slowest_is_on_their_edge),
		cmocka_unit_test(the_slowest_are_those_of_all_requests),
		cmocka_unit_test(intervals_contain_the_excess_of_many),
		cmocka_unit_test(too_few_samples_have_no_tail),
		cmocka_unit_test(intervals_contain_the_excess),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
