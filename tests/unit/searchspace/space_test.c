/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/rng.h"
#include "searchspace/span.h"
#include "tests/unit/searchspace/fixture.h"
#include "tests/unit/searchspace/made.h"

/* Expects one candidate in a gap of the request's own unit. */
static struct between
candidate(struct fixture *f, const char *from, const char *to, const char *label)
{
	static struct between found[64];
	uint32_t unit = label_of(f->labels, "R");
	struct gap g = { label_of(f->labels, from), label_of(f->labels, to), unit, unit };
	int n = space_between(f->space, unit, &g, NULL, found, 64, NULL);

	for (int i = 0; i < n; i++)
		if (found[i].label == label_of(f->labels, label))
			return found[i];
	fail_msg("%s is not between %s and %s", label, from, to);
	return found[0];
}

#define BETWEEN(unit, from, to, absent, expected) \
	assert_string_equal(between(f->space, f->labels, unit, from, to, absent), expected)

static void
all_points_of_the_gap_are_in_order(void **state)
{
	struct fixture *f = *state;

	learn(f->space, f->labels, "R a b c d E");
	BETWEEN("R", "R", "E", "", "a b c d");
	BETWEEN("R", "a", "d", "", "b c");
	BETWEEN("R", "b", "c", "", "");
	BETWEEN("R", "d", "a", "", ""); /* no walk goes back in time */
	BETWEEN("R", "a", "a", "", "");
}

static void
candidates_have_count_offset_and_share(void **state)
{
	struct fixture *f = *state;
	struct between c;

	for (int i = 0; i < 3; i++)
		learn(f->space, f->labels, "R a+100 b+50 b+50 E");
	learn(f->space, f->labels, "R a+300 E");
	c = candidate(f, "R", "E", "a");
	assert_int_equal(c.count, 4);
	assert_true(c.offset_ns > 149.999 && c.offset_ns < 150.001);
	assert_true(c.share == 1);
	c = candidate(f, "R", "E", "b");
	assert_int_equal(c.count, 6);
	assert_true(c.offset_ns > 174.999 && c.offset_ns < 175.001);
	assert_true(c.share == 0.75);
}

static void
all_branches_are_in_the_gap(void **state)
{
	struct fixture *f = *state;

	learn(f->space, f->labels, "R a b d E");
	learn(f->space, f->labels, "R a+5 c+10 d E");
	learn(f->space, f->labels, "R a+15 d E");
	BETWEEN("R", "a", "d", "", "c b");
	BETWEEN("R", "b", "d", "", "");
	BETWEEN("R", "b", "E", "", "d");
}

static void
an_absent_point_hides_only_points_reached_through_it(void **state)
{
	struct fixture *f = *state;

	learn(f->space, f->labels, "R a+1 x+1 y+1 d E");
	learn(f->space, f->labels, "R a+1 b+1 y+1 d E");
	learn(f->space, f->labels, "R a+1 x+1 z+1 d E");
	BETWEEN("R", "a", "d", "", "x b y z");
	BETWEEN("R", "a", "d", "x", "b y");
	BETWEEN("R", "a", "d", "y", "x z");
	BETWEEN("R", "a", "d", "x y", "");
}

static void
walks_repeat_a_loop_inside_of_the_gap_but_not_its_ends(void **state)
{
	struct fixture *f = *state;

	learn(f->space, f->labels, "R a b p c q b p c q b p c d E");
	BETWEEN("R", "b", "c", "", "p");
	BETWEEN("R", "c", "b", "", "q"); /* the edge that continues the loop */
	BETWEEN("R", "c", "d", "", "");  /* q leads to d only through b and c */
	BETWEEN(
	    "R", "b", "b", "", "p q c"); /* by mean time; q is not passed in the last iteration */
	BETWEEN("R", "a", "d", "", "b p q c");
}

/* Forks and joins are always on: one in the gap would end it. */
static void
structure_ends_the_gap(void **state)
{
	struct fixture *f = *state;

	learn(f->space, f->labels, "R hit E");
	learn(f->space, f->labels, "R miss F x J fill E");
	BETWEEN("R", "R", "E", "", "hit");
	BETWEEN("R", "R", "F", "", "miss");
	BETWEEN("R", "F", "J", "", "x");
	BETWEEN("R", "J", "E", "", "fill");
}

