/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Effects of full queues on a search, on a simulated application: when it pauses and resumes, which
 * tracepoints are disabled and when, how long an agent that shed load backs off, and that traces
 * which may be incomplete are no evidence.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "controlplane/engine/engine.h"
#include "controlplane/engine/parts.h"
#include "controlplane/search/search.h"
#include "tests/sim/stage.h"

enum { POINTS = 24, SLOW_AFTER = 13, LOST_MAX = 100000 };
#define SECOND INT64_C(1000000000)

/* One program with points in a row; requests on the slow path take longer after one of them. */
struct world {
	struct stage stage;
	uint32_t begin, end, point[POINTS]; /* labels */
	bool fault, on[POINTS], all;
	double probed;
	bool slow;      /* of the current request */
	uint64_t *lost; /* traces that lost a record */
	uint32_t nlost;
	uint64_t run;
	/* to count tracepoints enabled in a pause, or on an agent that is backing off */
	bool was_paused;
	uint32_t were, broken, pauses, most_on;
};

static void
emit(struct world *w, uint32_t label, uint64_t trace, int64_t at_ns, int64_t value)
{
	stage_emit(&w->stage, w->stage.nodes[0],
	    &(struct stage_record){
		.time_ns = at_ns, .trace = trace, .unit = trace, .label = label, .value = value });
}

static void
request(void *app, int64_t at_ns)
{
	struct world *w = app;
	uint64_t trace = rng_next(&w->stage.rng) | 1;
	bool probed = rng_unit(&w->stage.rng) < w->probed,
	     slow = w->fault && rng_unit(&w->stage.rng) < 0.2;

	emit(w, w->begin, trace, at_ns, probed);
	for (int i = 0; i < POINTS; i++) {
		at_ns += 100000 + (int64_t)rng_below(&w->stage.rng, 5000);
		if (probed && (w->all || w->on[i]))
			emit(w, w->point[i], trace, at_ns, 0);
		if (i == SLOW_AFTER && slow)
			at_ns += 10 * MS + (int64_t)rng_below(&w->stage.rng, MS);
	}
	emit(w, w->end, trace, at_ns + 100000, 0);
}

static void
obeyed(void *app, struct stage_node *n, const struct want *want)
{
	struct world *w = app;

	(void)n;
	memset(w->on, 0, sizeof w->on);
	w->all = false;
	for (uint32_t i = 0; i < want->ntoggles; i++)
		if (strcmp(want->toggles[i].name, "s:*") == 0)
			w->all = true;
		else
			w->on[atoi(want->toggles[i].name + 3)] = true;
	w->probed = want->nrates > 0 ? want->rates[0].probed : 0;
}

static void
lost(void *app, struct stage_node *n, const struct stage_record *r)
{
	struct world *w = app;

	(void)n;
	if (w->nlost < LOST_MAX)
		w->lost[w->nlost++] = r->trace;
}

static struct stage_node *
open_world(struct world *w, uint64_t seed)
{
	struct engine_options o = stage_options(seed);
	char text[40];

	memset(w, 0, sizeof *w);
	w->lost = calloc(LOST_MAX, sizeof *w->lost);
	w->stage.rate = 400;
	w->stage.app = w;
	w->stage.request = request;
	w->stage.obeyed = obeyed;
	w->stage.lost = lost;
	w->begin = stage_label(
	    &w->stage, RECORD_REQUEST_BEGIN, "s/hone:request_begin(A)", "probed");
	w->end = stage_label(&w->stage, RECORD_REQUEST_END, "s/hone:request_end(A)", NULL);
	stage_node(&w->stage, "s", "n1");
	for (int i = 0; i < POINTS; i++) {
		snprintf(text, sizeof text, "s/s:p%d", i);
		w->point[i] = stage_label(&w->stage, RECORD_POINT, text, NULL);
		stage_has(w->stage.nodes[0], text + 2);
	}
	o.tracepoints_per_cycle = 1; /* so that the search takes many cycles */
	stage_open(&w->stage, &o, seed);
	stage_learn(&w->stage, 3);
	w->fault = true;
	return w->stage.nodes[0];
}

static void
close_world(struct world *w)
{
	stage_close(&w->stage);
	stage_release(&w->stage);
	free(w->lost);
}

static struct run *
begin(struct world *w)
{
	struct err e;

	w->stage.begun_ns = w->stage.now_ns;
	assert_int_equal(
	    engine_start(w->stage.g, "A", &(struct start_options){ 0 },
		(struct mono){ w->stage.now_ns }, (struct wall){ w->stage.now_ns }, &w->run, &e),
	    0);
	return forest_run(w->stage.forest, w->run);
}

