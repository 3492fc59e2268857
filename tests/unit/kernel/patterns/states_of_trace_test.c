/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernel/patterns/states_of_trace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "tests/unit/kernel/events_kit.h"

enum { MOST = 64, RUN = SWITCH_ASLEEP };

/* A trace that is made by hand: units with events, each of a thread. */
struct made {
	struct labels *labels;
	struct event events[MOST], below[MOST];
	struct value values[MOST][2];
	struct unit units[8];
	struct trace trace;
	struct arena arena;
};

static void
made_init(struct made *m)
{
	memset(m, 0, sizeof *m);
	m->labels = labels_new();
	m->trace = (struct trace){
		.events = m->events, .units = m->units, .below = m->below, .id = 7
	};
}

static void
made_free(struct made *m)
{
	labels_free(m->labels);
	arena_release(&m->arena);
}

static uint32_t
event(struct made *m, uint32_t unit, enum record_kind kind, const char *label, int64_t at,
    uint32_t tid)
{
	uint32_t i = m->trace.nevents++;

	if (m->units[unit].count++ == 0)
		m->units[unit].first = i;
	m->trace.nunits = unit + 1 > m->trace.nunits ? unit + 1 : m->trace.nunits;
	m->events[i] = (struct event){ .time_ns = at,
		.unit = unit,
		.tid = tid,
		.pid = 1,
		.label = labels_intern(m->labels, kind, label, strlen(label), NULL, 0) };
	return i;
}

static void
wait(struct made *m, uint32_t unit, const char *label, int64_t begin, int64_t woken, int64_t end)
{
	static const char *const fields[] = { "off_ns", "ready_ns" };
	uint32_t i = m->trace.nbelow++;

	m->values[i][0] = (struct value){ .type = VALUE_INT, .i = end - begin };
	m->values[i][1] = (struct value){ .type = VALUE_INT, .i = end - woken };
	m->below[i] = (struct event){ .time_ns = end,
		.unit = unit,
		.nvalues = 2,
		.values = m->values[i],
		.label = labels_intern(m->labels, RECORD_WAIT, label, strlen(label), fields, 2) };
}

/* "front GET: R10-20 [1]20-30": the operations with their pieces. */
static const char *
said(struct made *m, const struct states_source *from)
{
	static char text[4096];
	struct operations o;
	struct err e = { 0 };
	size_t len = 0;

	assert_int_equal(operations_of_trace(&o, &m->trace, m->labels, from, &m->arena, &e), 0);
	text[0] = '\0';
	for (uint32_t i = 0; i < o.n; i++) {
		int64_t at = o.list[i].begin_ns;

		len += (size_t)snprintf(
		    text + len, sizeof text - len, "%s%s:", i == 0 ? "" : "; ", o.list[i].name);
		for (uint32_t k = 0; k < o.list[i].npieces; k++) {
			const struct operation_piece *p = &o.list[i].pieces[k];

			assert_int_equal(p->from_ns, at);
			at = p->to_ns;
			len += p->within != OPERATION_NONE
			           ? (size_t)snprintf(text + len, sizeof text - len, " [%u]%ld-%ld",
					 p->within, (long)p->from_ns, (long)p->to_ns)
			           : (size_t)snprintf(text + len, sizeof text - len, " %c%ld-%ld",
					 state_letter((enum below_state)p->state), (long)p->from_ns,
					 (long)p->to_ns);
		}
		assert_true(o.list[i].npieces == 0 || at == o.list[i].end_ns);
	}
	return text;
}

/* A front thread 10 that calls a service, thread 20, over the network; both on CPUs of their own. */
static void
two_units(struct made *m, uint32_t front, uint32_t service)
{
	uint32_t fork;

	made_init(m);
	event(m, 0, RECORD_REQUEST_BEGIN, "front/hone:request_begin(GET)", 100, front);
	fork = event(m, 0, RECORD_FORK, "front/hone:fork(call)", 120, front);
	event(m, 0, RECORD_JOIN, "front/hone:join(call)", 180, front);
	event(m, 0, RECORD_REQUEST_END, "front/hone:request_end(GET)", 200, front);
	event(m, 1, RECORD_UNIT_BEGIN, "users/hone:unit_begin(check)", 140, service);
	event(m, 1, RECORD_UNIT_END, "users/hone:unit_end(check)", 170, service);
	m->units[1].fork = fork;
	m->units[0].fork = TRACE_NONE;
}

