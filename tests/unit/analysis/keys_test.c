/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "made.h"

/* Requests whose first edge takes y and whose only point has the field x (or a text). */
static struct group *
add(struct made *m, double y, struct value size, const char *kind)
{
	struct value v[2] = { size,
		{ .type = VALUE_TEXT, .len = (uint32_t)strlen(kind), .text = kind } };

	return made_add(m, (const int64_t[]){ (int64_t)y, 10 }, v, 0);
}

static struct value
number(double x)
{
	return (struct value){ .type = VALUE_REAL, .d = x };
}

/*
 * Anscombe's first data set (The American Statistician, 1973): r = 0.81642; rho = 0.81818 with p =
 * 0.002083.
 */
static void
correlations_equal_published_values(void **state)
{
	static const double x[] = { 10, 8, 13, 9, 11, 14, 6, 4, 12, 7, 5 };
	static const double y[] = { 804, 695, 758, 881, 833, 996, 724, 426, 1084, 482, 568 };
	struct key_finding *found;
	struct group *g = NULL;
	struct made m;
	(void)state;

	made_begin(&m, 2, 100, 1);
	for (int i = 0; i < 11; i++)
		g = add(&m, y[i], number(x[i]), "same");
	assert_int_equal(
	    keys_explain(&found, g, 0, 1, 0, &m.arena, NULL), 1); /* constant keys are not tested */
	assert_true(found[0].numeric);
	assert_int_equal(found[0].n, 11);
	assert_near(found[0].r, 0.81642, 1e-5);
	assert_near(found[0].rho, 0.81818, 1e-5);
	assert_near(found[0].p, 3 * 0.002083, 3e-6); /* the p of rho is the least of three */
	assert_true(found[0].explains <
		    /* r^2 without its most influential point is less */
		    found[0].rho * found[0].rho + 1e-9);
	assert_int_equal(keys_explain(&found, g, 0, 0.001, 0, &m.arena, NULL), 0);
	made_end(&m);
}

/*
 * Three groups of six. Sums of squares of the ranks (1.5 2 ... 17.5), computed by hand: between
 * 261.75, within 220.75. F(2, 15) = 8.893 with p = 0.0028; checked here against F's closed form for
 * 2 degrees of freedom, (1 + 2 F / 15)^(-15 / 2).
 */
static void
categories_are_tested_by_f_on_ranks(void **state)
{
	static const double y[3][6] = { { 6, 8, 4, 5, 3, 4 }, { 8, 12, 9, 11, 6, 8 },
		{ 13, 9, 11, 8, 7, 12 } };
	static const char *const kinds[] = { "a", "b", "c" };
	double between = 0, within = 0, ranks[3][6], f;
	struct key_finding *found;
	struct group *g = NULL;
	struct made m;
	(void)state;

	made_begin(&m, 2, 100, 1);
	for (int i = 0; i < 18; i++)
		g = add(&m, y[i % 3][i / 3], number(7), kinds[i % 3]);
	assert_int_equal(keys_explain(&found, g, 0, 1, 0, &m.arena, NULL), 1);
	assert_false(found[0].numeric);
	assert_near(found[0].share, 84.0 / (84 + 68), 1e-12);
	assert_near(found[0].explains, 1 - 68.0 / 15 / ((84 + 68) / 17.0), 1e-12);
	for (int k = 0; k < 3; k++) {
		double mean = 0;

		for (int i = 0; i < 6; i++) {
			ranks[k][i] = 0.5;
			for (int j = 0; j < 18; j++)
				ranks[k][i] += y[j / 6][j % 6] < y[k][i]    ? 1
				               : y[j / 6][j % 6] == y[k][i] ? 0.5
				                                            : 0;
			mean += ranks[k][i] / 6;
		}
		between += 6 * (mean - 9.5) * (mean - 9.5);
		for (int i = 0; i < 6; i++)
			within += (ranks[k][i] - mean) * (ranks[k][i] - mean);
	}
	f = between / 2 / (within / 15);
	assert_near(found[0].p, pow(1 + 2 * f / 15, -7.5), 1e-12);
	made_end(&m);
}

