/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Answers to JSON questions about a constructed forest, and that a restart does not change them. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "controlplane/answers/answer.h"
#include "controlplane/engine/engine.h"
#include "controlplane/engine/parts.h"

static const struct engine_options OPTIONS = {
	.conditions = { 0.10, 0.95, 30, 0.95 },
	.seed = 1,
	.memory_max_bytes = 1 << 24,
	.skew_ns = 1000000,
	.patience_ns = 1000000000,
	.groups_max = 100,
	.samples_max = 64,
	.tracepoints_per_cycle = 3,
	.searches_max = 4,
	.effort_cycles = 32,
	.budget_share = 0.01,
	.isolate_min = 0.5,
	.explain_min = 0.5,
	.pause_fill = 0.5,
	.resume_fill = 0.35,
	.withdraw_ns = 5000000000,
	.cycle_max_ns = 5000000000,
	.sampled = 1,
	.lease_ns = 5000000000,
	.report_max_bytes = 1 << 24,
};

struct house {
	struct forest *forest;
	struct engine *engine;
	char folder[40], space[80], database[80];
};

enum { MS = 1000000 };

/* ---- the forest ---- */

static struct hypothesis *
hypothesis(struct forest *f, uint64_t run, uint64_t parent, const char *tracepoint,
    enum hypothesis_state state, uint64_t key)
{
	struct hypothesis *h = forest_hypothesis_new(f, run, parent);

	assert_non_null(h);
	h->presence = tracepoint[0] != '\0' ? '+' : ' ';
	h->cycle = parent != 0;
	assert_true(hypothesis_text(&h->tracepoint, tracepoint));
	assert_true(hypothesis_text(&h->edge_from,
	    parent != 0 ? "cart/shop:lock_begin" : "cart/hone:unit_begin(cart.get)"));
	assert_true(hypothesis_text(
	    &h->edge_to, parent != 0 ? "cart/shop:lock_end" : "cart/hone:unit_end(cart.get)"));
	h->group_key[0] = h->group_key[1] = key;
	h->traces = 100;
	h->mean_ns = 12 * MS;
	h->cv = 0.4;
	h->share = 0.9;
	h->share_low = 0.85;
	h->share_high = 0.95;
	h->latency_share = 0.5;
	h->made = (struct wall){ 1000000000 };
	if (state != HYPOTHESIS_OPEN && state != HYPOTHESIS_BOTTOM)
		hypothesis_enter(h, HYPOTHESIS_PROBING, (struct wall){ 1500000000 });
	if (state != HYPOTHESIS_OPEN && state != HYPOTHESIS_PROBING)
		hypothesis_enter(h, state, (struct wall){ 2000000000 });
	forest_touch(f, h);
	return h;
}

static struct run *
run_of(struct forest *f, const char *type, enum run_state state)
{
	struct run *r = forest_run_new(f, type);

	assert_non_null(r);
	assert_true(hypothesis_text(&r->strategy, "flat"));
	r->reason = state == RUN_FOUND ? REASON_NONE : REASON_NO_PROBLEM;
	assert_true(hypothesis_text(&r->version, "1.0"));
	r->seed = 7;
	r->state = state;
	r->cycles = 3;
	r->effort = 20;
	r->tracepoints = 4;
	r->tracepoints_all = 160;
	r->tracepoints_most = 2;
	r->requests = 1234;
	r->begun = (struct wall){ 1000000000 };
	r->ended = (struct wall){ 9000000000 };
	forest_touch_run(f, r);
	return r;
}

static void
verdict(struct forest *f, const struct hypothesis *h, const char *from, const char *to,
    double cost_ns, double share, double cv_then)
{
	struct verdict v = {
		.run = h->run,
		.hypothesis = h->id,
		.kind = VERDICT_PLACE,
		.problem = PROBLEM_UNPREDICTABLE,
		.from = (char *)(uintptr_t)from,
		.to = (char *)(uintptr_t)to,
		.path = "cart/hone:unit_begin(cart.get)\ncart/shop:lock_begin\n",
		.tracepoint = "",
		.key = "",
		.traces = 400,
		.confidence = 0.95,
		.mean_ns = 12 * MS,
		.cv = 0.4,
		.share = share,
		.share_low = share - 0.05,
		.share_high = share + 0.05,
		.latency_share = 0.5,
		.probability = 1,
		.cost_ns = cost_ns,
		.cv_now = 0.4,
		.cv_then = cv_then,
		.cv_then_low = cv_then - 0.02,
		.cv_then_high = cv_then + 0.02,
		.p50_then_ns = 9 * MS,
		.p95_now_ns = 30 * MS,
		.p95_then_ns = 13 * MS,
		.p99_now_ns = 40 * MS,
		.p99_then_ns = 14 * MS,
		.slowest = { 0x1111, 0xabcdef0123456789 },
		.fastest = { 0, 2 },
		.slowest_ns = 90 * MS,
		.fastest_ns = MS,
		.when = { 8000000000 },
	};

	assert_non_null(forest_verdict_new(f, &v));
}

static void
plant(struct forest *f)
{
	struct run *first = run_of(f, "GET_HOME", RUN_FOUND),
		   *other = run_of(f, "LOGIN", RUN_NOT_FOUND);
	struct run *again = run_of(f, "GET_HOME", RUN_FOUND);
	struct hypothesis *root = hypothesis(f, first->id, 0, "", HYPOTHESIS_BOTTOM, 77), *h, *none;
	struct evidence v = { { 0x1111, 0xabcdef0123456789 }, first->id, 0, 90 * MS, 80 * MS };
	struct switched s = { first->id, 0, 1, true, "shop:lock_begin", REASON_SPLITS_EDGE, "", "",
		{ 1600000000 } };
	struct err e;

	h = hypothesis(f, first->id, root->id, "shop:lock_begin", HYPOTHESIS_ISOLATES, 5);
	none = hypothesis(f, first->id, root->id, "shop:render", HYPOTHESIS_NO_HELP, 5);
	none->settled_traces = 50;
	none->settled_share = 0.03;
	verdict(f, h, "cart/shop:lock_begin", "cart/shop:lock_end", 2e9, 0.84, 0.09);
	verdict(f, none, "cart/a:b", "cart/a:c", 9e9, 0.7, 0.2); /* higher cost: first */
	v.hypothesis = h->id;
	assert_int_equal(forest_evidence_add(f, &v, &e), 0);
	s.hypothesis = h->id;
	assert_int_equal(forest_switched(f, &s, &e), 0);
	s.on = false;
	s.reason = REASON_STOPPED;
	s.when.ns += 1000000000;
	assert_int_equal(forest_switched(f, &s, &e), 0);
	none = hypothesis(f, other->id, 0, "", HYPOTHESIS_BOTTOM, 9);
	none->settled_traces = 60;
	none->settled_high = 0.1;
	/* the same group as at first, with the problem at another place; the lock is no longer
	 * costly */
	root = hypothesis(f, again->id, 0, "", HYPOTHESIS_BOTTOM, 77);
	verdict(f, root, "cart/shop:render_begin", "cart/shop:render_end", 1e9, 0.6, 0.1);
}

