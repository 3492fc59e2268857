/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Invariants at every moment of whole diagnoses, with two request types that share the faulty
 * program.
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

enum { POINTS = 12, SLOW_AFTER = 7, TYPES = 2, SECONDS = 120 };

struct world {
	struct stage stage;
	uint32_t begin[TYPES], end[TYPES], point[POINTS]; /* labels */
	double probed[TYPES];
	bool fault, on[POINTS], all;
	uint64_t wants; /* hash of all wants, in their order */
	uint32_t shared, kept,
	    /*
	     * counts of: moments with a tracepoint of both types' searches; moments when only one
	     * still has it; wants that were not in the forest first
	     */
	    unlogged;
	bool was_shared[POINTS];
	struct run *runs[TYPES];
};

static const char *const NAMES[TYPES] = { "A", "B" };

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
	uint64_t type = rng_below(&w->stage.rng, TYPES), trace = rng_next(&w->stage.rng) | 1;
	bool probed = rng_unit(&w->stage.rng) < w->probed[type];

	emit(w, w->begin[type], trace, at_ns, probed);
	for (int i = 0; i < POINTS; i++) {
		at_ns += 100000 + (int64_t)rng_below(&w->stage.rng, 5000);
		if (probed && (w->all || w->on[i]))
			emit(w, w->point[i], trace, at_ns, 0);
		if (i == SLOW_AFTER && w->fault && rng_unit(&w->stage.rng) < 0.2)
			at_ns += 10 * MS + (int64_t)rng_below(&w->stage.rng, MS);
	}
	emit(w, w->end[type], trace, at_ns + 100000, 0);
}

/* The forest must log an enabled tracepoint and commit it before the want is sent. */
static bool
is_logged(const struct world *w, const char *name)
{
	const struct switched *s;
	uint64_t at = 0;
	int owners = 0;

	while ((s = forest_switched_next(w->stage.forest, name, &at)) != NULL)
		owners += s->on ? 1 : -1;
	return owners > 0;
}

static void
obeyed(void *app, struct stage_node *n, const struct want *want)
{
	struct world *w = app;
	struct buf b = { 0 };

	(void)n;
	want_encode(want, &b);
	w->wants = hash_bytes(w->wants, b.data, b.len);
	buf_release(&b);
	memset(w->on, 0, sizeof w->on);
	w->all = false;
	for (uint32_t i = 0; i < want->ntoggles; i++) {
		const char *name = want->toggles[i].name;

		if (strcmp(name, "s:*") == 0) {
			w->all = true;
			continue;
		}
		assert_false(w->on[atoi(name + 3)]); /* once */
		w->on[atoi(name + 3)] = true;
		w->unlogged += !is_logged(w, name);
	}
	memset(w->probed, 0, sizeof w->probed);
	for (uint32_t i = 0; i < want->nrates; i++)
		w->probed[want->rates[i].request_type[0] - 'A'] = want->rates[i].probed;
}

static void
open_world(struct world *w, uint64_t seed, double learn_s)
{
	struct engine_options o = stage_options(seed);
	char text[40];

	memset(w, 0, sizeof *w);
	w->stage.rate = 600;
	w->stage.app = w;
	w->stage.request = request;
	w->stage.obeyed = obeyed;
	for (int i = 0; i < TYPES; i++) {
		snprintf(text, sizeof text, "s/hone:request_begin(%s)", NAMES[i]);
		w->begin[i] = stage_label(&w->stage, RECORD_REQUEST_BEGIN, text, "probed");
		snprintf(text, sizeof text, "s/hone:request_end(%s)", NAMES[i]);
		w->end[i] = stage_label(&w->stage, RECORD_REQUEST_END, text, NULL);
	}
	stage_node(&w->stage, "s", "n1");
	for (int i = 0; i < POINTS; i++) {
		snprintf(text, sizeof text, "s/s:p%d", i);
		w->point[i] = stage_label(&w->stage, RECORD_POINT, text, NULL);
		stage_has(w->stage.nodes[0], text + 2);
	}
	stage_open(&w->stage, &o, seed);
	stage_learn(&w->stage, learn_s);
	w->fault = true;
}

static void
close_world(struct world *w)
{
	stage_close(&w->stage);
	stage_release(&w->stage);
}

