/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/verdict_text.h"

static const char VERDICT[] =
    "{\"kind\":\"place\",\"measure\":\"variance\",\"share\":0.8,\"share_low\":0.7,\"share_high\":0.9,"
    "\"confidence\":0.95,\"sure\":true,\"group\":{\"traces\":400},\"effective_traces\":400,"
    "\"edge\":{\"from\":\"s/a:b\",\"to\":\"s/a:c\"},\"key\":null,\"text\":null}";
#define SHARE \
	"80 % (70 to 90 %, confidence 95 %) of the variance of 400 requests T lies between s/a:b and s/a:c"

#define TAIL_SHARE \
	"80 % (70 to 90 %, confidence 95 %) of what the slowest 40 of 400 requests T (beyond p99, over 12.5 ms) take longer lies between s/a:b and s/a:c"

/* The verdict above with the members of `changes`, as a sentence. */
static void
reads(const char *changes, const char *expected)
{
	json_t *run = json_pack("{s:s, s:i}", "type", "T", "effort", 20);
	json_t *v = json_loads(VERDICT, 0, NULL), *more = json_loads(changes, 0, NULL);
	struct buf text = { 0 };

	assert_true(v != NULL && more != NULL);
	json_object_update(v, more);
	verdict_text_put(&text, run, v);
	buf_u8(&text, 0);
	assert_false(text.failed);
	assert_string_equal((char *)text.data, expected);
	buf_release(&text);
	json_decref(more);
	json_decref(v);
	json_decref(run);
}

#define POOL                                                                                            \
	"{\"state\":\"usual\",\"service\":\"g\",\"threads\":4,\"utilisation\":0.62,\"service_ms\":2.5," \
	"\"service_cv\":1.1,\"wait_ms\":0.75,\"expected_ms\":0.8}"
#define PLACE "; no learned tracepoint is left inside this edge: instrument there"

