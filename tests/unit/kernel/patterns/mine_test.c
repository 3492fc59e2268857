/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernel/patterns/mine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"

/* ---- a miner by definition: all patterns, then those that no other one of the same support contains ---- */

enum { SMALL = 12, SMALL_N = 8, ALL_MAX = 60000 };

struct all {
	struct mined list[ALL_MAX];
	uint8_t text[ALL_MAX][SMALL];
	uint32_t n;
	bool over;
};

static bool
occurs_from(const uint8_t *p, uint32_t plen, const struct mine_sequence *s, uint32_t at,
    const struct mine_options *o)
{
	if (s->items[at] != p[0])
		return false;
	if (plen == 1)
		return true;
	for (uint32_t g = o->gap_min; g <= o->gap_max && at + g + 1 < s->len; g++)
		if (occurs_from(p + 1, plen - 1, s, at + g + 1, o))
			return true;
	return false;
}

static uint64_t
support_by_definition(const uint8_t *p, uint32_t plen, const struct mine_sequence *s, uint32_t n,
    const struct mine_options *o)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < n; i++) {
		bool occurs = false;

		for (uint32_t at = 0; at < s[i].len && !occurs; at++)
			occurs = occurs_from(p, plen, &s[i], at, o);
		sum += occurs ? s[i].weight : 0;
	}
	return sum;
}

static void
enumerate(struct all *a, uint8_t *p, uint32_t len, uint32_t items, const struct mine_sequence *s,
    uint32_t n, const struct mine_options *o, double least)
{
	for (uint8_t x = 0; x < items && len < SMALL; x++) {
		uint64_t support;

		p[len] = x;
		support = support_by_definition(p, len + 1, s, n, o);
		if ((double)support < least - 1e-9 || support == 0)
			continue;
		if (a->n == ALL_MAX) {
			a->over = true;
			return;
		}
		memcpy(a->text[a->n], p, len + 1);
		a->list[a->n] = (struct mined){ a->text[a->n], len + 1, support };
		a->n++;
		enumerate(a, p, len + 1, items, s, n, o, least);
	}
}

static bool
closed_by_definition(const struct all *a, uint32_t i)
{
	for (uint32_t k = 0; k < a->n; k++)
		if (a->list[k].support == a->list[i].support && a->list[k].len > a->list[i].len &&
		    mine_within(a->list[i].items, a->list[i].len, a->list[k].items, a->list[k].len))
			return false;
	return true;
}

static bool
has(const struct mine_result *r, const struct mined *p)
{
	for (uint32_t i = 0; i < r->n; i++)
		if (r->patterns[i].len == p->len && r->patterns[i].support == p->support &&
		    memcmp(r->patterns[i].items, p->items, p->len) == 0)
			return true;
	return false;
}

static uint32_t
random_database(struct rng *r, struct mine_sequence *s, uint8_t text[SMALL_N][SMALL],
    uint32_t *items, struct mine_options *o)
{
	uint32_t n = 1 + (uint32_t)rng_below(r, SMALL_N);
	bool alike = rng_below(r, 2) > 0; /* most are copies with a few changes, as states are */

	*items = 1 + (uint32_t)rng_below(r, 4);
	for (uint32_t i = 0; i < n; i++) {
		s[i] = (struct mine_sequence){ text[i], (uint32_t)rng_below(r, SMALL - 3),
			1 + rng_below(r, 3) };
		for (uint32_t k = 0; k < SMALL; k++)
			text[i][k] = (uint8_t)rng_below(r, *items);
		if (alike && i > 0) {
			s[i].len = s[0].len;
			memcpy(text[i], text[0], SMALL);
			text[i][rng_below(r, SMALL)] = (uint8_t)rng_below(r, *items);
		}
	}
	o->gap_min = (uint32_t)rng_below(r, 2);
	o->gap_max = o->gap_min + (uint32_t)rng_below(r, 3);
	o->support = rng_below(r, 4) == 0 ? 1 : 0.3 + 0.7 * rng_unit(r);
	return n;
}

