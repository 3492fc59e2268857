/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/unit/formats/kit.h"

/* ---- writing protobuf ---- */

static void
put_number(struct buf *b, uint32_t field, uint64_t v)
{
	buf_uint(b, field << 3);
	buf_uint(b, v);
}

static void
put_fixed(struct buf *b, uint32_t field, uint64_t v)
{
	buf_uint(b, field << 3 | 1);
	buf_u64(b, v);
}

static void
put_bytes(struct buf *b, uint32_t field, const void *data, size_t len)
{
	buf_uint(b, field << 3 | 2);
	buf_text(b, data, len);
}

/* Writes a message as a field of another one; it is empty afterwards. */
static void
put_message(struct buf *b, uint32_t field, struct buf *message)
{
	put_bytes(
	    b, field, message->data != NULL ? message->data : (const uint8_t *)"", message->len);
	buf_release(message);
	*message = (struct buf){ 0 };
}

static void
put_text_attribute(struct buf *b, uint32_t field, const char *key, const char *text)
{
	struct buf any = { 0 }, pair = { 0 };

	put_bytes(&any, 1, text, strlen(text));
	put_bytes(&pair, 1, key, strlen(key));
	put_message(&pair, 2, &any);
	put_message(b, field, &pair);
}

static void
put_resource(struct buf *b, const char *service)
{
	struct buf resource = { 0 };

	put_text_attribute(&resource, 1, "service.name", service);
	put_message(b, 1, &resource);
}

/* A span of trace 1..16 with all fields that are read. */
static void
put_span(struct buf *b, uint8_t id, uint8_t parent, const char *name, uint64_t begin_us,
    uint64_t end_us, struct buf *more)
{
	uint8_t trace[16], ids[8] = { 0 };
	struct buf span = { 0 };

	for (int i = 0; i < 16; i++)
		trace[i] = (uint8_t)(i + 1);
	put_bytes(&span, 1, trace, 16);
	ids[7] = id;
	put_bytes(&span, 2, ids, 8);
	put_bytes(&span, 3, "state=1", 7);
	ids[7] = parent;
	put_bytes(&span, 4, ids, parent != 0 ? 8 : 0);
	put_bytes(&span, 5, name, strlen(name));
	put_number(&span, 6, 2);
	put_fixed(&span, 7, UINT64_C(1544712660000000000) + begin_us * 1000);
	put_fixed(&span, 8, UINT64_C(1544712660000000000) + end_us * 1000);
	if (more != NULL)
		buf_bytes(&span, more->data, more->len);
	put_message(b, 2, &span);
}

/* ResourceSpans with one span, as field 1. */
static void
put_resource_spans(struct buf *b, const char *service, uint8_t id, uint8_t parent, const char *name,
    uint64_t begin_us, uint64_t end_us)
{
	struct buf scope = { 0 }, all = { 0 };

	put_resource(&all, service);
	put_span(&scope, id, parent, name, begin_us, end_us, NULL);
	put_message(&all, 2, &scope);
	put_message(b, 1, &all);
}

#define TREE_PATH "front:get+@0 cart:add+@10 cart:add-@90 front:get-@100"

static void
put_front(struct buf *b)
{
	put_resource_spans(b, "front", 1, 0, "get", 0, 100);
}

static void
put_cart(struct buf *b)
{
	put_resource_spans(b, "cart", 2, 1, "add", 10, 90);
}

static void
assert_tree(struct buf *b)
{
	struct kit *k = kit_bytes(b->data, b->len, NULL);

	kit_assert_clean(k);
	assert_int_equal(k->counts.spans, 2);
	assert_string_equal(kit_steps(k, 0), TREE_PATH);
	assert_true(k->traces[0]->id_high == UINT64_C(0x0102030405060708));
	assert_true(k->traces[0]->id == UINT64_C(0x090a0b0c0d0e0f10));
	kit_free(k);
	buf_release(b);
}

/* ---- tests ---- */

static void
a_file_may_be_one_message(void **state)
{
	struct buf b = { 0 };
	(void)state;

	put_front(&b);
	put_cart(&b);
	assert_tree(&b);
}

static void
messages_may_have_their_lengths_before_them(void **state)
{
	struct buf b = { 0 }, m = { 0 };
	(void)state;

	for (int i = 0; i < 2; i++) {
		i == 0 ? put_front(&m) : put_cart(&m);
		for (int s = 24; s >= 0; s -= 8)
			buf_u8(&b, (uint8_t)(m.len >> s));
		buf_bytes(&b, m.data, m.len);
		buf_reset(&m);
	}
	assert_tree(&b);
	b = (struct buf){ 0 };
	for (int i = 0; i < 2; i++) {
		i == 0 ? put_front(&m) : put_cart(&m);
		buf_text(&b, (const char *)m.data, m.len);
		buf_reset(&m);
	}
	assert_tree(&b);
	buf_release(&m);
}

