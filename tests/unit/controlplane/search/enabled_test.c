/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "fake_port.h"

static struct pick
pick_of(const struct fake *f, struct search *s, char letter, bool fresh)
{
	return (struct pick){ f->paths.of[(int)letter], fresh, s->origin.hypothesis };
}

static void
turn_on(struct fake *f, struct search *s, char letter, bool fresh)
{
	const struct pick pick = pick_of(f, s, letter, fresh);

	assert_int_equal(enable(&f->port, s, &pick, REASON_SPLITS_EDGE, NULL), 0);
}

static void
a_tracepoint_of_two_searches_is_counted_once_and_stays_until_both_disable_it(void **state)
{
	struct search *a, *b;
	struct fake f;
	(void)state;

	fake_begin(&f, "(abc)");
	a = fake_search(&f, '(', ')');
	b = fake_search(&f, 'a', ')');
	turn_on(&f, a, 'b', true);
	turn_on(&f, b, 'b', true);
	assert_int_equal(f.d->run->tracepoints, 1);
	assert_int_equal(f.enabled, 2);
	disable(&f.port, a, 0, REASON_NO_HELP);
	assert_true(fake_wants(&f, 'b'));
	assert_int_equal(fake_logged(&f, 'b'), 1);
	disable(&f.port, b, 0, REASON_NO_HELP);
	assert_false(fake_wants(&f, 'b'));
	assert_int_equal(fake_logged(&f, 'b'), 0);
	fake_end(&f);
}

static void
what_is_disabled_leaves_the_paths_and_stays_tried(void **state)
{
	struct search *s;
	struct fake f;
	(void)state;

	fake_begin(&f, "(abc)");
	s = fake_search(&f, '(', ')');
	turn_on(&f, s, 'a', false);
	turn_on(&f, s, 'b', true);
	turn_on(&f, s, 'c', false);
	assert_true(has_fresh(s));
	disable(&f.port, s, 1, REASON_NO_HELP);
	assert_false(has_fresh(s));
	assert_int_equal(s->enabled.n, 2);
	assert_int_equal(s->enabled.picks[0].label, f.paths.of['a']);
	assert_int_equal(s->enabled.picks[1].label, f.paths.of['c']);
	assert_false(label_set_has(&s->enabled.labels, f.paths.of['b']));
	assert_true(label_set_has(&s->enabled.labels, f.paths.of['c']));
	assert_true(label_set_has(&s->enabled.tried, f.paths.of['b']));
	s->exploration.hypothesis = s->origin.hypothesis;
	assert_true(has_fresh(s));
	s->exploration.hypothesis = NULL;
	fake_end(&f);
}

static void
each_switch_is_logged_with_what_it_was_for_and_why(void **state)
{
	const struct switched *x;
	struct search *s;
	struct fake f;
	(void)state;

	fake_begin(&f, "(abc)");
	s = fake_search(&f, '(', ')');
	f.d->run->cycles = 3;
	f.port.shed_by = "n1";
	assert_int_equal(enable_candidate(&f.port, s, f.paths.of['a'], NULL), 0);
	x = fake_last_switch(&f);
	assert_true(x->on);
	assert_string_equal(x->tracepoint, "app:a");
	assert_int_equal(x->reason, REASON_SPLITS_EDGE);
	assert_int_equal(x->run, f.d->run->id);
	assert_int_equal(x->cycle, 3);
	assert_int_equal(x->hypothesis, s->enabled.picks[0].hypothesis->id);
	assert_true(x->subject == NULL || x->subject[0] == '\0');
	disable(&f.port, s, 0, REASON_SHED);
	x = fake_last_switch(&f);
	assert_false(x->on);
	assert_int_equal(x->reason, REASON_SHED);
	assert_string_equal(x->subject, "n1");
	fake_end(&f);
}

