/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is below the final edge is looked at while that is measured. */
#include "fake_port.h"

#include "controlplane/search/search_below.h"
#include "controlplane/search/search_end.h"
#include "controlplane/search/search_verdict.h"

static const char PROGRAM[] = "(abcdefgh)";
static const char *WAIT_FIELDS[] = { "off_ns", "ready_ns" };
enum { SLOW = 4, NWAIT = 2 }; /* SLOW: between 'd' and 'e', by a lock */
#define STEP_NS (20 * MS_NS)

struct play {
	struct fake f;
	uint32_t wait;
	int requests;
	bool records; /* nodes record, as they are asked */
	bool costly;  /* what they record is over the budget */
	int slow;     /* for so many requests agents confirm nothing that is new */
	int asked, unconfirmed;
};

static void
begin(struct play *p, bool below)
{
	static const char text[] = "s/below:lock(main;flush_log() at journal.c:88;futex)";

	*p = (struct play){ .records = true };
	fake_begin(&p->f, PROGRAM);
	fake_learn(&p->f, PROGRAM);
	p->f.d->below = below;
	p->f.can_look_below = true;
	p->wait = labels_intern(
	    p->f.paths.labels, RECORD_WAIT, text, sizeof text - 1, WAIT_FIELDS, NWAIT);
}

static struct search *
first(const struct play *p)
{
	return p->f.d->nsearches > 0 ? p->f.d->searches[0] : NULL;
}

/* A request, whose edge waits for a lock for all but 0.2 ms, and a step. */
static void
request(struct play *p)
{
	struct fake *f = &p->f;
	int64_t time_ns[PATH_MAX_STEPS];
	struct value values[NWAIT] = { { .type = VALUE_UINT }, { .type = VALUE_UINT } };
	struct event wait = { .label = p->wait, .nvalues = NWAIT, .values = values };
	struct fake_trace t;

	fake_times(f, PROGRAM, SLOW, time_ns);
	fake_trace(f, &t, PROGRAM, time_ns, false);
	wait.time_ns = t.t.begin_ns;
	for (int i = 0; i <= SLOW; i++)
		wait.time_ns += time_ns[i];
	values[0].u = (uint64_t)(time_ns[SLOW] - MS_NS / 5);
	if (p->records && f->below > 0) {
		t.t.below = &wait;
		t.t.nbelow = 1;
	}
	f->port.now.ns += STEP_NS;
	f->over_budget = p->costly && f->below > 0;
	fake_tell(f, &t.t);
	fake_step(f);
	p->requests++;
	assert_in_range(f->below, 0, 1);
	p->unconfirmed = f->below != p->asked ? p->slow : p->unconfirmed - (p->unconfirmed > 0);
	p->asked = f->below;
	f->confirmed = p->unconfirmed == 0;
}

static void
requests(struct play *p, int n)
{
	for (int i = 0; i < n; i++)
		request(p);
}

static void
until_the_end(struct play *p)
{
	while (p->f.d->phase != PHASE_ENDED) {
		request(p);
		assert_true(p->requests < 10000);
	}
	assert_int_equal(p->f.below, 0);
}

static void
until_ahead(struct play *p)
{
	while (first(p) == NULL || !search_below_is_ahead(first(p))) {
		request(p);
		assert_true(p->requests < 3000);
	}
	assert_int_equal(first(p)->task, TASK_FINAL_EDGE);
	assert_int_equal(p->f.below, 1);
}

static void
assert_same_figures(const struct play *x, const struct play *y)
{
	const struct verdict *a = forest_verdict(x->f.port.forest, x->f.d->run->id, 1),
			     *b = forest_verdict(y->f.port.forest, y->f.d->run->id, 1);

	assert_non_null(a);
	assert_non_null(b);
	assert_true(a->share == b->share && a->share_low == b->share_low &&
		    a->share_high == b->share_high && a->traces == b->traces &&
		    a->effect == b->effect);
	assert_string_equal(a->from, b->from);
	assert_string_equal(a->to, b->to);
}

/* The verdict of a diagnosis that does not look below. */
static void
plain(struct play *p)
{
	begin(p, false);
	until_the_end(p);
}

static void
what_is_below_costs_a_verdict_few_requests_more_and_none_of_its_figures(void **state)
{
	const struct verdict *v;
	struct play x, without;
	(void)state;

	plain(&without);
	begin(&x, true);
	until_the_end(&x);
	assert_same_figures(&x, &without);
	v = forest_verdict(x.f.port.forest, x.f.d->run->id, 1);
	assert_in_range(v->below_requests, BELOW_CLEAR, BELOW_PLENTY + 10);
	assert_string_equal(v->below_top, "lock");
	assert_in_range(x.requests - without.requests, 0, BELOW_CLEAR / 2);
	fake_end(&x.f);
	fake_end(&without.f);
}

