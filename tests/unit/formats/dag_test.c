/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Graphs whose path is known, and many random ones: the walk over the trace has to find what a
 * simple search finds, which goes from the last event to the latest of those before it until there
 * is none. Events bear their index as their tid, so that they can be told apart on the path.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/critpath.h"
#include "base/rng.h"
#include "formats/dag.h"

enum { EVENTS_MAX = 400, EDGES_MAX = 4 * EVENTS_MAX };

struct graph {
	struct dag_event events[EVENTS_MAX];
	uint64_t before[EDGES_MAX];
	uint32_t n, nbefore;
	struct dag dag;
	struct labels *labels;
	struct arena arena;
	struct trace *trace;
	struct critpath path;
	uint32_t indices[EVENTS_MAX], nindices; /* of the path's events */
};

static struct graph *
graph_new(void)
{
	struct graph *g = calloc(1, sizeof *g);

	g->labels = labels_new();
	return g;
}

static void
graph_free(struct graph *g)
{
	trace_free(g->trace);
	labels_free(g->labels);
	arena_release(&g->arena);
	free(g);
}

/* An event with the next index; `before`: ids, which are indices + 1, up to a 0. */
static void
add(struct graph *g, int64_t time_ns, const uint64_t *before)
{
	struct dag_event *v = &g->events[g->n];

	*v = (struct dag_event){
		.id = g->n + 1, .time_ns = time_ns, .tid = g->n, .before = g->nbefore
	};
	v->label = labels_intern(g->labels, RECORD_POINT, "s/p:e", 5, NULL, 0);
	for (; *before != 0; before++) {
		g->before[g->nbefore++] = *before;
		v->nbefore++;
	}
	g->n++;
}
#define IDS(...)                             \
	(const uint64_t[])                   \
	{                                    \
		__VA_ARGS__ __VA_OPT__(, ) 0 \
	}

static void
walk(struct graph *g)
{
	static const char begin[] = "s/hone:request_begin(r)", end[] = "s/hone:request_end(r)";
	struct err e;

	g->dag = (struct dag){ .events = g->events, .before = g->before, .nevents = g->n };
	assert_int_equal(dag_order(&g->dag, &g->arena, &e), 0);
	assert_int_equal(
	    dag_trace(&g->trace, &g->dag, (struct trace_id){ 0, 7 },
		labels_intern(g->labels, RECORD_REQUEST_BEGIN, begin, sizeof begin - 1, NULL, 0),
		labels_intern(g->labels, RECORD_REQUEST_END, end, sizeof end - 1, NULL, 0),
		g->labels, &g->arena, &e),
	    0);
	if (critpath_extract(&g->path, g->trace, g->labels, NULL, &g->arena, &e) != 0)
		fail_msg("%s", e.text);
	g->nindices = 0;
	for (uint32_t i = 0; i < g->path.nsteps; i++) {
		const struct event *v = &g->trace->events[g->path.steps[i].event];

		if (labels_get(g->labels, v->label)->kind == RECORD_POINT)
			g->indices[g->nindices++] = v->tid;
	}
}

static void
assert_indices(const struct graph *g, const uint64_t *expected)
{
	uint32_t i = 0;

	for (; expected[i] != 0; i++)
		assert_int_equal(g->indices[i] + 1, expected[i]);
	assert_int_equal(g->nindices, i);
}

static void
a_join_waits_for_the_last_of_its_parents(void **state)
{
	struct graph *g = graph_new();
	(void)state;

	add(g, 0, IDS());
	add(g, 10, IDS(1));
	add(g, 20, IDS(1));
	add(g, 60, IDS(2));
	add(g, 50, IDS(3));
	add(g, 70, IDS(4, 5));
	walk(g);
	assert_indices(g, IDS(1, 2, 4, 6));
	assert_int_equal(g->path.steps[g->path.nsteps - 1].time_ns - g->path.steps[0].time_ns, 70);
	assert_int_equal(g->path.moved, 0);
	graph_free(g);
}

