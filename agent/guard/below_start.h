/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Starts hone-below (below/), which needs two capabilities, for an agent that has none. The agent makes the
 * starter before it gives up root: a process that keeps only CAP_BPF and CAP_PERFMON, of a user of its own, and
 * waits until the agent hands it one end of a socket for hone-below.
 *
 *	agent (no capabilities)      starter (CAP_BPF, CAP_PERFMON)         hone-below (the same)
 *	  |--- a descriptor ------------->|--- fork, exec ---------------------->| descriptor 3
 *	  |<=========================== wire/below.h ============================>|
 *
 * One hone-below lives at a time: for the next one, the one before is killed. When the agent's end is closed, for any
 * reason, the starter kills it and ends; when the starter dies, the kernel kills it (PR_SET_PDEATHSIG). If both cannot
 * act, hone-below ends by itself when its lease is not renewed.
 */
#ifndef AGENT_GUARD_BELOW_START_H
#define AGENT_GUARD_BELOW_START_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/privilege.h"

struct below_start { /* all zeroes: there is no starter */
	pid_t pid;
	int to; /* 0: none */
};

/*
 * Makes the starter of the program at `path`; to be called before threads are created and privileges dropped. `who`:
 * the user that it becomes (privilege_find()). ERR_MISSING: the program is not installed; ERR_SYSTEM. Then there is none.
 */
int below_start_make(
    struct below_start *s, const char *path, const struct privilege *who, struct err *e);

/* The path of hone-below beside this program, as PREFIX/lib/hone/hone-below. False: it is not there. */
bool below_start_path(char *out, size_t size);

/* Starts hone-below; *ret is the agent's end of the socket, which the caller closes. It does not block, and is closed
 * through exec. That hone-below could not be started is seen as the end of that socket. ERR_MISSING: there is no starter,
 * or it has ended; ERR_SYSTEM. */
int below_start(struct below_start *s, int *ret, struct err *e);

/* Ends the starter and with it hone-below; waits up to a second. */
void below_start_end(struct below_start *s);

#endif
