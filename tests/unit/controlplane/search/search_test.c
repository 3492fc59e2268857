/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "fake_port.h"

static const char PROGRAM[] = "(abcdefgh)";
enum { SLOW = 4 }; /* between 'd' and 'e' */

static struct search *
first(const struct fake *f)
{
	return f->d->nsearches > 0 ? f->d->searches[0] : NULL;
}

static bool
gathers(const struct fake *f)
{
	return first(f) != NULL && first(f)->phase == SEARCH_GATHERING;
}

/* One tracepoint of an earlier cycle and one of this one are enabled. */
static bool
has_old_and_fresh(const struct fake *f)
{
	const struct search *s = first(f);
	bool fresh = false, old = false;

	for (uint32_t i = 0; s != NULL && i < s->enabled.n; i++) {
		fresh |= s->enabled.picks[i].fresh;
		old |= !s->enabled.picks[i].fresh;
	}
	return fresh && old && s->phase == SEARCH_GATHERING;
}

static struct search *
play_until(struct fake *f, bool (*until)(const struct fake *f))
{
	fake_begin(f, PROGRAM);
	fake_learn(f, PROGRAM);
	assert_true(fake_play(f, PROGRAM, SLOW, 3000, until));
	assert_int_not_equal(f->d->phase, PHASE_ENDED);
	return first(f);
}

static void
a_mistake_of_the_instrumentation_makes_its_verdict_unsure(void **state)
{
	struct mistake m = {
		.kind = MISTAKE_JOIN_MISSING, .to = LABEL_NONE, .count = 30, .of = 40
	};
	const struct verdict *v;
	struct fake f;
	(void)state;

	fake_begin(&f, PROGRAM);
	fake_learn(&f, PROGRAM);
	m.at = f.d->type;
	f.mistake = &m;
	for (int i = 0; i < 6000 && f.d->phase != PHASE_ENDED; i++)
		fake_play(&f, PROGRAM, SLOW, 1, NULL);
	assert_int_equal(f.d->run->state, RUN_UNSURE);
	assert_non_null(v = forest_verdict(f.port.forest, f.d->run->id, 1));
	assert_true(v->share_low > 0);
	assert_false(verdict_sure(v));
	assert_string_equal(v->mistake, "join-missing");
	assert_string_equal(v->mistake_at, labels_get(f.port.labels, f.d->type)->text);
	assert_string_equal(v->mistake_to, "");
	assert_int_equal(v->mistake_count, 30);
	assert_int_equal(v->mistake_of, 40);
	fake_end(&f);
}

static void
a_search_comes_to_the_slow_edge_and_says_so(void **state)
{
	const struct verdict *v;
	struct fake f;
	(void)state;

	fake_begin(&f, PROGRAM);
	fake_learn(&f, PROGRAM);
	for (int i = 0; i < 6000 && f.d->phase != PHASE_ENDED; i++) {
		const struct search *s;

		fake_play(&f, PROGRAM, SLOW, 1, NULL);
		s = first(&f);
		/* while the final edge is measured, only its own tracepoints are enabled */
		for (uint32_t k = 0; s != NULL && s->task == TASK_FINAL_EDGE && k < s->enabled.n;
		     k++)
			assert_true(is_needed(s, s->enabled.picks[k].label));
		if (s != NULL && s->task == TASK_FINAL_EDGE && s->phase != SEARCH_ENDED)
			assert_true(fake_wants(&f, 'd') && fake_wants(&f, 'e'));
	}
	assert_int_equal(f.d->run->state, RUN_FOUND);
	assert_non_null(v = forest_verdict(f.port.forest, f.d->run->id, 1));
	assert_ptr_equal(v, first(&f)->outcome.verdict);
	assert_int_equal(v->kind, VERDICT_PLACE);
	assert_true(v->traces >= NEXT_PLENTY);
	assert_string_equal(v->from, "s/app:d");
	assert_string_equal(v->to, "s/app:e");
	assert_int_equal(plan_count(f.port.plan), 0);
	fake_end(&f);
}

/* The service can enable all letters of the program, and a tracepoint that is never passed. */
static const struct programs *
all_programs(void)
{
	static const char *names[] = { "app:a", "app:b", "app:c", "app:d", "app:e", "app:f",
		"app:g", "app:h", "app:never" };
	static struct program program = { "s", 1, 0, 9 };
	static const struct programs programs = { 1, 9, &program, names };

	return &programs;
}

