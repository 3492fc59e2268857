/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads CTF through babeltrace2: all traces below a folder, merged by time. The times of a node are
 * those of its monotonic clock plus the offset to the wall clock of its first event. LTTng measures
 * this offset again for each program; with several offsets, an effect could precede its cause on one
 * node.
 *
 * Linked into a shared object, not into this room's archive (see format_ctf.c).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <babeltrace2/babeltrace.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/hash_map.h"
#include "formats/correlate.h"
#include "formats/ctf_reader.h"
#include "wire/graph_babeltrace2.h"
#include "wire/field_babeltrace2.h"

enum { TRACES_MAX = 65536, EVENT_NAME_MAX = 255 };

struct class_info { /* of an event class */
	char name[EVENT_NAME_MAX + 1];
	struct text_view service; /* of its trace's environment */
	uint32_t node;
	uint32_t vpid; /* of the environment */
};

struct babeltrace_folder {
	char *path;
	bool bad; /* babeltrace2 failed in it; not read any further */
};

struct ctf_folders {
	struct babeltrace_folder *list;
	uint32_t count, cap;
	struct arena arena;
};

struct ctf_sink {
	struct reading *reading;
	struct correlate *correlate;
	struct map classes; /* event class -> class_info */
	struct arena arena; /* of those */
	/* of each node: wall clock minus monotonic clock at its first event; 0: none yet */
	int64_t *wall_ns;
	uint32_t nwall, wall_cap;
	int64_t newest_ns; /* since the epoch, of all events that were taken */
	int64_t after_ns;  /* events up to here were taken by an earlier graph */
	int rc;
	struct err *e;
};

/* ---- which folders ---- */

static bool
add_folder(void *ctx, const char *path)
{
	struct ctf_folders *f = ctx;

	if (!array_reserve_max(f->list, f->cap, f->count + 1, TRACES_MAX))
		return false;
	f->list[f->count] = (struct babeltrace_folder){ arena_text(&f->arena, path, strlen(path)),
		false };
	return f->list[f->count++].path != NULL;
}

/* ---- fields ---- */

static void
read_context(struct tracer_event *v, const bt_field *context)
{
	uint64_t n;
	struct value text;

	if (context == NULL)
		return;
	/* CTF prefixes names with _ */
	if (field_number(context, "_app_hone_trace_id", &v->trace_id))
		v->has_context = true;
	field_number(context, "_app_hone_unit_id", &v->unit_id);
	if (field_number(context, "vpid", &n))
		v->pid = (uint32_t)n;
	if (field_number(context, "vtid", &n)) {
		v->tid = (uint32_t)n;
		v->has_tid = true;
	}
	text = field_value(
	    bt_field_structure_borrow_member_field_by_name_const(context, "procname"));
	if (text.type == VALUE_TEXT)
		v->service = (struct text_view){ text.text, text.len };
}

static uint32_t
read_payload(const bt_event *event, const char **fields, struct value *values)
{
	const bt_field *payload = bt_event_borrow_payload_field_const(event);
	const bt_field_class *class = payload != NULL ? bt_field_borrow_class_const(payload) : NULL;
	uint64_t n = class != NULL ? bt_field_class_structure_get_member_count(class) : 0;
	uint32_t count = 0;

	for (uint64_t i = 0; i < n && count < RECORD_VALUES_MAX; i++) {
		const bt_field_class_structure_member
		    *m = bt_field_class_structure_borrow_member_by_index_const(class, i);

		values[count] = field_value(
		    bt_field_structure_borrow_member_field_by_index_const(payload, i));
		fields[count] = bt_field_class_structure_member_get_name(m);
		count += values[count].type != VALUE_NONE;
	}
	return count;
}

/* ---- events ---- */

static uint32_t
node_of(struct ctf_sink *s, const bt_trace *trace)
{
	const char *host = environment_text(trace, "hostname");

	return reading_node(s->reading, host, strlen(host));
}