/* ---- asking ---- */

static void
start(struct house *h)
{
	struct err e;

	h->forest = forest_new();
	assert_int_equal(engine_new(&h->engine, &OPTIONS, h->forest, &e), 0);
}

static void
stop(struct house *h)
{
	engine_free(h->engine);
	forest_free(h->forest);
}

static int
build(void **state)
{
	struct house *h = calloc(1, sizeof *h);

	strcpy(h->folder, "/tmp/hone-answer-XXXXXX");
	assert_non_null(mkdtemp(h->folder));
	snprintf(h->space, sizeof h->space, "%s/space.db", h->folder);
	snprintf(h->database, sizeof h->database, "%s/forest.db", h->folder);
	start(h);
	*state = h;
	return 0;
}

static int
tear_down(void **state)
{
	struct house *h = *state;
	char line[120];

	stop(h);
	snprintf(line, sizeof line, "rm -rf '%s'", h->folder);
	assert_int_equal(system(line), 0);
	free(h);
	return 0;
}

static json_t *
ask(struct house *h, const char *text)
{
	const struct answer_context c = { .now = { 5000000000 },
		.started = { 0 },
		.when = { 70000000000 },
		.database = h->database,
		.space_path = h->space,
		.store_trouble = "",
		.who = { .user = "root", .role = ROLE_DIAGNOSE, .own = true } };
	char *answer = answer_ask(h->engine, h->forest, &c, text, strlen(text));
	json_t *j = json_loads(answer, 0, NULL);

	assert_non_null(j);
	free(answer);
	return j;
}

static json_t *
told(struct house *h, const char *text)
{
	json_t *j = ask(h, text);

	if (!json_is_true(json_object_get(j, "ok")))
		fail_msg("%s: %s", text, json_string_value(json_object_get(j, "error")));
	return j;
}

static void
a_verdict_names_the_pool_that_is_waited_for(void **state)
{
	struct house *h = *state;
	struct run *run = run_of(h->forest, "PAY", RUN_GONE);
	struct hypothesis *root = hypothesis(h->forest, run->id, 0, "", HYPOTHESIS_BOTTOM, 77);
	struct verdict *v;
	json_t *j;
	const json_t *first, *pool, *problem;

	verdict(h->forest, root, "front/hone:fork(pay)", "pay/hone:unit_begin(pay)", 1e9, 0.6, 0.1);
	v = (struct verdict *)(uintptr_t)forest_verdict(h->forest, run->id, 1);
	j = told(h, "{\"ask\":\"forest\",\"type\":\"PAY\"}");
	first = json_object_get(json_array_get(json_object_get(j, "runs"), 0), "verdict");
	assert_true(json_is_null(json_object_get(first, "pool")));
	assert_true(json_is_null(json_object_get(
	    json_array_get(json_object_get(j, "runs"), 0), "problem"))); /* not known when */
	json_decref(j);

	v->pool = POOL_SATURATED;
	v->pool_threads = 4;
	v->pool_utilisation = 0.91;
	v->pool_service_ns = 5 * MS;
	v->pool_service_cv = 1.25;
	v->pool_wait_ns = 17.5 * MS;
	v->pool_expected_ns = INFINITY; /* the threads are always held */
	run->problem_from = (struct wall){ 2000000000 };
	run->problem_to = (struct wall){ 4500000000 };
	j = told(h, "{\"ask\":\"forest\",\"type\":\"PAY\"}");
	first = json_object_get(json_array_get(json_object_get(j, "runs"), 0), "verdict");
	pool = json_object_get(first, "pool");
	assert_string_equal(json_string_value(json_object_get(pool, "state")), "saturated");
	assert_string_equal(json_string_value(json_object_get(pool, "service")), "pay");
	assert_int_equal(json_integer_value(json_object_get(pool, "threads")), 4);
	assert_true(json_number_value(json_object_get(pool, "utilisation")) == 0.91);
	assert_true(json_number_value(json_object_get(pool, "service_ms")) == 5);
	assert_true(json_number_value(json_object_get(pool, "service_cv")) == 1.25);
	assert_true(json_number_value(json_object_get(pool, "wait_ms")) == 17.5);
	assert_true(json_is_null(json_object_get(pool, "expected_ms")));
	problem = json_object_get(json_array_get(json_object_get(j, "runs"), 0), "problem");
	assert_string_equal(
	    json_string_value(json_object_get(problem, "from")), "1970-01-01T00:00:02.000Z");
	assert_string_equal(
	    json_string_value(json_object_get(problem, "to")), "1970-01-01T00:00:04.500Z");
	assert_true(json_number_value(json_object_get(problem, "seconds")) == 2.5);
	json_decref(j);
}

static void
refused(struct house *h, const char *text, const char *code, const char *words)
{
	json_t *j = ask(h, text);

	assert_false(json_is_true(json_object_get(j, "ok")));
	assert_string_equal(json_string_value(json_object_get(j, "code")), code);
	if (strstr(json_string_value(json_object_get(j, "error")), words) == NULL)
		fail_msg("\"%s\" is not in \"%s\"", words,
		    json_string_value(json_object_get(j, "error")));
	json_decref(j);
}

/* The value at a path such as "runs.0.verdict.edge.from", or NULL. Borrowed. */
static const json_t *
at(const json_t *j, const char *path)
{
	char part[64];

	while (j != NULL && *path != '\0') {
		size_t len = strcspn(path, ".");

		snprintf(part, sizeof part, "%.*s", (int)len, path);
		j = json_is_array(j) ? json_array_get(j, strtoul(part, NULL, 10))
		                     : json_object_get(j, part);
		path += len + (path[len] == '.');
	}
	return j;
}

static void
says(const json_t *j, const char *path, const char *text)
{
	const char *s = json_string_value(at(j, path));

	if (s == NULL || strcmp(s, text) != 0)
		fail_msg("%s is '%s', not '%s'", path, s != NULL ? s : "none", text);
}

static void
counts(const json_t *j, const char *path, double n)
{
	const json_t *v = at(j, path);

	if (!json_is_number(v) || json_number_value(v) < n - 1e-9 ||
	    json_number_value(v) > n + 1e-9)
		fail_msg("%s is %g, not %g", path, json_number_value(v), n);
}

