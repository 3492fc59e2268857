/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Jaeger's JSON, as its query service and its user interface export it:
 *
 *	{ "data": [ { "traceID": "..", "spans": [ { "traceID", "spanID", "operationName",
 *"references": [ { "refType", "traceID", "spanID" } ], "startTime": us, "duration": us, "tags": [ {
 *"key", "value" } ], "processID": "p1" } ], "processes": { "p1": { "serviceName": "..", "tags": [
 *.. ] } } } ] }
 *
 * A document may also be a trace or an array of traces. Keys have any order, so the spans of a trace
 * are kept until its object ends, and its texts are held in the input. A trace whose JSON is over
 * INPUT_WINDOW_MAX_BYTES is counted as oversize and skipped.
 */
#define _GNU_SOURCE
#include <stdlib.h>

#include "base/array.h"
#include "base/hash.h"
#include "base/hash_table.h"
#include "formats/json.h"

enum { ATTRIBUTES_MAX = 64 };

struct jaeger_span { /* a span, kept until the end of its trace */
	struct span span;
	struct text_view process;
	uint32_t first; /* index of its attributes */
};

struct jaeger_process {
	struct text_view id, service, node;
};

struct jaeger {
	struct reading *r;
	struct json j;
	struct err *e;
	struct text_view trace;
	struct jaeger_span *spans;
	struct attribute *attributes;
	struct jaeger_process *processes;
	uint32_t nspans, nattributes, nprocesses;
	uint32_t spans_cap, attributes_cap, processes_cap;
	struct hash_table by_id; /* processes of this trace */
	uint64_t seed;
	bool has_spans, lossy;
};

static int
no_memory(struct jaeger *g)
{
	return err_set(g->e, ERR_MEMORY, "no memory for the spans of a trace");
}

/* ---- tags ---- */

/* Whether the tag "error" has a value that means failure: true, a number other than 0, or a text
 * other than "" and "false". */
static bool
says_error(const struct value *v)
{
	switch (v->type) {
	case VALUE_TEXT:
		return v->len > 0 && !(v->len == 5 && memcmp(v->text, "false", 5) == 0);
	case VALUE_INT:
	case VALUE_UINT:
		return v->u != 0;
	default:
		return false;
	}
}

static inline bool
value_is(const struct value *v, const char *text)
{
	return v->type == VALUE_TEXT && v->len == strlen(text) &&
	       memcmp(v->text, text, v->len) == 0;
}

static enum span_kind
kind_of(const struct value *v)
{
	static const char *const words[SPAN_KINDS] = { "", "internal", "server", "client",
		"producer", "consumer" };

	for (int i = SPAN_KIND_INTERNAL; i < SPAN_KINDS; i++)
		if (value_is(v, words[i]))
			return (enum span_kind)i;
	return SPAN_KIND_NONE;
}

/* { "key", "type", "value" } */
static bool
take_tag(struct json *j, struct text_view *key, struct value *v)
{
	struct text_view name;
	bool has_key = false, has_value = false;

	if (!json_enter_object(j))
		return false;
	while (json_key(j, &name))
		if (text_is(name, "key"))
			has_key |= json_text(j, key);
		else if (text_is(name, "value"))
			has_value |= json_value(j, v);
	return has_key && has_value && j->code == 0;
}

static int
take_tags(struct jaeger *g, struct jaeger_span *w)
{
	struct text_view key;
	struct value v;

	if (!json_enter_array(&g->j))
		return 0;
	while (json_element(&g->j)) {
		if (!take_tag(&g->j, &key, &v))
			continue;
		if (text_is(key, "error")) {
			w->span.failed |= says_error(&v);
		} else if (text_is(key, "otel.status_code")) {
			w->span.failed |= value_is(&v, "ERROR");
		} else if (text_is(key, "span.kind")) {
			w->span.kind = (uint8_t)kind_of(&v);
			w->span.follows |= w->span.kind == SPAN_KIND_CONSUMER;
		} else if (g->nattributes - w->first < ATTRIBUTES_MAX && v.type != VALUE_NONE) {
			if (!array_reserve(g->attributes, g->attributes_cap, g->nattributes + 1))
				return no_memory(g);
			g->attributes[g->nattributes++] = (struct attribute){ key.s, key.len, v };
		}
	}
	return 0;
}

/* ---- spans ---- */

