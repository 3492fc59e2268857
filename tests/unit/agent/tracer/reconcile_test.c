/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "agent/tracer/reconcile.h"
#include "base/rng.h"

#define MS INT64_C(1000000)

/* A tracer without delays: which of the 26 tracepoints "p:a" to "p:z" are on. */
struct lttng_tracer {
	bool on[26];
	bool fails[26];
	int nchanges;
};

static struct mono
at_ms(int64_t ms)
{
	return (struct mono){ ms * MS };
}

static int
want(struct reconcile *r, uint64_t epoch, int64_t lease_ms, const char *letters, int64_t now_ms)
{
	struct toggle toggles[26] = { 0 };
	char names[26][8];
	struct want w = { .epoch = epoch, .lease_ms = lease_ms, .toggles = toggles };
	struct err e;

	for (; letters[w.ntoggles] != '\0'; w.ntoggles++) {
		snprintf(names[w.ntoggles], sizeof names[0], "p:%c", letters[w.ntoggles]);
		toggles[w.ntoggles].name = names[w.ntoggles];
	}
	return reconcile_want(r, &w, at_ms(now_ms), &e);
}

/* Applies all due changes and returns their number. */
static uint32_t
apply(struct reconcile *r, struct lttng_tracer *t, int64_t now_ms)
{
	uint32_t n;
	struct tracer_change *c = reconcile_changes(r, RECONCILE_TRACER, at_ms(now_ms), &n);

	if (c == NULL)
		return 0;
	for (uint32_t i = 0; i < n; i++) {
		int which = c[i].name[2] - 'a';

		if (t->fails[which]) {
			c[i].failed = true;
			strcpy(c[i].reason, "it fails");
		} else {
			/* no change to the state that it already has */
			assert_int_not_equal(t->on[which], c[i].on);
			t->on[which] = c[i].on;
		}
		t->nchanges++;
	}
	reconcile_applied(r, c, n, false, at_ms(now_ms));
	return n;
}

static void
assert_on(const struct lttng_tracer *t, const char *letters)
{
	for (int i = 0; i < 26; i++)
		assert_int_equal(t->on[i], strchr(letters, 'a' + i) != NULL);
}

static bool
exists(void *letters, const char *name)
{
	return strchr(letters, name[2]) != NULL;
}

static bool
done(struct reconcile *r, int64_t now_ms, const char *there, struct done *d)
{
	return reconcile_done(r, at_ms(now_ms), exists, (void *)(uintptr_t)there, d);
}

static void
changes_are_the_difference_to_the_desired_state(void **state)
{
	static const struct {
		const char *wanted;
		uint32_t changes;
	} STEPS[] = {
		{ "", 0 },
		{ "abc", 3 },
		{ "abc", 0 },
		{ "bcd", 2 },
		{ "bcdd", 0 },
		{ "", 3 },
		{ "z", 1 },
		{ "a", 2 },
	};
	struct reconcile *r = reconcile_new();
	struct lttng_tracer t = { 0 };
	(void)state;

	for (size_t i = 0; i < sizeof STEPS / sizeof STEPS[0]; i++) {
		assert_int_equal(want(r, i + 1, 1000, STEPS[i].wanted, 0), 0);
		assert_int_equal(apply(r, &t, 1), STEPS[i].changes);
		assert_on(&t, STEPS[i].wanted);
	}
	reconcile_free(r);
}

static void
a_lease_that_is_not_renewed_ends(void **state)
{
	struct reconcile *r = reconcile_new();
	struct reconcile_stats look;
	struct lttng_tracer t = { 0 };
	struct done d;
	(void)state;

	want(r, 1, 500, "ab", 0);
	apply(r, &t, 0);
	want(r, 1, 500, "ab", 400); /* the same epoch renews the lease */
	assert_int_equal(apply(r, &t, 899), 0);
	assert_true(done(r, 899, "ab", &d));
	assert_int_equal(apply(r, &t, 900), 2);
	assert_on(&t, "");
	reconcile_stats(r, at_ms(900), &look);
	assert_int_equal(look.added, 0);
	assert_false(look.leased);
	assert_false(done(r, 901, "ab", &d));

	want(r, 1, 500, "ab", 2000); /* enabled again, and confirmed again */
	assert_int_equal(apply(r, &t, 2001), 2);
	assert_true(done(r, 2002, "ab", &d));
	assert_int_equal(d.from_ns, 2001 * MS);
	reconcile_free(r);
}

