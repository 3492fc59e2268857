/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/export/exported.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

/* ---- members; missing ones, and those of other types, are empty ---- */

static double
real(const json_t *o, const char *key)
{
	return json_number_value(json_object_get(o, key));
}

static int64_t
whole(const json_t *o, const char *key)
{
	return json_integer_value(json_object_get(o, key));
}

static const char *
text(const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	return s != NULL ? s : "";
}

static struct text_view
copy(struct arena *a, const char *s)
{
	size_t len = strlen(s);
	char *own = arena_text(a, s, len);

	return (struct text_view){ own, own != NULL ? (uint32_t)len : 0 };
}

/* ---- attributes ---- */

struct adding {
	struct exported *x;
	struct attribute *list;
	uint32_t n;
};

static void
add(struct adding *to, const char *key, struct value v)
{
	struct text_view own;

	if (to->n == EXPORTED_ATTRIBUTES_MAX) {
		to->x->left_off++;
		return;
	}
	own = copy(&to->x->arena, key);
	if (own.s != NULL)
		to->list[to->n++] = (struct attribute){ own.s, own.len, v };
}

static void
add_text(struct adding *to, const char *key, const char *s)
{
	struct text_view own;

	if (s[0] == '\0')
		return;
	own = copy(&to->x->arena, s);
	add(to, key, (struct value){ .type = VALUE_TEXT, .len = own.len, .text = own.s });
}

/* A whole number stays one: 0 and 1 are truth values only as VALUE_UINT. */
static void
add_json(struct adding *to, const char *key, const json_t *v)
{
	if (json_is_string(v))
		add_text(to, key, json_string_value(v));
	else if (json_is_integer(v))
		add(to, key, (struct value){ .type = VALUE_INT, .i = json_integer_value(v) });
	else if (json_is_real(v))
		add(to, key, (struct value){ .type = VALUE_REAL, .d = json_real_value(v) });
	else if (json_is_boolean(v))
		add(to, key, (struct value){ .type = VALUE_UINT, .u = json_is_true(v) });
}

/* Of the member; real also if it is a whole number. */
static void
add_real(struct adding *to, const char *key, const json_t *o, const char *member)
{
	if (json_is_number(json_object_get(o, member)))
		add(to, key, (struct value){ .type = VALUE_REAL, .d = real(o, member) });
}

static void
add_edge(struct adding *to, const char *key, const json_t *o)
{
	char edge[2 * LABEL_TEXT_MAX + 8];

	if (text(o, "from")[0] == '\0')
		return;
	snprintf(edge, sizeof edge, "%s -> %s", text(o, "from"), text(o, "to"));
	add_text(to, key, edge);
}

static void
add_fields(struct adding *to, const json_t *fields)
{
	const char *key;
	json_t *v;

	json_object_foreach ((json_t *)(uintptr_t)fields, key, v)
		if (strcmp(key, "failed") != 0) /* the status of the span */
			add_json(to, key, v);
}

/* The unit in which the request began: not always the first one. */
static json_int_t
root_of(const json_t *request)
{
	return whole(request, "root");
}

/* What is known of the whole request stands in the unit in which it began. */
static void
add_request(struct adding *to, const json_t *request)
{
	const json_t *group = json_object_get(request, "group"),
		     *verdict = json_object_get(request, "verdict");

	add_text(to, "hone.request", text(request, "type"));
	if (json_is_true(json_object_get(request, "lossy")))
		add_json(to, "hone.lossy", json_object_get(request, "lossy"));
	add_text(to, "hone.incomplete", text(request, "incomplete"));
	if (json_is_object(group)) {
		add_text(to, "hone.group", text(group, "group"));
		add_json(to, "hone.group.count", json_object_get(group, "count"));
		add_real(to, "hone.group.usual_ms", group, "usual_ms");
		add_real(to, "hone.group.cv", group, "cv");
		add_text(to, "hone.group.problem", text(group, "problem"));
		add_edge(to, "hone.group.edge", group);
		add_real(to, "hone.group.share", group, "share");
	}
	if (json_is_object(verdict)) {
		add_text(to, "hone.verdict", text(verdict, "kind"));
		add_edge(to, "hone.verdict.edge", verdict);
		add_text(to, "hone.verdict.tracepoint", text(verdict, "tracepoint"));
		add_real(to, "hone.verdict.share", verdict, "share");
		add_json(to, "hone.verdict.run", json_object_get(verdict, "run"));
		add_json(to, "hone.verdict.in_group", json_object_get(verdict, "in_group"));
	}
}

