/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/rng.h"
#include "forest/forest.h"
#include "forest/forest_inside.h"

static void
ids_count_from_one_and_pointers_stay(void **state)
{
	struct forest *f = forest_new();
	struct run *first = forest_run_new(f, "GET_HOME");
	struct hypothesis *root = forest_hypothesis_new(f, first->id, 0);
	(void)state;

	assert_int_equal(first->id, 1);
	assert_int_equal(root->id, 1);
	assert_string_equal(first->type, "GET_HOME");
	assert_string_equal(first->text, "");
	assert_int_equal(root->presence, ' ');
	assert_string_equal(root->group_shape, "");
	for (uint64_t i = 2; i <= 5000; i++) {
		assert_int_equal(forest_run_new(f, "POST")->id, i);
		assert_int_equal(forest_hypothesis_new(f, i, i % 2 ? root->id : 0)->id, i);
	}
	assert_ptr_equal(forest_run(f, 1), first);
	assert_ptr_equal(forest_get(f, 1), root);
	assert_int_equal(forest_get(f, 5000)->run, 5000);
	assert_null(forest_get(f, 0));
	assert_null(forest_get(f, 5001));
	assert_null(forest_run(f, 0));
	assert_null(forest_run(f, UINT64_MAX));
	forest_free(f);
}

static void
the_latest_run_of_a_type_is_the_newest(void **state)
{
	struct forest *f = forest_new();
	(void)state;

	assert_null(forest_run_latest(f, NULL));
	forest_run_new(f, "A");
	forest_run_new(f, "B");
	forest_run_new(f, "A");
	forest_run_new(f, "C");
	assert_int_equal(forest_run_latest(f, "A")->id, 3);
	assert_int_equal(forest_run_latest(f, "B")->id, 2);
	assert_int_equal(forest_run_latest(f, NULL)->id, 4);
	assert_null(forest_run_latest(f, "D"));
	forest_free(f);
}

/* Two diagnoses at the same time make hypotheses in turns; each diagnosis is visited alone, in
 * order. */
static void
visiting_sees_each_of_a_run_once_in_order(void **state)
{
	struct forest *f = forest_new();
	uint64_t made[3] = { 0 }, seen, at, last;
	struct hypothesis *h;
	struct run *r;
	struct rng rng;
	(void)state;

	rng_seed(&rng, 4);
	for (int i = 0; i < 3; i++)
		forest_run_new(f, "A");
	for (int i = 0; i < 1000; i++) {
		uint64_t run = 1 + rng_below(&rng, 3);

		forest_hypothesis_new(f, run, 0);
		made[run - 1]++;
	}
	for (uint64_t run = 1; run <= 3; run++) {
		for (at = 0, seen = 0, last = 0; (h = forest_next(f, run, &at)) != NULL; seen++) {
			assert_int_equal(h->run, run);
			assert_true(h->id > last);
			last = h->id;
		}
		assert_int_equal(seen, made[run - 1]);
	}
	for (at = 0, seen = 0; (r = forest_run_next(f, &at)) != NULL; seen++)
		assert_int_equal(r->id, seen + 1);
	assert_int_equal(seen, 3);
	forest_free(f);
}

static void
what_changed_is_listed_once_until_it_is_written(void **state)
{
	struct forest *f = forest_new();
	struct run *r = forest_run_new(f, "A");
	struct hypothesis *h = forest_hypothesis_new(f, 1, 0), *g = forest_hypothesis_new(f, 1, 1);
	const struct forest_changes *c = forest_changes(f);
	(void)state;

	forest_touch_run(f, r);
	forest_touch(f, h);
	forest_touch(f, h);
	assert_int_equal(c->nruns, 1);
	assert_int_equal(c->nhypotheses, 2);
	assert_ptr_equal(c->hypotheses[0], h);
	assert_ptr_equal(c->hypotheses[1], g);
	forest_written(f);
	assert_int_equal(forest_changes(f)->nruns + forest_changes(f)->nhypotheses, 0);
	forest_touch(f, g);
	forest_touch(f, g);
	assert_int_equal(forest_changes(f)->nhypotheses, 1);
	assert_ptr_equal(forest_changes(f)->hypotheses[0], g);
	assert_int_equal(forest_changes(f)->nruns, 0);
	forest_free(f);
}

