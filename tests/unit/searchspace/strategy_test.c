/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "searchspace/strategy.h"

static uint32_t
flat(uint32_t n, uint32_t k, uint32_t *picked)
{
	static struct candidate candidates[512];

	return strategy_flat(candidates, n, NULL, k, NULL, picked);
}

static void
flat_picks_the_middle(void **state)
{
	uint32_t picked[1];
	(void)state;

	for (uint32_t n = 1; n <= 512; n++) {
		assert_int_equal(flat(n, 1, picked), 1);
		assert_int_equal(picked[0], (n - 1) / 2);
	}
}

static void
flat_leaves_parts_that_differ_by_one_at_most(void **state)
{
	uint32_t picked[64];
	(void)state;

	for (uint32_t n = 1; n <= 300; n++) {
		for (uint32_t k = 1; k <= 64; k++) {
			uint32_t got = flat(n, k, picked), least = n, most = 0, begin = 0;

			assert_int_equal(got, k < n ? k : n);
			for (uint32_t i = 0; i <= got; i++) {
				uint32_t end = i < got ? picked[i] : n, part = end - begin;

				assert_true(
				    end >= begin && end <= n); /* ascending, without repeats */
				least = part < least ? part : least;
				most = part > most ? part : most;
				begin = end + 1;
			}
			assert_true(most - least <= 1);
		}
	}
}

static void
flat_picks_none_only_without_candidates(void **state)
{
	uint32_t picked[4];
	(void)state;

	assert_int_equal(flat(0, 4, picked), 0);
	assert_int_equal(flat(4, 4, picked), 4);
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(picked[i], i);
}

/* One tracepoint in a million is found by halving in twenty cycles, wherever it is. */
static void
flat_halves_the_gap(void **state)
{
	(void)state;
	for (uint32_t at = 0; at < 1000000; at += 997) {
		uint32_t low = 0, n = 1000000, looks = 0, picked = 0;

		while (n > 0 && low + picked != at) {
			assert_int_equal(strategy_flat(NULL, n, NULL, 1, NULL, &picked), 1);
			looks++;
			if (low + picked < at) {
				low += picked + 1;
				n -= picked + 1;
				picked = n;
			} else if (low + picked > at) {
				n = picked;
			}
		}
		assert_true(n > 0 && looks <= 20);
	}
}

static void
strategies_are_found_by_name(void **state)
{
	(void)state;
	assert_ptr_equal(strategy_find("flat"), strategy_at(0));
	assert_string_equal(strategy_at(0)->name, "flat");
	assert_true(strlen(strategy_at(0)->help) > 10);
	assert_ptr_equal(strategy_at(0)->propose, strategy_flat);
	assert_null(strategy_find("Flat"));
	assert_null(strategy_find(""));
	for (unsigned i = 0; strategy_at(i) != NULL; i++)
		assert_ptr_equal(strategy_find(strategy_at(i)->name), strategy_at(i));
}

/* ---- random span trees ---- */

enum { TREE_MAX = 20000 };

struct row {
	struct candidate c[TREE_MAX];
	struct gap_time gap;
	uint32_t n;
};

static void
row_add(struct row *r, uint32_t around, struct rng *g, double spread, double *now_ns)
{
	*now_ns += exp(spread * rng_normal(g)) * 1000;
	r->c[r->n] = (struct candidate){ .label = r->n,
		.partner = UINT32_MAX,
		.around = around,
		.drawn = true,
		.count = 1,
		.offset_ns = *now_ns,
		.share = 1,
		.per_trace = 1 };
	r->n++;
}

/*
 * fan: average number of items directly in a span; spread: standard deviation of the logarithms of
 * the steps' times.
 */
static void
grow(struct row *r, uint32_t size, uint32_t around, uint32_t fan, struct rng *g, double spread,
    double *now_ns)
{
	while (size > 0) {
		uint32_t inside = size > 2 ? (uint32_t)rng_below(g, 2 * size / fan + 2) : 0,
			 begin = r->n;

		if (inside + 2 > size || rng_below(g, 3) == 0) {
			row_add(r, around, g, spread, now_ns);
			size--;
			continue;
		}
		row_add(r, around, g, spread, now_ns);
		grow(r, inside, begin, fan, g, spread, now_ns);
		row_add(r, around, g, spread, now_ns);
		r->c[begin].partner = r->n - 1;
		r->c[r->n - 1].partner = begin;
		size -= inside + 2;
	}
}

