/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Recordings that are text: ftrace's and MiSeRTrace's. */
#include "tests/unit/kernel/files/kit.h"

static int
read_as(struct kit *k, const char *name, const char *text, struct kernel_files_options *o)
{
	char folder[64], path[160], *paths[] = { path };
	struct kernel_files_options none = { 0 };
	FILE *f;
	int rc;

	kit_folder(folder);
	snprintf(path, sizeof path, "%s/%s", folder, name);
	assert_non_null(f = fopen(path, "w"));
	fputs(text, f);
	fclose(f);
	assert_true(kernel_files_is(path) || (o != NULL && o->format != NULL));
	rc = kit_read_with(k, paths, 1, o != NULL ? o : &none);
	kit_remove(folder);
	return rc;
}

/* The nth event of a kind. */
static const struct kernel_event *
nth(const struct kit *k, enum kernel_event_kind kind, int n)
{
	for (uint32_t i = 0; i < k->nevents; i++)
		if (k->events[i].kind == kind && n-- == 0)
			return &k->events[i];
	fail_msg("no such event: %s", kernel_event_word(kind));
	return NULL;
}

static void
the_file_trace_is_read(void **state)
{
	static const char text[] =
	    "# tracer: nop\n#\n# entries-in-buffer/entries-written: 12/12   #P:2\n#\n"
	    "     Web Content-2012  (   2000) [001] d..2.  5612.123456: sched_switch: prev_comm=Web Content prev_pid=2012 "
	    "prev_prio=120 prev_state=S ==> next_comm=a-b [000] c next_pid=31 next_prio=120\n"
	    "   a-b [000] c-31      (     30) [001] d..2.  5612.123460: sched_switch: prev_comm=a-b [000] c prev_pid=31 "
	    "prev_prio=120 prev_state=R+ ==> next_comm=swapper/1 next_pid=0 next_prio=120\n"
	    "          <idle>-0     (-------) [000] d.h1.  5612.123470: irq_handler_entry: irq=26 name=ahci[0000:00:1f.2]\n"
	    "          <idle>-0     (-------) [000] d.h1.  5612.123471: sched_waking: comm=Web Content pid=2012 prio=120 target_cpu=001\n"
	    "          <idle>-0     (-------) [000] dNh1.  5612.123472: sched_wakeup: comm=Web Content pid=2012 prio=120 target_cpu=001\n"
	    "          <idle>-0     (-------) [000] d.h1.  5612.123473: irq_handler_exit: irq=26 ret=handled\n"
	    "CPU:1 [LOST 23 EVENTS]\n"
	    "           <...>-77    (     77) [001] .....  5612.223456: sys_futex(uaddr: 7f0a1c, op: 80, val: 2, utime: 0, uaddr2: 0, val3: 0)\n"
	    "           <...>-77    (     77) [001] .....  5612.223460: sys_futex -> 0xfffffffffffffff5\n"
	    "           <...>-77    (     77) [001] .....  5612.223470: sys_enter: NR 202 (7f0a1c, 81, 1, 0, 0, 0)\n"
	    "           <...>-77    (     77) [001] .....  5612.223480: tracing_mark_write: hello\n"
	    "           <...>-77    (     77) [001] .....  5612.223490: do_softirq <-irq_exit\n";
	const struct kernel_event *ev;
	struct kit k;

	(void)state;
	assert_int_equal(read_as(&k, "web1.trace.txt", text, NULL), 0);
	assert_string_equal(texts_get(k.names.hosts, 0), "web1");
	assert_int_equal(k.counts.events, 11);
	ev = nth(&k, KERNEL_SWITCH, 0);
	assert_int_equal(ev->time_ns, 5612123456000);
	assert_int_equal(ev->tid, 2012);
	assert_int_equal(ev->pid, 2000);
	assert_int_equal(ev->cpu, 1);
	assert_int_equal(ev->flags, SWITCH_ASLEEP);
	assert_int_equal(ev->change.next_tid, 31);
	assert_int_equal(ev->change.syscall, SYSCALL_UNKNOWN);
	assert_int_equal(nth(&k, KERNEL_SWITCH, 1)->flags, 0); /* preempted */
	assert_int_equal(nth(&k, KERNEL_SWITCH, 1)->tid, 31);
	assert_int_equal(nth(&k, KERNEL_SWITCH, 1)->pid, 30);
	assert_int_equal(k.counts.given[KERNEL_WAKING], 1); /* not again with sched_wakeup */
	assert_int_equal(nth(&k, KERNEL_WAKING, 0)->waking.tid, 2012);
	assert_int_equal(nth(&k, KERNEL_WAKING, 0)->waking.pid, 2000);
	ev = nth(&k, KERNEL_CONTEXT_IN, 0);
	assert_int_equal(ev->context.kind, CONTEXT_IRQ);
	assert_int_equal(ev->context.vector, 26);
	assert_string_equal(kit_text(&k, ev->context.name), "ahci[0000:00:1f.2]");
	ev = nth(&k, KERNEL_LOST, 0);
	assert_int_equal(ev->lost.count, 23);
	assert_int_equal(ev->lost.from_ns, 5612123460000);
	assert_int_equal(ev->time_ns, 5612223456000);
	assert_int_equal(ev->cpu, 1);
	ev = nth(&k, KERNEL_SYSCALL_IN, 0);
	assert_int_equal(ev->call.number, 202);
	assert_int_equal(ev->flags, SWITCH_LOCK);
	assert_int_equal(ev->call.lock, 0x7f0a1c);
	assert_int_equal(ev->call.value, 0x7f0a1c);
	assert_int_equal(nth(&k, KERNEL_SYSCALL_OUT, 0)->call.value, -11);
	assert_int_equal(nth(&k, KERNEL_SYSCALL_IN, 1)->call.number, 202);
	assert_int_equal(nth(&k, KERNEL_SYSCALL_IN, 1)->flags, 0);
	assert_int_equal(k.counts.unused, 2);
	ev = nth(&k, KERNEL_NAME, 0);
	assert_int_equal(ev->tid, 2012);
	assert_string_equal(kit_text(&k, ev->thread.name), "Web Content");
	kit_release(&k);
}

