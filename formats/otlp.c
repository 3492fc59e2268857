/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "formats/otlp.h"

int
otlp_resource_attribute(
    struct otlp_resource *o, struct text_view key, const struct value *v, struct err *e)
{
	struct text_view *to = text_is(key, "service.name")          ? &o->service
	                       : text_is(key, "k8s.pod.name")        ? &o->nodes[OTLP_POD]
	                       : text_is(key, "host.name")           ? &o->nodes[OTLP_HOST]
	                       : text_is(key, "service.instance.id") ? &o->nodes[OTLP_INSTANCE]
	                                                             : NULL;
	char *copy;

	if (to == NULL || v->type != VALUE_TEXT || v->len == 0)
		return 0;
	if ((copy = arena_text(&o->arena, v->text, v->len)) == NULL)
		return err_set(e, ERR_MEMORY, "no memory for a resource");
	*to = (struct text_view){ copy, v->len };
	return 0;
}

void
otlp_resource_reset(struct otlp_resource *o)
{
	arena_reset(&o->arena);
	*o = (struct otlp_resource){ .arena = o->arena };
}

void
otlp_resource_release(struct otlp_resource *o)
{
	arena_release(&o->arena);
	*o = (struct otlp_resource){ 0 };
}

/* Big endian, as ids are written. */
static uint64_t
number_of(const uint8_t *b, uint32_t len)
{
	uint64_t v = 0;

	for (uint32_t i = 0; i < len; i++)
		v = v << 8 | b[i];
	return v;
}

struct span_event *
otlp_extras_event(struct otlp_extras *x)
{
	struct span_event *e;

	if (x->nevents == OTLP_EVENTS_MAX)
		return NULL;
	e = &x->events[x->nevents++];
	*e = (struct span_event){ .attributes = &x->attributes[x->nattributes] };
	return e;
}

static struct trace_id
trace_of(const uint8_t *bytes, uint32_t len)
{
	uint32_t high = len > 8 ? len - 8 : 0;

	return (struct trace_id){ .high = number_of(bytes, high),
		.low = number_of(bytes + high, len - high) };
}

void
otlp_extras_link(struct otlp_extras *x, const uint8_t *trace, uint32_t trace_len, const uint8_t *id,
    uint32_t id_len)
{
	x->links++;
	if (x->nlinks < OTLP_LINKS_MAX)
		x->kept[x->nlinks++] = (struct span_link){ trace_of(trace, trace_len),
			number_of(id, id_len) };
}

/* How many links the span has is an attribute of it, so a key, as far as there is room. */
static void
take_extras(struct otlp_span *s)
{
	struct otlp_extras *x = s->extras;

	if (x == NULL)
		return;
	s->span.events = x->events;
	s->span.nevents = x->nevents;
	s->span.links = x->kept;
	s->span.nlinks = x->nlinks;
	if (x->links > 0 && s->nattributes < OTLP_ATTRIBUTES_MAX)
		s->attributes[s->nattributes++] = (struct attribute){ OTLP_LINKS_ATTRIBUTE,
			sizeof OTLP_LINKS_ATTRIBUTE - 1, { .type = VALUE_UINT, .u = x->links } };
}

static bool
have_exact_length(const struct otlp_span *s)
{
	return s->trace_len == sizeof s->trace && s->id_len == sizeof s->id &&
	       (s->parent_len == 0 || s->parent_len == sizeof s->parent);
}

int
otlp_hand_on(struct reading *r, struct otlp_span *s, const struct otlp_resource *o, struct err *e)
{
	struct span *span = &s->span;

	span->trace = trace_of(s->trace, s->trace_len);
	span->id = number_of(s->id, s->id_len);
	span->parent = number_of(s->parent, s->parent_len);
	span->has_parent = span->parent != 0;
	span->bad_id = s->bad_parent || (reading_options(r)->exact_ids && !have_exact_length(s));
	span->no_begin = span->begin_ns <= 0;
	span->no_end = span->end_ns <= 0;
	span->service = o->service;
	span->scope = o->scope;
	for (int i = 0; i < OTLP_NODES && span->node.len == 0; i++)
		span->node = o->nodes[i];
	take_extras(s);
	span->attributes = s->attributes;
	span->nattributes = s->nattributes;
	return reading_span(r, span, e);
}
