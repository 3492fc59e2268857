/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Three ways in which a live process is not traced by LTTng 2.13, and how that shows from outside:
 *
 *  1. When a process ends, the daemons remove its folder and all empty folders around it. That may
 *     include the folder of a process that is just registering, between the folder and the first
 *     file in it. The registration fails, the process runs on. Sign: a folder appeared and
 *     vanished in shm_dir, and none appeared in output_dir.
 *  2. A process that replaces itself by exec within a second would get the same folder name again,
 *     and is refused. Sign: a folder vanished, its process lives, and no new folder appears.
 *  3. A process waits at most 3 s for its registration, then runs untraced until the session daemon
 *     registers it. Sign: its folder appears when the process is older than 3 s.
 *
 * libhone reports it itself when it samples a request that is not recorded (instrument/policy.h),
 * also for a process that ends before the session daemon sees it. This file is for processes
 * without libhone. The number of missing records cannot be known: each report counts one, with its
 * time span.
 */
#define _GNU_SOURCE
#include "agent/reader/untraced.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "agent/reader/cpu_stream.h"
#include "agent/reader/lttng_source.h"
#include "agent/reader/traced_process.h"
#include "agent/system/process.h"
#include "base/array.h"

enum {
	REGISTER_MS = 3000, /* default of LTTNG_UST_REGISTER_TIMEOUT */
	AGAIN_MS = 5000,    /* after exec a new folder comes within this time */
	REPORT_MIN_MS = 50, /* between two reports of the same process */
	REPORT_MAX_MS = 1000,
	SUSPECTS_MAX = 4096
};
#define MS INT64_C(1000000)

/* Whether the process is alive, and when it started. False also for a process of another pid
 * namespace, whose number means another one here. */
static bool
lives(const struct untraced_process *s, int64_t now_ns, int64_t *began_ns)
{
	struct process_look look;
	struct timespec boot;

	if (!process_look((pid_t)s->named.pid, &look) || strcmp(look.comm, s->named.comm) != 0)
		return false;
	clock_gettime(CLOCK_BOOTTIME, &boot);
	*began_ns = now_ns - (boot.tv_sec * INT64_C(1000000000) + boot.tv_nsec) + look.began_ns;
	/* an ending process frees its memory before it closes its files */
	return look.has_memory;
}

/* Whether the process has another folder, made after an exec. */
static bool
is_again(const struct lttng_source *src, const struct untraced_process *s)
{
	for (uint32_t i = 0; i < src->nprocesses; i++) {
		const struct traced_process *p = src->processes[i];
		struct folder_name other;
		if (p->folder == s->folder && strcmp(p->name, s->name) != 0 &&
		    folder_name_read(p->name, &other) && other.pid == s->named.pid)
			return true;
	}
	return false;
}

static bool
is_suspect(const struct lttng_source *src, const struct session_folder *f, const char *name)
{
	for (uint32_t i = 0; i < src->nsuspects; i++)
		if (src->suspects[i].folder == f && strcmp(src->suspects[i].name, name) == 0)
			return true;
	return false;
}

static void
suspect_add(struct lttng_source *src, struct session_folder *f, const char *name, int64_t since_ns,
    bool again, int64_t now_ns)
{
	struct untraced_process s = {
		.folder = f, .since_ns = since_ns, .seen_ns = now_ns, .again = again
	};

	if (f->withdrawn || src->nsuspects >= SUSPECTS_MAX || !folder_name_read(name, &s.named) ||
	    is_suspect(src, f, name))
		return;
	if (!lives(&s, now_ns, &s.began_ns)) {
		if (again)
			return; /* it has ended */
		s.began_ns = 0;
	}
	if (!array_reserve(src->suspects, src->suspects_cap, src->nsuspects + 1) ||
	    (s.name = strdup(name)) == NULL)
		return;
	src->suspects[src->nsuspects++] = s;
}

void
untraced_born(struct lttng_source *src, struct session_folder *f, const char *name, int64_t now_ns)
{
	suspect_add(src, f, name, src->polled_ns, false, now_ns);
}

