/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "tests/unit/kernel/events_kit.h"

enum { FUTEX = 202, FSYNC = 74, RECVFROM = 45 };

/* ---- what Trace Compass' tests expect (LttngExecutionGraphTest), of its own event lists ---- */

struct list { /* of events, read from a file of Trace Compass' tests */
	struct kernel_event events[64];
	uint32_t count;
};

static uint32_t
number_in(const char *event, const char *end, const char *field)
{
	char look[64];
	const char *at;

	snprintf(look, sizeof look, "name=\"%s\" value=\"", field);
	at = strstr(event, look);
	return at == NULL || at > end ? 0 : (uint32_t)strtoul(at + strlen(look), NULL, 10);
}

static bool
read_list(struct list *l, uint16_t host, const char *file)
{
	const char *data = getenv("HONE_DATA");
	static char text[1 << 16];
	char path[512];
	const char *at = text, *end;
	FILE *f;

	snprintf(
	    path, sizeof path, "%s/kernel/graph/%s", data != NULL ? data : "../shared/data", file);
	if ((f = fopen(path, "r")) == NULL) {
		print_message(
		    "# %s is not there (HONE_DATA says where real traces are): skipped\n", path);
		return false;
	}
	text[fread(text, 1, sizeof text - 1, f)] = '\0';
	fclose(f);
	for (; (at = strstr(at, "<event timestamp=\"")) != NULL; at = end) {
		struct kernel_event ev = { .host = host };
		char name[32] = "";

		assert_non_null(end = strstr(at, "</event>"));
		ev.time_ns = strtol(at + 18, NULL, 10);
		sscanf(strstr(at, "name=\"") + 6, "%31[^\"]", name);
		ev.cpu = (uint16_t)number_in(at, end, "cpu");
		if (strcmp(name, "sched_switch") == 0) {
			ev = switched(ev.time_ns, ev.cpu, number_in(at, end, "prev_tid"),
			    (number_in(at, end, "prev_state") & 3) != 0 ? SWITCH_ASLEEP : 0,
			    number_in(at, end, "next_tid"));
		} else if (strcmp(name, "sched_wakeup") == 0)
			ev = woken(ev.time_ns, ev.cpu, 0, number_in(at, end, "tid"));
		else if (strncmp(name, "irq_handler_", 12) == 0)
			ev = interrupt(ev.time_ns, ev.cpu, strcmp(name + 12, "entry") == 0,
			    CONTEXT_IRQ, (uint16_t)number_in(at, end, "irq"));
		else if (strcmp(name, "softirq_entry") == 0 || strcmp(name, "softirq_exit") == 0)
			ev = interrupt(ev.time_ns, ev.cpu, strcmp(name + 8, "entry") == 0,
			    CONTEXT_SOFTIRQ, (uint16_t)number_in(at, end, "vec"));
		else if (strncmp(name, "packet_", 7) == 0) {
			ev.kind = strcmp(name + 7, "sent") == 0 ? KERNEL_PACKET_OUT
			                                        : KERNEL_PACKET_IN;
			ev.packet.id = number_in(at, end, "msgid");
		} else
			continue;
		ev.host = host;
		l->events[l->count++] = ev;
	}
	return true;
}

static int
by_time(const void *a, const void *b)
{
	const struct kernel_event *x = a, *y = b;

	return (x->time_ns > y->time_ns) - (x->time_ns < y->time_ns);
}

static void
take_list(struct kit *k, struct list *l)
{
	qsort(l->events, l->count, sizeof *l->events, by_time);
	for (uint32_t i = 0; i < l->count; i++)
		kit_take(k, l->events[i]);
	assert_int_equal(kernel_graph_end(k->graph, &k->e), 0);
}

static void
switches_alone_give_the_published_states(void **state)
{
	struct list l = { 0 };
	struct kit k;

	(void)state;
	if (!read_list(&l, 0, "sched_only.xml"))
		return;
	kit_begin(&k, false);
	take_list(&k, &l);
	assert_string_equal(states_of(&k, 0, 1), "ready 10-20, running 20-30, ready 30-40");
	assert_string_equal(states_of(&k, 0, 2), "running 10-20, unknown 20-30, running 30-40");
	kit_end(&k);
}

