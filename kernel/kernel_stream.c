/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernel/kernel_stream.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/crc32c.h"

static const char magic[7] = "HONEKEV";

enum {
	CPUS_MAX = 4096,
	BEGIN_BYTES = sizeof magic + 1,
	CHUNK_HEAD = 8,
	ITEM_MAX = KERNEL_TEXT_MAX + 64
};

enum tag {
	TAG_KIND = 31,
	TAG_CPU = 32,
	TAG_SAME = 64,
	TAG_FLAGS = 128,
	/* kinds that are no events */
	ITEM_TEXT = 24,
	ITEM_CONNECTION,
	ITEM_HOST_TEXT,
	ITEM_HOST, /* of the events from here on */
	ITEM_NEWS,
	ITEM_FORGET
};
_Static_assert((int)KERNEL_KINDS <= (int)ITEM_TEXT, "the tag tells events from other items");

struct cpu_running { /* what a CPU ran last, for both sides */
	uint32_t tid, pid;
};

struct stream_state { /* the same on both sides after each item */
	struct cpu_running *cpus;
	uint32_t ncpus, cpus_cap;
	struct cpu_running beyond; /* of all CPUs from CPUS_MAX on, and of "all" */
	int64_t time_ns;
	uint16_t cpu, host;
};

static struct cpu_running *
running_on(struct stream_state *s, uint16_t cpu)
{
	if (cpu >= CPUS_MAX)
		return &s->beyond;
	if (cpu >= s->ncpus) {
		if (!array_reserve(s->cpus, s->cpus_cap, (uint32_t)cpu + 1))
			return NULL;
		memset(s->cpus + s->ncpus, 0, (cpu + 1u - s->ncpus) * sizeof *s->cpus);
		s->ncpus = cpu + 1u;
	}
	return &s->cpus[cpu];
}

/* What the CPU runs after the event. A name is that of any thread. */
static void
note_running(struct cpu_running *r, const struct kernel_event *ev)
{
	if (ev->kind == KERNEL_SWITCH)
		*r = (struct cpu_running){ ev->change.next_tid, ev->change.next_pid };
	else if (ev->kind != KERNEL_NAME)
		*r = (struct cpu_running){ ev->tid, ev->pid };
}

/* ---- writing ---------------------------------------------------------------------- */

struct number_map { /* numbers of the writer's names; 0: not defined */
	uint32_t *of;
	uint32_t n, cap, defined;
};

struct kernel_writer {
	const struct kernel_names *names;
	struct stream_state state;
	struct number_map texts, connections, hosts;
	struct buf chunk;
	bool begun, has_host; /* has_host: the reader knows state.host */
};

struct kernel_writer *
kernel_writer_new(const struct kernel_names *names)
{
	struct kernel_writer *w = calloc(1, sizeof *w);

	if (w != NULL)
		w->names = names;
	return w;
}

void
kernel_writer_free(struct kernel_writer *w)
{
	if (w == NULL)
		return;
	free(w->state.cpus);
	free(w->texts.of);
	free(w->connections.of);
	free(w->hosts.of);
	buf_release(&w->chunk);
	free(w);
}

/* *is_new: it has to be defined now, and has the next number. 0: out of memory. */
static uint32_t
number_of(struct number_map *m, uint32_t name, bool *is_new)
{
	*is_new = false;
	if (name >= m->n) {
		if (!array_reserve(m->of, m->cap, name + 1))
			return 0;
		memset(m->of + m->n, 0, (name + 1 - m->n) * sizeof *m->of);
		m->n = name + 1;
	}
	if (m->of[name] == 0) {
		m->of[name] = ++m->defined;
		*is_new = true;
	}
	return m->of[name];
}

static void
put_definition(struct buf *b, enum tag tag, const char *bytes, size_t len)
{
	buf_u8(b, (uint8_t)tag);
	buf_text(b, bytes, len < KERNEL_TEXT_MAX ? len : KERNEL_TEXT_MAX);
}

/* Defines the text if it is new. Its number; 0: "". */
static uint32_t
define_text(struct kernel_writer *w, uint32_t text)
{
	const char *s = texts_get(w->names->texts, text);
	uint32_t number;
	bool is_new;

	if (s[0] == '\0')
		return 0;
	if ((number = number_of(&w->texts, text, &is_new)) == 0)
		w->chunk.failed = true;
	if (is_new)
		put_definition(&w->chunk, ITEM_TEXT, s, strlen(s));
	return number;
}