static bool
has_on(const struct world *w, int type, int point)
{
	const struct diagnosis *d = engine_parts(w->stage.g)->types.items[type].diagnosis;
	char name[LABEL_TEXT_MAX + 1], want[16];

	snprintf(want, sizeof want, "s:p%d", point);
	for (uint32_t i = 0; d != NULL && i < d->nsearches; i++)
		for (uint32_t k = 0; k < d->searches[i]->enabled.n; k++)
			if (strcmp(tracepoint_name(engine_parts(w->stage.g)->labels,
				       d->searches[i]->enabled.picks[k].label, name),
				want) == 0)
				return true;
	return false;
}

/* The plan has exactly the tracepoints that all searches have on. */
static void
look(struct world *w)
{
	uint32_t distinct = 0;

	for (int t = 0; t < TYPES; t++)
		if (engine_parts(w->stage.g)->types.items[t].diagnosis != NULL &&
		    diagnosis_explores(engine_parts(w->stage.g)->types.items[t].diagnosis))
			return; /* exploration uses names, not labels */
	for (int i = 0; i < POINTS; i++) {
		char name[16];
		int n = 0;

		snprintf(name, sizeof name, "s:p%d", i);
		for (int t = 0; t < TYPES; t++)
			n += has_on(w, t, i);
		assert_int_equal(plan_wants(engine_parts(w->stage.g)->plan, name), n > 0);
		distinct += n > 0;
		w->shared += n == TYPES;
		w->kept += w->was_shared[i] && n == 1;
		w->was_shared[i] = n == TYPES || (w->was_shared[i] && n == 1);
	}
	assert_int_equal(plan_count(engine_parts(w->stage.g)->plan), distinct);
}

static void
diagnose_both(struct world *w)
{
	struct err e;
	bool active = true;

	for (int i = 0; i < TYPES; i++) {
		uint64_t id;

		assert_int_equal(engine_start(w->stage.g, NAMES[i],
				     &(struct start_options){ .strategy = "flat" },
				     (struct mono){ w->stage.now_ns },
				     (struct wall){ w->stage.now_ns }, &id, &e),
		    0);
		w->runs[i] = forest_run(w->stage.forest, id);
	}
	for (int tick = 0; tick < SECONDS * 50 && active; tick++) {
		stage_tick(&w->stage);
		look(w);
		active = w->runs[0]->state == RUN_ACTIVE || w->runs[1]->state == RUN_ACTIVE;
	}
	stage_tick(&w->stage);
}

static void
concurrent_diagnoses_share_tracepoints(void **state)
{
	struct world w;
	(void)state;

	open_world(&w, 1, 3);
	diagnose_both(&w);
	for (int i = 0; i < TYPES; i++) {
		const struct verdict *v = forest_verdict(w.stage.forest, w.runs[i]->id, 1);

		assert_int_equal(w.runs[i]->state, RUN_FOUND);
		assert_string_equal(v->from, "s/s:p7");
		assert_string_equal(v->to, "s/s:p8");
	}
	assert_true(w.shared > 0);
	assert_true(w.kept > 0);
	assert_int_equal(w.unlogged, 0);
	assert_int_equal(plan_count(engine_parts(w.stage.g)->plan), 0);
	assert_true(engine_quiet(w.stage.g));
	close_world(&w);
}

static void
a_stopped_diagnosis_disables_its_tracepoints(void **state)
{
	const struct hypothesis *h;
	struct world w;
	struct err e;
	uint64_t id, at = 0;
	(void)state;

	open_world(&w, 1, 3);
	assert_int_equal(
	    engine_start(w.stage.g, "A", &(struct start_options){ 0 },
		(struct mono){ w.stage.now_ns }, (struct wall){ w.stage.now_ns }, &id, &e),
	    0);
	while (plan_count(engine_parts(w.stage.g)->plan) == 0)
		stage_tick(&w.stage);
	assert_int_equal(engine_stop(w.stage.g, "A", (struct wall){ w.stage.now_ns }, &e), 0);
	assert_int_equal(plan_count(engine_parts(w.stage.g)->plan), 0);
	assert_false(engine_quiet(w.stage.g)); /* the agent has not confirmed it yet */
	stage_tick(&w.stage);
	assert_true(engine_quiet(w.stage.g));
	while ((h = forest_next(w.stage.forest, id, &at)) != NULL)
		assert_true(hypothesis_settled(h->state));
	assert_true(at > 0);
	close_world(&w);
}

