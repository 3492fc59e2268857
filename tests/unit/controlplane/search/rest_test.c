/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "fake_port.h"

#include "controlplane/search/rest.h"
#include "controlplane/search/search_rest.h"
#include "controlplane/search/search_verdict.h"
#include "controlplane/search/worth.h"

enum { TRACES = 400 };

/* "(abc)": of the times from 'a' to 'b', 'b' to 'c' and 'c' to the end; 1 ms from the begin to 'a'. */
static struct group *
add(struct paths *p, int64_t ab, int64_t bc, int64_t c)
{
	const int64_t time_ns[] = { 1 * MS_NS, ab, bc, c };

	return paths_add(p, "(abc)", time_ns);
}

static struct rest_share
rest(struct paths *p, struct group *g, struct gap known, struct gap place, bool by_latency)
{
	struct rest_share r;

	assert_int_equal(rest_share_of(&r, &g, 1, &known, &place, by_latency, &p->arena, NULL), 0);
	return r;
}

static void
an_independent_place_has_all_of_its_share_without_the_known_cause(void **state)
{
	struct group *g = NULL;
	struct paths p;
	struct rest_share r;
	(void)state;

	paths_begin(&p, "(abc)");
	for (int i = 0; i < TRACES; i++) /* variances 4 : 1, not correlated */
		g = add(&p, (i & 1) * 20 * MS_NS, (i >> 1 & 1) * 10 * MS_NS, 1 * MS_NS);
	r = rest(
	    &p, g, paths_gap(&p, 'a', 'b', 0, false), paths_gap(&p, 'b', 'c', 0, false), false);
	assert_near(r.share, 0.2, 1e-9);
	assert_true(r.se > 0 && r.se < 0.02);
	paths_end(&p);
}

static void
a_place_that_is_slow_with_the_known_cause_has_less_than_its_share(void **state)
{
	struct group *g = NULL;
	struct paths p;
	struct rest_share r;
	(void)state;

	paths_begin(&p, "(abc)");
	for (int i = 0; i < TRACES;
	     i++) /* T varies by 30 ms, 10 of them in b to c: a share of 1/3 */
		g = add(&p, (i & 1) * 20 * MS_NS, (i & 1) * 10 * MS_NS, 1 * MS_NS);
	r = rest(
	    &p, g, paths_gap(&p, 'a', 'b', 0, false), paths_gap(&p, 'b', 'c', 0, false), false);
	assert_near(r.share, 1.0 / 9, 1e-9);
	paths_end(&p);
}

static void
of_slow_requests_the_share_is_of_the_mean(void **state)
{
	struct group *g = NULL;
	struct paths p;
	struct rest_share r;
	(void)state;

	paths_begin(&p, "(abc)");
	for (int i = 0; i < TRACES; i++)
		g = add(&p, 5 * MS_NS, 3 * MS_NS, 1 * MS_NS);
	r = rest(&p, g, paths_gap(&p, 'a', 'b', 0, false), paths_gap(&p, 'b', 'c', 0, false), true);
	assert_near(r.share, 0.3, 1e-9);
	r = rest(
	    &p, g, paths_gap(&p, 'a', 'b', 0, false), paths_gap(&p, 'b', 'c', 0, false), false);
	assert_near(r.share, 0, 0); /* no variance */
	paths_end(&p);
}

/* ---- after a verdict ---- */

/* The edge from 'a' to 'b' gets the verdict; bc_ns is the time from 'b' to 'c' in half of the requests.
 * Returns the searches. */
static uint32_t
searches_after_a_verdict(int64_t bc_ns, uint32_t causes_max, double *left)
{
	const struct groups_options o = { .groups_max = 1, .samples_max = 1 };
	struct group *g = NULL;
	struct search *s;
	struct fake f;
	uint32_t n;

	fake_begin(&f, "(abc)");
	f.d->run->effect_min = 0.2;
	f.d->run->causes_max = causes_max;
	s = fake_search(&f, 'a', 'b');
	search_enter(s, SEARCH_SWITCHING);
	search_enter(s, SEARCH_GATHERING);
	f.d->groups = f.paths.groups;
	s->cycle.groups = groups_new(&o, f.paths.labels); /* all edges are always on */
	for (int i = 0; i < TRACES; i++)
		g = add(
		    &f.paths, (i & 1) * 20 * MS_NS, (i >> 1 & 1) * bc_ns, (5 + i % 3) * MS_NS / 10);
	s->origin.group_id = g->shape.key;
	assert_int_equal(conclude(&f.port, s, f.paths.groups, g, 1, VERDICT_PLACE, NULL), 0);
	assert_non_null(s->outcome.verdict);
	*left = search_left(&f.port, s);
	n = f.d->nsearches;
	if (n > 1) {
		const struct search *x = f.d->searches[1];
		const struct gap bc = paths_gap(&f.paths, 'b', 'c', 0, false);

		assert_true(gap_same_ends(&x->at.gap, &bc));
		assert_int_equal(x->phase, SEARCH_WAITING);
		assert_near(x->origin.share, 1 - s->outcome.verdict->share, 0.01);
	}
	f.d->groups = NULL;
	fake_end(&f);
	return n;
}

static void
what_a_verdict_leaves_is_searched_if_it_is_worth_mending(void **state)
{
	double left;
	(void)state;

	assert_int_equal(searches_after_a_verdict(12 * MS_NS, 3, &left), 2); /* 400 : 144 */
	assert_near(left, 144.0 / 544, 0.01);
	assert_int_equal(searches_after_a_verdict(8 * MS_NS, 3, &left), 1); /* 400 : 64 */
	assert_near(left, 64.0 / 464, 0.01);
}

static void
no_more_causes_are_searched_than_asked_for(void **state)
{
	double left;
	(void)state;

	assert_int_equal(searches_after_a_verdict(12 * MS_NS, 1, &left), 1);
	assert_near(left, 144.0 / 544, 0.01);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_independent_place_has_all_of_its_share_without_the_known_cause),
		cmocka_unit_test(a_place_that_is_slow_with_the_known_cause_has_less_than_its_share),
		cmocka_unit_test(of_slow_requests_the_share_is_of_the_mean),
		cmocka_unit_test(what_a_verdict_leaves_is_searched_if_it_is_worth_mending),
		cmocka_unit_test(no_more_causes_are_searched_than_asked_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
