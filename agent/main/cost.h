/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The cost of a record for a program on this machine. A program of its own (lib/hone/hone-cost)
 * measures it once, in the background and niced, in some tenths of a second. If it fails, or takes
 * over 8 s and is killed, it is run up to twice more; then the cost is unknown. It ends its session;
 * if it was killed before, it is run again to do only that. The result is not stored: the next agent
 * measures again.
 */
#ifndef AGENT_MAIN_COST_H
#define AGENT_MAIN_COST_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/clock.h"

enum { COST_LEFT = 3 }; /* exit status of hone-cost: its session still exists */

struct cost {                          /* all zeroes: not begun */
	double record_ns, rejected_ns; /* 0: not measured */
	pid_t pid;                     /* of the program while it runs */
	int from;                      /* the pipe from its standard output */
	int attempts;
	bool left; /* its session has to be ended */
	bool ends; /* the running program only does that */
	struct mono next, begun;
};

/* Starts the program when `may` is true and it is needed, and checks whether it has ended. True: a
 * measurement has ended just now, with or without a result. Does not wait. */
bool cost_step(struct cost *c, const char *node, const char *run_dir, bool may, struct mono now);
/* Kills the program if it runs. Its session is ended with the agent's (tracer_cost_session()). */
void cost_end(struct cost *c);

#endif
