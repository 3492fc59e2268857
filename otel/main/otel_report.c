/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "otel/main/otel_report.h"

#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "otel/spans/event_names.h"
#include "wire/frame.h"

#define SAY_EVERY_NS (60 * SECOND)
#define TRIM_EVERY_NS (10 * SECOND)
#define TRIM_OVER_BYTES (48 << 20)

static int64_t
resident_bytes(void)
{
	FILE *f = fopen("/proc/self/statm", "r");
	long long pages = 0, all;

	if (f == NULL)
		return 0;
	if (fscanf(f, "%lld %lld", &all, &pages) != 2)
		pages = 0;
	fclose(f);
	return pages * sysconf(_SC_PAGESIZE);
}

static int64_t
cpu_us(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * INT64_C(1000000) + u.ru_utime.tv_usec +
	       u.ru_stime.tv_usec;
}

static void
raise_peak(struct otel *o, enum queue q, double fill)
{
	fill = fill < 1 ? fill : 1;
	if (fill > o->report.peak[q])
		o->report.peak[q] = fill;
}

/* Spans that are held are the "ring": what is written before it is read. */
void
otel_report_look(struct otel *o)
{
	double window = (double)o->config->window * (double)o->config->batch_bytes;
	struct outbox_stats out;

	outbox_stats(o->out, &out);
	raise_peak(o, QUEUE_RING, otel_source_fill(o->source));
	raise_peak(o, QUEUE_AGENT, (double)out.held_bytes / (double)out.limit_bytes);
	if (o->control.connected)
		raise_peak(o, QUEUE_LINK, (double)out.waiting_bytes / window);
}

static uint64_t
refused_full(const struct otel *o)
{
	struct span_door_stats d;
	struct grpc_door_stats grpc;
	uint64_t n = 0;

	for (int i = 0; i < DOORS; i++)
		if (o->doors[i] != NULL) {
			span_door_stats(o->doors[i], &d);
			n += d.full;
		}
	if (o->grpc != NULL) {
		grpc_door_stats(o->grpc, &grpc);
		n += grpc.calls.full;
	}
	return n;
}

static uint64_t
displaced(const struct otel *o)
{
	struct grpc_door_stats grpc;
	uint64_t n = 0;

	for (int i = 0; i < DOORS + LEVER_DOORS; i++)
		if (o->http[i] != NULL)
			n += http_daemon_displaced(o->http[i]);
	if (o->grpc != NULL) {
		grpc_door_stats(o->grpc, &grpc);
		n += grpc.displaced;
	}
	return n;
}

static void
post_status(struct otel *o, const struct otel_source_stats *s)
{
	struct outbox_stats out;
	struct gate_table_stats gates;
	struct opamp_table_stats opamp;
	struct link_stats link;
	struct status st = { 0 };
	struct buf b = { 0 };

	outbox_stats(o->out, &out);
	link_stats(o->link, &link);
	gate_table_stats(o->gates, &gates);
	opamp_table_stats(o->opamp, &opamp);
	memcpy(st.fill, o->report.peak, sizeof st.fill);
	for (int i = 0; i < LOSS_REASONS; i++)
		st.lost[i] = o->lost[i];
	st.lost[LOSS_QUEUE] += out.dropped_records;
	st.lost[LOSS_DECODE] += s->rejected + s->malformed_bodies;
	st.records = s->records.records;
	st.batches = out.sent;
	st.cpu_us = cpu_us();
	st.memory_bytes = resident_bytes();
	st.ring_bytes = (int64_t)s->gather.bytes;
	st.sent_bytes = link.sent_bytes;
	st.epoch = o->control.epoch;
	st.programs = o->services.programs;
	st.added = gates.on + opamp.on;
	st.shed = o->control.shed;
	st.shed_by = QUEUE_RING;
	st.record_ns = gates.on_ns / 2; /* a span is two records */
	st.rejected_ns = gates.off_ns / 2;
	st.inherent = s->records.records - s->records.point_records;
	st.tracer_ok = true;
	st.below_missing = "hone-otel takes spans alone; below them looks hone-agent";
	st.guard_ok =
	    true; /* what gates turn on ends with their lease; hone-otel itself is the guardian of what has none */
	status_encode(&st, &b);
	link_post(o->link, FRAME_STATUS, &b);
	memset(o->report.peak, 0, sizeof o->report.peak);
}