/* Between the end of the lease and the change that disables it, a tracepoint is still on. */
static void
after_a_lease_has_ended_nothing_is_confirmed(void **state)
{
	struct reconcile *r = reconcile_new();
	struct lttng_tracer t = { 0 };
	struct done d;
	(void)state;

	want(r, 1, 500, "ab", 0);
	apply(r, &t, 0);
	assert_true(done(r, 1, "a", &d));
	reconcile_programs_changed(r); /* a result is another one now */
	assert_false(done(r, 500, "ab", &d));
	assert_on(&t, "ab");
	want(r, 1, 500, "ab", 600);
	assert_true(done(r, 601, "ab", &d));
	reconcile_free(r);
}

static void
a_lease_lasts_ten_minutes_at_most(void **state)
{
	struct reconcile *r = reconcile_new();
	struct lttng_tracer t = { 0 };
	(void)state;

	want(r, 1, INT64_MAX / 2000000, "a", 0);
	apply(r, &t, 0);
	assert_int_equal(apply(r, &t, RECONCILE_LEASE_MAX_MS - 1), 0);
	assert_int_equal(apply(r, &t, RECONCILE_LEASE_MAX_MS), 1);
	assert_on(&t, "");
	reconcile_free(r);
}

static void
done_has_the_result_of_each_tracepoint(void **state)
{
	struct reconcile *r = reconcile_new();
	struct lttng_tracer t = { .fails = { [1] = true } };
	struct toggle toggles[] = { { "p:a" }, { "p:b" }, { "p:c" }, { "hone:*" }, { "nonsense" },
		{ "lttng_ust_lib:load" } };
	struct want w = { .epoch = 7, .lease_ms = 5000, .ntoggles = 6, .toggles = toggles };
	static const uint8_t RESULTS[] = { DONE_ON, DONE_FAILED, DONE_NO_SUCH, DONE_ON, DONE_FAILED,
		DONE_FAILED };
	struct done d;
	(void)state;

	assert_int_equal(reconcile_want(r, &w, at_ms(0), NULL), 0);
	assert_false(done(r, 1, "ab", &d));
	/* always-on and foreign tracepoints are not changed */
	assert_int_equal(apply(r, &t, 2), 3);
	assert_true(done(r, 3, "ab", &d));
	assert_int_equal(d.epoch, 7);
	assert_int_equal(d.from_ns, 2 * MS);
	assert_int_equal(d.nresults, 6);
	assert_memory_equal(d.results, RESULTS, 6);
	assert_string_equal(d.failure, "p:b: it fails");
	assert_false(done(r, 4, "ab", &d)); /* confirmed once */

	assert_int_equal(apply(r, &t, 900), 0);
	assert_int_equal(apply(r, &t, 1003), 1); /* tried again after a second */
	assert_false(done(r, 1004, "ab", &d));   /* no new result to report */
	reconcile_programs_changed(r);
	assert_true(done(r, 1005, "abc", &d));
	assert_int_equal(d.results[2], DONE_ON);
	t.fails[1] = false;
	assert_int_equal(apply(r, &t, 2100), 1);
	assert_true(done(r, 2101, "abc", &d));
	assert_int_equal(d.results[1], DONE_ON);
	reconcile_free(r);
}

static void
shed_load_stays_until_a_newer_epoch(void **state)
{
	struct reconcile *r = reconcile_new();
	struct lttng_tracer t = { 0 };
	struct done d;
	(void)state;

	want(r, 3, 5000, "ab", 0);
	apply(r, &t, 0);
	reconcile_shed(r);
	assert_int_equal(apply(r, &t, 1), 2);
	want(r, 3, 5000, "ab", 2);
	assert_int_equal(apply(r, &t, 3), 0);
	assert_false(done(r, 3, "ab", &d));
	want(r, 4, 5000, "a", 4);
	assert_int_equal(apply(r, &t, 5), 1);
	assert_true(done(r, 6, "ab", &d));
	assert_on(&t, "a");
	reconcile_free(r);
}

