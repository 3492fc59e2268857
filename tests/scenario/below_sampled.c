/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * below_sampled FILE: requests of type WORK of two threads, each of which sleeps, computes, and waits for a mutex that a
 * third thread holds. Each request is a line of the file: its trace, and for how many ns it slept, computed (processor time), and waited
 * for the mutex, by its own clocks.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "instrument/hone.h"

enum {
	HELD_MIN_US = 10000,
	HELD_MOST_US = 90000,
	SLEEP_US = 40000,
	COMPUTE_US = 20000,
	FREE_US = 3000,
	PAUSE_US = 10000
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static FILE *requests;

static int64_t
now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* For times that differ, so that requests do. */
static void *
hold(void *unused)
{
	unsigned seed = 1;

	for (;;) {
		pthread_mutex_lock(&mutex);
		usleep(HELD_MIN_US + (useconds_t)rand_r(&seed) % (HELD_MOST_US - HELD_MIN_US));
		pthread_mutex_unlock(&mutex);
		usleep(FREE_US);
	}
	return unused;
}

static __attribute__((noinline)) int64_t
compute(void)
{
	int64_t begin = now_ns(CLOCK_THREAD_CPUTIME_ID), took;

	while ((took = now_ns(CLOCK_THREAD_CPUTIME_ID) - begin) < COMPUTE_US * INT64_C(1000))
		;
	return took;
}

static __attribute__((noinline)) void
append(void)
{
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
}

static void *
work(void *unused)
{
	for (;;) {
		int64_t begin, slept, computed, waited;

		hone_request_begin("WORK", NULL);
		begin = now_ns(CLOCK_MONOTONIC);
		usleep(SLEEP_US);
		slept = now_ns(CLOCK_MONOTONIC) - begin;
		computed = compute();
		begin = now_ns(CLOCK_MONOTONIC);
		append();
		waited = now_ns(CLOCK_MONOTONIC) - begin;
		if (hone_probed())
			fprintf(requests, "%llu %lld %lld %lld\n",
			    (unsigned long long)hone_trace_id(), (long long)slept,
			    (long long)computed, (long long)waited);
		hone_request_end(200);
		usleep(PAUSE_US);
	}
	return unused;
}

int
main(int argc, char **argv)
{
	pthread_t holder, other;

	requests = argc == 2 ? fopen(argv[1], "a") : NULL;
	if (requests == NULL)
		return 1;
	setvbuf(requests, NULL, _IOLBF, 0);
	if (pthread_create(&holder, NULL, hold, NULL) != 0 ||
	    pthread_create(&other, NULL, work, NULL) != 0)
		return 1;
	work(NULL);
	return 0;
}
