/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads one CTF trace of the kernel through babeltrace2, some events at a time, so that the caller can merge several:
 *
 *	ctf.fs ----> utils.muxer ----> us
 *
 * Linked into a shared object, not into this room's archive (see formats/format_ctf.c).
 */
#include <stdlib.h>
#include <string.h>

#include <babeltrace2/babeltrace.h>

#include "base/arena.h"
#include "base/hash_map.h"
#include "wire/graph_babeltrace2.h"
#include "kernel/files/ctf_door.h"
#include "wire/field_babeltrace2.h"

enum { DEPTH_MAX = 8 };

/* Where a field is, in the class of an event. */
struct field_place {
	enum { PLACE_NONE, PLACE_PAYLOAD, PLACE_DEEP, PLACE_ITEM } kind;
	uint32_t index;    /* of the member of the payload */
	uint32_t item;     /* of PLACE_ITEM */
	const char *names; /* of PLACE_DEEP */
};

enum { CONTEXT_TID, CONTEXT_PID, CONTEXT_PROCNAME, CONTEXT_ORDER, CONTEXT_CPU, CONTEXT_FIELDS };

struct context_place {
	enum { SCOPE_NONE, SCOPE_COMMON, SCOPE_SPECIFIC, SCOPE_PAYLOAD, SCOPE_PACKET } scope;
	uint32_t index;
};

struct event_plan { /* of an event class */
	const struct event_name *name;
	char *text;
	bool has_clock;
	struct context_place context[CONTEXT_FIELDS];
	struct field_place fields[RAW_SLOTS];
	uint32_t nfields;
};

struct ctf_reading {
	const struct ctf_calls *calls;
	void *of;
	bool raw_times, has_wall;
	int64_t wall_ns;
	struct graph_babeltrace2 graph;
	struct map plans;   /* event class -> event_plan */
	struct map streams; /* stream -> its CPU's number + 1, of the packet before */
	struct arena arena;
	int rc;
	struct err *e; /* of the call */
};

/* ---- plans ------------------------------------------------------------------ */

static bool
find_member(const bt_field_class *structure, const char *name, size_t len, uint32_t *ret)
{
	uint64_t n = structure != NULL ? bt_field_class_structure_get_member_count(structure) : 0;

	for (uint64_t i = 0; i < n; i++) {
		const char *member = bt_field_class_structure_member_get_name(
		    bt_field_class_structure_borrow_member_by_index_const(structure, i));

		if (strlen(member) == len && memcmp(member, name, len) == 0) {
			*ret = (uint32_t)i;
			return true;
		}
	}
	return false;
}

/* The first of a slot's names that the payload has. */
static struct field_place
plan_field(const bt_field_class *payload, const char *slot)
{
	struct field_place ret = { PLACE_NONE };

	if (strcmp(slot, "*") == 0) {
		if (payload != NULL && bt_field_class_structure_get_member_count(payload) > 0)
			ret.kind = PLACE_PAYLOAD;
		return ret;
	}
	if (slot[0] == '>')
		return (struct field_place){ PLACE_DEEP, .names = slot + 1 };
	for (const char *at = slot; *at != '\0';) {
		size_t len = strcspn(at, "|"), name = strcspn(at, "[|");

		if (find_member(payload, at, name, &ret.index)) {
			ret.kind = name < len ? PLACE_ITEM : PLACE_PAYLOAD;
			ret.item = name < len ? (uint32_t)strtoul(at + name + 1, NULL, 10) : 0;
			return ret;
		}
		at += len + (at[len] != '\0');
	}
	return ret;
}

static void
plan_context(struct context_place *ret, const bt_field_class *const scopes[5], const char *names)
{
	for (int scope = SCOPE_COMMON; scope <= SCOPE_PACKET; scope++)
		for (const char *at = names; *at != '\0';) {
			size_t len = strcspn(at, "|");

			if (ret->scope == SCOPE_NONE &&
			    find_member(scopes[scope], at, len, &ret->index))
				ret->scope = scope;
			at += len + (at[len] != '\0');
		}
}

