/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kit.h"

#include "analysis/below_parts.h"

enum { ROUNDS = 99, MS = 1000000 };

static const char LOCK[] = "main;flush_log() at journal.c:88;futex", RUN[] = "main;serve";

static struct below_part
part(enum below_state state, const char *stack, int64_t ns)
{
	return (struct below_part){ .state = state,
		.ns = ns,
		.stack = stack,
		.stack_len = (uint32_t)strlen(stack),
		.owner_state = BELOW_UNKNOWN,
		.owner_place = "" };
}

static void
add(struct below_parts *p, int64_t total_ns, const struct below_part *parts, uint32_t n)
{
	const struct below_time t = { .parts = parts, .nparts = n };

	assert_true(below_parts_add(p, total_ns, &t, 1));
}

struct compared {
	struct differential d;
	struct difference_node *tree;
	uint32_t count;
	struct arena arena;
};

static void
compare(struct compared *c, const struct below_parts *p, int64_t slow_over_ns)
{
	struct err e;

	assert_int_equal(below_parts_compare(&c->d, &c->tree, &c->count, p, slow_over_ns, 0.95,
			     ROUNDS, 1, &c->arena, &e),
	    0);
}

static const struct difference *
of(const struct compared *c, enum difference_of what, uint32_t state, const char *function)
{
	for (uint32_t i = 0; i < c->d.count; i++)
		if (c->d.items[i].of == what &&
		    (what == DIFFERENCE_STATE ? c->d.items[i].state == state
					      : strcmp(c->d.items[i].function, function) == 0))
			return &c->d.items[i];
	return NULL;
}

/* Response times of 10 ms, 11 ms and so on, in another order; the lock has what is over 8 ms. */
static struct below_parts *
growing(int n)
{
	struct below_parts *p = below_parts_new();

	assert_non_null(p);
	for (int i = 0; i < n; i++) {
		int64_t more_ns = (i * 7) % n * (int64_t)MS;
		const struct below_part parts[] = { part(BELOW_RUNNING, RUN, 3 * MS),
			part(BELOW_LOCK, LOCK, MS), part(BELOW_READY, LOCK, MS),
			part(BELOW_LOCK, LOCK, MS + more_ns), part(BELOW_RUNNING, "", MS) };

		add(p, 10 * MS + more_ns, parts, 5);
	}
	return p;
}

static void
the_slowest_quarter_is_compared_with_the_others(void **state)
{
	struct compared c = { 0 };
	struct below_parts *p = growing(100);
	const struct difference *x;
	(void)state;

	compare(&c, p, 0);
	assert_int_equal(c.d.nslow, 25);
	assert_int_equal(c.d.nusual, 75);
	assert_near(c.d.slow_from_ns, 85 * MS, 1e-6);
	assert_near(c.d.slow_ns, (7 + 87) * MS, 1e-3);
	assert_near(c.d.usual_ns, (7 + 37) * MS, 1e-3);
	assert_non_null(x = of(&c, DIFFERENCE_STATE, BELOW_LOCK, NULL));
	assert_near(x->slow_ns - x->usual_ns, 50 * MS, 1e-3);
	assert_int_equal(x->slow, 25);
	assert_true(x->p <= 0.01);
	assert_non_null(x = of(&c, DIFFERENCE_SELF, 0, "futex"));
	assert_near(x->slow_ns, (3 + 87) * MS, 1e-3);
	assert_true(of(&c, DIFFERENCE_INCLUSIVE, 0, "serve")->p > 0.5);
	assert_int_equal(c.count, 7); /* root main serve flush_log futex [lock] [ready] */
	assert_near(c.tree[0].slow_ns, c.d.slow_ns, 1e-3);
	assert_string_equal(c.tree[5].text, "[lock]");
	assert_int_equal(c.tree[5].parent, 4);
	assert_near(c.tree[5].slow_ns + c.tree[6].slow_ns, c.tree[4].slow_ns, 1e-3);
	assert_near(c.tree[6].usual_ns, MS, 1e-3);
	arena_release(&c.arena);
	below_parts_free(p);
}

static void
of_a_tail_those_beyond_it_are_slow_if_they_are_enough(void **state)
{
	struct compared c = { 0 };
	struct below_parts *p = growing(100);
	(void)state;

	compare(&c, p, 99 * MS); /* 100 to 109 ms */
	assert_int_equal(c.d.nslow, 10);
	assert_near(c.d.slow_from_ns, 100 * MS, 1e-6);
	compare(&c, p, 102 * MS); /* seven */
	assert_int_equal(c.d.nslow, 25);
	arena_release(&c.arena);
	below_parts_free(p);
}

