/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A guardian: a process that outlives the agent just long enough to switch off
 * what it left. It waits on a pipe; when the agent dies, however it dies, the
 * pipe closes. It uses no threads and no link, so it must be made before the
 * agent makes any (nng does not survive a fork).
 */
#ifndef AGENT_GUARD_H
#define AGENT_GUARD_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

struct guard {		/* open while a guardian is there; all zeroes: none */
	pid_t pid;
	int pipe;
};

/* Forks. The texts must not change afterwards. */
int  guard_start(struct guard *g, const char *node, const char *run_dir, const char *policy, struct err *e);
/* False: somebody killed it. */
bool guard_lives(struct guard *g);
/* All is off: it may go. Waits for its end. */
void guard_dismiss(struct guard *g);
/* All may not be off: it shall do it, when we end. */
void guard_leave(struct guard *g);

#endif
