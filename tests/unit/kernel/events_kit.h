/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Kernel events, for tests of what is made of them. Times are in ns, CPU 0 and host 0 unless a test says otherwise. */
#ifndef TESTS_UNIT_KERNEL_EVENTS_KIT_H
#define TESTS_UNIT_KERNEL_EVENTS_KIT_H

#include "kernel/thread_graph.h"
#include "kernel/path.h"

struct kit {
	struct kernel_names names;
	struct kernel_graph *graph;
	struct err e;
};

static inline void
kit_begin(struct kit *k, bool workers)
{
	assert_int_equal(kernel_names_new(&k->names, &k->e), 0);
	assert_int_equal(texts_intern(k->names.hosts, "a", 1), 0);
	assert_int_equal(
	    kernel_graph_new(
		&k->graph, &(struct kernel_graph_options){ .workers = workers }, &k->names, &k->e),
	    0);
}

static inline void
kit_end(struct kit *k)
{
	kernel_graph_free(k->graph);
	kernel_names_release(&k->names);
}

static inline void
kit_take(struct kit *k, struct kernel_event ev)
{
	if (kernel_graph_take(k->graph, &ev, &k->e) != 0)
		fail_msg("%s", k->e.text);
}

/* `prev` leaves, `next` comes; flags: enum kernel_switch_flag. */
static inline struct kernel_event
switched(int64_t t, uint16_t cpu, uint32_t prev, uint8_t flags, uint32_t next)
{
	return (struct kernel_event){ .time_ns = t,
		.cpu = cpu,
		.tid = prev,
		.kind = KERNEL_SWITCH,
		.flags = flags,
		.change = { .next_tid = next, .syscall = SYSCALL_UNKNOWN } };
}

static inline struct kernel_event
woken(int64_t t, uint16_t cpu, uint32_t by, uint32_t tid)
{
	return (struct kernel_event){ .time_ns = t,
		.cpu = cpu,
		.tid = by,
		.kind = KERNEL_WAKING,
		.waking = { .tid = tid, .by = WAKE_UNKNOWN, .vector = KERNEL_VECTOR_NONE } };
}

static inline struct kernel_event
interrupt(int64_t t, uint16_t cpu, bool in, enum kernel_context kind, uint16_t vector)
{
	return (struct kernel_event){ .time_ns = t,
		.cpu = cpu,
		.kind = in ? KERNEL_CONTEXT_IN : KERNEL_CONTEXT_OUT,
		.context = { .kind = (uint8_t)kind, .vector = vector } };
}

/* The states of a thread as text: "ready 10-20, running 20-30"; `followed`: its critical path, with the tid of each segment: "100: running 5-9". */
static inline const char *
said_of(struct kit *k, uint32_t thread, int64_t from, int64_t to, bool followed)
{
	static char text[4096];
	struct kernel_path p;
	size_t len = 0;

	text[0] = '\0';
	assert_int_equal(
	    (followed ? kernel_path : kernel_states)(&p, k->graph, thread, from, to, &k->e), 0);
	assert_true(p.nsegments > 0);
	assert_int_equal(p.segments[0].from_ns, p.from_ns);
	assert_int_equal(p.segments[p.nsegments - 1].to_ns, p.to_ns);
	for (uint32_t i = 0; i < p.nsegments; i++) {
		const struct kernel_segment *s = &p.segments[i];

		assert_true(s->from_ns < s->to_ns);
		assert_true(i == 0 || s[-1].to_ns == s->from_ns);
		len += (size_t)snprintf(text + len, sizeof text - len, "%s", i == 0 ? "" : ", ");
		if (followed)
			len += (size_t)snprintf(text + len, sizeof text - len,
			    "%u: ", kernel_graph_thread(k->graph, s->thread)->tid);
		len += (size_t)snprintf(text + len, sizeof text - len, "%s %ld-%ld",
		    below_state_word(s->state), (long)s->from_ns, (long)s->to_ns);
		assert_true(len < sizeof text);
	}
	kernel_path_release(&p);
	return text;
}

/* Of the thread with this tid on this host, from begin to end. */
static inline const char *
states_of(struct kit *k, uint32_t host, uint32_t tid)
{
	uint32_t thread = kernel_graph_find(k->graph, host, tid, INT64_MAX);

	for (uint32_t i = 0; thread == KERNEL_THREAD_NONE && i < kernel_graph_count(k->graph);
	     i++) {
		const struct kernel_thread *t = kernel_graph_thread(k->graph, i);

		if (t->tid == tid && t->host == host && !t->is_worker)
			thread = i;
	}
	assert_int_not_equal(thread, KERNEL_THREAD_NONE);
	return said_of(k, thread, INT64_MIN, INT64_MAX, false);
}

#endif
