/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What {"ask":"levels"} answers, on a simulated application. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "controlplane/answers/answer.h"
#include "controlplane/engine/parts.h"
#include "tests/sim/stage.h"

enum { RATE = 50, STEPS = 20 };

/* Requests pass s:step (debug) STEPS times while it is on. s:taken is info, and is never passed. */
struct world {
	struct stage stage;
	uint32_t begin, end, step;
};

static void
request(void *app, int64_t at_ns)
{
	struct world *w = app;
	struct stage_record r = { .time_ns = at_ns, .trace = rng_next(&w->stage.rng) | 1 };
	bool probed = stage_rate(w->stage.nodes[0], "A").probed > 0;

	r.unit = r.trace;
	r.value = probed;
	r.label = w->begin;
	stage_emit(&w->stage, w->stage.nodes[0], &r);
	for (int i = 0; i < STEPS && probed; i++) {
		r.time_ns += 1000;
		r.label = w->step;
		stage_emit(&w->stage, w->stage.nodes[0], &r);
	}
	r.time_ns += 1000;
	r.value = 0;
	r.label = w->end;
	stage_emit(&w->stage, w->stage.nodes[0], &r);
}

static void
play(struct world *w, double seconds)
{
	for (int i = 0; i < (int)(seconds * 1e9 / TICK_NS); i++)
		stage_tick(&w->stage);
}