/* Agents take a second to confirm: at the end of the look nothing waits for that. */
static void
a_switch_is_waited_for_once(void **state)
{
	struct play x, without;
	(void)state;

	plain(&without);
	begin(&x, true);
	x.slow = 50;
	until_the_end(&x);
	assert_string_equal(forest_verdict(x.f.port.forest, x.f.d->run->id, 1)->below_top, "lock");
	assert_in_range(x.requests - without.requests, 50, 50 + BELOW_PLENTY / 2);
	fake_end(&x.f);
	fake_end(&without.f);
}

/* Decisions come up to 100 ms later than without the step in which it is ended. */
static void
over_budget(struct play *x, bool records)
{
	struct play without;
	const struct verdict *v, *plain_one;

	plain(&without);
	begin(x, true);
	x->records = records;
	until_ahead(x);
	x->costly = true;
	requests(x, 2 * BELOW_FEW);
	assert_true(search_below_is_ahead(first(x))); /* what it costs to start is not counted */
	x->f.port.now.ns += BELOW_START_NS;
	request(x);
	assert_int_equal(x->f.below, 0);
	assert_int_equal(first(x)->phase, SEARCH_GATHERING);
	assert_int_equal(first(x)->task, TASK_FINAL_EDGE);
	until_the_end(x);
	v = forest_verdict(x->f.port.forest, x->f.d->run->id, 1);
	plain_one = forest_verdict(without.f.port.forest, without.f.d->run->id, 1);
	assert_non_null(v);
	assert_in_range(x->requests, without.requests, without.requests + 5);
	assert_in_range(v->traces, plain_one->traces, plain_one->traces + 5);
	assert_near(v->share, plain_one->share, 0.001);
	assert_string_equal(v->from, plain_one->from);
	assert_string_equal(v->to, plain_one->to);
	fake_end(&without.f);
}

static void
over_budget_it_ends_and_the_verdict_does_not_wait_for_it(void **state)
{
	const struct verdict *v;
	struct play x;
	(void)state;

	over_budget(&x, false);
	v = forest_verdict(x.f.port.forest, x.f.d->run->id, 1);
	assert_string_equal(v->below_missing, "over-budget");
	assert_string_equal(v->below_states, "");
	fake_end(&x.f);
	over_budget(&x, true); /* what came by then is enough */
	v = forest_verdict(x.f.port.forest, x.f.d->run->id, 1);
	assert_string_equal(v->below_missing, "");
	assert_in_range(v->below_requests, 2 * BELOW_FEW, BELOW_PLENTY - 1);
	fake_end(&x.f);
}

static void
agents_that_do_not_confirm_it_do_not_hold_the_verdict_up(void **state)
{
	const struct verdict *v;
	struct play x;
	(void)state;

	begin(&x, true);
	x.records = false;
	x.slow = 10;
	until_ahead(&x);
	x.unconfirmed = 100000;
	requests(&x, 10);
	assert_int_equal(first(&x)->phase, SEARCH_UNCONFIRMED);
	x.f.port.now.ns += PHASE_SWITCH_MAX_NS;
	request(&x);
	assert_int_equal(x.f.below, 0);
	until_the_end(&x);
	assert_non_null(v = forest_verdict(x.f.port.forest, x.f.d->run->id, 1));
	assert_string_equal(v->below_missing, "unconfirmed");
	assert_true(v->traces >= NEXT_CLEAR);
	fake_end(&x.f);
}

static void
after_congestion_the_edge_and_what_is_below_are_measured_anew(void **state)
{
	const struct verdict *v;
	struct play x;
	(void)state;

	begin(&x, true);
	until_ahead(&x);
	requests(&x, 40);
	assert_true(below_list_requests(first(&x)->below.list) > 0);
	x.f.port.backing_off = x.f.port.paused = true;
	request(&x);
	assert_int_equal(x.f.below, 0);
	assert_int_equal(first(&x)->phase, SEARCH_BACKING_OFF);
	assert_int_equal(first(&x)->below.state, BELOW_NOT_BEGUN);
	x.f.port.backing_off = x.f.port.paused = false;
	requests(&x, 20);
	assert_true(search_below_is_ahead(first(&x)));
	until_the_end(&x);
	assert_non_null(v = forest_verdict(x.f.port.forest, x.f.d->run->id, 1));
	assert_string_equal(v->below_top, "lock");
	assert_true(v->below_requests >= BELOW_PLENTY);
	fake_end(&x.f);
}