static void
the_log_keeps_its_own_texts(void **state)
{
	struct forest *f = forest_new();
	char name[16] = "p:first", why[16] = "reason";
	struct switched s = { .run = 1, .on = true, .tracepoint = name, .text = why };
	struct err e;
	(void)state;

	for (int i = 0; i < 100; i++) {
		name[2] = (char)('a' + i % 26);
		assert_int_equal(forest_switched(f, &s, &e), 0);
	}
	strcpy(name, "gone");
	strcpy(why, "gone");
	assert_int_equal(forest_changes(f)->nswitched, 100);
	for (int i = 0; i < 100; i++) {
		assert_int_equal(forest_changes(f)->switched[i].tracepoint[2], 'a' + i % 26);
		assert_string_equal(forest_changes(f)->switched[i].text, "reason");
	}
	forest_free(f);
}

static struct hypothesis
bare(uint64_t id, uint64_t run, uint64_t parent)
{
	struct hypothesis h = { .id = id, .run = run, .parent = parent, .presence = '+' };

	hypothesis_text(&h.tracepoint, "");
	return h;
}

static void
refused(struct forest *f, struct hypothesis h)
{
	struct err e;

	assert_int_equal(forest_put(f, &h, &e), ERR_INPUT);
	hypothesis_release(&h);
}

static void
putting_back_keeps_ids_and_refuses_what_cannot_be(void **state)
{
	struct forest *f = forest_new();
	struct run r = { .id = 5 }, odd = { .id = 8, .state = RUN_STATES };
	struct hypothesis h = bare(10, 5, 0), k = bare(12, 5, 10), bad;
	struct err e;
	(void)state;

	r.type = strdup("A");
	assert_int_equal(forest_put_run(f, &r, &e), 0);
	assert_int_equal(forest_put_run(f, &r, &e), ERR_INPUT); /* again */
	assert_int_equal(forest_put_run(f, &odd, &e), ERR_INPUT);
	assert_int_equal(forest_put(f, &h, &e), 0);
	assert_int_equal(forest_put(f, &k, &e), 0);
	refused(f, bare(12, 5, 10)); /* again */
	refused(f, bare(11, 5, 10)); /* out of order */
	refused(f, bare(13, 6, 0));  /* no such run */
	refused(f, bare(13, 5, 11)); /* no such parent */
	refused(f, bare(13, 5, 13)); /* its own parent */
	refused(f, bare(UINT64_MAX, 5, 0));
	bad = bare(13, 5, 10);
	bad.state = (enum hypothesis_state)99;
	refused(f, bad);
	assert_int_equal(
	    forest_changes(f)->nhypotheses + forest_changes(f)->nruns, 0); /* no change to write */
	assert_int_equal(forest_hypothesis_new(f, 5, 12)->id, 13);
	assert_int_equal(forest_run_new(f, "A")->id, 6);
	forest_continue(f, 20, 3);
	assert_int_equal(forest_run_new(f, "A")->id, 21);
	assert_int_equal(forest_hypothesis_new(f, 21, 0)->id, 14);
	forest_free(f);
}

/* ---- verdicts ---- */

static const struct verdict *
judged(struct forest *f, uint64_t run, double cost_ns)
{
	struct verdict v = {
		.run = run, .hypothesis = forest_hypothesis_new(f, run, 0)->id, .cost_ns = cost_ns
	};

	return forest_verdict_new(f, &v);
}