/* Requests whose traces teach the space while it is explored, until the diagnosis has ended.
 * Returns the largest number of tracepoints that were enabled at the same time. */
static uint32_t
play_and_teach(struct fake *f, const char *letters, int requests)
{
	int64_t time_ns[PATH_MAX_STEPS];
	struct fake_trace t;
	uint32_t most = 0;

	for (int i = 0; i < requests && f->d->phase != PHASE_ENDED; i++) {
		fake_times(f, letters, SLOW, time_ns);
		fake_trace(f, &t, letters, time_ns, false);
		f->port.now.ns += 20 * MS_NS;
		if (diagnosis_explores(f->d))
			assert_int_equal(space_learn(f->port.space, &t.t, NULL), 0);
		fake_tell(f, &t.t);
		fake_step(f);
		most = plan_count(f->port.plan) > most ? plan_count(f->port.plan) : most;
	}
	return most;
}

static void
a_service_of_which_nothing_was_learned_is_explored_and_then_cut(void **state)
{
	const struct hypothesis *h;
	const struct verdict *v;
	struct fake f;
	uint64_t at = 0;
	bool explored = false;
	(void)state;

	fake_begin(&f, PROGRAM);
	f.programs = all_programs();
	assert_int_equal(play_and_teach(&f, PROGRAM, 9000), 9); /* all tracepoints, each once */
	assert_int_equal(f.d->run->state, RUN_FOUND);
	assert_non_null(v = forest_verdict(f.port.forest, f.d->run->id, 1));
	assert_int_equal(v->kind, VERDICT_PLACE);
	assert_string_equal(v->from, "s/app:d");
	assert_string_equal(v->to, "s/app:e");
	assert_int_equal(v->unlearned, 0);
	assert_true(f.d->run->cycles >= 3); /* the cycle that explored, and two that cut */
	while ((h = forest_next(f.port.forest, f.d->run->id, &at)) != NULL) {
		assert_true(hypothesis_settled(h->state));
		explored |= h->reason == REASON_EXPLORED;
	}
	assert_true(explored);
	assert_int_equal(plan_count(f.port.plan), 0);
	assert_int_equal(fake_logged(&f, 0), 0);
	fake_end(&f);
}

/* Healthy requests pass x in a loop, and neither d nor e, between which the slow ones wait. */
static void
what_was_never_passed_is_explored_before_loops_are_tried(void **state)
{
	static const char *names[] = { "app:a", "app:d", "app:e", "app:h", "app:x" };
	static struct program program = { "s", 1, 0, 5 };
	static const struct programs programs = { 1, 5, &program, names };
	static const char WAITS[] = "(axxdexxh)";
	(void)state;

	for (int can = 0; can < 2; can++) {
		const struct verdict *v;
		struct fake f;

		fake_begin(&f, "(adehx)");
		fake_learn(&f, "(axxxxh)");
		f.programs = can ? &programs : NULL;
		play_and_teach(&f, WAITS, 9000);
		assert_int_equal(f.d->run->state, RUN_FOUND);
		assert_non_null(v = forest_verdict(f.port.forest, f.d->run->id, 1));
		assert_string_equal(v->from, can ? "s/app:d" : "s/app:x");
		assert_string_equal(v->to, can ? "s/app:e" : "s/app:x");
		assert_int_equal(v->unlearned, 0);
		fake_end(&f);
	}
}

static void
the_effort_bounds_exploring_like_everything_else(void **state)
{
	(void)state;

	for (uint32_t effort = 0; effort < 2; effort++) {
		const struct verdict *v;
		struct fake f;

		fake_begin(&f, PROGRAM);
		f.programs = all_programs();
		f.d->run->effort = effort;
		assert_int_equal(play_and_teach(&f, PROGRAM, 9000), effort > 0 ? 9 : 0);
		assert_int_equal(f.d->run->cycles, effort);
		assert_non_null(v = forest_verdict(f.port.forest, f.d->run->id, 1));
		/* explored, but not cut by what was learned; or not even explored */
		assert_int_equal(v->kind, effort > 0 ? VERDICT_CUT : VERDICT_PLACE);
		assert_int_equal(v->unlearned, effort > 0 ? 0 : 9);
		assert_int_equal(plan_count(f.port.plan), 0);
		fake_end(&f);
	}
}