static const char *
without_subsystem(const char *name)
{
	const char *colon = strchr(name, ':');

	return colon != NULL && colon[1] != '\0' ? colon + 1 : name;
}

static bool
fill_plan(struct ctf_reading *r, struct event_plan *p, const bt_event *event)
{
	const bt_event_class *class = bt_event_borrow_class_const(event);
	const bt_stream_class *stream = bt_event_class_borrow_stream_class_const(class);
	const bt_field_class *payload = bt_event_class_borrow_payload_field_class_const(class);
	const char *name = bt_event_class_get_name(class);
	const bt_field_class *const scopes[] = { NULL,
		bt_stream_class_borrow_event_common_context_field_class_const(stream),
		bt_event_class_borrow_specific_context_field_class_const(class), payload,
		bt_stream_class_borrow_packet_context_field_class_const(stream) };

	name = without_subsystem(name != NULL ? name : "unknown");
	p->has_clock = bt_stream_class_borrow_default_clock_class_const(stream) != NULL;
	if ((p->text = arena_text(&r->arena, name, strlen(name))) == NULL)
		return false;
	p->name = r->calls->name(r->of, p->text, &r->rc);
	plan_context(&p->context[CONTEXT_TID], scopes, "tid|perf_tid|common_pid");
	plan_context(&p->context[CONTEXT_PID], scopes, "pid|perf_pid");
	plan_context(&p->context[CONTEXT_PROCNAME], scopes, "procname|perf_comm");
	plan_context(&p->context[CONTEXT_ORDER], scopes, "hone_order");
	plan_context(&p->context[CONTEXT_CPU], scopes, "perf_cpu|cpu_id");
	/* of a payload only perf's are of the CPU's thread */
	for (int i = 0; i < CONTEXT_FIELDS; i++)
		if (p->context[i].scope == SCOPE_PAYLOAD)
			p->context[i].scope = SCOPE_NONE;
	if (find_member(payload, "perf_tid", 8, &p->context[CONTEXT_TID].index))
		p->context[CONTEXT_TID].scope = SCOPE_PAYLOAD;
	if (find_member(payload, "perf_pid", 8, &p->context[CONTEXT_PID].index))
		p->context[CONTEXT_PID].scope = SCOPE_PAYLOAD;
	if (find_member(payload, "perf_cpu", 8, &p->context[CONTEXT_CPU].index))
		p->context[CONTEXT_CPU].scope = SCOPE_PAYLOAD;
	for (; p->name != NULL && p->name->meaning->slots[p->nfields] != NULL; p->nfields++)
		p->fields[p->nfields] = plan_field(payload, p->name->meaning->slots[p->nfields]);
	return true;
}

/* Event classes live as long as the graph, so the address identifies a class. */
static const struct event_plan *
plan_of(struct ctf_reading *r, const bt_event *event)
{
	const bt_event_class *class = bt_event_borrow_class_const(event);
	struct event_plan *p = map_get(&r->plans, (uint64_t)(uintptr_t) class);

	if (p != NULL)
		return p;
	if ((p = arena_calloc(&r->arena, 1, sizeof *p)) == NULL || !fill_plan(r, p, event) ||
	    !map_put(&r->plans, (uint64_t)(uintptr_t) class, p))
		return NULL;
	return p;
}

/* ---- values ----------------------------------------------------------------- */

/* A whole number, also of an enumeration, or a text. */
static struct field_said
value_of(const bt_field *f)
{
	bt_field_class_type type;

	while (f != NULL &&
	       bt_field_class_type_is(bt_field_get_class_type(f), BT_FIELD_CLASS_TYPE_VARIANT))
		f = bt_field_variant_borrow_selected_option_field_const(f);
	if (f == NULL)
		return (struct field_said){ RAW_ABSENT };
	type = bt_field_get_class_type(f);
	if (bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_UNSIGNED_INTEGER))
		return (struct field_said){
			RAW_NUMBER,
			(int64_t)bt_field_integer_unsigned_get_value(f),
		};
	if (bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_SIGNED_INTEGER))
		return (struct field_said){ RAW_NUMBER, bt_field_integer_signed_get_value(f) };
	if (type == BT_FIELD_CLASS_TYPE_STRING)
		return (struct field_said){ RAW_TEXT, 0, bt_field_string_get_value(f),
			bt_field_string_get_length(f) };
	return (struct field_said){ RAW_ABSENT };
}

