/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/rng.h"
#include "searchspace/budget.h"

static const struct budget_options ONE_PERCENT = {
	.share = 0.01, .record_ns = 150, .rejected_ns = 0, .probed_min = 0.01, .slack = 1.5
};

#define near(a, b) assert_true(fabs((a) - (b)) <= 1e-6 * (1 + fabs((double)(b))))

static void
types_within_the_budget_are_probed_whole(void **state)
{
	struct budget *b = budget_new(&ONE_PERCENT);
	(void)state;

	near(budget_probed(b, 1), 1);
	assert_int_equal(budget_predict(b, 1, 7, 0, 1000, NULL), 0); /* 150 us of 10 ms a second */
	near(budget_probed(b, 1), 1);
	near(budget_spent(b, 0), 0.00015);
	near(budget_spent(b, 5), 0);
	budget_free(b);
}

static void
types_over_the_budget_are_probed_less(void **state)
{
	struct budget *b = budget_new(&ONE_PERCENT);
	(void)state;

	budget_predict(b, 1, 7, 0, 200000, NULL); /* 30 ms a second */
	near(budget_probed(b, 1), 1 / 3.0);
	near(budget_spent(b, 0), 0.01);
	budget_node(b, 0, 300, 0, NULL); /* a slower machine than assumed */
	near(budget_probed(b, 1), 1 / 6.0);
	budget_node(
	    /* unknown again: the assumed cost, and a share of up to twice as much */
	    b, 0, 0, 0, NULL);
	near(budget_probed(b, 1), 1 / 3.0);
	budget_free(b);
}

/* At 0.2, records taken and records rejected cost 10 ms: 100,000 x (40 + 0.2 x 300). */
static void
rejected_records_cost_too(void **state)
{
	struct budget *b = budget_new(&ONE_PERCENT);
	(void)state;

	budget_node(b, 3, 340, 40, NULL);
	budget_predict(b, 1, 7, 3, 100000, NULL);
	near(budget_probed(b, 1), 0.2);
	near(budget_spent(b, 3), 0.01);
	assert_true(budget_fits(b, 1, 8, 3, 100000));
	/* 240,000 x 43 ns: over the budget even at 0.01 */
	assert_false(budget_fits(b, 1, 8, 3, 140000));
	assert_true(budget_fits(b, 1, 7, 3, 140000)); /* replaces the prediction */
	assert_true(budget_fits(b, 1, 8, 4, 140000));
	budget_predict(b, 1, 8, 3, 160000, NULL); /* the filters alone cost 10.4 ms */
	near(budget_probed(b, 1), 0);
	budget_free(b);
}

static void
measured_rates_replace_predicted_ones(void **state)
{
	struct budget *b = budget_new(&ONE_PERCENT);
	(void)state;

	budget_predict(b, 1, 7, 0, 100, NULL);
	budget_measured(b, 1, 7, 0, 50000, 0.5, NULL); /* 100,000 if all requests were probed */
	near(budget_probed(b, 1), 2 / 3.0);
	budget_predict(b, 1, 7, 0, 100, NULL);
	near(budget_probed(b, 1), 2 / 3.0);
	budget_measured(b, 1, 7, 0, 0, 0, NULL); /* no request was probed: no information */
	near(budget_probed(b, 1), 2 / 3.0);
	budget_measured(b, 1, 7, 0, 200000, 1, NULL); /* (25,000 + 200,000) / (0.25 + 1) */
	near(budget_probed(b, 1), 1e7 / 150 / 180000);
	budget_drop(b, 1, 7);
	near(budget_probed(b, 1), 1);
	near(budget_spent(b, 0), 0);
	budget_free(b);
}

/*
 * Two types have equal shares on the node that they have in common; a type that does not use this
 * node may have more.
 */