static const char *
worker_of(struct kit *k, uint32_t host)
{
	for (uint32_t i = 0; i < kernel_graph_count(k->graph); i++) {
		const struct kernel_thread *t = kernel_graph_thread(k->graph, i);

		/* Trace Compass ends it where the packet arrives. */
		if (t->is_worker && t->host == host)
			return said_of(k, i, INT64_MIN, t->intervals[0].to_ns, false);
	}
	fail();
	return NULL;
}

static void
two_hosts_give_the_published_states_edges_and_path(void **state)
{
	const struct kernel_thread *t;
	struct list l = { 0 };
	struct kit k;

	(void)state;
	if (!read_list(&l, 0, "simple_network_client.xml") ||
	    !read_list(&l, 1, "simple_network_server.xml"))
		return;
	kit_begin(&k, true);
	take_list(&k, &l);
	assert_int_equal(kernel_graph_count(k.graph), 7);
	assert_string_equal(
	    states_of(&k, 0, 200), "running 10-15, network 15-70, ready 70-75, running 75-95");
	assert_string_equal(
	    states_of(&k, 0, 201), "running 7-10, ready 10-15, running 15-75, ready 75-95");
	assert_string_equal(states_of(&k, 0, 202), "thread 7-90, ready 90-95");
	assert_string_equal(worker_of(&k, 0), "running 60-65");
	assert_string_equal(states_of(&k, 1, 100), "network 5-35, ready 35-40, running 40-55");
	assert_string_equal(states_of(&k, 1, 101), "running 5-40, ready 40-55");
	assert_string_equal(worker_of(&k, 1), "running 30-33");
	/* Edges: 200 wakes 202 at 90; packet 1 from 13 to 35; packet 2 from 45 to 70. */
	t = kernel_graph_thread(k.graph, kernel_graph_find(k.graph, 0, 202, 50));
	assert_int_equal(t->intervals[0].waker, kernel_graph_find(k.graph, 0, 200, 90));
	t = kernel_graph_thread(k.graph, kernel_graph_find(k.graph, 1, 100, 20));
	assert_int_equal(t->intervals[0].waker, kernel_graph_find(k.graph, 0, 200, 13));
	assert_int_equal(t->intervals[0].waker_ns, 13);
	t = kernel_graph_thread(k.graph, kernel_graph_find(k.graph, 0, 200, 20));
	assert_int_equal(t->intervals[1].waker, kernel_graph_find(k.graph, 1, 100, 45));
	assert_int_equal(t->intervals[1].waker_ns, 45);
	/* DistributedCriticalPathTest */
	assert_string_equal(
	    said_of(&k, kernel_graph_find(k.graph, 0, 200, 20), INT64_MIN, INT64_MAX, true),
	    "200: running 10-15, 100: network 15-35, 100: ready 35-40, 100: running 40-45, 200: network 45-70, "
	    "200: ready 70-75, 200: running 75-95");
	kit_end(&k);
}

/* ---- states ------------------------------------------------------------------ */

/* What thread 1 waited for that left CPU 0 in this way and is woken by what follows. */
static const char *
waited(struct kit *k, uint8_t flags, int syscall, const struct kernel_event *then, uint32_t n)
{
	struct kernel_event out = switched(20, 0, 1, SWITCH_ASLEEP | flags, 2);

	kit_begin(k, false);
	out.change.syscall = syscall;
	kit_take(k, interrupt(1, 0, true, CONTEXT_IRQ, 9));
	kit_take(k, interrupt(2, 0, false, CONTEXT_IRQ, 9));
	kit_take(k, switched(10, 0, 2, 0, 1));
	kit_take(k, out);
	for (uint32_t i = 0; i < n; i++)
		kit_take(k, then[i]);
	kit_take(k, switched(40, 0, 2, 0, 1));
	kit_take(k, switched(50, 0, 1, 0, 2));
	assert_int_equal(kernel_graph_end(k->graph, &k->e), 0);
	return states_of(k, 0, 1);
}

