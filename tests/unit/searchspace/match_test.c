/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/searchspace/made.h"

struct fixture {
	struct labels *labels;
	struct space *space;
	struct arena arena;
	struct gap_time gap;
	uint32_t n;
};

static int
fixture_make(void **state)
{
	struct fixture *f = calloc(1, sizeof *f);

	f->labels = labels_new();
	f->space = space_new(f->labels);
	*state = f;
	return 0;
}

static int
fixture_free(void **state)
{
	struct fixture *f = *state;

	arena_release(&f->arena);
	space_free(f->space);
	labels_free(f->labels);
	free(f);
	return 0;
}

#define LEARN(words) learn(f->space, f->labels, words)
/* The edge after that token of the path. */
#define MATCH(path, edge, absent, expected) \
	assert_string_equal(matched(f->space, f->labels, path, edge, edge + 1, absent, 1), expected)
#define MATCH_BACK(path, edge, edge_to, expected) \
	assert_string_equal(matched(f->space, f->labels, path, edge, edge_to, "", 1), expected)

/* The candidates of a gap, with all that they tell. */
static struct candidate *
ask(struct fixture *f, const char *path, uint32_t edge, uint32_t edge_to, const char *without, uint64_t seed)
{
	struct match_path p = made_path(f->labels, path);
	struct label_set set = { 0 };
	struct candidate *found;
	struct rng rng;
	int n;

	rng_seed(&rng, seed);
	p.edge = edge;
	p.edge_to = edge_to;
	if (without != NULL)
		label_set_add(&set, label_of(f->labels, without));
	n = match_between(&found, &f->gap, f->space, label_of(f->labels, "R"), &p, NULL, &set, &rng, &f->arena, NULL);
	assert_true(n >= 0);
	f->n = (uint32_t)n;
	label_set_release(&set);
	made_path_free(&p);
	return found;
}

static const struct candidate *
named(struct fixture *f, const struct candidate *c, const char *word)
{
	for (uint32_t i = 0; i < f->n; i++)
		if (c[i].label == label_of(f->labels, word))
			return &c[i];
	fail_msg("%s is no candidate", word);
	return NULL;
}

static bool
near(double a, double b)
{
	return a > b - 1e-6 && a < b + 1e-6;
}

static void
points_between_come_in_order(void **state)
{
	struct fixture *f = *state;

	LEARN("R a b c d E");
	MATCH("R E", 0, "", "a b c d");
	MATCH("R a d E", 1, "", "b c");
	MATCH("R b c E", 1, "", "");
}

/* lock stands in both units' spans; what the path has before it and behind it tells which one is meant. */
static void
the_whole_path_tells_which_place(void **state)
{
	struct fixture *f = *state;

	LEARN("R x_begin l p m x_end F y_begin l q m y_end E");
	MATCH("R x_begin l m x_end F E", 2, "", "p");
	MATCH("R F y_begin l m y_end E", 3, "", "q");
	MATCH("R l m F E", 1, "", "p");
	MATCH("R F l m E", 2, "", "q");
	MATCH("R l F m E", 1, "", "p x_end");
	MATCH("R F E", 0, "", "x_begin l p m x_end");
}

static void
what_the_path_has_elsewhere_is_not_between(void **state)
{
	struct fixture *f = *state;

	LEARN("R a x b y c E");
	LEARN("R a y b c E");
	MATCH("R a b y c E", 1, "", "x");
	MATCH("R a b c E", 1, "", "x y");
}

static void
structure_that_the_path_lacks_is_not_passed(void **state)
{
	struct fixture *f = *state;

	LEARN("R hit E");
	LEARN("R miss F x J fill E | U c V");
	MATCH("R E", 0, "", "hit");
	MATCH("R F J E", 0, "", "miss");
	MATCH("R F J E", 1, "", "x");
	MATCH("R F J E", 2, "", "fill");
	MATCH("R F | U V | J E", 2, "", "c");
	MATCH("R F | U V | J E", 4, "", "fill");
	MATCH("R F | U V | J E", 1, "", "");	/* links have nothing inside */
	MATCH("R F | U V | J E", 3, "", "");
}

