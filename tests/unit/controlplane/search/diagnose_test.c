/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "fake_port.h"

#include "controlplane/search/search_still.h"

static const char PROGRAM[] = "(abcdefgh)";
enum { SLOW = 4 };

static void
begin(struct fake *f)
{
	fake_begin(f, PROGRAM);
	fake_learn(f, PROGRAM);
}

static uint32_t
number_in(const struct fake *f, enum search_phase phase)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < f->d->nsearches; i++)
		n += f->d->searches[i]->phase == phase;
	return n;
}

static bool
one_is_on(const struct fake *f)
{
	return f->d->nsearches > 0 && search_is_on(f->d->searches[0]);
}

/* Another search of the same group, which has not begun. */
static struct search *
add_waiting(struct fake *f, char from, char to)
{
	const struct search *like = f->d->searches[0];
	struct search *s = fake_search(f, from, to);

	s->origin.group_id = like->origin.group_id;
	fake_path(f, s, PROGRAM);
	return s;
}

static void
a_waiting_search_begins_only_when_a_slot_is_free(void **state)
{
	int free_for = 0; /* traces */
	struct search *s;
	struct fake f;
	(void)state;

	begin(&f);
	f.port.settings.searches_max = 1;
	assert_true(fake_play(&f, PROGRAM, SLOW, 3000, one_is_on));
	s = add_waiting(&f, 'a', 'b');
	for (int i = 0; i < 6000 && f.d->phase != PHASE_ENDED; i++) {
		fake_play(&f, PROGRAM, SLOW, 1, NULL);
		free_for = search_is_on(f.d->searches[0]) ? 0 : free_for + 1;
		assert_true(number_in(&f, SEARCH_WAITING) == 0 || free_for <= 10);
		assert_false(search_is_on(f.d->searches[0]) && s->phase != SEARCH_WAITING);
	}
	assert_int_equal(s->phase, SEARCH_ENDED);
	fake_end(&f);
}

static void
searches_begin_in_the_order_in_which_they_were_added(void **state)
{
	struct search *a, *b;
	struct fake f;
	(void)state;

	begin(&f);
	f.port.settings.searches_max = 1;
	assert_true(fake_play(&f, PROGRAM, SLOW, 3000, one_is_on));
	a = add_waiting(&f, 'a', 'b');
	b = add_waiting(&f, 'b', 'c');
	f.port.settings.searches_max = 2;
	fake_play(&f, PROGRAM, SLOW, 60, NULL);
	assert_int_not_equal(a->phase, SEARCH_WAITING);
	assert_true(b->phase == SEARCH_WAITING || a->phase == SEARCH_ENDED);
	fake_end(&f);
}

static void
a_diagnosis_ends_only_when_all_its_searches_have(void **state)
{
	struct fake f;
	(void)state;

	begin(&f);
	assert_true(fake_play(&f, PROGRAM, SLOW, 3000, one_is_on));
	add_waiting(&f, 'a', 'b');
	add_waiting(&f, 'f', 'g');
	for (int i = 0; i < 6000 && f.d->phase != PHASE_ENDED; i++) {
		fake_play(&f, PROGRAM, SLOW, 1, NULL);
		assert_int_equal(f.d->phase == PHASE_ENDED, f.ended);
		assert_int_equal(f.d->run->state == RUN_ACTIVE, f.d->phase != PHASE_ENDED);
		if (f.d->phase == PHASE_ENDED)
			assert_int_equal(number_in(&f, SEARCH_ENDED), f.d->nsearches);
	}
	assert_int_equal(f.d->run->state, RUN_FOUND);
	assert_int_equal(
	    f.d->run->verdict, forest_verdict(f.port.forest, f.d->run->id, 1)->hypothesis);
	assert_int_equal(f.d->run->ended.ns, f.port.now.ns);
	assert_int_equal(plan_count(f.port.plan), 0);
	fake_end(&f);
}

