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
	struct err e;

	assert_int_equal(healthy_range_judge(h, 60, range_over_part(1), w, j, &e), 0);
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
		cmocka_unit_test(the_cost_has_a_bound_that_grows_with_what_healthy_windows_differ),
		cmocka_unit_test(the_newest_windows_are_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