/* ---- users and roles ---- */

static struct audit_book book;

static json_t *
ask_as(struct house *h, const struct who *who, const char *text)
{
	const struct answer_context c = { .now = { 5000000000 },
		.when = { 70000000000 },
		.database = h->database,
		.space_path = h->space,
		.store_trouble = "",
		.who = *who,
		.book = &book };
	char *answer = answer_ask(h->engine, h->forest, &c, text, strlen(text));
	json_t *j = json_loads(answer, 0, NULL);

	assert_non_null(j);
	free(answer);
	return j;
}

static uint64_t
rows(const struct forest *f)
{
	uint64_t at = 0;

	while (forest_audit_next(f, &at) != NULL)
		;
	return at;
}

/* ---- contracts ---- */

/* Each question either is permitted to the role LOOK, or changes something: then LOOK is refused, and the
 * audit has a row for it. */
static void
each_question_has_the_role_that_it_needs(void **state)
{
	static const struct {
		const char *text;
		bool changes;
	} all[] = {
		{ "{\"ask\":\"status\"}", false },
		{ "{\"ask\":\"agents\"}", false },
		{ "{\"ask\":\"tracepoints\"}", false },
		{ "{\"ask\":\"forest\"}", false },
		{ "{\"ask\":\"verdict\",\"type\":\"GET_HOME\"}", false },
		{ "{\"ask\":\"history\"}", false },
		{ "{\"ask\":\"why\"}", false },
		{ "{\"ask\":\"diff\",\"runs\":[1,3]}", false },
		{ "{\"ask\":\"space\"}", false },
		{ "{\"ask\":\"report\"}", false },
		{ "{\"ask\":\"audit\"}", false },
		{ "{\"ask\":\"report\",\"reset\":false}", false },
		{ "{\"ask\":\"report\",\"reset\":true}", true },
		{ "{\"ask\":\"start\",\"type\":\"GET_HOME\"}", true },
		{ "{\"ask\":\"stop\"}", true },
		{ "{\"ask\":\"learn\",\"seconds\":1}", true },
		{ "{\"ask\":\"space_use\",\"name\":\"1\"}", true },
		{ "{\"ask\":\"space_import\",\"path\":\"/nowhere\"}", true },
	};
	struct house *h = *state;

	for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
		for (enum role role = ROLE_NONE; role < ROLES; role++) {
			struct who who = {
				.uid = 1000 + (int)i, .pid = 7, .role = role, .user = "alice"
			};
			bool may = role >= (all[i].changes ? ROLE_DIAGNOSE : ROLE_LOOK);
			uint64_t before = rows(h->forest), at = 0;
			json_t *j = ask_as(h, &who, all[i].text);
			const char *code = json_string_value(json_object_get(j, "code"));

			if (may == (code != NULL && strcmp(code, "denied") == 0))
				fail_msg("%s as %s: %s", all[i].text, role_word(role),
				    code != NULL ? code : "answered");
			assert_int_equal(rows(h->forest), before + (all[i].changes || !may));
			if (!may) {
				const struct audit *a = forest_audit_next(h->forest, &at);

				assert_true(a->outcome == AUDIT_REFUSED && a->uid == who.uid &&
					    a->pid == 7 && a->when.ns == 70000000000);
				assert_string_equal(a->asked, all[i].text);
				assert_non_null(
				    strstr(json_string_value(json_object_get(j, "error")),
					all[i].changes && role == ROLE_LOOK ? "operators.diagnose"
									    : "operators."));
			}
			json_decref(j);
		}
}

static void
the_audit_is_told_newest_first(void **state)
{
	struct house *h = *state;
	struct who root = {
		.uid = 0, .pid = 9, .role = ROLE_DIAGNOSE, .own = true, .user = "root"
	};
	char text[800];
	json_t *j;

	json_decref(ask_as(h, &root, "{\"ask\":\"stop\"}"));
	forest_audit_own(h->forest, &(struct audit){ .when = { 80000000000 },
					.actor = ACTOR_AGENT,
					.action = ACTION_DISABLE_NODE,
					.run = 3,
					.node = "n1",
					.reason = REASON_CONGESTION,
					.cause = REASON_LOAD_SHED,
					.queue = QUEUE_RING,
					.fill = 0.9 });
	forest_audit_own(h->forest, &(struct audit){ .when = { 60000000000 },
					.actor = ACTOR_AGENT,
					.action = ACTION_QUARANTINE,
					.node = "n1",
					.text = "jam",
					.pid = 17,
					.uid = 1000 });
	j = told(h, "{\"ask\":\"audit\",\"limit\":1}");
	says(j, "rows.0.action", "quarantine");
	says(j, "rows.0.text", "jam");
	counts(j, "rows.0.pid", 17);
	counts(j, "rows.0.uid", 1000);
	json_decref(j);
	/* a question that is too long is shortened at the start of a character */
	snprintf(text, sizeof text, "{\"ask\":\"start\",\"type\":\"%0500d\"}", 7);
	json_decref(ask_as(h, &root, text));
	j = told(h, "{\"ask\":\"audit\",\"limit\":3}");
	counts(j, "left_off", 1);
	assert_int_equal(json_array_size(at(j, "rows")), 3);
	assert_in_range(
	    json_string_length(at(j, "rows.0.asked")), AUDIT_ASKED_MAX - 8, AUDIT_ASKED_MAX);
	says(j, "rows.0.outcome", "failed");
	says(j, "rows.2.user", "");
	says(j, "rows.2.actor", "agent");
	says(j, "rows.2.action", "disable-node");
	says(j, "rows.2.node", "n1");
	says(j, "rows.2.reason", "congestion");
	says(j, "rows.2.cause.reason", "load-shed");
	says(j, "rows.2.cause.node", "n1");
	says(j, "rows.2.cause.queue", "ring");
	assert_true(json_is_null(at(j, "rows.0.actor")) && json_is_null(at(j, "rows.0.cause")));
	counts(j, "rows.2.run", 3);
	assert_true(json_is_null(at(j, "rows.2.uid")) && json_is_null(at(j, "rows.0.run")));
	json_decref(j);
	j = told(h, "{\"ask\":\"audit\",\"since\":75}");
	assert_int_equal(json_array_size(at(j, "rows")), 1);
	says(j, "rows.0.action", "disable-node");
	json_decref(j);
	j = told(h, "{\"ask\":\"audit\",\"since\":69.5}");
	assert_int_equal(json_array_size(at(j, "rows")), 3);
	says(j, "rows.2.text", "nothing runs");
	json_decref(j);
	refused(h, "{\"ask\":\"audit\",\"limit\":0}", "input", "limit");
	refused(h, "{\"ask\":\"audit\",\"since\":\"x\"}", "input", "since");
}

