/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "paths.h"

#include "controlplane/search/narrow.h"
#include "controlplane/search/search_list.h"

static void
a_search_is_on_from_its_begin_to_its_end(void **state)
{
	struct diagnosis d = { .seed = 1 };
	struct search *s = search_new(&d, &(struct gap){ 1, 2 }, (struct hash128){ 1, 2 });
	(void)state;

	assert_false(search_is_on(s));
	search_enter(s, SEARCH_SWITCHING);
	assert_true(search_is_on(s));
	search_enter(s, SEARCH_GATHERING);
	search_enter(s, SEARCH_UNCONFIRMED);
	search_enter(s, SEARCH_BACKING_OFF);
	assert_true(search_is_on(s));
	search_enter(s, SEARCH_ENDED);
	assert_false(search_is_on(s));
	search_free(s);
}

static void
a_search_narrows_and_remembers_what_had_most(void **state)
{
	struct diagnosis d = { .seed = 1 };
	struct gap root = { 1, 9 };
	struct search *s = search_new(&d, &root, (struct hash128){ 0 });
	struct part parts[2] = { { .gap = { 1, 5 }, .of_gap = 0.8, .share = 0.4 },
		{ .gap = { 5, 9 }, .of_gap = 0.2, .share = 0.1 } };
	struct measured m = { .all = { .t = 10, .whole = 200 },
		.share = 0.5,
		.carries = 100,
		.parts = parts,
		.nparts = 2 };
	(void)state;

	s->origin.share = 0.5;
	narrow(s, &m, &parts[0]);
	assert_int_equal(s->at.gap.to, 5);
	assert_int_equal(s->at.most.to, 5);
	assert_near(s->at.share, 0.4, 1e-12);
	assert_near(s->at.carried, 80, 1e-12);
	assert_near(s->at.of_root, 0.8, 1e-12);
	/* the whole gap's share on the path that has it, and half of it over all requests */
	parts[0] = (struct part){ .gap = { 1, 3 }, .of_gap = 1, .share = 0.2 };
	m.share = 0.4;
	narrow(s, &m, &parts[0]);
	assert_int_equal(s->at.gap.to, 3);
	assert_int_equal(s->at.most.to, 5); /* 0.4 of the first gap is less than half */
	search_free(s);
}

/* The requests of a cycle have twice the variance of all that came since the diagnosis began. */
static void
what_a_few_requests_carried_is_no_more_than_all_did(void **state)
{
	struct part part = { .gap = { 1, 5 }, .of_gap = 1, .share = 0.5 };
	struct measured m = { .share = 0.5, .parts = &part, .nparts = 1 };
	struct diagnosis d = { .seed = 1 };
	struct search *s;
	struct group *g = NULL;
	struct paths p;
	double variance;
	(void)state;

	paths_begin(&p, "()");
	for (int64_t i = 0; i < 100; i++)
		g = paths_add(&p, "()", (const int64_t[]){ 1000 + i * 10 });
	d.groups = p.groups;
	s = search_new(&d, &(struct gap){ 1, 9 }, g->shape.key);
	variance = moments_variance(&g->total);
	m.all.whole = 2 * variance;
	narrow(s, &m, &part);
	assert_near(s->at.carried, variance / 2, 1e-6);
	m.all.whole = variance / 2;
	s->origin.share = 0;
	narrow(s, &m, &part);
	assert_near(s->at.carried, variance / 4, 1e-6);
	m.all.whole = 2 * variance;
	s->origin.share = 0;
	d.disturbed = true; /* what all varied by is not known */
	narrow(s, &m, &part);
	assert_near(s->at.carried, variance, 1e-6);
	search_free(s);
	paths_end(&p);
}

