/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Hone's own recording: what is read is what was written. */
#define _GNU_SOURCE
#include <sys/resource.h>
#include <signal.h>

#include "base/rng.h"
#include "kernel/files/ctf_writer.h"
#include "tests/unit/kernel/files/kit.h"

/* ---- random streams of all kinds -------------------------------------------- */

static uint32_t
some_text(struct kernel_names *n, struct rng *r, uint32_t most)
{
	char text[2000];
	uint32_t len = (uint32_t)rng_below(r, most);

	for (uint32_t i = 0; i < len; i++)
		text[i] = (char)(rng_below(r, 8) == 0 ? 1 + rng_below(r, 255)
						      : 'a' + rng_below(r, 26));
	return texts_intern(n->texts, text, len);
}

static struct kernel_end
some_end(struct rng *r)
{
	struct kernel_end ret = { .address = { [10] = 0xff, [11] = 0xff },
		.port = (uint16_t)rng_next(r) };

	for (int i = rng_below(r, 2) == 0 ? 0 : 12; i < 16; i++)
		ret.address[i] = (uint8_t)(rng_below(r, 3) == 0 ? 0 : rng_next(r));
	return ret;
}

static uint32_t
some_connection(struct kernel_names *n, struct rng *r)
{
	struct kernel_connection c = { some_end(r), some_end(r), (uint32_t)rng_next(r) };

	return kernel_connection_intern(n, &c);
}

static uint32_t
some_number(struct rng *r)
{
	return rng_below(r, 4) == 0 ? (uint32_t)rng_next(r) : (uint32_t)rng_below(r, 50);
}

static struct kernel_event
some_event(struct kernel_names *n, struct rng *r, int64_t time_ns)
{
	struct kernel_event ev = { .time_ns = time_ns,
		.tid = some_number(r),
		.pid = some_number(r),
		.cpu = (uint16_t)rng_below(r, 5),
		.host = (uint16_t)rng_below(r, 3),
		.kind = (uint8_t)rng_below(r, KERNEL_KINDS) };

	switch (ev.kind) {
	case KERNEL_SWITCH:
		ev.flags = (uint8_t)rng_below(r, 32);
		ev.change.next_tid = some_number(r);
		ev.change.next_pid = some_number(r);
		ev.change.syscall = (int32_t)rng_below(r, 500) - 2;
		ev.change.owner = some_number(r);
		ev.change.lock = rng_next(r);
		break;
	case KERNEL_WAKING:
		ev.waking.tid = some_number(r);
		ev.waking.pid = some_number(r);
		ev.waking.by = (uint8_t)rng_below(r, WAKE_INTERRUPT + 1);
		ev.waking.is_new = rng_below(r, 2);
		ev.waking.vector = (uint16_t)rng_next(r);
		break;
	case KERNEL_FORK:
		ev.child.tid = some_number(r);
		ev.child.pid = some_number(r);
		break;
	case KERNEL_NAME:
		ev.thread.name = some_text(n, r, 16);
		ev.thread.asleep = rng_below(r, 2);
		break;
	case KERNEL_CONTEXT_IN:
	case KERNEL_CONTEXT_OUT:
		ev.context.kind = (uint8_t)rng_below(r, CONTEXT_RECEPTION + 1);
		ev.context.vector = (uint16_t)rng_next(r);
		ev.context.name = some_text(n, r, 20);
		break;
	case KERNEL_SYSCALL_IN:
		ev.flags = rng_below(r, 2) ? SWITCH_LOCK : 0;
		ev.call.lock = ev.flags ? rng_next(r) : 0;
		/* fall through */
	case KERNEL_SYSCALL_OUT:
		ev.call.number = (int32_t)rng_below(r, 500) - 2;
		if (rng_below(r, 4) == 0)
			ev.call.name = some_text(n, r, 30);
		if (rng_below(r, 4) == 0)
			ev.call.name = texts_intern(n->texts, "old_call", 8);
		ev.call.value = (int64_t)rng_next(r);
		break;
	case KERNEL_SEND:
	case KERNEL_RECEIVE:
		ev.message.connection = some_connection(n, r);
		ev.message.bytes = (uint32_t)rng_next(r);
		ev.message.text = some_text(n, r, 60);
		break;
	case KERNEL_PACKET_OUT:
	case KERNEL_PACKET_IN:
		ev.packet.id = rng_next(r);
		break;
	case KERNEL_UNIT:
		ev.unit.id = rng_next(r);
		break;
	case KERNEL_COUNTED:
		ev.counted.name = some_text(n, r, 30);
		ev.counted.value = (uint32_t)rng_next(r);
		break;
	case KERNEL_STACK:
		ev.stack.folded = some_text(n, r, 1023);
		break;
	case KERNEL_LOST:
		if (rng_below(r, 2))
			ev.cpu = KERNEL_CPU_ALL;
		ev.lost.count = rng_below(r, 3) ? rng_below(r, 1000) : 0;
		ev.lost.from_ns = time_ns - (int64_t)rng_below(r, 1000);
		break;
	}
	return ev;
}