#define WAITED(flags, syscall, ...)                                        \
	waited(&k, flags, syscall, (struct kernel_event[]){ __VA_ARGS__ }, \
	    sizeof((struct kernel_event[]){ __VA_ARGS__ }) / sizeof(struct kernel_event))

static void
who_wakes_says_what_a_thread_waited_for(void **state)
{
	struct kit k;

	(void)state;
	assert_string_equal(WAITED(0, SYSCALL_UNKNOWN, woken(30, 0, 2, 1)),
	    "running 10-20, thread 20-30, ready 30-40, running 40-50");
	kit_end(&k);
	assert_string_equal(
	    WAITED(0, SYSCALL_UNKNOWN, interrupt(29, 0, true, CONTEXT_HRTIMER, KERNEL_VECTOR_NONE),
		woken(30, 0, 2, 1)),
	    "running 10-20, timer 20-30, ready 30-40, running 40-50");
	kit_end(&k);
	assert_string_equal(
	    WAITED(0, SYSCALL_UNKNOWN, interrupt(29, 0, true, CONTEXT_SOFTIRQ, SOFTIRQ_BLOCK),
		woken(30, 0, 2, 1)),
	    "running 10-20, disk 20-30, ready 30-40, running 40-50");
	kit_end(&k);
	assert_string_equal(
	    WAITED(0, SYSCALL_NONE, interrupt(29, 0, true, CONTEXT_SOFTIRQ, SOFTIRQ_BLOCK),
		woken(30, 0, 2, 1)),
	    "running 10-20, fault 20-30, ready 30-40, running 40-50");
	kit_end(&k);
	assert_string_equal(
	    WAITED(0, RECVFROM, interrupt(29, 0, true, CONTEXT_SOFTIRQ, SOFTIRQ_NET_RX),
		woken(30, 0, 2, 1)),
	    "running 10-20, network 20-30, ready 30-40, running 40-50");
	kit_end(&k);
	assert_string_equal(WAITED(SWITCH_LOCK, FUTEX, woken(30, 0, 2, 1)),
	    "running 10-20, lock 20-30, ready 30-40, running 40-50");
	kit_end(&k);
	assert_string_equal(WAITED(SWITCH_UNINTERRUPTIBLE, FSYNC, woken(30, 0, 2, 1)),
	    "running 10-20, disk 20-30, ready 30-40, running 40-50");
	kit_end(&k);
	/* An interrupt of a device that answers for storage. */
	assert_string_equal(WAITED(0, SYSCALL_UNKNOWN, interrupt(28, 0, true, CONTEXT_IRQ, 40),
				((struct kernel_event){ .time_ns = 29, .kind = KERNEL_BLOCK_DONE }),
				woken(30, 0, 2, 1)),
	    "running 10-20, disk 20-30, ready 30-40, running 40-50");
	kit_end(&k);
}

static void
a_lean_source_gives_the_same_states(void **state)
{
	struct kernel_event w = woken(30, 0, 2, 1);
	struct kit k;

	(void)state;
	w.waking.by = WAKE_TIMER;
	assert_string_equal(WAITED(0, SYSCALL_UNKNOWN, w),
	    "running 10-20, timer 20-30, ready 30-40, running 40-50");
	kit_end(&k);
	w.waking.by = WAKE_BLOCK;
	assert_string_equal(
	    WAITED(0, SYSCALL_NONE, w), "running 10-20, fault 20-30, ready 30-40, running 40-50");
	kit_end(&k);
}

static void
without_any_interrupt_on_record_nobody_is_said_to_wake(void **state)
{
	struct kit k;

	(void)state;
	kit_begin(&k, false);
	kit_take(&k, switched(10, 0, 2, 0, 1));
	kit_take(&k, switched(20, 0, 1, SWITCH_ASLEEP, 2));
	kit_take(&k, woken(30, 0, 2, 1));
	kit_take(&k, switched(40, 0, 2, 0, 1));
	assert_int_equal(kernel_graph_end(k.graph, &k.e), 0);
	assert_string_equal(states_of(&k, 0, 1), "running 10-20, unknown 20-30, ready 30-40");
	assert_int_equal(kernel_graph_counts(k.graph).without_context, 1);
	kit_end(&k);
}

