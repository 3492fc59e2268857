/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "fake_port.h"

#include "controlplane/search/watch.h"

/* n requests of that path in the groups of the diagnosis; in `tenths` of ten requests the edge
 * `slow` takes `slow_ns` longer. */
static struct group *
add_often(struct fake *f, const char *letters, int n, int slow, int64_t slow_ns, int tenths)
{
	int64_t time_ns[PATH_MAX_STEPS];
	struct group *group = NULL;

	f->d->groups = f->paths.groups;
	for (int i = 0; i < n; i++) {
		fake_times(f, letters, -1, time_ns);
		time_ns[slow] += i % 10 < tenths ? slow_ns : 0;
		group = paths_add(&f->paths, letters, time_ns);
	}
	return group;
}

static struct group *
add(struct fake *f, const char *letters, int n, int slow, int64_t slow_ns)
{
	return add_often(f, letters, n, slow, slow_ns, 3);
}

/* The groups are owned by the kit, which frees them. */
static void
end(struct fake *f)
{
	f->d->groups = NULL;
	fake_end(f);
}

static void
groups_are_returned_costliest_first(void **state)
{
	struct eligible x[ELIGIBLE_MAX];
	struct group *small, *large, *middle;
	struct fake f;
	(void)state;

	fake_begin(&f, "(abc)");
	small = add(&f, "(a)", 200, 1, 5 * MS_NS);
	large = add(&f, "(b)", 200, 1, 50 * MS_NS);
	middle = add(&f, "(c)", 200, 1, 15 * MS_NS);
	assert_int_equal(eligible_groups(x, &f.port, f.d, false, NULL), 3);
	assert_ptr_equal(x[0].group, large);
	assert_ptr_equal(x[1].group, middle);
	assert_ptr_equal(x[2].group, small);
	for (int i = 0; i < 3; i++) {
		assert_ptr_equal(x[i].judged->group, x[i].group);
		assert_int_equal(x[i].judged->finding.problem, PROBLEM_UNPREDICTABLE);
		assert_int_equal(x[i].judged->n, 200);
	}
	end(&f);
}

/* The estimate by which groups are selected ranks rare long waits higher than their cost. */
static void
the_order_is_that_of_cost_not_of_the_estimate(void **state)
{
	struct eligible x[ELIGIBLE_MAX];
	struct group *rare, *often;
	struct fake f;
	(void)state;

	fake_begin(&f, "(ab)");
	rare = add_often(&f, "(a)", 200, 1, 30 * MS_NS, 1);
	often = add_often(&f, "(b)", 200, 1, 15 * MS_NS, 3);
	assert_int_equal(eligible_groups(x, &f.port, f.d, false, NULL), 2);
	assert_ptr_equal(f.d->watched->judged[0].group, rare);
	assert_ptr_equal(x[0].group, often);
	assert_true(x[0].judged->finding.cost_ns > x[1].judged->finding.cost_ns);
	end(&f);
}

static void
steady_groups_and_those_of_few_traces_are_not_eligible(void **state)
{
	struct eligible x[ELIGIBLE_MAX];
	struct group *group;
	struct fake f;
	(void)state;

	fake_begin(&f, "(abc)");
	add(&f, "(a)", 300, 1, 0);
	add(&f, "(b)", 29, 1, 50 * MS_NS);
	group = add(&f, "(c)", 100, 1, 50 * MS_NS);
	assert_int_equal(eligible_groups(x, &f.port, f.d, false, NULL), 1);
	assert_ptr_equal(x[0].group, group);
	assert_int_equal(
	    f.d->watched->n, 2); /* the predictable group is judged, the small one is not */
	end(&f);
}

static void
of_many_groups_those_of_highest_rank_are_judged(void **state)
{
	static const char LETTERS[] = "abcdefghijklmnopqrst";
	struct eligible x[ELIGIBLE_MAX];
	struct fake f;
	char path[] = "(?)";
	int n = (int)strlen(LETTERS);
	(void)state;

	fake_begin(&f, "(abcdefghijklmnopqrst)");
	for (int i = 0; i < n; i++) {
		path[1] = LETTERS[i];
		add(&f, path, 100, 1, (5 + 10 * i) * MS_NS);
	}
	assert_int_equal(eligible_groups(x, &f.port, f.d, false, NULL), ELIGIBLE_MAX);
	for (int i = 0; i < ELIGIBLE_MAX; i++)
		assert_ptr_equal(x[i].group, groups_at(f.d->groups, (uint32_t)(n - 1 - i)));
	end(&f);
}

