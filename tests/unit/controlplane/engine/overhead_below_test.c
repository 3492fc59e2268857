/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Looking below the tracepoints stays within the overhead budget by probing fewer requests. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "controlplane/engine/engine.h"
#include "controlplane/engine/overhead.h"
#include "controlplane/engine/parts.h"

#define SECOND INT64_C(1000000000)
#define BUDGET 0.01
#define RECORD_COST_NS 200

static const struct engine_options OPTIONS = {
	.conditions = { 0.10, 0.95, 30, 0.95 },
	.seed = 1,
	.memory_max_bytes = 1 << 24,
	.skew_ns = 1000000,
	.patience_ns = SECOND,
	.groups_max = 100,
	.samples_max = 64,
	.tracepoints_per_cycle = 3,
	.isolate_min = 0.5,
	.explain_min = 0.5,
	.pause_fill = 0.5,
	.resume_fill = 0.35,
	.withdraw_ns = 5 * SECOND,
	.cycle_max_ns = 3600 * SECOND,
	.sampled = 1,
	.lease_ns = 5 * SECOND,
	.budget_share = BUDGET,
	.learn_share = BUDGET,
};

struct house {
	struct forest *forest;
	struct engine *engine;
	struct request_type *type;
	uint32_t node, wait;
	int64_t now_ns;
};

static int
build(void **state)
{
	struct program one = { "shop", 1, 0, 0 };
	const struct programs p = { .nprograms = 1, .programs = &one };
	struct house *h = calloc(1, sizeof *h);
	struct start_options o = { .below = LOOK_BELOW_AS_CONFIGURED };
	struct engine_parts *parts;
	uint64_t run;
	struct err e;

	h->forest = forest_new();
	assert_int_equal(engine_new(&h->engine, &OPTIONS, h->forest, &e), 0);
	assert_int_equal(engine_join(h->engine, "n", "1", (struct mono){ 1000 }, &h->node, &e), 0);
	assert_int_equal(engine_programs(h->engine, h->node, &p, &e), 0);
	parts = engine_parts(h->engine);
	h->type = &parts->types.items[parts->types.n++];
	h->type->label = labels_intern(
	    parts->labels, RECORD_REQUEST_BEGIN, "shop/hone:request_begin[R]", 26, NULL, 0);
	h->wait = labels_intern(parts->labels, RECORD_WAIT, "shop/below:timer()", 18, NULL, 0);
	h->type->name = strdup("R");
	h->type->sketch = calloc(1, sizeof *h->type->sketch);
	h->now_ns = SECOND;
	assert_int_equal(engine_start(h->engine, "R", &o, (struct mono){ h->now_ns },
			     (struct wall){ h->now_ns }, &run, &e),
	    0);
	*state = h;
	return 0;
}

static int
tear_down(void **state)
{
	struct house *h = *state;

	engine_free(h->engine);
	forest_free(h->forest);
	free(h);
	return 0;
}

/* A probed request with so many waits on the node. */
static void
take_request(struct house *h, uint32_t nwaits)
{
	struct event begin = { .label = h->type->label, .node = h->node, .time_ns = h->now_ns };
	struct unit unit = { .count = 1 };
	struct event waits[64] = { 0 };
	struct trace t = { .probed = true,
		.begin_ns = h->now_ns,
		.end_ns = h->now_ns,
		.nevents = 1,
		.events = &begin,
		.nunits = 1,
		.units = &unit,
		.nbelow = nwaits,
		.below = waits };
	struct err e;

	assert_true(nwaits <= 64);
	for (uint32_t i = 0; i < nwaits; i++)
		waits[i] = (struct event){
			.label = h->wait, .node = h->node, .time_ns = h->now_ns
		};
	assert_int_equal(overhead_trace(engine_parts(h->engine)->overhead, h->type, &t, &e), 0);
}

