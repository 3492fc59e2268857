/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * LTTng sessions of agents: to make one, to enable and disable rules in it, and to end it. For
 * tracer_lttng.c, and for those that end what a dead agent left. Their names:
 *
 *	hone-NODE-PID		the base: "hone:*"
 *	hone-NODE-PID-sN	those with few rules each; N counts up in the agent's life
 *	hone-NODE-PID-rN	the flight recorder (recorder_lttng.h); N counts up, too
 *	hone-NODE-PID-cost	measures the cost of a record (tracer_cost_session())
 *
 * A name is matched as a whole, so node "a" never takes a session of node "a-1" for its own.
 */
#ifndef AGENT_TRACER_SESSION_LTTNG_H
#define AGENT_TRACER_SESSION_LTTNG_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <lttng/lttng.h>

#include "agent/tracer/tracer.h"
#include "base/err.h"

#define SESSION_CHANNEL "hone"

struct session { /* all zeroes: none */
	char name[128], folder[PATH_MAX];
	struct lttng_handle *handle;
};

struct session_rings {
	uint32_t sub_buffers, sub_buffer_bytes, switch_timer_us;
	bool overwrite; /* new records replace the oldest, and nothing is written but snapshots */
};

/* Makes a session with the folders folder/out and folder/shm, and starts it, with no rule enabled.
 * Takes 0.1 s with 20 programs. ERR_TRACER, ERR_SYSTEM, ERR_MEMORY: then no session is left. */
int session_make(struct session *s, const char *name, const char *folder,
    const struct session_rings *rings, struct err *e);
void session_forget(struct session *s); /* frees memory; the session daemon keeps the session */

/* Enables or disables a rule. filter NULL: none. 0, also if it was so already, or LTTng's negative
 * code. */
int session_rule_on(struct session *s, const char *name, const char *filter);
int session_rule_off(struct session *s, const char *name);

/* The pid of the agent that a session or folder of this name belongs to; 0: to no agent of this
 * node. */
pid_t session_agent(const char *node, const char *text);

/* Whether a session or folder of this name belongs to another agent of this node, which is dead. */
bool session_is_left(const char *node, const char *text);

/* Ends all sessions of that agent, or with 0 those of all dead agents: first disables all, then
 * destroys the sessions and removes their folders. Up to 0.2 s for each session and program, since
 * the daemons write the metadata of each, and up to 1.5 s more. ERR_TRACER: the session daemon does
 * not answer; then only the folders were removed. */
int sessions_bury(const char *node, const char *run_dir, pid_t agent, struct err *e);

/* Whether the session daemon has a session of this name. */
bool session_listed(const char *name);

/* Ends one session and removes its folder. False: it still exists after 1 s. */
bool session_bury(const char *name, const char *folder);

/* All tracepoints of all programs of the node; *ret is the caller's, until tracepoints_release().
 * Up to 1 s. ERR_TRACER, ERR_MEMORY, ERR_SYSTEM. A child process requests them: this program, with
 * the arguments LIST_OPTION and its parent's pid, whose main() calls tracepoints_send(). */
#define LIST_OPTION "--list-tracepoints"
int tracepoints_list(struct tracepoints *ret, struct err *e);

/* In that child: writes the list to standard output and ends the process. Returns 1 if its parent is
 * not that process any more. */
int tracepoints_send(const char *parent);

/* Sets the text of LTTng's code, `what` in front, and what to do about it. Returns ERR_TRACER. */
int session_err(struct err *e, int code, const char *what);

#endif
