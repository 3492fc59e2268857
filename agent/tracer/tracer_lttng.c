/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * LTTng-UST by liblttng-ctl. Each session has one channel. There are three kinds of rules:
 * "hone:*" for sampled requests, in the base session; added tracepoints for probed or for sampled
 * requests, in sessions with few rules (shards.h); and tracepoints of programs without libhone without a filter,
 * since a filter that refers to a context which a program does not provide rejects all records. Two
 * rules with the same name in one session write one record; disabling the name disables both.
 * Exclusions are not used: they crash session daemon 2.13.9.
 *
 * A session is never stopped to change it: that takes up to 0.2 s for each program, until the
 * consumer daemon has written its metadata.
 */
#define _GNU_SOURCE
#include "agent/tracer/tracer.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/system/folder.h"
#include "agent/system/process.h"
#include "agent/tracer/recorder_lttng.h"
#include "agent/tracer/session_lttng.h"
#include "agent/tracer/shards.h"
#include "base/array.h"
#include "base/clock.h"

#define SAMPLED "$app.hone:sampled == 1"
#define PROBED "$app.hone:probed == 1"

/* Open files that all sessions may take in one program; many programs have a limit of 1024. Each
 * session takes two for each processor, and one more. */
enum { FILES_MAX = 256 };
/* Of the flight recorder in one program, and of one of its sub-buffers. */
enum { RECORDER_BYTES_MAX = 16 << 20, RECORDER_BYTES_LEAST = 4096 };

struct lttng_tracer {
	char node[64], name[128], run_dir[PATH_MAX], folder[PATH_MAX];
	struct tracer_options options;
	struct shards *shards;
	struct session *sessions; /* by shard; without a handle: not open */
	/* Base sessions so far, and sessions since the last of them; both number folders. */
	uint32_t opened, made;
	struct recorder recorder;
	uint32_t standing; /* enabled rules of mappings */
	struct mono used;  /* when an added tracepoint was enabled last */
};

void
tracer_folder(const char *node, const char *run_dir, pid_t agent, char *out, size_t size)
{
	snprintf(out, size, "%s/hone-%s-%ld", run_dir, node, (long)agent);
}

void
tracer_cost_session(const char *node, const char *run_dir, pid_t agent, char *session,
    size_t session_size, char *folder, size_t folder_size)
{
	snprintf(session, session_size, "hone-%s-%ld-cost", node, (long)agent);
	snprintf(folder, folder_size, "%s/%s", run_dir, session);
}

bool
tracer_lttng_end(const char *session, const char *folder)
{
	return session_bury(session, folder);
}

void
tracer_lttng_bury(const char *node, const char *run_dir, pid_t dead)
{
	sessions_bury(node, run_dir, dead, NULL);
	if (!process_is(dead, "hone-agent"))
		rmdir(run_dir); /* fails if another agent has something in it */
}

int
tracer_lttng_sweep(const char *node, const char *run_dir, struct err *e)
{
	return sessions_bury(node, run_dir, 0, e);
}

static bool
is_open(const struct lttng_tracer *t)
{
	return t->sessions[SHARD_BASE].handle != NULL;
}

static void
forget(struct lttng_tracer *t)
{
	for (uint32_t i = 0; i <= t->options.sessions; i++)
		session_forget(&t->sessions[i]);
	shards_forget(t->shards);
	recorder_forget(&t->recorder);
	t->standing = 0;
}

static void
tracer_close(void *state)
{
	struct lttng_tracer *t = state;

	forget(t);
	sessions_bury(t->node, t->run_dir, getpid(), NULL);
}

/* The reader follows the folders whose names are numbers. */
static int
shard_open(struct lttng_tracer *t, int shard, struct err *e)
{
	const struct tracer_options *o = &t->options;
	struct session_rings rings = { o->sub_buffers,
		shard == SHARD_BASE ? o->sub_buffer_bytes : o->added_sub_buffer_bytes,
		o->switch_timer_us };
	char name[sizeof t->name + 16], folder[PATH_MAX];
	uint32_t number = t->made++;
	int rc;

	assert(shard >= SHARD_BASE && shard <= (int)t->options.sessions &&
	       t->sessions[shard].handle == NULL);
	snprintf(folder, sizeof folder, "%.3000s/%u/%u", t->folder, t->opened, number);
	if (shard == SHARD_BASE)
		snprintf(name, sizeof name, "%s", t->name);
	else
		snprintf(name, sizeof name, "%s-s%u", t->name, number);
	if ((rc = session_make(&t->sessions[shard], name, folder, &rings, e)) == 0 &&
	    shard != SHARD_BASE)
		shards_opened(t->shards, shard);
	return rc;
}

