/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Simulated nodes report their cost under random loads (fixed seeds): the cost falls below the
 * budget and stays there, estimates from fewer requests have no bias, and shares are stable.
 */
#include <math.h>
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
#include "tests/sim/stage.h"

enum { FRONT, BACK, BOTH, TYPES }; /* types: their requests use n1, n2, or both */
enum { ENOUGH_S = 20 };            /* time from a change of the load until the shares match it */
#define RECORD_NS 150.0
#define BUDGET 0.01
#define ABOVE 1.1 /* tolerated excess over the budget: the choice of sampled requests is random */

struct world {
	struct stage stage;
	double weight[TYPES];
	double sampled[TYPES], others;
	uint32_t begin[TYPES], end[TYPES], fork, join, unit_begin, unit_end;
	struct moments truth; /* ns of all requests of BOTH, sampled or not */
	uint64_t sampled_of[TYPES], offered_of[TYPES];
	uint32_t changes; /* number of changes of any share */
	bool overrun;     /* what n1 was told last */
	bool early;       /* it was told so of a window in which a share was not at its least */
};

static const char *const NAMES[TYPES] = { "FRONT", "BACK", "BOTH" };

static void
emit(struct world *w, int node, uint32_t label, uint64_t trace, uint64_t unit, uint64_t link,
    int64_t at_ns)
{
	stage_emit(&w->stage, w->stage.nodes[node],
	    &(struct stage_record){
		.time_ns = at_ns, .trace = trace, .unit = unit, .link = link, .label = label });
}

static int
draw_type(struct world *w)
{
	double at = rng_unit(&w->stage.rng);
	int type = 0;

	while (type < TYPES - 1 && at >= w->weight[type])
		at -= w->weight[type++];
	return type;
}

static void
request(void *app, int64_t at_ns)
{
	struct world *w = app;
	int type = draw_type(w), node = type == BACK;
	uint64_t trace = rng_next(&w->stage.rng) | 1;
	int64_t took_ns = 2 * MS + (int64_t)(0.3 * MS * fabs(rng_normal(&w->stage.rng)));

	w->offered_of[type]++;
	if (type == BOTH)
		moments_add(&w->truth, (double)took_ns);
	if (rng_unit(&w->stage.rng) >= w->sampled[type])
		return;
	w->sampled_of[type]++;
	emit(w, node, w->begin[type], trace, trace, 0, at_ns);
	if (type == BOTH) {
		emit(w, 0, w->fork, trace, trace, trace + 1, at_ns + MS / 10);
		emit(w, 1, w->unit_begin, trace, trace + 1, trace + 1, at_ns + MS / 5);
		emit(w, 1, w->unit_end, trace, trace + 1, trace + 1, at_ns + took_ns - MS / 5);
		emit(w, 0, w->join, trace, trace, trace + 1, at_ns + took_ns - MS / 10);
	}
	emit(w, node, w->end[type], trace, trace, 0, at_ns + took_ns);
}

static void
obeyed(void *app, struct stage_node *n, const struct want *want)
{
	struct world *w = app;
	double now[TYPES] = { want->sampled, want->sampled, want->sampled };

	if (n != w->stage.nodes[0])
		return; /* all nodes have the same shares */
	w->overrun = want->overrun;
	w->early |= want->overrun && w->sampled[FRONT] > SAMPLER_LEAST;
	for (uint32_t i = 0; i < want->nrates; i++)
		for (int t = 0; t < TYPES; t++)
			if (strcmp(want->rates[i].request_type, NAMES[t]) == 0)
				now[t] = want->rates[i].sampled;
	w->changes += memcmp(now, w->sampled, sizeof now) != 0;
	memcpy(w->sampled, now, sizeof now);
}

