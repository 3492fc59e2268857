/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * OTLP in JSON, one document or one on each line (the collector's file exporter):
 *
 *	{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"cart"}}]},
 *	  "scopeSpans":[{"spans":[{"traceId":"5b8e...","spanId":"eee1...","parentSpanId":"","name":"get",
 *	    "startTimeUnixNano":"1544712660000000000","endTimeUnixNano":"...","status":{"code":2},"attributes":[..]}]}]}]}
 *
 * Names may also be those of the protocol's definition (trace_id), which protobuf's mapping to
 * JSON allows. Ids are hexadecimal (OTLP's own rule); base64 is taken too, which writers make that follow
 * protobuf's. Older files have instrumentationLibrarySpans, and Tempo says batches for resourceSpans.
 *
 * The members of an object have any order. Spans that precede their resource are kept until it is
 * known; without a resource their service is unknown.
 */
#define _GNU_SOURCE
#include <stdlib.h>

#include "formats/otlp.h"

enum { WAITING_MAX_BYTES = 16 << 20 }; /* spans beyond this do not wait for their resource */

struct waiting_span {
	struct otlp_span span;
	struct text_view scope; /* in the resource's arena */
	struct waiting_span *next;
};

struct otlp_json {
	struct reading *r;
	struct input *in;
	struct json j;
	struct otlp_resource resource;
	bool has_resource;
	/* spans that precede their resource, in `arena` */
	struct waiting_span *waiting, **waiting_end;
	struct arena arena;
	struct otlp_span span; /* at hand, with */
	struct attribute attributes[OTLP_ATTRIBUTES_MAX];
	struct otlp_extras extras;
};

static bool
is_either(struct text_view key, const char *camel, const char *snake)
{
	size_t len = strlen(camel);

	if (key.len == len && memcmp(key.s, camel, len) == 0)
		return true;
	return key.len == strlen(snake) && memcmp(key.s, snake, key.len) == 0;
}

/* ---- ids ---- */

static int
hex_digit(char c)
{
	int low = c | 0x20;

	return c >= '0' && c <= '9' ? c - '0' : low >= 'a' && low <= 'f' ? low - 'a' + 10 : -1;
}

static int
base64_digit(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' || c == '-' ? 62 : c == '/' || c == '_' ? 63 : -1;
}

/* Digits of `bits` bits each, as many as give n bytes. */
static bool
unpack(uint8_t *to, uint32_t n, const char *s, int (*digit)(char), unsigned bits)
{
	unsigned pending = 0, have = 0;

	for (uint32_t i = 0; i < n; s++) {
		int v = digit(*s);

		if (v < 0)
			return false;
		pending = pending << bits | (unsigned)v;
		have += bits;
		if (have >= 8) {
			have -= 8;
			to[i++] = (uint8_t)(pending >> have);
		}
	}
	return true;
}

/* Takes an id of at most n bytes; returns its length. An invalid id has length 0; *bad: it is not just empty. */
static uint32_t
take_id(struct json *j, uint8_t *to, uint32_t n, bool *bad)
{
	struct text_view t;
	uint32_t bytes;

	*bad = false;
	if (!json_text(j, &t) || t.len == 0)
		return 0;
	if (t.len <= 2 * n && t.len % 2 == 0 && unpack(to, t.len / 2, t.s, hex_digit, 4))
		return t.len / 2;
	while (t.len > 0 && t.s[t.len - 1] == '=')
		t.len--;
	bytes = t.len * 3 / 4;
	*bad = bytes != n || !unpack(to, n, t.s, base64_digit, 6);
	return *bad ? 0 : n;
}

/* ---- attributes ---- */

/* {"stringValue":"..."}, {"intValue":"1"}...; objects and lists are left out. */
static void
read_any_value(struct json *j, struct value *v)
{
	struct text_view key, t;
	bool truth;

	if (!json_enter_object(j))
		return;
	while (json_key(j, &key)) {
		if (is_either(key, "stringValue", "string_value") && json_text(j, &t))
			*v = (struct value){ .type = VALUE_TEXT,
				.len = t.len < VALUE_TEXT_MAX ? t.len : VALUE_TEXT_MAX,
				.text = t.s };
		else if (is_either(key, "intValue", "int_value") && json_int(j, &v->i))
			v->type = VALUE_INT;
		else if (is_either(key, "doubleValue", "double_value") && json_double(j, &v->d))
			v->type = VALUE_REAL;
		else if (is_either(key, "boolValue", "bool_value") && json_bool(j, &truth))
			*v = (struct value){ .type = VALUE_UINT, .u = truth };
	}
}

/* Reads at most `max` attributes with a value; returns their number. */
static uint32_t
read_attributes(struct json *j, struct attribute *to, uint32_t max)
{
	uint32_t n = 0;
	struct text_view key, name;

	if (!json_enter_array(j))
		return 0;
	while (json_element(j)) {
		struct value v = { .type = VALUE_NONE };

		name.len = 0;
		if (!json_enter_object(j))
			continue;
		while (json_key(j, &key)) {
			if (text_is(key, "key"))
				json_text(j, &name);
			else if (text_is(key, "value"))
				read_any_value(j, &v);
		}
		if (n < max && name.len > 0 && v.type != VALUE_NONE)
			to[n++] = (struct attribute){ name.s, name.len, v };
	}
	return n;
}

static int
read_resource(struct otlp_json *x, struct err *e)
{
	struct attribute attributes[OTLP_ATTRIBUTES_MAX];
	struct json *j = &x->j;
	struct text_view key;
	uint32_t n = 0;
	int rc = 0;

	json_hold(j);
	if (json_enter_object(j))
		while (json_key(j, &key))
			if (text_is(key, "attributes"))
				n = read_attributes(j, attributes, OTLP_ATTRIBUTES_MAX);
	for (uint32_t i = 0; i < n && rc == 0; i++)
		rc = otlp_resource_attribute(&x->resource,
		    (struct text_view){ attributes[i].key, attributes[i].key_len },
		    &attributes[i].value, e);
	json_release(j);
	x->has_resource = true;
	return rc;
}

/* ---- spans ---- */

/* Whether the value is this constant, written as its number or its name. */
static bool
read_enum(struct json *j, const char *name, int64_t number)
{
	int64_t n = 0;
	struct text_view t;

	if (json_next(j) != JSON_TEXT)
		return json_int(j, &n) && n == number;
	return json_text(j, &t) && ((t.len == strlen(name) && memcmp(t.s, name, t.len) == 0) ||
				       (json_number_int(t.s, t.len, &n) && n == number));
}

/* A kind is written as its number or its name. One that is not known is SPAN_KIND_NONE. */
static enum span_kind
read_kind(struct json *j)
{
	static const char *const names[SPAN_KINDS] = { "SPAN_KIND_UNSPECIFIED",
		"SPAN_KIND_INTERNAL", "SPAN_KIND_SERVER", "SPAN_KIND_CLIENT", "SPAN_KIND_PRODUCER",
		"SPAN_KIND_CONSUMER" };
	int64_t n = 0;
	struct text_view t;

	if (json_next(j) != JSON_TEXT) {
		json_int(j, &n);
	} else if (json_text(j, &t) && !json_number_int(t.s, t.len, &n)) {
		while (n < SPAN_KINDS &&
		       (t.len != strlen(names[n]) || memcmp(t.s, names[n], t.len) != 0))
			n++;
	}
	return n > 0 && n < SPAN_KINDS ? (enum span_kind)n : SPAN_KIND_NONE;
}

static bool
read_status(struct json *j)
{
	bool failed = false;
	struct text_view key;

	if (!json_enter_object(j))
		return false;
	while (json_key(j, &key))
		if (text_is(key, "code"))
			failed = read_enum(j, "STATUS_CODE_ERROR", OTLP_STATUS_ERROR);
	return failed;
}

static void
read_event(struct json *j, struct otlp_extras *x)
{
	struct span_event *e = otlp_extras_event(x);
	struct text_view key;

	if (e == NULL || !json_enter_object(j))
		return;
	while (json_key(j, &key)) {
		if (is_either(key, "timeUnixNano", "time_unix_nano"))
			json_int(j, &e->time_ns);
		else if (text_is(key, "name"))
			json_text(j, &e->name);
		else if (text_is(key, "attributes") && e->nattributes == 0)
			e->nattributes = read_attributes(j, &x->attributes[x->nattributes],
			    OTLP_EVENT_ATTRIBUTES_MAX - x->nattributes);
	}
	x->nattributes += e->nattributes;
}

static void
read_link(struct json *j, struct otlp_extras *x)
{
	uint8_t trace[16] = { 0 }, id[8] = { 0 };
	uint32_t trace_len = 0, id_len = 0;
	bool bad;
	struct text_view key;

	if (!json_enter_object(j))
		return;
	while (json_key(j, &key)) {
		if (is_either(key, "traceId", "trace_id"))
			trace_len = take_id(j, trace, sizeof trace, &bad);
		else if (is_either(key, "spanId", "span_id"))
			id_len = take_id(j, id, sizeof id, &bad);
	}
	otlp_extras_link(x, trace, trace_len, id, id_len);
}

/* Events or links. */
static void
read_extras(
    struct json *j, struct otlp_extras *x, void (*read)(struct json *j, struct otlp_extras *x))
{
	if (x == NULL || !json_enter_array(j))
		return;
	while (json_element(j))
		read(j, x);
}

static void
read_span(struct json *j, struct otlp_span *s)
{
	struct text_view key;
	bool bad;

	s->span = (struct span){ .offset = input_offset(j->in) - 1 }; /* of the bracket */
	s->trace_len = s->id_len = s->parent_len = s->nattributes = 0;
	s->bad_parent = false;
	if (s->extras != NULL)
		s->extras->nevents = s->extras->nattributes = s->extras->nlinks = s->extras
		                                                                      ->links = 0;
	while (json_key(j, &key)) {
		if (is_either(key, "traceId", "trace_id"))
			s->trace_len = take_id(j, s->trace, sizeof s->trace, &bad);
		else if (is_either(key, "spanId", "span_id"))
			s->id_len = take_id(j, s->id, sizeof s->id, &bad);
		else if (is_either(key, "parentSpanId", "parent_span_id"))
			s->parent_len = take_id(j, s->parent, sizeof s->parent, &s->bad_parent);
		else if (text_is(key, "name"))
			json_text(j, &s->span.name);
		else if (is_either(key, "startTimeUnixNano", "start_time_unix_nano"))
			json_int(j, &s->span.begin_ns);
		else if (is_either(key, "endTimeUnixNano", "end_time_unix_nano"))
			json_int(j, &s->span.end_ns);
		else if (text_is(key, "kind"))
			s->span.kind = (uint8_t)read_kind(j);
		else if (is_either(key, "traceState", "trace_state"))
			json_text(j, &s->span.state);
		else if (text_is(key, "attributes"))
			s->nattributes = read_attributes(j, s->attributes, OTLP_ATTRIBUTES_MAX);
		else if (text_is(key, "events"))
			read_extras(j, s->extras, read_event);
		else if (text_is(key, "links"))
			read_extras(j, s->extras, read_link);
		else if (text_is(key, "status"))
			s->span.failed = read_status(j);
	}
	s->span.follows = s->span.kind == SPAN_KIND_CONSUMER;
}

static int
hand_on(struct otlp_json *x, struct otlp_span *s, struct err *e)
{
	return otlp_hand_on(x->r, s, &x->resource, e);
}

/* The resource is known or missing: passes on the spans that waited. */
static int
end_waiting(struct otlp_json *x, struct err *e)
{
	int rc = 0;

	for (struct waiting_span *w = x->waiting; w != NULL && rc == 0; w = w->next) {
		x->resource.scope = w->scope;
		rc = hand_on(x, &w->span, e);
	}
	x->waiting = NULL;
	x->waiting_end = &x->waiting;
	arena_reset(&x->arena);
	return rc;
}

static bool
own(struct arena *a, const char **s, size_t len)
{
	return len == 0 || (*s = arena_text(a, *s, len)) != NULL;
}

static bool
own_attributes(struct arena *a, struct attribute *all, uint32_t n)
{
	bool ok = true;

	for (uint32_t i = 0; ok && i < n; i++)
		ok = own(a, &all[i].key, all[i].key_len) &&
		     (all[i].value.type != VALUE_TEXT ||
			 own(a, &all[i].value.text, all[i].value.len));
	return ok;
}

/* A copy of the events and links in the arena; NULL: out of memory. */
static struct otlp_extras *
own_extras(struct arena *a, const struct otlp_extras *from)
{
	struct otlp_extras *x = arena_copy(a, from, sizeof *from);
	bool ok = x != NULL && own_attributes(a, x->attributes, x->nattributes);

	for (uint32_t i = 0; ok && i < x->nevents; i++) {
		x->events[i]
		    .attributes = &x->attributes[from->events[i].attributes - from->attributes];
		ok = own(a, &x->events[i].name.s, x->events[i].name.len);
	}
	return ok ? x : NULL;
}

/* Keeps the span at hand until its resource is known. */
static int
wait_for_resource(struct otlp_json *x, struct err *e)
{
	struct waiting_span *w;
	bool ok;

	if (x->arena.total_bytes > WAITING_MAX_BYTES)
		return hand_on(x, &x->span, e);
	if ((w = arena_alloc(&x->arena, sizeof *w)) == NULL)
		return err_set(e, ERR_MEMORY, "no memory for a span");
	*w = (struct waiting_span){ .span = x->span, .scope = x->resource.scope };
	/* One more than it has: that of its links. */
	w->span.attributes = arena_calloc(
	    &x->arena, x->span.nattributes + 1, sizeof *w->span.attributes);
	ok = w->span.attributes != NULL &&
	     own(&x->arena, &w->span.span.name.s, w->span.span.name.len) &&
	     own(&x->arena, &w->span.span.state.s, w->span.span.state.len);
	if (ok && x->span.nattributes > 0)
		memcpy(
		    w->span.attributes, x->attributes, x->span.nattributes * sizeof *x->attributes);
	ok = ok && own_attributes(&x->arena, w->span.attributes, x->span.nattributes);
	if (ok && x->span.extras != NULL && x->extras.nevents + x->extras.links > 0)
		ok = (w->span.extras = own_extras(&x->arena, &x->extras)) != NULL;
	else
		w->span.extras = NULL;
	if (!ok)
		return err_set(e, ERR_MEMORY, "no memory for a span");
	*x->waiting_end = w;
	x->waiting_end = &w->next;
	return 0;
}

static int
take_span(struct otlp_json *x, struct err *e)
{
	struct json *j = &x->j;
	int rc = 0;

	json_hold(j);
	if (json_enter_object(j)) {
		read_span(j, &x->span);
		if (j->code == 0)
			rc = x->has_resource ? hand_on(x, &x->span, e) : wait_for_resource(x, e);
	} else if (j->code == 0) {
		reading_skip(x->r, SKIP_MALFORMED, x->in, "a span that is not a JSON object");
	}
	json_release(j);
	return rc;
}

/* Takes all elements of an array, also after a malformed one. */
static int
for_all(struct otlp_json *x, int (*take)(struct otlp_json *x, struct err *e), struct err *e)
{
	struct json *j = &x->j;
	uint32_t depth;
	int rc = 0;

	if (!json_enter_array(j))
		return 0;
	depth = j->depth;
	do {
		while (rc >= 0 && json_element(j))
			rc = take(x, e);
	} while (rc >= 0 && j->code != 0 && (rc = json_trouble(j, x->r, depth, e)) > 0);
	return rc < 0 ? rc : 0;
}

/* {"name":"..."}: the name is copied, since it is read before its spans. */
static int
read_scope(struct otlp_json *x, struct err *e)
{
	struct text_view key, name = { 0 };
	char *copy;

	if (!json_enter_object(&x->j))
		return 0;
	json_hold(&x->j);
	while (json_key(&x->j, &key))
		if (text_is(key, "name"))
			json_text(&x->j, &name);
	copy = name.len > 0 ? arena_text(&x->resource.arena, name.s, name.len) : NULL;
	json_release(&x->j);
	if (name.len > 0 && copy == NULL)
		return err_set(e, ERR_MEMORY, "no memory for the name of a scope");
	x->resource.scope = (struct text_view){ copy, name.len };
	return 0;
}

static int
take_scope(struct otlp_json *x, struct err *e)
{
	struct text_view key;
	int rc = 0;

	x->resource.scope = (struct text_view){ 0 };
	if (!json_enter_object(&x->j))
		return 0;
	while (rc == 0 && json_key(&x->j, &key))
		if (text_is(key, "scope") && reading_options(x->r)->span != NULL)
			rc = read_scope(x, e);
		else if (text_is(key, "spans"))
			rc = for_all(x, take_span, e);
	return rc;
}

static int
take_resource_spans(struct otlp_json *x, struct err *e)
{
	struct text_view key;
	int rc = 0, rest;

	otlp_resource_reset(&x->resource);
	x->has_resource = false;
	if (!json_enter_object(&x->j))
		return 0;
	while (rc == 0 && json_key(&x->j, &key)) {
		if (text_is(key, "resource"))
			rc = read_resource(x, e);
		else if (is_either(key, "scopeSpans", "scope_spans") ||
			 is_either(
			     key, "instrumentationLibrarySpans", "instrumentation_library_spans"))
			rc = for_all(x, take_scope, e);
	}
	rest = rc == 0 ? end_waiting(x, e) : 0;
	return rc != 0 ? rc : rest;
}

static int
take_document(struct otlp_json *x, struct err *e)
{
	bool any = false;
	struct text_view key;
	int rc = 0;

	if (!json_enter_object(&x->j))
		return 0;
	while (rc == 0 && json_key(&x->j, &key))
		if (is_either(key, "resourceSpans", "resource_spans") || text_is(key, "batches")) {
			any = true;
			rc = for_all(x, take_resource_spans, e);
		}
	if (!any && x->j.code == 0 && !x->j.lost)
		reading_skip(x->r, SKIP_MALFORMED, x->in, "an object without resourceSpans");
	return rc;
}

static int
read_otlp_json(struct reading *r, struct input *in, struct err *e)
{
	struct otlp_json *x = calloc(1, sizeof *x);
	enum json_kind kind;
	int rc = 0;

	if (x == NULL)
		return err_set(e, ERR_MEMORY, "no memory to read a file");
	x->r = r;
	x->in = in;
	x->span.attributes = x->attributes;
	x->span.extras = reading_options(r)->span != NULL ? &x->extras : NULL;
	x->waiting_end = &x->waiting;
	json_begin(&x->j, in);
	while (rc >= 0 && ((kind = json_next(&x->j)) != JSON_OVER || x->j.code != 0)) {
		rc = kind == JSON_OVER    ? 0
		     : kind == JSON_ARRAY ? for_all(x, take_document, e)
		                          : take_document(x, e);
		if (rc == 0)
			rc = json_trouble(&x->j, r, 0, e);
	}
	json_end(&x->j);
	otlp_resource_release(&x->resource);
	arena_release(&x->arena);
	free(x);
	return rc < 0 ? rc : 0;
}

static bool
has(const char *head, size_t len, const char *word)
{
	return memmem(head, len, word, strlen(word)) != NULL;
}

static int
sniff_otlp_json(const char *head, size_t len)
{
	if (memchr(head, '{', len) == NULL)
		return 0;
	if (has(head, len, "\"resourceSpans\"") || has(head, len, "\"resource_spans\""))
		return 95;
	return has(head, len, "\"batches\"") &&
	               (has(head, len, "\"scopeSpans\"") ||
			   has(head, len, "\"instrumentationLibrarySpans\""))
	           ? 90
	           : 0;
}

const struct format format_otlp_json = {
	.name = "otlp_json",
	.what = "OTLP in JSON, or JSON lines",
	.resolution_ns = 1,
	.sniff = sniff_otlp_json,
	.read = read_otlp_json,
};