/* One request in twenty iterates a loop, which takes 30 ms each time, always equally long. */
static void
what_one_request_in_twenty_does_is_found_and_measured_over_all(void **state)
{
	static const char *const PATHS[] = { "(abcd)", "(abxyzbcd)" };
	const struct verdict *v;
	struct fake f;
	(void)state;

	fake_begin(&f, "(abcdxyz)");
	for (int i = 0; i < 50; i++)
		fake_learn(&f, PATHS[i % 10 == 0]);
	for (int i = 0; i < 9000 && f.d->phase != PHASE_ENDED; i++) {
		const char *path = PATHS[rng_below(&f.rng, 20) == 0];
		int64_t time_ns[PATH_MAX_STEPS];
		struct fake_trace t;

		fake_times(&f, path, -1, time_ns);
		if (path == PATHS[1])
			time_ns[3] += 30 * MS_NS; /* x to y */
		fake_trace(&f, &t, path, time_ns, false);
		f.port.now.ns += 20 * MS_NS;
		fake_tell(&f, &t.t);
		fake_step(&f);
	}
	assert_int_equal(f.d->run->state, RUN_FOUND);
	assert_non_null(v = forest_verdict(f.port.forest, f.d->run->id, 1));
	assert_string_equal(v->from, "s/app:x");
	assert_string_equal(v->to, "s/app:y");
	assert_true(v->passing >= NEXT_FEW && v->passing < v->traces / 8);
	assert_near(v->passes, 1, 1e-9);
	assert_true(v->share > 0.8 && v->share < 1.01);
	assert_false(v->by_latency);
	assert_true(v->mean_ns < 12e6); /* of all requests; for the slow ones it is 38 ms */
	fake_end(&f);
}

static void
traces_count_only_when_they_began_after_the_confirmation(void **state)
{
	int64_t time_ns[PATH_MAX_STEPS];
	struct fake_trace x;
	struct search *s;
	struct fake f;
	uint64_t before;
	(void)state;

	s = play_until(&f, gathers);
	fake_times(&f, PROGRAM, -1, time_ns);
	before = s->cycle.traces;
	fake_trace(&f, &x, PROGRAM, time_ns, false);
	x.t.end_ns += s->cycle.ready.ns + SETTLE_NS -
	              x.t.begin_ns; /* the response time does not change */
	x.t.begin_ns = s->cycle.ready.ns + SETTLE_NS;
	assert_int_equal(search_trace(&f.port, s, &x.t, NULL), 0);
	assert_int_equal(s->cycle.traces, before);
	x.t.begin_ns++;
	x.t.end_ns++;
	x.t.probed = false;
	assert_int_equal(search_trace(&f.port, s, &x.t, NULL), 0);
	assert_int_equal(s->cycle.traces, before);
	x.t.probed = true;
	f.port.backing_off = true;
	assert_int_equal(search_trace(&f.port, s, &x.t, NULL), 0);
	assert_int_equal(s->cycle.traces, before);
	f.port.backing_off = false;
	assert_int_equal(search_trace(&f.port, s, &x.t, NULL), 0);
	assert_int_equal(s->cycle.traces, before + 1);
	search_enter(s, SEARCH_UNCONFIRMED);
	assert_int_equal(search_trace(&f.port, s, &x.t, NULL), 0);
	assert_int_equal(s->cycle.traces, before + 1);
	fake_end(&f);
}

static void
a_cycle_begins_when_agents_have_confirmed_and_waits_for_them(void **state)
{
	struct search *s;
	struct fake f;
	(void)state;

	s = play_until(&f, gathers);
	f.confirmed = false;
	assert_int_equal(search_step(&f.port, s, NULL), 0);
	assert_int_equal(s->phase, SEARCH_UNCONFIRMED);
	f.confirmed = true;
	f.port.now.ns += MS_NS;
	assert_int_equal(search_step(&f.port, s, NULL), 0);
	assert_int_equal(s->phase, SEARCH_GATHERING);
	assert_int_equal(s->cycle.ready.ns, f.port.now.ns);
	fake_end(&f);
}

