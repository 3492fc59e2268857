/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The guardian: a process that outlives the agent just long enough to disable what the agent left
 * enabled. It waits on a pipe, which the kernel closes when the agent dies, for any reason. It also
 * detects an agent that hangs: a counter in shared memory that the agent increments in every turn,
 * and that has not changed for a stated time. Then the guardian disables what the agent enabled; if
 * the agent continues later, it learns that from the shared page and opens a new session.
 *
 * The guardian is the same program, executed as `hone-agent --guard` (executed, since the agent has
 * threads), with the privileges that the agent has at that moment. The agent watches the guardian
 * in the same way, and replaces one that died or hangs.
 *
 *	agent                            guardian
 *	  |---- pipe: closed = dead; the byte "q": quit ---> disables all when it closes
 *	  |---- page: turns ------------->|
 *	  |<--- page: looks, burying -----|
 *	  |---- the table of rates ------>| opened before the agent gave up root
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

/* A counter that another process must increment, and for how long it has not. All zeroes: it was
 * not read yet. */
struct pulse {
	uint64_t count;
	struct mono looked;
	int64_t still_ns;
};

/* Takes a reading of the counter; returns for how long it has been unchanged, in ns, as far as this
 * process looked regularly: where two readings are more than gap_ns apart, this process was not
 * running either (a suspended machine, a stopped process group), and the time begins at 0 again. */
int64_t pulse_still_ns(struct pulse *p, uint64_t count, struct mono now, int64_t gap_ns);

struct guard_options {
	const char *node, *run_dir; /* the caller's, and must live as long as the guard */
	/* A descriptor of the table of rates from an open() of its own (rates_spare()); -1: none.
	 * guard_leave() and guard_dismiss() close it. */
	int table;
	int64_t hang_ns;
};

/* The agent's side. All zeroes: no guardian was started. Must not be moved while it is in use. */
struct guard {
	pid_t pid; /* 0: there is no guardian at the moment */
	int pipe;
	struct guard_options options;
	struct guard_page *page;
	int page_fd;
	struct mono started;
	struct pulse pulse; /* of the guardian */
	uint64_t burials;   /* as reported by guard_buried() so far */
};

enum guard_news {
	GUARD_SAME,
	GUARD_DIED,  /* it is dead; another one will be started */
	GUARD_HUNG,  /* it did not look any more, and was killed; the next turn finds it dead */
	GUARD_AGAIN, /* a new one was started */
};

/* Starts the guardian. Under 5 ms. ERR_SYSTEM; then nothing is left, and o->table is closed. */
int guard_start(struct guard *g, const struct guard_options *o, struct err *e);

/* To be called in every turn of the agent: increments the agent's counter and checks the guardian.
 * A dead guardian is replaced in the next turn, but not within a second of its start. 0.5 us; 1 ms
 * where it starts one. */
enum guard_news guard_turn(struct guard *g, struct mono now);

bool guard_lives(const struct guard *g); /* as of the last guard_turn() */

/* The guardian takes this agent for hung and is ending its sessions at this moment: do not open
 * one.
 */
bool guard_buries(const struct guard *g);
/* True once after each time that the guardian has ended this agent's sessions. */
bool guard_buried(struct guard *g);

/* Nothing is enabled any more: asks the guardian to quit and waits for its end, up to 1 s. */
void guard_dismiss(struct guard *g);
/* Something may still be enabled: the guardian stays and disables it when this process ends. */
void guard_leave(struct guard *g);

/* The guardian's main(): argv[1] is GUARD_OPTION. Returns when the agent has died or asked it to
 * quit, with the exit code of the program: 0, or 2 if it was not an agent that executed it. */
int guard_main(int argc, char **argv);

#endif