static void
what_is_below_the_edge_is_told_by_state_place_and_holder(void **state)
{
	(void)state;

	reads(
	    "{\"below\":{\"requests\":151,\"missing\":\"\",\"top\":\"lock\",\"states\":["
	    "{\"state\":\"ready\",\"share\":0.01,\"share_low\":-0.001,\"share_high\":0.03},"
	    "{\"state\":\"lock\",\"share\":0.78,\"share_low\":0.67,\"share_high\":0.88}],"
	    "\"places\":[{\"state\":\"lock\",\"share\":0.76,\"of_edge\":0.97,\"place\":\"append() at "
	    "dd.c:27;pthread_mutex_lock;futex_wait\",\"caller\":\"serve() at dd.c:88\"}],"
	    "\"holders\":[{\"state\":\"disk\",\"share\":0.57,\"place\":\"write_out() at dd.c:9;fsync\","
	    "\"thread\":\"writer\"}],"
	    "\"functions\":[{\"function\":\"append\",\"calls\":1,\"share\":0.77,\"share_low\":0.7,\"share_high\":0.8},"
	    "{\"function\":\"copy\",\"calls\":225.3,\"share\":null}],"
	    "\"released_by\":[{\"waits\":107,\"share\":0.54,\"request_type\":\"CHECKOUT\"},"
	    "{\"waits\":44,\"share\":0.22,\"request_type\":null,\"thread\":\"writer\"}],"
	    "\"held_for\":[{\"waits\":90,\"share\":0.57,\"request_type\":\"SAVE\"},"
	    "{\"waits\":61,\"share\":0.19,\"request_type\":null}]}}",
	    SHARE PLACE
	    "; below: ready 1 % [0 to 3], lock 78 % [67 to 88]; 151 requests"
	    "; blocked by a lock in append() at dd.c:27, in pthread_mutex_lock, called from serve() at dd.c:88: 97 % of the edge"
	    "; held meanwhile thread \"writer\" blocked by the disk in write_out() at dd.c:9, in fsync: 75 % of it"
	    "; held for requests of type SAVE: 90 waits, 75 % of it"
	    "; outside of requests: 61 waits, 25 % of it"
	    "; released by requests of type CHECKOUT: 107 waits, 71 % of it"
	    "; by threads outside of requests (thread \"writer\"): 44 waits, 29 % of it"
	    "; timed: append() 77 % [70 to 80], 1 call a request"
	    "; copy() is not timed: 225 calls a request would take too much of the edge");
	reads(
	    "{\"below\":{\"requests\":150,\"missing\":\"\",\"top\":\"lock\",\"states\":["
	    "{\"state\":\"disk\",\"mean_ms\":0.001,\"share\":0.0001,\"share_low\":0,\"share_high\":1},"
	    "{\"state\":\"timer\",\"mean_ms\":2,\"share\":0,\"share_low\":-0.01,\"share_high\":0.01},"
	    "{\"state\":\"lock\",\"mean_ms\":7,\"share\":0.78,\"share_low\":0.67,\"share_high\":0.88}]}}",
	    SHARE PLACE "; below: timer 0 % [-1 to 1], lock 78 % [67 to 88]; 150 requests");
	reads("{\"below\":{\"requests\":0,\"missing\":\"no CAP_BPF\"}}",
	    SHARE PLACE "; below: not known: no CAP_BPF");
	reads("{\"below\":{\"requests\":0,\"missing\":\"over-budget\"}}", SHARE PLACE
	    "; below: not known: to follow threads costs more than the overhead budget");
	reads("{\"below\":{\"requests\":0,\"missing\":\"no-node\"}}",
	    SHARE PLACE "; below: not known: no connected node has the program");
	reads("{\"below\":{\"requests\":0,\"missing\":\"no-status\"}}",
	    SHARE PLACE "; below: not known: a node with the program has not said yet what it can");
	reads(
	    "{\"below\":{\"requests\":150,\"missing\":\"n1: no stacks\",\"top\":\"lock\",\"states\":["
	    "{\"state\":\"lock\",\"share\":0.78,\"share_low\":0.67,\"share_high\":0.88}]}}",
	    SHARE PLACE
	    "; below: lock 78 % [67 to 88]; 150 requests; not known of all: n1: no stacks");
}

#define BELOW_SAID                                                 \
	SHARE PLACE "; below: ; 150 requests: no state stands out" \
		    "; the 38 slowest of 150 requests (from 26 ms on) take +21 ms there"