static void
without_a_verdict_it_watches_on_and_ends_at_the_deadline_with_the_reason_of_its_last_search(
    void **state)
{
	struct fake f;
	(void)state;

	begin(&f);
	assert_true(fake_play(&f, PROGRAM, SLOW, 3000, one_is_on));
	search_end(&f.port, f.d->searches[0], REASON_CONTRADICTED);
	f.port.now.ns += 2000 * MS_NS;
	fake_step(&f);
	assert_int_equal(f.d->phase, PHASE_WATCH);
	f.port.now.ns = f.d->begun.ns + f.port.settings.cycle_max_ns + MS_NS;
	fake_step(&f);
	assert_int_equal(f.d->phase, PHASE_ENDED);
	assert_int_equal(f.d->run->state, RUN_NOT_FOUND);
	assert_int_equal(f.d->run->reason, REASON_CONTRADICTED);
	assert_string_equal(f.d->run->subject, "");
	fake_end(&f);

	begin(&f);
	assert_true(fake_play(&f, PROGRAM, SLOW, 3000, one_is_on));
	search_end_over_budget(&f.port, f.d->searches[0], f.paths.of['c']);
	f.port.now.ns = f.d->begun.ns + f.port.settings.cycle_max_ns + MS_NS;
	fake_step(&f);
	assert_int_equal(f.d->run->reason, REASON_END_OVER_BUDGET);
	assert_string_equal(f.d->run->subject, "s/app:c");
	fake_end(&f);
}

/* Also of one that goes on after the deadline, for a group that will soon have enough requests. */
static void
verdicts_are_judged_again_every_2_s_until_the_end(void **state)
{
	struct mono judged;
	uint32_t times = 0;
	struct fake f;
	(void)state;

	begin(&f);
	assert_true(fake_play(&f, PROGRAM, SLOW, 3000, one_is_on));
	search_end(&f.port, f.d->searches[0], REASON_CONTRADICTED);
	f.port.settings.conditions.traces_min = f.d->traces + 5;
	f.d->run->effect_min = 0.25;
	f.port.now.ns = f.d->begun.ns + f.port.settings.cycle_max_ns + MS_NS;
	fake_step(&f);
	judged = f.d->judged;
	for (int i = 0; i < 60; i++) {
		f.port.now.ns += 100 * MS_NS;
		fake_step(&f);
		assert_int_equal(f.d->phase, PHASE_WATCH);
		times += f.d->judged.ns != judged.ns;
		judged = f.d->judged;
	}
	assert_int_equal(times, 3);
	for (int i = 0; i < 300 && f.d->phase != PHASE_ENDED; i++) {
		f.port.now.ns += 100 * MS_NS;
		fake_step(&f);
	}
	assert_int_equal(f.d->phase, PHASE_ENDED);
	assert_true(mono_since_ns(f.port.now, f.d->judged) < STILL_LOOK_NS);
	fake_end(&f);
}

/* Of the edge from a to b, with this part of the variance: not enough alone. */
static void
give_verdict(struct fake *f, struct search *s, double effect)
{
	char text[] = "";
	const struct verdict v = { .run = f->d->run->id,
		.hypothesis = s->at.hypothesis->id,
		.kind = VERDICT_PLACE,
		.problem = PROBLEM_UNPREDICTABLE,
		.from = (char *)labels_get(f->port.labels, f->paths.of['a'])->text,
		.to = (char *)labels_get(f->port.labels, f->paths.of['b'])->text,
		.path = text,
		.traces = 1000,
		.effect = effect,
		.share = effect,
		.share_low = effect,
		.share_high = effect,
		.cost_ns = 1,
		.new_part = NAN,
		.new_low = NAN };

	assert_non_null(s->outcome.verdict = forest_verdict_new(f->port.forest, &v));
	s->phase = SEARCH_ENDED;
}

/* The search that began has ended without a verdict. */
static void
begin_without_searches(struct fake *f)
{
	begin(f);
	assert_true(fake_play(f, PROGRAM, SLOW, 3000, one_is_on));
	search_end(&f->port, f->d->searches[0], REASON_CONTRADICTED);
	f->d->run->effect_min = 0.25;
	f->d->presence.n = 0;
}

