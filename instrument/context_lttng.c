/* SPDX-License-Identifier: MIT */
/*
 * The application context $app.hone, which LTTng-UST reads for each record of any provider of the process, to
 * write it or to evaluate a filter.
 *
 * In LTTng-UST 2.13 the functions are exported and stable (its Java agent uses
 * them), but their header is not installed, so the interface is declared here.
 * struct_size tells the library which members this declaration has.
 */
#define _GNU_SOURCE
#include <string.h>
#include <stddef.h>

#include <lttng/ust-events.h>
#include <lttng/ust-ringbuffer-context.h>

#include "instrument/inside.h"

/* The type tags of values, as LTTng numbers them. */
enum { DYN_NONE = 0, DYN_S64 = 4, DYN_U8 = 5, DYN_U32 = 7, DYN_U64 = 8 };

struct lttng_ust_ctx_value {
	int sel;
	union {
		int64_t s64;
		uint64_t u64;
		const char *str;
		double d;
	} u;
};

struct lttng_ust_app_context { /* one for each context of each channel */
	uint32_t struct_size;
	struct lttng_ust_event_field *event_field;
	char *ctx_name; /* "$app.hone:trace_id" */
};

struct lttng_ust_context_provider {
	uint32_t struct_size;
	const char *name;
	size_t (*get_size)(void *priv, struct lttng_ust_probe_ctx *probe_ctx, size_t offset);
	void (*record)(void *priv, struct lttng_ust_probe_ctx *probe_ctx,
	    struct lttng_ust_ring_buffer_ctx *ctx, struct lttng_ust_channel_buffer *chan);
	void (*get_value)(
	    void *priv, struct lttng_ust_probe_ctx *probe_ctx, struct lttng_ust_ctx_value *value);
	void *priv;
};

struct lttng_ust_registered_context_provider;
struct lttng_ust_registered_context_provider *lttng_ust_context_provider_register(
    struct lttng_ust_context_provider *provider);
void lttng_ust_context_provider_unregister(struct lttng_ust_registered_context_provider *reg);

/* A context: its type for LTTng, and its offset in hone_self.now. */
struct field {
	const char *name;
	uint8_t dyn, size;
	uint16_t offset;
};

#define UNIT(member) offsetof(struct hone_unit, member)

static const struct field TRACE_ID = { "trace_id", DYN_U64, 8, UNIT(carrier.trace_id) };
static const struct field UNIT_ID = { "unit_id", DYN_U64, 8, UNIT(unit_id) };
static const struct field SAMPLED = { "sampled", DYN_U8, 1, UNIT(carrier.sampled) };
static const struct field PROBED = { "probed", DYN_U8, 1, UNIT(carrier.probed) };
static const struct field REQUEST_TYPE = { "request_type", DYN_U32, 4, UNIT(carrier.request_type) };
static const struct field UNKNOWN = { "", DYN_NONE, 0, 0 };

/* The first letters differ, so a record costs one comparison of text. */
static inline const struct field *
field_of(const void *priv)
{
	const struct lttng_ust_app_context *context = priv;
	const char *name = context->ctx_name + sizeof "$app.hone:" - 1;
	const struct field *f;

	switch (name[0]) {
	case 't':
		f = &TRACE_ID;
		break;
	case 'u':
		f = &UNIT_ID;
		break;
	case 's':
		f = &SAMPLED;
		break;
	case 'p':
		f = &PROBED;
		break;
	case 'r':
		f = &REQUEST_TYPE;
		break;
	default:
		return &UNKNOWN;
	}
	return strcmp(name, f->name) == 0 ? f : &UNKNOWN;
}

static inline const void *
field_at(const struct field *f)
{
	return (const char *)&hone_self.now + f->offset;
}

static size_t
context_size(void *priv, struct lttng_ust_probe_ctx *probe_ctx, size_t offset)
{
	const struct field *f = field_of(priv);
	size_t size = lttng_ust_ring_buffer_align(offset, 1) + 1;
	(void)probe_ctx;

	if (f->size != 0)
		size += lttng_ust_ring_buffer_align(offset + size, f->size) + f->size;
	return size;
}

/* In packed records tag and value are adjacent, and are written in one call. */
static void
context_record(void *priv, struct lttng_ust_probe_ctx *probe_ctx,
    struct lttng_ust_ring_buffer_ctx *ctx, struct lttng_ust_channel_buffer *chan)
{
	const struct field *f = field_of(priv);
	(void)probe_ctx;

#ifndef LTTNG_UST_RING_BUFFER_NATURAL_ALIGN
	if (f->size == 8) {
		struct __attribute__((packed)) {
			uint8_t dyn;
			uint64_t value;
		} both = { f->dyn, *(const uint64_t *)field_at(f) };

		chan->ops->event_write(ctx, &both, sizeof both, 1);
		return;
	}
#endif
	chan->ops->event_write(ctx, &f->dyn, 1, 1);
	if (f->size != 0)
		chan->ops->event_write(ctx, field_at(f), f->size, f->size);
}

/* Filters of LTTng-UST 2.13.5 support signed 64-bit integers only, and reject the record for other types without an
 * error. */
static void
context_value(void *priv, struct lttng_ust_probe_ctx *probe_ctx, struct lttng_ust_ctx_value *value)
{
	const struct field *f = field_of(priv);
	uint64_t v = 0;
	(void)probe_ctx;

	if (f == &SAMPLED)
		hone_self.asked = true;
	switch (f->size) {
	case 8:
		v = *(const uint64_t *)field_at(f);
		break;
	case 4:
		v = *(const uint32_t *)field_at(f);
		break;
	case 1:
		v = *(const uint8_t *)field_at(f);
		break;
	}
	value->sel = f->size != 0 ? DYN_S64 : DYN_NONE;
	value->u.s64 = (int64_t)v;
}

static struct lttng_ust_context_provider provider = {
	.struct_size = sizeof provider,
	.name = "$app.hone",
	.get_size = context_size,
	.record = context_record,
	.get_value = context_value,
};

static struct lttng_ust_registered_context_provider *registered;

__attribute__((constructor)) static void
context_begin(void)
{
	registered = lttng_ust_context_provider_register(&provider);
}

__attribute__((destructor)) static void
context_end(void)
{
	if (registered != NULL)
		lttng_ust_context_provider_unregister(registered);
}
