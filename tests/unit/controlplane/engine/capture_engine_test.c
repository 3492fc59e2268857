/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A capture in the engine, on a simulated application: recorders go on within their budget, the slow request is found, and they go off. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "controlplane/engine/engine.h"
#include "controlplane/engine/parts.h"
#include "tests/sim/stage.h"

enum { CHEAP = 4, FREQUENT = 400 };
#define SECOND INT64_C(1000000000)

/* One program: requests pass the tracepoints of "s" CHEAP times, that of "busy" FREQUENT times. Now and then one is slow. */
struct world {
	struct stage stage;
	uint32_t begin, end, cheap, busy;
	uint64_t slow_trace;
	bool slow; /* the next request is */
	bool recorder_on, added;
	const struct want *want;
};

static void
request(void *app, int64_t at_ns)
{
	struct world *w = app;
	struct stage_record r = { .time_ns = at_ns, .trace = rng_next(&w->stage.rng) | 1 };
	bool all = stage_rate(w->stage.nodes[0], "A").probed > 0;

	r.unit = r.trace;
	r.value = all;
	r.label = w->begin;
	stage_emit(&w->stage, w->stage.nodes[0], &r);
	for (int i = 0; all && i < FREQUENT; i++) {
		r.time_ns += 1000;
		r.label = i < CHEAP ? w->cheap : w->busy;
		stage_emit(&w->stage, w->stage.nodes[0], &r);
	}
	r.value = 0;
	if (w->slow)
		w->slow_trace = r.trace;
	r.time_ns = at_ns + (w->slow ? 300 * (int64_t)MS : 5 * (int64_t)MS);
	w->slow = false;
	r.label = w->end;
	stage_emit(&w->stage, w->stage.nodes[0], &r);
}

static void
obeyed(void *app, struct stage_node *n, const struct want *want)
{
	struct world *w = app;

	(void)n;
	w->want = want;
	w->added = want->ntoggles > 0;
}

static void
play(struct world *w, double seconds)
{
	for (int i = 0; i < (int)(seconds * SECOND / TICK_NS); i++)
		stage_tick(&w->stage);
}

/* The agent's status: whether its recorder is on, and what it has written. */
static void
report(struct world *w, uint32_t rules, uint64_t records)
{
	struct status s = { .record_ns = 200,
		.rejected_ns = 40,
		.tracer_ok = true,
		.guard_ok = true,
		.recorder = rules,
		.recorder_records = records,
		.recorder_missing = "" };

	engine_status(w->stage.g, 0, &s, (struct mono){ w->stage.now_ns });
}

static int
begin(void **state)
{
	struct world *w = calloc(1, sizeof *w);
	struct engine_options o = stage_options(1);

	w->stage.rate = 50;
	w->stage.app = w;
	w->stage.request = request;
	w->stage.obeyed = obeyed;
	w->begin = stage_label(
	    &w->stage, RECORD_REQUEST_BEGIN, "s/hone:request_begin(A)", "probed");
	w->end = stage_label(&w->stage, RECORD_REQUEST_END, "s/hone:request_end(A)", NULL);
	w->cheap = stage_label(&w->stage, RECORD_POINT, "s/s:step", NULL);
	w->busy = stage_label(&w->stage, RECORD_POINT, "s/busy:step", NULL);
	stage_node(&w->stage, "s", "n1");
	stage_has(w->stage.nodes[0], "s:step");
	stage_has(w->stage.nodes[0], "busy:step");
	/* 50 requests a second x 4 x 200 ns are 0.004 % of a core, x 396 they are 0.4 % */
	o.recorder_share = 0.001;
	stage_open(&w->stage, &o, 1);
	play(w, 4);
	*state = w;
	return 0;
}

static int
end(void **state)
{
	struct world *w = *state;

	stage_close(&w->stage);
	stage_release(&w->stage);
	free(w);
	return 0;
}

static uint64_t
start(struct world *w)
{
	const struct capture_options o = { 0, 100 * (int64_t)MS, 1, 60 * SECOND };
	uint64_t id;

	assert_int_equal(
	    engine_capture(w->stage.g, "A", &o, (struct mono){ w->stage.now_ns }, &id, NULL), 0);
	return id;
}

static const struct capture *
find(struct world *w, uint64_t id)
{
	return captures_find(&engine_parts(w->stage.g)->captures, id);
}

