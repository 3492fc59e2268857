/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Log levels in the engine, on a simulated application: what they cost is known before and counted after, and they give way. */
#include <math.h>
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

enum { RATE = 50, STEPS = 20, RECORD_NS = 200 };
#define SECOND INT64_C(1000000000)

/* Requests pass s:taken (info) once, s:step (debug) STEPS times; s:failed (err) never. */
struct world {
	struct stage stage;
	uint32_t begin, end, taken, step, other;
	bool has_other; /* service t runs on the node, too, and passes s:step (debug) STEPS times */
	bool info, debug; /* on, for all sampled requests */
};

static void
emit(struct world *w, struct stage_record *r, uint32_t label)
{
	r->time_ns += 1000;
	r->label = label;
	stage_emit(&w->stage, w->stage.nodes[0], r);
}

static void
request(void *app, int64_t at_ns)
{
	struct world *w = app;
	struct stage_record r = { .time_ns = at_ns, .trace = rng_next(&w->stage.rng) | 1 };
	bool probed = stage_rate(w->stage.nodes[0], "A").probed > 0;

	r.unit = r.trace;
	r.value = probed;
	emit(w, &r, w->begin);
	if (probed || w->info)
		emit(w, &r, w->taken);
	for (int i = 0; i < STEPS && (probed || w->debug); i++) {
		emit(w, &r, w->step);
		if (w->has_other)
			emit(w, &r, w->other);
	}
	r.value = 0;
	emit(w, &r, w->end);
}

static bool
wants(const struct want *want, const char *name)
{
	for (uint32_t i = 0; i < want->ntoggles; i++)
		if (strcmp(want->toggles[i].name, name) == 0)
			return want->toggles[i].sampled;
	return false;
}

static void
obeyed(void *app, struct stage_node *n, const struct want *want)
{
	struct world *w = app;

	(void)n;
	w->debug = wants(want, "s:*") || wants(want, "s:step");
	w->info = wants(want, "s:*") || wants(want, "s:taken");
}

static void
play(struct world *w, double seconds)
{
	for (int i = 0; i < (int)(seconds * SECOND / TICK_NS); i++)
		stage_tick(&w->stage);
}

static void
report(struct world *w, double fill)
{
	struct status s = { .record_ns = RECORD_NS,
		.rejected_ns = 40,
		.tracer_ok = true,
		.guard_ok = true,
		.recorder_missing = "" };

	s.fill[QUEUE_RING] = fill;
	engine_status(w->stage.g, 0, &s, (struct mono){ w->stage.now_ns });
}