/* Sets the occupancy of the agent's queue from now on. */
static void
fill(struct world *w, double share)
{
	struct stage_node *n = w->stage.nodes[0];

	n->fill = share;
	n->fill_from_s = (double)(w->stage.now_ns - w->stage.begun_ns) / 1e9;
	n->fill_for_s = 1e6;
}

/* No tracepoint is enabled in a pause, and none is on at an agent that is backing off. */
static void
look(struct world *w)
{
	const struct engine *g = w->stage.g;
	uint32_t are = plan_count(engine_parts_of(g)->plan),
		 toggles = engine_want(w->stage.g, 0)->ntoggles;

	w->broken += engine_parts_of(g)->queues.paused && w->was_paused && are > w->were;
	w->broken += engine_parts_of(g)->nodes.items[0].backing_off && toggles > 0;
	w->pauses += engine_parts_of(g)->queues.paused && !w->was_paused;
	w->most_on = toggles > w->most_on ? toggles : w->most_on;
	w->was_paused = engine_parts_of(g)->queues.paused;
	w->were = are;
}

static void
tick(struct world *w)
{
	stage_tick(&w->stage);
	look(w);
}

static void
ticks(struct world *w, double seconds)
{
	for (int64_t until = w->stage.now_ns + (int64_t)(seconds * 1e9); w->stage.now_ns < until;)
		tick(w);
}

/* Runs until at least `least` tracepoints are on. */
static void
on_there(struct world *w, uint32_t least)
{
	for (int i = 0; i < 30 * 50 && w->stage.nodes[0]->on < least; i++)
		tick(w);
	assert_true(w->stage.nodes[0]->on >= least);
}

static void
must_find(struct world *w, struct run *r)
{
	const struct verdict *v;

	for (int i = 0; i < 600 * 50 && r->state == RUN_ACTIVE; i++)
		tick(w);
	assert_int_equal(r->state, RUN_FOUND);
	v = forest_verdict(w->stage.forest, r->id, 1);
	assert_string_equal(v->from, "s/s:p13");
	assert_string_equal(v->to, "s/s:p14");
}

static uint32_t
withdrawn(struct world *w, enum reason reason)
{
	const struct hypothesis *h;
	uint64_t at = 0;
	uint32_t n = 0;

	while ((h = forest_next(w->stage.forest, w->run, &at)) != NULL)
		n += h->state == HYPOTHESIS_WITHDRAWN && h->reason == reason;
	return n;
}

/* Number of switches in the log with this reason. */
static uint32_t
logged(struct world *w, bool on, enum reason reason)
{
	const struct switched *s;
	uint32_t n = 0;
	char name[16];

	for (int i = 0; i < POINTS; i++) {
		uint64_t at = 0;

		snprintf(name, sizeof name, "s:p%d", i);
		while ((s = forest_switched_next(w->stage.forest, name, &at)) != NULL)
			n += s->on == on && s->reason == reason &&
			     strcmp(s->subject, reason == REASON_SHED ? "n1/ring" : "") == 0;
	}
	return n;
}

/* ---- pause and resume ---- */