static void
open_world(struct world *w, uint64_t seed, double rate, double idle_core, double network)
{
	struct engine_options o = stage_options(seed);
	char text[64];

	memset(w, 0, sizeof *w);
	o.idle_share = BUDGET;
	o.network_max = (int64_t)network;
	w->stage.rate = rate;
	w->stage.app = w;
	w->stage.request = request;
	w->stage.obeyed = obeyed;
	w->weight[FRONT] = 0.5;
	w->weight[BACK] = 0.1;
	for (int i = 0; i < TYPES; i++) {
		snprintf(text, sizeof text, "%s/hone:request_begin(%s)", i == BACK ? "b" : "f",
		    NAMES[i]);
		w->begin[i] = stage_label(&w->stage, RECORD_REQUEST_BEGIN, text, NULL);
		snprintf(
		    text, sizeof text, "%s/hone:request_end(%s)", i == BACK ? "b" : "f", NAMES[i]);
		w->end[i] = stage_label(&w->stage, RECORD_REQUEST_END, text, NULL);
		w->sampled[i] = 1;
	}
	w->fork = stage_label(&w->stage, RECORD_FORK, "f/hone:fork(call)", NULL);
	w->join = stage_label(&w->stage, RECORD_JOIN, "f/hone:join(call)", NULL);
	w->unit_begin = stage_label(&w->stage, RECORD_UNIT_BEGIN, "b/hone:unit_begin(call)", NULL);
	w->unit_end = stage_label(&w->stage, RECORD_UNIT_END, "b/hone:unit_end(call)", NULL);
	stage_node(&w->stage, "f", "n1");
	stage_node(&w->stage, "b", "n2");
	for (int i = 0; i < 2; i++) {
		w->stage.nodes[i]->record_ns = RECORD_NS;
		w->stage.nodes[i]->rejected_ns = RECORD_NS / 4;
		w->stage.nodes[i]->record_cpu_ns = 3000;
		w->stage.nodes[i]->idle_core = idle_core;
		stage_has(w->stage.nodes[i], i == 0 ? "f:p" : "b:p");
	}
	stage_open(&w->stage, &o, seed);
}

static void
close_world(struct world *w)
{
	stage_close(&w->stage);
	stage_release(&w->stage);
}

static void
play(struct world *w, double seconds)
{
	for (int64_t until = w->stage.now_ns + (int64_t)(seconds * 1e9); w->stage.now_ns < until;)
		stage_tick(&w->stage);
}

/* The true cost of both nodes over this time, as shares of a core. */
static void
spend(struct world *w, double seconds, double core[2])
{
	struct stage_node **n = w->stage.nodes;
	double cpu_ns[2] = { n[0]->cpu_ns, n[1]->cpu_ns };
	uint64_t told[2] = { n[0]->told, n[1]->told };

	play(w, seconds);
	for (int i = 0; i < 2; i++)
		core[i] = (n[i]->cpu_ns - cpu_ns[i] + RECORD_NS * (double)(n[i]->told - told[i])) /
		          seconds / 1e9;
}

static void
the_cost_falls_below_the_budget_and_stays_there(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 6; seed++) {
		struct world w;
		double core[2], rate = 1500 * (double)seed; /* n1 would spend 1.5 to 9 % */
		uint32_t changes;

		open_world(&w, seed, rate, seed % 2 == 0 ? 0.003 : 0.0005, 0);
		play(&w, ENOUGH_S);
		changes = w.changes;
		for (int i = 0; i < 4; i++) {
			spend(&w, 10, core);
			assert_true(core[0] <= BUDGET * ABOVE);
			assert_true(core[0] >= BUDGET * 0.55); /* the budget is not left unused */
			assert_true(core[1] <= BUDGET * ABOVE);
		}
		assert_true(w.changes - changes <= 2);
		assert_true(sampler_share(engine_parts(w.stage.g)->sampler, 0) >= SAMPLER_LEAST);
		close_world(&w);
	}
}

static double
share_of(const struct world *w, int type)
{
	for (uint32_t i = 0; i < engine_parts(w->stage.g)->types.n; i++)
		if (strcmp(engine_parts(w->stage.g)->types.items[i].name, NAMES[type]) == 0)
			return engine_sampled(
			    w->stage.g, &engine_parts(w->stage.g)->types.items[i]);
	return -1;
}

static struct request_type *
type_of(const struct world *w, int type)
{
	for (uint32_t i = 0; i < engine_parts(w->stage.g)->types.n; i++)
		if (strcmp(engine_parts(w->stage.g)->types.items[i].name, NAMES[type]) == 0)
			return &engine_parts(w->stage.g)->types.items[i];
	return NULL;
}

/*
 * n1 is at its budget, n2 is not: the type that uses only n2 is sampled whole, the two types on n1
 * have equal shares.
 */
