/* SPDX-License-Identifier: GPL-3.0-or-later */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/rng.h"
#include "controlplane/alerts/group_profiles.h"

static uint64_t
come(struct group_profiles *g, uint64_t key, int n)
{
	struct err e;

	for (int i = 0; i < n; i++)
		assert_int_equal(
		    group_profiles_request(g, (struct hash128){ key, 1 }, i, 1000, &e), 0);
	return (uint64_t)n;
}

static bool
is_watched(const struct group_profiles *g, uint64_t key)
{
	for (uint32_t i = 0; i < g->n; i++)
		if (g->items[i]->key.a == key)
			return true;
	return false;
}

static void
choose(struct group_profiles *g, uint64_t requests, uint32_t *room)
{
	struct err e;

	assert_int_equal(group_profiles_choose(g, requests, room, &e), 0);
}

static void
groups_with_enough_requests_get_a_place(void **state)
{
	struct group_profiles g = { 0 };
	uint32_t room = 10;
	uint64_t n;
	(void)state;

	n = come(&g, 1, 300) + come(&g, 2, 99) + come(&g, 3, 100);
	choose(&g, n, &room);
	assert_true(is_watched(&g, 1) && !is_watched(&g, 2) && is_watched(&g, 3));
	assert_int_equal(room, 8);
	come(&g, 3, 7);
	assert_int_equal(g.items[1]->profile.times.n, 7);
	group_profiles_release(&g);
}

static void
a_group_that_is_nearly_all_of_its_type_gets_none(void **state)
{
	struct group_profiles g = { 0 };
	uint32_t room = 10;
	(void)state;

	come(&g, 1, 950);
	choose(&g, 1000, &room);
	assert_int_equal(g.n, 0);
	come(&g, 1, 890);
	choose(&g, 1000, &room);
	assert_int_equal(g.n, 1);
	group_profiles_release(&g);
}

static void
places_are_bounded_by_type_and_in_all(void **state)
{
	struct group_profiles g = { 0 };
	uint32_t room = 3;
	(void)state;

	for (uint64_t k = 0; k < 12; k++)
		come(&g, k, 100 + (int)k);
	choose(&g, 1300, &room);
	assert_int_equal(g.n, 3);
	assert_int_equal(room, 0);
	assert_true(is_watched(&g, 11) && is_watched(&g, 10) && is_watched(&g, 9));
	room = 100;
	for (uint64_t k = 0; k < 12; k++)
		come(&g, k, 100);
	choose(&g, 1200, &room);
	assert_int_equal(g.n, GROUPS_WATCHED_MAX);
	assert_int_equal(room, 100 - (GROUPS_WATCHED_MAX - 3));
	group_profiles_release(&g);
}

static void
a_group_that_stays_away_gives_its_place(void **state)
{
	struct group_profiles g = { 0 };
	uint32_t room = 1;
	(void)state;

	come(&g, 1, 200);
	choose(&g, 1000, &room);
	for (int i = 1; i < GROUP_IDLE_MAX; i++)
		choose(&g, 1000, &room);
	assert_int_equal(g.n, 1);
	come(&g, 2, 200);
	choose(&g, 1000, &room); /* its time is over, and the place is free for another one */
	assert_true(g.n == 1 && is_watched(&g, 2) && room == 0);
	group_profiles_release(&g);
}

/* Among ever new groups, one with more than 1 of GROUPS_COUNTED requests is found. */
static void
a_large_group_is_found_among_any_number_of_others(void **state)
{
	struct group_profiles g = { 0 };
	uint32_t room = 10;
	struct rng r;
	(void)state;

	rng_seed(&r, 2);
	for (uint64_t i = 0; i < 2000; i++)
		come(&g, rng_unit(&r) < 0.12 ? 7 : 1000 + i, 1);
	choose(&g, 2000, &room);
	assert_true(is_watched(&g, 7));
	assert_int_equal(g.n, 1); /* and none of the others, which had one each */
	group_profiles_release(&g);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(groups_with_enough_requests_get_a_place),
		cmocka_unit_test(a_group_that_is_nearly_all_of_its_type_gets_none),
		cmocka_unit_test(places_are_bounded_by_type_and_in_all),
		cmocka_unit_test(a_group_that_stays_away_gives_its_place),
		cmocka_unit_test(a_large_group_is_found_among_any_number_of_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