/* In any order of reports, the pause follows from the two thresholds and the fullest queue. */
static void
the_fullest_queue_decides_in_any_order(void **state)
{
	enum { NODES = 5 };
	struct engine_options o = stage_options(1);
	double now[NODES][QUEUES] = { { 0 } }, mailbox = 0;
	struct forest *f = forest_new();
	bool here[NODES], paused = false;
	uint32_t node[NODES], pauses = 0;
	struct engine_queues q;
	struct engine *g;
	struct rng rng;
	struct err e;
	char name[16];
	(void)state;

	rng_seed(&rng, 7);
	assert_int_equal(engine_new(&g, &o, f, &e), 0);
	for (int i = 0; i < NODES; i++) {
		snprintf(name, sizeof name, "n%d", i);
		assert_int_equal(engine_join(g, name, "1", (struct mono){ 1 }, &node[i], &e), 0);
		here[i] = true;
	}
	for (int64_t t = 2; t < 20000; t++) {
		uint64_t i = rng_below(&rng, NODES), what = rng_below(&rng, 20);
		struct status s = { .tracer_ok = true };
		double most = 0;

		if (what == 0) {
			mailbox = rng_unit(&rng);
			engine_mailbox(g, mailbox);
		} else if (what == 1 && here[i]) {
			engine_leave(g, node[i], (struct mono){ t });
			here[i] = false;
		} else if (what == 1) {
			engine_join(g, engine_parts_of(g)->nodes.items[node[i]].name, "1",
			    (struct mono){ t }, &node[i], &e);
			here[i] = true;
			memset(now[i], 0, sizeof now[i]);
		} else if (here[i]) {
			now[i][rng_below(&rng, QUEUES)] = rng_unit(&rng) * (what < 4 ? 1 : 0.4);
			memcpy(s.fill, now[i], sizeof s.fill);
			engine_status(g, node[i], &s, (struct mono){ t });
		}
		assert_int_equal(engine_step(g, (struct mono){ t }, (struct wall){ t }, &e), 0);
		for (int k = 0; k < NODES; k++)
			for (int z = 0; z < QUEUES && here[k]; z++)
				most = now[k][z] > most ? now[k][z] : most;
		most = mailbox > most ? mailbox : most;
		pauses += !paused && most > o.pause_fill;
		paused = paused ? most >= o.resume_fill : most > o.pause_fill;
		engine_queues(g, &q);
		assert_int_equal(q.paused, paused);
		assert_int_equal(q.why.reason != REASON_NONE, paused);
	}
	assert_int_equal(q.pauses, pauses);
	assert_true(pauses > 50);
	engine_free(g);
	forest_free(f);
}

static void
the_pause_names_the_queue_and_its_agent(void **state)
{
	struct engine_options o = stage_options(1);
	struct status s = { .tracer_ok = true };
	struct forest *f = forest_new();
	struct engine_queues q;
	char text[CONGESTION_TEXT_MAX];
	struct engine *g;
	uint32_t a, b;
	struct err e;
	(void)state;

	assert_int_equal(engine_new(&g, &o, f, &e), 0);
	engine_join(g, "near", "1", (struct mono){ 1 }, &a, &e);
	engine_join(g, "far", "1", (struct mono){ 1 }, &b, &e);
	s.fill[QUEUE_FILES] = 0.625;
	engine_status(g, b, &s, (struct mono){ 2 }); /* at once, without a step */
	engine_queues(g, &q);
	assert_int_equal(q.why.reason, REASON_QUEUE_FULL);
	assert_string_equal(q.why.node, "far");
	assert_int_equal(q.why.queue, QUEUE_FILES);
	assert_true(q.why.fill == 0.625 && q.why.others == 0);
	assert_string_equal(congestion_print(&q.why, text), "agent far: files 62 % full");
	assert_int_equal(q.since.ns, 2);
	s.fill[QUEUE_LINK] = 0.75;
	engine_status(g, a, &s, (struct mono){ 3 });
	engine_queues(g, &q);
	assert_string_equal(
	    congestion_print(&q.why, text), "agent near: link 75 % full, and 1 more");
	s.fill[QUEUE_RING] = 0.9;
	s.fullest = "jam";
	s.fullest_pid = 77;
	engine_status(g, a, &s, (struct mono){ 3 });
	engine_queues(g, &q);
	assert_string_equal(congestion_print(&q.why, text),
	    "agent near: ring 90 % full (jam, process 77), and 1 more");
	s.fill[QUEUE_RING] = 0;
	engine_status(g, a, &s, (struct mono){ 3 });
	engine_mailbox(g, 0.8);
	assert_int_equal(engine_step(g, (struct mono){ 4 }, (struct wall){ 4 }, &e), 0);
	engine_queues(g, &q);
	assert_string_equal(
	    congestion_print(&q.why, text), "the controller's mailbox is 80 % full");
	assert_int_equal(q.pauses, 1);
	engine_free(g);
	forest_free(f);
}

/*
 * Queues fill and empty at random: no tracepoint is enabled in a pause, and the search still finds
 * the fault.
 */
static void
no_tracepoint_is_enabled_in_a_pause(void **state)
{
	uint32_t pauses = 0, sheds = 0;
	(void)state;

	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct world w;
		struct stage_node *n = open_world(&w, seed);
		struct run *r = begin(&w);
		struct rng rng;

		rng_seed(&rng, seed);
		for (int i = 0; i < 60 && r->state == RUN_ACTIVE; i++) {
			fill(&w, rng_unit(&rng) < 0.4 ? 0.1 : rng_unit(&rng));
			ticks(&w, rng_unit(&rng) / 2);
		}
		n->fill_for_s = 0;
		must_find(&w, r);
		assert_int_equal(w.broken, 0);
		assert_true(w.most_on > 0);
		pauses += w.pauses;
		sheds += n->sheds;
		close_world(&w);
	}
	assert_true(pauses >= 30);
	assert_true(sheds >= 5);
}