static void
add_unit(struct adding *to, const json_t *unit)
{
	add_json(to, "hone.critical_path", json_object_get(unit, "critical"));
	add_real(to, "hone.path_ms", unit, "path_ms");
	add_real(to, "hone.edges_ms", unit, "edges_ms");
	add_real(to, "hone.usual_ms", unit, "usual_ms");
	add_real(to, "hone.share", unit, "share");
	if (whole(unit, "pid") > 0) { /* of spans of files, neither is known */
		add_json(to, "process.pid", json_object_get(unit, "pid"));
		add_json(to, "thread.id", json_object_get(unit, "tid"));
	}
	add_fields(to, json_object_get(unit, "fields"));
}

static struct adding
begin_attributes(struct exported *x, uint32_t max)
{
	return (struct adding){ .x = x,
		.list = arena_calloc(&x->arena, max > 0 ? max : 1, sizeof(struct attribute)) };
}

/* ---- units ---- */

static bool
set_events(struct exported *x, struct span *s, const json_t *records)
{
	size_t n = json_array_size(records);
	struct span_event *events = arena_calloc(&x->arena, n + 1, sizeof *events);

	if (events == NULL)
		return false;
	for (size_t i = 0; i < n; i++) {
		const json_t *r = json_array_get(records, i),
			     *fields = json_object_get(r, "fields");
		size_t nfields = json_object_size(fields);
		struct adding to = begin_attributes(x, nfields < EXPORTED_ATTRIBUTES_MAX
							   ? (uint32_t)nfields
							   : (uint32_t)EXPORTED_ATTRIBUTES_MAX);

		if (to.list == NULL)
			return false;
		add_fields(&to, fields);
		events[i] = (struct span_event){ .time_ns = x->begin_ns + whole(r, "at_ns"),
			.name = copy(&x->arena, text(r, "record")),
			.nattributes = to.n,
			.attributes = to.list };
		if (s->end_ns < events[i].time_ns && s->no_end)
			s->end_ns = events[i].time_ns;
	}
	s->events = events;
	s->nevents = (uint32_t)n;
	return true;
}

/* Ids may be 0, or be the same in two units of malformed traces: then they follow from the place. */
static uint64_t
id_of(const struct exported *x, const json_t *unit, uint32_t i)
{
	uint64_t id = strtoull(text(unit, "unit"), NULL, 16);

	return id != 0 ? id : hash_u64(x->trace.low ^ hash_u64(i + 1)) | 1;
}

/* A unit of another service than its parent's serves it, and so does the first one. */
static enum span_kind
kind_of(const struct exported *x, const struct exported_unit *u)
{
	const struct exported_unit *parent = u->parent != EXPORTED_NONE ? &x->units[u->parent]
	                                                                : NULL;

	if (u->span.follows)
		return SPAN_KIND_CONSUMER;
	if (parent == NULL || parent->span.service.len != u->span.service.len ||
	    memcmp(parent->span.service.s, u->span.service.s, u->span.service.len) != 0)
		return SPAN_KIND_SERVER;
	return SPAN_KIND_INTERNAL;
}

static bool
is_true_field(const json_t *unit, const char *key)
{
	const json_t *v = json_object_get(json_object_get(unit, "fields"), key);

	return json_is_true(v) || (json_is_integer(v) && json_integer_value(v) != 0);
}