static void
tree(struct row *r, uint32_t n, uint32_t fan, struct rng *g, double spread)
{
	double now_ns = 0;

	r->n = 0;
	grow(r, n, UINT32_MAX, fan, g, spread, &now_ns);
	r->gap.mean_ns = now_ns + 1000;
}

/* Nested spans, each with a point before the next. */
static void
ladder(struct row *r, uint32_t n, struct rng *g)
{
	double now_ns = 0;
	uint32_t depth = n / 3;

	r->n = 0;
	for (uint32_t i = 0; i < depth; i++) {
		row_add(r, i > 0 ? r->n - 2 : UINT32_MAX, g, 0, &now_ns);
		row_add(r, r->n - 1, g, 0, &now_ns);
	}
	for (uint32_t i = depth; i > 0; i--) {
		row_add(r, i > 1 ? 2 * (i - 2) : UINT32_MAX, g, 0, &now_ns);
		r->c[r->n - 1].partner = 2 * (i - 1);
		r->c[2 * (i - 1)].partner = r->n - 1;
	}
	r->gap.mean_ns = now_ns + 1000;
}

/* The candidates[low..high) as match_between() would return them. */
static void
part(struct row *to, const struct row *from, uint32_t low, uint32_t high)
{
	double begin_ns = low > 0 ? from->c[low - 1].offset_ns : 0;

	to->n = high - low;
	to->gap.mean_ns = (high < from->n ? from->c[high].offset_ns : from->gap.mean_ns) - begin_ns;
	for (uint32_t i = 0; i < to->n; i++) {
		struct candidate *c = &to->c[i];

		*c = from->c[low + i];
		c->offset_ns -= begin_ns;
		c->partner = c->partner >= low && c->partner < high ? c->partner - low : UINT32_MAX;
		c->around = c->around >= low && c->around < high ? c->around - low : UINT32_MAX;
	}
}

struct effort {
	uint32_t cycles, cuts;
};

/* Cuts until no candidate is left; the fault is before the at-th candidate. */
static struct effort
search(const struct strategy *s, const struct row *all, uint32_t at, uint32_t k, struct rng *g)
{
	static struct row r;
	static uint32_t picked[TREE_MAX];
	struct effort e = { 0 };
	uint32_t low = 0, high = all->n;

	while (high > low) {
		uint32_t from = low, n;

		part(&r, all, low, high);
		n = s->propose(r.c, r.n, &r.gap, k, g, picked);
		assert_true(n > 0 && n <= r.n);
		for (uint32_t i = 0; i < n; i++) {
			assert_true(picked[i] < r.n && (i == 0 || picked[i] > picked[i - 1]));
			if (from + picked[i] < at)
				low = from + picked[i] + 1;
			else if (from + picked[i] < high)
				high = from + picked[i];
		}
		e.cycles++;
		e.cuts += n;
	}
	return e;
}

static int
by_number(const void *a, const void *b)
{
	return *(const uint32_t *)a < *(const uint32_t *)b
	           ? -1
	           : *(const uint32_t *)a > *(const uint32_t *)b;
}

enum { PLACES = 61 };

static uint32_t
median_cycles(
    const struct strategy *s, const struct row *r, uint32_t k, struct rng *g, uint32_t *most)
{
	uint32_t cycles[PLACES];

	*most = 0;
	for (uint32_t i = 0; i < PLACES; i++) {
		cycles[i] = search(s, r, (uint32_t)rng_below(g, r->n + 1), k, g).cycles;
		*most = cycles[i] > *most ? cycles[i] : *most;
	}
	qsort(cycles, PLACES, sizeof cycles[0], by_number);
	return cycles[PLACES / 2];
}

static struct row tree_row;

/*
 * With one tracepoint (or span) a cycle, the median of the cycles is at most log2(n) + 4 on any
 * shape, and the maximum is bounded.
 */
