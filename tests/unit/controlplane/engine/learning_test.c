/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Learning within its overhead budget: lower rates first, then groups of providers, and stopping as
 * the last resort; versions of the application.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "controlplane/engine/overhead.h"
#include "controlplane/engine/engine.h"
#include "controlplane/engine/parts.h"

#define SECOND INT64_C(1000000000)

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
	.cycle_max_ns = 5 * SECOND,
	.sampled = 1,
	.lease_ns = 5 * SECOND,
	.budget_share = 0.01,
	.learn_share = 0.01,
};

enum { PROVIDERS = 4 };

struct house {
	struct forest *forest;
	struct engine *engine;
	uint32_t node;
	int64_t now_ns;
};

static void
tell_programs(struct house *h, const char *const *names, uint32_t n)
{
	struct program one = { "shop", 1, 0, n };
	const struct programs p = { 1, n, &one, (const char **)(uintptr_t)names };
	struct err e;

	assert_int_equal(engine_programs(h->engine, h->node, &p, &e), 0);
}

static int
build(void **state)
{
	static const char *const names[PROVIDERS] = { "a:x", "b:x", "c:x", "d:x" };
	struct house *h = calloc(1, sizeof *h);
	struct request_type *type;
	struct err e;

	h->forest = forest_new();
	assert_int_equal(engine_new(&h->engine, &OPTIONS, h->forest, &e), 0);
	assert_int_equal(engine_join(h->engine, "n", "1", (struct mono){ 1000 }, &h->node, &e), 0);
	tell_programs(h, names, PROVIDERS);
	type = &engine_parts(h->engine)
	            /* as if the type had rates that no test batch could have */
	            ->types.items[engine_parts(h->engine)->types.n++];
	type->label = labels_intern(engine_parts(h->engine)->labels, RECORD_REQUEST_BEGIN,
	    "shop/hone:request_begin[R]", 26, NULL, 0);
	type->name = strdup("R");
	type->sketch = calloc(1, sizeof *type->sketch);
	h->now_ns = SECOND;
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

/* The agent applies each want at once. */
static void
pass(struct house *h, double seconds, double fill)
{
	int64_t until_ns = h->now_ns + (int64_t)(seconds * SECOND);
	struct err e;

	for (; h->now_ns < until_ns; h->now_ns += SECOND / 10) {
		struct done d = { .failure = "" };
		struct status s = { .tracer_ok = true, .fill = { fill } };

		engine_status(h->engine, h->node, &s, (struct mono){ h->now_ns });
		d.epoch = engine_want(h->engine, h->node)->epoch;
		engine_done(h->engine, h->node, &d, (struct mono){ h->now_ns });
		assert_int_equal(engine_step(h->engine, (struct mono){ h->now_ns },
				     (struct wall){ h->now_ns }, &e),
		    0);
	}
}

static void
begin(struct house *h, double per_second, double seconds)
{
	struct err e;

	engine_parts(h->engine)->types.items[0].offered = per_second;
	assert_int_equal(
	    engine_learn(h->engine, (int64_t)(seconds * SECOND), (struct mono){ h->now_ns }, &e),
	    0);
}

static double
probed(struct house *h)
{
	const struct want *w = engine_want(h->engine, h->node);

	assert_int_equal(w->nrates, 1);
	return w->rates[0].probed;
}

static uint32_t
toggles(struct house *h)
{
	return engine_want(h->engine, h->node)->ntoggles;
}

static void
types_within_the_budget_are_learned_whole(void **state)
{
	struct house *h = *state;

	begin(h, 100, 3);
	assert_true(probed(h) == 1);
	assert_int_equal(toggles(h), PROVIDERS);
	pass(h, 2, 0);
	assert_true(engine_parts(h->engine)->learning.active &&
		    engine_parts(h->engine)->learning.ngroups == 1);
	pass(h, 2, 0);
	assert_false(engine_parts(h->engine)->learning.active);
	assert_int_equal(toggles(h), 0);
	assert_true(engine_learned(h->engine));
}

/*
 * Predicted: 160,000 records a second, of 150 ns, or 40 ns if rejected; a budget of 10 ms a second
 * pays for a fifth of them.
 */
static void
types_over_the_budget_are_probed_less_from_the_start(void **state)
{
	struct house *h = *state;

	begin(h, 10000, 3);
	assert_true(probed(h) > 0.18 && probed(h) <= 0.205);
	assert_int_equal(toggles(h), PROVIDERS);
	assert_true(overhead_spent(engine_parts(h->engine)->overhead, h->node) <= 0.0100001);
}

/*
 * The filters alone are over the budget: half of the providers at a time, for half of the time
 * each.
 */
static void
groups_of_providers_alternate_if_rates_do_not_suffice(void **state)
{
	struct house *h = *state;
	bool seen[PROVIDERS] = { false };

	begin(h, 20000, 8);
	pass(h, 1.5, 0);
	assert_int_equal(engine_parts(h->engine)->learning.ngroups, 2);
	while (engine_parts(h->engine)->learning.active) {
		const struct want *w = engine_want(h->engine, h->node);

		assert_true(w->ntoggles <= PROVIDERS / 2);
		for (uint32_t i = 0; i < w->ntoggles; i++)
			seen[w->toggles[i].name[0] - 'a'] = true;
		pass(h, 0.2, 0);
		assert_true(h->now_ns < 20 * SECOND);
	}
	for (int i = 0; i < PROVIDERS; i++)
		assert_true(seen[i]);
}

static void
full_queues_first_reduce_learning_and_then_end_it(void **state)
{
	struct house *h = *state;

	begin(h, 100, 60);
	pass(h, 0.5, 0);
	pass(h, 1, 0.8);
	assert_true(probed(h) < 0.6 && probed(h) >= 0.1);
	assert_true(engine_parts(h->engine)->learning.active);
	pass(h, 20, 0);
	assert_true(probed(h) == 1);
	pass(h, 4, 0.8);
	assert_true(engine_parts(h->engine)->learning.active);
	pass(h, 3, 0.8);
	assert_false(engine_parts(h->engine)->learning.active);
	assert_int_equal(toggles(h), 0);
}

static void
other_tracepoints_are_another_version(void **state)
{
	static const char *const turned[] = { "d:x", "c:x", "b:x", "a:x" }, *const more[] = { "a:x",
		"e:x" };
	struct house *h = *state;
	uint64_t first = engine_fingerprint(h->engine);
	struct err e;

	begin(h, 1, 1);
	assert_true(space_version(engine_parts(h->engine)->learned.space)->fingerprint == first);
	pass(h, 3, 0);
	assert_true(space_version(engine_parts(h->engine)->learned.space)->learned_ns > 0);
	tell_programs(h, turned, 4);
	assert_true(engine_fingerprint(h->engine) == first);
	tell_programs(h, more, 2);
	assert_true(engine_fingerprint(h->engine) != first);
	assert_int_equal(
	    engine_learn_as(h->engine, SECOND, "2.0", (struct mono){ h->now_ns }, &e), 0);
	assert_true(space_version(engine_parts(h->engine)->learned.space)->fingerprint ==
		    engine_fingerprint(h->engine));
	assert_string_equal(space_version(engine_parts(h->engine)->learned.space)->name, "2.0");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
		    types_within_the_budget_are_learned_whole, build, tear_down),
		cmocka_unit_test_setup_teardown(
		    types_over_the_budget_are_probed_less_from_the_start, build, tear_down),
		cmocka_unit_test_setup_teardown(
		    groups_of_providers_alternate_if_rates_do_not_suffice, build, tear_down),
		cmocka_unit_test_setup_teardown(
		    full_queues_first_reduce_learning_and_then_end_it, build, tear_down),
		cmocka_unit_test_setup_teardown(
		    other_tracepoints_are_another_version, build, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