static void
the_closed_patterns_are_those_of_the_definition(void **state)
{
	static struct all a;
	struct rng r;
	uint64_t closed = 0, patterns = 0, left_out = 0;
	(void)state;

	rng_seed(&r, 1);
	for (int round = 0; round < 6000; round++) {
		uint8_t text[SMALL_N][SMALL], p[SMALL];
		struct mine_sequence s[SMALL_N];
		struct mine_options o = { 0 };
		struct mine_result got;
		struct arena arena = { 0 };
		struct err e = { 0 };
		uint32_t items, n = random_database(&r, s, text, &items, &o), want = 0;
		uint64_t weight = 0;

		for (uint32_t i = 0; i < n; i++)
			weight += s[i].weight;
		a.n = 0;
		a.over = false;
		enumerate(&a, p, 0, items, s, n, &o, o.support * (double)weight);
		if (a.over || a.n > 4000) {
			left_out++;
			continue;
		}
		assert_int_equal(mine_closed(&got, s, n, &o, &arena, &e), 0);
		assert_int_equal(got.weight, weight);
		for (uint32_t i = 0; i < a.n; i++)
			if (closed_by_definition(&a, i)) {
				want++;
				assert_true(has(&got, &a.list[i]));
			}
		assert_int_equal(got.n, want);
		closed += want;
		patterns += a.n;
		arena_release(&arena);
	}
	assert_true(closed > 5000 && patterns > 3 * closed && left_out == 0);
}

static void
a_match_is_the_first_and_keeps_the_gaps(void **state)
{
	struct rng r;
	uint32_t at[SMALL], found = 0;
	(void)state;

	rng_seed(&r, 2);
	for (int round = 0; round < 20000; round++) {
		uint8_t text[SMALL_N][SMALL], p[SMALL];
		struct mine_sequence s[SMALL_N];
		struct mine_options o = { 0 };
		uint32_t items, plen = 1 + (uint32_t)rng_below(&r, 5);
		bool occurs = false, got;

		random_database(&r, s, text, &items, &o);
		for (uint32_t k = 0; k < plen; k++)
			p[k] = (uint8_t)rng_below(&r, items);
		for (uint32_t i = 0; i < s[0].len && !occurs; i++)
			occurs = occurs_from(p, plen, &s[0], i, &o);
		got = mine_match(at, p, plen, text[0], s[0].len, o.gap_min, o.gap_max);
		assert_true(got == occurs);
		for (uint32_t k = 0; k < plen && got; k++) {
			assert_int_equal(text[0][at[k]], p[k]);
			if (k > 0)
				assert_in_range(at[k] - at[k - 1] - 1, o.gap_min, o.gap_max);
		}
		for (uint32_t i = 0; got && i < at[0]; i++)
			assert_false(occurs_from(p, plen, &s[0], i, &o));
		found += got;
	}
	assert_in_range(found, 2000, 18000);
}

static void
one_long_sequence_in_all_is_the_only_pattern(void **state)
{
	uint8_t text[40];
	struct mine_sequence s = { text, sizeof text, 100 };
	struct mine_options o = { .gap_max = 2, .support = 0.95 };
	struct mine_result got;
	struct arena a = { 0 };
	struct err e = { 0 };
	struct rng r;
	(void)state;

	rng_seed(&r, 3);
	for (uint32_t i = 0; i < sizeof text; i++) /* running, and each time another wait */
		text[i] = (uint8_t)(i % 2 == 0 ? 0 : 1 + rng_below(&r, 5));
	assert_int_equal(mine_closed(&got, &s, 1, &o, &a, &e), 0);
	assert_int_equal(got.n, 1);
	assert_int_equal(got.patterns[0].len, sizeof text);
	arena_release(&a);
}

