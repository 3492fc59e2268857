/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A guardian: a process that outlives the agent just long enough to switch off
 * what it left. It waits on a pipe; when the agent dies, however it dies, the
 * pipe closes. It also sees whether the agent turns: a counter in shared memory
 * that has not moved for a stated time is an agent that hangs, and what it has
 * on goes off; should it go on, it is told, and opens a session anew.
 *
 * It is this very program, run as `hone-agent --guard` (by exec: the agent has
 * threads), with no more privileges than the agent has at that moment. The agent
 * watches it in turn: one that dies or hangs is replaced.
 *
 *	agent                            guardian
 *	  |---- pipe, never written but with "q": go ----> all off when it closes
 *	  |---- page: turns ------------->|
 *	  |<--- page: looks, burying -----|
 *	  |---- the table of rates ------>| open since before the agent became an ordinary user
 */
#ifndef AGENT_GUARD_GUARD_H
#define AGENT_GUARD_GUARD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/clock.h"
#include "base/err.h"

#define GUARD_OPTION "--guard" /* the first argument of the guardian */

struct guard_page;

/* A counter that somebody else must move, and how long it has not. */
struct pulse { /* all zeroes: nothing was seen yet */
	uint64_t count;
	struct mono looked;
	int64_t still_ns;
};

/* How long, in ns, the counter has stood still while we ourselves looked regularly. Where two looks
 * are further apart than gap_ns, we were not running either (a suspended machine, a stopped group),
 * and it begins at 0 again. */
int64_t pulse_still_ns(struct pulse *p, uint64_t count, struct mono now, int64_t gap_ns);

struct guard_options { /* texts are the caller's, and stay */
	const char *node, *run_dir;
	int table; /* a descriptor of the table of rates, of its own open(); -1: none. guard_leave()
	              closes it */
	int64_t hang_ns;
};

struct guard {     /* all zeroes: none; moves nowhere while it is in use */
	pid_t pid; /* 0: it is dead */
	int pipe;
	struct guard_options options;
	struct guard_page *page;
	int page_fd;
	struct mono started;
	struct pulse pulse; /* of the guardian */
	uint64_t burials;   /* that we know of */
};

enum guard_news {
	GUARD_SAME,
	GUARD_DIED, /* one more is on its way */
	GUARD_HUNG, /* did not look any more, and was killed */
	GUARD_ANEW, /* there is one again */
};

/* Starts one. When it returns, whatever becomes of us has somebody who sees it. Under 5 ms. */
int guard_start(struct guard *g, const struct guard_options *o, struct err *e);

/* In every turn of the agent: says that it turns, and looks after the guardian. A dead one is
 * replaced at once, if it lived for a second, else when a second has passed since it began. 0.5 us;
 * 1 ms where it starts one. */
enum guard_news guard_turn(struct guard *g, struct mono now);

bool guard_lives(const struct guard *g); /* as guard_turn() saw it */

/* The guardian takes us for hung and ends our sessions right now: open none. */
bool guard_buries(const struct guard *g);
/* Once after each time: our sessions are gone. */
bool guard_buried(struct guard *g);

/* All is off: it may go. Waits for its end, for a second at most. */
void guard_dismiss(struct guard *g);
/* All may not be off: it shall do it, when we end. */
void guard_leave(struct guard *g);

/* What the guardian does: the arguments behind `--guard`. Does not return before the agent has
 * died, or has said that all is well. The exit code of the program; 2 if it was not an agent that
 * started it. */
int guard_main(int argc, char **argv);

#endif