static void
a_run_has_all_its_verdicts_with_the_highest_cost_first(void **state)
{
	struct house *h = *state;
	json_t *j;

	plant(h->forest);
	j = told(h, "{\"ask\":\"forest\",\"run\":1}");
	assert_int_equal(json_array_size(at(j, "runs")), 1);
	assert_int_equal(json_array_size(at(j, "runs.0.verdicts")), 2);
	assert_true(json_equal((json_t *)(uintptr_t)at(j, "runs.0.verdict"),
	    (json_t *)(uintptr_t)at(j, "runs.0.verdicts.0")));
	says(j, "runs.0.verdict.edge.from", "cart/a:b");
	counts(j, "runs.0.verdicts.1.rank", 2);
	says(j, "runs.0.verdicts.1.kind", "place");
	says(j, "runs.0.verdicts.1.exemplars.slowest", "0000000000001111abcdef0123456789");
	counts(j, "runs.0.verdicts.1.what_if.cv_then_high", 0.11);
	assert_int_equal(json_array_size(at(j, "runs.0.verdicts.1.group.path")), 2);
	counts(j, "runs.0.requests", 1234);
	counts(j, "runs.0.effort", 20);
	says(j, "runs.0.space_version", "1.0");
	assert_int_equal(json_array_size(at(j, "runs.0.hypotheses")), 3);
	says(j, "runs.0.excluded.0.tracepoint", "shop:render");
	json_decref(j);
	/* the newest run of each type */
	j = told(h, "{\"ask\":\"forest\"}");
	counts(j, "runs.0.run", 2);
	counts(j, "runs.1.run", 3);
	assert_true(json_is_null(at(j, "runs.0.verdict")));
	counts(j, "runs.0.excluded.0.share_high", 0.1);
	json_decref(j);
	refused(h, "{\"ask\":\"forest\",\"run\":9}", "missing", "no diagnosis 9");
	refused(h, "{\"ask\":\"forest\",\"run\":1,\"type\":\"LOGIN\"}", "missing",
	    "no diagnosis 1 of LOGIN");
	refused(h, "{\"ask\":\"forest\",\"run\":-1}", "missing", "no diagnosis -1");
	refused(h, "{\"ask\":\"forest\",\"run\":\"x\"}", "input", "\"run\" must be a whole number");
}

static void
history_is_newest_first_and_no_longer_than_asked(void **state)
{
	struct house *h = *state;
	json_t *j;

	refused(h, "{\"ask\":\"history\",\"type\":\"GET_HOME\"}", "missing", "no diagnosis of it");
	plant(h->forest);
	j = told(h, "{\"ask\":\"history\"}");
	assert_int_equal(json_array_size(at(j, "runs")), 3);
	counts(j, "runs.0.run", 3);
	counts(j, "runs.2.run", 1);
	assert_null(at(j, "runs.0.hypotheses"));
	json_decref(j);
	j = told(h, "{\"ask\":\"history\",\"type\":\"GET_HOME\",\"limit\":1}");
	assert_int_equal(json_array_size(at(j, "runs")), 1);
	counts(j, "runs.0.run", 3);
	counts(j, "left_off", 1);
	json_decref(j);
	refused(h, "{\"ask\":\"history\",\"limit\":0}", "input", "limit");
	refused(h, "{\"ask\":\"history\",\"limit\":\"1\"}", "input", "limit");
}

static void
a_trace_is_matched_to_what_it_was_evidence_of(void **state)
{
	struct house *h = *state;
	json_t *j, *other;

	refused(h, "{\"ask\":\"why\"}", "missing", "no diagnosis has a verdict yet");
	plant(h->forest);
	j = told(h, "{\"ask\":\"why\",\"trace\":\"0000000000001111ABCDEF0123456789\"}");
	assert_int_equal(json_array_size(at(j, "matches")), 1);
	says(j, "matches.0.tracepoint", "shop:lock_begin");
	says(j, "matches.0.type", "GET_HOME");
	assert_int_equal(json_array_size(at(j, "matches.0.way")), 2);
	counts(j, "matches.0.way.1.id", 2);
	counts(j, "matches.0.edge_ms", 80);
	counts(j, "matches.0.usual_edge_ms", 6); /* half of 12 ms */
	counts(j, "matches.0.total_ms", 90);
	json_decref(j);
	j = told(h,
	    "{\"ask\":\"why\",\"trace\":\"abcdef0123456789\"}"); /* the lower half of the trace id is enough */
	counts(j, "matches.0.edge_ms", 80);
	json_decref(j);
	/* the slowest of the newest verdict, of the type and of all */
	j = told(h, "{\"ask\":\"why\",\"type\":\"GET_HOME\"}");
	other = told(h, "{\"ask\":\"why\"}");
	assert_true(json_equal(j, other));
	counts(j, "run", 3);
	says(j, "trace", "0000000000001111abcdef0123456789");
	says(j, "verdict.measure", "variance");
	json_decref(j);
	json_decref(other);
	refused(h, "{\"ask\":\"why\",\"trace\":\"0123\"}", "input", "16 or 32 hex digits");
	refused(
	    h, "{\"ask\":\"why\",\"trace\":\"000000000000000g\"}", "input", "16 or 32 hex digits");
	refused(h, "{\"ask\":\"why\",\"trace\":\"0000000000000000\"}", "input", "not 0");
	refused(h, "{\"ask\":\"why\",\"trace\":\"00000000000000ff\"}", "missing", "unknown trace");
	refused(h, "{\"ask\":\"why\",\"type\":\"LOGIN\"}", "missing",
	    "LOGIN: no diagnosis of it has a verdict");
	refused(h, "{\"ask\":\"why\",\"type\":\"LOGIN\",\"trace\":\"1\"}", "input", "only one of");
}

static void
tell_programs(struct house *h)
{
	const char *names[] = { "shop:lock_begin", "shop:lock_end", "hone:fork" };
	struct program one = { "cart", 1, 0, 3 };
	const struct programs p = { 1, 3, &one, names };
	struct err e;
	uint32_t node;

	assert_int_equal(engine_join(h->engine, "n1", "1", (struct mono){ 1000 }, &node, &e), 0);
	assert_int_equal(engine_programs(h->engine, node, &p, &e), 0);
}

