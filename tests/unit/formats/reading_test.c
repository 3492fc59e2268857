/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files and folders: their format is detected, skipped parts are counted with their place, and
 * other threads may ask for the progress. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>

#include "formats/ctf_reader.h"
#include "formats/seen_traces.h"
#include "tests/unit/formats/kit.h"

#define TRACE(id) TRACE_OF(id, "100")
#define TRACE_OF(id, took_us)                                             \
	"{\"traceID\":\"" id "\",\"spans\":[{\"traceID\":\"" id           \
	"\",\"spanID\":\"1\",\"operationName\":\"op\","                   \
	"\"references\":[],\"startTime\":0,\"duration\":" took_us         \
	",\"processID\":\"p1\"}],\"processes\":{\"p1\":{\"serviceName\":" \
	"\"s\",\"tags\":[]}}}"

static char folder[] = "/tmp/reading_test.XXXXXX";

static int
make_folder(void **state)
{
	(void)state;
	return mkdtemp(folder) == NULL;
}

static int
remove_folder(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof command, "rm -r %s", folder);
	return system(command);
}

static const char *
put(const char *name, const char *data)
{
	static char path[256];
	char *slash;
	FILE *f;

	snprintf(path, sizeof path, "%s/%s", folder, name);
	slash = strrchr(path, '/');
	*slash = '\0';
	mkdir(path, 0700);
	*slash = '/';
	f = fopen(path, "w");
	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, strlen(data), f), strlen(data));
	fclose(f);
	return path;
}

static const char *
in_folder(const char *name)
{
	static char path[256];

	snprintf(path, sizeof path, "%s/%s", folder, name);
	return path;
}

static void
formats_are_detected_by_content(void **state)
{
	struct kit k;
	(void)state;

	kit_begin(&k, 0);
	assert_int_equal(reading_file(k.r, put("anything.txt", "[" TRACE("1") "]"), &k.e), 0);
	assert_int_equal(k.ntraces, 1);
	assert_int_equal(kit_counts(&k).files, 1);
	assert_int_equal(kit_counts(&k).files_failed, 0);
	kit_end(&k);
}

static void
a_trace_that_is_read_again_counts_once(void **state)
{
	struct kit k;
	(void)state;

	kit_begin(&k, 0);
	assert_int_equal(
	    reading_file(k.r, put("twice/a", "[" TRACE("1") "," TRACE("2") "]"), &k.e), 0);
	assert_int_equal(reading_file(k.r, in_folder("twice/a"), &k.e), 0);
	assert_int_equal(
	    reading_file(k.r, put("twice/b", "[" TRACE("3") "," TRACE("2") "]"), &k.e), 0);
	assert_int_equal(reading_end(k.r, &k.e), 0);
	assert_int_equal(k.ntraces, 3);
	assert_int_equal(kit_counts(&k).traces, 3);
	assert_int_equal(kit_counts(&k).spans_used, 3);
	assert_int_equal(kit_skipped(&k, SKIP_REPEATED), 3);
	assert_int_equal(kit_skipped(&k, SKIP_SAME_ID), 0);
	kit_end(&k);
}

/* Another trace with the same id counts as another request; test programs make such traces. */
static void
the_same_id_with_other_content_is_reported(void **state)
{
	struct kit k;
	(void)state;

	kit_begin(&k, 0);
	assert_int_equal(
	    reading_file(k.r, put("same/a", "[" TRACE("1") "," TRACE_OF("1", "101") "]"), &k.e), 0);
	assert_int_equal(k.ntraces, 2);
	assert_int_equal(kit_skipped(&k, SKIP_REPEATED), 0);
	assert_int_equal(kit_skipped(&k, SKIP_SAME_ID), 1);
	kit_end(&k);
}

/* Of far more traces than are remembered, the last ones are. */
static void
repeats_are_recognised_in_bounded_memory(void **state)
{
	enum { BYTES = 1 << 20, TRACES = 200000, KNOWN = BYTES / 86 };
	struct trace t = { .id_high = 7 };
	struct seen_traces s;
	(void)state;

	seen_traces_init(&s, BYTES);
	for (t.id = 0; t.id < TRACES; t.id++)
		assert_int_equal(seen_traces_add(&s, &t), SEEN_NEVER);
	for (t.id = TRACES - KNOWN; t.id < TRACES; t.id++)
		assert_int_equal(seen_traces_add(&s, &t), SEEN_BEFORE);
	t.id = 0;
	assert_int_equal(seen_traces_add(&s, &t), SEEN_NEVER);
	assert_true((s.tables[0].mask + s.tables[1].mask + 2) * sizeof(struct hash_slot) <= BYTES);
	seen_traces_release(&s);
}