static void
a_followed_side_is_compared_by_its_mean_and_the_shares_stay_those_of_all(void **state)
{
	(void)state;

	for (int with = 0; with < 2; with++) {
		struct diagnosis d = { .seed = 1 };
		struct search *s = search_new(&d, &(struct gap){ 1, 9 }, (struct hash128){ 0 });
		const struct separation sep = { 4, 0.9, with, 10, 10, 400, 100 };

		s->origin.share = s->at.share = 0.5;
		assert_int_equal(follow_slow_side(s, &sep, NULL), 0);
		assert_int_equal(s->sides.followed, SIDE_SLOW);
		assert_false(s->at.by_latency);
		assert_near(s->origin.share, 0.5, 0);
		assert_near(s->at.share, 0.5, 0);
		assert_int_equal(label_set_has(&s->sides.must, 4), with);
		assert_int_equal(label_set_has(&s->sides.must_not, 4), !with);
		assert_true(is_needed(s, 4));
		assert_true(is_needed(s, 9));
		assert_false(is_needed(s, 5));
		search_free(s);
	}
}

static void
a_duplicate_is_of_the_same_requests_and_the_same_side(void **state)
{
	struct diagnosis d = { .seed = 1 };
	const struct gap gap = { 1, 9 };
	struct search *a = search_list_add(&d, &gap, (struct hash128){ 7, 7 }), *b;
	(void)state;

	b = search_list_add(&d, &gap, (struct hash128){ 7, 7 });
	assert_true(search_list_has_gap(&d, &gap));
	assert_true(search_list_has_group(&d, (struct hash128){ 7, 7 }));
	assert_false(search_list_has_group(&d, (struct hash128){ 7, 8 }));
	assert_false(search_is_duplicate(b)); /* the other search has not begun */
	search_enter(a, SEARCH_SWITCHING);
	assert_true(search_is_duplicate(b));
	a->sides.followed = SIDE_SLOW;
	assert_false(search_is_duplicate(b));
	a->sides.followed = SIDE_BOTH;
	search_enter(a, SEARCH_ENDED); /* without a verdict */
	assert_false(search_is_duplicate(b));
	search_free(a);
	search_free(b);
	free(d.searches);
}

/* Of the requests of its group some are probed: those of the cycle come less often. */
static void
patience_is_for_150_requests_by_the_slower_of_two_rates(void **state)
{
	enum { SECOND_NS = 1000000000 };
	struct search_port port = { .now = { 20 * (int64_t)SECOND_NS },
		.settings = { .cycle_max_ns = 20 * (int64_t)SECOND_NS } };
	const int64_t ns[] = { 500, 500, 500 };
	struct diagnosis d = { .seed = 1 };
	const struct group *group = NULL;
	struct search *s;
	struct paths p;
	(void)state;

	paths_begin(&p, "(ab)");
	for (int i = 0; i < 100; i++)
		group = paths_add(&p, "(ab)", ns);
	d.groups = p.groups;
	s = search_new(&d, &(struct gap){ 1, 2 }, group->shape.key);
	s->cycle.begun.ns = 15 * (int64_t)SECOND_NS;
	assert_int_equal(search_patience_ns(&port, s), 30 * (int64_t)SECOND_NS);
	s->cycle.traces = 10;
	assert_int_equal(search_patience_ns(&port, s), 75 * (int64_t)SECOND_NS);
	s->cycle.traces = 50;
	assert_int_equal(search_patience_ns(&port, s), 30 * (int64_t)SECOND_NS);
	s->final.patient = true; /* 1,000 requests in place of 150 */
	s->cycle.traces = 1000;
	port.settings.cycle_max_ns *= 2;
	assert_int_equal(search_patience_ns(&port, s), 200 * (int64_t)SECOND_NS);
	port.settings.cycle_max_ns /= 2;
	s->final.patient = false;
	s->cycle.traces = 1;
	assert_int_equal(search_patience_ns(&port, s), FINAL_PATIENCE * port.settings.cycle_max_ns);
	s->origin.group_id.a++;
	assert_int_equal(search_patience_ns(&port, s), 0);
	search_free(s);
	paths_end(&p);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_search_is_on_from_its_begin_to_its_end),
		cmocka_unit_test(a_search_narrows_and_remembers_what_had_most),
		cmocka_unit_test(what_a_few_requests_carried_is_no_more_than_all_did),
		cmocka_unit_test(
		    a_followed_side_is_compared_by_its_mean_and_the_shares_stay_those_of_all),
		cmocka_unit_test(patience_is_for_150_requests_by_the_slower_of_two_rates),
		cmocka_unit_test(a_duplicate_is_of_the_same_requests_and_the_same_side),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
