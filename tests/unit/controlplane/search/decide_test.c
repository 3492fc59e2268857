/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "paths.h"

#include "controlplane/search/decide.h"

static const struct decide_thresholds LIMITS = { .traces_min = 30, .isolate_min = 0.3 };

/* Facts by which decide() narrows to the top part: every test changes what its step checks. */
static struct decide_facts
clear_case(void)
{
	return (struct decide_facts){ .traces = 200,
		.carries = 100,
		.share = 0.8,
		.carried_found = 100,
		.share_found = 0.8,
		.separation = { .label = LABEL_NONE },
		.parts_known = true,
		.nparts = 2,
		.pooled = 200,
		.effective = 50,
		.ahead = 10,
		.cover = 1,
		.top_of_gap = 0.9,
		.top_of_root = 0.9,
		.all = 100,
		.usual = 100,
		.cuts = true,
		.top_of_all = 0.9 };
}

#define assert_decides(facts, a_what, a_reason)                     \
	do {                                                        \
		struct decide_result r_ = decide((facts), &LIMITS); \
		assert_int_equal(r_.what, a_what);                  \
		assert_int_equal(r_.reason, a_reason);              \
	} while (0)

static void
step_1_waits_for_the_least_number_of_traces(void **state)
{
	struct decide_facts f = clear_case();
	(void)state;

	f.traces = 14;
	assert_decides(&f, DECIDE_WAIT, DECIDE_FEW_TRACES);
	f.traces = f.pooled = 29;
	f.ahead = 5;
	assert_decides(&f, DECIDE_WAIT, DECIDE_FEW_POOLED);
	f.traces = 30;
	f.pooled = 30;
	assert_decides(&f, DECIDE_NARROW, DECIDE_TOP_PART);
	f.deadline_passed = true;
	f.traces = 5;
	assert_decides(&f, DECIDE_NARROW, DECIDE_TOP_PART);
	f.traces = 4;
	assert_decides(&f, DECIDE_WAIT, DECIDE_FEW_TRACES);
	f.traces = 0;
	assert_int_equal(decide(&f, &(struct decide_thresholds){ 0, 0.3 }).what, DECIDE_WAIT);
}

static void
half_of_them_suffice_where_one_part_clearly_has_nearly_all(void **state)
{
	struct decide_facts clear = clear_case(), f;
	(void)state;

	clear.traces = clear.pooled = 15;
	clear.ahead = DECIDE_CLEAR_SE;
	clear.top_of_gap = DECIDE_CLEAR_MIN;
	clear.effective = DECIDE_CLEAR_EFFECTIVE;
	clear.top_of_all = DECIDE_CLEAR_OF_ALL;
	assert_decides(&clear, DECIDE_NARROW, DECIDE_TOP_PART);
	for (int i = 0; i < 12; i++) {
		f = clear;
		f.traces -= i == 0;
		f.ahead -= i == 1 ? 0.1 : 0;
		f.top_of_gap -= i == 2 ? 0.01 : 0;
		f.effective -= i == 3 ? 0.1 : 0;
		f.pooled -= i == 4;
		f.nparts -= i == 5;
		f.slow_side = i == 6;
		f.forced = i == 7;
		f.tail = i == 8;
		f.slow = DECIDE_SLOW_PLENTY;
		f.top_of_all -= i == 10 ? 0.01 : 0;
		f.cuts = i != 11;
		if (i == 9)
			f.separation = (struct separation){ 7, 0.9, true, 7, 8, 5, 1 };
		assert_decides(&f, DECIDE_WAIT,
		    i == 0 || i == 8 || i == 9 ? DECIDE_FEW_TRACES : DECIDE_FEW_POOLED);
	}
	/* where the paths with these parts do not carry the gap, other parts may be clear */
	f = clear;
	f.cover = DECIDE_COVERS_MIN - 0.01;
	assert_decides(&f, DECIDE_CHOOSE_ROW, DECIDE_OTHER_PARTS);
	f.row_chosen = true;
	assert_decides(&f, DECIDE_NARROW, DECIDE_TOP_PART);
	f.traces = 75; /* of which few have these parts */
	assert_decides(&f, DECIDE_NARROW, DECIDE_TOP_PART);
	f = clear;
	f.share = 0.1; /* what these have is not what was found */
	assert_decides(&f, DECIDE_WAIT, DECIDE_NOT_BACK);
	f = clear;
	f.parts_known = false;
	assert_decides(&f, DECIDE_MEASURE_PARTS, DECIDE_PARTS_UNKNOWN);
}