/* ---- are they equal, also what their numbers stand for? ---------------------- */

static void
same_text(const struct kernel_names *a, uint32_t *x, const struct kernel_names *b, uint32_t *y)
{
	assert_string_equal(texts_get(a->texts, *x), texts_get(b->texts, *y));
	*x = *y = 0;
}

static void
same(const struct kernel_names *a, struct kernel_event x, const struct kernel_names *b,
    struct kernel_event y)
{
	struct kernel_connection c, d;

	assert_int_equal(x.kind, y.kind);
	assert_string_equal(texts_get(a->hosts, x.host), texts_get(b->hosts, y.host));
	x.host = y.host = 0;
	switch (x.kind) {
	case KERNEL_NAME:
		same_text(a, &x.thread.name, b, &y.thread.name);
		break;
	case KERNEL_CONTEXT_IN:
	case KERNEL_CONTEXT_OUT:
		same_text(a, &x.context.name, b, &y.context.name);
		break;
	case KERNEL_SYSCALL_IN:
	case KERNEL_SYSCALL_OUT:
		same_text(a, &x.call.name, b, &y.call.name);
		break;
	case KERNEL_SEND:
	case KERNEL_RECEIVE:
		same_text(a, &x.message.text, b, &y.message.text);
		c = kernel_connection(a, x.message.connection);
		d = kernel_connection(b, y.message.connection);
		assert_memory_equal(c.here.address, d.here.address, 16);
		assert_memory_equal(c.there.address, d.there.address, 16);
		assert_int_equal(c.here.port, d.here.port);
		assert_int_equal(c.there.port, d.there.port);
		assert_int_equal(c.net, d.net);
		x.message.connection = y.message.connection = 0;
		break;
	case KERNEL_COUNTED:
		same_text(a, &x.counted.name, b, &y.counted.name);
		break;
	case KERNEL_STACK:
		same_text(a, &x.stack.folded, b, &y.stack.folded);
		break;
	}
	assert_memory_equal(&x, &y, sizeof x);
}

static void
hosts_named(struct kernel_names *n)
{
	assert_int_equal(texts_intern(n->hosts, "front", 5), 0);
	assert_int_equal(texts_intern(n->hosts, "data/base 1", 11), 1);
	assert_int_equal(texts_intern(n->hosts, "data base 1", 11), 2);
}