static void
recorders_are_on_while_a_capture_needs_them(void **state)
{
	struct world *w = *state;
	struct err e;
	uint64_t id;
	const struct want *want = engine_want(w->stage.g, 0);

	assert_int_equal(want->nrecorder, 0);
	id = start(w);
	play(w, 1);
	want = engine_want(w->stage.g, 0);
	assert_true(want->nrecorder >= 1);
	assert_int_equal(want->ntoggles, 0); /* nothing is added for it */
	assert_int_equal(find(w, id)->ready.ns, 0);
	report(w, want->nrecorder, 0);
	play(w, 0.1);
	assert_int_not_equal(find(w, id)->ready.ns, 0);
	assert_int_equal(engine_stop(w->stage.g, NULL, (struct wall){ 1 }, &e), 0);
	play(w, 0.1);
	assert_int_equal(engine_want(w->stage.g, 0)->nrecorder, 0);
	assert_int_equal(find(w, id)->end, CAPTURE_STOPPED);
}

static void
providers_that_do_not_fit_are_left_out_and_counted(void **state)
{
	struct world *w = *state;
	const struct want *want;

	/* learned: "s" is passed 4 times, "busy" 396 times in a request */
	stage_learn(&w->stage, 3);
	start(w);
	play(w, 0.5);
	want = engine_want(w->stage.g, 0);
	assert_int_equal(want->nrecorder, 1);
	assert_string_equal(want->recorder[0], "s:*");
	assert_int_equal(engine_parts(w->stage.g)->recorder.items[0].left_out, 1);
}

static void
what_recorders_cost_is_measured_and_limited(void **state)
{
	struct world *w = *state;
	uint64_t written = 0;

	stage_learn(&w->stage, 3);
	start(w);
	play(w, 0.5);
	assert_int_equal(engine_want(w->stage.g, 0)->nrecorder, 1);
	/* 0.001 of a core are 5,000 records a second of 200 ns; it writes 20,000 */
	for (int i = 0; i < 300 && engine_want(w->stage.g, 0)->nrecorder > 0; i++) {
		play(w, 0.1);
		report(w, 1, written += 2000);
	}
	assert_int_equal(engine_want(w->stage.g, 0)->nrecorder, 0);
	assert_int_equal(engine_parts(w->stage.g)->recorder.items[0].left_out, 2);
}

static void
the_slow_request_is_captured_with_its_records(void **state)
{
	struct world *w = *state;
	const struct capture *x;
	struct batch_writer out = { 0 };
	struct record r = { 0 };
	struct buf b = { 0 };
	struct keep k = { 0 };
	uint64_t id = start(w);

	play(w, 0.5);
	report(w, 1, 0);
	play(w, 3); /* some usual requests */
	w->slow = true;
	x = find(w, id);
	for (int i = 0; i < 100 && (k.trace_id != w->slow_trace || w->slow_trace == 0); i++) {
		report(w, 1, 0);
		play(w, 0.1);
		while (engine_keep(w->stage.g, 0, &k)) {
			engine_keep_sent(w->stage.g, 0, k.number);
			if (k.trace_id == w->slow_trace)
				break;
		}
	}
	assert_int_equal(k.trace_id, w->slow_trace);
	assert_int_equal(x->n, 1);
	assert_int_equal(x->end, CAPTURE_ENOUGH);
	assert_true(engine_want(w->stage.g, 0)->nrecorder > 0); /* its records are still to come */
	batch_begin(&out);
	r = (struct record){ .trace_id = k.trace_id,
		.unit_id = k.trace_id,
		.time_ns = (k.from_ns + k.to_ns) / 2,
		.label = batch_label(&out, RECORD_POINT, "s/s:step", 8, NULL, 0) };
	batch_record(&out, &r);
	assert_int_equal(batch_end(&out, k.to_ns, &b, NULL), 0);
	assert_int_equal(engine_kept(w->stage.g, 0,
			     &(struct kept){ .number = k.number,
				 .trace_id = k.trace_id,
				 .rings = 2,
				 .failure = "",
				 .batch = b.data,
				 .batch_len = b.len },
			     NULL),
	    0);
	play(w, 0.1);
	assert_int_not_equal(x->list[0]->whole_at.ns, 0);
	assert_int_equal(x->list[0]->merged.added, 1);
	play(w, 6); /* usual requests are not waited for any longer */
	assert_int_equal(engine_want(w->stage.g, 0)->nrecorder, 0);
	batch_release(&out);
	buf_release(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
		    recorders_are_on_while_a_capture_needs_them, begin, end),
		cmocka_unit_test_setup_teardown(
		    providers_that_do_not_fit_are_left_out_and_counted, begin, end),
		cmocka_unit_test_setup_teardown(
		    what_recorders_cost_is_measured_and_limited, begin, end),
		cmocka_unit_test_setup_teardown(
		    the_slow_request_is_captured_with_its_records, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
