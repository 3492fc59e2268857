/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "searchspace/strategy.h"

static uint32_t
flat(uint32_t n, uint32_t k, uint32_t *picked)
{
	static struct candidate candidates[512];

	return strategy_flat(candidates, n, NULL, k, NULL, picked);
}

static void
flat_picks_the_middle(void **state)
{
	uint32_t picked[1];
	(void)state;

	for (uint32_t n = 1; n <= 512; n++) {
		assert_int_equal(flat(n, 1, picked), 1);
		assert_int_equal(picked[0], (n - 1) / 2);
	}
}

static void
flat_leaves_parts_that_differ_by_one_at_most(void **state)
{
	uint32_t picked[64];
	(void)state;

	for (uint32_t n = 1; n <= 300; n++) {
		for (uint32_t k = 1; k <= 64; k++) {
			uint32_t got = flat(n, k, picked), least = n, most = 0, begin = 0;

			assert_int_equal(got, k < n ? k : n);
			for (uint32_t i = 0; i <= got; i++) {
				uint32_t end = i < got ? picked[i] : n, part = end - begin;

				assert_true(end >= begin && end <= n);	/* ascending, no pick twice */
				least = part < least ? part : least;
				most = part > most ? part : most;
				begin = end + 1;
			}
			assert_true(most - least <= 1);
		}
	}
}

static void
flat_picks_none_only_where_there_is_none(void **state)
{
	uint32_t picked[4];
	(void)state;

	assert_int_equal(flat(0, 4, picked), 0);
	assert_int_equal(flat(4, 4, picked), 4);
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(picked[i], i);
}

/* A place in a million is found by halving in twenty looks, wherever it is. */
static void
flat_halves(void **state)
{
	(void)state;
	for (uint32_t at = 0; at < 1000000; at += 997) {
		uint32_t low = 0, n = 1000000, looks = 0, picked = 0;

		while (n > 0 && low + picked != at) {
			assert_int_equal(strategy_flat(NULL, n, NULL, 1, NULL, &picked), 1);
			looks++;
			if (low + picked < at) {
				low += picked + 1;
				n -= picked + 1;
				picked = n;
			} else if (low + picked > at) {
				n = picked;
			}
		}
		assert_true(n > 0 && looks <= 20);
	}
}

static void
strategies_are_found_by_name(void **state)
{
	(void)state;
	assert_ptr_equal(strategy_find("flat"), strategy_at(0));
	assert_string_equal(strategy_at(0)->name, "flat");
	assert_true(strlen(strategy_at(0)->help) > 10);
	assert_ptr_equal(strategy_at(0)->propose, strategy_flat);
	assert_null(strategy_find("Flat"));
	assert_null(strategy_find(""));
	for (unsigned i = 0; strategy_at(i) != NULL; i++)
		assert_ptr_equal(strategy_find(strategy_at(i)->name), strategy_at(i));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(flat_picks_the_middle),
		cmocka_unit_test(flat_leaves_parts_that_differ_by_one_at_most),
		cmocka_unit_test(flat_picks_none_only_where_there_is_none),
		cmocka_unit_test(flat_halves),
		cmocka_unit_test(strategies_are_found_by_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
