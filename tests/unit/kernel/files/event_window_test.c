/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/rng.h"
#include "kernel/files/event_window.h"

static struct kernel_event
at(int64_t time_ns, uint16_t cpu)
{
	return (struct kernel_event){ .time_ns = time_ns, .cpu = cpu };
}

static void
cpus_are_merged_and_equal_times_keep_their_order(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 50; seed++) {
		struct event_window *w = event_window_new(1 << 20);
		struct windowed_event got, before = { 0 };
		int64_t times[8] = { 0 }, latest[8] = { -9, -9, -9, -9, -9, -9, -9, -9 };
		struct rng rng;
		int n = 0;

		rng_seed(&rng, seed);
		assert_non_null(w);
		for (int i = 0; i < 2000; i++) {
			uint16_t cpu = (uint16_t)rng_below(&rng, 8);
			struct kernel_event ev;

			times[cpu] += (int64_t)rng_below(&rng, 4);
			ev = at(times[cpu] - (int64_t)rng_below(&rng, 3), cpu); /* a little back */
			ev.tid = (uint32_t)i;
			assert_int_equal(event_window_add(w, &ev),
			    ev.time_ns < latest[cpu] ? WINDOW_MOVED : WINDOW_TOOK);
			latest[cpu] = ev.time_ns > latest[cpu] ? ev.time_ns : latest[cpu];
		}
		for (; event_window_take(w, &got); n++) {
			if (n > 0)
				assert_true(got.ev.time_ns > before.ev.time_ns ||
					    (got.ev.time_ns == before.ev.time_ns &&
						got.ev.tid > before.ev.tid));
			before = got;
		}
		assert_int_equal(n, 2000);
		event_window_free(w);
	}
}

static void
what_comes_after_later_ones_have_left_is_late(void **state)
{
	struct event_window *w = event_window_new(1 << 16);
	struct windowed_event got;
	struct kernel_event ev = at(10, 0), early = at(9, 1), same = at(10, 1);

	(void)state;
	assert_int_equal(event_window_add(w, &ev), WINDOW_TOOK);
	assert_true(event_window_take(w, &got));
	assert_int_equal(event_window_add(w, &early), WINDOW_LATE);
	assert_int_equal(event_window_add(w, &same), WINDOW_TOOK);
	assert_true(event_window_take(w, &got));
	assert_false(event_window_take(w, &got));
	event_window_free(w);
}

/* A CPU whose clock goes back far costs a bounded number of steps for each event. */
static void
an_event_far_back_is_late(void **state)
{
	struct event_window *w = event_window_new(1 << 20);
	struct kernel_event ev, back = at(0, 0);

	(void)state;
	for (int i = 1; i <= 300; i++) {
		ev = at(i, 0);
		assert_int_equal(event_window_add(w, &ev), WINDOW_TOOK);
	}
	assert_int_equal(event_window_add(w, &back), WINDOW_LATE);
	event_window_free(w);
}

static void
it_is_full_at_its_bound(void **state)
{
	struct event_window *w = event_window_new(100 * sizeof(struct windowed_event));
	struct windowed_event got;
	int n = 0;

	(void)state;
	for (; !event_window_full(w); n++) {
		struct kernel_event ev = at(n, (uint16_t)(n % 3));

		assert_int_equal(event_window_add(w, &ev), WINDOW_TOOK);
	}
	assert_in_range(n, 25, 100);
	assert_true(event_window_take(w, &got));
	assert_false(event_window_full(w));
	event_window_free(w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cpus_are_merged_and_equal_times_keep_their_order),
		cmocka_unit_test(what_comes_after_later_ones_have_left_is_late),
		cmocka_unit_test(an_event_far_back_is_late),
		cmocka_unit_test(it_is_full_at_its_bound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
