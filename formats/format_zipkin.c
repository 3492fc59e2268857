/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Zipkin's JSON, version 2: an array of spans, an array of such arrays (traces, as its API
 * gives them), or such documents one on each line.
 *
 *	[{"traceId":"86154a4ba6e91385","id":"4d1e00c0db9010db","parentId":"86154a4ba6e91385","kind":"SERVER","shared":true,
 *	  "name":"get","timestamp":1472470996199000,"duration":207000,"localEndpoint":{"serviceName":"back","ipv4":"10.0.0.2"},
 *	  "tags":{"http.path":"/api"}}]
 *
 * Client and server of a call may share one id (B3 propagation). Then the server's half becomes a
 * child of the client's, with an id of its own. Spans with this id as parent are children of the
 * server's half if they have its service. So a span can be passed on only when the other spans of
 * its trace are known: spans are kept until the file ends or they exceed KEPT_MAX_BYTES. Halves and
 * children separated by this bound count as the client's.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <string.h>

#include "formats/typed.h"
#include "base/hash_map.h"

enum {
	KEPT_MAX_BYTES = 16 << 20,
	TAGS_MAX = 64,  /* further ones of a span are left out */
	HALVES_MAX = 64 /* of one id that are searched; two are expected */
};

enum half { WHOLE, CLIENT, SERVER };

struct zipkin_span {
	struct span span;
	uint64_t own_id;             /* span.id, or the new id of a server's half */
	uint8_t half;                /* enum half */
	struct zipkin_span *next;    /* as they were read */
	struct zipkin_span *same_id; /* others of this id */
};

struct zipkin {
	struct reading *r;
	struct input *in;
	struct json j;
	struct arena arena; /* of what is kept */
	struct zipkin_span *kept, **kept_end;
	struct map by_id;                /* struct zipkin_span, the first of an id */
	struct attribute tags[TAGS_MAX]; /* of the span at hand */
};

/* ---- halves ---- */

/* Key of a trace's span in by_id. A collision of 64-bit hashes is accepted: it would change the parent
 * of one span. */
static uint64_t
id_key(struct trace_id trace, uint64_t id)
{
	return hash_u64(trace.high + hash_u64(trace.low + hash_u64(id)));
}

static bool
same_service(const struct zipkin_span *a, const struct zipkin_span *b)
{
	const struct text_view *s = &a->span.service, *t = &b->span.service;

	return s->len == t->len && (s->len == 0 || memcmp(s->s, t->s, s->len) == 0);
}

static bool
index_kept(struct zipkin *x)
{
	for (struct zipkin_span *k = x->kept; k != NULL; k = k->next) {
		uint64_t key = id_key(k->span.trace, k->span.id);

		k->same_id = map_get(&x->by_id, key);
		if (!map_put(&x->by_id, key, k))
			return false;
	}
	return true;
}

/* Finds the half of the span with this id (with `like`: of its service). NULL: none. */
static struct zipkin_span *
find_half(const struct zipkin *x, struct trace_id trace, uint64_t id, enum half half,
    const struct zipkin_span *like)
{
	struct zipkin_span *k = map_get(&x->by_id, id_key(trace, id));

	for (int n = 0; k != NULL && n < HALVES_MAX; k = k->same_id, n++)
		if (k->half == half && (like == NULL || same_service(k, like)))
			return k;
	return NULL;
}

/* Gives a server's half an id of its own, made of the shared id and its service. */
static void
tell_apart(const struct zipkin *x, struct zipkin_span *k)
{
	const struct text_view *service = &k->span.service;

	k->own_id = k->span.id;
	if (k->half == SERVER && find_half(x, k->span.trace, k->span.id, CLIENT, NULL) != NULL)
		k->own_id = hash_u64(k->span.id ^ hash_bytes(1, service->s, service->len));
}

static struct span
with_own_parent(const struct zipkin *x, const struct zipkin_span *k)
{
	struct span s = k->span;
	const struct zipkin_span *server;

	if (k->own_id != k->span.id) {
		s.id = k->own_id;
		s.parent = k->span.id;
		s.has_parent = true;
	} else if (s.has_parent && (server = find_half(x, s.trace, s.parent, SERVER, k)) != NULL) {
		s.parent = server->own_id;
	}
	return s;
}

/* Passes on all kept spans. */
static int
hand_on(struct zipkin *x, struct err *e)
{
	int rc = 0;

	if (!index_kept(x))
		rc = err_set(e, ERR_MEMORY, "no memory for spans");
	for (struct zipkin_span *k = x->kept; k != NULL && rc == 0; k = k->next)
		tell_apart(x, k);
	for (struct zipkin_span *k = x->kept; k != NULL && rc == 0; k = k->next) {
		struct span s = with_own_parent(x, k);

		rc = reading_span(x->r, &s, e);
	}
	map_release(&x->by_id);
	arena_reset(&x->arena);
	x->kept = NULL;
	x->kept_end = &x->kept;
	return rc;
}

