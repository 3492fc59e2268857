/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The interface of the tracer: it makes sessions, enables and disables tracepoints in all programs
 * of the node, and lists which tracepoints exist. The implementation is LTTng-UST
 * (tracer_lttng.c). Every call may take long, or never return when the tracer's daemon hangs; so
 * only the thread of tracer_thread.c makes these calls.
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

/* The records that an enabled tracepoint writes; each are some of the next. FILTER_NONE: all of them, since programs without libhone do not
 * say which requests are sampled. */
enum tracer_filter { FILTER_PROBED, FILTER_SAMPLED, FILTER_NONE };

/* A tracepoint, or the tracepoints that a wildcard describes, to be enabled or disabled. */
struct tracer_change {
	uint32_t point; /* the caller's number for it */
	bool on;
	enum tracer_filter filter;      /* enable it with this one */
	bool standing;                  /* a mapping names it; it is no added tracepoint */
	bool failed;                    /* result; the reason is in: */
	char name[TOGGLE_NAME_MAX + 1]; /* "provider:event", "provider:*" */
	char reason[128];
};

struct tracer_session { /* where its traces are, for the reader */
	char folder[PATH_MAX], channel[64];
};

/* A time during which a tracepoint was disabled that was enabled before and after. 0, 0: none. */
struct tracer_gap {
	int64_t from_ns, to_ns;
};

struct tracepoint {
	pid_t pid;
	char *name;
	uint8_t level; /* enum loglevel */
};

struct tracepoints { /* of all programs of the node */
	uint32_t count;
	struct tracepoint *list;
	char *text; /* holds the names */
};

enum { RECORDER_RULES_MAX = 256 };

/* What the flight recorder is to record of sampled requests: names as of struct tracer_change. */
struct recorder_rules {
	uint32_t n; /* 0: it is to be off */
	char names[RECORDER_RULES_MAX][TOGGLE_NAME_MAX + 1];
};

struct recorder_state {      /* all zeroes: it is off */
	uint32_t on, failed; /* rules that are enabled, and that the tracer refused */
	bool changed;        /* by this call: a rule was enabled or disabled */
	char shm[PATH_MAX];  /* folder of its ring buffers */
	char reason[128];    /* why a rule was refused; "" */
};

struct tracer {
	void *state;
	/* Ends the sessions of dead agents of this node and makes the base session, in which only
	 * the always-on tracepoints are enabled. Further sessions come and go below ret->folder.
	 * ERR_TRACER with what is wrong and what to do, ERR_SYSTEM, ERR_MEMORY; then no session is
	 * left. */
	int (*open)(void *state, struct tracer_session *ret, struct err *e);
	/* Applies all changes, in order; changes[i].failed is the result of each. When it returns
	 * they are effective in every running program. No other tracepoint is disabled meanwhile,
	 * except those that a newly enabled wildcard describes: *gap is that time. ERR_TRACER: the
	 * session does not exist any more, call open() again. */
	int (*set)(void *state, struct tracer_change *changes, uint32_t n, struct tracer_gap *gap,
	    struct err *e);
	/* *ret is the caller's, until tracepoints_release(). Up to 1 s with many programs.
	 * ERR_TRACER, ERR_SYSTEM, ERR_MEMORY. */
	int (*list)(void *state, struct tracepoints *ret, struct err *e);
	/* ERR_TRACER: a session does not exist any more, is stopped, or is not recorded. Under 1
	 * ms. Also ends the sessions of another agent of this node that has died since open(), which
	 * takes as long as sessions_bury(). */
	int (*check)(void *state, struct err *e);
	/* Work that can wait: opens a session ahead of need, or ends one that is not needed, when
	 * no added tracepoint has been enabled for a while. Up to 0.1 s; up to 0.2 s for each
	 * program where it ends a session. Errors as of open(). */
	int (*tend)(void *state, struct mono now, struct err *e);
	/*
	 * Makes the flight recorder as `rules` say: a session of its own, whose rings overwrite their oldest records and that nobody
	 * reads but by snapshot(). Without rules it is ended. Repeating it costs a listing of the sessions, and makes a session again that
	 * another program has destroyed. *ret is set in any case. ERR_TRACER, ERR_SYSTEM, ERR_MEMORY: it is off.
	 */
	int (*record)(void *state, const struct recorder_rules *rules, struct recorder_state *ret,
	    struct err *e);
	/* Writes what its rings hold below a new folder, whose path is put into `folder` and which is the caller's to remove. Some ms,
	 * and the copy of all its rings. ERR_TRACER: the tracer refused, or the recorder is off; then there is no folder. */
	int (*snapshot)(void *state, char folder[PATH_MAX], struct err *e);
	/* Ends all sessions of this agent and removes their folders. Allowed at any time. */
	void (*close)(void *state);
	void (*free)(void *state);
};

void tracepoints_release(struct tracepoints *t); /* all zeroes is fine */

#define TRACING_GROUP "tracing" /* its members may trace without being root */

struct tracer_options {
	const char *node, *run_dir; /* copied */
	uint32_t sub_buffers, sub_buffer_bytes, switch_timer_us;
	uint32_t added_sub_buffer_bytes; /* in sessions of added tracepoints */
	/* See shards.h. There are fewer sessions on machines with so many processors that programs
	 * would have more than 256 files open for them. */
	uint32_t rules_per_session, sessions;
	uint32_t recorder_sub_buffers, recorder_sub_buffer_bytes;
	int64_t idle_session_ns; /* without an added tracepoint for this long, sessions are ended */
};

/* Sessions are named hone-NODE-PID and hone-NODE-PID-sN; their folders are below
 * run_dir/hone-NODE-PID. Does not call the session daemon yet. ERR_MEMORY. ret->free() frees it. */
int tracer_lttng_new(struct tracer *ret, const struct tracer_options *o, struct err *e);

/* For the guardian: ends all sessions of the dead agent, and removes their folders, and run_dir if
 * it is empty. All is disabled within milliseconds, before the rest is done. May hang with the
 * session daemon. */
void tracer_lttng_bury(const char *node, const char *run_dir, pid_t dead);

/* Ends the sessions of all dead agents of this node, and removes their folders. Those of living
 * agents stay. May hang with the session daemon. ERR_TRACER: it does not answer, or refuses. */
int tracer_lttng_sweep(const char *node, const char *run_dir, struct err *e);

/* Names of the session in which that agent measures the cost of a record (agent/cost/),
 * hone-NODE-PID-cost, and of its folder. What ends the agent's sessions ends this one, too. Texts
 * are cut at their sizes. */
void tracer_cost_session(const char *node, const char *run_dir, pid_t agent, char *session,
    size_t session_size, char *folder, size_t folder_size);
/* Ends a session and removes its folder. May hang with the session daemon. False: the session still
 * exists after 1 s. */
bool tracer_lttng_end(const char *session, const char *folder);

/* The folder of that agent's traces; out is cut at size. */
void tracer_folder(const char *node, const char *run_dir, pid_t agent, char *out, size_t size);

#endif
