/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/rng.h"
#include "below/kernel/record_sort.h"

struct seen {
	uint64_t last_ns, last_number;
	uint32_t n;
};

struct sent {
	uint64_t time_ns, number;
	uint8_t rest[100];
};

static void
see(void *of, const void *record, size_t len)
{
	struct seen *s = of;
	struct sent r;

	assert_true((uintptr_t)record % 8 == 0);
	assert_true(len >= 16 && len <= sizeof r);
	memset(&r, 0, sizeof r);
	memcpy(&r, record, len);
	for (size_t i = 16; i < len; i++)
		assert_int_equal(r.rest[i - 16], (uint8_t)r.number);
	assert_true(
	    r.time_ns > s->last_ns || (r.time_ns == s->last_ns && r.number > s->last_number));
	s->last_ns = r.time_ns;
	s->last_number = r.number;
	s->n++;
}

/* Records of four CPUs, each in order; a CPU that is read later has later ones. */
static void
records_of_several_cpus_come_in_the_order_of_their_times(void **state)
{
	(void)state;

	for (uint64_t seed = 1; seed <= 200; seed++) {
		struct record_sort *s = record_sort_new();
		uint64_t at_ns[4] = { 1, 1, 1, 1 }, number = 0;
		struct seen seen = { 0 };
		struct rng r;

		rng_seed(&r, seed);
		assert_non_null(s);
		for (uint64_t until_ns = 100; until_ns <= 2000; until_ns += 100) {
			for (int cpu = 0; cpu < 4; cpu++)
				for (uint64_t to_ns = until_ns + 20 * (uint64_t)cpu;
				     at_ns[cpu] <= to_ns; at_ns[cpu] += rng_below(&r, 30)) {
					struct sent one = { at_ns[cpu], ++number, { 0 } };

					memset(one.rest, (uint8_t)number, sizeof one.rest);
					assert_true(record_sort_add(
					    s, one.time_ns, &one, 16 + rng_below(&r, 101)));
				}
			record_sort_take(s, until_ns, see, &seen);
			assert_true(seen.last_ns <= until_ns);
		}
		record_sort_take(s, UINT64_MAX, see, &seen);
		assert_int_equal(seen.n, number);
		record_sort_free(s);
	}
	record_sort_free(NULL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_of_several_cpus_come_in_the_order_of_their_times),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
