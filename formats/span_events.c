/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "formats/span_events.h"

#include <stdlib.h>
#include <string.h>

#include "base/glob.h"
#include "base/hash.h"
#include "base/hash_map.h"

enum { ATTRIBUTES_MAX = 16 };

struct open_span {
	struct open_span *older, *newer;
	uint64_t key;
	struct trace_id trace;
	uint64_t id, parent;
	int64_t begin_ns;
	uint32_t node;
	char *service, *name; /* of the start; NULL: that has none */
};

struct span_events {
	struct reading *reading;
	const struct mapping *map;
	struct map open;
	struct open_span *oldest, *newest;
	uint64_t seed;
};

static int
no_memory(struct err *e)
{
	return err_set(e, ERR_MEMORY, "no memory for spans");
}

struct span_events *
span_events_new(struct reading *r, const struct mapping *m, int *rc, struct err *e)
{
	struct span_events *s = NULL;
	bool has = false;

	*rc = 0;
	for (uint32_t i = 0; i < m->nrules; i++)
		has |= m->rules[i].correlate == MAP_SPAN;
	if (!has)
		return NULL;
	if ((s = calloc(1, sizeof *s)) == NULL) {
		*rc = no_memory(e);
		return NULL;
	}
	s->reading = r;
	s->map = m;
	s->seed = hash_seed();
	return s;
}

static void
forget(struct span_events *s, struct open_span *o)
{
	map_take(&s->open, o->key);
	*(o->older != NULL ? &o->older->newer : &s->oldest) = o->newer;
	*(o->newer != NULL ? &o->newer->older : &s->newest) = o->older;
	free(o->service);
	free(o->name);
	free(o);
}

void
span_events_free(struct span_events *s)
{
	if (s == NULL)
		return;
	while (s->oldest != NULL)
		forget(s, s->oldest);
	map_release(&s->open);
	free(s);
}

/* ---- fields ---- */

/* The first of the names that the event has; NULL: none. */
static const struct value *
field(const struct tracer_event *v, const struct map_fields *names)
{
	for (uint32_t k = 0; k < names->n; k++)
		for (uint32_t i = 0; i < v->nfields; i++)
			if (strcmp(v->fields[i], names->names[k]) == 0)
				return &v->values[i];
	return NULL;
}

static struct text_view
text_of(const struct value *v)
{
	return v != NULL && v->type == VALUE_TEXT ? (struct text_view){ v->text, v->len }
	                                          : (struct text_view){ "", 0 };
}

static struct trace_id
trace_of(const struct value *v)
{
	if (v != NULL && v->type == VALUE_TEXT)
		return trace_id_of(v->text, v->len);
	if (v != NULL && (v->type == VALUE_UINT || v->type == VALUE_INT))
		return (struct trace_id){ .low = v->u };
	return (struct trace_id){ 0 };
}

static uint64_t
span_of(const struct value *v)
{
	if (v != NULL && v->type == VALUE_TEXT)
		return span_id_of(v->text, v->len);
	return v != NULL && (v->type == VALUE_UINT || v->type == VALUE_INT) ? v->u : 0;
}

static struct text_view
node_of(const struct span_events *s, uint32_t node)
{
	const char *name = reading_nodes(s->reading)[node];

	return (struct text_view){ name, (uint32_t)strlen(name) };
}

/* ---- spans ---- */

static int
pass_open(struct span_events *s, struct open_span *o, struct err *e)
{
	struct span to = { .trace = o->trace,
		.id = o->id,
		.parent = o->parent,
		.has_parent = o->parent != 0,
		.no_end = true,
		.begin_ns = o->begin_ns,
		.node = node_of(s, o->node) };

	if (o->service != NULL)
		to.service = (struct text_view){ o->service, (uint32_t)strlen(o->service) };
	if (o->name != NULL)
		to.name = (struct text_view){ o->name, (uint32_t)strlen(o->name) };
	return reading_span(s->reading, &to, e);
}

static int
pass_oldest(struct span_events *s, struct err *e)
{
	int rc = pass_open(s, s->oldest, e);

	forget(s, s->oldest);
	return rc;
}

static char *
copy_of(struct text_view t)
{
	return t.len > 0 ? strndup(t.s, t.len) : NULL;
}

static uint64_t
key_of(const struct span_events *s, struct trace_id trace, uint64_t id)
{
	uint64_t both[3] = { trace.high, trace.low, id };

	return hash_bytes(s->seed, both, sizeof both);
}

static int
start(struct span_events *s, const struct map_rule *r, const struct tracer_event *v,
    struct trace_id trace, uint64_t id, struct err *e)
{
	struct open_span *o = calloc(1, sizeof *o);
	struct open_span *before;
	int rc = 0;

