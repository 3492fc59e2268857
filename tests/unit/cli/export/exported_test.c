/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/export/export_formats.h"

/* A front asks a cart, which also begins something that nobody waits for: after the end of its parent. */
static const char REQUEST[] =
    "{\"trace\":\"00000000000000a1\",\"type\":\"GET; /basket\",\"begin_ns\":1700000000000000123,\"total_ms\":3,\"lossy\":false,\"root\":0,\"incomplete\":null,"
    "\"group\":{\"group\":\"ff\",\"count\":40,\"usual_ms\":2,\"cv\":0.5,\"problem\":\"unpredictable\",\"from\":\"a\",\"to\":\"b\",\"share\":0.9},"
    "\"verdict\":{\"run\":7,\"kind\":\"place\",\"problem\":\"slow\",\"from\":\"a\",\"to\":\"b\",\"tracepoint\":\"p:x\",\"share\":0.8,\"in_group\":true},"
    "\"units\":["
    "{\"unit\":\"0000000000000001\",\"parent\":null,\"joined\":false,\"service\":\"front\",\"name\":\"GET; /basket\",\"node\":\"n1\",\"pid\":5,\"tid\":6,"
    "\"begin_ns\":0,\"end_ns\":3000000,\"critical\":true,\"path_ms\":1,\"edges_ms\":1,\"usual_ms\":0.5,\"share\":-0.1,\"fields\":{\"failed\":1,\"n\":1},"
    "\"records\":[{\"at_ns\":500,\"record\":\"p:x\",\"fields\":{\"key\":\"v\"}}]},"
    "{\"unit\":\"0000000000000002\",\"parent\":0,\"joined\":true,\"service\":\"cart\",\"name\":\"get\",\"node\":\"10.0.0.2\",\"pid\":0,\"tid\":0,"
    "\"begin_ns\":500000,\"end_ns\":2500000,\"critical\":true,\"path_ms\":2,\"edges_ms\":2,\"usual_ms\":1,\"share\":1.1,\"fields\":{},\"records\":[]},"
    "{\"unit\":\"0000000000000003\",\"parent\":1,\"joined\":false,\"service\":\"cart\",\"name\":\"log\",\"node\":\"10.0.0.2\",\"pid\":0,\"tid\":0,"
    "\"begin_ns\":2000000,\"end_ns\":null,\"critical\":false,\"path_ms\":null,\"edges_ms\":null,\"usual_ms\":null,\"share\":null,\"fields\":{},"
    "\"records\":[{\"at_ns\":4000000,\"record\":\"p:y\",\"fields\":{}}]}]}";

static struct exported
made(const char *text)
{
	json_t *j = json_loads(text, 0, NULL);
	struct exported x;
	struct err e;

	assert_non_null(j);
	assert_int_equal(exported_of(&x, j, &e), 0);
	json_decref(j);
	return x;
}

static const struct value *
attribute(const struct span *s, const char *key)
{
	for (uint32_t i = 0; i < s->nattributes; i++)
		if (s->attributes[i].key_len == strlen(key) &&
		    memcmp(s->attributes[i].key, key, strlen(key)) == 0)
			return &s->attributes[i].value;
	return NULL;
}

static void
a_unit_is_a_span_with_what_is_known_of_it(void **state)
{
	struct exported x = made(REQUEST);
	const struct span *front = &x.units[0].span, *cart = &x.units[1].span,
			  *log = &x.units[2].span;

	(void)state;
	assert_int_equal(x.n, 3);
	assert_int_equal(front->begin_ns, 1700000000000000123);
	assert_int_equal(front->end_ns, 1700000000003000123);
	assert_true(front->failed && !front->has_parent && !cart->failed);
	assert_null(attribute(front, "failed"));
	assert_int_equal(front->kind, SPAN_KIND_SERVER);
	assert_int_equal(cart->kind, SPAN_KIND_SERVER);
	assert_int_equal(cart->parent, 1);
	assert_float_equal(attribute(cart, "hone.share")->d, 1.1, 0);
	assert_float_equal(attribute(cart, "hone.usual_ms")->d, 1, 0);
	assert_int_equal(attribute(cart, "hone.critical_path")->u, 1);
	assert_null(attribute(log, "hone.share"));
	assert_memory_equal(attribute(front, "hone.verdict")->text, "place", 5);
	assert_memory_equal(attribute(front, "hone.verdict.edge")->text, "a -> b", 6);
	assert_memory_equal(attribute(front, "hone.group.problem")->text, "unpredictable", 13);
	assert_int_equal(attribute(front, "n")->i, 1);
	assert_int_equal(attribute(front, "thread.id")->i, 6);
	assert_null(attribute(cart, "thread.id"));
	assert_int_equal(front->nevents, 1);
	assert_int_equal(front->events[0].time_ns, 1700000000000000623);
	exported_release(&x);
}

/* The records of a request may come in another order than its units began. */
static void
what_is_known_of_the_request_stands_where_it_began(void **state)
{
	json_t *j = json_loads(REQUEST, 0, NULL);
	struct exported x;
	struct err e;

	(void)state;
	json_object_set_new(j, "root", json_integer(1));
	assert_int_equal(exported_of(&x, j, &e), 0);
	assert_null(attribute(&x.units[0].span, "hone.request"));
	assert_non_null(attribute(&x.units[1].span, "hone.request"));
	assert_non_null(attribute(&x.units[1].span, "hone.verdict"));
	exported_release(&x);
	json_decref(j);
}

