/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "made.h"

/* Requests whose first edge takes y, and whose only point carries x (or a text). */
static struct group *
add(struct made *m, double y, struct value size, const char *kind)
{
	struct value v[2] = { size, { .type = VALUE_TEXT, .len = (uint32_t)strlen(kind), .text = kind } };

	return made_add(m, (const int64_t[]){ (int64_t)y, 10 }, v, 0);
}

static struct value
number(double x)
{
	return (struct value){ .type = VALUE_REAL, .d = x };
}

/* Anscombe's first data set (The American Statistician, 1973): r = 0.81642, p = 0.00217, rho = 0.81818. */
static void
correlations_are_the_known_ones(void **state)
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
	assert_int_equal(keys_explain(&found, g, 0, 1, 0, &m.arena, NULL), 1);	/* constant ones are not tried */
	assert_true(found[0].numeric);
	assert_int_equal(found[0].n, 11);
	assert_near(found[0].r, 0.81642, 1e-5);
	assert_near(found[0].rho, 0.81818, 1e-5);
	assert_near(found[0].p, 2 * 0.002083, 2e-6);	/* the smaller, of rho, twice */
	assert_int_equal(keys_explain(&found, g, 0, 0.001, 0, &m.arena, NULL), 0);
	made_end(&m);
}

/* Three groups of six: means 5, 9, 10; F(2, 15) = 9.2647, p = 0.0024; between 84, within 68. */
static void
categories_are_judged_by_the_known_f(void **state)
{
	static const double y[3][6] = { { 6, 8, 4, 5, 3, 4 }, { 8, 12, 9, 11, 6, 8 }, { 13, 9, 11, 8, 7, 12 } };
	static const char *const kinds[] = { "a", "b", "c" };
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
	assert_near(found[0].p, 0.0023988, 1e-6);
	made_end(&m);
}

static void
keys_that_are_missing_too_often_are_not_tried(void **state)
{
	struct key_finding *found;
	(void)state;

	for (int missing = 19; missing <= 21; missing++) {
		struct made m;
		struct group *g = NULL;

		made_begin(&m, 2, 100, 1);
		for (int i = 0; i < 100; i++)
			g = add(&m, 1000 + i, i < missing ? (struct value){ .type = VALUE_NONE } : number(i), "same");
		assert_int_equal(keys_explain(&found, g, 0, 0.01, 0.5, &m.arena, NULL), missing <= 20);
		made_end(&m);
	}
}

static void
numbers_that_are_as_many_as_requests_do_not_make_categories(void **state)
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

/* 40 points with a number each that has nothing to do with anything: over 100 runs, hardly one is believed. */
static void
what_has_nothing_to_do_with_it_is_not_believed(void **state)
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
				v[2 * e + 1] = (struct value){ .type = VALUE_TEXT, .len = 1, .text = rng_below(&r, 2) ? "a" : "b" };
			}
			g = made_add(&m, x, v, (uint32_t)rng_below(&r, 3));
		}
		believed += keys_explain(&found, g, 3, 0.01, 0, &m.arena, NULL) > 0;
		made_end(&m);
	}
	assert_in_range(believed, 0, 5);
}

static void
the_best_comes_first_and_the_nearest_of_equals(void **state)
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

		for (int e = 0; e < 5; e++) {	/* the same number everywhere, and a worse one at the edge */
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
ranks_see_what_is_not_a_line(void **state)
{
	struct key_finding *found;
	struct group *g = NULL;
	struct made m;
	(void)state;

	made_begin(&m, 2, 100, 1);
	for (int i = 0; i < 60; i++)
		g = add(&m, 1000 * exp(i / 4.0), (struct value){ .type = VALUE_INT, .i = i - 30 }, "same");
	assert_int_equal(keys_explain(&found, g, 0, 0.01, 0.9, &m.arena, NULL), 1);
	assert_near(found[0].rho, 1, 1e-12);
	assert_true(found[0].r < 0.7);
	made_end(&m);
}

static void
the_node_explains_when_one_is_slow(void **state)
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
		g = made_add(&m, (const int64_t[]){ (i % 3 == 1 ? 5000 : 1000) + (int64_t)rng_below(&r, 500), 9 }, NULL, i % 3);
	assert_int_equal(keys_explain(&found, g, 0, 0.01, 0.5, &m.arena, NULL), 1);
	assert_true(found[0].share > 0.95);
	key_print(g, &g->keys[found[0].key], m.labels, &out);
	assert_int_equal(out.len, 4);
	assert_memory_equal(out.data, "node", 4);
	buf_release(&out);
	made_end(&m);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(correlations_are_the_known_ones),
		cmocka_unit_test(categories_are_judged_by_the_known_f),
		cmocka_unit_test(keys_that_are_missing_too_often_are_not_tried),
		cmocka_unit_test(numbers_that_are_as_many_as_requests_do_not_make_categories),
		cmocka_unit_test(what_has_nothing_to_do_with_it_is_not_believed),
		cmocka_unit_test(the_best_comes_first_and_the_nearest_of_equals),
		cmocka_unit_test(ranks_see_what_is_not_a_line),
		cmocka_unit_test(the_node_explains_when_one_is_slow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