static void
an_agent_that_does_not_confirm_ends_the_search(void **state)
{
	struct search *s;
	struct fake f;
	(void)state;

	fake_begin(&f, PROGRAM);
	fake_learn(&f, PROGRAM);
	f.d->is_ready = true; /* the agent confirmed the always-on tracepoints */
	while (first(&f) == NULL || !search_is_on(first(&f)))
		assert_false(fake_play(&f, PROGRAM, SLOW, 1, NULL));
	s = first(&f);
	f.confirmed = false;
	f.port.now.ns += PHASE_SWITCH_MAX_NS;
	assert_int_equal(search_step(&f.port, s, NULL), 0);
	assert_int_equal(s->phase, SEARCH_SWITCHING);
	f.port.now.ns++;
	assert_int_equal(search_step(&f.port, s, NULL), 0);
	assert_int_equal(s->phase, SEARCH_ENDED);
	assert_int_equal(s->outcome.reason, REASON_UNCONFIRMED);
	assert_int_equal(plan_count(f.port.plan), 0);
	fake_end(&f);
}

static void
congestion_disables_only_this_cycles_tracepoints_which_may_be_tried_again(void **state)
{
	(void)state;

	for (int backing_off = 0; backing_off < 2; backing_off++) {
		uint32_t old[8], fresh[8], nold = 0, nfresh = 0;
		struct hypothesis *h = NULL;
		struct search *s;
		struct fake f;

		s = play_until(&f, has_old_and_fresh);
		for (uint32_t i = 0; i < s->enabled.n; i++) {
			const struct pick *pick = &s->enabled.picks[i];

			*(pick->fresh ? &fresh[nfresh++] : &old[nold++]) = pick->label;
			h = pick->fresh ? pick->hypothesis : h;
			s->enabled.picks[i].passes = pick->fresh ? 7 : 2;
		}
		f.port.paused = true;
		f.port.paused_since = f.port.now;
		f.port.backing_off = backing_off;
		f.port.shed_by = "n1";
		if (!backing_off) {
			assert_int_equal(search_step(&f.port, s, NULL), 0);
			assert_int_equal(s->enabled.n, nold + nfresh); /* not at once */
			f.port.now.ns += f.port.settings.withdraw_ns + 1;
		}
		assert_int_equal(search_step(&f.port, s, NULL), 0);
		assert_int_equal(s->phase, backing_off ? SEARCH_BACKING_OFF : SEARCH_PAUSED);
		assert_int_equal(f.audits, 1);
		assert_int_equal(f.audited.action, ACTION_DISABLE_NEWEST);
		assert_int_equal(
		    f.audited.cause, backing_off ? REASON_LOAD_SHED : REASON_QUEUE_FULL);
		assert_int_equal(f.audited.queue, backing_off ? QUEUE_RING : QUEUE_FILES);
		assert_int_equal(s->enabled.n, nold);
		assert_int_equal(plan_count(f.port.plan), nold);
		for (uint32_t i = 0; i < nold; i++)
			assert_true(label_set_has(&s->enabled.tried, old[i]));
		for (uint32_t i = 0; i < nfresh; i++)
			assert_false(label_set_has(&s->enabled.tried, fresh[i]));
		assert_int_equal(h->state, HYPOTHESIS_WITHDRAWN);
		assert_int_equal(h->reason, REASON_CONGESTION);
		assert_int_equal(s->cycle.traces, 0);
		/* what shed load is not tried again, if it is passed in loops, and nothing that is passed as often */
		assert_true(s->budget.passes_most == (backing_off ? 1.05 : 0));
		/* and the pause ends when the queues are short again */
		f.port.paused = f.port.backing_off = false;
		assert_true(fake_play(&f, PROGRAM, SLOW, 6000, NULL));
		assert_int_equal(f.d->run->state, RUN_FOUND);
		fake_end(&f);
	}
}