/* The agent applies each want at once, and 100 probed requests come each second. */
static void
pass(struct house *h, double seconds, double offered, uint32_t nwaits)
{
	int64_t until_ns = h->now_ns + (int64_t)(seconds * SECOND);
	struct err e;

	for (; h->now_ns < until_ns; h->now_ns += SECOND / 10) {
		struct done d = { .failure = "" };
		struct status s = { .tracer_ok = true,
			.record_ns = RECORD_COST_NS,
			.rejected_ns = RECORD_COST_NS / 5 };

		h->type->offered = offered;
		engine_status(h->engine, h->node, &s, (struct mono){ h->now_ns });
		d.epoch = engine_want(h->engine, h->node)->epoch;
		engine_done(h->engine, h->node, &d, (struct mono){ h->now_ns });
		for (int i = 0; i < 10 && nwaits > 0; i++)
			take_request(h, nwaits);
		assert_int_equal(engine_step(h->engine, (struct mono){ h->now_ns },
				     (struct wall){ h->now_ns }, &e),
		    0);
	}
}

static void
look_below(struct house *h, bool on)
{
	below_asked_set(&engine_parts(h->engine)->below, "shop", false, on);
	nodes_changed(&engine_parts(h->engine)->nodes);
}

static double
probed(const struct house *h)
{
	return overhead_probed(engine_parts(h->engine)->overhead, h->type);
}

/* What looking below costs the node, as a share of a core. */
static double
cost(double offered, uint32_t nwaits, double share)
{
	return offered * nwaits * OVERHEAD_BELOW_NS * (0.2 + 0.8 * share) / 1e9;
}

static void
a_look_below_within_the_budget_probes_all_requests(void **state)
{
	struct house *h = *state;

	pass(h, 1, 200, 0);
	look_below(h, true);
	pass(h, 5, 200, 8);
	assert_true(probed(h) == 1);
	assert_true(cost(200, 8, 1) <= BUDGET);
}

static void
a_look_below_over_the_budget_probes_fewer_requests_from_its_begin(void **state)
{
	struct house *h = *state;

	pass(h, 1, 1000, 0);
	assert_true(probed(h) == 1);
	look_below(h, true);
	pass(h, 0.2, 1000, 0);
	assert_true(probed(h) < 0.5 && cost(1000, 8, probed(h)) <= BUDGET);
}

static void
what_was_measured_below_takes_the_place_of_what_was_assumed(void **state)
{
	struct house *h = *state;

	pass(h, 1, 200, 0);
	look_below(h, true);
	pass(h, 6, 200, 40); /* five times as many waits */
	assert_true(probed(h) < 1 && cost(200, 40, probed(h)) <= BUDGET * 1.02);
	assert_true(cost(200, 40, probed(h)) >= BUDGET * 0.8);
	look_below(h, false);
	pass(h, 2, 200, 0);
	assert_true(probed(h) == 1);
}

static void
a_look_that_would_be_over_the_budget_does_not_fit(void **state)
{
	struct house *h = *state;
	struct overhead *o = engine_parts(h->engine)->overhead;

	h->type->offered = 200;
	assert_true(overhead_fits_below(o, h->type->label, "shop"));
	h->type->offered = 1e9;
	assert_false(overhead_fits_below(o, h->type->label, "shop"));
	assert_true(overhead_fits_below(o, h->type->label, "elsewhere"));
	below_asked_set(&engine_parts(h->engine)->below, "shop", false,
	    true); /* by another search: it is in the budget */
	assert_true(overhead_fits_below(o, h->type->label, "shop"));
	below_asked_set(&engine_parts(h->engine)->below, "shop", false, false);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
		    a_look_that_would_be_over_the_budget_does_not_fit, build, tear_down),
		cmocka_unit_test_setup_teardown(
		    a_look_below_within_the_budget_probes_all_requests, build, tear_down),
		cmocka_unit_test_setup_teardown(
		    a_look_below_over_the_budget_probes_fewer_requests_from_its_begin, build,
		    tear_down),
		cmocka_unit_test_setup_teardown(
		    what_was_measured_below_takes_the_place_of_what_was_assumed, build, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