static void
what_slow_requests_have_more_of_is_told_with_the_place_on_whose_stack_it_is(void **state)
{
	static const char LOCK[] =
	    "{\"below\":{\"requests\":150,\"top\":null,\"states\":[],\"differential\":{"
	    "\"slow\":38,\"usual\":112,\"slow_ms\":24,\"usual_ms\":3,\"slow_from_ms\":26,\"items\":["
	    "{\"of\":\"inclusive\",\"name\":\"main\",\"slow_ms\":22,\"usual_ms\":1.5,\"low_ms\":19,\"high_ms\":23.2,\"p\":0.005,\"slow\":38,\"usual\":60},"
	    "{\"of\":\"inclusive\",\"name\":\"append\",\"slow_ms\":22,\"usual_ms\":1.5,\"low_ms\":19,\"high_ms\":23.2,\"p\":0.005,\"slow\":38,\"usual\":60},"
	    "{\"of\":\"inclusive\",\"name\":\"other\",\"slow_ms\":22,\"usual_ms\":1.5,\"low_ms\":19,\"high_ms\":23.2,\"p\":0.005,\"slow\":38,\"usual\":60},"
	    "{\"of\":\"self\",\"name\":\"futex\",\"slow_ms\":22,\"usual_ms\":1.5,\"low_ms\":19,\"high_ms\":23.2,\"p\":0.005,\"slow\":38,\"usual\":60},"
	    "{\"of\":\"state\",\"name\":\"lock\",\"slow_ms\":22,\"usual_ms\":1.5,\"low_ms\":19,\"high_ms\":23.2,\"p\":0.005,\"slow\":38,\"usual\":60},"
	    "{\"of\":\"self\",\"name\":\"later\",\"slow_ms\":22,\"usual_ms\":1.5,\"low_ms\":19,\"high_ms\":23.2,\"p\":0.01,\"slow\":38,\"usual\":60},"
	    "{\"of\":\"state\",\"name\":\"disk\",\"slow_ms\":22,\"usual_ms\":1.5,\"low_ms\":19,\"high_ms\":23.2,\"p\":0.3,\"slow\":38,\"usual\":60},"
	    "{\"of\":\"state\",\"name\":\"running\",\"slow_ms\":2.0,\"usual_ms\":1.5,\"low_ms\":0.1,\"high_ms\":3.2,\"p\":0.005,\"slow\":38,\"usual\":60}"
	    "],\"stacks\":["
	    "{\"entry\":\"\",\"parent\":null,\"slow_ms\":22,\"usual_ms\":1},"
	    "{\"entry\":\"main() at dd.c:90\",\"parent\":0,\"slow_ms\":22,\"usual_ms\":1},"
	    "{\"entry\":\"append() at dd.c:27\",\"parent\":1,\"slow_ms\":20,\"usual_ms\":1},"
	    "{\"entry\":\"other() at dd.c:99\",\"parent\":1,\"slow_ms\":3,\"usual_ms\":1},"
	    "{\"entry\":\"futex\",\"parent\":2,\"slow_ms\":20,\"usual_ms\":1}"
	    "]}}}";
	static const char NOTHING[] =
	    "{\"below\":{\"requests\":150,\"top\":null,\"states\":[],\"differential\":{"
	    "\"slow\":38,\"usual\":112,\"slow_ms\":24,\"usual_ms\":3,\"slow_from_ms\":26,\"items\":["
	    "{\"of\":\"state\",\"name\":\"lock\",\"slow_ms\":22,\"usual_ms\":1.5,\"low_ms\":19,\"high_ms\":23.2,\"p\":0.2,\"slow\":38,\"usual\":60}"
	    "],\"stacks\":["
	    "{\"entry\":\"\",\"parent\":null,\"slow_ms\":22,\"usual_ms\":1},"
	    "{\"entry\":\"f() at a.c:1\",\"parent\":0,\"slow_ms\":10,\"usual_ms\":1},"
	    "{\"entry\":\"g() at a.c:2\",\"parent\":0,\"slow_ms\":10,\"usual_ms\":1}"
	    "]}}}";
	static const char ALONE[] =
	    "{\"below\":{\"requests\":150,\"top\":null,\"states\":[],\"differential\":{"
	    "\"slow\":38,\"usual\":112,\"slow_ms\":24,\"usual_ms\":3,\"slow_from_ms\":26,\"items\":["
	    "{\"of\":\"state\",\"name\":\"lock\",\"slow_ms\":22,\"usual_ms\":1.5,\"low_ms\":19,\"high_ms\":23.2,\"p\":0.005,\"slow\":38,\"usual\":60},"
	    "{\"of\":\"self\",\"name\":\"hash\",\"slow_ms\":22,\"usual_ms\":1.5,\"low_ms\":19,\"high_ms\":23.2,\"p\":0.005,\"slow\":38,\"usual\":60},"
	    "{\"of\":\"inclusive\",\"name\":\"hash\",\"slow_ms\":22,\"usual_ms\":1.5,\"low_ms\":19,\"high_ms\":23.2,\"p\":0.005,\"slow\":38,\"usual\":60}"
	    "],\"stacks\":["
	    "{\"entry\":\"\",\"parent\":null,\"slow_ms\":24,\"usual_ms\":1},"
	    "{\"entry\":\"hash() at t.c:1\",\"parent\":0,\"slow_ms\":22,\"usual_ms\":1}"
	    "]}}}";
	static const char CUT[] =
	    "{\"below\":{\"requests\":150,\"top\":null,\"states\":[],\"differential\":{"
	    "\"slow\":38,\"usual\":112,\"slow_ms\":24,\"usual_ms\":3,\"slow_from_ms\":26,\"items\":["
	    "{\"of\":\"inclusive\",\"name\":\"trial\",\"slow_ms\":22,\"usual_ms\":1.5,\"low_ms\":19,\"high_ms\":23.2,\"p\":0.005,\"slow\":38,\"usual\":60},"
	    "{\"of\":\"inclusive\",\"name\":\"hash\",\"slow_ms\":12,\"usual_ms\":1.5,\"low_ms\":9,\"high_ms\":13.2,\"p\":0.005,\"slow\":38,\"usual\":60},"
	    "{\"of\":\"inclusive\",\"name\":\"sum\",\"slow_ms\":10,\"usual_ms\":1.5,\"low_ms\":7,\"high_ms\":11.2,\"p\":0.005,\"slow\":38,\"usual\":60},"
	    "{\"of\":\"state\",\"name\":\"lock\",\"slow_ms\":22,\"usual_ms\":1.5,\"low_ms\":19,\"high_ms\":23.2,\"p\":0.005,\"slow\":38,\"usual\":60}"
	    "],\"stacks\":["
	    "{\"entry\":\"\",\"parent\":null,\"slow_ms\":24,\"usual_ms\":1},"
	    "{\"entry\":\"lib+0x1\",\"parent\":0,\"slow_ms\":12,\"usual_ms\":1},"
	    "{\"entry\":\"trial\",\"parent\":1,\"slow_ms\":12,\"usual_ms\":1},"
	    "{\"entry\":\"hash() at t.c:1\",\"parent\":2,\"slow_ms\":12,\"usual_ms\":1},"
	    "{\"entry\":\"memcpy\",\"parent\":3,\"slow_ms\":12,\"usual_ms\":1},"
	    "{\"entry\":\"trial\",\"parent\":0,\"slow_ms\":10,\"usual_ms\":1},"
	    "{\"entry\":\"sum() at t.c:2\",\"parent\":5,\"slow_ms\":10,\"usual_ms\":1}"
	    "]}}}";
	(void)state;

	reads(LOCK, BELOW_SAID ": lock +20.5 ms [19 to 23.2], 38 of 38 have it, 60 of 112 others"
			       "; append() at dd.c:27 with what it calls +20.5 ms [19 to 23.2]"
			       "; futex itself +20.5 ms [19 to 23.2]");
	reads(NOTHING, BELOW_SAID "; no state stands out");
	reads(ALONE, BELOW_SAID ": lock +20.5 ms [19 to 23.2], 38 of 38 have it, 60 of 112 others"
				"; hash() at t.c:1 with what it calls +20.5 ms [19 to 23.2]");
	reads(CUT, BELOW_SAID ": lock +20.5 ms [19 to 23.2], 38 of 38 have it, 60 of 112 others"
			      "; trial with what it calls +20.5 ms [19 to 23.2]");
	reads("{\"below\":{\"requests\":150,\"top\":null,\"states\":[],\"differential\":null}}",
	    SHARE PLACE "; below: ; 150 requests: no state stands out");
}

