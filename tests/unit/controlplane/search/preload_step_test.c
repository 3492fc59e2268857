/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "fake_port.h"

#include "controlplane/search/preload_step.h"

static const char *const PATTERNS[] = { "lttng_ust_pthread", "lttng_ust_libc", NULL };

/* The layer was explored below the edge from 'a' to 'b', and its labels were inside: both ends
 * of a wait for a mutex, and a malloc. */
static struct search *
begin(struct fake *f)
{
	struct search *s;

	fake_begin(f, "(abc)");
	fake_label(f, 'M', "s/lttng_ust_libc:malloc");
	fake_label(f, 'L', "s/lttng_ust_pthread:pthread_mutex_lock_req");
	fake_label(f, 'U', "s/lttng_ust_pthread:pthread_mutex_lock_acq");
	preload_init(&f->preload, PATTERNS, f->port.labels);
	s = fake_search(f, 'a', 'b');
	s->layer.state = LAYER_OPEN;
	s->layer.above = s->at.gap;
	for (const char *c = "MLU"; *c != '\0'; c++)
		label_set_add(&s->layer.inside, f->paths.of[(int)*c]);
	return s;
}

static void
a_pair_is_enabled_whole_and_before_points(void **state)
{
	struct search *s;
	struct fake f;
	(void)state;

	s = begin(&f);
	assert_int_equal(preload_step(&f.port, s, NULL), 2);
	assert_true(fake_wants(&f, 'L') && fake_wants(&f, 'U') && !fake_wants(&f, 'M'));
	assert_int_equal(s->task, TASK_PROBE_LAYER);
	assert_int_equal(f.d->run->cycles, 1);
	assert_int_equal(preload_step(&f.port, s, NULL), 1);
	assert_true(fake_wants(&f, 'M'));
	assert_int_equal(preload_step(&f.port, s, NULL), 0);
	assert_int_equal(f.d->run->cycles, 2);
	fake_end(&f);
}

static void
half_a_pair_is_not_enabled_when_the_other_end_is_over_budget(void **state)
{
	struct search *s;
	struct fake f;
	(void)state;

	for (const char *end = "LU"; *end != '\0'; end++) {
		s = begin(&f);
		label_set_add(&f.refused, f.paths.of[(int)*end]);
		assert_int_equal(preload_step(&f.port, s, NULL), 1);
		assert_true(!fake_wants(&f, 'L') && !fake_wants(&f, 'U') && fake_wants(&f, 'M'));
		assert_int_equal(s->layer.over_budget, 2);
		fake_end(&f);
	}
}

static void
the_layer_opens_below_the_present_gap_only_where_it_may(void **state)
{
	struct search *s;
	struct fake f;
	(void)state;

	for (int why = 0; why < 5; why++) {
		s = begin(&f);
		s->layer.state = why == 1 ? LAYER_FOUND : LAYER_CLOSED;
		s->layer.above = (struct gap){ 0 };
		if (why == 2) /* the gap is the link between two units */
			s->at.gap.to_unit++;
		if (why == 3)
			f.d->run->cycles = f.d->run->effort;
		if (why == 4)
			f.preload.patterns = NULL;
		assert_int_equal(preload_step(&f.port, s, NULL) > 0, why == 0);
		assert_int_equal(plan_count(f.port.plan) > 0, why == 0);
		assert_int_equal(gap_same(&s->layer.above, &s->at.gap), why == 0);
		fake_end(&f);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pair_is_enabled_whole_and_before_points),
		cmocka_unit_test(half_a_pair_is_not_enabled_when_the_other_end_is_over_budget),
		cmocka_unit_test(the_layer_opens_below_the_present_gap_only_where_it_may),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