static void
what_trace_cmd_prints_is_read(void **state)
{
	static const char text[] =
	    "cpus=2\n"
	    "          <idle>-0     [001]   100.000000123: sched_switch:         swapper/1:0 [120] R ==> my:prog:42 [120]\n"
	    "        my:prog-42    [001]   100.000000500: sched_process_fork:   comm=my:prog pid=42 child_comm=my:prog child_pid=43\n"
	    "        my:prog-42    [001]   100.000000600: sched_wakeup_new:     my:prog:43 [120] success=1 CPU:000\n"
	    "        my:prog-42    [001]   100.000000700: sched_wakeup:         other:50 [120] success=1 CPU:000\n"
	    "        my:prog-42    [001]   100.000000800: sys_enter_read:       fd: 0x00000003, buf: 0x7ffd, count: 0x00001000\n"
	    "CPU:1 [EVENTS DROPPED]\n"
	    "        my:prog-42    [001]   100.000000900: sched_switch:         my:prog:42 [120] D|K ==> swapper/1:0 [120]\n"
	    "          <idle>-0     [001]   100.000001000: softirq_entry:        vec=4 [action=BLOCK]\n"
	    "          <idle>-0     [001]   100.000001100: softirq_exit:         vec=4 [action=BLOCK]\n";
	static const char raw[] =
	    "cpus=2\n"
	    "          <idle>-0     [001]   100.000000: sched_switch:          prev_comm=swapper/1 prev_pid=0 prev_prio=120 "
	    "prev_state=0x0 next_comm=prog next_pid=42 next_prio=120\n"
	    "            prog-42    [001]   100.000001: sched_switch:          prev_comm=prog prev_pid=42 prev_prio=120 "
	    "prev_state=0x2 next_comm=swapper/1 next_pid=0 next_prio=120\n";
	struct kit k;

	(void)state;
	assert_int_equal(read_as(&k, "a.txt", text, NULL), 0);
	assert_int_equal(k.counts.odd[ODDITY_MALFORMED].count, 0);
	assert_int_equal(k.counts.odd[ODDITY_FIELDS].count, 0);
	assert_int_equal(nth(&k, KERNEL_SWITCH, 0)->time_ns, 100000000123);
	assert_int_equal(nth(&k, KERNEL_SWITCH, 0)->change.next_tid, 42);
	assert_int_equal(nth(&k, KERNEL_FORK, 0)->child.tid, 43);
	assert_int_equal(nth(&k, KERNEL_FORK, 0)->tid, 42);
	assert_true(nth(&k, KERNEL_WAKING, 0)->waking.is_new);
	assert_int_equal(nth(&k, KERNEL_WAKING, 1)->waking.tid, 50);
	assert_int_equal(nth(&k, KERNEL_SYSCALL_IN, 0)->call.number, 0);
	assert_int_equal(nth(&k, KERNEL_SYSCALL_IN, 0)->call.value, 3);
	assert_int_equal(nth(&k, KERNEL_LOST, 0)->lost.count, 0);
	assert_int_equal(nth(&k, KERNEL_SWITCH, 1)->flags, SWITCH_ASLEEP | SWITCH_UNINTERRUPTIBLE);
	assert_int_equal(nth(&k, KERNEL_CONTEXT_IN, 0)->context.vector, SOFTIRQ_BLOCK);
	kit_release(&k);
	assert_int_equal(read_as(&k, "b.txt", raw, NULL), 0);
	assert_int_equal(nth(&k, KERNEL_SWITCH, 1)->flags, SWITCH_ASLEEP | SWITCH_UNINTERRUPTIBLE);
	assert_int_equal(nth(&k, KERNEL_SWITCH, 0)->flags, 0);
	kit_release(&k);
}