static void
random_streams_come_back_bit_for_bit(void **state)
{
	enum { EVENTS = 20000 };
	struct kernel_event *all = calloc(EVENTS, sizeof *all);
	struct err e;

	(void)state;
	assert_non_null(all);
	for (uint64_t seed = 1; seed <= 6; seed++) {
		struct kernel_files_options o = { .raw_times = seed % 2 };
		struct kernel_ctf_options writing = {
			.wall_offset_ns = seed % 2 ? 1457111225177515989 : 0
		};
		struct rng r;
		struct kernel_ctf_writer *w;
		struct kernel_names n;
		int64_t time_ns = 0;
		char folder[64];
		struct kit k;

		rng_seed(&r, seed);
		kit_folder(folder);
		assert_int_equal(kernel_names_new(&n, &e), 0);
		hosts_named(&n);
		assert_int_equal(kernel_ctf_open(&w, folder, &n, &writing, &e), 0);
		for (int i = 0; i < EVENTS; i++) {
			time_ns += rng_below(&r, 2) ? 0 : (int64_t)rng_below(&r, 1000000);
			all[i] = some_event(&n, &r, time_ns);
			assert_int_equal(kernel_ctf_take(w, &all[i], &e), 0);
		}
		assert_int_equal(kernel_ctf_close(w, &e), 0);
		assert_true(kernel_files_is(folder));
		assert_int_equal(kit_read_with(&k, (char *[]){ folder }, 1, &o), 0);
		for (int i = 0; i < KERNEL_ODDITIES; i++)
			if (i != ODDITY_LOST && i != ODDITY_NO_PROCESS &&
			    k.counts.odd[i].count != 0)
				fail_msg("%s: %s", kernel_oddity_word(i), k.counts.odd[i].why);
		assert_int_equal(k.nevents, EVENTS);
		assert_int_equal(k.counts.wall_offset_ns, writing.wall_offset_ns);
		for (int i = 0; i < EVENTS; i++)
			same(&n, all[i], &k.names, k.events[i]);
		kit_release(&k);
		kernel_names_release(&n);
		kit_remove(folder);
	}
	free(all);
}

/* ---- what Trace Compass looks for ---------------------------------------------- */

/*
 * Events and fields that Trace Compass' kernel analyses and execution graph read of traces of LTTng, with the types that lttng-modules 2.13
 * gives them (include/instrumentation/events; a pid_t may lack its sign, since Trace Compass takes any integer). Sources, of the repository
 * eclipse-tracecompass: LttngKernelTrace (environment), Lttng26EventLayout to Lttng29EventLayout (names), TraceEventHandlerSched,
 * TraceEventHandlerStatedump and TraceEventHandlerExecutionGraph, StateDumpHandler, IrqEntryHandler, IPIEntryHandler, SoftIrqEntryHandler,
 * CtfTmfContext ("context._tid").
 */
static const struct {
	const char *event, *fields; /* "type name; type name" */
} looked_for[] = {
	{ "sched_switch",
	    "comm prev_comm[16]; 32 prev_tid; 32 prev_prio; 64 prev_state; comm next_comm[16]; 32 next_tid; 32 next_prio" },
	{ "sched_waking", "comm comm[16]; 32 tid; 32 prio; 32 target_cpu" },
	{ "sched_wakeup_new", "comm comm[16]; 32 tid; 32 prio; 32 target_cpu" },
	{ "sched_process_fork",
	    "comm parent_comm[16]; 32 parent_tid; 32 parent_pid; comm child_comm[16]; 32 child_tid; 32 child_pid" },
	{ "sched_process_exit", "comm comm[16]; 32 tid; 32 prio" },
	{ "lttng_statedump_process_state",
	    "32 tid; 32 pid; 32 ppid; string name; 32 type; 32 mode; 32 submode; 32 status" },
	{ "irq_handler_entry", "32 irq; string name" },
	{ "irq_handler_exit", "32 irq; 32 ret" },
	{ "irq_softirq_entry", "32 vec" },
	{ "irq_softirq_exit", "32 vec" },
	{ "timer_hrtimer_expire_entry", "64 hrtimer" },
	{ "timer_hrtimer_expire_exit", "64 hrtimer" },
	{ "x86_irq_vectors_call_function_entry", "32 vector" },
	{ "x86_irq_vectors_call_function_exit", "32 vector" },
	{ "block_rq_complete", "32 dev; 64 sector; 32 nr_sector; 32 error; 32 rwbs" },
	{ "syscall_entry_read", "" },
	{ "syscall_exit_read", "64 ret" },
};