/* ---- disabling the newest tracepoints ---- */

static void
the_newest_tracepoints_are_disabled_after_the_stated_time(void **state)
{
	struct world w;
	struct stage_node *n = open_world(&w, 1);
	struct run *r = begin(&w);
	uint32_t on;
	(void)state;

	on_there(&w, 3); /* the newest, and an end of the gap that stays on */
	on = n->on;
	fill(&w, 0.7);
	ticks(&w, 4.9);
	assert_int_equal(n->on, on);
	assert_int_equal(withdrawn(&w, REASON_CONGESTION), 0);
	ticks(&w, 0.2);
	assert_true(n->on < on && n->on > 0);
	assert_true(withdrawn(&w, REASON_CONGESTION) > 0);
	assert_int_equal(logged(&w, false, REASON_CONGESTION), withdrawn(&w, REASON_CONGESTION));
	on = n->on;
	ticks(&w, 20);
	assert_int_equal(n->on, on); /* the ends of the gap stay on */
	assert_int_equal(w.broken, 0);
	n->fill_for_s = 0;
	must_find(&w, r);
	close_world(&w);
}

/* ---- backoff ---- */

/* The backoff doubles each time the agent sheds load again soon. */
static void
the_backoff_of_an_agent_doubles_each_time_it_sheds_load(void **state)
{
	struct world w;
	struct stage_node *n = open_world(&w, 1);
	double rest_s = 3;
	(void)state;

	begin(&w);
	for (uint32_t times = 1; times <= 7; times++) {
		int64_t shed_ns;

		on_there(&w, 1);
		fill(&w, 0.95);
		for (int i = 0; i < 5 && n->sheds < times; i++)
			tick(&w);
		assert_int_equal(n->sheds, times);
		shed_ns = w.stage.now_ns;
		ticks(&w, 0.1);
		n->fill_for_s = 0;
		while (n->on == 0 && w.stage.now_ns - shed_ns < 1000 * SECOND)
			tick(&w);
		assert_true((double)(w.stage.now_ns - shed_ns) / 1e9 >=
			    rest_s - 0.021); /* a tick is 20 ms */
		assert_true((double)(w.stage.now_ns - shed_ns) / 1e9 < rest_s + 1.5);
		rest_s = rest_s < 96 ? 2 * rest_s : 96;
	}
	assert_int_equal(w.broken, 0);
	assert_true(logged(&w, false, REASON_SHED) >= 7);
	close_world(&w);
}

static void
the_backoff_starts_again_after_a_long_time_without_shedding(void **state)
{
	struct engine_options o = stage_options(1);
	struct status calm = { .tracer_ok = true }, shed = { .tracer_ok = true, .shed = true };
	static const struct {
		int64_t at_s, rest_s;
	} STORY[] = {
		{ 100, 10 },
		{ 111, 20 },
		{ 140, 40 },
		{ 180 + 4 * 40 - 1, 80 },
		{ 419 + 4 * 80 + 1, 10 },
		{ 751, 20 },
	};
	struct forest *f = forest_new();
	struct engine *g;
	uint32_t node;
	struct err e;
	(void)state;

	o.shed_ns = 10 * SECOND;
	assert_int_equal(engine_new(&g, &o, f, &e), 0);
	engine_join(g, "n1", "1", (struct mono){ 1 }, &node, &e);
	for (size_t i = 0; i < sizeof STORY / sizeof STORY[0]; i++) {
		engine_status(g, node, &shed, (struct mono){ STORY[i].at_s * SECOND });
		engine_status(g, node, &shed,
		    (struct mono){ STORY[i].at_s * SECOND + 1 }); /* the same status again */
		engine_status(g, node, &calm, (struct mono){ STORY[i].at_s * SECOND + 2 });
		assert_int_equal(
		    engine_step(g, (struct mono){ (STORY[i].at_s + STORY[i].rest_s) * SECOND - 1 },
			(struct wall){ 1 }, &e),
		    0);
		assert_true(engine_parts_of(g)->queues.paused);
		assert_int_equal(
		    engine_step(g, (struct mono){ (STORY[i].at_s + STORY[i].rest_s) * SECOND },
			(struct wall){ 1 }, &e),
		    0);
		assert_false(engine_parts_of(g)->queues.paused);
	}
	engine_free(g);
	forest_free(f);
}