static void
a_gap_between_units_has_no_candidates(void **state)
{
	struct fixture *f = *state;
	struct between found[8];
	struct gap g = { label_of(f->labels, "R"), label_of(f->labels, "V"),
		label_of(f->labels, "R"), label_of(f->labels, "U") };

	learn(f->space, f->labels, "R a F b J c E | U d V");
	assert_int_equal(
	    space_between(f->space, label_of(f->labels, "R"), &g, NULL, found, 8, NULL), 0);
	BETWEEN("U", "U", "V", "", "d");
	BETWEEN("R", "F", "J", "", "b");
	BETWEEN("U", "a", "c", "", ""); /* those points are of another unit */
}

/*
 * The same function called from two units, and from two spans of one unit, is a different place for
 * each caller.
 */
static void
places_are_labels_in_their_context(void **state)
{
	struct fixture *f = *state;
	struct space_stats st;

	learn(f->space, f->labels,
	    "R x_begin lock got x_end y_begin lock z y_end F J E | U lock w V");
	BETWEEN("R", "x_begin", "x_end", "", "lock got");
	BETWEEN("R", "y_begin", "y_end", "", "lock z");
	BETWEEN("U", "U", "V", "", "lock w");
	assert_true(space_stats(f->space, label_of(f->labels, "R"), &st));
	assert_int_equal(st.places, 16); /* lock is three of them */
	assert_int_equal(st.labels, 8);
}

static void
one_label_in_many_places_is_one_candidate(void **state)
{
	struct fixture *f = *state;
	struct between c;

	learn(f->space, f->labels, "R x_begin lock x_end y_begin lock y_end E");
	BETWEEN("R", "R", "E", "", "x_begin x_end lock y_begin y_end");
	c = candidate(f, "R", "E", "lock");
	assert_int_equal(c.count, 2);
	assert_true(c.offset_ns > 34.999 && c.offset_ns < 35.001); /* the mean of 20 and 50 */
	assert_true(c.share == 1);
}

static void
types_are_learned_separately(void **state)
{
	struct fixture *f = *state;
	struct between found[8];
	uint32_t one = label_of(f->labels, "R1"), other = label_of(f->labels, "R2");
	struct gap g = { one, label_of(f->labels, "E"), one, one };

	learn(f->space, f->labels, "R1 a E");
	learn(f->space, f->labels, "R2 b E");
	assert_int_equal(space_between(f->space, one, &g, NULL, found, 8, NULL), 1);
	assert_int_equal(found[0].label, label_of(f->labels, "a"));
	assert_int_equal(space_between(f->space, other, &g, NULL, found, 8, NULL), 0);
	assert_int_equal(
	    space_between(f->space, label_of(f->labels, "R3"), &g, NULL, found, 8, NULL), 0);
	assert_int_equal(space_type(f->space, 0), one);
	assert_int_equal(space_type(f->space, 1), other);
	assert_int_equal(space_type(f->space, 2), LABEL_NONE);
}

static void
equal_times_keep_the_order_of_learning(void **state)
{
	struct fixture *f = *state;

	/* label numbers are in the opposite order */
	for (char name[2] = "z"; name[0] >= 'a'; name[0]--)
		label_of(f->labels, name);
	learn(f->space, f->labels, "R c+0 a+0 b+0 E");
	BETWEEN("R", "R", "E", "", "c a b");
}

static void
only_the_first_candidates_up_to_the_limit_are_returned(void **state)
{
	struct fixture *f = *state;
	struct between found[3] = { { .count = 99 }, { .count = 99 }, { .count = 99 } };
	uint32_t unit = label_of(f->labels, "R");
	struct gap g = { unit, label_of(f->labels, "E"), unit, unit };

	learn(f->space, f->labels, "R a b c E");
	assert_int_equal(space_between(f->space, unit, &g, NULL, found, 2, NULL), 2);
	assert_int_equal(found[1].label, label_of(f->labels, "b"));
	assert_int_equal(found[2].count, 99);
	assert_int_equal(space_between(f->space, unit, &g, NULL, NULL, 0, NULL), 0);
}