static void
put_end(struct buf *b, const struct kernel_end *end)
{
	buf_bytes(b, end->address, sizeof end->address);
	buf_uint(b, end->port);
}

static uint32_t
define_connection(struct kernel_writer *w, uint32_t connection)
{
	bool is_new;
	uint32_t number = number_of(&w->connections, connection, &is_new);

	if (number == 0)
		w->chunk.failed = true;
	if (is_new) {
		struct kernel_connection c = kernel_connection(w->names, connection);

		buf_u8(&w->chunk, ITEM_CONNECTION);
		put_end(&w->chunk, &c.here);
		put_end(&w->chunk, &c.there);
		buf_uint(&w->chunk, c.net);
	}
	return number;
}

/* The host of the events from here on. It need not have a name. */
static void
set_host(struct kernel_writer *w, uint16_t host)
{
	bool is_new;
	uint32_t number;

	if (w->has_host && host == w->state.host)
		return;
	w->state.host = host;
	w->has_host = true;
	if (host >= texts_count(w->names->hosts)) {
		buf_u8(&w->chunk, ITEM_HOST);
		buf_uint(&w->chunk, 0);
		return;
	}
	if ((number = number_of(&w->hosts, host, &is_new)) == 0)
		w->chunk.failed = true;
	if (is_new) {
		const char *s = texts_get(w->names->hosts, host);

		put_definition(&w->chunk, ITEM_HOST_TEXT, s, strlen(s));
	}
	buf_u8(&w->chunk, ITEM_HOST);
	buf_uint(&w->chunk, number);
}

/* The name that the event refers to; it is defined if it is new. */
static uint32_t
define_name(struct kernel_writer *w, const struct kernel_event *ev)
{
	switch ((enum kernel_event_kind)ev->kind) {
	case KERNEL_NAME:
		return define_text(w, ev->thread.name);
	case KERNEL_CONTEXT_IN:
	case KERNEL_CONTEXT_OUT:
		return define_text(w, ev->context.name);
	case KERNEL_SYSCALL_IN:
	case KERNEL_SYSCALL_OUT:
		return define_text(w, ev->call.name);
	case KERNEL_SEND:
	case KERNEL_RECEIVE:
		return define_text(w, ev->message.text);
	case KERNEL_COUNTED:
		return define_text(w, ev->counted.name);
	case KERNEL_STACK:
		return define_text(w, ev->stack.folded);
	default:
		return 0;
	}
}

static void
put_payload(struct buf *b, const struct kernel_event *ev, uint32_t name, uint32_t connection)
{
	switch ((enum kernel_event_kind)ev->kind) {
	case KERNEL_SWITCH:
		buf_uint(b, ev->change.next_tid);
		buf_uint(b, ev->change.next_pid);
		buf_int(b, ev->change.syscall);
		if ((ev->flags & SWITCH_LOCK) != 0) {
			buf_uint(b, ev->change.owner);
			buf_uint(b, ev->change.lock);
		}
		break;
	case KERNEL_WAKING:
		buf_uint(b, ev->waking.tid);
		buf_uint(b, ev->waking.pid);
		buf_u8(b, (uint8_t)(ev->waking.by << 1 | ev->waking.is_new));
		buf_uint(b, (uint16_t)(ev->waking.vector + 1u));
		break;
	case KERNEL_FORK:
		buf_uint(b, ev->child.tid);
		buf_uint(b, ev->child.pid);
		break;
	case KERNEL_NAME:
		buf_uint(b, name);
		buf_u8(b, ev->thread.asleep);
		break;
	case KERNEL_CONTEXT_IN:
	case KERNEL_CONTEXT_OUT:
		buf_u8(b, ev->context.kind);
		buf_uint(b, (uint16_t)(ev->context.vector + 1u));
		buf_uint(b, name);
		break;
	case KERNEL_SYSCALL_IN:
	case KERNEL_SYSCALL_OUT:
		buf_int(b, ev->call.number);
		buf_uint(b, name);
		buf_int(b, ev->call.value);
		if ((ev->flags & SWITCH_LOCK) != 0)
			buf_uint(b, ev->call.lock);
		break;
	case KERNEL_SEND:
	case KERNEL_RECEIVE:
		buf_uint(b, connection);
		buf_uint(b, ev->message.bytes);
		buf_uint(b, name);
		break;
	case KERNEL_PACKET_OUT:
	case KERNEL_PACKET_IN:
		buf_u64(b, ev->packet.id);
		break;
	case KERNEL_UNIT:
		buf_u64(b, ev->unit.id);
		break;
	case KERNEL_COUNTED:
		buf_uint(b, name);
		buf_uint(b, ev->counted.value);
		break;
	case KERNEL_STACK:
		buf_uint(b, name);
		break;
	case KERNEL_LOST:
		buf_uint(b, ev->lost.count);
		buf_int(b, ev->time_ns - ev->lost.from_ns);
		break;
	case KERNEL_EXIT:
	case KERNEL_BLOCK_DONE:
	case KERNEL_KINDS:
		break;
	}
}

