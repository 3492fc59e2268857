/* SPDX-License-Identifier: MIT */
/*
 * instrument_cost [libhone.so]: cost of Hone in the traced program, as ratios. Run by
 * instrument_cost.sh, which sets up the recording.
 *
 * The machine is never idle, so only ratios are reported. Two workers, one with libhone preloaded
 * and one without, wait for commands; each round runs both sides of every pair one right after the
 * other, in alternating order. A ratio is the median over the rounds of the ratio within a round.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "instrument/hone.h"
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "bench/instrument_cost_tp.h"

#pragma weak hone_request_begin
#pragma weak hone_request_end
#pragma weak hone_fork
#pragma weak hone_join
#pragma weak hone_unit_begin
#pragma weak hone_unit_end

enum { ROUNDS = 21, CALLS = 200000, WITHOUT = 0, WITH = 1 };

enum work {
	EMPTY,
	DORMANT,
	PLAIN,
	CONTEXT,
	FILTERED,
	WHOLE,
	REQUEST_OFF,
	REQUEST_ON,
	UNITS_OFF,
	UNITS_ON,
	WORKS
};

static const struct pair {
	const char *what;
	const char *base_name, *name;
	int base_worker;
	enum work base, work;
} pairs[] = {
	{ "dormant tracepoint", "empty loop", "with libhone", WITH, EMPTY, DORMANT },
	{ "dormant tracepoint", "without libhone", "with libhone", WITHOUT, DORMANT, DORMANT },
	{ "record, six integers", "without libhone", "with libhone", WITHOUT, PLAIN, PLAIN },
	{ "record, six integers", "no contexts", "trace_id, unit_id", WITH, PLAIN, CONTEXT },
	{ "record, six integers", "recorded", "rejected by the filter", WITH, PLAIN, FILTERED },
	{ "record, six integers", "no contexts", "filter, ids, vtid", WITH, PLAIN, WHOLE },
	{ "request", "dormant tracepoint", "not sampled", WITH, DORMANT, REQUEST_OFF },
	{ "request", "not sampled", "sampled, recorded", WITH, REQUEST_OFF, REQUEST_ON },
	{ "request, fork, unit, join", "not sampled", "sampled, recorded", WITH, UNITS_OFF,
	    UNITS_ON },
};

enum { PAIRS = sizeof pairs / sizeof *pairs };

static inline void
request(const char *type, int with_unit)
{
	struct hone_carrier c;

	hone_request_begin(type, NULL);
	if (with_unit) {
		hone_fork("x", &c);
		hone_unit_begin(&c, "x");
		hone_unit_end();
		hone_join(&c, "x");
	}
	hone_request_end(200);
}

#define LOOP(call)                                 \
	for (int i = 0; i < calls; i++) {          \
		call;                              \
		__asm__ volatile("" ::: "memory"); \
	}                                          \
	break

static void
run(enum work work, int calls)
{
	switch (work) {
	case DORMANT:
		LOOP(lttng_ust_tracepoint(bench, dormant, i));
	case PLAIN:
		LOOP(lttng_ust_tracepoint(bench, plain, i));
	case CONTEXT:
		LOOP(lttng_ust_tracepoint(bench, context, i));
	case FILTERED:
		LOOP(lttng_ust_tracepoint(bench, filtered, i));
	case WHOLE:
		LOOP(lttng_ust_tracepoint(bench, whole, i));
	case REQUEST_OFF:
		LOOP(request("GET_OFF", 0));
	case REQUEST_ON:
		LOOP(request("GET_ON", 0));
	case UNITS_OFF:
		LOOP(request("GET_OFF", 1));
	case UNITS_ON:
		LOOP(request("GET_ON", 1));
	case EMPTY:
	case WORKS:
		LOOP((void)0);
	}
}

static double
cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Includes the cost of the loop: subtracted, it would leave only noise for a disabled
 * tracepoint. */
static double
measure(enum work work)
{
	int calls =
	    work <= DORMANT
		? CALLS * 20
		: CALLS; /* these take about a nanosecond each, so they are repeated more often */
	double start_ns;

	run(work, calls / 10);
	start_ns = cpu_ns();
	run(work, calls);
	return (cpu_ns() - start_ns) / calls;
}

static int
worker(void)
{
	char line[16];

	while (fgets(line, sizeof line, stdin) != NULL) {
		int work = atoi(line);

		if (hone_request_begin == NULL && work >= REQUEST_OFF)
			return 1;
		printf("%f\n", measure((enum work)work));
		fflush(stdout);
	}
	return 0;
}

struct peer {
	FILE *to, *from;
	pid_t pid;
};

static int
peer_start(struct peer *p, const char *preload)
{
	int to[2], from[2];

	if (pipe2(to, O_CLOEXEC) != 0 || pipe2(from, O_CLOEXEC) != 0 || (p->pid = fork()) < 0)
		return -1;
	if (p->pid == 0) {
		dup2(to[0], 0);
		dup2(from[1], 1);
		if (preload != NULL)
			setenv("LD_PRELOAD", preload, 1);
		execl("/proc/self/exe", "worker", "--worker", NULL);
		_exit(127);
	}
	close(to[0]);
	close(from[1]);
	p->to = fdopen(to[1], "w");
	p->from = fdopen(from[0], "r");
	return p->to != NULL && p->from != NULL ? 0 : -1;
}

static double
ask(struct peer *p, enum work work)
{
	char line[64];

	fprintf(p->to, "%d\n", work);
	fflush(p->to);
	if (fgets(line, sizeof line, p->from) == NULL) {
		fprintf(stderr, "instrument_cost: a worker died\n");
		exit(1);
	}
	return strtod(line, NULL);
}

static int
by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double
median(double *v)
{
	qsort(v, ROUNDS, sizeof *v, by_size);
	return v[ROUNDS / 2];
}

static double base_ns[PAIRS][ROUNDS], ns[PAIRS][ROUNDS], ratio[PAIRS][ROUNDS];

static void
round_run(struct peer peers[2], int round)
{
	for (int i = 0; i < PAIRS; i++) {
		const struct pair *p = &pairs[i];

		if (round % 2 == 0)
			base_ns[i][round] = ask(&peers[p->base_worker], p->base);
		ns[i][round] = ask(&peers[WITH], p->work);
		if (round % 2 != 0)
			base_ns[i][round] = ask(&peers[p->base_worker], p->base);
		ratio[i][round] = ns[i][round] / base_ns[i][round];
	}
}

int
main(int argc, char **argv)
{
	struct peer peers[2];

	if (argc == 2 && strcmp(argv[1], "--worker") == 0)
		return worker();
	if (argc != 2 || peer_start(&peers[WITHOUT], NULL) != 0 ||
	    peer_start(&peers[WITH], argv[1]) != 0) {
		fprintf(stderr, "usage: %s libhone.so\n", argv[0]);
		return 2;
	}
	for (int round = 0; round < ROUNDS; round++)
		round_run(peers, round);
	printf("%-26s %-20s %8s   %-22s %8s %8s   (CPU ns a call, medians of %d rounds)\n", "what",
	    "against", "ns", "this", "ns", "ratio", ROUNDS);
	for (int i = 0; i < PAIRS; i++)
		printf("%-26s %-20s %8.2f   %-22s %8.2f %8.3f\n", pairs[i].what, pairs[i].base_name,
		    median(base_ns[i]), pairs[i].name, median(ns[i]), median(ratio[i]));
	for (int i = 0; i < 2; i++) {
		fclose(peers[i].to);
		waitpid(peers[i].pid, NULL, 0);
	}
	return 0;
}
