/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "paths.h"

#include "controlplane/search/type_variance.h"

enum { USUAL = 400, FEW = 40 };

/* Requests take the path (bc) in 1 to 1.3 us, and FEW the path (xc), which takes 20 us longer. The times in bc and
 * xc are x, 0 of the other path. */
static void
add_paths(struct paths *p, double *x, double *t)
{
	struct rng rng;

	rng_seed(&rng, 3);
	for (int i = 0; i < USUAL + FEW; i++) {
		bool few = i >= USUAL;
		int64_t ns[] = { 500, 500 + (int64_t)rng_below(&rng, 300) + (few ? 20000 : 0), 40,
			50 };

		paths_add(p, few ? "(xc)" : "(bc)", ns);
		t[i] = (double)(ns[0] + ns[1] + ns[2]);
		x[i] = few ? (double)ns[1] : 0;
	}
}

static struct gap
gap_between(const struct paths *p, char from, char to)
{
	for (uint32_t i = 0; i < groups_count(p->groups); i++) {
		const struct shape *s = &groups_at(p->groups, i)->shape;

		for (uint32_t k = 0; k < s->nedges; k++)
			if (s->edges[k].from == p->of[(int)from] &&
			    s->edges[k].to == p->of[(int)to])
				return gap_of(s, k);
	}
	fail();
	return (struct gap){ 0 };
}

static void
a_slow_group_counts_with_its_distance_from_the_others(void **state)
{
	double x[USUAL + FEW], t[USUAL + FEW], mean_t = 0, m2 = 0, c = 0;
	struct type_variance v;
	struct gap slow, usual;
	struct paths p;
	(void)state;

	paths_begin(&p, "(bxc)");
	add_paths(&p, x, t);
	assert_int_equal(groups_count(p.groups), 2);
	for (int i = 0; i < USUAL; i++)
		mean_t += t[i] / USUAL;
	v = type_variance_of(p.groups, 5000, FEW);
	for (int i = 0; i < USUAL + FEW; i++) {
		m2 += (t[i] - mean_t) * (t[i] - mean_t);
		c += x[i] * (t[i] - mean_t);
	}
	assert_near(v.n, USUAL + FEW, 0);
	assert_int_equal(v.usual.n, USUAL);
	assert_near(v.m2, m2, 1e-9 * m2);
	slow = gap_between(&p, 'x', 'c');
	usual = gap_between(&p, 'b', 'c');
	assert_near(type_variance_gap(&v, &slow), c, 1e-9 * c);
	assert_true(type_variance_gap(&v, &slow) > 0.9 * m2);
	assert_true(type_variance_gap(&v, &usual) < 0.1 * m2);
	assert_near(type_variance_group(&v, groups_at(p.groups, 0)) +
			type_variance_group(&v, groups_at(p.groups, 1)),
	    m2, 1e-9 * m2);
	paths_end(&p);
}

/* Paths take unequally long, which is no problem as such. */
static void
what_lies_between_other_groups_does_not_count(void **state)
{
	double x[USUAL + FEW], t[USUAL + FEW], within = 0;
	const struct type_variance none = { 0 };
	struct type_variance v;
	struct paths p;
	(void)state;

	paths_begin(&p, "(bxc)");
	v = type_variance_of(p.groups, 5000, FEW);
	assert_near(v.m2, none.m2, 0);
	assert_near(v.n, 0, 0);
	add_paths(&p, x, t);
	for (uint32_t i = 0; i < groups_count(p.groups); i++)
		within += groups_at(p.groups, i)->total.m2;
	v = type_variance_of(p.groups, 5000, FEW + 1); /* too few requests to be judged */
	assert_near(v.m2, within, 1e-9 * within);
	v = type_variance_of(p.groups, 50000, FEW); /* not slow */
	assert_near(v.m2, within, 1e-9 * within);
	v = type_variance_of(p.groups, 0, FEW); /* not known what is */
	assert_near(v.m2, within, 1e-9 * within);
	v = type_variance_of(p.groups, 10, FEW); /* all would be */
	assert_near(v.m2, within, 1e-9 * within);
	paths_end(&p);
}

/* A tenth takes (xc) in 5 us, the others (bc) in 100 us, and 3 in 100 of these 10 ms: their mean is beyond 95 in 100 of all. */
static void
the_path_that_most_requests_take_is_not_slow(void **state)
{
	enum { MOST = 900, HITS = 100 };
	double within = 0;
	struct type_variance v;
	struct gap most, few;
	struct paths p;
	(void)state;

	paths_begin(&p, "(bxc)");
	for (int i = 0; i < MOST + HITS; i++) {
		bool hit = i >= MOST;
		int64_t ns[] = { 500, hit ? 5000 : i % 100 < 3 ? 10000000 : 100000, 40, 50 };

		paths_add(&p, hit ? "(xc)" : "(bc)", ns);
	}
	for (uint32_t i = 0; i < groups_count(p.groups); i++)
		within += groups_at(p.groups, i)->total.m2;
	v = type_variance_of(p.groups, 110000, FEW);
	assert_near(v.slow_ns, 0, 0);
	assert_int_equal(v.usual.n, MOST + HITS);
	assert_near(v.n, MOST + HITS, 0);
	assert_near(v.m2, within, 1e-9 * within);
	most = gap_between(&p, 'b', 'c');
	few = gap_between(&p, 'x', 'c');
	assert_near(type_variance_gap(&v, &most), within, 1e-6 * within);
	assert_near(type_variance_gap(&v, &few), 0, 1e-6 * within);
	paths_end(&p);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_slow_group_counts_with_its_distance_from_the_others),
		cmocka_unit_test(what_lies_between_other_groups_does_not_count),
		cmocka_unit_test(the_path_that_most_requests_take_is_not_slow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