/* Of 4,000 traces of a tail, 40 are slow. */
static void
a_tail_waits_for_slow_requests_not_for_traces(void **state)
{
	struct decide_facts f = clear_case();
	(void)state;

	f.tail = true;
	f.traces = f.pooled = 4000;
	f.slow = DECIDE_SLOW_MIN - 1;
	assert_decides(&f, DECIDE_WAIT, DECIDE_FEW_TRACES);
	f.slow = DECIDE_SLOW_MIN;
	assert_decides(&f, DECIDE_NARROW, DECIDE_TOP_PART);
	f.ahead = 1;
	assert_decides(&f, DECIDE_WAIT, DECIDE_NOT_AHEAD);
	f.slow = DECIDE_SLOW_PLENTY;
	assert_decides(&f, DECIDE_NARROW, DECIDE_TOP_PART);
	f.ahead = 10;
	f.effective = 2;
	assert_decides(&f, DECIDE_NARROW, DECIDE_TOP_PART);
	f.slow--;
	assert_decides(&f, DECIDE_WAIT, DECIDE_FEW_EFFECTIVE);
	f = clear_case();
	f.tail = f.deadline_passed = true;
	f.slow = DECIDE_SLOW_LATE - 1;
	assert_decides(&f, DECIDE_WAIT, DECIDE_FEW_TRACES);
	f.slow = DECIDE_SLOW_LATE;
	assert_decides(&f, DECIDE_NARROW, DECIDE_TOP_PART);
}

static void
step_2_waits_while_the_gap_carries_nothing(void **state)
{
	struct decide_facts f = clear_case();
	(void)state;

	f.carries = 0;
	assert_decides(&f, DECIDE_WAIT, DECIDE_NOTHING_CARRIED);
	f.carries = -1;
	f.deadline_passed = true;
	assert_decides(&f, DECIDE_WAIT, DECIDE_NOTHING_CARRIED);
}

/* One request in a hundred has the problem, and none of these. */
static void
step_3_waits_while_requests_vary_much_less_than_all_that_came(void **state)
{
	struct decide_facts f = clear_case();
	(void)state;

	f.all = 49;
	assert_decides(&f, DECIDE_WAIT, DECIDE_NOT_BACK);
	f.traces = 1000;
	assert_decides(&f, DECIDE_NARROW, DECIDE_TOP_PART);
	f.traces = 200;
	f.deadline_passed = true;
	assert_decides(&f, DECIDE_NARROW, DECIDE_TOP_PART);
	f.deadline_passed = false;
	f.all = 50;
	assert_decides(&f, DECIDE_NARROW, DECIDE_TOP_PART);
	f.all = 1;
	f.usual = 0; /* not known */
	assert_decides(&f, DECIDE_NARROW, DECIDE_TOP_PART);
}

static void
step_3_waits_until_the_problem_is_back(void **state)
{
	struct decide_facts f = clear_case();
	(void)state;

	f.share = 0.39;
	assert_decides(&f, DECIDE_WAIT, DECIDE_NOT_BACK);
	f.share = 0.4;
	assert_decides(&f, DECIDE_NARROW, DECIDE_TOP_PART);
	f.carries = 24;
	assert_decides(&f, DECIDE_WAIT, DECIDE_NOT_BACK);
	f.traces = 1000;
	assert_decides(&f, DECIDE_NARROW, DECIDE_TOP_PART);
	f.traces = 200;
	f.deadline_passed = true;
	assert_decides(&f, DECIDE_NARROW, DECIDE_TOP_PART);
}

