/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Hone's own recording: what is read is what was written. */
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
		cmocka_unit_test(a_folder_with_files_is_left_alone),
		cmocka_unit_test(an_event_that_goes_back_is_refused),
		cmocka_unit_test(a_full_disk_is_told_and_whole_packets_stay),
		cmocka_unit_test(what_was_flushed_can_be_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
