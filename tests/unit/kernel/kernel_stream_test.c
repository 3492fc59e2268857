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
#include "kernel/kernel_stream.h"

enum { EVENTS = 4000 };

/* What a taker has seen, with names resolved. */
struct taken {
	const struct kernel_names *from; /* the writer's names */
	struct kernel_names *to;         /* the reader's */
	const struct kernel_event *expected;
	uint32_t n, news;
	struct kernel_news last;
	char text[64];
	int fail_at; /* take fails at this event; 0: never */
};

static uint32_t *
name_of(struct kernel_event *ev)
{
	switch ((enum kernel_event_kind)ev->kind) {
	case KERNEL_NAME:
		return &ev->thread.name;
	case KERNEL_CONTEXT_IN:
	case KERNEL_CONTEXT_OUT:
		return &ev->context.name;
	case KERNEL_SYSCALL_IN:
	case KERNEL_SYSCALL_OUT:
		return &ev->call.name;
	case KERNEL_SEND:
	case KERNEL_RECEIVE:
		return &ev->message.text;
	case KERNEL_COUNTED:
		return &ev->counted.name;
	case KERNEL_STACK:
		return &ev->stack.folded;
	default:
		return NULL;
	}
}

static int
see(void *of, const struct kernel_event *ev, struct err *e)
{
	struct taken *t = of;
	struct kernel_event got = *ev, want = t->expected[t->n];
	uint32_t *got_name = name_of(&got), *want_name = name_of(&want);

	if (want_name != NULL) {
		assert_string_equal(
		    texts_get(t->to->texts, *got_name), texts_get(t->from->texts, *want_name));
		*got_name = *want_name = 0;
	}
	if (want.kind == KERNEL_SEND || want.kind == KERNEL_RECEIVE) {
		struct kernel_connection a = kernel_connection(t->to, got.message.connection),
					 b = kernel_connection(t->from, want.message.connection);

		assert_memory_equal(&a, &b, sizeof a);
		got.message.connection = want.message.connection = 0;
	}
	assert_string_equal(
	    texts_get(t->to->hosts, got.host), texts_get(t->from->hosts, want.host));
	got.host = want.host = 0;
	assert_memory_equal(&got, &want, sizeof got);
	t->n++;
	if ((int)t->n == t->fail_at)
		return err_set(e, ERR_FULL, "no more");
	return 0;
}

static int
hear(void *of, const struct kernel_news *n, struct err *e)
{
	struct taken *t = of;

	(void)e;
	t->news++;
	t->last = *n;
	snprintf(t->text, sizeof t->text, "%s", n->text);
	return 0;
}

static uint32_t
some_text(struct kernel_names *names, struct rng *r)
{
	char s[32];
	int n = snprintf(s, sizeof s, "name %u", (unsigned)rng_below(r, 50));

	return rng_below(r, 3) == 0 ? 0 : texts_intern(names->texts, s, (size_t)n);
}

static uint64_t
some_number(struct rng *r)
{
	return rng_next(r) >> rng_below(r, 64);
}

