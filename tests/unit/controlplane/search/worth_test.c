/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "analysis/bootstrap.h"
#include "controlplane/search/worth.h"

static void
is(double got, double want)
{
	assert_true(fabs(got - want) < 1e-12);
}

static void
step_1_of_a_slow_group_the_effect_is_its_share_of_the_latency(void **state)
{
	const struct effect_facts f = {
		.by_latency = true, .share = 0.6, .group_variance = 1, .within_variance = 100
	};
	(void)state;

	is(effect_of(&f), 0.6);
}

static void
step_2_without_variance_there_is_no_effect(void **state)
{
	const struct effect_facts f = { .share = 0.9, .group_variance = 1 };
	(void)state;

	is(effect_of(&f), 0);
}

static void
step_3_a_tail_of_a_queue_has_no_effect(void **state)
{
	struct effect_facts f = { .share = 0.5,
		.group_variance = 4,
		.within_variance = 4,
		.tail = true,
		.tail_variance = 0.33 };
	(void)state;

	is(effect_of(&f), 0);
	f.tail_variance = 0.8;
	is(effect_of(&f), 0.5);
}

static void
step_5_else_the_share_counts_as_far_as_its_group_varies_like_all(void **state)
{
	struct effect_facts f = { .share = 0.5, .group_variance = 4, .within_variance = 10 };
	(void)state;

	is(effect_of(&f), 0.2);
	f.group_variance = 40; /* a small group may vary more than the type */
	is(effect_of(&f), 0.5);
	f.share = 1.2;
	is(effect_of(&f), 1);
	f.share = -0.1;
	is(effect_of(&f), 0);
}

static void
step_4_the_effect_is_a_part_of_that_of_the_edge_it_began_with(void **state)
{
	struct effect_facts f = { .share = 0.4,
		.began_share = 0.8,
		.began_effect = 0.5,
		.group_variance = 4,
		.within_variance = 10 };
	(void)state;

	is(effect_of(&f), 0.25);
	f.share = 0.9; /* a part of the edge carries no more than the edge */
	is(effect_of(&f), 0.5);
	f.began_effect = -0.1;
	is(effect_of(&f), 0);
}

static void
a_run_is_found_only_if_a_sure_verdict_is_worth_mending(void **state)
{
	(void)state;

	assert_int_equal(worth_state(&(struct worth_facts){ .sure = 2, .open = 1 }), RUN_NOTHING);
	/* a certain 3 %, and 70 % by 60 requests that may be chance */
	assert_int_equal(
	    worth_state(&(struct worth_facts){ .sure = 1, .open = 1, .open_worth = 1 }),
	    RUN_UNSURE);
	assert_int_equal(worth_state(&(struct worth_facts){
			     .sure = 1, .worth = 1, .apart = true, .open = 1, .open_worth = 1 }),
	    RUN_FOUND);
	assert_int_equal(
	    worth_state(&(struct worth_facts){ .sure = 2, .worth = 1, .apart = true }), RUN_FOUND);
	assert_int_equal(worth_state(&(struct worth_facts){ .sure = 1, .worth = 1 }), RUN_FOUND);
}

/* Its interval holds 0. */
static void
a_verdict_that_is_not_sure_is_open_if_it_may_be_worth_mending(void **state)
{
	struct verdict v = {
		.share = 0.06, .effect = 0.06, .traces = VERDICT_MANY, .new_part = NAN
	};
	(void)state;

	assert_false(verdict_open(&v, 0.25));
	v.traces--; /* 5 */
	assert_true(verdict_open(&v, 0.25));
	v.traces++;
	v.effect = 0.3; /* 2 */
	assert_true(verdict_open(&v, 0.25));
	v.pool = POOL_USUAL; /* 3 */
	assert_false(verdict_open(&v, 0.25));
	v.mistake = (char *)"unit-open"; /* 1 */
	assert_true(verdict_open(&v, 0.25));
	v.mistake = NULL;
	v.new_part = 0.1;
	assert_true(verdict_open(&v, 0.25));
}

