/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/unit/formats/kit.h"

#include <math.h>

#include "base/rng.h"
#include "formats/span_writer.h"

enum { SPANS_MAX = 400, ATTRIBUTES_MAX = 6 };

static const char *const formats_tried[] = { "otlp", "jaeger", "zipkin" };

struct copy { /* of a span, which owns its texts */
	struct span span;
	struct attribute attributes[ATTRIBUTES_MAX];
};

struct spans {
	struct copy list[SPANS_MAX];
	uint32_t n;
	struct arena arena;
};

static struct text_view
own(struct arena *a, struct text_view t)
{
	return (struct text_view){ arena_text(a, t.s, t.len), t.len };
}

static int
keep(void *ctx, const struct span *s, struct err *e)
{
	struct spans *to = ctx;
	struct copy *c = &to->list[to->n++];

	(void)e;
	assert_true(to->n <= SPANS_MAX && s->nattributes <= ATTRIBUTES_MAX);
	c->span = *s;
	c->span.name = own(&to->arena, s->name);
	c->span.service = own(&to->arena, s->service);
	c->span.node = own(&to->arena, s->node);
	for (uint32_t i = 0; i < s->nattributes; i++) {
		c->attributes[i] = s->attributes[i];
		c->attributes[i].key = arena_text(
		    &to->arena, s->attributes[i].key, s->attributes[i].key_len);
		if (s->attributes[i].value.type == VALUE_TEXT)
			c->attributes[i].value.text = arena_text(
			    &to->arena, s->attributes[i].value.text, s->attributes[i].value.len);
	}
	c->span.attributes = c->attributes;
	return 0;
}

static void
write_all(const char *format, const struct span *spans, uint32_t n, char **text, size_t *len)
{
	FILE *f = open_memstream(text, len);
	struct span_writer *w;
	struct err e;

	assert_non_null(f);
	assert_int_equal(span_writer_open(&w, format, f, &e), 0);
	for (uint32_t i = 0; i < n; i++)
		assert_int_equal(span_writer_put(w, &spans[i], &e), 0);
	assert_int_equal(span_writer_close(w, &e), 0);
	fclose(f);
}

static void
read_all(struct spans *to, const char *text, size_t len)
{
	struct reading_options o = { .span = keep, .ctx = to };
	struct labels *labels = labels_new();
	char path[] = "/tmp/hone-writer.XXXXXX";
	int fd = mkstemp(path);
	struct reading *r;
	struct reading_counts counts;
	struct err e;

	to->n = 0;
	assert_int_equal(write(fd, text, len), len);
	close(fd);
	assert_int_equal(reading_new(&r, &o, labels, &e), 0);
	assert_int_equal(reading_file(r, path, &e), 0);
	assert_int_equal(reading_end(r, &e), 0);
	reading_counts(r, &counts);
	for (int i = 0; i < SKIPS; i++)
		assert_true(counts.skipped[i].count == 0 || i == SKIP_UNTIMED);
	unlink(path);
	reading_free(r);
	labels_free(labels);
}

static const struct copy *
find(const struct spans *in, const struct span *like)
{
	for (uint32_t i = 0; i < in->n; i++)
		if (in->list[i].span.id == like->id &&
		    in->list[i].span.trace.low == like->trace.low &&
		    in->list[i].span.trace.high == like->trace.high)
			return &in->list[i];
	return NULL;
}

static void
assert_text(struct text_view a, struct text_view b)
{
	assert_int_equal(a.len, b.len);
	if (a.len > 0)
		assert_memory_equal(a.s, b.s, a.len);
}

static void
assert_equal_spans(const struct span *a, const struct span *b, bool us, bool texts)
{
	assert_int_equal(a->has_parent, b->has_parent);
	if (a->has_parent)
		assert_true(a->parent == b->parent);
	assert_int_equal(a->follows, b->follows);
	assert_int_equal(a->failed, b->failed);
	assert_int_equal(a->no_begin, b->no_begin);
	assert_int_equal(a->no_end, b->no_end);
	if (!a->no_begin)
		assert_true(
		    a->begin_ns >= b->begin_ns && a->begin_ns - b->begin_ns < (us ? 1000 : 1));
	if (!a->no_end)
		assert_true(b->end_ns >= a->end_ns && b->end_ns - a->end_ns < (us ? 1000 : 1));
	assert_text(a->name, b->name);
	assert_text(a->service, b->service);
	assert_text(a->node, b->node);
	assert_int_equal(a->nattributes, b->nattributes);
	for (uint32_t i = 0; i < a->nattributes; i++) {
		const struct value *v = &a->attributes[i].value, *w = &b->attributes[i].value;

		assert_int_equal(a->attributes[i].key_len, b->attributes[i].key_len);
		assert_memory_equal(
		    a->attributes[i].key, b->attributes[i].key, a->attributes[i].key_len);
		if (v->type == VALUE_UINT && texts) /* of Zipkin: the texts true and false */
			continue;
		assert_int_equal(v->type, w->type);
		if (v->type == VALUE_TEXT)
			assert_text((struct text_view){ v->text, v->len },
			    (struct text_view){ w->text, w->len });
		else if (v->type == VALUE_REAL)
			assert_true(v->d == w->d);
		else
			assert_true(v->i == w->i);
	}
}