/* How the diagnosis ends after its deadlines. */
static enum run_state
end_with(struct fake *f)
{
	enum run_state state;

	f->port.now.ns = f->d->begun.ns + 4 * f->port.settings.cycle_max_ns;
	fake_step(f);
	assert_int_equal(f->d->phase, PHASE_ENDED);
	state = f->d->run->state;
	fake_end(f);
	return state;
}

/* Verdicts of edges with these labels: position or unit of the second one differ from the others', or not. Two with 42 % each, which is enough of each of two; or three with 39, 31 and
 * 31 %, which is enough of all together. */
static enum run_state
state_with(int nverdicts, uint32_t nth, uint32_t origin_nth, char unit)
{
	struct search *x;
	struct fake f;

	begin_without_searches(&f);
	give_verdict(&f, add_waiting(&f, 'a', 'b'), nverdicts == 2 ? 0.42 : 0.39);
	for (int i = 1; i < nverdicts; i++) {
		x = add_waiting(&f, 'a', 'b');
		x->at.gap.nth = nth > 0 ? nth + (uint32_t)i - 1 : 0;
		x->origin.gap.nth = origin_nth;
		x->at.gap.from_unit = x->at.gap.to_unit = f.paths.of[(int)unit];
		give_verdict(&f, x, nverdicts == 2 ? 0.42 : 0.31);
	}
	return end_with(&f);
}

static void
what_verdicts_have_counts_each_edge_once_and_not_each_pair_of_labels(void **state)
{
	(void)state;

	assert_int_equal(state_with(3, 0, 0, '('), RUN_NOTHING);
	assert_int_equal(state_with(3, 1, 0, '('), RUN_FOUND);
	assert_int_equal(state_with(2, 0, 0, '('), RUN_NOTHING);
	/* two positions inside what both began with, or a unit of another kind */
	assert_int_equal(state_with(2, 1, 0, '('), RUN_FOUND);
	assert_int_equal(state_with(2, 0, 0, 'h'), RUN_FOUND);
	/* each began with its position, and has the effect of both */
	assert_int_equal(state_with(2, 1, 1, '('), RUN_NOTHING);
}

/* Two paths have the edge, and 30 % of all that varies there each: neither stands out by that, both together do. */
static void
what_two_paths_have_in_one_edge_is_the_effect_of_the_edge(void **state)
{
	(void)state;

	for (int apart = 0; apart < 3; apart++) {
		struct search *x;
		struct fake f;

		begin_without_searches(&f);
		give_verdict(&f, add_waiting(&f, 'a', 'b'), 0.3);
		x = add_waiting(&f, 'a', 'b');
		if (apart > 0)
			x->origin.gap.from = f.paths.of['('];
		if (apart > 1) /* a part of what the first one began with */
			x->origin.beside = 1;
		give_verdict(&f, x, 0.3);
		assert_int_equal(end_with(&f), apart == 1 ? RUN_FOUND : RUN_NOTHING);
	}
}

static void
what_is_stopped_ends_all_searches_and_tells_the_owner_once(void **state)
{
	struct fake f;
	(void)state;

	begin(&f);
	assert_true(fake_play(&f, PROGRAM, SLOW, 3000, one_is_on));
	add_waiting(&f, 'a', 'b');
	assert_true(plan_count(f.port.plan) > 0);
	diagnose_end(&f.port, f.d, RUN_STOPPED, REASON_OPERATOR, "who", (struct wall){ 12345 });
	assert_int_equal(f.d->phase, PHASE_ENDED);
	assert_int_equal(number_in(&f, SEARCH_ENDED), 2);
	assert_int_equal(plan_count(f.port.plan), 0);
	assert_int_equal(f.ended, 1);
	assert_int_equal(f.d->run->state, RUN_STOPPED);
	assert_int_equal(f.d->run->reason, REASON_OPERATOR);
	assert_string_equal(f.d->run->subject, "who");
	assert_int_equal(f.d->run->ended.ns, 12345);
	fake_end(&f);
}