static void
a_run_is_unsure_only_of_what_may_be_worth_mending(void **state)
{
	(void)state;

	assert_int_equal(worth_state(&(struct worth_facts){ .open = 1 }), RUN_UNSURE);
	assert_int_equal(worth_state(&(struct worth_facts){ .open = 0 }), RUN_NOTHING);
}

static void
what_one_edge_has_alone_or_all_together_is_no_health(void **state)
{
	struct worth_facts f = { .sure = 2, .worth = 1, .effect_min = 0.25 };
	(void)state;

	f.most = 0.46;
	f.second = 0.39;
	f.saves = 0.46;
	f.together = 0.89;
	assert_int_equal(worth_state(&f), RUN_NOTHING);
	f.most = 0.48;
	assert_int_equal(worth_state(&f), RUN_FOUND);
	f.most = 0.46;
	f.second = 0.41;
	assert_int_equal(worth_state(&f), RUN_FOUND);
	f.second = 0.39;
	f.saves = 0.48;
	assert_int_equal(worth_state(&f), RUN_FOUND);
	f.saves = 0.46;
	f.saves_own = 0.71;
	assert_int_equal(worth_state(&f), RUN_FOUND);
	f.saves_own = 0.69;
	assert_int_equal(worth_state(&f), RUN_NOTHING);
	f.together = 0.91;
	assert_int_equal(worth_state(&f), RUN_FOUND);
	f.together = 0.89;
	f.apart = true;
	assert_int_equal(worth_state(&f), RUN_FOUND);
}

static void
a_least_effect_that_is_large_leaves_room_for_what_is_apart(void **state)
{
	struct worth_facts f = { .sure = 1, .worth = 1, .effect_min = 0.6, .most = 0.79 };
	(void)state;

	is(verdict_apart(VERDICT_ALONE, 0.25), 0.47);
	is(verdict_apart(VERDICT_ALONE, 0.6), 0.8);
	is(verdict_together(0.1), 0.36);
	is(verdict_together(0.25), 0.9);
	is(verdict_together(0.55), 0.9);
	is(verdict_together(0.9), 0.95); /* no less than one alone */
	assert_int_equal(worth_state(&f), RUN_NOTHING);
	f.most = 0.81;
	assert_int_equal(worth_state(&f), RUN_FOUND);
}

static void
what_would_go_if_the_edge_took_its_median_is_by_the_squared_cv(void **state)
{
	(void)state;

	is(verdict_saves(&(struct verdict){ .cv_now = 0.5, .cv_then = 0.4 }), 0.36);
	/* half of what the type varies by is elsewhere */
	is(verdict_saves_all(
	       &(struct verdict){ .cv_now = 0.5, .cv_then = 0.4, .share = 0.8, .effect = 0.4 }),
	    0.18);
	is(verdict_saves_all(
	       &(struct verdict){ .cv_now = 0.5, .cv_then = 0.4, .share = 0.4, .effect = 0.8 }),
	    0.36);
	is(verdict_saves(&(struct verdict){ .cv_now = 0.5, .cv_then = 0.6 }), 0);
	is(verdict_saves(&(struct verdict){ .cv_now = NAN, .cv_then = NAN }), 0);
}

