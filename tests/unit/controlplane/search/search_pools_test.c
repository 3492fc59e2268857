/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "fake_port.h"

#include "controlplane/search/search_pools.h"

enum { REQUESTS = 300 };

/* Requests that work in a unit, and then wait for thread 3 until another one of label `to_unit` begins; either takes up to so much more than 1 ms. */
struct scene {
	struct fake f;
	struct thread_history *history;
};

static void
begin(struct scene *x, char to_unit, int64_t works_ns, int64_t waits_ns)
{
	static const char *const NODES[] = { "alpha" };
	struct event events[3] = { { .pid = 1, .tid = 9 }, { .pid = 1, .tid = 9 },
		{ .pid = 2, .tid = 3 } };
	struct unit unit = { .count = 3, .fork = TRACE_NONE };
	struct paths *p = &x->f.paths;
	struct trace t = { .nevents = 3, .nunits = 1, .events = events, .units = &unit };
	struct step steps[3];
	const struct critpath path = { .nsteps = 3, .steps = steps };

	fake_begin(&x->f, "(ab)");
	x->f.d->groups = p->groups;
	x->f.port.history = x->history = thread_history_new(10000);
	for (uint32_t i = 0; i < 3; i++) {
		uint32_t label = p->of[(int)"(a)"[i]], its = p->of[(int)(i < 2 ? '(' : to_unit)];

		events[i].label = label;
		steps[i] = (struct step){ 0, i, label, its, i < 2 ? its : LABEL_NONE, BIN_NONE };
	}
	for (uint32_t i = 1; i <= REQUESTS; i++) {
		struct shape shape;

		t.id = i;
		t.type = p->of['('];
		t.begin_ns = events[0].time_ns = i * 20 * MS_NS;
		events[1].time_ns = events[0].time_ns + MS_NS +
		                    (int64_t)rng_below(&x->f.rng, (uint64_t)works_ns);
		t.end_ns = events[2].time_ns = events[1].time_ns + MS_NS +
		                               (int64_t)rng_below(&x->f.rng, (uint64_t)waits_ns);
		for (uint32_t k = 0; k < 3; k++)
			steps[k].time_ns = events[k].time_ns;
		assert_int_equal(thread_history_add(x->history, &t, p->labels, NULL), 0);
		assert_int_equal(shape_of(&shape, &path, p->labels, &p->arena, NULL), 0);
		assert_int_equal(path_parts_add(&x->f.d->parts, &t, &path, shape.key.a, NULL), 0);
		assert_int_equal(wait_list_add(&x->f.d->waits, &t, &path, NULL, NULL), 0);
		assert_non_null(groups_add(p->groups, &t, &path, &shape, NODES));
	}
}

static void
look(struct scene *x)
{
	assert_int_equal(search_pools(&x->f.port, x->f.d, NULL), 0);
	x->f.port.now.ns += POOLS_LOOK_NS;
}

static void
end(struct scene *x)
{
	x->f.d->groups = NULL;
	fake_end(&x->f);
	thread_history_free(x->history);
}

static void
threads_whose_waits_certainly_carry_most_are_searched_once(void **state)
{
	const struct search *s;
	struct scene x;
	(void)state;

	begin(&x, 'b', MS_NS / 2, 2 * MS_NS);
	look(&x);
	assert_int_equal(x.f.d->nsearches, 1);
	s = x.f.d->searches[0];
	assert_int_equal(s->origin.gap.from, x.f.paths.of['a']);
	assert_int_equal(s->origin.gap.to, x.f.paths.of[')']);
	assert_int_equal(s->phase, SEARCH_WAITING);
	assert_true(s->origin.share > 0.8);
	look(&x);
	assert_int_equal(x.f.d->nsearches, 1);
	end(&x);
}

/* As where a unit hands work to a further one of its own kind. */
static void
nor_are_they_again_if_the_units_have_one_label(void **state)
{
	struct scene x;
	(void)state;

	begin(&x, '(', MS_NS / 2, 2 * MS_NS);
	for (int i = 0; i < 3; i++)
		look(&x);
	assert_int_equal(x.f.d->nsearches, 1);
	assert_int_equal(x.f.d->searches[0]->origin.gap.from_unit, x.f.paths.of['(']);
	assert_int_equal(x.f.d->searches[0]->origin.gap.to_unit, x.f.paths.of['(']);
	end(&x);
}

static void
waits_that_carry_little_are_not(void **state)
{
	struct scene x;
	(void)state;

	begin(&x, 'b', 2 * MS_NS, MS_NS);
	look(&x);
	assert_int_equal(x.f.d->nsearches, 0);
	end(&x);
}

static void
it_is_not_looked_all_the_time_nor_for_a_tail(void **state)
{
	struct scene x;
	(void)state;

	begin(&x, 'b', MS_NS / 2, 2 * MS_NS);
	x.f.d->pools_looked = x.f.port.now;
	look(&x);
	assert_int_equal(x.f.d->nsearches, 0);
	x.f.d->tail.ns = 1;
	look(&x);
	assert_int_equal(x.f.d->nsearches, 0);
	x.f.d->tail.ns = 0;
	look(&x);
	assert_int_equal(x.f.d->nsearches, 1);
	end(&x);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_whose_waits_certainly_carry_most_are_searched_once),
		cmocka_unit_test(nor_are_they_again_if_the_units_have_one_label),
		cmocka_unit_test(waits_that_carry_little_are_not),
		cmocka_unit_test(it_is_not_looked_all_the_time_nor_for_a_tail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