/* Renames the folder first, so that the reader does not take what the daemons write at the end of a
 * session for records, or their absence for a loss. */
static void
shard_close(struct lttng_tracer *t, int shard)
{
	struct session *s = &t->sessions[shard];
	char away[PATH_MAX + 8];

	assert(shard > SHARD_BASE && s->handle != NULL);
	snprintf(away, sizeof away, "%s.off", s->folder);
	if (rename(s->folder, away) != 0)
		snprintf(away, sizeof away, "%s", s->folder);
	session_bury(s->name, away);
	folder_remove(s->folder);
	session_forget(s);
	shards_closed(t->shards, shard);
}

static int
tracer_open(void *state, struct tracer_session *ret, struct err *e)
{
	struct lttng_tracer *t = state;
	int rc;

	if (is_open(t))
		tracer_close(t);
	if ((rc = sessions_bury(t->node, t->run_dir, 0, e)) != 0)
		return rc;
	t->opened++;
	t->made = 0;
	t->used = clock_mono();
	snprintf(ret->folder, sizeof ret->folder, "%.3000s/%u", t->folder, t->opened);
	snprintf(ret->channel, sizeof ret->channel, "%s", SESSION_CHANNEL);
	if ((rc = folder_make(ret->folder, e)) != 0 || (rc = shard_open(t, SHARD_BASE, e)) != 0)
		return rc;
	if ((rc = session_rule_on(&t->sessions[SHARD_BASE], SHARDS_ALWAYS_ON, SAMPLED)) < 0) {
		tracer_close(t);
		return session_err(e, rc, SHARDS_ALWAYS_ON);
	}
	return 0;
}

static bool
is_session_gone(int code)
{
	return code == -LTTNG_ERR_NO_SESSIOND || code == -LTTNG_ERR_SESS_NOT_FOUND ||
	       code == -LTTNG_ERR_NO_SESSION;
}

/* 0 or LTTng's negative code. */
static int
rule_switch(struct lttng_tracer *t, const char *name, int shard, bool on, enum tracer_filter filter)
{
	static const char *const texts[] = {
		[FILTER_PROBED] = PROBED, [FILTER_SAMPLED] = SAMPLED, [FILTER_NONE] = NULL
	};
	struct session *s = &t->sessions[shard];
	int rc = on ? session_rule_on(s, name, texts[filter]) : session_rule_off(s, name);

	if (rc >= 0 && !shards_switched(t->shards, name, shard, on))
		rc = -LTTNG_ERR_NOMEM;
	if (rc >= 0 && on)
		shards_set_filter(t->shards, name, filter);
	return rc;
}

/*
 * Enables a wildcard in the base session. What it describes and is enabled in another session would
 * be written twice; so that is disabled first and enabled in the base after it. *gap is the time
 * between.
 */
static int
wildcard_on(
    struct lttng_tracer *t, const char *name, enum tracer_filter filter, struct tracer_gap *gap)
{
	struct moved {
		char name[TOGGLE_NAME_MAX + 1];
		enum tracer_filter filter;
	} *moved = NULL;
	int64_t from_ns = clock_mono().ns;
	uint32_t n = 0, cap = 0;
	int rc = 0;

	for (const char *other; rc >= 0 && (other = shards_covered(t->shards, name)) != NULL; n++) {
		if (!array_reserve(moved, cap, n + 1)) {
			rc = -LTTNG_ERR_NOMEM;
			break;
		}
		snprintf(moved[n].name, sizeof moved[n].name, "%s", other);
		moved[n].filter = shards_filter(t->shards, other);
		if ((rc = rule_switch(
			 t, other, shards_where(t->shards, other), false, FILTER_PROBED)) < 0)
			break;
	}
	if (rc >= 0)
		rc = rule_switch(t, name, SHARD_BASE, true, filter);
	for (uint32_t i = 0; i < n && !is_session_gone(rc); i++) {
		int again = rule_switch(t, moved[i].name, SHARD_BASE, true, moved[i].filter);

		rc = again < 0 ? again : rc;
	}
	free(moved);
	if (n > 0 && gap->from_ns == 0)
		gap->from_ns = from_ns;
	if (n > 0)
		gap->to_ns = clock_mono().ns;
	return rc;
}

/* Standing tracepoints are enabled in the base, since the other sessions end when no added one is
 * enabled. */
static int
turn_on(
    struct lttng_tracer *t, const struct tracer_change *c, struct tracer_gap *gap, struct err *e)
{
	const char *name = c->name;
	int shard;