static void
equal_response_times_are_divided_too_and_few_requests_are_not(void **state)
{
	struct below_parts *p = below_parts_new();
	const struct below_part wait = part(BELOW_DISK, LOCK, MS);
	struct compared c = { 0 };
	(void)state;

	compare(&c, p, 0);
	assert_int_equal(c.d.count + c.count, 0);
	for (int i = 0; i < 2 * DIFFERENTIAL_SLOW_MIN - 1; i++)
		add(p, MS, &wait, 1);
	compare(&c, p, 0);
	assert_int_equal(c.d.count, 0);
	add(p, MS, NULL, 0); /* does not pass the edge */
	compare(&c, p, 0);
	assert_int_equal(c.d.nslow, DIFFERENTIAL_SLOW_MIN);
	assert_int_equal(c.d.nusual, DIFFERENTIAL_SLOW_MIN);
	assert_int_equal(
	    of(&c, DIFFERENCE_STATE, BELOW_DISK, NULL)->usual, DIFFERENTIAL_SLOW_MIN - 1);
	arena_release(&c.arena);
	below_parts_free(p);
}

static void
stacks_that_are_cut_at_different_callers_are_one_trunk(void **state)
{
	static const char *const STACKS[] = { "start;lib+1;lib+2;answer;work;futex",
		"lib+1;lib+2;answer;work;read", "lib+2;answer;work;a() at a.c:1",
		"lib+2;answer;lib+1;work" };
	struct below_parts *p = below_parts_new();
	struct compared c = { 0 };
	(void)state;

	for (int i = 0; i < 100; i++) {
		const struct below_part parts[] = { part(BELOW_RUNNING, STACKS[0], MS),
			part(BELOW_RUNNING, STACKS[1 + i % 3], MS * (i + 1)),
			part(BELOW_RUNNING, i == 7 ? "other" : STACKS[0], MS) };

		add(p, MS * (i + 3), parts, 3);
	}
	compare(&c, p, 0);
	assert_string_equal(c.tree[1].text, "lib+2");
	assert_near(c.tree[1].slow_ns, c.d.slow_ns, 1e-3);
	assert_string_equal(c.tree[2].text, "answer");
	assert_null(of(&c, DIFFERENCE_INCLUSIVE, 0, "start"));
	assert_non_null(of(&c, DIFFERENCE_SELF, 0, "other"));
	for (uint32_t i = 2; i < c.count; i++)
		assert_true(c.tree[i].parent > 0 || strcmp(c.tree[i].text, "other") == 0);
	assert_near(of(&c, DIFFERENCE_INCLUSIVE, 0, "work")->slow_ns, c.d.slow_ns, 1e-3);
	arena_release(&c.arena);
	below_parts_free(p);
}

static void
what_does_not_fit_keeps_its_state_or_is_not_taken(void **state)
{
	enum { OTHERS = 100 };
	struct below_parts *p = below_parts_new();
	struct below_part parts[OTHERS];
	char names[OTHERS][20], deep[2 * 200];
	struct compared c = { 0 };
	uint32_t n;
	(void)state;

	for (int i = 0; i < 30; i++) { /* 3000 stacks, of which 2039 are kept */
		for (int k = 0; k < OTHERS; k++) {
			snprintf(names[k], sizeof names[k], "f%d_%d", i, k);
			parts[k] = part(BELOW_TIMER, names[k], MS);
		}
		add(p, MS * (1 + i), parts, OTHERS);
	}
	compare(&c, p, 0);
	assert_near(of(&c, DIFFERENCE_STATE, BELOW_TIMER, NULL)->slow_ns, OTHERS * MS, 1e-3);
	/* the root, each stack with its leaf, and a leaf without a stack */
	assert_int_equal(c.count, 2 + 2 * (BELOW_STACKS_MAX - BELOW_STATES) < DIFFERENTIAL_NODES_MAX
				      ? 2 + 2 * (BELOW_STACKS_MAX - BELOW_STATES)
				      : DIFFERENTIAL_NODES_MAX);
	below_parts_free(p);
	arena_release(&c.arena);
	p = below_parts_new();
	for (size_t i = 0; i < sizeof deep; i++)
		deep[i] = i % 2 == 0 ? 'f' : ';';
	deep[sizeof deep - 1] = '\0'; /* 200 entries */
	parts[0] = part(BELOW_DISK, deep, MS);
	for (int i = 0; i < 2 * BELOW_PARTS_REQUESTS_MAX; i++) {
		parts[1] = part(BELOW_LOCK, deep, MS);
		add(p, MS, parts, 2);
	}
	compare(&c, p, 0);
	n = c.d.nslow + c.d.nusual;
	assert_in_range(n, BELOW_ENTRIES_MAX / (2 * 203), BELOW_ENTRIES_MAX / (2 * 200));
	arena_release(&c.arena);
	below_parts_free(p);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_slowest_quarter_is_compared_with_the_others),
		cmocka_unit_test(of_a_tail_those_beyond_it_are_slow_if_they_are_enough),
		cmocka_unit_test(equal_response_times_are_divided_too_and_few_requests_are_not),
		cmocka_unit_test(stacks_that_are_cut_at_different_callers_are_one_trunk),
		cmocka_unit_test(what_does_not_fit_keeps_its_state_or_is_not_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
