/* SPDX-License-Identifier: GPL-3.0-or-later */

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/rng.h"
#include "controlplane/alerts/healthy_range.h"

#define MS 1e6
#define MINUTE_NS INT64_C(60000000000)

/* A window whose quantiles are those of times around `ms`, spread by a few percent at random. */
static struct latency_window
window_of(struct rng *r, double per_second, double ms)
{
	struct latency_window w = { .requests = 600, .per_second = per_second, .mean_ns = ms * MS };
	double noise = 0.05 * rng_normal(r);

	for (unsigned i = 0; i < RANGE_VALUES; i++)
		w.log_ns[i] = log(ms * MS) + (range_quantiles[i] - 0.5) + noise +
		              0.01 * rng_normal(r);
	return w;
}

/* 1,000 healthy windows: at 10 to 100 requests a second, times grow with the rate from 11 to 20 ms. */
static void
learn(struct healthy_range *h, struct rng *r)
{
	struct err e;

	rng_seed(r, 7);
	for (int i = 0; i < 1000; i++) {
		double rate = 10 + 90 * rng_unit(r);
		struct latency_window w = window_of(r, rate, 10 + rate / 10);

		assert_int_equal(healthy_range_add(h, &w, &e), 0);
	}
}

static enum range_answer
judged(const struct healthy_range *h, const struct latency_window *w, struct range_judgement *j)
{
	const struct range_rules rules = { 60, range_over_part(1), MINUTE_NS };
	struct err e;

	assert_int_equal(healthy_range_judge(h, &rules, w, j, &e), 0);
	return j->answer;
}

static void
few_requests_and_little_learning_judge_nothing(void **state)
{
	struct healthy_range h = { 0 };
	struct range_judgement j;
	struct latency_window w;
	struct rng r;
	struct err e;
	(void)state;

	rng_seed(&r, 1);
	w = window_of(&r, 10, 10);
	for (int i = 0; i < 59; i++)
		assert_int_equal(healthy_range_add(&h, &w, &e), 0);
	assert_int_equal(judged(&h, &w, &j), RANGE_LEARNING);
	w.requests = RANGE_REQUESTS_MIN - 1;
	assert_int_equal(judged(&h, &w, &j), RANGE_FEW_REQUESTS);
	healthy_range_release(&h);
}

static void
what_is_usual_at_a_high_rate_is_outside_at_a_low_one(void **state)
{
	struct healthy_range h = { 0 };
	struct range_judgement j;
	struct latency_window w;
	struct rng r;
	(void)state;

	learn(&h, &r);
	w = window_of(&r, 90, 19);
	assert_int_equal(judged(&h, &w, &j), RANGE_INSIDE);
	w = window_of(&r, 15, 19.5);
	assert_int_equal(judged(&h, &w, &j), RANGE_OUTSIDE);
	assert_true(j.cost_share > 0.3 && j.cost_share < 0.5);
	assert_true(j.usual_ns < j.limit_ns && j.limit_ns < j.now_ns);
	assert_true(fabs(j.usual_mean_ns / MS - 11.5) < 1);
	healthy_range_release(&h);
}

static void
a_rate_that_was_not_learned_is_not_judged(void **state)
{
	struct healthy_range h = { 0 };
	struct range_judgement j;
	struct latency_window w;
	struct rng r;
	(void)state;

	learn(&h, &r);
	w = window_of(&r, 130, 60);
	assert_int_equal(judged(&h, &w, &j), RANGE_RATE_UNKNOWN);
	w = window_of(&r, 1, 60); /* a lower load does not excuse it */
	assert_int_equal(judged(&h, &w, &j), RANGE_OUTSIDE);
	healthy_range_release(&h);
}

