/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The engine's answers to premature, excessive and malformed questions. Whole diagnoses are in tests/sim/. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "controlplane/answers/answer.h"
#include "controlplane/engine/engine.h"
#include "controlplane/engine/parts.h"
#include "wire/question.h"

static const struct engine_options OPTIONS = {
	.conditions = { 0.10, 0.95, 30, 0.95 },
	.seed = 1,
	.memory_max_bytes = 1 << 24,
	.skew_ns = 1000000,
	.patience_ns = 1000000000,
	.groups_max = 100,
	.samples_max = 64,
	.tracepoints_per_cycle = 3,
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
	const struct answer_context c = { .now = { 5000000000 },
		.started = { 0 },
		.when = { 7000000000 },
		.database = "d",
		.space_path = "s",
		.store_trouble = "",
		.who = { .user = "root", .role = ROLE_DIAGNOSE, .own = true } };
	char *answer = answer_ask(h->engine, h->forest, &c, text, strlen(text));
	json_t *j = json_loads(answer, 0, NULL);

	assert_non_null(j);
	assert_int_equal(json_integer_value(json_object_get(j, "version")), ANSWER_VERSION);
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
		fail_msg("\"%s\" is not in \"%s\"", words,
		    json_string_value(json_object_get(j, "error")));
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
	refused(h, /* each field is permitted */
	    "{\"ask\":\"start\",\"type\":\"GET_HOME\",\"strategy\":\"flat\",\"k\":2,\"seed\":1,"
	    "\"effort\":3,\"effect\":0.3,\"causes\":2,\"tail\":0.99,\"below\":false}",
	    "missing", "no agent is connected");
	join(h, "n1");
	refused(h, "{\"ask\":\"start\",\"type\":\"GET_HOME\"}", "missing",
	    "no request of any type has been seen");
	refused(h, "{\"ask\":\"start\"}", "input", "\"type\" is missing");
	refused(h, "{\"ask\":\"start\",\"type\":\"X\",\"k\":17}", "input",
	    "\"k\" must be from 1 to 16");
	refused(h, "{\"ask\":\"start\",\"type\":\"X\",\"strategy\":\"psychic\"}", "input",
	    "no such strategy");
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
malformed_questions_are_answered_with_an_error(void **state)
{
	struct house *h = *state;
	json_t *j;

	refused(h, "", "input", "not a JSON object");
	refused(h, "[1,2", "input", "not a JSON object");
	refused(h, "\"status\"", "input", "not a JSON object");
	refused(h, "{\"ask\":7}", "input", "not a JSON object");
	refused(h, "{\"ask\":\"everything\"}", "input", "no such question");
	for (size_t i = 0; i < 3; i++) {
		static const char *const QUESTIONS[] = { "{\"ask\":\"status\"}",
			"{\"ask\":\"agents\"}", "{\"ask\":\"tracepoints\"}" };

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

/* While learning, the desired state names each provider once, on the nodes that have it; afterwards it is empty. */
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
		const struct done d = { .epoch = engine_want(h->engine, node)->epoch,
			.failure = "" };

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
	static const struct {
		double fill;
		bool paused;
	} STORY[] = {
		{ 0.49, false },
		{ 0.51, true },
		{ 0.45, true },
		{ 0.36, true },
		{ 0.34, false },
		{ 0.49, false },
		{ 0.9, true },
	};
	struct house *h = *state;
	uint32_t node = join(h, "n1");
	struct err e;

	tell_programs(h, node);
	for (size_t i = 0; i < sizeof STORY / sizeof STORY[0]; i++) {
		struct status s = { .tracer_ok = true };

		s.fill[i % QUEUES] = STORY[i].fill;
		engine_status(h->engine, node, &s, (struct mono){ (int64_t)i });
		assert_int_equal(
		    engine_step(h->engine, (struct mono){ (int64_t)i }, (struct wall){ 0 }, &e), 0);
		assert_int_equal(engine_parts(h->engine)->queues.paused, STORY[i].paused);
	}
	refused(h, "{\"ask\":\"learn\",\"seconds\":1}", "busy", "90 % full");
}

static void
problems_are_reported_in_fields(void **state)
{
	struct house *h = *state;
	struct status s = { .fill = { [QUEUE_LINK] = 0.75 },
		.tracer_ok = true,
		.shed = true,
		.shed_by = QUEUE_LINK,
		.trouble = { .kind = NODE_TROUBLE_UNTRACED, .subject = "cart", .pid = 17 } };
	uint32_t node = join(h, "n1");
	json_t *j = ask(h, "{\"ask\":\"agents\"}"), *agent, *trouble, *pause, *queues;

	agent = json_array_get(json_object_get(j, "agents"), 0);
	assert_true(json_is_null(json_object_get(agent, "trouble")));
	json_decref(j);
	engine_status(h->engine, node, &s, (struct mono){ 1000000000 });
	j = ask(h, "{\"ask\":\"agents\"}");
	agent = json_array_get(json_object_get(j, "agents"), 0);
	trouble = json_object_get(agent, "trouble");
	assert_string_equal(json_string_value(json_object_get(trouble, "kind")), "untraced");
	assert_string_equal(json_string_value(json_object_get(trouble, "subject")), "cart");
	assert_int_equal(json_integer_value(json_object_get(trouble, "pid")), 17);
	json_decref(j);
	/* an error of the tracer about a tracepoint, when no more severe problem is reported */
	s.trouble = (struct node_trouble){ 0 };
	engine_status(h->engine, node, &s, (struct mono){ 2000000000 });
	engine_done(
	    h->engine, node, &(struct done){ .failure = "p:b: it fails" }, (struct mono){ 2 });
	j = ask(h, "{\"ask\":\"agents\"}");
	agent = json_array_get(json_object_get(j, "agents"), 0);
	trouble = json_object_get(agent, "trouble");
	assert_string_equal(json_string_value(json_object_get(trouble, "kind")), "tracepoint");
	assert_string_equal(json_string_value(json_object_get(trouble, "text")), "p:b: it fails");
	json_decref(j);
	j = ask(h, "{\"ask\":\"status\"}");
	pause = json_object_get(j, "pause");
	queues = json_object_get(j, "queues");
	assert_true(json_is_true(json_object_get(j, "paused")));
	assert_string_equal(json_string_value(json_object_get(pause, "reason")), "queue-full");
	assert_string_equal(json_string_value(json_object_get(pause, "node")), "n1");
	assert_string_equal(json_string_value(json_object_get(pause, "queue")), "link");
	assert_true(json_real_value(json_object_get(pause, "fill")) == 0.75);
	assert_string_equal(
	    json_string_value(json_object_get(json_object_get(queues, "shed"), "reason")),
	    "load-shed");
	json_decref(j);
}

/* The live page shows none of them in its types, and with a hundred nodes they are half of the answer. */
static void
a_status_can_leave_out_the_costs_of_nodes(void **state)
{
	static const char *const questions[] = { "{\"ask\":\"status\"}",
		"{\"ask\":\"status\",\"costs\":false}" };

	for (int i = 0; i < 2; i++) {
		json_t *j = ask(*state, questions[i]), *cost = json_object_get(j, "cost");

		assert_non_null(json_object_get(cost, "budget_pct"));
		assert_int_equal(json_is_array(json_object_get(cost, "nodes")), i == 0);
		json_decref(j);
	}
}

/* The same desired state has the same epoch, so that sending it again renews a lease. */
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

	assert_int_equal(
	    engine_batch(h->engine, node, "garbage", 7, (struct mono){ 1 }, &e), ERR_INPUT);
	assert_int_equal(engine_step(h->engine, (struct mono){ 1 }, (struct wall){ 0 }, &e), 0);
}

/* ---- clocks ---- */

static const int64_t second_ns = 1000000000;

/* One request that begins on node 0 and has a unit on node 1, whose clock is ahead by the given
 * time. */
static void
send_pair(struct house *h, uint64_t id, int64_t at_ns, int64_t ahead_ns)
{
	static const struct {
		enum record_kind kind;
		const char *text;
		uint32_t node;
		uint64_t unit, link;
	} ROWS[] = {
		{ RECORD_REQUEST_BEGIN, "s/hone:request_begin(A)", 0, 1, 0 },
		{ RECORD_FORK, "s/hone:fork(c)", 0, 1, 7 },
		{ RECORD_UNIT_BEGIN, "t/hone:unit_begin(c)", 1, 2, 7 },
		{ RECORD_UNIT_END, "t/hone:unit_end(c)", 1, 2, 7 },
		{ RECORD_JOIN, "s/hone:join(c)", 0, 1, 7 },
		{ RECORD_REQUEST_END, "s/hone:request_end(A)", 0, 1, 0 },
	};

	for (uint32_t node = 0; node < 2; node++) {
		int64_t off_ns = node == 1 ? ahead_ns : 0;
		struct batch_writer w = { 0 };
		struct buf out = { 0 };
		struct err e;

		batch_begin(&w);
		for (size_t i = 0; i < 6; i++)
			batch_label(&w, ROWS[i].kind, ROWS[i].text, strlen(ROWS[i].text), NULL, 0);
		for (uint32_t i = 0; i < 6; i++)
			if (ROWS[i].node == node)
				batch_record(
				    &w, &(struct record){ .trace_id = id,
					    .unit_id = 10 * id + ROWS[i].unit,
					    .link_id = ROWS[i].link,
					    .pid = 1,
					    .tid = 1,
					    .label = i,
					    .time_ns = at_ns + 100000 * (int64_t)i + off_ns });
		assert_int_equal(batch_end(&w, at_ns + second_ns / 2 + off_ns, &out, &e), 0);
		assert_int_equal(engine_batch(h->engine, node, out.data, out.len,
				     (struct mono){ at_ns + second_ns / 2 }, &e),
		    0);
		buf_release(&out);
		batch_release(&w);
	}
}

static void
tell_clock(struct house *h, uint32_t node, int64_t at_ns, int64_t ahead_ns)
{
	const struct clock_echo answer = { at_ns, at_ns + 50000 + ahead_ns,
		at_ns + 60000 + ahead_ns };

	engine_clock(h->engine, node, &answer, 0, (struct mono){ at_ns + 110000 });
}

/* With clocks that are days apart, a trace is completed without a delay of days, and batches have no delay of
 * days. */
static void
nodes_of_other_clocks_make_one_trace(void **state)
{
	const int64_t ahead_ns = 3 * 86400 * second_ns;
	struct house *h = *state;
	struct clocks_counts n;
	json_t *j, *agent;
	struct err e;

	join(h, "here");
	join(h, "there");
	for (uint32_t node = 0; node < 2; node++) {
		engine_clock(h->engine, node, NULL, 10 * second_ns + (node == 1 ? ahead_ns : 0),
		    (struct mono){ 10 * second_ns + 90000 });
		tell_clock(h, node, 11 * second_ns, node == 1 ? ahead_ns : 0);
	}
	for (uint64_t id = 1; id <= 20; id++)
		send_pair(h, id, (11 + (int64_t)id) * second_ns, ahead_ns);
	assert_int_equal(
	    engine_step(h->engine, (struct mono){ 33 * second_ns }, (struct wall){ 1 }, &e), 0);
	assert_int_equal(engine_parts(h->engine)->types.n, 1);
	assert_int_equal(engine_parts(h->engine)->types.items[0].traces, 20);
	assert_true(sketch_quantile(&engine_parts(h->engine)->delay, 1) < 1e9);
	clocks_counts(engine_parts(h->engine)->clocks, &n);
	assert_int_equal(n.contradictory, 0);
	j = ask(h, "{\"ask\":\"agents\"}");
	agent = json_array_get(json_object_get(j, "agents"), 1);
	assert_true(json_real_value(json_object_get(agent, "offset_ms")) + 3 * 86400e3 < 0.1);
	assert_true(json_real_value(json_object_get(agent, "offset_ms")) + 3 * 86400e3 > -0.1);
	assert_false(json_boolean_value(json_object_get(agent, "same_clock")));
	json_decref(j);
}

/* After the suspension of an agent for an hour, its records are used as before. */
static void
a_clock_that_jumps_is_followed(void **state)
{
	struct house *h = *state;
	struct clock_state look;
	struct err e;

	join(h, "here");
	join(h, "there");
	for (uint32_t node = 0; node < 2; node++)
		tell_clock(h, node, 4000 * second_ns, 0);
	send_pair(h, 1, 4001 * second_ns, 0);
	tell_clock(h, 1, 4010 * second_ns, -3600 * second_ns);
	clocks_state(engine_parts(h->engine)->clocks, 1, 4010 * second_ns, &look);
	assert_int_equal(look.steps, 1);
	send_pair(h, 2, 4011 * second_ns, -3600 * second_ns);
	assert_int_equal(
	    engine_step(h->engine, (struct mono){ 4012 * second_ns }, (struct wall){ 1 }, &e), 0);
	assert_int_equal(engine_parts(h->engine)->types.items[0].traces, 2);
}

/* ---- the report of all requests ---- */

/* Requests of type A that take 1 ms plus up to `spread` of that, with a point in every second
 * one; every fourth ends with status 500. */
static void
send_requests(struct house *h, uint32_t node, uint64_t first, int count, double spread)
{
	struct batch_writer w = { 0 };
	uint32_t begin, end, point;
	const char *const fields[] = { "status" };
	struct value status = { .type = VALUE_INT };
	struct buf out = { 0 };
	struct err e;

	batch_begin(&w);
	begin = batch_label(&w, RECORD_REQUEST_BEGIN, "s/hone:request_begin(A)", 23, NULL, 0);
	end = batch_label(&w, RECORD_REQUEST_END, "s/hone:request_end(A)", 21, fields, 1);
	point = batch_label(&w, RECORD_POINT, "s/app:p", 7, NULL, 0);
	for (int i = 0; i < count; i++) {
		struct record r = { .trace_id = first + (uint64_t)i,
			.unit_id = first + (uint64_t)i,
			.pid = 1,
			.tid = 1,
			.time_ns = (int64_t)(first + (uint64_t)i) * 10000000,
			.label = begin };

		batch_record(&w, &r);
		r.time_ns += 500000;
		r.label = point;
		if (i % 2 == 0)
			batch_record(&w, &r);
		r.time_ns += 500000 + (int64_t)(1e6 * spread * i / count);
		r.label = end;
		status.i = i % 4 == 0 ? 500 : 200;
		r.values = &status;
		r.nvalues = 1;
		batch_record(&w, &r);
	}
	assert_int_equal(batch_end(&w, (int64_t)first * 10000000 + 1000000000000, &out, &e), 0);
	assert_int_equal(
	    engine_batch(h->engine, node, out.data, out.len, (struct mono){ 1 }, &e), 0);
	assert_int_equal(
	    engine_step(h->engine, (struct mono){ 2 }, (struct wall){ 1000000000 }, &e), 0);
	buf_release(&out);
	batch_release(&w);
}

static const char *
text_in(const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	return s != NULL ? s : "";
}

/* Requests whose fork is joined without a unit, 10 ms apart from 1 s on; with `open`, the last ones have
 * no end. */
static void
send_forks(struct house *h, uint32_t node, int count, int open)
{
	struct batch_writer w = { 0 };
	uint32_t begin, end, fork, joined;
	struct buf out = { 0 };
	struct err e;

	batch_begin(&w);
	begin = batch_label(&w, RECORD_REQUEST_BEGIN, "s/hone:request_begin(A)", 23, NULL, 0);
	end = batch_label(&w, RECORD_REQUEST_END, "s/hone:request_end(A)", 21, NULL, 0);
	fork = batch_label(&w, RECORD_FORK, "s/hone:fork(f)", 14, NULL, 0);
	joined = batch_label(&w, RECORD_JOIN, "s/hone:join(f)", 14, NULL, 0);
	for (int i = 0; i < count; i++) {
		const uint32_t labels[] = { begin, fork, joined, end };
		struct record r = { .trace_id = 1 + (uint64_t)i,
			.unit_id = 1 + (uint64_t)i,
			.pid = 1,
			.tid = 1,
			.time_ns = second_ns + i * 10000000 };

		for (int k = 0; k < 4 - (i >= count - open); k++) {
			r.label = labels[k];
			r.link_id = k == 1 || k == 2 ? 1000 + (uint64_t)i : 0;
			batch_record(&w, &r);
			r.time_ns += 100000;
		}
	}
	assert_int_equal(batch_end(&w, 5 * second_ns, &out, &e), 0);
	assert_int_equal(
	    engine_batch(h->engine, node, out.data, out.len, (struct mono){ 5 * second_ns }, &e),
	    0);
	assert_int_equal(
	    engine_step(h->engine, (struct mono){ 5 * second_ns }, (struct wall){ 1000000000 }, &e),
	    0);
	buf_release(&out);
	batch_release(&w);
}

static void
a_check_names_the_mistakes_of_the_type(void **state)
{
	struct house *h = *state;
	json_t *j, *m;

	send_forks(h, join(h, "n1"), 100, 10);
	j = ask(h, "{\"ask\":\"check\",\"seconds\":10}");
	assert_true(json_is_true(json_object_get(j, "ok")));
	assert_int_equal(json_integer_value(json_object_get(j, "lossy")), 0);
	assert_int_equal(json_array_size(json_object_get(j, "mistakes")), 2);
	m = json_array_get(json_object_get(j, "mistakes"), 0);
	assert_string_equal(text_in(m, "kind"), "program-unseen");
	assert_string_equal(text_in(m, "at"), "s/hone:fork(f)");
	assert_string_equal(text_in(m, "type"), "A");
	assert_int_equal(json_integer_value(json_object_get(m, "count")), 100);
	m = json_array_get(json_object_get(j, "mistakes"), 1);
	assert_string_equal(text_in(m, "kind"), "request-open");
	assert_int_equal(json_integer_value(json_object_get(m, "count")), 10);
	assert_int_equal(json_integer_value(json_object_get(m, "of")), 100);
	json_decref(j);
	j = ask(h, "{\"ask\":\"check\",\"type\":\"s/A\",\"seconds\":10}");
	assert_int_equal(json_array_size(json_object_get(j, "mistakes")), 2);
	json_decref(j);
	j = ask(h, "{\"ask\":\"check\",\"type\":\"B\"}");
	assert_int_equal(json_array_size(json_object_get(j, "mistakes")), 0);
	assert_int_equal(json_array_size(json_object_get(j, "requests")), 0);
	json_decref(j);
	/* counts of the last second only: the requests began earlier */
	j = ask(h, "{\"ask\":\"check\",\"seconds\":1}");
	assert_int_equal(json_array_size(json_object_get(j, "requests")), 0);
	json_decref(j);
	j = ask(h, "{\"ask\":\"status\"}");
	m = json_object_get(j, "counts");
	assert_int_equal(json_integer_value(json_object_get(m, "lossy")), 0);
	assert_int_equal(
	    json_integer_value(json_object_get(json_object_get(m, "incomplete"), "no-unit")), 90);
	json_decref(j);
	refused(h, "{\"ask\":\"check\",\"seconds\":0}", "input", "must be from 1");
}

static void
a_program_that_ends_during_a_diagnosis_of_its_requests_is_named(void **state)
{
	struct house *h = *state;
	struct program three[] = { { "s", 71, 0, 0 }, { "other", 72, 0, 0 }, { "s", 73, 0, 0 } };
	struct programs p = { 3, 0, three, NULL };
	uint32_t node = join(h, "n1");
	struct err e;
	json_t *j, *ended;

	assert_int_equal(engine_programs(h->engine, node, &p, &e), 0);
	send_forks(h, node, 100, 0);
	j = ask(h, "{\"ask\":\"start\",\"type\":\"A\"}");
	assert_true(json_is_true(json_object_get(j, "ok")));
	json_decref(j);
	p.nprograms = 1; /* of the others one served the type */
	assert_int_equal(engine_programs(h->engine, node, &p, &e), 0);
	j = ask(h, "{\"ask\":\"forest\",\"type\":\"A\"}");
	ended = json_object_get(json_array_get(json_object_get(j, "runs"), 0), "ended_programs");
	assert_int_equal(json_array_size(ended), 1);
	assert_string_equal(text_in(json_array_get(ended, 0), "service"), "s");
	assert_string_equal(text_in(json_array_get(ended, 0), "node"), "n1");
	assert_int_equal(json_integer_value(json_object_get(json_array_get(ended, 0), "pid")), 73);
	json_decref(j);
}

static void
a_check_says_which_program_is_silent(void **state)
{
	struct house *h = *state;
	const char *names[] = { "s:a", "store:b" };
	struct program two[] = { { "s", 1, 0, 1 }, { "store", 2, 1, 1 } };
	const struct programs p = { 2, 2, two, names };
	uint32_t node = join(h, "n1");
	struct err e;
	json_t *j, *m;

	assert_int_equal(engine_programs(h->engine, node, &p, &e), 0);
	send_forks(h, node, 100, 0);
	j = ask(h, "{\"ask\":\"check\",\"seconds\":10}");
	m = json_array_get(json_object_get(j, "mistakes"), 0);
	assert_string_equal(text_in(m, "kind"), "carrier-lost");
	assert_string_equal(text_in(m, "to_service"), "store");
	assert_int_equal(json_array_size(json_object_get(j, "silent")), 1);
	json_decref(j);
}

static json_int_t
requests_in(const json_t *report)
{
	return json_integer_value(
	    json_object_get(json_array_get(json_object_get(report, "types"), 0), "count"));
}

static void
all_requests_are_in_the_report_by_structure_alone(void **state)
{
	struct house *h = *state;
	json_t *j, *report, *type;

	send_requests(h, join(h, "n1"), 1, 100, 1);
	j = ask(h, "{\"ask\":\"report\",\"type\":\"A\",\"samples\":true}");
	assert_true(json_is_true(json_object_get(j, "ok")));
	report = json_object_get(j, "report");
	assert_string_equal(
	    json_string_value(json_object_get(report, "document")), "hone.analysis");
	assert_true(json_is_true(json_object_get(json_object_get(report, "source"), "live")));
	assert_string_equal(
	    json_string_value(json_object_get(json_object_get(report, "source"), "since")),
	    "1970-01-01T00:00:01.000Z");
	type = json_array_get(json_object_get(report, "types"), 0);
	assert_int_equal(requests_in(report), 100);
	assert_int_equal(json_array_size(json_object_get(type, "groups")), 1);
	assert_non_null(
	    json_object_get(json_array_get(json_object_get(type, "groups"), 0), "samples"));
	assert_int_equal(json_array_size(json_object_get(report, "problems")), 1);
	json_decref(j);
	refused(h, "{\"ask\":\"report\",\"type\":\"B\"}", "missing", "no request of this type");
}

/* A diagnosis of the group whose final edge has these ends, and that looked below it at that time. */
static void
diagnosed(struct house *h, const json_t *group, const char *to, int64_t at_ns)
{
	struct run *r = forest_run_new(h->forest, "A");
	struct hypothesis *root = forest_hypothesis_new(h->forest, r->id, 0);
	struct verdict v = { .run = r->id,
		.hypothesis = root->id,
		.from = "s/hone:request_begin(A)",
		.to = (char *)(uintptr_t)to,
		.below_requests = 150,
		.below_differential = "all\t38\t112\t2.4e7\t3e6\t2.6e7\t0.95\t\n",
		.when = { at_ns } };
	unsigned long long key[2];

	assert_int_equal(sscanf(text_in(group, "group"), "%16llx%16llx", &key[0], &key[1]), 2);
	root->group_key[0] = key[0];
	root->group_key[1] = key[1];
	assert_true(hypothesis_text(&root->edge_from, "s/hone:request_begin(A)"));
	assert_true(hypothesis_text(&root->edge_to, "s/hone:request_end(A)"));
	assert_non_null(forest_verdict_new(h->forest, &v));
}

static json_t *
first_group(const json_t *answer)
{
	const json_t *report = json_object_get(answer, "report");

	return json_array_get(
	    json_object_get(json_array_get(json_object_get(report, "types"), 0), "groups"), 0);
}

static void
edges_of_the_report_have_what_diagnoses_saw_below_them(void **state)
{
	static const char QUESTION[] = "{\"ask\":\"report\",\"type\":\"A\"}";
	struct house *h = *state;
	const json_t *edge, *below;
	json_t *j, *group, *other;

	send_requests(h, join(h, "n1"), 1, 100, 1);
	j = ask(h, QUESTION);
	group = json_deep_copy(first_group(j));
	assert_null(json_object_get(json_array_get(json_object_get(group, "edges"), 0), "below"));
	json_decref(j);
	diagnosed(h, group, "s/hone:request_end(A)", 999999999); /* before the report began */
	other = json_deep_copy(group);
	json_object_set_new(other, "group", json_string("00000000000000010000000000000002"));
	diagnosed(h, other, "s/hone:request_end(A)", 2000000000);
	j = ask(h, QUESTION);
	assert_null(
	    json_object_get(json_array_get(json_object_get(first_group(j), "edges"), 0), "below"));
	json_decref(j);
	diagnosed(h, group, "s/hone:request_end(A)", 2000000000);
	diagnosed(h, group, "s/app:p", 2000000001); /* inside it, and newer */
	j = ask(h, QUESTION);
	edge = json_array_get(json_object_get(first_group(j), "edges"), 0);
	assert_non_null(below = json_object_get(edge, "below"));
	assert_string_equal(text_in(below, "to"), "s/app:p");
	assert_int_equal(json_integer_value(json_object_get(below, "slow")), 38);
	assert_int_equal(json_integer_value(json_object_get(below, "run")), 4);
	json_decref(j);
	json_decref(group);
	json_decref(other);
}

static void
whole_requests_are_kept_told_in_pages_and_forgotten_with_the_report(void **state)
{
	struct house *h = *state;
	uint32_t node = join(h, "n1");
	const json_t *list, *one;
	char question[100];
	json_t *j, *again;

	send_requests(h, node, 1, 100, 1);
	j = ask(h, "{\"ask\":\"requests\",\"type\":\"A\"}");
	list = json_object_get(j, "requests");
	assert_int_equal(json_array_size(list), KEPT_SLOW + KEPT_SAMPLE);
	assert_int_equal(json_integer_value(json_object_get(j, "left")), 0);
	one = json_array_get(list, 3);
	assert_string_equal(text_in(one, "type"), "A");
	assert_true(json_is_object(json_object_get(one, "group")));
	assert_true(json_is_null(json_object_get(one, "verdict")));
	snprintf(question, sizeof question, "{\"ask\":\"requests\",\"trace\":\"%s\"}",
	    text_in(one, "trace"));
	again = ask(h, question);
	assert_true(json_equal(json_array_get(json_object_get(again, "requests"), 0), one));
	json_decref(again);
	again = ask(h, "{\"ask\":\"requests\",\"limit\":5,\"skip\":3}");
	assert_int_equal(json_array_size(json_object_get(again, "requests")), 2);
	assert_true(json_equal(json_array_get(json_object_get(again, "requests"), 0), one));
	json_decref(again);
	json_decref(j);
	refused(h, "{\"ask\":\"requests\",\"trace\":\"00000000000fffff\"}", "missing",
	    "does not have this trace");
	refused(h, "{\"ask\":\"requests\",\"trace\":\"12\"}", "input", "16 or 32 hex digits");
	refused(h, "{\"ask\":\"requests\",\"limit\":0}", "input", "whole number");
	refused(h, "{\"ask\":\"requests\",\"skip\":-1}", "input", "whole number");
	refused(
	    h, "{\"ask\":\"requests\",\"type\":\"none\"}", "missing", "no request of this type");
	json_decref(ask(h, "{\"ask\":\"report\",\"reset\":true}"));
	j = ask(h, "{\"ask\":\"requests\"}");
	assert_int_equal(json_array_size(json_object_get(j, "requests")), 0);
	json_decref(j);
}

static void
a_report_can_begin_again(void **state)
{
	struct house *h = *state;
	uint32_t node = join(h, "n1");
	json_t *j;

	send_requests(h, node, 1, 100, 1);
	j = ask(h, "{\"ask\":\"report\",\"reset\":true}");
	assert_int_equal(requests_in(json_object_get(j, "report")), 100);
	json_decref(j);
	j = ask(h, "{\"ask\":\"report\"}");
	assert_int_equal(requests_in(json_object_get(j, "report")), 0);
	assert_string_equal(json_string_value(json_object_get(
				json_object_get(json_object_get(j, "report"), "source"), "since")),
	    "1970-01-01T00:00:07.000Z");
	json_decref(j);
	send_requests(h, node, 1000000, 30, 1);
	j = ask(h, "{\"ask\":\"report\"}");
	assert_int_equal(requests_in(json_object_get(j, "report")), 30);
	assert_int_equal(
	    json_integer_value(json_object_get(
		json_object_get(json_object_get(json_object_get(j, "report"), "source"), "counts"),
		"events")),
	    75);
	json_decref(j);
}

/* The counts of each type rise from bound to bound, up to all of its requests. */
static void
times_have_every_request_of_a_type_once(void **state)
{
	struct house *h = *state;
	uint32_t node = join(h, "n1");
	json_t *j, *t, *counts;

	j = ask(h, "{\"ask\":\"times\"}");
	assert_int_equal(json_array_size(json_object_get(j, "types")), 0);
	json_decref(j);
	send_requests(h, node, 1, 100, 1);
	j = ask(h, "{\"ask\":\"times\"}");
	assert_int_equal(json_array_size(json_object_get(j, "types")), 1);
	t = json_array_get(json_object_get(j, "types"), 0);
	counts = json_object_get(t, "counts");
	assert_int_equal(json_integer_value(json_object_get(t, "requests")), 100);
	assert_int_equal(json_array_size(counts), json_array_size(json_object_get(j, "up_to_ms")));
	for (size_t i = 1; i < json_array_size(counts); i++)
		assert_true(json_integer_value(json_array_get(counts, i - 1)) <=
			    json_integer_value(json_array_get(counts, i)));
	assert_int_equal(
	    json_integer_value(json_array_get(counts, json_array_size(counts) - 1)), 100);
	assert_true(json_number_value(json_object_get(t, "beyond_median_ms")) >= 0);
	json_decref(j);
}

static void
without_a_page_there_is_no_link_to_it(void **state)
{
	json_t *j = ask(*state, "{\"ask\":\"web\"}");

	assert_true(json_is_false(json_object_get(j, "ok")));
	assert_string_equal(json_string_value(json_object_get(j, "code")), "missing");
	json_decref(j);
}

/* Starts the engine again with other label rules. */
static void
rebuild(struct house *h, const char *ignore, const char *bins)
{
	struct engine_options o = OPTIONS;
	struct err e;

	o.ignore = ignore;
	o.bins = bins;
	engine_free(h->engine);
	assert_int_equal(engine_new(&h->engine, &o, h->forest, &e), 0);
}

static void
rules_of_labels_hold_for_the_report(void **state)
{
	struct house *h = *state;
	json_t *j, *groups, *g;

	rebuild(h, NULL, " s/x:y.z  *:request_end*.status=400 ");
	send_requests(h, join(h, "n1"), 1, 100, 1);
	j = ask(h, "{\"ask\":\"report\"}");
	groups = json_object_get(
	    json_array_get(json_object_get(json_object_get(j, "report"), "types"), 0), "groups");
	assert_int_equal(json_array_size(groups), 2);
	assert_int_equal(
	    json_integer_value(json_object_get(json_array_get(groups, 0), "count")) +
		json_integer_value(json_object_get(json_array_get(groups, 1), "count")),
	    100);
	json_decref(j);

	rebuild(h, "s/none:* *:request_end*", "");
	send_requests(h, join(h, "n1"), 1, 100, 1);
	j = ask(h, "{\"ask\":\"report\"}");
	g = json_array_get(
	    json_object_get(
		json_array_get(json_object_get(json_object_get(j, "report"), "types"), 0),
		"groups"),
	    0);
	assert_true(json_number_value(json_object_get(g, "mean_ms")) == 0);
	assert_true(json_number_value(json_object_get(g, "ignored_mean_ms")) > 1);
	json_decref(j);
}

/* Every record and every trace is counted once, also after a new window began. */
static void
counts_balance(void **state)
{
	static const char *const parts[] = { "used", "late", "duplicate", "given_up", "held" };
	struct house *h = *state;
	uint32_t node = join(h, "n1");
	json_t *j, *counts;
	json_int_t sum = 0;

	send_requests(h, node, 1, 100, 1);
	json_decref(ask(h, "{\"ask\":\"report\",\"reset\":true}"));
	send_requests(h, node, 1, 50, 1); /* all traces are late */
	j = ask(h, "{\"ask\":\"status\"}");
	counts = json_object_get(j, "counts");
	for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
		sum += json_integer_value(json_object_get(counts, parts[i]));
	assert_int_equal(json_integer_value(json_object_get(counts, "records")), 375);
	assert_int_equal(sum, 375);
	assert_int_equal(json_integer_value(json_object_get(counts, "late")), 125);
	assert_int_equal(json_integer_value(json_object_get(counts, "outside")), 0);
	json_decref(j);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_start_says_what_is_missing, build, tear_down),
		cmocka_unit_test_setup_teardown(learning_needs_programs, build, tear_down),
		cmocka_unit_test_setup_teardown(
		    malformed_questions_are_answered_with_an_error, build, tear_down),
		cmocka_unit_test_setup_teardown(
		    what_learning_turns_on_goes_off_again, build, tear_down),
		cmocka_unit_test_setup_teardown(pausing_has_two_thresholds, build, tear_down),
		cmocka_unit_test_setup_teardown(problems_are_reported_in_fields, build, tear_down),
		cmocka_unit_test_setup_teardown(
		    a_status_can_leave_out_the_costs_of_nodes, build, tear_down),
		cmocka_unit_test_setup_teardown(
		    a_want_keeps_its_epoch_until_it_differs, build, tear_down),
		cmocka_unit_test_setup_teardown(
		    a_malformed_batch_changes_nothing, build, tear_down),
		cmocka_unit_test_setup_teardown(
		    nodes_of_other_clocks_make_one_trace, build, tear_down),
		cmocka_unit_test_setup_teardown(a_clock_that_jumps_is_followed, build, tear_down),
		cmocka_unit_test_setup_teardown(
		    all_requests_are_in_the_report_by_structure_alone, build, tear_down),
		cmocka_unit_test_setup_teardown(
		    whole_requests_are_kept_told_in_pages_and_forgotten_with_the_report, build,
		    tear_down),
		cmocka_unit_test_setup_teardown(a_report_can_begin_again, build, tear_down),
		cmocka_unit_test_setup_teardown(
		    edges_of_the_report_have_what_diagnoses_saw_below_them, build, tear_down),
		cmocka_unit_test_setup_teardown(
		    rules_of_labels_hold_for_the_report, build, tear_down),
		cmocka_unit_test_setup_teardown(
		    a_check_names_the_mistakes_of_the_type, build, tear_down),
		cmocka_unit_test_setup_teardown(
		    a_check_says_which_program_is_silent, build, tear_down),
		cmocka_unit_test_setup_teardown(
		    a_program_that_ends_during_a_diagnosis_of_its_requests_is_named, build,
		    tear_down),
		cmocka_unit_test_setup_teardown(counts_balance, build, tear_down),
		cmocka_unit_test_setup_teardown(
		    times_have_every_request_of_a_type_once, build, tear_down),
		cmocka_unit_test_setup_teardown(
		    without_a_page_there_is_no_link_to_it, build, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
