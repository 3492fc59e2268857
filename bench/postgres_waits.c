/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Cost of a wait that ends at once: a semaphore that is already up, in a program that publishes its
 * wait event, as a PostgreSQL server does. Run with and without libhone_postgres_waits.so
 * preloaded; prints ns without a published wait event, and with one, as the minimum of many.
 */
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

enum { LWLOCK = 0x01000000, CALLS = 10000, TRIES = 200 };

uint32_t wait_event_info;
uint32_t *my_wait_event_info = &wait_event_info;
const char *pgstat_get_wait_event(uint32_t info);

const char *
pgstat_get_wait_event(uint32_t info)
{
	return info != 0 ? "WALWrite" : NULL;
}

static double
smallest_ns(sem_t *sem)
{
	double least = 1e9;

	for (int i = 0; i < TRIES; i++) {
		struct timespec from, to;
		double ns;

		clock_gettime(CLOCK_MONOTONIC, &from);
		for (int j = 0; j < CALLS; j++) {
			sem_post(sem);
			sem_wait(sem);
		}
		clock_gettime(CLOCK_MONOTONIC, &to);
		ns = ((double)(to.tv_sec - from.tv_sec) * 1e9 +
			 (double)(to.tv_nsec - from.tv_nsec)) /
		     CALLS;
		least = ns < least ? ns : least;
	}
	return least;
}

int
main(void)
{
	sem_t sem;
	double outside;

	sem_init(&sem, 1, 0);
	outside = smallest_ns(&sem);
	wait_event_info = LWLOCK;
	printf("post and wait: %.1f ns, inside of a wait: %.1f ns\n", outside, smallest_ns(&sem));
	return 0;
}
