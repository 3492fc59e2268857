/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The door to the tracer: make a session, switch tracepoints on and off in all
 * programs of the node, say which there are. Behind it is LTTng-UST
 * (tracer_lttng.c). Every call may take long, or hang with the tracer's daemon;
 * so only the thread of tracer_thread.c goes through this door.
 */
#ifndef AGENT_TRACER_TRACER_H
#define AGENT_TRACER_TRACER_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/clock.h"
#include "base/err.h"
#include "wire/toggle.h"

struct tracer_change {
	uint32_t point; /* the asker's number for it */
	bool on;        /* or off */
	bool plain;     /* for all records, not those of probed requests alone: of programs without
	                   libhone */
	bool standing;  /* it is nothing that was added: a mapping names it */
	bool failed;    /* out: see words */
	char name[TOGGLE_NAME_MAX + 1]; /* "provider:event", "provider:*" */
	char words[128];
};

struct tracer_session { /* where its traces go, for source_lttng_follow() */
	char folder[PATH_MAX], channel[64];
};

struct tracer_gap { /* something that was on and is on again was off then; 0, 0: nothing was */
	int64_t from_ns, to_ns;
};

struct tracepoint {
	pid_t pid;
	char *name;
};

struct tracepoints { /* of all programs of the node */
	uint32_t count;
	struct tracepoint *list;
	char *text; /* the names, in one piece */
};

struct tracer {
	void *state;
	/* Ends what dead agents of this node left, makes a session, always-on tracepoints on,
	 * everything else off. More sessions come and go below ret->folder. ERR_TRACER with what is
	 * wrong and what to do; then nothing is left of it. */
	int (*open)(void *state, struct tracer_session *ret, struct err *e);
	/* All changes, in order; each says for itself whether it failed. When it returns they are
	 * armed in every program that runs. Nothing else is off meanwhile, but where a wildcard
	 * comes to cover what is on: that is *gap. ERR_TRACER: the session is gone, open again. */
	int (*set)(void *state, struct tracer_change *changes, uint32_t n, struct tracer_gap *gap,
	    struct err *e);
	/* What tracepoints_release() frees. Up to a second on a big node. */
	int (*list)(void *state, struct tracepoints *ret, struct err *e);
	/* ERR_TRACER: the session is gone, or somebody stopped it. Under 1 ms. */
	int (*check)(void *state, struct err *e);
	/* What can wait: makes a session ahead of need, or, when nothing added has been on for a
	 * while, ends one that is not needed any more. Up to 0.1 s; where it ends one, up to 0.2 s
	 * for each program. ERR_TRACER as above. */
	int (*tend)(void *state, struct mono now, struct err *e);
	/* Everything off, the session and its folders gone. Fine to call at any time. */
	void (*close)(void *state);
	void (*free)(void *state);
};

void tracepoints_release(struct tracepoints *t);

#define TRACING_GROUP "tracing" /* who is in it may trace without being root */

struct tracer_options {
	const char *node, *run_dir; /* copied */
	uint32_t sub_buffers, sub_buffer_bytes, switch_timer_us;
	uint32_t added_sub_buffer_bytes;      /* in sessions of what is added */
	uint32_t rules_per_session, sessions; /* see shards.h; fewer where programs would come to
	                                         have too many open files */
	int64_t idle_session_ns; /* nothing added has been on for so long: sessions are ended */
};

/* Its sessions are called hone-NODE-PID, and hone-NODE-PID-sN, their folders are below
 * run_dir/hone-NODE-PID. Asks no daemon yet. */
int tracer_lttng_new(struct tracer *ret, const struct tracer_options *o, struct err *e);

/* What a dead agent left, all of its sessions: for its guardian. Off within milliseconds, then the
 * folders go. May hang with the session daemon. */
void tracer_lttng_bury(const char *node, const char *run_dir, pid_t dead);

/* Ends what dead agents of this node left, and takes their folders away. What living ones have
 * stays. May hang with the session daemon. ERR_TRACER: it does not answer, or not to us. */
int tracer_lttng_sweep(const char *node, const char *run_dir, struct err *e);

/* Of the session in which that agent measures what a record costs (agent/cost/):
 * hone-NODE-PID-cost. Who ends the agent's sessions ends that one, too. Texts are cut at their
 * sizes. */
void tracer_cost_session(const char *node, const char *run_dir, pid_t agent, char *session,
    size_t session_size, char *folder, size_t folder_size);
/* Ends a session, and takes its folder away. May hang with the session daemon. False: it is still
 * there, after a second. */
bool tracer_lttng_end(const char *session, const char *folder);

/* The folder of that agent's traces; out is cut at size. */
void tracer_folder(const char *node, const char *run_dir, pid_t agent, char *out, size_t size);

#endif