/* Right after learning, with the fewest windows that judge: a twelfth of them is all that has to have a higher rate. */
static void
few_healthy_windows_judge_the_rates_that_they_have(void **state)
{
	struct healthy_range h = { 0 };
	struct range_judgement j;
	struct latency_window w;
	struct rng r;
	struct err e;
	(void)state;

	rng_seed(&r, 4);
	for (int i = 0; i < RANGE_WINDOWS_MIN; i++) {
		w = window_of(&r, 100 + i, 10 + i / 10.0);
		assert_int_equal(healthy_range_add(&h, &w, &e), 0);
	}
	w = window_of(&r, 154.5, 15.5);
	assert_int_equal(judged(&h, &w, &j), RANGE_INSIDE);
	w = window_of(&r, 154.5, 25);
	assert_int_equal(judged(&h, &w, &j), RANGE_OUTSIDE);
	assert_true(j.cost_share > 0.3);
	w = window_of(&r, 155.5, 25); /* four windows have a higher rate */
	assert_int_equal(judged(&h, &w, &j), RANGE_RATE_UNKNOWN);
	healthy_range_release(&h);
}

/* Like windows reach far where there are few; what is slow for this rate is not hidden by those with a higher one. */
static void
like_windows_are_moved_to_the_same_rate(void **state)
{
	struct healthy_range h = { 0 };
	struct range_judgement j;
	struct latency_window w;
	struct rng r;
	(void)state;

	learn(&h, &r);
	w = window_of(&r, 50, 15); /* at this rate; at 42 to 58, which are compared, 14 to 16 */
	for (unsigned q = 0; q < RANGE_VALUES; q++)
		w.log_ns[q] = log(15 * MS) + (range_quantiles[q] - 0.5);
	assert_int_equal(judged(&h, &w, &j), RANGE_INSIDE);
	assert_true(fabs(j.usual_mean_ns / MS - 15) < 0.2);
	assert_true(j.limit_ns / j.usual_ns < exp(0.05 * 3.5));
	healthy_range_release(&h);
}

/* A tenth of the requests is slower, by less than the times of whole windows vary with what requests wait for each other. */
static void
a_slow_tenth_stands_out_by_its_excess(void **state)
{
	struct healthy_range h = { 0 };
	struct range_judgement j;
	struct latency_window w;
	struct rng r;
	struct err e;
	(void)state;

	rng_seed(&r, 3);
	for (int i = 0; i < 1000; i++) {
		w = window_of(&r, 50, 10 * exp(0.5 * rng_normal(&r)));
		for (unsigned q = RANGE_QUANTILES; q < RANGE_VALUES; q++)
			w.log_ns[q] = log(5 * MS) + 0.05 * rng_normal(&r);
		assert_int_equal(healthy_range_add(&h, &w, &e), 0);
	}
	for (unsigned q = 0; q < RANGE_VALUES; q++)
		w.log_ns[q] = log((q < RANGE_QUANTILES ? 10 : 5) * MS);
	assert_int_equal(judged(&h, &w, &j), RANGE_INSIDE);
	assert_int_equal(j.over, 0);
	for (unsigned q = 5; q < RANGE_QUANTILES; q++)
		w.log_ns[q] = log(13 * MS);
	assert_int_equal(judged(&h, &w, &j), RANGE_INSIDE);
	for (unsigned q = RANGE_QUANTILES + 1; q < RANGE_VALUES; q++)
		w.log_ns[q] = log(8 * MS);
	assert_int_equal(judged(&h, &w, &j), RANGE_OUTSIDE);
	assert_true(j.of_excess && j.quantile >= 0.9);
	assert_int_equal(j.over, ((1U << RANGE_VALUES) - 1) ^ ((1U << (RANGE_QUANTILES + 1)) - 1));
	assert_true(fabs(j.now_ns - 8 * MS) < 1 && fabs(j.usual_ns - 5 * MS) < 0.2 * MS);
	healthy_range_release(&h);
}

/* When the i-th of windows in succession began: a window ends up to 20 ms late. */
static int64_t
began(int64_t i)
{
	return i * (MINUTE_NS + 10000000) + i % 2 * 10000000;
}

/* 2,000 windows, one a minute, whose rate follows a cycle, and whose values stray together by 0.1 around 10 ms: `keeps` is the part of it that the next window
 * keeps. The last `last_n` of them stray by `last`. */