static void
an_interrupt_without_its_end_explains_nothing_after_a_switch(void **state)
{
	struct kit k;

	(void)state;
	kit_begin(&k, false);
	kit_take(&k, switched(10, 0, 2, 0, 1));
	kit_take(&k, interrupt(15, 0, true, CONTEXT_HRTIMER, KERNEL_VECTOR_NONE));
	kit_take(&k, switched(20, 0, 1, SWITCH_ASLEEP, 2));
	kit_take(&k, woken(30, 0, 2, 1));
	kit_take(&k, switched(40, 0, 2, 0, 1));
	assert_int_equal(kernel_graph_end(k.graph, &k.e), 0);
	assert_string_equal(states_of(&k, 0, 1), "running 10-20, thread 20-30, ready 30-40");
	assert_int_equal(kernel_graph_counts(k.graph).open_contexts, 1);
	kit_end(&k);
}

static void
a_wake_up_just_before_the_switch_is_no_wait(void **state)
{
	struct kit k;

	(void)state;
	kit_begin(&k, false);
	kit_take(&k, switched(10, 0, 2, 0, 1));
	kit_take(&k, woken(19, 1, 3, 1));
	kit_take(&k, switched(20, 0, 1, SWITCH_ASLEEP, 2));
	kit_take(&k, switched(40, 0, 2, 0, 1));
	kit_take(&k, switched(50, 0, 1, 0, 2));
	assert_int_equal(kernel_graph_end(k.graph, &k.e), 0);
	assert_string_equal(states_of(&k, 0, 1), "running 10-20, ready 20-40, running 40-50");
	kit_end(&k);
}

static struct kernel_event
message(struct kit *k, int64_t t, uint32_t tid, enum kernel_event_kind kind, const char *here,
    const char *there, uint32_t net)
{
	struct kernel_event ev = { .time_ns = t, .tid = tid, .kind = (uint8_t)kind, .cpu = 1 };
	struct kernel_connection c = { .net = net };

	assert_true(kernel_end_read(&c.here, here) && kernel_end_read(&c.there, there));
	ev.message.connection = kernel_connection_intern(&k->names, &c);
	return ev;
}

/* The thread that ended the wait of thread 1 for a message, to which threads 5 and 6 send from their namespaces; 0: nobody is known. */
static uint32_t
sent_by(const char *here, const char *there, uint32_t net_5, uint32_t net_6, uint64_t *ambiguous)
{
	struct kernel_event w = woken(30, 0, 0, 1);
	const struct kernel_thread *t;
	uint32_t waker;
	struct kit k;

	w.waking.by = WAKE_NETWORK;
	kit_begin(&k, false);
	kit_take(&k, switched(10, 0, 2, 0, 1));
	kit_take(&k, switched(20, 0, 1, SWITCH_ASLEEP, 2));
	kit_take(&k, message(&k, 25, 5, KERNEL_SEND, there, here, net_5));
	kit_take(&k, message(&k, 26, 6, KERNEL_SEND, there, here, net_6));
	kit_take(&k, w);
	kit_take(&k, switched(40, 0, 2, 0, 1));
	kit_take(&k, message(&k, 45, 1, KERNEL_RECEIVE, here, there, 11));
	kit_take(&k, switched(50, 0, 1, 0, 2));
	assert_int_equal(kernel_graph_end(k.graph, &k.e), 0);
	t = kernel_graph_thread(k.graph, kernel_graph_find(k.graph, 0, 1, 25));
	waker = t->intervals[1].waker;
	waker = waker == UINT32_MAX ? 0 : kernel_graph_thread(k.graph, waker)->tid;
	*ambiguous = kernel_graph_counts(k.graph).ambiguous;
	kit_end(&k);
	return waker;
}

