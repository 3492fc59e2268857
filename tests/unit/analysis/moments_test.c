/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kit.h"

#include "analysis/bootstrap.h"
#include "analysis/moments.h"
#include "analysis/quantile.h"
#include "base/rng.h"

static void
moments_equal_two_pass_sums(void **state)
{
	struct moments m = { 0 };
	struct comoments c = { 0 };
	(void)state;

	assert_near(moments_variance(&m), 0, 0);
	assert_near(moments_cv(&m), 0, 0);
	for (int i = 0; i < 4; i++) {
		const double x[] = { 2, 4, 4, 6 }, y[] = { 1, 2, 3, 6 };

		moments_add(&m, x[i]);
		comoments_add(&c, x[i], y[i]);
	}
	assert_near(m.mean, 4, 1e-12);
	assert_near(moments_variance(&m), 2, 1e-12);
	assert_near(moments_cv(&m), sqrt(2) / 4, 1e-12);
	assert_near(comoments_covariance(&c), 2.5, 1e-12);
	assert_near(c.m2_x / 4, 2, 1e-12);
}

static void
merged_moments_equal_those_of_the_whole(void **state)
{
	struct rng rng;
	(void)state;

	for (uint64_t seed = 0; seed < 50; seed++) {
		struct moments whole = { 0 }, part[3] = { 0 };
		struct comoments cwhole = { 0 }, cpart[3] = { 0 };

		rng_seed(&rng, seed);
		for (int i = 0; i < 2000; i++) {
			double x = 1e9 + 1e3 * rng_normal(&rng),
			       y = 2e9 + 0.5 * x + 100 * rng_normal(&rng);
			uint64_t p = seed == 0
			                 ? 1
			                 : rng_below(&rng, 3); /* seed 0: two parts are empty */

			moments_add(&whole, x);
			moments_add(&part[p], x);
			comoments_add(&cwhole, x, y);
			comoments_add(&cpart[p], x, y);
		}
		for (int i = 1; i < 3; i++) {
			moments_merge(&part[0], &part[i]);
			comoments_merge(&cpart[0], &cpart[i]);
		}
		assert_int_equal(part[0].n, 2000);
		assert_near(part[0].mean, whole.mean, 1e-4);
		assert_near(moments_variance(&part[0]) / moments_variance(&whole), 1, 1e-9);
		assert_int_equal(cpart[0].n, 2000);
		assert_near(cpart[0].mean_y, cwhole.mean_y, 1e-4);
		assert_near(
		    comoments_covariance(&cpart[0]) / comoments_covariance(&cwhole), 1, 1e-8);
		assert_near(cpart[0].m2_x / cwhole.m2_x, 1, 1e-9);
	}
}

enum { PAIRS = 3000, PARTS = 4, EDGES = 3 };

struct pairs { /* edges 0 and 1 vary, 2 is nearly constant */
	double x[PAIRS][EDGES], y[PAIRS];
};

struct summed {
	struct moments y;
	struct moments_high high;
	struct comoments x[EDGES];
};

static void
heavy_pairs(struct pairs *p, struct rng *rng)
{
	for (int i = 0; i < PAIRS; i++) {
		p->x[i][0] = 1e9 + 1e5 * exp(rng_normal(rng));
		p->x[i][1] = 3e8 + 1e5 * rng_normal(rng);
		p->x[i][2] = rng_below(rng, 500) == 0 ? 7e6 : 0;
		p->y[i] = p->x[i][0] + p->x[i][1] + p->x[i][2];
	}
}

static void
sum_pair(struct summed *s, const struct pairs *p, int i)
{
	comoments_add_high(s->x, p->x[i], EDGES, p->y[i], &s->y, &s->high);
	moments_high_add(&s->high, &s->y, p->y[i]);
	moments_add(&s->y, p->y[i]);
}

static void
merge_summed(struct summed *into, const struct summed *from)
{
	for (int e = 0; e < EDGES; e++)
		comoments_merge_high(
		    &into->x[e], &into->y, &into->high, &from->x[e], &from->y, &from->high);
	moments_high_merge(&into->high, &into->y, &from->high, &from->y);
	moments_merge(&into->y, &from->y);
}