static void
a_problem_that_has_stopped_is_told_with_its_time_and_edge(void **state)
{
	static const struct {
		const char *run, *text;
	} cases[] = {
		{ "{\"state\":\"found\",\"problem\":null}", "" },
		{ "{\"state\":\"gone\",\"problem\":null,\"subject\":\"\"}",
		    "the problem has stopped" },
		{ "{\"state\":\"gone\",\"subject\":\"s/a:b -> s/a:c\",\"problem\":{\"from\":\"A\",\"to\":\"B\",\"seconds\":2.5}}",
		    "the problem was there for 2.5 s, from A to B, and has stopped since; it was in the edge s/a:b -> s/a:c" },
	};
	(void)state;

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		json_t *run = json_loads(cases[i].run, 0, NULL);
		struct buf text = { 0 };

		assert_non_null(run);
		run_gone_put(&text, run);
		buf_u8(&text, 0);
		assert_string_equal((char *)text.data, cases[i].text);
		buf_release(&text);
		json_decref(run);
	}
}

static void
the_share_of_a_separation_is_of_what_the_verdict_measures(void **state)
{
	(void)state;
	reads(
	    "{\"measure\":\"latency\",\"separation\":{\"tracepoint\":\"s/x:y\",\"share\":0.6,\"slow\":"
	    "\"with\"}}",
	    "whether a request passes s/x:y divides slow from fast: requests with it are slow (60 % of the "
	    "time of the edge lies between the two); 80 % (70 to 90 %, confidence 95 %) of the response "
	    "time of 400 requests T lies between s/a:b and s/a:c" PLACE);
}