static struct text_view
view(const char *s)
{
	return (struct text_view){ s, (uint32_t)strlen(s) };
}

static void
draw(struct rng *r, struct span *spans, struct attribute (*attributes)[ATTRIBUTES_MAX], uint32_t n)
{
	static const char *const names[] = { "get", "a \"quoted\" \\ name",
		"na\xc3\xafve \xe2\x82\xac \xf0\x9f\x98\x80", "tab\there", "GET /cart?x=1" };
	static const char *const keys[] = { "thread.id", "http.method", "hone.ms", "ok", "note",
		"x" };

	for (uint32_t i = 0; i < n; i++) {
		struct span *s = &spans[i];

		*s = (struct span){ .trace = { i / 10 % 2 ? 0 : 0xabcdef0000000000u + i / 10,
					1 + i / 10 },
			.id = rng_next(r) | 1,
			.has_parent = i % 10 > 0,
			.kind = (uint8_t)rng_below(r, SPAN_KINDS),
			.failed = rng_below(r, 4) == 0,
			.begin_ns = 1700000000000000000 + (int64_t)rng_below(r, 1000000000000),
			.service = view(names[rng_below(r, 3)]),
			.node = view(rng_below(r, 2) == 0 ? "node-1" : ""),
			.name = view(names[rng_below(r, 5)]) };
		s->end_ns = s->begin_ns + (int64_t)rng_below(r, 100000000);
		s->parent = s->has_parent ? spans[i - 1 - rng_below(r, i % 10)].id : 0;
		s->follows = s->kind == SPAN_KIND_CONSUMER;
		s->no_end = rng_below(r, 10) == 0;
		s->attributes = attributes[i];
		s->nattributes = (uint32_t)rng_below(r, ATTRIBUTES_MAX + 1);
		for (uint32_t k = 0; k < s->nattributes; k++) {
			struct value v = { .type = VALUE_INT, .i = (int64_t)rng_next(r) };

			if (k % 4 == 1)
				v = (struct value){ .type = VALUE_TEXT,
					.len = view(names[k % 5]).len,
					.text = names[k % 5] };
			else if (k % 4 == 2)
				v = (struct value){ .type = VALUE_REAL, .d = rng_normal(r) + 0.1 };
			else if (k % 4 == 3)
				v = (struct value){ .type = VALUE_UINT, .u = rng_below(r, 2) };
			attributes[i][k] = (struct attribute){ keys[k], view(keys[k]).len, v };
		}
	}
}

static void
what_is_written_is_read_back(void **state)
{
	static struct span spans[SPANS_MAX];
	static struct attribute attributes[SPANS_MAX][ATTRIBUTES_MAX];
	static struct spans back;
	struct rng r;

	(void)state;
	for (uint64_t seed = 1; seed <= 10; seed++)
		for (int f = 0; f < 3; f++) {
			char *text;
			size_t len;

			rng_seed(&r, seed);
			draw(&r, spans, attributes, 200);
			if (strcmp(formats_tried[f], "zipkin") == 0)
				for (uint32_t i = 0; i < 200;
				     i++) /* its tag error is an attribute, too */
					spans[i].failed = false;
			write_all(formats_tried[f], spans, 200, &text, &len);
			read_all(&back, text, len);
			assert_int_equal(back.n, 200);
			for (uint32_t i = 0; i < 200; i++) {
				const struct copy *c = find(&back, &spans[i]);

				assert_non_null(c);
				assert_equal_spans(&spans[i], &c->span, f > 0, f == 2);
			}
			arena_release(&back.arena);
			free(text);
		}
}

