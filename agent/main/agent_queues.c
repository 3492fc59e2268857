/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agent/main/agent_queues.h"

#include <stdio.h>
#include <sys/statvfs.h>

#define HALF 0.5

/*
 * The share of queue.files, or of what the file system can hold if that is less, that is unread.
 * 1: there is no room for another sub-buffer, also if other files occupy the file system.
 */
static double
files_fill(const struct agent *a)
{
	double unread = (double)a->records.stats.files_bytes,
	       room = (double)a->config->files_bytes - unread, left;
	struct statvfs fs;

	if (a->tracing.session != SESSION_OPEN)
		return 0;
	if (statvfs(a->config->run_dir, &fs) == 0 &&
	    (left = (double)fs.f_bavail * (double)fs.f_frsize) < room)
		room = left;
	return room < (double)a->config->sub_buffer_bytes ? 1 : unread / (unread + room);
}

static void
check_files(struct agent *a, double fill, struct mono now)
{
	struct agent_queues *q = &a->queues;

	if (!q->files_full && fill >= 1) {
		q->files_full = a->report.due = true;
		q->files_full_at = now;
		q->files_full_times++;
		q->files_trouble = (struct node_trouble){ .kind = NODE_TROUBLE_FILES_FULL,
			.subject = a->config->run_dir,
			.bytes = (uint64_t)a->records.stats.files_bytes,
			.times = q->files_full_times,
			.seconds = (double)q->files_full_ns / 1e9 };
		agent_log(a, LOG_WARN,
		    "the tracer's files are full (%.1f MiB unread in %s): no request is "
		    "sampled until under half; occurrence %u, %.0f s in all before",
		    (double)a->records.stats.files_bytes / 1048576, a->config->run_dir,
		    q->files_full_times, (double)q->files_full_ns / 1e9);
	} else if (q->files_full && fill < HALF) {
		q->files_full = false;
		a->report.due = true;
		q->files_full_ns += mono_since_ns(now, q->files_full_at);
		q->files_trouble = (struct node_trouble){ 0 };
		agent_log(a, LOG_INFO,
		    "the tracer's files are under half: requests are sampled again, after %.1f s",
		    (double)mono_since_ns(now, q->files_full_at) / 1e9);
	}
}

/* Before the peak of the rings is taken. */
static void
note_program(struct agent *a, double fill)
{
	struct agent_queues *q = &a->queues;
	const struct source_stats *s = &a->records.stats;

	if (fill <= q->peak[QUEUE_RING])
		return;
	snprintf(q->peak_program, sizeof q->peak_program, "%s",
	    s->fullest_service != NULL ? s->fullest_service : "");
	q->peak_pid = s->fullest_service != NULL ? s->fullest_pid : 0;
}

/* Measures all queues; returns the fill of the fullest, 0 to 1, which is a->queues.fullest. */
static double
measure(struct agent *a, struct mono now)
{
	struct agent_queues *q = &a->queues;
	double window = (double)a->config->window * (double)a->config->batch_bytes, most = 0;
	double fill[QUEUES] = { 0 };
	struct outbox_stats o;

	if (a->tracing.session == SESSION_OPEN)
		fill[QUEUE_RING] = a->records.stats.fullest;
	q->ring_fill_per_second = (fill[QUEUE_RING] - q->ring_fill) /
	                          ((double)mono_since_ns(now, q->looked_at) / 1e9 + 1e-6);
	q->ring_fill = fill[QUEUE_RING];
	q->looked_at = now;
	outbox_stats(a->out, &o);
	fill[QUEUE_AGENT] = (double)o.held_bytes / (double)o.limit_bytes;
	fill[QUEUE_FILES] = files_fill(a);
	/* The link is full when a whole window waits behind the one that is on its way. Without a
	 * connection there is no such queue, only the outbox. */
	fill[QUEUE_LINK] = a->control.connected ? (double)o.waiting_bytes / window : 0;
	note_program(a, fill[QUEUE_RING]);
	for (int i = 0; i < QUEUES; i++) {
		if (fill[i] > 1)
			fill[i] = 1;
		if (fill[i] > q->peak[i])
			q->peak[i] = fill[i];
		if (fill[i] > most) {
			most = fill[i];
			q->fullest = (enum queue)i;
		}
	}
	check_files(a, fill[QUEUE_FILES], now);
	if ((most > HALF) != q->over_half)
		a->report.due = true;
	q->over_half = most > HALF;
	return most;
}

void
queues_check(struct agent *a, struct mono now)
{
	struct reconcile_stats state;
	double most = measure(a, now);

	reconcile_stats(a->reconcile, now, &state);
	/* If none is wanted, all are being disabled already. */
	if (most < a->config->shed || state.shed || state.added == 0 || state.wanted == 0)
		return;
	rates_silence(a->rates);
	reconcile_shed(a->reconcile);
	a->queues.shed_by = a->queues.fullest;
	a->report.due = true;
	if (a->queues.shed_by == QUEUE_RING && a->records.stats.fullest_service != NULL)
		agent_log(a, LOG_WARN,
		    "the ring buffer of %s (%u) is %.0f %% full: all %u added tracepoints go off",
		    a->records.stats.fullest_service, a->records.stats.fullest_pid, most * 100,
		    state.added);
	else
		agent_log(a, LOG_WARN,
		    "the queue \"%s\" is %.0f %% full: all %u added tracepoints go off",
		    queue_name(a->queues.shed_by), most * 100, state.added);
}

int
queues_wait_ms(const struct agent *a, int most_ms)
{
	const struct agent_queues *q = &a->queues;
	double left_ms = most_ms;

	if (q->ring_fill_per_second > 0)
		left_ms = (HALF - q->ring_fill) / q->ring_fill_per_second * 1000 / 2;
	if (q->ring_fill >= HALF || left_ms >= most_ms)
		return most_ms;
	return left_ms < 1 ? 1 : (int)left_ms;
}