/* Of any kind; members that its kind does not have are 0. */
static struct kernel_event
some_event(struct kernel_names *names, struct rng *r, int64_t time_ns)
{
	struct kernel_connection c = { .here = { .port = (uint16_t)rng_below(r, 20) },
		.there = { .address = { [15] = (uint8_t)rng_below(r, 3) }, .port = 80 },
		.net = (uint32_t)(rng_below(r, 2) == 0 ? 0 : some_number(r)) };
	struct kernel_event ev;

	memset(&ev, 0, sizeof ev);
	ev.time_ns = time_ns;
	ev.kind = (uint8_t)rng_below(r, KERNEL_KINDS);
	ev.cpu = (uint16_t)(rng_below(r, 100) == 0 ? UINT16_MAX : rng_below(r, 4));
	ev.host = (uint16_t)(rng_below(r, 10) == 0);
	ev.tid = (uint32_t)rng_below(r, 3);
	ev.pid = (uint32_t)(rng_below(r, 4) == 0 ? some_number(r) : 1);
	switch ((enum kernel_event_kind)ev.kind) {
	case KERNEL_SWITCH:
		ev.flags = (uint8_t)rng_below(r, 32);
		ev.change.next_tid = (uint32_t)rng_below(r, 3);
		ev.change.next_pid = (uint32_t)rng_below(r, 2);
		ev.change.syscall = (int32_t)rng_below(r, 400) - 2;
		if ((ev.flags & SWITCH_LOCK) != 0) {
			ev.change.owner = (uint32_t)some_number(r);
			ev.change.lock = some_number(r);
		}
		break;
	case KERNEL_WAKING:
		ev.waking.tid = (uint32_t)some_number(r);
		ev.waking.pid = (uint32_t)some_number(r);
		ev.waking.by = (uint8_t)rng_below(r, WAKE_INTERRUPT + 1);
		ev.waking.is_new = rng_below(r, 2) == 0;
		ev.waking.vector = (uint16_t)(rng_below(r, 2) == 0 ? KERNEL_VECTOR_NONE
								   : rng_below(r, 300));
		break;
	case KERNEL_FORK:
		ev.child.tid = (uint32_t)some_number(r);
		ev.child.pid = (uint32_t)some_number(r);
		break;
	case KERNEL_NAME:
		ev.thread.name = some_text(names, r);
		ev.thread.asleep = rng_below(r, 2) == 0;
		break;
	case KERNEL_CONTEXT_IN:
	case KERNEL_CONTEXT_OUT:
		ev.context.kind = (uint8_t)rng_below(r, CONTEXT_RECEPTION + 1);
		ev.context.vector = (uint16_t)some_number(r);
		ev.context.name = some_text(names, r);
		break;
	case KERNEL_SYSCALL_IN:
	case KERNEL_SYSCALL_OUT:
		ev.call.number = (int32_t)rng_below(r, 400) - 2;
		ev.call.name = some_text(names, r);
		ev.call.value = (int64_t)some_number(r) * (rng_below(r, 2) == 0 ? 1 : -1);
		if (ev.kind == KERNEL_SYSCALL_IN && rng_below(r, 3) == 0) {
			ev.flags = SWITCH_LOCK;
			ev.call.lock = some_number(r);
		}
		break;
	case KERNEL_SEND:
	case KERNEL_RECEIVE:
		ev.message.connection = kernel_connection_intern(names, &c);
		ev.message.bytes = (uint32_t)some_number(r);
		ev.message.text = some_text(names, r);
		break;
	case KERNEL_PACKET_OUT:
	case KERNEL_PACKET_IN:
		ev.packet.id = some_number(r);
		break;
	case KERNEL_UNIT:
		ev.unit.id = some_number(r);
		break;
	case KERNEL_COUNTED:
		ev.counted.name = some_text(names, r);
		ev.counted.value = (uint32_t)some_number(r);
		break;
	case KERNEL_STACK:
		ev.stack.folded = some_text(names, r);
		break;
	case KERNEL_LOST:
		ev.lost.count = some_number(r);
		ev.lost.from_ns = time_ns - (int64_t)rng_below(r, 1000000);
		break;
	default:
		break;
	}
	return ev;
}

static struct kernel_names
new_names(bool hosts)
{
	struct kernel_names n;

	assert_int_equal(kernel_names_new(&n, NULL), 0);
	if (hosts) {
		texts_intern(n.hosts, "alpha", 5);
		texts_intern(n.hosts, "beta", 4);
	}
	return n;
}

static void
write_some(struct kernel_names *names, struct rng *r, struct kernel_event *list, struct buf *out)
{
	struct kernel_writer *w = kernel_writer_new(names);
	int64_t time_ns = 1000000000;

	for (int i = 0; i < EVENTS; i++) {
		list[i] = some_event(names, r, time_ns += (int64_t)rng_below(r, 5000));
		kernel_writer_event(w, &list[i], out);
		if (i % 1000 == 999)
			kernel_writer_forget(w, out);
	}
	kernel_writer_news(
	    w, &(struct kernel_news){ KERNEL_END, ERR_FULL, "all told", 12345, 6, 7 }, out);
	kernel_writer_flush(w, out);
	assert_false(out->failed);
	kernel_writer_free(w);
}

/* Whatever pieces it comes in. */
static void
what_is_read_is_what_was_written(void **state)
{
	static struct kernel_event list[EVENTS];
	(void)state;

	for (uint64_t seed = 1; seed <= 10; seed++) {
		struct kernel_names from = new_names(true), to = new_names(false);
		struct taken t = { .from = &from, .to = &to, .expected = list };
		struct kernel_reader_options o = { &to, false, see, hear, &t };
		struct kernel_reader *r = kernel_reader_new(&o);
		struct buf out = { 0 };
		struct rng random;
		struct err e;

		rng_seed(&random, seed);
		write_some(&from, &random, list, &out);
		assert_true(kernel_stream_begins(out.data, out.len));
		assert_true(kernel_reader_is_cut(r));
		for (size_t at = 0, n; at < out.len; at += n) {
			n = seed == 1 ? 1 : 1 + rng_below(&random, 1 << (2 * seed));
			if (n > out.len - at)
				n = out.len - at;
			assert_int_equal(kernel_reader_feed(r, out.data + at, n, &e), 0);
		}
		assert_false(kernel_reader_is_cut(r));
		assert_int_equal(t.n, EVENTS);
		assert_int_equal(t.news, 1);
		assert_int_equal(t.last.kind, KERNEL_END);
		assert_int_equal(t.last.code, ERR_FULL);
		assert_int_equal(t.last.cpu_us, 12345);
		assert_int_equal(t.last.late, 6);
		assert_int_equal(t.last.missed, 7);
		assert_string_equal(t.text, "all told");
		assert_true(out.len < EVENTS * 30);
		kernel_reader_free(r);
		buf_release(&out);
		kernel_names_release(&from);
		kernel_names_release(&to);
	}
}