/* In all orders of four verdicts, two of the same cost and one without a cost. */
static void
verdicts_are_ranked_by_cost_however_they_come(void **state)
{
	const double costs[] = { 5, 20, 5, NAN };
	(void)state;

	for (int order = 0; order < 24; order++) {
		struct forest *f = forest_new();
		const struct verdict *came[4], *v;
		int left[4] = { 0, 1, 2, 3 }, n = order;

		forest_run_new(f, "A");
		forest_run_new(f, "B");
		judged(f, 2, 100); /* of another run: does not count */
		for (int i = 0; i < 4; i++) {
			int pick = n % (4 - i);

			n /= 4 - i;
			came[i] = judged(f, 1, costs[left[pick]]);
			left[pick] = left[3 - i];
			assert_int_equal(
			    forest_run(f, 1)->verdict, forest_verdict(f, 1, 1)->hypothesis);
		}
		for (uint32_t rank = 1; (v = forest_verdict(f, 1, rank)) != NULL; rank++) {
			const struct verdict *next = forest_verdict(f, 1, rank + 1);

			assert_int_equal(v->rank, rank);
			assert_true(rank <= 4 && (rank == 4) == (next == NULL));
			assert_true(
			    next == NULL || isnan(next->cost_ns) || v->cost_ns > next->cost_ns ||
			    (v->cost_ns == next->cost_ns && v->hypothesis < next->hypothesis));
		}
		for (int i = 0; i < 4; i++)
			assert_ptr_equal(forest_verdict(f, 1, came[i]->rank), came[i]);
		assert_int_equal(forest_changes(f)->nverdicts, 5);
		forest_written(f);
		assert_int_equal(judged(f, 1, 10)->rank, 2); /* moves three */
		assert_int_equal(forest_changes(f)->nverdicts, 4);
		assert_null(forest_verdict(f, 1, 0));
		assert_null(forest_verdict(f, 1, 6));
		assert_null(forest_verdict(f, 3, 1));
		forest_free(f);
	}
}

/* The verdict with the highest cost is not first if its confidence interval includes a share of 0.
 */
static void
verdicts_that_are_sure_come_before_those_that_are_not(void **state)
{
	struct forest *f = forest_new();
	struct verdict v = { .share = 0.85, .share_low = -0.07, .share_high = 1.12, .cost_ns = 50 };
	(void)state;

	v.run = forest_run_new(f, "A")->id;
	assert_false(verdict_sure(&v));
	assert_false(verdict_sure(&(struct verdict){ .share_low = NAN }));
	v.hypothesis = forest_hypothesis_new(f, v.run, 0)->id;
	forest_verdict_new(f, &v);
	v.hypothesis = forest_hypothesis_new(f, v.run, 0)->id;
	v.share_low = 0.01;
	v.cost_ns = 5;
	assert_true(verdict_sure(&v));
	assert_int_equal(forest_verdict_new(f, &v)->rank, 1);
	assert_int_equal(forest_run(f, v.run)->verdict, v.hypothesis);
	forest_free(f);
}

/* A place that has half of the variance comes before one that has a third, however long the requests of its group waited. */
static void
verdicts_that_are_worth_mending_are_ranked_by_effect(void **state)
{
	struct forest *f = forest_new();
	struct verdict v = { .problem = PROBLEM_UNPREDICTABLE,
		.share_low = 0.2,
		.new_part = NAN,
		.effect = 0.3,
		.cost_ns = 50 };
	(void)state;

	v.run = forest_run_new(f, "A")->id;
	v.hypothesis = forest_hypothesis_new(f, v.run, 0)->id;
	assert_int_equal(forest_verdict_new(f, &v)->rank, 1);
	v.hypothesis = forest_hypothesis_new(f, v.run, 0)->id;
	v.effect = 0.5;
	v.cost_ns = 5;
	assert_int_equal(forest_verdict_new(f, &v)->rank, 1);
	v.hypothesis = forest_hypothesis_new(f, v.run, 0)->id;
	v.effect = 0.9;
	v.new_part = 0.5; /* of which half was there before */
	v.new_low = 0.4;
	assert_int_equal(forest_verdict_new(f, &v)->rank, 2);
	v.hypothesis = forest_hypothesis_new(f, v.run, 0)->id;
	v.problem = PROBLEM_SLOW; /* an effect of something else: by cost */
	v.new_part = NAN;
	v.cost_ns = 60;
	assert_int_equal(forest_verdict_new(f, &v)->rank, 1);
	forest_free(f);
}