static void
what_a_few_lack_is_not_required(void **state)
{
	/* 96 of 100 wait for the disk between; 4 do not */
	static const uint8_t with[] = { 0, 2, 0, 3, 0 }, without[] = { 0, 3, 0 };
	struct mine_sequence s[] = { { with, 5, 96 }, { without, 3, 4 } };
	struct mine_options o = { .gap_max = 2, .support = 0.95 };
	struct mine_result got;
	struct arena a = { 0 };
	struct err e = { 0 };
	(void)state;

	assert_int_equal(mine_closed(&got, s, 2, &o, &a, &e), 0);
	assert_int_equal(got.n, 2);
	assert_int_equal(got.patterns[0].support, 100);
	assert_memory_equal(got.patterns[0].items, without, 3);
	assert_int_equal(got.patterns[1].support, 96);
	assert_memory_equal(got.patterns[1].items, with, 5);
	o.support = 0.97;
	assert_int_equal(mine_closed(&got, s, 2, &o, &a, &e), 0);
	assert_int_equal(got.n, 1);
	arena_release(&a);
}

static void
over_the_bound_is_an_error_and_no_half_answer(void **state)
{
	uint8_t text[8][300];
	struct mine_sequence s[8];
	struct mine_options o = { .gap_max = 4, .support = 0.5, .work_max = 2000000 };
	struct mine_result got;
	struct arena a = { 0 };
	struct err e = { 0 };
	struct rng r;
	(void)state;

	rng_seed(&r, 4);
	for (uint32_t i = 0; i < 8; i++) {
		s[i] = (struct mine_sequence){ text[i], sizeof text[i], 1 };
		for (uint32_t k = 0; k < sizeof text[i]; k++)
			text[i][k] = (uint8_t)rng_below(&r, 3);
	}
	assert_int_equal(mine_closed(&got, s, 8, &o, &a, &e), ERR_FULL);
	assert_int_equal(got.n, 0);
	assert_in_range(got.work, 1, 3 * o.work_max);
	assert_non_null(strstr(e.text, "work"));
	o = (struct mine_options){ .gap_max = 4, .support = 0.5, .nodes_max = 100 };
	assert_int_equal(mine_closed(&got, s, 8, &o, &a, &e), ERR_FULL);
	assert_int_equal(got.nodes, 101);
	arena_release(&a);
}

static void
what_is_out_of_range_is_refused(void **state)
{
	static const uint8_t bad[] = { 0, MINE_ITEMS };
	struct mine_sequence s = { bad, 2, 1 };
	struct mine_options o = { .gap_max = 2, .support = 0.95 };
	struct mine_result got;
	struct arena a = { 0 };
	struct err e = { 0 };
	(void)state;

	assert_int_equal(mine_closed(&got, &s, 1, &o, &a, &e), ERR_INPUT);
	s.len = 1;
	assert_int_equal(mine_closed(&got, &s, 1, &o, &a, &e), 0);
	assert_int_equal(got.n, 1);
	s.weight = 0;
	assert_int_equal(mine_closed(&got, &s, 1, &o, &a, &e), ERR_INPUT);
	s.weight = 1;
	o.gap_max = MINE_GAP_MAX + 1;
	assert_int_equal(mine_closed(&got, &s, 1, &o, &a, &e), ERR_INPUT);
	o = (struct mine_options){ .support = 0 };
	assert_int_equal(mine_closed(&got, &s, 1, &o, &a, &e), ERR_INPUT);
	o.support = 1;
	assert_int_equal(mine_closed(&got, NULL, 0, &o, &a, &e), 0);
	assert_int_equal(got.n, 0);
	arena_release(&a);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_closed_patterns_are_those_of_the_definition),
		cmocka_unit_test(a_match_is_the_first_and_keeps_the_gaps),
		cmocka_unit_test(one_long_sequence_in_all_is_the_only_pattern),
		cmocka_unit_test(what_a_few_lack_is_not_required),
		cmocka_unit_test(over_the_bound_is_an_error_and_no_half_answer),
		cmocka_unit_test(what_is_out_of_range_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
