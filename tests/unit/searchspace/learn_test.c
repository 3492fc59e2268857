/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/rng.h"
#include "tests/unit/searchspace/fixture.h"
#include "tests/unit/searchspace/made.h"

/* ---- helpers ---- */

static void
more(struct fixture *f, const char *words)
{
	struct trace *t = made(f->labels, words);

	assert_int_equal(space_learn_more(f->space, t, NULL), 0);
	made_free(t);
}

static struct space_export
look(struct fixture *f)
{
	struct space_export l;

	assert_true(space_export(f->space, label_of(f->labels, "R"), &l));
	return l;
}

static const char *
word(struct fixture *f, uint32_t label)
{
	const char *text = labels_get(f->labels, label)->text;

	return strchr(text, '(') != NULL ? strchr(text, '(') : strchr(text, ':') + 1;
}

/*
 * All places and steps as text, sorted: "x_begin/lock*3/2" is a place recorded three times in two
 * traces.
 */
static int
by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static const char *
place_words(struct fixture *f, const struct place *p, char *text, size_t size)
{
	snprintf(text, size, "%s/%s/%s", word(f, p->unit),
	    p->span == LABEL_NONE ? "-" : word(f, p->span), word(f, p->label));
	return text;
}

static char *
space_text(struct fixture *f, uint32_t type, int digits)
{
	struct space_export l;
	char **lines, *all, a[128], b[128];
	uint32_t n = 0;
	size_t len = 1;

	assert_true(space_export(f->space, type, &l));
	lines = calloc(l.nplaces + l.nsteps + l.nconcurrency + l.nkeys + 1, sizeof *lines);
	for (uint32_t i = 0; i < l.nplaces; i++)
		assert_true(
		    asprintf(&lines[n++], "%s *%llu in %llu at %.*g",
			place_words(f, &l.places[i], a, sizeof a),
			(unsigned long long)l.places[i].count,
			(unsigned long long)l.places[i].traces, digits, l.places[i].offset_ns) > 0);
	for (uint32_t i = 0; i < l.nsteps; i++)
		assert_true(
		    asprintf(&lines[n++], "%s > %s *%llu %.*g",
			place_words(f, &l.places[l.steps[i].from], a, sizeof a),
			place_words(f, &l.places[l.steps[i].to], b, sizeof b),
			(unsigned long long)l.steps[i].count, digits, l.steps[i].mean_ns) > 0);
	for (uint32_t i = 0; i < l.nconcurrency; i++)
		assert_true(asprintf(&lines[n++], "%s || %s *%llu",
				place_words(f, &l.places[l.concurrency[i].place], a, sizeof a),
				word(f, l.concurrency[i].unit),
				(unsigned long long)l.concurrency[i].count) > 0);
	for (uint32_t i = 0; i < l.nkeys; i++)
		assert_true(
		    asprintf(&lines[n++], "%s . %s %d *%llu %g..%g %u",
			place_words(f, &l.places[l.keys[i].place], a, sizeof a), l.keys[i].field,
			l.keys[i].type, (unsigned long long)l.keys[i].count, l.keys[i].low,
			l.keys[i].high, l.keys[i].texts) > 0);
	qsort(lines, n, sizeof *lines, by_text);
	for (uint32_t i = 0; i < n; i++)
		len += strlen(lines[i]) + 1;
	all = calloc(len, 1);
	for (uint32_t i = 0; i < n; i++) {
		strcat(strcat(all, lines[i]), "\n");
		free(lines[i]);
	}
	free(lines);
	return all;
}

static const struct place *
place(struct fixture *f, const char *unit, const char *span, const char *label)
{
	struct space_export l = look(f);

	for (uint32_t i = 0; i < l.nplaces; i++)
		if (l.places[i].unit == label_of(f->labels, unit) &&
		    l.places[i].label == label_of(f->labels, label) &&
		    l.places[i].span == (span[0] == '-' ? LABEL_NONE : label_of(f->labels, span)))
			return &l.places[i];
	return NULL;
}