static void
of_two_at_the_same_time_the_one_that_came_after_the_other_is_last(void **state)
{
	struct graph *g = graph_new();
	(void)state;

	add(g, 0, IDS());
	add(g, 10, IDS(3)); /* it comes after the event that is added next */
	add(g, 10, IDS(1));
	add(g, 20, IDS(3, 2));
	walk(g);
	assert_indices(g, IDS(1, 3, 2, 4));
	graph_free(g);
}

static void
work_that_nobody_waits_for_is_off_the_path(void **state)
{
	struct graph *g = graph_new();
	(void)state;

	add(g, 0, IDS());
	add(g, 10, IDS(1));
	add(g, 90, IDS(1));
	add(g, 100, IDS(2));
	walk(g);
	assert_indices(g, IDS(1, 2, 4));
	graph_free(g);
}

static void
an_end_in_the_middle_of_a_row_ends_the_request(void **state)
{
	struct graph *g = graph_new();
	(void)state;

	add(g, 0, IDS());
	add(g, 100, IDS(1));
	add(g, 90, IDS(2)); /* its clock is behind */
	walk(g);
	assert_indices(g, IDS(1, 2));
	assert_int_equal(g->trace->end_ns, 100);
	graph_free(g);
}

static void
a_further_root_comes_after_the_first(void **state)
{
	struct graph *g = graph_new();
	(void)state;

	add(g, 5, IDS());
	add(g, 20, IDS(999));
	add(g, 10, IDS(1));
	add(g, 30, IDS(2, 3));
	walk(g);
	assert_indices(g, IDS(2, 4));
	assert_int_equal(g->trace->begin_ns, 5);
	assert_int_equal(g->dag.missing, 1);
	assert_true(g->trace->lossy);
	graph_free(g);
}

static void
circles_are_cut_and_doubles_left_out(void **state)
{
	struct graph *g = graph_new();
	(void)state;

	add(g, 0, IDS(3));
	add(g, 10, IDS(1, 1, 2));
	add(g, 20, IDS(2));
	add(g, 30, IDS(3));
	add(g, 99, IDS(1));
	g->events[4].id = 2;
	walk(g);
	assert_indices(g, IDS(1, 2, 3, 4));
	assert_int_equal(g->dag.cycles, 1);
	assert_int_equal(g->dag.selves, 1);
	assert_int_equal(g->dag.duplicates, 1);
	graph_free(g);
}

static void
an_effect_before_its_cause_is_counted_and_the_times_add_up(void **state)
{
	struct graph *g = graph_new();
	(void)state;

	add(g, 0, IDS());
	add(g, 50, IDS(1));
	add(g, 40, IDS(2));
	add(g, 45, IDS(1));
	add(g, 100, IDS(3, 4));
	walk(g);
	assert_indices(g, IDS(1, 4, 5));
	graph_free(g);

	g = graph_new();
	add(g, 0, IDS());
	add(g, 50, IDS(1));
	add(g, 40, IDS(1, 2));
	add(g, 100, IDS(3));
	walk(g);
	assert_indices(g, IDS(1, 2, 3, 4));
	assert_int_equal(g->path.moved, 1);
	graph_free(g);
}

static void
a_single_event_is_a_request(void **state)
{
	struct graph *g = graph_new();
	(void)state;

	add(g, 5, IDS());
	walk(g);
	assert_indices(g, IDS(1));
	assert_int_equal(g->trace->end_ns - g->trace->begin_ns, 0);
	graph_free(g);
}

/* ---- random graphs ---- */

/* Events in an order of their own, each after up to 4 that were made before it; times are distinct
 * and, but for the given part, rise from cause to effect. */
