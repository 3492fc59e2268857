/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kit.h"

#include "analysis/differential_text.h"
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
	assert_int_equal(
	    differential_tree(&nodes, &count, m.requests, REQUESTS, NULL, &m.arena, &e), 0);
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
	assert_int_equal(
	    differential_tree(&nodes, &count, m.requests, REQUESTS, NULL, &m.arena, &e), 0);
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

static struct difference_node *
tree_of(uint32_t *count, struct made_requests *m)
{
	struct difference_node *nodes;
	struct err e;

	assert_int_equal(
	    differential_tree(&nodes, count, m->requests, REQUESTS, NULL, &m->arena, &e), 0);
	return nodes;
}

static void
shortened_it_has_all_states_and_the_entries_that_have_enough_with_their_parents(void **state)
{
	struct difference_node *nodes;
	struct made_requests m;
	struct differential d;
	uint32_t count, functions = 0;
	(void)state;

	make(&m, 3e6, 7);
	d = compared(&m, 0.95, 1);
	nodes = tree_of(&count, &m);
	differential_shorten(&d, nodes, &count, 0.05, 1, 3, 0.2);
	assert_non_null(of(&d, DIFFERENCE_STATE, RUNNING, NULL));
	assert_non_null(of(&d, DIFFERENCE_STATE, LOCK, NULL));
	for (uint32_t i = 0; i < d.count; i++)
		if (d.items[i].of != DIFFERENCE_STATE) {
			assert_true(d.items[i].p <= 0.05);
			functions++;
		}
	assert_int_equal(functions, 4);
	assert_non_null(of(&d, DIFFERENCE_SELF, 0, "fsync")); /* callers do not take its place */
	assert_int_equal(count, 6); /* root main serve append:27 fsync lock_take */
	assert_string_equal(nodes[3].text, "append() at dd.c:27");
	assert_string_equal(nodes[4].text, "fsync");
	assert_int_equal(nodes[4].parent, 3);
	assert_string_equal(nodes[5].text, "lock_take");
	assert_int_equal(nodes[5].parent, 2);
	differential_shorten(&d, nodes, &count, 0, 0, 0, 2);
	assert_int_equal(count, 1);
	assert_int_equal(d.count, 3); /* states */
	count = 0;
	differential_shorten(&d, nodes, &count, 0.05, 1, 3, 0.2);
	assert_int_equal(count, 0);
	arena_release(&m.arena);
}

/* ---- as text ---- */

static void
what_was_written_is_read_again(void **state)
{
	struct difference_node *nodes, *read_nodes;
	struct differential d, r;
	struct made_requests m;
	struct buf text = { 0 };
	uint32_t count, read_count;
	struct err e;
	(void)state;

	make(&m, 3e6, 8);
	d = compared(&m, 0.95, 1);
	d.slow_from_ns = 9e6;
	nodes = tree_of(&count, &m);
	differential_write(&text, &d, nodes, count, 0.05);
	assert_int_equal(text.data[text.len - 1], 0);
	assert_int_equal(
	    differential_read(&r, &read_nodes, &read_count, (char *)text.data, &m.arena, &e), 0);
	assert_int_equal(r.nslow, SLOW);
	assert_int_equal(r.nusual, REQUESTS - SLOW);
	assert_near(r.slow_ns, d.slow_ns, 1e-5 * d.slow_ns);
	assert_true(r.confidence == 0.95 && r.slow_from_ns == 9e6);
	assert_int_equal(r.count, d.count);
	for (uint32_t i = 0; i < r.count; i++) {
		const struct difference *x = &d.items[i], *y = &r.items[i];

		assert_int_equal(x->of, y->of);
		assert_int_equal(x->state, y->state);
		if (x->of != DIFFERENCE_STATE)
			assert_string_equal(x->function, y->function);
		assert_near(x->more_ns.low, y->more_ns.low, 1e-5 * fabs(x->more_ns.low));
		assert_near(x->p, y->p, 1e-5);
		assert_true(x->slow == y->slow && x->usual == y->usual);
	}
	assert_int_equal(read_count, 9);
	for (uint32_t i = 0; i < read_count; i++) {
		assert_string_equal(read_nodes[i].text, nodes[i].text);
		assert_int_equal(read_nodes[i].parent, nodes[i].parent);
		assert_near(read_nodes[i].slow_ns, nodes[i].slow_ns, 1e-5 * nodes[i].slow_ns);
	}
	buf_release(&text);
	arena_release(&m.arena);
}

