/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "fake_port.h"

#include "controlplane/search/propose.h"
#include "tests/unit/searchspace/made.h"

static const char PROGRAM[] = "(abcdef)";
enum { POINTS = 6 };

/* A search for the gap of the whole request, of which all points were learned. */
static struct search *
begin(struct fake *f)
{
	struct search *s;

	fake_begin(f, PROGRAM);
	f->d->strategy = strategy_find("flat");
	fake_learn(f, PROGRAM);
	s = fake_search(f, '(', ')');
	fake_path(f, s, "()");
	return s;
}

static void
candidates_are_learned_points_inside_the_gap_that_were_not_tried(void **state)
{
	struct search *s;
	struct fake f;
	(void)state;

	s = begin(&f);
	assert_int_equal(count_candidates(&f.port, s, NULL), POINTS);
	label_set_add(&s->enabled.tried, f.paths.of['b']);
	assert_int_equal(count_candidates(&f.port, s, NULL), POINTS - 1);
	assert_int_equal(enable_candidate(&f.port, s, f.paths.of['c'], NULL), 0);
	label_set_del(&s->enabled.tried, f.paths.of['c']);
	assert_int_equal(count_candidates(&f.port, s, NULL), POINTS - 2);
	s->at.gap = paths_gap(&f.paths, 'c', ')', 0, false);
	fake_path(&f, s, "(c)");
	assert_int_equal(count_candidates(&f.port, s, NULL), 3);
	fake_end(&f);
}

static void
labels_of_the_preload_layer_are_no_candidates(void **state)
{
	static const char *const PATTERNS[] = { "lttng_ust_*", NULL };
	struct search *s;
	struct fake f;
	(void)state;

	fake_begin(&f, "(ab)");
	fake_label(&f, 'L', "s/lttng_ust_libc:malloc");
	fake_learn(&f, "(aLb)");
	s = fake_search(&f, '(', ')');
	fake_path(&f, s, "()");
	assert_int_equal(count_candidates(&f.port, s, NULL), 3);
	preload_init(&f.preload, PATTERNS, f.port.labels);
	assert_int_equal(count_candidates(&f.port, s, NULL), 2);
	fake_end(&f);
}

/* For each set of points that are over budget. */
static void
nothing_over_budget_is_enabled_and_the_nearest_affordable_is_taken(void **state)
{
	int wanted = -1;
	(void)state;

	for (unsigned refused = 0; refused < 1u << POINTS; refused++) {
		struct search *s;
		struct fake f;
		int n, nearest = POINTS, taken;

		s = begin(&f);
		for (int i = 0; i < POINTS; i++)
			if (refused >> i & 1)
				label_set_add(&f.refused, f.paths.of['a' + i]);
		n = propose(&f.port, s, NULL);
		assert_int_equal(n, refused != (1u << POINTS) - 1);
		assert_int_equal(s->enabled.n, n);
		assert_int_equal(f.d->run->cycles, n);
		if (n == 0) {
			fake_end(&f);
			continue;
		}
		taken = (int)(s->enabled.picks[0].label - f.paths.of['a']);
		wanted = wanted < 0 ? taken : wanted;
		assert_false(refused >> taken & 1);
		assert_true(s->enabled.picks[0].fresh);
		for (int i = 0; i < POINTS; i++)
			if (!(refused >> i & 1) && abs(i - wanted) < nearest)
				nearest = abs(i - wanted);
		assert_int_equal(abs(taken - wanted), nearest);
		assert_int_equal(s->budget.left_out, 0);
		fake_end(&f);
	}
}

static void
when_all_are_over_budget_they_are_counted_and_the_gap_is_given_up_once(void **state)
{
	struct hypothesis *h;
	uint32_t given_up = 0;
	struct search *s;
	struct fake f;
	uint64_t at = 0;
	(void)state;

	s = begin(&f);
	for (int i = 0; i < POINTS; i++)
		label_set_add(&f.refused, f.paths.of['a' + i]);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(propose(&f.port, s, NULL), 0);
		assert_int_equal(s->budget.left_out, POINTS);
		assert_int_equal(f.d->run->cycles, 0);
		assert_int_equal(plan_count(f.port.plan), 0);
	}
	while ((h = forest_next(f.port.forest, f.d->run->id, &at)) != NULL)
		given_up += h->state == HYPOTHESIS_WITHDRAWN && h->reason == REASON_OVER_BUDGET;
	assert_int_equal(given_up, 1);
	fake_end(&f);
}

static void
a_cycle_enables_as_many_cuts_as_it_may_and_remembers_the_most_at_once(void **state)
{
	struct search *s;
	struct fake f;
	(void)state;

	s = begin(&f);
	f.d->k = 3;
	assert_int_equal(propose(&f.port, s, NULL), 3);
	assert_int_equal(f.d->npicks, 3);
	assert_int_equal(f.d->run->tracepoints_most, 3);
	assert_int_equal(f.d->run->cycles, 1);
	assert_int_equal(propose(&f.port, s, NULL), 3);
	assert_int_equal(propose(&f.port, s, NULL), 0); /* each once */
	assert_int_equal(f.d->run->tracepoints_most, POINTS);
	assert_int_equal(f.d->run->cycles, 2);
	assert_int_equal(plan_count(f.port.plan), POINTS);
	fake_end(&f);
}

