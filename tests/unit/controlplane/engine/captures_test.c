/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Captures: which requests, what their nodes are asked, and what of an answer that never comes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/assemble.h"
#include "controlplane/engine/captures.h"

#define MS INT64_C(1000000)
#define SECOND INT64_C(1000000000)

enum { NODE = 3, COUNT = 2 };

struct world {
	struct captures captures;
	struct clocks *clocks;
	struct labels *labels;
	struct sketch times; /* of 2,000 requests of 10 ms */
	uint32_t type;
	struct mono now;
	uint64_t id, traces;
};

static int
begin(void **state)
{
	struct world *w = calloc(1, sizeof *w);

	w->labels = labels_new();
	assert_int_equal(clocks_new(&w->clocks, NULL), 0);
	w->type = labels_intern(
	    w->labels, RECORD_REQUEST_BEGIN, "s/hone:request_begin(GET)", 25, NULL, 0);
	for (int i = 0; i < 2000; i++)
		sketch_add(&w->times, 10 * MS + i);
	w->now.ns = 1000 * SECOND;
	*state = w;
	return 0;
}

static int
end(void **state)
{
	struct world *w = *state;

	captures_release(&w->captures);
	assert_int_equal(w->captures.bytes, 0);
	clocks_free(w->clocks);
	labels_free(w->labels);
	free(w);
	return 0;
}

static int
start(struct world *w, double quantile, int64_t over_ns)
{
	const struct capture_options o = { quantile, over_ns, COUNT, 60 * SECOND };

	return captures_begin(&w->captures, w->type, &o, w->now, &w->id, NULL);
}

static const struct capture *
capture(const struct world *w)
{
	return captures_find(&w->captures, w->id);
}

/* A request of this length ends now, on one node. */
static uint64_t
request(struct world *w, int64_t took_ns)
{
	struct unit unit = { .id = 5, .count = 2, .fork = TRACE_NONE };
	struct event events[2] = {
		{ .time_ns = w->now.ns - took_ns, .label = w->type, .node = NODE },
		{ .time_ns = w->now.ns, .node = NODE }
	};
	struct trace t = { .id = ++w->traces,
		.type = w->type,
		.begin_ns = w->now.ns - took_ns,
		.end_ns = w->now.ns,
		.incomplete_label = LABEL_NONE,
		.nevents = 2,
		.nunits = 1,
		.events = events,
		.units = &unit };
	int64_t shift_ns[1] = { 0 };

	events[1].label = labels_intern(
	    w->labels, RECORD_REQUEST_END, "s/hone:request_end", 18, NULL, 0);
	assert_int_equal(captures_trace(&w->captures, &t, &w->times, shift_ns, w->clocks, w->labels,
			     w->now, NULL),
	    0);
	return t.id;
}

static void
step(struct world *w, int64_t ns)
{
	w->now.ns += ns;
	assert_int_equal(captures_step(&w->captures, w->clocks, w->labels, w->now, NULL), 0);
}

/* Usual requests come, as many as a capture needs, and are whole. */
static void
usual(struct world *w)
{
	for (int i = 0; i < CAPTURE_USUAL_LEAST; i++) {
		struct keep k;

		step(w, CAPTURE_USUAL_EVERY_NS);
		request(w, 10 * MS);
		assert_true(captures_next(&w->captures, NODE, &k));
		captures_asked(&w->captures, NODE, k.number, false);
	}
	step(w, 0);
}

/* The next keep of the node; it is sent. */
static struct keep
asked(struct world *w)
{
	struct keep k;

	assert_true(captures_next(&w->captures, NODE, &k));
	captures_asked(&w->captures, NODE, k.number, true);
	return k;
}

/* A batch of one record of the trace, in the middle of its time. */
static void
one_record(const struct keep *k, struct buf *b)
{
	struct record r = { .trace_id = k->trace_id,
		.unit_id = 5,
		.time_ns = k->from_ns + (k->to_ns - k->from_ns) / 2 };
	struct batch_writer w = { 0 };

	batch_begin(&w);
	r.label = batch_label(&w, RECORD_POINT, "s/s:inside", 10, NULL, 0);
	batch_record(&w, &r);
	assert_int_equal(batch_end(&w, k->to_ns, b, NULL), 0);
	batch_release(&w);
}

static void
answer(struct world *w, const struct keep *k, uint32_t overwritten)
{
	struct buf b = { 0 };

	one_record(k, &b);
	assert_int_equal(captures_answer(&w->captures, NODE,
			     &(struct kept){ .number = k->number,
				 .trace_id = k->trace_id,
				 .rings = 2,
				 .overwritten = overwritten,
				 .failure = "",
				 .batch = b.data,
				 .batch_len = b.len },
			     NULL),
	    0);
	buf_release(&b);
}

