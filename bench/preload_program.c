/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * preload_program: cost of calls that LTTng's preloaded helpers wrap, in ns of this thread's
 * processor time, the minimum of many rounds: locking and unlocking an uncontended mutex; malloc
 * and free; loading and unloading a library; and a request of about 100 us with 20 of the first and
 * 40 of the second. See preload_cost.sh.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ROUNDS = 15 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *volatile memory;
static volatile uint64_t sum;

static void
lock_one(void)
{
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
}

static void
allocate_one(void)
{
	memory = malloc(64);
	free(memory);
}

static void
load_one(void)
{
	void *library = dlopen("libz.so.1", RTLD_NOW);

	if (library == NULL) {
		fprintf(stderr, "preload_program: %s\n", dlerror());
		exit(1);
	}
	dlclose(library);
}

static void
serve_one(void)
{
	for (int i = 0; i < 20; i++) {
		lock_one();
		allocate_one();
		allocate_one();
		for (int k = 0; k < 6200; k++)
			sum = sum * 31 + (uint64_t)k;
	}
}

static double
now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double
least_ns(void (*what)(void), int times)
{
	double least = 1e18;

	for (int r = 0; r < ROUNDS; r++) {
		double begun = now_ns(), each;

		for (int i = 0; i < times; i++)
			what();
		each = (now_ns() - begun) / times;
		least = each < least ? each : least;
	}
	return least;
}

int
main(void)
{
	printf("%.1f %.1f %.0f %.0f\n", least_ns(lock_one, 100000), least_ns(allocate_one, 100000),
	    least_ns(load_one, 10), least_ns(serve_one, 200));
	return 0;
}