/* Looks for a member inside of structures and the selected options of variants. O(fields). */
static struct field_said
value_inside(const bt_field *f, const char *names, int depth)
{
	const bt_field_class *class;
	uint64_t n;

	while (f != NULL &&
	       bt_field_class_type_is(bt_field_get_class_type(f), BT_FIELD_CLASS_TYPE_VARIANT))
		f = bt_field_variant_borrow_selected_option_field_const(f);
	if (f == NULL || depth == DEPTH_MAX ||
	    bt_field_get_class_type(f) != BT_FIELD_CLASS_TYPE_STRUCTURE)
		return (struct field_said){ RAW_ABSENT };
	class = bt_field_borrow_class_const(f);
	n = bt_field_class_structure_get_member_count(class);
	for (uint64_t i = 0; i < n; i++) {
		const char *name = bt_field_class_structure_member_get_name(
		    bt_field_class_structure_borrow_member_by_index_const(class, i));
		const bt_field *member = bt_field_structure_borrow_member_field_by_index_const(
		    f, i);
		struct field_said v = { RAW_ABSENT };

		if (strcmp(name, names) == 0)
			v = value_of(member);
		if (v.type == RAW_ABSENT)
			v = value_inside(member, names, depth + 1);
		if (v.type != RAW_ABSENT)
			return v;
	}
	return (struct field_said){ RAW_ABSENT };
}

static struct field_said
value_item(const bt_field *array, uint32_t item)
{
	bt_field_class_type type = bt_field_get_class_type(array);

	if (!bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_ARRAY) ||
	    bt_field_array_get_length(array) <= item)
		return (struct field_said){ RAW_ABSENT };
	return value_of(bt_field_array_borrow_element_field_by_index_const(array, item));
}

static struct field_said
context_value(const struct context_place *c, const bt_event *event)
{
	const bt_field *scope = NULL;
	const bt_packet *packet;

	switch (c->scope) {
	case SCOPE_NONE:
		return (struct field_said){ RAW_ABSENT };
	case SCOPE_COMMON:
		scope = bt_event_borrow_common_context_field_const(event);
		break;
	case SCOPE_SPECIFIC:
		scope = bt_event_borrow_specific_context_field_const(event);
		break;
	case SCOPE_PAYLOAD:
		scope = bt_event_borrow_payload_field_const(event);
		break;
	case SCOPE_PACKET:
		packet = bt_event_borrow_packet_const(event);
		scope = packet != NULL ? bt_packet_borrow_context_field_const(packet) : NULL;
		break;
	}
	if (scope == NULL)
		return (struct field_said){ RAW_ABSENT };
	return value_of(bt_field_structure_borrow_member_field_by_index_const(scope, c->index));
}

static bool
context_number(const struct context_place *c, const bt_event *event, uint32_t *ret)
{
	struct field_said v = context_value(c, event);

	if (v.type != RAW_NUMBER || v.number < 0 || v.number > UINT32_MAX)
		return false;
	*ret = (uint32_t)v.number;
	return true;
}

static void
read_context(struct raw_event *raw, const struct event_plan *p, const bt_event *event)
{
	struct field_said procname = context_value(&p->context[CONTEXT_PROCNAME], event);
	uint32_t cpu;

	raw->has_tid = context_number(&p->context[CONTEXT_TID], event, &raw->tid);
	raw->has_pid = context_number(&p->context[CONTEXT_PID], event, &raw->pid);
	if (context_number(&p->context[CONTEXT_CPU], event, &cpu))
		raw->cpu = cpu < KERNEL_CPU_ALL ? (uint16_t)cpu : KERNEL_CPU_ALL - 1;
	context_number(&p->context[CONTEXT_ORDER], event, &raw->order);
	if (procname.type == RAW_TEXT) {
		raw->has_procname = true;
		raw->procname = procname.text;
		raw->procname_len = procname.len;
	}
}