static void
while_paused_no_search_begins(void **state)
{
	struct fake f;
	(void)state;

	begin(&f);
	f.port.paused = true;
	f.port.paused_since = f.port.now;
	assert_false(fake_play(&f, PROGRAM, SLOW, 600, NULL));
	assert_int_equal(f.d->nsearches, 0);
	assert_int_equal(plan_count(f.port.plan), 0);
	f.port.paused = false;
	assert_true(fake_play(&f, PROGRAM, SLOW, 100, one_is_on));
	fake_end(&f);
}

static void
no_traces_count_before_agents_have_confirmed(void **state)
{
	struct fake f;
	(void)state;

	begin(&f);
	f.confirmed = false;
	assert_false(fake_play(&f, PROGRAM, SLOW, 600, NULL));
	assert_int_equal(f.d->traces, 0);
	assert_int_equal(f.d->nsearches, 0);
	f.confirmed = true;
	fake_play(&f, PROGRAM, SLOW, 10, NULL);
	/* the first request shows the confirmation; of the next ones, every 20 ms, four began
	 * within SETTLE_NS of it */
	assert_int_equal(f.d->traces, 6);
	fake_end(&f);
}

static void
the_reason_is_what_kept_it_from_finding_a_problem(void **state)
{
	static const struct {
		int slow, requests;
		bool lossy;
		enum incomplete incomplete;
		enum reason reason;
	} CASES[] = { { -1, 1100, false, INCOMPLETE_NONE, REASON_NO_PROBLEM },
		{ SLOW, 25, false, INCOMPLETE_NONE, REASON_FEW_REQUESTS },
		{ SLOW, 1100, true, INCOMPLETE_NONE, REASON_LOST_RECORDS },
		{ SLOW, 1100, false, INCOMPLETE_NO_UNIT, REASON_UNIT_MISSING },
		{ SLOW, 1100, false, INCOMPLETE_NO_END, REASON_END_MISSING },
		{ SLOW, 1100, false, INCOMPLETE_SEVERAL_BEGINS, REASON_INCOMPLETE } };
	(void)state;

	for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
		int64_t time_ns[PATH_MAX_STEPS];
		struct fake_trace t;
		struct fake f;

		begin(&f);
		for (int k = 0; k < CASES[i].requests && f.d->phase != PHASE_ENDED; k++) {
			fake_times(&f, PROGRAM, CASES[i].slow, time_ns);
			fake_trace(&f, &t, PROGRAM, time_ns, false);
			t.t.lossy = CASES[i].lossy;
			t.t.incomplete = (uint8_t)CASES[i].incomplete;
			t.t.incomplete_label = t.t.events[0].label;
			f.port.now.ns += 20 * MS_NS;
			if (trace_has_times(&t.t))
				fake_tell(&f, &t.t);
			else
				diagnose_incomplete(f.d, &t.t);
			fake_step(&f);
		}
		if (CASES[i].reason != REASON_NO_PROBLEM) {
			/* three times the deadline, because requests may still come */
			assert_int_equal(f.d->phase, PHASE_WATCH);
			f.port.now.ns = f.d->begun.ns + 3 * f.port.settings.cycle_max_ns;
			fake_step(&f);
			assert_int_equal(f.d->phase, PHASE_WATCH);
			f.port.now.ns += 200 * MS_NS;
			fake_step(&f);
		}
		assert_int_equal(f.d->phase, PHASE_ENDED);
		assert_int_equal(f.d->run->state, RUN_NOT_FOUND);
		assert_int_equal(f.d->run->reason, CASES[i].reason);
		assert_int_equal(
		    f.d->run->subject[0] != '\0', CASES[i].reason == REASON_UNIT_MISSING);
		fake_end(&f);
	}
}