static void
step_4_waits_for_the_smaller_side(void **state)
{
	struct decide_facts f = clear_case();
	(void)state;

	f.separation = (struct separation){ 7, 0.6, true, 9, 191, 100, 90 };
	assert_decides(&f, DECIDE_WAIT, DECIDE_SMALL_SIDE);
	f.separation.nwith = 191;
	f.separation.nwithout = 9;
	assert_decides(&f, DECIDE_WAIT, DECIDE_SMALL_SIDE);
	f.separation.nwithout = 10;
	assert_decides(&f, DECIDE_NARROW, DECIDE_TOP_PART);
	assert_true(decide(&f, &LIMITS).separates);
	f.separation.nwithout = 5;
	f.traces = 1000;
	assert_true(decide(&f, &LIMITS).separates);
	f.separation.nwithout = 4;
	assert_false(decide(&f, &LIMITS).separates);
	f.separation.nwithout = 100;
	f.separation.between = 0.49;
	assert_false(decide(&f, &LIMITS).separates);
}

static void
step_5_follows_a_much_slower_side(void **state)
{
	struct decide_facts f = clear_case();
	(void)state;

	f.separation = (struct separation){ 7, 0.6, true, 50, 150, 400, 100 };
	assert_decides(&f, DECIDE_FOLLOW, DECIDE_SLOWER_SIDE);
	f.separation.slow_ns = 399;
	assert_decides(&f, DECIDE_NARROW, DECIDE_TOP_PART);
}

static void
step_6_asks_for_the_parts_once_they_matter(void **state)
{
	struct decide_facts f = clear_case();
	(void)state;

	f.parts_known = false;
	assert_decides(&f, DECIDE_MEASURE_PARTS, DECIDE_PARTS_UNKNOWN);
	f.carries = 0;
	assert_decides(&f, DECIDE_WAIT, DECIDE_NOTHING_CARRIED);
}

static void
step_7_chooses_other_parts_where_these_paths_do_not_stand_for_all(void **state)
{
	struct decide_facts f = clear_case();
	(void)state;

	f.cover = 0.89;
	assert_decides(&f, DECIDE_CHOOSE_ROW, DECIDE_OTHER_PARTS);
	f.row_chosen = true;
	assert_decides(&f, DECIDE_NARROW, DECIDE_TOP_PART);
	f.row_chosen = false;
	f.slow_side = f.excess_bounded = true;
	assert_decides(&f, DECIDE_NARROW, DECIDE_TOP_PART);
	f.slow_side = false;
	f.separation = (struct separation){ 7, 0.6, true, 100, 100, 100, 90 };
	assert_decides(&f, DECIDE_NARROW, DECIDE_TOP_PART);
	f.separation.label = LABEL_NONE;
	f.cover = 0.9;
	assert_decides(&f, DECIDE_NARROW, DECIDE_TOP_PART);
}

static void
the_parts_of_a_subgroup_too_small_to_carry_the_problem_are_not_those_of_all(void **state)
{
	(void)state;

	assert_int_equal(decide_row(2, 0.9, &LIMITS), ROW_COMMON);
	assert_int_equal(decide_row(1, 0.3, &LIMITS), ROW_MODEL);
	assert_int_equal(decide_row(1, 0.29, &LIMITS), ROW_COMMON);
	assert_int_equal(decide_row(1, 0, &LIMITS), ROW_COMMON);
}

static void
steps_8_to_10_wait_until_the_deadline(void **state)
{
	(void)state;

	for (int late = 0; late < 2; late++) {
		struct decide_facts f = clear_case();

		f.deadline_passed = late;
		f.pooled = 29;
		f.ahead = DECIDE_CLEAR_SE - 0.1;
		assert_decides(&f, late ? DECIDE_NARROW : DECIDE_WAIT,
		    late ? DECIDE_TOP_PART : DECIDE_FEW_POOLED);
		f = clear_case();
		f.deadline_passed = late;
		f.pooled = 149;
		f.ahead = 2.9;
		assert_decides(&f, late ? DECIDE_NARROW : DECIDE_WAIT,
		    late ? DECIDE_TOP_PART : DECIDE_NOT_AHEAD);
		f = clear_case();
		f.deadline_passed = late;
		f.effective = 7.9;
		f.pooled = 1999;
		f.top_of_gap = 0.7;
		assert_decides(&f, late ? DECIDE_NARROW : DECIDE_WAIT,
		    late ? DECIDE_TOP_PART : DECIDE_FEW_EFFECTIVE);
		f.top_of_gap = DECIDE_CLEAR_MIN;
		assert_decides(&f, DECIDE_NARROW, DECIDE_TOP_PART);
		f.effective = DECIDE_CLEAR_EFFECTIVE - 0.1;
		assert_decides(&f, late ? DECIDE_NARROW : DECIDE_WAIT,
		    late ? DECIDE_TOP_PART : DECIDE_FEW_EFFECTIVE);
	}
}

