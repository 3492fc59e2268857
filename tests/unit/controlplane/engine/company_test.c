/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which other requests are recorded while a search waits for threads, and when the history of threads begins anew. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "controlplane/engine/sampling.h"
#include "controlplane/search/diagnose.h"
#include "forest/forest.h"

enum { MINE, NEAR, FAR, TYPES, ENOUGH = 1 };

/* The program that is waited for runs on the first of two nodes, which MINE and NEAR pass. */
struct world {
	struct request_types types;
	struct sampler *sampler;
	struct labels *labels;
	struct thread_history *history;
	struct diagnosis diagnosis;
	struct run run;
	struct search search, *searches[1];
	struct node node_items[2];
	struct binary gate, other, *with_gate[1], *with_other[1];
	struct nodes nodes;
	struct company company;
	struct mono now;
};

static int
setup(void **state)
{
	struct world *w = calloc(1, sizeof *w);
	static const char FORK[] = "desk/hone:unit_end(read)", JOIN[] = "gate/hone:join(read)";

	w->sampler = sampler_new(&(struct sampler_options){ 0, 0 });
	w->labels = labels_new();
	w->history = thread_history_new(1000);
	w->types.n = TYPES;
	for (uint32_t i = 0; i < TYPES; i++) {
		w->types.items[i].index = i;
		w->types.items[i].offered = 20;
		assert_int_equal(sampler_records(w->sampler, i, i == FAR, 4, NULL), 0);
	}
	w->run.state = RUN_ACTIVE;
	w->diagnosis.run = &w->run;
	w->searches[0] = &w->search;
	w->diagnosis.searches = w->searches;
	w->diagnosis.nsearches = 1;
	w->search.phase = SEARCH_GATHERING;
	w->search.at.gap.from = labels_intern(
	    w->labels, RECORD_UNIT_END, FORK, sizeof FORK - 1, NULL, 0);
	w->search.at.gap.to = labels_intern(w->labels, RECORD_JOIN, JOIN, sizeof JOIN - 1, NULL, 0);
	w->search.at.gap.from_unit = 1;
	w->search.at.gap.to_unit = 2;
	w->types.items[MINE].diagnosis = &w->diagnosis;
	w->gate.service = "gate";
	w->other.service = "other";
	w->with_gate[0] = &w->gate;
	w->with_other[0] = &w->other;
	w->node_items[0] = (struct node){
		.connected = true, .binaries = w->with_gate, .nbinaries = 1
	};
	w->node_items[1] = (struct node){
		.connected = true, .binaries = w->with_other, .nbinaries = 1
	};
	w->nodes.items = w->node_items;
	w->nodes.n = 2;
	w->now.ns = 1000000000;
	*state = w;
	return 0;
}

static int
teardown(void **state)
{
	struct world *w = *state;

	sampler_free(w->sampler);
	labels_free(w->labels);
	thread_history_free(w->history);
	free(w);
	return 0;
}

/* One step, half a second later. */
static void
step(struct world *w)
{
	const struct sampling_settings s = { 1, ENOUGH, 0, 0.01 };
	bool changed = false;

	w->now.ns += COMPANY_EVERY_NS;
	assert_int_equal(company_find(&w->company, w->history, &w->types, &w->nodes, w->sampler,
			     w->labels, w->now, NULL),
	    0);
	assert_int_equal(
	    sampling_step(w->sampler, &w->types, &s, &w->company, false, w->now, &changed, NULL),
	    0);
}

static void
those_that_pass_the_node_of_the_thread_are_all_recorded(void **state)
{
	struct world *w = *state;

	w->search.phase = SEARCH_WAITING;
	step(w);
	assert_int_equal(w->company.n, 0);
	assert_true(sampler_share(w->sampler, NEAR) < 0.1);
	w->search.phase = SEARCH_GATHERING;
	step(w);
	assert_int_equal(w->company.n, 1);
	assert_true(w->company.of[NEAR] && !w->company.of[FAR] && !w->company.of[MINE]);
	assert_true(sampler_share(w->sampler, NEAR) == 1);
	assert_true(sampler_share(w->sampler, FAR) < 0.1);
	w->diagnosis.phase = PHASE_ENDED;
	step(w);
	assert_int_equal(w->company.n, 0);
	assert_true(sampler_share(w->sampler, NEAR) < 0.1);
}

static void
an_edge_inside_a_unit_has_no_company(void **state)
{
	struct world *w = *state;

	w->search.at.gap.to_unit = w->search.at.gap.from_unit;
	step(w);
	assert_int_equal(w->company.n, 0);
}

/* Events of the history, so many. */
static void
come(struct world *w, uint32_t n)
{
	struct event event = { .label = w->search.at.gap.to };
	struct unit unit = { .count = 1, .fork = TRACE_NONE };
	const struct trace t = { .nevents = 1, .nunits = 1, .events = &event, .units = &unit };

	while (n-- > 0)
		assert_int_equal(thread_history_add(w->history, &t, w->labels, NULL), 0);
}

static enum company_state
state_of(const struct world *w)
{
	return company_state(&w->company, w->history, &w->types, w->sampler);
}

static void
whole(struct world *w)
{
	company_whole(&w->company, w->history, &w->types, w->sampler, w->now);
}

static void
the_history_begins_anew_once_all_are_recorded(void **state)
{
	struct world *w = *state;

	w->search.phase = SEARCH_WAITING;
	step(w);
	come(w, 3);
	whole(w);
	assert_true(thread_history_reaches(w->history, 1));
	w->search.phase = SEARCH_GATHERING;
	step(w);
	assert_int_equal(state_of(w), COMPANY_COMING);
	whole(w);
	assert_false(thread_history_reaches(w->history, 3));
	assert_int_equal(w->company.since.ns, w->now.ns);
	assert_int_equal(state_of(w), COMPANY_KNOWN);
	/* once: others, on other nodes, are never whole */
	come(w, 2);
	thread_history_partial(w->history);
	whole(w);
	assert_true(thread_history_reaches(w->history, 4));
	assert_int_equal(state_of(w), COMPANY_KNOWN);
}

static void
shares_that_come_and_go_do_not_clear_the_history_each_time(void **state)
{
	struct world *w = *state;
	int64_t since_ns;

	w->search.phase = SEARCH_WAITING;
	step(w);
	w->search.phase = SEARCH_GATHERING;
	come(w, 1);
	step(w);
	whole(w);
	since_ns = w->company.since.ns;
	assert_true(since_ns > 0);
	come(w, 1);
	company_partial(&w->company, w->history);
	assert_int_equal(state_of(w), COMPANY_COMING);
	w->now.ns = since_ns + COMPANY_ANEW_NS - 1;
	whole(w);
	assert_int_equal(w->company.since.ns, since_ns);
	w->now.ns++;
	whole(w);
	assert_int_equal(w->company.since.ns, w->now.ns);
	assert_int_equal(state_of(w), COMPANY_KNOWN);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
		    those_that_pass_the_node_of_the_thread_are_all_recorded, setup, teardown),
		cmocka_unit_test_setup_teardown(
		    an_edge_inside_a_unit_has_no_company, setup, teardown),
		cmocka_unit_test_setup_teardown(
		    the_history_begins_anew_once_all_are_recorded, setup, teardown),
		cmocka_unit_test_setup_teardown(
		    shares_that_come_and_go_do_not_clear_the_history_each_time, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