static void
time_below_is_the_operations_that_goes_on_meanwhile(void **state)
{
	struct made m;
	struct kit k = { 0 };
	struct states_source from;
	(void)state;

	two_units(&m, 10, 20);
	kit_begin(&k, false);
	from = (struct states_source){ .graph = k.graph };
	kit_take(&k, interrupt(1, 0, true, CONTEXT_SOFTIRQ, SOFTIRQ_NET_RX));
	kit_take(&k, interrupt(2, 0, false, CONTEXT_SOFTIRQ, SOFTIRQ_NET_RX));
	kit_take(&k, switched(50, 0, 0, 0, 10));
	kit_take(&k, switched(60, 1, 20, RUN, 0));
	kit_take(&k, switched(122, 0, 10, RUN, 0)); /* waits for the answer */
	kit_take(&k, interrupt(134, 1, true, CONTEXT_SOFTIRQ, SOFTIRQ_NET_RX));
	kit_take(&k, woken(135, 1, 0, 20));
	kit_take(&k, interrupt(136, 1, false, CONTEXT_SOFTIRQ, SOFTIRQ_NET_RX));
	kit_take(&k, switched(138, 1, 0, 0, 20));
	kit_take(&k, switched(150, 1, 20, 0, 30)); /* loses its CPU */
	kit_take(&k, switched(160, 1, 30, 0, 20));
	kit_take(&k, interrupt(174, 0, true, CONTEXT_SOFTIRQ, SOFTIRQ_NET_RX));
	kit_take(&k, woken(175, 0, 0, 10));
	kit_take(&k, interrupt(176, 0, false, CONTEXT_SOFTIRQ, SOFTIRQ_NET_RX));
	kit_take(&k, switched(178, 0, 0, 0, 10));
	kit_take(&k, switched(210, 0, 10, RUN, 0));
	assert_int_equal(kernel_graph_end(k.graph, &k.e), 0);
	assert_string_equal(said(&m, &from),
	    "front GET: R100-122 N122-135 P135-138 N138-140 [1]140-170 N170-175 P175-178 R178-200; "
	    "users check: R140-150 P150-160 R160-170");
	kit_end(&k);
	made_free(&m);
}

/* As of a client of Redis, which has answered before its client waits: what it waits for later comes after the call. */
static void
a_call_that_ends_while_its_caller_runs_still_separates(void **state)
{
	struct made m;
	struct kit k = { 0 };
	struct states_source from;
	(void)state;

	two_units(&m, 10, 20);
	for (uint32_t i = 1; i <= 2; i++) /* the call and its answer */
		m.events[i].link_id = 77;
	kit_begin(&k, false);
	from = (struct states_source){ .graph = k.graph };
	kit_take(&k, interrupt(1, 0, true, CONTEXT_HRTIMER, 0));
	kit_take(&k, interrupt(2, 0, false, CONTEXT_HRTIMER, 0));
	kit_take(&k, switched(50, 0, 0, 0, 10));
	kit_take(&k, switched(60, 1, 0, 0, 20));
	kit_take(&k, switched(182, 0, 10, RUN, 0)); /* sleeps */
	kit_take(&k, interrupt(190, 0, true, CONTEXT_HRTIMER, 0));
	kit_take(&k, woken(191, 0, 0, 10));
	kit_take(&k, interrupt(192, 0, false, CONTEXT_HRTIMER, 0));
	kit_take(&k, switched(193, 0, 0, 0, 10));
	kit_take(&k, switched(210, 0, 10, RUN, 0));
	assert_int_equal(kernel_graph_end(k.graph, &k.e), 0);
	assert_string_equal(said(&m, &from),
	    "front GET: R100-170 [1]170-170 R170-182 T182-191 P191-193 R193-200; users check: R140-170");
	m.events[2].link_id = 78; /* nobody waited for it */
	assert_string_equal(said(&m, &from),
	    "front GET: R100-182 T182-191 P191-193 R193-200; users check: R140-170");
	kit_end(&k);
	made_free(&m);
}

static void
an_operation_on_the_same_thread_has_all_of_its_time(void **state)
{
	struct made m;
	struct kit k = { 0 };
	struct states_source from;
	(void)state;

	two_units(&m, 10, 10);
	kit_begin(&k, false);
	from = (struct states_source){ .graph = k.graph };
	kit_take(&k, switched(50, 0, 0, 0, 10));
	kit_take(&k, switched(150, 0, 10, 0, 30));
	kit_take(&k, switched(155, 0, 30, 0, 10));
	kit_take(&k, switched(210, 0, 10, RUN, 0));
	assert_int_equal(kernel_graph_end(k.graph, &k.e), 0);
	assert_string_equal(said(&m, &from),
	    "front GET: R100-140 [1]140-170 R170-200; users check: R140-150 P150-155 R155-170");
	kit_end(&k);
	made_free(&m);
}