/*
 * The sum of (x - mean_x)^px (y - mean_y)^py, in two passes; and the sum of absolute values, to
 * which errors are relative.
 */
static void
assert_sum(double is, const struct pairs *p, int edge, int px, int py)
{
	long double mx = 0, my = 0, sum = 0, size = 0;

	for (int i = 0; i < PAIRS; i++) {
		mx += (long double)p->x[i][edge] / PAIRS;
		my += (long double)p->y[i] / PAIRS;
	}
	for (int i = 0; i < PAIRS; i++) {
		long double each = powl((long double)p->x[i][edge] - mx, px) *
		                   powl((long double)p->y[i] - my, py);

		sum += each;
		size += fabsl(each);
	}
	assert_near(is, (double)sum, 1e-9 * (double)size);
}

static void
assert_sums(const struct summed *s, const struct pairs *p)
{
	assert_int_equal(s->y.n, PAIRS);
	assert_sum(s->high.m3, p, 0, 0, 3);
	assert_sum(s->high.m4, p, 0, 0, 4);
	for (int e = 0; e < EDGES; e++) {
		assert_int_equal(s->x[e].n, PAIRS);
		assert_sum(s->x[e].m2_x, p, e, 2, 0);
		assert_sum(s->x[e].c_xy, p, e, 1, 1);
		assert_sum(s->x[e].c_xxy, p, e, 2, 1);
		assert_sum(s->x[e].c_xyy, p, e, 1, 2);
		assert_sum(s->x[e].c_xxyy, p, e, 2, 2);
		assert_sum(s->x[e].c_xyyy, p, e, 1, 3);
	}
}

static void
fourth_moments_equal_two_pass_sums_for_any_division(void **state)
{
	static struct pairs p;
	struct rng rng;
	(void)state;

	for (uint64_t seed = 0; seed < 30; seed++) {
		struct summed whole = { 0 }, part[PARTS] = { 0 };

		rng_seed(&rng, seed);
		heavy_pairs(&p, &rng);
		for (int i = 0; i < PAIRS;
		     /* seed 0: the first two parts are empty; 1: the parts differ in their times */
		     i++) {
			uint64_t at = seed == 0   ? 2 + rng_below(&rng, 2)
			              : seed == 1 ? (uint64_t)i * PARTS / PAIRS
			                          : rng_below(&rng, PARTS);

			sum_pair(&whole, &p, i);
			sum_pair(&part[at], &p, i);
		}
		assert_sums(&whole, &p);
		for (int i = 1; i < PARTS; i++)
			merge_summed(&part[0], &part[i]);
		assert_sums(&part[0], &p);
	}
}

static void
moments_of_no_one_or_equal_values_are_zero(void **state)
{
	static const double x[EDGES] = { 1e12, 3, 0 };
	struct summed s = { 0 }, none = { 0 };
	(void)state;

	merge_summed(&s, &none);
	assert_memory_equal(&s, &none, sizeof s);
	for (int i = 0; i < 100; i++) {
		comoments_add_high(s.x, x, EDGES, 1e12 + 3, &s.y, &s.high);
		moments_high_add(&s.high, &s.y, 1e12 + 3);
		moments_add(&s.y, 1e12 + 3);
		assert_near(s.high.m3, 0, 0);
		assert_near(s.high.m4, 0, 0);
		for (int e = 0; e < EDGES; e++) {
			assert_near(s.x[e].mean_x, x[e], 0);
			assert_near(s.x[e].c_xxyy, 0, 0);
			assert_near(s.x[e].c_xyyy, 0, 0);
		}
	}
	none = s;
	merge_summed(&s, &none);
	assert_int_equal(s.y.n, 200);
	assert_near(s.high.m4, 0, 0);
	assert_near(s.x[0].c_xyyy, 0, 0);
}

static void
large_means_do_not_cancel_small_variances(void **state)
{
	struct moments m = { 0 };
	(void)state;

	for (int i = 0; i < 1000; i++)
		moments_add(&m, 1e15 + i % 2);
	assert_near(moments_variance(&m), 0.25, 1e-3);
}