/* A byte that is wrong is found by the sum of its chunk; an end that is missing by what is open. */
static void
damage_is_told(void **state)
{
	static struct kernel_event list[EVENTS];
	struct kernel_names from = new_names(true);
	struct buf out = { 0 };
	struct rng random;
	(void)state;

	rng_seed(&random, 3);
	write_some(&from, &random, list, &out);
	for (int i = 0; i < 300; i++) {
		struct kernel_names to = new_names(false);
		struct taken t = { .from = &from, .to = &to, .expected = list };
		struct kernel_reader_options o = { &to, false, see, hear, &t };
		struct kernel_reader *r = kernel_reader_new(&o);
		size_t at = i < 20 ? (size_t)i : rng_below(&random, out.len);
		uint8_t was = out.data[at];
		struct err e;
		int rc;

		out.data[at] ^= (uint8_t)(1 + rng_below(&random, 255));
		rc = kernel_reader_feed(r, out.data, out.len, &e);
		/* a length may be longer than what there is */
		assert_true(
		    rc == ERR_INPUT || rc == ERR_VERSION || (rc == 0 && kernel_reader_is_cut(r)));
		out.data[at] = was;
		kernel_reader_free(r);
		kernel_names_release(&to);
	}
	buf_release(&out);
	kernel_names_release(&from);
}

static void
an_error_of_the_taker_ends_the_reading(void **state)
{
	static struct kernel_event list[EVENTS];
	struct kernel_names from = new_names(true), to = new_names(false);
	struct taken t = { .from = &from, .to = &to, .expected = list, .fail_at = 17 };
	struct kernel_reader_options o = { &to, false, see, hear, &t };
	struct kernel_reader *r = kernel_reader_new(&o);
	struct buf out = { 0 };
	struct rng random;
	struct err e;
	(void)state;

	rng_seed(&random, 4);
	write_some(&from, &random, list, &out);
	assert_int_equal(kernel_reader_feed(r, out.data, out.len, &e), ERR_FULL);
	assert_int_equal(t.n, 17);
	kernel_reader_free(r);
	buf_release(&out);
	kernel_names_release(&from);
	kernel_names_release(&to);
}

/* A source that runs for a long time forgets its names: the reader's may be made new, and keep their memory in bounds. */
static void
names_may_be_made_new(void **state)
{
	struct kernel_names from = new_names(true), to = new_names(false);
	struct kernel_event one = { .kind = KERNEL_NAME };
	struct taken t = { .from = &from, .to = &to, .expected = &one };
	struct kernel_reader_options o = { &to, true, see, hear, &t };
	struct kernel_reader *r = kernel_reader_new(&o);
	struct kernel_writer *w = kernel_writer_new(&from);
	struct buf out = { 0 };
	(void)state;

	for (int i = 0; i < 100; i++) {
		char s[16];
		int n = snprintf(s, sizeof s, "t%d", i);

		one.thread.name = texts_intern(from.texts, s, (size_t)n);
		kernel_writer_event(w, &one, &out);
		kernel_writer_forget(w, &out);
		kernel_names_release(&from);
		from = new_names(true);
		one.thread.name = texts_intern(from.texts, s, (size_t)n); /* for the comparison */
		kernel_writer_flush(w, &out);
		t.n = 0;
		assert_int_equal(kernel_reader_feed(r, out.data, out.len, NULL), 0);
		assert_int_equal(t.n, 1);
		assert_true(texts_count(to.texts) <= 2);
		buf_reset(&out);
	}
	kernel_writer_free(w);
	kernel_reader_free(r);
	buf_release(&out);
	kernel_names_release(&from);
	kernel_names_release(&to);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_read_is_what_was_written),
		cmocka_unit_test(damage_is_told),
		cmocka_unit_test(an_error_of_the_taker_ends_the_reading),
		cmocka_unit_test(names_may_be_made_new),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
