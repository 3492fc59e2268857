/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE
#include "agent/main/agent_recorder.h"

#include <assert.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/reader/ring.h"
#include "agent/system/folder.h"
#include "agent/tracer/session_lttng.h"
#include "base/hash.h"
#include "wire/frame.h"

#define SET_EVERY_NS (5 * SECOND)
#define SNAPSHOT_EVERY_NS (SECOND / 4)
#define MEASURE_EVERY_NS SECOND
/* Until a snapshot has shown it: header, contexts and some fields. */
#define RECORD_BYTES 48.0

/* ---- what is wanted ---- */

static bool
same_rules(const struct recorder_rules *x, const struct recorder_rules *y)
{
	bool same = x->n == y->n;

	for (uint32_t i = 0; same && i < x->n; i++)
		same = strcmp(x->names[i], y->names[i]) == 0;
	return same;
}

static void
set_wanted(struct agent_recorder *r, const struct recorder_rules *rules)
{
	if (same_rules(rules, &r->wanted))
		return;
	r->wanted = *rules;
	r->due = true;
	if (rules->n == 0)
		r->missing[0] = '\0';
}

void
recorder_want(struct agent *a, const struct want *w, struct mono now)
{
	static struct recorder_rules rules;

	rules.n = 0;
	for (uint32_t i = 0; i < w->nrecorder && rules.n < RECORDER_RULES_MAX; i++)
		if (strncmp(w->recorder[i], "hone:", 5) != 0) /* those are on already */
			snprintf(rules.names[rules.n++], sizeof *rules.names, "%s", w->recorder[i]);
	a->recorder.until.ns = now.ns + reconcile_lease_ms(w->lease_ms) * 1000000;
	set_wanted(&a->recorder, &rules);
}

void
recorder_lost(struct agent *a)
{
	struct agent_recorder *r = &a->recorder;

	r->state = (struct recorder_state){ 0 };
	r->due = r->wanted.n > 0;
}

/* ---- what it writes ---- */

static double
record_bytes(const struct agent_recorder *r)
{
	return r->sized_records > 0 ? (double)r->sized_bytes / (double)r->sized_records
	                            : RECORD_BYTES;
}

