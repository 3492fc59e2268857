/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/rng.h"
#include "searchspace/span.h"
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
/* The gap after that token of the path. */
#define MATCH(path, edge, absent, expected) \
	assert_string_equal(matched(f->space, f->labels, path, edge, edge + 1, absent, 1), expected)
#define MATCH_BACK(path, edge, edge_to, expected) \
	assert_string_equal(matched(f->space, f->labels, path, edge, edge_to, "", 1), expected)

/* The candidates of a gap, with all their fields. */
static struct candidate *
ask(struct fixture *f, const char *path, uint32_t edge, uint32_t edge_to, const char *without,
    uint64_t seed)
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
	n = match_between(&found, &f->gap, f->space, label_of(f->labels, "R"), &p, NULL, &set, &rng,
	    &f->arena, NULL);
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
points_of_the_gap_are_in_order(void **state)
{
	struct fixture *f = *state;

	LEARN("R a b c d E");
	MATCH("R E", 0, "", "a b c d");
	MATCH("R a d E", 1, "", "b c");
	MATCH("R b c E", 1, "", "");
}

/* lock is a place in the spans of both units; the path before and after it determines which one. */
static void
the_whole_path_determines_the_place(void **state)
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

/* a is passed once in each of two units, b thrice in one of them. */
static void
passages_are_counted_in_all_units_and_in_that_of_the_gap(void **state)
{
	static const char PATH[] = "R F1 | U1 V1 | J1 F2 | U2 V2 | J2 E";
	struct fixture *f = *state;
	const struct candidate *c;

	LEARN("R F1 J1 F2 J2 E | U1 a V1 | U2 b b a b V2");
	c = ask(f, PATH, 2, 3, NULL, 1);
	assert_int_equal(f->n, 1);
	assert_true(c[0].per_trace == 2 && c[0].in_gap == 1);
	c = ask(f, PATH, 6, 7, NULL, 1);
	assert_int_equal(f->n, 2);
	assert_true(named(f, c, "a")->per_trace == 2 && named(f, c, "a")->in_gap == 1);
	assert_true(named(f, c, "b")->per_trace == 3 && named(f, c, "b")->in_gap == 3);
}

static void
points_elsewhere_on_the_path_are_not_in_the_gap(void **state)
{
	struct fixture *f = *state;

	LEARN("R a x b y c E");
	LEARN("R a y b c E");
	MATCH("R a b y c E", 1, "", "x");
	MATCH("R a b c E", 1, "", "x y");
}

static void
structure_not_on_the_path_is_not_passed(void **state)
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
	MATCH("R F | U V | J E", 1, "", ""); /* links have no points inside */
	MATCH("R F | U V | J E", 3, "", "");
}

static void
while_the_path_is_in_other_units_any_point_may_pass(void **state)
{
	struct fixture *f = *state;

	LEARN("R a F1 b F2 J1 c J2 d E | U1 V1 | U2 V2");
	LEARN("R k F3 e J3 d E");
	MATCH("R F1 F2 | U2 V2 | J2 E", 0, "", "a");
	MATCH("R F1 F2 | U2 V2 | J2 E", 1, "", "b");
	MATCH("R F1 F2 | U2 V2 | J2 E", 5, "", "d");
	/* J1 is always on: no walk passes it, but c is before J2 */
	MATCH("R F1 F2 J2 E", 2, "", "c");
}

/* F2 lies between F1 and the only join by which the path can have returned. */
static void
points_of_other_units_distinguish_places(void **state)
{
	struct fixture *f = *state;

	LEARN("R F1 F2 x_begin J1 m p x_end E | U1 V1");
	LEARN("R y_begin J1 m q y_end E");
	MATCH("R F1 | U1 V1 | J1 m E", 5, "", "p x_end");
}

static void
an_ended_unit_does_not_continue(void **state)
{
	struct fixture *f = *state;

	LEARN("R F1 J1 F1 J1 E | U1 a F1 b J1 c V1");
	MATCH("R F1 | U1 F1 | U1 V1 | J1 V1 | J1 E", 2, "", "a");
	MATCH("R F1 | U1 F1 | U1 V1 | J1 V1 | J1 E", 6, "", "c");
}