static void
read_fields(struct raw_event *raw, const struct event_plan *p, const bt_event *event)
{
	const bt_field *payload = bt_event_borrow_payload_field_const(event);

	for (uint32_t i = 0; payload != NULL && i < p->nfields; i++) {
		const struct field_place *f = &p->fields[i];

		if (f->kind == PLACE_DEEP)
			raw->values[i] = value_inside(payload, f->names, 0);
		else if (f->kind != PLACE_NONE) {
			const bt_field
			    *member = bt_field_structure_borrow_member_field_by_index_const(
				payload, f->index);

			raw->values[i] = f->kind == PLACE_ITEM ? value_item(member, f->item)
			                                       : value_of(member);
		}
	}
}

/* ---- messages --------------------------------------------------------------- */

static bool
time_of(struct ctf_reading *r, const bt_clock_snapshot *clock, int64_t *ret)
{
	int64_t raw_ns = (int64_t)bt_clock_snapshot_get_value(clock), wall_ns;
	uint64_t frequency = bt_clock_class_get_frequency(
	    bt_clock_snapshot_borrow_clock_class_const(clock));

	if (bt_clock_snapshot_get_ns_from_origin(clock, &wall_ns) !=
	    BT_CLOCK_SNAPSHOT_GET_NS_FROM_ORIGIN_STATUS_OK)
		return false;
	if (frequency != 1000000000)
		raw_ns = (int64_t)((double)raw_ns * 1e9 / (double)frequency);
	if (!r->has_wall) {
		r->has_wall = true;
		r->wall_ns = wall_ns - raw_ns;
	}
	*ret = r->raw_times ? raw_ns : wall_ns;
	return true;
}

static int
take_event(struct ctf_reading *r, const bt_message *m)
{
	const bt_event *event = bt_message_event_borrow_event_const(m);
	const struct event_plan *p = plan_of(r, event);
	struct raw_event raw = { 0 };

	if (p == NULL)
		return err_set(r->e, ERR_MEMORY, "no memory for a trace's event classes");
	if (r->rc != 0)
		return r->rc;
	if (p->name == NULL) {
		r->calls->unused(r->of, p->text);
		return 0;
	}
	if (!p->has_clock ||
	    !time_of(r, bt_message_event_borrow_default_clock_snapshot_const(m), &raw.time_ns)) {
		r->calls->no_clock(r->of);
		return 0;
	}
	raw.name = p->name;
	read_context(&raw, p, event);
	read_fields(&raw, p, event);
	return r->calls->event(r->of, &raw, r->e);
}

static int
see_stream(struct ctf_reading *r, const bt_stream *stream)
{
	const bt_trace *trace = bt_stream_borrow_trace_const(stream);
	const char *host = environment_text(trace, "hostname");
	const struct ctf_environment env = {
		host[0] != '\0' ? host : environment_text(trace, "host"),
		environment_number(trace, "hone_recording") != 0,
	};

	return r->calls->begin(r->of, &env, r->e);
}

/* The CPU of a stream, of which each packet tells it. */
static void
see_packet(struct ctf_reading *r, const bt_packet *packet)
{
	const bt_field *context = bt_packet_borrow_context_field_const(packet);
	const bt_stream *stream = bt_packet_borrow_stream_const(packet);
	uint64_t cpu;

	if (context != NULL && field_number(context, "cpu_id", &cpu) && cpu < KERNEL_CPU_ALL &&
	    map_get(&r->streams, (uint64_t)(uintptr_t)stream) == NULL)
		map_put(&r->streams, (uint64_t)(uintptr_t)stream, (void *)(uintptr_t)(cpu + 1));
}

static uint16_t
stream_cpu(const struct ctf_reading *r, const bt_stream *stream)
{
	uintptr_t cpu = (uintptr_t)map_get(&r->streams, (uint64_t)(uintptr_t)stream);

	return cpu == 0 ? KERNEL_CPU_ALL : (uint16_t)(cpu - 1);
}