/* Uses the first reference to a span of this trace, CHILD_OF before FOLLOWS_FROM. */
static void
take_references(struct jaeger *g, struct span *s, struct text_view own_trace)
{
	struct json *j = &g->j;

	if (!json_enter_array(j))
		return;
	while (json_element(j)) {
		struct text_view key, type = { "", 0 }, trace = own_trace, id = { "", 0 };
		bool follows;

		if (!json_enter_object(j))
			continue;
		while (json_key(j, &key))
			if (text_is(key, "spanID"))
				json_text(j, &id);
			else if (text_is(key, "traceID"))
				json_text(j, &trace);
			else if (text_is(key, "refType"))
				json_text(j, &type);
		follows = text_is(type, "FOLLOWS_FROM");
		if (id.len == 0 || (s->has_parent && (follows || !s->follows)) ||
		    (own_trace.len > 0 && (trace.len != own_trace.len ||
					      memcmp(trace.s, own_trace.s, trace.len) != 0)))
			continue;
		s->parent = span_id_of(id.s, id.len);
		s->has_parent = true;
		s->follows = follows;
	}
}

/* Microseconds to nanoseconds; on overflow the extreme value, which reading_span() rejects. */
static int64_t
from_us(int64_t us)
{
	int64_t ns;

	if (!__builtin_mul_overflow(us, 1000, &ns))
		return ns;
	return us < 0 ? INT64_MIN : INT64_MAX;
}

static void
finish_span(struct jaeger *g, struct jaeger_span *w, int64_t begin_us, int64_t duration_us,
    bool has_begin, bool has_duration)
{
	struct span *s = &w->span;
	int64_t duration_ns = from_us(duration_us);

	if (s->id == 0) {
		reading_skip_at(
		    g->r, SKIP_INCOMPLETE, reading_origin(g->r, s), "a span without an id");
		g->nattributes = w->first;
		g->lossy = true;
		return;
	}
	s->no_begin = !has_begin;
	s->no_end = !has_begin || !has_duration;
	s->begin_ns = from_us(begin_us);
	if (__builtin_add_overflow(s->begin_ns, duration_ns, &s->end_ns))
		s->end_ns = INT64_MAX;
	s->nattributes = g->nattributes - w->first;
	g->nspans++;
}

static int
take_span(struct jaeger *g)
{
	struct json *j = &g->j;
	struct jaeger_span *w;
	struct text_view key, id, own = g->trace;
	int64_t begin_us = 0, duration_us = 0;
	bool has_begin = false, has_duration = false, consumer;
	int rc = 0;

	if (!array_reserve(g->spans, g->spans_cap, g->nspans + 1))
		return no_memory(g);
	w = &g->spans[g->nspans];
	*w = (struct jaeger_span){
		.span.offset = input_offset(j->in), .process = { "", 0 }, .first = g->nattributes
	};
	if (!json_enter_object(j)) {
		if (j->code == 0)
			reading_skip(
			    g->r, SKIP_MALFORMED, j->in, "a span that is not a JSON object");
		return 0;
	}
	while (rc == 0 && json_key(j, &key)) {
		if (text_is(key, "spanID")) {
			if (json_text(j, &id))
				w->span.id = span_id_of(id.s, id.len);
		} else if (text_is(key, "operationName")) {
			json_text(j, &w->span.name);
		} else if (text_is(key, "references")) {
			consumer = w->span.follows;
			w->span.follows = false;
			take_references(g, &w->span, own);
			w->span.follows |= consumer;
		} else if (text_is(key, "startTime")) {
			has_begin = json_int(j, &begin_us);
		} else if (text_is(key, "duration")) {
			has_duration = json_int(j, &duration_us);
		} else if (text_is(key, "processID")) {
			json_text(j, &w->process);
		} else if (text_is(key, "tags")) {
			rc = take_tags(g, w);
		} else if (text_is(key, "traceID")) {
			json_text(j, &own);
		}
	}
	if (rc != 0 || j->code != 0) {
		g->nattributes = w->first;
		return rc;
	}
	if (g->trace.len == 0)
		g->trace = own;
	finish_span(g, w, begin_us, duration_us, has_begin, has_duration);
	return 0;
}

/* Takes all elements of an array. After a failure `go_on` returns 1 if the array can be read on. */
static int
for_all(
    struct jaeger *g, int (*take)(struct jaeger *g), int (*go_on)(struct jaeger *g, uint32_t depth))
{
	uint32_t depth;
	int rc = 0;