static const char misertrace[] =
    "\"nginx\"|\"10\"|\"1000\"|\"0\"|\"MT:tracepoint:syscalls:sys_enter_recvfrom\"\n"
    "\"nginx\"|\"10\"|\"1500\"|\"0\"|\"MT:tracepoint:tcp:tcp_rcv_space_adjust\"|\"sport=80 dport=5000 saddr=10.0.0.2 "
    "daddr=10.0.0.1\"\n"
    "\"nginx\"|\"10\"|\"1600\"|\"0\"|\"exceptions:page_fault_user\"\n"
    "\"nginx\"|\"10\"|\"3000\"|\"0\"|\"MT:kprobe:sock_sendmsg\"|\"sport=80 dport=5000 saddr=10.0.0.2 daddr=10.0.0.1\"\n"
    "\"app|x\"|\"20\"|\"1200\"|\"1\"|\"MT:tracepoint:sched:sched_process_fork\"|\"parent_pid=20 child_pid=21\"\n"
    "\"app|x\"|\"21\"|\"1700\"|\"1\"|\"MT:tracepoint:tcp:tcp_probe\"|\"sport=1\"\n"
    "\"app|x\"|\"21\"|\"2500\"|\"1\"|\"MT:tracepoint:sched:sched_process_exit\"|\"pid=21\"\n"
    "garbage\n";

static void
a_log_of_misertrace_is_sorted(void **state)
{
	static const uint8_t order[] = { KERNEL_SYSCALL_IN, KERNEL_FORK, KERNEL_RECEIVE,
		KERNEL_COUNTED, KERNEL_EXIT, KERNEL_SEND };
	struct kernel_connection c;
	uint32_t at = 0;
	struct kit k;

	(void)state;
	assert_int_equal(read_as(&k, "log.psv", misertrace, NULL), 0);
	for (uint32_t i = 0; i < k.nevents; i++)
		if (k.events[i].kind != KERNEL_NAME)
			assert_int_equal(k.events[i].kind, order[at++]);
	assert_int_equal(at, sizeof order);
	assert_int_equal(nth(&k, KERNEL_SYSCALL_IN, 0)->call.number, 45);
	c = kernel_connection(&k.names, nth(&k, KERNEL_RECEIVE, 0)->message.connection);
	assert_int_equal(c.here.port, 80);
	assert_int_equal(c.there.port, 5000);
	assert_int_equal(c.here.address[15], 2);
	assert_int_equal(nth(&k, KERNEL_SEND, 0)->message.connection,
	    nth(&k, KERNEL_RECEIVE, 0)->message.connection);
	assert_string_equal(
	    kit_text(&k, nth(&k, KERNEL_COUNTED, 0)->counted.name), "exceptions:page_fault_user");
	assert_int_equal(nth(&k, KERNEL_FORK, 0)->child.tid, 21);
	assert_string_equal(kit_text(&k, nth(&k, KERNEL_NAME, 1)->thread.name), "app|x");
	assert_int_equal(k.counts.unused, 1);
	assert_int_equal(k.counts.odd[ODDITY_MALFORMED].count, 1);
	assert_int_equal(k.counts.odd[ODDITY_MALFORMED].offset, strlen(misertrace) - 8);
	assert_int_equal(k.counts.odd[ODDITY_CLOCK].count, 0);
	kit_release(&k);
}