static void
fields_come_in_any_order_and_unknown_ones_are_passed_over(void **state)
{
	struct buf b = { 0 }, all = { 0 }, scope = { 0 };
	(void)state;

	put_span(&scope, 1, 0, "get", 0, 100, NULL);
	put_bytes(&scope, 3, "https://schema", 14);
	put_number(&scope, 77, 7);
	put_message(&all, 1000, &scope); /* as instrumentation libraries were called */
	put_bytes(&all, 3, "https://schema", 14);
	put_resource(&all, "front");
	put_message(&b, 1, &all);
	put_cart(&b);
	assert_tree(&b);
}

static void
attributes_keep_their_types(void **state)
{
	struct buf b = { 0 }, all = { 0 }, scope = { 0 }, more = { 0 }, pair = { 0 }, any = { 0 };
	const char *label = "front/hone:request_begin(get)";
	uint64_t half;
	struct kit *k;
	(void)state;

	memcpy(&half, &(double){ 0.5 }, sizeof half);
	put_text_attribute(&more, 9, "s", "text");
	put_number(&any, 3, (uint64_t)-7);
	put_bytes(&pair, 1, "i", 1);
	put_message(&pair, 2, &any);
	put_message(&more, 9, &pair);
	put_fixed(&any, 4, half);
	put_bytes(&pair, 1, "d", 1);
	put_message(&pair, 2, &any);
	put_message(&more, 9, &pair);
	put_number(&any, 2, 1);
	put_bytes(&pair, 1, "b", 1);
	put_message(&pair, 2, &any);
	put_message(&more, 9, &pair);
	put_number(&any, 3, 2);
	put_message(&more, 15, &any); /* the status: an error */
	put_resource(&all, "front");
	put_span(&scope, 1, 0, "get", 0, 100, &more);
	put_message(&all, 2, &scope);
	put_message(&b, 1, &all);
	k = kit_bytes(b.data, b.len, NULL);
	kit_assert_clean(k);
	assert_string_equal(kit_value(k, 0, label, "s"), "text");
	assert_string_equal(kit_value(k, 0, label, "i"), "-7");
	assert_string_equal(kit_value(k, 0, label, "d"), "0.5");
	assert_string_equal(kit_value(k, 0, label, "b"), "1");
	assert_string_equal(kit_value(k, 0, label, "failed"), "1");
	kit_free(k);
	buf_release(&b);
	buf_release(&more);
}

/* Wherever the message is cut off, all spans before the cut are read. */
static void
a_file_that_ends_in_the_middle_gives_what_is_whole(void **state)
{
	struct buf b = { 0 };
	size_t first;
	(void)state;

	put_front(&b);
	first = b.len;
	put_cart(&b);
	for (size_t len = first; len < b.len; len++) {
		struct kit *k = kit_bytes(b.data, len, NULL);

		assert_int_equal(k->rc, 0);
		assert_int_equal(k->counts.spans, 1);
		assert_int_equal(kit_skipped(k, SKIP_TRUNCATED), len > first);
		assert_int_equal(kit_skipped(k, SKIP_MALFORMED), 0);
		kit_free(k);
	}
	buf_release(&b);
}

static void
of_a_large_message_that_is_cut_off_the_first_spans_are_read(void **state)
{
	struct buf b = { 0 }, all = { 0 }, scope = { 0 };
	struct kit *k;
	(void)state;

	put_resource(&all, "front");
	put_span(&scope, 1, 0, "get", 0, 100, NULL);
	for (int i = 2; i < 100; i++)
		put_span(&scope, (uint8_t)i, 1, "add", 10, 90, NULL);
	put_message(&all, 2, &scope);
	put_message(&b, 1, &all);
	k = kit_bytes(b.data, b.len / 2, NULL);
	assert_int_equal(k->rc, 0);
	assert_in_range(k->counts.spans, 45, 50);
	assert_int_equal(kit_skipped(k, SKIP_TRUNCATED), 1);
	kit_free(k);
	buf_release(&b);
}

