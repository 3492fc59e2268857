/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kit.h"

#include "analysis/differential.h"
#include "base/rng.h"

enum { REQUESTS = 200, SLOW = 40, PARTS = 5, RUNNING = 0, DISK = 2, LOCK = 5, ROUNDS = 199 };

struct made_requests {
	struct request_part parts[REQUESTS][PARTS];
	struct request_parts requests[REQUESTS];
	struct arena arena;
};

static struct request_part
part(const char *folded, uint32_t state, double ns)
{
	return (struct request_part){ folded, strlen(folded), state, (int64_t)ns };
}

/* Each request runs in two functions and waits for a disk and a lock; the slow ones wait `more_ns` longer for the disk, in
 * fsync(). */
static void
make(struct made_requests *m, double more_ns, uint64_t seed)
{
	struct rng r;

	memset(m, 0, sizeof *m);
	rng_seed(&r, seed);
	for (int i = 0; i < REQUESTS; i++) {
		struct request_part *p = m->parts[i];
		bool slow = i % (REQUESTS / SLOW) == 0;

		p[0] = part("main;serve;parse", RUNNING, 1e6 + 1e5 * rng_normal(&r));
		p[1] = part("main;serve;append() at dd.c:27;fsync", DISK,
		    5e6 + 1e6 * rng_normal(&r) + (slow ? more_ns : 0));
		p[2] = part(
		    "main;serve;append() at dd.c:29;fsync", DISK, 1e6 + 1e5 * rng_normal(&r));
		p[3] = part("main;serve;lock_take", LOCK, 3e6 + 5e5 * rng_normal(&r));
		p[4] = part("", RUNNING, 2e5 + 1e4 * rng_normal(&r));
		m->requests[i] = (struct request_parts){ p, PARTS, slow };
	}
}

static struct differential
compared(struct made_requests *m, double confidence, uint64_t seed)
{
	struct differential d;
	struct err e;

	assert_int_equal(
	    differential_of(&d, m->requests, REQUESTS, confidence, ROUNDS, seed, &m->arena, &e), 0);
	return d;
}

static const struct difference *
of(const struct differential *d, enum difference_of what, uint32_t state, const char *function)
{
	for (uint32_t i = 0; i < d->count; i++)
		if (d->items[i].of == what &&
		    (what == DIFFERENCE_STATE ? d->items[i].state == state
					      : strcmp(d->items[i].function, function) == 0))
			return &d->items[i];
	return NULL;
}

static void
the_state_and_the_function_that_slow_requests_have_more_of_are_found(void **state)
{
	const struct difference *i;
	struct made_requests m;
	struct differential d;
	(void)state;

	make(&m, 3e6, 1);
	d = compared(&m, 0.95, 1);
	assert_int_equal(d.nslow, SLOW);
	assert_int_equal(d.nusual, REQUESTS - SLOW);
	for (int k = 0; k < 5; k++) { /* the five that have the 3 ms come first */
		assert_near(d.items[k].slow_ns - d.items[k].usual_ns, 3e6, 6e5);
		assert_true(d.items[k].p <= 0.01);
		assert_true(d.items[k].more_ns.low > 2e6 && d.items[k].more_ns.high < 4e6);
	}
	assert_non_null(of(&d, DIFFERENCE_INCLUSIVE, 0, "append"));
	assert_null(of(&d, DIFFERENCE_INCLUSIVE, 0, "append() at dd.c:27"));
	i = of(&d, DIFFERENCE_STATE, DISK, NULL);
	assert_true(i != NULL && i - d.items < 5 && i->slow == SLOW && i->usual == REQUESTS - SLOW);
	i = of(&d, DIFFERENCE_SELF, 0, "fsync");
	assert_true(i != NULL && i - d.items < 5);
	assert_null(of(&d, DIFFERENCE_SELF, 0, "append"));
	assert_true(of(&d, DIFFERENCE_STATE, LOCK, NULL)->p > 0.05);
	assert_true(of(&d, DIFFERENCE_SELF, 0, "parse")->p > 0.05);
	arena_release(&m.arena);
}

static void
differences_of_states_add_up_to_that_of_the_edge(void **state)
{
	double states = 0, self = 0, known;
	struct made_requests m;
	struct differential d;
	(void)state;

	make(&m, 1e6, 2);
	d = compared(&m, 0.95, 1);
	for (uint32_t i = 0; i < d.count; i++) {
		states += d.items[i].of == DIFFERENCE_STATE
		              ? d.items[i].slow_ns - d.items[i].usual_ns
		              : 0;
		self += d.items[i].of == DIFFERENCE_SELF ? d.items[i].slow_ns - d.items[i].usual_ns
		                                         : 0;
	}
	assert_near(states, d.slow_ns - d.usual_ns, 1e-3);
	/* What is in no known place is missing in the self times. */
	known = of(&d, DIFFERENCE_INCLUSIVE, 0, "main")->slow_ns -
	        of(&d, DIFFERENCE_INCLUSIVE, 0, "main")->usual_ns;
	assert_near(self, known, 1e-3);
	arena_release(&m.arena);
}

static void
a_recursive_function_has_each_part_once(void **state)
{
	struct made_requests m;
	struct differential d;
	(void)state;

	make(&m, 0, 3);
	for (int i = 0; i < REQUESTS; i++)
		m.parts[i][0] = part("...;walk;walk;visit;walk", RUNNING, 1000);
	d = compared(&m, 0.95, 1);
	assert_near(of(&d, DIFFERENCE_INCLUSIVE, 0, "walk")->slow_ns, 1000, 1e-9);
	assert_near(of(&d, DIFFERENCE_SELF, 0, "walk")->usual_ns, 1000, 1e-9);
	assert_near(of(&d, DIFFERENCE_INCLUSIVE, 0, "visit")->usual_ns, 1000, 1e-9);
	assert_null(of(&d, DIFFERENCE_INCLUSIVE, 0, "..."));
	/* All have the same: chance has as much. */
	assert_near(of(&d, DIFFERENCE_SELF, 0, "walk")->p, 1, 1e-9);
	arena_release(&m.arena);
}