static void
without_quotes_it_is_the_same(void **state)
{
	char plain[sizeof misertrace], *to = plain;
	struct kit k, other;

	(void)state;
	for (const char *s = misertrace; *s != '\0'; s++)
		if (strncmp(s, "app|x", 5) == 0) {
			memcpy(to, "app", 3);
			to += 3;
			s += 4;
		} else if (*s != '"') {
			*to++ = *s;
		}
	*to = '\0';
	assert_int_equal(read_as(&k, "log.psv", misertrace, NULL), 0);
	assert_int_equal(read_as(&other, "log.psv", plain, NULL), 0);
	assert_int_equal(k.nevents, other.nevents);
	for (uint32_t i = 0; i < k.nevents; i++) {
		assert_int_equal(k.events[i].kind, other.events[i].kind);
		assert_int_equal(k.events[i].time_ns, other.events[i].time_ns);
		assert_int_equal(k.events[i].tid, other.events[i].tid);
	}
	kit_release(&k);
	kit_release(&other);
}

static void
threads_of_a_container_have_its_name(void **state)
{
	struct kernel_files_options o = { 0 };
	char folder[64], meta[80];
	struct kit k;
	FILE *f;

	(void)state;
	kit_folder(folder);
	snprintf(meta, sizeof meta, "%s/meta.psv", folder);
	assert_non_null(f = fopen(meta, "w"));
	fputs("20|cart|10.0.0.3|0a1b\nnothing\n", f);
	fclose(f);
	o.meta = meta;
	assert_int_equal(read_as(&k, "log.psv", misertrace, &o), 0);
	for (uint32_t i = 0; i < k.nevents; i++)
		if (k.events[i].kind == KERNEL_NAME && k.events[i].tid >= 20)
			assert_string_equal(kit_text(&k, k.events[i].thread.name), "cart");
	assert_int_equal(nth(&k, KERNEL_NAME, 2)->tid, 21); /* a child */
	assert_int_equal(k.counts.odd[ODDITY_MALFORMED].count, 2);
	kit_release(&k);
	o.meta = "/no/such/file";
	assert_int_equal(read_as(&k, "log.psv", misertrace, &o), ERR_SYSTEM);
	kit_release(&k);
	kit_remove(folder);
}

static void
what_the_user_chose_is_counted(void **state)
{
	static const char text[] =
	    "# tracer: nop\n"
	    " x-5 [000] ..... 1.000001: page_fault_user: address=0x1 ip=0x2 error_code=0x4\n"
	    " x-5 [000] ..... 1.000002: sched_migrate_task: comm=y pid=9 prio=120 orig_cpu=0 dest_cpu=1\n"
	    " x-5 [000] ..... 1.000003: kmem_cache_free: ptr=0x1\n";
	struct kernel_files_options o = { .counted = "page_*,sched_migrate_task" };
	struct kit k;

	(void)state;
	assert_int_equal(read_as(&k, "t", text, &o), 0);
	assert_int_equal(k.counts.given[KERNEL_COUNTED], 2);
	assert_int_equal(k.counts.unused, 1);
	assert_string_equal(k.counts.names[0].name, "kmem_cache_free");
	assert_string_equal(
	    kit_text(&k, nth(&k, KERNEL_COUNTED, 0)->counted.name), "page_fault_user");
	assert_int_equal(nth(&k, KERNEL_COUNTED, 1)->tid, 5);
	kit_release(&k);
}