static void
only_types_on_the_full_node_are_sampled_less(void **state)
{
	struct world w;
	(void)state;

	open_world(&w, 7, 3000, 0.001, 0);
	play(&w, ENOUGH_S);
	assert_true(share_of(&w, BACK) == 1);
	assert_true(share_of(&w, FRONT) < 0.5);
	assert_true(fabs(share_of(&w, FRONT) / share_of(&w, BOTH) - 1) < 0.1);
	close_world(&w);
}

/* Fewer samples give the same estimates of times and counts. */
static void
estimates_have_no_bias(void **state)
{
	struct world w;
	struct request_type *both;
	uint64_t before, offered;
	double error;
	(void)state;

	open_world(&w, 8, 4000, 0.001, 0);
	play(&w, ENOUGH_S);
	both = type_of(&w, BOTH);
	w.truth = both->total = (struct moments){ 0 };
	before = both->traces;
	offered = w.offered_of[BOTH];
	play(&w, 30);
	assert_true(share_of(&w, BOTH) < 0.5);
	assert_true(both->traces - before < (w.offered_of[BOTH] - offered) / 2); /* n decreases */
	error = 4 * sqrt(moments_variance(&w.truth)) / sqrt((double)both->total.n);
	assert_true(fabs(both->total.mean - w.truth.mean) < error);
	assert_true(fabs(moments_cv(&both->total) / moments_cv(&w.truth) - 1) < 0.15);
	assert_true(fabs(both->offered / (4000 * 0.4) - 1) < 0.2);
	close_world(&w);
}

static void
shares_rise_when_the_load_falls(void **state)
{
	struct world w;
	double core[2];
	(void)state;

	open_world(&w, 9, 6000, 0.001, 0);
	play(&w, ENOUGH_S);
	assert_true(share_of(&w, FRONT) < 0.3);
	w.stage.rate = 300;
	play(&w, 30);
	assert_true(share_of(&w, FRONT) == 1);
	w.stage.rate = 6000; /* and back */
	play(&w, ENOUGH_S);
	spend(&w, 10, core);
	assert_true(core[0] <= BUDGET * ABOVE);
	assert_false(w.overrun);
	close_world(&w);
}

/* Below the limit, but above half of it: no share changes, for any time. */
static void
shares_within_the_budget_do_not_change(void **state)
{
	struct world w;
	(void)state;

	open_world(&w, 10, 1100, 0.0005, 0); /* about 0.95 % */
	play(&w, 5);
	w.changes = 0;
	play(&w, 100);
	assert_int_equal(w.changes, 0);
	assert_true(share_of(&w, FRONT) == 1);
	close_world(&w);
}

static void
the_network_limit_applies_too(void **state)
{
	struct world w;
	uint64_t before;
	(void)state;

	open_world(&w, 11, 600, 0.0001, 20000); /* without a limit about three times as much */
	play(&w, 6);
	assert_true(w.stage.nodes[0]->sent_bytes / 6.0 > 30000 || share_of(&w, FRONT) < 1);
	play(&w, ENOUGH_S);
	before = w.stage.nodes[0]->sent_bytes;
	play(&w, 10);
	assert_true((double)(w.stage.nodes[0]->sent_bytes - before) / 10 <= 20000 * ABOVE);
	assert_true(share_of(&w, FRONT) < 1);
	close_world(&w);
}

/*
 * Runs one node for this time, with this many records a second of types 0 and 1 at share 1, of 10
 * us each.
 */
static void
play_sampler(struct sampler *s, struct status *st, struct mono *now, const double per_second[2],
    bool diagnosed, double seconds)
{
	struct sampler_type types[2] = { { 1, diagnosed }, { 1, false } };
	bool changed;

	for (int i = 0; i < seconds * 2; i++) {
		uint64_t before = st->records;

		now->ns += 500000000;
		for (uint32_t t = 0; t < 2; t++) {
			uint64_t records = (uint64_t)(per_second[t] / 2 * sampler_share(s, t));

			st->records += records;
			for (uint64_t unit = 0; unit < records / 2; unit++)
				assert_int_equal(sampler_records(s, t, 0, 2, NULL), 0);
		}
		st->cpu_us += (int64_t)(10 * (st->records - before));
		assert_int_equal(sampler_status(s, 0, st, 0, 0, *now, NULL), 0);
		assert_int_equal(
		    sampler_step(s, types, 2, diagnosed ? 0.01 : 0, false, *now, &changed, NULL),
		    0);
	}
}