static const struct space_step *
step(struct fixture *f, const char *from, const char *to)
{
	struct space_export l = look(f);

	for (uint32_t i = 0; i < l.nsteps; i++)
		if (l.places[l.steps[i].from].label == label_of(f->labels, from) &&
		    l.places[l.steps[i].to].label == label_of(f->labels, to))
			return &l.steps[i];
	return NULL;
}

/* ---- learning more ---- */

static void
new_places_come_with_the_steps_around_them(void **state)
{
	struct fixture *f = *state;

	learn(f->space, f->labels, "R a+100 b+100 E");
	more(f, "R a+150 n+30 b+20 E");
	assert_non_null(place(f, "R", "-", "n"));
	assert_int_equal(place(f, "R", "-", "n")->count, 1);
	assert_non_null(step(f, "a", "n"));
	assert_non_null(step(f, "n", "b"));
	assert_string_equal(between(f->space, f->labels, "R", "R", "E", ""), "a n b");
	assert_int_equal(look(f).traces, 1);
}

/* The offset is relative to that of its neighbour: 100, as learned, not 900. */
static void
new_places_are_offset_from_their_neighbour(void **state)
{
	struct fixture *f = *state;

	learn(f->space, f->labels, "R a+100 b+100 E");
	more(f, "R a+900 n+30 b+20 E");
	assert_true(place(f, "R", "-", "n")->offset_ns == 130);
	assert_true(place(f, "R", "-", "a")->offset_ns == 100);
}

static void
no_step_bypasses_a_disabled_tracepoint(void **state)
{
	struct fixture *f = *state;

	learn(f->space, f->labels, "R a b c E");
	more(f, "R a c E");
	more(f, "R E");
	assert_null(step(f, "a", "c"));
	assert_null(step(f, "R", "E"));
	assert_int_equal(look(f).nsteps, 4);
}

static void
a_disabled_span_does_not_move_places(void **state)
{
	struct fixture *f = *state;
	char *before, *after;

	learn(f->space, f->labels, "R x_begin lock got x_end y_begin lock y_end E");
	before = space_text(f, label_of(f->labels, "R"), 17);
	more(f, "R got E");       /* only one place has this label */
	more(f, "R lock lock E"); /* one of two places: ambiguous */
	more(f, "R x_begin lock x_end E");
	after = space_text(f, label_of(f->labels, "R"), 17);
	assert_string_equal(before, after);
	free(before);
	free(after);
}

/* Any subset of the points of a learned trace, in any order of the traces. */
static void
subsets_of_learned_traces_change_nothing(void **state)
{
	static const char *const parts[] = { " a", " b", " x_begin", " x_end", " y_enter",
		" y_exit", " F1", " c+77" };
	struct fixture *f = *state;
	char traces[40][256], *before, *after;
	struct rng r;

	rng_seed(&r, 3);
	for (int i = 0; i < 40; i++) {
		strcpy(traces[i], "R");
		for (uint64_t n = rng_below(&r, 14); n > 0; n--)
			strcat(traces[i], parts[rng_below(&r, 8)]);
		strcat(traces[i], " E | U");
		for (uint64_t n = rng_below(&r, 6); n > 0; n--)
			strcat(traces[i], parts[rng_below(&r, 8)]);
		strcat(traces[i], " V");
		learn(f->space, f->labels, traces[i]);
	}
	before = space_text(f, label_of(f->labels, "R"), 17);
	for (int i = 0; i < 400; i++) {
		struct trace *t = made(f->labels, traces[rng_below(&r, 40)]);
		uint32_t n = 0;

		for (uint32_t u = 0; u < t->nunits; u++) {
			uint32_t first = n, end = t->units[u].first + t->units[u].count;

			for (uint32_t k = t->units[u].first; k < end; k++)
				if (labels_get(f->labels, t->events[k].label)->kind !=
					RECORD_POINT ||
				    rng_below(&r, 3) == 0)
					t->events[n++] = t->events[k];
			t->units[u].first = first;
			t->units[u].count = n - first;
		}
		t->nevents = n;
		assert_int_equal(space_learn_more(f->space, t, NULL), 0);
		made_free(t);
	}
	after = space_text(f, label_of(f->labels, "R"), 17);
	assert_string_equal(before, after);
	free(before);
	free(after);
}

