/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * below_program FILE: requests of type WORK that wait for a mutex, which another thread holds while it sleeps, now in a
 * request of type HOLD, now outside of requests. Each request is a line of the file: its trace, its unit, and whether it is probed. The
 * first line is the number of the type HOLD.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "instrument/hone.h"

enum { HELD_US = 20000, FREE_US = 2000 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static FILE *requests;

static void
begin(const char *type)
{
	hone_request_begin(type, NULL);
	fprintf(requests, "trace %llu unit %llu probed %d\n", (unsigned long long)hone_trace_id(),
	    (unsigned long long)hone_unit_id(), hone_probed());
}

static __attribute__((noinline)) void
write_out(void)
{
	usleep(HELD_US);
}

static void *
hold(void *unused)
{
	for (bool inside = true;; inside = !inside) {
		if (inside)
			begin("HOLD");
		pthread_mutex_lock(&mutex);
		write_out();
		pthread_mutex_unlock(&mutex);
		if (inside)
			hone_request_end(200);
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
	pthread_t holder;

	requests = argc == 2 ? fopen(argv[1], "a") : NULL;
	if (requests == NULL)
		return 1;
	setvbuf(requests, NULL, _IOLBF, 0);
	fprintf(requests, "hold %u\n", hone_request_type("HOLD"));
	if (pthread_create(&holder, NULL, hold, NULL) != 0)
		return 1;
	for (;;) {
		begin("WORK");
		append();
		hone_request_end(200);
		usleep(FREE_US);
	}
}