/*
 * A type under diagnosis is sampled whole as long as others can be reduced; if it exceeds the
 * budget even alone, it is reduced, too.
 */
static void
a_type_under_diagnosis_is_reduced_last(void **state)
{
	struct sampler *s = sampler_new(&(struct sampler_options){ .core_max = BUDGET });
	struct status st = { 0 };
	struct mono now = { 1000000000 };
	(void)state;

	play_sampler(s, &st, &now, (double[]){ 1500, 1500 }, false, ENOUGH_S); /* 3 % */
	assert_true(sampler_share(s, 0) < 0.4);
	assert_true(fabs(sampler_share(s, 0) - sampler_share(s, 1)) < 0.02);
	play_sampler(
	    s, &st, &now, (double[]){ 1500, 1500 }, true, 1); /* at once: its cost is known */
	assert_true(sampler_share(s, 0) == 1);
	assert_true(sampler_share(s, 1) < 0.4);
	play_sampler(s, &st, &now, (double[]){ 1500, 1500 }, true, ENOUGH_S);
	assert_true(sampler_share(s, 0) == 1);
	play_sampler(s, &st, &now, (double[]){ 5000, 1500 }, true,
	    ENOUGH_S); /* alone it costs 5 %, of 2 % available */
	assert_true(sampler_share(s, 1) < SAMPLER_LEAST * 1.06);
	assert_true(sampler_share(s, 0) > 0.3 && sampler_share(s, 0) <= 0.4);
	play_sampler(
	    /* each of these needs 1.5 % at share 1 */
	    s, &st, &now, (double[]){ 1500, 1500 }, false, 2 * ENOUGH_S);
	assert_true((sampler_share(s, 0) + sampler_share(s, 1)) * 0.015 <= BUDGET * ABOVE);
	assert_true((sampler_share(s, 0) + sampler_share(s, 1)) * 0.015 >= BUDGET * 0.55);
	sampler_free(s);
}

/* The agent tells what it took to switch, and what hone-below took; both are in its CPU time. */
static void
spend_apart(struct status *st, int64_t switch_us, int64_t below_us)
{
	st->switch_cpu_us += switch_us;
	st->below_cpu_us += below_us;
	st->cpu_us += switch_us + below_us;
}

/*
 * What tracepoints cost once, when they are switched, and what looking below them costs, would not be lower if fewer requests were
 * sampled. As much in records is.
 */
static void
what_does_not_follow_the_records_lowers_no_diagnosis(void **state)
{
	struct sampler *s = sampler_new(&(struct sampler_options){ .core_max = BUDGET });
	struct status st = { 0 };
	struct mono now = { 1000000000 };
	(void)state;

	for (int i = 0; i < 4 * ENOUGH_S; i++) {
		spend_apart(&st, i % 4 == 0 ? 200000 : 0, 8000);
		play_sampler(s, &st, &now, (double[]){ 500, 10 }, true, 1);
		assert_true(sampler_share(s, 0) == 1);
	}
	assert_true(sampler_spend(s, 0)->all.cpu_ns[SPEND_AGENT] > 0.06 * 4e9 * ENOUGH_S);
	play_sampler(s, &st, &now, (double[]){ 6000, 10 }, true, ENOUGH_S);
	assert_true(sampler_share(s, 0) < 0.5);
	sampler_free(s);
}

/* As if they were switched for nothing. What hone-below costs others count. */
static void
what_was_switched_lowers_no_other_type(void **state)
{
	struct sampler *s = sampler_new(&(struct sampler_options){ .core_max = BUDGET });
	struct status st = { 0 };
	struct mono now = { 1000000000 };
	(void)state;

	for (int i = 0; i < 2 * ENOUGH_S; i++) {
		spend_apart(&st, 60000, 0);
		play_sampler(s, &st, &now, (double[]){ 300, 300 }, false, 1);
		assert_true(sampler_share(s, 0) == 1 && sampler_share(s, 1) == 1);
	}
	for (int i = 0; i < 2 * ENOUGH_S; i++) {
		spend_apart(&st, 0, 7000);
		play_sampler(s, &st, &now, (double[]){ 300, 300 }, false, 1);
	}
	assert_true(sampler_share(s, 0) < 0.7 && sampler_share(s, 1) < 0.7);
	sampler_free(s);
}