static void
an_older_epoch_counts_only_from_a_new_controller(void **state)
{
	struct reconcile *r = reconcile_new();
	struct lttng_tracer t = { 0 };
	struct done d;
	(void)state;

	want(r, 9, 5000, "ab", 0);
	apply(r, &t, 0);
	assert_int_equal(want(r, 8, 5000, "c", 1), ERR_INPUT);
	assert_int_equal(apply(r, &t, 1), 0);
	assert_true(done(r, 1, "ab", &d));

	reconcile_connected(r);
	assert_false(done(r, 2, "ab", &d)); /* not before its first want */
	assert_int_equal(want(r, 9, 5000, "ab", 2), 0);
	assert_int_equal(apply(r, &t, 2), 0); /* a controller with the same epoch changes nothing */
	assert_true(done(r, 2, "ab", &d));    /* but it gets a confirmation */

	reconcile_connected(r);
	assert_int_equal(want(r, 1, 5000, "c", 3), 0);
	assert_int_equal(apply(r, &t, 3), 3);
	assert_on(&t, "c");
	reconcile_free(r);
}

static void
a_new_session_enables_all_again(void **state)
{
	struct reconcile *r = reconcile_new();
	struct lttng_tracer t = { 0 };
	struct tracer_change *c;
	struct done d;
	uint32_t n;
	(void)state;

	want(r, 1, 5000, "abc", 0);
	apply(r, &t, 0);
	assert_true(done(r, 0, "abc", &d));
	want(r, 2, 5000, "abcd", 1);
	c = reconcile_changes(r, RECONCILE_TRACER, at_ms(1), &n);
	assert_int_equal(n, 1);
	assert_null(reconcile_changes(
	    r, RECONCILE_TRACER, at_ms(1), &n)); /* one set of changes at a time */
	reconcile_applied(r, c, 1, true, at_ms(2));
	reconcile_forget(r, RECONCILE_TRACER);
	memset(&t, 0, sizeof t);
	assert_false(done(r, 3, "abcd", &d));
	assert_int_equal(apply(r, &t, 3), 4);
	assert_true(done(r, 4, "abcd", &d));
	assert_int_equal(d.from_ns, 3 * MS);
	reconcile_free(r);
}

/*
 * Random events with a tracer that sometimes fails or loses its state: finally exactly the wanted
 * tracepoints are on, and none after the lease.
 */
static void
any_history_ends_in_the_desired_state(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 200; seed++) {
		struct reconcile *r = reconcile_new();
		struct lttng_tracer t = { 0 };
		char letters[27] = "";
		int64_t now_ms = 0;
		struct rng g;

		rng_seed(&g, seed);
		for (uint64_t epoch = 1; epoch < 60; epoch++) {
			size_t len = 0;

			for (char c = 'a'; c <= 'z'; c++) {
				t.fails[c - 'a'] = rng_below(&g, 10) == 0;
				if (rng_below(&g, 4) == 0)
					letters[len++] = c;
			}
			letters[len] = '\0';
			want(r, epoch, (int64_t)rng_below(&g, 400), letters, now_ms);
			if (rng_below(&g, 20) == 0)
				reconcile_shed(r);
			now_ms += (int64_t)rng_below(&g, 500);
			apply(r, &t, now_ms);
			if (rng_below(&g, 20) == 0) {
				reconcile_forget(r, RECONCILE_TRACER);
				memset(t.on, 0, sizeof t.on);
			}
		}
		memset(t.fails, 0, sizeof t.fails);
		want(r, 1000, 5000, letters, now_ms);
		apply(r, &t, now_ms + 1500);
		assert_on(&t, letters);
		apply(r, &t, now_ms + 6000);
		assert_on(&t, "");
		reconcile_free(r);
	}
}

static bool
is_mapped(void *of, const char *name)
{
	return strchr(of, name[2]) != NULL;
}

static void
tracepoints_of_a_mapping_stay_on_while_requests_are_sampled(void **state)
{
	struct reconcile *r = reconcile_new();
	struct reconcile_stats look;
	struct lttng_tracer t = { 0 };
	(void)state;

	assert_true(reconcile_standing(r, "p:a"));
	assert_true(reconcile_standing(r, "hone:x"));
	assert_int_equal(apply(r, &t, 0), 0);
	reconcile_stand(r, true);
	apply(r, &t, 1);
	assert_on(&t, "a");
	want(r, 1, 1000, "ab", 2);
	apply(r, &t, 3);
	reconcile_stats(r, at_ms(4), &look);
	assert_int_equal(look.added, 1);
	assert_on(&t, "ab");
	reconcile_shed(r);
	apply(r, &t, 5);
	assert_on(&t, "a");
	reconcile_forget(r, RECONCILE_TRACER);
	memset(&t, 0, sizeof t);
	apply(r, &t, 6);
	assert_on(&t, "a");
	reconcile_stand(r, false);
	apply(r, &t, 7);
	assert_on(&t, "");
	reconcile_free(r);
}