static void
only_requests_over_the_limit_are_captured_and_only_once_recorders_are_on(void **state)
{
	struct world *w = *state;
	struct keep k;

	assert_int_equal(start(w, 0, 100 * MS), 0);
	request(w, 200 * MS);
	assert_int_equal(capture(w)->n, 0); /* nothing is on yet */
	captures_ready(&w->captures, true, w->now);
	request(w, 200 * MS);
	assert_int_equal(capture(w)->n, 0); /* it began before */
	step(w, SECOND);
	request(w, 100 * MS);
	assert_int_equal(capture(w)->n, 0);
	request(w, 101 * MS);
	assert_int_equal(capture(w)->n, 1);
	assert_int_equal(capture(w)->slow, 1);
	assert_int_equal(capture(w)->seen, 2);
	assert_false(captures_next(&w->captures, NODE + 1, &k));
	k = asked(w);
	assert_int_equal(k.trace_id, w->traces);
	/* the time of the request, and not narrower than is known of the node's clock */
	assert_true(k.from_ns < w->now.ns - 101 * MS && k.to_ns > w->now.ns);
	assert_false(captures_next(&w->captures, NODE, &k));
}

static void
a_trace_is_whole_with_what_its_node_had(void **state)
{
	struct world *w = *state;
	const struct captured *x;
	struct keep k;

	start(w, 0, 100 * MS);
	captures_ready(&w->captures, true, w->now);
	step(w, SECOND);
	request(w, 300 * MS);
	k = asked(w);
	step(w, SECOND);
	x = capture(w)->list[0];
	assert_int_equal(x->whole_at.ns, 0);
	answer(w, &k, 1);
	step(w, 0);
	assert_int_equal(x->whole_at.ns, w->now.ns);
	assert_int_equal(x->merged.added, 1);
	assert_int_equal(x->trace->nevents, 3);
	assert_int_equal(x->nodes[0].result, KEPT_READ);
	assert_int_equal(x->nodes[0].overwritten, 1); /* told, not guessed */
	answer(w, &k, 0);                             /* a second answer changes nothing */
	step(w, 0);
	assert_int_equal(x->trace->nevents, 3);
	assert_int_equal(x->nodes[0].overwritten, 1);
}

static void
what_a_node_does_not_answer_is_told(void **state)
{
	struct world *w = *state;
	struct keep k;

	start(w, 0, 100 * MS);
	captures_ready(&w->captures, true, w->now);
	step(w, SECOND);
	usual(w);
	request(w, 300 * MS);
	asked(w);
	step(w, CAPTURE_ANSWER_NS);
	assert_int_equal(capture(w)->list[0]->whole_at.ns, 0);
	step(w, MS);
	assert_int_not_equal(capture(w)->list[0]->whole_at.ns, 0);
	assert_int_equal(capture(w)->list[0]->nodes[0].result, KEPT_SILENT);
	/* an agent that leaves is not waited for, and one without a recorder is not asked */
	request(w, 300 * MS);
	assert_true(captures_next(&w->captures, NODE, &k));
	captures_asked(&w->captures, NODE, k.number, false);
	step(w, 0);
	assert_int_equal(capture(w)->list[1]->nodes[0].result, KEPT_NO_RECORDER);
	assert_int_equal(capture(w)->end, CAPTURE_ENOUGH);
	start(w, 0, 100 * MS);
	captures_ready(&w->captures, true, w->now);
	step(w, SECOND);
	request(w, 300 * MS);
	asked(w);
	captures_leave(&w->captures, NODE);
	step(w, 0);
	assert_int_equal(capture(w)->list[0]->nodes[0].result, KEPT_SILENT);
}

static void
recorders_stay_on_until_the_last_trace_is_whole(void **state)
{
	struct world *w = *state;
	struct keep k;

	assert_false(captures_record(&w->captures));
	start(w, 0, 100 * MS);
	assert_true(captures_record(&w->captures));
	captures_ready(&w->captures, true, w->now);
	step(w, SECOND);
	usual(w);
	request(w, 300 * MS);
	request(w, 300 * MS);
	assert_int_equal(capture(w)->end, CAPTURE_ENOUGH);
	assert_false(capture_is_whole(capture(w)));
	assert_false(captures_any(&w->captures));
	assert_true(captures_record(&w->captures));
	for (int i = 0; i < COUNT; i++) {
		k = asked(w);
		answer(w, &k, 0);
	}
	step(w, 0);
	assert_false(captures_record(&w->captures));
	request(w, 300 * MS);
	assert_int_equal(capture(w)->n, COUNT);
}

static void
a_quantile_needs_requests_to_be_known(void **state)
{
	struct world *w = *state;
	struct sketch all = w->times;

	w->times = (struct sketch){ 0 };
	start(w, 0.999, 0);
	captures_ready(&w->captures, true, w->now);
	step(w, SECOND);
	request(w, SECOND / 2);
	assert_int_equal(capture(w)->n, 0);
	assert_int_equal(capture(w)->limit_ns, 0);
	w->times = all;
	request(w, 50 * MS);
	assert_int_equal(capture(w)->n, 1);
	assert_true(capture(w)->limit_ns >= 10 * MS && capture(w)->limit_ns < 11 * MS);
}