/*
 * Of 60 requests one was, by chance, both by far the largest and by far the slowest: r is 1, but
 * explains no other request.
 */
static void
a_single_outlier_is_not_significant(void **state)
{
	struct key_finding *found;
	int believed = 0;
	struct rng r;
	(void)state;

	for (uint64_t seed = 0; seed < 50; seed++) {
		struct group *g = NULL;
		struct made m;

		rng_seed(&r, seed);
		made_begin(&m, 2, 100, 1);
		for (int i = 0; i < 60; i++)
			g = add(&m, i == 30 ? 1e9 : 1000 + (double)rng_below(&r, 1000),
			    number(i == 30 ? 1e6 : rng_unit(&r)), i == 30 ? "odd" : "same");
		believed += keys_explain(&found, g, 0, 0.01, 0.5, &m.arena, NULL) != 0;
		if (seed == 0) {
			assert_true(keys_explain(&found, g, 0, 1, 0, &m.arena, NULL) >= 1);
			for (int i = 0; i < 2; i++)
				if (found[i].numeric)
					assert_true(found[i].r > 0.999 && found[i].explains < 0.2);
		}
		made_end(&m);
	}
	assert_int_equal(believed, 0);
}

/*
 * 5 % of the requests are large and these are slow; the size of the others has no effect. The rank
 * correlation over all is small.
 */
static void
a_few_large_slow_requests_are_significant(void **state)
{
	struct key_finding *found;
	struct group *g = NULL;
	struct made m;
	struct rng r;
	(void)state;

	rng_seed(&r, 3);
	made_begin(&m, 2, 200, 1);
	for (int i = 0; i < 200; i++) {
		double size = i % 20 == 0 ? 100 + 50 * rng_unit(&r) : rng_unit(&r);

		g = add(&m, 10000 + 1000 * rng_unit(&r) + (size > 1 ? 1000 * size : 0),
		    number(size), "same");
	}
	assert_int_equal(keys_explain(&found, g, 0, 0.01, 0.5, &m.arena, NULL), 1);
	assert_true(found[0].r > 0.95);
	assert_true(fabs(found[0].rho) < 0.4);
	assert_true(found[0].p < 1e-6);
	made_end(&m);
}

/*
 * 8 edges, of which one depends on its field; judged together, only this one is significant, and
 * its p is corrected for all tests.
 */
static void
p_values_are_corrected_over_all_edges(void **state)
{
	static const uint32_t edges[] = { 5, 0, 3, 1, 2, 4, 6, 7 };
	struct key_finding *found, *alone;
	struct group *g = NULL;
	uint32_t tried;
	struct made m;
	struct rng r;
	(void)state;

	rng_seed(&r, 9);
	made_begin(&m, 8, 300, 1);
	for (int i = 0; i < 300; i++) {
		struct value v[16];
		int64_t x[8];

		for (int e = 0; e < 8; e++) {
			v[2 * e] = number(rng_unit(&r));
			v[2 * e + 1] = (struct value){
				.type = VALUE_TEXT, .len = 1, .text = rng_below(&r, 2) ? "a" : "b"
			};
			x[e] = 1000 + (int64_t)rng_below(&r, 1000);
		}
		x[3] += (int64_t)(3000 * v[4].d); /* a field of the point before it */
		g = made_add(&m, x, v, (uint32_t)rng_below(&r, 3));
	}
	assert_int_equal(
	    keys_explain_edges(&found, g, edges, 8, 0.01, 0.3, &tried, &m.arena, NULL), 1);
	assert_true(tried >= 8 * 15);
	assert_int_equal(found[0].edge, 3);
	assert_int_equal(g->keys[found[0].key].token, 3);
	assert_int_equal(keys_explain(&alone, g, 3, 0.01, 0.3, &m.arena, NULL), 1);
	assert_near(found[0].p / alone[0].p, 8, 1e-6);
	made_end(&m);
}