/* The metadata of a recording of one read(), to be freed. */
static char *
metadata_of_read(void)
{
	struct kernel_event ev = { .time_ns = 1, .tid = 7, .pid = 7, .kind = KERNEL_SYSCALL_IN };
	struct kernel_ctf_writer *w;
	struct kernel_names n;
	char folder[64], path[96], *text = calloc(1, 65536);
	struct err e;
	FILE *f;

	assert_non_null(text);
	kit_folder(folder);
	assert_int_equal(kernel_names_new(&n, &e), 0);
	hosts_named(&n);
	assert_int_equal(kernel_ctf_open(&w, folder, &n, NULL, &e), 0);
	ev.call.number = kernel_syscall_number("read");
	assert_int_equal(kernel_ctf_take(w, &ev, &e), 0);
	assert_int_equal(kernel_ctf_close(w, &e), 0);
	snprintf(path, sizeof path, "%s/front/metadata", folder);
	assert_non_null(f = fopen(path, "r"));
	assert_true(fread(text, 1, 65535, f) > 0);
	fclose(f);
	kernel_names_release(&n);
	kit_remove(folder);
	return text;
}

/* What stands between the braces of the event's fields, to be freed. */
static char *
fields_of(const char *metadata, const char *event)
{
	char name[96];
	const char *at, *end;

	snprintf(name, sizeof name, "name = \"%s\";", event);
	if ((at = strstr(metadata, name)) == NULL || (at = strstr(at, "struct {")) == NULL)
		fail_msg("there is no event %s", event);
	assert_non_null(end = strchr(at += 8, '}'));
	return strndup(at, (size_t)(end - at));
}

/* wanted: "32 tid". Fields in the metadata have an underscore in front, as LTTng's have, so that no name is a word of the language. */
static void
has_field(const char *event, const char *fields, const char *wanted)
{
	char type[16], name[40], either[3][80];
	bool found = false;

	assert_int_equal(sscanf(wanted, " %15s %39s", type, name), 2);
	snprintf(either[0], sizeof either[0], " int%s_t _%s;", type, name);
	snprintf(either[1], sizeof either[1], " uint%s_t _%s;", type, name);
	snprintf(either[2], sizeof either[2], " %s _%s;", type, name);
	for (int i = 0; i < 3; i++)
		found = found || strstr(fields, either[i]) != NULL;
	if (!found)
		fail_msg("%s has no field '%s', but {%s}", event, wanted, fields);
}

static void
trace_compass_finds_the_events_and_fields_that_it_looks_for(void **state)
{
	static const char *const texts[] = { "/* CTF 1.8 */", "domain = \"kernel\";",
		"tracer_name = \"lttng-modules\";", "tracer_major = 2;", "tracer_minor = 13;",
		"uint32_t cpu_id;", "timestamp_begin;", "timestamp_end;", "uint64_t content_size;",
		"uint64_t packet_size;", "uint64_t events_discarded;", "uint32_t _tid;",
		"encoding = UTF8; base = 10; } := comm;" };
	char *metadata = metadata_of_read(), *fields, *all, *rest, *one;

	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		if (strstr(metadata, texts[i]) == NULL)
			fail_msg("the metadata lacks %s", texts[i]);
	for (size_t i = 0; i < sizeof looked_for / sizeof *looked_for; i++) {
		fields = fields_of(metadata, looked_for[i].event);
		assert_non_null(rest = all = strdup(looked_for[i].fields));
		while (all[0] != '\0' && (one = strsep(&rest, ";")) != NULL)
			has_field(looked_for[i].event, fields, one);
		free(all);
		free(fields);
	}
	free(metadata);
}

/* Trace Compass takes the status of lttng_statedump_process_state for that of the thread from now on: 0 in the middle of a recording would make an
 * unknown state of its running and its waiting. Threads are named when they are made, and by execve(). */