void
kernel_writer_flush(struct kernel_writer *w, struct buf *out)
{
	if (!w->begun) {
		buf_bytes(out, magic, sizeof magic);
		buf_u8(out, KERNEL_STREAM_VERSION);
		w->begun = true;
	}
	if (w->chunk.len > 0) {
		buf_u32(out, (uint32_t)w->chunk.len);
		buf_u32(out, crc32c(0, w->chunk.data, w->chunk.len));
		buf_bytes(out, w->chunk.data, w->chunk.len);
	}
	out->failed |= w->chunk.failed;
	buf_reset(&w->chunk);
}

/* An event may be three items. */
static void
make_room(struct kernel_writer *w, struct buf *out)
{
	if (w->chunk.len + 3 * ITEM_MAX > KERNEL_CHUNK_MAX)
		kernel_writer_flush(w, out);
}

void
kernel_writer_event(struct kernel_writer *w, const struct kernel_event *ev, struct buf *out)
{
	struct cpu_running *r = running_on(&w->state, ev->cpu);
	struct buf *b = &w->chunk;
	uint32_t name, connection = 0;
	uint8_t tag = ev->kind;

	make_room(w, out);
	if (r == NULL || ev->kind >= KERNEL_KINDS) {
		b->failed |= r == NULL;
		return;
	}
	set_host(w, ev->host);
	name = define_name(w, ev);
	if (ev->kind == KERNEL_SEND || ev->kind == KERNEL_RECEIVE)
		connection = define_connection(w, ev->message.connection);
	if (ev->cpu != w->state.cpu)
		tag |= TAG_CPU;
	if (ev->tid == r->tid && ev->pid == r->pid)
		tag |= TAG_SAME;
	if (ev->flags != 0)
		tag |= TAG_FLAGS;
	buf_u8(b, tag);
	if ((tag & TAG_CPU) != 0)
		buf_uint(b, ev->cpu);
	buf_int(b, ev->time_ns - w->state.time_ns);
	if ((tag & TAG_SAME) == 0) {
		buf_uint(b, ev->tid);
		buf_uint(b, ev->pid);
	}
	if ((tag & TAG_FLAGS) != 0)
		buf_u8(b, ev->flags);
	put_payload(b, ev, name, connection);
	w->state.cpu = ev->cpu;
	w->state.time_ns = ev->time_ns;
	note_running(r, ev);
}

void
kernel_writer_news(struct kernel_writer *w, const struct kernel_news *n, struct buf *out)
{
	size_t len = strlen(n->text);

	make_room(w, out);
	buf_u8(&w->chunk, ITEM_NEWS);
	buf_u8(&w->chunk, (uint8_t)n->kind);
	buf_int(&w->chunk, n->code);
	buf_uint(&w->chunk, n->cpu_us);
	buf_uint(&w->chunk, n->late);
	buf_uint(&w->chunk, n->missed);
	buf_text(&w->chunk, n->text, len < KERNEL_TEXT_MAX ? len : KERNEL_TEXT_MAX);
}

void
kernel_writer_forget(struct kernel_writer *w, struct buf *out)
{
	struct number_map *all[] = { &w->texts, &w->connections, &w->hosts };

	make_room(w, out);
	buf_u8(&w->chunk, ITEM_FORGET);
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		all[i]->n = all[i]->defined = 0;
	w->has_host = false;
}

/* ---- reading ----------------------------------------------------------------------- */

struct name_list { /* by the writer's numbers, from 1 on, in the reader's */
	uint32_t *of;
	uint32_t n, cap;
};

struct kernel_reader {
	struct kernel_reader_options o;
	struct stream_state state;
	struct name_list texts, connections, hosts;
	struct buf kept; /* a part of the begin or of a chunk */
	char *text;      /* of news, terminated */
	bool begun;
};

struct kernel_reader *
kernel_reader_new(const struct kernel_reader_options *o)
{
	struct kernel_reader *r = calloc(1, sizeof *r);

	if (r == NULL || (r->text = malloc(KERNEL_TEXT_MAX + 1)) == NULL) {
		free(r);
		return NULL;
	}
	r->o = *o;
	return r;
}

