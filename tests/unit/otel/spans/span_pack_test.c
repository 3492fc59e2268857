/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "otel/spans/span_pack.h"
#include "wire/record.h"

static void
assert_text(struct text_view a, struct text_view b)
{
	assert_int_equal(a.len, b.len);
	if (a.len > 0)
		assert_memory_equal(a.s, b.s, a.len);
}

static size_t
round_trip(struct span_pack *p, const struct span *s, const struct caller *caller, int64_t base_ns)
{
	struct buf b = { 0 };
	struct arena a = { 0 };
	struct caller c;
	struct span got;
	size_t len;

	span_pack_put(p, &b, s, caller, base_ns);
	assert_false(b.failed);
	len = b.len;
	assert_true(span_pack_get(p, b.data, b.len, base_ns, &got, &c, &a));
	buf_release(&b); /* what was unpacked is a copy */
	assert_int_equal(got.id, s->id);
	assert_int_equal(got.has_parent, s->has_parent);
	assert_int_equal(got.parent, s->has_parent ? s->parent : 0);
	assert_int_equal(got.follows, s->follows);
	assert_int_equal(got.failed, s->failed);
	assert_int_equal(got.kind, s->kind);
	assert_int_equal(got.no_begin, s->no_begin);
	assert_int_equal(got.no_end, s->no_end);
	assert_int_equal(got.begin_ns, s->begin_ns);
	assert_int_equal(got.end_ns, s->end_ns);
	assert_int_equal(c.link_id, caller->link_id);
	assert_int_equal(c.sampled, caller->sampled);
	assert_int_equal(c.probed, caller->probed);
	assert_text(got.service, s->service);
	assert_text(got.name, s->name);
	assert_text(got.node, s->node);
	assert_int_equal(got.nattributes,
	    s->nattributes < RECORD_VALUES_MAX ? s->nattributes : RECORD_VALUES_MAX);
	for (uint32_t i = 0; i < got.nattributes; i++) {
		const struct attribute *x = &got.attributes[i], *y = &s->attributes[i];

		assert_text((struct text_view){ x->key, x->key_len },
		    (struct text_view){ y->key, y->key_len });
		assert_int_equal(x->value.type, y->value.type);
		if (y->value.type == VALUE_TEXT)
			assert_text((struct text_view){ x->value.text, x->value.len },
			    (struct text_view){ y->value.text, y->value.len });
		else
			assert_int_equal(x->value.u, y->value.u);
	}
	arena_release(&a);
	return len;
}

static void
a_span_comes_back_as_it_was(void **state)
{
	static char long_name[3000];
	struct attribute attributes[40];
	struct caller none = { 0 }, caller = { 77, true, false };
	struct span s = { .id = UINT64_MAX,
		.parent = 5,
		.begin_ns = 1000,
		.end_ns = 3000,
		.service = { "shop", 4 },
		.name = { "a\0b", 3 },
		.node = { NULL, 0 },
		.attributes = attributes };
	struct span_pack *p = span_pack_new();
	(void)state;

	memset(long_name, 'x', sizeof long_name);
	for (int i = 0; i < 40; i++)
		attributes[i] = (struct attribute){ "key", 3,
			{ .type = VALUE_UINT, .u = (uint64_t)i } };
	attributes[1].value = (struct value){ .type = VALUE_TEXT, .len = 5, .text = "value" };
	attributes[2].value = (struct value){ .type = VALUE_TEXT, .len = 0, .text = "" };
	attributes[3].value = (struct value){ .type = VALUE_INT, .i = INT64_MIN };
	attributes[4].value = (struct value){ .type = VALUE_REAL, .d = -0.5 };
	attributes[5].value = (struct value){ .type = VALUE_NONE };
	round_trip(p, &s, &none, 0);
	s.nattributes = 6;
	s.has_parent = s.failed = true;
	s.kind = SPAN_KIND_CLIENT;
	round_trip(p, &s, &caller, 500);
	s.nattributes = 40;
	s.follows = s.no_begin = s.no_end = true;
	s.begin_ns = INT64_MAX / 2;
	s.end_ns = -INT64_MAX / 2 - 2;
	round_trip(p, &s, &caller, INT64_MIN);
	s.name = (struct text_view){ long_name, sizeof long_name };
	round_trip(p, &s, &caller, INT64_MAX);
	span_pack_free(p);
}

