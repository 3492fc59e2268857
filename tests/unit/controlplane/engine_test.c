/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The engine's answers to those who ask too early, too much, or nonsense. Whole diagnoses are in tests/sim/. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "controlplane/answer.h"
#include "controlplane/engine_inside.h"

static const struct engine_options OPTIONS = {
	.conditions = { 0.10, 0.95, 30, 0.95 }, .seed = 1, .memory_max_bytes = 1 << 24, .skew_ns = 1000000,
	.patience_ns = 1000000000, .groups_max = 100, .samples_max = 64, .tracepoints_per_cycle = 3, .isolate_min = 0.5,
	.explain_min = 0.5, .pause_fill = 0.5, .resume_fill = 0.35, .withdraw_ns = 5000000000,
	.cycle_max_ns = 5000000000, .sampled = 1, .lease_ns = 5000000000,
};

struct house {
	struct forest *forest;
	struct engine *engine;
};

static int
build(void **state)
{
	struct house *h = calloc(1, sizeof *h);
	struct err e;

	h->forest = forest_new();
	assert_int_equal(engine_new(&h->engine, &OPTIONS, h->forest, &e), 0);
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

static json_t *
ask(struct house *h, const char *text)
{
	const struct answer_context c = { .now = { 5000000000 }, .started = { 0 }, .when = { 7000000000 },
		.database = "d", .space_path = "s", .store_trouble = "" };
	char *answer = answer_ask(h->engine, h->forest, &c, text, strlen(text));
	json_t *j = json_loads(answer, 0, NULL);

	assert_non_null(j);
	assert_int_equal(json_integer_value(json_object_get(j, "version")), 1);
	free(answer);
	return j;
}

static void
refused(struct house *h, const char *text, const char *code, const char *words)
{
	json_t *j = ask(h, text);

	assert_false(json_is_true(json_object_get(j, "ok")));
	assert_string_equal(json_string_value(json_object_get(j, "code")), code);
	if (strstr(json_string_value(json_object_get(j, "error")), words) == NULL)
		fail_msg("\"%s\" is not in \"%s\"", words, json_string_value(json_object_get(j, "error")));
	json_decref(j);
}

static uint32_t
join(struct house *h, const char *name)
{
	struct err e;
	uint32_t node;

	assert_int_equal(engine_join(h->engine, name, "1", (struct mono){ 1000 }, &node, &e), 0);
	return node;
}

static void
a_start_says_what_is_missing(void **state)
{
	struct house *h = *state;

	refused(h, "{\"ask\":\"start\",\"type\":\"GET_HOME\"}", "missing", "no agent is connected");
	join(h, "n1");
	refused(h, "{\"ask\":\"start\",\"type\":\"GET_HOME\"}", "missing", "no request of any type has been seen");
	refused(h, "{\"ask\":\"start\"}", "input", "\"type\" is missing");
	refused(h, "{\"ask\":\"start\",\"type\":\"X\",\"k\":17}", "input", "k is from 1 to 16");
	refused(h, "{\"ask\":\"start\",\"type\":\"X\",\"strategy\":\"psychic\"}", "input", "no such strategy");
	refused(h, "{\"ask\":\"stop\"}", "missing", "nothing runs");
	refused(h, "{\"ask\":\"forest\",\"type\":\"X\"}", "missing", "no diagnosis");
}

static void
learning_needs_programs(void **state)
{
	struct house *h = *state;

	refused(h, "{\"ask\":\"learn\",\"seconds\":1}", "missing", "nothing to learn from");
	refused(h, "{\"ask\":\"learn\",\"seconds\":0}", "input", "seconds");
	refused(h, "{\"ask\":\"learn\"}", "input", "seconds");
}

static void
nonsense_is_answered(void **state)
{
	struct house *h = *state;
	json_t *j;

	refused(h, "", "input", "not a JSON object");
	refused(h, "[1,2", "input", "not a JSON object");
	refused(h, "\"status\"", "input", "not a JSON object");
	refused(h, "{\"ask\":7}", "input", "not a JSON object");
	refused(h, "{\"ask\":\"everything\"}", "input", "no such question");
	for (size_t i = 0; i < 3; i++) {
		static const char *const QUESTIONS[] = { "{\"ask\":\"status\"}", "{\"ask\":\"agents\"}", "{\"ask\":\"tracepoints\"}" };

		j = ask(h, QUESTIONS[i]);
		assert_true(json_is_true(json_object_get(j, "ok")));
		json_decref(j);
	}
}

static void
tell_programs(struct house *h, uint32_t node)
{
	const char *names[] = { "shop:a", "shop:b", "cart:c" };
	struct program one = { "shop", 1, 0, 3 };
	const struct programs p = { 1, 3, &one, names };
	struct err e;

	assert_int_equal(engine_programs(h->engine, node, &p, &e), 0);
}

/* Learning wants every provider by one name each, of the nodes that have it; afterwards nothing. */
static void
what_learning_turns_on_goes_off_again(void **state)
{
	struct house *h = *state;
	uint32_t has = join(h, "has"), none = join(h, "none");
	const struct want *w;
	uint64_t epoch;
	struct err e;

	tell_programs(h, has);
	epoch = engine_want(h->engine, has)->epoch;
	assert_int_equal(engine_learn(h->engine, 1000000000, (struct mono){ 2000 }, &e), 0);
	w = engine_want(h->engine, has);
	assert_int_equal(w->ntoggles, 2);
	assert_string_equal(w->toggles[0].name, "cart:*");
	assert_string_equal(w->toggles[1].name, "shop:*");
	assert_true(w->epoch > epoch);
	assert_int_equal(engine_want(h->engine, none)->ntoggles, 0);
	assert_false(engine_quiet(h->engine));
	assert_int_equal(engine_stop(h->engine, NULL, (struct wall){ 1 }, &e), 0);
	for (uint32_t node = has; node <= none; node++) {
		const struct done d = { .epoch = engine_want(h->engine, node)->epoch, .failure = "" };

		assert_int_equal(engine_want(h->engine, node)->ntoggles, 0);
		assert_false(engine_quiet(h->engine));
		engine_done(h->engine, node, &d, (struct mono){ 3000 });
	}
	assert_true(engine_quiet(h->engine));
	assert_true(engine_learned(h->engine));
	assert_false(engine_learned(h->engine));
}

static void
pausing_has_two_thresholds(void **state)
{
	static const struct { double fill; bool paused; } STORY[] = {
		{ 0.49, false }, { 0.51, true }, { 0.45, true }, { 0.36, true }, { 0.34, false }, { 0.49, false }, { 0.9, true },
	};
	struct house *h = *state;
	uint32_t node = join(h, "n1");
	struct err e;

	tell_programs(h, node);
	for (size_t i = 0; i < sizeof STORY / sizeof STORY[0]; i++) {
		struct status s = { .trouble = "", .tracer_ok = true };

		s.fill[i % QUEUES] = STORY[i].fill;
		engine_status(h->engine, node, &s, (struct mono){ (int64_t)i });
		assert_int_equal(engine_step(h->engine, (struct mono){ (int64_t)i }, (struct wall){ 0 }, &e), 0);
		assert_int_equal(h->engine->paused, STORY[i].paused);
	}
	refused(h, "{\"ask\":\"learn\",\"seconds\":1}", "busy", "90 % full");
}

/* The same state is the same epoch, so that a lease can be renewed by sending it again. */
static void
a_want_keeps_its_epoch_until_it_differs(void **state)
{
	struct house *h = *state;
	uint32_t node = join(h, "n1");
	uint64_t epoch = engine_want(h->engine, node)->epoch;
	struct err e;

	assert_true(epoch > 0);
	assert_true(engine_want(h->engine, node)->epoch == epoch);
	tell_programs(h, node);
	assert_true(engine_want(h->engine, node)->epoch == epoch);
	assert_int_equal(engine_learn(h->engine, 1000, (struct mono){ 1 }, &e), 0);
	assert_true(engine_want(h->engine, node)->epoch == epoch + 1);
}

static void
a_malformed_batch_changes_nothing(void **state)
{
	struct house *h = *state;
	uint32_t node = join(h, "n1");
	struct err e;

	assert_int_equal(engine_batch(h->engine, node, "garbage", 7, (struct mono){ 1 }, &e), ERR_INPUT);
	assert_int_equal(engine_step(h->engine, (struct mono){ 1 }, (struct wall){ 0 }, &e), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_start_says_what_is_missing, build, tear_down),
		cmocka_unit_test_setup_teardown(learning_needs_programs, build, tear_down),
		cmocka_unit_test_setup_teardown(nonsense_is_answered, build, tear_down),
		cmocka_unit_test_setup_teardown(what_learning_turns_on_goes_off_again, build, tear_down),
		cmocka_unit_test_setup_teardown(pausing_has_two_thresholds, build, tear_down),
		cmocka_unit_test_setup_teardown(a_want_keeps_its_epoch_until_it_differs, build, tear_down),
		cmocka_unit_test_setup_teardown(a_malformed_batch_changes_nothing, build, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