static void
a_message_comes_from_the_thread_whose_namespace_it_can_come_from(void **state)
{
	uint64_t ambiguous;

	(void)state;
	assert_int_equal(sent_by("127.0.0.1:80", "127.0.0.1:9", 11, 12, &ambiguous), 5);
	assert_int_equal(ambiguous, 0);
	assert_int_equal(sent_by("127.0.0.1:80", "127.0.0.1:9", 12, 13, &ambiguous), 0);
	assert_int_equal(ambiguous, 0);
	assert_int_equal(sent_by("10.0.0.1:80", "10.0.0.2:9", 12, 12, &ambiguous), 6);
	assert_int_equal(ambiguous, 0);
	assert_int_equal(sent_by("10.0.0.1:80", "10.0.0.2:9", 12, 13, &ambiguous), 0);
	assert_int_equal(ambiguous, 1);
}

/* ---- losses and contradictions ------------------------------------------------ */

static struct kernel_event
lost(int64_t from, int64_t to, uint16_t cpu)
{
	return (struct kernel_event){ .time_ns = to,
		.cpu = cpu,
		.kind = KERNEL_LOST,
		.lost = { .count = 5, .from_ns = from } };
}

static void
a_loss_makes_unknown_what_it_overlaps(void **state)
{
	struct kit k;

	(void)state;
	kit_begin(&k, false);
	kit_take(&k, interrupt(1, 0, true, CONTEXT_IRQ, 9));
	kit_take(&k, interrupt(2, 0, false, CONTEXT_IRQ, 9));
	kit_take(&k, switched(5, 1, 0, 0, 7));
	kit_take(&k, switched(10, 0, 2, 0, 1));
	kit_take(&k, switched(20, 0, 1, SWITCH_ASLEEP, 2));
	kit_take(&k, woken(30, 0, 2, 1));
	kit_take(&k, switched(40, 0, 2, 0, 1));
	kit_take(&k, lost(25, 45, 0));
	kit_take(&k, switched(60, 0, 1, 0, 2));
	kit_take(&k, switched(70, 1, 7, 0, 0));
	assert_int_equal(kernel_graph_end(k.graph, &k.e), 0);
	/* The wait and the time on CPU 0, but not what CPU 1 ran. */
	assert_string_equal(states_of(&k, 0, 1),
	    "running 10-20, unknown 20-30, unknown 30-45, running 45-60, ready 60-70");
	assert_string_equal(states_of(&k, 0, 7), "running 5-70");
	assert_int_equal(kernel_graph_counts(k.graph).lost, 5);
	kit_end(&k);
}

static void
a_wait_that_goes_on_through_a_loss_is_unknown(void **state)
{
	struct kit k;

	(void)state;
	kit_begin(&k, false);
	kit_take(&k, switched(10, 0, 2, 0, 1));
	kit_take(&k, switched(20, 0, 1, SWITCH_ASLEEP, 2));
	kit_take(&k, lost(25, 30, KERNEL_CPU_ALL));
	kit_take(&k, woken(40, 1, 3, 1));
	kit_take(&k, switched(50, 1, 3, 0, 1));
	assert_int_equal(kernel_graph_end(k.graph, &k.e), 0);
	assert_string_equal(states_of(&k, 0, 1), "running 10-20, unknown 20-40, ready 40-50");
	kit_end(&k);
}

static void
a_thread_that_nobody_saw_leave_is_unknown_and_counted(void **state)
{
	struct kit k;

	(void)state;
	kit_begin(&k, false);
	kit_take(&k, switched(10, 0, 2, 0, 1));
	kit_take(&k, switched(30, 0, 5, 0, 6)); /* from a thread that was not there */
	kit_take(&k, switched(40, 0, 6, 0, 1));
	kit_take(&k, switched(50, 0, 1, 0, 2));
	assert_int_equal(kernel_graph_end(k.graph, &k.e), 0);
	assert_string_equal(states_of(&k, 0, 1), "unknown 10-40, running 40-50");
	assert_int_equal(kernel_graph_counts(k.graph).unexpected, 1);
	kit_end(&k);
}