static void
whether_a_verdict_is_alone_or_with_others_is_open_by_few_requests_only(void **state)
{
	/* 27 to 63 % of an effect of 50 %: neither certainly 47 % nor certainly less */
	struct verdict v = { .share = 0.5,
		.share_low = 0.27,
		.share_high = 0.63,
		.effect = 0.5,
		.cv = 0.3,
		.latency_share = 0.3,
		.traces = WORTH_ALONE_TRACES - 1 };
	(void)state;

	assert_true(worth_is_open(&v, 0.25)); /* 3 */
	v.latency_share = 0.01;
	assert_true(verdict_is_rare(&v));
	assert_false(worth_is_open(&v, 0.25));
	v.latency_share = 0.3;
	v.traces++;
	assert_false(worth_is_open(&v, 0.25)); /* 4 */
	v.share_low = 0.24;
	assert_true(worth_is_open(&v, 0.25)); /* 2 */
	v.handed_over = true;
	assert_false(worth_is_open(&v, 0.25)); /* 1 */
	v.handed_over = false;
	v.effect = 0.1; /* a fifth of the share: 5 to 13 % */
	assert_false(worth_is_open(&v, 0.25));
	v.share = SHARE_NEARLY_ALL;
	v.share_high = 1;
	v.share_low = 0.1;
	v.effect = 0.25;
	assert_false(worth_is_open(&v, 0.25));
	v.share_low = 0; /* it may be none */
	assert_true(worth_is_open(&v, 0.25));
	v.share_low = 0.1;
	v.share = SHARE_NEARLY_ALL - 0.01;
	assert_true(worth_is_open(&v, 0.25));
}

static void
an_edge_that_few_of_its_passages_take_long_in_is_rare(void **state)
{
	/* sqrt(0.45) * 0.2 / 0.03 = 4.47; of all, and of a twentieth of them */
	struct verdict v = {
		.share = 0.45, .cv = 0.2, .latency_share = 0.03, .traces = 200, .passing = 200
	};
	(void)state;

	assert_false(verdict_is_rare(&v));
	v.latency_share = 0.029;
	assert_true(verdict_is_rare(&v));
	v.passing =
	    10; /* sqrt((1 + 4.63^2) / 20 - 1): those that pass it take as long as each other */
	assert_false(verdict_is_rare(&v));
	v.passing = 0; /* not known */
	assert_true(verdict_is_rare(&v));
	v.by_latency = true;
	assert_false(verdict_is_rare(&v));
	v.by_latency = false;
	v.latency_share = NAN;
	assert_false(verdict_is_rare(&v));
	v.latency_share = 0;
	assert_false(verdict_is_rare(&v));
}

static void
a_diagnosis_looks_on_until_a_verdict_is_worth_more_than_what_was_not_judged(void **state)
{
	(void)state;

	/* 1 */
	assert_false(look_on(&(struct look_facts){ .late = true, .unjudged = 0.9 }));
	assert_true(look_on(&(struct look_facts){
	    .late = true, .worth = 1, .effect = 0.3, .due = 0.4, .effect_min = 0.25 }));
	assert_false(look_on(&(struct look_facts){
	    .late = true, .worth = 1, .effect = 0.4, .due = 0.3, .effect_min = 0.25 }));
	assert_false(look_on(&(struct look_facts){ .late = true, .due = 0.2, .effect_min = 0.25 }));
	assert_false(look_on(
	    &(struct look_facts){ .late = true, .latest = true, .due = 0.4, .effect_min = 0.25 }));
	/* 2 */
	assert_true(look_on(&(struct look_facts){ .worth = 0, .effect = 0.9 }));
	/* 3 */
	assert_true(look_on(&(struct look_facts){
	    .worth = 1, .effect = 0.9, .quiet = true, .seen_ns = PRESENCE_SEEN_NS }));
	assert_true(look_on(
	    &(struct look_facts){ .worth = 1, .effect = 0.9, .seen_ns = PRESENCE_SEEN_NS - 1 }));
	/* 4 */
	assert_true(look_on(&(struct look_facts){ .worth = 1,
	    .effect = 0.9,
	    .seen_ns = PRESENCE_SEEN_NS,
	    .pool = true,
	    .watched_ns = LOOK_POOL_NS - 1 }));
	assert_false(look_on(&(struct look_facts){ .worth = 1,
	    .effect = 0.9,
	    .seen_ns = PRESENCE_SEEN_NS,
	    .pool = true,
	    .watched_ns = LOOK_POOL_NS }));
	/* 5 */
	assert_true(look_on(&(struct look_facts){
	    .worth = 1, .effect = 0.4, .unjudged = 0.5, .seen_ns = PRESENCE_SEEN_NS }));
	/* 6 */
	assert_false(look_on(&(struct look_facts){
	    .worth = 1, .effect = 0.5, .unjudged = 0.4, .seen_ns = PRESENCE_SEEN_NS }));
}

