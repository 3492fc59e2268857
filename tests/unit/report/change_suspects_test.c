/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "../analysis/kit.h"

#include "base/rng.h"

#include "report/change_blocks.h"
#include "report/change_suspects.h"
#include "report/change_whole.h"

enum { A, B, C, D, SERVICES };

static uint32_t
rank(struct suspect *ret, struct clue *e, size_t n)
{
	struct arena a = { 0 };
	struct suspect *list;
	bool seen[SERVICES];
	uint32_t found;

	evidence_charge(e, n, seen, SERVICES);
	found = suspects_rank(&list, e, n, SERVICES, SERVICES, &a);
	assert_true(found <= SERVICES);
	for (uint32_t i = 0; i < found; i++)
		ret[i] = list[i];
	arena_release(&a);
	return found;
}

static void
a_step_is_charged_to_whom_it_follows_only_if_that_changed(void **state)
{
	struct clue e[] = { { EVIDENCE_STEP, A, B, false, 0.5, 100 },
		{ EVIDENCE_OWN, B, NO_SERVICE, false, 0, 100 } };
	struct suspect s[SERVICES];
	(void)state;

	assert_int_equal(rank(s, e, 2), 2);
	assert_false(e[0].charged);
	assert_int_equal(s[0].service, A);
	assert_int_equal(s[0].by, NO_SERVICE);
	/* it may have answered otherwise all the same */
	assert_int_equal(s[1].service, B);
	assert_int_equal(s[1].by, A);
	e[1].part = 0.6;
	assert_int_equal(rank(s, e, 2), 2);
	assert_true(e[0].charged);
	assert_int_equal(s[0].service, B);
	assert_int_equal(s[1].by, B);
}

static void
each_kind_of_evidence_has_its_own_denominator(void **state)
{
	/* B is slower by itself; its 10,000 ways and steps that did not change are of no account. */
	struct clue e[] = { { EVIDENCE_OWN, B, NO_SERVICE, false, 0.5, 100 },
		{ EVIDENCE_WAY, B, A, false, 0, 10000 },
		{ EVIDENCE_STEP, B, NO_SERVICE, false, 0, 10000 },
		{ EVIDENCE_OWN, C, NO_SERVICE, false, 0.1, 100 } };
	struct suspect s[SERVICES];
	(void)state;

	assert_int_equal(rank(s, e, 4), 2);
	assert_int_equal(s[0].service, B);
	assert_int_equal(s[0].kind, EVIDENCE_OWN);
	assert_near(s[0].score, 50 / sqrt(60.0 * 100), 1e-12);
	assert_near(s[0].changed, 50, 1e-12);
	assert_near(s[0].touched, 100, 1e-12);
	assert_near(s[1].score, 10 / sqrt(60.0 * 100), 1e-12);
}

static void
callers_of_a_slow_service_are_explained_by_it(void **state)
{
	/* All ways to C are slow, from A and from B, whose other ways are not. D is slow by itself. */
	struct clue e[] = { { EVIDENCE_WAY, C, A, false, 0.8, 100 },
		{ EVIDENCE_WAY, C, B, false, 0.8, 100 }, { EVIDENCE_WAY, D, A, false, 0, 300 },
		{ EVIDENCE_WAY, D, B, false, 0, 300 },
		{ EVIDENCE_OWN, D, NO_SERVICE, false, 0.1, 600 } };
	struct suspect s[SERVICES];
	(void)state;

	assert_int_equal(rank(s, e, 5), 4);
	assert_int_equal(s[0].service, C);
	for (int i = 0; i < SERVICES; i++)
		assert_int_equal(
		    s[i].by, s[i].service == A || s[i].service == B ? (uint32_t)C : NO_SERVICE);
}

