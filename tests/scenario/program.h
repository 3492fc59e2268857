/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shared by the programs of scenarios and benches: a clock, waiting, state words that another
 * process reads. */
#ifndef HONE_TESTS_SCENARIO_PROGRAM_H
#define HONE_TESTS_SCENARIO_PROGRAM_H

#include <stdint.h>
#include <time.h>

#define put(p, v) __atomic_store_n(p, v, __ATOMIC_RELEASE)
#define get(p) __atomic_load_n(p, __ATOMIC_ACQUIRE)

static inline int64_t
now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static inline void
wait_us(int64_t us)
{
	if (us > 0)
		nanosleep(&(struct timespec){ us / 1000000, us % 1000000 * 1000 }, NULL);
}

#endif
