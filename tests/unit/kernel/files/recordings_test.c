/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Recordings that others made: facts that babeltrace2's own text of them shows. */
#include "kernel/files/ctf_writer.h"
#include "kernel/thread_graph.h"
#include "tests/unit/kernel/files/kit.h"

static uint64_t
slept(const struct kit *k, uint8_t flag)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < k->nevents; i++)
		n += k->events[i].kind == KERNEL_SWITCH && k->events[i].flags & flag;
	return n;
}

static void
a_trace_of_lttng_gives_each_of_its_events(void **state)
{
	char folder[64];
	struct kit k;

	(void)state;
	if (!kit_unpack("many-threads.tar.gz", folder))
		return;
	assert_true(kernel_files_is(folder));
	assert_int_equal(kit_read(&k, folder), 0);
	assert_int_equal(k.counts.events, 240644);
	assert_int_equal(k.counts.given[KERNEL_SWITCH], 28325);
	assert_int_equal(k.counts.given[KERNEL_WAKING], 6743);
	assert_int_equal(k.counts.given[KERNEL_FORK], 8003);
	assert_int_equal(k.counts.given[KERNEL_EXIT], 8003);
	assert_int_equal(slept(&k, SWITCH_ENDED), 8003);
	assert_int_equal(slept(&k, SWITCH_UNINTERRUPTIBLE), 748);
	assert_int_equal(slept(&k, SWITCH_ASLEEP), 5993 + 748);
	assert_int_equal(k.counts.cpus, 8);
	assert_int_equal(k.counts.hosts, 1);
	assert_string_equal(texts_get(k.names.hosts, 0), "wilbrod");
	kit_release(&k);
	kit_remove(folder);
}

static void
states_of_later_kernels_are_understood(void **state)
{
	char folder[64];
	struct kit k;

	(void)state;
	if (!kit_unpack("lttng-tracefile-rotation.tar.gz", folder))
		return;
	assert_int_equal(kit_read(&k, folder), 0);
	assert_int_equal(k.counts.events, 12305);
	assert_int_equal(k.counts.given[KERNEL_SWITCH], 4687);
	assert_int_equal(k.counts.given[KERNEL_WAKING], 2378 + 5);
	assert_int_equal(k.counts.given_new, 5);
	assert_int_equal(slept(&k, SWITCH_ASLEEP), 2060 + 277 + 30 + 9);
	assert_int_equal(slept(&k, SWITCH_ENDED), 6);
	assert_int_equal(slept(&k, SWITCH_UNINTERRUPTIBLE), 277 + 30 + 9);
	kit_release(&k);
	kit_remove(folder);
}

static void
a_recording_of_perf_is_read(void **state)
{
	char folder[64];
	struct kit k;

	(void)state;
	if (!kit_unpack("perf-taskset2.tar.gz", folder))
		return;
	assert_int_equal(kit_read(&k, folder), 0);
	assert_int_equal(k.counts.events, 1500);
	assert_int_equal(k.counts.given[KERNEL_SWITCH], 562);
	assert_int_equal(k.counts.given[KERNEL_WAKING], 346);
	assert_int_equal(slept(&k, SWITCH_ASLEEP), 292 + 30 + 10);
	assert_string_equal(texts_get(k.names.hosts, 0), "stih418_family");
	kit_release(&k);
	kit_remove(folder);
}

/* ---- recordings with known faults: what Hone writes, without the line that says so, is read as LTTng's ---- */

enum { FIRST_NS = 1000000 };

static void
write_one(struct kernel_ctf_writer *w, struct kernel_event ev)
{
	struct err e;

	assert_int_equal(kernel_ctf_take(w, &ev, &e), 0);
}

static struct kernel_event
change(int64_t time_ns, uint16_t cpu, uint32_t prev, uint32_t next)
{
	struct kernel_event ev = { .time_ns = time_ns,
		.tid = prev,
		.cpu = cpu,
		.kind = KERNEL_SWITCH,
		.flags = SWITCH_ASLEEP };

	ev.change.next_tid = next;
	ev.change.syscall = SYSCALL_UNKNOWN;
	return ev;
}

static struct kernel_event
softirq(int64_t time_ns, bool begins, uint16_t vector)
{
	struct kernel_event ev = { .time_ns = time_ns,
		.kind = begins ? KERNEL_CONTEXT_IN : KERNEL_CONTEXT_OUT };

	ev.context.kind = CONTEXT_SOFTIRQ;
	ev.context.vector = vector;
	return ev;
}

static struct kernel_event
lost(int64_t time_ns, uint64_t count)
{
	struct kernel_event ev = { .time_ns = time_ns, .kind = KERNEL_LOST };

	ev.lost.count = count;
	ev.lost.from_ns = time_ns - 10;
	return ev;
}

static void
without_mark(const char *folder, const char *host)
{
	char command[256];

	snprintf(
	    command, sizeof command, "sed -i /hone_recording/d '%s/%s/metadata'", folder, host);
	assert_int_equal(system(command), 0);
}

