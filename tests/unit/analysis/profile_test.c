/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "calls.h"

#include <unistd.h>

#include "base/rng.h"

static const struct profile_call *
node_named(const struct profile *p, const struct labels *l, const char *text)
{
	for (uint32_t i = 0; i < p->nnodes; i++)
		if (strcmp(labels_get(l, p->nodes[i].label)->text, text) == 0)
			return &p->nodes[i];
	fail_msg("no call %s", text);
	return NULL;
}

static uint64_t
steps(const struct profile *p, uint32_t node, uint32_t after, uint32_t then)
{
	for (uint32_t i = 0; i < p->nsteps; i++)
		if (p->steps[i].node == node && p->steps[i].after == after &&
		    p->steps[i].then == then)
			return p->steps[i].count;
	return 0;
}

static const struct made_call REMOTE[] = {
	{ -1, "front", "HOME", 0, 1000000 },
	{ 0, "front", "GET", 100000, 900000 }, /* the client's side */
	{ 1, "cart", "get", 150000, 800000 },
	{ 2, "cart", "query", 200000, 700000 },
};

static void
time_is_of_the_network_between_services_else_of_the_caller_or_callee(void **state)
{
	struct labels *l = labels_new();
	struct profile *p = profile_new(16);
	const struct profile_call *cart, *query, *home, *get;
	(void)state;

	profile_calls(p, l, REMOTE, 4, false);
	home = node_named(p, l, "front/hone:request_begin(HOME)");
	get = node_named(p, l, "front/hone:unit_begin(GET)");
	cart = node_named(p, l, "cart/hone:unit_begin(get)");
	query = node_named(p, l, "cart/hone:unit_begin(query)");
	assert_near(home->self->ns.mean, 200000, 0);
	assert_null(get->self);
	assert_null(get->way);
	assert_near(cart->way->ns.mean, 150000, 0);
	assert_near(cart->self->ns.mean, 150000, 0);
	assert_near(query->self->ns.mean, 500000, 0);
	assert_string_equal(labels_get(l, get->far)->text, "cart/hone:unit_begin(get)");
	assert_int_equal(cart->far, LABEL_NONE);
	profile_free(p);
	labels_free(l);
}

/* A random tree of sequential calls, with gaps, in two services. */
static uint32_t
random_calls(struct rng *r, struct made_call *calls, uint32_t max)
{
	static const char *const names[] = { "a", "b", "c" }, *const services[] = { "x", "y" };
	int64_t free_ns[32] = { 0 };
	uint32_t n = 1;

	calls[0] = (struct made_call){ -1, "x", "R", 0, 1 + (int64_t)rng_below(r, 1000000) };
	while (n < max) {
		int parent = (int)rng_below(r, n);
		int64_t left = calls[parent].end_ns - free_ns[parent];
		int64_t begin = free_ns[parent] + (int64_t)rng_below(r, (uint64_t)left / 2 + 1);

		calls[n] = (struct made_call){ parent, services[rng_below(r, 2)],
			names[rng_below(r, 3)], begin,
			begin + (int64_t)rng_below(r, (uint64_t)left / 2 + 1) };
		free_ns[parent] = calls[n].end_ns;
		free_ns[n] = begin;
		n++;
	}
	return n;
}

static void
times_of_all_calls_add_up_to_the_response_times(void **state)
{
	struct labels *l = labels_new();
	struct profile *p = profile_new(4096);
	double response = 0, sum = 0;
	struct rng r;
	(void)state;

	rng_seed(&r, 7);
	for (int i = 0; i < 500; i++) {
		struct made_call calls[12];
		uint32_t n = random_calls(&r, calls, 1 + (uint32_t)rng_below(&r, 12));

		profile_calls(p, l, calls, n, false);
		response += (double)calls[0].end_ns;
	}
	for (uint32_t i = 0; i < p->nnodes; i++) {
		const struct profile_call *n = &p->nodes[i];

		sum += n->self != NULL ? n->self->ns.mean * (double)n->self->ns.n : 0;
		sum += n->way != NULL ? n->way->ns.mean * (double)n->way->ns.n : 0;
		assert_true(n->parent == PROFILE_NONE ? i == 0 : n->parent < i);
	}
	assert_near(sum / response, 1, 1e-12);
	assert_int_equal(p->calls_lost + p->steps_lost, 0);
	profile_free(p);
	labels_free(l);
}