/*
 * Two processes on each node, two threads in each process. Slower on one node, in one process or on
 * one thread.
 */
static int
slow_in(int kind, enum key_kind *ret)
{
	struct key_finding *found;
	struct group *g = NULL;
	struct made m;
	struct rng r;
	int n;

	rng_seed(&r, 4);
	made_begin(&m, 2, 400, 1);
	for (int i = 0; i < 400; i++) {
		uint32_t thread = (uint32_t)rng_below(&r, 12), process = thread / 2,
			 node = process / 2;
		bool slow = kind == KEY_NODE      ? node == 1
		            : kind == KEY_PROCESS ? process == 2
		                                  : thread == 4;

		m.pid = 100 + process;
		m.tid = 1000 + thread;
		g = made_add(&m,
		    (const int64_t[]){ (slow ? 9000 : 1000) + (int64_t)rng_below(&r, 500), 9 },
		    NULL, node);
	}
	n = keys_explain(&found, g, 0, 0.01, 0.5, &m.arena, NULL);
	if (n > 0)
		*ret = (enum key_kind)g->keys[found[0].key].kind;
	made_end(&m);
	return n;
}

static void
the_coarsest_key_that_explains_is_reported(void **state)
{
	static const enum key_kind kinds[] = { KEY_NODE, KEY_PROCESS, KEY_THREAD };
	(void)state;

	for (size_t i = 0; i < 3; i++) {
		enum key_kind kind = KEY_FIELD;

		assert_true(slow_in(kinds[i], &kind) >= 1);
		assert_int_equal(kind, kinds[i]);
	}
}

static void
keys_that_are_missing_too_often_are_not_tested(void **state)
{
	struct key_finding *found;
	(void)state;

	for (int missing = 19; missing <= 21; missing++) {
		struct made m;
		struct group *g = NULL;

		made_begin(&m, 2, 100, 1);
		for (int i = 0; i < 100; i++)
			g = add(&m, 1000 + i,
			    i < missing ? (struct value){ .type = VALUE_NONE } : number(i), "same");
		assert_int_equal(
		    keys_explain(&found, g, 0, 0.01, 0.5, &m.arena, NULL), missing <= 20);
		made_end(&m);
	}
}

static void
numbers_with_too_many_values_are_no_categories(void **state)
{
	struct key_finding *found;
	struct group *g = NULL;
	struct made m;
	char kind[16];
	(void)state;

	made_begin(&m, 2, 100, 1);
	for (int i = 0; i < 100; i++) {
		snprintf(kind, sizeof kind, "id%d", i);
		g = add(&m, 1000 + i, number(1), kind);
	}
	assert_int_equal(keys_explain(&found, g, 0, 1, 0, &m.arena, NULL), 0);
	made_end(&m);
}

/*
 * 40 points, each with a field that is independent of all times: in 100 runs hardly any is
 * significant.
 */
static void
independent_keys_are_not_significant(void **state)
{
	int believed = 0;
	struct rng r;
	(void)state;

	for (uint64_t seed = 0; seed < 100; seed++) {
		struct key_finding *found;
		struct group *g = NULL;
		struct made m;

		rng_seed(&r, seed);
		made_begin(&m, MADE_MAX, 60, seed);
		for (int i = 0; i < 60; i++) {
			struct value v[2 * MADE_MAX];
			int64_t x[MADE_MAX];

			for (int e = 0; e < MADE_MAX; e++) {
				x[e] = 1000 + (int64_t)rng_below(&r, 1000);
				v[2 * e] = number(rng_unit(&r));
				v[2 * e + 1] = (struct value){ .type = VALUE_TEXT,
					.len = 1,
					.text = rng_below(&r, 2) ? "a" : "b" };
			}
			g = made_add(&m, x, v, (uint32_t)rng_below(&r, 3));
		}
		believed += keys_explain(&found, g, 3, 0.01, 0, &m.arena, NULL) > 0;
		made_end(&m);
	}
	assert_in_range(believed, 0, 5);
}

