/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What names and fields mean, as CTF gives them: without babeltrace2. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "kernel/files/translate.h"

struct fixture {
	struct kernel_names names;
	struct kernel_files_counts counts;
	struct account account;
	struct translator translator;
	size_t texts_left;
	struct kernel_event events[TRANSLATED_MAX];
};

static int
set_up(void **state)
{
	static struct fixture f;
	struct err e;

	memset(&f, 0, sizeof f);
	f.account.counts = &f.counts;
	f.texts_left = 1 << 20;
	f.translator = (struct translator){
		.names = &f.names, .account = &f.account, .texts_left = &f.texts_left
	};
	*state = &f;
	return kernel_names_new(&f.names, &e);
}

static int
tear_down(void **state)
{
	struct fixture *f = *state;

	kernel_names_release(&f->names);
	return 0;
}

struct said { /* a field; number, or text */
	const char *name;
	int64_t number;
	const char *text;
};

/* An event of this name with these fields; name NULL ends them. Returns how many events it gave. */
static int
give(struct fixture *f, const char *name, const struct said *fields)
{
	struct event_name n;
	struct raw_event raw = { .name = &n, .time_ns = 7, .cpu = 1 };
	struct err e;

	event_name_set(&n, name, strncmp(name, "hone_", 5) == 0);
	assert_non_null(n.meaning);
	for (; fields->name != NULL; fields++)
		for (int i = 0; n.meaning->slots[i] != NULL; i++)
			if (slot_has(n.meaning->slots[i], fields->name, strlen(fields->name)) >=
			    0) {
				raw.values[i] = fields->text != NULL
				                    ? (struct field_said){ RAW_TEXT, 0,
							      fields->text, strlen(fields->text) }
				                    : (struct field_said){ RAW_NUMBER,
							      fields->number };
				break;
			}
	return raw_translate(&f->translator, &raw, f->events, &e);
}

static uint8_t
left(struct fixture *f, int64_t prev_state)
{
	assert_int_equal(give(f, "sched_switch",
			     (struct said[]){ { "prev_tid", 5 }, { "prev_state", prev_state },
				 { "next_tid", 0 }, { NULL } }),
	    1);
	return f->events[0].flags;
}

static void
states_of_all_kernels(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(left(f, 0), 0);
	assert_int_equal(left(f, 1), SWITCH_ASLEEP);
	assert_int_equal(left(f, 2), SWITCH_ASLEEP | SWITCH_UNINTERRUPTIBLE);
	assert_int_equal(left(f, 4), SWITCH_ASLEEP);                            /* stopped */
	assert_int_equal(left(f, 8), SWITCH_ASLEEP);                            /* traced */
	assert_int_equal(left(f, 16), SWITCH_ENDED);                            /* dead */
	assert_int_equal(left(f, 32), SWITCH_ENDED);                            /* zombie */
	assert_int_equal(left(f, 130), SWITCH_ASLEEP | SWITCH_UNINTERRUPTIBLE); /* killable, 4.4 */
	assert_int_equal(left(f, 258), SWITCH_ASLEEP | SWITCH_UNINTERRUPTIBLE); /* killable, 4.15 */
	assert_int_equal(left(f, 1026), SWITCH_ASLEEP | SWITCH_UNINTERRUPTIBLE); /* idle, 4.15 */
	assert_int_equal(left(f, 0x100), 0); /* preempted, 6.x */
	assert_int_equal(left(f, 1024), 0);  /* preempted, 3.14 */
	assert_int_equal(left(f, 2048), 0);  /* preempted, 4.4 */
	assert_int_equal(left(f, 4096), 0);  /* preempted, 4.15 */
	left(f, 64);
	assert_true(f->events[0].reserved & MARK_DEAD); /* parked or dead: an exit tells */
}

static void
a_fork_of_lttng_says_the_process(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(give(f, "sched_process_fork",
			     (struct said[]){ { "parent_tid", 11 }, { "parent_pid", 10 },
				 { "child_tid", 12 }, { "child_pid", 10 }, { NULL } }),
	    1);
	assert_int_equal(f->events[0].tid, 11);
	assert_int_equal(f->events[0].pid, 10);
	assert_int_equal(f->events[0].child.tid, 12);
	assert_int_equal(f->events[0].child.pid, 10);
	/* perf: child_pid is the thread */
	assert_int_equal(
	    give(f, "sched_process_fork",
		(struct said[]){ { "parent_pid", 11 }, { "child_pid", 12 }, { NULL } }),
	    1);
	assert_int_equal(f->events[0].tid, 11);
	assert_int_equal(f->events[0].child.tid, 12);
	assert_int_equal(f->events[0].child.pid, 0);
}

static void
futex_for_a_lock_is_marked(void **state)
{
	struct fixture *f = *state;
	struct said fields[] = { { "uaddr", 0x7f00 }, { "op", 128 }, { "val", 2 }, { NULL } };

	assert_int_equal(give(f, "syscall_entry_futex", fields), 1);
	assert_int_equal(f->events[0].call.number, 202);
	assert_int_equal(f->events[0].flags, SWITCH_LOCK);
	assert_int_equal(f->events[0].call.lock, 0x7f00);
	fields[2].number = 1; /* no waiters are marked: not what a mutex writes */
	assert_int_equal(give(f, "syscall_entry_futex", fields), 1);
	assert_int_equal(f->events[0].flags, 0);
	fields[1].number = 6; /* FUTEX_LOCK_PI */
	assert_int_equal(give(f, "compat_syscall_entry_futex", fields), 1);
	assert_int_equal(f->events[0].flags, SWITCH_LOCK);
}

