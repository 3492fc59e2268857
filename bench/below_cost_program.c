/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What bench/below_cost.py observes. below_cost_program switch|paced|requests|edge|probe|function SECONDS
 *
 *	switch    two threads on one processor hand a byte to and fro: as many context switches as there can be
 *	paced     the same 50 times each millisecond: 100,000 context switches a second
 *	requests  200 requests per second: 200 us of computing, a hand-over to another thread and back, 1 ms of sleep
 *	edge      the same; from the hand-over on, the thread is in a span by its OpenTelemetry context
 *
 *	probe     40 times each millisecond: about 5 us of computing, and a USDT probe
 *
 * Prints for each line on its input, which begins a measurement: operations per second, processor time of one in us, mean time of
 * one in us. It ends with its input.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "tests/scenario/otel_context.h"
#include "tests/usdt_note.h"

enum {
	REQUESTS_HZ = 200,
	PACES_HZ = 1000,
	HANDS_OF_PACE = 50,
	PROBES_OF_PACE = 40,
	CALLS_OF_PACE = 2,
	ROUNDS = 4000,
	COMPUTE_US = 200,
	SLEEP_US = 1000
};

enum mode { SWITCH, PACED, REQUESTS, EDGE, PROBE, FUNCTION };

__attribute__((visibility("default"))) __thread struct otel_record *otel_thread_ctx_v1;

static int there[2], back[2];

static int64_t
now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static void
hand(int to, int from)
{
	char c = 0;

	if (write(to, &c, 1) != 1 || read(from, &c, 1) != 1)
		exit(1);
}

static void *
other(void *unused)
{
	char c;

	(void)unused;
	while (read(there[0], &c, 1) == 1)
		if (write(back[1], &c, 1) != 1)
			break;
	return NULL;
}

static void
request(bool has_edge)
{
	static struct otel_record record = {
		.trace_id = { [15] = 7 }, .span_id = { 2 }, .valid = 1
	};
	int64_t until_ns = now_ns(CLOCK_THREAD_CPUTIME_ID) + COMPUTE_US * INT64_C(1000);

	while (now_ns(CLOCK_THREAD_CPUTIME_ID) < until_ns)
		;
	if (has_edge)
		otel_thread_ctx_v1 = &record;
	hand(there[1], back[0]);
	usleep(SLEEP_US);
	otel_thread_ctx_v1 = NULL;
}

/*
 * Computes in registers. A loop that counts in memory is no measure of a probe: here it took 4 us without a trap and 8 to 9 us after
 * one, probably as the processor renames memory only in the former, while the trap itself took 0.7 us.
 */
static void
compute(void)
{
	uint64_t x = 1;

	for (int i = 0; i < ROUNDS; i++) {
		x = x * UINT64_C(6364136223846793005) + 1;
		__asm__ volatile("" : "+r"(x));
	}
}

static void
pass(uint64_t n)
{
	compute();
	USDT_PROBE("below_cost", "passed", n);
}

/* A function that is probed at its begin and its end. */
static __attribute__((noinline)) void
work(void)
{
	compute();
	__asm__ volatile("");
}

static void
measure(enum mode mode, double seconds)
{
	int64_t begin_ns = now_ns(CLOCK_MONOTONIC), cpu_ns = now_ns(CLOCK_PROCESS_CPUTIME_ID),
		until_ns = begin_ns + (int64_t)(seconds * 1e9), busy_ns = 0, end_ns;
	bool serves = mode == REQUESTS || mode == EDGE;
	uint64_t n = 0;

	while ((end_ns = now_ns(CLOCK_MONOTONIC)) < until_ns) {
		uint64_t of_pace = mode == PROBE      ? PROBES_OF_PACE
		                   : mode == FUNCTION ? CALLS_OF_PACE
		                                      : HANDS_OF_PACE;

		if (mode != SWITCH && (serves || n % of_pace == 0)) {
			int64_t at_ns = begin_ns +
			                (serves ? (int64_t)n * (1000000000 / REQUESTS_HZ)
						: (int64_t)(n / of_pace) * (1000000000 / PACES_HZ));
			struct timespec at = { at_ns / 1000000000, at_ns % 1000000000 };

			clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
			end_ns = now_ns(CLOCK_MONOTONIC);
		}
		if (serves)
			request(mode == EDGE);
		else if (mode == PROBE)
			pass(n);
		else if (mode == FUNCTION)
			work();
		else
			hand(there[1], back[0]);
		busy_ns += now_ns(CLOCK_MONOTONIC) - end_ns;
		n++;
	}
	cpu_ns = now_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu_ns;
	printf("%.1f %.4f %.4f\n", (double)n * 1e9 / (double)(end_ns - begin_ns),
	    (double)cpu_ns / 1e3 / (double)n, (double)busy_ns / 1e3 / (double)n);
	fflush(stdout);
}

int
main(int argc, char **argv)
{
	char line[16];
	enum mode mode;
	pthread_t thread;
	cpu_set_t one;

	if (argc != 3 || pipe(there) != 0 || pipe(back) != 0)
		return 2;
	mode = strcmp(argv[1], "switch") == 0     ? SWITCH
	       : strcmp(argv[1], "paced") == 0    ? PACED
	       : strcmp(argv[1], "probe") == 0    ? PROBE
	       : strcmp(argv[1], "function") == 0 ? FUNCTION
	       : strcmp(argv[1], "edge") == 0     ? EDGE
	                                          : REQUESTS;
	if (mode != REQUESTS && mode != EDGE) {
		CPU_ZERO(&one);
		CPU_SET(0, &one);
		sched_setaffinity(0, sizeof one, &one);
	}
	if (pthread_create(&thread, NULL, other, NULL) != 0)
		return 1;
	while (fgets(line, sizeof line, stdin) != NULL)
		measure(mode, atof(argv[2]));
	close(there[1]);
	pthread_join(thread, NULL);
	return 0;
}
