/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * deep_program mutex|work|library REQUEST_EVERY_US: a booking desk. Four threads serve requests of
 * type BOOK, with two tracepoints around the access to the book. Between these lie locks, memory
 * allocations and the cause of slow requests:
 *
 *	mutex    an auditor sometimes holds the book's mutex for about 20 ms
 *	work     one request in five computes for as long
 *	library  one in five loads a library whose constructor takes as long (its path: DESK_LIBRARY)
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "instrument/hone.h"
#include "tests/scenario/program.h"
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "tests/scenario/deep_program_tp.h"

enum { CLERKS = 4 };

static pthread_mutex_t prices = PTHREAD_MUTEX_INITIALIZER, book = PTHREAD_MUTEX_INITIALIZER;
static enum { MUTEX, WORK, LIBRARY } mode;
static long every_us;
static char *volatile pages[16];

/* Allocates some memory, as ordinary code does. */
static void
scribble(unsigned *dice)
{
	for (int n = rand_r(dice) % 5; n >= 0; n--) {
		unsigned at = (unsigned)rand_r(dice) % 16;
		char *was = __atomic_exchange_n(
		    &pages[at], malloc(1 + (size_t)rand_r(dice) % 4000), __ATOMIC_ACQ_REL);

		free(was);
	}
}

static void
price(unsigned *dice)
{
	for (int n = rand_r(dice) % 3; n >= 0; n--) {
		pthread_mutex_lock(&prices);
		scribble(dice);
		pthread_mutex_unlock(&prices);
	}
}

static void
slow(unsigned *dice)
{
	void *library;

	if (mode == MUTEX || rand_r(dice) % 5 != 0)
		return;
	if (mode == WORK) {
		wait_us(20000 + rand_r(dice) % 4000);
	} else if ((library = dlopen(getenv("DESK_LIBRARY"), RTLD_NOW)) != NULL) {
		dlclose(library);
	} else {
		fprintf(stderr, "deep_program: %s\n", dlerror());
		exit(1);
	}
}

static void
serve(unsigned *dice)
{
	int n = 1 + rand_r(dice) % 9;

	hone_request_begin("BOOK", NULL);
	lttng_ust_tracepoint(deskp, asked, n);
	price(dice);
	lttng_ust_tracepoint(deskp, priced, n);
	scribble(dice);
	slow(dice);
	pthread_mutex_lock(&book);
	scribble(dice);
	pthread_mutex_unlock(&book);
	lttng_ust_tracepoint(deskp, booked, n);
	scribble(dice);
	lttng_ust_tracepoint(deskp, printed, n);
	hone_request_end(0);
}

static void *
clerk(void *number)
{
	unsigned dice = (unsigned)(size_t)number;

	for (;;) {
		serve(&dice);
		wait_us(every_us * CLERKS);
	}
	return NULL;
}

static void
audit(void)
{
	unsigned dice = 4711;

	for (;;) {
		wait_us(60000 + rand_r(&dice) % 60000);
		pthread_mutex_lock(&book);
		wait_us(20000 + rand_r(&dice) % 10000);
		pthread_mutex_unlock(&book);
	}
}

int
main(int argc, char **argv)
{
	static const char *const MODES[] = { "mutex", "work", "library" };
	pthread_t thread;

	while (argc == 3 && mode <= LIBRARY && strcmp(argv[1], MODES[mode]) != 0)
		mode++;
	if (argc != 3 || mode > LIBRARY || (every_us = atol(argv[2])) <= 0) {
		fprintf(stderr, "usage: deep_program mutex|work|library REQUEST_EVERY_US\n");
		return 2;
	}
	for (size_t i = 1; i <= CLERKS; i++)
		if (pthread_create(&thread, NULL, clerk, (void *)i) != 0)
			return 1;
	while (mode != MUTEX)
		wait_us(1000000);
	audit();
}