/* Whoever writes the files chooses the ids. */
static void
an_id_with_many_contents_costs_no_search(void **state)
{
	enum { TRACES = 400000 };
	struct event event = { 0 };
	struct trace t = { .id = 1, .nevents = 1, .events = &event };
	struct seen_traces s;
	uint32_t confused = 0;
	(void)state;

	seen_traces_init(&s, 64 << 20);
	alarm(
	    120); /* a search through all of them would take longer than that, the rest a second */
	for (event.time_ns = 0; event.time_ns < TRACES; event.time_ns++)
		confused += seen_traces_add(&s, &t) != (event.time_ns == 0 ? SEEN_NEVER : SEEN_ID);
	for (event.time_ns = 0; event.time_ns < TRACES; event.time_ns += 1000)
		assert_int_equal(seen_traces_add(&s, &t), SEEN_BEFORE);
	alarm(0);
	assert_in_range(confused, 0, 100); /* contents are known by 32 bits: some 20 are expected */
	seen_traces_release(&s);
}

/* Each file is skipped with its reason, and reading continues. */
static void
a_file_without_traces_is_reported(void **state)
{
	static const struct {
		const char *data, *words;
	} files[] = {
		{ "Dear reader,\n", "not one of the known formats" },
		{ "", "empty" },
		{ "{\"data\":[{\"traceID\":\"1\",\"spans\":[{\"spanID\":", "no part of the input" },
		{ "{}", "not one of the known formats" },
		{ "\x7f"
		  "ELF\x01",
		    "not one of the known formats" },
	};
	struct kit k;
	(void)state;

	kit_begin(&k, 0);
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		const char *path = put("bad", files[i].data);

		assert_int_equal(reading_file(k.r, path, &k.e), ERR_INPUT);
		assert_non_null(strstr(k.e.text, files[i].words));
		assert_non_null(strstr(k.e.text, path));
		assert_int_equal(kit_counts(&k).files_failed, i + 1);
		assert_int_equal(kit_skipped(&k, SKIP_FILE), i + 1);
	}
	assert_string_equal(kit_counts(&k).skipped[SKIP_FILE].file, in_folder("bad"));
	assert_int_equal(reading_file(k.r, put("good", TRACE("1")), &k.e), 0);
	assert_int_equal(k.ntraces, 1);
	assert_int_equal(reading_file(k.r, in_folder("missing"), &k.e), ERR_SYSTEM);
	kit_end(&k);
}

static void
a_format_can_be_named(void **state)
{
	struct labels *labels = labels_new();
	struct reading_options o = { .take = kit_take, .format = "jaeger" };
	struct reading *r;
	struct err e;
	(void)state;

	assert_int_equal(reading_new(&r, &o, labels, &e), 0);
	assert_int_equal(reading_file(r, put("x", "Dear reader,\n"), &e), ERR_INPUT);
	reading_free(r);
	o.format = "nonsense";
	assert_int_equal(reading_new(&r, &o, labels, &e), 0);
	assert_int_equal(reading_file(r, put("x", TRACE("1")), &e), ERR_MISSING);
	assert_string_equal(e.text,
	    "nonsense: unknown format; the known formats are jaeger, otlp_json, otlp_proto, zipkin, xtrace, nezha or ctf");
	reading_free(r);
	labels_free(labels);
}

static void
an_unknown_format_is_refused_with_the_known_ones(void **state)
{
	struct kit k;
	(void)state;

	kit_begin(&k, 0);
	assert_int_equal(
	    reading_file(k.r, put("letter", "Dear reader, this is a letter.\n"), &k.e), ERR_INPUT);
	assert_non_null(strstr(
	    k.e.text, "letter: the format is not one of the known formats: jaeger, otlp_json"));
	kit_end(&k);
}