/*
 * A type that is learned with subsets of tracepoints has few whole traces, or none: the number of
 * places that no whole trace has shown is returned.
 */
static void
places_not_in_a_whole_trace_are_counted(void **state)
{
	struct fixture *f = *state;
	struct space_stats s;

	learn(f->space, f->labels, "R a E");
	for (int i = 0; i < 100; i++)
		more(f, i % 2 == 0 ? "R a b E" : "R a c E");
	assert_true(space_stats(f->space, label_of(f->labels, "R"), &s));
	assert_int_equal(s.traces, 1);
	assert_int_equal(s.places, 5);
	assert_int_equal(s.glimpsed, 2);
	learn(f->space, f->labels, "R a b c E");
	assert_true(space_stats(f->space, label_of(f->labels, "R"), &s));
	assert_int_equal(s.traces, 2);
	assert_int_equal(s.glimpsed, 0);
}

static void
partial_traces_do_not_outweigh_whole_ones(void **state)
{
	struct fixture *f = *state;

	for (int i = 0; i < 5; i++)
		learn(f->space, f->labels, "R a b E");
	for (int i = 0; i < 100; i++)
		more(f, "R a n n b E");
	assert_int_equal(place(f, "R", "-", "n")->traces, 5);
	assert_int_equal(place(f, "R", "-", "n")->count, 10);
	assert_int_equal(step(f, "a", "n")->count, 5);
	assert_int_equal(place(f, "R", "-", "a")->count, 5);
}

static void
counts_restart_when_a_whole_trace_has_the_place(void **state)
{
	struct fixture *f = *state;

	for (int i = 0; i < 5; i++)
		learn(f->space, f->labels, "R a b E");
	for (int i = 0; i < 3; i++)
		more(f, "R a n b E");
	learn(f->space, f->labels, "R a+10 n+30 b E");
	assert_int_equal(place(f, "R", "-", "n")->traces, 1);
	assert_int_equal(place(f, "R", "-", "n")->count, 1);
	assert_true(place(f, "R", "-", "n")->offset_ns == 40);
	assert_int_equal(step(f, "a", "n")->count, 1);
}

static void
every_place_is_new_until_something_was_learned(void **state)
{
	struct fixture *f = *state;
	struct space_stats st;

	more(f, "R a E");
	assert_int_equal(look(f).traces, 0);
	assert_int_equal(look(f).nplaces, 3);
	assert_true(space_stats(f->space, LABEL_NONE, &st));
	assert_int_equal(st.traces, 0);
	learn(f->space, f->labels, "R a b E");
	assert_int_equal(look(f).nplaces, 4);
	assert_null(step(f, "a", "E")); /* this step bypassed b */
}

/* ---- coverage ---- */

static void
coverage_is_estimated_from_places_seen_once_and_twice(void **state)
{
	struct fixture *f = *state;
	struct space_cover c;

	assert_false(space_cover(f->space, LABEL_NONE, &c));
	for (int i = 0; i < 4; i++)
		learn(f->space, f->labels, "R a E");
	assert_true(space_cover(f->space, label_of(f->labels, "R"), &c));
	assert_true(c.unseen == 0 && c.next_new == 0);
	learn(f->space, f->labels, "R b E");
	learn(f->space, f->labels, "R b E");
	learn(f->space, f->labels, "R c d E"); /* two places, each recorded in this trace only */
	learn(f->space, f->labels, "R e E");
	assert_true(space_cover(f->space, LABEL_NONE, &c));
	assert_true(c.unseen == 7.0 / 8 * 3 * 2 / (2 * (1 + 1))); /* f1 = 3, f2 = 1, m = 8 */
	assert_true(c.next_new == 2.0 / 8);
}

