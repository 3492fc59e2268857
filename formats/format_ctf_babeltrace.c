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
	bt_message_iterator *iterator;
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

static bt_graph_simple_sink_component_initialize_func_status
sink_begin(bt_message_iterator *it, void *data)
{
	((struct ctf_sink *)data)->iterator = it;
	return BT_GRAPH_SIMPLE_SINK_COMPONENT_INITIALIZE_FUNC_STATUS_OK;
}

static bt_graph_simple_sink_component_consume_func_status
sink_consume(bt_message_iterator *it, void *data)
{
	struct ctf_sink *s = data;
	bt_message_array_const messages;
	uint64_t n = 0;
	bt_message_iterator_next_status status = bt_message_iterator_next(it, &messages, &n);

	if (status == BT_MESSAGE_ITERATOR_NEXT_STATUS_END)
		return BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_END;
	if (status == BT_MESSAGE_ITERATOR_NEXT_STATUS_AGAIN)
		return BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_AGAIN;
	if (status != BT_MESSAGE_ITERATOR_NEXT_STATUS_OK)
		return BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_ERROR;
	for (uint64_t i = 0; i < n; i++) {
		bt_message_type type = bt_message_get_type(messages[i]);

		if (s->rc == 0 && type == BT_MESSAGE_TYPE_EVENT)
			s->rc = take_event(s, messages[i]);
		else if (s->rc == 0 && type == BT_MESSAGE_TYPE_DISCARDED_EVENTS)
			s->rc = take_loss(s, messages[i]);
		bt_message_put_ref(messages[i]);
	}
	return s->rc == 0 ? BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_OK
	                  : BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_ERROR;
}

static void
sink_end(void *data)
{
	(void)data;
}

/* ---- the graph: a ctf.fs for each folder -> utils.muxer -> us ---- */

/* Sets *e to the text of babeltrace2's innermost cause, and *bad to the folder whose component
 * failed; *bad is unchanged if it is not known. */
static int
said(struct err *e, const struct ctf_folders *f, uint32_t *bad)
{
	const bt_error *error = bt_current_thread_take_error();
	uint64_t n = error != NULL ? bt_error_get_cause_count(error) : 0;

	err_set(e, ERR_INPUT, "babeltrace2 cannot read the trace");
	if (n > 0)
		err_set(e, ERR_INPUT, "babeltrace2: %s",
		    bt_error_cause_get_message(bt_error_borrow_cause_by_index(error, 0)));
	for (uint64_t i = 0; i < n; i++) {
		const bt_error_cause *cause = bt_error_borrow_cause_by_index(error, i);
		unsigned long at;
		char *end;

		if (bt_error_cause_get_actor_type(cause) !=
		    BT_ERROR_CAUSE_ACTOR_TYPE_MESSAGE_ITERATOR)
			continue;
		at = strtoul(
		    bt_error_cause_message_iterator_actor_get_component_name(cause), &end, 10);
		if (*end == '\0' && at < f->count && !f->list[at].bad)
			*bad = (uint32_t)at;
	}
	if (error != NULL)
		bt_error_release(error);
	return ERR_INPUT;
}

static const bt_plugin *
plugin(const char *name)
{
	const bt_plugin *p = NULL;

	return bt_plugin_find(name, BT_TRUE, BT_TRUE, BT_TRUE, BT_TRUE, BT_FALSE, &p) ==
	               BT_PLUGIN_FIND_STATUS_OK
	           ? p
	           : NULL;
}

struct ctf_graph {
	bt_graph *graph;
	const bt_plugin *ctf, *utils;
	const bt_component_filter *muxer;
	uint64_t used; /* of the muxer's ports */
};

static bool
connect(struct ctf_graph *g, const bt_component_source *source)
{
	uint64_t n = bt_component_source_get_output_port_count(source);

	for (uint64_t i = 0; i < n; i++, g->used++)
		if (bt_graph_connect_ports(g->graph,
			bt_component_source_borrow_output_port_by_index_const(source, i),
			bt_component_filter_borrow_input_port_by_index_const(g->muxer, g->used),
			NULL) != BT_GRAPH_CONNECT_PORTS_STATUS_OK)
			return false;
	return true;
}