static int
by_size(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* By the definition, in integers: the least rank r with 100 r >= percent n. */
static void
a_quantile_is_the_nearest_rank(void **state)
{
	(void)state;

	for (uint64_t n = 1; n <= 2000; n++)
		for (uint64_t percent = 1; percent <= 100; percent++)
			assert_int_equal(
			    quantile_rank(n, (double)percent / 100), (percent * n + 99) / 100 - 1);
	assert_int_equal(quantile_rank(7, 0), 0);
	assert_int_equal(quantile_rank(UINT64_C(1) << 40, 1), (UINT64_C(1) << 40) - 1);
	assert_int_equal(quantile_rank(UINT64_C(1) << 40, 0.25), (UINT64_C(1) << 38) - 1);
}

/* floor(q (n - 1)) would give the ninth of ten, which is p90. */
static void
p95_of_ten_requests_is_the_slowest(void **state)
{
	struct sketch *s = calloc(1, sizeof *s);
	double sorted[10];
	(void)state;

	for (int i = 1; i <= 10; i++) {
		sketch_add(s, i < 10 ? 1000 * i : 1000000);
		sorted[i - 1] = i < 10 ? 1000 * i : 1000000;
	}
	assert_near(sketch_quantile(s, 0.95) / 1000000, 1, 0.01);
	assert_near(sketch_quantile(s, 0.99) / 1000000, 1, 0.01);
	assert_near(sketch_quantile(s, 0.5) / 5000, 1, 0.01);
	assert_near(quantile_of_samples(sorted, 10, 0.95), 1000000, 0);
	assert_near(quantile_of_samples(sorted, 10, 0.9), 9000, 0);
	assert_near(quantile_of_samples(sorted, 10, 0.5), 5000, 0);
	free(s);
}

static void
quantiles_are_within_one_percent(void **state)
{
	enum { N = 20000 };
	static const double qs[] = { 0, 0.01, 0.25, 0.5, 0.9, 0.95, 0.99, 0.999, 1 };
	int64_t *values = malloc(N * sizeof *values);
	struct sketch *whole = calloc(1, sizeof *whole), *part = calloc(2, sizeof *part);
	struct rng rng;
	(void)state;

	for (uint64_t seed = 0; seed < 5; seed++) {
		memset(whole, 0, sizeof *whole);
		memset(part, 0, 2 * sizeof *part);
		rng_seed(&rng, seed);
		for (int i = 0; i < N; i++) { /* log-uniform from 1 ns to 10 days */
			values[i] = (int64_t)exp(rng_unit(&rng) * log(8.64e14));
			sketch_add(whole, values[i]);
			sketch_add(&part[i % 3 == 0], values[i]);
		}
		sketch_merge(&part[0], &part[1]);
		assert_memory_equal(whole, &part[0], sizeof *whole);
		qsort(values, N, sizeof *values, by_size);
		for (unsigned i = 0; i < sizeof qs / sizeof qs[0]; i++) {
			double exact = (double)values[quantile_rank(N, qs[i])];

			assert_near(sketch_quantile(whole, qs[i]) / exact, 1, 0.01 + 1e-9);
		}
	}
	free(values);
	free(whole);
	free(part);
}

static void
a_sketch_takes_any_value(void **state)
{
	struct sketch *s = calloc(1, sizeof *s);
	(void)state;

	assert_near(sketch_quantile(s, 0.5), 0, 0);
	sketch_add(s, INT64_MIN);
	sketch_add(s, 0);
	sketch_add(s, INT64_MAX);
	assert_int_equal(s->n, 3);
	assert_near(sketch_quantile(s, 0), 1, 0.01);
	assert_true(sketch_quantile(s, 1) > 8e14);
	free(s);
}

/* Days of traffic: a full bucket does not wrap. */
static void
a_full_bucket_keeps_the_quantiles(void **state)
{
	static struct sketch s, t;
	double before[3];
	(void)state;

	for (int i = 0; i < 4; i++) {
		sketch_add(&s, 1000);
		sketch_add(&s, i < 3 ? 1000 : 50000);
	}
	for (int i = 0; i < SKETCH_BUCKETS; i++)
		s.buckets[i] *= UINT32_MAX / 7;
	s.n *= UINT32_MAX / 7;
	for (int i = 0; i < 3; i++)
		before[i] = sketch_quantile(&s, 0.5 + 0.2 * i);
	t = s;
	sketch_merge(&t, &s);
	for (int i = 0; i < 100; i++)
		sketch_add(&s, 1000);
	for (int i = 0; i < 3; i++) {
		assert_near(sketch_quantile(&s, 0.5 + 0.2 * i), before[i], 0);
		assert_near(sketch_quantile(&t, 0.5 + 0.2 * i), before[i], 0);
	}
	assert_true(s.n < 8ull * (UINT32_MAX / 7));
}

/* n values of the distribution with this quantile function, evenly spread. */
static double
carried_by_slowest(double (*quantile)(double), double part)
{
	struct sketch *s = calloc(1, sizeof *s);
	double carries;

	assert_non_null(s);
	for (int i = 0; i < 100000; i++)
		sketch_add(s, (int64_t)(1e6 * quantile((i + 0.5) / 100000)));
	carries = sketch_tail_carries(s, part);
	free(s);
	return carries;
}

static double
exponential(double q)
{
	return -log1p(-q);
}

static double
uniform(double q)
{
	return 1 + q;
}

static double
one_in_a_hundred_is_far(double q)
{
	return q < 0.99 ? 1 + 0.1 * q : 20;
}

static double
constant(double q)
{
	return 1 + 0 * q;
}

/* Exponential: the variance below the quantile c = ln 50 is 1 - 0.02 / 0.98^2 c^2 = 0.6817. Uniform: 0.98^2. */
static void
the_slowest_carry_what_the_others_lack_of_the_variance(void **state)
{
	(void)state;
	assert_near(carried_by_slowest(exponential, 0.02), 1 - 0.98 * 0.6817, 0.01);
	assert_near(carried_by_slowest(uniform, 0.02), 1 - 0.98 * 0.98 * 0.98, 0.01);
	assert_true(carried_by_slowest(one_in_a_hundred_is_far, 0.02) > 0.99);
	assert_near(carried_by_slowest(constant, 0.02), 0, 1e-12);
	assert_near(carried_by_slowest(exponential, 1), 1, 1e-12);
	assert_near(carried_by_slowest(exponential, 0), 0, 1e-12);
}

/* Nine values of 10 ms and one of 110 ms: 100 ms beyond the median in ten values. */
static void
what_lies_beyond_a_value_is_the_mean_over_all(void **state)
{
	struct sketch *s = calloc(1, sizeof *s);
	(void)state;

	assert_non_null(s);
	assert_near(sketch_beyond(s, 1), 0, 0);
	for (int i = 0; i < 10; i++)
		sketch_add(s, i < 9 ? 10000000 : 110000000);
	assert_near(sketch_beyond(s, sketch_quantile(s, 0.5)), 10e6, 0.2e6);
	assert_near(sketch_beyond(s, 0), 20e6, 0.4e6);
	assert_near(sketch_beyond(s, 1e9), 0, 0);
	free(s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(moments_equal_two_pass_sums),
		cmocka_unit_test(merged_moments_equal_those_of_the_whole),
		cmocka_unit_test(fourth_moments_equal_two_pass_sums_for_any_division),
		cmocka_unit_test(moments_of_no_one_or_equal_values_are_zero),
		cmocka_unit_test(large_means_do_not_cancel_small_variances),
		cmocka_unit_test(quantiles_are_within_one_percent),
		cmocka_unit_test(a_quantile_is_the_nearest_rank),
		cmocka_unit_test(p95_of_ten_requests_is_the_slowest),
		cmocka_unit_test(a_sketch_takes_any_value),
		cmocka_unit_test(a_full_bucket_keeps_the_quantiles),
		cmocka_unit_test(the_slowest_carry_what_the_others_lack_of_the_variance),
		cmocka_unit_test(what_lies_beyond_a_value_is_the_mean_over_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