static void
the_strongest_key_comes_first_and_of_equal_ones_the_nearest(void **state)
{
	struct key_finding *found;
	struct group *g = NULL;
	struct made m;
	struct rng r;
	int n;
	(void)state;

	rng_seed(&r, 1);
	made_begin(&m, 6, 100, 1);
	for (int i = 0; i < 100; i++) {
		struct value v[10];
		int64_t x[6] = { 5, 5, 5, 1000 + 10 * i, 5, 5 };

		for (int e = 0; e < 5;
		     e++) { /* the same field everywhere, and a worse one at the edge */
			v[2 * e] = number(i);
			v[2 * e + 1] = number(e == 3 ? i + 30 * rng_unit(&r) : 0);
		}
		g = made_add(&m, x, v, 0);
	}
	n = keys_explain(&found, g, 3, 0.01, 0.2, &m.arena, NULL);
	assert_int_equal(n, 6);
	/* edge 3 lies between tokens 3 and 4 */
	assert_int_equal(g->keys[found[0].key].token, 3);
	assert_int_equal(g->keys[found[1].key].token, 4);
	assert_near(found[0].r, 1, 1e-9);
	assert_near(found[0].p, 0, 1e-12);
	assert_int_equal(g->keys[found[5].key].field, 1);
	assert_true(found[5].r < 0.999);
	made_end(&m);
}

static void
ranks_detect_nonlinear_dependence(void **state)
{
	struct key_finding *found;
	struct group *g = NULL;
	struct made m;
	(void)state;

	made_begin(&m, 2, 100, 1);
	for (int i = 0; i < 60; i++)
		g = add(&m, 1000 * exp(i / 4.0), (struct value){ .type = VALUE_INT, .i = i - 30 },
		    "same");
	assert_int_equal(keys_explain(&found, g, 0, 0.01, 0.9, &m.arena, NULL), 1);
	assert_near(found[0].rho, 1, 1e-12);
	assert_true(found[0].r < 0.7);
	made_end(&m);
}

static void
the_node_explains_when_one_node_is_slow(void **state)
{
	struct key_finding *found;
	struct group *g = NULL;
	struct made m;
	struct buf out = { 0 };
	struct rng r;
	(void)state;

	rng_seed(&r, 1);
	made_begin(&m, 2, 200, 1);
	for (uint32_t i = 0; i < 200; i++)
		g = made_add(&m,
		    (const int64_t[]){
			(i % 3 == 1 ? 5000 : 1000) + (int64_t)rng_below(&r, 500), 9 },
		    NULL, i % 3);
	assert_int_equal(keys_explain(&found, g, 0, 0.01, 0.5, &m.arena, NULL), 1);
	assert_true(found[0].share > 0.95);
	key_print(g, &g->keys[found[0].key], m.labels, &out);
	buf_u8(&out, 0);
	assert_string_equal((const char *)out.data, "node of s/hone:r0(R)");
	buf_release(&out);
	made_end(&m);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(correlations_equal_published_values),
		cmocka_unit_test(categories_are_tested_by_f_on_ranks),
		cmocka_unit_test(a_single_outlier_is_not_significant),
		cmocka_unit_test(a_few_large_slow_requests_are_significant),
		cmocka_unit_test(p_values_are_corrected_over_all_edges),
		cmocka_unit_test(the_coarsest_key_that_explains_is_reported),
		cmocka_unit_test(keys_that_are_missing_too_often_are_not_tested),
		cmocka_unit_test(numbers_with_too_many_values_are_no_categories),
		cmocka_unit_test(independent_keys_are_not_significant),
		cmocka_unit_test(the_strongest_key_comes_first_and_of_equal_ones_the_nearest),
		cmocka_unit_test(ranks_detect_nonlinear_dependence),
		cmocka_unit_test(the_node_explains_when_one_node_is_slow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
