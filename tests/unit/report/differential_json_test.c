/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "report/differential_json.h"

enum { REQUESTS = 60, DISK = 2, RUNNING = 0 };

struct made_edge {
	struct request_part parts[REQUESTS][3];
	struct request_parts requests[REQUESTS];
	struct differential d;
	struct difference_node *tree;
	uint32_t count;
	struct arena arena;
};

static void
make(struct made_edge *m)
{
	static const char disk[] = "main;append() at dd.c:27;fsync", run[] = "main;parse",
			  tiny[] = "main;tiny";
	struct err e;

	memset(m, 0, sizeof *m);
	for (int i = 0; i < REQUESTS; i++) {
		bool slow = i % 3 == 0;

		m->parts[i][0] = (struct request_part){ disk, strlen(disk), DISK,
			1000000 * (slow ? 5 : 2) + i * 1000 };
		m->parts[i][1] = (struct request_part){ run, strlen(run), RUNNING,
			1000000 + i % 7 * 1000 };
		m->parts[i][2] = (struct request_part){ tiny, strlen(tiny), RUNNING, 100 };
		m->requests[i] = (struct request_parts){ m->parts[i], 3, slow };
	}
	assert_int_equal(
	    differential_of(&m->d, m->requests, REQUESTS, 0.95, 199, 1, &m->arena, &e), 0);
	assert_int_equal(
	    differential_tree(&m->tree, &m->count, m->requests, REQUESTS, NULL, &m->arena, &e), 0);
}

static json_t *
item(json_t *below, const char *of, const char *name)
{
	json_t *o, *items = json_object_get(below, "items");
	size_t i;

	json_array_foreach (items, i, o)
		if (strcmp(json_string_value(json_object_get(o, "of")), of) == 0 &&
		    strcmp(json_string_value(json_object_get(o, "name")), name) == 0)
			return o;
	return NULL;
}

static double
value(json_t *o, const char *member)
{
	return json_number_value(json_object_get(o, member));
}

static void
items_have_their_means_interval_and_counts(void **state)
{
	struct made_edge m;
	json_t *o;
	(void)state;

	make(&m);
	m.d.slow_from_ns = 7e6;
	assert_non_null(o = differential_json(&m.d, m.tree, m.count));
	assert_int_equal(value(o, "slow"), 20);
	assert_int_equal(value(o, "usual"), 40);
	assert_true(value(o, "slow_from_ms") == 7 && value(o, "confidence") == 0.95);
	assert_non_null(item(o, "state", "disk"));
	assert_non_null(item(o, "state", "running"));
	assert_true(value(item(o, "self", "fsync"), "slow_ms") > 4.9);
	assert_true(value(item(o, "self", "fsync"), "low_ms") > 2.9);
	assert_true(value(item(o, "self", "fsync"), "p") < 0.01);
	assert_int_equal(value(item(o, "inclusive", "append"), "slow"), 20);
	json_decref(o);
	arena_release(&m.arena);
}

static void
each_entry_of_the_tree_follows_its_parent(void **state)
{
	struct made_edge m;
	json_t *o, *stacks, *x;
	size_t i;
	(void)state;

	make(&m);
	assert_non_null(o = differential_json(&m.d, m.tree, m.count));
	stacks = json_object_get(o, "stacks");
	assert_int_equal(json_array_size(stacks), 6); /* root main append fsync parse tiny */
	json_array_foreach (stacks, i, x) {
		json_t *parent = json_object_get(x, "parent");

		if (i == 0)
			assert_true(
			    json_is_null(parent) && value(x, "slow_ms") == value(o, "slow_ms"));
		else
			assert_true(json_integer_value(parent) >= 0 &&
				    (size_t)json_integer_value(parent) < i);
	}
	json_decref(o);
	arena_release(&m.arena);
}

static void
without_slow_requests_there_are_no_items(void **state)
{
	struct made_edge m;
	struct err e;
	json_t *o;
	(void)state;

	make(&m);
	assert_int_equal(differential_of(&m.d, m.requests, 2, 0.95, 199, 1, &m.arena, &e), 0);
	assert_non_null(o = differential_json(&m.d, m.tree, 0));
	assert_int_equal(json_array_size(json_object_get(o, "items")), 0);
	assert_int_equal(json_array_size(json_object_get(o, "stacks")), 0);
	json_decref(o);
	arena_release(&m.arena);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(items_have_their_means_interval_and_counts),
		cmocka_unit_test(each_entry_of_the_tree_follows_its_parent),
		cmocka_unit_test(without_slow_requests_there_are_no_items),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