/* Without any record the node costs 1.9 %, and a record 2 us: while learning there are ten times as many as later. So it is known that
 * fewer records would save next to nothing. */
static void
what_a_record_costs_is_learned_while_learning(void **state)
{
	const struct sampler_type types[1] = { { 1, true } };
	struct sampler *s = sampler_new(&(struct sampler_options){ .core_max = BUDGET });
	struct mono now = { 1000000000 };
	struct status st = { 0 };
	bool changed;
	(void)state;

	for (int i = 0; i < 4 * ENOUGH_S; i++) {
		bool learning = i < ENOUGH_S;
		uint64_t records = (uint64_t)((learning ? 2500 : 250) * sampler_share(s, 0));

		now.ns += 500000000;
		st.records += records;
		st.cpu_us += 9500 + (int64_t)(2 * records);
		assert_int_equal(sampler_status(s, 0, &st, 0, 0, now, NULL), 0);
		for (uint64_t unit = 0; unit < records / 5; unit++)
			assert_int_equal(sampler_records(s, 0, 0, 5, NULL), 0);
		assert_int_equal(sampler_step(s, types, 1, 0.01, learning, now, &changed, NULL), 0);
		assert_true(sampler_share(s, 0) == 1);
	}
	assert_true(
	    fabs(spend_idle_core(sampler_spend(s, 0), &sampler_spend(s, 0)->now) - 0.019) < 0.001);
	sampler_free(s);
}

/* A record costs less where a request has many: the line of learning is corrected by windows of fewer records. 20 us a request and 2 us a record; 50
 * records while learning, 5 later. */
static void
what_learning_says_of_a_record_is_corrected(void **state)
{
	struct spend s = { 0 };
	struct outlay p = { .records = 50000, .core = { [SPEND_AGENT] = 0.005 + 0.12 } };
	double idle = 0;
	(void)state;

	for (int i = 0; i < 15; i++)
		spend_learn(&s, &p);
	for (int i = 0; i < 60; i++) {
		double share = i % 2 == 0 ? 1 : 0.5;

		p.records = 5000 * share;
		p.core[SPEND_AGENT] = 0.005 + 0.03 * share;
		spend_learn(&s, &p);
		idle = spend_idle_core(&s, &p);
	}
	assert_true(fabs(idle - 0.005) < 0.002);
}

/* Waits that would take a core are no fixed cost: they are of the requests under diagnosis. */
static void
what_is_below_lowers_a_diagnosis_beyond_its_budget(void **state)
{
	struct sampler *s = sampler_new(&(struct sampler_options){ .core_max = BUDGET });
	struct status st = { 0 };
	struct mono now = { 1000000000 };
	(void)state;

	play_sampler(s, &st, &now, (double[]){ 500, 10 }, true, ENOUGH_S);
	for (int i = 0; i < 2 * ENOUGH_S; i++) {
		spend_apart(&st, 0, (int64_t)(200000 * sampler_share(s, 0)));
		play_sampler(s, &st, &now, (double[]){ 500, 10 }, true, 1);
	}
	assert_true(sampler_share(s, 0) < 0.25);
	sampler_free(s);
}

/*
 * For any load, the stated number of requests a second of each type is sampled; all of a type under
 * diagnosis; and all of a type with fewer.
 */
static void
types_not_under_diagnosis_are_sampled_at_the_stated_rate(void **state)
{
	static const double of_all[TYPES] = { 0.5, 0.1, 0.4 };
	const struct start_options start = { 0 };
	struct world w;
	uint64_t before[TYPES], run;
	uint32_t changes;
	(void)state;

	open_world(&w, 9, 2000, 0.0005, 0);
	engine_parts(w.stage.g)->options.enough = 50;
	play(&w, ENOUGH_S);
	changes = w.changes;
	memcpy(before, w.sampled_of, sizeof before);
	play(&w, 20);
	for (int i = 0; i < TYPES; i++) {
		double per_second = (double)(w.sampled_of[i] - before[i]) / 20;

		assert_true(per_second > 50 / 2.2 && per_second < 50 * 2.2);
		assert_true(fabs(type_of(&w, i)->offered / (2000 * of_all[i]) - 1) < 0.6);
	}
	assert_true(w.changes - changes <= 1);
	assert_int_equal(engine_start(w.stage.g, "BOTH", &start, (struct mono){ w.stage.now_ns },
			     (struct wall){ 1 }, &run, NULL),
	    0);
	play(&w, 3);
	assert_true(share_of(&w, BOTH) == 1);
	assert_true(share_of(&w, FRONT) < 0.1);
	assert_int_equal(engine_stop(w.stage.g, "BOTH", (struct wall){ 2 }, NULL), 0);
	play(&w, ENOUGH_S);
	assert_true(share_of(&w, BOTH) < 0.12);
	w.stage.rate = 20;
	play(&w, 2 * ENOUGH_S);
	for (int i = 0; i < TYPES; i++)
		assert_true(share_of(&w, i) == 1);
	close_world(&w);
}

