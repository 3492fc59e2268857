/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a record costs a program on this machine. A small program beside us
 * (lib/hone/hone-cost) measures it, once, in the background and niced, in some tenths
 * of a second; where it fails or hangs it is tried twice more, and then it is not known. It ends
 * its session; should it be killed before it has, since all takes long here, it is run again, for
 * that alone. Nothing of it is kept: the next agent measures anew, as the machine may be another
 * one.
 */
#ifndef AGENT_MAIN_COST_H
#define AGENT_MAIN_COST_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/clock.h"

enum { COST_LEFT = 3 }; /* that program's exit status: its session is still there */

struct cost {                          /* all zeroes: not begun */
	double record_ns, rejected_ns; /* 0: not measured */
	pid_t pid;                     /* of the program while it runs */
	int from;                      /* what it prints */
	int attempts;
	bool left; /* a session, that is to be ended */
	bool ends; /* that is what the program is at */
	struct mono next, begun;
};

/* Looks after it; begins it when `may` (the tracer answers, and somebody wants to know). True: it
 * has ended just now, well or not. Waits for nothing. */
bool cost_step(struct cost *c, const char *node, const char *run_dir, bool may, struct mono now);
/* Kills it, if it runs. Its session is ended by who ends ours (tracer.h). */
void cost_end(struct cost *c);

#endif
