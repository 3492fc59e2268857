/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/rng.h"
#include "below/kernel/record_numbers.h"

enum { QUEUES = 3, TURNS = 400, A_TURN = 20, ALL = TURNS * A_TURN };

static void
records_in_order_are_never_missing(void **state)
{
	struct record_numbers *n = record_numbers_new(2, 5);
	uint64_t from_ns, to_ns;
	(void)state;

	assert_non_null(n);
	for (uint64_t i = 1; i < 1000; i++) {
		record_numbers_take(n, 0, i, 10 * i);
		if (i % 3 == 0)
			record_numbers_take(n, 1, i / 3, 10 * i);
		assert_int_equal(i % 7 == 0 ? record_numbers_turn(n, &from_ns, &to_ns) : 0, 0);
	}
	assert_int_equal(record_numbers_turn(n, &from_ns, &to_ns), 0);
	assert_int_equal(record_numbers_turn(n, &from_ns, &to_ns), 0);
	record_numbers_take(n, 2, 7, 1); /* there is no such queue */
	assert_int_equal(record_numbers_turn(n, &from_ns, &to_ns), 0);
	record_numbers_free(n);
	record_numbers_free(NULL);
	assert_null(record_numbers_new(0, 5));
}

static void
one_that_comes_a_turn_late_is_not_missing_and_one_that_does_not_is(void **state)
{
	struct record_numbers *n = record_numbers_new(1, 5);
	uint64_t from_ns = 1, to_ns = 2;
	(void)state;

	record_numbers_take(n, 0, 1, 10);
	record_numbers_take(n, 0, 2, 20);
	record_numbers_take(n, 0, 4, 40);
	assert_int_equal(record_numbers_turn(n, &from_ns, &to_ns), 0);
	record_numbers_take(n, 0, 3, 30);
	record_numbers_take(n, 0, 5, 50);
	record_numbers_take(n, 0, 8, 80);
	assert_int_equal(record_numbers_turn(n, &from_ns, &to_ns), 0);
	assert_int_equal(from_ns, 1);
	record_numbers_take(n, 0, 6, 60);
	assert_int_equal(record_numbers_turn(n, &from_ns, &to_ns), 1); /* 7 */
	assert_int_equal(from_ns, 40);
	assert_int_equal(to_ns, 80);
	record_numbers_take(n, 0, 7, 70); /* too late */
	assert_int_equal(record_numbers_turn(n, &from_ns, &to_ns), 0);
	record_numbers_free(n);
}

struct world {
	struct rng rng;
	struct record_numbers *numbers;
	uint64_t next[QUEUES], time_ns, last_ns[QUEUES];
	uint64_t lost_ns[ALL]; /* times of those that were dropped */
	uint32_t nlost, nfound;
};

/* Each drop lies in the span of the turn that tells of it. */
static void
tell(struct world *w)
{
	uint64_t from_ns, to_ns, n = record_numbers_turn(w->numbers, &from_ns, &to_ns);
	uint32_t inside = 0;

	for (uint32_t i = 0; i < w->nlost; i++)
		inside += n > 0 && w->lost_ns[i] >= from_ns && w->lost_ns[i] <= to_ns;
	assert_true(inside >= n);
	w->nfound += (uint32_t)n;
}

/* Each k-th record, of any queue, is dropped without a word. Records may be a place early or late. */
static void
each_record_that_is_dropped_is_told_once(void **state)
{
	(void)state;

	for (uint32_t k = 1; k < 50; k += 3) {
		struct world *w = calloc(1, sizeof *w);
		uint32_t nth = 0;

		rng_seed(&w->rng, k);
		w->numbers = record_numbers_new(QUEUES, 0);
		for (int turn = 0; turn < TURNS; turn++) {
			for (int i = 0; i < A_TURN; i++) {
				uint32_t q = (uint32_t)rng_below(&w->rng, QUEUES);
				uint64_t number = ++w->next[q];

				w->time_ns += 1 + rng_below(&w->rng, 1000);
				if (rng_below(&w->rng, 10) == 0 && i + 1 < A_TURN) {
					/* an interrupt's record is taken first */
					record_numbers_take(
					    w->numbers, q, ++w->next[q], w->time_ns);
				}
				if (++nth % k == 0 && turn < TURNS - 2)
					w->lost_ns[w->nlost++] = w->time_ns;
				else
					record_numbers_take(w->numbers, q, number, w->time_ns);
			}
			tell(w);
		}
		for (uint32_t q = 0; q < QUEUES;
		     q++) /* one more of each shows what is missing before it */
			record_numbers_take(w->numbers, q, ++w->next[q], ++w->time_ns);
		tell(w);
		tell(w);
		assert_true(w->nlost > 0);
		assert_int_equal(w->nfound, w->nlost);
		record_numbers_free(w->numbers);
		free(w);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_in_order_are_never_missing),
		cmocka_unit_test(
		    one_that_comes_a_turn_late_is_not_missing_and_one_that_does_not_is),
		cmocka_unit_test(each_record_that_is_dropped_is_told_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