static void
over_the_measured_budget_the_newest_go_first_and_then_the_search_ends(void **state)
{
	struct search *s;
	struct fake f;
	uint32_t old = 0;
	(void)state;

	s = play_until(&f, has_old_and_fresh);
	for (uint32_t i = 0; i < s->enabled.n; i++)
		old += !s->enabled.picks[i].fresh;
	f.over_budget = true;
	while (has_fresh(s)) {
		uint32_t before = s->enabled.n;

		assert_int_equal(search_step(&f.port, s, NULL), 0);
		if (s->phase == SEARCH_SWITCHING && s->enabled.n == before)
			assert_int_equal(search_step(&f.port, s, NULL), 0);
	}
	assert_int_equal(s->enabled.n, old);
	f.any_fresh = true; /* a tracepoint of another search, which must be disabled first */
	for (int i = 0; i < 3; i++)
		assert_int_equal(search_step(&f.port, s, NULL), 0);
	assert_int_equal(s->enabled.n, old);
	f.any_fresh = false;
	assert_int_equal(search_step(&f.port, s, NULL), 0);
	assert_int_equal(s->phase, SEARCH_ENDED);
	assert_int_equal(s->outcome.reason, REASON_END_OVER_BUDGET);
	assert_int_equal(plan_count(f.port.plan), 0);
	fake_end(&f);
}

static void
nothing_unaffordable_is_enabled_at_any_moment_and_the_verdict_counts_it(void **state)
{
	const struct verdict *v;
	struct fake f;
	(void)state;

	fake_begin(&f, PROGRAM);
	fake_learn(&f, PROGRAM);
	label_set_add(&f.refused, f.paths.of['d']);
	label_set_add(&f.refused, f.paths.of['e']);
	for (int i = 0; i < 6000 && f.d->phase != PHASE_ENDED; i++) {
		fake_play(&f, PROGRAM, SLOW, 1, NULL);
		assert_false(fake_wants(&f, 'd'));
		assert_false(fake_wants(&f, 'e'));
	}
	assert_non_null(v = forest_verdict(f.port.forest, f.d->run->id, 1));
	assert_int_equal(v->kind, VERDICT_CUT);
	assert_int_equal(v->over_budget, 2);
	assert_string_equal(v->from, "s/app:c");
	assert_string_equal(v->to, "s/app:f");
	fake_end(&f);
}

static void
an_end_of_the_gap_over_budget_ends_the_search_before_it_enables_anything(void **state)
{
	struct search *s;
	struct fake f;
	(void)state;

	fake_begin(&f, "(abc)");
	s = fake_search(&f, 'a', 'c');
	fake_path(&f, s, "(abc)");
	label_set_add(&f.refused, f.paths.of['c']);
	assert_int_equal(search_begin(&f.port, s, NULL, NULL), 0);
	assert_int_equal(s->phase, SEARCH_ENDED);
	assert_int_equal(s->outcome.reason, REASON_END_OVER_BUDGET);
	assert_int_equal(s->outcome.label, f.paths.of['c']);
	assert_int_equal(plan_count(f.port.plan), 0);
	fake_end(&f);
}

static void
a_search_that_comes_to_the_edge_of_another_ends(void **state)
{
	struct search *s, *twin;
	struct fake f;
	(void)state;

	s = play_until(&f, gathers);
	twin = search_list_add(f.d, &s->origin.gap, s->origin.group_id);
	twin->origin.hypothesis = hypothesis_new_from(&f.port, f.d, NULL);
	twin->origin.problem = s->origin.problem;
	twin->origin.share = twin->at.share = s->origin.share;
	assert_int_equal(
	    search_begin(&f.port, twin, groups_find(f.d->groups, s->origin.group_id), NULL), 0);
	assert_true(fake_play(&f, PROGRAM, SLOW, 6000, NULL));
	assert_int_equal(f.d->run->state, RUN_FOUND);
	assert_true(
	    (s->outcome.reason == REASON_SAME_EDGE) != (twin->outcome.reason == REASON_SAME_EDGE));
	assert_null(forest_verdict(f.port.forest, f.d->run->id, 2));
	fake_end(&f);
}

static bool
ends_soon(const struct fake *f)
{
	return first(f) != NULL && first(f)->phase == SEARCH_ENDED;
}

static void
a_search_whose_requests_stop_ends_after_its_deadline(void **state)
{
	(void)state;

	for (int lossy = 0; lossy < 2; lossy++) {
		struct search *s;
		struct fake f;

		s = play_until(&f, gathers);
		if (lossy)
			s->skipped_lossy = s->cycle.traces + 1;
		f.port.now.ns += f.port.settings.cycle_max_ns + 1;
		fake_step(&f);
		assert_true(ends_soon(&f));
		assert_int_equal(
		    s->outcome.reason, lossy ? REASON_LOST_RECORDS : REASON_PROBLEM_GONE);
		assert_int_equal(plan_count(f.port.plan), 0);
		fake_end(&f);
	}
}