static int
begin(void **state)
{
	static const char *names[] = { "s:failed", "s:taken", "s:step" };
	static const uint8_t levels[] = { LOGLEVEL_ERR, LOGLEVEL_INFO, LOGLEVEL_DEBUG };
	struct program one = { "s", 1, 0, 3 };
	const struct programs p = { 1, 3, &one, names, levels };
	struct world *w = calloc(1, sizeof *w);
	struct engine_options o = stage_options(1);
	struct err e;

	w->stage.rate = RATE;
	w->stage.app = w;
	w->stage.request = request;
	w->stage.obeyed = obeyed;
	w->begin = stage_label(
	    &w->stage, RECORD_REQUEST_BEGIN, "s/hone:request_begin(A)", "probed");
	w->end = stage_label(&w->stage, RECORD_REQUEST_END, "s/hone:request_end(A)", NULL);
	w->taken = stage_label(&w->stage, RECORD_POINT, "s/s:taken", NULL);
	w->step = stage_label(&w->stage, RECORD_POINT, "s/s:step", NULL);
	w->other = stage_label(&w->stage, RECORD_POINT, "t/s:step", NULL);
	stage_node(&w->stage, "s", "n1");
	for (int i = 0; i < 3; i++)
		stage_has(w->stage.nodes[0], names[i]);
	stage_open(&w->stage, &o, 1);
	assert_int_equal(engine_programs(w->stage.g, 0, &p, &e), 0);
	report(w, 0);
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

static struct level_price
price_at(struct world *w, uint8_t level)
{
	struct level_facts f = engine_level_facts(w->stage.g);
	struct level_rules rules = f.levels->rules;
	struct level_table t;
	struct level_price p;
	struct err e;

	assert_int_equal(level_rules_set(&rules, "s", level, &e), 0);
	assert_int_equal(level_table_make(&t, &f, &e), 0);
	p = level_table_price(&t, &f, &rules);
	level_table_release(&t);
	return p;
}

static void
set(struct world *w, uint8_t level)
{
	struct err e;

	assert_int_equal(engine_set_level(w->stage.g, "s", level, &e), 0);
}

static void
assert_around(double value, double expected)
{
	assert_true(fabs(value - expected) <= 0.1 * expected);
}

static void
what_was_not_learned_is_unknown_and_not_guessed(void **state)
{
	struct level_price p = price_at(*state, LOGLEVEL_DEBUG);

	assert_int_equal(p.tracepoints, 3);
	assert_int_equal(p.unknown, 3);
	assert_true(p.per_second == 0 && p.core == 0);
	assert_int_equal(price_at(*state, LOGLEVEL_ERR).unknown, 1);
	assert_int_equal(price_at(*state, LOGLEVEL_NONE).unknown, 0);
}

static void
after_learning_the_price_is_passages_times_requests_times_the_cost_of_a_record(void **state)
{
	struct world *w = *state;
	struct level_price p;

	stage_learn(&w->stage, 3);
	report(w, 0);
	play(w, 2);
	p = price_at(w, LOGLEVEL_DEBUG);
	assert_int_equal(p.unknown, 0);
	assert_int_equal(p.node, 0);
	assert_around(p.per_second, RATE * (1.0 + STEPS));
	assert_around(p.core, RATE * (1.0 + STEPS) * RECORD_NS / 1e9);
	p = price_at(w, LOGLEVEL_INFO);
	assert_int_equal(p.tracepoints, 2);
	assert_around(p.per_second, RATE);
	assert_true(price_at(w, LOGLEVEL_ERR).per_second == 0); /* no learned request passed it */
}

static void
a_level_is_on_for_sampled_requests_and_then_counted(void **state)
{
	struct world *w = *state;
	struct level_price p;
	const struct want *want;

	set(w, LOGLEVEL_INFO);
	play(w, 0.2);
	assert_true(w->info && !w->debug);
	want = engine_want(w->stage.g, 0);
	assert_int_equal(want->ntoggles, 2);
	assert_true(want->toggles[0].sampled && want->toggles[1].sampled);
	set(w, LOGLEVEL_DEBUG);
	play(w, 0.2);
	assert_true(w->info && w->debug);
	want = engine_want(w->stage.g, 0);
	assert_int_equal(want->ntoggles, 1);
	assert_string_equal(want->toggles[0].name, "s:*");
	play(w, 25); /* two windows: the first has some of before */
	p = price_at(w, LOGLEVEL_DEBUG);
	assert_int_equal(p.unknown, 0); /* though nothing was learned */
	assert_around(p.per_second, RATE * (1.0 + STEPS));
	set(w, LOGLEVEL_NONE);
	play(w, 0.2);
	assert_false(w->info || w->debug);
	assert_int_equal(engine_want(w->stage.g, 0)->ntoggles, 0);
}

static void
records_of_another_service_that_shares_the_tracepoint_are_in_the_price(void **state)
{
	static const char *names[] = { "s:failed", "s:taken", "s:step", "s:step" };
	static const uint8_t levels[] = { LOGLEVEL_ERR, LOGLEVEL_INFO, LOGLEVEL_DEBUG,
		LOGLEVEL_DEBUG };
	struct program both[] = { { "s", 1, 0, 3 }, { "t", 2, 3, 1 } };
	const struct programs p = { 2, 4, both, names, levels };
	struct world *w = *state;
	struct err e;

	w->has_other = true;
	assert_int_equal(engine_programs(w->stage.g, 0, &p, &e), 0);
	set(w, LOGLEVEL_INFO);
	play(w, 25);
	assert_around(price_at(w, LOGLEVEL_INFO).per_second, RATE); /* nothing that t has */
	set(w, LOGLEVEL_DEBUG);
	play(w, 25);
	assert_around(price_at(w, LOGLEVEL_DEBUG).per_second, RATE * (1.0 + 2 * STEPS));
	assert_true(price_at(w, LOGLEVEL_NONE).per_second == 0);
}

/* The diagnosis' own tracepoint stays, for probed requests. */
static void
congestion_disables_levels_at_once_and_keeps_what_is_in_the_plan(void **state)
{
	struct world *w = *state;
	struct levels *l = &engine_parts(w->stage.g)->levels;
	const struct want *want;
	struct err e;

	set(w, LOGLEVEL_DEBUG);
	assert_int_equal(plan_want(engine_parts(w->stage.g)->plan, "s:taken", 1, &e), 0);
	play(w, 0.2);
	assert_int_equal(engine_want(w->stage.g, 0)->ntoggles, 2);
	report(w, 0.6);
	play(w, 0.1);
	want = engine_want(w->stage.g, 0);
	assert_int_equal(l->held, LEVELS_HELD_CONGESTION);
	assert_int_equal(want->ntoggles, 1);
	assert_string_equal(want->toggles[0].name, "s:taken");
	assert_false(want->toggles[0].sampled);
	report(w, 0.1);
	play(w, 29);
	assert_int_equal(l->held, LEVELS_HELD_CONGESTION);
	play(w, 2);
	assert_int_equal(l->held, LEVELS_ON);
	assert_true(wants(engine_want(w->stage.g, 0), "s:*"));
	report(w, 0.6); /* soon again: twice as long */
	play(w, 0.1);
	report(w, 0.1);
	play(w, 58);
	assert_int_equal(l->held, LEVELS_HELD_CONGESTION);
	play(w, 4);
	assert_int_equal(l->held, LEVELS_ON);
	assert_int_equal(l->holds, 2);
}

static void
levels_are_off_while_learning_and_for_good_at_the_end(void **state)
{
	struct world *w = *state;
	struct err e;

	set(w, LOGLEVEL_INFO);
	play(w, 0.2);
	assert_true(wants(engine_want(w->stage.g, 0), "s:taken"));
	assert_int_equal(
	    engine_learn(w->stage.g, 3 * SECOND, (struct mono){ w->stage.now_ns }, &e), 0);
	play(w, 0.5);
	assert_false(wants(engine_want(w->stage.g, 0), "s:taken"));
	play(w, 5);
	assert_true(wants(engine_want(w->stage.g, 0), "s:taken"));
	engine_end_levels(w->stage.g);
	play(w, 0.2);
	assert_int_equal(engine_want(w->stage.g, 0)->ntoggles, 0);
	assert_true(engine_quiet(w->stage.g));
	set(w, LOGLEVEL_DEBUG);
	play(w, 40);
	assert_int_equal(engine_want(w->stage.g, 0)->ntoggles, 0);
}

static void
a_tracepoint_in_the_plan_and_on_by_its_level_is_one_for_all_sampled_requests(void **state)
{
	struct world *w = *state;
	const struct want *want;
	struct err e;

	set(w, LOGLEVEL_INFO);
	assert_int_equal(plan_want(engine_parts(w->stage.g)->plan, "s:taken", 1, &e), 0);
	assert_int_equal(plan_want(engine_parts(w->stage.g)->plan, "s:step", 1, &e), 0);
	play(w, 0.2);
	want = engine_want(w->stage.g, 0);
	assert_int_equal(want->ntoggles, 3);
	assert_true(wants(want, "s:taken") && wants(want, "s:failed"));
	assert_false(wants(want, "s:step"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
		    what_was_not_learned_is_unknown_and_not_guessed, begin, end),
		cmocka_unit_test_setup_teardown(
		    after_learning_the_price_is_passages_times_requests_times_the_cost_of_a_record,
		    begin, end),
		cmocka_unit_test_setup_teardown(
		    a_level_is_on_for_sampled_requests_and_then_counted, begin, end),
		cmocka_unit_test_setup_teardown(
		    records_of_another_service_that_shares_the_tracepoint_are_in_the_price, begin,
		    end),
		cmocka_unit_test_setup_teardown(
		    congestion_disables_levels_at_once_and_keeps_what_is_in_the_plan, begin, end),
		cmocka_unit_test_setup_teardown(
		    levels_are_off_while_learning_and_for_good_at_the_end, begin, end),
		cmocka_unit_test_setup_teardown(
		    a_tracepoint_in_the_plan_and_on_by_its_level_is_one_for_all_sampled_requests,
		    begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