static void
a_name_has_the_status_of_its_thread(void **state)
{
	const struct {
		struct kernel_event ev;
		const char *status; /* of the dump of thread 9 that follows */
	} steps[] = {
		{ { .kind = KERNEL_FORK, .tid = 2, .child = { 9, 9 } }, "status = 1," },
		{ { .kind = KERNEL_WAKING, .tid = 2, .waking = { .tid = 9, .is_new = 1 } },
		    "status = 2," },
		{ { .kind = KERNEL_SWITCH, .tid = 2, .change = { .next_tid = 9 } }, "status = 6," },
		{ { .kind = KERNEL_WAKING, .tid = 9, .waking = { .tid = 9 } }, "status = 6," },
		{ { .kind = KERNEL_SWITCH, .tid = 9, .flags = SWITCH_ASLEEP }, "status = 5," },
		{ { .kind = KERNEL_WAKING, .tid = 3, .waking = { .tid = 9 } }, "status = 2," },
		{ { .kind = KERNEL_LOST, .lost = { .count = 1 } }, "status = 0," },
		{ { .kind = KERNEL_SWITCH, .tid = 2, .change = { .next_tid = 9 } }, "status = 6," },
		{ { .kind = KERNEL_SWITCH, .tid = 9, .flags = SWITCH_ENDED }, "status = 7," },
	};
	enum { STEPS = sizeof steps / sizeof *steps };
	struct kernel_ctf_writer *w;
	struct kernel_names n;
	struct kit k;
	char folder[64], command[160], line[2000];
	struct err e;
	int found = 0;
	FILE *f;

	(void)state;
	kit_folder(folder);
	assert_int_equal(kernel_names_new(&n, &e), 0);
	assert_int_equal(kernel_ctf_open(&w, folder, &n, NULL, &e), 0);
	for (int i = 0; i < STEPS; i++) {
		struct kernel_event ev = steps[i].ev,
				    name = { .kind = KERNEL_NAME, .tid = 9, .pid = 9 };

		ev.time_ns = name.time_ns = 10 * i + 10;
		assert_int_equal(kernel_ctf_take(w, &ev, &e), 0);
		name.thread.name = texts_intern(n.texts, "nine", 4);
		assert_int_equal(kernel_ctf_take(w, &name, &e), 0);
	}
	assert_int_equal(kernel_ctf_close(w, &e), 0);
	assert_int_equal(kit_read(&k, folder), 0); /* what Hone reads has no part of it */
	for (uint32_t i = 0; i < k.nevents; i++)
		assert_true(k.events[i].kind != KERNEL_NAME || !k.events[i].thread.asleep);
	kit_release(&k);
	snprintf(command, sizeof command, "babeltrace2 %s 2>&1 | grep statedump", folder);
	assert_non_null(f = popen(command, "r"));
	for (; fgets(line, sizeof line, f) != NULL; found++)
		if (found >= STEPS || strstr(line, steps[found].status) == NULL)
			fail_msg("%d: %s is not in %s", found,
			    found < STEPS ? steps[found].status : "nothing", line);
	pclose(f);
	assert_int_equal(found, STEPS);
	kernel_names_release(&n);
	kit_remove(folder);
}

/* ---- what goes wrong --------------------------------------------------------- */

static struct kernel_event
stack(struct kernel_names *n, int64_t time_ns)
{
	struct kernel_event ev = { .time_ns = time_ns, .kind = KERNEL_STACK };

	ev.stack.folded = texts_intern(n->texts, "main;work;wait", 14);
	return ev;
}

static void
a_folder_with_files_is_left_alone(void **state)
{
	struct kernel_ctf_writer *w;
	struct kernel_names n;
	char folder[64], file[80];
	struct err e;

	(void)state;
	kit_folder(folder);
	snprintf(file, sizeof file, "%s/kept", folder);
	fclose(fopen(file, "w"));
	assert_int_equal(kernel_names_new(&n, &e), 0);
	assert_int_equal(kernel_ctf_open(&w, folder, &n, NULL, &e), ERR_BUSY);
	assert_null(w);
	assert_int_equal(access(file, F_OK), 0);
	assert_int_equal(kernel_ctf_open(&w, file, &n, NULL, &e), ERR_BUSY);
	assert_int_equal(kernel_ctf_open(&w, "/no/such/place", &n, NULL, &e), ERR_SYSTEM);
	kernel_names_release(&n);
	kit_remove(folder);
}