/* Readers leave events out; the exporters' tests read them with other programs. */
static void
events_are_written_and_do_not_disturb_readers(void **state)
{
	static const char *const written[] = {
		"\"events\":[{\"timeUnixNano\":\"1700000000000001500\",\"name\":\"p:\\\"x\\\"\",\"attributes\":[{\"key\":\"key\",\"value\":{\"intValue\":\"7\"}}]}]",
		"\"logs\":[{\"timestamp\":1700000000000001,\"fields\":[{\"key\":\"event\",\"type\":\"string\",\"value\":\"p:\\\"x\\\"\"},{\"key\":\"key\",\"type\":\"int64\",\"value\":7}]}]",
		"\"annotations\":[{\"timestamp\":1700000000000001,\"value\":\"p:\\\"x\\\" key=7\"}]"
	};
	static const char *const names[] = { "otlp", "jaeger", "zipkin" };
	const struct attribute a = { "key", 3, { .type = VALUE_INT, .i = 7 } };
	const struct span_event event = { 1700000000000001500, view("p:\"x\""), 1, &a };
	const struct span span = { .trace = { 0, 1 },
		.id = 2,
		.begin_ns = 1700000000000000000,
		.end_ns = 1700000000000000000,
		.service = view("s"),
		.name = view("n"),
		.node = view("10.0.0.1"),
		.nevents = 1,
		.events = &event };
	static struct spans back;

	(void)state;
	for (int f = 0; f < 3; f++) {
		char *text;
		size_t len;

		write_all(names[f], &span, 1, &text, &len);
		assert_non_null(strstr(text, written[f]));
		if (f == 2) /* Zipkin permits no duration of 0, and an address in the endpoint */
			assert_non_null(strstr(text,
			    "\"duration\":1,\"localEndpoint\":{\"serviceName\":\"s\",\"ipv4\":\"10.0.0.1\"}"));
		read_all(&back, text, len);
		assert_int_equal(back.n, 1);
		assert_text(back.list[0].span.node, span.node);
		arena_release(&back.arena);
		free(text);
	}
}

/* Writing what was read gives the same bytes again. */
static void
writing_is_idempotent(void **state)
{
	static struct span spans[SPANS_MAX], again[SPANS_MAX];
	static struct attribute attributes[SPANS_MAX][ATTRIBUTES_MAX];
	static struct spans back;
	struct rng r;

	(void)state;
	for (int f = 0; f < 3; f++) {
		char *one, *two;
		size_t len_one, len_two;

		rng_seed(&r, 5);
		draw(&r, spans, attributes, 100);
		for (uint32_t i = 0; i < 100; i++)
			spans[i].nattributes = spans[i].failed && f == 2 ? 0 : spans[i].nattributes;
		write_all(formats_tried[f], spans, 100, &one, &len_one);
		read_all(&back, one, len_one);
		for (uint32_t i = 0; i < back.n; i++)
			again[i] = back.list[i].span;
		write_all(formats_tried[f], again, back.n, &two, &len_two);
		arena_release(&back.arena);
		assert_int_equal(len_one, len_two);
		assert_memory_equal(one, two, len_one);
		free(one);
		free(two);
	}
}

static void
a_failed_span_has_the_tag_error_in_zipkin(void **state)
{
	struct span s = { .trace = { 0, 1 },
		.id = 2,
		.begin_ns = 1000,
		.end_ns = 2000,
		.failed = true,
		.name = view("x"),
		.service = view("s") };
	static struct spans back;
	char *text;
	size_t len;

	(void)state;
	write_all("zipkin", &s, 1, &text, &len);
	read_all(&back, text, len);
	assert_true(back.list[0].span.failed);
	assert_int_equal(back.list[0].span.nattributes, 1);
	arena_release(&back.arena);
	free(text);
}

static void
bytes_that_are_no_text_are_replaced(void **state)
{
	static const char bad[] = "a\xff\xc0\x80\xed\xa0\x80 b\x01";
	struct attribute nan = { "d", 1, { .type = VALUE_REAL, .d = NAN } };
	struct span s = { .trace = { 0, 1 },
		.id = 2,
		.begin_ns = 1000,
		.end_ns = 2000,
		.name = view(bad),
		.service = view("s"),
		.nattributes = 1,
		.attributes = &nan };
	static struct spans back;

	(void)state;
	for (int f = 0; f < 3; f++) {
		char *text;
		size_t len;

		write_all(formats_tried[f], &s, 1, &text, &len);
		read_all(&back, text, len);
		assert_int_equal(back.n, 1);
		assert_string_equal(back.list[0].span.name.s,
		    "a\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd b\x01");
		arena_release(&back.arena);
		free(text);
	}
}

static void
a_document_without_spans_is_a_document(void **state)
{
	static const char *const empty[] = { "{\"resourceSpans\":[]}\n", "{\"data\":[]}\n",
		"[]\n" };
	struct span_writer *w;
	struct err e;

	(void)state;
	for (int f = 0; f < 3; f++) {
		char *text;
		size_t len;

		write_all(formats_tried[f], NULL, 0, &text, &len);
		assert_string_equal(text, empty[f]);
		free(text);
	}
	assert_int_equal(span_writer_open(&w, "ctf", stdout, &e), ERR_MISSING);
	assert_null(w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_is_read_back),
		cmocka_unit_test(events_are_written_and_do_not_disturb_readers),
		cmocka_unit_test(writing_is_idempotent),
		cmocka_unit_test(a_failed_span_has_the_tag_error_in_zipkin),
		cmocka_unit_test(bytes_that_are_no_text_are_replaced),
		cmocka_unit_test(a_document_without_spans_is_a_document),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