/*
 * All tracepoints of the agent are disabled, also the ends of the gap; the ends are enabled again
 * after the backoff, and the log has both.
 */
static void
tracepoints_are_enabled_again_after_the_backoff_and_the_fault_is_found(void **state)
{
	struct world w;
	struct stage_node *n = open_world(&w, 2);
	struct run *r = begin(&w);
	(void)state;

	on_there(&w, 3);
	fill(&w, 0.95);
	ticks(&w, 0.2);
	n->fill_for_s = 0;
	assert_int_equal(n->sheds, 1);
	assert_int_equal(n->on, 0);
	assert_false(n->shed); /* the agent received an empty want, so both sides agree again */
	assert_true(withdrawn(&w, REASON_CONGESTION) > 0);
	assert_true(logged(&w, false, REASON_SHED) > withdrawn(&w, REASON_CONGESTION));
	ticks(&w, 9);
	assert_int_equal(n->on, 0);
	must_find(&w, r);
	assert_true(logged(&w, true, REASON_BACKOFF_OVER) > 0);
	assert_int_equal(n->sheds, 1);
	assert_int_equal(w.broken, 0);
	close_world(&w);
}

static void
learning_continues_after_the_backoff(void **state)
{
	struct world w;
	struct stage_node *n = open_world(&w, 1);
	uint64_t before;
	struct err e;
	(void)state;

	w.stage.begun_ns = w.stage.now_ns;
	assert_int_equal(
	    engine_learn(w.stage.g, 5 * SECOND, (struct mono){ w.stage.now_ns }, &e), 0);
	ticks(&w, 1);
	assert_true(n->on > 0);
	fill(&w, 0.95);
	ticks(&w, 0.1);
	n->fill_for_s = 0;
	assert_int_equal(n->sheds, 1);
	before = engine_parts_of(w.stage.g)->learning.traces;
	ticks(&w, 2.5);
	assert_int_equal(n->on, 0);
	assert_true(engine_parts_of(w.stage.g)->learning.active);
	assert_int_equal(engine_parts_of(w.stage.g)->learning.traces,
	    before); /* an agent without tracepoints adds no trace to the learned space */
	ticks(&w, 2);
	assert_true(n->on > 0);
	assert_true(engine_parts_of(w.stage.g)->learning.traces > before);
	ticks(&w, 5);
	assert_false(engine_parts_of(w.stage.g)->learning.active);
	assert_int_equal(w.broken, 0);
	close_world(&w);
}

/* ---- incomplete traces ---- */

/*
 * Only records of one point are lost, repeatedly: if these traces counted, the point would seem
 * absent.
 */
static void
an_incomplete_trace_is_no_evidence(void **state)
{
	uint32_t losses = 0, evidence = 0;
	(void)state;

	for (uint64_t seed = 1; seed <= 4; seed++) {
		struct world w;
		struct stage_node *n = open_world(&w, seed);
		struct run *r;

		n->lose_count = 20;
		n->lose_every_s = 0.05;
		n->lose_label = w.point[SLOW_AFTER + (seed % 2)] + 1;
		r = begin(&w);
		must_find(&w, r);
		for (uint32_t i = 0; i < w.nlost; i++) {
			uint64_t at = 0;

			assert_null(forest_evidence(
			    w.stage.forest, (struct trace_id){ .low = w.lost[i] }, &at));
		}
		losses += w.nlost;
		evidence += forest_changes(w.stage.forest)->nevidence;
		close_world(&w);
	}
	assert_true(losses > 50);
	assert_true(evidence > 50);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_fullest_queue_decides_in_any_order),
		cmocka_unit_test(the_pause_names_the_queue_and_its_agent),
		cmocka_unit_test(no_tracepoint_is_enabled_in_a_pause),
		cmocka_unit_test(the_newest_tracepoints_are_disabled_after_the_stated_time),
		cmocka_unit_test(the_backoff_of_an_agent_doubles_each_time_it_sheds_load),
		cmocka_unit_test(the_backoff_starts_again_after_a_long_time_without_shedding),
		cmocka_unit_test(
		    tracepoints_are_enabled_again_after_the_backoff_and_the_fault_is_found),
		cmocka_unit_test(learning_continues_after_the_backoff),
		cmocka_unit_test(an_incomplete_trace_is_no_evidence),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
