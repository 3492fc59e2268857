/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/glob.h"
#include "agent/tracer/shards.h"
#include "base/rng.h"

enum { SESSIONS = 5, RULES = 4, NAMES = 40, SEEDS = 200, STEPS = 400 };

/* Enables and disables as the caller does; the tracer only keeps the state. */
struct lttng_tracer {
	struct shards *s;
	bool open[SESSIONS + 1], on[SESSIONS + 1][NAMES];
};

static const char *
name_of(int i)
{
	static char text[NAMES][32];

	if (i < 3)
		return (const char *[]){ "app:*", "app:t1*", "other:*" }[i];
	snprintf(text[i], sizeof text[i], i % 5 == 0 ? "other:t%02d" : "app:t%02d", i);
	return text[i];
}

static int
number_of(const char *name)
{
	for (int i = 0; i < NAMES; i++)
		if (strcmp(name_of(i), name) == 0)
			return i;
	return -1;
}

static uint32_t
rules_of(const struct lttng_tracer *t, int shard)
{
	uint32_t n = 0;

	for (int i = 0; i < NAMES; i++)
		n += t->on[shard][i];
	return n;
}

static bool
has_room(const struct lttng_tracer *t)
{
	for (int k = 1; k <= SESSIONS; k++)
		if (!t->open[k] || rules_of(t, k) < RULES)
			return true;
	return false;
}

static void
set(struct lttng_tracer *t, int i, int shard, bool on)
{
	assert_true(t->open[shard]);
	t->on[shard][i] = on;
	assert_true(shards_switched(t->s, name_of(i), shard, on));
}

static void
turn_on(struct lttng_tracer *t, int i)
{
	int moved[NAMES], n = 0, shard;
	bool room = has_room(t);
	const char *other;

	while (
	    strchr(name_of(i), '*') != NULL && (other = shards_covered(t->s, name_of(i))) != NULL) {
		moved[n] = number_of(other);
		set(t, moved[n++], shards_where(t->s, other), false);
	}
	if ((shard = shards_place(t->s, name_of(i))) == SHARD_NONE) {
		shard = shards_vacant(t->s);
		assert_true(shard > 0 && shard <= SESSIONS && !t->open[shard]);
		t->open[shard] = true;
		memset(t->on[shard], 0, sizeof t->on[shard]);
		shards_opened(t->s, shard);
	}
	set(t, i, shard, true);
	assert_int_equal(shards_on(t->s, shard), rules_of(t, shard));
	assert_true(shard == SHARD_BASE || !room || rules_of(t, shard) <= RULES);
	while (n-- > 0)
		set(t, moved[n], SHARD_BASE, true);
}

static void
turn_off(struct lttng_tracer *t, int i)
{
	int shard = shards_where(t->s, name_of(i));

	if (shard != SHARD_NONE)
		set(t, i, shard, false);
}

/*
 * Each wanted name is on in one session, others in none, and names described by two rules are in
 * one session.
 */
static void
check(const struct lttng_tracer *t, const bool *wanted)
{
	for (int i = 0; i < NAMES; i++) {
		int places = 0, where = -1;

		for (int k = 0; k <= SESSIONS; k++)
			if (t->open[k] && t->on[k][i]) {
				places++;
				where = k;
			}
		assert_int_equal(places, wanted[i]);
		assert_int_equal(shards_where(t->s, name_of(i)), wanted[i] ? where : SHARD_NONE);
		for (int w = 0; w < 3; w++)
			if (wanted[i] && wanted[w] && glob_matches(name_of(w), name_of(i)))
				assert_int_equal(where, SHARD_BASE);
	}
}

static void
any_order_ends_in_the_desired_state(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct rng r;
		struct lttng_tracer t = { .s = shards_new(SESSIONS, RULES), .open = { true } };
		bool wanted[NAMES] = { false };

		rng_seed(&r, seed);
		for (int step = 0; step < STEPS; step++) {
			int i = (int)rng_below(&r, NAMES);

			wanted[i] = !wanted[i];
			wanted[i] ? turn_on(&t, i) : turn_off(&t, i);
			check(&t, wanted);
		}
		for (int i = 0; i < NAMES; i++)
			turn_off(&t, i);
		memset(wanted, 0, sizeof wanted);
		check(&t, wanted);
		for (int shard; (shard = shards_to_close(t.s)) != SHARD_NONE;) {
			assert_true(shard > 0 && t.open[shard]);
			t.open[shard] = false;
			shards_closed(t.s, shard);
		}
		check(&t, wanted);
		shards_free(t.s);
	}
}

static void
sessions_exceed_the_rule_limit_only_when_all_are_full(void **state)
{
	struct lttng_tracer t = { .s = shards_new(SESSIONS, RULES), .open = { true } };
	(void)state;

	for (int i = 3; i < 3 + SESSIONS * RULES; i++) {
		turn_on(&t, i);
		for (int k = 1; k <= SESSIONS; k++)
			assert_true(rules_of(&t, k) <= RULES);
	}
	assert_int_equal(shards_vacant(t.s), SHARD_NONE);
	turn_on(&t, 3 + SESSIONS * RULES); /* all are full: it is enabled nevertheless */
	assert_true(shards_where(t.s, name_of(3 + SESSIONS * RULES)) > 0);
	shards_free(t.s);
}

