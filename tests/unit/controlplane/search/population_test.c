/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "paths.h"

#include "controlplane/search/gap.h"
#include "controlplane/search/population.h"

static uint32_t
edge_between(const struct paths *p, const struct group *g, char from, char to)
{
	for (uint32_t i = 0; i < g->shape.nedges; i++)
		if (g->shape.edges[i].from == p->of[(int)from] &&
		    g->shape.edges[i].to == p->of[(int)to])
			return i;
	fail();
	return 0;
}

/* Half of the requests pass b to c as one edge, a quarter as two edges, and a quarter does not
 * pass it. x, t: the true values. */
static struct group *
add_all(struct paths *p, int n, double *x, double *t)
{
	struct group *model = NULL, *g;
	struct rng rng;

	rng_seed(&rng, 7);
	for (int i = 0; i < n; i++) {
		int64_t ns[] = { 1000 + (int64_t)rng_below(&rng, 300),
			20 + (int64_t)rng_below(&rng, 2000), 30, 40, 50 };

		if (i % 4 < 2) {
			model = paths_add(p, "(bc)", ns);
			x[i] = (double)ns[1];
			t[i] = (double)(ns[0] + ns[1] + ns[2]);
		} else {
			g = paths_add(p, i % 4 == 2 ? "(bxc)" : "(ax)", ns);
			assert_ptr_not_equal(g, model);
			x[i] = i % 4 == 2 ? (double)(ns[1] + ns[2]) : 0;
			t[i] = (double)(ns[0] + ns[1] + ns[2] + (i % 4 == 2 ? ns[3] : 0));
		}
	}
	return model;
}

static void
a_population_equals_one_group_of_all_requests(void **state)
{
	enum { N = 400 };
	double x[N], t[N];
	struct comoments c = { 0 };
	struct moments total = { 0 };
	struct moments_high high = { 0 };
	struct population all;
	struct group *model;
	struct paths p;
	(void)state;

	paths_begin(&p, "(abxc)");
	model = add_all(&p, N, x, t);
	for (int i = 0; i < N; i++) {
		comoments_add_high(&c, &x[i], 1, t[i], &total, &high);
		moments_high_add(&high, &total, t[i]);
		moments_add(&total, t[i]);
	}
	assert_int_equal(population_of(&all, p.groups, model, edge_between(&p, model, 'b', 'c'), 1,
			     &p.arena, NULL),
	    0);
	assert_int_equal(all.group.total.n, N);
	assert_int_equal(all.group.nsamples, N);
	assert_int_equal(all.group.shape.nedges, 1);
	assert_near(all.group.total.mean, total.mean, 1e-9 * total.mean);
	assert_near(all.group.total.m2, total.m2, 1e-9 * total.m2);
	assert_near(all.group.total_high.m4, high.m4, 1e-9 * high.m4);
	assert_near(all.group.edges[0].mean_x, c.mean_x, 1e-9 * c.mean_x);
	assert_near(all.group.edges[0].c_xy, c.c_xy, 1e-9 * c.c_xy);
	assert_near(all.group.edges[0].m2_x, c.m2_x, 1e-9 * c.m2_x);
	assert_near(all.group.edges[0].c_xxyy, c.c_xxyy, 1e-9 * c.c_xxyy);
	assert_near(all.group.edges[0].c_xyyy, c.c_xyyy, 1e-9 * c.c_xyyy);
	assert_near(all.passing, 300, 0);
	assert_near(all.passes, 1, 1e-12);
	assert_near(all.within_model, model->edges[1].c_xy / c.c_xy, 1e-9);
	population_release(&all);
	paths_end(&p);
}

/* Reservoirs of 16 requests each: the sample of all requests takes from each group in proportion
 * to its requests. */