	if (o == NULL)
		return no_memory(e);
	o->key = key_of(s, trace, id);
	if ((before = map_get(&s->open, o->key)) != NULL) { /* it started twice */
		rc = pass_open(s, before, e);
		forget(s, before);
	}
	o->trace = trace;
	o->id = id;
	o->parent = span_of(field(v, &r->parent_fields));
	o->begin_ns = v->time_ns;
	o->node = v->node;
	o->service = copy_of(text_of(field(v, &r->service_fields)));
	o->name = copy_of(text_of(field(v, &r->type_fields)));
	if (!map_put(&s->open, o->key, o)) {
		free(o->service);
		free(o->name);
		free(o);
		return no_memory(e);
	}
	o->older = s->newest;
	*(s->newest != NULL ? &s->newest->newer : &s->oldest) = o;
	s->newest = o;
	if (rc == 0 && s->open.count > SPAN_EVENTS_OPEN_MAX)
		rc = pass_oldest(s, e);
	return rc;
}

/* Fields of the end that are no ids nor names are attributes. */
static uint32_t
attributes_of(
    const struct map_rule *r, const struct tracer_event *v, struct attribute to[ATTRIBUTES_MAX])
{
	const struct map_fields *const not [] = { &r->trace_fields, &r->span_fields,
		&r->end_span_fields, &r->parent_fields, &r->service_fields, &r->type_fields };
	uint32_t n = 0;

	for (uint32_t i = 0; i < v->nfields && n < ATTRIBUTES_MAX; i++) {
		bool is_used = v->values[i].type == VALUE_NONE;

		for (size_t k = 0; k < sizeof not / sizeof *not ; k++)
			is_used |= field(v, not [k]) == &v->values[i];
		if (!is_used)
			to[n++] = (struct attribute){ v->fields[i], (uint32_t)strlen(v->fields[i]),
				v->values[i] };
	}
	return n;
}

static int
end(struct span_events *s, const struct map_rule *r, const struct tracer_event *v,
    struct trace_id trace, uint64_t id, struct err *e)
{
	struct open_span *o = map_get(&s->open, key_of(s, trace, id));
	struct attribute attributes[ATTRIBUTES_MAX];
	const struct value *parent = field(v, &r->parent_fields);
	struct span to = { .trace = trace,
		.id = id,
		.parent = o != NULL ? o->parent : span_of(parent),
		.no_begin = o == NULL,
		.begin_ns = o != NULL ? o->begin_ns : 0,
		.end_ns = v->time_ns,
		.service = text_of(field(v, &r->service_fields)),
		.name = text_of(field(v, &r->type_fields)),
		.node = node_of(s, o != NULL ? o->node : v->node) };
	int rc;

	to.has_parent = to.parent != 0;
	if (to.service.len == 0 && o != NULL && o->service != NULL)
		to.service = (struct text_view){ o->service, (uint32_t)strlen(o->service) };
	if (to.service.len == 0)
		to.service = v->service;
	if (to.name.len == 0 && o != NULL && o->name != NULL)
		to.name = (struct text_view){ o->name, (uint32_t)strlen(o->name) };
	if (to.name.len == 0 && r->type != NULL)
		to.name = (struct text_view){ r->type, (uint32_t)strlen(r->type) };
	to.nattributes = attributes_of(r, v, attributes);
	to.attributes = attributes;
	rc = reading_span(s->reading, &to, e);
	if (o != NULL)
		forget(s, o);
	return rc;
}

int
span_events_take(struct span_events *s, const struct tracer_event *v, bool *taken, struct err *e)
{
	char name[256];

	*taken = false;
	if (v->name.len >= sizeof name)
		return 0;
	memcpy(name, v->name.s, v->name.len);
	name[v->name.len] = '\0';
	for (uint32_t i = 0; i < s->map->nrules; i++) {
		const struct map_rule *r = &s->map->rules[i];
		bool begins, ends;
		struct trace_id trace;
		uint64_t id;

		if (r->correlate != MAP_SPAN)
			continue;
		begins = glob_matches(r->begin, name);
		ends = !begins && glob_matches(r->end, name);
		if (!begins && !ends)
			continue;
		*taken = true;
		trace = trace_of(field(v, &r->trace_fields));
		id = span_of(field(v, begins ? &r->span_fields : &r->end_span_fields));
		if (id == 0 || (trace.low == 0 && trace.high == 0)) {
			reading_skip(s->reading, SKIP_INCOMPLETE, NULL, "%s has no id", name);
			return 0;
		}
		return begins ? start(s, r, v, trace, id, e) : end(s, r, v, trace, id, e);
	}
	return 0;
}

int
span_events_end(struct span_events *s, struct err *e)
{
	int rc = 0;

	while (rc == 0 && s->oldest != NULL)
		rc = pass_oldest(s, e);
	return rc;
}