static void
what_is_left_is_tested_again(void **state)
{
	/* A is the caller of the slow B, and slow by itself as well. */
	struct clue e[] = { { EVIDENCE_WAY, B, A, false, 0.9, 100 },
		{ EVIDENCE_OWN, A, NO_SERVICE, false, 0.2, 100 },
		{ EVIDENCE_OWN, C, NO_SERVICE, false, 0.3, 100 } };
	struct suspect s[SERVICES];
	(void)state;

	assert_int_equal(rank(s, e, 3), 3);
	assert_int_equal(s[0].service, B);
	assert_int_equal(s[1].service, C);
	assert_int_equal(s[2].service, A);
	assert_int_equal(s[2].by, NO_SERVICE);
	assert_int_equal(s[2].kind, EVIDENCE_OWN);
	assert_near(s[2].score, 20 / sqrt(50.0 * 100), 1e-12);
}

static const bool ALL[SERVICES] = { true, true, true, true }, NONE[SERVICES];

/* Blocks in which A has such a score, and B such a one in block `odd`. */
static void
healthy_blocks(struct usual *u, uint32_t n, double score_of_a, uint32_t odd, double score_of_b,
    struct arena *a)
{
	*u = (struct usual){ .nblocks = n, .nservices = SERVICES, .apart = 1 };
	assert_true(usual_begin(u, a));
	for (uint32_t i = 0; i < n; i++) {
		struct suspect s[] = { { .service = A, .score = score_of_a },
			{ .service = B, .score = i == odd ? score_of_b : 0 } };

		usual_add(u, i, s, 2, ALL);
	}
	usual_end(u);
}

static enum sureness
sureness_of(const struct usual *u, uint32_t service, double score)
{
	struct suspect s = { .service = service, .score = score, .by = NO_SERVICE };

	return suspect_sure(&s, true, u);
}

static void
sure_exceeds_what_is_usual_by_more_than_any_healthy_block(void **state)
{
	struct suspect s = { .service = A, .score = 0.5, .by = B };
	struct arena arena = { 0 };
	struct usual u;
	(void)state;

	healthy_blocks(&u, BLOCKS_NEEDED, 0.4, 3, 0.2, &arena);
	assert_near(usual_p(&u, &(struct suspect){ .service = C, .score = 0.21 }), 1.0 / 20, 1e-12);
	assert_int_equal(sureness_of(&u, A, 0.61), SURE);
	assert_int_equal(sureness_of(&u, A, 0.59), SURE_NOT_UNUSUAL);
	assert_int_equal(sureness_of(&u, B, 0.41), SURE);
	assert_int_equal(sureness_of(&u, B, 0.39), SURE_NOT_UNUSUAL);
	assert_int_equal(suspect_sure(&s, true, &u), SURE_NOT_EXPLAINED);
	s.by = NO_SERVICE;
	assert_int_equal(suspect_sure(&s, false, &u), SURE_NOT_SIGNIFICANT);
	healthy_blocks(&u, BLOCKS_NEEDED - 1, 0, 0, 0, &arena);
	assert_int_equal(sureness_of(&u, A, 1), SURE_NOT_BLOCKS);
	/* of 39 blocks one may show as much: (1 + 1) / (39 + 1) is 5 % */
	healthy_blocks(&u, 38, 0.4, 3, 0.2, &arena);
	assert_int_equal(sureness_of(&u, A, 0.59), SURE_NOT_UNUSUAL);
	healthy_blocks(&u, 39, 0.4, 3, 0.2, &arena);
	assert_int_equal(sureness_of(&u, A, 0.59), SURE);
	arena_release(&arena);
}

static void
a_service_that_always_varies_does_not_hide_another_one(void **state)
{
	struct arena arena = { 0 };
	struct usual u;
	(void)state;

	healthy_blocks(&u, BLOCKS_NEEDED, 0.8, 0, 0, &arena);
	assert_int_equal(sureness_of(&u, A, 0.8), SURE_NOT_UNUSUAL);
	assert_int_equal(sureness_of(&u, C, 0.3), SURE);
	arena_release(&arena);
}