void
untraced_died(struct lttng_source *src, const struct traced_process *p, int64_t now_ns)
{
	int64_t since_ns = p->born_ns;

	for (uint32_t i = 0; i < p->nstreams; i++)
		if (p->streams[i]->last_end_ns > since_ns)
			since_ns = p->streams[i]->last_end_ns;
	suspect_add(src, p->folder, p->name, since_ns, true, now_ns);
}

static bool
is_there(const struct watched_folder *r, const char *name)
{
	char path[4352];

	snprintf(path, sizeof path, "%s/%s", r->path, name);
	return access(path, F_OK) == 0;
}

static void
report(struct lttng_source *src, struct untraced_process *s, int64_t now_ns)
{
	if (s->reported_ns == 0)
		s->reported_ns = s->since_ns;
	losses_add(&src->losses, LOSS_RING, 1, s->reported_ns, now_ns);
	s->reported_ns = now_ns;
}

/* Reports the time between the end of a process' wait for registration and now, at which it is
 * traced. */
static void
report_late(struct lttng_source *src, const struct untraced_process *s, int64_t now_ns)
{
	if (s->began_ns > src->opened_ns && !is_again(src, s) &&
	    now_ns - s->began_ns > REGISTER_MS * MS)
		losses_add(&src->losses, LOSS_RING, 1, s->began_ns + REGISTER_MS * MS, now_ns);
}

/* Decides by the folders. The shm folder is checked first: for a traced process it goes after the
 * output folder has come. */
static enum tracing {
	TRACED,
	UNTRACED,
	UNDECIDED
} tracing_of(struct lttng_source *src, const struct untraced_process *s, int64_t now_ns)
{
	int64_t unused;

	if (s->again) {
		if (is_again(src, s))
			return TRACED;
		return now_ns - s->seen_ns > AGAIN_MS * MS || !lives(s, now_ns, &unused)
		           ? UNTRACED
		           : UNDECIDED;
	}
	bool left = !is_there(&s->folder->shm, s->name);
	if (is_there(&s->folder->output, s->name)) {
		report_late(src, s, now_ns);
		return TRACED;
	}
	return left ? UNTRACED : UNDECIDED;
}

/* False: the suspect is decided, and no further loss is to be reported. */
static bool
check_suspect(struct lttng_source *src, struct untraced_process *s, int64_t now_ns)
{
	int64_t age_ns = now_ns - s->since_ns, pause_ns = age_ns / 4, unused;

	if (s->reported_ns == 0) {
		enum tracing t = tracing_of(src, s, now_ns);
		if (t != UNTRACED)
			return t == UNDECIDED;
		report(src, s, now_ns);
		return lives(s, now_ns, &unused);
	}
	pause_ns = pause_ns < REPORT_MIN_MS * MS   ? REPORT_MIN_MS * MS
	           : pause_ns > REPORT_MAX_MS * MS ? REPORT_MAX_MS * MS
	                                           : pause_ns;
	if (now_ns - s->reported_ns < pause_ns)
		return true;
	bool on = lives(s, now_ns, &unused) && !is_again(src, s);
	report(src, s, now_ns);
	return on;
}

static void
suspect_remove(struct lttng_source *src, uint32_t *i)
{
	free(src->suspects[*i].name);
	src->suspects[(*i)--] = src->suspects[--src->nsuspects];
}

void
untraced_check(struct lttng_source *src, int64_t now_ns)
{
	for (uint32_t i = 0; i < src->nsuspects; i++)
		if (!check_suspect(src, &src->suspects[i], now_ns))
			suspect_remove(src, &i);
}

const struct untraced_process *
untraced_first(const struct lttng_source *src)
{
	for (uint32_t i = 0; i < src->nsuspects; i++)
		if (src->suspects[i].reported_ns != 0)
			return &src->suspects[i];
	return NULL;
}

void
untraced_forget(struct lttng_source *src)
{
	for (uint32_t i = 0; i < src->nsuspects; i++)
		if (src->suspects[i].folder->withdrawn)
			suspect_remove(src, &i);
}

void
untraced_release(struct lttng_source *src)
{
	for (uint32_t i = 0; i < src->nsuspects; i++)
		free(src->suspects[i].name);
	free(src->suspects);
}
