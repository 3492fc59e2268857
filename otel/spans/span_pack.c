/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "otel/spans/span_pack.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/texts.h"
#include "wire/record.h"

enum {
	HAS_PARENT = 1,
	FOLLOWS = 2,
	FAILED = 4,
	NO_BEGIN = 8,
	NO_END = 16,
	HAS_CALLER = 32,
	HAS_EXTRAS = 64
};
enum { CALLER_SAMPLED = 1, CALLER_PROBED = 2 };

/* Where a text stands in a span: consecutive spans often have the same there, which takes a comparison, not a hash. */
enum {
	SERVICE_SLOT,
	NAME_SLOT,
	NODE_SLOT,
	KEY_SLOTS,
	EVENT_SLOT = KEY_SLOTS + RECORD_VALUES_MAX,
	EVENT_KEY_SLOTS,
	SLOTS = EVENT_KEY_SLOTS + RECORD_VALUES_MAX
};

struct span_pack {
	struct texts *texts;
	size_t bytes;         /* of texts */
	uint32_t last[SLOTS]; /* number of the text that was there last, plus 1; 0: none */
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

enum { VARINT_MAX = 10, FIXED_MAX = 2 + 8 + 8 + 2 * VARINT_MAX + 9 + VARINT_MAX };

static uint32_t
kept_attributes(uint32_t n)
{
	return n < RECORD_VALUES_MAX ? n : RECORD_VALUES_MAX;
}

static size_t
most_of_attributes(const struct attribute *a, uint32_t n)
{
	size_t most = VARINT_MAX;

	for (uint32_t i = 0; i < kept_attributes(n); i++)
		most += 3 * VARINT_MAX + 1 + a[i].key_len +
		        (a[i].value.type == VALUE_TEXT ? a[i].value.len : 0);
	return most;
}

/* The most bytes that the span takes: there is room for them when they are written. */
static size_t
most_bytes(const struct span *s)
{
	size_t most = FIXED_MAX + 3 * 2 * VARINT_MAX + s->service.len + s->name.len + s->node.len +
	              most_of_attributes(s->attributes, s->nattributes);

	if (s->nevents + s->nlinks > 0)
		most += 2 * VARINT_MAX + 8 * (size_t)s->nlinks;
	for (uint32_t i = 0; i < s->nevents; i++)
		most += 3 * VARINT_MAX + s->events[i].name.len +
		        most_of_attributes(s->events[i].attributes, s->events[i].nattributes);
	return most;
}

static uint8_t *
put_uint(uint8_t *to, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		*to++ = (uint8_t)(v | 0x80);
	*to++ = (uint8_t)v;
	return to;
}

static uint8_t *
put_int(uint8_t *to, int64_t v)
{
	return put_uint(to, (uint64_t)v << 1 ^ (v < 0 ? UINT64_MAX : 0));
}

static uint8_t *
put_fixed(uint8_t *to, uint64_t v)
{
	for (int i = 0; i < 8; i++)
		to[i] = (uint8_t)(v >> 8 * i);
	return to + 8;
}

static uint8_t *
put_bytes(uint8_t *to, const char *s, size_t len)
{
	to = put_uint(to, len);
	if (len > 0)
		memcpy(to, s, len);
	return to + len;
}

/* The number of the text among those that are kept once, plus 1; 0: it is not among them. */
static uint32_t
kept_once(struct span_pack *p, const char *s, size_t len)
{
	uint32_t before = texts_count(p->texts), id;

	if (len > PACK_TEXT_MAX)
		return 0;
	if (p->bytes + len > PACK_TEXTS_BYTES)
		return texts_find(p->texts, s, len) + 1;
	id = texts_intern(p->texts, s, len);
	p->bytes += texts_count(p->texts) > before ? len : 0;
	return id + 1;
}

static uint8_t *
put_text(struct span_pack *p, uint8_t *to, uint32_t slot, const char *s, size_t len)
{
	uint32_t number = p->last[slot];

	s = len > 0 ? s : "";
	if (number == 0 || texts_length(p->texts, number - 1) != len ||
	    memcmp(texts_get(p->texts, number - 1), s, len) != 0)
		number = kept_once(p, s, len);
	to = put_uint(to, number);
	if (number == 0)
		return put_bytes(to, s, len);
	p->last[slot] = number;
	return to;
}

static uint8_t *
put_value(uint8_t *to, const struct value *v)
{
	*to++ = v->type;
	switch (v->type) {
	case VALUE_TEXT:
		return put_bytes(to, v->text, v->len);
	case VALUE_INT:
		return put_int(to, v->i);
	default:
		return put_uint(to, v->u);
	case VALUE_REAL:
		return put_fixed(to, v->u);
	}
}

static uint8_t
flags_of(const struct span *s, const struct caller *caller)
{
	return (uint8_t)((s->has_parent ? HAS_PARENT : 0) | (s->follows ? FOLLOWS : 0) |
			 (s->failed ? FAILED : 0) | (s->no_begin ? NO_BEGIN : 0) |
			 (s->no_end ? NO_END : 0) | (caller->link_id != 0 ? HAS_CALLER : 0) |
			 (s->nevents + s->nlinks > 0 ? HAS_EXTRAS : 0));
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

static uint8_t *
put_attributes(
    struct span_pack *p, uint8_t *at, uint32_t slots, const struct attribute *all, uint32_t count)
{
	uint32_t n = kept_attributes(count);

	at = put_uint(at, n);
	for (uint32_t i = 0; i < n; i++) {
		at = put_text(p, at, slots + i, all[i].key, all[i].key_len);
		at = put_value(at, &all[i].value);
	}
	return at;
}

static bool
is_within(const struct span_link *l, const struct span *s)
{
	return l->trace.high == s->trace.high && l->trace.low == s->trace.low;
}

/* A link to another trace is in the number of links, which is an attribute. */
static uint8_t *
put_extras(struct span_pack *p, uint8_t *at, const struct span *s)
{
	uint32_t nlinks = 0;

	at = put_uint(at, s->nevents);
	for (uint32_t i = 0; i < s->nevents; i++) {
		const struct span_event *e = &s->events[i];

		at = put_int(at, difference(e->time_ns, s->begin_ns));
		at = put_text(p, at, EVENT_SLOT, e->name.s, e->name.len);
		at = put_attributes(p, at, EVENT_KEY_SLOTS, e->attributes, e->nattributes);
	}
	for (uint32_t i = 0; i < s->nlinks; i++)
		nlinks += is_within(&s->links[i], s);
	at = put_uint(at, nlinks);
	for (uint32_t i = 0; i < s->nlinks; i++)
		if (is_within(&s->links[i], s))
			at = put_fixed(at, s->links[i].id);
	return at;
}

void
span_pack_put(struct span_pack *p, struct buf *to, const struct span *s,
    const struct caller *caller, int64_t base_ns)
{
	size_t most = most_bytes(s);
	uint8_t *begin = buf_reserve(to, most), *at = begin;

	if (begin == NULL)
		return;
	*at++ = flags_of(s, caller);
	*at++ = s->kind;
	at = put_fixed(at, s->id);
	if (s->has_parent)
		at = put_fixed(at, s->parent);
	at = put_int(at, difference(s->begin_ns, base_ns));
	at = put_int(at, difference(s->end_ns, s->begin_ns));
	if (caller->link_id != 0) {
		at = put_fixed(at, caller->link_id);
		*at++ = (uint8_t)((caller->sampled ? CALLER_SAMPLED : 0) |
				  (caller->probed ? CALLER_PROBED : 0));
	}
	at = put_text(p, at, SERVICE_SLOT, s->service.s, s->service.len);
	at = put_text(p, at, NAME_SLOT, s->name.s, s->name.len);
	at = put_text(p, at, NODE_SLOT, s->node.s, s->node.len);
	at = put_attributes(p, at, KEY_SLOTS, s->attributes, s->nattributes);
	if (s->nevents + s->nlinks > 0)
		at = put_extras(p, at, s);
	assert((size_t)(at - begin) <= most);
	to->len += (size_t)(at - begin);
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
		v.u = read_u64(r);
		break;
	default:
		v.u = read_uint(r);
	}
	return v;
}

/* NULL: out of memory. */
static const struct attribute *
get_attributes(const struct span_pack *p, struct reader *r, uint32_t *count, struct arena *a)
{
	uint32_t n = (uint32_t)read_uint(r);
	struct attribute *all = arena_calloc(a, n + 1, sizeof *all);

	for (uint32_t i = 0; all != NULL && i < n; i++) {
		struct text_view key = get_text(p, r);

		all[i] = (struct attribute){ key.s, key.len, get_value(r) };
	}
	*count = n;
	return all;
}

/* The trace of its links is the caller's to set, with that of the span. */
static bool
get_extras(const struct span_pack *p, struct reader *r, struct span *s, struct arena *a)
{
	uint32_t nevents = (uint32_t)read_uint(r), nlinks;
	struct span_event *events = arena_calloc(a, nevents + 1, sizeof *events);
	struct span_link *links;

	for (uint32_t i = 0; events != NULL && i < nevents; i++) {
		events[i].time_ns = sum(s->begin_ns, read_int(r));
		events[i].name = get_text(p, r);
		events[i].attributes = get_attributes(p, r, &events[i].nattributes, a);
		if (events[i].attributes == NULL)
			return false;
	}
	if (events == NULL)
		return false;
	nlinks = (uint32_t)read_uint(r);
	if ((links = arena_calloc(a, nlinks + 1, sizeof *links)) == NULL)
		return false;
	for (uint32_t i = 0; i < nlinks; i++)
		links[i].id = read_u64(r);
	s->events = events;
	s->nevents = nevents;
	s->links = links;
	s->nlinks = nlinks;
	return true;
}

bool
span_pack_get(const struct span_pack *p, const void *data, size_t len, int64_t base_ns,
    struct span *ret, struct caller *caller, struct arena *a)
{
	const void *copy = arena_copy(a, data, len);
	struct reader r = reader_of(copy, len);
	uint8_t flags, more;

	if (copy == NULL)
		return false;
	flags = more = read_u8(&r);
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
	ret->attributes = get_attributes(p, &r, &ret->nattributes, a);
	if (ret->attributes == NULL || ((more & HAS_EXTRAS) != 0 && !get_extras(p, &r, ret, a)))
		return false;
	assert(!r.failed);
	return true;
}