static void
types_share_a_node_fairly(void **state)
{
	struct budget *b = budget_new(&ONE_PERCENT);
	(void)state;

	budget_predict(b, 1, 1, 0, 100000, NULL);
	budget_predict(b, 2, 1, 0, 300000, NULL);
	budget_predict(b, 2, 1, 1, 10, NULL);
	budget_predict(b, 3, 1, 1, 100000, NULL);
	near(budget_probed(b, 1), 1 / 6.0);
	near(budget_probed(b, 2), 1 / 6.0);
	near(budget_probed(b, 3), (1e7 - 250) / 1.5e7);
	near(budget_spent(b, 0), 0.01);
	near(budget_spent(b, 1), 0.01);
	budget_drop(b, 2, 1);
	near(budget_probed(b, 1), 2 / 3.0);
	near(budget_probed(b, 3), (1e7 - 250) / 1.5e7); /* a small increase is not worth a change */
	near(budget_probed(b, 2), 1);
	budget_free(b);
}

/* The rate varies by 10 %: the share decreases at the first maxima and then stays. */
static void
shares_are_stable_near_the_threshold(void **state)
{
	struct budget *b = budget_new(&ONE_PERCENT);
	struct rng r;
	double last = 1;
	int changes = 0;
	(void)state;

	rng_seed(&r, 11);
	for (int i = 0; i < 2000; i++) {
		double now = budget_probed(b, 1), rate = (1e7 / 150) * (0.95 + 0.1 * rng_unit(&r));

		budget_measured(b, 1, 7, 0, rate * now, now, NULL);
		changes += budget_probed(b, 1) != last;
		assert_true(i == 0 || budget_probed(b, 1) <= last);
		assert_true(budget_spent(b, 0) <= 0.01 * (1 + 1e-9));
		last = budget_probed(b, 1);
	}
	assert_true(changes >= 1 && changes < 30);
	assert_true(last > 0.9);
	for (int i = 0; i < 10; i++) /* half the load: the share could be twice as much */
		budget_measured(b, 1, 7, 0, 1e7 / 300 * last, last, NULL);
	near(budget_probed(b, 1), 1);
	budget_free(b);
}

enum { TYPES = 5, LABELS = 12, NODES = 4 };

struct truth {
	double rate[TYPES][NODES][LABELS], record_ns[NODES], rejected_ns[NODES];
};

static double
spent(struct budget *b, const struct truth *t, int node, double times)
{
	double sum_ns = 0;

	for (int i = 0; i < TYPES; i++)
		for (int l = 0; l < LABELS; l++)
			sum_ns += t->rate[i][node][l] *
			          (t->rejected_ns[node] +
				      times * budget_probed(b, (uint32_t)i) *
					  (t->record_ns[node] - t->rejected_ns[node]));
	return sum_ns / 1e9;
}

/*
 * A type has less than the full share only because of a node that would be over the budget if all
 * types on it had the slack more.
 */
static void
assert_held_by_a_node(struct budget *b, const struct truth *t, int type)
{
	bool held = 1.5 * budget_probed(b, (uint32_t)type) >= 1 - 1e-9;

	for (int n = 0; n < NODES && !held; n++) {
		double rate = 0;

		for (int l = 0; l < LABELS; l++)
			rate += t->rate[type][n][l];
		held = rate > 0 && spent(b, t, n, 1.5) >= 0.01 - 1e-6;
	}
	assert_true(held);
}

static void
change(struct budget *b, struct truth *t, struct rng *r)
{
	uint32_t type = (uint32_t)rng_below(r, TYPES), label = (uint32_t)rng_below(r, LABELS);
	uint32_t node = (uint32_t)rng_below(r, NODES);
	double rate = exp(12 * rng_unit(r));

	switch (rng_below(r, 4)) {
	case 0:
		budget_drop(b, type, label);
		for (int n = 0; n < NODES; n++)
			t->rate[type][n][label] = 0;
		break;
	case 1:
		t->record_ns[node] = 100 + (double)rng_below(r, 200);
		t->rejected_ns[node] = t->record_ns[node] / 4;
		budget_node(b, node, t->record_ns[node], t->rejected_ns[node], NULL);
		break;
	default:
		if (t->rate[type][node][label] != 0 || !budget_fits(b, type, label, node, rate))
			break;
		t->rate[type][node][label] = rate;
		budget_predict(b, type, label, node, rate, NULL);
	}
}