static void
a_tracepoint_has_who_enabled_it_and_why(void **state)
{
	struct house *h = *state;
	struct err e;
	json_t *j;

	plant(h->forest);
	tell_programs(h);
	j = told(h, "{\"ask\":\"why\",\"tracepoint\":\"cart/shop:lock_begin\"}");
	assert_true(json_is_false(at(j, "on")));
	says(j, "services.0", "cart");
	assert_int_equal(json_array_size(at(j, "switched")), 2);
	assert_true(json_is_true(at(j, "switched.0.on")));
	says(j, "switched.0.reason", "splits-edge");
	says(j, "switched.0.outcome", "isolates");
	says(j, "switched.1.type", "GET_HOME");
	json_decref(j);
	j = told(h, "{\"ask\":\"why\",\"tracepoint\":\"shop:lock_end\"}");
	assert_int_equal(json_array_size(at(j, "switched")), 0);
	json_decref(j);
	assert_int_equal(plan_want(engine_parts(h->engine)->plan, "shop:lock_end", 2, &e), 0);
	j = told(h, "{\"ask\":\"why\",\"tracepoint\":\"shop:lock_end\"}");
	assert_true(json_is_true(at(j, "on")));
	counts(j, "hypothesis", 2);
	json_decref(j);
	refused(h, "{\"ask\":\"why\",\"tracepoint\":\"shop:nothing\"}", "missing",
	    "no program has this tracepoint");
}

static void
a_problem_that_moved_is_distinguished_from_one_that_is_gone(void **state)
{
	struct house *h = *state;
	json_t *j;

	plant(h->forest);
	j = told(h, "{\"ask\":\"diff\",\"runs\":[1,3]}");
	assert_int_equal(json_array_size(at(j, "changes")), 2);
	/* the costlier verdict of the first run has the same group as that of the second: it has
	 * moved; the other one is gone */
	says(j, "changes.0.what", "moved");
	says(j, "changes.0.before.edge.from", "cart/a:b");
	says(j, "changes.0.after.edge.from", "cart/shop:render_begin");
	assert_true(json_is_true(at(j, "changes.0.share_overlaps")));
	assert_true(json_is_true(at(j, "changes.0.mean_overlaps")));
	assert_true(
	    json_is_false(at(j, "changes.0.foretold.within"))); /* 40 % is outside 18 to 22 % */
	says(j, "changes.1.what", "gone");
	counts(j, "changes.1.after.cv", 0.4); /* the later run measured the group */
	json_decref(j);
	j = told(h, "{\"ask\":\"diff\",\"runs\":[3,1]}");
	says(j, "changes.1.what", "new");
	json_decref(j);
	refused(h, "{\"ask\":\"diff\",\"runs\":[1,1]}", "input", "same diagnosis twice");
	refused(h, "{\"ask\":\"diff\",\"runs\":[1,2]}", "input", "of the same request type");
	refused(h, "{\"ask\":\"diff\",\"runs\":[1,8]}", "missing", "no diagnosis 8");
	refused(h, "{\"ask\":\"diff\",\"runs\":[1]}", "input", "two diagnoses");
}

static void
after_a_restart_all_answers_are_the_same(void **state)
{
	static const char *const QUESTIONS[] = { "{\"ask\":\"forest\"}",
		"{\"ask\":\"forest\",\"run\":1}", "{\"ask\":\"history\"}",
		"{\"ask\":\"verdict\",\"type\":\"GET_HOME\"}",
		"{\"ask\":\"why\",\"trace\":\"abcdef0123456789\"}", "{\"ask\":\"why\"}",
		"{\"ask\":\"why\",\"tracepoint\":\"shop:lock_begin\"}",
		"{\"ask\":\"diff\",\"runs\":[1,3]}" };
	enum { N = sizeof QUESTIONS / sizeof QUESTIONS[0] };
	struct house *h = *state;
	struct store *store;
	json_t *before[N], *after;
	struct err e;

	plant(h->forest);
	for (int i = 0; i < N; i++)
		before[i] = told(h, QUESTIONS[i]);
	assert_int_equal(store_open(&store, h->database, &e), 0);
	if (store_commit(store, h->forest, &e) != 0)
		fail_msg("%s", e.text);
	store_close(store);
	stop(h);
	start(h);
	assert_int_equal(store_open(&store, h->database, &e), 0);
	if (store_load(store, h->forest, 0, &e) != 0)
		fail_msg("%s", e.text);
	store_close(store);
	for (int i = 0; i < N; i++) {
		after = told(h, QUESTIONS[i]);
		if (!json_equal(before[i], after))
			fail_msg("%s: was %s\nis %s", QUESTIONS[i], json_dumps(before[i], 0),
			    json_dumps(after, 0));
		json_decref(before[i]);
		json_decref(after);
	}
}

/* ---- the space ---- */

static void
learn_one(struct space *s, struct labels *labels)
{
	static const struct {
		enum record_kind kind;
		const char *text;
	} ROWS[] = {
		{ RECORD_REQUEST_BEGIN, "cart/hone:request_begin(GET_HOME)" },
		{ RECORD_POINT, "cart/shop:lock_begin" },
		{ RECORD_POINT, "cart/shop:old" },
		{ RECORD_REQUEST_END, "cart/hone:request_end(GET_HOME)" },
	};
	struct event events[4] = { 0 };
	struct unit unit = { .id = 1, .count = 4, .fork = TRACE_NONE };
	struct trace t = { .id = 1,
		.nevents = 4,
		.nunits = 1,
		.events = events,
		.units = &unit,
		.probed = true,
		.end_ns = 4 * MS };
	struct err e;

	for (int i = 0; i < 4; i++)
		events[i] = (struct event){ .time_ns = (i + 1) * MS,
			.label = labels_intern(
			    labels, ROWS[i].kind, ROWS[i].text, strlen(ROWS[i].text), NULL, 0) };
	t.type = events[0].label;
	t.begin_ns = MS;
	assert_int_equal(space_learn(s, &t, &e), 0);
}

static void
the_space_is_compared_with_the_tracepoints_of_programs(void **state)
{
	struct house *h = *state;
	json_t *j;

	tell_programs(h);
	learn_one(engine_parts(h->engine)->learned.space, engine_parts(h->engine)->labels);
	j = told(h, "{\"ask\":\"space\"}");
	assert_int_equal(json_array_size(at(j, "types")), 1);
	counts(j, "types.0.traces", 1);
	assert_int_equal(json_array_size(at(j, "stale")), 1);
	says(j, "stale.0", "cart/shop:old");
	assert_int_equal(json_array_size(at(j, "never_seen")), 1);
	says(j, "never_seen.0", "cart/shop:lock_end");
	json_decref(j);
}

/* Two nodes report the same 50,000 tracepoints, and the second one a further program. The answer
 * lists some of them and counts the rest. */
