/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/glob.h"
#include "base/rng.h"
#include "controlplane/engine/level_rules.h"

static void
set(struct level_rules *r, const char *pattern, uint8_t level)
{
	struct err e;

	assert_int_equal(level_rules_set(r, pattern, level, &e), 0);
}

static void
the_last_rule_that_matches_a_service_holds(void **state)
{
	struct level_rules r = { 0 };
	(void)state;

	assert_int_equal(level_rules_of(&r, "cart"), LOGLEVEL_NONE);
	set(&r, "shop-*", LOGLEVEL_INFO);
	set(&r, "shop-cart", LOGLEVEL_DEBUG);
	assert_int_equal(level_rules_of(&r, "shop-cart"), LOGLEVEL_DEBUG);
	assert_int_equal(level_rules_of(&r, "shop-order"), LOGLEVEL_INFO);
	assert_int_equal(level_rules_of(&r, "nginx"), LOGLEVEL_NONE);
	set(&r, "shop-cart", LOGLEVEL_NONE); /* an exception stays as a rule */
	assert_int_equal(level_rules_of(&r, "shop-cart"), LOGLEVEL_NONE);
	assert_int_equal(level_rules_of(&r, "shop-order"), LOGLEVEL_INFO);
	assert_int_equal(r.n, 2);
	set(&r, "*", LOGLEVEL_ERR); /* replaces all */
	assert_int_equal(r.n, 1);
	assert_int_equal(level_rules_of(&r, "shop-cart"), LOGLEVEL_ERR);
	set(&r, "*", LOGLEVEL_NONE);
	assert_int_equal(r.n, 0);
}

/* Against the meaning: what was set last for a pattern that matches the service. */
static void
any_history_means_what_was_set_last(void **state)
{
	static const char *const patterns[] = { "*", "a*", "ab", "b*", "*b", "c", "a*b" },
				 *const services[] = { "a", "ab", "b", "bb", "c", "aab", "d" };
	struct rng rng;
	(void)state;

	rng_seed(&rng, 1);
	for (int round = 0; round < 300; round++) {
		uint8_t expected[sizeof services / sizeof services[0]];
		struct level_rules r = { 0 };

		memset(expected, LOGLEVEL_NONE, sizeof expected);
		for (int i = 0; i < 20; i++) {
			const char *pattern =
			    patterns[rng_below(&rng, sizeof patterns / sizeof patterns[0])];
			uint8_t level = rng_below(&rng, 3) == 0
			                    ? LOGLEVEL_NONE
			                    : (uint8_t)rng_below(&rng, LOGLEVELS);

			set(&r, pattern, level);
			for (size_t s = 0; s < sizeof services / sizeof services[0]; s++) {
				if (glob_matches(pattern, services[s]))
					expected[s] = level;
				assert_int_equal(level_rules_of(&r, services[s]), expected[s]);
			}
		}
	}
}

static void
bad_patterns_and_too_many_rules_are_refused_and_change_nothing(void **state)
{
	char name[LEVEL_PATTERN_MAX + 2];
	struct level_rules r = { 0 }, before;
	struct err e;
	(void)state;

	assert_int_equal(level_rules_set(&r, "", LOGLEVEL_INFO, &e), ERR_INPUT);
	assert_int_equal(level_rules_set(&r, "a\nb", LOGLEVEL_INFO, &e), ERR_INPUT);
	memset(name, 'a', sizeof name - 1);
	name[sizeof name - 1] = '\0';
	assert_int_equal(level_rules_set(&r, name, LOGLEVEL_INFO, &e), ERR_INPUT);
	name[LEVEL_PATTERN_MAX] = '\0';
	assert_int_equal(level_rules_set(&r, name, LOGLEVEL_INFO, &e), 0);
	set(&r, "*", LOGLEVEL_NONE);
	for (int i = 0; i < LEVEL_RULES_MAX; i++) {
		snprintf(name, sizeof name, "service-%d", i);
		set(&r, name, LOGLEVEL_INFO);
	}
	before = r;
	assert_int_equal(level_rules_set(&r, "one-more", LOGLEVEL_INFO, &e), ERR_FULL);
	assert_memory_equal(&r, &before, sizeof r);
	set(&r, "service-7", LOGLEVEL_DEBUG);
	assert_int_equal(level_rules_of(&r, "service-7"), LOGLEVEL_DEBUG);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_last_rule_that_matches_a_service_holds),
		cmocka_unit_test(any_history_means_what_was_set_last),
		cmocka_unit_test(bad_patterns_and_too_many_rules_are_refused_and_change_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