/* Events of spans, and spans that are points, that became none: past a bound, or without room in their unit. */
static uint64_t
points_left(const struct otel *o, const struct otel_source_stats *s)
{
	return event_names_left(otel_source_events(o->source)) + s->records.events_left +
	       s->records.points_left;
}

/* What was left out since the last line, if something was; once a minute, or now. */
static void
say_left_out(struct otel *o, const struct otel_source_stats *s, struct mono now, bool at_once)
{
	struct otel_report *r = &o->report;
	const struct otel_source_stats *was = &r->said;
	uint64_t incomplete = s->records.incomplete - was->records.incomplete,
		 rejected = s->rejected - was->rejected, lost = s->lost - was->lost,
		 full = refused_full(o) - r->said_full, delayed = s->delayed - was->delayed,
		 points = points_left(o, s) - r->said_points,
		 connections = displaced(o) - r->said_displaced;

	if ((!at_once && mono_since_ns(now, r->said_at) < SAY_EVERY_NS) ||
	    incomplete + rejected + lost + full + delayed + points + connections == 0)
		return;
	otel_log(o, LOG_WARN,
	    "of %llu spans: %llu rejected, %llu lost, %llu later than spans.delay; %llu traces left out since spans of "
	    "them are missing; %llu requests refused since memory is full; %llu events and added spans left out; "
	    "%llu silent connections closed for new ones",
	    (unsigned long long)(s->spans - was->spans), (unsigned long long)rejected,
	    (unsigned long long)lost, (unsigned long long)delayed, (unsigned long long)incomplete,
	    (unsigned long long)full, (unsigned long long)points, (unsigned long long)connections);
	r->said = *s;
	r->said_full += full;
	r->said_points += points;
	r->said_displaced += connections;
	r->said_at = now;
}

/* The first time at once, then at most once a minute. */
static void
say_clocks(struct otel *o, const struct otel_source_stats *s, struct mono now)
{
	struct otel_report *r = &o->report;

	if (s->hosts_ahead == r->said_ahead ||
	    (r->said_ahead_at.ns != 0 && mono_since_ns(now, r->said_ahead_at) < SAY_EVERY_NS))
		return;
	if (s->hosts_ahead == 0)
		otel_log(o, LOG_INFO, "no host's clock is ahead by more than 1 s any more");
	else
		otel_log(o, LOG_WARN,
		    "the clocks of %u hosts are ahead by more than 1 s, since their spans end in the future: their requests are put earlier",
		    s->hosts_ahead);
	r->said_ahead = s->hosts_ahead;
	r->said_ahead_at = now;
}

static void
trim_memory(struct otel *o, struct mono now)
{
	if (mono_since_ns(now, o->report.trimmed) < TRIM_EVERY_NS ||
	    resident_bytes() < TRIM_OVER_BYTES)
		return;
	malloc_trim(0);
	o->report.trimmed = now;
}

void
otel_report_turn(struct otel *o, struct mono now)
{
	struct otel_source_stats s;

	if (!o->report.due && mono_since_ns(now, o->report.reported_at) < o->config->status_ns)
		return;
	o->report.due = false;
	o->report.reported_at = now;
	otel_source_stats(o->source, &s);
	post_status(o, &s);
	say_left_out(o, &s, now, false);
	say_clocks(o, &s, now);
	trim_memory(o, now);
}

void
otel_report_end(struct otel *o, struct mono now)
{
	struct otel_source_stats s;

	otel_source_stats(o->source, &s);
	say_left_out(o, &s, now, true);
}
