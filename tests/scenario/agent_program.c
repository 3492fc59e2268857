/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * agent_program STATE_FILE REQUEST_EVERY_US: a traced program. Its requests of type WORK fire
 * agentp:ev000 with a number that counts the written records, so that a reader detects missing
 * ones.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "instrument/hone.h"
#include "tests/scenario/agent_program.h"
#include "tests/scenario/program.h"
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "tests/scenario/agent_program_tp.h"

static struct program_state *state;

/* Watches the enabled tracepoints: the state of each is one word in the program's memory. */
static void *
watch(void *unused)
{
	(void)unused;
	for (;;) {
		bool on = lttng_ust_tracepoint_enabled(agentp, ev000);

		if (on && !state->on) {
			put(&state->on_ns, now_ns());
			put(&state->turned_on, state->turned_on + 1);
		}
		if (!on && state->on) {
			put(&state->off_ns, now_ns());
			put(&state->turned_off, state->turned_off + 1);
		}
		put(&state->on, on);
		wait_us(20);
	}
	return NULL;
}

static void
serve(void)
{
	hone_request_begin("WORK", NULL);
	if (hone_probed()) {
		if (lttng_ust_tracepoint_enabled(agentp, ev000)) {
			lttng_ust_do_tracepoint(agentp, ev000, state->fired);
			put(&state->fired, state->fired + 1);
		}
		put(&state->probed, state->probed + 1);
	}
	hone_request_end(200);
	put(&state->requests, state->requests + 1);
}

int
main(int argc, char **argv)
{
	int fd = argc == 3 ? open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600) : -1;
	pthread_t watcher;

	if (fd < 0 || ftruncate(fd, sizeof *state) != 0) {
		fprintf(stderr, "usage: agent_program STATE_FILE REQUEST_EVERY_US\n");
		return 2;
	}
	state = mmap(NULL, sizeof *state, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (state == MAP_FAILED || pthread_create(&watcher, NULL, watch, NULL) != 0)
		return 1;
	for (;;) {
		serve();
		wait_us(atol(argv[2]));
	}
}
