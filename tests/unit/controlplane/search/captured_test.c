/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What few captured requests allow to say; and when a diagnosis asks for them, waits, and decides. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "controlplane/search/captured.h"

#define MS 1e6
#define SECOND INT64_C(1000000000)

enum { EDGES = 12, PLACE = 7, USUAL = 8 };

struct world {
	struct rng rng;
	struct arena arena;
	double slow[CAPTURED_SLOW_MAX][EDGES], usual[CAPTURED_USUAL_MAX][EDGES];
	struct captured_facts facts;
	struct captured_finding found;
};

/* Usual requests take 1 ms on each edge, or so. */
static void
row(struct world *w, double *ns)
{
	for (int i = 0; i < EDGES; i++)
		ns[i] = (0.9 + 0.2 * rng_unit(&w->rng)) * MS;
}

static void
begin(struct world *w, uint32_t slow, uint32_t usual, uint64_t seed)
{
	*w = (struct world){ .facts = { slow, usual, EDGES, NULL, NULL, 0.95 } };
	rng_seed(&w->rng, seed);
	for (uint32_t i = 0; i < slow; i++)
		row(w, w->slow[i]);
	for (uint32_t i = 0; i < usual; i++)
		row(w, w->usual[i]);
	w->facts.slow_ns = &w->slow[0][0];
	w->facts.usual_ns = &w->usual[0][0];
}

static const struct captured_finding *
judge(struct world *w)
{
	assert_int_equal(captured_judge(&w->found, &w->facts, &w->arena, NULL), 0);
	arena_release(&w->arena);
	return &w->found;
}

/* All slow requests are stopped on one edge. */
static const struct captured_finding *
all_at(struct world *w, uint32_t slow, uint32_t usual)
{
	begin(w, slow, usual, 1);
	for (uint32_t i = 0; i < slow; i++)
		w->slow[i][PLACE] += 300 * MS;
	return judge(w);
}

static void
the_edge_with_the_excess_of_most_requests_is_named(void **state)
{
	struct world w;
	const struct captured_finding *f;
	(void)state;

	f = all_at(&w, 4, USUAL);
	assert_int_equal(f->edge, PLACE);
	assert_int_equal(f->with, 4);
	assert_true(fabs(f->excess_ns - 300 * MS) < MS);
	assert_true(f->share.low > 0.39 && f->share.low < 0.41 && f->share.high == 1);
	assert_true(fabs(f->usual_share - 1.0 / EDGES) < 0.02);
	assert_true(f->sure && f->p <= VERDICT_CAPTURED_P);
}

static void
of_one_or_two_requests_nothing_is_sure(void **state)
{
	struct world w;
	(void)state;

	assert_false(all_at(&w, 1, USUAL)->sure);
	assert_int_equal(w.found.edge, PLACE);
	assert_true(w.found.usual_p > 1.0 / 9 - 1e-9);
	assert_false(all_at(&w, 2, USUAL)->sure);
	assert_int_equal(w.found.edge, PLACE);
	assert_false(all_at(&w, 3, CAPTURED_USUAL_LEAST)->sure);
}

static void
without_usual_requests_or_without_an_edge_that_has_most_nothing_is_named(void **state)
{
	struct world w;
	(void)state;

	assert_int_equal(all_at(&w, 4, CAPTURED_USUAL_LEAST - 1)->edge, UINT32_MAX);
	begin(&w, 4, USUAL, 1);
	for (uint32_t i = 0; i < 4; i++)
		for (int k = 0; k < EDGES; k++)
			w.slow[i][k] += 25 * MS;
	assert_int_equal(judge(&w)->edge, UINT32_MAX);
	assert_false(w.found.sure);
	begin(&w, 0, USUAL, 1);
	assert_int_equal(judge(&w)->edge, UINT32_MAX);
}

