/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What agents report of their programs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "controlplane/engine/nodes.h"

enum { NAMES = 20000, CPU_MAX_S = 5 }; /* 82 million pairs take longer, and gigabytes */

struct bench {
	struct nodes nodes;
	struct preload_labels preload;
	struct arena arena;
	struct programs programs;
	uint32_t node;
};

/* 4096 programs that share one range of names; each has its own service, or all have the same. */
static struct bench *
bench_new(uint32_t nprograms, bool services)
{
	struct bench *b = calloc(1, sizeof *b);
	struct program *programs = arena_calloc(&b->arena, nprograms, sizeof *programs);
	const char **names = arena_calloc(&b->arena, NAMES, sizeof *names);
	char text[32];

	for (uint32_t i = 0; i < nprograms; i++) {
		int len = snprintf(text, sizeof text, "s%u", services ? i : 0);

		programs[i] = (struct program){ .pid = i + 1,
			.count = NAMES,
			.service = arena_text(&b->arena, text, (size_t)len) };
	}
	for (int i = 0; i < NAMES; i++) {
		int len = snprintf(text, sizeof text, "p:%d", i);

		names[i] = arena_text(&b->arena, text, (size_t)len);
	}
	b->programs = (struct programs){
		.nprograms = nprograms, .programs = programs, .nnames = NAMES, .names = names
	};
	assert_int_equal(nodes_join(&b->nodes, "n", "test", (struct mono){ 1 }, &b->node, NULL), 0);
	return b;
}

static void
bench_free(struct bench *b)
{
	nodes_release(&b->nodes);
	arena_release(&b->arena);
	free(b);
}

static double
cpu_s(void)
{
	return (double)clock() / CLOCKS_PER_SEC;
}

static void
programs_with_too_many_tracepoints_together_are_refused_at_once(void **state)
{
	struct bench *b = bench_new(PROGRAMS_MAX, true);
	double began = cpu_s();
	struct err e;
	(void)state;

	assert_int_equal(nodes_programs(&b->nodes, b->node, &b->programs, &e), ERR_FULL);
	assert_non_null(strstr(e.text, "81920000"));
	nodes_fingerprint(&b->nodes, &b->preload);
	assert_true(cpu_s() - began < CPU_MAX_S);
	assert_int_equal(b->nodes.items[b->node].programs.nprograms, 0);
	bench_free(b);
}

static void
processes_of_one_service_count_once(void **state)
{
	struct bench *many = bench_new(PROGRAMS_MAX, false), *one = bench_new(1, false);
	double began = cpu_s();
	(void)state;

	assert_int_equal(nodes_programs(&many->nodes, many->node, &many->programs, NULL), 0);
	assert_int_equal(nodes_programs(&one->nodes, one->node, &one->programs, NULL), 0);
	assert_int_equal(nodes_fingerprint(&many->nodes, &many->preload),
	    nodes_fingerprint(&one->nodes, &one->preload));
	assert_true(cpu_s() - began < CPU_MAX_S);
	assert_int_equal(many->nodes.items[0].programs.nprograms, PROGRAMS_MAX);
	bench_free(many);
	bench_free(one);
}

/* The node reports it. */
static void
says(struct nodes *nodes, uint32_t node, enum below_on_node below, const char *missing)
{
	struct status s = { .below = below, .below_missing = missing };

	nodes_status(nodes, node, &s, (struct mono){ 1 });
}

static void
all_nodes_of_a_program_have_to_say_what_is_below_and_the_reason_names_the_node(void **state)
{
	struct bench *b = bench_new(1, false);
	char missing[BELOW_WHY_MAX + 1];
	uint32_t other;
	(void)state;

	assert_false(nodes_below(&b->nodes, "s0", missing));
	assert_string_equal(missing, "no-node");
	assert_int_equal(nodes_programs(&b->nodes, b->node, &b->programs, NULL), 0);
	assert_false(nodes_below(&b->nodes, "s0", missing));
	assert_string_equal(missing, "no-status");
	says(&b->nodes, b->node, BELOW_NODE_CANNOT, "CAP_BPF is needed");
	assert_false(nodes_below(&b->nodes, "s0", missing));
	assert_string_equal(missing, "n: CAP_BPF is needed");
	says(&b->nodes, b->node, BELOW_NODE_UNKNOWN, "");
	assert_true(nodes_below(&b->nodes, "s0", missing));
	assert_string_equal(missing, "");
	says(&b->nodes, b->node, BELOW_NODE_ACTIVE, "no samples");
	assert_true(nodes_below(&b->nodes, "s0", missing));
	assert_string_equal(missing, "n: no samples");

	assert_int_equal(nodes_join(&b->nodes, "m", "test", (struct mono){ 1 }, &other, NULL), 0);
	says(&b->nodes, other, BELOW_NODE_NONE, "below.enabled is no");
	assert_true(nodes_below(&b->nodes, "s0", missing)); /* it has other programs */
	assert_int_equal(nodes_programs(&b->nodes, other, &b->programs, NULL), 0);
	assert_false(nodes_below(&b->nodes, "s0", missing));
	assert_string_equal(missing, "m: below.enabled is no");
	nodes_leave(&b->nodes, other, (struct mono){ 2 });
	assert_true(nodes_below(&b->nodes, "s0", missing));
	assert_string_equal(missing, "n: no samples");
	bench_free(b);
}