static bool
own(struct arena *a, const char **s, size_t len)
{
	return len == 0 || (*s = arena_text(a, *s, len)) != NULL;
}

static bool
own_text(struct arena *a, struct text_view *t)
{
	return own(a, &t->s, t->len);
}

static int
keep(struct zipkin *x, const struct span *s, enum half half, struct err *e)
{
	struct zipkin_span *k = arena_alloc(&x->arena, sizeof *k);
	struct attribute *tags = arena_copy(&x->arena, x->tags, s->nattributes * sizeof *tags);
	bool ok = k != NULL && tags != NULL;

	if (ok) {
		*k = (struct zipkin_span){ .span = *s, .half = (uint8_t)half };
		k->span.attributes = tags;
		ok = own_text(&x->arena, &k->span.service) && own_text(&x->arena, &k->span.name) &&
		     own_text(&x->arena, &k->span.node);
	}
	for (uint32_t i = 0; ok && i < s->nattributes; i++)
		ok = own(&x->arena, &tags[i].key, tags[i].key_len) &&
		     (tags[i].value.type != VALUE_TEXT ||
			 own(&x->arena, &tags[i].value.text, tags[i].value.len));
	if (!ok)
		return err_set(e, ERR_MEMORY, "no memory for a span");
	*x->kept_end = k;
	x->kept_end = &k->next;
	return x->arena.total_bytes > KEPT_MAX_BYTES ? hand_on(x, e) : 0;
}

/* ---- spans ---- */

static void
fail(struct zipkin *x, enum skip why, const char *words)
{
	reading_skip(x->r, why, x->in, "%s", words);
}

static void
read_endpoint(struct json *j, struct span *s)
{
	struct text_view key, t;

	if (!json_enter_object(j))
		return;
	while (json_key(j, &key)) {
		if (text_is(key, "serviceName"))
			json_text(j, &s->service);
		else if ((text_is(key, "ipv4") || (text_is(key, "ipv6") && s->node.len == 0)) &&
			 json_text(j, &t))
			s->node = t;
	}
}

/* The tag "error" means failure, with any value. The tag "host.name" is the node, where the endpoint has no address. */
static void
read_tags(struct zipkin *x, struct span *s)
{
	struct json *j = &x->j;
	struct text_view key;
	struct value v;

	if (!json_enter_object(j))
		return;
	while (json_key(j, &key)) {
		s->failed |= text_is(key, "error");
		if (!json_value(j, &v))
			return;
		if (text_is(key, "host.name") && v.type == VALUE_TEXT && s->node.len == 0) {
			s->node = (struct text_view){ v.text, v.len };
			continue;
		}
		if (v.type == VALUE_TEXT)
			v = typed_value((struct text_view){ v.text, v.len });
		if (s->nattributes < TAGS_MAX && key.len > 0 && v.type != VALUE_NONE)
			x->tags[s->nattributes++] = (struct attribute){ key.s, key.len, v };
	}
}

struct zipkin_times { /* as they are written */
	int64_t timestamp_us, duration_us;
	bool has_timestamp, has_duration;
};

static void
to_ns(const struct zipkin_times *t, struct span *s)
{
	int64_t duration_ns;

	s->no_begin = !t->has_timestamp ||
	              __builtin_mul_overflow(t->timestamp_us, 1000, &s->begin_ns);
	s->no_end = s->no_begin || !t->has_duration ||
	            __builtin_mul_overflow(t->duration_us, 1000, &duration_ns) ||
	            __builtin_add_overflow(s->begin_ns, duration_ns, &s->end_ns);
}

static enum span_kind
kind_of(struct text_view word)
{
	return text_is(word, "SERVER")     ? SPAN_KIND_SERVER
	       : text_is(word, "CLIENT")   ? SPAN_KIND_CLIENT
	       : text_is(word, "PRODUCER") ? SPAN_KIND_PRODUCER
	       : text_is(word, "CONSUMER") ? SPAN_KIND_CONSUMER
	                                   : SPAN_KIND_NONE;
}

/* At most so many digits, as Zipkin's servers take them: shorter ones are those of smaller numbers. */
static bool
is_hex(struct text_view t, size_t max)
{
	size_t n = 0;

	while (n < t.len && isxdigit((unsigned char)t.s[n]))
		n++;
	return n == t.len && n <= max;
}