static void
the_number_of_cycles_grows_logarithmically(void **state)
{
	static const char *const names[] = { "flat", "hierarchical", "bisect" };
	struct rng g;
	(void)state;

	rng_seed(&g, 7);
	for (int round = 0; round < 60; round++) {
		uint32_t n = 10 + (uint32_t)rng_below(&g, round % 10 == 0 ? TREE_MAX - 20 : 1500),
			 most, median;
		double spread = (double)rng_below(&g, 3), bits;

		if (round % 6 == 5)
			ladder(&tree_row, n, &g);
		else
			tree(&tree_row, n, 2 + (uint32_t)rng_below(&g, 20), &g, spread);
		bits = log2(tree_row.n + 1);
		for (size_t i = 0; i < 3; i++) {
			median = median_cycles(strategy_find(names[i]), &tree_row, 1, &g, &most);
			if (median > bits + 4 || most > (i == 0 ? ceil(bits) : 2 * bits + 4))
				fail_msg(
				    "%s, round %d, %u candidates: %u cycles at the median, %u at most",
				    names[i], round, tree_row.n, median, most);
		}
	}
}

static void
more_tracepoints_per_cycle_need_fewer_cycles(void **state)
{
	struct rng g;
	(void)state;

	rng_seed(&g, 8);
	tree(&tree_row, 3000, 6, &g, 1);
	for (unsigned i = 0; i < 3; i++) {
		uint32_t one, seven, most;

		one = median_cycles(strategy_at(i), &tree_row, 1, &g, &most);
		seven = median_cycles(strategy_at(i), &tree_row, 7, &g, &most);
		assert_true(seven * 2 <= one);
	}
}

/*
 * For any candidates: at least one pick, ascending, no repeats, the same for the same random seed.
 */
static void
every_strategy_picks_in_order_and_reproducibly(void **state)
{
	static uint32_t picked[TREE_MAX], again[TREE_MAX];
	struct rng g, a, b;
	(void)state;

	rng_seed(&g, 9);
	for (int round = 0; round < 3000; round++) {
		uint32_t k = 1 + (uint32_t)rng_below(&g, 12);

		tree(&tree_row, 1 + (uint32_t)rng_below(&g, 80), 2 + (uint32_t)rng_below(&g, 10),
		    &g, 1);
		for (uint32_t i = 0; i < tree_row.n; i++) { /* also invalid fields */
			struct candidate *c = &tree_row.c[i];

			c->share = rng_unit(&g);
			if (rng_below(&g, 10) == 0)
				c->offset_ns = tree_row.gap.mean_ns * rng_unit(&g) * 2;
			if (round % 3 == 0 && rng_below(&g, 5) == 0)
				c->partner = (uint32_t)rng_below(&g, tree_row.n);
		}
		if (round % 7 == 0)
			tree_row.gap.mean_ns = 0;
		for (unsigned i = 0; strategy_at(i) != NULL; i++) {
			uint32_t n, seed = (uint32_t)round;

			rng_seed(&a, seed);
			rng_seed(&b, seed);
			n = strategy_at(i)->propose(
			    tree_row.c, tree_row.n, &tree_row.gap, k, &a, picked);
			assert_true(
			    n > 0 && n <= tree_row.n && (n >= k || n == tree_row.n || i == 1));
			for (uint32_t j = 0; j < n; j++)
				assert_true(picked[j] < tree_row.n &&
					    (j == 0 || picked[j] > picked[j - 1]));
			assert_int_equal(strategy_at(i)->propose(
					     tree_row.c, tree_row.n, &tree_row.gap, k, &b, again),
			    n);
			assert_memory_equal(picked, again, n * sizeof picked[0]);
			assert_int_equal(
			    strategy_at(i)->propose(tree_row.c, 0, &tree_row.gap, k, &b, again), 0);
		}
	}
}