static void
what_is_malformed_is_counted_and_the_rest_read(void **state)
{
	struct buf b = { 0 }, all = { 0 }, scope = { 0 }, bad = { 0 };
	struct kit *k;
	(void)state;

	put_resource(&all, "front");
	put_span(&scope, 1, 0, "get", 0, 100, NULL);
	put_bytes(&scope, 2, "\x0b\x0b\x0b", 3); /* a group */
	put_bytes(&scope, 2, "\x0a\x7f", 2);     /* a length that is too large */
	put_bytes(&scope, 2, "\x00\x01", 2);     /* field 0 */
	put_bytes(&bad, 2, "12345678", 8);
	put_message(&scope, 2, &bad); /* a span without trace id and times */
	put_message(&all, 2, &scope);
	put_message(&b, 1, &all);
	put_cart(&b);
	k = kit_bytes(b.data, b.len, NULL);
	assert_int_equal(k->rc, 0);
	assert_string_equal(kit_steps(k, 0), TREE_PATH);
	assert_int_equal(kit_skipped(k, SKIP_MALFORMED), 3);
	assert_int_equal(kit_skipped(k, SKIP_INCOMPLETE), 1);
	kit_free(k);
	buf_release(&b);
}

static int
check_extras(void *ctx, const struct span *s, struct err *e)
{
	(void)e;
	assert_int_equal(s->nevents, 1);
	assert_memory_equal(s->events[0].name.s, "retry", 5);
	assert_int_equal(s->events[0].time_ns, 1544712660000000777);
	assert_int_equal(s->events[0].nattributes, 1);
	assert_memory_equal(s->events[0].attributes[0].key, "why", 3);
	assert_int_equal(s->nlinks, 1);
	assert_int_equal(s->links[0].trace.high, 0x0101010101010101);
	assert_int_equal(s->links[0].id, 0x0707070707070707);
	assert_int_equal(s->nattributes, 1);
	assert_memory_equal(s->attributes[0].key, "hone.links", 10);
	assert_int_equal(s->attributes[0].value.u, 1);
	++*(int *)ctx;
	return 0;
}

/* To whoever takes spans one by one. */
static void
events_and_links_are_read_where_spans_are_taken(void **state)
{
	struct buf event = { 0 }, link = { 0 }, more = { 0 }, spans = { 0 }, resource = { 0 },
		   all = { 0 };
	struct labels *labels = labels_new();
	struct reading *r;
	struct err e;
	int seen = 0;
	const struct reading_options o = {
		.format = "otlp_proto", .message = true, .span = check_extras, .ctx = &seen
	};
	(void)state;

	put_fixed(&event, 1, UINT64_C(1544712660000000777));
	put_bytes(&event, 2, "retry", 5);
	put_text_attribute(&event, 3, "why", "late");
	put_bytes(&link, 1, "\1\1\1\1\1\1\1\1\2\2\2\2\2\2\2\2", 16);
	put_bytes(&link, 2, "\7\7\7\7\7\7\7\7", 8);
	put_message(&more, 11, &event);
	put_message(&more, 13, &link);
	put_span(&spans, 1, 0, "GET /", 0, 100, &more);
	put_resource(&resource, "shop");
	put_message(&resource, 2, &spans);
	put_message(&all, 1, &resource);
	assert_int_equal(reading_new(&r, &o, labels, &e), 0);
	assert_int_equal(reading_memory(r, all.data, all.len, &e), 0);
	assert_int_equal(seen, 1);
	reading_free(r);
	labels_free(labels);
	buf_release(&more);
	buf_release(&all);
}

static void
what_is_no_protobuf_is_refused(void **state)
{
	static const char *const texts[] = { "\n{\"a\":1}\n", "hello\n",
		"\x7f"
		"ELF\x02\x01\x01",
		"", "\x0a", "\x0a\x05hello" };
	(void)state;

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		struct kit *k = kit_bytes(texts[i], strlen(texts[i]), NULL);

		assert_int_equal(k->rc, ERR_INPUT);
		kit_free(k);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_may_be_one_message),
		cmocka_unit_test(messages_may_have_their_lengths_before_them),
		cmocka_unit_test(fields_come_in_any_order_and_unknown_ones_are_passed_over),
		cmocka_unit_test(attributes_keep_their_types),
		cmocka_unit_test(a_file_that_ends_in_the_middle_gives_what_is_whole),
		cmocka_unit_test(of_a_large_message_that_is_cut_off_the_first_spans_are_read),
		cmocka_unit_test(what_is_malformed_is_counted_and_the_rest_read),
		cmocka_unit_test(events_and_links_are_read_where_spans_are_taken),
		cmocka_unit_test(what_is_no_protobuf_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
