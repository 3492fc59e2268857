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

/* A request, with what it takes in the edge. */
static void
add_request(struct group *g, double edge_ns, double total_ns)
{
	comoments_add_high(g->edges, &edge_ns, 1, total_ns, &g->total, &g->total_high);
	moments_high_add(&g->total_high, &g->total, total_ns);
	moments_add(&g->total, total_ns);
}

enum { RARE_RUNS = 1000 };

/* An edge that takes 40 ms in one request of a hundred and else nothing, in requests of 20 ms with 4 ms of deviation: 64 % of the variance. Of each run the lower end. */
static void
few_lows(double *low, double *few, int n, double slow_part)
{
	struct rng rng;

	rng_seed(&rng, 17);
	*few = 0;
	for (int run = 0; run < RARE_RUNS; run++) {
		struct comoments edge = { 0 };
		struct group g = { .edges = &edge };
		int nslow = 0;

		for (int i = 0; i < n; i++) {
			double rest = 20e6, x = rng_unit(&rng) < slow_part ? 40e6 : 0;

			for (int k = 0; k < 12; k++)
				rest += (rng_unit(&rng) - 0.5) * 4e6;
			nslow += x > 0;
			add_request(&g, x, rest + x);
		}
		low[run] = 0;
		assert_int_equal(share_low_by_events(&low[run], &g, 0, true, 0.95, NULL), 0);
		*few += (double)(nslow < 4) / RARE_RUNS;
		if (nslow < 4)
			assert_true(low[run] == 0);
	}
}

static void
the_share_of_few_slow_requests_is_at_least_that_of_as_many_as_come_more_seldom(void **state)
{
	double truth = 0.01 * 0.99 * 1600 / (0.01 * 0.99 * 1600 + 16), low[RARE_RUNS], few;
	int beyond = 0, known = 0;
	(void)state;

	for (int n = 200; n <= 1600; n *= 2) {
		few_lows(low, &few, n, 0.01);
		beyond = known = 0;
		for (int i = 0; i < RARE_RUNS; i++) {
			beyond += low[i] > truth;
			known += low[i] > 0;
		}
		/* one side of 95 %; of those that have one, where four are not by themselves more than there mostly are */
		assert_true(beyond <= RARE_RUNS * 0.035);
		assert_true(n < 400 || beyond <= known * 0.05);
		assert_true(known >= RARE_RUNS * (0.9 - few));
	}
	assert_true(known >= RARE_RUNS * 0.99);
}

static void
of_fewer_than_four_slow_requests_nothing_is_certain(void **state)
{
	double low[RARE_RUNS], few;
	(void)state;

	few_lows(low, &few, 200, 0.002);
	assert_true(few > 0.95);
}

enum { BURST_RUNS = 400, BURST_MAX = 600 };

struct bursts { /* of the edge, and of the rest */
	double part[2], ms[2];
	double length; /* requests, mean */
};

/* What one of both adds to successive requests: bursts that rise at once and fall slowly. */
static void
add_bursts(double *ns, int n, double part, double ms, double length, struct rng *r)
{
	double left = 0, size = 0;

	for (int i = -100; i < n; i++) {
		if (rng_unit(r) < part / length) {
			left = 1 + floor(-log1p(-rng_unit(r)) * length);
			size = ms * 1e6 * exp(0.8 * (rng_unit(r) - 0.5));
		}
		if (left-- > 0 && i >= 0)
			ns[i] += size * (0.5 + rng_unit(r));
	}
}

static void
play_bursts(double *edge, double *rest, int n, const struct bursts *b, struct rng *r)
{
	for (int i = 0; i < n; i++) {
		edge[i] = 1e6 * rng_unit(r);
		rest[i] = 10e6 - 2e6 * log1p(-rng_unit(r));
	}
	add_bursts(edge, n, b->part[0], b->ms[0], b->length, r);
	add_bursts(rest, n, b->part[1], b->ms[1], b->length, r);
}

static double
burst_share(struct group *g, const double *edge, const double *rest, int n)
{
	for (int i = 0; i < n; i++) {
		double total = (double)(int64_t)(edge[i] + rest[i]);

		add_request(g, edge[i], total);
		if (g->samples != NULL)
			g->samples[i] = (struct sample){ .total_ns = (int64_t)total,
				.number = (uint64_t)i + 1,
				.order = (uint64_t)i + 1,
				.edges_ns = (double *)&edge[i] };
	}
	return comoments_covariance(&g->edges[0]) / moments_variance(&g->total);
}

