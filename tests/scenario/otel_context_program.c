/* SPDX-License-Identifier: GPL-3.0-or-later */
/* otel_context_program [LIBRARY]: a thread that sleeps in turn in a span, without one, and with a record that is not valid. LIBRARY: loaded later. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/scenario/otel_context.h"

enum { SLEEP_US = 3000 };

static void (*set)(struct otel_record *r);

static __attribute__((noinline)) void
in_span(void)
{
	usleep(SLEEP_US);
	__asm__ volatile("");
}

static __attribute__((noinline)) void
without_span(void)
{
	usleep(SLEEP_US);
	__asm__ volatile("");
}

static void *
work(void *unused)
{
	struct otel_record r = { .trace_id = { 1 }, .span_id = { 2 }, .valid = 1 };

	r.trace_id[15] = 7;
	for (;;) {
		set(&r);
		in_span();
		set(NULL);
		without_span();
		r.valid = 0;
		set(&r);
		without_span();
		set(NULL);
		r.valid = 1;
	}
	return unused;
}

int
main(int argc, char **argv)
{
	pthread_t thread;
	void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : RTLD_DEFAULT, *found;

	if ((found = library != NULL || argc == 1 ? dlsym(library, "otel_context_set") : NULL) ==
	    NULL) {
		fprintf(stderr, "otel_context_program: %s\n", dlerror());
		return 1;
	}
	memcpy(&set, &found, sizeof set);
	if (pthread_create(&thread, NULL, work, NULL) != 0)
		return 1;
	puts("ready");
	fflush(stdout);
	pthread_join(thread, NULL);
	return 0;
}