/* A packet on CPU 0 with two switches, then one with an interrupt that does not end and events that were lost. */
static void
write_faulty(const char *folder)
{
	struct kernel_ctf_writer *w;
	struct kernel_names n;
	struct err e;

	assert_int_equal(kernel_names_new(&n, &e), 0);
	texts_intern(n.hosts, "host", 4);
	assert_int_equal(kernel_ctf_open(&w, folder, &n, NULL, &e), 0);
	write_one(w, change(FIRST_NS, 0, 1, 2));
	write_one(w, change(FIRST_NS + 10, 0, 2, 3));
	write_one(w, change(FIRST_NS + 15, 1, 7, 8));
	assert_int_equal(kernel_ctf_flush(w, &e), 0);
	write_one(w, softirq(FIRST_NS + 20, true, SOFTIRQ_BLOCK));
	write_one(w, lost(FIRST_NS + 25, 12));
	write_one(w, change(FIRST_NS + 30, 0, 9, 2));
	write_one(w, softirq(FIRST_NS + 40, false, SOFTIRQ_TIMER));
	assert_int_equal(kernel_ctf_close(w, &e), 0);
	kernel_names_release(&n);
	without_mark(folder, "host");
}

static void
faults_of_a_trace_are_counted(void **state)
{
	char folder[64];
	struct kit k;

	(void)state;
	kit_folder(folder);
	write_faulty(folder);
	assert_int_equal(kit_read(&k, folder), 0);
	assert_int_equal(k.counts.given[KERNEL_SWITCH], 4);
	assert_int_equal(k.counts.odd[ODDITY_SWITCH].count, 1); /* 9 leaves, 3 ran */
	assert_int_equal(k.counts.odd[ODDITY_NO_END].count, 1);
	assert_int_equal(k.counts.odd[ODDITY_NO_BEGIN].count, 1);
	assert_int_equal(k.counts.given[KERNEL_LOST], 1);
	assert_int_equal(k.counts.lost, 12);
	assert_int_equal(k.counts.odd[ODDITY_LOST].count, 1);
	for (uint32_t i = 0; i < k.nevents; i++)
		if (k.events[i].kind == KERNEL_LOST) { /* between the ends of two packets */
			assert_int_equal(k.events[i].lost.from_ns, FIRST_NS + 10);
			assert_int_equal(k.events[i].time_ns, FIRST_NS + 40);
			assert_int_equal(k.events[i].cpu, 0);
		}
	kit_release(&k);
	kit_remove(folder);
}

static void
a_clock_that_goes_back_ends_its_trace_only(void **state)
{
	char folder[64], other[64], command[512];
	struct kernel_files_options o = { 0 };
	struct kit k;

	(void)state;
	kit_folder(folder);
	kit_folder(other);
	write_faulty(folder);
	write_faulty(other);
	/* the packets of CPU 0 again behind the others */
	snprintf(command, sizeof command,
	    "cd '%s/host' && cat kernel_0 kernel_0 > twice && mv twice kernel_0", folder);
	assert_int_equal(system(command), 0);
	assert_int_equal(kit_read_with(&k, (char *[]){ folder, other }, 2, &o), 0);
	assert_int_equal(
	    k.counts.odd[ODDITY_CLOCK].count + k.counts.odd[ODDITY_TRUNCATED].count, 1);
	assert_true(k.counts.odd[ODDITY_CLOCK].count == 1);
	assert_true(strncmp(k.counts.odd[ODDITY_CLOCK].file, folder, strlen(folder)) == 0);
	assert_true(k.counts.given[KERNEL_SWITCH] >= 4); /* all of the other one */
	kit_release(&k);
	kit_remove(folder);
	kit_remove(other);
}

static void
a_trace_that_babeltrace2_rejects_is_told(void **state)
{
	char folder[64], command[512];
	struct kit k;

	(void)state;
	kit_folder(folder);
	write_faulty(folder);
	snprintf(command, sizeof command, "truncate -s -30 '%s/host/kernel_0'", folder);
	assert_int_equal(system(command), 0);
	assert_int_equal(kit_read(&k, folder), ERR_INPUT); /* babeltrace2 rejects all of it */
	assert_non_null(strstr(k.e.text, "babeltrace2: "));
	assert_int_equal(k.counts.odd[ODDITY_MALFORMED].count, 1);
	kit_release(&k);
	snprintf(command, sizeof command,
	    "echo nonsense > '%s/host/metadata'; echo sched_switch >> '%s/host/metadata'", folder,
	    folder);
	assert_int_equal(system(command), 0);
	assert_int_equal(kit_read(&k, folder), ERR_INPUT);
	kit_release(&k);
	kit_remove(folder);
}

