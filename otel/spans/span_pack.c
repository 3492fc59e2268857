/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "otel/spans/span_pack.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/texts.h"

enum { HAS_PARENT = 1, FOLLOWS = 2, FAILED = 4, NO_BEGIN = 8, NO_END = 16, HAS_CALLER = 32 };
enum { CALLER_SAMPLED = 1, CALLER_PROBED = 2 };

struct span_pack {
	struct texts *texts;
	size_t bytes; /* of texts */
};

struct span_pack *
span_pack_new(void)
{
	struct span_pack *p = calloc(1, sizeof *p);

	if (p == NULL || (p->texts = texts_new()) == NULL) {
		free(p);
		return NULL;
	}
	return p;
}

void
span_pack_free(struct span_pack *p)
{
	if (p == NULL)
		return;
	texts_free(p->texts);
	free(p);
}

/* ---- writing ---- */

/* The number of the text among those that are kept once; UINT32_MAX: it is not among them. */
static uint32_t
kept_once(struct span_pack *p, const char *s, size_t len)
{
	uint32_t before, id;

	if (len > PACK_TEXT_MAX)
		return UINT32_MAX;
	if (p->bytes + len > PACK_TEXTS_BYTES)
		return texts_find(p->texts, s, len);
	before = texts_count(p->texts);
	id = texts_intern(p->texts, s, len);
	p->bytes += texts_count(p->texts) > before ? len : 0;
	return id;
}

static void
put_text(struct span_pack *p, struct buf *to, const char *s, size_t len)
{
	uint32_t id = kept_once(p, len > 0 ? s : "", len);

	buf_uint(to, id != UINT32_MAX ? id + UINT64_C(1) : 0);
	if (id == UINT32_MAX)
		buf_text(to, s, len);
}

static void
put_value(struct buf *to, const struct value *v)
{
	buf_u8(to, v->type);
	switch (v->type) {
	case VALUE_TEXT:
		buf_text(to, v->text, v->len);
		break;
	case VALUE_INT:
		buf_int(to, v->i);
		break;
	case VALUE_REAL:
		buf_double(to, v->d);
		break;
	default:
		buf_uint(to, v->u);
	}
}

static uint8_t
flags_of(const struct span *s, const struct caller *caller)
{
	return (uint8_t)((s->has_parent ? HAS_PARENT : 0) | (s->follows ? FOLLOWS : 0) |
			 (s->failed ? FAILED : 0) | (s->no_begin ? NO_BEGIN : 0) |
			 (s->no_end ? NO_END : 0) | (caller->link_id != 0 ? HAS_CALLER : 0));
}

/* Times that differ by more than int64_t holds come back as they were: both ways wrap around. */
static int64_t
difference(int64_t later, int64_t earlier)
{
	return (int64_t)((uint64_t)later - (uint64_t)earlier);
}

static int64_t
sum(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

void
span_pack_put(struct span_pack *p, struct buf *to, const struct span *s,
    const struct caller *caller, int64_t base_ns)
{
	uint32_t n = s->nattributes < RECORD_VALUES_MAX ? s->nattributes : RECORD_VALUES_MAX;

	buf_u8(to, flags_of(s, caller));
	buf_u8(to, s->kind);
	buf_u64(to, s->id);
	if (s->has_parent)
		buf_u64(to, s->parent);
	buf_int(to, difference(s->begin_ns, base_ns));
	buf_int(to, difference(s->end_ns, s->begin_ns));
	if (caller->link_id != 0) {
		buf_u64(to, caller->link_id);
		buf_u8(to, (uint8_t)((caller->sampled ? CALLER_SAMPLED : 0) |
				     (caller->probed ? CALLER_PROBED : 0)));
	}
	put_text(p, to, s->service.s, s->service.len);
	put_text(p, to, s->name.s, s->name.len);
	put_text(p, to, s->node.s, s->node.len);
	buf_uint(to, n);
	for (uint32_t i = 0; i < n; i++) {
		put_text(p, to, s->attributes[i].key, s->attributes[i].key_len);
		put_value(to, &s->attributes[i].value);
	}
}

/* ---- reading ---- */

static struct text_view
get_text(const struct span_pack *p, struct reader *r)
{
	uint64_t number = read_uint(r);
	struct text_view t;
	size_t len;

	if (number == 0) {
		t.s = read_text(r, UINT32_MAX, &len);
		t.len = (uint32_t)len;
		return t;
	}
	t.s = texts_get(p->texts, (uint32_t)(number - 1));
	t.len = texts_length(p->texts, (uint32_t)(number - 1));
	return t;
}

static struct value
get_value(struct reader *r)
{
	struct value v = { .type = read_u8(r) };
	size_t len;

	switch (v.type) {
	case VALUE_TEXT:
		v.text = read_text(r, UINT32_MAX, &len);
		v.len = (uint32_t)len;
		break;
	case VALUE_INT:
		v.i = read_int(r);
		break;
	case VALUE_REAL:
		v.d = read_double(r);
		break;
	default:
		v.u = read_uint(r);
	}
	return v;
}

bool
span_pack_get(const struct span_pack *p, const void *data, size_t len, int64_t base_ns,
    struct span *ret, struct caller *caller, struct arena *a)
{
	const void *copy = arena_copy(a, data, len);
	struct reader r = reader_of(copy, len);
	struct attribute *attributes;
	uint8_t flags;

	if (copy == NULL)
		return false;
	flags = read_u8(&r);
	*ret = (struct span){ .has_parent = (flags & HAS_PARENT) != 0,
		.follows = (flags & FOLLOWS) != 0,
		.failed = (flags & FAILED) != 0,
		.no_begin = (flags & NO_BEGIN) != 0,
		.no_end = (flags & NO_END) != 0,
		.kind = read_u8(&r) };
	*caller = (struct caller){ 0 };
	ret->id = read_u64(&r);
	if (ret->has_parent)
		ret->parent = read_u64(&r);
	ret->begin_ns = sum(base_ns, read_int(&r));
	ret->end_ns = sum(ret->begin_ns, read_int(&r));
	if ((flags & HAS_CALLER) != 0) {
		caller->link_id = read_u64(&r);
		flags = read_u8(&r);
		caller->sampled = (flags & CALLER_SAMPLED) != 0;
		caller->probed = (flags & CALLER_PROBED) != 0;
	}
	ret->service = get_text(p, &r);
	ret->name = get_text(p, &r);
	ret->node = get_text(p, &r);
	ret->nattributes = (uint32_t)read_uint(&r);
	ret->attributes = attributes = arena_calloc(a, ret->nattributes + 1, sizeof *attributes);
	for (uint32_t i = 0; attributes != NULL && i < ret->nattributes; i++) {
		struct text_view key = get_text(p, &r);

		attributes[i] = (struct attribute){ key.s, key.len, get_value(&r) };
	}
	assert(!r.failed);
	return attributes != NULL;
}