/*
 * Even ten requests a second are over the budget. Counts this small double from one second to the
 * next by chance, which is no change of the load.
 */
static void
few_expensive_requests_stay_within_the_budget(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 6; seed++) {
		struct world w;
		double core[2];

		open_world(&w, seed, 150, 0.001, 0);
		engine_parts(w.stage.g)->options.enough = 10;
		w.stage.nodes[0]->record_cpu_ns = w.stage.nodes[1]->record_cpu_ns =
		    300000; /* few records share a sub-buffer */
		play(&w, 2 * ENOUGH_S);
		spend(&w, 30, core);
		assert_true(core[0] <= BUDGET * 1.2 && core[1] <= BUDGET * 1.2);
		assert_true(core[0] >= BUDGET * 0.4);
		close_world(&w);
	}
}

/*
 * The cost without any sampling is over the budget: the least share is sampled, and the reason is
 * reported.
 */
static void
a_fixed_cost_over_the_budget_is_reported(void **state)
{
	struct world w;
	struct sampler_over o;
	(void)state;

	open_world(&w, 13, 500, 0.02, 0);
	play(&w, 3 * ENOUGH_S);
	assert_true(share_of(&w, FRONT) == SAMPLER_LEAST);
	o = sampler_over(engine_parts(w.stage.g)->sampler, 0);
	assert_true(o.over);
	assert_true(o.core > BUDGET && o.idle > BUDGET && o.bytes == 0);
	assert_true(o.most == SPEND_AGENT || o.most == SPEND_TRACER);
	assert_true(w.overrun);
	assert_false(w.early);
	close_world(&w);
}

/*
 * Cost that does not depend on records cannot be reduced by sampling less: a diagnosis gets its own
 * budget in addition.
 */
static void
a_diagnosis_has_its_own_budget(void **state)
{
	const struct start_options start = { 0 };
	struct world w;
	double core[2];
	uint64_t run;
	(void)state;

	open_world(&w, 14, 500, 0.04, 0);
	play(&w, 3 * ENOUGH_S);
	assert_true(share_of(&w, BOTH) == SAMPLER_LEAST);
	assert_int_equal(engine_start(w.stage.g, "BOTH", &start, (struct mono){ w.stage.now_ns },
			     (struct wall){ 1 }, &run, NULL),
	    0);
	play(&w, 8);
	assert_true(
	    share_of(&w, BOTH) > 0.5); /* 200 a second, of 4 records: 0.25 % of a core at share 1 */
	assert_true(share_of(&w, FRONT) <= share_of(&w, BOTH));
	spend(&w, 5, core);
	assert_true(core[0] > 0.04 && core[0] <= 0.04 + 0.01 * ABOVE);
	close_world(&w);
}