/*
 * Enabled without a filter where a program without libhone has the tracepoint, also if that program
 * starts later.
 */
static void
tracepoints_of_mapped_programs_are_enabled_without_a_filter(void **state)
{
	struct reconcile *r = reconcile_new();
	char mapped[8] = "a";
	struct tracer_change *c;
	uint32_t n;
	(void)state;

	reconcile_mapped(r, is_mapped, mapped);
	want(r, 1, 1000, "ab", 0);
	c = reconcile_changes(r, RECONCILE_TRACER, at_ms(1), &n);
	assert_int_equal(n, 2);
	assert_true(c[0].on && c[0].filter == FILTER_NONE && !c[0].standing);
	assert_true(c[1].on && c[1].filter == FILTER_PROBED);
	reconcile_applied(r, c, n, false, at_ms(1));
	assert_null(reconcile_changes(r, RECONCILE_TRACER, at_ms(2), &n));
	strcpy(mapped, "ab");
	c = reconcile_changes(r, RECONCILE_TRACER, at_ms(3), &n);
	assert_int_equal(n, 1);
	assert_true(c[0].on && c[0].filter == FILTER_NONE && strcmp(c[0].name, "p:b") == 0);
	reconcile_applied(r, c, n, false, at_ms(3));
	strcpy(mapped, ""); /* it has ended: its tracepoints stay as they are */
	assert_null(reconcile_changes(r, RECONCILE_TRACER, at_ms(4), &n));
	want(r, 2, 1000, "b", 5);
	c = reconcile_changes(r, RECONCILE_TRACER, at_ms(6), &n);
	assert_int_equal(n, 1);
	assert_true(!c[0].on);
	reconcile_applied(r, c, n, false, at_ms(6));
	want(r, 3, 1000, "ab", 7);
	c = reconcile_changes(r, RECONCILE_TRACER, at_ms(8), &n);
	assert_true(n == 1 && c[0].on && c[0].filter == FILTER_PROBED);
	reconcile_applied(r, c, n, false, at_ms(8));
	reconcile_free(r);
}

/* Takes the only change that is due; false: there is none, or it is another one. */
static bool
changes_one(struct reconcile *r, int64_t now_ms, bool on, enum tracer_filter filter)
{
	uint32_t n;
	struct tracer_change *c = reconcile_changes(r, RECONCILE_TRACER, at_ms(now_ms), &n);
	bool is_it;

	if (c == NULL)
		return false;
	is_it = n == 1 && c->on == on && (!on || c->filter == filter);
	reconcile_applied(r, c, n, false, at_ms(now_ms));
	return is_it;
}

/* A wider filter comes beside the narrower one; a narrower one in its place, since disabling is by name. */
static void
a_tracepoint_follows_for_which_requests_it_is_wanted(void **state)
{
	struct reconcile *r = reconcile_new();
	struct toggle toggle = { "p:a" };
	struct want w = { .epoch = 1, .lease_ms = 1000, .ntoggles = 1, .toggles = &toggle };
	struct err e;
	uint32_t n;
	(void)state;

	assert_int_equal(reconcile_want(r, &w, at_ms(0), &e), 0);
	assert_true(changes_one(r, 1, true, FILTER_PROBED));
	w.epoch++;
	toggle.sampled = true;
	assert_int_equal(reconcile_want(r, &w, at_ms(2), &e), 0);
	assert_true(changes_one(r, 3, true, FILTER_SAMPLED));
	assert_null(reconcile_changes(r, RECONCILE_TRACER, at_ms(4), &n));
	w.epoch++;
	toggle.sampled = false;
	assert_int_equal(reconcile_want(r, &w, at_ms(5), &e), 0);
	assert_true(changes_one(r, 6, false, FILTER_PROBED));
	assert_true(changes_one(r, 7, true, FILTER_PROBED));
	assert_null(reconcile_changes(r, RECONCILE_TRACER, at_ms(8), &n));
	w.epoch++;
	toggle.sampled = true;
	assert_int_equal(reconcile_want(r, &w, at_ms(9), &e), 0);
	assert_true(changes_one(r, 10, true, FILTER_SAMPLED));
	assert_true(changes_one(r, 1100, false, FILTER_PROBED)); /* its lease has ended */
	reconcile_free(r);
}

