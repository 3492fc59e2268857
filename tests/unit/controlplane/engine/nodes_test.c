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

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(programs_with_too_many_tracepoints_together_are_refused_at_once),
		cmocka_unit_test(processes_of_one_service_count_once),
	};

	return cmocka_run_group_tests_name("nodes", tests, NULL, NULL);
}
