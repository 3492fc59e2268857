/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The command `hone annotate`: what it says of spans and of a text of ftrace, without LTTng and BPF. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "tests/unit/cli/said.h"

/* Thread 2012 of web1 runs from 5612.1 s, calls futex, sleeps, is woken by a timer, and runs until 5612.9 s. */
static const char RECORDING[] =
    "# tracer: nop\n#\n# entries-in-buffer/entries-written: 12/12   #P:2\n#\n"
    "          <idle>-0     (-------) [001] d..2.  5612.100000: sched_switch: prev_comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=R ==> "
    "next_comm=worker next_pid=2012 next_prio=120\n"
    "          worker-2012  (   2000) [001] .....  5612.200000: sys_enter: NR 74 (7, 0, 0, 0, 0, 0)\n"
    "          worker-2012  (   2000) [001] .....  5612.200500: sys_exit: NR 74 = 0\n"
    "          worker-2012  (   2000) [001] .....  5612.250000: page_fault_user: address=0x1 ip=0x2 error_code=0x6\n"
    "          worker-2012  (   2000) [001] .....  5612.300000: sys_enter: NR 230 (1, 0, 0, 0, 0, 0)\n"
    "          worker-2012  (   2000) [001] d..2.  5612.300010: sched_switch: prev_comm=worker prev_pid=2012 prev_prio=120 prev_state=S ==> "
    "next_comm=swapper/1 next_pid=0 next_prio=120\n"
    "          <idle>-0     (-------) [001] d.h1.  5612.400000: hrtimer_expire_entry: hrtimer=0xf function=hrtimer_wakeup now=1\n"
    "          <idle>-0     (-------) [001] d.h1.  5612.400001: sched_waking: comm=worker pid=2012 prio=120 target_cpu=001\n"
    "          <idle>-0     (-------) [001] d.h1.  5612.400002: hrtimer_expire_exit: hrtimer=0xf\n"
    "          <idle>-0     (-------) [001] d..2.  5612.400010: sched_switch: prev_comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=R ==> "
    "next_comm=worker next_pid=2012 next_prio=120\n"
    "          worker-2012  (   2000) [001] .....  5612.400100: sys_exit: NR 230 = -4\n"
    "          worker-2012  (   2000) [001] d..2.  5612.900000: sched_switch: prev_comm=worker prev_pid=2012 prev_prio=120 prev_state=S ==> "
    "next_comm=swapper/1 next_pid=0 next_prio=120\n";

static char folder[] = "/tmp/cli_annotate.XXXXXX", recording[64], spans[64], output[64];

