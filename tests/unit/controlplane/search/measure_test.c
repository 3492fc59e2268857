/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "paths.h"

#include "controlplane/search/measure.h"

static const struct label_set NONE = { 0 };

static struct measure_input
input(const struct paths *p, char from, char to)
{
	return (struct measure_input){ .groups = p->groups,
		.gap = paths_gap(p, from, to, 0, false),
		.must = &NONE,
		.must_not = &NONE,
		.nlabels = labels_count(p->labels) };
}

static void
measure(struct measured *m, const struct measure_input *in, struct paths *p)
{
	assert_int_equal(measure_gap(m, in, &p->arena, NULL), 0);
	assert_int_equal(measure_parts(m, in, ROW_MODEL, NULL, &p->arena, NULL), 0);
}

/* Requests of three shapes with random times, in this order. */
static void
add_mixed(struct paths *p, const uint32_t *order, uint32_t n)
{
	static const char *const SHAPES[] = { "(abcd)", "(abxcd)", "(abcyd)" };
	static const uint32_t NEDGES[] = { 5, 6, 6 };

	for (uint32_t k = 0; k < n; k++) {
		uint32_t its = order[k];
		struct rng rng;
		int64_t ns[6];

		rng_seed(&rng, its);
		for (uint32_t i = 0; i < NEDGES[its % 3]; i++)
			ns[i] = 1000 + (int64_t)(rng_next(&rng) % (i == 2 ? 9000 : 500));
		paths_add(p, SHAPES[its % 3], ns);
	}
}

static void
shares_add_up_to_one(void **state)
{
	(void)state;

	for (uint64_t seed = 1; seed <= 20; seed++) {
		for (int by_latency = 0; by_latency < 2; by_latency++) {
			struct paths p;
			struct measure_input in;
			struct measured m;
			struct rng rng;
			uint32_t order[300];
			double sum = 0;

			paths_begin(&p, "(abcdxy)");
			rng_seed(&rng, seed);
			shuffle(order, 300, &rng);
			add_mixed(&p, order, 300);
			in = input(&p, 'a', 'd');
			in.by_latency = by_latency;
			measure(&m, &in, &p);
			for (uint32_t i = 0; i < m.nparts; i++) {
				sum += m.parts[i].of_gap;
				assert_true(m.parts[i].carries <= m.parts[m.top].carries);
			}
			assert_near(sum, 1, 1e-9);
			paths_end(&p);
		}
	}
}

static double
part_between(const struct measured *m, uint32_t from, uint32_t to)
{
	for (uint32_t i = 0; i < m->nparts; i++)
		if (m->parts[i].gap.from == from && m->parts[i].gap.to == to)
			return m->parts[i].of_gap;
	return NAN;
}

/* Groups are numbered in the order in which their first trace came. */
static void
the_order_of_groups_does_not_matter(void **state)
{
	double carries = NAN, share = NAN, n = NAN, bx = NAN, se = NAN, ahead = NAN;
	struct rng rng;
	(void)state;

	rng_seed(&rng, 3);
	for (int round = 0; round < 30; round++) {
		struct paths p;
		struct measure_input in;
		struct measured m;
		uint32_t order[240];

		paths_begin(&p, "(abcdxy)");
		shuffle(order, 240, &rng);
		add_mixed(&p, order, 240);
		in = input(&p, 'b', 'd');
		measure(&m, &in, &p);
		if (round == 0) {
			carries = m.carries;
			share = m.share;
			n = m.pooled;
			bx = part_between(&m, m.parts[0].gap.from, m.parts[0].gap.to);
			se = m.parts[0].of_gap_se;
			ahead = m.ahead;
		}
		assert_near(m.carries, carries, 1e-6 * carries);
		assert_near(m.share, share, 1e-9);
		assert_near(m.pooled, n, 0);
		assert_near(m.parts[0].of_gap, bx, 1e-9);
		assert_near(m.parts[0].of_gap_se, se, 1e-9);
		assert_near(m.ahead, ahead, 1e-6);
		paths_end(&p);
	}
}

