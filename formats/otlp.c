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

int
otlp_hand_on(struct reading *r, struct otlp_span *s, const struct otlp_resource *o, struct err *e)
{
	struct span *span = &s->span;
	uint32_t high = s->trace_len > 8 ? s->trace_len - 8 : 0;

	span->trace.high = number_of(s->trace, high);
	span->trace.low = number_of(s->trace + high, s->trace_len - high);
	span->id = number_of(s->id, s->id_len);
	span->parent = number_of(s->parent, s->parent_len);
	span->has_parent = span->parent != 0;
	span->no_begin = span->begin_ns <= 0;
	span->no_end = span->end_ns <= 0;
	span->service = o->service;
	for (int i = 0; i < OTLP_NODES && span->node.len == 0; i++)
		span->node = o->nodes[i];
	span->attributes = s->attributes;
	span->nattributes = s->nattributes;
	return reading_span(r, span, e);
}