static void
put(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static int
make_files(void **state)
{
	(void)state;
	if (mkdtemp(folder) == NULL)
		return -1;
	snprintf(recording, sizeof recording, "%s/web1.txt", folder);
	snprintf(spans, sizeof spans, "%s/spans.json", folder);
	snprintf(output, sizeof output, "%s/out.json", folder);
	put(recording, RECORDING);
	return 0;
}

static int
drop_files(void **state)
{
	(void)state;
	unlink(recording);
	unlink(spans);
	unlink(output);
	return rmdir(folder);
}

#define ATTRIBUTE(key, kind, value) "{\"key\":\"" key "\",\"value\":{\"" kind "\":" value "}}"
#define THREAD(tid) ATTRIBUTE("thread.id", "intValue", "\"" tid "\"")
#define SPAN(id, parent, name, begin_ms, end_ms, attributes)                                    \
	"{\"traceId\":\"000000000000000000000000000000aa\",\"spanId\":\"00000000000000" id      \
	"\",\"parentSpanId\":\"" parent "\",\"name\":\"" name                                   \
	"\",\"startTimeUnixNano\":\"5612" begin_ms "000000\",\"endTimeUnixNano\":\"5612" end_ms \
	"000000\","                                                                             \
	"\"attributes\":[" attributes "]}"
#define FILE_OF(host, ...)                                                                      \
	"{\"resourceSpans\":[{\"resource\":{\"attributes\":[" ATTRIBUTE(                        \
	    "service.name", "stringValue", "\"web\"") "," ATTRIBUTE("host.name", "stringValue", \
	    "\"" host "\"") "]},\"scopeSpans\":[{\"spans\":[" __VA_ARGS__ "]}]}]}"

static struct said
annotate(const char *first, ...)
{
	struct said ret;
	va_list ap;

	va_start(ap, first);
	ret = said_by("annotate", first, ap);
	va_end(ap);
	return ret;
}

static json_t *
document_of(const char *text)
{
	struct said a;
	json_t *ret;

	put(spans, text);
	a = annotate("--spans", spans, recording, "--json", NULL);
	if (a.code != DONE)
		fail_msg("code %d: %s", a.code, a.err);
	ret = json_loads(a.out, 0, NULL);
	assert_non_null(ret);
	said_drop(&a);
	return ret;
}

static const json_t *
span_of(const json_t *d, const char *name)
{
	size_t i;
	json_t *s;

	json_array_foreach (json_object_get(d, "spans"), i, s)
		if (strcmp(json_string_value(json_object_get(s, "name")), name) == 0)
			return s;
	fail_msg("no span %s", name);
	return NULL;
}

static void
assert_ms(const json_t *o, const char *key, double wanted)
{
	double got = json_number_value(json_object_get(o, key));

	if (got - wanted > 1e-9 || wanted - got > 1e-9)
		fail_msg("%s: %.9f, not %.9f", key, got, wanted);
}

static void
a_span_gets_the_calls_and_states_of_its_thread(void **state)
{
	json_t *d = document_of(
	    FILE_OF("web1", SPAN("01", "", "get", "150", "800", THREAD("2012")) "," SPAN(
				"02", "0000000000000001", "nap", "290", "500", THREAD("2012"))));
	const json_t *get = span_of(d, "get"), *nap = span_of(d, "nap"), *call;

	(void)state;
	assert_int_equal(json_array_size(json_object_get(get, "calls")), 1);
	call = json_array_get(json_object_get(get, "calls"), 0);
	assert_string_equal(json_string_value(json_object_get(call, "name")), "fsync");
	assert_int_equal(json_integer_value(json_object_get(call, "argument")), 7);
	assert_ms(call, "ms", 0.5);
	assert_ms(call, "at_ms", 50);
	assert_ms(json_object_get(get, "states"), "timer", 99.991);
	assert_ms(json_object_get(get, "states"), "running", 650 - 99.991 - 0.009);
	assert_ms(json_object_get(get, "self"), "running", 440);
	assert_int_equal(
	    json_integer_value(json_object_get(json_object_get(get, "counted"), "page_fault_user")),
	    1);
	call = json_array_get(json_object_get(nap, "calls"), 0);
	assert_string_equal(json_string_value(json_object_get(call, "name")), "clock_nanosleep");
	assert_string_equal(json_string_value(json_object_get(call, "error")), "EINTR");
	assert_string_equal(
	    json_string_value(json_object_get(json_object_get(call, "wait"), "state")), "timer");
	json_decref(d);
}

static void
assert_reason(const json_t *d, const char *name, const char *reason)
{
	const json_t *is = json_object_get(span_of(d, name), "not_attributed");

	assert_true(json_is_string(is));
	assert_string_equal(json_string_value(is), reason);
	assert_int_equal(
	    json_integer_value(json_object_get(
		json_object_get(json_object_get(d, "counts"), "not_attributed"), reason)),
	    1);
}

static void
what_cannot_be_attributed_is_said(void **state)
{
	json_t *d = document_of(FILE_OF("web1",
	    SPAN("01", "", "threadless", "150", "800", "") "," SPAN("02", "", "java", "290", "500",
		THREAD("2012") "," ATTRIBUTE(
		    "thread.name", "stringValue", "\"http-nio-8080-exec-1\"")) "," SPAN("03", "",
		"stranger", "290", "500", THREAD("77")) "," SPAN("04", "", "fits", "290", "500",
		THREAD("2012") "," ATTRIBUTE("thread.name", "stringValue", "\"worker\""))));

	(void)state;
	assert_reason(d, "threadless", "no-thread");
	assert_reason(d, "java", "other-thread");
	assert_reason(d, "stranger", "unseen");
	/* unrelated, at the same time: the time of the thread is nobody's */
	assert_true(json_is_null(json_object_get(span_of(d, "fits"), "not_attributed")));
	assert_ms(span_of(d, "fits"), "shared_ms", 210);
	assert_int_equal(json_array_size(json_object_get(span_of(d, "fits"), "calls")), 0);
	json_decref(d);
}

static void
the_only_node_is_the_only_host_and_two_are_not(void **state)
{
	json_t *d = document_of(
	    FILE_OF("pod-7", SPAN("01", "", "get", "150", "800", THREAD("2012"))));
	struct said a;

	(void)state;
	assert_true(json_is_true(json_object_get(d, "host_assumed")));
	assert_true(json_is_null(json_object_get(span_of(d, "get"), "not_attributed")));
	json_decref(d);
	put(spans, "{\"resourceSpans\":[{\"resource\":{\"attributes\":[" ATTRIBUTE("host.name",
		       "stringValue", "\"a\"") "]},\"scopeSpans\":[{\"spans\":[" SPAN("01", "",
		       "one", "150", "800",
		       THREAD("2012")) "]}]},"
				       "{\"resource\":{\"attributes\":[" ATTRIBUTE("host.name",
					   "stringValue",
					   "\"b\"") "]},\"scopeSpans\":[{\"spans\":[" SPAN("02", "",
					   "two", "150", "800", THREAD("2012")) "]}]}]}");
	a = annotate("--spans", spans, recording, "--json", "--host", "b", NULL);
	assert_int_equal(a.code, DONE);
	d = json_loads(a.out, 0, NULL);
	assert_reason(d, "one", "other-host");
	assert_true(json_is_null(json_object_get(span_of(d, "two"), "not_attributed")));
	json_decref(d);
	said_drop(&a);
}

static void
thresholds_choose_spans_and_calls(void **state)
{
	struct said a;

	(void)state;
	put(spans,
	    FILE_OF("web1", SPAN("01", "", "get", "150", "800", THREAD("2012")) "," SPAN(
				"02", "0000000000000001", "nap", "290", "500", THREAD("2012"))));
	a = annotate("--spans", spans, "--over", "300", "--call-over", "1000", recording, NULL);
	assert_int_equal(a.code, DONE);
	assert_non_null(
	    strstr(a.out, "2 spans, of which 1 are over the threshold and 1 are annotated"));
	assert_non_null(strstr(a.out, "clock_nanosleep(1) = EINTR; timer 100 ms"));
	assert_non_null(strstr(a.out, "fsync 1 in 500 us"));
	assert_null(strstr(a.out, "web nap"));
	assert_non_null(strstr(a.out, "vDSO"));
	said_drop(&a);
	a = annotate("--spans", spans, "--calls", "fsync", "--json", recording, NULL);
	assert_null(strstr(a.out, "clock_nanosleep"));
	assert_non_null(strstr(a.out, "fsync"));
	said_drop(&a);
}

static void
errors_say_what_to_do(void **state)
{
	static const struct {
		enum exit_code code;
		const char *words, *arguments[6];
	} cases[] = {
		{ FAILED, "no request is in the 12 kernel events", { recording } },
		{ MISUSED, "needs a recording of the kernel", { "--spans", spans } },
		{ MISUSED, "give one of both", { "--spans", spans, "--pid", "1" } },
		{ MISUSED, "must be otlp, jaeger or zipkin",
		    { "--spans", spans, "--format", "xml", recording } },
		{ MISUSED, "--format and --output belong together",
		    { "--spans", spans, "--format", "otlp", recording } },
		{ MISUSED, "must be a number of milliseconds",
		    { "--spans", spans, "--over", "-1", recording } },
		{ FAILED, "fsink is no system call",
		    { "--spans", spans, "--calls", "fsink", recording } },
		{ FAILED, "/no/spans: No such file", { "--spans", "/no/spans", recording } },
		{ FAILED, "/no/recording", { "--spans", spans, "/no/recording" } },
		{ FAILED, "/no/folder/x: No such file",
		    { "--spans", spans, "--format=otlp", "--output=/no/folder/x", recording } },
	};

	(void)state;
	put(spans, FILE_OF("web1", SPAN("01", "", "get", "150", "800", THREAD("2012"))));
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const char *const *w = cases[i].arguments;
		struct said a = annotate(w[0], w[1], w[2], w[3], w[4], w[5], NULL);

		if (a.code != cases[i].code || strstr(a.err, cases[i].words) == NULL)
			fail_msg("%zu: code %d: %s", i, a.code, a.err);
		said_drop(&a);
	}
	put(spans, "{\"resourceSpans\":[]}");
	{
		struct said a = annotate("--spans", spans, recording, NULL);

		assert_int_equal(a.code, FAILED);
		assert_non_null(strstr(a.err, "no spans in these files"));
		said_drop(&a);
	}
}