static void
an_absent_point_hides_only_points_reached_through_it(void **state)
{
	struct fixture *f = *state;

	LEARN("R a+1 x+1 y+1 d E");
	LEARN("R a+1 b+1 y+1 d E");
	LEARN("R a+1 x+1 z+1 d E");
	MATCH("R a d E", 1, "x", "b y");
	MATCH("R a d E", 1, "y", "x z");
}

static void
points_of_a_loop_are_in_the_gap(void **state)
{
	struct fixture *f = *state;

	LEARN("R a b p c q b p c q b p c d E");
	MATCH("R b c E", 1, "", "p");
	MATCH_BACK("R b c E", 2, 1, "q");
	MATCH("R b c E", 2, "", "d");
	MATCH_BACK("R p E", 1, 1, "c q b");
}

/*
 * s is passed in the second iteration only, in a span of its own: a place reached through the loop.
 */
static void
points_of_later_iterations_are_in_the_gap(void **state)
{
	struct fixture *f = *state;

	LEARN("R l p h_begin l s g h_end E");
	MATCH_BACK("R l E", 1, 1, "p h_begin");
	MATCH("R l E", 1, "", "s g h_end");
	MATCH("R l g E", 1, "", "s");
}

/* One iteration passes x; two iterations may pass through the span and out of it. */
static void
iterations_lead_to_places_where_further_ones_begin(void **state)
{
	struct fixture *f = *state;
	const struct candidate *c;

	LEARN("R l x l E");
	LEARN("R l p h_begin l h_end q l E");
	c = ask(f, "R l E", 1, 1, NULL, 1);
	assert_int_equal(f->n, 5);
	named(f, c, "x");
	named(f, c, "h_begin");
	named(f, c, "q");
}

static void
unknown_tokens_are_ignored(void **state)
{
	struct fixture *f = *state;

	LEARN("R a b c d E");
	MATCH("R new1 a d E", 2, "", "b c");
	MATCH("R a new1 d E", 1, "", "b c");
	MATCH("R a new1 d E", 2, "", "b c");
	MATCH("R a new1 new2 d new3 E", 3, "", "b c");
	MATCH("R a d new1", 2, "", "");
	MATCH("R new1 E", 0, "", "a b c d");
	MATCH_BACK("R a new1 d E", 2, 2, "b c"); /* no loop was learned there */
	MATCH("R4 a E", 1, "", "");
}

static void
the_drawn_walk_has_learned_times(void **state)
{
	struct fixture *f = *state;
	const struct candidate *c;

	LEARN("R a+100 b+50 c+20 d+30 E+5");
	c = ask(f, "R a d E", 1, 2, NULL, 1);
	assert_int_equal(f->n, 2);
	assert_true(near(f->gap.mean_ns, 100));
	assert_true(near(named(f, c, "b")->offset_ns, 50));
	assert_true(near(named(f, c, "c")->offset_ns, 70));
	assert_true(
	    c[0].drawn && c[1].drawn && c[0].share == 1 && c[0].per_trace == 1 && c[0].count == 1);
	c = ask(f, "R a d E", 1, 2, "b", 1);
	assert_int_equal(f->n, 1);
	assert_int_equal(c[0].label, label_of(f->labels, "c"));
}

static void
walks_are_drawn_with_their_learned_frequency(void **state)
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
	assert_true(often > 860 &&
		    often < 940); /* expected 900, at most five standard deviations of 9.5 away */
}