static void
while_the_path_is_elsewhere_anything_may_pass(void **state)
{
	struct fixture *f = *state;

	LEARN("R a F1 b F2 J1 c J2 d E | U1 V1 | U2 V2");
	LEARN("R k F3 e J3 d E");
	MATCH("R F1 F2 | U2 V2 | J2 E", 0, "", "a");
	MATCH("R F1 F2 | U2 V2 | J2 E", 1, "", "b");
	MATCH("R F1 F2 | U2 V2 | J2 E", 5, "", "d");
	MATCH("R F1 F2 J2 E", 2, "", "c");	/* J1 is always on: no walk, but c is before J2 */
}

static void
a_unit_that_ended_is_not_gone_on_with(void **state)
{
	struct fixture *f = *state;

	LEARN("R F1 J1 F1 J1 E | U1 a F1 b J1 c V1");
	MATCH("R F1 | U1 F1 | U1 V1 | J1 V1 | J1 E", 2, "", "a");
	MATCH("R F1 | U1 F1 | U1 V1 | J1 V1 | J1 E", 6, "", "c");
}

static void
what_is_absent_hides_what_lies_behind_it_only(void **state)
{
	struct fixture *f = *state;

	LEARN("R a+1 x+1 y+1 d E");
	LEARN("R a+1 b+1 y+1 d E");
	LEARN("R a+1 x+1 z+1 d E");
	MATCH("R a d E", 1, "x", "b y");
	MATCH("R a d E", 1, "y", "x z");
}

static void
a_loop_goes_round(void **state)
{
	struct fixture *f = *state;

	LEARN("R a b p c q b p c q b p c d E");
	MATCH("R b c E", 1, "", "p");
	MATCH_BACK("R b c E", 2, 1, "q");
	MATCH("R b c E", 2, "", "d");
	MATCH_BACK("R p E", 1, 1, "c q b");
}

/* s is passed in the second round only, in a span of its own: a place that is come to by going round. */
static void
what_only_later_rounds_pass_counts(void **state)
{
	struct fixture *f = *state;

	LEARN("R l p h_begin l s g h_end E");
	MATCH_BACK("R l E", 1, 1, "p h_begin");
	MATCH("R l E", 1, "", "s g h_end");
	MATCH("R l g E", 1, "", "s");
}

static void
unknown_tokens_are_passed_over(void **state)
{
	struct fixture *f = *state;

	LEARN("R a b c d E");
	MATCH("R new1 a d E", 2, "", "b c");
	MATCH("R a new1 d E", 1, "", "b c");
	MATCH("R a new1 d E", 2, "", "b c");
	MATCH("R a new1 new2 d new3 E", 3, "", "b c");
	MATCH("R a d new1", 2, "", "");
	MATCH("R new1 E", 0, "", "a b c d");
	MATCH_BACK("R a new1 d E", 2, 2, "b c");	/* nothing of the loop is known */
	MATCH("R4 a E", 1, "", "");
}

static void
the_drawn_walk_tells_learned_times(void **state)
{
	struct fixture *f = *state;
	const struct candidate *c;

	LEARN("R a+100 b+50 c+20 d+30 E+5");
	c = ask(f, "R a d E", 1, 2, NULL, 1);
	assert_int_equal(f->n, 2);
	assert_true(near(f->gap.mean_ns, 100));
	assert_true(near(named(f, c, "b")->offset_ns, 50));
	assert_true(near(named(f, c, "c")->offset_ns, 70));
	assert_true(c[0].drawn && c[1].drawn && c[0].share == 1 && c[0].per_trace == 1 && c[0].count == 1);
	c = ask(f, "R a d E", 1, 2, "b", 1);
	assert_int_equal(f->n, 1);
	assert_int_equal(c[0].label, label_of(f->labels, "c"));
}

static void
walks_are_drawn_by_how_often_they_were_taken(void **state)
{
	struct fixture *f = *state;
	int often = 0;

	for (int i = 0; i < 9; i++)
		LEARN("R a+10 b+10 d+10 E");
	LEARN("R a+10 c+40 d+40 E");
	for (uint64_t seed = 0; seed < 1000; seed++) {
		const struct candidate *c = ask(f, "R a d E", 1, 2, NULL, seed);

		assert_int_equal(f->n, 2);
		assert_true(c[0].drawn != c[1].drawn);
		assert_true(named(f, c, "b")->share > 0.899 && named(f, c, "b")->share < 0.901);
		often += named(f, c, "b")->drawn;
		assert_true(near(f->gap.mean_ns, named(f, c, "b")->drawn ? 20 : 80));
		arena_release(&f->arena);
	}
	assert_true(often > 860 && often < 940);	/* 900, five times its deviation of 9.5 either way at most */
}