static void
an_edge_that_usual_requests_do_not_pass_can_be_the_place(void **state)
{
	struct world w;
	(void)state;

	begin(&w, 4, USUAL, 1);
	for (int i = 0; i < USUAL; i++)
		w.usual[i][PLACE] = 0;
	for (int i = 0; i < 4; i++)
		w.slow[i][PLACE] = 300 * MS;
	assert_int_equal(judge(&w)->edge, PLACE);
	assert_true(w.found.sure);
	assert_true(fabs(w.found.usual_share) < 1e-9);
}

/* Where most of the time is spent anyway, the machine also stops most requests. */
static void
an_edge_with_most_of_the_usual_time_is_not_sure(void **state)
{
	struct world w;
	(void)state;

	begin(&w, 4, USUAL, 1);
	for (int i = 0; i < USUAL; i++)
		w.usual[i][PLACE] += 40 * MS;
	for (int i = 0; i < 4; i++)
		w.slow[i][PLACE] += 340 * MS;
	assert_int_equal(judge(&w)->edge, PLACE);
	assert_false(w.found.sure);
}

/* A request is stopped at a random moment of its time, so on edges in proportion to it; edges of many lengths. */
static uint32_t
false_alarms(uint32_t slow, uint32_t rounds, double longest)
{
	uint32_t alarms = 0;

	for (uint32_t r = 0; r < rounds; r++) {
		double mean[EDGES], total = 0;
		struct world w;

		begin(&w, slow, USUAL, r + 1);
		for (int k = 0; k < EDGES; k++)
			total += mean[k] = 1 + longest * rng_unit(&w.rng);
		for (uint32_t i = 0; i < USUAL; i++)
			for (int k = 0; k < EDGES; k++)
				w.usual[i][k] *= mean[k];
		for (uint32_t i = 0; i < slow; i++) {
			double at = rng_unit(&w.rng) * total;
			int hit = 0;

			for (int k = 0; k < EDGES; k++)
				w.slow[i][k] *= mean[k];
			while (hit < EDGES - 1 && (at -= mean[hit]) > 0)
				hit++;
			w.slow[i][hit] += 5000 * MS;
		}
		alarms += judge(&w)->sure;
	}
	return alarms;
}

static void
requests_that_the_machine_stops_anywhere_are_a_false_alarm_in_at_most_one_of_a_hundred(void **state)
{
	enum { ROUNDS = 3000 };
	(void)state;

	for (uint32_t slow = 1; slow <= 8; slow++)
		for (int longest = 0; longest <= 10; longest += 10) {
			uint32_t n = false_alarms(slow, ROUNDS, longest);

			if (n > ROUNDS / 100)
				fail_msg("%u of %d, of %u slow requests", n, ROUNDS, slow);
		}
}

static void
the_most_requests_are_judged(void **state)
{
	struct world w;
	(void)state;

	assert_true(all_at(&w, CAPTURED_SLOW_MAX, CAPTURED_USUAL_MAX)->sure);
	assert_int_equal(w.found.with, CAPTURED_SLOW_MAX);
}

/* ---- when ---- */

static void
the_limit_is_far_from_what_most_requests_take(void **state)
{
	struct sketch few = { 0 }, narrow = { 0 }, wide = { 0 };
	(void)state;

	for (int i = 0; i < CAPTURED_KNOWN - 1; i++)
		sketch_add(&few, 10 * SECOND / 1000);
	assert_int_equal(captured_limit_ns(&few), 0);
	for (int i = 0; i < 1000; i++) {
		sketch_add(&narrow, SECOND / 100 + i);
		sketch_add(&wide, (i + 1) * SECOND / 1000);
	}
	/* 10 ms: 40 ms; evenly up to 1 s: 0.5 s + 10 x 0.4 s */
	assert_true(fabs((double)captured_limit_ns(&narrow) / (double)SECOND - 0.04) < 0.001);
	assert_true(fabs((double)captured_limit_ns(&wide) / (double)SECOND - 4.5) < 0.2);
}