	if (strchr(name, '*') != NULL)
		return wildcard_on(t, name, c->filter, gap);
	if (c->standing && shards_where(t->shards, name) == SHARD_NONE)
		return rule_switch(t, name, SHARD_BASE, true, c->filter);
	if ((shard = shards_place(t->shards, name)) == SHARD_NONE) {
		shard = shards_vacant(t->shards);
		if (shard_open(t, shard, e) != 0)
			return -LTTNG_ERR_NO_SESSION;
	}
	return rule_switch(t, name, shard, true, c->filter);
}

/* LTTng disables by name, whatever the filter, so "hone:*" is never disabled. */
static int
change_one(struct lttng_tracer *t, struct tracer_change *c, struct tracer_gap *gap, struct err *e)
{
	int shard, rc = 0;

	if (strcmp(c->name, SHARDS_ALWAYS_ON) == 0)
		;
	else if (c->on)
		rc = turn_on(t, c, gap, e);
	else if ((shard = shards_where(t->shards, c->name)) != SHARD_NONE)
		rc = rule_switch(t, c->name, shard, false, FILTER_PROBED);
	if (rc >= 0 && c->standing)
		t->standing += c->on ? 1 : -1;
	c->failed = rc < 0;
	c->reason[0] = '\0';
	if (rc < 0)
		snprintf(c->reason, sizeof c->reason, "%s", lttng_strerror(rc));
	return rc;
}

static int
tracer_set(
    void *state, struct tracer_change *changes, uint32_t n, struct tracer_gap *gap, struct err *e)
{
	struct lttng_tracer *t = state;
	struct err why = { 0 };

	memset(gap, 0, sizeof *gap);
	if (!is_open(t))
		return err_set(e, ERR_TRACER, "%s: no session", t->name);
	t->used = clock_mono();
	for (uint32_t i = 0; i < n; i++) {
		int rc = change_one(t, &changes[i], gap, &why);

		if (is_session_gone(rc))
			return why.code != 0 ? err_set(e, ERR_TRACER, "%s", why.text)
			                     : session_err(e, rc, changes[i].name);
	}
	return 0;
}

static int
tracer_list(void *state, struct tracepoints *ret, struct err *e)
{
	struct lttng_tracer *t = state;

	memset(ret, 0, sizeof *ret);
	if (!is_open(t))
		return err_set(e, ERR_TRACER, "%s: no session", t->name);
	return tracepoints_list(ret, e);
}

/* A user may have destroyed or stopped the session, or the daemon was restarted. */
static int
check_one(const struct session *s, const struct lttng_session *list, int n, struct err *e)
{
	for (int i = 0; i < n; i++) {
		if (strcmp(list[i].name, s->name) != 0)
			continue;
		return list[i].enabled
		           ? 0
		           : err_set(e, ERR_TRACER,
				 "%s: the session was stopped by another program", s->name);
	}
	return err_set(e, ERR_TRACER,
	    "%s: the session does not exist any more: the session daemon died, or another program destroyed it",
	    s->name);
}

/*
 * A session daemon whose consumer daemon was killed lists its sessions as running, but no process
 * reads the rings. It refuses every command for user space; so this sends a small one, which the
 * session daemon answers without the consumer daemon.
 */
static int
consumer_check(const char *session, struct err *e)
{
	struct lttng_process_attr_tracker_handle *tracker = NULL;

	if (lttng_session_get_tracker_handle(session, LTTNG_DOMAIN_UST,
		LTTNG_PROCESS_ATTR_VIRTUAL_PROCESS_ID, &tracker) != LTTNG_OK)
		return session_err(e, -LTTNG_ERR_NO_USTCONSUMERD, session);
	lttng_process_attr_tracker_handle_destroy(tracker);
	return 0;
}

/* Ends what one other agent left that was killed together with its guardian while this one runs; the
 * next check ends what another left. */
static void
sweep_one(const struct lttng_tracer *t, const struct lttng_session *list, int n)
{
	for (int i = 0; i < n; i++)
		if (session_is_left(t->node, list[i].name)) {
			sessions_bury(
			    t->node, t->run_dir, session_agent(t->node, list[i].name), NULL);
			return;
		}
}

static int
tracer_check(void *state, struct err *e)
{
	struct lttng_tracer *t = state;
	struct lttng_session *list = NULL;
	int n = lttng_list_sessions(&list), rc = 0;

	if (n < 0)
		return session_err(e, n, t->name);
	sweep_one(t, list, n);
	if (!is_open(t))
		rc = err_set(e, ERR_TRACER, "%s: no session", t->name);
	for (uint32_t i = 0; rc == 0 && i <= t->options.sessions; i++)
		if (t->sessions[i].handle != NULL)
			rc = check_one(&t->sessions[i], list, n, e);
	if (n > 0)
		free(list);
	return rc == 0 ? consumer_check(t->name, e) : rc;
}