static void
a_reused_number_is_another_thread(void **state)
{
	static const char text[] =
	    "# tracer: nop\n"
	    " a-5 [000] ..... 1.000001: task_newtask: pid=6 comm=a clone_flags=3d0f00 oom_score_adj=0\n"
	    " a-5 [000] ..... 1.000002: sched_process_fork: comm=a pid=5 child_comm=a child_pid=6\n"
	    " a-5 [000] ..... 1.000003: sched_switch: prev_comm=a prev_pid=5 prev_prio=120 prev_state=S ==> next_comm=a next_pid=6 next_prio=120\n"
	    " a-6 [000] ..... 1.000004: sched_process_exit: comm=a pid=6 prio=120\n"
	    " a-6 [000] ..... 1.000005: sched_switch: prev_comm=a prev_pid=6 prev_prio=120 prev_state=X ==> next_comm=a next_pid=5 next_prio=120\n"
	    " a-5 [000] ..... 1.000006: sched_process_fork: comm=a pid=5 child_comm=a child_pid=6\n"
	    " a-5 [000] ..... 1.000007: sched_process_fork: comm=a pid=5 child_comm=a child_pid=6\n";
	struct kit k;

	(void)state;
	assert_int_equal(read_as(&k, "t", text, NULL), 0);
	assert_int_equal(nth(&k, KERNEL_SWITCH, 1)->flags, SWITCH_ENDED);
	assert_int_equal(k.counts.odd[ODDITY_REUSED].count, 1); /* the last one: 6 had not ended */
	kit_release(&k);
}

static void
a_call_that_is_recorded_twice_is_given_once(void **state)
{
	static const char text[] =
	    "# tracer: nop\n"
	    " a-5 [000] ..... 1.000001: sys_enter: NR 0 (3, 7f, 10, 0, 0, 0)\n"
	    " a-5 [000] ..... 1.000001: sys_read(fd: 3, buf: 0x7f, count: 0x10)\n"
	    " a-5 [000] ..... 1.000005: sys_read -> 0x10\n"
	    " a-5 [000] ..... 1.000005: sys_exit: NR 0 = 16\n";
	struct kit k;

	(void)state;
	assert_int_equal(read_as(&k, "t", text, NULL), 0);
	assert_int_equal(k.counts.given[KERNEL_SYSCALL_IN], 1);
	assert_int_equal(k.counts.given[KERNEL_SYSCALL_OUT], 1);
	assert_int_equal(nth(&k, KERNEL_SYSCALL_IN, 0)->call.value, 3);
	assert_int_equal(nth(&k, KERNEL_SYSCALL_OUT, 0)->call.value, 16);
	kit_release(&k);
}

static void
odd_lines_are_counted_and_the_rest_is_read(void **state)
{
	static const char text[] =
	    "# tracer: nop\n"
	    " a-5 [000] ..... 2.000001: sched_waking: comm=b pid=6 prio=120 target_cpu=000\n"
	    "no event\n"
	    " a-5 [000] ..... 2.000002: sched_waking: comm=b\n"
	    " a-5 [000] ..... 2.000003: sched_switch: prev_comm=a prev_pid=7 prev_prio=120 prev_state=Q ==> next_comm=b next_pid=6 next_prio=1\n"
	    " a-5 [000] ..... 99999999999999999999.000001: sched_waking: comm=b pid=6 prio=120 target_cpu=000\n"
	    " a-5 [000] d.h.. 2.000004: softirq_entry: vec=3 [action=NET_RX]\n"
	    " a-5 [000] d.h.. 2.000005: softirq_exit: vec=1 [action=TIMER]\n"
	    " a-5 [000] ..... 2.000006: sched_switch: prev_comm=a prev_pid=5 prev_prio=120 prev_state=S ==> next_comm=b next_pid=6 next_prio=1\n"
	    " c-8 [000] ..... 2.000007: sched_switch: prev_comm=c prev_pid=8 prev_prio=120 prev_state=S ==> next_comm=b next_pid=6 next_prio=1\n";
	struct kit k;

	(void)state;
	assert_int_equal(read_as(&k, "t", text, NULL), 0);
	assert_int_equal(k.counts.odd[ODDITY_MALFORMED].count, 2);
	assert_int_equal(k.counts.odd[ODDITY_FIELDS].count, 2);
	assert_int_equal(k.counts.odd[ODDITY_NO_BEGIN].count, 1);
	assert_int_equal(k.counts.odd[ODDITY_NO_END].count, 1);
	assert_int_equal(k.counts.odd[ODDITY_SWITCH].count, 1);
	assert_non_null(strstr(k.counts.odd[ODDITY_MALFORMED].file, "/t"));
	assert_int_equal(k.counts.given[KERNEL_SWITCH], 2);
	kit_release(&k);
}