/* A duplicate status or a missing one does not change the result. */
static void
cost_is_counted_once(void **state)
{
	struct spend s = { 0 };
	struct status st = { .cpu_us = 5000000, .records = 1000, .sent_bytes = 99 };
	struct mono now = { 1000000000 };
	struct outlay p;
	(void)state;

	spend_status(&s, &st, 100, 0, now);
	assert_true(s.known && s.all.records == 0 &&
		    outlay_core(&s.now) == 0); /* spent before the first status */
	spend_mark(&s);
	assert_false(spend_window(&s, &p));
	for (int i = 0; i < 100; i++) {
		now.ns += 500000000;
		st.cpu_us += 5000; /* 1 % */
		st.tracer_cpu_us += 2500;
		st.records += 500;
		st.sent_bytes += 5000;
		spend_status(&s, &st, 100, 0.0001, now);
	}
	assert_true(spend_window(&s, &p));
	assert_true(
	    fabs(p.core[SPEND_AGENT] - 0.01) < 1e-9 && fabs(p.core[SPEND_TRACER] - 0.005) < 1e-9);
	assert_true(
	    /* 1000 x 100 ns, and the cost of rejected records */
	    fabs(p.core[SPEND_PROGRAMS] - 0.0002) < 1e-9);
	assert_true(fabs(outlay_core(&s.now) - 0.0152) < 1e-6);
	assert_true(s.all.records == 50000 && s.all.bytes == 500000);
	st = (struct status){
		.cpu_us = 1000, .records = 10, .sent_bytes = 20
	}; /* the agent restarted */
	now.ns += 500000000;
	spend_status(&s, &st, 100, 0, now);
	assert_true(s.all.records == 50010 && s.all.bytes == 500020);
}

/*
 * Programs without libhone write all records, and the agent drops those not sampled: this cost does
 * not depend on the share.
 */
static void
the_cost_of_mapped_programs_is_counted_as_fixed(void **state)
{
	struct status st = { 0 };
	struct mono now = { 1000000000 };
	struct spend s = { 0 };
	struct outlay p;
	(void)state;

	spend_status(&s, &st, 100, 0, now);
	for (int i = 0; i < 20; i++) {
		now.ns += 500000000;
		st.mapped += 5000;
		st.dropped += 4000;
		st.records += 1000 + 500; /* 500 are of programs with libhone */
		spend_status(&s, &st, 100, 0, now);
	}
	assert_true(spend_window(&s, &p));
	assert_true(fabs(p.core[SPEND_PROGRAMS] - 11000 * 100e-9) < 1e-9);
	assert_true(fabs(p.fixed - 10000 * 100e-9) < 1e-9);
	assert_true(fabs(p.records - 3000) < 1e-6);
	spend_learn(&s, &p);
	assert_true(fabs(spend_idle_core(&s, &p) - p.fixed) < 1e-9);
}

/* Spans that the operator has turned on are records, and no cost of Hone in the program. */
static void
what_a_program_makes_anyway_costs_it_nothing(void **state)
{
	struct status st = { 0 };
	struct mono now = { 1000000000 };
	struct spend s = { 0 };
	struct outlay p;
	(void)state;

	spend_status(&s, &st, 100, 0, now);
	for (int i = 0; i < 20; i++) {
		now.ns += 500000000;
		st.inherent += 900;
		st.records += 900 + 100;
		spend_status(&s, &st, 100, 0, now);
	}
	assert_true(spend_window(&s, &p));
	assert_true(fabs(p.core[SPEND_PROGRAMS] - 200 * 100e-9) < 1e-12);
	assert_true(fabs(p.records - 2000) < 1e-6);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cost_is_counted_once),
		cmocka_unit_test(the_cost_falls_below_the_budget_and_stays_there),
		cmocka_unit_test(only_types_on_the_full_node_are_sampled_less),
		cmocka_unit_test(estimates_have_no_bias),
		cmocka_unit_test(shares_rise_when_the_load_falls),
		cmocka_unit_test(types_not_under_diagnosis_are_sampled_at_the_stated_rate),
		cmocka_unit_test(few_expensive_requests_stay_within_the_budget),
		cmocka_unit_test(shares_within_the_budget_do_not_change),
		cmocka_unit_test(the_network_limit_applies_too),
		cmocka_unit_test(a_type_under_diagnosis_is_reduced_last),
		cmocka_unit_test(what_does_not_follow_the_records_lowers_no_diagnosis),
		cmocka_unit_test(what_was_switched_lowers_no_other_type),
		cmocka_unit_test(what_a_record_costs_is_learned_while_learning),
		cmocka_unit_test(what_learning_says_of_a_record_is_corrected),
		cmocka_unit_test(what_is_below_lowers_a_diagnosis_beyond_its_budget),
		cmocka_unit_test(a_fixed_cost_over_the_budget_is_reported),
		cmocka_unit_test(a_diagnosis_has_its_own_budget),
		cmocka_unit_test(the_cost_of_mapped_programs_is_counted_as_fixed),
		cmocka_unit_test(what_a_program_makes_anyway_costs_it_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