static void
plenty_of_traces_outweigh_a_small_lead(void **state)
{
	struct decide_facts f = clear_case();
	(void)state;

	f.ahead = 0;
	f.pooled = 150;
	assert_decides(&f, DECIDE_NARROW, DECIDE_TOP_PART);
	f.effective = 1;
	f.pooled = 2000;
	assert_decides(&f, DECIDE_NARROW, DECIDE_TOP_PART);
}

static void
step_11_is_unsure_only_of_several_parts_of_a_slow_side(void **state)
{
	struct decide_facts f = clear_case();
	(void)state;

	f.slow_side = true;
	assert_decides(&f, DECIDE_UNSURE, DECIDE_UNBOUNDED);
	f.excess_bounded = true;
	assert_decides(&f, DECIDE_NARROW, DECIDE_TOP_PART);
	f.excess_bounded = false;
	f.nparts = 1;
	assert_decides(&f, DECIDE_NARROW, DECIDE_ONLY_PART);
	f.nparts = 2;
	f.forced = true;
	assert_decides(&f, DECIDE_NARROW, DECIDE_FORCED);
}

static void
steps_12_to_15_narrow_or_spread(void **state)
{
	struct decide_facts f = clear_case();
	(void)state;

	f.top_of_gap = 0.29;
	assert_decides(&f, DECIDE_SPREAD, DECIDE_NO_PART);
	f.nparts = 1;
	assert_decides(&f, DECIDE_NARROW, DECIDE_ONLY_PART);
	f.nparts = 2;
	f.forced = true;
	assert_decides(&f, DECIDE_NARROW, DECIDE_FORCED);
	f.forced = false;
	f.top_of_gap = 0.3;
	assert_decides(&f, DECIDE_NARROW, DECIDE_TOP_PART);
	f.top_of_root = 0.24;
	assert_decides(&f, DECIDE_SPREAD, DECIDE_NO_PART);
}

/* Found with a share of 0.8 of a variance of 125: without its problem 25 would be left. */
static void
the_place_is_lost_if_the_gap_has_no_share_and_its_problem_is_there(void **state)
{
	const struct decide_facts lost = { .cuts = true,
		.requests = 1000,
		.traces = 0,
		.share = 0.23,
		.carried_found = 100,
		.share_found = 0.8,
		.all = 75 };
	struct decide_facts f = lost;
	(void)state;

	assert_true(decide_is_lost(&f, &LIMITS));
	f.cuts = false;
	assert_false(decide_is_lost(&f, &LIMITS));
	f = lost;
	f.share = 0.241;
	assert_false(decide_is_lost(&f, &LIMITS));
	f = lost;
	f.carries = 30; /* as much of it as three tenths of what it had: others vary more now */
	assert_false(decide_is_lost(&f, &LIMITS));
	f = lost;
	f.share = -0.3;
	assert_true(decide_is_lost(&f, &LIMITS));
	f.all = 74;
	assert_false(decide_is_lost(&f, &LIMITS)); /* the problem went away */
	f = lost;
	f.requests = 999;
	assert_false(decide_is_lost(&f, &LIMITS));
	f.deadline_passed = true;
	assert_true(decide_is_lost(&f, &LIMITS));
	f.requests = 29;
	assert_false(decide_is_lost(&f, &LIMITS));
	f = lost;
	f.share_found = f.carried_found = 0; /* not known yet */
	assert_false(decide_is_lost(&f, &LIMITS));
}