/* What a run that ends as unsure is unsure of is its first verdict, not a certain 3 %. */
static void
a_large_effect_that_is_not_sure_comes_before_a_small_one_that_is(void **state)
{
	struct forest *f = forest_new();
	struct run *run = forest_run_new(f, "A");
	struct verdict v = { .problem = PROBLEM_UNPREDICTABLE,
		.run = run->id,
		.share_low = 0.01,
		.new_part = NAN,
		.effect = 0.03,
		.cost_ns = 50 };
	(void)state;

	run->effect_min = 0.25;
	v.hypothesis = forest_hypothesis_new(f, v.run, 0)->id;
	assert_int_equal(forest_verdict_new(f, &v)->rank, 1);
	v.hypothesis = forest_hypothesis_new(f, v.run, 0)->id;
	v.share_low = -0.1;
	v.effect = 0.7;
	v.cost_ns = 5;
	assert_int_equal(forest_verdict_new(f, &v)->rank, 1);
	v.hypothesis = forest_hypothesis_new(f, v.run, 0)->id;
	v.share_low = 0.1;
	v.effect = 0.3; /* sure, and worth mending */
	assert_int_equal(forest_verdict_new(f, &v)->rank, 1);
	v.hypothesis = forest_hypothesis_new(f, v.run, 0)->id;
	v.share_low = -0.1;
	v.effect = 0.1; /* neither */
	assert_int_equal(forest_verdict_new(f, &v)->rank, 4);
	forest_free(f);
}

static void
a_verdict_of_the_whole_request_that_names_nothing_is_not_sure(void **state)
{
	char begin[] = "s/hone:request_begin(A)", end[] = "s/hone:request_end(A)",
	     step[] = "s/p:step", key[] = "s/p:step.size";
	struct verdict v = { .kind = VERDICT_SPREAD, .share_low = 0.9, .from = begin, .to = end };
	(void)state;

	assert_true(verdict_is_whole(&v));
	assert_false(verdict_sure(&v));
	v.key = key;
	assert_true(verdict_sure(&v));
	v.key = NULL;
	v.to = step;
	assert_true(verdict_sure(&v));
	v.to = end;
	v.kind = VERDICT_PLACE;
	assert_true(verdict_sure(&v));
}

static void
what_is_spread_is_not_worth_mending_unless_its_cause_is_named(void **state)
{
	struct verdict v = { .kind = VERDICT_SPREAD,
		.problem = PROBLEM_UNPREDICTABLE,
		.share_low = 0.5,
		.effect = 0.7,
		.traces = 300,
		.new_part = NAN };
	(void)state;

	assert_false(verdict_worth(&v, 0.25));
	v.kind = VERDICT_HIDDEN; /* where in the edge it is, is not known either */
	assert_false(verdict_worth(&v, 0.25));
	v.kind = VERDICT_SPREAD;
	assert_false(verdict_open(&v, 0.25));
	v.effect = 0.99;
	assert_false(verdict_worth(&v, 0.25));
	/* a cause of nearly all is named */
	v.key = "cart/cart:a_1.items";
	v.effect = 0.76;
	assert_true(verdict_worth(&v, 0.25));
	assert_true(verdict_worth(&v, 0.4)); /* three times that is more than there is */
	v.effect = 0.74;
	assert_false(verdict_worth(&v, 0.4));
	v.key = "";
	v.pool = POOL_SATURATED;
	assert_false(verdict_worth(&v, 0.25));
	v.effect = 0.76;
	assert_true(verdict_worth(&v, 0.25));
	v.pool = POOL_USUAL;
	assert_false(verdict_worth(&v, 0.25));
	v.pool = POOL_NONE;
	v.effect = 0.7;
	v.problem = PROBLEM_SLOW; /* a share of the latency */
	assert_true(verdict_worth(&v, 0.25));
	v.problem = PROBLEM_UNPREDICTABLE;
	v.kind = VERDICT_PLACE;
	assert_true(verdict_worth(&v, 0.25));
}

/* ---- evidence, and the log ---- */

static int
witness(struct forest *f, uint64_t hypothesis, uint64_t high, uint64_t low)
{
	struct evidence v = { { high, low }, forest_get(f, hypothesis)->run, hypothesis, 1000, 10 };

	return forest_evidence_add(f, &v, NULL);
}