static bool
added_is_on(const struct lttng_tracer *t)
{
	for (uint32_t i = 0; i <= t->options.sessions; i++)
		if (shards_on(t->shards, (int)i) > (i == SHARD_BASE ? t->standing : 0))
			return true;
	return false;
}

static int
tracer_tend(void *state, struct mono now, struct err *e)
{
	struct lttng_tracer *t = state;
	int shard;

	if (!is_open(t))
		return err_set(e, ERR_TRACER, "%s: no session", t->name);
	if (added_is_on(t))
		t->used = now;
	if (shards_wants_spare(t->shards))
		return shard_open(t, shards_vacant(t->shards), e);
	if (mono_since_ns(now, t->used) < t->options.idle_session_ns)
		return 0;
	if ((shard = shards_to_close(t->shards)) != SHARD_NONE)
		shard_close(t, shard);
	return 0;
}

static int
tracer_record(
    void *state, const struct recorder_rules *rules, struct recorder_state *ret, struct err *e)
{
	struct lttng_tracer *t = state;
	const struct session_rings rings = { t->options.recorder_sub_buffers,
		t->options.recorder_sub_buffer_bytes, 0, true };

	memset(ret, 0, sizeof *ret);
	if (!is_open(t))
		return err_set(e, ERR_TRACER, "%s: no session", t->name);
	return recorder_set(&t->recorder, t->name, t->folder, &rings, SAMPLED, rules, ret, e);
}

static int
tracer_snapshot(void *state, char folder[PATH_MAX], struct err *e)
{
	struct lttng_tracer *t = state;

	return recorder_snapshot(&t->recorder, t->folder, folder, e);
}

static void
tracer_free(void *state)
{
	struct lttng_tracer *t = state;

	for (uint32_t i = 0; t->sessions != NULL && i <= t->options.sessions; i++)
		session_forget(&t->sessions[i]);
	recorder_forget(&t->recorder);
	free(t->sessions);
	shards_free(t->shards);
	free(t);
}

/* The most sessions with which no program has more than FILES_MAX files open for them. */
static uint32_t
sessions_most(uint32_t wanted)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	uint32_t most = (uint32_t)(FILES_MAX / (2 * (cpus > 0 ? cpus : 1) + 1));

	most = most < wanted ? most : wanted;
	return most < SHARDS_MAX ? most : SHARDS_MAX;
}

/* Smaller sub-buffers of the recorder, and then fewer, so that no program takes over RECORDER_BYTES_MAX. */
static void
limit_recorder(struct tracer_options *o)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	uint64_t most = RECORDER_BYTES_MAX / (uint64_t)(cpus > 0 ? cpus : 1);
	uint32_t *bytes = &o->recorder_sub_buffer_bytes, *n = &o->recorder_sub_buffers;

	while (*bytes > RECORDER_BYTES_LEAST && (uint64_t)*n * *bytes > most)
		*bytes /= 2;
	while (*n > 2 && (uint64_t)*n * *bytes > most)
		*n /= 2;
}

int
tracer_lttng_new(struct tracer *ret, const struct tracer_options *o, struct err *e)
{
	struct lttng_tracer *t = calloc(1, sizeof *t);

	if (t == NULL)
		return err_set(e, ERR_MEMORY, "out of memory");
	t->options = *o;
	t->options.node = t->options.run_dir = NULL;
	t->options.sessions = sessions_most(o->sessions);
	limit_recorder(&t->options);
	t->sessions = calloc(t->options.sessions + 1, sizeof *t->sessions);
	if (t->sessions == NULL ||
	    (t->shards = shards_new(t->options.sessions, o->rules_per_session)) == NULL) {
		tracer_free(t);
		return err_set(e, ERR_MEMORY, "out of memory");
	}
	snprintf(t->node, sizeof t->node, "%s", o->node);
	snprintf(t->name, sizeof t->name, "hone-%s-%ld", o->node, (long)getpid());
	snprintf(t->run_dir, sizeof t->run_dir, "%s", o->run_dir);
	tracer_folder(o->node, o->run_dir, getpid(), t->folder, sizeof t->folder);
	*ret = (struct tracer){ t, tracer_open, tracer_set, tracer_list, tracer_check, tracer_tend,
		tracer_record, tracer_snapshot, tracer_close, tracer_free };
	return 0;
}
