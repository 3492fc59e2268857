/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "fake_port.h"

static const int64_t TIME[] = { 1000, 2000, 3000, 4000 };

static void
a_hypothesis_is_made_below_its_parent_in_the_present_cycle(void **state)
{
	const struct hypothesis *root, *h;
	struct fake f;
	(void)state;

	fake_begin(&f, "(abc)");
	f.d->run->cycles = 5;
	f.port.when.ns = 77;
	root = hypothesis_new_from(&f.port, f.d, NULL);
	h = hypothesis_new_from(&f.port, f.d, root);
	assert_int_equal(root->parent, 0);
	assert_int_equal(h->parent, root->id);
	assert_int_equal(h->run, f.d->run->id);
	assert_int_equal(h->cycle, 5);
	assert_int_equal(h->made.ns, 77);
	assert_int_equal(h->state, HYPOTHESIS_OPEN);
	fake_end(&f);
}

static void
its_motive_is_what_was_measured_of_the_group_and_the_edge(void **state)
{
	struct hypothesis *h;
	struct group *group = NULL;
	struct fake f;
	(void)state;

	fake_begin(&f, "(abc)");
	for (int i = 0; i < 20; i++) {
		int64_t time_ns[4];

		memcpy(time_ns, TIME, sizeof time_ns);
		time_ns[2] += i * 100;
		group = paths_add(&f.paths, "(abc)", time_ns);
	}
	h = hypothesis_new_from(&f.port, f.d, NULL);
	hypothesis_motive(&f.port, h, group, 2);
	assert_string_equal(h->edge_from, "s/app:b");
	assert_string_equal(h->edge_to, "s/app:c");
	assert_true(strstr(h->group_shape, "s/app:a") != NULL);
	assert_int_equal(h->traces, 20);
	assert_near(h->share, 1, 1e-9); /* no other edge varies */
	assert_near(h->mean_ns, 10950, 1e-6);
	assert_near(h->latency_share, 3950.0 / 10950, 1e-9);
	assert_near(h->cv, moments_cv(&group->total), 1e-12);
	assert_int_equal(h->exemplar_slow, group->slowest.id.low);
	assert_int_equal(h->exemplar_fast, group->fastest.id.low);
	assert_true(h->group_key[0] == group->shape.key.a && h->group_key[1] == group->shape.key.b);
	fake_end(&f);
}

static void
its_evidence_are_the_samples_with_their_time_in_the_edge(void **state)
{
	const struct hypothesis *h;
	const struct evidence *v;
	struct group *group = NULL;
	struct fake f;
	uint64_t at = 0;
	(void)state;

	fake_begin(&f, "(abc)");
	for (int i = 0; i < 2 * EVIDENCE_MAX; i++)
		group = paths_add(&f.paths, "(abc)", TIME);
	h = hypothesis_new_from(&f.port, f.d, NULL);
	assert_int_equal(hypothesis_evidence(&f.port, h, group, 2, NULL), 0);
	v = forest_evidence(f.port.forest, group->samples[0].id, &at);
	assert_non_null(v);
	assert_int_equal(v->hypothesis, h->id);
	assert_int_equal(v->run, f.d->run->id);
	assert_int_equal(v->total_ns, 10000);
	assert_int_equal(v->edge_ns, 3000);
	at = 0; /* more than the maximum that is kept for a hypothesis */
	assert_null(forest_evidence(f.port.forest, group->samples[EVIDENCE_MAX].id, &at));
	fake_end(&f);
}

static void
a_withdrawn_one_has_its_reason_and_time(void **state)
{
	struct hypothesis *h;
	struct fake f;
	(void)state;

	fake_begin(&f, "(abc)");
	f.port.when.ns = 99;
	h = hypothesis_new_from(&f.port, f.d, NULL);
	hypothesis_withdraw(&f.port, h, REASON_CONGESTION);
	assert_int_equal(h->state, HYPOTHESIS_WITHDRAWN);
	assert_int_equal(h->reason, REASON_CONGESTION);
	assert_int_equal(h->settled.ns, 99);
	fake_end(&f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_hypothesis_is_made_below_its_parent_in_the_present_cycle),
		cmocka_unit_test(its_motive_is_what_was_measured_of_the_group_and_the_edge),
		cmocka_unit_test(its_evidence_are_the_samples_with_their_time_in_the_edge),
		cmocka_unit_test(a_withdrawn_one_has_its_reason_and_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