static void
spans_have_their_ends_and_the_surrounding_span(void **state)
{
	struct fixture *f = *state;
	const struct candidate *c;

	LEARN("R o_begin x_begin p x_end y_enter y_leave q o_end z E");
	c = ask(f, "R E", 0, 1, NULL, 1);
#define SPAN(begin, end, in)                                                                 \
	do {                                                                                 \
		assert_ptr_equal(&c[named(f, c, begin)->partner], named(f, c, end));         \
		assert_ptr_equal(&c[named(f, c, end)->partner], named(f, c, begin));         \
		assert_true(                                                                 \
		    named(f, c, begin)->around ==                                            \
		    ((in)[0] == '\0'                                                         \
			    ? UINT32_MAX                                                     \
			    : (uint32_t)(named(f, c, (in)[0] != '\0' ? (in) : begin) - c))); \
	} while (0)
	SPAN("o_begin", "o_end", "");
	SPAN("x_begin", "x_end", "o_begin");
	SPAN("y_enter", "y_leave", "o_begin");
	assert_ptr_equal(&c[named(f, c, "p")->around], named(f, c, "x_begin"));
	assert_ptr_equal(&c[named(f, c, "q")->around], named(f, c, "o_begin"));
	assert_int_equal(named(f, c, "z")->around, UINT32_MAX);
	assert_int_equal(named(f, c, "z")->partner, UINT32_MAX);
	/* the tracepoint of a span was tried: its content lies in the surrounding span */
	c = ask(f, "R E", 0, 1, "x_begin", 1);
	assert_ptr_equal(&c[named(f, c, "p")->around], named(f, c, "o_begin"));
	assert_int_equal(named(f, c, "x_end")->partner, UINT32_MAX);
	/* inside of a span the gap is the surrounding one */
	c = ask(f, "R o_begin o_end E", 1, 2, NULL, 1);
	assert_int_equal(named(f, c, "x_begin")->around, UINT32_MAX);
	assert_int_equal(named(f, c, "q")->around, UINT32_MAX);
}

static void
without_recorded_links_the_rest_of_both_units_is_in_the_gap(void **state)
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

/* ---- against enumeration of all walks of a small graph ---- */

enum { WORDS = 12, PLACES = WORDS * (WORDS + 1), STAY_MAX = 16, LOOKS_MAX = 300000 };

static const char *const words[WORDS] = { "R", "E", "F", "J", "a", "b", "c", "d", "x_begin",
	"x_end", "y_enter", "y_leave" };

struct brute {
	bool step[PLACES][PLACES];
	int stay[STAY_MAX], n; /* words of the path in this unit */
	bool away[STAY_MAX];
	int from, to;     /* the gap, as indices into stay; to <= from: back */
	uint32_t blocked; /* words */
	uint32_t found;
	bool matches;
	struct {
		int place;
		bool in_gap;
	} walk[4096];
	uint8_t visits[STAY_MAX][2][2][PLACES];
	long looks;
};

static void
brute_learn(
    struct brute *b, struct spans *s, struct labels *labels, const struct trace *t, uint32_t n)
{
	const uint32_t *in = spans_of(s, labels, t->events, n);
	int before = -1;