static void
one_spare_session_is_opened_and_one_stays_open(void **state)
{
	struct lttng_tracer t = { .s = shards_new(SESSIONS, RULES), .open = { true } };
	(void)state;

	assert_true(shards_wants_spare(t.s));
	t.open[1] = true;
	shards_opened(t.s, 1);
	assert_false(shards_wants_spare(t.s));
	for (int i = 3; i < 3 + RULES; i++)
		turn_on(&t, i);
	assert_int_equal(rules_of(&t, 1), RULES);
	assert_true(shards_wants_spare(t.s));
	t.open[2] = true;
	shards_opened(t.s, 2);
	assert_false(shards_wants_spare(t.s));
	assert_int_equal(shards_to_close(t.s), SHARD_NONE); /* a tracepoint is on */
	for (int i = 3; i < 3 + RULES; i++)
		turn_off(&t, i);
	assert_int_equal(shards_to_close(t.s), 2);
	shards_closed(t.s, 2);
	assert_int_equal(shards_to_close(t.s), SHARD_NONE);
	shards_free(t.s);
}

static void
a_session_that_saw_many_rules_is_closed(void **state)
{
	struct shards *s = shards_new(1, 2);
	char name[32];
	(void)state;

	shards_opened(s, 1);
	for (int i = 0; shards_to_close(s) == SHARD_NONE; i++) {
		assert_true(i < 1000);
		snprintf(name, sizeof name, "app:e%d", i);
		assert_true(shards_switched(s, name, 1, true));
		assert_int_equal(shards_to_close(s), SHARD_NONE);
		assert_true(shards_switched(s, name, 1, false));
	}
	assert_int_equal(shards_to_close(s), 1);
	shards_closed(s, 1);
	shards_opened(s, 1);
	assert_int_equal(shards_to_close(s), SHARD_NONE);
	shards_free(s);
}

static void
always_on_tracepoints_are_in_the_base_session(void **state)
{
	struct shards *s = shards_new(SESSIONS, RULES), *none = shards_new(0, RULES);
	(void)state;

	assert_int_equal(shards_place(s, "hone:request_begin"), SHARD_BASE);
	assert_int_equal(shards_place(s, "app:*"), SHARD_BASE);
	assert_int_equal(shards_place(s, "app:x"), SHARD_NONE);
	assert_int_equal(shards_place(none, "app:x"), SHARD_BASE);
	assert_false(shards_wants_spare(none));
	shards_free(s);
	shards_free(none);
}

static void
stars_match_any_text(void **state)
{
	static const struct {
		const char *pattern, *text;
		bool matches;
	} CASES[] = { { "a:*", "a:b", true }, { "a:*", "a:", true }, { "a:*", "ab:c", false },
		{ "a:b", "a:b", true }, { "a:b", "a:bc", false }, { "a:*b*c", "a:xbybzc", true },
		{ "a:*b*c", "a:xbybz", false }, { "*", "", true }, { "a:**x", "a:yyx", true },
		{ "a:*ab", "a:aab", true }, { "", "a", false } };
	(void)state;

	for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++)
		assert_int_equal(glob_matches(CASES[i].pattern, CASES[i].text), CASES[i].matches);
}

static void
the_widest_filter_holds_until_the_tracepoint_is_disabled(void **state)
{
	struct shards *s = shards_new(SESSIONS, RULES);
	(void)state;

	shards_set_filter(s, "app:t01", FILTER_NONE); /* unknown so far */
	shards_opened(s, 1);
	shards_switched(s, "app:t01", 1, true);
	assert_int_equal(shards_filter(s, "app:t01"), FILTER_PROBED);
	shards_set_filter(s, "app:t01", FILTER_SAMPLED);
	assert_int_equal(shards_filter(s, "app:t01"), FILTER_SAMPLED);
	shards_set_filter(s, "app:t01", FILTER_PROBED);
	assert_int_equal(shards_filter(s, "app:t01"), FILTER_SAMPLED);
	shards_set_filter(s, "app:t01", FILTER_NONE);
	assert_int_equal(shards_filter(s, "app:t01"), FILTER_NONE);
	assert_int_equal(shards_filter(s, "app:t02"), FILTER_PROBED);
	shards_switched(s, "app:t01", 1, true); /* repeated */
	assert_int_equal(shards_filter(s, "app:t01"), FILTER_NONE);
	shards_switched(s, "app:t01", 1, false);
	assert_int_equal(shards_filter(s, "app:t01"), FILTER_PROBED);
	shards_switched(s, "app:t01", SHARD_BASE, true);
	assert_int_equal(shards_filter(s, "app:t01"), FILTER_PROBED);
	shards_free(s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_order_ends_in_the_desired_state),
		cmocka_unit_test(sessions_exceed_the_rule_limit_only_when_all_are_full),
		cmocka_unit_test(one_spare_session_is_opened_and_one_stays_open),
		cmocka_unit_test(a_session_that_saw_many_rules_is_closed),
		cmocka_unit_test(always_on_tracepoints_are_in_the_base_session),
		cmocka_unit_test(stars_match_any_text),
		cmocka_unit_test(the_widest_filter_holds_until_the_tracepoint_is_disabled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
