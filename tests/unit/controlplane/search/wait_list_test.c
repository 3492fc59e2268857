/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "fake_port.h"

#include "controlplane/search/wait_list.h"

/* Three steps: label 1 in unit 7, label 2 (after a time between units), label 3 in unit 8. */
struct scene {
	struct wait_list list;
	struct arena arena;
	struct event events[3];
	struct step steps[3];
	struct trace t;
	struct critpath path;
};

static void
add(struct scene *x, uint64_t id, const struct gap *gap)
{
	x->t = (struct trace){ .id = id, .nevents = 3, .events = x->events };
	for (uint32_t i = 0; i < 3; i++) {
		x->events[i] = (struct event){ .node = i, .pid = 10 + i, .tid = 20 + i };
		x->steps[i] = (struct step){ .time_ns = (int64_t)id * 1000 + i * 100,
			.event = i,
			.label = 1 + i,
			.unit_label = i == 0 ? 7 : 8,
			.owner = i == 1 ? LABEL_NONE : 8 };
	}
	x->path = (struct critpath){ .nsteps = 3, .steps = x->steps };
	assert_int_equal(wait_list_add(&x->list, &x->t, &x->path, gap, NULL), 0);
}

static void
end(struct scene *x)
{
	wait_list_release(&x->list);
	arena_release(&x->arena);
}

static const struct gap BETWEEN = { .from = 1, .to = 2, .from_unit = 7, .to_unit = 8 },
			INSIDE = { .from = 2, .to = 3, .from_unit = 8, .to_unit = 8 };

static void
edges_between_units_are_listed(void **state)
{
	const struct thread_wait *waits;
	struct scene x = { 0 };
	uint32_t n;
	(void)state;

	add(&x, 5, NULL);
	assert_non_null(waits = wait_list_of(&x.list, &BETWEEN, &n, &x.arena));
	assert_int_equal(n, 1);
	assert_int_equal(waits->trace_id, 5);
	assert_int_equal(waits->begin_ns, 5000);
	assert_int_equal(waits->end_ns, 5100);
	assert_int_equal(waits->from.node, 0);
	assert_int_equal(waits->from.pid, 10);
	assert_int_equal(waits->to.node, 1);
	assert_int_equal(waits->to.pid, 11);
	assert_int_equal(waits->tid, 21);
	assert_null(wait_list_of(&x.list, &INSIDE, &n, &x.arena));
	end(&x);
}

static void
an_edge_inside_a_unit_is_listed_for_its_gap(void **state)
{
	const struct thread_wait *waits;
	struct scene x = { 0 };
	uint32_t n;
	(void)state;

	add(&x, 5, &INSIDE);
	assert_non_null(waits = wait_list_of(&x.list, &INSIDE, &n, &x.arena));
	assert_int_equal(n, 1);
	assert_int_equal(waits->begin_ns, 5100);
	assert_int_equal(waits->tid, 22);
	/* the diagnosis has added this one from the always-on path */
	add(&x, 6, &BETWEEN);
	assert_null(wait_list_of(&x.list, &BETWEEN, &n, &x.arena));
	end(&x);
}

static void
a_full_list_keeps_the_newest_waits(void **state)
{
	const struct thread_wait *waits;
	struct scene x = { 0 };
	uint64_t oldest = UINT64_MAX;
	uint32_t n;
	(void)state;

	for (uint64_t id = 1; id <= WAITS_MAX + 100; id++)
		add(&x, id, NULL);
	assert_non_null(waits = wait_list_of(&x.list, &BETWEEN, &n, &x.arena));
	assert_int_equal(n, WAITS_MAX);
	for (uint32_t i = 0; i < n; i++)
		oldest = waits[i].trace_id < oldest ? waits[i].trace_id : oldest;
	assert_int_equal(oldest, 101);
	end(&x);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(edges_between_units_are_listed),
		cmocka_unit_test(an_edge_inside_a_unit_is_listed_for_its_gap),
		cmocka_unit_test(a_full_list_keeps_the_newest_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