static void
between_two_sides_only_what_both_pass_is_a_candidate(void **state)
{
	struct search *s;
	struct fake f;
	(void)state;

	fake_begin(&f, "(abc)");
	fake_learn(&f, "(ac)");
	fake_learn(&f, "(abc)");
	s = fake_search(&f, '(', ')');
	fake_path(&f, s, "()");
	assert_int_equal(count_candidates(&f.port, s, NULL), 3);
	s->sides.separation.label = f.paths.of['b'];
	assert_int_equal(count_candidates(&f.port, s, NULL), 2);
	s->sides.followed = SIDE_SLOW;
	assert_int_equal(count_candidates(&f.port, s, NULL), 3);
	fake_end(&f);
}

/* a and d are passed once, and d only behind c; b leads from everywhere to everywhere. */
static void
what_a_request_passes_once_comes_first_and_what_it_passes_outside_never(void **state)
{
	struct search *s;
	struct fake f;
	(void)state;

	fake_begin(&f, "(babcbdb)");
	fake_learn(&f, "(babcbdb)");
	s = fake_search(&f, '(', 'c');
	fake_path(&f, s, "(c)");
	assert_int_equal(count_candidates(&f.port, s, NULL), 1);
	label_set_add(&f.refused, f.paths.of['a']); /* over the budget, it hides nothing */
	assert_int_equal(count_candidates(&f.port, s, NULL), 2);
	label_set_add(&s->enabled.tried, f.paths.of['a']);
	assert_int_equal(count_candidates(&f.port, s, NULL), 1);
	label_set_add(&s->enabled.tried, f.paths.of['b']);
	assert_int_equal(count_candidates(&f.port, s, NULL), 0);
	fake_end(&f);
}

/* Of two units, each of which passes a once. */
static void
what_a_request_passes_once_where_the_gap_is_comes_before_what_it_passes_often_there(void **state)
{
	struct match_path path;
	struct search *s;
	struct fake f;
	(void)state;

	fake_begin(&f, "()");
	learn(f.port.space, f.port.labels, "R F1 J1 F2 J2 E | U1 a V1 | U2 b b a b V2");
	path = made_path(f.port.labels, "R F1 | U1 V1 | J1 F2 | U2 V2 | J2 E");
	f.d->type = label_of(f.port.labels, "R");
	s = fake_search(&f, '(', ')');
	s->at.path = (uint32_t *)path.tokens;
	s->at.units = (uint32_t *)path.units;
	s->at.npath = path.ntokens;
	s->at.from = 6;
	s->at.to = 7;
	assert_int_equal(count_candidates(&f.port, s, NULL), 1);
	label_set_add(&s->enabled.tried, label_of(f.port.labels, "a"));
	assert_int_equal(count_candidates(&f.port, s, NULL), 1);
	label_set_add(&s->enabled.tried, label_of(f.port.labels, "b"));
	assert_int_equal(count_candidates(&f.port, s, NULL), 0);
	fake_end(&f);
}

static void
the_newest_is_disabled_first_and_is_over_budget_from_then_on(void **state)
{
	struct search *s;
	struct fake f;
	(void)state;

	s = begin(&f);
	assert_int_equal(enable_candidate(&f.port, s, f.paths.of['a'], NULL), 0);
	s->enabled.picks[0].fresh = false;
	assert_int_equal(enable_candidate(&f.port, s, f.paths.of['c'], NULL), 0);
	assert_int_equal(enable_candidate(&f.port, s, f.paths.of['e'], NULL), 0);
	assert_true(disable_newest(&f.port, s));
	assert_false(fake_wants(&f, 'e'));
	assert_true(fake_wants(&f, 'c'));
	assert_false(is_affordable(&f.port, s, f.paths.of['e']));
	assert_false(label_set_has(&s->enabled.tried, f.paths.of['e']));
	assert_int_equal(f.audits, 1);
	assert_int_equal(f.audited.actor, ACTOR_BUDGET);
	assert_int_equal(f.audited.action, ACTION_DISABLE_ONE);
	assert_true(disable_newest(&f.port, s));
	assert_false(disable_newest(&f.port, s)); /* 'a' was settled */
	assert_true(fake_wants(&f, 'a'));
	assert_int_equal(fake_last_switch(&f)->reason, REASON_OVER_BUDGET);
	fake_end(&f);
}

