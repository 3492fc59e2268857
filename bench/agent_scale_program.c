/* SPDX-License-Identifier: GPL-3.0-or-later */
/* agent_scale_program STATE_FILE: a program of 2000 tracepoints that fires them at a given rate. */
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "bench/agent_scale_program.h"
#include "instrument/hone.h"
#include "tests/scenario/program.h"
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "bench/agent_scale_tp.h"

static struct scale_state *state;

/* Whether a tracepoint is armed is one word in the program's memory. */
static void *
watch(void *unused)
{
	(void)unused;
	prctl(PR_SET_TIMERSLACK, 1000);
	for (;;) {
		bool on = lttng_ust_tracepoint_enabled(scale, t0000);

		if (on != (state->on != 0)) {
			put(on ? &state->on_ns : &state->off_ns, now_ns());
			put(&state->on, on);
		}
		wait_us(get(&state->watching) ? 50 : 5000);
	}
	return NULL;
}

static void
serve(void)
{
	hone_request_begin("WORK", NULL);
	for (int i = 0; i < FIRED_EACH; i++)
		lttng_ust_tracepoint(scale, t0001, state->requests);
	hone_request_end(200);
	put(&state->requests, state->requests + 1);
}

/* Every 10 ms it fires the records that are due. */
int
main(int argc, char **argv)
{
	int fd = argc == 2 ? open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600) : -1;
	pthread_t watcher;
	double due = 0;

	if (fd < 0 || ftruncate(fd, sizeof *state) != 0) {
		fprintf(stderr, "usage: agent_scale_program STATE_FILE\n");
		return 2;
	}
	state = mmap(NULL, sizeof *state, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (state == MAP_FAILED || pthread_create(&watcher, NULL, watch, NULL) != 0)
		return 1;
	put(&state->ready, 1);
	for (int64_t last_ns = now_ns();;) {
		uint64_t rate = get(&state->rate);
		int64_t at_ns;

		wait_us(rate > 0 ? 10000 : 100000);
		at_ns = now_ns();
		due += (double)(at_ns - last_ns) * 1e-9 * (double)rate;
		last_ns = at_ns;
		for (; due >= 1; due--)
			serve();
	}
}
