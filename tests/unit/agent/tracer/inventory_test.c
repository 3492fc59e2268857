/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "agent/tracer/inventory.h"
#include "wire/loglevel.h"

static struct inventory_process processes[] = { { "cart", 10, false, false, 1 },
	{ "cart", 11, false, false, 1 }, { "web", 20, false, false, 2 },
	{ "cron", 30, false, false, 3 } };

static struct tracepoint list[] = {
	{ 20, "web:get", LOGLEVEL_INFO },
	{ 20, "hone:fork" },
	{ 20, "lttng_ust_lib:load" },
	{ 20, "lttng_ust_pthread:pthread_mutex_lock_req" },
	{ 20, "lttng_ust_libc:malloc" },
	{ 20, "lttng_ust_cyg_profile_fast:func_entry" },
	{ 20, "lttng_ust_statedump:start" },
	{ 20, "lttng_ust_tracef:event" },
	{ 10, "cart:put" },
	{ 10, "cart:get" },
	{ 11, "cart:get" },
	{ 11, "cart:put" },
	{ 99, "other:event" },
};

static void
a_known_program_is_not_listed_again(void **state)
{
	struct tracepoints t = { sizeof list / sizeof list[0], list, NULL };
	struct inventory *v = inventory_new();
	struct err e;
	(void)state;

	assert_false(inventory_wants_list(v));
	assert_int_equal(inventory_run(v, processes, 3, &e), 0);
	assert_true(inventory_wants_list(v));
	assert_false(inventory_wants_another(v));
	assert_int_equal(inventory_listed(v, &t, &e), 0);
	assert_false(inventory_wants_list(v));
	assert_true(inventory_wants_another(v)); /* the program may have been starting */
	assert_int_equal(inventory_listed(v, &t, &e), 0);
	assert_false(inventory_wants_another(v));

	processes[0].pid = 1010; /* the program was restarted: the same file */
	assert_int_equal(inventory_run(v, processes, 3, &e), 0);
	assert_false(inventory_wants_list(v));
	assert_true(inventory_has(v, "cart:get"));
	processes[0].pid = 10;

	assert_int_equal(inventory_run(v, processes, 4, &e), 0);
	assert_true(inventory_wants_list(
	    /*
	     * cron is new and has no tracepoints: it is listed three times before this counts as
	     * final
	     */
	    v));
	for (int i = 0; i < 3; i++) {
		assert_true(inventory_wants_list(v));
		assert_int_equal(inventory_listed(v, &t, &e), 0);
	}
	assert_false(inventory_wants_list(v));
	inventory_free(v);
}

static void
tracepoints_of_mapped_programs_are_known(void **state)
{
	struct tracepoints t = { sizeof list / sizeof list[0], list, NULL };
	struct inventory *v = inventory_new();
	struct err e;
	(void)state;

	assert_false(inventory_mapped(v, "cart:get"));
	processes[1].mapped = true;
	inventory_run(v, processes, 3, &e);
	inventory_listed(v, &t, &e);
	assert_true(inventory_mapped(v, "cart:get"));
	assert_true(inventory_mapped(v, "cart:*"));
	assert_false(inventory_mapped(v, "web:get"));
	assert_false(inventory_mapped(v, "w*"));
	processes[1].mapped = false;
	inventory_run(v, processes, 3, &e);
	assert_false(inventory_mapped(v, "cart:get"));
	assert_true(inventory_has(v, "cart:get"));
	inventory_free(v);
}

static void
only_running_programs_have_tracepoints(void **state)
{
	static const struct {
		const char *name;
		bool has;
	} CASES[] = {
		{ "cart:get", true },
		{ "cart:*", true },
		{ "cart:g*", true },
		{ "cart:x*", false },
		{ "web:get", true },
		{ "web:*t", true },
		{ "hone:fork", false },
		{ "other:event", false },
		{ "lttng_ust_lib:*", false },
		{ "lttng_ust_pthread:*", true },
		{ "lttng_ust_libc:malloc", true },
		{ "lttng_ust_cyg_profile_fast:*", true },
		{ "lttng_ust_statedump:*", false },
		{ "lttng_ust_tracef:*", false },
	};
	struct tracepoints t = { sizeof list / sizeof list[0], list, NULL };
	struct inventory *v = inventory_new();
	struct err e;
	(void)state;

	assert_false(inventory_has(v, "cart:get"));
	inventory_run(v, processes, 3, &e);
	inventory_listed(v, &t, &e);
	for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++)
		assert_int_equal(inventory_has(v, CASES[i].name), CASES[i].has);
	inventory_run(v, processes, 2, &e); /* web has ended */
	assert_false(inventory_has(v, "web:get"));
	assert_false(inventory_has(v, "web:*"));
	inventory_free(v);
}

/* A program that just started has not loaded all of its providers yet. */
static void
a_list_of_a_starting_program_is_incomplete(void **state)
{
	struct tracepoint young[] = { { 20, "web:put" } },
			  whole[] = { { 20, "web:put" }, { 20, "web:get" }, { 20, "more:x" } };
	struct tracepoints few = { 1, young, NULL }, all = { 3, whole, NULL };
	struct inventory *v = inventory_new();
	struct err e;
	(void)state;

	inventory_run(v, &processes[2], 1, &e);
	inventory_listed(v, &few, &e);
	assert_false(inventory_has(v, "more:x"));
	assert_true(inventory_wants_another(v));
	inventory_listed(v, &all, &e);
	assert_true(inventory_has(v, "more:x"));
	inventory_listed(v, &few, &e); /* the next process of the same file, starting */
	assert_true(inventory_has(v, "more:x"));
	assert_true(inventory_wants_another(v));
	inventory_listed(v, &all, &e);
	assert_false(inventory_wants_another(v));
	inventory_free(v);
}