/* A request passes 'a' once, 'b' 33 times, and 'c' twice. */
static void
what_is_passed_nearly_as_often_as_what_made_an_agent_shed_load_is_not_tried(void **state)
{
	static const char LOOPS[] = "(a"
				    "bbbbbbbbbbb"
				    "bbbbbbbbbbb"
				    "bbbbbbbbbbb"
				    "cc)",
			  SHED[] = "-acb";
	(void)state;

	for (const char *shed = SHED; *shed != '\0'; shed++) {
		bool b = *shed == '-' || *shed == 'a', c = b || *shed == 'b';
		struct search *s;
		struct fake f;

		fake_begin(&f, LOOPS);
		f.d->strategy = strategy_find("exhaustive");
		fake_learn(&f, LOOPS);
		s = fake_search(&f, '(', ')');
		fake_path(&f, s, "()");
		assert_true(
		    label_set_add(&s->enabled.tried, f.paths.of['a'])); /* else it alone is tried */
		if (*shed != '-') {
			assert_int_equal(
			    enable_candidate(&f.port, s, f.paths.of[(int)*shed], NULL), 0);
			s->enabled.picks[0].passes = *shed == 'a' ? 1 : *shed == 'b' ? 33 : 2;
			avoid_as_often(s);
			assert_int_equal(f.d->disturbed, *shed != 'a');
			disable(&f.port, s, 0, REASON_SHED);
			if (*shed != 'a')
				label_set_del(&s->enabled.tried, f.paths.of[(int)*shed]);
		}
		assert_int_equal(propose(&f.port, s, NULL), b + c);
		assert_int_equal(fake_wants(&f, 'b'), b);
		assert_int_equal(fake_wants(&f, 'c'), c);
		assert_int_equal(s->budget.left_out, b || c ? 0 : 2);
		for (uint32_t i = 0; i < s->enabled.n; i++)
			assert_true(s->enabled.picks[i].passes ==
				    (s->enabled.picks[i].label == f.paths.of['b'] ? 33 : 2));
		fake_end(&f);
	}
}

static void
of_the_preload_layer_the_whole_cycle_is_disabled(void **state)
{
	struct search *s;
	struct fake f;
	(void)state;

	s = begin(&f);
	assert_int_equal(enable_candidate(&f.port, s, f.paths.of['c'], NULL), 0);
	assert_int_equal(enable_candidate(&f.port, s, f.paths.of['e'], NULL), 0);
	search_set_task(s, TASK_PROBE_LAYER);
	assert_true(disable_newest(&f.port, s));
	assert_int_equal(plan_count(f.port.plan), 0);
	fake_end(&f);
}

static void
ends_that_are_not_always_on_are_enabled_or_the_one_over_budget_named(void **state)
{
	uint32_t over_budget;
	struct search *s;
	struct fake f;
	(void)state;

	fake_begin(&f, PROGRAM);
	s = fake_search(&f, 'b', ')');
	s->at.gap.only = true;
	label_set_add(&s->sides.must_not, f.paths.of['e']);
	fake_path(&f, s, "(abc)");
	assert_int_equal(enable_ends(&f.port, s, &over_budget, NULL), 0);
	assert_int_equal(over_budget, LABEL_NONE);
	assert_true(fake_wants(&f, 'b'));
	assert_true(fake_wants(&f, 'e'));
	assert_int_equal(plan_count(f.port.plan), 2);
	assert_false(has_fresh(s));
	search_end(&f.port, s, REASON_NONE);

	s = fake_search(&f, 'c', ')');
	s->at.gap.only = true;
	fake_path(&f, s, "(abc)");
	label_set_add(&f.refused, f.paths.of['c']);
	assert_int_equal(enable_ends(&f.port, s, &over_budget, NULL), 0);
	assert_int_equal(over_budget, f.paths.of['c']);
	assert_int_equal(plan_count(f.port.plan), 0);
	fake_end(&f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(candidates_are_learned_points_inside_the_gap_that_were_not_tried),
		cmocka_unit_test(labels_of_the_preload_layer_are_no_candidates),
		cmocka_unit_test(
		    nothing_over_budget_is_enabled_and_the_nearest_affordable_is_taken),
		cmocka_unit_test(
		    when_all_are_over_budget_they_are_counted_and_the_gap_is_given_up_once),
		cmocka_unit_test(
		    a_cycle_enables_as_many_cuts_as_it_may_and_remembers_the_most_at_once),
		cmocka_unit_test(between_two_sides_only_what_both_pass_is_a_candidate),
		cmocka_unit_test(
		    what_a_request_passes_once_comes_first_and_what_it_passes_outside_never),
		cmocka_unit_test(
		    what_a_request_passes_once_where_the_gap_is_comes_before_what_it_passes_often_there),
		cmocka_unit_test(the_newest_is_disabled_first_and_is_over_budget_from_then_on),
		cmocka_unit_test(
		    what_is_passed_nearly_as_often_as_what_made_an_agent_shed_load_is_not_tried),
		cmocka_unit_test(of_the_preload_layer_the_whole_cycle_is_disabled),
		cmocka_unit_test(
		    ends_that_are_not_always_on_are_enabled_or_the_one_over_budget_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