/* Names beyond the memory for names are all "(other)". */
static void
names_are_in_bounded_memory(void **state)
{
	enum { BYTES = 64 << 10, SPANS = 5000 };
	struct kit k = { .labels = labels_new() };
	struct reading_options o = {
		.names_max_bytes = BYTES, .memory_max_bytes = 64 << 20, .take = kit_take, .ctx = &k
	};
	uint32_t last = 0;
	(void)state;

	assert_int_equal(reading_new(&k.r, &o, k.labels, &k.e), 0);
	for (uint64_t i = 1; i <= SPANS; i++) {
		char name[128];
		struct span s = { .trace = { 0, i }, .id = i, .end_ns = 1 };

		snprintf(name, sizeof name, "%0100d", (int)i);
		s.name = s.node = (struct text_view){ name, 100 };
		assert_int_equal(reading_span(k.r, &s, &k.e), 0);
		last = reading_node(k.r, name, 100);
	}
	assert_int_equal(reading_end(k.r, &k.e), 0);
	assert_int_equal(k.ntraces, SPANS);
	assert_in_range(kit_skipped(&k, SKIP_NAMES), SPANS - BYTES / 100, SPANS - 1);
	assert_true(last < BYTES / 100 + 2);
	assert_string_equal(reading_nodes(k.r)[last], "(other)");
	kit_end(&k);
}

/* The texts are those of babeltrace2 2.0. */
static void
records_that_go_back_in_time_are_no_truncation(void **state)
{
	(void)state;

	assert_int_equal(
	    ctf_stopped_by("babeltrace2: Youngest upstream message iterator wrapper's timestamp is "
			   "less than muxer's message iterator's last returned timestamp: ts=1"),
	    SKIP_CLOCK);
	assert_int_equal(ctf_stopped_by("babeltrace2: Invalid, non-monotonic, packet offset "
					"encountered in LTTng trace index file"),
	    SKIP_CLOCK);
	assert_int_equal(ctf_stopped_by("babeltrace2: Reached end of file"), SKIP_TRUNCATED);
}

static void
folders_are_read_by_name(void **state)
{
	struct kit k;
	(void)state;

	put("all/b.json", TRACE("2"));
	put("all/a.json", TRACE("1"));
	put("all/README", "Dear reader,\n");
	put("all/c/1.json", "[" TRACE("3") "," TRACE("4") "]");
	put("all/.hidden", TRACE("5"));
	put("none/README", "Dear reader,\n");
	assert_int_equal(mkfifo(in_folder("all/b.pipe"), 0600), 0); /* without a writer */
	assert_int_equal(symlink("a.json", in_folder("all/d.json")), 0);
	assert_int_equal(symlink("nowhere", in_folder("all/e.json")), 0);
	kit_begin(&k, 0);
	assert_int_equal(reading_file(k.r, in_folder("all"), &k.e), 0);
	assert_int_equal(k.ntraces, 4);
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(k.traces[i]->id, i + 1);
	assert_int_equal(kit_skipped(&k, SKIP_REPEATED), 1); /* by the link */
	assert_int_equal(kit_counts(&k).files, 6);
	assert_int_equal(
	    kit_counts(&k).files_failed, 2); /* README, and the link that leads nowhere */
	assert_int_equal(reading_file(k.r, in_folder("none"), &k.e), ERR_INPUT);
	kit_end(&k);
}

static void
a_folder_in_itself_ends(void **state)
{
	struct kit k;
	(void)state;

	put("round/a.json", TRACE("1"));
	assert_int_equal(symlink(".", in_folder("round/self")), 0);
	kit_begin(&k, 0);
	assert_int_equal(reading_file(k.r, in_folder("round"), &k.e), 0);
	assert_int_equal(k.ntraces, 1);
	kit_end(&k);
}

/* File, offset and message of the first skip; the count of all. */
static void
skips_have_a_place(void **state)
{
	static const char text[] = TRACE("1") "\n{\"traceID\":\"2\",\"spans\":[nope]}\n" TRACE(
	    "3") "\n[nope\n";
	const struct skipped *s;
	struct reading_counts c;
	struct kit k;
	(void)state;

	kit_begin(&k, 0);
	assert_int_equal(reading_file(k.r, put("places", text), &k.e), 0);
	assert_int_equal(k.ntraces, 2);
	c = kit_counts(&k);
	s = &c.skipped[SKIP_MALFORMED];
	assert_int_equal(s->count, 2);
	assert_string_equal(s->file, in_folder("places"));
	assert_int_equal(s->offset, strstr(text, "nope") - text);
	assert_int_not_equal(strlen(s->why), 0);
	kit_end(&k);
}

static int
refuse(void *ctx, struct trace *t, struct err *e)
{
	trace_free(t);
	return ++*(int *)ctx == 2 ? err_set(e, ERR_PEER, "no more") : 0;
}