/* Each cause of waiting, alone and with any of those after it: the earliest step is the reason. */
static void
the_earliest_step_decides(void **state)
{
	static const enum decide_reason REASONS[] = { DECIDE_FEW_TRACES, DECIDE_NOTHING_CARRIED,
		DECIDE_NOT_BACK, DECIDE_SMALL_SIDE, DECIDE_FEW_POOLED, DECIDE_NOT_AHEAD,
		DECIDE_FEW_EFFECTIVE, DECIDE_UNBOUNDED };
	(void)state;

	for (unsigned causes = 1; causes < 1u << 8; causes++) {
		struct decide_facts f = clear_case();
		int first = 0;

		if (causes & 1)
			f.traces = 3;
		if (causes & 2)
			f.carries = 0;
		if (causes & 4)
			f.share = 0.1;
		if (causes & 8)
			f.separation = (struct separation){ 7, 0.9, true, 1, 199, 5, 1 };
		if (causes & 16)
			f.pooled = 3;
		if (causes & 32) {
			f.ahead = 1;
			f.pooled = fmin(f.pooled, 100);
		}
		if (causes & 64)
			f.effective = 1;
		if (causes & 128)
			f.slow_side = true;
		while (!(causes & 1u << first))
			first++;
		assert_int_equal(decide(&f, &LIMITS).reason, REASONS[first]);
	}
}

/* ---- excess of a slow side ---- */

static const struct gap SINCE = { .from = 1, .to = 9 };

static void
an_inner_part_counts_whole_and_outer_parts_within_bounds(void **state)
{
	struct part parts[] = { { .gap = { 1, 2 }, .mean_ns = 120 },
		{ .gap = { 2, 3 }, .mean_ns = 300 }, { .gap = { 3, 9 }, .mean_ns = 80 } };
	uint32_t top = 99;
	(void)state;

	assert_true(decide_excess(parts, 3, &SINCE, 100, &top));
	assert_int_equal(top, 1);
	/* the excess of the outer parts, 120 + 80 - 100 = 100, may belong entirely to the first
	 * or to the last one */
	parts[1].mean_ns = 99;
	assert_false(decide_excess(parts, 3, &SINCE, 100, &top));
	parts[1].mean_ns = 100;
	assert_true(decide_excess(parts, 3, &SINCE, 100, &top));
}

static void
the_bounds_of_excess_do_not_depend_on_the_order_of_parts(void **state)
{
	struct rng rng;
	(void)state;

	rng_seed(&rng, 7);
	for (int round = 0; round < 2000; round++) {
		struct part parts[5], turned[5];
		uint32_t order[5], top = 9, other = 9, n = 2 + (uint32_t)(rng_next(&rng) % 4);
		double fast_ns = (double)(rng_next(&rng) % 100);
		bool sure;

		for (uint32_t i = 0; i < n; i++)
			parts[i] = (struct part){ .gap = { i == 0 ? 1 : 10 + i,
						      i == n - 1 ? 9 : 11 + i },
				/* all values differ */
				.mean_ns = (double)(rng_next(&rng) % 200) + i / 8.0 };
		sure = decide_excess(parts, n, &SINCE, fast_ns, &top);
		shuffle(order, n, &rng);
		for (uint32_t i = 0; i < n; i++)
			turned[i] = parts[order[i]];
		assert_int_equal(decide_excess(turned, n, &SINCE, fast_ns, &other), sure);
		if (sure && parts[top].mean_ns > fast_ns)
			assert_int_equal(order[other], top);
	}
}

static void
a_part_has_what_it_has_now_or_had_at_each_cut(void **state)
{
	struct decide_context c = { .root_share = 0.8, .of_root = 0.5 };
	struct measured m = { .share = 0.4 };
	struct part p = { .of_gap = 0.9, .share = 0.24 };
	(void)state;

	assert_near(decide_of_root(&c, &m, &p), 0.3, 1e-12); /* 0.24 / 0.8 = 0.5 * 0.24 / 0.4 */
	p.share = 0.48;
	m.share = 0.8;
	assert_near(decide_of_root(&c, &m, &p), 0.6, 1e-12);
	p.share = 0.06;
	m.share = 0.1;
	assert_near(decide_of_root(&c, &m, &p), 0.3, 1e-12);
	c.root_share = 0;
	assert_near(decide_of_root(&c, &m, &p), 1, 0);
}

/* ---- together with measure() ---- */