	if (!json_enter_array(&g->j))
		return 0;
	depth = g->j.depth;
	do {
		while (rc >= 0 && json_element(&g->j))
			rc = take(g);
	} while (rc >= 0 && (rc = go_on(g, depth)) > 0);
	return rc;
}

/* After a failure in a span. An oversize value ends the array. */
static int
behind_span(struct jaeger *g, uint32_t depth)
{
	if (g->j.code == 0 || g->j.code == ERR_FULL)
		return 0;
	g->lossy = true;
	return json_trouble(&g->j, g->r, depth, g->e);
}

/* ---- processes ---- */

static struct jaeger_process *
process_of(const struct jaeger *g, struct text_view id)
{
	const struct hash_slot *s = hash_table_first(&g->by_id, hash_bytes(g->seed, id.s, id.len));

	for (; s != NULL; s = hash_table_next(&g->by_id, s)) {
		struct jaeger_process *p = &g->processes[s->entry];

		if (p->id.len == id.len && memcmp(p->id.s, id.s, id.len) == 0)
			return p;
	}
	return NULL;
}

/* The process of this id, without values; NULL: out of memory. */
static struct jaeger_process *
claim_process(struct jaeger *g, struct text_view id)
{
	struct jaeger_process *p = process_of(g, id);

	if (p == NULL) {
		if (!array_reserve(g->processes, g->processes_cap, g->nprocesses + 1) ||
		    !hash_table_put(&g->by_id, hash_bytes(g->seed, id.s, id.len), g->nprocesses))
			return NULL;
		p = &g->processes[g->nprocesses++];
	}
	*p = (struct jaeger_process){ .id = id };
	return p;
}

/* The node: the tag hostname, else ip or host.name. */
static void
take_process_tags(struct json *j, struct jaeger_process *p)
{
	struct text_view key;
	struct value v;

	if (!json_enter_array(j))
		return;
	while (json_element(j))
		if (take_tag(j, &key, &v) && v.type == VALUE_TEXT &&
		    (text_is(key, "hostname") ||
			(p->node.len == 0 && (text_is(key, "ip") || text_is(key, "host.name")))))
			p->node = (struct text_view){ v.text, v.len };
}

static int
take_processes(struct jaeger *g)
{
	struct json *j = &g->j;
	struct text_view id, key;

	if (!json_enter_object(j))
		return 0;
	while (json_key(j, &id)) {
		struct jaeger_process *p = claim_process(g, id);

		if (p == NULL)
			return no_memory(g);
		if (!json_enter_object(j))
			continue;
		while (json_key(j, &key))
			if (text_is(key, "serviceName"))
				json_text(j, &p->service);
			else if (text_is(key, "tags"))
				take_process_tags(j, p);
	}
	return 0;
}

/* ---- traces ---- */

static void
begin_trace(struct jaeger *g)
{
	json_release(&g->j);
	json_hold(&g->j);
	g->trace = (struct text_view){ "", 0 };
	g->nspans = g->nattributes = g->nprocesses = 0;
	g->has_spans = g->lossy = false;
	hash_table_clear(&g->by_id);
}

/* The object of the trace has ended: passes on its spans. */
static int
end_trace(struct jaeger *g)
{
	struct trace_id id = trace_id_of(g->trace.s, g->trace.len);
	int rc = 0;

	for (uint32_t i = 0; i < g->nspans && rc == 0; i++) {
		struct jaeger_span *w = &g->spans[i];
		const struct jaeger_process *p = process_of(g, w->process);

		w->span.trace = id;
		w->span.attributes = w->span.nattributes > 0 ? &g->attributes[w->first] : NULL;
		if (p != NULL) {
			w->span.service = p->service;
			w->span.node = p->node;
		}
		rc = reading_span(g->r, &w->span, g->e);
	}
	if (rc == 0 && g->lossy)
		reading_lossy(g->r, id);
	if (rc == 0)
		rc = reading_complete(g->r, id, g->e);
	g->nspans = 0;
	return rc;
}

/* Takes the value of a key of a trace. False: another key. */
static bool
trace_key(struct jaeger *g, struct text_view key, int *rc)
{
	struct text_view t;

	if (text_is(key, "traceID")) {
		if (json_text(&g->j, &t))
			g->trace = t;
	} else if (text_is(key, "spans")) {
		g->has_spans = true;
		*rc = for_all(g, take_span, behind_span);
	} else if (text_is(key, "processes")) {
		*rc = take_processes(g);
	} else {
		return false;
	}
	return true;
}

