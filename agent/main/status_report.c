/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the agent says of itself: how full, how much lost, at what cost, what is wrong. */
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>

#include "agent/main/agent_inside.h"
#include "agent/system/process.h"
#include "wire/frame.h"

/* Where the session daemon says how it is: answered at once, however long its commands take. */
#define TRACER_SOCKET "/run/lttng/sessiond-health"
#define HALF 0.5
#define METADATA_NS INT64_C(200000000)
#define TRIM_EVERY_NS INT64_C(10000000000)
#define TRIM_OVER_BYTES (16 << 20)

void
report_begin(struct agent *a)
{
	a->tracer_pid = socket_owner(TRACER_SOCKET);
	if (a->tracer_pid != 0)
		a->tracer_base_us = family_cpu_us(&a->tracer, a->tracer_pid, clock_mono());
}

/* Daemons come and go; what the former ones used stays in the sum. */
static int64_t
tracer_cpu_us(struct agent *a, struct mono now)
{
	pid_t pid = process_cpu_us(a->tracer_pid) > 0 ? a->tracer_pid : socket_owner(TRACER_SOCKET);
	int64_t used_us = pid != 0 ? family_cpu_us(&a->tracer, pid, now) : 0;

	if (pid != a->tracer_pid) {
		a->tracer_pid = pid;
		a->tracer_base_us = -a->tracer_cpu_us;
	}
	if (used_us - a->tracer_base_us > a->tracer_cpu_us)
		a->tracer_cpu_us = used_us - a->tracer_base_us;
	return a->tracer_cpu_us;
}

static int64_t
own_cpu_us(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * INT64_C(1000000) + u.ru_utime.tv_usec +
	       u.ru_stime.tv_usec;
}

/*
 * Of what the tracer's files may take, or the file system they are on has left for
 * them, whichever is less. Where not even a sub-buffer can be written any more they
 * are full whoever filled it.
 */
static double
files_fill(const struct agent *a)
{
	double waits = (double)a->look.files_bytes, room = (double)a->config->files_bytes - waits,
	       left;
	struct statvfs fs;

	if (!a->has_source)
		return 0;
	if (statvfs(a->config->run_dir, &fs) == 0 &&
	    (left = (double)fs.f_bavail * (double)fs.f_frsize) < room)
		room = left;
	return room < (double)a->config->sub_buffer_bytes ? 1 : waits / (waits + room);
}

/* Full, nothing is sampled until they are under half: what is on its way must not take the
 * machine's memory. */
static void
watch_files(struct agent *a, double fill, struct mono now)
{
	if (!a->files_full && fill >= 1) {
		a->files_full = a->status_now = true;
		a->files_full_at = now;
		a->files_full_times++;
		snprintf(a->files_trouble, sizeof a->files_trouble,
		    "the tracer's files are full (%.1f MiB wait in %s): no "
		    "request is sampled until under half; for the %u. time, %.0f s before",
		    (double)a->look.files_bytes / 1048576, a->config->run_dir, a->files_full_times,
		    (double)a->files_full_ns / 1e9);
		agent_say(a, LOG_WARN, "%s", a->files_trouble);
	} else if (a->files_full && fill < HALF) {
		a->files_full = false;
		a->status_now = true;
		a->files_full_ns += mono_since_ns(now, a->files_full_at);
		a->files_trouble[0] = '\0';
		agent_say(a, LOG_INFO,
		    "the tracer's files are under half: requests are sampled again, after %.1f s",
		    (double)mono_since_ns(now, a->files_full_at) / 1e9);
	}
}

/*
 * The link is full when a whole window waits behind the one that is on its way.
 * Without a connection there is no such queue, only the outbox that fills.
 */
double
report_fill(struct agent *a, struct mono now)
{
	double window = (double)a->config->window * (double)a->config->batch_bytes, fullest = 0;
	double fill[QUEUES] = { [QUEUE_RING] = a->has_source ? a->look.fullest : 0 };
	struct outbox_fill o;

	a->ring_pace = (fill[QUEUE_RING] - a->ring_fill) /
	               ((double)mono_since_ns(now, a->looked_at) / 1e9 + 1e-6);
	a->ring_fill = fill[QUEUE_RING];
	a->looked_at = now;
	outbox_look(a->out, &o);
	fill[QUEUE_AGENT] = (double)o.held_bytes / (double)o.limit_bytes;
	fill[QUEUE_FILES] = files_fill(a);
	fill[QUEUE_LINK] = a->connected ? (double)o.waiting_bytes / window : 0;
	for (int i = 0; i < QUEUES; i++) {
		if (fill[i] > 1)
			fill[i] = 1;
		if (fill[i] > a->peak[i])
			a->peak[i] = fill[i];
		if (fill[i] > fullest) {
			fullest = fill[i];
			a->fullest = (enum queue)i;
		}
	}
	watch_files(a, fill[QUEUE_FILES], now);
	if ((fullest > HALF) != a->over_half)
		a->status_now = true;
	a->over_half = fullest > HALF;
	return fullest;
}