static void
a_group_is_judged_again_with_a_sixteenth_more_traces_or_after_the_deadline(void **state)
{
	struct eligible x[ELIGIBLE_MAX];
	struct fake f;
	(void)state;

	fake_begin(&f, "(a)");
	add(&f, "(a)", 160, 1, 50 * MS_NS);
	assert_int_equal(eligible_groups(x, &f.port, f.d, false, NULL), 1);
	add(&f, "(a)", 10, 1, 50 * MS_NS);
	assert_int_equal(eligible_groups(x, &f.port, f.d, false, NULL), 1);
	assert_int_equal(x[0].judged->n, 160);
	add(&f, "(a)", 1, 1, 50 * MS_NS);
	assert_int_equal(eligible_groups(x, &f.port, f.d, false, NULL), 1);
	assert_int_equal(x[0].judged->n, 171);
	add(&f, "(a)", 1, 1, 50 * MS_NS);
	assert_int_equal(eligible_groups(x, &f.port, f.d, true, NULL), 1);
	assert_int_equal(x[0].judged->n, 172);
	end(&f);
}

static void
a_finding_stays_with_its_group_when_ranks_change(void **state)
{
	struct eligible x[ELIGIBLE_MAX];
	struct group *a, *b;
	struct fake f;
	(void)state;

	fake_begin(&f, "(abc)");
	a = add(&f, "(a)", 200, 1, 20 * MS_NS);
	b = add(&f, "(bc)", 200, 2, 10 * MS_NS);
	assert_int_equal(eligible_groups(x, &f.port, f.d, false, NULL), 2);
	assert_ptr_equal(x[0].group, a);
	add(&f, "(bc)", 400, 2, 100 * MS_NS);
	assert_int_equal(eligible_groups(x, &f.port, f.d, false, NULL), 2);
	assert_ptr_equal(x[0].group, b);
	assert_int_equal(x[0].judged->finding.nedges, 3);
	assert_int_equal(x[0].judged->finding.top, 2);
	assert_int_equal(x[1].judged->finding.nedges, 2);
	assert_int_equal(x[1].judged->n, 200);
	end(&f);
}

static void
a_group_is_sure_when_one_edge_stands_out_or_it_has_plenty_of_traces(void **state)
{
	struct eligible x[ELIGIBLE_MAX];
	int64_t time_ns[3];
	struct fake f;
	(void)state;

	fake_begin(&f, "(ab)");
	add(&f, "(a)", 100, 1, 50 * MS_NS);
	assert_int_equal(eligible_groups(x, &f.port, f.d, false, NULL), 1);
	assert_int_equal(eligible_surely(&x[0], &f.port, f.d, false, NULL), 1);
	assert_true(x[0].judged->finding.edges[1].interval.low <
		    x[0].judged->finding.edges[1].interval.high);
	end(&f);

	fake_begin(&f, "(ab)");
	f.d->groups = f.paths.groups;
	for (int i = 0; i < NEXT_PLENTY; i++) { /* two edges with equally distributed times */
		fake_times(&f, "(ab)", -1, time_ns);
		for (int k = 0; k < 2; k++)
			time_ns[k] += rng_below(&f.rng, 10) < 3 ? 30 * MS_NS : 0;
		paths_add(&f.paths, "(ab)", time_ns);
		if (i + 1 < 100)
			continue;
		assert_int_equal(eligible_groups(x, &f.port, f.d, false, NULL), 1);
		assert_int_equal(
		    eligible_surely(&x[0], &f.port, f.d, false, NULL), i + 1 == NEXT_PLENTY);
		assert_int_equal(eligible_surely(&x[0], &f.port, f.d, true, NULL), 1);
		assert_int_equal(x[0].judged->n, i + 1); /* the group is judged by all its traces */
	}
	end(&f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(groups_are_returned_costliest_first),
		cmocka_unit_test(the_order_is_that_of_cost_not_of_the_estimate),
		cmocka_unit_test(steady_groups_and_those_of_few_traces_are_not_eligible),
		cmocka_unit_test(of_many_groups_those_of_highest_rank_are_judged),
		cmocka_unit_test(
		    a_group_is_judged_again_with_a_sixteenth_more_traces_or_after_the_deadline),
		cmocka_unit_test(a_finding_stays_with_its_group_when_ranks_change),
		cmocka_unit_test(
		    a_group_is_sure_when_one_edge_stands_out_or_it_has_plenty_of_traces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