static void
a_search_that_ends_meanwhile_leaves_nothing_asked_for(void **state)
{
	struct play x;
	(void)state;

	begin(&x, true);
	until_ahead(&x);
	requests(&x, 10);
	search_end(&x.f.port, first(&x), REASON_STOPPED);
	assert_int_equal(x.f.below, 0);
	fake_end(&x.f);
}

static void
of_another_edge_it_starts_over(void **state)
{
	struct search *s;
	struct play x;
	(void)state;

	begin(&x, true);
	until_ahead(&x);
	requests(&x, 40);
	s = first(&x);
	s->at.gap = paths_gap(&x.f.paths, 'a', 'b', 0, false);
	assert_int_equal(search_below_ahead(&x.f.port, s, NULL), 0);
	assert_true(search_below_is_ahead(s));
	assert_int_equal(x.f.below, 1);
	assert_int_equal(below_list_requests(s->below.list), 0);
	s->final.kind = VERDICT_SPREAD; /* that is taken back, and no place */
	assert_int_equal(search_below_ahead(&x.f.port, s, NULL), 0);
	assert_int_equal(s->below.state, BELOW_NOT_BEGUN);
	assert_null(s->below.list);
	assert_int_equal(x.f.below, 0);
	fake_end(&x.f);
}

static void
a_search_that_narrows_once_more_looks_at_no_edge(void **state)
{
	struct search *s;
	struct play x;
	(void)state;

	begin(&x, true);
	until_ahead(&x);
	requests(&x, 40);
	s = first(&x);
	search_set_task(s, TASK_NARROW);
	assert_int_equal(search_below_ahead(&x.f.port, s, NULL), 0);
	assert_int_equal(s->below.state, BELOW_NOT_BEGUN);
	assert_null(s->below.list);
	assert_int_equal(x.f.below, 0);
	fake_end(&x.f);
}

static void
a_verdict_that_it_is_not_for_has_nothing_of_it(void **state)
{
	struct verdict v = { .kind = VERDICT_PLACE, .share_low = 0 };
	struct group *group;
	struct search *s;
	struct play x;
	int rc;
	(void)state;

	begin(&x, true);
	until_ahead(&x);
	requests(&x, 40);
	s = first(&x);
	group = groups_at(s->cycle.groups, 0);
	assert_false(search_below_begin(&x.f.port, s, &v, group, 1, &rc, NULL));
	assert_int_equal(s->below.state, BELOW_NOT_BEGUN);
	assert_null(s->below.list);
	assert_int_equal(x.f.below, 0);
	fake_end(&x.f);
}

static void
what_has_enough_before_the_verdict_is_asked_for_no_longer(void **state)
{
	const struct verdict *v;
	struct play x;
	int asked = 0;
	(void)state;

	begin(&x, true);
	until_ahead(&x);
	first(&x)->final.wanted = 600;
	while (x.f.below > 0) {
		request(&x);
		asked++;
	}
	assert_in_range(asked, BELOW_PLENTY, BELOW_PLENTY + 20);
	assert_int_equal(first(&x)->phase, SEARCH_GATHERING);
	until_the_end(&x);
	assert_non_null(v = forest_verdict(x.f.port.forest, x.f.d->run->id, 1));
	assert_true(v->traces >= 600);
	assert_in_range(v->below_requests, BELOW_PLENTY, BELOW_PLENTY + 20);
	assert_string_equal(v->below_top, "lock");
	fake_end(&x.f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
		    what_is_below_costs_a_verdict_few_requests_more_and_none_of_its_figures),
		cmocka_unit_test(a_switch_is_waited_for_once),
		cmocka_unit_test(over_budget_it_ends_and_the_verdict_does_not_wait_for_it),
		cmocka_unit_test(agents_that_do_not_confirm_it_do_not_hold_the_verdict_up),
		cmocka_unit_test(after_congestion_the_edge_and_what_is_below_are_measured_anew),
		cmocka_unit_test(a_search_that_ends_meanwhile_leaves_nothing_asked_for),
		cmocka_unit_test(of_another_edge_it_starts_over),
		cmocka_unit_test(a_search_that_narrows_once_more_looks_at_no_edge),
		cmocka_unit_test(a_verdict_that_it_is_not_for_has_nothing_of_it),
		cmocka_unit_test(what_has_enough_before_the_verdict_is_asked_for_no_longer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