/* "a (b c) d": brackets are the ends of spans; each candidate is 10 ns after the one before. */
static void
row_of(struct row *r, const char *words)
{
	uint32_t open[64], depth = 0;
	double now_ns = 0;
	struct rng g;

	rng_seed(&g, 1);
	r->n = 0;
	for (; *words != '\0'; words++) {
		if (*words == ' ')
			continue;
		if (*words == ')')
			depth--;
		row_add(r, depth > 0 ? open[depth - 1] : UINT32_MAX, &g, 0, &now_ns);
		if (*words == '(')
			open[depth++] = r->n - 1;
		if (*words == ')') {
			r->c[open[depth]].partner = r->n - 1;
			r->c[r->n - 1].partner = open[depth];
		}
	}
	r->gap.mean_ns = now_ns + 1000;
}

static void
picks_are(const char *words, uint32_t k, const char *expected)
{
	uint32_t picked[64], n;
	char text[128] = "";

	row_of(&tree_row, words);
	n = strategy_hierarchical(tree_row.c, tree_row.n, &tree_row.gap, k, NULL, picked);
	for (uint32_t i = 0; i < n; i++)
		snprintf(text + strlen(text), sizeof text - strlen(text), "%s%u", i > 0 ? " " : "",
		    picked[i]);
	assert_string_equal(text, expected);
}

static void
hierarchical_cuts_at_the_middle_spans(void **state)
{
	(void)state;
	picks_are("(a) (b) (c)", 1, "3 5");
	picks_are("(a) (b) (c) (d) (e)", 2, "3 5 9 11");
	picks_are("a b (c)", 1, "2 4"); /* points only if no span is left */
	picks_are("a b c", 1, "1");
	picks_are("((a)(b)(c))", 1, "4 6"); /* almost everything is in the outer one */
	picks_are("()", 1, "0 1");
	picks_are("(a b c d e f)", 3, "0 7");
	picks_are("(a) (b)", 9, "0 2 3 5");
}

static void
bisect_halves_the_learned_time(void **state)
{
	struct gap_time gap = { 100 };
	struct candidate c[8];
	uint32_t picked[8];
	(void)state;

	/* the fifth is nearest to half of the time; below, too few traces pass it */
	for (uint32_t i = 0; i < 8; i++)
		c[i] = (struct candidate){ .partner = UINT32_MAX,
			.around = UINT32_MAX,
			.share = 1,
			.offset_ns = (double[]){ 1, 2, 3, 20, 45, 60, 90, 95 }[i] };
	assert_int_equal(strategy_bisect(c, 8, &gap, 1, NULL, picked), 1);
	assert_int_equal(picked[0], 4);
	c[4].share = 0.5;
	strategy_bisect(c, 8, &gap, 1, NULL, picked);
	assert_int_equal(picked[0], 5);
	c[5].share = 0.9;
	strategy_bisect(c, 8, &gap, 1, NULL, picked);
	assert_int_equal(picked[0], 5);
}

static void
random_draws_uniformly(void **state)
{
	uint32_t hits[10] = { 0 }, picked[3];
	struct rng g;
	(void)state;

	rng_seed(&g, 10);
	for (int round = 0; round < 10000; round++) {
		assert_int_equal(strategy_random(NULL, 10, NULL, 3, &g, picked), 3);
		for (int i = 0; i < 3; i++)
			hits[picked[i]]++;
	}
	for (int i = 0; i < 10; i++)
		assert_true(
		    /* expected 3,000, at most five standard deviations of 46 away */
		    hits[i] > 2770 && hits[i] < 3230);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(flat_picks_the_middle),
		cmocka_unit_test(flat_leaves_parts_that_differ_by_one_at_most),
		cmocka_unit_test(flat_picks_none_only_without_candidates),
		cmocka_unit_test(flat_halves_the_gap),
		cmocka_unit_test(strategies_are_found_by_name),
		cmocka_unit_test(the_number_of_cycles_grows_logarithmically),
		cmocka_unit_test(more_tracepoints_per_cycle_need_fewer_cycles),
		cmocka_unit_test(every_strategy_picks_in_order_and_reproducibly),
		cmocka_unit_test(hierarchical_cuts_at_the_middle_spans),
		cmocka_unit_test(bisect_halves_the_learned_time),
		cmocka_unit_test(random_draws_uniformly),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