static void
what_is_not_significant_in_a_block_exceeds_nothing(void **state)
{
	struct suspect s = { .service = B, .score = 0.5 };
	struct arena arena = { 0 };
	struct usual u = { .nblocks = BLOCKS_NEEDED, .nservices = SERVICES, .apart = 1 };
	(void)state;

	assert_true(usual_begin(&u, &arena));
	usual_add(&u, 6, &s, 1, NONE);
	usual_end(&u);
	assert_near(u.excess[6], 0, 0);
	assert_int_equal(sureness_of(&u, A, 0.4), SURE);
	/* but it is usual for the service itself */
	assert_int_equal(sureness_of(&u, B, 0.5), SURE_NOT_UNUSUAL);
	arena_release(&arena);
}

static void
neighbours_of_a_block_do_not_make_its_disturbance_usual(void **state)
{
	struct suspect s = { .service = B, .score = 0.5 };
	struct arena arena = { 0 };
	struct usual u = { .nblocks = BLOCKS_NEEDED, .nservices = SERVICES, .apart = 2 };
	(void)state;

	/* a disturbance lasts for two blocks, which together are as long as the window */
	assert_true(usual_begin(&u, &arena));
	usual_add(&u, 6, &s, 1, ALL);
	usual_add(&u, 7, &s, 1, ALL);
	usual_end(&u);
	assert_near(u.excess[6], 0.5, 0);
	assert_int_equal(sureness_of(&u, A, 0.4), SURE_NOT_UNUSUAL);
	u = (struct usual){ .nblocks = BLOCKS_NEEDED, .nservices = SERVICES, .apart = 1 };
	assert_true(usual_begin(&u, &arena));
	usual_add(&u, 6, &s, 1, ALL);
	usual_add(&u, 7, &s, 1, ALL);
	usual_end(&u);
	assert_near(u.excess[6], 0, 0);
	arena_release(&arena);
}

/* Windows and blocks that differ by chance alone: each service varies by a scale of its own, and they do
 * so together. */
static void
by_chance_at_most_one_window_in_twenty_is_sure(void **state)
{
	enum { ROUNDS = 4000 };
	uint32_t sure = 0;
	struct rng r;
	(void)state;

	rng_seed(&r, 11);
	for (int round = 0; round < ROUNDS; round++) {
		struct usual u = { .nblocks = BLOCKS_NEEDED, .nservices = SERVICES, .apart = 1 };
		struct arena arena = { 0 };
		bool any = false;

		assert_true(usual_begin(&u, &arena));
		for (uint32_t b = 0; b <= BLOCKS_NEEDED; b++) {
			double together = rng_unit(&r);

			if (b == BLOCKS_NEEDED)
				usual_end(&u);
			for (uint32_t k = 0; k < SERVICES; k++) {
				struct suspect s = { .service = k,
					.score = (1 + k) / 8.0 * (together + rng_unit(&r)) / 2,
					.by = NO_SERVICE };

				if (b < BLOCKS_NEEDED)
					usual_add(&u, b, &s, 1, ALL);
				else
					any = any || suspect_sure(&s, true, &u) == SURE;
			}
		}
		sure += any;
		arena_release(&arena);
	}
	/* 5 % and three standard deviations */
	assert_true(sure <= ROUNDS * 0.05 + 3 * sqrt(ROUNDS * 0.05 * 0.95));
	assert_true(sure >= ROUNDS * 0.01);
}

