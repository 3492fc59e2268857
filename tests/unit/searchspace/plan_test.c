/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/rng.h"
#include "searchspace/plan.h"

static void
a_tracepoint_of_two_owners_is_on_until_both_release_it(void **state)
{
	struct plan *p = plan_new();
	uint64_t owner, version;
	(void)state;

	assert_int_equal(plan_want(p, "shop:query", 7, NULL), 0);
	assert_int_equal(plan_want(p, "shop:query", 3, NULL), 0);
	assert_int_equal(plan_want(p, "shop:query", 7, NULL), 0); /* a repeated want counts once */
	assert_int_equal(plan_count(p), 1);
	assert_string_equal(plan_at(p, 0, &owner), "shop:query");
	assert_int_equal(owner, 7); /* the first owner, not the one with the smallest number */
	version = plan_version(p);
	plan_release(p, "shop:query", 7);
	assert_true(plan_wants(p, "shop:query"));
	assert_int_equal(plan_version(p), version);
	assert_non_null(plan_at(p, 0, &owner));
	assert_int_equal(owner, 3);
	plan_release(p, "shop:query", 3);
	assert_false(plan_wants(p, "shop:query"));
	assert_true(plan_version(p) > version);
	assert_null(plan_at(p, 0, &owner));
	plan_free(p);
}

static void
releasing_an_unwanted_tracepoint_changes_nothing(void **state)
{
	struct plan *p = plan_new();
	uint64_t version;
	(void)state;

	plan_want(p, "a:b", 1, NULL);
	version = plan_version(p);
	plan_release(p, "a:b", 2);
	plan_release(p, "a:c", 1);
	plan_release_owner(p, 2);
	assert_int_equal(plan_version(p), version);
	plan_clear(p);
	assert_true(plan_version(p) > version);
	version = plan_version(p);
	plan_clear(p);
	assert_int_equal(plan_version(p), version);
	assert_int_equal(plan_count(p), 0);
	plan_free(p);
}

/* ---- against a simple model: a table of owners, tracepoints and times ---- */

enum { NAMES = 12, OWNERS = 6 };

struct model {
	uint64_t since[NAMES][OWNERS]; /* 0: not wanted */
	uint64_t now;
};

static const char *
name_of(int i)
{
	static char names[NAMES][16];

	snprintf(names[i], sizeof names[i], "p%d:%s", i * 7 % NAMES, i % 3 == 0 ? "*" : "event");
	return names[i];
}

static uint64_t
oldest(const struct model *m, int name)
{
	uint64_t owner = 0, since = UINT64_MAX;

	for (int o = 0; o < OWNERS; o++)
		if (m->since[name][o] != 0 && m->since[name][o] < since) {
			since = m->since[name][o];
			owner = (uint64_t)o;
		}
	return since != UINT64_MAX ? owner : UINT64_MAX;
}

static void
same(const struct plan *p, const struct model *m)
{
	const char *before = "", *name;
	uint64_t owner;
	uint32_t count = 0;

	for (int i = 0; i < NAMES; i++) {
		assert_int_equal(plan_wants(p, name_of(i)), oldest(m, i) != UINT64_MAX);
		count += oldest(m, i) != UINT64_MAX;
	}
	assert_int_equal(plan_count(p), count);
	for (uint32_t k = 0; k < count; k++, before = name) {
		name = plan_at(p, k, &owner);
		assert_true(strcmp(before, name) < 0);
		for (int i = 0; i < NAMES; i++)
			if (strcmp(name, name_of(i)) == 0)
				assert_int_equal(owner, oldest(m, i));
	}
	assert_null(plan_at(p, count, &owner));
}

static uint32_t
wanted(const struct model *m)
{
	uint32_t bits = 0;

	for (int i = 0; i < NAMES; i++)
		bits |= (uint32_t)(oldest(m, i) != UINT64_MAX) << i;
	return bits;
}

static void
act(struct rng *r, struct plan *p, struct model *m)
{
	int name = (int)rng_below(r, NAMES), owner = (int)rng_below(r, OWNERS);
	uint64_t what = rng_below(r, 100);

	if (what < 55) {
		assert_int_equal(plan_want(p, name_of(name), (uint64_t)owner, NULL), 0);
		if (m->since[name][owner] == 0)
			m->since[name][owner] = ++m->now;
	} else if (what < 92) {
		plan_release(p, name_of(name), (uint64_t)owner);
		m->since[name][owner] = 0;
	} else if (what < 99) {
		plan_release_owner(p, (uint64_t)owner);
		for (int i = 0; i < NAMES; i++)
			m->since[i][owner] = 0;
	} else {
		plan_clear(p);
		memset(m->since, 0, sizeof m->since);
	}
}

static void
any_order_of_wants_equals_the_model(void **state)
{
	struct rng r;
	(void)state;

	for (uint64_t seed = 1; seed <= 30; seed++) {
		struct plan *p = plan_new();
		struct model m = { .now = 0 };

		rng_seed(&r, seed);
		for (int i = 0; i < 400; i++) {
			uint64_t version = plan_version(p);
			uint32_t before = wanted(&m);

			act(&r, p, &m);
			same(p, &m);
			if (before == wanted(&m))
				assert_int_equal(plan_version(p), version);
			else
				assert_true(plan_version(p) > version);
		}
		plan_free(p);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_tracepoint_of_two_owners_is_on_until_both_release_it),
		cmocka_unit_test(releasing_an_unwanted_tracepoint_changes_nothing),
		cmocka_unit_test(any_order_of_wants_equals_the_model),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
