/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The phases of a search:
 *
 *	waiting --> switching <--> gathering <--> unconfirmed
 *	                |              |             |   ^
 *	                '------+-------+-------------'   |
 *	                       v                         |
 *	             paused, backing off ----------------'
 *
 * and any of them --> ended. What a cycle is for (enum search_task) is independent of that, and so
 * are the state of the preload layer and the side that is followed.
 */
#ifndef CONTROLPLANE_SEARCH_SEARCH_PHASE_H
#define CONTROLPLANE_SEARCH_SEARCH_PHASE_H

#include <stdbool.h>
#include <stdint.h>

enum search_phase {
	SEARCH_WAITING,     /* for a free slot: it has not begun */
	SEARCH_SWITCHING,   /* agents have not yet confirmed this cycle's tracepoints */
	SEARCH_GATHERING,   /* traces that began after the confirmation count */
	SEARCH_UNCONFIRMED, /* traces do not count: agents have something new to confirm */
	SEARCH_PAUSED,      /* congestion: this cycle's tracepoints are disabled */
	SEARCH_BACKING_OFF, /* the same, because an agent shed load */
	SEARCH_ENDED
};
#define SEARCH_PHASES ((unsigned)SEARCH_ENDED + 1)

/* What the cycle is for. */
enum search_task {
	TASK_NARROW,      /* cuts the gap by learned tracepoints */
	TASK_EXPLORE,     /* enables tracepoints of which nothing was learned */
	TASK_PROBE_LAYER, /* cuts the gap by tracepoints of the preload layer */
	TASK_FINAL_EDGE   /* measures the gap as one edge, for the verdict */
};
#define SEARCH_TASKS ((unsigned)TASK_FINAL_EDGE + 1)

enum layer_state {    /* of the preload layer */
	LAYER_CLOSED, /* the program's own tracepoints come first */
	LAYER_OPEN,   /* they are used up */
	LAYER_FOUND   /* a part between tracepoints of the layer took over: it is the gap */
};

enum followed_side { SIDE_BOTH, SIDE_SLOW };

/* Allowed transitions; from a phase or task to itself is one. */
bool search_phase_may_follow(enum search_phase from, enum search_phase to);
bool search_task_may_follow(enum search_task from, enum search_task to);

const char *search_phase_text(enum search_phase phase);

/* ---- what a phase does next ---- */

enum {
	PHASE_CHECK_NS = 100000000 /* between two decisions */
};
#define PHASE_SWITCH_MAX_NS INT64_C(20000000000) /* for agents to confirm */

struct phase_facts {
	enum search_phase phase;
	bool paused;      /* queues are too full */
	bool paused_long; /* for longer than withdraw_ns */
	bool backing_off; /* an agent has shed load */
	bool fresh;       /* tracepoints of this cycle are enabled */
	bool any_enabled, over_budget;
	bool confirmed; /* by all agents */
	int64_t in_cycle_ns, since_check_ns;
};

enum phase_next {
	PHASE_NEXT_NONE,
	PHASE_NEXT_WITHDRAW,   /* disable this cycle's tracepoints, and pause */
	PHASE_NEXT_GATHER,     /* the cycle's traces count from now */
	PHASE_NEXT_SUSPEND,    /* they do not count from now on */
	PHASE_NEXT_GIVE_UP,    /* an agent does not confirm */
	PHASE_NEXT_RESUME,     /* gather again, after a pause */
	PHASE_NEXT_SPEND_LESS, /* disable the newest tracepoint */
	PHASE_NEXT_DECIDE
};

/*
 * 1. Waiting or ended: none.
 * 2. Paused or backing off: resume when queues are no longer too full.
 * 3. Gathering, but agents have something new to confirm, or an agent backs off: suspend.
 *    Unconfirmed, and neither holds any more: gather. Ask again in either case.
 * 4. An agent backs off; or the pause is long, and tracepoints of this cycle are enabled: withdraw.
 * 5. Switching: gather when agents have confirmed; give up after PHASE_SWITCH_MAX_NS without a
 * pause.
 * 6. What is enabled is over budget: spend less.
 * 7. Gathering, not paused, and PHASE_CHECK_NS after the last decision: decide. While paused a
 *    decision would only enable more.
 */
enum phase_next phase_next(const struct phase_facts *f);

#endif
