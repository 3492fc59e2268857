/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "fake_port.h"

static const char PROGRAM[] = "(abcdefgh)";

static bool
has_begun(const struct fake *f)
{
	return f->d->nsearches > 0 && search_is_on(f->d->searches[0]);
}

static bool
is_narrowed(const struct fake *f)
{
	const struct search *s = f->d->nsearches > 0 ? f->d->searches[0] : NULL;
	bool fresh = false, old = false;

	for (uint32_t i = 0; s != NULL && i < s->enabled.n; i++) {
		fresh |= s->enabled.picks[i].fresh;
		old |= !s->enabled.picks[i].fresh;
	}
	return fresh && old && s->phase == SEARCH_GATHERING;
}

static bool
is_waiting(const struct fake *f)
{
	return f->d->nsearches > 0;
}

/* A search in the given phase, of a diagnosis that reached it by its own steps. */
static struct search *
search_in(struct fake *f, enum search_phase phase)
{
	struct search *s;

	fake_learn(f, PROGRAM);
	if (phase == SEARCH_WAITING)
		f->port.settings.searches_max = 0;
	assert_true(fake_play(f, PROGRAM, 4, 3000,
	    phase == SEARCH_WAITING     ? is_waiting
	    : phase == SEARCH_SWITCHING ? has_begun
					: is_narrowed));
	s = f->d->searches[0];
	f->confirmed = phase == SEARCH_GATHERING;
	f->port.paused = phase == SEARCH_PAUSED || phase == SEARCH_BACKING_OFF;
	f->port.backing_off = phase == SEARCH_BACKING_OFF;
	f->port.now.ns += 6000 * MS_NS;
	if (phase > SEARCH_GATHERING)
		fake_step(f);
	assert_int_equal(s->phase, phase);
	return s;
}

static void
in_every_phase_all_that_a_search_enabled_is_disabled_at_its_end(void **state)
{
	(void)state;

	for (enum search_phase phase = SEARCH_WAITING; phase < SEARCH_ENDED; phase++) {
		struct hypothesis *h;
		struct search *s;
		struct fake f;
		uint64_t at = 0;

		fake_begin(&f, "(abcdefgh)");
		s = search_in(&f, phase);
		assert_int_equal(plan_count(f.port.plan) > 0, phase != SEARCH_WAITING);
		search_end(&f.port, s, REASON_OPERATOR);
		assert_int_equal(plan_count(f.port.plan), 0);
		/* an agent in backoff has disabled tracepoints, which was logged before the end */
		assert_int_equal(fake_logged(&f, 0) == 0, phase != SEARCH_BACKING_OFF);
		assert_true(fake_logged(&f, 0) <= 0);
		assert_int_equal(s->enabled.n, 0);
		assert_false(has_fresh(s));
		assert_null(s->cycle.groups);
		assert_int_equal(s->phase, SEARCH_ENDED);
		assert_int_equal(s->outcome.reason, REASON_OPERATOR);
		while ((h = forest_next(f.port.forest, f.d->run->id, &at)) != NULL)
			assert_true(hypothesis_settled(h->state));
		fake_end(&f);
	}
}

static void
what_was_settled_keeps_its_state_and_the_rest_is_withdrawn(void **state)
{
	struct hypothesis *settled, *open;
	struct search *s;
	struct fake f;
	(void)state;

	fake_begin(&f, "(abc)");
	s = fake_search(&f, '(', ')');
	assert_int_equal(enable_candidate(&f.port, s, f.paths.of['a'], NULL), 0);
	assert_int_equal(enable_candidate(&f.port, s, f.paths.of['b'], NULL), 0);
	settled = s->enabled.picks[0].hypothesis;
	open = s->enabled.picks[1].hypothesis;
	hypothesis_settle(&f.port, settled, HYPOTHESIS_ISOLATES);
	search_end(&f.port, s, REASON_NONE);
	assert_int_equal(settled->state, HYPOTHESIS_ISOLATES);
	assert_int_equal(open->state, HYPOTHESIS_WITHDRAWN);
	assert_int_equal(open->reason, REASON_STOPPED);
	assert_int_equal(s->origin.hypothesis->state, HYPOTHESIS_WITHDRAWN);
	assert_int_equal(fake_last_switch(&f)->reason, REASON_STOPPED);
	fake_end(&f);
}

static void
what_another_search_has_enabled_stays(void **state)
{
	struct search *a, *b;
	struct fake f;
	(void)state;

	fake_begin(&f, "(abc)");
	a = fake_search(&f, '(', ')');
	b = fake_search(&f, 'a', ')');
	assert_int_equal(enable_candidate(&f.port, a, f.paths.of['b'], NULL), 0);
	assert_int_equal(enable_candidate(&f.port, b, f.paths.of['b'], NULL), 0);
	assert_int_equal(enable_candidate(&f.port, a, f.paths.of['c'], NULL), 0);
	search_end(&f.port, a, REASON_NONE);
	assert_true(fake_wants(&f, 'b'));
	assert_false(fake_wants(&f, 'c'));
	assert_int_equal(b->enabled.n, 1);
	fake_end(&f);
}

static void
what_is_explored_is_disabled_too(void **state)
{
	struct search *s;
	struct fake f;
	(void)state;

	fake_begin(&f, "(abc)");
	s = fake_search(&f, '(', ')');
	s->exploration.hypothesis = hypothesis_new_from(&f.port, f.d, s->at.hypothesis);
	hypothesis_settle(&f.port, s->exploration.hypothesis, HYPOTHESIS_PROBING);
	search_set_task(s, TASK_EXPLORE);
	assert_int_equal(plan_want(f.port.plan, "app:x", s->exploration.hypothesis->id, NULL), 0);
	search_end(&f.port, s, REASON_OPERATOR);
	assert_int_equal(plan_count(f.port.plan), 0);
	assert_null(s->exploration.hypothesis);
	assert_string_equal(fake_last_switch(&f)->tracepoint, "app:x");
	fake_end(&f);
}

static void
an_end_over_budget_names_the_tracepoint(void **state)
{
	struct search *s;
	struct fake f;
	(void)state;

	fake_begin(&f, "(abc)");
	s = fake_search(&f, 'a', 'c');
	search_end_over_budget(&f.port, s, f.paths.of['a']);
	assert_int_equal(s->outcome.reason, REASON_END_OVER_BUDGET);
	assert_int_equal(s->outcome.label, f.paths.of['a']);
	assert_int_equal(s->origin.hypothesis->reason, REASON_OVER_BUDGET);
	assert_int_equal(s->phase, SEARCH_ENDED);
	fake_end(&f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_every_phase_all_that_a_search_enabled_is_disabled_at_its_end),
		cmocka_unit_test(what_was_settled_keeps_its_state_and_the_rest_is_withdrawn),
		cmocka_unit_test(what_another_search_has_enabled_stays),
		cmocka_unit_test(what_is_explored_is_disabled_too),
		cmocka_unit_test(an_end_over_budget_names_the_tracepoint),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