static void
an_event_that_goes_back_is_refused(void **state)
{
	struct kernel_ctf_writer *w;
	struct kernel_names n;
	char folder[64];
	struct err e;
	struct kit k;
	struct kernel_event ev;

	(void)state;
	kit_folder(folder);
	assert_int_equal(kernel_names_new(&n, &e), 0);
	assert_int_equal(kernel_ctf_open(&w, folder, &n, NULL, &e), 0);
	ev = stack(&n, 100);
	assert_int_equal(kernel_ctf_take(w, &ev, &e), 0);
	ev.time_ns = 99;
	assert_int_equal(kernel_ctf_take(w, &ev, &e), ERR_INPUT);
	ev.time_ns = 100;
	ev.kind = KERNEL_KINDS;
	assert_int_equal(kernel_ctf_take(w, &ev, &e), ERR_INPUT);
	ev.kind = KERNEL_CONTEXT_IN;
	ev.context.kind = 77;
	assert_int_equal(kernel_ctf_take(w, &ev, &e), ERR_INPUT);
	assert_int_equal(kernel_ctf_close(w, &e), 0);
	assert_int_equal(kit_read(&k, folder), 0); /* what was right is there */
	assert_int_equal(k.nevents, 1);
	kit_release(&k);
	kernel_names_release(&n);
	kit_remove(folder);
}

/* RLIMIT_FSIZE makes write() fail as a full disk does: after a part. */
static void
a_full_disk_is_told_and_whole_packets_stay(void **state)
{
	struct rlimit before, small;
	struct kernel_ctf_writer *w;
	struct kernel_names n;
	char folder[64];
	struct err e = { 0 };
	struct kit k;
	int rc = 0, taken = 0;

	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	small = before;
	small.rlim_cur = 100 << 10;
	kit_folder(folder);
	assert_int_equal(kernel_names_new(&n, &e), 0);
	assert_int_equal(kernel_ctf_open(&w, folder, &n, NULL, &e), 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	for (; rc == 0 && taken < 100000; taken++) {
		struct kernel_event ev = stack(&n, taken);

		rc = kernel_ctf_take(w, &ev, &e);
	}
	assert_int_equal(rc, ERR_FULL);
	assert_non_null(strstr(e.text, "kernel_0"));
	assert_int_equal(kernel_ctf_close(w, &e), ERR_FULL);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(kit_read(&k, folder), 0);
	assert_int_equal(k.counts.odd[ODDITY_TRUNCATED].count, 0);
	assert_true(k.nevents > 1000 && (int)k.nevents < taken);
	kit_release(&k);
	kernel_names_release(&n);
	kit_remove(folder);
}

static void
what_was_flushed_can_be_read(void **state)
{
	struct kernel_ctf_writer *w;
	struct kernel_names n;
	struct kernel_event ev;
	uint64_t events, bytes;
	char folder[64];
	struct err e;
	struct kit k;

	(void)state;
	kit_folder(folder);
	assert_int_equal(kernel_names_new(&n, &e), 0);
	assert_int_equal(kernel_ctf_open(&w, folder, &n, NULL, &e), 0);
	for (int i = 0; i < 10; i++) {
		ev = stack(&n, i);
		assert_int_equal(kernel_ctf_take(w, &ev, &e), 0);
	}
	assert_int_equal(kernel_ctf_flush(w, &e), 0);
	kernel_ctf_written(w, &events, &bytes);
	assert_int_equal(events, 10);
	assert_int_equal(kit_read(&k, folder), 0);
	assert_int_equal(k.nevents, 10);
	kit_release(&k);
	assert_int_equal(kernel_ctf_close(w, &e), 0);
	kernel_names_release(&n);
	kit_remove(folder);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_streams_come_back_bit_for_bit),
		cmocka_unit_test(trace_compass_finds_the_events_and_fields_that_it_looks_for),
		cmocka_unit_test(a_name_has_the_status_of_its_thread),
		cmocka_unit_test(a_folder_with_files_is_left_alone),
		cmocka_unit_test(an_event_that_goes_back_is_refused),
		cmocka_unit_test(a_full_disk_is_told_and_whole_packets_stay),
		cmocka_unit_test(what_was_flushed_can_be_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