static void
learn_straying(struct healthy_range *h, double keeps, unsigned last_n, double last)
{
	struct rng r;
	struct err e;
	double strays = 0;

	rng_seed(&r, 5);
	for (unsigned i = 0; i < 2000; i++) {
		double rate = 50 * exp(0.5 * cos(2 * M_PI * (i - 1999.0) / 500));
		struct latency_window w = { .begin = { began(i) },
			.requests = 600,
			.per_second = rate,
			.mean_ns = 10 * MS };

		strays = keeps * strays + 0.1 * sqrt(1 - keeps * keeps) * rng_normal(&r);
		for (unsigned q = 0; q < RANGE_VALUES; q++)
			w.log_ns[q] = log(10 * MS) + 0.02 * rng_normal(&r) +
			              (i + last_n >= 2000 ? last : strays);
		assert_int_equal(healthy_range_add(h, &w, &e), 0);
	}
}

/* What is usual and the limit, as logarithms of their ratios to 10 ms, at the rate that the last windows had, so many windows after them. */
struct expected {
	double usual, limit;
};

static struct expected
expected_after(double keeps, unsigned last_n, double last, int64_t windows_later)
{
	struct healthy_range h = { 0 };
	struct range_judgement j;
	struct latency_window w = { .begin = { began(1999 + windows_later) },
		.requests = 600,
		.per_second = 82,
		.mean_ns = 10 * MS };

	learn_straying(&h, keeps, last_n, last);
	for (unsigned q = 0; q < RANGE_VALUES; q++)
		w.log_ns[q] = log(10 * MS);
	judged(&h, &w, &j);
	healthy_range_release(&h);
	return (struct expected){ log(j.usual_ns / (10 * MS)), log(j.limit_ns / (10 * MS)) };
}

static double
limit_after(double keeps, unsigned last_n, double last)
{
	return expected_after(keeps, last_n, last, RANGE_RECENT_AFTER).limit;
}

/* 2.3 standard deviations are 1 in 100; four windows of which each keeps 0.8 of the one before stray 1.75 times as far together. */
static void
limits_are_further_away_where_windows_depend_on_each_other(void **state)
{
	double independent = limit_after(0, 0, 0), dependent = limit_after(0.8, 0, 0);
	(void)state;

	assert_true(independent > 0.18 && independent < 0.3);
	assert_true(dependent > 1.3 * independent && dependent < 2.2 * independent);
}

/* Three windows in ten are slower by `by`, whichever they are: their mean is above their median, but there is no drift, and none depends on another. */
static void
skewed_values_without_a_drift_keep_their_limit(void **state)
{
	const double by = 0.5;
	struct healthy_range h = { 0 };
	struct range_judgement j;
	struct latency_window w = { .requests = 600, .per_second = 82, .mean_ns = 10 * MS };
	struct rng r;
	struct err e;
	(void)state;

	rng_seed(&r, 11);
	for (unsigned i = 0; i < 2000; i++) {
		w.begin.ns = began(i);
		w.per_second = 50 * exp(0.5 * cos(2 * M_PI * (i - 1999.0) / 500));
		for (unsigned q = 0; q < RANGE_VALUES; q++)
			w.log_ns[q] = log(10 * MS) + (rng_unit(&r) < 0.3 ? by : 0);
		assert_int_equal(healthy_range_add(&h, &w, &e), 0);
	}
	w.begin.ns = began(1999 + RANGE_RECENT_AFTER);
	w.per_second = 82;
	for (unsigned q = 0; q < RANGE_VALUES; q++)
		w.log_ns[q] = log(10 * MS);
	judged(&h, &w, &j);
	assert_true(fabs(log(j.limit_ns / (10 * MS)) / by - 1) < 0.12);
	w.log_ns[0] = log(10 * MS) + 1.2 * by;
	assert_int_equal(judged(&h, &w, &j), RANGE_OUTSIDE);
	healthy_range_release(&h);
}

static void
a_drift_is_expected_to_go_on(void **state)
{
	double low = limit_after(0.98, RANGE_RECENT, -0.15),
	       high = limit_after(0.98, RANGE_RECENT, 0.15);
	(void)state;

	assert_true(high - low > 0.15);  /* of 0.3 */
	assert_true(high < 0.15 + 0.35); /* a step of half as much again is seen on top of it */
}