static void
a_wait_that_nobody_ended_is_unknown_and_counted(void **state)
{
	struct kit k;

	(void)state;
	kit_begin(&k, false);
	kit_take(&k, switched(10, 0, 2, 0, 1));
	kit_take(&k, switched(20, 0, 1, SWITCH_ASLEEP, 2));
	kit_take(&k, switched(40, 0, 2, 0, 1));
	kit_take(&k, switched(50, 0, 1, 0, 2));
	assert_int_equal(kernel_graph_end(k.graph, &k.e), 0);
	assert_string_equal(states_of(&k, 0, 1), "running 10-20, unknown 20-40, running 40-50");
	assert_int_equal(kernel_graph_counts(k.graph).unwoken, 1);
	assert_int_equal(kernel_graph_counts(k.graph).unexpected, 0);
	kit_end(&k);
}

static void
time_that_goes_back_is_counted_and_left_out(void **state)
{
	struct kit k;

	(void)state;
	kit_begin(&k, false);
	kit_take(&k, switched(10, 0, 2, 0, 1));
	kit_take(&k, switched(5, 0, 1, 0, 2));
	kit_take(&k, switched(20, 0, 1, 0, 2));
	assert_int_equal(kernel_graph_end(k.graph, &k.e), 0);
	assert_string_equal(states_of(&k, 0, 1), "running 10-20");
	assert_int_equal(kernel_graph_counts(k.graph).back, 1);
	kit_end(&k);
}

static void
a_tid_that_is_used_again_is_another_thread(void **state)
{
	struct kernel_event fork = { .time_ns = 10,
		.tid = 2,
		.kind = KERNEL_FORK,
		.child = { 9, 9 } },
			    again = {
				    .time_ns = 50, .tid = 2, .kind = KERNEL_FORK, .child = { 9, 9 }
			    };
	uint32_t first, second;
	struct kit k;

	(void)state;
	kit_begin(&k, false);
	kit_take(&k, switched(5, 0, 1, 0, 2));
	kit_take(&k, fork);
	kit_take(&k, switched(20, 0, 2, 0, 9));
	kit_take(&k, switched(30, 0, 9, SWITCH_ASLEEP | SWITCH_ENDED, 2));
	kit_take(&k, again);
	kit_take(&k, switched(60, 0, 2, 0, 9));
	kit_take(&k, switched(70, 0, 9, 0, 2));
	assert_int_equal(kernel_graph_end(k.graph, &k.e), 0);
	first = kernel_graph_find(k.graph, 0, 9, 25);
	second = kernel_graph_find(k.graph, 0, 9, 65);
	assert_int_not_equal(first, second);
	assert_int_equal(kernel_graph_find(k.graph, 0, 9, 40), KERNEL_THREAD_NONE);
	assert_string_equal(said_of(&k, first, 0, 100, false), "ready 10-20, running 20-30");
	assert_string_equal(said_of(&k, second, 0, 100, false), "ready 50-60, running 60-70");
	assert_int_equal(
	    kernel_graph_thread(k.graph, second)->parent, kernel_graph_find(k.graph, 0, 2, 50));
	assert_int_equal(kernel_graph_counts(k.graph).reused, 0);
	kit_end(&k);
}

/* Of perf-taskset2, a public recording: ls closes its files after sched_process_exit, and waits for storage 40 times. */
static void
a_thread_that_exits_goes_on_until_its_last_switch(void **state)
{
	struct kernel_event again = {
		.time_ns = 70, .tid = 2, .kind = KERNEL_FORK, .child = { 9, 9 }
	};
	uint32_t first;
	struct kit k;

	(void)state;
	kit_begin(&k, false);
	kit_take(&k, switched(10, 0, 2, 0, 9));
	kit_take(
	    &k, (struct kernel_event){ .time_ns = 20, .tid = 9, .pid = 9, .kind = KERNEL_EXIT });
	kit_take(&k, switched(30, 0, 9, 0, 2));
	kit_take(&k, switched(40, 0, 2, 0, 9));
	kit_take(&k, switched(60, 0, 9, SWITCH_ENDED, 2));
	kit_take(&k, again);
	kit_take(&k, switched(80, 0, 2, 0, 9));
	kit_take(&k, switched(90, 0, 9, SWITCH_ASLEEP, 2));
	assert_int_equal(kernel_graph_end(k.graph, &k.e), 0);
	first = kernel_graph_find(k.graph, 0, 9, 25);
	assert_int_equal(kernel_graph_find(k.graph, 0, 9, 55), first);
	assert_string_equal(
	    said_of(&k, first, 10, 100, false), "running 10-30, ready 30-40, running 40-60");
	assert_int_not_equal(kernel_graph_find(k.graph, 0, 9, 85), first);
	assert_int_equal(kernel_graph_counts(k.graph).reused, 0);
	kit_end(&k);
}