static void
traces_of_other_types_and_with_losses_are_no_evidence(void **state)
{
	int64_t time_ns[PATH_MAX_STEPS];
	struct fake_trace t;
	struct search *s;
	struct fake f;
	uint64_t traces;
	(void)state;

	begin(&f);
	assert_true(fake_play(&f, PROGRAM, SLOW, 3000, one_is_on));
	fake_play(&f, PROGRAM, SLOW, 10, NULL);
	s = f.d->searches[0];
	traces = f.d->traces;
	fake_times(&f, PROGRAM, -1, time_ns);
	fake_trace(&f, &t, PROGRAM, time_ns, false);
	f.d->run->requests = 0;
	s->skipped_lossy = 0;
	t.t.lossy = true;
	fake_tell(&f, &t.t);
	assert_int_equal(f.d->traces, traces);
	assert_int_equal(f.d->run->requests, 1);
	assert_int_equal(s->skipped_lossy, 1);
	t.t.lossy = false;
	t.t.incomplete = INCOMPLETE_NO_UNIT;
	fake_tell(&f, &t.t);
	assert_int_equal(f.d->traces, traces);
	assert_int_equal(s->skipped_lossy, 1);
	assert_int_equal(s->skipped_incomplete, 1);
	assert_int_equal(f.d->incomplete[INCOMPLETE_NO_UNIT], 1);
	t.t.incomplete = INCOMPLETE_NONE;
	f.d->run->requests = 1;
	t.t.type++;
	fake_tell(&f, &t.t);
	assert_int_equal(f.d->traces, traces);
	assert_int_equal(f.d->run->requests, 1);
	t.t.type--;
	assert_int_equal(diagnose_trace(&f.port, f.d, &t.t, NULL, NULL), 0);
	assert_int_equal(f.counts.pathless, 1);
	assert_int_equal(f.d->traces, traces);
	fake_tell(&f, &t.t);
	assert_int_equal(f.d->traces, traces + 1);
	fake_end(&f);
}

static void
a_search_begins_with_what_its_group_showed(void **state)
{
	const struct search *s;
	const struct group *group;
	struct fake f;
	(void)state;

	begin(&f);
	f.port.settings.searches_max = 0;
	while (f.d->nsearches == 0)
		assert_false(fake_play(&f, PROGRAM, SLOW, 1, NULL));
	s = f.d->searches[0];
	assert_non_null(group = groups_find(f.d->groups, s->origin.group_id));
	assert_int_equal(s->phase, SEARCH_WAITING);
	assert_int_equal(s->origin.problem, PROBLEM_UNPREDICTABLE);
	assert_int_equal(s->origin.gap.from, f.paths.of['(']);
	assert_int_equal(s->origin.gap.to, f.paths.of[')']);
	assert_near(s->origin.share, 1, 1e-9); /* the only edge has the whole share */
	assert_near(s->at.carried, moments_variance(&group->total), 1e-3 * s->at.carried);
	assert_int_equal(s->origin.hypothesis->traces, group->total.n);
	assert_true(s->origin.hypothesis->cost_ns > 0);
	fake_end(&f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_waiting_search_begins_only_when_a_slot_is_free),
		cmocka_unit_test(searches_begin_in_the_order_in_which_they_were_added),
		cmocka_unit_test(a_diagnosis_ends_only_when_all_its_searches_have),
		cmocka_unit_test(
		    without_a_verdict_it_watches_on_and_ends_at_the_deadline_with_the_reason_of_its_last_search),
		cmocka_unit_test(verdicts_are_judged_again_every_2_s_until_the_end),
		cmocka_unit_test(
		    what_verdicts_have_counts_each_edge_once_and_not_each_pair_of_labels),
		cmocka_unit_test(what_two_paths_have_in_one_edge_is_the_effect_of_the_edge),
		cmocka_unit_test(what_is_stopped_ends_all_searches_and_tells_the_owner_once),
		cmocka_unit_test(while_paused_no_search_begins),
		cmocka_unit_test(no_traces_count_before_agents_have_confirmed),
		cmocka_unit_test(the_reason_is_what_kept_it_from_finding_a_problem),
		cmocka_unit_test(traces_of_other_types_and_with_losses_are_no_evidence),
		cmocka_unit_test(a_search_begins_with_what_its_group_showed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