static void
samples_are_in_proportion_to_traffic(void **state)
{
	struct groups_options o = { .groups_max = 8, .samples_max = 16, .seed = 1 };
	uint32_t with = 0;
	struct population all;
	struct group *model = NULL;
	struct paths p;
	(void)state;

	paths_begin(&p, "(abc)");
	groups_free(p.groups);
	p.groups = groups_new(&o, p.labels);
	for (int i = 0; i < 200; i++)
		if (i % 10 == 0)
			model = paths_add(&p, "(bc)", (const int64_t[]){ 10, 10 + i, 10 });
		else
			paths_add(&p, "(a)", (const int64_t[]){ 10, 10 + i });
	assert_int_equal(population_of(&all, p.groups, model, 1, 1, &p.arena, NULL), 0);
	assert_int_equal(all.group.total.n, 200);
	assert_true(all.group.nsamples >= 16 && all.group.nsamples <= 19);
	for (uint32_t i = 0; i < all.group.nsamples; i++)
		with += all.group.samples[i].edges_ns[0] > 0;
	assert_true(with >= 1 && with <= 3);
	assert_near(all.passing, 20, 0);
	population_release(&all);
	paths_end(&p);
}

/* A loop that iterated 2 to 4 times in some requests, once in others, and was not passed by the
 * rest. */
static void
iterations_of_a_loop_that_a_path_lacks_are_0(void **state)
{
	static const char *const PATHS[] = { "(ac)", "(abc)", "(abbc)", "(abbbbc)" };
	static const int64_t NS[] = { 10, 20, 30, 40, 50, 60, 70 };
	uint32_t n[5] = { 0 }, loop = UINT32_MAX;
	struct population all;
	struct group *model = NULL;
	struct paths p;
	(void)state;

	paths_begin(&p, "(abc)");
	for (int i = 0; i < 40; i++)
		model = paths_add(&p, PATHS[i % 4], NS);
	for (uint32_t i = 0; i < model->nkeys; i++)
		loop = model->keys[i].kind == KEY_ITERATIONS ? i : loop;
	assert_int_not_equal(loop, UINT32_MAX);
	assert_int_equal(population_of(&all, p.groups, model, edge_between(&p, model, 'b', 'b'), 1,
			     &p.arena, NULL),
	    0);
	for (uint32_t i = 0; i < all.group.nsamples; i++)
		n[(int)all.group.samples[i].keys[loop]]++;
	assert_int_equal(n[0], 10);
	assert_int_equal(n[1], 10);
	assert_int_equal(n[2], 10);
	assert_int_equal(n[4], 10);
	/* the back edge was taken once by some requests, three times by others */
	assert_near(all.passing, 20, 0);
	assert_near(all.passes, 2, 1e-12);
	population_release(&all);
	paths_end(&p);
}

/* Two groups whose reservoirs are full keep their 8 slowest requests, and a third one has all of its. Beyond
 * the time from which all groups know all requests, so does the population. */
static void
the_slowest_of_a_population_are_those_of_all_groups(void **state)
{
	struct groups_options o = {
		.groups_max = 8, .samples_max = 16, .slow_max = 8, .tail_ns = 1175, .seed = 1
	};
	int64_t least = 0;
	struct population all;
	struct group *model = NULL;
	struct paths p;
	(void)state;

	paths_begin(&p, "(abc)");
	groups_free(p.groups);
	p.groups = groups_new(&o, p.labels);
	for (int i = 0; i < 200; i++)
		if (i % 20 == 0)
			paths_add(&p, "(c)", (const int64_t[]){ 1000 + i, 0 });
		else if (i % 2 == 0)
			model = paths_add(&p, "(bc)", (const int64_t[]){ 0, 1000 + i, 0 });
		else
			paths_add(&p, "(a)", (const int64_t[]){ 1000 + i, 0 });
	assert_int_equal(population_of(&all, p.groups, model, 1, 1, &p.arena, NULL), 0);
	assert_int_equal(all.group.ntail, 24);
	/* of "(bc)" the 8 slowest begin at 1182, of "(a)" at 1185 */
	assert_int_equal(all.group.nslow, 8 + 7);
	for (uint32_t i = 0; i < all.group.nslow; i++) {
		least = all.group.slow[i].total_ns;
		assert_true(least >= 1185);
		assert_true(least >= all.group.slow[0].total_ns);
	}
	population_release(&all);
	paths_end(&p);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_population_equals_one_group_of_all_requests),
		cmocka_unit_test(samples_are_in_proportion_to_traffic),
		cmocka_unit_test(iterations_of_a_loop_that_a_path_lacks_are_0),
		cmocka_unit_test(the_slowest_of_a_population_are_those_of_all_groups),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