static void
the_receiver_can_end_the_reading(void **state)
{
	int taken = 0;
	struct reading_options o = { .take = refuse, .ctx = &taken };
	struct labels *labels = labels_new();
	struct reading *r;
	struct err e;
	(void)state;

	assert_int_equal(reading_new(&r, &o, labels, &e), 0);
	assert_int_equal(
	    reading_file(r, put("three", TRACE("1") TRACE("2") TRACE("3")), &e), ERR_PEER);
	assert_int_equal(taken, 2);
	assert_non_null(strstr(e.text, "no more"));
	reading_free(r);
	labels_free(labels);
}

/* ---- threads ---- */

struct asked {
	struct reading *r;
	_Atomic bool done;
	uint64_t most;
};

static void *
ask(void *arg)
{
	struct asked *a = arg;
	uint64_t done, size;

	while (!a->done) {
		reading_progress(a->r, &done, &size);
		a->most = done > a->most ? done : a->most;
	}
	return NULL;
}

/* One thread asks for the progress all the time while the one that receives a trace looks up its
 * nodes. ThreadSanitizer finds races. */
static void
other_threads_may_ask_for_the_progress(void **state)
{
	struct kit k;
	struct asked a = { 0 };
	pthread_t thread;
	FILE *f;
	(void)state;

	f = fopen(in_folder("large"), "w");
	assert_non_null(f);
	for (int i = 0; i < 5000; i++)
		fprintf(f, TRACE("%d") "\n", i + 1, i + 1);
	fclose(f);
	kit_begin(&k, 0);
	a.r = k.r;
	assert_int_equal(pthread_create(&thread, NULL, ask, &a), 0);
	for (int i = 0; i < 5; i++)
		assert_int_equal(reading_file(k.r, in_folder("large"), &k.e), 0);
	a.done = true;
	pthread_join(thread, NULL);
	assert_int_equal(k.ntraces, 5000);
	assert_int_equal(kit_skipped(&k, SKIP_REPEATED), 20000);
	assert_string_equal(reading_nodes(k.r)[k.traces[0]->events[0].node], "");
	kit_end(&k);
}

static void
nodes_have_numbers(void **state)
{
	struct kit k;
	char name[32];
	(void)state;

	kit_begin(&k, 0);
	for (uint32_t i = 0; i < 70000; i++) {
		uint32_t id = reading_node(
		    k.r, name, (size_t)snprintf(name, sizeof name, "node%u", i));

		assert_int_equal(id, i < 65536 ? i : 65536);
		assert_int_equal(reading_node(k.r, name, strlen(name)), id);
	}
	assert_string_equal(reading_nodes(k.r)[7], "node7");
	assert_string_equal(reading_nodes(k.r)[65536], "(other)");
	assert_int_equal(reading_node(k.r, "node7", 5), 7);
	assert_int_equal(reading_node(k.r, "node70", 5), 7);
	kit_end(&k);
}

/* Longer than the name that it begins with, which was the last one: under AddressSanitizer. */
static void
a_node_with_a_byte_of_0_in_its_name_ends_there(void **state)
{
	struct kit k;
	(void)state;

	kit_begin(&k, 0);
	assert_int_equal(reading_node(k.r, "ab", 2), 0);
	assert_int_equal(reading_node(k.r, "ab\0cdefghijklmnopqrstuvwxyz", 28), 0);
	assert_int_equal(reading_node(k.r, "\0b", 2), 1);
	assert_string_equal(reading_nodes(k.r)[1], "");
	kit_end(&k);
}

/* ---- memory, and spans as they are ---- */

struct spans_taken {
	uint32_t n;
	uint8_t kind;
	char state[64], service[16];
	int code; /* that take returns */
};

static int
take_span(void *ctx, const struct span *s, struct err *e)
{
	struct spans_taken *t = ctx;

	t->n++;
	t->kind = s->kind;
	snprintf(t->state, sizeof t->state, "%.*s", (int)s->state.len, s->state.s);
	snprintf(t->service, sizeof t->service, "%.*s", (int)s->service.len, s->service.s);
	return t->code == 0 ? 0 : err_set(e, t->code, "no more");
}

static int
read_spans(struct spans_taken *t, const char *format, bool message, const void *data, size_t len)
{
	struct labels *labels = labels_new();
	struct reading_options o = { .span = take_span, .ctx = t, .format = format };
	struct reading *r;
	struct err e;
	int rc;

	o.message = message;
	assert_int_equal(reading_new(&r, &o, labels, &e), 0);
	rc = reading_memory(r, data, len, &e);
	reading_free(r);
	labels_free(labels);
	return rc;
}