static void
units_without_a_begin_are_ignored(void **state)
{
	struct fixture *f = *state;
	struct space_stats st;

	learn(f->space, f->labels, "early R a E | b c V");
	assert_true(space_stats(f->space, LABEL_NONE, &st));
	assert_int_equal(st.places, 3);
	BETWEEN("R", "R", "E", "", "a");
}

static void
statistics_show_how_complete_the_space_is(void **state)
{
	struct fixture *f = *state;
	struct space_stats st;
	char words[32];

	assert_false(space_stats(f->space, LABEL_NONE, &st));
	assert_false(space_stats(f->space, label_of(f->labels, "R"), &st));
	assert_int_equal(st.traces, 0);
	learn(f->space, f->labels, "R a E");
	assert_true(space_stats(f->space, label_of(f->labels, "R"), &st));
	assert_int_equal(st.new_in_last_tenth, 3);
	for (int i = 1; i < 100; i++) {
		snprintf(words, sizeof words,
		    i % 30 == 0 ? "R new%d E"
		    : i == 99   ? "R last%d E"
				: "R a E",
		    i);
		learn(f->space, f->labels, words);
	}
	assert_true(space_stats(f->space, label_of(f->labels, "R"), &st));
	assert_int_equal(st.traces, 100);
	assert_int_equal(st.places, 7);
	assert_int_equal(st.steps, 10);
	assert_int_equal(st.labels, 5);
	assert_int_equal(st.new_in_last_tenth, 2); /* new90 and last99 */
}

/*
 * A thousand diamonds in a row have 2^1000 paths; the memory is proportional to the number of
 * labels.
 */
static void
size_does_not_grow_with_traces_nor_with_paths(void **state)
{
	struct fixture *f = *state;
	static char words[65536];
	struct space_stats st;
	struct rng r;

	rng_seed(&r, 2);
	for (int trace = 0; trace < 60; trace++) {
		size_t len = (size_t)snprintf(words, sizeof words, "R");

		for (int i = 0; i < 1000; i++)
			len += (size_t)snprintf(words + len, sizeof words - len, " s%d %c%d", i,
			    "ab"[rng_below(&r, 2)], i);
		snprintf(words + len, sizeof words - len, " E");
		learn(f->space, f->labels, words);
	}
	assert_true(space_stats(f->space, LABEL_NONE, &st));
	assert_int_equal(st.places, 3002);
	assert_int_equal(st.steps, 1 + 4 * 1000);
	assert_int_equal(st.labels, 3000);
	candidate(f, "s0", "s1", "a0");
	candidate(f, "s0", "s1", "b0");
	assert_int_equal(
	    strlen(between(f->space, f->labels, "R", "s0", "s1", "")), 5); /* "a0 b0" */
}

/* ---- against enumeration of all walks of a small graph ---- */

enum { WORDS = 11, PLACES = WORDS * (WORDS + 1) };

static const char *const words[WORDS] = { "R", "E", "F", "a", "b", "c", "d", "x_begin", "x_end",
	"y_enter", "y_leave" };

struct brute {
	bool step[PLACES][PLACES];
	bool on_walk[PLACES];
	int visits[PLACES];
	int path[2 * PLACES];
	int from, to;
	uint32_t blocked; /* words */
	long walks;
};

static void
brute_learn(struct brute *b, struct spans *s, struct labels *labels, const struct trace *t)
{
	const uint32_t *in = spans_of(s, labels, t->events, t->nevents);
	int before = -1;

	for (uint32_t i = 0; i < t->nevents; i++) {
		int word = -1, span = WORDS;

		for (int w = 0; w < WORDS; w++) {
			word = t->events[i].label == label_of(labels, words[w]) ? w : word;
			span = in[i] == label_of(labels, words[w]) ? w : span;
		}
		if (before >= 0)
			b->step[before][span * WORDS + word] = true;
		before = span * WORDS + word;
	}
}

/*
 * All walks from here to the end that pass no place more than twice: a walk to any place and on
 * from it needs no more.
 */