/* cov(X, T) over all groups is that of all traces taken as one. */
static void
the_gap_carries_the_covariance_of_all_traces(void **state)
{
	struct paths p;
	struct measure_input in;
	struct measured m;
	double x[100], t[100], mean_x = 0, mean_t = 0, xt = 0, tt = 0;
	(void)state;

	paths_begin(&p, "(abx)");
	for (int i = 0; i < 100; i++) {
		int64_t ns[] = { 100 + i * 7 % 13, 1000 + i * i % 101, 50 + i * 3 % 29,
			500 + i % 7 };
		bool other = i % 3 == 0;

		paths_add(&p, other ? "(axb)" : "(ab)", ns);
		x[i] = (double)(other ? ns[1] + ns[2] : ns[1]);
		t[i] = (double)(ns[0] + ns[1] + ns[2] + (other ? ns[3] : 0));
		mean_x += x[i] / 100;
		mean_t += t[i] / 100;
	}
	for (int i = 0; i < 100; i++) {
		xt += (x[i] - mean_x) * (t[i] - mean_t);
		tt += (t[i] - mean_t) * (t[i] - mean_t);
	}
	in = input(&p, 'a', 'b');
	assert_int_equal(measure_gap(&m, &in, &p.arena, NULL), 0);
	assert_int_equal(m.nmembers, 2);
	assert_near(m.carries, xt / 100, 1e-6);
	assert_near(m.share, xt / tt, 1e-12);
	in.by_latency = true;
	assert_int_equal(measure_gap(&m, &in, &p.arena, NULL), 0);
	assert_near(m.carries, mean_x, 1e-9);
	assert_near(m.share, mean_x / mean_t, 1e-12);
	paths_end(&p);
}

static void
a_member_has_what_it_must_and_lacks_what_it_must_not(void **state)
{
	struct paths p;
	struct measure_input in;
	struct measured m;
	struct label_set must = { 0 }, must_not = { 0 };
	(void)state;

	paths_begin(&p, "(abxy)");
	for (int i = 0; i < 10; i++) {
		paths_add(&p, "(ab)", (const int64_t[]){ 10, 10 + i, 10 });
		paths_add(&p, "(axxb)", (const int64_t[]){ 10, 10 + i, 10, 10, 10 });
		paths_add(&p, "(axyb)", (const int64_t[]){ 10, 10 + i, 10, 10, 10 });
	}
	in = input(&p, 'a', 'b');
	in.must = &must;
	in.must_not = &must_not;
	assert_int_equal(measure_gap(&m, &in, &p.arena, NULL), 0);
	assert_near(m.n, 30, 0);
	label_set_add(&must, p.of['x']);
	assert_int_equal(measure_gap(&m, &in, &p.arena, NULL), 0);
	assert_near(m.n, 20, 0);
	label_set_add(&must_not, p.of['y']);
	assert_int_equal(measure_gap(&m, &in, &p.arena, NULL), 0);
	assert_near(m.n, 10, 0);
	label_set_add(&must, p.of['y']);
	assert_int_equal(measure_gap(&m, &in, &p.arena, NULL), 0);
	assert_int_equal(m.nmembers, 0);
	label_set_release(&must);
	label_set_release(&must_not);
	paths_end(&p);
}

