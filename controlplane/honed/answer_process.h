/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A question that takes long, answered by a child process. The child has honed's memory as it was at the fork (copy on write), so the answer
 * is of one moment, and honed's thread waits for the fork only: some 20 ms for each GiB of its memory, whatever the answer costs.
 *
 * The child runs beside threads that it does not have, and whose locks may be held for good: it only reads what honed's thread owns, uses malloc()
 * (which glibc keeps usable), creates no thread, closes all descriptors but that of the answer, and ends by _exit().
 */
#ifndef CONTROLPLANE_HONED_ANSWER_PROCESS_H
#define CONTROLPLANE_HONED_ANSWER_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/clock.h"
#include "controlplane/honed/questions.h"

struct answer_process { /* all zeroes: none runs */
	pid_t pid;
	int file;
	struct mono begun;
};

enum { ANSWER_PROCESS_S = 300 }; /* one that runs longer is killed */

enum answer_process_state { ANSWER_RUNS, ANSWER_DONE, ANSWER_FAILED };

/* Starts the child. The question must not be one of ANSWER_SHORT; what it changes, the child does not. ERR_SYSTEM: no process, or no file; nothing runs then. */
int answer_process_start(struct answer_process *p, struct questions *q, const struct who *who,
    const char *question, size_t len, struct mono now, struct err *e);
/* Whether the child has ended; never waits. One that has run for ANSWER_PROCESS_S is killed. DONE: *file holds the answer as JSON, from its beginning; the
 * caller closes it. */
enum answer_process_state answer_process_step(struct answer_process *p, struct mono now, int *file);
/* Kills the child, if one runs, and waits for its end. */
void answer_process_stop(struct answer_process *p);

#endif
