/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * levels_program STATE_FILE: requests of type PACK, 50 a second. Each passes levelsp:taken (info) once and levelsp:step (debug) ten times,
 * and one in ten levelsp:refused (err). Writes to the file, as one letter each, which of them are enabled: "eid", in their places "-".
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "instrument/hone.h"
#include "tests/scenario/program.h"
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "tests/scenario/levels_program_tp.h"

enum { STEPS = 10, EVERY_US = 20000 };

static void
serve(uint64_t n)
{
	hone_request_begin("PACK", NULL);
	lttng_ust_tracepoint(levelsp, taken, n);
	for (uint64_t i = 0; i < STEPS; i++)
		lttng_ust_tracepoint(levelsp, step, i);
	if (n % 10 == 0)
		lttng_ust_tracepoint(levelsp, refused, n);
	hone_request_end(200);
}

static void
tell(int fd)
{
	char state[] = "---\n";

	if (lttng_ust_tracepoint_enabled(levelsp, refused))
		state[0] = 'e';
	if (lttng_ust_tracepoint_enabled(levelsp, taken))
		state[1] = 'i';
	if (lttng_ust_tracepoint_enabled(levelsp, step))
		state[2] = 'd';
	if (pwrite(fd, state, strlen(state), 0) < 0)
		perror("state");
}

int
main(int argc, char **argv)
{
	int fd = argc == 2 ? open(argv[1], O_WRONLY | O_CREAT | O_CLOEXEC, 0600) : -1;

	if (fd < 0) {
		perror("levels_program STATE_FILE");
		return 2;
	}
	for (uint64_t n = 0;; n++) {
		tell(fd);
		serve(n);
		wait_us(EVERY_US);
	}
}