static void
what_hone_writes_is_read_as_lttngs_too(void **state)
{
	char folder[64], copy[64];
	struct kernel_files_options o = { .take = kernel_ctf_take };
	struct kernel_files_counts counts;
	struct kernel_ctf_writer *w;
	struct kernel_names n;
	struct kit k, again;
	uint32_t at = 0;
	struct err e;

	(void)state;
	if (!kit_unpack("many-threads.tar.gz", folder))
		return;
	kit_folder(copy);
	assert_int_equal(kernel_names_new(&n, &e), 0);
	assert_int_equal(kernel_ctf_open(&w, copy, &n, NULL, &e), 0);
	o.of = w;
	assert_int_equal(kernel_files_read((char *[]){ folder }, 1, &o, &n, &counts, &e), 0);
	assert_int_equal(kernel_ctf_close(w, &e), 0);
	kernel_names_release(&n);
	assert_int_equal(kit_read(&k, folder), 0);
	assert_int_equal(kit_read(&again, copy), 0);
	assert_int_equal(k.nevents, again.nevents);
	for (uint32_t i = 0; i < k.nevents; i++) {
		assert_int_equal(k.events[i].time_ns, again.events[i].time_ns);
		assert_int_equal(k.events[i].kind, again.events[i].kind);
		assert_int_equal(k.events[i].tid, again.events[i].tid);
		assert_int_equal(k.events[i].pid, again.events[i].pid);
		if (k.events[i].kind == KERNEL_SWITCH || k.events[i].kind == KERNEL_WAKING)
			assert_memory_equal(&k.events[i], &again.events[i], sizeof k.events[i]);
	}
	kit_release(&again);
	/* as LTTng's: what its fields say is the same */
	without_mark(copy, "wilbrod");
	assert_int_equal(kit_read(&again, copy), 0);
	for (uint32_t i = 0; i < k.nevents; i++) {
		if (k.events[i].kind != KERNEL_SWITCH)
			continue;
		while (at < again.nevents && (again.events[at].kind != KERNEL_SWITCH))
			at++;
		assert_true(at < again.nevents);
		assert_int_equal(again.events[at].tid, k.events[i].tid);
		assert_int_equal(again.events[at].change.next_tid, k.events[i].change.next_tid);
		assert_int_equal(again.events[at].change.next_pid, k.events[i].change.next_pid);
		assert_int_equal(again.events[at].flags, k.events[i].flags);
		at++;
	}
	assert_int_equal(again.counts.given[KERNEL_WAKING], k.counts.given[KERNEL_WAKING]);
	assert_int_equal(again.counts.given[KERNEL_FORK], k.counts.given[KERNEL_FORK]);
	kit_release(&again);
	kit_release(&k);
	kit_remove(folder);
	kit_remove(copy);
}

/*
 * many-threads: a count by another program (70 lines of Python that keep the stack of interrupts of each CPU over the output of babeltrace2) has, of the waits
 * that a wake-up ended, 226 by softirq 4 (storage), 56 by softirq 1 (timer), 39 by other interrupts, and 6,295 without one; of the latter the CPU ran the
 * idle task in 56. That wakes nobody by itself, so an interrupt is missing.
 */
static void
who_woke_in_a_public_trace_is_as_counted_otherwise(void **state)
{
	struct kernel_graph_options o = { .memory_max_bytes = (size_t)256 << 20 };
	struct kernel_files_options files = { .take = kernel_graph_take };
	struct kernel_files_counts counts;
	uint32_t by[WAKE_INTERRUPT + 1] = { 0 };
	struct kernel_names n;
	struct kernel_graph *g;
	char folder[64];
	struct err e;

	(void)state;
	if (!kit_unpack("many-threads.tar.gz", folder))
		return;
	assert_int_equal(kernel_names_new(&n, &e), 0);
	assert_int_equal(kernel_graph_new(&g, &o, &n, &e), 0);
	files.of = g;
	assert_int_equal(kernel_files_read((char *[]){ folder }, 1, &files, &n, &counts, &e), 0);
	assert_int_equal(kernel_graph_end(g, &e), 0);
	for (uint32_t i = 0; i < kernel_graph_count(g); i++) {
		const struct kernel_thread *t = kernel_graph_thread(g, i);

		for (uint32_t k = 0; k < t->nintervals; k++)
			by[t->intervals[k].by]++;
	}
	assert_int_equal(by[WAKE_BLOCK], 226);
	assert_int_equal(by[WAKE_TIMER], 56);
	assert_int_equal(by[WAKE_NETWORK], 0);
	assert_int_equal(by[WAKE_INTERRUPT], 39 + 56);
	assert_int_equal(by[WAKE_TASK] + by[WAKE_KERNEL_TASK], 6295 - 56);
	kernel_graph_free(g);
	kernel_names_release(&n);
	kit_remove(folder);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_trace_of_lttng_gives_each_of_its_events),
		cmocka_unit_test(states_of_later_kernels_are_understood),
		cmocka_unit_test(a_recording_of_perf_is_read),
		cmocka_unit_test(faults_of_a_trace_are_counted),
		cmocka_unit_test(a_clock_that_goes_back_ends_its_trace_only),
		cmocka_unit_test(a_trace_that_babeltrace2_rejects_is_told),
		cmocka_unit_test(what_hone_writes_is_read_as_lttngs_too),
		cmocka_unit_test(who_woke_in_a_public_trace_is_as_counted_otherwise),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