static void
a_key_that_explains_little_is_no_cause(void **state)
{
	(void)state;
	reads("{\"key\":{\"name\":\"s/a:b.n\",\"r\":-0.12,\"p\":0,\"n\":4000}}", SHARE
	    "; s/a:b.n is related to it, but does not explain it (R = -0.12, n = 4000)" PLACE);
	reads("{\"key\":{\"name\":\"s/a:b.n\",\"r\":-0.6,\"p\":0,\"n\":40}}",
	    SHARE "; s/a:b.n explains it (R = -0.60, n = 40)" PLACE);
}

static void
a_category_explains_by_its_share_of_the_variance(void **state)
{
	json_t *most = json_pack("{s:n, s:f}", "r", "share", 0.3),
	       *little = json_pack("{s:n, s:f}", "r", "share", 0.2);
	(void)state;

	assert_true(key_explains(most));
	assert_false(key_explains(little));
	json_decref(most);
	json_decref(little);
}

static void
an_interval_that_says_nothing_is_not_printed(void **state)
{
	(void)state;
	assert_true(interval_useful(0.43, 0.24, 0.6));
	assert_true(interval_useful(1.3, 0.9, 2.5));
	assert_true(interval_useful(0.05, -0.3, 0.6));
	assert_false(interval_useful(0.43, 0.24, 97.98));
	assert_false(interval_useful(0.2, -0.9, 1.2));
	reads("{\"share\":0.43,\"share_low\":0.24,\"share_high\":97.98}",
	    "43 % (too few requests for a useful interval) of the variance of 400 requests T lies between "
	    "s/a:b and s/a:c" PLACE);
}