static void
without_a_difference_few_are_found(void **state)
{
	enum { SETS = 150 };
	int found[3] = { 0 };
	(void)state;

	for (int s = 0; s < SETS; s++) {
		bool any[3] = { false };
		struct made_requests m;
		struct differential d;

		make(&m, 0, 1000 + (uint64_t)s);
		d = compared(&m, 0.95, (uint64_t)s);
		for (uint32_t i = 0; i < d.count; i++)
			any[d.items[i].of] |= d.items[i].p <= 0.05;
		for (int k = 0; k < 3; k++)
			found[k] += any[k];
		arena_release(&m.arena);
	}
	for (int k = 0; k < 3; k++) /* 5 % are 7.5; 99.9 % of binomial draws are below 17 */
		assert_true(found[k] < 17);
}

static void
the_interval_holds_the_true_difference_as_often_as_it_says(void **state)
{
	enum { SETS = 300 };
	int holds = 0;
	(void)state;

	for (int s = 0; s < SETS; s++) {
		const struct difference *i;
		struct made_requests m;
		struct differential d;

		make(&m, 2e6, 5000 + (uint64_t)s);
		d = compared(&m, 0.9, (uint64_t)s);
		i = of(&d, DIFFERENCE_SELF, 0, "fsync");
		holds += i->more_ns.low <= 2e6 && i->more_ns.high >= 2e6;
		arena_release(&m.arena);
	}
	assert_true(holds > 0.84 * SETS && holds < 0.955 * SETS); /* 0.9, and 3 standard errors */
}

static void
with_few_slow_requests_nothing_is_compared(void **state)
{
	struct made_requests m;
	struct differential d;
	struct err e;
	(void)state;

	make(&m, 5e6, 4);
	for (int i = 0, slow = 0; i < REQUESTS; i++)
		if (m.requests[i].slow && ++slow >= DIFFERENTIAL_SLOW_MIN)
			m.requests[i].slow = false;
	d = compared(&m, 0.95, 1);
	assert_int_equal(d.count, 0);
	assert_int_equal(d.nslow, DIFFERENTIAL_SLOW_MIN - 1);
	assert_int_equal(differential_of(&d, NULL, 0, 0.95, ROUNDS, 1, &m.arena, &e), 0);
	assert_int_equal(d.count, 0);
	arena_release(&m.arena);
}

static void
what_does_not_fit_is_left_out_and_counted(void **state)
{
	static char names[REQUESTS][PARTS][40 * 13];
	struct difference_node *nodes;
	struct made_requests m;
	struct differential d;
	uint32_t count;
	struct err e;
	(void)state;

	make(&m, 3e6, 5);
	for (int i = 0; i < REQUESTS; i++)
		for (int k = 1; k < PARTS; k++) {
			for (int f = 0, n = 0; f < 40; f++)
				n += sprintf(
				    names[i][k] + n, "%sf%d_%d_%d", f > 0 ? ";" : "", i, k, f);
			m.parts[i][k] = part(names[i][k], DISK, 1000);
		}
	d = compared(&m, 0.95, 1);
	assert_int_equal(d.count, DIFFERENTIAL_ITEMS_MAX);
	assert_true(d.left_out > 1000);
	assert_int_equal(differential_tree(&nodes, &count, m.requests, REQUESTS, &m.arena, &e), 0);
	assert_int_equal(count, DIFFERENTIAL_NODES_MAX);
	arena_release(&m.arena);
}

static void
the_tree_has_all_time_at_its_root_and_children_within_their_parents(void **state)
{
	struct difference_node *nodes;
	struct made_requests m;
	struct differential d;
	double inner[DIFFERENTIAL_NODES_MAX] = { 0 };
	uint32_t count;
	struct err e;
	(void)state;

	make(&m, 3e6, 6);
	d = compared(&m, 0.95, 1);
	assert_int_equal(differential_tree(&nodes, &count, m.requests, REQUESTS, &m.arena, &e), 0);
	assert_int_equal(
	    count, 9); /* root main serve parse append:27 fsync append:29 fsync lock_take */
	assert_near(nodes[0].slow_ns, d.slow_ns, 1e-3);
	assert_near(nodes[0].usual_ns, d.usual_ns, 1e-3);
	assert_string_equal(nodes[1].text, "main");
	assert_string_equal(nodes[4].text, "append() at dd.c:27");
	for (uint32_t i = 1; i < count; i++) {
		assert_true(nodes[i].parent < i);
		inner[nodes[i].parent] += nodes[i].slow_ns;
	}
	for (uint32_t i = 0; i < count; i++)
		assert_true(inner[i] <= nodes[i].slow_ns + 1e-3);
	arena_release(&m.arena);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
		    the_state_and_the_function_that_slow_requests_have_more_of_are_found),
		cmocka_unit_test(differences_of_states_add_up_to_that_of_the_edge),
		cmocka_unit_test(a_recursive_function_has_each_part_once),
		cmocka_unit_test(without_a_difference_few_are_found),
		cmocka_unit_test(the_interval_holds_the_true_difference_as_often_as_it_says),
		cmocka_unit_test(with_few_slow_requests_nothing_is_compared),
		cmocka_unit_test(what_does_not_fit_is_left_out_and_counted),
		cmocka_unit_test(
		    the_tree_has_all_time_at_its_root_and_children_within_their_parents),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