/* Within a CPU ftrace writes events in their order; between CPUs it need not. */
static void
a_clock_of_a_cpu_that_goes_back_is_counted(void **state)
{
	static const char text[] =
	    "# tracer: nop\n"
	    " a-5 [000] ..... 2.000003: sched_waking: comm=b pid=6 prio=120 target_cpu=000\n"
	    " a-7 [001] ..... 2.000001: sched_waking: comm=b pid=6 prio=120 target_cpu=000\n"
	    " a-5 [000] ..... 2.000002: sched_waking: comm=b pid=6 prio=120 target_cpu=000\n"
	    " a-5 [000] ..... 2.000004: sched_waking: comm=b pid=6 prio=120 target_cpu=000\n";
	struct kit k;

	(void)state;
	assert_int_equal(read_as(&k, "t", text, NULL), 0);
	assert_int_equal(k.counts.odd[ODDITY_CLOCK].count, 1);
	assert_non_null(strstr(k.counts.odd[ODDITY_CLOCK].why, "2000002000 ns on CPU 0"));
	assert_int_equal(k.counts.given[KERNEL_WAKING], 4);
	kit_release(&k);
}

static void
hosts_are_merged_by_time(void **state)
{
	static const char *const texts[] = {
		"# tracer: nop\n a-5 [000] ..... 1.000001: sched_waking: comm=b pid=6 prio=120 target_cpu=000\n"
		" a-5 [000] ..... 1.000005: sched_waking: comm=b pid=6 prio=120 target_cpu=000\n",
		"# tracer: nop\n a-5 [000] ..... 1.000001: sched_waking: comm=b pid=7 prio=120 target_cpu=000\n"
		" a-5 [000] ..... 1.000003: sched_waking: comm=b pid=7 prio=120 target_cpu=000\n",
	};
	static const int order[] = { 0, 1, 1, 0 };
	struct kernel_files_options o = { 0 };
	char folder[64], paths[2][128];
	uint32_t at = 0;
	struct kit k;

	(void)state;
	kit_folder(folder);
	for (int i = 0; i < 2; i++) {
		FILE *f;

		snprintf(paths[i], sizeof paths[i], "%s/host%d.txt", folder, i);
		assert_non_null(f = fopen(paths[i], "w"));
		fputs(texts[i], f);
		fclose(f);
	}
	assert_int_equal(kit_read_with(&k, (char *[]){ paths[0], paths[1] }, 2, &o), 0);
	for (uint32_t i = 0; i < k.nevents; i++)
		if (k.events[i].kind == KERNEL_WAKING)
			assert_int_equal(k.events[i].host, order[at++]);
	assert_int_equal(at, 4);
	assert_int_equal(k.counts.hosts, 2);
	assert_int_equal(
	    k.counts.odd[ODDITY_BASE].count, 2); /* two clocks, nothing says how far apart */
	kit_release(&k);
	kit_remove(folder);
}