static void
successors_are_counted_in_their_context(void **state)
{
	static const struct made_call whole[] = { { -1, "s", "R", 0, 100 }, { 0, "s", "a", 10, 20 },
		{ 0, "s", "b", 30, 40 }, { 0, "s", "b", 50, 60 } };
	struct labels *l = labels_new();
	struct profile *p = profile_new(16);
	(void)state;

	profile_calls(p, l, whole, 4, false);
	profile_calls(p, l, whole, 4, false);
	profile_calls(p, l, whole, 2, false); /* cut after a */
	assert_int_equal(steps(p, 0, PROFILE_NONE, 1), 3);
	assert_int_equal(steps(p, 0, 1, 2), 2);
	assert_int_equal(steps(p, 0, 1, PROFILE_NONE), 1);
	assert_int_equal(steps(p, 0, 2, 2), 2);
	assert_int_equal(steps(p, 0, 2, PROFILE_NONE), 2);
	assert_int_equal(p->nodes[2].calls, 4);
	assert_int_equal(p->nodes[2].traces, 2);
	assert_int_equal(p->nodes[0].traces, 3);
	profile_free(p);
	labels_free(l);
}

static void
a_lossy_trace_is_no_evidence_of_absence(void **state)
{
	struct labels *l = labels_new();
	struct profile *p = profile_new(16);
	(void)state;

	profile_calls(p, l, REMOTE, 4, true);
	assert_int_equal(p->nsteps, 0);
	assert_int_equal(p->nodes[0].calls, 0);
	assert_int_equal(p->lossy, 1);
	assert_int_equal(p->traces, 0);
	assert_int_equal(p->nodes[0].self->ns.n, 1);
	profile_free(p);
	labels_free(l);
}

static void
entries_over_the_limit_are_counted_and_the_others_stay(void **state)
{
	struct labels *l = labels_new();
	struct profile *p = profile_new(2);
	(void)state;

	for (int i = 0; i < 3; i++)
		profile_calls(p, l, REMOTE, 4, false);
	assert_int_equal(p->nnodes, 2);
	assert_int_equal(p->nodes[1].calls, 3);
	assert_int_equal(p->calls_lost, 3);
	profile_free(p);
	labels_free(l);
}

static void
a_bucket_covers_an_eighth_of_an_octave(void **state)
{
	struct rng r;
	(void)state;

	rng_seed(&r, 1);
	for (int i = 0; i < 10000; i++) {
		double ns = 128 * exp2(rng_unit(&r) * 33.9);
		uint32_t b = profile_bucket(ns);

		assert_true(profile_bucket_ns(b) <= ns * (1 + 1e-12) &&
			    ns < profile_bucket_ns(b + 1) * (1 + 1e-12));
	}
	assert_int_equal(profile_bucket(0), 0);
	assert_int_equal(profile_bucket(1), 0);
	assert_int_equal(profile_bucket(1e18), PROFILE_BUCKETS - 1);
}

/* Two units that contain each other, and one of them is joined by the request. */
static void
units_that_contain_each_other_end_the_search_for_what_contains_them(void **state)
{
	struct kit *k = kit_new(NULL);
	struct profile *p = profile_new(16);
	struct critpath path;
	struct trace *t;
	(void)state;

	kit_rows(
	    k, ROWS({ 0, 0, 1, 'B', 0, "R" }, { 20, 0, 2, 'b', 7, "f" }, { 25, 0, 2, 'F', 8, "g" },
		   { 30, 0, 3, 'b', 8, "g" }, { 35, 0, 3, 'F', 7, "f" }, { 80, 0, 2, 'e', 7, "f" },
		   { 90, 0, 1, 'J', 7, "f" }, { 100, 0, 1, 'E', 0, "R" }));
	assert_non_null(t = assemble_next(k->assemble));
	assert_int_equal(critpath_extract(&path, t, k->labels, NULL, &k->arena, &k->e), 0);
	alarm(60); /* it would last for ever */
	assert_int_equal(profile_add(p, t, &path, k->labels, &k->e), 0);
	alarm(0);
	assert_int_equal(p->traces, 1);
	trace_free(t);
	profile_free(p);
	kit_free(k);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
		    time_is_of_the_network_between_services_else_of_the_caller_or_callee),
		cmocka_unit_test(times_of_all_calls_add_up_to_the_response_times),
		cmocka_unit_test(successors_are_counted_in_their_context),
		cmocka_unit_test(a_lossy_trace_is_no_evidence_of_absence),
		cmocka_unit_test(entries_over_the_limit_are_counted_and_the_others_stay),
		cmocka_unit_test(
		    units_that_contain_each_other_end_the_search_for_what_contains_them),
		cmocka_unit_test(a_bucket_covers_an_eighth_of_an_octave),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