/* After a night without requests, an alert of hours or a restart, and with a wall clock that was set back. */
static void
a_drift_of_long_ago_is_not_expected(void **state)
{
	const int64_t later[] = { RANGE_RECENT + RANGE_RECENT_AFTER, 480, 7 * 1440, -2100 };
	struct expected low_next = expected_after(0.98, RANGE_RECENT, -0.15, RANGE_RECENT_AFTER),
			high_next = expected_after(0.98, RANGE_RECENT, 0.15, RANGE_RECENT_AFTER);
	(void)state;

	for (unsigned i = 0; i < sizeof later / sizeof later[0]; i++) {
		struct expected low = expected_after(0.98, RANGE_RECENT, -0.15, later[i]),
				high = expected_after(0.98, RANGE_RECENT, 0.15, later[i]);

		assert_true(fabs(high.usual) < 0.07 && fabs(low.usual) < 0.07);
		assert_true(high.limit < high_next.limit - 0.03);
		assert_true(low.limit > low_next.limit + 0.03);
	}
}

/* A drift that made requests faster lowers the limit, perhaps below their median: what is usual is lower, too. */
static void
what_is_usual_follows_a_drift_and_is_within_the_limit(void **state)
{
	for (int i = -3; i <= 3; i++) {
		double last = 0.08 * i;
		struct expected x = expected_after(0.98, RANGE_RECENT, last, RANGE_RECENT_AFTER);

		assert_true(x.usual < x.limit);
		assert_true(fabs(x.usual - last) < 0.06);
	}
	(void)state;
}

/* Healthy windows differ: what a slow one takes more than usual may be chance, and what it takes less than usual may hide a fault. */
static void
the_cost_has_a_bound_that_grows_with_what_healthy_windows_differ(void **state)
{
	struct healthy_range h = { 0 };
	struct range_judgement j;
	struct latency_window w;
	struct rng r;
	struct err e;
	(void)state;

	rng_seed(&r, 3);
	for (int i = 0; i < 1000; i++) {
		w = window_of(&r, 50, 10 * exp(0.5 * rng_normal(&r)));
		assert_int_equal(healthy_range_add(&h, &w, &e), 0);
	}
	w = window_of(&r, 50, 10);
	judged(&h, &w, &j);
	assert_true(
	    fabs(j.cost_share) < 0.1); /* the normal distribution's lower tenth is 1.28 sd away */
	assert_true(fabs(j.cost_share_most - (1 - exp(-1.28 * 0.5))) < 0.06);
	healthy_range_release(&h);
}

static void
the_newest_windows_are_kept(void **state)
{
	struct healthy_range h = { 0 };
	struct latency_window w;
	struct rng r;
	struct err e;
	(void)state;

	rng_seed(&r, 1);
	for (int i = 0; i < RANGE_WINDOWS_MAX + 10; i++) {
		w = window_of(&r, 10, 10);
		w.begin.ns = i;
		assert_int_equal(healthy_range_add(&h, &w, &e), 0);
	}
	assert_int_equal(h.n, RANGE_WINDOWS_MAX);
	for (uint32_t i = 0; i < h.n; i++)
		assert_true(h.windows[i].begin.ns >= 10);
	healthy_range_release(&h);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(few_requests_and_little_learning_judge_nothing),
		cmocka_unit_test(what_is_usual_at_a_high_rate_is_outside_at_a_low_one),
		cmocka_unit_test(a_rate_that_was_not_learned_is_not_judged),
		cmocka_unit_test(few_healthy_windows_judge_the_rates_that_they_have),
		cmocka_unit_test(like_windows_are_moved_to_the_same_rate),
		cmocka_unit_test(a_slow_tenth_stands_out_by_its_excess),
		cmocka_unit_test(limits_are_further_away_where_windows_depend_on_each_other),
		cmocka_unit_test(skewed_values_without_a_drift_keep_their_limit),
		cmocka_unit_test(a_drift_is_expected_to_go_on),
		cmocka_unit_test(a_drift_of_long_ago_is_not_expected),
		cmocka_unit_test(what_is_usual_follows_a_drift_and_is_within_the_limit),
		cmocka_unit_test(the_cost_has_a_bound_that_grows_with_what_healthy_windows_differ),
		cmocka_unit_test(the_newest_windows_are_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