static void
the_label_that_separates_is_found_whatever_the_order(void **state)
{
	(void)state;

	for (int turned = 0; turned < 2; turned++) {
		struct paths p;
		struct measure_input in;
		struct measured m;
		struct separation s;
		uint32_t enabled[2];

		paths_begin(&p, "(abxy)");
		for (int i = 0; i < 40; i++) {
			paths_add(&p, "(ab)", (const int64_t[]){ 10, 100 + i, 10 });
			paths_add(&p, "(axb)", (const int64_t[]){ 10, 1000 + i, 10, 10 });
			paths_add(&p, "(ayb)", (const int64_t[]){ 10, 110 + i, 10, 10 });
		}
		in = input(&p, 'a', 'b');
		enabled[turned] = p.of['x'];
		enabled[!turned] = p.of['y'];
		in.enabled = enabled;
		in.nenabled = 2;
		assert_int_equal(measure_gap(&m, &in, &p.arena, NULL), 0);
		assert_int_equal(measure_separation(&s, &m, &in, &p.arena, NULL), 0);
		assert_int_equal(s.label, p.of['x']);
		assert_true(s.with);
		assert_true(s.between > 0.9 && s.between <= 1);
		assert_near(s.nwith, 40, 0);
		assert_near(s.nwithout, 80, 0);
		assert_near(s.slow_ns, 1029.5, 1e-9);
		paths_end(&p);
	}
}

static void
nothing_separates_where_all_requests_take_the_same_path(void **state)
{
	struct paths p;
	struct measure_input in;
	struct measured m;
	struct separation s;
	(void)state;

	paths_begin(&p, "(abx)");
	for (int i = 0; i < 40; i++)
		paths_add(&p, "(axb)", (const int64_t[]){ 10, 100 + i, 10, 10 });
	in = input(&p, 'a', 'b');
	in.enabled = &p.of['x'];
	in.nenabled = 1;
	assert_int_equal(measure_gap(&m, &in, &p.arena, NULL), 0);
	assert_int_equal(measure_separation(&s, &m, &in, &p.arena, NULL), 0);
	assert_int_equal(s.label, LABEL_NONE);
	paths_end(&p);
}

/* One request in ten passes b to c, and all of these take equally long: all of the variance lies
 * between the requests that pass it and those that do not. */
static void
what_few_requests_pass_is_measured_over_all(void **state)
{
	struct paths p;
	struct measure_input in;
	struct measured m;
	(void)state;

	paths_begin(&p, "(abxc)");
	for (int i = 0; i < 400; i++)
		if (i % 10 == 0)
			paths_add(
			    &p, "(abxc)", (const int64_t[]){ 1000 + i % 7, 10, 20, 30000, 10 });
		else
			paths_add(&p, "(a)", (const int64_t[]){ 1000 + i % 7, 10 });
	in = input(&p, 'b', 'c');
	measure(&m, &in, &p);
	assert_near(m.all.n, 400, 0);
	assert_near(m.all.passing, 40, 0);
	assert_near(m.n, 40, 0);
	assert_near(m.pooled, 40, 0);
	assert_int_equal(m.nabsent, 1);
	assert_true(m.share > 0.99);
	assert_near(m.cover, 1, 1e-9);
	assert_int_equal(m.nparts, 2);
	assert_near(m.parts[m.top].of_gap, 30000 / 30020.0, 1e-6);
	assert_near(m.parts[m.top].share, m.share * 30000 / 30020, 1e-6);
	assert_near(m.parts[m.top].mean_ns, 30000, 1e-6);
	/* the requests that pass it, compared by their means */
	in.by_mean = true;
	measure(&m, &in, &p);
	assert_true(m.share > 0.99);
	assert_near(m.parts[m.top].of_gap, 30000 / 30020.0, 1e-9);
	paths_end(&p);
}

/* The back edge of a loop is an edge of all requests of the group, also of those that iterate
 * only once. */
static void
requests_that_do_not_take_the_way_back_do_not_pass_it(void **state)
{
	struct paths p;
	struct measure_input in;
	struct measured m;
	(void)state;

	paths_begin(&p, "(ab)");
	for (int i = 0; i < 100; i++)
		paths_add(&p, i % 10 == 0 ? "(abab)" : "(ab)",
		    (const int64_t[]){ 10, 10, i % 10 == 0 ? 1000 : 10, 10, 10 });
	in = input(&p, 'b', 'a');
	in.gap.back = true;
	assert_int_equal(measure_gap(&m, &in, &p.arena, NULL), 0);
	assert_int_equal(m.nmembers, 1);
	assert_near(m.all.passing, 10, 0);
	assert_near(m.all.x, 100, 1e-9);
	paths_end(&p);
}