/*
 * Twenty branches of different probability, each trace takes one: the estimated probability of a
 * new place is the observed one.
 */
static void
the_estimated_probability_of_a_new_place_is_the_observed_one(void **state)
{
	double chance = 0, came = 0, unseen = 0, missing = 0;
	struct rng r;
	(void)state;

	rng_seed(&r, 12);
	for (int round = 0; round < 300; round++) {
		struct fixture *f;
		struct space_cover c;
		struct space_stats st;
		char words[32];
		uint32_t places;

		fixture_make((void **)&f);
		for (int i = 0; i <= 60; i++) {
			uint64_t a = rng_below(&r, 60), b = rng_below(&r, 60);

			if (i == 60) {
				assert_true(space_cover(f->space, LABEL_NONE, &c) &&
					    space_stats(f->space, LABEL_NONE, &st));
				chance += c.next_new;
				unseen += c.unseen;
				missing += 62 - st.places;
			}
			places = i == 60 ? st.places : 0;
			snprintf(words, sizeof words, "R p%d E", (int)(a < b ? a : b));
			learn(f->space, f->labels, words);
		}
		assert_true(space_stats(f->space, LABEL_NONE, &st));
		came += st.places > places;
		fixture_free((void **)&f);
	}
	assert_true(chance > came * 0.85 && chance < came * 1.15);
	/* the estimate is a lower bound */
	assert_true(unseen > 0.5 * missing && unseen < missing * 1.05);
}

/* ---- concurrency, keys ---- */

static void
forks_and_joins_name_the_unit(void **state)
{
	struct fixture *f = *state;
	struct trace *t = made(f->labels, "R F1 F2 J1 J2 E | U1 a V1 | U2 b V2");
	struct space_export l;
	char *text;

	t->events[1].link_id = t->events[3].link_id = t->events[6].link_id = 77;
	t->events[2].link_id = t->events[4].link_id = t->events[9].link_id = 78;
	t->units[0].fork = TRACE_NONE;
	t->units[1].fork = 1;
	t->units[2].fork = 2;
	for (int i = 0; i < 3; i++)
		assert_int_equal(space_learn(f->space, t, NULL), 0);
	l = look(f);
	assert_int_equal(l.nconcurrency, 4);
	text = space_text(f, t->type, 3);
	assert_non_null(strstr(text, "(R)/-/(F1) || (U1) *3\n"));
	assert_non_null(strstr(text, "(R)/-/(F2) || (U2) *3\n"));
	assert_non_null(strstr(text, "(R)/-/(J1) || (U1) *3\n"));
	assert_non_null(strstr(text, "(R)/-/(J2) || (U2) *3\n"));
	free(text);
	made_free(t);
}

/* Structure that no program recorded links units, but is no place. */
static void
silent_structure_links_units_and_is_no_place(void **state)
{
	struct fixture *f = *state;
	struct trace *t = made(f->labels, "R a F1 J1 b E | U1 c d V1");
	char *text;

	t->events[2].label = labels_silent(f->labels, RECORD_FORK);
	t->events[3].label = labels_silent(f->labels, RECORD_JOIN);
	t->events[6].label = labels_silent(f->labels, RECORD_UNIT_BEGIN);
	t->events[2].link_id = t->events[3].link_id = 5;
	t->units[1].fork = 2;
	assert_int_equal(space_learn(f->space, t, NULL), 0);
	assert_int_equal(look(f).nplaces, 7);
	text = space_text(f, t->type, 3);
	/* the unit is named by its first label */
	assert_non_null(strstr(text, "(R)/-/a || c *1\n"));
	assert_non_null(strstr(text, "(R)/-/b || c *1\n"));
	assert_non_null(strstr(text, "c/-/d *1 in 1 at 20\n")); /* since the begin of its unit */
	assert_non_null(strstr(text, "(R)/-/a > (R)/-/b *1 30\n"));
	free(text);
	made_free(t);
}