static void
the_length_of_an_answer_is_bounded_for_any_number_of_tracepoints(void **state)
{
	enum { ALL = 50000, LISTED = 20000, NAME = 24 };
	struct house *h = *state;
	const char **names = calloc(ALL, sizeof *names);
	char *text = malloc((size_t)ALL * NAME);
	struct program both[] = { { "cart", 1, 0, ALL }, { "desk", 2, 7, 2 } };
	struct err e;
	uint32_t node;
	json_t *j;

	assert_true(names != NULL && text != NULL);
	for (int i = 0; i < ALL; i++) {
		names[i] = text + i * NAME;
		snprintf(text + i * NAME, NAME, "%s:t%d", i % 2 == 0 ? "even" : "odd", i);
	}
	for (uint32_t n = 1; n <= 2; n++) {
		assert_int_equal(engine_join(h->engine, n == 1 ? "n1" : "n2", "1",
				     (struct mono){ 1000 }, &node, &e),
		    0);
		assert_int_equal(
		    engine_programs(h->engine, node, &(struct programs){ n, ALL, both, names }, &e),
		    0);
	}
	j = told(h, "{\"ask\":\"tracepoints\"}");
	counts(j, "total", ALL);
	counts(j, "left_off", ALL - LISTED);
	assert_int_equal(json_array_size(at(j, "tracepoints")), LISTED);
	assert_int_equal(json_array_size(at(j, "tracepoints.6.services")), 1);
	assert_int_equal(json_array_size(at(j, "tracepoints.7.services")), 2);
	says(j, "tracepoints.7.services.1", "desk");
	assert_int_equal(json_array_size(at(j, "tracepoints.7.nodes")), 2);
	says(j, "tracepoints.7.nodes.1", "n2");
	json_decref(j);
	j = told(h, "{\"ask\":\"tracepoints\",\"tracepoint\":\"odd:t4*99\"}");
	counts(j, "total", 111); /* t499; t4099 and nine more; t40099 and 99 more */
	counts(j, "left_off", 0);
	json_decref(j);
	j = told(h, "{\"ask\":\"space\"}");
	assert_int_equal(json_array_size(at(j, "never_seen")), LISTED);
	counts(j, "never_seen_left_off", ALL + 2 - LISTED); /* counted for each service, too */
	json_decref(j);
	free(names);
	free(text);
}

static void
an_imported_space_is_merged_or_kept_as_another_version(void **state)
{
	struct house *h = *state;
	struct labels *labels = labels_new();
	struct space *s = space_new(labels);
	char path[100], question[200];
	struct err e;
	json_t *j;

	snprintf(path, sizeof path, "%s/other.db", h->folder);
	snprintf(question, sizeof question, "{\"ask\":\"space_import\",\"path\":\"%s\"}", path);
	refused(h, question, "missing", "other.db");
	refused(h, "{\"ask\":\"space_import\",\"path\":\"other.db\"}", "input", "absolute path");
	learn_one(s, labels);
	assert_int_equal(space_version_set(s, 0, "2.0", 5, &e), 0);
	if (space_save(s, path, &e) != 0)
		fail_msg("%s", e.text);
	space_free(s);
	labels_free(labels);
	/* no space was learned before, so the imported version becomes the one in use */
	j = told(h, question);
	assert_true(json_is_false(at(j, "beside")));
	says(j, "space_version.name", "2.0");
	counts(j, "types.0.traces", 1);
	json_decref(j);
	/* the same version again is merged */
	j = told(h, question);
	counts(j, "types.0.traces", 2);
	json_decref(j);
	/* learning begins another version: from then on an import of 2.0 is kept beside it */
	tell_programs(h);
	j = told(h, "{\"ask\":\"learn\",\"seconds\":1,\"name\":\"3.0\"}");
	json_decref(j);
	refused(h, "{\"ask\":\"space_use\",\"name\":\"2.0\"}", "busy", "hone stop");
	json_decref(told(h, "{\"ask\":\"stop\"}"));
	learn_one(engine_parts(h->engine)->learned.space, engine_parts(h->engine)->labels);
	j = told(h, question);
	assert_true(json_is_true(at(j, "beside")));
	says(j, "space_version.name", "3.0");
	counts(j, "types.0.traces", 1);
	json_decref(j);
	j = told(h, "{\"ask\":\"space_use\",\"name\":\"2.0\"}");
	counts(j, "types.0.traces", 3);
	json_decref(j);
	j = told(h, "{\"ask\":\"space_use\",\"name\":\"3.0\"}");
	counts(j, "types.0.traces", 1);
	json_decref(j);
	refused(h, "{\"ask\":\"space_use\",\"name\":\"4.0\"}", "missing", "no such version");
	refused(h, "{\"ask\":\"space_use\"}", "input", "name of a version");
}

static void
a_start_names_what_there_is_to_choose(void **state)
{
	struct house *h = *state;

	refused(h, "{\"ask\":\"start\",\"type\":\"X\",\"strategy\":\"psychic\"}", "input",
	    "psychic: no such strategy; there are flat");
	refused(h, "{\"ask\":\"start\",\"type\":\"X\",\"k\":17}", "input",
	    "\"k\" must be from 1 to 16");
	refused(h, "{\"ask\":\"start\",\"type\":\"X\",\"k\":1.5}", "input",
	    "\"k\" must be a whole number");
	refused(h, "{\"ask\":\"start\",\"type\":\"X\",\"effort\":0}", "input", "effort");
	refused(h, "{\"ask\":\"start\",\"type\":\"X\",\"effect\":0}", "input", "effect");
	refused(h, "{\"ask\":\"start\",\"type\":\"X\",\"effect\":1.5}", "input", "effect");
	refused(h, "{\"ask\":\"start\",\"type\":\"X\",\"causes\":0}", "input", "causes");
	refused(h, "{\"ask\":\"start\",\"type\":\"X\",\"causes\":\"all\"}", "input", "causes");
	refused(h, "{\"ask\":\"start\",\"type\":\"X\",\"tail\":0.5}", "input", "tail");
	refused(h, "{\"ask\":\"start\",\"type\":\"X\",\"below\":1}", "input", "below");
	refused(h, "{\"ask\":\"start\",\"type\":\"X\",\"seed\":-1}", "input", "seed");
}