void
kernel_reader_free(struct kernel_reader *r)
{
	if (r == NULL)
		return;
	free(r->state.cpus);
	free(r->texts.of);
	free(r->connections.of);
	free(r->hosts.of);
	buf_release(&r->kept);
	free(r->text);
	free(r);
}

static int
malformed(struct err *e)
{
	return err_set(e, ERR_INPUT, "the stream of kernel events is damaged");
}

static int
keep_name(struct name_list *l, uint32_t number, uint32_t max, struct err *e)
{
	if (number == UINT32_MAX)
		return err_set(e, ERR_MEMORY, "out of memory");
	if (l->n == max)
		return err_set(e, ERR_FULL,
		    "the stream of kernel events has more than %u names of a kind", max);
	if (!array_reserve(l->of, l->cap, l->n + 1))
		return err_set(e, ERR_MEMORY, "out of memory");
	l->of[l->n++] = number;
	return 0;
}

/* The reader's number of the name; 0 is 0 if `optional`. */
static uint32_t
name_at(const struct name_list *l, struct reader *in, bool optional)
{
	uint64_t number = read_uint(in);

	if (number == 0 && optional)
		return 0;
	if (number == 0 || number > l->n) {
		in->failed = true;
		return 0;
	}
	return l->of[number - 1];
}

static uint32_t
read_u32_varint(struct reader *in)
{
	uint64_t v = read_uint(in);

	in->failed |= v > UINT32_MAX;
	return (uint32_t)v;
}

static uint16_t
read_vector(struct reader *in)
{
	uint64_t v = read_uint(in);

	in->failed |= v > UINT16_MAX;
	return (uint16_t)(v - 1);
}

static int32_t
read_i32(struct reader *in)
{
	int64_t v = read_int(in);

	in->failed |= v < INT32_MIN || v > INT32_MAX;
	return (int32_t)v;
}

static bool
read_bool(struct reader *in)
{
	uint8_t v = read_u8(in);

	in->failed |= v > 1;
	return v == 1;
}

static void
read_payload(struct kernel_reader *r, struct reader *in, struct kernel_event *ev)
{
	uint8_t byte;

	switch ((enum kernel_event_kind)ev->kind) {
	case KERNEL_SWITCH:
		ev->change.next_tid = read_u32_varint(in);
		ev->change.next_pid = read_u32_varint(in);
		ev->change.syscall = read_i32(in);
		if ((ev->flags & SWITCH_LOCK) != 0) {
			ev->change.owner = read_u32_varint(in);
			ev->change.lock = read_uint(in);
		}
		break;
	case KERNEL_WAKING:
		ev->waking.tid = read_u32_varint(in);
		ev->waking.pid = read_u32_varint(in);
		byte = read_u8(in);
		ev->waking.by = byte >> 1;
		ev->waking.is_new = byte & 1;
		ev->waking.vector = read_vector(in);
		break;
	case KERNEL_FORK:
		ev->child.tid = read_u32_varint(in);
		ev->child.pid = read_u32_varint(in);
		break;
	case KERNEL_NAME:
		ev->thread.name = name_at(&r->texts, in, true);
		ev->thread.asleep = read_bool(in);
		break;
	case KERNEL_CONTEXT_IN:
	case KERNEL_CONTEXT_OUT:
		ev->context.kind = read_u8(in);
		ev->context.vector = read_vector(in);
		ev->context.name = name_at(&r->texts, in, true);
		break;
	case KERNEL_SYSCALL_IN:
	case KERNEL_SYSCALL_OUT:
		ev->call.number = read_i32(in);
		ev->call.name = name_at(&r->texts, in, true);
		ev->call.value = read_int(in);
		if ((ev->flags & SWITCH_LOCK) != 0)
			ev->call.lock = read_uint(in);
		break;
	case KERNEL_SEND:
	case KERNEL_RECEIVE:
		ev->message.connection = name_at(&r->connections, in, false);
		ev->message.bytes = read_u32_varint(in);
		ev->message.text = name_at(&r->texts, in, true);
		break;
	case KERNEL_PACKET_OUT:
	case KERNEL_PACKET_IN:
		ev->packet.id = read_u64(in);
		break;
	case KERNEL_UNIT:
		ev->unit.id = read_u64(in);
		break;
	case KERNEL_COUNTED:
		ev->counted.name = name_at(&r->texts, in, true);
		ev->counted.value = read_u32_varint(in);
		break;
	case KERNEL_STACK:
		ev->stack.folded = name_at(&r->texts, in, true);
		break;
	case KERNEL_LOST:
		ev->lost.count = read_uint(in);
		ev->lost.from_ns = (int64_t)((uint64_t)ev->time_ns - (uint64_t)read_int(in));
		break;
	case KERNEL_EXIT:
	case KERNEL_BLOCK_DONE:
	case KERNEL_KINDS:
		break;
	}
}