static void
each_file_is_a_host(void **state)
{
	static const char text[] =
	    "# tracer: nop\n a-5 [000] ..... 1.000001: sched_waking: comm=b pid=6 prio=120 target_cpu=000\n";
	static const char *const names[] = { "10.0.0.1.txt", "10.0.0.2.txt", "a/trace", "b/trace" };
	struct kernel_files_options o = { 0 };
	char folder[64], paths[4][128], command[192];
	struct kit k;

	(void)state;
	kit_folder(folder);
	snprintf(command, sizeof command, "mkdir '%s/a' '%s/b'", folder, folder);
	assert_int_equal(system(command), 0);
	for (int i = 0; i < 4; i++) {
		FILE *f;

		snprintf(paths[i], sizeof paths[i], "%s/%s", folder, names[i]);
		assert_non_null(f = fopen(paths[i], "w"));
		fputs(text, f);
		fclose(f);
	}
	assert_int_equal(
	    kit_read_with(&k, (char *[]){ paths[0], paths[1], paths[2], paths[3] }, 4, &o), 0);
	assert_int_equal(k.counts.hosts, 4);
	assert_string_equal(texts_get(k.names.hosts, 0), "10.0.0.1");
	assert_string_equal(texts_get(k.names.hosts, 1), "10.0.0.2");
	assert_string_equal(texts_get(k.names.hosts, 2), "trace");
	assert_string_equal(texts_get(k.names.hosts, 3), paths[3]);
	kit_release(&k);
	kit_remove(folder);
}

static void
compressed_text_that_is_cut_gives_what_is_there(void **state)
{
	char folder[64], path[96], command[512];
	FILE *f;
	struct kit k;

	(void)state;
	kit_folder(folder);
	snprintf(path, sizeof path, "%s/t.txt", folder);
	assert_non_null(f = fopen(path, "w"));
	fputs("# tracer: nop\n", f);
	for (int i = 0; i < 20000; i++)
		fprintf(f,
		    " a-5 [000] ..... 1.%06d: sched_waking: comm=b pid=%d prio=120 target_cpu=000\n",
		    i, 6 + i * 7919 % 1000);
	fclose(f);
	snprintf(command, sizeof command, "gzip '%s' && truncate -s -5000 '%s.gz'", path, path);
	assert_int_equal(system(command), 0);
	strcat(path, ".gz");
	assert_int_equal(kit_read(&k, path), 0);
	assert_int_equal(k.counts.odd[ODDITY_TRUNCATED].count, 1);
	assert_in_range(k.counts.given[KERNEL_WAKING], 1000, 19999);
	kit_release(&k);
	kit_remove(folder);
}

static void
other_files_are_refused(void **state)
{
	struct kernel_files_options o = { .format = "elf" };
	struct kit k;

	(void)state;
	assert_false(kernel_files_is("/proc/self/exe"));
	assert_false(kernel_files_is("/no/such/file"));
	assert_false(kernel_files_is("-"));
	assert_int_equal(kit_read(&k, "/proc/self/exe"), ERR_INPUT);
	kit_release(&k);
	assert_int_equal(kit_read(&k, "/no/such/file"), ERR_SYSTEM);
	kit_release(&k);
	assert_int_equal(kit_read(&k, "/proc/self/fd"), ERR_INPUT);
	kit_release(&k);
	assert_int_equal(kit_read_with(&k, (char *[]){ "/dev/null" }, 1, &o), ERR_MISSING);
	kit_release(&k);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_file_trace_is_read),
		cmocka_unit_test(what_trace_cmd_prints_is_read),
		cmocka_unit_test(a_log_of_misertrace_is_sorted),
		cmocka_unit_test(without_quotes_it_is_the_same),
		cmocka_unit_test(threads_of_a_container_have_its_name),
		cmocka_unit_test(what_the_user_chose_is_counted),
		cmocka_unit_test(a_reused_number_is_another_thread),
		cmocka_unit_test(a_call_that_is_recorded_twice_is_given_once),
		cmocka_unit_test(odd_lines_are_counted_and_the_rest_is_read),
		cmocka_unit_test(a_clock_of_a_cpu_that_goes_back_is_counted),
		cmocka_unit_test(hosts_are_merged_by_time),
		cmocka_unit_test(each_file_is_a_host),
		cmocka_unit_test(compressed_text_that_is_cut_gives_what_is_there),
		cmocka_unit_test(other_files_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
