/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How many sequences of states a second the miner takes, as a function of their number and length, and of how much they differ; what is
 * over the bound says so. Sequences are those of operations: copies of one, of which some have a wait more, or less. Measures only.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/rng.h"
#include "kernel/patterns/mine.h"

enum { LONGEST = 96, MOST = 20000 };

static double
now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Running, and each time another wait; of each sequence one place in `noise` has a wait and running more. */
static void
make(struct mine_sequence *s, uint8_t (*text)[LONGEST * 2], uint32_t n, uint32_t len,
    uint32_t noise, struct rng *r)
{
	uint8_t base[LONGEST];

	for (uint32_t i = 0; i < len; i++)
		base[i] = (uint8_t)(i % 2 == 0 ? 0 : 2 + rng_below(r, 5));
	for (uint32_t k = 0; k < n; k++) {
		uint32_t out = 0;

		for (uint32_t i = 0; i < len; i++) {
			text[k][out++] = base[i];
			if (i % 2 == 0 && noise > 0 && rng_below(r, noise) == 0) {
				text[k][out++] = (uint8_t)(2 + rng_below(r, 6));
				text[k][out++] = 0;
			}
		}
		s[k] = (struct mine_sequence){ text[k], out, 1 };
	}
}

int
main(void)
{
	static const uint32_t lengths[] = { 3, 6, 12, 24, 40, 64 },
			      numbers[] = { 100, 1000, 10000 };
	static uint8_t text[MOST][LONGEST * 2];
	struct mine_sequence *s = calloc(MOST, sizeof *s);

	printf("%8s %8s %6s %6s %10s %10s %12s %10s\n", "number", "length", "noise", "gap",
	    "patterns", "looked at", "steps", "per s");
	for (uint32_t gap = 0; gap <= 2; gap += 2)
		for (uint32_t noise = 0; noise <= 100; noise += 100)
			for (uint32_t l = 0; l < sizeof lengths / sizeof lengths[0]; l++)
				for (uint32_t k = 0; k < sizeof numbers / sizeof numbers[0]; k++) {
					struct mine_options o = { .gap_max = gap,
						.support = 0.95,
						.nodes_max = 1 << 15 };
					struct mine_result got;
					struct arena a = { 0 };
					struct err e;
					struct rng r;
					double begun;
					int rc;

					rng_seed(&r, l);
					make(s, text, numbers[k], lengths[l], noise, &r);
					begun = now_s();
					rc = mine_closed(&got, s, numbers[k], &o, &a, &e);
					printf("%8u %8u %6s %6u ", numbers[k], lengths[l],
					    noise > 0 ? "1 %" : "none", gap);
					if (rc == 0)
						printf("%10u %10u %12llu %10.0f\n", got.n,
						    got.nodes, (unsigned long long)got.work,
						    numbers[k] / (now_s() - begun));
					else
						printf("%10s %10u %12llu %8.2f s\n", "over",
						    got.nodes, (unsigned long long)got.work,
						    now_s() - begun);
					arena_release(&a);
				}
	free(s);
	return 0;
}
