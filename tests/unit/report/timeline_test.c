/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/unit/analysis/kit.h"

#include "base/rng.h"
#include "report/timeline.h"

#define S INT64_C(1000000000)

static void
bins_are_seconds_until_the_range_does_not_fit(void **state)
{
	struct timeline t = { 0 };
	(void)state;

	timeline_add(&t, 100 * S + 5, 10);
	timeline_add(&t, 100 * S + S - 1, 30);
	timeline_add(&t, 103 * S, 50);
	assert_int_equal(t.from_ns, 100 * S);
	assert_int_equal(t.width_ns, S);
	assert_int_equal(t.count, 4);
	assert_int_equal(t.bins[0].n, 2);
	assert_near(t.bins[0].sum_ns, 40, 0);
	assert_int_equal(t.bins[1].n, 0);
	timeline_add(&t, -1, 7); /* before the clock's 0 */
	assert_int_equal(t.width_ns, 2 * S);
	assert_int_equal(t.from_ns, -2 * S);
	assert_int_equal(t.bins[0].n, 1);
	assert_int_equal(t.bins[51].n, 2);
	assert_int_equal(t.bins[52].n, 1);
}

/* In any order of arrival the bins are the same, no request is lost, and the bins of a part lie within
 * those of all. */
static void
order_does_not_matter(void **state)
{
	enum { N = 500 };
	(void)state;

	for (uint64_t seed = 0; seed < 50; seed++) {
		struct timeline up = { 0 }, down = { 0 }, half = { 0 };
		int64_t at[N], range = INT64_C(1) << (30 + seed % 30);
		uint64_t n = 0;
		struct rng r;

		rng_seed(&r, seed);
		for (int i = 0; i < N; i++)
			at[i] = (int64_t)(rng_unit(&r) * (double)range) - range / 3;
		for (int i = 0; i < N; i++) {
			timeline_add(&up, at[i], i);
			timeline_add(&down, at[N - 1 - i], N - 1 - i);
			if (i % 2 == 0)
				timeline_add(&half, at[i], i);
		}
		assert_memory_equal(&up, &down, sizeof up);
		assert_in_range(up.count, 1, TIMELINE_BINS);
		for (uint32_t i = 0; i < up.count; i++)
			n += up.bins[i].n;
		assert_int_equal(n, N);
		assert_true(half.width_ns <= up.width_ns);
		assert_int_equal(up.width_ns % half.width_ns, 0);
		assert_int_equal((half.from_ns - up.from_ns) % half.width_ns, 0);
	}
}

static void
the_worst_time_is_found(void **state)
{
	struct timeline t = { 0 };
	struct timeline_worst w;
	(void)state;

	assert_false(timeline_worst(&w, &t));
	for (int i = 0; i < 60; i++)
		timeline_add(&t, i * S, i >= 20 && i < 25 ? 900 : 100);
	assert_true(timeline_worst(&w, &t));
	assert_int_equal(w.from_ns, 20 * S);
	assert_int_equal(w.until_ns, 25 * S);
	assert_int_equal(w.n, 5);
	assert_near(w.mean_ns, 900, 1e-9);
	assert_near(w.other_ns, 100, 1e-9);
	t = (struct timeline){ 0 };
	for (int i = 0; i < 60; i++)
		timeline_add(&t, i * S, 100);
	assert_false(timeline_worst(&w, &t));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bins_are_seconds_until_the_range_does_not_fit),
		cmocka_unit_test(order_does_not_matter),
		cmocka_unit_test(the_worst_time_is_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
