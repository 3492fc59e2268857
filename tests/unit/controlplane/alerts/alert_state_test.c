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
#include "controlplane/alerts/alert_state.h"

#define I RANGE_INSIDE
#define O RANGE_OUTSIDE
#define U RANGE_RATE_UNKNOWN

struct steps {
	struct alert_state s;
	int64_t at;
	uint64_t left; /* windows that became healthy */
	double cost;
	uint32_t
	    over; /* values over their limits in windows outside; 0: one value, the same in all */
	bool excluded;
};

static enum alert_change
next(struct steps *x, enum range_answer answer)
{
	struct range_judgement j = { .answer = answer,
		.over = answer != RANGE_OUTSIDE ? 0
		        : x->over != 0          ? x->over
		                                : 4,
		.cost_share_most = x->cost };
	struct latency_window w = { .requests = 500, .begin = { ++x->at } }, leaves;
	enum alert_change c = alert_state_next(&x->s, &w, &j, x->excluded, 0.05, &leaves);

	x->left += leaves.requests > 0;
	return c;
}

static void
four_of_five_windows_begin_an_alert(void **state)
{
	struct steps x = { .cost = 0.2 };
	(void)state;

	for (int i = 0; i < 20; i++)
		assert_int_equal(next(&x, I), ALERT_STAYS);
	assert_int_equal(x.left, 15);
	assert_int_equal(next(&x, O), ALERT_STAYS);
	assert_int_equal(next(&x, O), ALERT_STAYS);
	assert_int_equal(next(&x, I), ALERT_STAYS);
	assert_int_equal(next(&x, O), ALERT_STAYS);
	assert_int_equal(next(&x, O), ALERT_BEGINS);
	assert_true(x.s.firing);
	assert_int_equal(x.s.since.ns, 21);
}

/* By chance, values are over their limits one after the other; by a fault the same ones. */
static void
only_the_same_value_in_four_of_five_windows_begins_an_alert(void **state)
{
	struct steps x = { .cost = 0.2 };
	(void)state;

	for (unsigned i = 0; i < 40; i++) {
		x.over = 1U << i % RANGE_VALUES | 1U << (i + 1) % RANGE_VALUES;
		assert_int_equal(next(&x, O), ALERT_STAYS);
	}
	for (unsigned i = 0; i < ALERT_DECIDES; i++) {
		x.over = 1U << 9 | 1U << i;
		assert_int_equal(next(&x, O), i + 1 < ALERT_DECIDES ? ALERT_STAYS : ALERT_BEGINS);
	}
	/* The next ones alternate, and none of them is over its limit in more than one of five: it ends. */
	for (unsigned i = 0; i < ALERT_WINDOWS - 1; i++) {
		x.over = 1U << (4 + i);
		assert_int_equal(next(&x, O), i + 2 < ALERT_WINDOWS ? ALERT_STAYS : ALERT_ENDS);
	}
}

static void
an_alert_that_costs_too_little_does_not_begin(void **state)
{
	struct steps x = { .cost = 0.04 };
	(void)state;

	for (int i = 0; i < 20; i++)
		assert_int_equal(next(&x, O), ALERT_STAYS);
}

static void
windows_of_an_alert_never_become_healthy(void **state)
{
	struct steps x = { .cost = 0.2 };
	uint64_t before;
	(void)state;

	for (int i = 0; i < 10; i++)
		next(&x, I);
	for (int i = 0; i < 10; i++)
		next(&x, O);
	before = x.left;
	for (int i = 0; i < 3; i++)
		assert_int_equal(next(&x, I), ALERT_STAYS);
	assert_int_equal(next(&x, I), ALERT_ENDS);
	for (int i = 0; i < 5; i++)
		next(&x, I);
	assert_int_equal(x.left, before); /* the five that left were the alert's */
	next(&x, I);
	assert_int_equal(x.left, before + 1);
}

/* Some windows of a fault have a rate that is not known yet: they are the fault's as well. */
static void
windows_at_an_unknown_rate_before_an_alert_never_become_healthy(void **state)
{
	struct steps x = { .cost = 0.2 };
	uint64_t before;
	(void)state;

	for (int i = 0; i < 10; i++)
		next(&x, I);
	before = x.left;
	for (int i = 0; i < 3; i++) {
		assert_int_equal(next(&x, O), ALERT_STAYS);
		assert_int_equal(next(&x, U), ALERT_STAYS);
		assert_int_equal(next(&x, U), ALERT_STAYS);
	}
	assert_int_equal(x.left, before + 3); /* of the five healthy ones that waited */
	assert_int_equal(next(&x, O), ALERT_BEGINS);
	assert_int_equal(x.left, before + 4);
	for (int i = 0; i < 30; i++)
		next(&x, i % 2 ? O : U);
	assert_int_equal(x.left, before + 4);
}

static void
a_rate_that_stays_is_learned(void **state)
{
	struct steps x = { .cost = 0.2 };
	(void)state;

	for (int i = 0; i < ALERT_WAITING_MAX; i++)
		next(&x, U);
	assert_int_equal(x.left, 0);
	for (int i = 0; i < 20; i++)
		next(&x, U);
	assert_int_equal(x.left, 20);
}

static void
windows_of_a_diagnosis_never_become_healthy(void **state)
{
	struct steps x = { .excluded = true };
	(void)state;

	for (int i = 0; i < 20; i++)
		next(&x, I);
	assert_int_equal(x.left, 0);
}

static void
an_alert_ends_when_nothing_can_be_judged_any_more(void **state)
{
	struct steps x = { .cost = 0.2 };
	(void)state;

	for (int i = 0; i < 4; i++)
		next(&x, O);
	assert_true(x.s.firing);
	for (int i = 0; i < 4; i++)
		assert_int_equal(next(&x, U), ALERT_STAYS);
	assert_int_equal(next(&x, U), ALERT_ENDS);
	assert_int_equal(next(&x, U), ALERT_STAYS);
}

/* In any order of windows: begin and end alternate, and no more than one window leaves for each that comes. */
static void
begins_and_ends_alternate_in_any_order(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 200; seed++) {
		struct steps x = { .cost = 0.2 };
		bool firing = false;
		struct rng r;

		rng_seed(&r, seed);
		for (int i = 0; i < 500; i++) {
			enum alert_change c = next(
			    &x, (enum range_answer[]){ I, O, O, U }[rng_below(&r, 4)]);

			assert_false(c == ALERT_BEGINS && firing);
			assert_false(c == ALERT_ENDS && !firing);
			firing = c == ALERT_STAYS ? firing : c == ALERT_BEGINS;
			assert_int_equal(firing, x.s.firing);
			assert_true(x.left <= (uint64_t)x.at);
		}
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(four_of_five_windows_begin_an_alert),
		cmocka_unit_test(only_the_same_value_in_four_of_five_windows_begins_an_alert),
		cmocka_unit_test(an_alert_that_costs_too_little_does_not_begin),
		cmocka_unit_test(windows_of_an_alert_never_become_healthy),
		cmocka_unit_test(windows_at_an_unknown_rate_before_an_alert_never_become_healthy),
		cmocka_unit_test(a_rate_that_stays_is_learned),
		cmocka_unit_test(windows_of_a_diagnosis_never_become_healthy),
		cmocka_unit_test(an_alert_ends_when_nothing_can_be_judged_any_more),
		cmocka_unit_test(begins_and_ends_alternate_in_any_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