static int
begin(void **state)
{
	static const char *names[] = { "s:taken", "s:step" };
	static const uint8_t levels[] = { LOGLEVEL_INFO, LOGLEVEL_DEBUG };
	struct program one = { "s", 1, 0, 2 };
	const struct programs p = { 1, 2, &one, names, levels };
	struct world *w = calloc(1, sizeof *w);
	struct engine_options o = stage_options(1);
	struct err e;

	w->stage.rate = RATE;
	w->stage.app = w;
	w->stage.request = request;
	w->begin = stage_label(
	    &w->stage, RECORD_REQUEST_BEGIN, "s/hone:request_begin(A)", "probed");
	w->end = stage_label(&w->stage, RECORD_REQUEST_END, "s/hone:request_end(A)", NULL);
	w->step = stage_label(&w->stage, RECORD_POINT, "s/s:step", NULL);
	stage_node(&w->stage, "s", "n1");
	stage_has(w->stage.nodes[0], "s:taken");
	stage_has(w->stage.nodes[0], "s:step");
	o.levels_share = 0.0001; /* 50 x 20 records of 150 ns are 0.00015 */
	stage_open(&w->stage, &o, 1);
	assert_int_equal(engine_programs(w->stage.g, 0, &p, &e), 0);
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

static json_t *
ask(struct world *w, const char *question)
{
	const struct answer_context c = { .now = { w->stage.now_ns },
		.database = "f.db",
		.space_path = "s.db",
		.who = { .uid = 0, .own = true, .role = ROLE_DIAGNOSE, .user = "root" } };
	char *text = answer_ask(w->stage.g, w->stage.forest, &c, question, strlen(question));
	json_t *a = json_loads(text, 0, NULL);

	assert_non_null(a);
	free(text);
	return a;
}

static void
refused(struct world *w, const char *question, const char *code, const char *words)
{
	json_t *a = ask(w, question);

	assert_true(json_is_false(json_object_get(a, "ok")));
	assert_string_equal(json_string_value(json_object_get(a, "code")), code);
	assert_non_null(strstr(json_string_value(json_object_get(a, "error")), words));
	assert_int_equal(engine_parts(w->stage.g)->levels.rules.n, 0);
	json_decref(a);
}

static double
number(const json_t *a, const char *of, const char *key)
{
	return json_number_value(
	    json_object_get(json_object_get(json_object_get(a, "change"), of), key));
}

static void
levels_are_listed_with_what_is_known_of_them(void **state)
{
	struct world *w = *state;
	json_t *a = ask(w, "{\"ask\":\"levels\"}"), *s, *l;

	assert_int_equal(json_array_size(json_object_get(a, "services")), 1);
	s = json_array_get(json_object_get(a, "services"), 0);
	assert_string_equal(json_string_value(json_object_get(s, "service")), "s");
	assert_string_equal(json_string_value(json_object_get(s, "level")), "off");
	assert_true(json_is_false(json_object_get(s, "known")));
	assert_int_equal(json_array_size(json_object_get(s, "levels")), 2);
	l = json_array_get(json_object_get(s, "levels"), 1);
	assert_string_equal(json_string_value(json_object_get(l, "level")), "debug");
	assert_true(json_is_null(json_object_get(l, "per_second")));
	assert_int_equal(json_integer_value(json_object_get(l, "unknown")), 2);
	json_decref(a);
	stage_learn(&w->stage, 3);
	play(w, 2);
	a = ask(w, "{\"ask\":\"levels\",\"service\":\"s*\"}");
	s = json_array_get(json_object_get(a, "services"), 0);
	l = json_array_get(json_object_get(s, "levels"), 1);
	assert_true(json_number_value(json_object_get(l, "per_second")) > RATE * STEPS * 0.9);
	assert_true(json_is_null(json_object_get(a, "change")));
	json_decref(a);
	a = ask(w, "{\"ask\":\"levels\",\"service\":\"other\"}");
	assert_int_equal(json_array_size(json_object_get(a, "services")), 0);
	json_decref(a);
}

static void
what_is_unknown_or_no_service_is_refused_without_force(void **state)
{
	struct world *w = *state;
	json_t *a;

	refused(w, "{\"ask\":\"levels\",\"service\":\"s\",\"level\":\"debug\",\"set\":true}",
	    "failed", "is not known");
	refused(w, "{\"ask\":\"levels\",\"service\":\"t\",\"level\":\"debug\",\"set\":true}",
	    "missing", "no program");
	refused(w, "{\"ask\":\"levels\",\"service\":\"s\",\"level\":\"loud\",\"set\":true}",
	    "input", "is no level");
	refused(w, "{\"ask\":\"levels\",\"service\":\"s\",\"set\":true}", "input", "both");
	refused(w, "{\"ask\":\"levels\",\"level\":\"info\"}", "input", "both");
	refused(w, "{\"ask\":\"levels\",\"service\":\"\",\"level\":\"info\"}", "input", "pattern");
	a = ask(w,
	    "{\"ask\":\"levels\",\"service\":\"t*\",\"level\":\"info\",\"set\":true,\"force\":true}");
	assert_true(json_is_true(json_object_get(a, "ok")));
	assert_int_equal(
	    level_rules_of(&engine_parts(w->stage.g)->levels.rules, "tt"), LOGLEVEL_INFO);
	json_decref(a);
}

static void
over_the_budget_is_refused_without_force_and_less_never_is(void **state)
{
	struct world *w = *state;
	struct level_rules *rules = &engine_parts(w->stage.g)->levels.rules;
	json_t *a;

	stage_learn(&w->stage, 3);
	play(w, 2);
	a = ask(w, "{\"ask\":\"levels\",\"service\":\"s\",\"level\":\"debug\"}");
	assert_true(json_is_false(json_object_get(json_object_get(a, "change"), "set")));
	assert_true(number(a, "before", "core") == 0);
	assert_true(number(a, "after", "core") > 0.00013 && number(a, "after", "core") < 0.00017);
	assert_int_equal(rules->n, 0);
	json_decref(a);
	refused(w, "{\"ask\":\"levels\",\"service\":\"s\",\"level\":\"debug\",\"set\":true}",
	    "failed", "levels.budget is 0.01 %");
	a = ask(w,
	    "{\"ask\":\"levels\",\"service\":\"s\",\"level\":\"debug\",\"set\":true,\"force\":true}");
	assert_true(json_is_true(json_object_get(json_object_get(a, "change"), "set")));
	assert_int_equal(level_rules_of(rules, "s"), LOGLEVEL_DEBUG);
	json_decref(a);
	a = ask(w, "{\"ask\":\"levels\",\"service\":\"s\",\"level\":\"warn\",\"set\":true}");
	assert_true(json_is_true(json_object_get(a, "ok")));
	assert_int_equal(level_rules_of(rules, "s"), LOGLEVEL_WARNING);
	json_decref(a);
}

/* The entry of the tracepoint in the list. */
static json_t *
entry(const json_t *a, const char *name)
{
	json_t *list = json_object_get(a, "tracepoints"), *o;
	size_t i;

	json_array_foreach (list, i, o)
		if (strcmp(json_string_value(json_object_get(o, "tracepoint")), name) == 0)
			return o;
	fail_msg("%s is not listed", name);
	return NULL;
}

static const char *
word(const json_t *o, const char *of, const char *key)
{
	o = of != NULL ? json_object_get(o, of) : o;
	return json_string_value(json_object_get(o, key));
}

static void
set_level(struct world *w, const char *service, uint8_t level)
{
	struct err e;

	assert_int_equal(engine_set_level(w->stage.g, service, level, &e), 0);
	play(w, 1);
}

static void
a_tracepoint_that_is_on_says_by_which_level(void **state)
{
	struct world *w = *state;
	json_t *a = ask(w, "{\"ask\":\"tracepoints\"}"), *o = entry(a, "s:taken");

	assert_string_equal(word(o, NULL, "level"), "info");
	assert_string_equal(word(o, NULL, "state"), "off");
	assert_true(json_is_null(json_object_get(o, "by_level")));
	assert_int_equal(json_integer_value(json_object_get(a, "on")), 0);
	json_decref(a);
	set_level(w, "s*", LOGLEVEL_NOTICE);
	a = ask(w, "{\"ask\":\"tracepoints\"}");
	assert_int_equal(
	    json_integer_value(json_object_get(a, "on")), 0); /* more severe than both */
	json_decref(a);
	set_level(w, "s*", LOGLEVEL_INFO);
	a = ask(w, "{\"ask\":\"tracepoints\"}");
	o = entry(a, "s:taken");
	assert_string_equal(word(o, NULL, "state"), "on");
	assert_string_equal(word(o, "by_level", "service"), "s*");
	assert_string_equal(word(o, "by_level", "level"), "info");
	assert_true(json_is_null(json_object_get(o, "hypothesis")));
	assert_true(json_is_false(json_object_get(o, "learning")));
	o = entry(a, "s:step");
	assert_string_equal(word(o, NULL, "level"), "debug");
	assert_string_equal(word(o, NULL, "state"), "off");
	assert_true(json_is_null(json_object_get(o, "by_level")));
	assert_int_equal(json_integer_value(json_object_get(a, "on")), 1);
	assert_true(json_is_null(json_object_get(a, "levels_held")));
	json_decref(a);
	set_level(w, "s", LOGLEVEL_DEBUG); /* both: as one name, of the provider */
	a = ask(w, "{\"ask\":\"why\",\"tracepoint\":\"s:step\"}");
	assert_true(json_is_true(json_object_get(a, "on")));
	assert_string_equal(word(a, NULL, "level"), "debug");
	assert_string_equal(word(a, "by_level", "service"), "s");
	json_decref(a);
	a = ask(w, "{\"ask\":\"status\"}");
	o = json_object_get(json_object_get(a, "levels"), "rules");
	assert_int_equal(json_array_size(o), 2);
	assert_string_equal(word(json_array_get(o, 1), NULL, "level"), "debug");
	json_decref(a);
	a = ask(w, "{\"ask\":\"agents\"}");
	o = json_array_get(json_object_get(a, "agents"), 0);
	assert_int_equal(json_integer_value(json_object_get(o, "by_level")), 2);
	json_decref(a);
}

/* While learning has every tracepoint on, it is for learning, and the level is held. */
static void
a_level_that_is_held_is_not_the_reason(void **state)
{
	struct world *w = *state;
	json_t *a, *o;
	struct err e;

	set_level(w, "s", LOGLEVEL_DEBUG);
	assert_int_equal(
	    engine_learn(w->stage.g, INT64_C(60000000000), (struct mono){ w->stage.now_ns }, &e),
	    0);
	play(w, 1);
	a = ask(w, "{\"ask\":\"tracepoints\",\"tracepoint\":\"s:st*\"}");
	o = entry(a, "s:step");
	assert_string_equal(word(o, NULL, "state"), "on");
	assert_true(json_is_true(json_object_get(o, "learning")));
	assert_true(json_is_null(json_object_get(o, "by_level")));
	assert_string_equal(word(a, NULL, "levels_held"), "learning");
	json_decref(a);
	a = ask(w, "{\"ask\":\"why\",\"tracepoint\":\"s:step\"}");
	assert_true(json_is_true(json_object_get(a, "on")));
	assert_true(json_is_true(json_object_get(a, "learning")));
	assert_true(json_is_null(json_object_get(a, "by_level")));
	assert_string_equal(word(a, NULL, "levels_held"), "learning");
	json_decref(a);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
		    levels_are_listed_with_what_is_known_of_them, begin, end),
		cmocka_unit_test_setup_teardown(
		    what_is_unknown_or_no_service_is_refused_without_force, begin, end),
		cmocka_unit_test_setup_teardown(
		    over_the_budget_is_refused_without_force_and_less_never_is, begin, end),
		cmocka_unit_test_setup_teardown(
		    a_tracepoint_that_is_on_says_by_which_level, begin, end),
		cmocka_unit_test_setup_teardown(a_level_that_is_held_is_not_the_reason, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