/* An agent that leaves before it has confirmed: nobody knows what is enabled there, until it is back and has. */
static void
of_a_node_that_left_with_something_enabled_nothing_is_known(void **state)
{
	struct node *n;
	struct world w;
	struct err e;
	int64_t left_ns;
	uint64_t id;
	uint32_t node;
	(void)state;

	open_world(&w, 1, 3);
	n = &engine_parts(w.stage.g)->nodes.items[0];
	assert_int_equal(
	    engine_start(w.stage.g, "A", &(struct start_options){ 0 },
		(struct mono){ w.stage.now_ns }, (struct wall){ w.stage.now_ns }, &id, &e),
	    0);
	while (!n->maybe_on)
		stage_tick(&w.stage);
	assert_int_equal(engine_stop(w.stage.g, "A", (struct wall){ w.stage.now_ns }, &e), 0);
	assert_false(node_is_unknown(n, (struct mono){ w.stage.now_ns }, &left_ns));
	engine_leave(w.stage.g, 0, (struct mono){ w.stage.now_ns });
	assert_true(engine_quiet(w.stage.g)); /* so that honed can end */
	assert_true(node_is_unknown(n, (struct mono){ w.stage.now_ns }, &left_ns));
	assert_true(left_ns > 0 && left_ns == n->want.lease_ms * 1000000);
	assert_true(node_is_unknown(
	    n, (struct mono){ w.stage.now_ns + n->want.lease_ms * 1000000 + 5 }, &left_ns));
	assert_int_equal(left_ns, -5);
	assert_int_equal(
	    engine_join(w.stage.g, n->name, n->version, (struct mono){ w.stage.now_ns }, &node, &e),
	    0);
	assert_false(node_is_unknown(n, (struct mono){ w.stage.now_ns }, &left_ns));
	assert_false(engine_quiet(w.stage.g));
	while (!engine_quiet(w.stage.g))
		stage_tick(&w.stage);
	engine_leave(w.stage.g, 0, (struct mono){ w.stage.now_ns }); /* it has confirmed */
	assert_false(node_is_unknown(n, (struct mono){ w.stage.now_ns }, &left_ns));
	close_world(&w);
}

static void
the_same_input_gives_the_same_wants(void **state)
{
	uint64_t wants[3];
	(void)state;

	for (uint64_t i = 0; i < 3; i++) {
		struct world w;

		open_world(&w, 1 + i / 2, 3);
		diagnose_both(&w);
		wants[i] = w.wants;
		close_world(&w);
	}
	assert_true(wants[0] == wants[1]);
	assert_true(wants[0] != wants[2]); /* else the hash would not distinguish wants */
}

/*
 * With an empty space all places that a diagnosis records are new and are kept; the next diagnosis
 * adds none.
 */
static void
places_that_a_diagnosis_records_are_learned_once(void **state)
{
	struct world w;
	struct space_stats s;
	(void)state;

	open_world(&w, 1, 0);
	assert_false(engine_learned(w.stage.g));
	diagnose_both(&w);
	assert_true(engine_learned(w.stage.g));
	assert_false(engine_learned(w.stage.g));
	assert_true(space_stats(
	    engine_space(w.stage.g), engine_parts(w.stage.g)->types.items[0].label, &s));
	assert_true(s.labels > 0 && s.traces == 0);
	assert_true(
	    space_version(engine_space(w.stage.g))->fingerprint == engine_fingerprint(w.stage.g));
	assert_false(engine_stale(w.stage.g));
	diagnose_both(&w);
	assert_false(engine_learned(w.stage.g));
	close_world(&w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(concurrent_diagnoses_share_tracepoints),
		cmocka_unit_test(a_stopped_diagnosis_disables_its_tracepoints),
		cmocka_unit_test(of_a_node_that_left_with_something_enabled_nothing_is_known),
		cmocka_unit_test(the_same_input_gives_the_same_wants),
		cmocka_unit_test(places_that_a_diagnosis_records_are_learned_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