static void
blocks_are_as_long_as_the_window_and_hold_requests_enough(void **state)
{
	struct slice_time slices[10];
	struct block b[10];
	(void)state;

	for (int i = 0; i < 10; i++)
		slices[i] = (struct slice_time){ 1000.0 * i, 10 };
	assert_int_equal(blocks_cut(b, slices, 10, 2000, 20), 5);
	assert_near(b[1].begin_ms, 2000, 0);
	assert_near(b[1].end_ms, 4000, 0);
	assert_near(b[1].requests, 20, 0);
	/* a pause is in no block */
	for (int i = 5; i < 10; i++)
		slices[i].begin_ms += 1e6;
	assert_int_equal(blocks_cut(b, slices, 10, 2000, 20), 6);
	assert_near(b[2].requests, 10, 0);
	/* too few requests: on to the next slice, at the end back to the block before */
	assert_int_equal(blocks_cut(b, slices, 10, 1000, 120), 3);
	assert_near(b[2].requests, 40, 0);
	assert_int_equal(blocks_cut(b, slices, 10, 1000, 1000), 0);
	assert_int_equal(blocks_cut(b, slices, 0, 1000, 1), 0);
}

static enum whole_state
whole(const uint32_t *now, const uint32_t *then, double *p)
{
	struct whole w;

	assert_true(whole_judge(&w, now, then, 64, 0.01));
	if (p != NULL)
		*p = w.slower_p;
	return w.state;
}

static void
few_requests_that_take_three_times_as_long_are_slower(void **state)
{
	uint32_t then[64] = { 0 }, now[64] = { 0 };
	double p;
	(void)state;

	for (int i = 0; i < 8; i++) {
		then[20 + i] = 5;
		now[33 + i] = 1;
	}
	assert_int_equal(whole(now, then, &p), WHOLE_SLOWER);
	assert_true(p <= 0.01);
	assert_int_equal(whole(then, now, NULL), WHOLE_FASTER);
}

static void
too_few_to_tell_is_said_and_not_that_nothing_changed(void **state)
{
	uint32_t then[64] = { 0 }, now[64] = { 0 };
	double p;
	(void)state;

	then[20] = 3;
	now[33] = 2;
	/* the most extreme of 10 ways to deal them */
	assert_int_equal(whole(now, then, &p), WHOLE_TOO_FEW);
	assert_near(p, 0.3, 0.02);
	now[33] = 0;
	assert_int_equal(whole(now, then, NULL), WHOLE_TOO_FEW);
	then[20] = now[20] = 30;
	assert_int_equal(whole(now, then, NULL), WHOLE_SAME);
}

static void
dealing_and_its_approximation_agree(void **state)
{
	uint32_t then[64] = { 0 }, now[64] = { 0 };
	struct whole few, many;
	(void)state;

	for (int i = 0; i < 16; i++) {
		then[20 + i] = 62;
		now[20 + i] = 60 + (uint32_t)i / 3;
	}
	assert_true(whole_judge(&few, now, then, 64, 0.01));
	for (int i = 0; i < 2; i++) { /* now over the number that is dealt */
		then[20 + 15 * i] += 10;
		now[20 + 15 * i] += 10;
	}
	assert_true(whole_judge(&many, now, then, 64, 0.01));
	assert_near(few.slower_p, many.slower_p, 0.1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_step_is_charged_to_whom_it_follows_only_if_that_changed),
		cmocka_unit_test(each_kind_of_evidence_has_its_own_denominator),
		cmocka_unit_test(callers_of_a_slow_service_are_explained_by_it),
		cmocka_unit_test(what_is_left_is_tested_again),
		cmocka_unit_test(sure_exceeds_what_is_usual_by_more_than_any_healthy_block),
		cmocka_unit_test(a_service_that_always_varies_does_not_hide_another_one),
		cmocka_unit_test(what_is_not_significant_in_a_block_exceeds_nothing),
		cmocka_unit_test(neighbours_of_a_block_do_not_make_its_disturbance_usual),
		cmocka_unit_test(by_chance_at_most_one_window_in_twenty_is_sure),
		cmocka_unit_test(blocks_are_as_long_as_the_window_and_hold_requests_enough),
		cmocka_unit_test(few_requests_that_take_three_times_as_long_are_slower),
		cmocka_unit_test(too_few_to_tell_is_said_and_not_that_nothing_changed),
		cmocka_unit_test(dealing_and_its_approximation_agree),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