static void
what_is_written_has_the_calls_as_spans_whose_ids_stay(void **state)
{
	static const char *const formats[] = { "otlp", "jaeger", "zipkin" };
	char texts[2][8192];

	(void)state;
	put(spans, FILE_OF("web1", SPAN("01", "", "get", "150", "800", THREAD("2012"))));
	for (int f = 0; f < 3; f++) {
		for (int i = 0; i < 2; i++) {
			struct said a = annotate("--spans", spans, "--format", formats[f],
			    "--output", output, recording, NULL);
			FILE *file = fopen(output, "r");

			assert_int_equal(a.code, DONE);
			assert_non_null(strstr(a.out, ": 4 spans\n"));
			texts[i][fread(texts[i], 1, sizeof texts[i] - 1, file)] = '\0';
			fclose(file);
			said_drop(&a);
		}
		assert_string_equal(texts[0], texts[1]);
		assert_non_null(strstr(texts[0], "\"clock_nanosleep\""));
		assert_non_null(strstr(texts[0], "\"kernel\""));
		assert_non_null(strstr(texts[0], "EINTR"));
	}
}

static void
the_page_has_all_that_it_needs(void **state)
{
	struct said a;
	char *page = calloc(1, 1 << 20);
	FILE *f;

	(void)state;
	put(spans, FILE_OF("web1", SPAN("01", "", "get</script>", "150", "800", THREAD("2012"))));
	a = annotate("--spans", spans, "--html", output, recording, NULL);
	assert_int_equal(a.code, DONE);
	f = fopen(output, "r");
	assert_non_null(f);
	assert_true(fread(page, 1, (1 << 20) - 1, f) > 1000);
	fclose(f);
	assert_non_null(strstr(page, "clock_nanosleep"));
	assert_non_null(strstr(page, "get\\u003c/script\\u003e"));
	assert_null(strstr(page, "get</script>"));
	assert_null(strstr(page, "src="));
	assert_non_null(strstr(page, "default-src 'none'"));
	free(page);
	said_drop(&a);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_span_gets_the_calls_and_states_of_its_thread),
		cmocka_unit_test(what_cannot_be_attributed_is_said),
		cmocka_unit_test(the_only_node_is_the_only_host_and_two_are_not),
		cmocka_unit_test(thresholds_choose_spans_and_calls),
		cmocka_unit_test(the_page_has_all_that_it_needs),
		cmocka_unit_test(errors_say_what_to_do),
		cmocka_unit_test(what_is_written_has_the_calls_as_spans_whose_ids_stay),
	};

	return cmocka_run_group_tests(tests, make_files, drop_files);
}