/* Event classes live as long as the graph, so the address identifies a class. */
static const struct class_info *
info_of(struct ctf_sink *s, const bt_event *event)
{
	const bt_event_class *class = bt_event_borrow_class_const(event);
	struct class_info *info = map_get(&s->classes, (uint64_t)(uintptr_t) class);
	const bt_trace *trace;
	const char *name;

	if (info != NULL)
		return info;
	if ((info = arena_calloc(&s->arena, 1, sizeof *info)) == NULL)
		return NULL;
	trace = bt_stream_borrow_trace_const(bt_event_borrow_stream_const(event));
	name = bt_event_class_get_name(class);
	snprintf(info->name, sizeof info->name, "%s", name != NULL ? name : "unknown");
	name = environment_text(trace, "procname");
	info->service = (struct text_view){ name, (uint32_t)strlen(name) };
	info->vpid = environment_number(trace, "vpid");
	if ((info->node = node_of(s, trace)) == UINT32_MAX ||
	    !map_put(&s->classes, (uint64_t)(uintptr_t) class, info))
		return NULL;
	return info;
}

static int64_t
node_time_ns(
    struct ctf_sink *s, uint32_t node, const bt_clock_snapshot *clock, int64_t since_epoch_ns)
{
	int64_t raw_ns = (int64_t)bt_clock_snapshot_get_value(clock);

	if (node >= s->nwall) {
		if (!array_reserve(s->wall_ns, s->wall_cap, node + 1))
			return since_epoch_ns;
		memset(&s->wall_ns[s->nwall], 0, (node + 1 - s->nwall) * sizeof *s->wall_ns);
		s->nwall = node + 1;
	}
	if (s->wall_ns[node] == 0) {
		s->wall_ns[node] = since_epoch_ns - raw_ns;
		reading_note_clock(s->reading, node, s->wall_ns[node]);
	}
	return raw_ns + s->wall_ns[node];
}

static int
take_event(struct ctf_sink *s, const bt_message *m)
{
	const bt_event *event = bt_message_event_borrow_event_const(m);
	const bt_stream_class *class = bt_event_class_borrow_stream_class_const(
	    bt_event_borrow_class_const(event));
	const struct class_info *info = info_of(s, event);
	const char *fields[RECORD_VALUES_MAX];
	struct value values[RECORD_VALUES_MAX];
	struct tracer_event v = { .fields = fields, .values = values };
	const bt_clock_snapshot *clock;
	int64_t since_epoch_ns;

	if (info == NULL)
		return err_set(s->e, ERR_MEMORY, "no memory for a trace's event classes");
	if (bt_stream_class_borrow_default_clock_class_const(class) == NULL) {
		reading_skip(
		    s->reading, SKIP_INCOMPLETE, NULL, "events of a stream without a clock");
		return 0;
	}
	clock = bt_message_event_borrow_default_clock_snapshot_const(m);
	if (bt_clock_snapshot_get_ns_from_origin(clock, &since_epoch_ns) !=
		BT_CLOCK_SNAPSHOT_GET_NS_FROM_ORIGIN_STATUS_OK ||
	    since_epoch_ns <= s->after_ns)
		return 0;
	if (since_epoch_ns > s->newest_ns)
		s->newest_ns = since_epoch_ns;
	reading_count(s->reading)->events++;
	v.time_ns = node_time_ns(s, info->node, clock, since_epoch_ns);
	v.node = info->node;
	v.pid = info->vpid;
	v.service = info->service;
	v.name = (struct text_view){ info->name, (uint32_t)strlen(info->name) };
	read_context(&v, bt_event_borrow_common_context_field_const(event));
	read_context(&v, bt_event_borrow_specific_context_field_const(event));
	v.nfields = read_payload(event, fields, values);
	return correlate_event(s->correlate, &v, s->e);
}

static int64_t
loss_ns(struct ctf_sink *s, uint32_t node, const bt_clock_snapshot *clock, int64_t otherwise_ns)
{
	int64_t since_epoch_ns;

	if (node == UINT32_MAX || bt_clock_snapshot_get_ns_from_origin(clock, &since_epoch_ns) !=
				      BT_CLOCK_SNAPSHOT_GET_NS_FROM_ORIGIN_STATUS_OK)
		return otherwise_ns;
	return node_time_ns(s, node, clock, since_epoch_ns);
}

