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
#include "controlplane/alerts/window_times.h"

static void
add(struct window_times *t, int64_t begin_ns, int64_t took_ns)
{
	struct err e;

	assert_int_equal(window_times_add(t, begin_ns, took_ns, &e), 0);
}

static void
what_all_wait_alike_is_no_excess(void **state)
{
	struct window_times t = { 0 };
	double times[5], excess[5];
	(void)state;

	/* They wait longer and longer, by 10 each; the third one is slow by itself, by 100. They come in another order. */
	add(&t, 4000, 40);
	add(&t, 1000, 10);
	add(&t, 3000, 130);
	add(&t, 5000, 50);
	add(&t, 2000, 20);
	window_times_sorted(&t, times, excess);
	assert_memory_equal(times, ((double[]){ 10, 20, 40, 50, 130 }), sizeof times);
	assert_memory_equal(excess, ((double[]){ -50, -50, 100 }), 3 * sizeof *excess);
	window_times_release(&t);
}

static void
few_requests_have_no_excess(void **state)
{
	struct window_times t = { 0 };
	double times[2] = { 0 }, excess[2] = { -1, -1 };
	(void)state;

	window_times_sorted(&t, times, excess);
	add(&t, 2, 7);
	add(&t, 1, 9);
	window_times_sorted(&t, times, excess);
	assert_true(times[0] == 7 && times[1] == 9 && excess[0] == -1);
	window_times_clear(&t);
	assert_true(t.n == 0 && t.requests == 0 && t.sum_ns == 0 && t.items != NULL);
	window_times_release(&t);
}

/* However many there are, they need no more memory, and those that are kept are spread evenly. */
static void
many_requests_are_thinned_evenly(void **state)
{
	static double times[WINDOW_TIMES_MAX], excess[WINDOW_TIMES_MAX];
	struct window_times t = { 0 };
	enum { MANY = 100000 };
	(void)state;

	for (int i = 0; i < MANY; i++) {
		add(&t, i, i);
		assert_true(t.n <= WINDOW_TIMES_MAX && t.cap <= WINDOW_TIMES_MAX);
	}
	assert_int_equal(t.requests, MANY);
	assert_true(t.sum_ns == (double)MANY * (MANY - 1) / 2);
	assert_int_equal(t.n, (MANY + (1 << t.shift) - 1) >> t.shift);
	assert_true(t.n > WINDOW_TIMES_MAX / 2);
	window_times_sorted(&t, times, excess);
	for (uint32_t i = 0; i < t.n; i++)
		assert_true(times[i] == (double)(i << t.shift));
	window_times_release(&t);
}

/* A queue in which each one waits long, and about as long as its neighbours: the delay of a tenth is in the excesses, hardly in the times. */
static void
a_slow_tenth_shows_in_the_excesses_at_any_load(void **state)
{
	static double times[2000], excess[2000], p95[2];
	(void)state;

	for (int slow = 0; slow < 2; slow++) {
		struct window_times t = { 0 };
		double wait = 500;
		struct rng r;

		rng_seed(&r, 8);
		for (int i = 0; i < 2000; i++) {
			wait = fabs(wait + 10 * rng_normal(&r));
			add(&t, i, (int64_t)wait + (slow && i % 10 == 3 ? 80 : 0));
		}
		window_times_sorted(&t, times, excess);
		p95[slow] = excess[1900];
		window_times_release(&t);
	}
	assert_true(p95[0] < 25 && p95[1] > 60);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_all_wait_alike_is_no_excess),
		cmocka_unit_test(few_requests_have_no_excess),
		cmocka_unit_test(many_requests_are_thinned_evenly),
		cmocka_unit_test(a_slow_tenth_shows_in_the_excesses_at_any_load),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
