/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "analysis/done_units.h"
#include "base/rng.h"

enum { UNITS = 40, ROUNDS = 2000, TIMES = 25 };

/* What the search promises, by looking at all units: of those that are left the last one done by the
 * time, the one with the greatest number if several were; else of those done first after it. */
static uint32_t
best_of_all(const struct done_unit *units, const bool *removed, int64_t time_ns)
{
	uint32_t best = DONE_UNITS_NONE;

	for (uint32_t i = 0; i < UNITS; i++) {
		bool in_time = units[i].time_ns <= time_ns;

		if (removed[i])
			continue;
		if (best == DONE_UNITS_NONE ||
		    (in_time ? units[best].time_ns > time_ns ||
				   units[i].time_ns >= units[best].time_ns
			     : units[i].time_ns <= units[best].time_ns))
			best = i;
	}
	return best;
}

static void
after_any_removals_the_unit_is_found_that_a_look_at_all_finds(void **state)
{
	struct done_unit units[UNITS];
	struct rng r;
	(void)state;

	rng_seed(&r, 1);
	for (int round = 0; round < ROUNDS; round++) {
		bool removed[UNITS] = { false };

		for (uint32_t i = 0; i < UNITS; i++)
			units[i] = (struct done_unit){ .time_ns = (int64_t)(rng_next(&r) % TIMES),
				.unit = i };
		done_units_sort(units, UNITS);
		for (uint32_t left = UNITS; left > 0; left--) {
			int64_t time_ns = (int64_t)(rng_next(&r) % (TIMES + 2)) - 1;
			uint32_t at = done_units_find(units, UNITS, time_ns);

			assert_int_equal(at, best_of_all(units, removed, time_ns));
			if (rng_next(&r) % 2 == 0) /* any other one that is left */
				at = done_units_find(units, UNITS, (int64_t)(rng_next(&r) % TIMES));
			done_units_remove(units, at);
			removed[at] = true;
		}
		assert_int_equal(done_units_find(units, UNITS, 0), DONE_UNITS_NONE);
	}
}

static void
units_are_sorted_by_time_and_number(void **state)
{
	struct done_unit units[] = { { 5, 1, 0, 0 }, { 3, 2, 0, 0 }, { 5, 0, 0, 0 } };
	(void)state;

	done_units_sort(units, 3);
	assert_true(units[0].unit == 2 && units[1].unit == 0 && units[2].unit == 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(after_any_removals_the_unit_is_found_that_a_look_at_all_finds),
		cmocka_unit_test(units_are_sorted_by_time_and_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