/* A thread other than the first one of its process that executes a program gives up its number. */
static void
a_number_that_is_given_up_while_its_thread_runs_has_ended(void **state)
{
	uint32_t given_up;
	struct kit k;

	(void)state;
	kit_begin(&k, false);
	kit_take(&k, switched(10, 0, 2, 0, 9));
	kit_take(
	    &k, (struct kernel_event){ .time_ns = 20, .tid = 9, .pid = 8, .kind = KERNEL_EXIT });
	kit_take(&k, switched(30, 0, 8, SWITCH_ASLEEP, 2));
	kit_take(&k, switched(50, 0, 2, 0, 3));
	assert_int_equal(kernel_graph_end(k.graph, &k.e), 0);
	given_up = kernel_graph_find(k.graph, 0, 9, 20);
	assert_int_not_equal(given_up, KERNEL_THREAD_NONE);
	assert_int_equal(kernel_graph_thread(k.graph, given_up)->end_ns, 30);
	assert_int_equal(kernel_graph_find(k.graph, 0, 9, 45), KERNEL_THREAD_NONE);
	kit_end(&k);
}

static void
too_many_events_are_refused_with_a_way_out(void **state)
{
	struct kernel_graph *g;
	struct kernel_names names;
	struct err e = { 0 };
	int rc = 0;

	(void)state;
	assert_int_equal(kernel_names_new(&names, &e), 0);
	assert_int_equal(
	    kernel_graph_new(
		&g, &(struct kernel_graph_options){ .memory_max_bytes = 1 << 16 }, &names, &e),
	    0);
	for (uint32_t i = 0; rc == 0 && i < 10000; i++) {
		struct kernel_event ev = switched(i, 0, i + 1, 0, i + 2);

		rc = kernel_graph_take(g, &ev, &e);
	}
	assert_int_equal(rc, ERR_FULL);
	assert_non_null(strstr(e.text, "--memory"));
	kernel_graph_free(g);
	kernel_names_release(&names);
}

/* ---- any events ---------------------------------------------------------------- */

static struct kernel_event
random_event(struct rng *r, int64_t t)
{
	uint16_t cpu = (uint16_t)rng_below(r, 3);
	uint32_t a = (uint32_t)rng_below(r, 8), b = (uint32_t)rng_below(r, 8);
	struct kernel_event ev = { .time_ns = t, .cpu = cpu, .tid = a };

	switch (rng_below(r, 12)) {
	case 0:
	case 1:
	case 2:
	case 3:
		return switched(t, cpu, a, (uint8_t)rng_below(r, 32), b);
	case 4:
	case 5:
		return woken(t, cpu, a, b);
	case 6:
		return interrupt(t, cpu, rng_below(r, 2) != 0, (enum kernel_context)rng_below(r, 5),
		    (uint16_t)rng_below(r, 10));
	case 7:
		ev.kind = KERNEL_FORK;
		ev.child.tid = ev.child.pid = b;
		return ev;
	case 8:
		ev.kind = rng_below(r, 2) != 0 ? KERNEL_PACKET_OUT : KERNEL_PACKET_IN;
		ev.packet.id = rng_below(r, 4);
		return ev;
	case 9:
		if (rng_below(r, 20) == 0)
			return lost(t - (int64_t)rng_below(r, 30), t,
			    rng_below(r, 2) != 0 ? cpu : KERNEL_CPU_ALL);
		ev.kind = KERNEL_SYSCALL_IN;
		ev.call.number = (int)rng_below(r, 300);
		return ev;
	case 10:
		ev.kind = KERNEL_SYSCALL_OUT;
		return ev;
	}
	ev.kind = rng_below(r, 10) == 0 ? KERNEL_EXIT : KERNEL_BLOCK_DONE;
	return ev;
}