static void
what_nobody_waits_for_follows_and_ends_with_its_last_record(void **state)
{
	struct exported x = made(REQUEST);
	const struct span *log = &x.units[2].span;

	(void)state;
	assert_true(log->follows && log->has_parent && log->parent == 2);
	assert_int_equal(log->kind, SPAN_KIND_CONSUMER);
	assert_false(log->no_end);
	assert_int_equal(log->end_ns, 1700000000004000123);
	exported_release(&x);
}

static void
what_is_no_request_is_refused(void **state)
{
	static const char *const no[] = {
		"{}", "[]", "{\"units\":[]}",
		"{\"trace\":\"0000000000000000\",\"begin_ns\":1,\"units\":[]}",
		"{\"trace\":\"0000000000000001\",\"begin_ns\":1,\"units\":[3]}",
		"{\"trace\":\"0000000000000001\",\"begin_ns\":1,\"units\":[{\"begin_ns\":\"x\"}]}"
	};

	(void)state;
	for (size_t i = 0; i < sizeof no / sizeof no[0]; i++) {
		json_t *j = json_loads(no[i], 0, NULL);
		struct exported x;
		struct err e;

		assert_int_equal(exported_of(&x, j, &e), ERR_INPUT);
		exported_release(&x);
		json_decref(j);
	}
}

static char *
written(const char *format, const char *request, size_t *len)
{
	struct exported x = made(request);
	struct export_sink *s;
	struct err e;
	char *text;
	FILE *f = open_memstream(&text, len);

	assert_int_equal(export_format(format)->open(&s, f, &e), 0);
	assert_int_equal(s->put(s, &x, &e), 0);
	assert_int_equal(s->close(s, &e), 0);
	fclose(f);
	exported_release(&x);
	return text;
}

static void
folded_stacks_add_up_and_have_no_separator_in_a_frame(void **state)
{
	size_t len;
	char *text = written("folded", REQUEST, &len);

	(void)state;
	assert_string_equal(
	    text, "front GET, /basket 1000000\nfront GET, /basket;cart get 2000000\n");
	free(text);
}

static uint64_t
events_of(const json_t *document, const char *phase, int64_t tid)
{
	const json_t *v, *all = json_object_get(document, "traceEvents");
	uint64_t n = 0;

	for (size_t i = 0; (v = json_array_get(all, i)) != NULL; i++)
		n += strcmp(json_string_value(json_object_get(v, "ph")), phase) == 0 &&
		     (tid < 0 || json_integer_value(json_object_get(v, "tid")) == tid);
	return n;
}

/* The log is longer than its parent, so it has a thread of its own and an arrow; the cart is another process. */
static void
spans_of_a_thread_nest_in_chrome(void **state)
{
	size_t len;
	char *text = written("chrome", REQUEST, &len);
	json_t *j = json_loads(text, 0, NULL);

	(void)state;
	assert_non_null(j);
	assert_int_equal(events_of(j, "X", -1), 3);
	for (int64_t tid = 1; tid <= 3; tid++)
		assert_int_equal(events_of(j, "X", tid), 1);
	assert_int_equal(events_of(j, "s", -1), 2);
	assert_int_equal(events_of(j, "f", -1), 2);
	assert_int_equal(events_of(j, "i", -1), 2);
	json_decref(j);
	free(text);
}

/* As of a malformed request. */
static void
parents_in_a_circle_end(void **state)
{
	struct exported x = made(REQUEST);

	(void)state;
	x.units[0].parent = 2;
	for (const struct export_format *f = export_formats; f->name != NULL; f++) {
		struct export_sink *s;
		FILE *null = fopen("/dev/null", "w");
		struct err e;

		assert_int_equal(f->open(&s, null, &e), 0);
		assert_int_equal(s->put(s, &x, &e), 0);
		assert_int_equal(s->close(s, &e), 0);
		fclose(null);
	}
	exported_release(&x);
}

static void
writing_to_a_full_disk_fails(void **state)
{
	(void)state;
	for (const struct export_format *f = export_formats; f->name != NULL; f++) {
		struct exported x = made(REQUEST);
		struct export_sink *s;
		FILE *full = fopen("/dev/full", "w");
		struct err e;
		int put, closed;

		assert_int_equal(f->open(&s, full, &e), 0);
		put = s->put(s, &x, &e);
		closed = s->close(s, &e);
		assert_true(put != 0 || closed == ERR_SYSTEM);
		fclose(full);
		exported_release(&x);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_unit_is_a_span_with_what_is_known_of_it),
		cmocka_unit_test(what_is_known_of_the_request_stands_where_it_began),
		cmocka_unit_test(what_nobody_waits_for_follows_and_ends_with_its_last_record),
		cmocka_unit_test(what_is_no_request_is_refused),
		cmocka_unit_test(folded_stacks_add_up_and_have_no_separator_in_a_frame),
		cmocka_unit_test(spans_of_a_thread_nest_in_chrome),
		cmocka_unit_test(parents_in_a_circle_end),
		cmocka_unit_test(writing_to_a_full_disk_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