static void
no_node_is_over_the_budget_if_predictions_are_true(void **state)
{
	(void)state;

	for (uint64_t seed = 1; seed <= 200; seed++) {
		struct budget_options o = ONE_PERCENT;
		struct budget *b;
		struct truth t = { 0 };
		struct rng r;

		o.rejected_ns = 40;
		b = budget_new(&o);
		rng_seed(&r, seed);
		for (int n = 0; n < NODES; n++) {
			t.record_ns[n] = 150;
			t.rejected_ns[n] = 40;
		}
		for (int step = 0; step < 100; step++) {
			change(b, &t, &r);
			for (int n = 0; n < NODES; n++) {
				double s = spent(b, &t, n, 1), least = spent(b, &t, n, 0);

				assert_true(fabs(s - budget_spent(b, (uint32_t)n)) < 1e-6);
				assert_true(s <= 0.01 + 1e-6 || s <= least + 1e-6);
			}
			for (int i = 0; i < TYPES; i++)
				assert_held_by_a_node(b, &t, i);
		}
		budget_free(b);
	}
}

/* In any order of the tracepoints, sums and shares are equal bit by bit. */
static void
order_does_not_matter(void **state)
{
	(void)state;

	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct budget *a = budget_new(&ONE_PERCENT), *b = budget_new(&ONE_PERCENT);
		uint32_t order[500];
		struct rng r;

		rng_seed(&r, seed);
		for (uint32_t i = 0; i < 500; i++)
			order[i] = i;
		for (uint32_t i = 499; i > 0; i--) {
			uint32_t k = (uint32_t)rng_below(&r, i + 1), kept = order[i];

			order[i] = order[k];
			order[k] = kept;
		}
		for (uint32_t i = 0; i < 500; i++) {
			budget_predict(a, i % 7, i / 35, i % 5, 1 + i * 17.3, NULL);
			budget_predict(b, order[i] % 7, order[i] / 35, order[i] % 5,
			    1 + order[i] * 17.3, NULL);
		}
		for (uint32_t i = 0; i < 7; i++)
			assert_true(budget_probed(a, i) == budget_probed(b, i));
		for (uint32_t i = 0; i < 5; i++)
			assert_true(budget_spent(a, i) == budget_spent(b, i));
		for (uint32_t i = 0; i < 500; i++)
			budget_drop(a, order[i] % 7, order[i] / 35);
		for (uint32_t i = 0; i < 5; i++)
			assert_true(budget_spent(a, i) == 0);
		budget_free(a);
		budget_free(b);
	}
}

static void
a_node_without_a_number_is_refused(void **state)
{
	struct budget *b = budget_new(&ONE_PERCENT);
	struct err e = { 0 };
	(void)state;

	assert_int_equal(budget_node(b, BUDGET_NODES_MAX, 100, 20, &e), ERR_FULL);
	assert_int_not_equal(budget_predict(b, 1, 1, BUDGET_NODES_MAX, 100, &e), 0);
	near(budget_probed(b, 1), 1);
	budget_free(b);
	budget_free(NULL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(types_within_the_budget_are_probed_whole),
		cmocka_unit_test(types_over_the_budget_are_probed_less),
		cmocka_unit_test(rejected_records_cost_too),
		cmocka_unit_test(measured_rates_replace_predicted_ones),
		cmocka_unit_test(types_share_a_node_fairly),
		cmocka_unit_test(shares_are_stable_near_the_threshold),
		cmocka_unit_test(no_node_is_over_the_budget_if_predictions_are_true),
		cmocka_unit_test(order_does_not_matter),
		cmocka_unit_test(a_node_without_a_number_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