/* An object that was entered. */
static int
read_span(struct zipkin *x, struct err *e)
{
	struct json *j = &x->j;
	struct span s = { .offset = input_offset(x->in) - 1 }; /* of the bracket */
	struct zipkin_times times = { 0 };
	struct text_view key, trace = { 0 }, id = { 0 }, parent = { 0 }, kind = { 0 };
	bool shared = false;

	while (json_key(j, &key)) {
		if (text_is(key, "traceId"))
			json_text(j, &trace);
		else if (text_is(key, "id"))
			json_text(j, &id);
		else if (text_is(key, "parentId"))
			json_text(j, &parent);
		else if (text_is(key, "kind"))
			json_text(j, &kind);
		else if (text_is(key, "name"))
			json_text(j, &s.name);
		else if (text_is(key, "timestamp"))
			times.has_timestamp = json_int(j, &times.timestamp_us);
		else if (text_is(key, "duration"))
			times.has_duration = json_int(j, &times.duration_us);
		else if (text_is(key, "shared"))
			json_bool(j, &shared);
		else if (text_is(key, "localEndpoint"))
			read_endpoint(j, &s);
		else if (text_is(key, "tags"))
			read_tags(x, &s);
	}
	if (j->code != 0)
		return 0;
	if (trace.len == 0 || id.len == 0) {
		reading_skip_at(
		    x->r, SKIP_INCOMPLETE, reading_origin(x->r, &s), "a span without an id");
		return 0;
	}
	to_ns(&times, &s);
	s.trace = trace_id_of(trace.s, trace.len);
	s.id = span_id_of(id.s, id.len);
	s.parent = parent.len > 0 ? span_id_of(parent.s, parent.len) : 0;
	s.has_parent = s.parent != 0;
	s.bad_id = reading_options(x->r)->exact_ids &&
	           !(is_hex(trace, 32) && is_hex(id, 16) && is_hex(parent, 16));
	s.kind = shared ? SPAN_KIND_SERVER : kind_of(kind);
	s.follows = s.kind == SPAN_KIND_CONSUMER;
	return keep(x, &s,
	    s.kind == SPAN_KIND_SERVER   ? SERVER
	    : s.kind == SPAN_KIND_CLIENT ? CLIENT
					 : WHOLE,
	    e);
}

static int take_value(struct zipkin *x, uint32_t arrays, struct err *e);

/* Takes the elements of an entered array, also after a malformed one. */
static int
take_elements(struct zipkin *x, uint32_t arrays, struct err *e)
{
	struct json *j = &x->j;
	uint32_t depth = j->depth;
	int rc = 0;

	do {
		while (rc >= 0 && json_element(j))
			rc = take_value(x, arrays, e);
	} while (rc >= 0 && j->code != 0 && (rc = json_trouble(j, x->r, depth, e)) > 0);
	return rc < 0 ? rc : 0;
}

/* Takes a span, or an array with at most `arrays` levels of arrays. */
static int
take_value(struct zipkin *x, uint32_t arrays, struct err *e)
{
	enum json_kind kind = json_next(&x->j);
	int rc = 0;

	if (kind == JSON_ARRAY && arrays > 0 && json_enter_array(&x->j))
		return take_elements(x, arrays - 1, e);
	if (kind == JSON_OBJECT) {
		json_hold(&x->j);
		if (json_enter_object(&x->j))
			rc = read_span(x, e);
		json_release(&x->j);
	} else if (kind != JSON_OVER) {
		fail(x, SKIP_MALFORMED, "a JSON value that is not a span");
		json_skip(&x->j);
	}
	return rc;
}

static int
read_zipkin(struct reading *r, struct input *in, struct err *e)
{
	struct zipkin x = { .r = r, .in = in };
	int rc = 0, rest;

	x.kept_end = &x.kept;
	json_begin(&x.j, in);
	while (rc >= 0 && (json_next(&x.j) != JSON_OVER || x.j.code != 0)) {
		rc = take_value(&x, 2, e);
		if (rc == 0)
			rc = json_trouble(&x.j, r, 0, e);
	}
	rest = rc >= 0 ? hand_on(&x, e) : 0;
	rc = rc < 0 ? rc : rest;
	json_end(&x.j);
	map_release(&x.by_id);
	arena_release(&x.arena);
	return rc;
}

static bool
has(const char *head, size_t len, const char *word)
{
	return memmem(head, len, word, strlen(word)) != NULL;
}

static int
sniff_zipkin(const char *head, size_t len)
{
	if (!has(head, len, "\"traceId\"") || !has(head, len, "\"id\"") ||
	    has(head, len, "\"spanId\""))
		return 0;
	return has(head, len, "\"localEndpoint\"") ? 85 : has(head, len, "\"timestamp\"") ? 70 : 0;
}

const struct format format_zipkin = {
	.name = "zipkin",
	.what = "Zipkin's JSON, version 2",
	.resolution_ns = 1000,
	.sniff = sniff_zipkin,
	.read = read_zipkin,
};