/* Compared with a plain list: which evidence is of a trace, with the newest runs first. */
static void
a_traces_evidence_is_found_newest_runs_first(void **state)
{
	enum { N = 3000, TRACES = 400 };
	struct forest *f = forest_new();
	uint32_t count[TRACES] = { 0 };
	const struct evidence *v;
	struct rng r;
	(void)state;

	rng_seed(&r, 6);
	assert_null(forest_evidence(f, (struct trace_id){ 0, 1 }, &(uint64_t){ 0 }));
	for (uint64_t i = 1; i <= 60; i++)
		forest_hypothesis_new(f, forest_run_new(f, "A")->id, 0);
	for (int i = 0; i < N; i++) {
		uint64_t low = rng_below(&r, TRACES), before = forest_changes(f)->nevidence;

		assert_int_equal(witness(f, 1 + rng_below(&r, 60), 7, low), 0);
		count[low] += forest_changes(f)->nevidence >
		              before; /* not twice for one hypothesis */
	}
	for (uint64_t low = 0; low < TRACES; low++) {
		uint64_t at = 0, run = UINT64_MAX;

		while (
		    (v = forest_evidence(f, (struct trace_id){ low % 2 * 7, low }, &at)) != NULL) {
			assert_int_equal(v->trace.low, low);
			assert_true(v->run < run);
			run = v->run;
			count[low]--;
		}
		assert_int_equal(count[low], 0);
		assert_null(forest_evidence(f, (struct trace_id){ 8, low }, &at));
	}
	forest_free(f);
}

static void
the_evidence_of_a_hypothesis_is_bounded(void **state)
{
	struct forest *f = forest_new();
	(void)state;

	forest_run_new(f, "A");
	for (uint64_t h = 1; h <= 2; h++) {
		forest_hypothesis_new(f, 1, 0);
		for (uint64_t i = 0; i < 2 * EVIDENCE_MAX; i++)
			assert_int_equal(witness(f, h, i % 2, i / 2),
			    0); /* only the high halves distinguish these ids */
		assert_int_equal(forest_changes(f)->nevidence, h * EVIDENCE_MAX);
		assert_int_equal(forest_changes(f)->evidence[h * EVIDENCE_MAX - 1].trace.low,
		    EVIDENCE_MAX / 2 - 1);
	}
	forest_free(f);
}

static void
the_log_is_asked_by_tracepoint_and_outlives_being_written(void **state)
{
	struct forest *f = forest_new();
	struct switched s = { .tracepoint = "p:a", .text = "x" };
	const struct switched *w;
	uint64_t at = 0;
	(void)state;

	for (uint32_t i = 0; i < 40; i++) {
		s.tracepoint = i % 4 == 0 ? "p:a" : "p:b";
		s.cycle = i;
		assert_int_equal(forest_switched(f, &s, NULL), 0);
		if (i == 25)
			forest_written(f);
	}
	assert_int_equal(forest_changes(f)->nswitched, 14);
	assert_int_equal(forest_changes(f)->switched[0].cycle, 26);
	for (uint32_t i = 0; i < 40; i += 4) {
		assert_non_null(w = forest_switched_next(f, "p:a", &at));
		assert_int_equal(w->cycle, i);
	}
	assert_null(forest_switched_next(f, "p:a", &at));
	at = 0;
	assert_null(forest_switched_next(f, "p:c", &at));
	for (uint32_t i = 0; i < 40; i++)
		assert_int_equal(forest_switched_next(f, NULL, &at)->cycle, i);
	assert_null(forest_switched_next(f, NULL, &at));
	forest_free(f);
}