static void
each_field_has_its_text(void **state)
{
	(void)state;
	reads("{}", SHARE PLACE);
	reads("{\"kind\":\"spread\"}", SHARE "; no part inside this edge has most of it");
	reads("{\"kind\":\"cut\"}",
	    SHARE "; the search ended with its effort of 20 cycles; --effort raises it");
	reads("{\"kind\":\"cut\",\"over_budget\":2}", SHARE
	    "; 2 tracepoints inside the edge are over the overhead budget; raise search.budget");
	reads("{\"preload_over_budget\":1}",
	    SHARE PLACE "; 1 tracepoint of the preload layer is over the overhead budget");
	reads(
	    "{\"effective_traces\":28}", SHARE "; autocorrelated; effective sample size 28" PLACE);
	reads("{\"effective_traces\":null}", SHARE PLACE);
	reads("{\"handed_over\":true}", SHARE
	    "; between two units of work no tracepoint can be inside: the request waits in a queue, on "
	    "the network, or for a thread");
	reads(
	    "{\"handed_over\":true,\"waited\":{\"cause\":\"occupied\",\"waits\":150,\"share\":0.92,"
	    "\"share_low\":0.9,\"share_high\":0.95,\"type\":\"PUBLISH\",\"unit\":\"g/r\",\"service\":\"g\","
	    "\"also\":null}}",
	    SHARE
	    "; 92 % (90 to 95 %) of this time in 150 requests the thread of g worked for another "
	    "request, of type PUBLISH (g/r)");
	reads("{\"pool\":" POOL "}", SHARE
	    "; 4 threads of g, held 62 % of the time, 2.5 ms each time (CV 110 %); mean wait 0.75 ms, 0.8 ms expected: as expected of this load"); /* inside a unit, too */
	reads("{\"handed_over\":true,\"waited\":{\"cause\":\"still\",\"waits\":80,\"share\":0.8,"
	      "\"share_low\":0.7,\"share_high\":0.9,\"type\":null,\"unit\":null,\"service\":\"g\","
	      "\"also\":\"f\"}}",
	    SHARE
	    "; 80 % (70 to 90 %) of this time in 80 requests no thread of g recorded an event, "
	    "unlike usually, and none of f either: the process was stopped, had no "
	    "processor, or all of its threads waited");
	reads(
	    "{\"tail\":{\"quantile\":0.99,\"above_ms\":12.5,\"requests\":40,\"carries\":0.9,\"has\":{"
	    "\"key\":\"node of store\",\"is\":\"equal\",\"value\":\"store2\",\"slow\":0.98,"
	    "\"others\":0.33,\"p\":0.005}}}",
	    TAIL_SHARE PLACE
	    "; 98 % of the slow requests have node of store = store2, and 33 % of the others (p = 0.005)");
	reads("{\"sure\":false,\"kind\":\"spread\"}",
	    SHARE "; not sure: the edge is the whole request, and no part of it was found"
		  "; no part inside this edge has most of it");
	reads("{\"sure\":false}", SHARE "; not sure: the interval includes 0" PLACE);
	reads("{\"position\":{\"number\":1,\"of\":2,\"loop_back\":true}}",
	    SHARE ", occurrence 1 of 2 on the critical path (the way back of a loop)" PLACE);
	reads("{\"position\":{\"number\":1,\"of\":1,\"loop_back\":false}}", SHARE PLACE);
	reads("{\"key\":{\"name\":\"s/a:b.n\",\"r\":0.9,\"p\":0,\"n\":120}}",
	    SHARE "; s/a:b.n explains it (R = 0.90, n = 120)" PLACE);
	reads("{\"unlearned\":{\"tracepoints\":62,\"service\":\"db\"}}", SHARE PLACE
	    "; 62 tracepoints of db were not seen while learning; if the problem is new, run `hone "
	    "learn` during it");
	reads("{\"unlearned\":{\"tracepoints\":3,\"service\":\"db\",\"names\":[\"p:a\",\"p:b\"]}}",
	    SHARE PLACE
	    "; 3 tracepoints of db (p:a, p:b, ...) were not seen while learning; if the "
	    "problem is new, run `hone learn` during it");
	reads(
	    "{\"kind\":\"separated\",\"separation\":{\"tracepoint\":\"s/x:y\",\"share\":0.6,\"slow\":"
	    "\"without\"}}",
	    "whether a request passes s/x:y divides slow from fast: requests without it are slow (60 % of "
	    "the variance of the edge lies between the two); " SHARE PLACE);
	reads(
	    "{\"preload\":{\"kind\":\"mutex\",\"edge\":{\"from\":\"s/o:a\",\"to\":\"s/o:b\"},\"call\":"
	    "\"p:lock\",\"object\":\"0x1\",\"object_share\":0.99}}",
	    SHARE
	    "; the time between s/o:a and s/o:b is waiting for a mutex (p:lock), 99 % of it for 0x1");
}

/* A sentence that a Hone before schema 4 stored is printed unchanged. */
static void
an_old_sentence_is_kept(void **state)
{
	(void)state;
	reads("{\"text\":\"as it was written\"}", "as it was written");
}