static void
programs_of_one_file_share_their_names(void **state)
{
	struct tracepoints t = { sizeof list / sizeof list[0], list, NULL };
	struct inventory *v = inventory_new();
	struct arena a = { 0 };
	struct programs p;
	struct err e;
	(void)state;

	inventory_run(v, processes, 3, &e);
	inventory_listed(v, &t, &e);
	assert_int_equal(inventory_programs(v, &p, &a, &e), 0);
	assert_int_equal(p.nprograms, 3);
	assert_int_equal(p.nnames, 6);
	assert_int_equal(p.programs[0].first, p.programs[1].first);
	assert_int_equal(p.programs[0].count, 2);
	assert_int_equal(p.programs[1].count, 2);
	assert_int_equal(p.programs[2].count, 4);
	assert_string_equal(p.names[p.programs[2].first], "lttng_ust_cyg_profile_fast:func_entry");
	assert_string_equal(p.names[p.programs[2].first + 3], "web:get");
	assert_int_equal(p.levels[p.programs[2].first + 3], LOGLEVEL_INFO);
	assert_string_equal(p.programs[2].service, "web");
	arena_release(&a);
	inventory_free(v);
}

static void
count_name(void *of, const char *name)
{
	*(int *)of += strncmp(name, "usdt.", 5) == 0;
}

static void
usdt_probes_are_tracepoints_of_their_program(void **state)
{
	static const struct inventory_process postgres[] = { { "postgres", 40, true, true, 4 },
		{ "postgres", 41, true, true, 4 } };
	struct inventory *v = inventory_new();
	struct arena a = { 0 };
	struct programs p;
	struct err e;
	int probes = 0;
	(void)state;

	assert_int_equal(inventory_run(v, postgres, 2, &e), 0);
	assert_false(inventory_wants_list(v)); /* the tracer does not know it */
	assert_int_equal(inventory_unprobed(v, true, NULL), 40);
	assert_int_equal(
	    inventory_probes(v, "postgres", 40, "usdt.pg:query__start\n", false, &e), 0);
	assert_int_equal(inventory_unprobed(v, true, NULL), 40); /* more to come */
	assert_int_equal(inventory_probes(v, "postgres", 40, "usdt.pg:query__done\n", true, &e), 0);
	assert_int_equal(inventory_unprobed(v, true, NULL), 0);
	assert_true(inventory_has(v, "usdt.pg:query__start"));
	assert_true(inventory_has(v, "usdt.pg:*"));
	assert_true(inventory_mapped(v, "usdt.pg:query__done"));
	assert_true(inventory_has_probes(v, "postgres", 41));
	inventory_each_probe(v, count_name, &probes);
	assert_int_equal(probes, 4);
	assert_int_equal(inventory_programs(v, &p, &a, &e), 0);
	assert_true(p.nnames == 2 && p.programs[1].first == 0 && p.programs[1].count == 2);
	assert_true(p.levels[0] == LOGLEVEL_NONE && p.levels[1] == LOGLEVEL_NONE);

	/* it was upgraded: its probes are listed anew */
	assert_int_equal(inventory_probes(v, "postgres", 41, "usdt.pg:query__done\n", true, &e), 0);
	assert_false(inventory_has(v, "usdt.pg:query__start"));
	assert_int_equal(
	    inventory_probes(v, "postgres", 99, "usdt.pg:x\n", true, &e), 0); /* it has ended */
	assert_int_equal(inventory_run(v, NULL, 0, &e), 0);
	assert_false(inventory_has(v, "usdt.pg:*"));
	arena_release(&a);
	inventory_free(v);
}

static void
processes_with_one_pid_have_the_probes_of_their_own_programs(void **state)
{
	static const struct inventory_process in_containers[] = { { "shop", 1, false, true, 4 },
		{ "nginx", 1, false, true, 0 } };
	struct inventory *v = inventory_new();
	const char *service;
	struct err e;
	(void)state;

	assert_int_equal(inventory_run(v, in_containers, 2, &e), 0);
	assert_int_equal(inventory_unprobed(v, false, &service), 1);
	assert_string_equal(service, "shop");
	/* the other one's come first */
	assert_int_equal(inventory_probes(v, "nginx", 1, "usdt.web:x\n", true, &e), 0);
	assert_int_equal(inventory_unprobed(v, false, &service), 1);
	assert_string_equal(service, "shop");
	assert_false(inventory_has_probes(v, "shop", 1));
	assert_true(inventory_has_probes(v, "nginx", 1));
	assert_int_equal(inventory_probes(v, "shop", 1, "", true, &e), 0);
	assert_int_equal(inventory_unprobed(v, true, &service), 0);
	assert_true(inventory_has_probes(v, "nginx", 1));
	inventory_free(v);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_known_program_is_not_listed_again),
		cmocka_unit_test(only_running_programs_have_tracepoints),
		cmocka_unit_test(a_list_of_a_starting_program_is_incomplete),
		cmocka_unit_test(tracepoints_of_mapped_programs_are_known),
		cmocka_unit_test(programs_of_one_file_share_their_names),
		cmocka_unit_test(usdt_probes_are_tracepoints_of_their_program),
		cmocka_unit_test(processes_with_one_pid_have_the_probes_of_their_own_programs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