/* Otherwise "stop" with a malformed type would stop all diagnoses. */
static void
a_field_that_is_not_understood_is_refused(void **state)
{
	struct house *h = *state;

	tell_programs(h);
	json_decref(told(h, "{\"ask\":\"learn\",\"seconds\":1}"));
	refused(h, "{\"ask\":\"stop\",\"type\":7}", "input", "\"type\" must be a string");
	refused(h, "{\"ask\":\"stop\",\"type\":null}", "input", "\"type\" must be a string");
	refused(h, "{\"ask\":\"stop\",\"typo\":\"GET_HOME\"}", "input",
	    "stop has no field \"typo\"; it has type");
	refused(h, "{\"ask\":\"stop\",\"t\":\"GET_HOME\"}", "input", "stop has no field \"t\"");
	refused(h, "{\"ask\":\"status\",\"type\":\"GET_HOME\"}", "input",
	    "status has no field \"type\"");
	refused(h, "{\"ask\":\"report\",\"reset\":1}", "input", "\"reset\" must be true or false");
	refused(
	    h, "{\"ask\":\"learn\",\"seconds\":\"1\"}", "input", "\"seconds\" must be a number");
	refused(h, "{\"ask\":\"diff\",\"runs\":{}}", "input", "\"runs\" must be a list");
	assert_true(engine_parts(h->engine)->learning.active);
	json_decref(told(h, "{\"ask\":\"stop\"}"));
	assert_false(engine_parts(h->engine)->learning.active);
}

static void
other_programs(struct space *s)
{
	struct err e;

	assert_int_equal(space_version_set(s, space_version(s)->fingerprint ^ 1, "1.0", 0, &e), 0);
}

static void
a_version_that_is_named_is_taught_whatever_its_programs_have(void **state)
{
	struct house *h = *state;

	tell_programs(h);
	json_decref(told(h, "{\"ask\":\"learn\",\"seconds\":1,\"name\":\"1.0\"}"));
	json_decref(told(h, "{\"ask\":\"stop\"}"));
	learn_one(engine_parts(h->engine)->learned.space, engine_parts(h->engine)->labels);
	/* as if its programs had other tracepoints before */
	other_programs(engine_parts(h->engine)->learned.space);
	json_decref(told(h, "{\"ask\":\"learn\",\"seconds\":1,\"name\":\"1.0\"}"));
	assert_string_equal(space_version(engine_parts(h->engine)->learned.space)->name, "1.0");
	assert_int_not_equal(space_type(engine_parts(h->engine)->learned.space, 0), LABEL_NONE);
	json_decref(told(h, "{\"ask\":\"stop\"}"));
	/* without a name: another application with its own space */
	other_programs(engine_parts(h->engine)->learned.space);
	json_decref(told(h, "{\"ask\":\"learn\",\"seconds\":1}"));
	assert_string_not_equal(space_version(engine_parts(h->engine)->learned.space)->name, "1.0");
	assert_int_equal(space_type(engine_parts(h->engine)->learned.space, 0), LABEL_NONE);
}

static void
a_pipe_is_not_waited_for(void **state)
{
	struct house *h = *state;
	char question[160], path[100];

	snprintf(path, sizeof path, "%s/pipe", h->folder);
	assert_int_equal(mkfifo(path, 0600), 0);
	snprintf(question, sizeof question, "{\"ask\":\"space_import\",\"path\":\"%s\"}", path);
	refused(h, question, "store", "is not a regular file");
}

/* A verdict with everything that is known below its edge. */
static void
plant_below(struct forest *f, const char *differential, const char *missing)
{
	struct run *r = run_of(f, "GET_HOME", RUN_FOUND);
	struct hypothesis *h = hypothesis(f, r->id, 0, "", HYPOTHESIS_BOTTOM, 5);
	struct verdict v = { .run = h->run,
		.hypothesis = h->id,
		.kind = VERDICT_PLACE,
		.problem = PROBLEM_UNPREDICTABLE,
		.from = "cart/a:b",
		.to = "cart/a:c",
		.path = "",
		.below_requests = missing[0] == '\0' ? 150 : 0,
		.below_top = missing[0] == '\0' ? "lock" : "",
		.below_missing = (char *)(uintptr_t)missing,
		.below_states = "running\t0.03\t0.01\t0.05\t1e6\nlock\t0.8\t0.7\t0.9\t5e6",
		.below_places =
		    "lock\t0.75\t0.9\t4e6\tappend() at dd.c:27;futex\tserve() at dd.c:88",
		.below_holders =
		    "disk\t0.5\t0.6\t3e6\twrite_out() at dd.c:9;fsync\nunknown\t0.1\t0.1\t1e5\t",
		.below_wakers = "53\t0.4\t0.5\tCHECKOUT\tworker\n7\t0.2\t0.25\t\twriter",
		.below_held = "60\t0.5\t0.6\tSAVE\n30\t0.2\t0.3\t",
		.below_differential = (char *)(uintptr_t)differential };

	assert_non_null(forest_verdict_new(f, &v));
}

#define BELOW                                                    \
	"all\t38\t112\t2.4e7\t3e6\t2.6e7\t0.95\t\n"              \
	"state\t2.2e7\t1e6\t1.9e7\t2.3e7\t0.005\t38\t60\tlock\n" \
	"self\t2.2e7\t1e6\t1.9e7\t2.3e7\t0.005\t38\t60\tfutex\n" \
	"at\t0\t2.4e7\t3e6\t\nat\t0\t2.2e7\t1e6\tappend() at dd.c:27\nat\t1\t2.2e7\t1e6\tfutex\n"

static void
a_verdict_has_what_threads_did_below_its_edge(void **state)
{
	static const struct {
		const char *path, *text;
		double n;
	} HAS[] = { { "requests", NULL, 150 }, { "top", "lock", 0 },
		{ "states.0.state", "running", 0 }, { "states.1.state", "lock", 0 },
		{ "states.1.share", NULL, 0.8 }, { "states.1.share_low", NULL, 0.7 },
		{ "states.1.share_high", NULL, 0.9 }, { "states.1.mean_ms", NULL, 5 },
		{ "places.0.state", "lock", 0 }, { "places.0.share", NULL, 0.75 },
		{ "places.0.of_edge", NULL, 0.9 }, { "places.0.mean_ms", NULL, 4 },
		{ "places.0.place", "append() at dd.c:27;futex", 0 },
		{ "places.0.caller", "serve() at dd.c:88", 0 }, { "holders.0.state", "disk", 0 },
		{ "holders.1.state", "unknown", 0 }, { "holders.1.place", "", 0 },
		{ "released_by.0.request_type", "CHECKOUT", 0 },
		{ "released_by.0.waits", NULL, 53 }, { "released_by.0.share", NULL, 0.4 },
		{ "released_by.0.of_edge", NULL, 0.5 }, { "released_by.1.waits", NULL, 7 },
		{ "released_by.1.of_edge", NULL, 0.25 }, { "released_by.0.thread", "worker", 0 },
		{ "released_by.1.thread", "writer", 0 }, { "held_for.0.request_type", "SAVE", 0 },
		{ "held_for.0.waits", NULL, 60 }, { "held_for.0.share", NULL, 0.5 },
		{ "held_for.1.waits", NULL, 30 }, { "differential.slow", NULL, 38 },
		{ "differential.usual", NULL, 112 }, { "differential.slow_from_ms", NULL, 26 },
		{ "differential.confidence", NULL, 0.95 },
		{ "differential.items.0.of", "state", 0 },
		{ "differential.items.0.name", "lock", 0 },
		{ "differential.items.0.slow_ms", NULL, 22 },
		{ "differential.items.0.low_ms", NULL, 19 },
		{ "differential.items.0.usual", NULL, 60 },
		{ "differential.items.1.name", "futex", 0 },
		{ "differential.stacks.2.entry", "futex", 0 },
		{ "differential.stacks.2.parent", NULL, 1 } };
	struct house *h = *state;
	const json_t *below;
	json_t *j;

	plant_below(h->forest, BELOW, "");
	j = told(h, "{\"ask\":\"verdict\",\"type\":\"GET_HOME\"}");
	below = at(j, "run.verdict.below");
	for (size_t i = 0; i < sizeof HAS / sizeof *HAS; i++)
		if (HAS[i].text != NULL)
			says(below, HAS[i].path, HAS[i].text);
		else
			counts(below, HAS[i].path, HAS[i].n);
	assert_true(json_is_null(at(below, "missing")));
	assert_true(json_is_null(at(below, "holders.0.thread")));
	assert_int_equal(json_array_size(at(below, "states")), 2);
	assert_int_equal(json_array_size(at(below, "differential.stacks")), 3);
	json_decref(j);
}

