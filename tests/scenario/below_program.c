/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * below_program FILE: requests of type WORK that wait for a mutex, which another thread holds while it sleeps. Each request
 * is a line of the file: its trace, its unit, and whether it is probed.
 */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "instrument/hone.h"

enum { HELD_US = 20000, FREE_US = 2000 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static __attribute__((noinline)) void
write_out(void)
{
	usleep(HELD_US);
}

static void *
hold(void *unused)
{
	for (;;) {
		pthread_mutex_lock(&mutex);
		write_out();
		pthread_mutex_unlock(&mutex);
		usleep(FREE_US);
	}
	return unused;
}

static __attribute__((noinline)) void
append(void)
{
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
}

int
main(int argc, char **argv)
{
	FILE *f = argc == 2 ? fopen(argv[1], "a") : NULL;
	pthread_t holder;

	if (f == NULL || pthread_create(&holder, NULL, hold, NULL) != 0)
		return 1;
	setvbuf(f, NULL, _IOLBF, 0);
	for (;;) {
		hone_request_begin("WORK", NULL);
		fprintf(f, "trace %llu unit %llu probed %d\n", (unsigned long long)hone_trace_id(),
		    (unsigned long long)hone_unit_id(), hone_probed());
		append();
		hone_request_end(200);
		usleep(FREE_US);
	}
}