static void
reason_reads(const char *json, const char *expected)
{
	json_t *o = json_loads(json, 0, NULL);
	struct buf text = { 0 };

	run_text_put(&text, o);
	buf_u8(&text, 0);
	assert_string_equal((char *)text.data, expected);
	buf_release(&text);
	json_decref(o);
}

static void
a_run_has_its_reason_or_its_verdict(void **state)
{
	(void)state;
	reason_reads("{\"reason\":\"over-budget\"}", "over the overhead budget");
	reason_reads("{\"reason\":\"end-over-budget\",\"subject\":\"s/a:b\"}",
	    "s/a:b, an end of the edge, is over the overhead budget; raise search.budget");
	reason_reads("{\"reason\":\"of a newer honed\"}", "of a newer honed");
	reason_reads(
	    "{\"reason\":null,\"text\":\"as it was\",\"verdict\":{\"text\":\"v\"}}", "as it was");
	reason_reads("{\"reason\":null,\"text\":null,\"verdict\":{\"text\":\"v\"}}", "v");
	reason_reads("{\"reason\":null,\"text\":null,\"verdict\":null}", "");
}

static void
a_run_whose_largest_edge_is_no_half_says_what_would_be_enough(void **state)
{
	(void)state;
	reason_reads("{\"type\":\"T\",\"state\":\"nothing stands out\",\"effect_min\":0.25,"
		     "\"verdict\":{},\"verdicts\":[{\"sure\":true,\"effect\":0.3}]}",
	    "the variance is spread over several edges: the largest one has 30 % of the variance of all requests T; "
	    "47 % of one edge alone (or as much of the squared CV that would go with it), 40 % of each of two, 90 % of all that are named, or an edge that few passages take long in, are worth mending");
}

static void
a_run_of_which_no_verdict_is_sure_does_not_speak_as_if_one_were(void **state)
{
	(void)state;
	reason_reads(
	    "{\"type\":\"T\",\"state\":\"nothing stands out\",\"effect_min\":0.25,\"verdict\":{},"
	    "\"verdicts\":[{\"sure\":false,\"effect\":0.06,\"group\":{\"traces\":1076}}]}",
	    "no edge certainly has any of the variance of all requests T: by 1076 requests the largest one has 6 %, "
	    "and 25 % are worth mending");
	reason_reads("{\"type\":\"T\",\"state\":\"nothing stands out\",\"effect_min\":0.25,"
		     "\"verdict\":{},\"verdicts\":[{\"sure\":false,\"effect\":0.28,\"pool\":" POOL
		     "}]}",
	    "28 % of the variance of requests T is that of waits for threads, as their load leads to: 4 threads "
	    "of g, held 62 % of the time, 2.5 ms each time (CV 110 %); mean wait 0.75 ms, 0.8 ms expected: as "
	    "expected of this load");
}

static void
a_run_in_which_nothing_stands_out_says_by_how_much(void **state)
{
	json_error_t why;
	json_t *run = json_loads(
	    "{\"type\":\"T\",\"state\":\"nothing stands out\",\"effect_min\":0.2,"
	    "\"verdict\":{},\"verdicts\":[{\"sure\":true,\"effect\":0.07},"
	    "{\"sure\":true,\"effect\":0.12},{\"sure\":false,\"effect\":0.5}]}",
	    0, &why);
	struct buf out = { 0 };
	(void)state;

	assert_non_null(run);
	run_text_put(&out, run);
	buf_u8(&out, 0);
	assert_string_equal((char *)out.data,
	    "the variance is spread over several edges: no edge carries more than 12 % of the variance of "
	    "all requests T, and 20 % are worth mending");
	buf_release(&out);
	json_decref(run);
}