static void
a_candidate_has_a_hypothesis_of_its_own_below_the_one_that_led_here(void **state)
{
	const struct hypothesis *h;
	struct search *s;
	struct fake f;
	(void)state;

	fake_begin(&f, "(abc)");
	s = fake_search(&f, 'a', 'c');
	assert_int_equal(enable_candidate(&f.port, s, f.paths.of['b'], NULL), 0);
	h = s->enabled.picks[0].hypothesis;
	assert_true(s->enabled.picks[0].fresh);
	assert_int_equal(h->parent, s->at.hypothesis->id);
	assert_int_equal(h->state, HYPOTHESIS_PROBING);
	assert_string_equal(h->tracepoint, "s/app:b");
	assert_string_equal(h->edge_from, "s/app:a");
	assert_string_equal(h->edge_to, "s/app:c");
	fake_end(&f);
}

static void
affordable_is_what_fits_now_and_was_not_over_budget_before(void **state)
{
	struct search *s;
	struct fake f;
	(void)state;

	fake_begin(&f, "(abc)");
	s = fake_search(&f, '(', ')');
	label_set_add(&f.refused, f.paths.of['a']);
	label_set_add(&f.d->over_budget, f.paths.of['b']);
	assert_false(is_affordable(&f.port, s, f.paths.of['a']));
	assert_false(is_affordable(&f.port, s, f.paths.of['b']));
	assert_true(is_affordable(&f.port, s, f.paths.of['c']));
	fake_end(&f);
}

static void
what_is_needed_stays_when_the_rest_is_disabled(void **state)
{
	struct search *s;
	struct fake f;
	(void)state;

	fake_begin(&f, "(abcdef)");
	s = fake_search(&f, 'b', 'c');
	s->at.most = paths_gap(&f.paths, 'a', 'd', 0, false);
	label_set_add(&s->sides.must_not, f.paths.of['f']);
	for (const char *c = "abcdef"; *c != '\0'; c++)
		assert_int_equal(enable_candidate(&f.port, s, f.paths.of[(int)*c], NULL), 0);
	disable_unneeded(&f.port, s, REASON_EDGE_MEASURED);
	for (const char *c = "abcdef"; *c != '\0'; c++)
		assert_int_equal(fake_wants(&f, *c), *c != 'e');
	assert_int_equal(s->enabled.n, 5);
	assert_int_equal(fake_last_switch(&f)->reason, REASON_EDGE_MEASURED);
	fake_end(&f);
}

static void
where_a_path_passes_the_gap_again_the_labels_that_tell_which_time_stay(void **state)
{
	struct search *s;
	struct fake f;
	(void)state;

	for (int only = 0; only < 2; only++) {
		fake_begin(&f, "(abcdef)");
		s = fake_search(&f, 'b', 'c');
		s->at.gap.only = only == 1;
		s->at.most = s->at.gap;
		fake_path(&f, s, "(abcebcd)");
		for (const char *c = "abcdef"; *c != '\0'; c++)
			assert_int_equal(
			    enable_candidate(&f.port, s, f.paths.of[(int)*c], NULL), 0);
		disable_unneeded(&f.port, s, REASON_EDGE_MEASURED);
		assert_true(fake_wants(&f, 'b') && fake_wants(&f, 'c'));
		for (const char *c = "ade"; *c != '\0'; c++)
			assert_int_equal(fake_wants(&f, *c), only == 0);
		assert_false(fake_wants(&f, 'f'));
		fake_end(&f);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
		    a_tracepoint_of_two_searches_is_counted_once_and_stays_until_both_disable_it),
		cmocka_unit_test(what_is_disabled_leaves_the_paths_and_stays_tried),
		cmocka_unit_test(each_switch_is_logged_with_what_it_was_for_and_why),
		cmocka_unit_test(
		    a_candidate_has_a_hypothesis_of_its_own_below_the_one_that_led_here),
		cmocka_unit_test(what_is_needed_stays_when_the_rest_is_disabled),
		cmocka_unit_test(
		    where_a_path_passes_the_gap_again_the_labels_that_tell_which_time_stay),
		cmocka_unit_test(affordable_is_what_fits_now_and_was_not_over_budget_before),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