static void
teach_values(struct fixture *f, uint32_t label, const struct value *values, uint32_t n)
{
	struct trace *t = made(f->labels, "R a E");

	t->events[1].label = label;
	t->events[1].values = values;
	t->events[1].nvalues = n;
	assert_int_equal(space_learn(f->space, t, NULL), 0);
	made_free(t);
}

static void
keys_have_ranges_and_counts_of_texts(void **state)
{
	static const char *const fields[] = { "rows", "shard", "load" };
	struct fixture *f = *state;
	uint32_t label = labels_intern(f->labels, RECORD_POINT, "shop/app:q", 10, fields, 3);
	struct space_export l;

	for (int i = 0; i < 1000; i++) {
		char text[16];
		struct value v[3] = { { .type = VALUE_INT, .i = i - 20 },
			{ .type = VALUE_TEXT, .text = text },
			{ .type = i % 2 != 0 ? VALUE_REAL : VALUE_NONE,
			    .d = i == 501 ? 0.0 / 0.0 : 0.5 * i } };

		v[1].len = (uint32_t)snprintf(text, sizeof text, "%d", i < 500 ? i % 9 : i);
		teach_values(f, label, v, 3);
		if (i == 499)
			assert_int_equal(look(f).keys[1].texts, 9);
	}
	l = look(f);
	assert_int_equal(l.nkeys, 3);
	assert_string_equal(l.keys[0].field, "rows");
	assert_true(l.keys[0].type == VALUE_INT && l.keys[0].count == 1000 &&
		    l.keys[0].low == -20 && l.keys[0].high == 979);
	assert_string_equal(l.keys[1].field, "shard");
	assert_true(
	    l.keys[1].type == VALUE_TEXT && l.keys[1].count == 1000 && l.keys[1].texts == 256);
	assert_true(l.keys[2].type == VALUE_REAL && l.keys[2].count == 499 &&
		    l.keys[2].low == 0.5 && l.keys[2].high == 499.5);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(l.places[l.keys[i].place].label, label);
}

/* ---- merging ---- */

static void
learn_any(struct rng *r, struct fixture *f, struct space *a, struct space *b)
{
	static const char *const parts[] = { " a", " b", " x_begin", " x_end", " c+70", " F1",
		" J1" };
	char text[256] = "R";
	struct trace *t;

	for (uint64_t n = rng_below(r, 12); n > 0; n--)
		strcat(text, parts[rng_below(r, 7)]);
	strcat(text, " E | U1");
	for (uint64_t n = rng_below(r, 5); n > 0; n--)
		strcat(text, parts[rng_below(r, 7)]);
	t = made(f->labels, text);
	t->units[1].fork = (uint32_t)rng_below(r, t->nevents);
	assert_int_equal(space_learn(a, t, NULL), 0);
	assert_int_equal(space_learn(b, t, NULL), 0);
	made_free(t);
}

static void
merged_spaces_equal_one_that_learned_all(void **state)
{
	struct fixture *f = *state;
	struct rng r;

	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct fixture part = { f->labels, space_new(f->labels) }, other = part,
			       whole = part;
		char *a, *b;

		other.space = space_new(f->labels);
		whole.space = space_new(f->labels);
		rng_seed(&r, seed);
		for (uint64_t i = 0; i < seed * 3; i++)
			learn_any(
			    &r, f, rng_below(&r, 2) == 0 ? part.space : other.space, whole.space);
		assert_int_equal(space_merge(part.space, other.space, NULL), 0);
		a = space_text(&part, label_of(f->labels, "R"), 9);
		b = space_text(&whole, label_of(f->labels, "R"), 9);
		assert_string_equal(a, b);
		assert_int_equal(space_version(part.space)->traces, seed * 3);
		free(a);
		free(b);
		space_free(part.space);
		space_free(other.space);
		space_free(whole.space);
	}
}