static bool
every(void *of, const char *name)
{
	(void)of;
	(void)name;
	return true;
}

static void
usdt_probes_are_switched_apart_from_the_tracer(void **state)
{
	struct reconcile *r = reconcile_new();
	struct toggle toggles[] = { { "p:a" }, { "usdt.pg:query__start" } };
	const struct want w = { .epoch = 1, .lease_ms = 1000, .ntoggles = 2, .toggles = toggles };
	struct tracer_change *tracer, *probes;
	struct done d;
	struct err e;
	uint32_t n;
	(void)state;

	assert_int_equal(reconcile_want(r, &w, at_ms(0), &e), 0);
	assert_true(reconcile_wants(r, RECONCILE_PROBES, at_ms(0)));
	tracer = reconcile_changes(r, RECONCILE_TRACER, at_ms(1), &n);
	assert_true(n == 1 && strcmp(tracer->name, "p:a") == 0);
	probes = reconcile_changes(r, RECONCILE_PROBES, at_ms(1), &n); /* meanwhile */
	assert_true(n == 1 && strcmp(probes->name, "usdt.pg:query__start") == 0);
	reconcile_applied(r, tracer, 1, false, at_ms(2));
	assert_false(reconcile_done(r, at_ms(2), every, NULL, &d)); /* the probe is not on yet */
	n = probes->point;
	reconcile_applied(r, probes, 1, false, at_ms(3));
	assert_true(reconcile_done(r, at_ms(3), every, NULL, &d));
	assert_true(d.results[0] == DONE_ON && d.results[1] == DONE_ON);

	/* it had to go off: that is reported, and tried again after a second */
	reconcile_lost(r, n, "passed 1000000 times a second", at_ms(4));
	assert_null(reconcile_changes(r, RECONCILE_PROBES, at_ms(500), &n));
	assert_true(reconcile_done(r, at_ms(4), every, NULL, &d));
	assert_true(d.results[0] == DONE_ON && d.results[1] == DONE_FAILED);
	assert_non_null(strstr(d.failure, "1000000"));
	assert_int_equal(reconcile_want(r, &w, at_ms(1004), &e), 0);
	probes = reconcile_changes(r, RECONCILE_PROBES, at_ms(1005), &n);
	assert_non_null(probes);
	reconcile_applied(r, probes, n, false, at_ms(1006));

	/* hone-below has died: the tracer's are still on */
	reconcile_forget(r, RECONCILE_PROBES);
	assert_null(reconcile_changes(r, RECONCILE_TRACER, at_ms(1007), &n));
	probes = reconcile_changes(r, RECONCILE_PROBES, at_ms(1007), &n);
	assert_true(n == 1 && probes->on);
	reconcile_applied(r, probes, n, true, at_ms(1007));
	assert_false(reconcile_wants(r, RECONCILE_PROBES, at_ms(5000))); /* its lease has ended */
	reconcile_free(r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_tracepoint_follows_for_which_requests_it_is_wanted),
		cmocka_unit_test(usdt_probes_are_switched_apart_from_the_tracer),
		cmocka_unit_test(changes_are_the_difference_to_the_desired_state),
		cmocka_unit_test(a_lease_that_is_not_renewed_ends),
		cmocka_unit_test(after_a_lease_has_ended_nothing_is_confirmed),
		cmocka_unit_test(a_lease_lasts_ten_minutes_at_most),
		cmocka_unit_test(done_has_the_result_of_each_tracepoint),
		cmocka_unit_test(shed_load_stays_until_a_newer_epoch),
		cmocka_unit_test(an_older_epoch_counts_only_from_a_new_controller),
		cmocka_unit_test(a_new_session_enables_all_again),
		cmocka_unit_test(any_history_ends_in_the_desired_state),
		cmocka_unit_test(tracepoints_of_a_mapping_stay_on_while_requests_are_sampled),
		cmocka_unit_test(tracepoints_of_mapped_programs_are_enabled_without_a_filter),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