/* The parts of a path that only fast requests take have negative shares. */
static void
the_parts_of_a_fast_subgroup_carry_nothing(void **state)
{
	struct paths p;
	struct measure_input in;
	struct measured m;
	struct label_set must = { 0 };
	(void)state;

	paths_begin(&p, "(abxy)");
	for (int i = 0; i < 300; i++)
		if (i % 3 == 0)
			paths_add(&p, "(axb)", (const int64_t[]){ 10, 100 + i % 11 * 9, 500, 10 });
		else
			paths_add(
			    &p, "(ayb)", (const int64_t[]){ 10, 100, 5000 + i % 13 * 90, 10 });
	in = input(&p, 'a', 'b');
	measure(&m, &in, &p); /* the model is slow */
	assert_int_equal(m.parts[m.top].gap.from, p.of['y']);
	assert_true(m.parts[m.top].share > 0.9);
	label_set_add(&must, p.of['x']);
	in.must = &must;
	measure(&m, &in, &p);
	assert_near(m.n, 100, 0);
	assert_true(
	    m.share > 0.99); /* the share is over all requests, although only some are followed */
	for (uint32_t i = 0; i < m.nparts; i++)
		assert_true(m.parts[i].share < 0);
	label_set_release(&must);
	paths_end(&p);
}

/* Half of the requests pass x and half of them y, independently of the time; all pass c. */
static void
parts_between_labels_that_all_have_stand_for_all(void **state)
{
	struct paths p;
	struct measure_input in;
	struct measured m;
	(void)state;

	paths_begin(&p, "(abcxy)");
	for (int i = 0; i < 200; i++)
		paths_add(&p, i % 2 ? "(axcb)" : "(aycb)",
		    (const int64_t[]){ 10, 10, 10, 1000 + i / 2 % 10 * 1000, 10 });
	in = input(&p, 'a', 'b');
	measure(&m, &in, &p);
	assert_near(m.cover, 0.5, 1e-9);
	assert_near(m.parts[m.top].share, m.share / 2, 0.01);
	assert_int_equal(measure_parts(&m, &in, ROW_COMMON, NULL, &p.arena, NULL), 0);
	assert_near(m.cover, 1, 1e-9);
	assert_int_equal(m.nparts, 2);
	assert_int_equal(m.parts[m.top].gap.from, p.of['c']);
	assert_near(m.parts[m.top].share, m.share, 1e-9);
	paths_end(&p);
}

/* One slow request among 40: the covariance rests on few of them. */
static void
one_slow_request_lowers_the_effective_sample_size(void **state)
{
	double effective[2];
	(void)state;

	for (int even = 0; even < 2; even++) {
		struct paths p;
		struct measure_input in;
		struct measured m;

		paths_begin(&p, "(abx)");
		for (int i = 0; i < 40; i++)
			paths_add(&p, "(axb)",
			    (const int64_t[]){
				10, even ? 1000 * (i % 2) : 100000 * (i == 7), 10, 10 });
		in = input(&p, 'a', 'b');
		measure(&m, &in, &p);
		effective[even] = m.effective;
		paths_end(&p);
	}
	assert_true(effective[0] < 2);
	assert_near(effective[1], 40, 1e-6);
}