static void
intervals_have_no_gap_and_paths_add_up_whatever_comes(void **state)
{
	struct rng r;

	(void)state;
	rng_seed(&r, 7);
	for (int run = 0; run < 300; run++) {
		struct kit k;
		int64_t t = 100;

		kit_begin(&k, rng_below(&r, 2) != 0);
		for (int i = 0; i < 400; i++) {
			t += (int64_t)rng_below(&r, 4);
			kit_take(&k, random_event(&r, t));
		}
		assert_int_equal(kernel_graph_end(k.graph, &k.e), 0);
		for (uint32_t i = 0; i < kernel_graph_count(k.graph); i++) {
			const struct kernel_thread *th = kernel_graph_thread(k.graph, i);

			for (uint32_t n = 0; n < th->nintervals; n++) {
				assert_true(th->intervals[n].from_ns < th->intervals[n].to_ns);
				assert_true(n == 0 ||
					    th->intervals[n - 1].to_ns == th->intervals[n].from_ns);
				assert_true(th->intervals[n].waker_ns <= th->intervals[n].to_ns);
			}
			if (th->nintervals > 0) {
				assert_int_equal(th->begin_ns, th->intervals[0].from_ns);
				assert_int_equal(
				    th->end_ns, th->intervals[th->nintervals - 1].to_ns);
				said_of(&k, i, INT64_MIN, INT64_MAX, false);
				said_of(&k, i, INT64_MIN, INT64_MAX, true);
			}
		}
		kit_end(&k);
	}
}

static void
forgetting_keeps_the_rest(void **state)
{
	struct kit k;

	(void)state;
	kit_begin(&k, false);
	for (int i = 0; i < 100; i++)
		kit_take(&k, switched(10 + 10 * i, 0, 1 + (uint32_t)i % 2, 0, 2 - (uint32_t)i % 2));
	kernel_graph_forget(k.graph, 900);
	assert_int_equal(kernel_graph_end(k.graph, &k.e), 0);
	assert_string_equal(said_of(&k, kernel_graph_find(k.graph, 0, 1, 950), 0, 940, false),
	    "ready 890-900, running 900-910, ready 910-920, running 920-930, ready 930-940");
	kit_end(&k);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(switches_alone_give_the_published_states),
		cmocka_unit_test(two_hosts_give_the_published_states_edges_and_path),
		cmocka_unit_test(who_wakes_says_what_a_thread_waited_for),
		cmocka_unit_test(a_lean_source_gives_the_same_states),
		cmocka_unit_test(without_any_interrupt_on_record_nobody_is_said_to_wake),
		cmocka_unit_test(an_interrupt_without_its_end_explains_nothing_after_a_switch),
		cmocka_unit_test(a_wake_up_just_before_the_switch_is_no_wait),
		cmocka_unit_test(a_message_comes_from_the_thread_whose_namespace_it_can_come_from),
		cmocka_unit_test(a_loss_makes_unknown_what_it_overlaps),
		cmocka_unit_test(a_wait_that_goes_on_through_a_loss_is_unknown),
		cmocka_unit_test(a_thread_that_nobody_saw_leave_is_unknown_and_counted),
		cmocka_unit_test(a_wait_that_nobody_ended_is_unknown_and_counted),
		cmocka_unit_test(time_that_goes_back_is_counted_and_left_out),
		cmocka_unit_test(a_tid_that_is_used_again_is_another_thread),
		cmocka_unit_test(a_thread_that_exits_goes_on_until_its_last_switch),
		cmocka_unit_test(a_number_that_is_given_up_while_its_thread_runs_has_ended),
		cmocka_unit_test(too_many_events_are_refused_with_a_way_out),
		cmocka_unit_test(intervals_have_no_gap_and_paths_add_up_whatever_comes),
		cmocka_unit_test(forgetting_keeps_the_rest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
