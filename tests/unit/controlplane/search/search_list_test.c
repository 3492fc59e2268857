/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "fake_port.h"

static const struct hash128 OTHER = { 8, 8 };

static void
a_gap_is_known_where_a_search_began_and_where_it_is(void **state)
{
	struct search *s;
	struct gap gap;
	struct fake f;
	(void)state;

	fake_begin(&f, "(abc)");
	s = fake_search(&f, '(', ')');
	s->at.gap = paths_gap(&f.paths, 'a', 'b', 0, false);
	gap = paths_gap(&f.paths, '(', ')', 0, false);
	assert_true(search_list_has_gap(f.d, &gap));
	gap = paths_gap(&f.paths, 'a', 'b', 3, false); /* at any position */
	assert_true(search_list_has_gap(f.d, &gap));
	gap = paths_gap(&f.paths, 'b', 'c', 0, false);
	assert_false(search_list_has_gap(f.d, &gap));
	fake_end(&f);
}

static void
searches_are_numbered_wait_and_draw_from_generators_of_their_own(void **state)
{
	struct search *a, *b;
	struct fake f;
	(void)state;

	fake_begin(&f, "(abc)");
	a = fake_search(&f, '(', ')');
	b = fake_search(&f, 'a', ')');
	assert_int_equal(a->number, 0);
	assert_int_equal(b->number, 1);
	assert_int_equal(a->phase, SEARCH_WAITING);
	assert_ptr_equal(b->diagnosis, f.d);
	assert_true(rng_next(&a->rng) != rng_next(&b->rng));
	fake_end(&f);
}

static void
a_duplicate_has_the_same_edge_and_requests_and_goes_on_or_has_a_verdict(void **state)
{
	static const struct verdict VERDICT;
	struct search *a, *b;
	struct fake f;
	(void)state;

	fake_begin(&f, "(abc)");
	a = fake_search(&f, 'a', 'b');
	b = fake_search(&f, 'a', 'b');
	assert_false(search_is_duplicate(b)); /* `a` has not begun */
	search_enter(a, SEARCH_SWITCHING);
	assert_true(search_is_duplicate(b));
	assert_false(search_is_duplicate(a));
	b->origin.group_id = OTHER;
	assert_false(search_is_duplicate(b));
	b->origin.group_id = a->origin.group_id;
	b->at.gap = paths_gap(&f.paths, 'b', 'c', 0, false);
	assert_false(search_is_duplicate(b));
	b->at.gap = paths_gap(&f.paths, 'a', 'b', 1, false);
	assert_true(search_is_duplicate(b));
	search_enter(a, SEARCH_ENDED);
	assert_false(search_is_duplicate(b));
	a->outcome.verdict = &VERDICT;
	assert_true(search_is_duplicate(b));
	fake_end(&f);
}

/* The path of the model, "(abc)", was measured for `by`. */
static struct measured
measured_of(struct fake *f, struct member *model, struct part *parts)
{
	static const int64_t TIME[] = { 1000, 2000, 3000, 4000 };

	parts[0] = (struct part){ .gap = paths_gap(&f->paths, 'a', 'b', 0, false),
		.edge = 1,
		.of_gap = 0.6,
		.share = 0.3,
		.carries = 60 };
	parts[1] = (struct part){ .gap = paths_gap(&f->paths, 'b', 'c', 0, false),
		.edge = 2,
		.of_gap = 0.4,
		.share = 0.2,
		.carries = 40 };
	*model = (struct member){ .group = paths_add(&f->paths, "(abc)", TIME) };
	return (struct measured){ .all = { .n = 90, .t = 10, .whole = 200 },
		.model = model,
		.share = 0.5,
		.pooled = 77,
		.parts = parts,
		.nparts = 2 };
}

static void
a_search_beside_has_the_same_requests_and_its_part_of_the_problem(void **state)
{
	struct member model;
	struct measured m;
	struct part parts[2];
	struct search *by, *s;
	struct fake f;
	(void)state;

	fake_begin(&f, "(abc)");
	by = fake_search(&f, '(', ')');
	by->origin.of_group = 0.9;
	by->origin.hypothesis->cost_ns = 1000;
	label_set_add(&by->sides.must, 3);
	label_set_add(&by->sides.must_not, 4);
	label_set_add(&by->enabled.absent, 5);
	m = measured_of(&f, &model, parts);
	assert_int_equal(search_list_add_beside(&f.port, by, &m, &parts[1], NULL), 0);
	assert_int_equal(f.d->nsearches, 2);
	s = f.d->searches[1];
	assert_int_equal(s->phase, SEARCH_WAITING);
	assert_true(search_list_has_beside(by));
	assert_false(search_list_has_beside(s));
	s->phase = SEARCH_ENDED;
	assert_false(search_list_has_beside(by));
	s->outcome.verdict = &(const struct verdict){ 0 };
	assert_true(search_list_has_beside(by));
	s->outcome.verdict = NULL;
	s->phase = SEARCH_WAITING;
	assert_true(gap_same(&s->at.gap, &parts[1].gap));
	assert_true(s->origin.group_id.a == by->origin.group_id.a);
	assert_int_equal(s->origin.problem, by->origin.problem);
	assert_true(label_set_has(&s->sides.must, 3));
	assert_true(label_set_has(&s->sides.must_not, 4));
	assert_true(label_set_has(&s->enabled.absent, 5));
	assert_near(s->origin.of_group, 0.36, 1e-12);
	assert_near(s->origin.share, 0.2, 1e-12);
	assert_near(s->at.share, 0.2, 1e-12);
	assert_near(s->at.carried, 40, 0);
	assert_near(s->origin.hypothesis->cost_ns, 400, 1e-9);
	assert_int_equal(s->origin.hypothesis->parent, by->at.hypothesis->id);
	assert_int_equal(s->origin.hypothesis->settled_traces, 90);
	assert_string_equal(s->origin.hypothesis->edge_from, "s/app:b");
	assert_string_equal(s->origin.hypothesis->edge_to, "s/app:c");
	/* its path is known, so it may begin without a model */
	assert_int_equal(s->at.npath, 5);
	assert_int_equal(s->at.path[s->at.from], f.paths.of['b']);
	assert_int_equal(s->at.path[s->at.to], f.paths.of['c']);
	fake_end(&f);
}

static void
each_part_gets_one_search_up_to_the_most(void **state)
{
	struct member model;
	struct measured m;
	struct part parts[2];
	struct search *by;
	struct fake f;
	(void)state;

	fake_begin(&f, "(abc)");
	by = fake_search(&f, '(', ')');
	m = measured_of(&f, &model, parts);
	for (int i = 0; i < 2; i++)
		assert_int_equal(search_list_add_beside(&f.port, by, &m, &parts[1], NULL), 0);
	assert_int_equal(f.d->nsearches, 2);
	while (f.d->nsearches < SEARCHES_MAX)
		fake_search(&f, '(', ')');
	assert_int_equal(search_list_add_beside(&f.port, by, &m, &parts[0], NULL), 0);
	assert_int_equal(f.d->nsearches, SEARCHES_MAX);
	fake_end(&f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_gap_is_known_where_a_search_began_and_where_it_is),
		cmocka_unit_test(searches_are_numbered_wait_and_draw_from_generators_of_their_own),
		cmocka_unit_test(
		    a_duplicate_has_the_same_edge_and_requests_and_goes_on_or_has_a_verdict),
		cmocka_unit_test(a_search_beside_has_the_same_requests_and_its_part_of_the_problem),
		cmocka_unit_test(each_part_gets_one_search_up_to_the_most),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
