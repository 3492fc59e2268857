/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agent/main/status_report.h"

#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "agent/main/agent_below.h"
#include "agent/main/agent_kernel.h"
#include "agent/main/agent_recorder.h"
#include "wire/frame.h"

/* The session daemon's health socket; its peer is the daemon, also while a command hangs. */
#define TRACER_SOCKET "/run/lttng/sessiond-health"
#define SPIN_NS INT64_C(3000000000)
#define SPIN_SHARE 0.9
#define CONSUMER_DIES_NS INT64_C(10000000000)
#define METADATA_NS INT64_C(200000000)
#define TRIM_EVERY_NS INT64_C(10000000000)
#define TRIM_OVER_BYTES (16 << 20)

void
report_begin(struct agent *a)
{
	a->report.tracer_pid = socket_owner(TRACER_SOCKET);
	if (a->report.tracer_pid != 0)
		a->report.tracer_base_us = family_cpu_us(
		    &a->report.tracer, a->report.tracer_pid, clock_mono());
}

/* CPU time of the session daemon and its children since the agent began, in us. The time of daemons
 * that have ended stays in the sum. */
static int64_t
tracer_cpu_us(struct agent *a, struct mono now)
{
	pid_t pid = process_cpu_us(a->report.tracer_pid) > 0 ? a->report.tracer_pid
	                                                     : socket_owner(TRACER_SOCKET);
	int64_t used_us = pid != 0 ? family_cpu_us(&a->report.tracer, pid, now) : 0;

	if (pid != a->report.tracer_pid) {
		a->report.tracer_pid = pid;
		a->report.tracer_base_us = -a->report.tracer_cpu_us;
	}
	if (used_us - a->report.tracer_base_us > a->report.tracer_cpu_us)
		a->report.tracer_cpu_us = used_us - a->report.tracer_base_us;
	return a->report.tracer_cpu_us;
}

/* What of it was for records that are read: a program in quarantine that goes on to write makes the consumer daemon work, too,
 * which must not lower the shares of all others. By bytes, since the last call. */
static int64_t
tracer_cpu_read_us(struct agent *a, struct mono now)
{
	struct agent_report *r = &a->report;
	const struct source_stats *s = &a->records.stats;
	int64_t all_us = tracer_cpu_us(a, now);
	uint64_t read = s->bytes >= r->tracer_read ? s->bytes - r->tracer_read : s->bytes;
	uint64_t left = s->discarded_bytes >= r->tracer_left ? s->discarded_bytes - r->tracer_left
	                                                     : s->discarded_bytes;
	double part = left > 0 ? (double)read / ((double)read + (double)left) : 1;

	r->tracer_counted_us += (int64_t)((double)(all_us - r->tracer_seen_us) * part);
	r->tracer_seen_us = all_us;
	r->tracer_read = s->bytes;
	r->tracer_left = s->discarded_bytes;
	return r->tracer_counted_us;
}

void
report_switch_begins(struct agent *a)
{
	a->report.switch_began_us = process_cpu_us(a->report.tracer_pid);
}

/* Of the task that runs. */
static int64_t
switching_us(const struct agent *a)
{
	int64_t us = process_cpu_us(a->report.tracer_pid), began_us = a->report.switch_began_us;

	return began_us > 0 && us > began_us ? us - began_us : 0;
}

void
report_switch_ended(struct agent *a)
{
	a->report.switched_us += switching_us(a);
	a->report.switch_began_us = 0;
}

static int64_t
own_cpu_us(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * INT64_C(1000000) + u.ru_utime.tv_usec +
	       u.ru_stime.tv_usec;
}

/* Whether a thread of the tracer's daemons has run for the last seconds without rest, or wanted to: beside other programs it does not
 * get a whole core. */
static bool
tracer_spins(struct agent *a, struct mono now)
{
	struct agent_report *r = &a->report;

	if (mono_since_ns(now, r->demand.at) >= SPIN_NS)
		r->spins = family_demand(&r->demand, &r->tracer, now) >= SPIN_SHARE;
	return r->spins;
}

/* LTTng 2.13's consumer daemon maps the rings as well. It dies of SIGBUS when one is shortened; when a
 * position is impossible, the thread of the switch timer closes sub-buffers without end. */
static bool
consumer_is_broken(struct agent *a, struct mono now)
{
	const struct node_trouble *culprit = &a->records.culprit;

	if (culprit->kind != NODE_TROUBLE_NONE && culprit->kind != NODE_TROUBLE_OVERRUN &&
	    tracer_spins(a, now))
		return true;
	return culprit->kind == NODE_TROUBLE_RING_DAMAGED &&
	       a->tracing.trouble.kind == NODE_TROUBLE_TRACER &&
	       mono_since_ns(a->tracing.lost_at, a->records.culprit_at) < CONSUMER_DIES_NS;
}

static struct node_trouble
consumer_broken(const struct agent *a)
{
	struct node_trouble t = a->records.culprit;

	t.kind = NODE_TROUBLE_CONSUMER;
	return t;
}

