/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "analysis/retired_ids.c" /* the test sets the table's seed and counters to values that otherwise need an attacker for an hour, or 2^32 traces */
#include "base/rng.h"

enum { IDS = 3 * RETIRED_IDS_MAX };

/* The expected state: for each id when it was last added, and how many were added. */
struct model {
	struct retired_ids *gone;
	uint64_t ids[IDS], added_at[IDS], added; /* added_at: counts from 1; 0: never added */
};

static struct model *
model_new(void)
{
	struct model *m = calloc(1, sizeof *m);

	assert_non_null(m);
	m->gone = retired_ids_new();
	assert_non_null(m->gone);
	return m;
}

static void
model_free(struct model *m)
{
	retired_ids_free(m->gone);
	free(m);
}

static bool
model_has(const struct model *m, uint32_t i)
{
	return m->added_at[i] > 0 && m->added - m->added_at[i] < RETIRED_IDS_MAX;
}

static void
add(struct model *m, uint32_t i)
{
	retired_ids_add(m->gone, m->ids[i]);
	m->added_at[i] = ++m->added;
}

static void
check_all(const struct model *m)
{
	for (uint32_t i = 0; i < IDS; i++)
		assert_int_equal(retired_ids_has(m->gone, m->ids[i]), model_has(m, i));
}

/* Draws an id: one of the newest, one near the end of the memory, or any. */
static void
check_some(const struct model *m, struct rng *r, uint32_t youngest)
{
	assert_true(retired_ids_has(m->gone, m->ids[youngest]));
	for (int i = 0; i < 4; i++) {
		uint32_t any = (uint32_t)rng_below(r, IDS);

		assert_int_equal(retired_ids_has(m->gone, m->ids[any]), model_has(m, any));
	}
}

/*
 * Adds ids in random order, some of them while they are present; all are checked at the end, some
 * at each step.
 */
static void
play(struct model *m, struct rng *r, uint32_t times)
{
	for (uint32_t n = 0; n < times; n++) {
		uint32_t i = (uint32_t)rng_below(r, IDS);

		if (!model_has(m, i) || rng_below(r, 8) == 0) {
			add(m, i);
			check_some(m, r, i);
		}
	}
	check_all(m);
}

static void
only_the_last_ids_added_are_present(void **state)
{
	(void)state;

	for (uint64_t seed = 1; seed <= 4; seed++) {
		struct model *m = model_new();
		struct rng r;

		rng_seed(&r, seed);
		for (
		    uint64_t i = 0; i < IDS;
		    i++) /* draws ids near each other, with equal low bits, from the upper end, or any */
			m->ids[i] = seed == 1   ? i
			            : seed == 2 ? i << 32
			            : seed == 3 ? UINT64_MAX - i
			                        : rng_next(&r);
		check_all(m);
		play(m, &r, 2 * IDS);
		model_free(m);
	}
}

static void
only_the_oldest_id_is_discarded(void **state)
{
	struct model *m = model_new();
	(void)state;

	for (uint32_t i = 0; i < IDS; i++)
		m->ids[i] = i;
	for (uint32_t i = 0; i < IDS; i++) {
		add(m, i);
		if (i + 1 >= RETIRED_IDS_MAX)
			assert_true(retired_ids_has(m->gone, i + 1 - RETIRED_IDS_MAX));
		if (i >= RETIRED_IDS_MAX)
			assert_false(retired_ids_has(m->gone, i - RETIRED_IDS_MAX));
	}
	check_all(m);
	model_free(m);
}

/* The inverse of hash_u64(). */
static uint64_t
id_with_hash(const struct retired_ids *g, uint64_t hash)
{
	hash ^= hash >> 31 ^ hash >> 62;
	hash *= 0x319642b2d24d8ec3;
	hash ^= hash >> 27 ^ hash >> 54;
	hash *= 0x96de1b173f119089;
	hash ^= hash >> 30 ^ hash >> 60;
	return hash ^ g->seed;
}

/* As if an attacker knew the seed: all ids are in 64 buckets, and every chain is long. */
static void
ids_that_collide_are_distinguished(void **state)
{
	struct model *m = model_new();
	struct rng r;
	(void)state;

	rng_seed(&r, 9);
	for (uint32_t i = 0; i < IDS; i++) {
		m->ids[i] = id_with_hash(m->gone, (uint64_t)i << 20 | i % 1024 * 64);
		assert_int_equal(bucket_of(m->gone, m->ids[i]), i % 1024 * 64);
	}
	play(m, &r, IDS);
	model_free(m);
}

/* Chain heads from before the wrap seem new: no false id is found, and none is missed. */
static void
sequence_numbers_may_wrap(void **state)
{
	static const uint32_t jumps[] = { 1, 2, RETIRED_IDS_MAX / 3, RETIRED_IDS_MAX - 1,
		RETIRED_IDS_MAX, RETIRED_IDS_MAX + 1, 2 * RETIRED_IDS_MAX };
	(void)state;

	for (size_t k = 0; k < sizeof jumps / sizeof *jumps; k++) {
		struct model *m = model_new();
		struct rng r;

		rng_seed(&r, k);
		for (uint32_t i = 0; i < IDS; i++)
			m->ids[i] = rng_next(&r);
		m->gone->next = -(uint32_t)RETIRED_IDS_MAX / 2; /* wraps at 0 */
		play(m, &r, IDS);
		m->gone->next -= jumps[k];
		/* as if 2^32 - jump more ids had been added, the last of them different from
		 * these */
		m->added += RETIRED_IDS_MAX;
		for (uint32_t i = 0; i < RETIRED_IDS_MAX; i++)
			retired_ids_add(m->gone, ~m->ids[i]);
		check_all(m);
		play(m, &r, IDS);
		model_free(m);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_the_last_ids_added_are_present),
		cmocka_unit_test(only_the_oldest_id_is_discarded),
		cmocka_unit_test(ids_that_collide_are_distinguished),
		cmocka_unit_test(sequence_numbers_may_wrap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
