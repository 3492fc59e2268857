/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * source_program ROUNDS PAUSE_US THREADS [hot]: fires all kinds of tracepoints on THREADS threads,
 * in requests if libhone is preloaded. hot: only the smallest one. Prints the number of its own
 * tracepoints that it has fired. ROUNDS 0: endlessly.
 */
#define LTTNG_UST_TRACEPOINT_DEFINE
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "instrument/hone.h"
#include "tests/scenario/source_tp.h"

#pragma weak hone_request_begin
#pragma weak hone_request_end
#pragma weak hone_fork
#pragma weak hone_join

static long rounds;
static unsigned pause_us;
static int hot;

static void
fire(uint64_t i)
{
	/* none is empty: babeltrace2 2.0.4 shows the text before it instead */
	static const char *const texts[] = { "e", "plain", "two\nlines\t\"quoted\" \\",
		"caf\xc3\xa9" };
	uint16_t list[4] = { (uint16_t)i, 2, 3, 0xffff };
	char big[400];

	lttng_ust_tracepoint(kinds, ints, i * 0x9e3779b97f4a7c15u);
	lttng_ust_tracepoint(
	    kinds, others, (double)i * 1.25 - 3, texts[i % 4], list, i % 5 < 5 ? i % 4 : 0);
	lttng_ust_tracepoint(kinds, none);
	lttng_ust_tracepoint(kinds, wide, (uint8_t)i);
	if (i % 16 == 0) {
		memset(big, 'x', sizeof big);
		big[sizeof big - 1] = '\0';
		lttng_ust_tracepoint(kinds, others, 0.1, big, list, 4);
	}
}

static void *
work(void *unused)
{
	long fired = 0;

	for (long i = 0; rounds == 0 || i < rounds; i++) {
		struct hone_carrier c = { 0 };
		if (!hot && hone_request_begin != NULL) {
			hone_request_begin(i % 2 ? "GET_ODD" : "GET_EVEN", NULL);
			hone_fork("part", &c);
		}
		lttng_ust_tracepoint(kinds, hot, (uint64_t)i);
		fired++;
		if (!hot) {
			fire((uint64_t)i);
			fired += 4 + (i % 16 == 0);
		}
		if (!hot && hone_request_begin != NULL) {
			hone_join(&c, "part");
			hone_request_end(200);
		}
		if (pause_us > 0)
			usleep(pause_us);
	}
	(void)unused;
	return (void *)fired;
}

int
main(int argc, char **argv)
{
	pthread_t threads[64];
	long fired = 0;

	if (argc < 4)
		return 2;
	rounds = atol(argv[1]);
	pause_us = (unsigned)atoi(argv[2]);
	int n = atoi(argv[3]) > 64 ? 64 : atoi(argv[3]);
	hot = argc > 4;
	for (int i = 0; i < n; i++)
		if (pthread_create(&threads[i], NULL, work, NULL) != 0)
			return 1;
	for (int i = 0; i < n; i++) {
		void *one;
		pthread_join(threads[i], &one);
		fired += (long)one;
	}
	printf("%ld\n", fired);
	return 0;
}