/* A ring that will be half full before the next look is looked at sooner. Half the time: it may
 * have begun just now. */
int
report_wait_ms(const struct agent *a, int most_ms)
{
	double left_ms = a->ring_pace > 0 ? (HALF - a->ring_fill) / a->ring_pace * 1000 / 2
	                                  : most_ms;

	if (a->ring_fill >= HALF || left_ms >= most_ms)
		return most_ms;
	return left_ms < 1 ? 1 : (int)left_ms;
}

/* The worst first. */
static const char *
trouble(struct agent *a, struct mono now)
{
	enum task task;
	int64_t busy_ns = tracer_thread_busy_ns(a->tracer_thread, now, &task);
	/* a session that is ended waits for each program's metadata, see session_lttng.h */
	int64_t patience_ns = a->config->slow_call_ns +
	                      (task == TASK_TEND ? METADATA_NS * inventory_count(a->inventory) : 0);
	bool hanging = busy_ns > patience_ns;

	if (hanging && !a->hanging)
		agent_say(a, LOG_WARN, "the session daemon has not answered for %.1f s",
		    (double)busy_ns / 1e9);
	if (hanging != a->hanging)
		a->status_now = true;
	a->hanging = hanging;
	if (!guard_lives(a->guard))
		return "the guardian was killed; another one is on its way";
	if (hanging) {
		snprintf(a->trouble, sizeof a->trouble,
		    "the session daemon has not answered for %.1f s: it hangs, or "
		    "waits for a program that is stopped",
		    (double)busy_ns / 1e9);
		return a->trouble;
	}
	if (a->tracer_trouble[0] != '\0')
		return a->tracer_trouble;
	if (a->files_trouble[0] != '\0')
		return a->files_trouble;
	return a->source_trouble[0] != '\0' ? a->source_trouble : a->rates_trouble;
}

/* A burst's memory is in many pieces, of which the last holds all below it: without this a process
 * that once held 100 MiB keeps them, though one is in use. */
static void
give_back(struct agent *a, struct mono now)
{
	if (now.ns - a->trimmed.ns < TRIM_EVERY_NS || process_memory_bytes() < TRIM_OVER_BYTES)
		return;
	malloc_trim(0);
	a->trimmed = now;
}

static void
status_fill(struct agent *a, struct mono now, struct status *s)
{
	struct reconcile_stats r;
	struct outbox_fill o;
	struct link_look l;

	reconcile_stats(a->reconcile, now, &r);
	outbox_look(a->out, &o);
	link_look(a->link, &l);
	memset(s, 0, sizeof *s);
	give_back(a, now);
	memcpy(s->fill, a->peak, sizeof s->fill);
	for (int i = 0; i < LOSS_REASONS; i++)
		s->lost[i] = a->lost_before[i] + a->look.lost[i];
	s->lost[LOSS_RING] += a->lost_blind;
	s->lost[LOSS_QUEUE] += o.dropped_records;
	s->records = a->records_before + a->look.records;
	s->mapped = a->mapped_before + a->look.mapped;
	s->dropped = a->dropped_before + a->look.dropped;
	s->batches = o.sent;
	s->cpu_us = own_cpu_us();
	s->tracer_cpu_us = tracer_cpu_us(a, now);
	s->memory_bytes = process_memory_bytes();
	s->ring_bytes = a->look.ring_bytes;
	s->sent_bytes = l.sent_bytes;
	s->files_bytes = a->look.files_bytes;
	s->programs = inventory_count(a->inventory);
	s->added = r.added;
	s->epoch = r.epoch;
	s->shed = r.shed;
	s->shed_by = a->shed_by;
	s->guard_ok = guard_lives(a->guard);
	s->record_ns = a->cost.record_ns;
	s->rejected_ns = a->cost.rejected_ns;
	s->trouble = trouble(a, now);
	s->tracer_ok = a->session_open && !a->hanging;
}

void
report_status(struct agent *a, struct mono now)
{
	struct buf b = { 0 };
	struct status s;

	if (!a->status_now && mono_since_ns(now, a->reported_at) < a->config->status_ns)
		return;
	a->status_now = false;
	status_fill(a, now, &s);
	status_encode(&s, &b);
	link_post(a->link, FRAME_STATUS, &b);
	memset(a->peak, 0, sizeof a->peak);
	a->reported_at = now;
}
