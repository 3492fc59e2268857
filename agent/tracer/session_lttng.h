/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * LTTng sessions of agents: made, ruled, and ended. Inside of tracer_lttng.c,
 * and of who ends what a dead agent left. Their names:
 *
 *	hone-NODE-PID		the base: "hone:*"
 *	hone-NODE-PID-sN	those of few rules each; N counts in the agent's life
 *	hone-NODE-PID-cost	of what measures (tracer_cost_session())
 *
 * so that node "a" never takes those of node "a-1" for its own.
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
};

/* Its folders are folder/out and folder/shm. Tracing runs in it, nothing is on. Takes a tenth of a
 * second with 20 programs. ERR_TRACER, ERR_SYSTEM: then nothing is left of it. */
int session_make(struct session *s, const char *name, const char *folder,
    const struct session_rings *rings, struct err *e);
void session_forget(struct session *s); /* frees; the daemon's part stays */
/* 0, also where it is so already, or LTTng's negative code. filter NULL: none. */
int session_rule_on(struct session *s, const char *name, const char *filter);
int session_rule_off(struct session *s, const char *name);

/* Whose text is, as a session's or a folder's name: 0: not of an agent of this node. */
pid_t session_agent(const char *node, const char *text);
/* Ends all sessions of that agent, or of all dead ones for 0: first all are silent, then they are
 * destroyed, and their folders with them. ERR_TRACER: the daemon cannot be asked; then only the
 * folders went. Up to 0.2 s for each session and program, since the daemons write out the metadata
 * of each. */
int sessions_bury(const char *node, const char *run_dir, pid_t agent, struct err *e);
/* Ends this one, and takes its folder away. False: it is still there, after a second. */
bool session_bury(const char *name, const char *folder);

/* All tracepoints of all programs of the node. ERR_TRACER, ERR_MEMORY, ERR_SYSTEM. Up to a second.
 * A process of its own asks for them: this program, with LIST_OPTION and our pid, whose main()
 * returns tracepoints_tell(pid). */
#define LIST_OPTION "--list-tracepoints"
int tracepoints_list(struct tracepoints *ret, struct err *e);
int tracepoints_tell(
    const char *parent); /* on standard output; ends the process, or 1: its parent is another */

/* What LTTng says of what we did, and what to do about it. Returns ERR_TRACER. */
int session_err(struct err *e, int code, const char *what);

#endif
