/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "paths.h"

#include "controlplane/search/baseline.h"

enum { N = 400 };

/* Two paths: all requests pass a to b, half of them c to d. x, y, t: the true times. */
static void
add_requests(struct paths *p, uint64_t seed, int64_t more_ns, double *x, double *y, double *t)
{
	struct rng rng;

	rng_seed(&rng, seed);
	for (int i = 0; i < N; i++) {
		int64_t ns[] = { 100, 1000 + (int64_t)rng_below(&rng, 800), 50,
			500 + (int64_t)rng_below(&rng, 400) +
			    (rng_below(&rng, 4) == 0 ? more_ns : 0),
			30, 20 };
		bool both = i % 2 == 0;

		paths_add(p, both ? "(abcd)" : "(ab)", ns);
		x[i] = (double)ns[1];
		y[i] = both ? (double)ns[3] : 0;
		t[i] = (double)(ns[0] + ns[1] + ns[2] + (both ? ns[3] + ns[4] : 0));
	}
}

static double
covariance(const double *x, const double *t)
{
	struct comoments c = { 0 };

	for (int i = 0; i < N; i++)
		comoments_add(&c, x[i], t[i]);
	return comoments_covariance(&c);
}

static void
take(struct baseline *b, struct paths *p, uint64_t seed, int64_t more_ns, double confidence)
{
	double x[N], y[N], t[N];

	paths_begin(p, "(abcd)");
	add_requests(p, seed, more_ns, x, y, t);
	assert_int_equal(
	    baseline_of(b, p->groups, p->labels, 4, confidence, 1, &p->arena, NULL), 0);
}

static void
what_all_edges_carry_adds_up_to_the_variance_of_all_requests(void **state)
{
	double x[N], y[N], t[N], sum = 0, mean = 0;
	struct baseline b;
	struct paths p;
	(void)state;

	paths_begin(&p, "(abcd)");
	add_requests(&p, 7, 0, x, y, t);
	assert_int_equal(baseline_of(&b, p.groups, p.labels, 4, 0, 1, &p.arena, NULL), 0);
	assert_int_equal(b.requests, N);
	assert_near(b.variance.ns2, covariance(t, t), 1e-9 * covariance(t, t));
	for (uint32_t i = 0; i < b.nedges; i++) {
		sum += b.edges[i].carried.ns2;
		mean += b.edges[i].mean_ns;
	}
	assert_near(sum, b.variance.ns2, 1e-9 * sum);
	assert_near(mean, b.mean_ns, 1e-9 * mean);
	assert_near(baseline_edge(&b, "s/app:a", "s/app:b").ns2, covariance(x, t), 1e-6 * sum);
	assert_near(baseline_edge(&b, "s/app:c", "s/app:d").ns2, covariance(y, t), 1e-6 * sum);
	assert_near(baseline_edge(&b, "s/app:d", "s/app:c").ns2, 0, 0);
	paths_end(&p);
}

static void
as_text_it_stays_what_it_is(void **state)
{
	struct buf text = { 0 };
	struct baseline b, again;
	uint32_t kept = 0;
	struct paths p;
	(void)state;

	take(&b, &p, 7, 0, 0.95);
	baseline_print(&b, &text);
	buf_u8(&text, 0);
	assert_true(baseline_read(&again, (char *)text.data, &p.arena));
	assert_int_equal(again.requests, b.requests);
	assert_near(again.variance.ns2, b.variance.ns2, 1e-8 * b.variance.ns2);
	for (uint32_t i = 0; i < b.nedges; i++) {
		const struct carried *was = &b.edges[i].carried;
		struct carried is = baseline_edge(&again, b.edges[i].from, b.edges[i].to);

		if (was->ns2 < 1e-4 * b.variance.ns2) {
			assert_near(is.ns2, 0, 0); /* next to nothing is not kept */
			continue;
		}
		kept++;
		assert_near(is.ns2, was->ns2, 1e-8 * was->ns2);
		assert_near(is.low_ns2, was->low_ns2, 1e-8 * was->high_ns2);
		assert_near(is.high_ns2, was->high_ns2, 1e-8 * was->high_ns2);
	}
	assert_true(kept >= 3 && again.nedges == kept);
	buf_release(&text);
	paths_end(&p);
}