static int
read_event(struct kernel_reader *r, struct reader *in, uint8_t tag, struct err *e)
{
	struct kernel_event ev;
	struct cpu_running *run;
	uint64_t cpu = r->state.cpu;

	memset(&ev, 0, sizeof ev); /* also what lies between and behind members */
	ev.kind = tag & TAG_KIND;
	if ((tag & TAG_CPU) != 0)
		cpu = read_uint(in);
	if (cpu > UINT16_MAX)
		return malformed(e);
	ev.cpu = (uint16_t)cpu;
	ev.host = r->state.host;
	if ((run = running_on(&r->state, ev.cpu)) == NULL)
		return err_set(e, ERR_MEMORY, "out of memory");
	ev.time_ns = (int64_t)((uint64_t)r->state.time_ns + (uint64_t)read_int(in));
	ev.tid = (tag & TAG_SAME) != 0 ? run->tid : read_u32_varint(in);
	ev.pid = (tag & TAG_SAME) != 0 ? run->pid : read_u32_varint(in);
	if ((tag & TAG_FLAGS) != 0)
		ev.flags = read_u8(in);
	read_payload(r, in, &ev);
	if (in->failed)
		return malformed(e);
	r->state.cpu = ev.cpu;
	r->state.time_ns = ev.time_ns;
	note_running(run, &ev);
	return r->o.take(r->o.of, &ev, e);
}

static struct kernel_end
read_end(struct reader *in)
{
	struct kernel_end end = { 0 };
	const uint8_t *address = read_bytes(in, sizeof end.address);
	uint64_t port = read_uint(in);

	if (address != NULL)
		memcpy(end.address, address, sizeof end.address);
	in->failed |= port > UINT16_MAX;
	end.port = (uint16_t)port;
	return end;
}

static int
read_definition(struct kernel_reader *r, struct reader *in, uint8_t kind, struct err *e)
{
	size_t len = 0;
	const char *s;

	if (kind == ITEM_CONNECTION) {
		struct kernel_connection c;

		c.here = read_end(in);
		c.there = read_end(in);
		c.net = read_u32_varint(in);
		if (in->failed)
			return malformed(e);
		return keep_name(&r->connections, kernel_connection_intern(r->o.names, &c),
		    KERNEL_STREAM_NAMES_MAX, e);
	}
	s = read_text(in, KERNEL_TEXT_MAX, &len);
	if (s == NULL || in->failed || memchr(s, '\0', len) != NULL)
		return malformed(e);
	if (kind == ITEM_TEXT)
		return keep_name(
		    &r->texts, texts_intern(r->o.names->texts, s, len), KERNEL_STREAM_NAMES_MAX, e);
	if (texts_count(r->o.names->hosts) >= KERNEL_HOSTS_MAX &&
	    texts_find(r->o.names->hosts, s, len) == UINT32_MAX)
		return err_set(e, ERR_FULL, "more than %d hosts", KERNEL_HOSTS_MAX);
	return keep_name(&r->hosts, texts_intern(r->o.names->hosts, s, len), KERNEL_HOSTS_MAX, e);
}

static int
read_news(struct kernel_reader *r, struct reader *in, struct err *e)
{
	struct kernel_news n = { .text = r->text };
	uint8_t kind = read_u8(in);
	size_t len = 0;
	const char *s;

	n.kind = (enum kernel_news_kind)kind;
	n.code = read_i32(in);
	n.cpu_us = read_uint(in);
	n.late = read_uint(in);
	n.missed = read_uint(in);
	s = read_text(in, KERNEL_TEXT_MAX, &len);
	if (in->failed || kind > KERNEL_END)
		return malformed(e);
	if (len > 0)
		memcpy(r->text, s, len);
	r->text[len] = '\0';
	return r->o.news != NULL ? r->o.news(r->o.of, &n, e) : 0;
}

