/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analysis/watermarks.h"
#include "base/rng.h"

enum { NODES = 300, CHANGES = 20000 };

static void
nobody_is_awaited_at_first(void **state)
{
	struct watermarks w = { 0 };
	(void)state;

	assert_true(watermarks_least(&w) == INT64_MAX);
	assert_true(watermarks_room(&w, 1));
	assert_true(watermarks_least(&w) == INT64_MAX);
	watermarks_set(&w, 0, 7);
	assert_int_equal(watermarks_least(&w), 7);
	watermarks_set(&w, 0, INT64_MAX);
	assert_true(watermarks_least(&w) == INT64_MAX);
	watermarks_release(&w);
	assert_int_equal(w.leaves, 0);
}

static int64_t
least_of_all(const int64_t *all, uint32_t n)
{
	int64_t least = INT64_MAX;

	for (uint32_t i = 0; i < n; i++)
		least = all[i] < least ? all[i] : least;
	return least;
}

/* Nodes come, go (INT64_MAX), come back (INT64_MIN) and step back in time; the room grows in between. */
static void
the_least_is_that_of_a_search_through_all(void **state)
{
	int64_t all[NODES];
	struct watermarks w = { 0 };
	struct rng rng;
	uint32_t n = 0;
	(void)state;

	rng_seed(&rng, 21);
	for (int i = 0; i < CHANGES; i++) {
		if (n < NODES && rng_below(&rng, 50) == 0) {
			assert_true(watermarks_room(&w, n + 1));
			all[n++] = INT64_MAX;
		}
		if (n > 0) {
			uint32_t node = (uint32_t)rng_below(&rng, n);
			uint64_t what = rng_below(&rng, 10);

			all[node] = what == 0   ? INT64_MAX
			            : what == 1 ? INT64_MIN
			                        : (int64_t)rng_below(&rng, 1000) - 500;
			watermarks_set(&w, node, all[node]);
		}
		assert_true(watermarks_least(&w) == least_of_all(all, n));
	}
	assert_int_equal(n, NODES);
	watermarks_release(&w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nobody_is_awaited_at_first),
		cmocka_unit_test(the_least_is_that_of_a_search_through_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