static struct rare_facts
ending(void)
{
	return (struct rare_facts){ .ends = true,
		.asked = true,
		.recording = true,
		.recorded = true,
		.over_ns = 1,
		.over = 2,
		.cut_min = 30,
		.slow = 2,
		.usual = 8,
		.lasts_ns = 20 * SECOND };
}

static void
captures_are_asked_for_once_nothing_is_searched(void **state)
{
	struct rare_facts f = { .over_ns = 1, .lasts_ns = RARE_ASK_NS, .cut_min = 30 };
	(void)state;

	assert_int_equal(rare_next(&f), RARE_ASK); /* 1 */
	f.lasts_ns--;
	assert_int_equal(rare_next(&f), RARE_NOT);
	f.lasts_ns++;
	f.searched = true;
	assert_int_equal(rare_next(&f), RARE_NOT);
	f.searched = false;
	f.asked = true;
	assert_int_equal(rare_next(&f), RARE_NOT);
	f.asked = false;
	f.over_ns = 0;
	assert_int_equal(rare_next(&f), RARE_NOT);
}

static void
outliers_that_can_be_cut_are_not_left_to_captures(void **state)
{
	struct rare_facts f = ending();
	(void)state;

	f.slow = CAPTURED_ENOUGH;
	f.over = 29;
	assert_int_equal(rare_next(&f), RARE_DECIDE);
	f.over = 30; /* 2 */
	assert_int_equal(rare_next(&f), RARE_NOT);
	f.over = 29;
	f.over_ns = 0;
	assert_int_equal(rare_next(&f), RARE_NOT);
}

static void
answers_are_waited_for(void **state)
{
	struct rare_facts f = ending();
	(void)state;

	f.slow = CAPTURED_ENOUGH;
	f.pending = 1; /* 3 */
	assert_int_equal(rare_next(&f), RARE_WAIT);
	f.pending = 0; /* 4 */
	assert_int_equal(rare_next(&f), RARE_DECIDE);
}

static void
a_diagnosis_that_searched_asks_at_its_end(void **state)
{
	struct rare_facts f = ending();
	(void)state;

	f.asked = f.recording = f.recorded = false;
	f.slow = f.usual = 0;
	assert_int_equal(rare_next(&f), RARE_ASK); /* 5 */
	f.over = 0;
	assert_int_equal(rare_next(&f), RARE_NOT);
}

static void
more_outliers_are_waited_for_in_bounded_time(void **state)
{
	struct rare_facts f = ending();
	(void)state;

	/* two in 20 s: six times 10 s */
	assert_int_equal(rare_next(&f), RARE_WAIT); /* 6 */
	f.over = 5;
	f.lasts_ns = RARE_WAIT_LEAST_NS - 1;
	assert_int_equal(rare_next(&f), RARE_WAIT);
	f.over = 12;
	f.lasts_ns = RARE_WAIT_LEAST_NS;
	assert_int_equal(rare_next(&f), RARE_DECIDE); /* 7 */
	f.over = 1;
	f.lasts_ns = RARE_WAIT_MOST_NS - 1;
	assert_int_equal(rare_next(&f), RARE_WAIT);
	f.lasts_ns = RARE_WAIT_MOST_NS;
	assert_int_equal(rare_next(&f), RARE_DECIDE);
	f.wait_ns = RARE_WAIT_MOST_NS + 1;
	assert_int_equal(rare_next(&f), RARE_WAIT);
	f.wait_ns = SECOND; /* less than the least */
	f.lasts_ns = SECOND - 1;
	assert_int_equal(rare_next(&f), RARE_WAIT);
	f.lasts_ns = SECOND;
	assert_int_equal(rare_next(&f), RARE_DECIDE);
	f.wait_ns = 0;
	f.lasts_ns = 20 * SECOND;
	f.recording = false;
	assert_int_equal(rare_next(&f), RARE_DECIDE);
	f.usual = CAPTURED_USUAL_LEAST - 1;
	assert_int_equal(rare_next(&f), RARE_NOT); /* 8 */
	f.usual = 8;
	f.slow = 0;
	assert_int_equal(rare_next(&f), RARE_NOT);
}