static void
spans_in_memory_are_handed_out_as_they_are(void **state)
{
	static const char json
	    [] =
		"{\"resourceSpans\":[{\"scopeSpans\":[{\"spans\":[{\"traceId\":\"00000000000000000000000000000001\","
		"\"spanId\":\"0000000000000002\",\"kind\":3,\"traceState\":\"hone=1,x=y\",\"name\":\"a\","
		"\"startTimeUnixNano\":\"5\",\"endTimeUnixNano\":\"9\"}]}],"
		"\"resource\":{\"attributes\":[{\"key\":\"service.name\",\"value\":{\"stringValue\":\"s\"}}]}}]}",
	zipkin[] =
	    "[{\"traceId\":\"1\",\"id\":\"2\",\"kind\":\"SERVER\",\"name\":\"a\",\"timestamp\":5,\"duration\":4,"
	    "\"localEndpoint\":{\"serviceName\":\"z\"}}]";
	/* ResourceSpans { ScopeSpans { Span { trace, id, tracestate "t=1", kind 5, begin, end } } } */
	static const uint8_t proto[] = { 0x0a, 57, 0x12, 55, 0x12, 53, 0x0a, 16, 0, 0, 0, 0, 0, 0,
		0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0x12, 8, 0, 0, 0, 0, 0, 0, 0, 2, 0x1a, 3, 't', '=',
		'1', 0x30, 5, 0x39, 5, 0, 0, 0, 0, 0, 0, 0, 0x41, 9, 0, 0, 0, 0, 0, 0, 0 };
	struct spans_taken t = { 0 };
	(void)state;

	assert_int_equal(read_spans(&t, "otlp_json", true, json, sizeof json - 1), 0);
	assert_int_equal(t.n, 1);
	assert_int_equal(t.kind, SPAN_KIND_CLIENT);
	assert_string_equal(t.state, "hone=1,x=y");
	assert_string_equal(t.service, "s");
	assert_int_equal(read_spans(&t, "zipkin", true, zipkin, sizeof zipkin - 1), 0);
	assert_int_equal(t.n, 2);
	assert_int_equal(t.kind, SPAN_KIND_SERVER);
	assert_int_equal(read_spans(&t, "otlp_proto", true, proto, sizeof proto), 0);
	assert_int_equal(t.n, 3);
	assert_int_equal(t.kind, SPAN_KIND_CONSUMER);
	assert_string_equal(t.state, "t=1");
	t.code = ERR_FULL;
	assert_int_equal(read_spans(&t, "otlp_json", true, json, sizeof json - 1), ERR_FULL);
}

/* A file may have a length before each message; the body of a request has none. */
static void
a_message_has_no_framing(void **state)
{
	static const uint8_t framed[] = { 12, 0x0a, 10, 0x12, 8, 0x12, 6, 0x0a, 1, 1, 0x12, 1, 2 };
	struct spans_taken t = { 0 };
	(void)state;

	assert_int_equal(read_spans(&t, "otlp_proto", false, framed, sizeof framed), 0);
	assert_int_equal(t.n, 1);
	assert_int_equal(read_spans(&t, "otlp_proto", true, framed, sizeof framed), ERR_INPUT);
	assert_int_equal(t.n, 1);
	assert_int_equal(read_spans(&t, "nonsense", true, framed, sizeof framed), ERR_MISSING);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(formats_are_detected_by_content),
		cmocka_unit_test(an_unknown_format_is_refused_with_the_known_ones),
		cmocka_unit_test(names_are_in_bounded_memory),
		cmocka_unit_test(records_that_go_back_in_time_are_no_truncation),
		cmocka_unit_test(a_trace_that_is_read_again_counts_once),
		cmocka_unit_test(the_same_id_with_other_content_is_reported),
		cmocka_unit_test(repeats_are_recognised_in_bounded_memory),
		cmocka_unit_test(an_id_with_many_contents_costs_no_search),
		cmocka_unit_test(a_file_without_traces_is_reported),
		cmocka_unit_test(a_format_can_be_named),
		cmocka_unit_test(folders_are_read_by_name),
		cmocka_unit_test(a_folder_in_itself_ends),
		cmocka_unit_test(skips_have_a_place),
		cmocka_unit_test(the_receiver_can_end_the_reading),
		cmocka_unit_test(other_threads_may_ask_for_the_progress),
		cmocka_unit_test(nodes_have_numbers),
		cmocka_unit_test(spans_in_memory_are_handed_out_as_they_are),
		cmocka_unit_test(a_message_has_no_framing),
		cmocka_unit_test(a_node_with_a_byte_of_0_in_its_name_ends_there),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