/* ---- what is known of nodes ---- */

struct few {
	struct nodes nodes;
	struct plan *plan;
	uint32_t a, b;
};

static void
few_init(struct few *f)
{
	*f = (struct few){ .plan = plan_new() };
	assert_int_equal(nodes_join(&f->nodes, "a", "test", (struct mono){ 1 }, &f->a, NULL), 0);
	assert_int_equal(nodes_join(&f->nodes, "b", "test", (struct mono){ 1 }, &f->b, NULL), 0);
}

static void
few_release(struct few *f)
{
	nodes_release(&f->nodes);
	plan_free(f->plan);
}

/* The newest desired state was sent to the node: nothing is to be on. */
static void
sent_off(struct few *f, uint32_t node, uint64_t epoch)
{
	struct node *n = &f->nodes.items[node];

	n->want = (struct want){ .epoch = epoch, .lease_ms = 1000 };
	n->want_revision = nodes_revision(&f->nodes, f->plan);
}

static void
confirm(struct few *f, uint32_t node, uint64_t epoch)
{
	nodes_done(
	    &f->nodes, node, &(struct done){ .epoch = epoch, .failure = "" }, (struct mono){ 2 });
}

static void
a_state_is_confirmed_when_every_agent_has_confirmed_the_newest(void **state)
{
	struct few f;
	(void)state;

	few_init(&f);
	sent_off(&f, f.a, 5);
	sent_off(&f, f.b, 9);
	assert_false(nodes_confirmed(&f.nodes, f.plan));
	confirm(&f, f.a, 5);
	assert_false(nodes_confirmed(&f.nodes, f.plan));
	confirm(&f, f.b, 8); /* an older one */
	assert_false(nodes_confirmed(&f.nodes, f.plan));
	confirm(&f, f.b, 9);
	assert_true(nodes_confirmed(&f.nodes, f.plan));
	nodes_changed(&f.nodes); /* there is something that was not sent yet */
	assert_false(nodes_confirmed(&f.nodes, f.plan));
	few_release(&f);
}

static void
a_node_that_has_not_confirmed_that_all_is_off_is_unknown_when_it_leaves(void **state)
{
	struct few f;
	int64_t left_ns;
	(void)state;

	few_init(&f);
	f.nodes.items[f.a].maybe_on = f.nodes.items[f.b]
	                                  .maybe_on = true; /* by what was sent before */
	sent_off(&f, f.a, 6);
	sent_off(&f, f.b, 6);
	confirm(&f, f.a, 5); /* that is the state with something on */
	confirm(&f, f.b, 6);
	assert_false(node_is_unknown(&f.nodes.items[f.a], (struct mono){ 3 }, &left_ns));
	nodes_leave(&f.nodes, f.a, (struct mono){ 3 });
	nodes_leave(&f.nodes, f.b, (struct mono){ 3 });
	assert_true(node_is_unknown(&f.nodes.items[f.a], (struct mono){ 3 }, &left_ns));
	assert_int_equal(left_ns, 1000000000);
	assert_false(node_is_unknown(&f.nodes.items[f.b], (struct mono){ 3 }, &left_ns));
	few_release(&f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(programs_with_too_many_tracepoints_together_are_refused_at_once),
		cmocka_unit_test(processes_of_one_service_count_once),
		cmocka_unit_test(
		    all_nodes_of_a_program_have_to_say_what_is_below_and_the_reason_names_the_node),
		cmocka_unit_test(a_state_is_confirmed_when_every_agent_has_confirmed_the_newest),
		cmocka_unit_test(
		    a_node_that_has_not_confirmed_that_all_is_off_is_unknown_when_it_leaves),
	};

	return cmocka_run_group_tests_name("nodes", tests, NULL, NULL);
}
