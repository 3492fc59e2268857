/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "below/kernel/cpu_merge.h"

enum { CPUS = 5 };

struct sent {
	uint64_t time_ns, number;
	uint8_t rest[100];
};

struct seen {
	uint64_t last_ns;
	uint32_t last_cpu, n;
	uint64_t last_number[CPUS]; /* of records of equal times */
};

static void
see(void *of, uint32_t cpu, void *record, size_t len)
{
	struct seen *s = of;
	struct sent r;

	assert_true((uintptr_t)record % 8 == 0);
	assert_true(len >= 16 && len <= sizeof r);
	memset(&r, 0, sizeof r);
	memcpy(&r, record, len);
	for (size_t i = 16; i < len; i++)
		assert_int_equal(r.rest[i - 16], (uint8_t)r.number);
	assert_true(r.time_ns >= s->last_ns);
	if (r.time_ns == s->last_ns && s->n > 0) {
		assert_true(cpu >= s->last_cpu);
		assert_true(cpu != s->last_cpu || r.number > s->last_number[cpu]);
	}
	s->last_ns = r.time_ns;
	s->last_cpu = cpu;
	s->last_number[cpu] = r.number;
	s->n++;
}

/* A record of an interrupt lies behind that of what it interrupted, though its time is earlier. */
static void
records_of_several_cpus_come_in_the_order_of_their_times(void **state)
{
	(void)state;

	for (uint64_t seed = 1; seed <= 200; seed++) {
		struct cpu_merge *m = cpu_merge_new(CPUS);
		uint64_t at_ns[CPUS] = { 0 }, number = 0;
		struct seen seen = { 0 };
		size_t bytes = 0;
		struct rng r;

		rng_seed(&r, seed);
		assert_non_null(m);
		for (uint64_t until_ns = 100; until_ns <= 2000; until_ns += 100) {
			for (uint32_t cpu = 0; cpu < CPUS; cpu++)
				while (at_ns[cpu] <= until_ns + 20) {
					struct sent one = { at_ns[cpu], ++number, { 0 } };
					size_t len = 16 + rng_below(&r, 101);

					if (at_ns[cpu] > until_ns - 90 && rng_below(&r, 4) == 0)
						one.time_ns -= rng_below(&r, 10);
					memset(one.rest, (uint8_t)number, sizeof one.rest);
					assert_true(cpu_merge_add(m, cpu, one.time_ns, &one, len));
					bytes += len;
					at_ns[cpu] += rng_below(&r, 30);
				}
			assert_true(cpu_merge_bytes(m) <= bytes);
			cpu_merge_take(m, until_ns, see, &seen);
			assert_true(seen.last_ns <= until_ns);
		}
		cpu_merge_take(m, UINT64_MAX, see, &seen);
		assert_int_equal(seen.n, number);
		assert_int_equal(cpu_merge_bytes(m), 0);
		cpu_merge_free(m);
	}
	cpu_merge_free(NULL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_of_several_cpus_come_in_the_order_of_their_times),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