static void
what_each_of_some_bursts_was_has_a_part_of_them_all(void **state)
{
	static const struct bursts CASES[] = { { { 0.1, 0 }, { 40, 0 }, 1 },
		{ { 0.1, 0 }, { 40, 0 }, 5 }, { { 0.1, 0 }, { 40, 0 }, 20 },
		{ { 0.2, 0.02 }, { 40, 40 }, 5 }, { { 0.2, 0.02 }, { 40, 40 }, 20 },
		{ { 0.2, 0.1 }, { 40, 40 }, 10 }, { { 0.1, 0.1 }, { 40, 40 }, 20 } };
	static double edge[1000 * BURST_MAX], rest[1000 * BURST_MAX];
	static struct sample samples[BURST_MAX];
	struct arena a = { 0 };
	struct rng r;
	int most = 0;
	(void)state;

	rng_seed(&r, 18);
	for (size_t c = 0; c < sizeof CASES / sizeof CASES[0]; c++)
		for (int n = 60; n <= BURST_MAX; n = n * 3 / 2) {
			struct comoments m = { 0 };
			struct group all = { .edges = &m };
			int beyond = 0, known = 0;
			double truth;

			play_bursts(edge, rest, 1000 * BURST_MAX, &CASES[c], &r);
			truth = burst_share(&all, edge, rest, 1000 * BURST_MAX);
			for (int run = 0; run < BURST_RUNS; run++) {
				struct comoments own = { 0 };
				struct group g = { .edges = &own,
					.samples = samples,
					.nsamples = (uint32_t)n,
					.stands_for_more = true };
				double low = 0;

				play_bursts(edge, rest, n, &CASES[c], &r);
				burst_share(&g, edge, rest, n);
				arena_reset(&a);
				assert_int_equal(
				    share_low_by_events(&low, &g, 0, false, 0.95, &a), 0);
				known += low > 0;
				beyond += low > truth;
			}
			assert_true(beyond <= BURST_RUNS * 0.065);
			most = known > most ? known : most;
		}
	assert_true(most > BURST_RUNS * 0.99);
	arena_release(&a);
}

/* Of requests of 10 ms, 60 ms in one of a hundred, all in the edge, which usually takes this part of them. */
static double
low_of_stalls(int stalls, double usual_part)
{
	static double edge[1000];
	static struct sample samples[1000];
	struct comoments own = { 0 };
	struct group g = { .edges = &own, .samples = samples, .nsamples = 1000 };
	struct arena a = { 0 };
	double low = 0;

	for (int i = 0; i < 1000; i++) {
		edge[i] = usual_part * 10e6 + i % 7 + (i * stalls % 1000 < stalls ? 60e6 : 0);
		samples[i] = (struct sample){ .total_ns = (int64_t)(edge[i] +
								    (1 - usual_part) * 10e6),
			.order = (uint64_t)i + 1,
			.edges_ns = &edge[i] };
		add_request(&g, edge[i], (double)samples[i].total_ns);
	}
	assert_int_equal(share_low_by_events(&low, &g, 0, false, 0.95, &a), 0);
	arena_release(&a);
	return low;
}

/* GSL ends the process where an inverse does not converge. */
static void
the_lower_end_is_known_for_any_number_of_events(void **state)
{
	(void)state;
	for (int n = 1; n < 1000; n++)
		assert_true(low_of_stalls(n, 0.3) <= 1);
}

/* 0.5 to the power of 6 is 0.016, and of 7 it is 0.008. */
static void
stalls_that_fall_anywhere_may_all_be_in_the_edge_that_takes_longest(void **state)
{
	(void)state;
	assert_true(low_of_stalls(2, 0.05) > 0.1);
	assert_true(low_of_stalls(1, 0.05) == 0);
	assert_true(low_of_stalls(6, 0.5) == 0);
	assert_true(low_of_stalls(7, 0.5) > 0.5);
	assert_true(low_of_stalls(20, 0.9) == 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_weights_of_a_rare_mode_are_at_the_ends_of_an_exact_interval),
		cmocka_unit_test(at_most_a_third_is_rare),
		cmocka_unit_test(a_pareto_tail_is_found_with_its_index),
		cmocka_unit_test(equal_values_and_few_have_no_tail),
		cmocka_unit_test(
		    the_share_of_few_slow_requests_is_at_least_that_of_as_many_as_come_more_seldom),
		cmocka_unit_test(of_fewer_than_four_slow_requests_nothing_is_certain),
		cmocka_unit_test(what_each_of_some_bursts_was_has_a_part_of_them_all),
		cmocka_unit_test(the_lower_end_is_known_for_any_number_of_events),
		cmocka_unit_test(
		    stalls_that_fall_anywhere_may_all_be_in_the_edge_that_takes_longest),
		cmocka_unit_test(only_draws_from_the_tail_have_a_distance_of_their_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