static void
a_usual_wait_is_named_with_the_load_of_its_threads(void **state)
{
	json_error_t why;
	json_t *run = json_loads(
	    "{\"type\":\"T\",\"state\":\"nothing stands out\",\"effect_min\":0.25,"
	    "\"verdict\":{},\"verdicts\":[{\"sure\":true,\"effect\":0.07},"
	    "{\"sure\":true,\"effect\":0.6,\"pool\":" POOL "}]}",
	    0, &why);
	struct buf out = { 0 };
	(void)state;

	assert_non_null(run);
	run_text_put(&out, run);
	buf_u8(&out, 0);
	assert_string_equal((char *)out.data,
	    "60 % of the variance of requests T is that of waits for threads, as their load leads to: 4 threads "
	    "of g, held 62 % of the time, 2.5 ms each time (CV 110 %); mean wait 0.75 ms, 0.8 ms expected: as "
	    "expected of this load; the variance is spread over several edges: no other edge carries more than "
	    "7 % of the variance of all requests T, and 25 % are worth mending");
	buf_release(&out);
	json_decref(run);
}

static void
left_reads(const char *json, const char *text)
{
	json_error_t why;
	json_t *run = json_loads(json, 0, &why);
	struct buf out = { 0 };

	assert_non_null(run);
	run_left_put(&out, run);
	buf_u8(&out, 0);
	assert_string_equal((char *)out.data, text);
	buf_release(&out);
	json_decref(run);
}

static void
what_the_verdicts_leave_is_said_with_the_reason_why_no_more_is_searched(void **state)
{
	(void)state;

	left_reads(
	    "{\"state\":\"found\",\"effect_min\":0.2,\"causes_max\":3,\"left\":0.08,\"verdicts\":[{},{}]}",
	    "8 % of the problem, less than the 20 % that are worth mending");
	left_reads(
	    "{\"state\":\"found\",\"effect_min\":0.2,\"causes_max\":1,\"left\":0.31,\"verdicts\":[{}]}",
	    "31 % of the problem, not searched: 1 cause was asked for (--causes)");
	left_reads(
	    "{\"state\":\"found\",\"effect_min\":0.2,\"causes_max\":3,\"left\":0.31,\"verdicts\":[{}]}",
	    "31 % of the problem, spread: no other edge certainly has 20 %");
	left_reads(
	    "{\"state\":\"unsure\",\"effect_min\":0.2,\"causes_max\":3,\"left\":0.31,\"verdicts\":[{}]}",
	    "");
	left_reads(
	    "{\"state\":\"found\",\"effect_min\":0.2,\"causes_max\":null,\"left\":null,\"verdicts\":[{}]}",
	    "");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_below_the_edge_is_told_by_state_place_and_holder),
		cmocka_unit_test(
		    what_slow_requests_have_more_of_is_told_with_the_place_on_whose_stack_it_is),
		cmocka_unit_test(a_problem_that_has_stopped_is_told_with_its_time_and_edge),
		cmocka_unit_test(the_share_of_a_separation_is_of_what_the_verdict_measures),
		cmocka_unit_test(a_key_that_explains_little_is_no_cause),
		cmocka_unit_test(a_category_explains_by_its_share_of_the_variance),
		cmocka_unit_test(an_interval_that_says_nothing_is_not_printed),
		cmocka_unit_test(
		    what_the_verdicts_leave_is_said_with_the_reason_why_no_more_is_searched),
		cmocka_unit_test(a_run_whose_largest_edge_is_no_half_says_what_would_be_enough),
		cmocka_unit_test(a_run_of_which_no_verdict_is_sure_does_not_speak_as_if_one_were),
		cmocka_unit_test(a_run_in_which_nothing_stands_out_says_by_how_much),
		cmocka_unit_test(a_usual_wait_is_named_with_the_load_of_its_threads),
		cmocka_unit_test(each_field_has_its_text),
		cmocka_unit_test(an_old_sentence_is_kept),
		cmocka_unit_test(a_run_has_its_reason_or_its_verdict),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