static void
walk_on(struct brute *b, int at, int depth)
{
	b->path[depth] = at;
	b->walks++;
	for (int next = 0; next < PLACES; next++) {
		int word = next % WORDS;

		if (!b->step[at][next])
			continue;
		if (word == b->to)
			for (int i = 1; i <= depth; i++)
				b->on_walk[b->path[i]] = true;
		if (word == b->from || word == b->to || (b->blocked >> word & 1) != 0 || word < 3 ||
		    b->visits[next] == 2)
			continue;
		b->visits[next]++;
		walk_on(b, next, depth + 1);
		b->visits[next]--;
	}
}

static uint32_t
brute_between(struct brute *b, int from, int to, uint32_t blocked)
{
	uint32_t found = 0;

	b->from = from;
	b->to = to;
	b->blocked = blocked;
	memset(b->on_walk, 0, sizeof b->on_walk);
	for (int start = from; start < PLACES; start += WORDS)
		walk_on(b, start, 0);
	for (int p = 0; p < PLACES; p++)
		found |= (uint32_t)b->on_walk[p] << p % WORDS;
	return found;
}

static void
ask_both(struct fixture *f, struct brute *b, struct rng *r)
{
	int from = (int)rng_below(r, WORDS), to = (int)rng_below(r, WORDS), n;
	uint32_t unit = label_of(f->labels, "R"), blocked = 0, got = 0;
	struct gap g = { label_of(f->labels, words[from]), label_of(f->labels, words[to]), unit,
		unit };
	struct label_set absent = { 0 };
	struct between found[64];

	for (int w = 3; w < WORDS; w++)
		if (rng_below(r, 6) == 0) {
			blocked |= 1u << w;
			label_set_add(&absent, label_of(f->labels, words[w]));
		}
	n = space_between(f->space, unit, &g, &absent, found, 64, NULL);
	for (int i = 0; i < n; i++) {
		for (int w = 0; w < WORDS; w++)
			if (found[i].label == label_of(f->labels, words[w])) {
				assert_false(got >> w & 1);
				got |= 1u << w;
			}
		assert_true(found[i].share > 0 && found[i].share <= 1 && found[i].count > 0);
		assert_true(i == 0 || found[i - 1].offset_ns <= found[i].offset_ns);
	}
	assert_int_equal(got, brute_between(b, from, to, blocked));
	label_set_release(&absent);
}

static void
candidates_equal_those_of_all_walks(void **state)
{
	static struct brute b;
	long walks = 0;
	struct rng r;
	(void)state;

	rng_seed(&r, 31);
	for (int round = 0; round < 400; round++) {
		struct fixture *f;
		struct spans s = { 0 };

		fixture_make((void **)&f);
		memset(&b, 0, sizeof b);
		for (uint64_t traces = 1 + rng_below(&r, 3); traces > 0; traces--) {
			char text[256] = "R";
			struct trace *t;

			for (uint64_t n = rng_below(&r, 9); n > 0; n--) {
				strcat(text, " ");
				strcat(text, words[2 + rng_below(&r, WORDS - 2)]);
			}
			strcat(text, " E");
			t = made(f->labels, text);
			assert_int_equal(space_learn(f->space, t, NULL), 0);
			brute_learn(&b, &s, f->labels, t);
			made_free(t);
		}
		for (int i = 0; i < 20; i++)
			ask_both(f, &b, &r);
		walks += b.walks;
		spans_release(&s);
		fixture_free((void **)&f);
	}
	assert_true(walks > 50000);
}

#define test(name) cmocka_unit_test_setup_teardown(name, fixture_make, fixture_free)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		test(all_points_of_the_gap_are_in_order),
		test(candidates_have_count_offset_and_share),
		test(all_branches_are_in_the_gap),
		test(an_absent_point_hides_only_points_reached_through_it),
		test(walks_repeat_a_loop_inside_of_the_gap_but_not_its_ends),
		test(structure_ends_the_gap),
		test(a_gap_between_units_has_no_candidates),
		test(places_are_labels_in_their_context),
		test(one_label_in_many_places_is_one_candidate),
		test(types_are_learned_separately),
		test(equal_times_keep_the_order_of_learning),
		test(only_the_first_candidates_up_to_the_limit_are_returned),
		test(units_without_a_begin_are_ignored),
		test(statistics_show_how_complete_the_space_is),
		test(size_does_not_grow_with_traces_nor_with_paths),
		cmocka_unit_test(candidates_equal_those_of_all_walks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