static void
the_lead_of_a_single_part_is_infinite(void **state)
{
	struct paths p;
	struct measure_input in;
	struct measured m;
	(void)state;

	paths_begin(&p, "(ab)");
	for (int i = 0; i < 40; i++)
		paths_add(&p, "(ab)", (const int64_t[]){ 10, 100 + i, 10 });
	in = input(&p, 'a', 'b');
	measure(&m, &in, &p);
	assert_int_equal(m.nparts, 1);
	assert_true(m.parts[0].one);
	assert_near(m.parts[0].of_gap, 1, 1e-12);
	assert_true(isinf(m.ahead));
	paths_end(&p);
}

/* Requests of two paths, of which one in ten takes 4,000 ns more. */
static void
measure_tail(struct measured *m, double tail_ns, struct paths *p)
{
	struct groups_options o = {
		.groups_max = 8, .samples_max = 4096, .slow_max = 16, .tail_ns = tail_ns
	};
	struct measure_input in;
	struct rng rng;

	paths_begin(p, "(abcx)");
	groups_free(p->groups);
	p->groups = groups_new(&o, p->labels);
	rng_seed(&rng, 5);
	for (int i = 0; i < 2000; i++) {
		int64_t more = i % 10 == 3 ? 4000 : 0, noise = (int64_t)rng_below(&rng, 300);
		const int64_t other[] = { 10, 500 + more + noise / 2, 200 + noise, 10 },
			      ns[] = { 10, 250, 250 + more, 200 + noise, 10 };

		paths_add(p, i % 2 == 0 ? "(abc)" : "(axbc)", i % 2 == 0 ? other : ns);
	}
	in = input(p, 'a', 'c');
	in.tail_ns = tail_ns;
	measure(m, &in, p);
}

/* The share of a gap in a tail is what slow requests take longer in it than the others, by what they take
 * longer in all. */
static void
a_tail_is_measured_by_the_excess_of_its_requests(void **state)
{
	double slow_x = 0, slow_t = 0, x = 0, t = 0, nslow = 0, n = 0;
	struct measured m;
	struct paths p;
	(void)state;

	measure_tail(&m, 4000, &p);
	for (uint32_t g = 0; g < groups_count(p.groups); g++) {
		const struct group *group = groups_at(p.groups, g);

		for (uint32_t i = 0; i < group->nsamples; i++) {
			const struct sample *s = &group->samples[i];
			double in_gap = 0;

			for (uint32_t k = 0; k < group->shape.nedges; k++)
				if (m.members[g].inside[k])
					in_gap += s->edges_ns[k];
			if (s->total_ns > 4000) {
				nslow++;
				slow_x += in_gap;
				slow_t += (double)s->total_ns;
			} else {
				n++;
				x += in_gap;
				t += (double)s->total_ns;
			}
		}
	}
	assert_near(m.all.slow, nslow, 0);
	assert_near(m.all.slow, 200, 0);
	assert_near(m.share, (slow_x / nslow - x / n) / (slow_t / nslow - t / n), 1e-9);
	assert_near(m.all.y, 0.1, 1e-12);
	assert_true(m.effective > 100);
	paths_end(&p);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shares_add_up_to_one),
		cmocka_unit_test(the_order_of_groups_does_not_matter),
		cmocka_unit_test(the_gap_carries_the_covariance_of_all_traces),
		cmocka_unit_test(a_member_has_what_it_must_and_lacks_what_it_must_not),
		cmocka_unit_test(the_label_that_separates_is_found_whatever_the_order),
		cmocka_unit_test(nothing_separates_where_all_requests_take_the_same_path),
		cmocka_unit_test(what_few_requests_pass_is_measured_over_all),
		cmocka_unit_test(requests_that_do_not_take_the_way_back_do_not_pass_it),
		cmocka_unit_test(the_parts_of_a_fast_subgroup_carry_nothing),
		cmocka_unit_test(parts_between_labels_that_all_have_stand_for_all),
		cmocka_unit_test(one_slow_request_lowers_the_effective_sample_size),
		cmocka_unit_test(the_lead_of_a_single_part_is_infinite),
		cmocka_unit_test(a_tail_is_measured_by_the_excess_of_its_requests),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