static void
spans_know_their_ends_and_what_is_around(void **state)
{
	struct fixture *f = *state;
	const struct candidate *c;

	LEARN("R o_begin x_begin p x_end y_enter y_leave q o_end z E");
	c = ask(f, "R E", 0, 1, NULL, 1);
#define SPAN(begin, end, in) do { \
		assert_ptr_equal(&c[named(f, c, begin)->partner], named(f, c, end)); \
		assert_ptr_equal(&c[named(f, c, end)->partner], named(f, c, begin)); \
		assert_true(named(f, c, begin)->around == ((in)[0] == '\0' ? UINT32_MAX : (uint32_t)(named(f, c, (in)[0] != '\0' ? (in) : begin) - c))); \
	} while (0)
	SPAN("o_begin", "o_end", "");
	SPAN("x_begin", "x_end", "o_begin");
	SPAN("y_enter", "y_leave", "o_begin");
	assert_ptr_equal(&c[named(f, c, "p")->around], named(f, c, "x_begin"));
	assert_ptr_equal(&c[named(f, c, "q")->around], named(f, c, "o_begin"));
	assert_int_equal(named(f, c, "z")->around, UINT32_MAX);
	assert_int_equal(named(f, c, "z")->partner, UINT32_MAX);
	/* a span that was tried is none of them: what lies in it lies in the one around */
	c = ask(f, "R E", 0, 1, "x_begin", 1);
	assert_ptr_equal(&c[named(f, c, "p")->around], named(f, c, "o_begin"));
	assert_int_equal(named(f, c, "x_end")->partner, UINT32_MAX);
	/* inside of a span it is the gap that is around */
	c = ask(f, "R o_begin o_end E", 1, 2, NULL, 1);
	assert_int_equal(named(f, c, "x_begin")->around, UINT32_MAX);
	assert_int_equal(named(f, c, "q")->around, UINT32_MAX);
}

static void
where_links_have_no_structure_what_is_left_of_both_units_is_between(void **state)
{
	struct fixture *f = *state;
	uint32_t tokens[4], units[4];
	struct match_path p = { 4, tokens, units, 1, 2 };
	struct candidate *found;
	struct rng r;
	int n;

	LEARN("R a b E | U c d V");
	tokens[0] = units[0] = units[1] = label_of(f->labels, "R");
	tokens[1] = label_of(f->labels, "a");
	tokens[2] = label_of(f->labels, "d");
	tokens[3] = label_of(f->labels, "V");
	units[2] = units[3] = label_of(f->labels, "U");
	rng_seed(&r, 1);
	n = match_between(&found, &f->gap, f->space, units[0], &p, NULL, NULL, &r, &f->arena, NULL);
	assert_int_equal(n, 2);
	assert_int_equal(found[0].label, label_of(f->labels, "b"));
	assert_int_equal(found[1].label, label_of(f->labels, "c"));
}

#define test(name) cmocka_unit_test_setup_teardown(name, fixture_make, fixture_free)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		test(points_between_come_in_order),
		test(the_whole_path_tells_which_place),
		test(what_the_path_has_elsewhere_is_not_between),
		test(structure_that_the_path_lacks_is_not_passed),
		test(while_the_path_is_elsewhere_anything_may_pass),
		test(a_unit_that_ended_is_not_gone_on_with),
		test(what_is_absent_hides_what_lies_behind_it_only),
		test(a_loop_goes_round),
		test(what_only_later_rounds_pass_counts),
		test(unknown_tokens_are_passed_over),
		test(the_drawn_walk_tells_learned_times),
		test(walks_are_drawn_by_how_often_they_were_taken),
		test(spans_know_their_ends_and_what_is_around),
		test(where_links_have_no_structure_what_is_left_of_both_units_is_between),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