static void
make_random(struct graph *g, struct rng *rng, double skewed)
{
	uint32_t order[EVENTS_MAX];

	g->n = 1 + (uint32_t)rng_below(rng, EVENTS_MAX);
	for (uint32_t i = 0; i < g->n; i++)
		order[i] = i;
	for (uint32_t i = g->n - 1; i > 0; i--) {
		uint32_t j = (uint32_t)rng_below(rng, i + 1), swap = order[i];

		order[i] = order[j];
		order[j] = swap;
	}
	for (uint32_t k = 0; k < g->n; k++) {
		struct dag_event *v = &g->events[order[k]];
		int64_t back = rng_unit(rng) < skewed ? (int64_t)rng_below(rng, 40) * 1000 : 0;

		*v = (struct dag_event){ .id = order[k] + 1,
			.time_ns = (int64_t)(k + 100) * 1000 - back + k,
			.tid = order[k],
			.before = g->nbefore };
		v->label = labels_intern(g->labels, RECORD_POINT, "s/p:e", 5, NULL, 0);
		v->nbefore = k == 0 ? 0 : (uint32_t)rng_below(rng, 5);
		for (uint32_t i = 0; i < v->nbefore; i++) {
			uint32_t near = k < 12 ? k : 12;

			g->before[g->nbefore++] = order[k - 1 - rng_below(rng, near)] + 1;
		}
	}
}

/* The simple search: the latest event, and from each event the latest of its parents. Writes
 * indices, last event first; returns how many. */
static uint32_t
simple_path(const struct graph *g, uint32_t *path)
{
	uint32_t at = 0, n = 0;

	for (uint32_t i = 0; i < g->n; i++)
		if (g->events[i].time_ns > g->events[at].time_ns)
			at = i;
	for (;;) {
		const struct dag_event *v = &g->events[at];
		uint32_t best = UINT32_MAX;

		path[n++] = at;
		for (uint32_t k = 0; k < v->nbefore; k++) {
			uint32_t p = (uint32_t)g->before[v->before + k] - 1;

			if (best == UINT32_MAX || g->events[p].time_ns > g->events[best].time_ns)
				best = p;
		}
		if (best == UINT32_MAX)
			return n;
		at = best;
	}
}

static void
compare_many(double skewed)
{
	struct rng rng;
	uint32_t path[EVENTS_MAX], n;

	rng_seed(&rng, 12);
	for (int round = 0; round < 2000; round++) {
		struct graph *g = graph_new();

		make_random(g, &rng, skewed);
		walk(g);
		n = simple_path(g, path);
		assert_int_equal(g->nindices, n);
		for (uint32_t i = 0; i < n; i++)
			assert_int_equal(g->indices[i], path[n - 1 - i]);
		assert_int_equal(g->path.steps[0].time_ns, g->trace->begin_ns);
		assert_int_equal(g->path.steps[g->path.nsteps - 1].time_ns, g->trace->end_ns);
		graph_free(g);
	}
}

static void
the_walk_finds_what_a_simple_search_finds(void **state)
{
	(void)state;
	compare_many(0);
}

static void
the_walk_also_finds_it_with_clocks_that_disagree(void **state)
{
	(void)state;
	compare_many(0.2);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_join_waits_for_the_last_of_its_parents),
		cmocka_unit_test(of_two_at_the_same_time_the_one_that_came_after_the_other_is_last),
		cmocka_unit_test(work_that_nobody_waits_for_is_off_the_path),
		cmocka_unit_test(an_end_in_the_middle_of_a_row_ends_the_request),
		cmocka_unit_test(a_further_root_comes_after_the_first),
		cmocka_unit_test(circles_are_cut_and_doubles_left_out),
		cmocka_unit_test(an_effect_before_its_cause_is_counted_and_the_times_add_up),
		cmocka_unit_test(a_single_event_is_a_request),
		cmocka_unit_test(the_walk_finds_what_a_simple_search_finds),
		cmocka_unit_test(the_walk_also_finds_it_with_clocks_that_disagree),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