static void
text_that_is_no_baseline_is_not_read(void **state)
{
	static const char *const BAD[] = { "", "\n", "1\t2\t3", "1\t2\t3\t-4\n", "1\t2\t3\tnan\n",
		"1\t2\t3\t4\t5\n", "1\t2\t3\t4\nx\n", "1\t2\t3\t4\n1\t2\t3\t4\t0\ta\n",
		"1\t2\t3\t4\n1\t2\t3\t4\t0\ta\tb", "1\t2\t3\t4\n1\t2\t3\t4\ta\tb\n",
		"1\t2\t3\t4\n\n", "1\t2\t3\n4\t", "1\t2\t3\t4\n1\t2\t3\tinf\t0\ta\tb\n" };
	struct arena a = { 0 };
	struct baseline b;
	(void)state;

	for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++)
		assert_false(baseline_read(&b, BAD[i], &a));
	assert_true(baseline_read(&b, "1\t2\t3\t4\n1\t2\t3\t4\t0\ta\tb\n", &a));
	assert_int_equal(b.nedges, 1);
	arena_release(&a);
}

static void
what_was_there_before_is_not_new(void **state)
{
	struct carried now = { 10, 9, 11 }, before = { 10, 9, 11 }, none = { 0, 0, 0 };
	struct more m;
	(void)state;

	m = carried_more(&now, &before);
	assert_near(m.part, 0, 1e-12);
	assert_near(m.low, 0, 0);
	m = carried_more(&none, &before);
	assert_near(m.part, 0, 0);
	before = (struct carried){ 1, 0.9, 1.1 };
	m = carried_more(&now, &before);
	assert_near(m.part, 0.9, 1e-12);
	assert_true(m.low > 0.88 && m.low < m.part);
	before.high_ns2 = 5; /* as little is known of it */
	m = carried_more(&now, &before);
	assert_true(m.low > 0.4 && m.low < 0.55);
	m = carried_more(&now, &none);
	assert_near(m.part, 1, 1e-5);
	assert_true(m.low > 0.99);
}

static void
waits_for_the_threads_of_one_service_are_one_place(void **state)
{
	struct carrying_edge edges[] = {
		{ "a/hone:fork(x)", "b/hone:unit_begin(x)", true, { 3, 2, 4 }, 1 },
		{ "a/hone:fork(y)", "b/hone:unit_begin(y)", true, { 4, 3, 5 }, 1 },
		{ "a/app:p", "b/app:q", false, { 8, 8, 8 }, 1 },
		{ "b/hone:fork(z)", "bb/hone:unit_begin(z)", true, { 16, 16, 16 }, 1 },
	};
	struct baseline b = { .edges = edges, .nedges = 4 }, empty = { 0 };
	struct more m;
	(void)state;

	assert_near(baseline_pool(&b, "b/hone:join(w)").ns2, 7, 0);
	assert_near(baseline_pool(&b, "b/hone:join(w)").high_ns2, 9, 0);
	m = baseline_more(&b, &empty, "a/hone:fork(x)", "b/hone:unit_begin(x)", true);
	assert_near(m.part, 1, 1e-5);
	m = baseline_more(&b, &b, "a/app:p", "b/app:q", false);
	assert_near(m.part, 0, 1e-12);
}

/* Of 40 pairs of windows of the same application, and of 40 in one of which the edge takes longer for a quarter of them. */
static void
noise_is_not_new_and_a_cause_is(void **state)
{
	int noise = 0, cause = 0;
	(void)state;

	for (uint64_t i = 1; i <= 40; i++) {
		struct baseline before, same, longer;
		struct paths p, q, r;

		take(&before, &p, i, 0, 0.95);
		take(&same, &q, 1000 + i, 0, 0.95);
		take(&longer, &r, 2000 + i, 3000, 0.95);
		noise += baseline_more(&same, &before, "s/app:c", "s/app:d", false).low > 0;
		cause += baseline_more(&longer, &before, "s/app:c", "s/app:d", false).low > 0.6;
		paths_end(&p);
		paths_end(&q);
		paths_end(&r);
	}
	assert_true(noise <= 3);
	assert_true(cause >= 39);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_all_edges_carry_adds_up_to_the_variance_of_all_requests),
		cmocka_unit_test(as_text_it_stays_what_it_is),
		cmocka_unit_test(text_that_is_no_baseline_is_not_read),
		cmocka_unit_test(what_was_there_before_is_not_new),
		cmocka_unit_test(waits_for_the_threads_of_one_service_are_one_place),
		cmocka_unit_test(noise_is_not_new_and_a_cause_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