static void
system_calls_of_all_tracers(void **state)
{
	struct fixture *f = *state;
	struct said fields[] = { { "ret", -11 }, { NULL } };

	assert_int_equal(give(f, "syscall_exit_newfstat", fields), 1);
	assert_int_equal(f->events[0].kind, KERNEL_SYSCALL_OUT);
	assert_int_equal(f->events[0].call.number, 5);
	assert_int_equal(f->events[0].call.value, -11);
	assert_int_equal(give(f, "exit_syscall", fields), 1); /* LTTng before 2.6 */
	assert_int_equal(f->events[0].kind, KERNEL_SYSCALL_OUT);
	assert_int_equal(f->events[0].call.number, SYSCALL_UNKNOWN);
	assert_int_equal(give(f, "sys_open", fields), 1);
	assert_int_equal(f->events[0].kind, KERNEL_SYSCALL_IN);
	assert_int_equal(f->events[0].call.number, 2);
	assert_int_equal(give(f, "syscall_entry_future_call", fields), 1);
	assert_int_equal(f->events[0].call.number, SYSCALL_UNKNOWN);
	assert_string_equal(texts_get(f->names.texts, f->events[0].call.name), "future_call");
}

static void
a_packet_has_the_same_number_on_both_sides(void **state)
{
	struct fixture *f = *state;
	struct said fields[] = { { "seq", 1000 }, { "ack_seq", 2000 }, { "flags", 0x18 },
		{ "source_port", 80 }, { "dest_port", 5000 }, { NULL } };
	uint64_t id;

	assert_int_equal(give(f, "net_dev_queue", fields), 1);
	assert_int_equal(f->events[0].kind, KERNEL_PACKET_OUT);
	id = f->events[0].packet.id;
	fields[2].number = 0xd8; /* a router has set bits of congestion control */
	assert_int_equal(give(f, "net_if_receive_skb", fields), 1);
	assert_int_equal(f->events[0].kind, KERNEL_PACKET_IN);
	assert_int_equal(f->events[0].packet.id, id);
	fields[0].number++;
	assert_int_equal(give(f, "net_if_receive_skb", fields), 1);
	assert_int_not_equal(f->events[0].packet.id, id);
	fields[0].name = "length"; /* no TCP */
	assert_int_equal(give(f, "net_if_receive_skb", fields), 0);
	assert_int_equal(f->counts.odd[ODDITY_FIELDS].count, 0);
}

/* Recordings that were made before it was recorded lack it. */
static void
a_message_has_its_network_namespace_if_that_is_recorded(void **state)
{
	struct fixture *f = *state;
	const struct said with[] = { { "here", 0, "127.0.0.1:80" }, { "there", 0, "127.0.0.1:9" },
		{ "bytes", 5, NULL }, { "text", 0, "" }, { "net", 0xf0000098, NULL }, { 0 } },
			  without[] = { with[0], with[1], with[2], with[3], { 0 } };

	assert_int_equal(give(f, "hone_send", with), 1);
	assert_int_equal(
	    kernel_connection(&f->names, f->events[0].message.connection).net, 0xf0000098);
	assert_int_equal(give(f, "hone_receive", without), 1);
	assert_int_equal(kernel_connection(&f->names, f->events[0].message.connection).net, 0);
}

static void
what_lacks_a_field_gives_nothing_and_is_counted(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(
	    give(f, "sched_switch", (struct said[]){ { "prev_tid", 5 }, { NULL } }), 0);
	assert_int_equal(give(f, "sched_waking", (struct said[]){ { "tid", -1 }, { NULL } }), 0);
	assert_int_equal(give(f, "irq_softirq_entry", (struct said[]){ { NULL } }), 0);
	assert_int_equal(f->counts.odd[ODDITY_FIELDS].count, 3);
	assert_int_equal(f->counts.used, 0);
}

static void
texts_over_the_bound_are_others(void **state)
{
	struct fixture *f = *state;

	f->texts_left = 200;
	for (int i = 0; i < 5; i++) {
		char name[16] = { 'n', (char)('0' + i) };

		give(f, "task_rename",
		    (struct said[]){ { "tid", 5 }, { "newcomm", 0, name }, { NULL } });
	}
	assert_string_equal(texts_get(f->names.texts, f->events[0].thread.name), "(other)");
	assert_true(f->counts.odd[ODDITY_BOUND].count >= 2);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(states_of_all_kernels, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
		    a_fork_of_lttng_says_the_process, set_up, tear_down),
		cmocka_unit_test_setup_teardown(futex_for_a_lock_is_marked, set_up, tear_down),
		cmocka_unit_test_setup_teardown(system_calls_of_all_tracers, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
		    a_packet_has_the_same_number_on_both_sides, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
		    a_message_has_its_network_namespace_if_that_is_recorded, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
		    what_lacks_a_field_gives_nothing_and_is_counted, set_up, tear_down),
		cmocka_unit_test_setup_teardown(texts_over_the_bound_are_others, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
