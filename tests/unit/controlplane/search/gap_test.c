/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "paths.h"

#include "controlplane/search/gap.h"

static struct shape
shape_of_letters(struct paths *p, const char *letters)
{
	struct step steps[PATH_MAX_STEPS];
	struct critpath path;
	struct shape s;

	paths_shape(p, letters, NULL, &s, &path, steps);
	return s;
}

/* The edges inside the gap, as letters of their first tokens; a back edge as '<'. */
static const char *
inside_of(struct paths *p, const struct shape *s, struct gap gap)
{
	static char out[PATH_MAX_STEPS];
	bool *inside = arena_calloc(&p->arena, s->nedges, sizeof *inside);
	uint32_t n = 0;

	if (!gap_edges(s, &gap, inside, &p->arena))
		return "none";
	for (uint32_t i = 0; i < s->nedges; i++)
		if (inside[i]) {
			const char *text = labels_get(p->labels, s->edges[i].from)->text;

			out[n++] = s->edges[i].to_token <= s->edges[i].from_token
			               ? '<'
			               : text[strcspn(text, ":") + 1];
		}
	out[n] = '\0';
	return out;
}

static void
a_gap_is_the_edges_between_its_ends(void **state)
{
	struct paths p;
	struct shape s;
	(void)state;

	paths_begin(&p, "(abcd)");
	s = shape_of_letters(&p, "(abcd)");
	assert_string_equal(inside_of(&p, &s, paths_gap(&p, 'a', 'd', 0, false)), "abc");
	assert_string_equal(inside_of(&p, &s, paths_gap(&p, 'b', 'c', 0, false)), "b");
	assert_string_equal(inside_of(&p, &s, paths_gap(&p, 'c', 'b', 0, false)), "none");
	assert_string_equal(inside_of(&p, &s, paths_gap(&p, 'a', 'a', 0, false)), "none");
	paths_end(&p);
}

/* Iterations that differ are not folded: with x in one of them, the ends occur at several
 * positions. */
static void
a_gap_that_stands_alone_is_passed_wherever_a_path_has_its_ends(void **state)
{
	struct gap forward, back;
	struct paths p;
	struct shape s;
	(void)state;

	paths_begin(&p, "(abxc)");
	forward = paths_gap(&p, 'a', 'b', 0, false);
	back = paths_gap(&p, 'b', 'a', 0, true);
	s = shape_of_letters(&p, "(abxabc)");
	assert_false(gap_is_only(&s, &forward));
	s = shape_of_letters(&p, "(ababc)");
	assert_true(gap_is_only(&s, &forward));
	for (uint32_t i = 0; i < s.nedges; i++) {
		struct gap its = gap_of(&s, i);

		assert_true(its.only);
	}
	s = shape_of_letters(&p, "(abaxbabc)"); /* a b a x b a b */
	assert_string_equal(inside_of(&p, &s, forward), "a");
	forward.only = true;
	assert_string_equal(inside_of(&p, &s, forward), "aaxa");
	s = shape_of_letters(&p, "(ababxabc)"); /* ( a b )+ x a b */
	assert_string_equal(inside_of(&p, &s, back), "<");
	back.only = true;
	assert_string_equal(inside_of(&p, &s, back), "bx<");
	paths_end(&p);
}

static void
every_edge_is_found_again_by_its_gap(void **state)
{
	static const char *const PATHS[] = { "(abcd)", "(ababcab)", "(abcbcbcd)", "(aabb)",
		"(abac)" };
	struct paths p;
	(void)state;

	paths_begin(&p, "(abcd)");
	for (size_t k = 0; k < sizeof PATHS / sizeof PATHS[0]; k++) {
		struct shape s = shape_of_letters(&p, PATHS[k]);

		for (uint32_t i = 0; i < s.nedges; i++) {
			struct gap gap = gap_of(&s, i);

			assert_int_equal(gap_edge(&s, &gap), i);
			assert_true(gap_same(&gap, &gap));
		}
	}
	paths_end(&p);
}

static void
positions_of_the_same_ends_are_distinct_and_counted(void **state)
{
	struct paths p;
	struct shape s;
	uint32_t before, seen = 0;
	(void)state;

	paths_begin(&p, "(abcd)");
	s = shape_of_letters(&p, "(abcabdab)");
	for (uint32_t i = 0; i < s.nedges; i++) {
		if (s.edges[i].from != p.of['a'])
			continue;
		assert_int_equal(gap_positions(&s, i, &before), 3);
		assert_int_equal(before, seen++);
		for (uint32_t k = 0; k < i; k++) {
			struct gap a = gap_of(&s, i), b = gap_of(&s, k);

			assert_false(gap_same(&a, &b));
		}
	}
	assert_int_equal(seen, 3);
	assert_string_equal(inside_of(&p, &s, paths_gap(&p, 'a', 'b', 1, false)), "a");
	paths_end(&p);
}

/* A path on which the ends occur less often than the gap's position requires. */
static void
without_its_position_all_positions_are_inside(void **state)
{
	struct paths p;
	struct shape s;
	struct gap gap;
	(void)state;

	paths_begin(&p, "(abcd)");
	s = shape_of_letters(&p, "(abcabd)");
	gap = paths_gap(&p, 'a', 'b', 5, false);
	assert_string_equal(inside_of(&p, &s, gap), "aa");
	assert_int_equal(gap_edge(&s, &gap), UINT32_MAX);
	s = shape_of_letters(&p, "(abcd)");
	assert_int_equal(gap_edge(&s, &gap), 1);
	paths_end(&p);
}

static void
a_gap_round_a_loop_is_the_way_back(void **state)
{
	struct paths p;
	struct shape s;
	(void)state;

	paths_begin(&p, "(abcd)");
	s = shape_of_letters(&p, "(abcabcabcd)");
	assert_int_equal(s.nloops, 1);
	assert_string_equal(inside_of(&p, &s, paths_gap(&p, 'c', 'a', 0, true)), "<");
	assert_string_equal(inside_of(&p, &s, paths_gap(&p, 'c', 'b', 0, true)), "a<");
	assert_string_equal(inside_of(&p, &s, paths_gap(&p, 'a', 'c', 0, false)), "ab");
	/* the whole loop is inside, including its back edge */
	assert_string_equal(inside_of(&p, &s, paths_gap(&p, '(', 'd', 0, false)), "(abc<");
	paths_end(&p);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_gap_is_the_edges_between_its_ends),
		cmocka_unit_test(a_gap_that_stands_alone_is_passed_wherever_a_path_has_its_ends),
		cmocka_unit_test(every_edge_is_found_again_by_its_gap),
		cmocka_unit_test(positions_of_the_same_ends_are_distinct_and_counted),
		cmocka_unit_test(without_its_position_all_positions_are_inside),
		cmocka_unit_test(a_gap_round_a_loop_is_the_way_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