static void
the_audit_is_told_newest_first_and_stays_within_bounds(void **state)
{
	struct forest *f = forest_new();
	struct audit a = {
		.user = "root", .asked = "x", .text = "", .outcome = AUDIT_DONE, .times = 1
	};
	const struct audit *row;
	uint64_t at = 0, n = 0;

	(void)state;
	for (int64_t i = 1; i <= 5 * AUDIT_KEPT; i++) {
		a.when.ns = i;
		assert_int_equal(forest_audit_add(f, &a, NULL), 0);
		assert_true(forest_changes(f)->naudit <= 100 &&
			    forest_changes(f)->audit[forest_changes(f)->naudit - 1].when.ns == i);
		if (i % 100 == 0)
			forest_written(f);
	}
	for (int64_t when = 5 * AUDIT_KEPT; (row = forest_audit_next(f, &at)) != NULL; when--, n++)
		assert_int_equal(row->when.ns, when);
	assert_in_range(n, AUDIT_KEPT, 2 * AUDIT_KEPT);
	/* rows that are not written yet are never dropped */
	for (int i = 0; i < 3 * AUDIT_KEPT; i++)
		assert_int_equal(forest_audit_add(f, &a, NULL), 0);
	assert_int_equal(forest_changes(f)->naudit, 3 * AUDIT_KEPT);
	a.outcome = AUDIT_OUTCOMES;
	forest_written(f);
	assert_int_equal(forest_put_audit(f, &a, NULL), ERR_INPUT);
	a.outcome = AUDIT_DONE;
	a.actor = (enum audit_actor)99;
	assert_int_equal(forest_put_audit(f, &a, NULL), ERR_INPUT);
	a.actor = ACTOR_LEASE;
	a.action = (enum audit_action)99;
	assert_int_equal(forest_put_audit(f, &a, NULL), ERR_INPUT);
	a.action = ACTION_STOP;
	a.queue = QUEUES;
	assert_int_equal(forest_put_audit(f, &a, NULL), ERR_INPUT);
	a.queue = QUEUE_RING;
	a.cause = (enum reason)4711;
	assert_int_equal(forest_put_audit(f, &a, NULL), ERR_INPUT);
	assert_string_equal(audit_actor_word(ACTOR_BUDGET), "budget");
	assert_string_equal(audit_action_word((enum audit_action)99), "?");
	assert_string_equal(audit_word(AUDIT_REFUSED), "refused");
	assert_string_equal(audit_word(AUDIT_OUTCOMES), "?");
	forest_free(f);
}

static void
a_forgotten_run_is_removed_everywhere_and_others_stay(void **state)
{
	struct forest *f = forest_new();
	const uint64_t gone[] = { 1, 3, 77 };
	struct switched s = { .tracepoint = "p:a", .text = "x" };
	uint64_t at = 0, n = 0;
	(void)state;

	for (uint64_t run = 1; run <= 4; run++) {
		forest_run_new(f, "A");
		judged(f, run, (double)run);
		witness(f, run, 0, 50);
		s.run = s.hypothesis = run;
		s.when.ns = (int64_t)run;
		forest_switched(f, &s, NULL);
		s.run = s.hypothesis = 0;
		forest_switched(f, &s, NULL);
		if (run == 2)
			forest_written(f);
	}
	forest_forget(f, gone, 3, (struct wall){ 3 });
	assert_null(forest_run(f, 1));
	assert_null(forest_get(f, 3));
	assert_null(forest_verdict(f, 3, 1));
	assert_int_equal(forest_verdict(f, 4, 1)->hypothesis, 4);
	assert_int_equal(forest_run_next(f, &at)->id, 2);
	assert_int_equal(forest_run_next(f, &at)->id, 4);
	at = 0;
	assert_int_equal(forest_evidence(f, (struct trace_id){ 0, 50 }, &at)->run, 4);
	assert_int_equal(forest_evidence(f, (struct trace_id){ 0, 50 }, &at)->run, 2);
	assert_null(forest_evidence(f, (struct trace_id){ 0, 50 }, &at));
	for (at = 0; forest_switched_next(f, NULL, &at) != NULL; n++)
		;
	assert_int_equal(n, 2 + 2); /* those of runs 2 and 4; those of no run, at 3 and 4 */
	assert_int_equal(forest_changes(f)->nruns, 1);
	assert_int_equal(forest_changes(f)->nhypotheses, 1);
	assert_int_equal(forest_changes(f)->nverdicts, 1);
	assert_int_equal(forest_changes(f)->nevidence, 1);
	assert_int_equal(forest_changes(f)->nswitched, 3);
	assert_int_equal(forest_changes(f)->evidence[0].run, 4);
	assert_int_equal(forest_changes(f)->switched[0].when.ns, 3);
	assert_int_equal(forest_run_new(f, "A")->id, 5);
	forest_free(f);
}