static bool
measures_final_edge(const struct fake *f)
{
	return first(f) != NULL && first(f)->task == TASK_FINAL_EDGE;
}

/* Requests come, but their paths do not have the gap any more, from when this cycle's tracepoints are enabled
 * until its deadline. */
static struct search *
play_until_hidden(struct fake *f, int slow)
{
	struct search *s = play_until(f, has_old_and_fresh);

	assert_true(fake_play(f, "()", slow, 3000, measures_final_edge));
	assert_false(has_fresh(s));
	return s;
}

static void
a_gap_that_its_cuts_hide_is_measured_without_them(void **state)
{
	struct gap gap;
	const struct verdict *v;
	struct search *s;
	struct fake f;
	(void)state;

	s = play_until_hidden(&f, -1);
	gap = s->at.gap;
	fake_play(&f, PROGRAM, SLOW, 3000, ends_soon);
	assert_non_null(v = s->outcome.verdict);
	assert_int_equal(v->kind, VERDICT_HIDDEN);
	assert_string_equal(v->from, labels_get(f.port.labels, gap.from)->text);
	assert_string_equal(v->to, labels_get(f.port.labels, gap.to)->text);
	assert_true(v->share_low > 0.9);
	fake_end(&f);
}

static void
a_gap_that_does_not_come_back_without_its_cuts_is_told_by_a_larger_one(void **state)
{
	const struct verdict *v;
	struct search *s;
	struct fake f;
	(void)state;

	s = play_until_hidden(&f, -1);
	fake_play(&f, "()", 0, 30000, ends_soon); /* it is narrowed once more, and hidden again */
	assert_true(s->second.begun);
	assert_non_null(v = s->outcome.verdict);
	assert_int_equal(v->kind, VERDICT_HIDDEN);
	assert_true(gap_same(&s->at.gap, &s->origin.gap));
	assert_true(v->share_low > 0.9);
	fake_end(&f);
}

static void
a_problem_that_is_gone_is_not_hidden(void **state)
{
	struct search *s;
	struct fake f;
	(void)state;

	s = play_until_hidden(&f, -1);
	assert_true(fake_play(&f, PROGRAM, -1, 6000, ends_soon));
	assert_null(s->outcome.verdict);
	assert_int_equal(s->outcome.reason, REASON_PROBLEM_GONE);
	fake_end(&f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_search_comes_to_the_slow_edge_and_says_so),
		cmocka_unit_test(a_service_of_which_nothing_was_learned_is_explored_and_then_cut),
		cmocka_unit_test(what_was_never_passed_is_explored_before_loops_are_tried),
		cmocka_unit_test(the_effort_bounds_exploring_like_everything_else),
		cmocka_unit_test(what_one_request_in_twenty_does_is_found_and_measured_over_all),
		cmocka_unit_test(a_mistake_of_the_instrumentation_makes_its_verdict_unsure),
		cmocka_unit_test(traces_count_only_when_they_began_after_the_confirmation),
		cmocka_unit_test(a_cycle_begins_when_agents_have_confirmed_and_waits_for_them),
		cmocka_unit_test(an_agent_that_does_not_confirm_ends_the_search),
		cmocka_unit_test(
		    congestion_disables_only_this_cycles_tracepoints_which_may_be_tried_again),
		cmocka_unit_test(
		    over_the_measured_budget_the_newest_go_first_and_then_the_search_ends),
		cmocka_unit_test(
		    nothing_unaffordable_is_enabled_at_any_moment_and_the_verdict_counts_it),
		cmocka_unit_test(
		    an_end_of_the_gap_over_budget_ends_the_search_before_it_enables_anything),
		cmocka_unit_test(a_search_that_comes_to_the_edge_of_another_ends),
		cmocka_unit_test(a_search_whose_requests_stop_ends_after_its_deadline),
		cmocka_unit_test(a_gap_that_its_cuts_hide_is_measured_without_them),
		cmocka_unit_test(
		    a_gap_that_does_not_come_back_without_its_cuts_is_told_by_a_larger_one),
		cmocka_unit_test(a_problem_that_is_gone_is_not_hidden),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
