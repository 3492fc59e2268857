/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/rng.h"
#include "controlplane/engine/kept_traces.h"

static struct trace *
new_trace(uint32_t type, uint64_t id, int64_t took_ns, size_t bytes)
{
	struct arena a = { 0 };
	struct trace *t = arena_calloc(&a, 1, sizeof *t);

	assert_non_null(t);
	if (bytes > 0)
		assert_non_null(arena_alloc(&a, bytes));
	t->type = type;
	t->id = id;
	t->end_ns = took_ns;
	t->arena = a;
	return t;
}

static void
add(struct kept_traces *k, struct trace *t)
{
	if (!kept_traces_add(k, t))
		trace_free(t);
}

static uint64_t
sum_of_ids(const struct kept_traces *k)
{
	const struct trace **list;
	uint32_t n = kept_traces_list(k, LABEL_NONE, &list);
	uint64_t sum = 0;

	for (uint32_t i = 0; i < n; i++)
		sum += list[i]->id;
	free(list);
	return sum;
}

static void
the_slowest_are_kept_and_a_sample_in_any_order(void **state)
{
	struct kept_traces k = { 0 };
	const struct trace **list;
	uint64_t sum = 0;
	struct rng r;

	(void)state;
	rng_seed(&r, 3);
	for (int round = 0; round < 5; round++) {
		uint32_t order[1000], n;

		for (uint32_t i = 0; i < 1000; i++)
			order[i] = i;
		for (uint32_t i = 999; i > 0; i--) {
			uint32_t j = (uint32_t)rng_below(&r, i + 1), other = order[j];

			order[j] = order[i];
			order[i] = other;
		}
		for (uint32_t i = 0; i < 1000; i++)
			add(&k, new_trace(1, order[i] + 1, 1000 * (order[i] + 1), 0));
		n = kept_traces_list(&k, 1, &list);
		assert_int_equal(n, KEPT_SLOW + KEPT_SAMPLE);
		for (uint32_t i = 0; i < KEPT_SLOW; i++)
			assert_int_equal(list[i]->id, 1000 - i);
		for (uint32_t i = 1; i < n; i++)
			assert_true(list[i]->id < list[i - 1]->id);
		free(list);
		assert_true(round == 0 || sum_of_ids(&k) == sum);
		sum = sum_of_ids(&k);
		kept_traces_clear(&k);
	}
}

static void
memory_is_bounded_and_large_traces_are_counted(void **state)
{
	struct kept_traces k = { 0 };
	struct trace *large = new_trace(1, 1, 5, KEPT_BYTES / 16 + 1);

	(void)state;
	assert_false(kept_traces_add(&k, large));
	trace_free(large);
	assert_int_equal(k.too_large, 1);
	for (uint32_t i = 0; i < 400; i++) {
		add(&k, new_trace(i % 4, i + 1, i + 1, 1 << 20));
		assert_true(k.bytes <= KEPT_BYTES);
	}
	assert_true(k.bytes > KEPT_BYTES / 2);
	kept_traces_clear(&k);
	assert_int_equal(k.bytes, 0);
}

static void
a_new_type_finds_a_place_among_too_many(void **state)
{
	struct kept_traces k = { 0 };
	const struct trace **list;

	(void)state;
	for (uint32_t i = 0; i < 3 * KEPT_TYPES; i++)
		add(&k, new_trace(i, i + 1, 1, 0));
	assert_int_equal(k.n, KEPT_TYPES);
	assert_int_equal(kept_traces_list(&k, 3 * KEPT_TYPES - 1, &list), 1);
	free(list);
	kept_traces_clear(&k);
}

static void
a_trace_without_a_type_is_not_kept(void **state)
{
	struct kept_traces k = { 0 };
	struct trace *t = new_trace(LABEL_NONE, 1, 1, 0);

	(void)state;
	assert_false(kept_traces_add(&k, t));
	trace_free(t);
	kept_traces_clear(&k);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_slowest_are_kept_and_a_sample_in_any_order),
		cmocka_unit_test(memory_is_bounded_and_large_traces_are_counted),
		cmocka_unit_test(a_new_type_finds_a_place_among_too_many),
		cmocka_unit_test(a_trace_without_a_type_is_not_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