static void
a_large_tree_is_written_with_its_largest_entries(void **state)
{
	static char names[REQUESTS][120];
	struct difference_node *nodes;
	struct differential d, r;
	struct made_requests m;
	struct buf text = { 0 };
	uint32_t count, kept;
	bool found = false;
	struct err e;
	(void)state;

	make(&m, 3e6, 9);
	for (int i = 0; i < REQUESTS; i++) {
		snprintf(names[i], sizeof names[i], "main;a\tb\n%0100d", i);
		m.parts[i][0] = part(names[i], RUNNING, 1e7);
	}
	d = compared(&m, 0.95, 1);
	nodes = tree_of(&count, &m);
	assert_int_equal(count, 8 + REQUESTS);
	buf_bytes(&text, "before", 6);
	differential_write(&text, &d, nodes, count, 1);
	assert_memory_equal(text.data, "before", 6);
	assert_true(text.len - 6 <= DIFFERENTIAL_TEXT_MAX);
	assert_int_equal(
	    differential_read(&r, &nodes, &kept, (char *)text.data + 6, &m.arena, &e), 0);
	assert_int_equal(kept, 8 + SLOW); /* those of slow requests are larger means */
	assert_int_equal(r.count, 3 + DIFFERENTIAL_SELF_MAX + DIFFERENTIAL_INCLUSIVE_MAX);
	for (uint32_t i = 0; i < kept; i++)
		found |= strcmp(nodes[i].text, "append() at dd.c:27") == 0;
	assert_true(found);
	for (uint32_t i = 0; i < r.count; i++)
		assert_true(
		    r.items[i].of == DIFFERENCE_STATE || strchr(r.items[i].function, '\t') == NULL);
	buf_release(&text);
	arena_release(&m.arena);
}

static void
a_damaged_text_is_refused(void **state)
{
#define ALL "all\t20\t40\t1\t2\t3\t0.95\t\n"
	static const char *const damaged[] = { "", "all", "all\n", "all\t1\t2\n", "at\t0\t1\t1\t\n",
		"all\t-1\t40\t1\t2\t3\t0.95\t\n", "all\t20\tnan\t1\t2\t3\t0.95\t\n", ALL "state",
		ALL "state\t1\t2\tlock\n", ALL "what\t1\t2\t3\n", ALL "at\t1\t1\t1\tx\n",
		ALL "at\t0\t1\t1\t\nat\t1\t1\t1\tx\n", ALL "at\tnan\t1\t1\t\n",
		ALL "self\t1\t2\t\n3\t4\t0.5\t6\t7\tf\n", ALL "self\t1\t2\t3\t4\t0.5\t6\t7\tf",
		ALL "self\t1\t2\t3\t4\t0.5\t6\t9e99\tf\n", ALL "\n" };
	struct difference_node *nodes;
	struct differential d;
	struct arena a = { 0 };
	uint32_t count;
	struct err e;
	(void)state;

	for (size_t i = 0; i < sizeof damaged / sizeof *damaged; i++)
		if (differential_read(&d, &nodes, &count, damaged[i], &a, &e) != ERR_INPUT)
			fail_msg("read: %s", damaged[i]);
	assert_int_equal(differential_read(&d, &nodes, &count, ALL, &a, &e), 0);
	assert_int_equal(d.count + count, 0);
	arena_release(&a);
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
		cmocka_unit_test(
		    shortened_it_has_all_states_and_the_entries_that_have_enough_with_their_parents),
		cmocka_unit_test(what_was_written_is_read_again),
		cmocka_unit_test(a_large_tree_is_written_with_its_largest_entries),
		cmocka_unit_test(a_damaged_text_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
