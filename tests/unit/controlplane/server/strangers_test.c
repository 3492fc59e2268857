/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which connections that have not identified themselves are closed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "controlplane/server/strangers.h"

enum { MAX = 8, SHARE = 2, DRAWS = 2000 };

static const struct admission LIMITS = { MAX, SHARE };

static struct rng
seeded(void)
{
	struct rng r;

	rng_seed(&r, 7);
	return r;
}

static void
while_there_is_room_nobody_is_closed(void **state)
{
	struct stranger all[] = { { 1, false }, { 2, false }, { 3, true } };
	struct rng r = seeded();
	(void)state;

	assert_int_equal(stranger_to_close(all, 0, 1, &LIMITS, &r), CLOSE_NONE);
	assert_int_equal(stranger_to_close(all, 3, 1, &LIMITS, &r), CLOSE_NONE);
}

static void
a_source_over_its_share_closes_its_own(void **state)
{
	struct stranger all[] = { { 1, false }, { 2, false }, { 1, false } };
	struct rng r = seeded();
	int times[3] = { 0 };
	(void)state;

	for (int i = 0; i < DRAWS; i++) {
		int at = stranger_to_close(all, 3, 1, &LIMITS, &r);

		assert_true(at == 0 || at == 2);
		times[at]++;
	}
	/* By chance, not by age. */
	assert_in_range(times[0], DRAWS * 2 / 5, DRAWS * 3 / 5);
}

static void
those_that_spoke_stay_and_the_new_one_goes(void **state)
{
	struct stranger half[] = { { 1, true }, { 1, false } },
			spoke[] = { { 1, true }, { 1, true } };
	struct rng r = seeded();
	(void)state;

	for (int i = 0; i < DRAWS; i++) {
		assert_int_equal(stranger_to_close(half, 2, 1, &LIMITS, &r), 1);
		assert_int_equal(stranger_to_close(spoke, 2, 1, &LIMITS, &r), CLOSE_NEW);
	}
}

/* Four sources that speak fill all places; each further source gets one of theirs. */
static void
a_new_source_gets_a_place_of_the_source_with_the_most(void **state)
{
	struct stranger all[MAX];
	struct rng r = seeded();
	(void)state;

	for (int i = 0; i < MAX; i++)
		all[i] = (struct stranger){ (unsigned)(1 + i / SHARE), true };
	all[MAX - 1].cell = 9;
	for (int i = 0; i < DRAWS; i++) {
		int at = stranger_to_close(all, MAX, 10, &LIMITS, &r);

		/* not one of the two that are alone */
		assert_in_range(at, 0, MAX - 3);
	}
}

static void
a_source_that_fails_too_often_is_penalised_alone_and_for_a_while(void **state)
{
	struct sources s;
	struct mono now = { 1 };
	(void)state;

	sources_init(&s, now);
	for (int i = 0; i < FAILURES_AT_ONCE; i++) {
		assert_false(source_penalised(&s, 5, now));
		source_failed(&s, 5, now);
	}
	assert_true(source_penalised(&s, 5, now));
	assert_false(source_penalised(&s, 6, now));
	now.ns += 2 * INT64_C(1000000000) / FAILURES_PER_S;
	assert_false(source_penalised(&s, 5, now));
	source_failed(&s, 5, now);
	source_failed(&s, 5, now);
	assert_true(source_penalised(&s, 5, now));
}

static void
the_cell_of_a_source_depends_on_the_secret(void **state)
{
	unsigned first = source_cell(1, "192.0.2.7"), other = 0;
	(void)state;

	assert_int_equal(source_cell(1, "192.0.2.7"), first);
	for (uint64_t secret = 2; secret < 12; secret++)
		other += source_cell(secret, "192.0.2.7") != first;
	assert_true(other > 0 && first < SOURCE_CELLS);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(while_there_is_room_nobody_is_closed),
		cmocka_unit_test(a_source_over_its_share_closes_its_own),
		cmocka_unit_test(those_that_spoke_stay_and_the_new_one_goes),
		cmocka_unit_test(a_new_source_gets_a_place_of_the_source_with_the_most),
		cmocka_unit_test(a_source_that_fails_too_often_is_penalised_alone_and_for_a_while),
		cmocka_unit_test(the_cell_of_a_source_depends_on_the_secret),
	};

	return cmocka_run_group_tests_name("strangers", tests, NULL, NULL);
}