static void
an_edge_is_searched_again_if_what_was_named_is_not_what_it_has(void **state)
{
	const struct again_facts again = { .searches = 1,
		.ended = true,
		.requests = 400,
		.requests_then = 200,
		.effect = 0.6,
		.named = 0.3,
		.effect_min = 0.25 };
	struct again_facts f = again;
	(void)state;

	/* 4 */
	assert_true(search_again(&f));
	/* 1 */
	f.searches = 0;
	assert_false(search_again(&f));
	f.searches = 2;
	assert_false(search_again(&f));
	/* 2 */
	f = again;
	f.ended = false;
	assert_false(search_again(&f));
	/* 3 */
	f = again;
	f.requests = 399;
	assert_false(search_again(&f));
	/* 5 */
	f = again;
	f.named = 0.4;
	assert_false(search_again(&f));
	f.effect = 0.9; /* less than twice what was named, of an unsure verdict, too */
	f.named = 0.5;
	assert_false(search_again(&f));
	f.named = 0.45;
	assert_true(search_again(&f));
}

static void
what_is_left_is_searched_step_by_step(void **state)
{
	struct rest_facts f = { .left = 0.1, .effect_min = 0.2, .causes = 3, .causes_max = 3 };
	(void)state;

	assert_int_equal(rest_step(&f), REST_NONE); /* 1 */
	f.worth = true;
	assert_int_equal(rest_step(&f), REST_UNDER); /* 2 */
	f.left = 0.2;
	assert_int_equal(rest_step(&f), REST_ENOUGH); /* 3 */
	f.causes = 2;
	assert_int_equal(rest_step(&f), REST_SEARCH); /* 4 */
	f.worth = false;
	assert_int_equal(rest_step(&f), REST_NONE);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(step_1_of_a_slow_group_the_effect_is_its_share_of_the_latency),
		cmocka_unit_test(step_2_without_variance_there_is_no_effect),
		cmocka_unit_test(step_3_a_tail_of_a_queue_has_no_effect),
		cmocka_unit_test(step_4_the_effect_is_a_part_of_that_of_the_edge_it_began_with),
		cmocka_unit_test(step_5_else_the_share_counts_as_far_as_its_group_varies_like_all),
		cmocka_unit_test(what_is_left_is_searched_step_by_step),
		cmocka_unit_test(an_edge_is_searched_again_if_what_was_named_is_not_what_it_has),
		cmocka_unit_test(what_one_edge_has_alone_or_all_together_is_no_health),
		cmocka_unit_test(a_least_effect_that_is_large_leaves_room_for_what_is_apart),
		cmocka_unit_test(what_would_go_if_the_edge_took_its_median_is_by_the_squared_cv),
		cmocka_unit_test(
		    whether_a_verdict_is_alone_or_with_others_is_open_by_few_requests_only),
		cmocka_unit_test(an_edge_that_few_of_its_passages_take_long_in_is_rare),
		cmocka_unit_test(a_verdict_that_is_not_sure_is_open_if_it_may_be_worth_mending),
		cmocka_unit_test(a_run_is_unsure_only_of_what_may_be_worth_mending),
		cmocka_unit_test(a_run_is_found_only_if_a_sure_verdict_is_worth_mending),
		cmocka_unit_test(
		    a_diagnosis_looks_on_until_a_verdict_is_worth_more_than_what_was_not_judged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