static int
take_loss(struct ctf_reading *r, const bt_message *m)
{
	const bt_stream *stream = bt_message_discarded_events_borrow_stream_const(m);
	uint64_t count = 0;
	int64_t from_ns = 0, to_ns = 0;

	if (bt_message_discarded_events_get_count(m, &count) != BT_PROPERTY_AVAILABILITY_AVAILABLE)
		count = 0;
	if (!bt_stream_class_discarded_events_have_default_clock_snapshots(
		bt_stream_borrow_class_const(stream)) ||
	    !time_of(r,
		bt_message_discarded_events_borrow_beginning_default_clock_snapshot_const(m),
		&from_ns) ||
	    !time_of(r, bt_message_discarded_events_borrow_end_default_clock_snapshot_const(m),
		&to_ns)) {
		r->calls->no_clock(r->of);
		return 0;
	}
	return r->calls->lost(r->of, stream_cpu(r, stream), count, from_ns, to_ns, r->e);
}

static int
take_packet_loss(struct ctf_reading *r, const bt_message *m)
{
	const bt_stream *stream = bt_message_discarded_packets_borrow_stream_const(m);
	int64_t from_ns = 0, to_ns = 0;

	if (!bt_stream_class_discarded_packets_have_default_clock_snapshots(
		bt_stream_borrow_class_const(stream)) ||
	    !time_of(r,
		bt_message_discarded_packets_borrow_beginning_default_clock_snapshot_const(m),
		&from_ns) ||
	    !time_of(r, bt_message_discarded_packets_borrow_end_default_clock_snapshot_const(m),
		&to_ns)) {
		r->calls->no_clock(r->of);
		return 0;
	}
	return r->calls->lost(r->of, stream_cpu(r, stream), 0, from_ns, to_ns, r->e);
}

static int
take_message(void *of, const bt_message *m)
{
	struct ctf_reading *r = of;

	switch (bt_message_get_type(m)) {
	case BT_MESSAGE_TYPE_EVENT:
		return r->rc = take_event(r, m);
	case BT_MESSAGE_TYPE_STREAM_BEGINNING:
		return r->rc = see_stream(r, bt_message_stream_beginning_borrow_stream_const(m));
	case BT_MESSAGE_TYPE_PACKET_BEGINNING:
		see_packet(r, bt_message_packet_beginning_borrow_packet_const(m));
		return 0;
	case BT_MESSAGE_TYPE_DISCARDED_EVENTS:
		return r->rc = take_loss(r, m);
	case BT_MESSAGE_TYPE_DISCARDED_PACKETS:
		return r->rc = take_packet_loss(r, m);
	default:
		return 0;
	}
}

/* ---- the door --------------------------------------------------------------- */

static void
close_reading(struct ctf_reading *r)
{
	if (r == NULL)
		return;
	graph_release(&r->graph);
	map_release(&r->plans);
	map_release(&r->streams);
	arena_release(&r->arena);
	free(r);
}

static int
open_reading(struct ctf_reading **ret, const char *folder, bool raw_times,
    const struct ctf_calls *calls, void *of, struct err *e)
{
	struct ctf_reading *r = calloc(1, sizeof *r);
	int rc;

	*ret = NULL;
	if (r == NULL)
		return err_set(e, ERR_MEMORY, "out of memory");
	r->calls = calls;
	r->of = of;
	r->raw_times = raw_times;
	if ((rc = graph_begin(&r->graph, e)) != 0 ||
	    (rc = graph_add(&r->graph, folder, 0, e)) != 0 ||
	    (rc = graph_connect(&r->graph, take_message, r, e)) != 0) {
		close_reading(r);
		return rc;
	}
	*ret = r;
	return 0;
}

static int
read_more(struct ctf_reading *r, struct err *e)
{
	uint32_t bad;

	r->e = e;
	return graph_more(&r->graph, &bad, e);
}

static int64_t
wall_offset(const struct ctf_reading *r)
{
	return r->wall_ns;
}

const struct ctf_door ctf_door_babeltrace = { open_reading, read_more, wall_offset, close_reading };