/* The most severe trouble. Its texts are valid until the agent's next turn. */
static struct node_trouble
trouble(struct agent *a, struct mono now)
{
	enum task task;
	int64_t busy_ns = tracer_thread_busy_ns(a->tracer_thread, now, &task);
	/* To end a session takes up to 0.2 s for each program (session_lttng.h). */
	int64_t patience_ns = a->config->slow_call_ns +
	                      (task == TASK_TEND ? METADATA_NS * inventory_count(a->inventory) : 0);
	bool hanging = busy_ns > patience_ns;

	if (hanging && !a->report.hanging)
		agent_log(a, LOG_WARN, "the session daemon has not answered for %.1f s",
		    (double)busy_ns / 1e9);
	if (hanging != a->report.hanging)
		a->report.due = true;
	a->report.hanging = hanging;
	if (!guard_lives(a->guard))
		return (struct node_trouble){ .kind = NODE_TROUBLE_GUARDIAN };
	if (hanging)
		return (struct node_trouble){ .kind = NODE_TROUBLE_TRACER_SILENT,
			.seconds = (double)busy_ns / 1e9 };
	if (consumer_is_broken(a, now))
		return consumer_broken(a);
	if (a->tracing.trouble.kind != NODE_TROUBLE_NONE)
		return a->tracing.trouble;
	if (a->queues.files_trouble.kind != NODE_TROUBLE_NONE)
		return a->queues.files_trouble;
	if (a->records.culprit.kind != NODE_TROUBLE_NONE)
		return a->records.culprit;
	if (a->records.untraced_pid != 0)
		return (struct node_trouble){ .kind = NODE_TROUBLE_UNTRACED,
			.subject = a->records.untraced,
			.pid = a->records.untraced_pid };
	if (a->records.trouble[0] != '\0')
		return (
		    struct node_trouble){ .kind = NODE_TROUBLE_READER, .text = a->records.trouble };
	return (struct node_trouble){ .kind = a->control.rates_trouble[0] != '\0'
		                                  ? NODE_TROUBLE_RATES
		                                  : NODE_TROUBLE_NONE,
		.text = a->control.rates_trouble };
}

/* Returns free memory to the system. After a burst the heap has many free pieces below the last one
 * in use; without this, a process that once held 100 MiB keeps them when it uses 1 MiB. */
static void
trim_memory(struct agent *a, struct mono now)
{
	if (now.ns - a->report.trimmed.ns < TRIM_EVERY_NS ||
	    process_memory_bytes() < TRIM_OVER_BYTES)
		return;
	malloc_trim(0);
	a->report.trimmed = now;
}

static void
status_fill(struct agent *a, struct mono now, struct status *s)
{
	struct reconcile_stats r;
	struct outbox_stats o;
	struct link_stats l;

	reconcile_stats(a->reconcile, now, &r);
	outbox_stats(a->out, &o);
	link_stats(a->link, &l);
	memset(s, 0, sizeof *s);
	trim_memory(a, now);
	memcpy(s->fill, a->queues.peak, sizeof s->fill);
	s->fullest = a->queues.peak_program;
	s->fullest_pid = a->queues.peak_pid;
	for (int i = 0; i < LOSS_REASONS; i++)
		s->lost[i] = a->records.lost_before[i] + a->records.stats.lost[i];
	s->lost[LOSS_RING] += a->records.blind_losses;
	s->lost[LOSS_QUEUE] += o.dropped_records;
	s->records = a->records.records_before + a->records.stats.records;
	s->mapped = a->records.mapped_before + a->records.stats.mapped;
	s->dropped = a->records.dropped_before + a->records.stats.dropped;
	s->batches = o.sent;
	s->cpu_us = own_cpu_us() + below_status(a, s);
	kernel_status(a, s);
	recorder_status(a, s);
	s->tracer_cpu_us = tracer_cpu_read_us(a, now);
	s->switch_cpu_us += a->report.switched_us + switching_us(a);
	s->memory_bytes = process_memory_bytes();
	s->ring_bytes = a->records.stats.ring_bytes;
	s->sent_bytes = l.sent_bytes;
	s->files_bytes = a->records.stats.files_bytes;
	s->programs = inventory_count(a->inventory);
	s->added = r.added;
	s->epoch = r.epoch;
	s->shed = r.shed;
	s->shed_by = a->queues.shed_by;
	s->guard_ok = guard_lives(a->guard);
	s->record_ns = a->cost.record_ns;
	s->rejected_ns = a->cost.rejected_ns;
	s->trouble = trouble(a, now);
	s->tracer_ok = a->tracing.session == SESSION_OPEN && !a->report.hanging;
}

void
report_status(struct agent *a, struct mono now)
{
	struct buf b = { 0 };
	struct status s;

	if (!a->report.due && mono_since_ns(now, a->report.reported_at) < a->config->status_ns)
		return;
	a->report.due = false;
	status_fill(a, now, &s);
	status_encode(&s, &b);
	link_post(a->link, FRAME_STATUS, &b);
	memset(a->queues.peak, 0, sizeof a->queues.peak);
	a->queues.peak_program[0] = '\0';
	a->queues.peak_pid = 0;
	a->report.reported_at = now;
}
