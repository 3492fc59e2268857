/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "controlplane/search/explore.h"

/* Each step decides without regard to the later ones. */
static void
the_earliest_step_decides(void **state)
{
	(void)state;

	for (unsigned bits = 0; bits < 1u << 5; bits++) {
		const struct explore_facts f = { .in_question = bits & 1,
			.done = bits >> 1 & 1,
			.seen = bits >> 2 & 1,
			.affordable = bits >> 3 & 1,
			.enabled = bits >> 4 & 1 };
		enum explore_choice choice = explore_choose(&f);

		if (!f.in_question)
			assert_int_equal(choice, EXPLORE_SKIP);
		else if (f.done || f.seen)
			assert_int_equal(choice, EXPLORE_PASS);
		else if (f.affordable)
			assert_int_equal(choice, EXPLORE_ENABLE);
		else
			assert_int_equal(choice, f.enabled ? EXPLORE_FULL : EXPLORE_LEAVE_OUT);
	}
}

/* Carried out over a list, cycle after cycle: each tracepoint within the budget is enabled once,
 * each that exceeds the budget even alone is skipped once, and the cycles end. */
static void
every_tracepoint_has_its_turn(void **state)
{
	enum { N = 12, ROOM = 3 };
	uint32_t done = 0, enabled_once[N] = { 0 }, left_out = 0, cycles = 0;
	(void)state;

	while (done < N) {
		uint32_t enabled = 0, before = done;

		for (uint32_t i = 0; i < N; i++) {
			const struct explore_facts f = { .in_question = true,
				.done = i < before,
				.seen = i % 5 == 4,
				.affordable = i % 4 != 3 && enabled < ROOM,
				.enabled = enabled };
			enum explore_choice choice = explore_choose(&f);

			if (choice == EXPLORE_FULL)
				break;
			done = i + 1 > done ? i + 1 : done;
			if (choice == EXPLORE_ENABLE) {
				enabled++;
				enabled_once[i]++;
			}
			left_out += choice == EXPLORE_LEAVE_OUT;
		}
		assert_true(done > before);
		assert_true(++cycles <= N);
	}
	for (uint32_t i = 0; i < N; i++)
		assert_int_equal(enabled_once[i], i % 5 != 4 && i % 4 != 3);
	assert_int_equal(left_out, 3);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_earliest_step_decides),
		cmocka_unit_test(every_tracepoint_has_its_turn),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
