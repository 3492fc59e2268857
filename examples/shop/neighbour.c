/* SPDX-License-Identifier: GPL-3.0-or-later */
/* shop-neighbour CPU: a process of another application. It computes on this CPU in bursts of 20 to 120 ms, with pauses as long
 * between them, until it is ended. */
#define _GNU_SOURCE
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static double
now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static double
length_ms(void)
{
	return 20 + 100 * drand48();
}

int
main(int argc, char **argv)
{
	cpu_set_t cpus;
	int cpu = argc == 2 ? atoi(argv[1]) : -1;

	if (cpu < 0 || cpu >= CPU_SETSIZE) {
		fprintf(stderr, "usage: shop-neighbour CPU\n");
		return 2;
	}
	CPU_ZERO(&cpus);
	CPU_SET(cpu, &cpus);
	if (sched_setaffinity(0, sizeof cpus, &cpus) != 0) {
		perror("shop-neighbour");
		return 1;
	}
	srand48(getpid());
	for (;;) {
		double until = now_ms() + length_ms();

		while (now_ms() < until)
			;
		usleep((useconds_t)(1e3 * length_ms()));
	}
}
