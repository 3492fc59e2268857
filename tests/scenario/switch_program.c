/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * switch_program: 500 requests a second of type HAND, each of which hands a byte to another thread and waits for it 100 times: 100,000
 * context switches a second. One request in four computes as well, in a function without a tracepoint.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "instrument/hone.h"

enum { REQUESTS_HZ = 500, HANDS = 100, COMPUTE_NS = 1500000 };

static int there[2], back[2];

static int64_t
now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static void *
other(void *unused)
{
	char c;

	while (read(there[0], &c, 1) == 1 && write(back[1], &c, 1) == 1)
		;
	return unused;
}

static __attribute__((noinline)) void
compute(void)
{
	int64_t until_ns = now_ns() + COMPUTE_NS;

	while (now_ns() < until_ns)
		;
	__asm__ volatile("");
}

int
main(void)
{
	struct timespec due;
	unsigned dice = 1;
	pthread_t thread;

	if (pipe(there) != 0 || pipe(back) != 0 || pthread_create(&thread, NULL, other, NULL) != 0)
		return 1;
	clock_gettime(CLOCK_MONOTONIC, &due);
	for (;;) {
		char c = 0;

		hone_request_begin("HAND", NULL);
		for (int i = 0; i < HANDS; i++)
			if (write(there[1], &c, 1) != 1 || read(back[0], &c, 1) != 1)
				return 1;
		if (rand_r(&dice) % 4 == 0)
			compute();
		hone_request_end(200);
		due.tv_nsec += 1000000000 / REQUESTS_HZ;
		due.tv_sec += due.tv_nsec / 1000000000;
		due.tv_nsec %= 1000000000;
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL);
	}
}