static int
take_unit(struct exported *x, const json_t *request, const json_t *unit, uint32_t i, struct err *e)
{
	struct exported_unit *u = &x->units[i];
	const json_t *parent = json_object_get(unit, "parent"),
		     *end = json_object_get(unit, "end_ns");
	struct adding to = begin_attributes(x, EXPORTED_ATTRIBUTES_MAX);
	struct span *s = &u->span;

	if (!json_is_object(unit) || !json_is_integer(json_object_get(unit, "begin_ns")))
		return err_set(e, ERR_INPUT, "unit %u of the request is malformed", i);
	u->parent = EXPORTED_NONE;
	if (json_is_integer(parent) && json_integer_value(parent) >= 0 &&
	    json_integer_value(parent) < (json_int_t)x->n && json_integer_value(parent) != i)
		u->parent = (uint32_t)json_integer_value(parent);
	u->path_ns = (int64_t)(real(unit, "path_ms") * 1e6 + 0.5);
	*s = (struct span){ .trace = x->trace,
		.id = id_of(x, unit, i),
		.has_parent = u->parent != EXPORTED_NONE,
		.follows = u->parent != EXPORTED_NONE &&
		           !json_is_true(json_object_get(unit, "joined")),
		.failed = is_true_field(unit, "failed"),
		.service = copy(&x->arena, text(unit, "service")),
		.name = copy(&x->arena, text(unit, "name")),
		.node = copy(&x->arena, text(unit, "node")),
		.begin_ns = x->begin_ns + whole(unit, "begin_ns"),
		.no_end = !json_is_integer(end) };
	s->end_ns = s->no_end ? s->begin_ns : x->begin_ns + json_integer_value(end);
	if (to.list == NULL || !set_events(x, s, json_object_get(unit, "records")))
		return err_set(e, ERR_MEMORY, "out of memory");
	if (s->end_ns < s->begin_ns)
		s->end_ns = s->begin_ns;
	s->no_end = false;
	if (i == root_of(request))
		add_request(&to, request);
	add_unit(&to, unit);
	s->attributes = to.list;
	s->nattributes = to.n;
	return 0;
}

static struct trace_id
id_of_text(const char *s)
{
	return trace_id_of(s, strlen(s));
}

int
exported_of(struct exported *ret, const json_t *request, struct err *e)
{
	const json_t *units = json_object_get(request, "units");
	int rc = 0;

	*ret = (struct exported){ .trace = id_of_text(text(request, "trace")),
		.begin_ns = whole(request, "begin_ns"),
		.n = (uint32_t)json_array_size(units) };
	ret->end_ns = ret->begin_ns + (int64_t)(real(request, "total_ms") * 1e6 + 0.5);
	if (!json_is_array(units) || !json_is_integer(json_object_get(request, "begin_ns")) ||
	    (ret->trace.low == 0 && ret->trace.high == 0))
		return err_set(e, ERR_INPUT, "it is no request: id, begin or units are missing");
	ret->type = copy(&ret->arena, text(request, "type"));
	ret->units = arena_calloc(&ret->arena, ret->n + 1, sizeof *ret->units);
	if (ret->units == NULL || ret->type.s == NULL)
		return err_set(e, ERR_MEMORY, "out of memory");
	for (uint32_t i = 0; i < ret->n && rc == 0; i++)
		rc = take_unit(ret, request, json_array_get(units, i), i, e);
	for (uint32_t i = 0; i < ret->n && rc == 0; i++) {
		struct exported_unit *u = &ret->units[i];

		u->span.parent = u->parent != EXPORTED_NONE ? ret->units[u->parent].span.id : 0;
		u->span.kind = (uint8_t)kind_of(ret, u);
	}
	return rc;
}

void
exported_release(struct exported *x)
{
	arena_release(&x->arena);
	x->units = NULL;
	x->n = 0;
}