static void
lists_of_runs_have_no_differential_and_damaged_ones_are_left_out(void **state)
{
	static const char VERDICT[] = "{\"ask\":\"verdict\",\"type\":\"GET_HOME\"}";
	struct house *h = *state;
	json_t *j;

	plant_below(h->forest, BELOW, "");
	j = told(h, "{\"ask\":\"history\"}");
	counts(j, "runs.0.verdict.below.requests", 150);
	assert_true(json_is_null(at(j, "runs.0.verdict.below.differential")));
	json_decref(j);
	plant_below(h->forest, "all\t38\n", "");
	j = told(h, VERDICT);
	counts(j, "run.verdict.below.requests", 150);
	assert_true(json_is_null(at(j, "run.verdict.below.differential")));
	json_decref(j);
	plant_below(h->forest, "", "no-records");
	j = told(h, VERDICT);
	says(j, "run.verdict.below.missing", "no-records");
	assert_true(json_is_null(at(j, "run.verdict.below.top")));
	json_decref(j);
}

/* These are answered by a copy of the process. */
static void
only_reports_take_long(void **state)
{
	static const struct {
		const char *ask;
		enum answer_length length;
	} asks[] = { { "{\"ask\":\"report\"}", ANSWER_LONG },
		{ "{\"ask\":\"report\",\"reset\":false}", ANSWER_LONG },
		{ "{\"ask\":\"report\",\"reset\":1}", ANSWER_LONG },
		{ "{\"ask\":\"report\",\"reset\":true}", ANSWER_LONG_CHANGES },
		{ "{\"ask\":\"requests\",\"type\":\"T\"}", ANSWER_LONG },
		{ "{\"ask\":\"start\",\"type\":\"report\"}", ANSWER_SHORT },
		{ "{\"ask\":[\"report\"]}", ANSWER_SHORT }, { "report", ANSWER_SHORT },
		{ "", ANSWER_SHORT } };
	(void)state;

	for (size_t i = 0; i < sizeof asks / sizeof asks[0]; i++)
		assert_int_equal(answer_length(asks[i].ask, strlen(asks[i].ask)), asks[i].length);
}

static void
a_failure_is_an_answer_that_is_not_ok(void **state)
{
	struct err e;
	char *text;
	(void)state;

	err_set(&e, ERR_SYSTEM, "no process");
	text = answer_failure(&e);
	assert_non_null(strstr(text, "\"error\":\"no process\""));
	assert_non_null(strstr(text, "\"version\":"));
	assert_false(answer_is_ok(text));
	assert_true(answer_is_ok("{\"ok\":true}"));
	assert_false(answer_is_ok("{\"ok\":1}"));
	assert_false(answer_is_ok("no json"));
	free(text);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
		    each_question_has_the_role_that_it_needs, build, tear_down),
		cmocka_unit_test_setup_teardown(the_audit_is_told_newest_first, build, tear_down),
		cmocka_unit_test_setup_teardown(
		    a_run_has_all_its_verdicts_with_the_highest_cost_first, build, tear_down),
		cmocka_unit_test_setup_teardown(
		    history_is_newest_first_and_no_longer_than_asked, build, tear_down),
		cmocka_unit_test_setup_teardown(
		    a_trace_is_matched_to_what_it_was_evidence_of, build, tear_down),
		cmocka_unit_test_setup_teardown(
		    a_tracepoint_has_who_enabled_it_and_why, build, tear_down),
		cmocka_unit_test_setup_teardown(
		    a_problem_that_moved_is_distinguished_from_one_that_is_gone, build, tear_down),
		cmocka_unit_test_setup_teardown(
		    after_a_restart_all_answers_are_the_same, build, tear_down),
		cmocka_unit_test_setup_teardown(
		    the_space_is_compared_with_the_tracepoints_of_programs, build, tear_down),
		cmocka_unit_test_setup_teardown(
		    the_length_of_an_answer_is_bounded_for_any_number_of_tracepoints, build,
		    tear_down),
		cmocka_unit_test_setup_teardown(
		    an_imported_space_is_merged_or_kept_as_another_version, build, tear_down),
		cmocka_unit_test_setup_teardown(
		    a_start_names_what_there_is_to_choose, build, tear_down),
		cmocka_unit_test_setup_teardown(
		    a_field_that_is_not_understood_is_refused, build, tear_down),
		cmocka_unit_test_setup_teardown(
		    a_version_that_is_named_is_taught_whatever_its_programs_have, build, tear_down),
		cmocka_unit_test_setup_teardown(
		    a_verdict_names_the_pool_that_is_waited_for, build, tear_down),
		cmocka_unit_test_setup_teardown(a_pipe_is_not_waited_for, build, tear_down),
		cmocka_unit_test_setup_teardown(
		    a_verdict_has_what_threads_did_below_its_edge, build, tear_down),
		cmocka_unit_test_setup_teardown(
		    lists_of_runs_have_no_differential_and_damaged_ones_are_left_out, build,
		    tear_down),
		cmocka_unit_test(only_reports_take_long),
		cmocka_unit_test(a_failure_is_an_answer_that_is_not_ok),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