static void
no_search_begins_while_few_outliers_carry_the_variance_and_are_captured(void **state)
{
	struct rare_facts f = ending();
	(void)state;

	f.carries = 0.95;
	assert_true(rare_is_left(&f));
	f.over = 30;
	assert_false(rare_is_left(&f));
	f.over = 0;
	assert_false(rare_is_left(&f));
	f.over = 2;
	f.recorded = false;
	assert_false(rare_is_left(&f));
	f.recorded = true;
	f.carries = 0.85;
	assert_false(rare_is_left(&f));
	f.carries = 0.95;
	f.asked = false;
	assert_false(rare_is_left(&f));
}

static void
outliers_that_agree_and_are_not_sure_yet_are_not_the_last_that_are_waited_for(void **state)
{
	struct rare_facts f = ending();
	struct captured_finding x = { .with = 8 };
	(void)state;

	f.slow = f.over = 10;
	f.recording = true;
	assert_true(rare_wait_on(&f, &x, f.slow));
	x.with = 7;
	assert_false(rare_wait_on(&f, &x, f.slow)); /* they have lost their time anywhere */
	x.with = 8;
	x.sure = true;
	assert_false(rare_wait_on(&f, &x, f.slow));
	x.sure = false;
	f.over = f.cut_min;
	assert_false(rare_may_wait(&f)); /* they can be cut */
	f.over = 10;
	f.recording = false;
	assert_false(rare_may_wait(&f));
	f.recording = true;
	f.lasts_ns = RARE_WAIT_MOST_NS;
	assert_false(rare_may_wait(&f));
	f.wait_ns = 2 * RARE_WAIT_MOST_NS;
	assert_true(rare_may_wait(&f));
}

static void
a_silence_that_chance_explains_does_not_mean_that_they_are_gone(void **state)
{
	(void)state;

	assert_false(rare_is_gone(1, 0, 1e12)); /* nothing is known of its rate */
	assert_false(rare_is_gone(5, 8e9, 8e9));
	assert_true(rare_is_gone(5, 8e9, 9e9)); /* (1 + 9/8)^-4 = 4.9 % */
	assert_false(rare_is_gone(3, 60e9, 60e9));
	assert_true(rare_is_gone(16, 60e9, 14e9));
	assert_false(rare_is_gone(16, 60e9, -1e9));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_edge_with_the_excess_of_most_requests_is_named),
		cmocka_unit_test(of_one_or_two_requests_nothing_is_sure),
		cmocka_unit_test(
		    without_usual_requests_or_without_an_edge_that_has_most_nothing_is_named),
		cmocka_unit_test(an_edge_that_usual_requests_do_not_pass_can_be_the_place),
		cmocka_unit_test(an_edge_with_most_of_the_usual_time_is_not_sure),
		cmocka_unit_test(
		    requests_that_the_machine_stops_anywhere_are_a_false_alarm_in_at_most_one_of_a_hundred),
		cmocka_unit_test(the_most_requests_are_judged),
		cmocka_unit_test(the_limit_is_far_from_what_most_requests_take),
		cmocka_unit_test(captures_are_asked_for_once_nothing_is_searched),
		cmocka_unit_test(outliers_that_can_be_cut_are_not_left_to_captures),
		cmocka_unit_test(answers_are_waited_for),
		cmocka_unit_test(a_diagnosis_that_searched_asks_at_its_end),
		cmocka_unit_test(more_outliers_are_waited_for_in_bounded_time),
		cmocka_unit_test(
		    outliers_that_agree_and_are_not_sure_yet_are_not_the_last_that_are_waited_for),
		cmocka_unit_test(a_silence_that_chance_explains_does_not_mean_that_they_are_gone),
		cmocka_unit_test(
		    no_search_begins_while_few_outliers_carry_the_variance_and_are_captured),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
