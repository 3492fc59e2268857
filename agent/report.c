/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the agent says of itself: how full, how much lost, at what cost, what is wrong. */
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "agent/agent_inside.h"
#include "agent/files.h"
#include "wire/frame.h"

#define TRACER_PID_FILE "/run/lttng/lttng-sessiond.pid"
#define HALF 0.5

void
report_begin(struct agent *a)
{
	a->tracer_pid = pid_in_file(TRACER_PID_FILE);
	if (a->tracer_pid != 0)
		a->tracer_base_us = process_family_cpu_us(a->tracer_pid);
}

/* Daemons come and go; what the former ones used stays in the sum. */
static int64_t
tracer_cpu_us(struct agent *a)
{
	pid_t pid = pid_in_file(TRACER_PID_FILE);
	int64_t used_us = pid != 0 ? process_family_cpu_us(pid) : 0;

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
	return (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * INT64_C(1000000) + u.ru_utime.tv_usec + u.ru_stime.tv_usec;
}

/*
 * The link is full when a whole window waits behind the one that is on its way.
 * Without a connection there is no such queue, only the outbox that fills.
 */
double
report_fill(struct agent *a)
{
	double window = (double)a->config->window * (double)a->config->batch_bytes, fullest = 0;
	double fill[QUEUES] = { [QUEUE_RING] = a->has_source ? a->look.fullest : 0 };
	struct outbox_fill o;

	outbox_look(a->out, &o);
	fill[QUEUE_AGENT] = (double)o.held_bytes / (double)o.limit_bytes;
	fill[QUEUE_LINK] = a->connected ? (double)o.waiting_bytes / window : 0;
	for (int i = 0; i < QUEUES; i++) {
		if (fill[i] > 1)
			fill[i] = 1;
		if (fill[i] > a->peak[i])
			a->peak[i] = fill[i];
		if (fill[i] > fullest)
			fullest = fill[i];
	}
	if ((fullest > HALF) != a->over_half)
		a->status_now = true;
	a->over_half = fullest > HALF;
	return fullest;
}

/* The worst first. */
static const char *
trouble(struct agent *a, struct mono now)
{
	enum task task;
	int64_t busy_ns = switcher_busy_ns(a->switcher, now, &task);
	bool hanging = busy_ns > a->config->slow_call_ns;

	if (hanging && !a->hanging)
		agent_say(a, LOG_WARN, "the session daemon has not answered for %.1f s", (double)busy_ns / 1e9);
	if (hanging != a->hanging)
		a->status_now = true;
	a->hanging = hanging;
	if (!guard_lives(a->guard))
		return "the guardian was killed: should the agent be killed too, tracepoints may stay on; start hone-agent anew";
	if (hanging) {
		snprintf(a->trouble, sizeof(a->trouble), "the session daemon has not answered for %.1f s: it hangs, or "
		    "waits for a program that is stopped", (double)busy_ns / 1e9);
		return a->trouble;
	}
	if (a->tracer_trouble[0] != '\0')
		return a->tracer_trouble;
	return a->source_trouble[0] != '\0' ? a->source_trouble : a->rates_trouble;
}

static void
status_fill(struct agent *a, struct mono now, struct status *s)
{
	struct reconcile_look r;
	struct outbox_fill o;

	reconcile_look(a->reconcile, now, &r);
	outbox_look(a->out, &o);
	memset(s, 0, sizeof(*s));
	memcpy(s->fill, a->peak, sizeof(s->fill));
	for (int i = 0; i < LOSS_REASONS; i++)
		s->lost[i] = a->lost_before[i] + a->look.lost[i];
	s->lost[LOSS_RING] += a->lost_blind;
	s->lost[LOSS_QUEUE] += o.dropped_records;
	s->records = a->records_before + a->look.records;
	s->batches = o.sent;
	s->cpu_us = own_cpu_us();
	s->tracer_cpu_us = tracer_cpu_us(a);
	s->memory_bytes = process_memory_bytes();
	s->ring_bytes = a->look.ring_bytes;
	s->programs = inventory_count(a->inventory);
	s->added = r.added;
	s->epoch = r.epoch;
	s->shed = r.shed;
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
	memset(a->peak, 0, sizeof(a->peak));
	a->reported_at = now;
}
