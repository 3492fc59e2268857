/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * below_program FILE: requests of type WORK that wait for a mutex, which another thread holds while it sleeps, now in a
 * request of type HOLD, now outside of requests. Each request is a line of the file: its trace, its unit, and whether it is probed. The
 * first line is the number of the type HOLD. A probed WORK that has ended is another line, with the times between which it waited
 * (CLOCK_MONOTONIC). Its USDT probes: `append`, which each WORK passes once, with a number that counts them,
 * and each HOLD, too; `often`, which a third thread passes some 300,000 times a second.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "instrument/hone.h"
#include "tests/usdt_note.h"

enum { HELD_US = 20000, FREE_US = 2000, OFTEN = 400 };

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
count(long number)
{
	USDT_PROBE("below_program", "append", number);
}

static void *
pass_often(void *unused)
{
	for (;;) {
		for (int i = 0; i < OFTEN; i++)
			USDT_PROBE("below_program", "often", i);
		usleep(1000);
	}
	return unused;
}

static __attribute__((noinline)) void
write_out(void)
{
	count(-1);
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

static long long
now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
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
	pthread_t holder, often;
	long number = 0;

	requests = argc == 2 ? fopen(argv[1], "a") : NULL;
	if (requests == NULL)
		return 1;
	setvbuf(requests, NULL, _IOLBF, 0);
	fprintf(requests, "hold %u\n", hone_request_type("HOLD"));
	if (pthread_create(&holder, NULL, hold, NULL) != 0 ||
	    pthread_create(&often, NULL, pass_often, NULL) != 0)
		return 1;
	for (;;) {
		unsigned long long trace_id, unit_id;
		long long from_ns, to_ns;
		bool probed;

		begin("WORK");
		trace_id = hone_trace_id();
		unit_id = hone_unit_id();
		probed = hone_probed();
		count(++number);
		from_ns = now_ns();
		append();
		to_ns = now_ns();
		hone_request_end(200);
		if (probed)
			fprintf(requests, "done trace %llu unit %llu from %lld to %lld\n", trace_id,
			    unit_id, from_ns, to_ns);
		usleep(FREE_US);
	}
}