static void
some_usual_requests_are_captured_too(void **state)
{
	struct world *w = *state;

	start(w, 0, 100 * MS);
	captures_ready(&w->captures, true, w->now);
	for (int i = 0; i < 100; i++) {
		step(w, 100 * MS);
		request(w, 10 * MS + 1000);
	}
	assert_int_equal(capture(w)->n, 0);
	assert_int_equal(capture(w)->nusual, CAPTURE_USUAL);
	assert_true(capture(w)->usual[0]->usual);
}

static void
a_capture_with_enough_slow_requests_waits_for_usual_ones(void **state)
{
	struct world *w = *state;

	start(w, 0, 100 * MS);
	captures_ready(&w->captures, true, w->now);
	step(w, SECOND);
	for (int i = 0; i < COUNT + 3; i++)
		request(w, 300 * MS);
	assert_int_equal(capture(w)->n, COUNT);
	assert_int_equal(capture(w)->slow, COUNT + 3);
	assert_int_equal(capture(w)->missed, 0);
	assert_int_equal(capture(w)->end, CAPTURE_ACTIVE);
	for (int i = 0; i < CAPTURE_USUAL_LEAST; i++) {
		step(w, CAPTURE_USUAL_EVERY_NS);
		request(w, 10 * MS);
	}
	assert_int_equal(capture(w)->end, CAPTURE_ENOUGH);
}

static void
an_answer_that_nobody_asked_for_is_ignored(void **state)
{
	struct world *w = *state;
	struct keep k, other;
	struct kept bad = { .failure = "", .batch = "no batch", .batch_len = 8 };

	start(w, 0, 100 * MS);
	captures_ready(&w->captures, true, w->now);
	step(w, SECOND);
	request(w, 300 * MS);
	k = asked(w);
	other = k;
	other.number++;
	answer(w, &other, 1);
	other = k;
	other.trace_id++;
	answer(w, &other, 1);
	step(w, 0);
	assert_int_equal(capture(w)->list[0]->whole_at.ns, 0);
	bad.number = k.number;
	bad.trace_id = k.trace_id;
	assert_int_equal(captures_answer(&w->captures, NODE, &bad, NULL), ERR_INPUT);
	assert_int_equal(captures_answer(&w->captures, NODE + 1, &bad, NULL), 0);
}

static void
captures_end_with_their_time_and_when_they_are_stopped(void **state)
{
	struct world *w = *state;
	const struct capture_options o = { 0, MS, 1, 60 * SECOND };
	uint64_t first, id;

	assert_int_equal(start(w, 0, MS), 0);
	first = w->id;
	assert_int_equal(start(w, 0, MS), ERR_BUSY);
	step(w, 60 * SECOND);
	assert_int_equal(capture(w)->end, CAPTURE_ACTIVE);
	step(w, MS);
	assert_int_equal(capture(w)->end, CAPTURE_TIME);
	for (uint32_t i = 0; i < CAPTURES_MAX; i++)
		assert_int_equal(captures_begin(&w->captures, 1000 + i, &o, w->now, &id, NULL), 0);
	assert_null(captures_find(&w->captures, first)); /* it gave its place */
	assert_int_equal(captures_begin(&w->captures, 2000, &o, w->now, &id, NULL), ERR_FULL);
	assert_true(captures_stop(&w->captures, 1003));
	assert_false(captures_stop(&w->captures, 1003));
	assert_int_equal(captures_begin(&w->captures, 2000, &o, w->now, &id, NULL), 0);
	assert_true(captures_stop(&w->captures, LABEL_NONE));
	assert_false(captures_any(&w->captures));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
		    only_requests_over_the_limit_are_captured_and_only_once_recorders_are_on, begin,
		    end),
		cmocka_unit_test_setup_teardown(
		    a_trace_is_whole_with_what_its_node_had, begin, end),
		cmocka_unit_test_setup_teardown(what_a_node_does_not_answer_is_told, begin, end),
		cmocka_unit_test_setup_teardown(
		    recorders_stay_on_until_the_last_trace_is_whole, begin, end),
		cmocka_unit_test_setup_teardown(a_quantile_needs_requests_to_be_known, begin, end),
		cmocka_unit_test_setup_teardown(some_usual_requests_are_captured_too, begin, end),
		cmocka_unit_test_setup_teardown(
		    a_capture_with_enough_slow_requests_waits_for_usual_ones, begin, end),
		cmocka_unit_test_setup_teardown(
		    an_answer_that_nobody_asked_for_is_ignored, begin, end),
		cmocka_unit_test_setup_teardown(
		    captures_end_with_their_time_and_when_they_are_stopped, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
