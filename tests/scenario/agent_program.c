/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * agent_program STATE_FILE REQUEST_EVERY_US: a traced program. Its requests of type WORK fire
 * agentp:ev000 with a number that counts the written records, so that a reader detects missing
 * ones. What a hostile program can do to the readers of its ring buffers, it does on a signal, and never
 * traces again: on SIGUSR1 it shortens their files to nothing, on SIGUSR2 it writes an impossible
 * position into each.
 */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

static volatile sig_atomic_t hostile;

static void
turn_hostile(int signal_number)
{
	hostile = signal_number;
}

/* The place of the position "produced" is at byte 32, see agent/reader/ring.c. */
static void
spoil(int fd)
{
	uint64_t position = UINT64_C(1) << 50;
	uint32_t at = 0;

	if (hostile == SIGUSR1)
		(void)!ftruncate(fd, 0);
	else if (pread(fd, &at, sizeof at, 32) == sizeof at)
		(void)!pwrite(fd, &position, sizeof position, at);
}

/* The files of the ring buffers are open in their program: .../hone_PROCESSOR. */
static void
spoil_rings(void)
{
	char link[64], path[4096];
	DIR *files = opendir("/proc/self/fd");
	struct dirent *d;

	while (files != NULL && (d = readdir(files)) != NULL) {
		snprintf(link, sizeof link, "/proc/self/fd/%.16s", d->d_name);
		ssize_t n = readlink(link, path, sizeof path - 1);
		path[n > 0 ? n : 0] = '\0';
		if (strstr(path, "/hone_") != NULL)
			spoil(atoi(d->d_name));
	}
	if (files != NULL)
		closedir(files);
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
	signal(SIGUSR1, turn_hostile);
	signal(SIGUSR2, turn_hostile);
	while (hostile == 0) {
		serve();
		wait_us(atol(argv[2]));
	}
	spoil_rings();
	for (;;)
		pause();
}