static void
a_type_is_compared_with_the_newest_run_that_has_a_baseline(void **state)
{
	struct forest *f = forest_new();
	(void)state;

	assert_null(forest_run_baseline(f, "A"));
	for (int i = 0; i < 5; i++) {
		struct run *r = forest_run_new(f, i == 4 ? "B" : "A");

		assert_true(hypothesis_text(&r->baseline, i == 0 || i == 3 ? "" : "1\t2\t3\t4\n"));
		if (i == 0)
			assert_null(forest_run_baseline(f, "A"));
	}
	assert_int_equal(forest_run_baseline(f, "A")->id, 3);
	assert_int_equal(forest_run_baseline(f, "B")->id, 5);
	forest_free(f);
}

static void
states_of_runs_have_names(void **state)
{
	(void)state;
	assert_string_equal(run_word(RUN_ACTIVE), "active");
	assert_string_equal(run_word(RUN_NOT_FOUND), "not found");
	assert_string_equal(run_word(RUN_STATES), "?");
}

/* Each operator and each question is another text; the number of rows is bounded, so these texts
 * must be, too. */
static void
texts_are_dropped_with_their_rows(void **state)
{
	struct forest *f = forest_new();
	struct audit a = { .user = "root", .outcome = AUDIT_DONE, .times = 1 };
	struct switched s = { .on = true, .tracepoint = "p:a", .text = "learning" };
	const struct audit *row;
	char asked[40], words[40];
	uint64_t at = 0, n = 0;
	(void)state;

	assert_int_equal(forest_switched(f, &s, NULL), 0);
	for (int i = 1; i <= 8 * AUDIT_KEPT; i++) {
		snprintf(asked, sizeof asked, "start %d", i);
		snprintf(words, sizeof words, "run %d", i);
		a.asked = asked;
		a.text = words;
		a.when.ns = i;
		assert_int_equal(forest_audit_add(f, &a, NULL), 0);
		if (i % 10 == 0)
			forest_written(f);
		assert_true(texts_count(f->texts) <= 2 * (2 * 2 * AUDIT_KEPT + 3) + 20);
	}
	while ((row = forest_audit_next(f, &at)) != NULL) {
		snprintf(asked, sizeof asked, "start %d", (int)row->when.ns);
		snprintf(words, sizeof words, "run %d", (int)row->when.ns);
		assert_string_equal(row->user, "root");
		assert_string_equal(row->asked, asked);
		assert_string_equal(row->text, words);
		n++;
	}
	assert_true(n >= AUDIT_KEPT);
	at = 0;
	assert_string_equal(forest_switched_next(f, "p:a", &at)->text, "learning");
	forest_free(f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ids_count_from_one_and_pointers_stay),
		cmocka_unit_test(the_latest_run_of_a_type_is_the_newest),
		cmocka_unit_test(visiting_sees_each_of_a_run_once_in_order),
		cmocka_unit_test(what_changed_is_listed_once_until_it_is_written),
		cmocka_unit_test(the_log_keeps_its_own_texts),
		cmocka_unit_test(putting_back_keeps_ids_and_refuses_what_cannot_be),
		cmocka_unit_test(verdicts_are_ranked_by_cost_however_they_come),
		cmocka_unit_test(verdicts_that_are_sure_come_before_those_that_are_not),
		cmocka_unit_test(verdicts_that_are_worth_mending_are_ranked_by_effect),
		cmocka_unit_test(a_large_effect_that_is_not_sure_comes_before_a_small_one_that_is),
		cmocka_unit_test(a_verdict_of_the_whole_request_that_names_nothing_is_not_sure),
		cmocka_unit_test(what_is_spread_is_not_worth_mending_unless_its_cause_is_named),
		cmocka_unit_test(a_traces_evidence_is_found_newest_runs_first),
		cmocka_unit_test(the_evidence_of_a_hypothesis_is_bounded),
		cmocka_unit_test(the_log_is_asked_by_tracepoint_and_outlives_being_written),
		cmocka_unit_test(the_audit_is_told_newest_first_and_stays_within_bounds),
		cmocka_unit_test(texts_are_dropped_with_their_rows),
		cmocka_unit_test(a_forgotten_run_is_removed_everywhere_and_others_stay),
		cmocka_unit_test(a_type_is_compared_with_the_newest_run_that_has_a_baseline),
		cmocka_unit_test(states_of_runs_have_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