static void
merging_keeps_partial_traces_apart(void **state)
{
	struct fixture *f = *state;
	struct fixture g = { f->labels, space_new(f->labels) };

	learn(f->space, f->labels, "R a b E");
	more(f, "R a n b E");
	learn(g.space, g.labels, "R a b E");
	learn(g.space, g.labels, "R a n b E");
	more(&g, "R a m b E");
	assert_int_equal(space_merge(f->space, g.space, NULL), 0);
	/* the place is learned whole in the other space */
	assert_int_equal(place(f, "R", "-", "n")->count, 1);
	assert_int_equal(place(f, "R", "-", "m")->count, 1);
	assert_int_equal(look(f).traces, 3);
	assert_int_equal(space_merge(g.space, f->space, NULL), 0);
	assert_int_equal(place(&g, "R", "-", "n")->count, 2);
	assert_int_equal(place(&g, "R", "-", "m")->count, 2);
	space_free(g.space);
}

/* ---- versions ---- */

static bool
is_there(void *ctx, const char *service, const char *event)
{
	(void)ctx;
	assert_string_equal(service, "shop");
	return strcmp(event, "app:a") == 0 || strcmp(event, "app:c") == 0;
}

static void
is_gone(void *ctx, uint32_t label)
{
	uint32_t *n = ctx;

	n[1 + n[0]] = label;
	n[0]++;
}

static void
tracepoints_that_the_programs_no_longer_have_are_stale(void **state)
{
	struct fixture *f = *state;
	uint32_t gone[8] = { 0 };

	learn(f->space, f->labels, "R a b a b c E");
	learn(f->space, f->labels, "R1 b d E");
	space_stale(f->space, is_there, gone, is_gone);
	assert_int_equal(gone[0], 2);
	assert_int_equal(gone[1], label_of(f->labels, "b"));
	assert_int_equal(gone[2], label_of(f->labels, "d"));
}

static void
long_version_names_are_refused(void **state)
{
	struct fixture *f = *state;
	struct err e = { 0 };
	char name[80] = { 0 };

	assert_string_equal(space_version(f->space)->name, "");
	memset(name, 'v', 63);
	assert_int_equal(space_version_set(f->space, 7, name, 1000, &e), 0);
	assert_string_equal(space_version(f->space)->name, name);
	name[63] = 'v';
	assert_int_equal(space_version_set(f->space, 8, name, 0, &e), ERR_INPUT);
	assert_non_null(strstr(e.text, "at most 63 bytes"));
	assert_int_equal(space_version(f->space)->fingerprint, 7);
	assert_int_equal(space_version_set(f->space, 8, "2", 0, &e), 0);
	assert_int_equal(space_version(f->space)->learned_ns, 1000);
	learn(f->space, f->labels, "R a E");
	more(f, "R a E");
	assert_int_equal(space_version(f->space)->traces, 1);
}

#define test(name) cmocka_unit_test_setup_teardown(name, fixture_make, fixture_free)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		test(new_places_come_with_the_steps_around_them),
		test(new_places_are_offset_from_their_neighbour),
		test(no_step_bypasses_a_disabled_tracepoint),
		test(a_disabled_span_does_not_move_places),
		test(subsets_of_learned_traces_change_nothing),
		test(places_not_in_a_whole_trace_are_counted),
		test(partial_traces_do_not_outweigh_whole_ones),
		test(counts_restart_when_a_whole_trace_has_the_place),
		test(every_place_is_new_until_something_was_learned),
		test(coverage_is_estimated_from_places_seen_once_and_twice),
		cmocka_unit_test(the_estimated_probability_of_a_new_place_is_the_observed_one),
		test(forks_and_joins_name_the_unit),
		test(silent_structure_links_units_and_is_no_place),
		test(keys_have_ranges_and_counts_of_texts),
		test(merged_spaces_equal_one_that_learned_all),
		test(merging_keeps_partial_traces_apart),
		test(tracepoints_that_the_programs_no_longer_have_are_stale),
		test(long_version_names_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