/* What the rings of one program have written since the last call, bytes. */
static double
measure_process(struct agent_recorder *r, int folders, const char *name, struct map *now_at)
{
	int fd = openat(folders, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	uint64_t produced, bytes;
	struct dirent *d;
	double sum = 0;

	if (dir == NULL && fd >= 0)
		close(fd);
	while (dir != NULL && (d = readdir(dir)) != NULL) {
		uint64_t key = hash_bytes(
		    hash_bytes(0, name, strlen(name)), d->d_name, strlen(d->d_name));
		uint64_t before = (uint64_t)(uintptr_t)map_get(&r->produced, key);

		if (strncmp(d->d_name, SESSION_CHANNEL "_", sizeof SESSION_CHANNEL) != 0 ||
		    !ring_peek(dirfd(dir), d->d_name, &produced, &bytes))
			continue;
		/* A program owns its ring's file; what it may write there must not count for more than the time permits: 4 GiB. */
		if (produced >= before && produced - before < UINT64_C(1) << 32)
			sum += (double)(produced - before);
		r->ring_bytes += (int64_t)bytes;
		map_put(now_at, key, (void *)(uintptr_t)produced);
	}
	if (dir != NULL)
		closedir(dir);
	return sum;
}

/*
 * Counts what was written since the last call. A snapshot ends the sub-buffer of each ring, which moves its position by what was free there, and
 * nobody wrote that: for the time that it takes (flushed) the rate before it counts.
 */
static void
measure(struct agent_recorder *r, bool flushed, struct mono now)
{
	double seconds = (double)mono_since_ns(now, r->measured_at) / 1e9, bytes = 0;
	char path[PATH_MAX];
	struct map now_at = { 0 };
	struct dirent *d;
	DIR *dir;

	r->ring_bytes = 0;
	r->measured_at = now;
	snprintf(path, sizeof path, "%.4000s/ust/pid", r->state.shm);
	if (r->state.on > 0 && (dir = opendir(path)) != NULL) {
		while ((d = readdir(dir)) != NULL)
			if (d->d_name[0] != '.')
				bytes += measure_process(r, dirfd(dir), d->d_name, &now_at);
		closedir(dir);
	}
	map_release(&r->produced);
	r->produced = now_at;
	if (flushed)
		bytes = r->bytes_per_s * seconds;
	else if (seconds > 0)
		r->bytes_per_s = bytes / seconds;
	r->written_bytes += bytes;
	r->written += bytes / record_bytes(r);
}

/* ---- tasks of the tracer ---- */

bool
recorder_give_task(struct agent *a, struct mono now)
{
	struct agent_recorder *r = &a->recorder;
	struct recorder_rules *rules;

	if (r->due ||
	    ((r->wanted.n > 0 || r->undone) && mono_since_ns(now, r->set_at) > SET_EVERY_NS)) {
		if ((rules = malloc(sizeof *rules)) == NULL)
			return false;
		*rules = r->wanted;
		r->due = false;
		r->set_at = now;
		tracer_thread_record(a->tracer_thread, rules);
		return true;
	}
	if (r->nwaiting == 0 || r->taken > 0 || r->state.on == 0 ||
	    mono_since_ns(now, r->snapshot_at) < SNAPSHOT_EVERY_NS)
		return false;
	r->taken = r->nwaiting;
	r->snapshot_at = now;
	measure(r, false, now);
	r->flushing = true;
	tracer_thread_give(a->tracer_thread, TASK_SNAPSHOT, NULL, 0);
	return true;
}

/* ---- answers ---- */

static void
post(struct agent *a, const struct kept *k)
{
	struct buf b = { 0 };

	kept_encode(k, &b);
	if (!link_post_kept(a->link, &b))
		agent_log(a, LOG_WARN, "flight recorder: an answer of trace %016llx was dropped",
		    (unsigned long long)k->trace_id);
}

static void
answer_without(struct agent *a, const struct keep *k, enum kept_result result, const char *failure)
{
	post(a, &(struct kept){ .number = k->number,
		    .trace_id = k->trace_id,
		    .result = (uint8_t)result,
		    .failure = failure });
}

/* The keeps of the snapshot have been answered. */
static void
taken_done(struct agent_recorder *r)
{
	assert(r->taken <= r->nwaiting);
	r->nwaiting -= r->taken;
	memmove(r->waiting, r->waiting + r->taken, r->nwaiting * sizeof *r->waiting);
	r->taken = 0;
}

static void
fail_taken(struct agent *a, enum kept_result result, const char *failure)
{
	struct agent_recorder *r = &a->recorder;

	for (uint32_t i = 0; i < r->taken; i++)
		answer_without(a, &r->waiting[i], result, failure);
	taken_done(r);
}

static void
close_snapshot(struct agent_recorder *r)
{
	snapshot_close(r->snapshot);
	r->snapshot = NULL;
	if (r->folder[0] != '\0')
		folder_remove(r->folder);
	r->folder[0] = '\0';
}

static void
answer_snapshot(struct agent *a)
{
	struct agent_recorder *r = &a->recorder;
	uint64_t records, bytes;

	for (uint32_t i = 0; i < r->taken; i++) {
		struct buf batch = { 0 };
		struct kept k;
		struct err e;
		/* What was before the rules were these is not there, and no packet shows it. */
		bool whole = r->waiting[i].from_ns >= r->since.ns;
		int rc = snapshot_kept(r->snapshot, i, &k, &batch, &e);

		if (rc == 0 && !whole)
			k.overwritten = k.rings;
		if (rc != 0)
			answer_without(a, &r->waiting[i], KEPT_UNREADABLE, e.text);
		else if (whole || k.rings > 0)
			post(a, &k);
		else
			answer_without(a, &r->waiting[i], KEPT_NO_RECORDER, "");
		buf_release(&batch);
	}
	snapshot_size(r->snapshot, &records, &bytes);
	r->sized_records += records;
	r->sized_bytes += bytes;
	close_snapshot(r);
	taken_done(r);
}

static void
snapshot_made(struct agent *a, struct task_result *t)
{
	struct agent_recorder *r = &a->recorder;
	struct err e;

	if (t->code != 0) {
		r->refused++;
		agent_log(a, LOG_WARN, "flight recorder: %s", t->err.text);
		fail_taken(a, KEPT_REFUSED, t->err.text);
		return;
	}
	r->snapshots++;
	memcpy(r->folder, t->snapshot, sizeof r->folder);
	if (snapshot_open(&r->snapshot, r->folder, SESSION_CHANNEL, r->waiting, r->taken,
		&a->records.users, &e) == 0)
		return;
	r->snapshot = NULL;
	close_snapshot(r);
	fail_taken(a, KEPT_UNREADABLE, e.text);
}

void
recorder_result(struct agent *a, struct task_result *t)
{
	struct agent_recorder *r = &a->recorder;
	const char *why = "";

	if (t->task == TASK_SNAPSHOT) {
		r->flushing = false;
		measure(r, true, t->ended);
		snapshot_made(a, t);
		return;
	}
	if (r->state.on == 0 && t->recorder.on > 0)
		agent_log(a, LOG_INFO, "flight recorder: on, with %u rules", t->recorder.on);
	if (r->state.on > 0 && t->recorder.on == 0)
		agent_log(a, LOG_INFO, "flight recorder: off");
	r->state = t->recorder;
	r->undone = t->code != 0;
	if (t->recorder.changed)
		r->since = t->ended;
	if (t->code != 0)
		why = t->err.text;
	else if (t->recorder.failed > 0)
		why = t->recorder.reason;
	if (why[0] != '\0' && strncmp(why, r->missing, sizeof r->missing - 1) != 0)
		agent_log(a, LOG_WARN, "flight recorder: %s", why);
	snprintf(r->missing, sizeof r->missing, "%s", r->wanted.n > 0 ? why : "");
	a->report.due = true;
	free(t->rules);
}

void
recorder_status(const struct agent *a, struct status *s)
{
	const struct agent_recorder *r = &a->recorder;

	s->recorder = r->state.on;
	s->recorder_bytes = r->ring_bytes;
	s->recorder_records = (uint64_t)r->written;
	s->recorder_written = (uint64_t)r->written_bytes;
	s->recorder_snapshots = r->snapshots;
	s->recorder_refused = r->refused;
	s->recorder_missing = r->missing;
}

/* ---- turns ---- */

static void
take_keeps(struct agent *a)
{
	struct agent_recorder *r = &a->recorder;
	struct keep keeps[KEEPS_MAX];
	uint32_t n = link_take_keeps(a->link, keeps);

	for (uint32_t i = 0; i < n; i++)
		if (r->state.on == 0)
			answer_without(a, &keeps[i], KEPT_NO_RECORDER, r->missing);
		else if (r->nwaiting == KEEPS_MAX)
			answer_without(a, &keeps[i], KEPT_BUSY, "");
		else
			r->waiting[r->nwaiting++] = keeps[i];
}

/* Keeps that came before the recorder was ended, and for which no snapshot is under way. */
static void
give_up_waiting(struct agent *a)
{
	struct agent_recorder *r = &a->recorder;

	while (r->state.on == 0 && r->nwaiting > r->taken)
		answer_without(a, &r->waiting[--r->nwaiting], KEPT_NO_RECORDER, "");
}

void
recorder_turn(struct agent *a, struct mono now)
{
	struct agent_recorder *r = &a->recorder;

	if (r->wanted.n > 0 && now.ns >= r->until.ns)
		set_wanted(r, &(struct recorder_rules){ 0 });
	take_keeps(a);
	give_up_waiting(a);
	if (r->snapshot != NULL && !snapshot_step(r->snapshot))
		answer_snapshot(a);
	if ((r->state.on > 0 || r->produced.count > 0) && !r->flushing &&
	    mono_since_ns(now, r->measured_at) >= MEASURE_EVERY_NS)
		measure(r, false, now);
}

void
recorder_release(struct agent *a)
{
	close_snapshot(&a->recorder);
	map_release(&a->recorder.produced);
}