static void
the_part_that_varies_is_decided_on(void **state)
{
	struct paths p;
	struct label_set none = { 0 };
	struct measure_input in;
	struct decide_context c = { .root_share = 0.9, .of_root = 1 };
	struct decision d;
	(void)state;

	paths_begin(&p, "(abc)");
	for (int64_t i = 0; i < 200; i++)
		paths_add(&p, "(abc)", (const int64_t[]){ 1000, 5000 + i * 37 % 1000, 1000, 1000 });
	in = (struct measure_input){ .groups = p.groups,
		.gap = paths_gap(&p, '(', 'c', 0, false),
		.must = &none,
		.must_not = &none,
		.nlabels = labels_count(p.labels) };
	assert_int_equal(decide_measured(&d, &in, &c, &LIMITS, &p.arena, NULL), 0);
	assert_int_equal(d.what, DECIDE_NARROW);
	assert_int_equal(d.reason, DECIDE_TOP_PART);
	assert_int_equal(d.m.nparts, 3);
	assert_int_equal(d.m.parts[d.m.top].gap.from, p.of['a']);
	assert_int_equal(d.m.parts[d.m.top].gap.to, p.of['b']);
	paths_end(&p);
}

static void
without_a_trace_of_the_gap_it_waits_even_after_the_deadline(void **state)
{
	struct paths p;
	struct label_set none = { 0 };
	struct measure_input in;
	struct decide_context c = { .deadline_passed = true, .of_root = 1 };
	struct decision d;
	(void)state;

	paths_begin(&p, "(abc)");
	for (int64_t i = 0; i < 100; i++)
		paths_add(&p, "(a)", (const int64_t[]){ 1000 + i, 1000 });
	in = (struct measure_input){ .groups = p.groups,
		.gap = paths_gap(&p, 'b', 'c', 0, false),
		.must = &none,
		.must_not = &none,
		.nlabels = labels_count(p.labels) };
	assert_int_equal(decide_measured(&d, &in, &c, &LIMITS, &p.arena, NULL), 0);
	assert_int_equal(d.what, DECIDE_WAIT);
	assert_int_equal(d.reason, DECIDE_FEW_TRACES);
	paths_end(&p);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(step_1_waits_for_the_least_number_of_traces),
		cmocka_unit_test(half_of_them_suffice_where_one_part_clearly_has_nearly_all),
		cmocka_unit_test(a_tail_waits_for_slow_requests_not_for_traces),
		cmocka_unit_test(step_2_waits_while_the_gap_carries_nothing),
		cmocka_unit_test(step_3_waits_until_the_problem_is_back),
		cmocka_unit_test(step_3_waits_while_requests_vary_much_less_than_all_that_came),
		cmocka_unit_test(step_4_waits_for_the_smaller_side),
		cmocka_unit_test(step_5_follows_a_much_slower_side),
		cmocka_unit_test(step_6_asks_for_the_parts_once_they_matter),
		cmocka_unit_test(step_7_chooses_other_parts_where_these_paths_do_not_stand_for_all),
		cmocka_unit_test(
		    the_parts_of_a_subgroup_too_small_to_carry_the_problem_are_not_those_of_all),
		cmocka_unit_test(steps_8_to_10_wait_until_the_deadline),
		cmocka_unit_test(plenty_of_traces_outweigh_a_small_lead),
		cmocka_unit_test(step_11_is_unsure_only_of_several_parts_of_a_slow_side),
		cmocka_unit_test(steps_12_to_15_narrow_or_spread),
		cmocka_unit_test(
		    the_place_is_lost_if_the_gap_has_no_share_and_its_problem_is_there),
		cmocka_unit_test(the_earliest_step_decides),
		cmocka_unit_test(an_inner_part_counts_whole_and_outer_parts_within_bounds),
		cmocka_unit_test(the_bounds_of_excess_do_not_depend_on_the_order_of_parts),
		cmocka_unit_test(a_part_has_what_it_has_now_or_had_at_each_cut),
		cmocka_unit_test(the_part_that_varies_is_decided_on),
		cmocka_unit_test(without_a_trace_of_the_gap_it_waits_even_after_the_deadline),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