static int
take_loss(struct ctf_sink *s, const bt_message *m)
{
	const bt_stream *stream = bt_message_discarded_events_borrow_stream_const(m);
	const bt_stream_class *class = bt_stream_borrow_class_const(stream);
	int64_t from_ns = 0, to_ns = INT64_MAX / 2;
	uint32_t node = node_of(s, bt_stream_borrow_trace_const(stream));
	uint64_t count = 1;

	if (bt_message_discarded_events_get_count(m, &count) != BT_PROPERTY_AVAILABILITY_AVAILABLE)
		count = 1;
	if (bt_stream_class_discarded_events_have_default_clock_snapshots(class)) {
		from_ns = loss_ns(s, node,
		    bt_message_discarded_events_borrow_beginning_default_clock_snapshot_const(m),
		    from_ns);
		to_ns = loss_ns(s, node,
		    bt_message_discarded_events_borrow_end_default_clock_snapshot_const(m), to_ns);
	}
	reading_skip(s->reading, SKIP_LOST, NULL,
	    "the tracer's buffers were full; the traces of that time are marked as incomplete");
	reading_count(s->reading)->skipped[SKIP_LOST].count += count - 1;
	return correlate_loss(s->correlate, node, count, from_ns, to_ns, s->e);
}

static int
take_message(void *of, const bt_message *m)
{
	struct ctf_sink *s = of;

	switch (bt_message_get_type(m)) {
	case BT_MESSAGE_TYPE_EVENT:
		return s->rc = take_event(s, m);
	case BT_MESSAGE_TYPE_DISCARDED_EVENTS:
		return s->rc = take_loss(s, m);
	default:
		return 0;
	}
}

/* ---- the graph ---- */

/* Builds the graph. 1: a folder was marked as bad; build again without it. */
static int
build(struct graph_babeltrace2 *g, struct ctf_folders *f, struct ctf_sink *s, struct err *e)
{
	int rc = graph_begin(g, e);

	for (uint32_t i = 0; rc == 0 && i < f->count; i++) {
		if (f->list[i].bad || graph_add(g, f->list[i].path, i, e) == 0)
			continue;
		f->list[i].bad = true;
		reading_skip(
		    s->reading, SKIP_MALFORMED, NULL, "%.60s: %.90s", f->list[i].path, e->text);
		return 1; /* this graph cannot be used any more */
	}
	return rc == 0 ? graph_connect(g, take_message, s, e) : rc;
}

/* Reads all events. 1: babeltrace2 failed in a folder, which is marked as bad; read on without it. */
static int
run(struct graph_babeltrace2 *g, struct ctf_folders *f, struct ctf_sink *s, struct err *e)
{
	uint32_t bad = UINT32_MAX;
	int rc = build(g, f, s, e);

	if (rc != 0)
		return rc;
	do {
		rc = graph_more(g, &bad, e);
	} while (rc == GRAPH_MORE);
	if (s->rc != 0 || rc == GRAPH_END)
		return s->rc;
	if (bad >= f->count || f->list[bad].bad)
		bad = UINT32_MAX;
	reading_skip(s->reading, ctf_stopped_by(e->text), NULL, "%.60s: %.90s",
	    bad != UINT32_MAX ? f->list[bad].path : "", e->text);
	if (bad == UINT32_MAX)
		return 0;
	f->list[bad].bad = true;
	return 1;
}

/* After a folder failed, reads the others again and ignores events up to that time: the muxer orders
 * events by time. */
static int
read_traces(struct ctf_folders *f, struct ctf_sink *s, struct err *e)
{
	struct graph_babeltrace2 g;
	int rc;

	do {
		s->after_ns = s->newest_ns;
		rc = run(&g, f, s, e);
		graph_release(&g);
		/* the classes were freed with the graph */
		map_release(&s->classes);
	} while (rc == 1);
	return rc;
}

int
ctf_read_babeltrace(struct reading *r, const char *path, struct err *e)
{
	struct ctf_sink s = { .reading = r, .e = e, .newest_ns = INT64_MIN };
	struct ctf_folders f = { 0 };
	int rc = correlate_new(&s.correlate, r, reading_options(r)->correlate, e);

	if (rc == 0 && !ctf_each_trace(path, add_folder, &f))
		rc = err_set(e, ERR_MEMORY,
		    "the folder has more than %d traces, or there is no memory for their list",
		    TRACES_MAX);
	if (rc == 0 && (rc = read_traces(&f, &s, e)) == ERR_INPUT && s.newest_ns != INT64_MIN)
		rc = 0; /* the events before the failure are analysed */
	if (rc == 0)
		rc = correlate_end(s.correlate, e);
	correlate_free(s.correlate);
	arena_release(&s.arena);
	arena_release(&f.arena);
	free(s.wall_ns);
	free(f.list);
	return rc;
}