/* Adds a source component for the folder, named by its number. False: babeltrace2 rejects it. */
static bool
add_source(struct ctf_graph *g, const char *path, uint32_t number)
{
	bt_value *parameters = bt_value_map_create(), *list;
	const bt_component_source *source;
	char name[16];
	bool ok;

	snprintf(name, sizeof name, "%u", number);
	ok = parameters != NULL &&
	     bt_value_map_insert_empty_array_entry(parameters, "inputs", &list) ==
	         BT_VALUE_MAP_INSERT_ENTRY_STATUS_OK &&
	     bt_value_array_append_string_element(list, path) ==
	         BT_VALUE_ARRAY_APPEND_ELEMENT_STATUS_OK &&
	     bt_graph_add_source_component(g->graph,
		 bt_plugin_borrow_source_component_class_by_name_const(g->ctf, "fs"), name,
		 parameters, BT_LOGGING_LEVEL_NONE, &source) == BT_GRAPH_ADD_COMPONENT_STATUS_OK &&
	     connect(g, source);
	if (parameters != NULL)
		bt_value_put_ref(parameters);
	return ok;
}

/* Builds the graph. 1: a folder was marked as bad; build again without it. */
static int
build(struct ctf_graph *g, struct ctf_folders *f, struct ctf_sink *s, struct err *e)
{
	const bt_component_sink *sink;
	uint32_t bad;

	if ((g->graph = bt_graph_create(0)) == NULL ||
	    bt_graph_add_filter_component(g->graph,
		bt_plugin_borrow_filter_component_class_by_name_const(g->utils, "muxer"), "muxer",
		NULL, BT_LOGGING_LEVEL_NONE, &g->muxer) != BT_GRAPH_ADD_COMPONENT_STATUS_OK)
		return said(e, f, &bad);
	for (uint32_t i = 0; i < f->count; i++) {
		if (f->list[i].bad || add_source(g, f->list[i].path, i))
			continue;
		said(e, f, &bad);
		f->list[i].bad = true;
		reading_skip(
		    s->reading, SKIP_MALFORMED, NULL, "%.60s: %.90s", f->list[i].path, e->text);
		return 1; /* this graph cannot be used any more */
	}
	if (g->used == 0)
		return err_set(e, ERR_INPUT, "no trace in the folder has events");
	if (bt_graph_add_simple_sink_component(g->graph, "hone", sink_begin, sink_consume, sink_end,
		s, &sink) != BT_GRAPH_ADD_COMPONENT_STATUS_OK ||
	    bt_graph_connect_ports(g->graph,
		bt_component_filter_borrow_output_port_by_index_const(g->muxer, 0),
		bt_component_sink_borrow_input_port_by_index_const(sink, 0),
		NULL) != BT_GRAPH_CONNECT_PORTS_STATUS_OK)
		return said(e, f, &bad);
	return 0;
}

/* Reads all events. 1: babeltrace2 failed in a folder, which is marked as bad; read on without it. */
static int
run(struct ctf_graph *g, struct ctf_folders *f, struct ctf_sink *s, struct err *e)
{
	bt_graph_run_status status;
	uint32_t bad = UINT32_MAX;
	int rc = build(g, f, s, e);

	if (rc != 0)
		return rc;
	do {
		status = bt_graph_run(g->graph);
	} while (status == BT_GRAPH_RUN_STATUS_AGAIN);
	if (s->rc != 0 || status == BT_GRAPH_RUN_STATUS_OK)
		return s->rc;
	said(e, f, &bad);
	reading_skip(s->reading, ctf_stopped_by(e->text), NULL, "%.60s: %.90s",
	    bad < f->count ? f->list[bad].path : "", e->text);
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
	struct ctf_graph g = { .ctf = plugin("ctf"), .utils = plugin("utils") };
	int rc = 1;

	if (g.ctf == NULL || g.utils == NULL)
		rc = err_set(e, ERR_SYSTEM,
		    "babeltrace2's plugins ctf and utils cannot be found: install "
		    "libbabeltrace2-0, or name their folder in BABELTRACE_PLUGIN_PATH");
	while (rc == 1) {
		s->after_ns = s->newest_ns;
		g.used = 0;
		rc = run(&g, f, s, e);
		if (g.graph != NULL)
			bt_graph_put_ref(g.graph);
		g.graph = NULL;
		/* the classes were freed with the graph */
		map_release(&s->classes);
	}
	if (g.ctf != NULL)
		bt_plugin_put_ref(g.ctf);
	if (g.utils != NULL)
		bt_plugin_put_ref(g.utils);
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