static int
forget(struct kernel_reader *r, struct err *e)
{
	int rc;

	r->texts.n = r->connections.n = r->hosts.n = 0;
	r->state.host = 0;
	if (!r->o.forget)
		return 0;
	if (r->o.forgets != NULL && (rc = r->o.forgets(r->o.of, e)) != 0)
		return rc;
	kernel_names_release(r->o.names);
	if ((rc = kernel_names_new(r->o.names, e)) != 0)
		return rc;
	return r->o.forgot != NULL ? r->o.forgot(r->o.of, e) : 0;
}

static int
read_items(struct kernel_reader *r, const uint8_t *data, size_t len, struct err *e)
{
	struct reader in = reader_of(data, len);
	int rc = 0;

	while (rc == 0 && reader_left(&in) > 0) {
		uint8_t tag = read_u8(&in), kind = tag & TAG_KIND;

		if (kind < KERNEL_KINDS) {
			rc = read_event(r, &in, tag, e);
			continue;
		}
		if (tag != kind)
			return malformed(e);
		switch (kind) {
		case ITEM_TEXT:
		case ITEM_CONNECTION:
		case ITEM_HOST_TEXT:
			rc = read_definition(r, &in, kind, e);
			break;
		case ITEM_HOST:
			r->state.host = (uint16_t)name_at(&r->hosts, &in, true);
			rc = in.failed ? malformed(e) : 0;
			break;
		case ITEM_NEWS:
			rc = read_news(r, &in, e);
			break;
		case ITEM_FORGET:
			rc = forget(r, e);
			break;
		default:
			rc = malformed(e);
		}
	}
	return rc;
}

bool
kernel_stream_begins(const void *data, size_t len)
{
	return len >= BEGIN_BYTES && memcmp(data, magic, sizeof magic) == 0;
}

/* Takes the begin, or a chunk, if it is whole. *used: its bytes; 0: more is needed. */
static int
read_whole(struct kernel_reader *r, const uint8_t *data, size_t len, size_t *used, struct err *e)
{
	struct reader head = reader_of(data, len);
	uint32_t n, crc;

	*used = 0;
	if (!r->begun) {
		if (len < BEGIN_BYTES)
			return 0;
		if (!kernel_stream_begins(data, len))
			return err_set(e, ERR_INPUT, "it is no stream of kernel events");
		if (data[sizeof magic] != KERNEL_STREAM_VERSION)
			return err_set(e, ERR_VERSION,
			    "the stream of kernel events has version %u, and this program reads %d",
			    data[sizeof magic], KERNEL_STREAM_VERSION);
		r->begun = true;
		*used = BEGIN_BYTES;
		return 0;
	}
	if (len < CHUNK_HEAD)
		return 0;
	n = read_u32(&head);
	crc = read_u32(&head);
	if (n > KERNEL_CHUNK_MAX)
		return malformed(e);
	if (reader_left(&head) < n)
		return 0;
	if (crc32c(0, head.at, n) != crc)
		return malformed(e);
	*used = CHUNK_HEAD + n;
	return read_items(r, head.at, n, e);
}

/* All that is whole. *used: its bytes. */
static int
read_all(struct kernel_reader *r, const uint8_t *data, size_t len, size_t *used, struct err *e)
{
	size_t one;
	int rc;

	*used = 0;
	do {
		rc = read_whole(r, data + *used, len - *used, &one, e);
		*used += one;
	} while (rc == 0 && one > 0);
	return rc;
}

int
kernel_reader_feed(struct kernel_reader *r, const void *data, size_t len, struct err *e)
{
	const uint8_t *at = data;
	size_t used;
	int rc;

	if (r->kept.len == 0) {
		if ((rc = read_all(r, at, len, &used, e)) != 0)
			return rc;
		buf_bytes(&r->kept, at + used, len - used);
		return r->kept.failed ? err_set(e, ERR_MEMORY, "out of memory") : 0;
	}
	while (len > 0) { /* completes what is kept, a chunk at most at a time */
		size_t piece = len < KERNEL_CHUNK_MAX ? len : KERNEL_CHUNK_MAX;

		buf_bytes(&r->kept, at, piece);
		if (r->kept.failed)
			return err_set(e, ERR_MEMORY, "out of memory");
		if ((rc = read_all(r, r->kept.data, r->kept.len, &used, e)) != 0)
			return rc;
		memmove(r->kept.data, r->kept.data + used, r->kept.len - used);
		r->kept.len -= used;
		at += piece;
		len -= piece;
	}
	return 0;
}

bool
kernel_reader_is_cut(const struct kernel_reader *r)
{
	return !r->begun || r->kept.len > 0;
}