/* Events with their attributes, and links to spans of the same trace; others are not kept. */
static void
events_and_links_come_back(void **state)
{
	struct attribute a[] = { { "size", 4, { .type = VALUE_INT, .i = -7 } },
		{ "why", 3, { .type = VALUE_TEXT, .len = 4, .text = "late" } } };
	struct span_event events[] = { { 900, { "early", 5 }, 0, NULL },
		{ 2000, { "", 0 }, 2, a } };
	struct span_link links[] = { { { 1, 2 }, 77 }, { { 1, 3 }, 78 }, { { 1, 2 }, 79 } };
	struct span s = { .id = 9,
		.trace = { 1, 2 },
		.begin_ns = 1000,
		.end_ns = 3000,
		.service = { "shop", 4 },
		.events = events,
		.nevents = 2,
		.links = links,
		.nlinks = 3 };
	struct caller none = { 0 }, c;
	struct span_pack *p = span_pack_new();
	struct arena arena = { 0 };
	struct buf b = { 0 };
	struct span got;
	(void)state;

	round_trip(p, &s, &none, 0);
	span_pack_put(p, &b, &s, &none, 50);
	assert_true(span_pack_get(p, b.data, b.len, 50, &got, &c, &arena));
	assert_int_equal(got.nevents, 2);
	assert_int_equal(got.events[0].time_ns, 900);
	assert_text(got.events[0].name, events[0].name);
	assert_int_equal(got.events[0].nattributes, 0);
	assert_int_equal(got.events[1].time_ns, 2000);
	assert_int_equal(got.events[1].nattributes, 2);
	assert_int_equal(got.events[1].attributes[0].value.i, -7);
	assert_memory_equal(got.events[1].attributes[1].value.text, "late", 4);
	assert_int_equal(got.nlinks, 2);
	assert_int_equal(got.links[0].id, 77);
	assert_int_equal(got.links[1].id, 79);
	buf_release(&b);
	arena_release(&arena);
	span_pack_free(p);
}

/* The sizes on which the documented bound of spans a second rests. */
static void
a_usual_span_is_small(void **state)
{
	struct attribute attributes[] = { { "http.request.method", 19,
					      { .type = VALUE_TEXT, .len = 3, .text = "GET" } },
		{ "url.path", 8, { .type = VALUE_TEXT, .len = 13, .text = "/basket/12345" } },
		{ "http.response.status_code", 25, { .type = VALUE_INT, .i = 200 } },
		{ "rows", 4, { .type = VALUE_INT, .i = 50 } } };
	struct span s = { .id = 1,
		.parent = 2,
		.has_parent = true,
		.begin_ns = 1003000000,
		.end_ns = 1005500000,
		.service = { "front", 5 },
		.name = { "GET /basket", 11 },
		.nattributes = 4,
		.attributes = attributes };
	struct caller none = { 0 };
	struct span_pack *p = span_pack_new();
	(void)state;

	assert_true(round_trip(p, &s, &none, 1000000000) < 64);
	span_pack_free(p);
}

/* Texts that are all different end in the spans, once there are too many. */
static void
texts_that_are_kept_are_bounded(void **state)
{
	struct span s = { .id = 1, .service = { "s", 1 } };
	struct caller none = { 0 };
	struct span_pack *p = span_pack_new();
	char name[PACK_TEXT_MAX];
	size_t len = 0;
	(void)state;

	memset(name, 'y', sizeof name);
	s.name = (struct text_view){ name, sizeof name };
	for (uint32_t i = 0; i < PACK_TEXTS_BYTES / PACK_TEXT_MAX + 100; i++) {
		memcpy(name, &i, sizeof i);
		len = round_trip(p, &s, &none, 0);
	}
	assert_true(len > sizeof name);
	memset(name, 0, sizeof(uint32_t));
	assert_true(round_trip(p, &s, &none, 0) < 64); /* the first ones are kept */
	span_pack_free(p);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_span_comes_back_as_it_was),
		cmocka_unit_test(events_and_links_come_back),
		cmocka_unit_test(a_usual_span_is_small),
		cmocka_unit_test(texts_that_are_kept_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