	for (uint32_t i = 0; i < n; i++) {
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
 * Continues a walk that has matched the stay up to `token`, or is on its way back in the gap
 * (in_gap), which it passed `passes` times (0, or 1 for any number). Each state is visited at most
 * twice: a walk to any place and on from it needs no more.
 */
static void
walk_on(struct brute *b, int depth, int place, int token, bool back, int passes)
{
	bool is_gap = back || (b->to > b->from && token == b->from);

	if (++b->looks > LOOKS_MAX || b->visits[token][back][passes][place] == 2)
		return;
	b->walk[depth].place = place;
	b->walk[depth].in_gap = is_gap;
	if (token == b->n - 1 && !back && (b->to > b->from || passes > 0) &&
	    place % WORDS == b->stay[token]) {
		b->matches = true;
		for (int i = 0; i <= depth; i++)
			if (b->walk[i].in_gap && b->walk[i].place % WORDS > 3)
				b->found |= 1u << b->walk[i].place % WORDS & ~b->blocked;
	}
	b->visits[token][back][passes][place]++;
	for (int next = 0; next < PLACES; next++) {
		int word = next % WORDS;
		bool may = word > 3 && (b->blocked >> word & 1) == 0;

		if (!b->step[place][next])
			continue;
		/* the next token; or the way back in the gap, which begins after its first end */
		if (!back && token + 1 < b->n && word == b->stay[token + 1])
			walk_on(b, depth + 1, next, token + 1, false, passes);
		if ((back || token == b->from) && b->to <= b->from && word == b->stay[b->to])
			walk_on(b, depth + 1, next, b->to, false, 1);
		if (!back && token + 1 < b->n && (may || b->away[token]))
			walk_on(b, depth + 1, next, token, false, passes);
		if ((back || (token == b->from && place % WORDS == b->stay[token])) &&
		    b->to <= b->from && may)
			walk_on(b, depth + 1, next, token, true, passes);
	}
	b->visits[token][back][passes][place]--;
}

static uint32_t
brute_between(struct brute *b)
{
	b->found = 0;
	b->matches = false;
	b->looks = 0;
	memset(b->visits, 0, sizeof b->visits);
	for (int start = b->stay[0]; start < PLACES; start += WORDS)
		walk_on(b, 0, start, 0, false, 0);
	return b->found;
}

/* l is passed everywhere, so that the graph has a walk from each label to each other. */
static void
what_all_traces_pass_once_and_outside_the_gap_is_beside_it(void **state)
{
	struct fixture *f = *state;
	const struct candidate *c;

	LEARN("R l a l b l c l d l E");
	LEARN("R l a l b l c l o l d l E");
	c = ask(f, "R a c E", 1, 2, NULL, 1);
	assert_false(named(f, c, "b")->beside);
	assert_true(named(f, c, "d")->beside);
	assert_false(named(f, c, "l")->beside); /* many times */
	assert_false(named(f, c, "o")->beside); /* not all traces */
	c = ask(f, "R b d E", 1, 2, NULL, 1);
	assert_true(named(f, c, "a")->beside);
	assert_false(named(f, c, "c")->beside);
	c = ask(f, "R o d E", 1, 2, NULL, 1);
	assert_false(named(f, c, "a")->beside); /* not all traces pass the gap's begin */
}

/*
 * A possible path of a trace: all structure, and the enabled points; sometimes with other units in
 * between.
 */
static void
path_of(struct brute *b, struct rng *r, const int *trace, int n, uint32_t on, char *text,
    uint32_t *token)
{
	int at = 0, tokens = 0;

	b->n = 0;
	text[0] = '\0';
	for (at = 0; at < n && b->n < STAY_MAX; at++) {
		int join = at + 1;

		if (trace[at] > 3 && (on >> trace[at] & 1) == 0)
			continue;
		strcat(text, text[0] != '\0' ? " " : "");
		strcat(text, words[trace[at]]);
		b->away[b->n] = false;
		token[b->n] = (uint32_t)tokens++;
		b->stay[b->n++] = trace[at];
		b->blocked |= 1u << trace[at];
		if (trace[at] != 2 || rng_below(r, 2) == 0)
			continue;
		while (join < n && trace[join] != 3)
			join++;
		if (join == n)
			continue;
		strcat(text, " | U V |");
		tokens += 2;
		b->away[b->n - 1] = true;
		at = join - 1;
	}
}

static bool
ask_both(struct fixture *f, struct brute *b, struct rng *r, const int *trace, int n)
{
	char text[512];
	uint32_t on = (uint32_t)rng_next(r) & (uint32_t)rng_next(r), token[STAY_MAX], got = 0,
		 expected;
	struct label_set absent = { 0 };
	struct match_path p;
	struct candidate *found;
	struct rng walk;
	int count;

	b->blocked = 0;
	path_of(b, r, trace, n, on, text, token);
	for (int w = 4; w < WORDS; w++)
		if ((b->blocked >> w & 1) == 0 && rng_below(r, 6) == 0) {
			b->blocked |= 1u << w;
			label_set_add(&absent, label_of(f->labels, words[w]));
		}
	b->from = (int)rng_below(r, (uint64_t)b->n);
	b->to = rng_below(r, 2) == 0 ? b->from + 1 : (int)rng_below(r, (uint64_t)b->from + 1);
	expected = brute_between(b);
	if (b->to == b->n || b->away[b->from] || !b->matches || b->looks > LOOKS_MAX) {
		label_set_release(&absent);
		return false;
	}
	p = made_path(f->labels, text);
	p.edge = token[b->from];
	p.edge_to = token[b->to];
	rng_seed(&walk, rng_next(r));
	count = match_between(&found, &f->gap, f->space, label_of(f->labels, "R"), &p, &absent,
	    NULL, &walk, &f->arena, NULL);
	assert_true(count >= 0);
	for (int i = 0; i < count; i++) {
		for (int w = 0; w < WORDS; w++)
			if (found[i].label == label_of(f->labels, words[w])) {
				assert_false(got >> w & 1);
				got |= 1u << w;
			}
		assert_true(found[i].share > 0 && found[i].share <= 1 && found[i].count > 0 &&
			    found[i].per_trace > 0);
		assert_true(i == 0 || found[i - 1].offset_ns <= found[i].offset_ns);
		assert_true(found[i].offset_ns >= 0 && found[i].offset_ns <= f->gap.mean_ns);
		assert_true(found[i].around == UINT32_MAX || found[i].around < (uint32_t)i);
		assert_true(found[i].partner == UINT32_MAX ||
			    found[found[i].partner].partner == (uint32_t)i);
	}
	if (got != expected)
		fail_msg("%s, from %u to %u: %x, not %x", text, p.edge, p.edge_to, got, expected);
	made_path_free(&p);
	label_set_release(&absent);
	arena_release(&f->arena);
	return true;
}

static void
candidates_equal_those_of_all_walks(void **state)
{
	static struct brute b;
	int compared = 0, traces[3][10], lengths[3], some = 0;
	struct rng r;
	(void)state;

	rng_seed(&r, 41);
	for (int round = 0; round < 1500; round++) {
		int ntraces = 1 + (int)rng_below(&r, 3);
		struct spans s = { 0 };
		struct fixture *f;

		fixture_make((void **)&f);
		memset(&b, 0, sizeof b);
		for (int i = 0; i < ntraces; i++) {
			char text[256] = "R";
			struct trace *t;
			int n = 1;

			traces[i][0] = 0;
			for (uint64_t left = rng_below(&r, 8); left > 0; left--) {
				traces[i][n] = 2 + (int)rng_below(&r, WORDS - 2);
				strcat(text, " ");
				strcat(text, words[traces[i][n++]]);
			}
			strcat(text, " E");
			traces[i][n++] = 1;
			lengths[i] = n;
			t = made(f->labels, text);
			assert_int_equal(space_learn(f->space, t, NULL), 0);
			brute_learn(&b, &s, f->labels, t, t->nevents);
			made_free(t);
		}
		for (int i = 0; i < 10; i++) {
			int which = (int)rng_below(&r, (uint64_t)ntraces);

			if (ask_both(f, &b, &r, traces[which], lengths[which])) {
				compared++;
				some += b.found != 0;
			}
		}
		spans_release(&s);
		fixture_free((void **)&f);
	}
	if (compared < 4000 || some < 2000)
		fail_msg("only %d compared, %d of them with something between", compared, some);
}

#define test(name) cmocka_unit_test_setup_teardown(name, fixture_make, fixture_free)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		test(points_of_the_gap_are_in_order),
		test(the_whole_path_determines_the_place),
		test(passages_are_counted_in_all_units_and_in_that_of_the_gap),
		test(points_elsewhere_on_the_path_are_not_in_the_gap),
		test(structure_not_on_the_path_is_not_passed),
		test(while_the_path_is_in_other_units_any_point_may_pass),
		test(points_of_other_units_distinguish_places),
		test(an_ended_unit_does_not_continue),
		test(an_absent_point_hides_only_points_reached_through_it),
		test(points_of_a_loop_are_in_the_gap),
		test(points_of_later_iterations_are_in_the_gap),
		test(iterations_lead_to_places_where_further_ones_begin),
		test(unknown_tokens_are_ignored),
		test(the_drawn_walk_has_learned_times),
		test(walks_are_drawn_with_their_learned_frequency),
		test(spans_have_their_ends_and_the_surrounding_span),
		test(without_recorded_links_the_rest_of_both_units_is_in_the_gap),
		test(what_all_traces_pass_once_and_outside_the_gap_is_beside_it),
		cmocka_unit_test(candidates_equal_those_of_all_walks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