static void
a_wait_for_a_thread_that_waits_for_the_disk_is_of_the_disk(void **state)
{
	struct made m;
	struct kit k = { 0 };
	struct states_source from;
	(void)state;

	made_init(&m);
	event(&m, 0, RECORD_REQUEST_BEGIN, "front/hone:request_begin(GET)", 100, 10);
	event(&m, 0, RECORD_REQUEST_END, "front/hone:request_end(GET)", 200, 10);
	kit_begin(&k, false);
	from = (struct states_source){ .graph = k.graph };
	kit_take(&k, switched(50, 0, 0, 0, 10));
	kit_take(&k, switched(55, 1, 0, 0, 40));
	kit_take(&k, switched(110, 0, 10, RUN, 0)); /* waits for thread 40, which reads */
	kit_take(
	    &k, switched(120, 1, 40, SWITCH_ASLEEP | SWITCH_UNINTERRUPTIBLE | SWITCH_IOWAIT, 0));
	kit_take(&k, interrupt(159, 1, true, CONTEXT_SOFTIRQ, SOFTIRQ_BLOCK));
	kit_take(&k, woken(160, 1, 0, 40));
	kit_take(&k, interrupt(161, 1, false, CONTEXT_SOFTIRQ, SOFTIRQ_BLOCK));
	kit_take(&k, switched(162, 1, 0, 0, 40));
	kit_take(&k, woken(170, 1, 40, 10));
	kit_take(&k, switched(175, 0, 0, 0, 10));
	kit_take(&k, switched(210, 0, 10, RUN, 0));
	assert_int_equal(kernel_graph_end(k.graph, &k.e), 0);
	assert_string_equal(said(&m, &from),
	    "front GET: R100-110 B110-120 D120-160 P160-162 B162-170 P170-175 R175-200");
	kit_end(&k);
	made_free(&m);
}

static void
without_a_graph_the_records_below_are_read(void **state)
{
	struct made m;
	struct states_source from = { 0 };
	(void)state;

	two_units(&m, 10, 20);
	wait(&m, 0, "front/below:network(main)", 122, 175, 178);
	wait(&m, 1, "users/below:lock(main)", 145, 160, 162);
	assert_string_equal(said(&m, &from),
	    "front GET: R100-122 N122-140 [1]140-170 N170-175 P175-178 R178-200; "
	    "users check: R140-145 L145-160 P160-162 R162-170");
	made_free(&m);
}

static void
threads_that_the_recording_has_not_are_unknown(void **state)
{
	struct made m;
	struct kit k = { 0 };
	struct states_source from;
	static const uint32_t hosts[] = { UINT32_MAX };
	(void)state;

	two_units(&m, 10, 20);
	kit_begin(&k, false);
	from = (struct states_source){ .graph = k.graph, .offset_ns = 1000 };
	kit_take(&k, switched(1050, 0, 0, 0, 10));
	kit_take(&k, switched(1210, 0, 10, RUN, 0));
	assert_int_equal(kernel_graph_end(k.graph, &k.e), 0);
	assert_string_equal(said(&m, &from), "front GET: R100-200; users check: U140-170");
	from.hosts = hosts;
	from.nhosts = 1;
	assert_string_equal(
	    said(&m, &from), "front GET: U100-140 [1]140-170 U170-200; users check: U140-170");
	m.trace.lossy = true;
	assert_string_not_equal(said(&m, &from), "");
	assert_string_equal(said(&m, &(struct states_source){ 0 }), "");
	m.trace.incomplete = INCOMPLETE_NO_END;
	assert_string_equal(said(&m, &from), "");
	kit_end(&k);
	made_free(&m);
}

static void
a_unit_that_another_thread_ends_is_followed(void **state)
{
	struct made m;
	struct kit k = { 0 };
	struct states_source from;
	(void)state;

	made_init(&m);
	event(&m, 0, RECORD_REQUEST_BEGIN, "front/hone:request_begin(GET)", 100, 10);
	event(&m, 0, RECORD_POINT, "front/a:b", 120, 10);
	event(&m, 0, RECORD_REQUEST_END, "front/hone:request_end(GET)", 200, 11);
	kit_begin(&k, false);
	from = (struct states_source){ .graph = k.graph };
	kit_take(&k, interrupt(1, 0, true, CONTEXT_SOFTIRQ, SOFTIRQ_NET_RX));
	kit_take(&k, interrupt(2, 0, false, CONTEXT_SOFTIRQ, SOFTIRQ_NET_RX));
	kit_take(&k, switched(50, 0, 0, 0, 10));
	kit_take(&k, switched(52, 1, 11, RUN, 0));
	kit_take(&k, woken(125, 0, 10, 11)); /* hands over, and goes on with something else */
	kit_take(&k, switched(130, 1, 0, 0, 11));
	kit_take(&k, switched(210, 1, 11, RUN, 0));
	kit_take(&k, switched(212, 0, 10, RUN, 0));
	assert_int_equal(kernel_graph_end(k.graph, &k.e), 0);
	assert_string_equal(said(&m, &from), "front GET: R100-120 B120-125 P125-130 R130-200");
	kit_end(&k);
	made_free(&m);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(time_below_is_the_operations_that_goes_on_meanwhile),
		cmocka_unit_test(a_call_that_ends_while_its_caller_runs_still_separates),
		cmocka_unit_test(an_operation_on_the_same_thread_has_all_of_its_time),
		cmocka_unit_test(a_wait_for_a_thread_that_waits_for_the_disk_is_of_the_disk),
		cmocka_unit_test(without_a_graph_the_records_below_are_read),
		cmocka_unit_test(threads_that_the_recording_has_not_are_unknown),
		cmocka_unit_test(a_unit_that_another_thread_ends_is_followed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