static int
take_trace(struct jaeger *g)
{
	struct text_view key;
	int rc = 0;

	begin_trace(g);
	if (!json_enter_object(&g->j)) {
		if (g->j.code == 0)
			reading_skip(
			    g->r, SKIP_MALFORMED, g->j.in, "a trace that is not a JSON object");
		return 0;
	}
	while (rc == 0 && json_key(&g->j, &key))
		trace_key(g, key, &rc);
	if (rc == 0 && g->j.code == 0 && !g->j.lost && !g->has_spans)
		reading_skip(g->r, SKIP_MALFORMED, g->j.in, "a trace without spans");
	/* A trace that was cut off is discarded, because it is not known what is missing. */
	if (rc == 0 && g->j.code == 0 && !g->j.lost)
		rc = end_trace(g);
	return rc;
}

static int
behind_trace(struct jaeger *g, uint32_t depth)
{
	json_release(&g->j);
	return g->j.code != 0 ? json_trouble(&g->j, g->r, depth, g->e) : 0;
}

/* An object that has "data", or is a trace. */
static int
take_object(struct jaeger *g)
{
	bool any = false;
	struct text_view key;
	int rc = 0;

	begin_trace(g);
	if (!json_enter_object(&g->j))
		return 0;
	while (rc == 0 && json_key(&g->j, &key)) {
		if (!text_is(key, "data")) {
			trace_key(g, key, &rc);
			continue;
		}
		any = true;
		g->nspans = 0;
		rc = for_all(g, take_trace, behind_trace);
		if (rc == 0)
			begin_trace(g);
	}
	if (rc == 0 && g->j.code == 0 && !g->j.lost && !any && !g->has_spans)
		reading_skip(
		    g->r, SKIP_MALFORMED, g->j.in, "an object with neither data nor spans");
	return rc == 0 && g->j.code == 0 && !g->j.lost && g->nspans > 0 ? end_trace(g) : rc;
}

static int
take_document(struct jaeger *g, enum json_kind kind)
{
	int rc;

	if (kind == JSON_OBJECT) {
		rc = take_object(g);
	} else if (kind == JSON_ARRAY) {
		rc = for_all(g, take_trace, behind_trace);
	} else {
		json_skip(&g->j);
		reading_skip(g->r, SKIP_MALFORMED, g->j.in,
		    "a JSON value that is neither a trace nor an array of traces");
		rc = 0;
	}
	json_release(&g->j);
	return rc < 0 ? rc : json_trouble(&g->j, g->r, 0, g->e);
}

static int
jaeger_read(struct reading *r, struct input *in, struct err *e)
{
	struct jaeger g = { .r = r, .e = e, .seed = hash_seed() };
	enum json_kind kind;
	int rc = 0;

	json_begin(&g.j, in);
	for (;;) {
		kind = json_next(&g.j);
		if (kind == JSON_OVER && g.j.code == 0)
			break;
		if ((rc = kind != JSON_OVER ? take_document(&g, kind)
		                            : json_trouble(&g.j, r, 0, e)) < 0)
			break;
	}
	json_end(&g.j);
	free(g.spans);
	free(g.attributes);
	free(g.processes);
	hash_table_release(&g.by_id);
	return rc < 0 ? rc : 0;
}

static int
jaeger_sniff(const char *head, size_t len)
{
	const char *at = head;

#define HAS(word) (memmem(head, len, "\"" word "\"", sizeof word + 1) != NULL)
	while (at < head + len && memchr(" \t\r\n\xef\xbb\xbf", *at, 7) != NULL)
		at++;
	if (at == head + len || (*at != '{' && *at != '['))
		return 0;
	if (HAS("traceID") && HAS("spanID") && HAS("operationName"))
		return 95;
	if (HAS("traceID") && HAS("processes"))
		return 80;
	return HAS("traceID") || (HAS("data") && HAS("errors")) ? 30 : 0;
#undef HAS
}

const struct format format_jaeger = {
	.name = "jaeger",
	.what = "Jaeger's JSON",
	.resolution_ns = 1000,
	.sniff = jaeger_sniff,
	.read = jaeger_read,
};
