/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE
#include "kernel/files/translate.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "base/glob.h"
#include "base/hash.h"

struct translation { /* of one record */
	struct translator *of;
	const struct raw_event *raw;
	struct kernel_event *ret;
	int n;
	bool no_memory;
};

/* ---- values ----------------------------------------------------------------- */

static bool
has(const struct translation *x, int slot)
{
	return x->raw->values[slot].type != RAW_ABSENT;
}

static int64_t
number(const struct translation *x, int slot)
{
	const struct field_said *v = &x->raw->values[slot];

	return v->type == RAW_NUMBER ? v->number : 0;
}

/* A thread's number. False: absent, or none. */
static bool
thread(const struct translation *x, int slot, uint32_t *ret)
{
	int64_t n = number(x, slot);

	*ret = (uint32_t)n;
	return x->raw->values[slot].type == RAW_NUMBER && n >= 0 && n <= INT32_MAX;
}

static uint16_t
vector(const struct translation *x, int slot)
{
	int64_t n = number(x, slot);

	return x->raw->values[slot].type == RAW_NUMBER && n >= 0 && n < KERNEL_VECTOR_NONE
	           ? (uint16_t)n
	           : KERNEL_VECTOR_NONE;
}

uint32_t
translator_text(struct translator *t, const char *text, size_t len)
{
	const char *nul = memchr(text, '\0', len);
	uint32_t ret;

	if (nul != NULL)
		len = (size_t)(nul - text);
	if (len > RAW_TEXT_MAX)
		len = RAW_TEXT_MAX;
	if ((ret = texts_find(t->names->texts, text, len)) != UINT32_MAX)
		return ret;
	if (len + 64 > *t->texts_left) { /* 64: what the table needs for it, about */
		account_odd(
		    t->account, ODDITY_BOUND, "the texts of events are over the memory bound");
		return texts_intern(t->names->texts, "(other)", 7);
	}
	*t->texts_left -= len + 64;
	return texts_intern(t->names->texts, text, len);
}

static uint32_t
intern(struct translation *x, const char *text, size_t len)
{
	uint32_t ret = len == 0 ? 0 : translator_text(x->of, text, len);

	x->no_memory |= ret == UINT32_MAX;
	return ret;
}

static uint32_t
text(struct translation *x, int slot)
{
	const struct field_said *v = &x->raw->values[slot];

	return v->type == RAW_TEXT ? intern(x, v->text, v->len) : 0;
}

/* ---- events ----------------------------------------------------------------- */

static struct kernel_event *
add(struct translation *x, enum kernel_event_kind kind)
{
	const struct raw_event *r = x->raw;
	struct kernel_event *ev = &x->ret[x->n++];

	*ev = (struct kernel_event){
		.time_ns = r->time_ns,
		.tid = r->has_tid ? r->tid : 0,
		.pid = r->has_pid ? r->pid : 0,
		.cpu = r->cpu,
		.host = r->host,
		.kind = (uint8_t)kind,
		.reserved = (uint16_t)((r->has_tid ? MARK_TID : 0) | (r->has_pid ? MARK_PID : 0)),
	};
	return ev;
}

static bool
lacks(struct translation *x, const char *what)
{
	account_odd(x->of->account, ODDITY_FIELDS, "%.60s: no %s that can be read",
	    x->raw->name->text, what);
	return false;
}

/* Remembers what a thread is called; 0: nothing. */
static void
remember(struct translation *x, uint32_t tid, uint32_t name)
{
	x->of->last_names[tid % NAME_CACHE].tid = name != 0 ? tid : 0;
	x->of->last_names[tid % NAME_CACHE].name = name;
}

/* A name that a thread has, if it is not the one that was told last. Only texts. */
static void
named(struct translation *x, uint32_t tid, const char *name, size_t len)
{
	const char *nul = memchr(name, '\0', len), *last;
	struct kernel_event *ev;
	uint32_t at = tid % NAME_CACHE, id;

	if (nul != NULL)
		len = (size_t)(nul - name);
	if (tid == 0 || len == 0)
		return;
	if (x->of->last_names[at].tid == tid) {
		last = texts_get(x->of->names->texts, x->of->last_names[at].name);
		if (strncmp(last, name, len) == 0 && last[len] == '\0')
			return;
	}
	if ((id = intern(x, name, len)) == UINT32_MAX)
		return;
	remember(x, tid, id);
	ev = add(x, KERNEL_NAME);
	ev->tid = tid;
	ev->pid = 0;
	ev->thread.name = id;
	ev->reserved = MARK_TID | MARK_NAME;
}

static void
named_by(struct translation *x, uint32_t tid, int slot)
{
	const struct field_said *v = &x->raw->values[slot];

	if (v->type == RAW_TEXT)
		named(x, tid, v->text, v->len);
}

/*
 * States of tasks have had other numbers in other kernels, and LTTng and perf write them as the kernel had them: 1, 2
 * asleep and 4, 8 stopped in all; 16, 32 ended; 64 has ended (until 4.13), is parked (from 4.14); 128 has ended (4.14, as LTTng
 * 2.10 wrote it), is idle (as later ones do). 256, 1024, 2048, 4096 mark a running one as preempted.
 */
enum {
	STATE_ASLEEP = 1 | 2,
	STATE_STOPPED = 4 | 8,
	STATE_ENDED = 16 | 32,
	STATE_UNCLEAR = 64 | 128
};

static void
set_state(struct kernel_event *ev, int64_t state)
{
	if (state & STATE_ENDED && !(state & STATE_ASLEEP))
		ev->flags |= SWITCH_ENDED;
	else if (state & (STATE_ASLEEP | STATE_STOPPED | STATE_UNCLEAR))
		ev->flags |= SWITCH_ASLEEP;
	if (state & 2)
		ev->flags |= SWITCH_UNINTERRUPTIBLE;
	if (state & STATE_UNCLEAR && !(state & (STATE_ASLEEP | STATE_STOPPED | STATE_ENDED)))
		ev->reserved |= MARK_DEAD;
}

static bool
take_switch(struct translation *x)
{
	struct kernel_event *ev;
	uint32_t prev, next;

	if (!thread(x, 0, &prev) || !thread(x, 2, &next))
		return lacks(x, "thread");
	if (x->raw->values[1].type != RAW_NUMBER)
		return lacks(x, "state");
	named_by(x, prev, 3);
	ev = add(x, KERNEL_SWITCH);
	ev->tid = prev;
	ev->reserved |= MARK_TID;
	ev->change.next_tid = next;
	ev->change.syscall = SYSCALL_UNKNOWN;
	set_state(ev, number(x, 1));
	if (prev == 0)
		ev->flags = 0;
	named_by(x, next, 4);
	return true;
}

static bool
take_waking(struct translation *x, int rank, bool is_new)
{
	struct kernel_event *ev;
	uint32_t tid;

	if (!thread(x, 0, &tid))
		return lacks(x, "thread");
	if (x->raw->name->meaning->kind == MEANING_WAKEUP && has(x, 2) && number(x, 2) == 0)
		return true; /* it was awake */
	named_by(x, tid, 1);
	ev = add(x, KERNEL_WAKING);
	ev->waking.tid = tid;
	ev->waking.by = WAKE_UNKNOWN;
	ev->waking.is_new = is_new;
	ev->waking.vector = KERNEL_VECTOR_NONE;
	ev->reserved |= (uint16_t)(rank * MARK_RANK);
	return true;
}

/* LTTng gives the new thread's process as child_pid; for the kernel child_pid is the thread. */
static bool
take_fork(struct translation *x)
{
	bool is_lttng = has(x, 2);
	struct kernel_event *ev;
	uint32_t tid, pid = 0, parent;

	if (!thread(x, is_lttng ? 2 : 3, &tid))
		return lacks(x, "new thread");
	ev = add(x, KERNEL_FORK);
	if (thread(x, is_lttng ? 0 : 1, &parent)) {
		ev->tid = parent;
		ev->reserved |= MARK_TID;
	}
	if (is_lttng && thread(x, 1, &parent)) {
		ev->pid = parent;
		ev->reserved |= MARK_PID;
	}
	ev->child.tid = tid;
	if (is_lttng && thread(x, 3, &pid))
		ev->child.pid = pid;
	remember(x, tid, 0);
	named_by(x, tid, 4);
	return true;
}

static bool
take_name(struct translation *x, int name_slot, uint16_t marks)
{
	struct kernel_event *ev;
	uint32_t tid;

	if (!thread(x, 0, &tid))
		return lacks(x, "thread");
	ev = add(x, KERNEL_NAME);
	ev->tid = tid;
	ev->pid = 0;
	ev->reserved = MARK_TID | marks;
	if (x->raw->values[name_slot].type == RAW_TEXT && tid != 0) {
		ev->thread.name = text(x, name_slot);
		ev->reserved |= MARK_NAME;
		remember(x, tid, ev->thread.name);
	}
	return true;
}

static bool
take_newtask(struct translation *x)
{
	enum { THREAD_OF_SAME_PROCESS = 0x10000 }; /* CLONE_THREAD */

	if (!take_name(
		x, 2, MARK_BORN | (number(x, 1) & THREAD_OF_SAME_PROCESS ? MARK_OF_CURRENT : 0)))
		return false;
	if (!(number(x, 1) & THREAD_OF_SAME_PROCESS)) {
		x->ret[x->n - 1].pid = x->ret[x->n - 1].tid;
		x->ret[x->n - 1].reserved |= MARK_PID;
	}
	return true;
}

/* The program is executed by the thread whose number is that of the process, from now on. */
static bool
take_exec(struct translation *x)
{
	const struct field_said *file = &x->raw->values[2];
	struct kernel_event *ev;
	uint32_t tid, old;
	const char *slash;
	size_t len;

	if (!thread(x, 0, &tid))
		return lacks(x, "thread");
	if (thread(x, 1, &old) && old != tid) {
		ev = add(x, KERNEL_EXIT);
		ev->tid = old;
		ev->reserved |= MARK_TID;
	}
	ev = add(x, KERNEL_NAME);
	ev->tid = tid;
	ev->pid = tid;
	ev->reserved = MARK_TID | MARK_PID | MARK_RUNS;
	if (file->type != RAW_TEXT)
		return true;
	slash = memrchr(file->text, '/', file->len);
	slash = slash != NULL ? slash + 1 : file->text;
	len = file->len - (size_t)(slash - file->text);
	ev->thread.name = intern(x, slash, len < 15 ? len : 15); /* as the kernel cuts it */
	ev->reserved |= MARK_NAME;
	remember(x, tid, ev->thread.name);
	return true;
}

static bool
take_exit(struct translation *x)
{
	struct kernel_event *ev;
	uint32_t tid;

	if (!thread(x, 0, &tid))
		return lacks(x, "thread");
	ev = add(x, KERNEL_EXIT);
	if (ev->tid != tid)
		ev->reserved &= (uint16_t)~MARK_PID;
	ev->tid = tid;
	ev->reserved |= MARK_TID;
	return true;
}

static bool
take_dump(struct translation *x)
{
	enum { STATUS_WAITS = 5 };
	uint32_t tid, pid;

	if (!thread(x, 0, &tid) || !thread(x, 1, &pid))
		return lacks(x, "thread");
	if (tid == 0)
		return true;
	if (!take_name(x, 2, MARK_PID))
		return false;
	x->ret[x->n - 1].pid = pid;
	x->ret[x->n - 1].thread.asleep = number(x, 3) == STATUS_WAITS;
	return true;
}

static bool
take_context(
    struct translation *x, bool begins, enum kernel_context kind, uint16_t vec, uint32_t name)
{
	struct kernel_event *ev = add(x, begins ? KERNEL_CONTEXT_IN : KERNEL_CONTEXT_OUT);

	ev->context.kind = (uint8_t)kind;
	ev->context.vector = vec;
	ev->context.name = name;
	return true;
}

/* The packet is told by what TCP has in it of its place in the connection, and which does not change on the way. */
static bool
take_packet(struct translation *x, enum kernel_event_kind kind)
{
	enum { TCP_FLAGS = 0x3f };
	struct kernel_event *ev;

	if (!has(x, 0) || !has(x, 1)) /* not TCP */
		return true;
	ev = add(x, kind);
	ev->packet.id = hash_u64((uint64_t)number(x, 0) << 32 | (uint32_t)number(x, 1)) ^
	                hash_u64((uint64_t)(number(x, 2) & TCP_FLAGS) << 32 |
				 (uint64_t)(uint16_t)number(x, 3) << 16 | (uint16_t)number(x, 4));
	return true;
}

/* ---- system calls ----------------------------------------------------------- */

static void
set_call(struct translation *x, struct kernel_event *ev)
{
	const struct event_name *n = x->raw->name;

	ev->call.number = n->call_number;
	if (n->call_number == SYSCALL_UNKNOWN)
		ev->call.name = intern(x, n->call, strlen(n->call));
}

static void
set_lock(struct kernel_event *ev, int64_t address, int64_t operation, int64_t value)
{
	if (!kernel_futex_locks((uint64_t)operation, (uint64_t)value))
		return;
	ev->flags |= SWITCH_LOCK;
	ev->call.lock = (uint64_t)address;
}

static bool
is_futex(int32_t number)
{
	const char *name = kernel_syscall_name(number);

	return name != NULL && strcmp(name, "futex") == 0;
}

static bool
take_call(struct translation *x, bool begins)
{
	struct kernel_event *ev = add(x, begins ? KERNEL_SYSCALL_IN : KERNEL_SYSCALL_OUT);

	ev->reserved |= MARK_CALL_NAMED;
	set_call(x, ev);
	ev->call.value = number(x, 0);
	if (begins && has(x, 2) && is_futex(ev->call.number))
		set_lock(ev, number(x, 1), number(x, 2), number(x, 3));
	return true;
}

static bool
take_raw_call(struct translation *x, bool begins)
{
	int64_t id = number(x, 0);
	struct kernel_event *ev;

	if (!has(x, 0) || id < -1 || id > INT32_MAX)
		return lacks(x, "number of a system call");
	ev = add(x, begins ? KERNEL_SYSCALL_IN : KERNEL_SYSCALL_OUT);
	ev->reserved |= MARK_CALL_RAW;
	ev->call.number = id >= 0 ? (int32_t)id : SYSCALL_UNKNOWN;
	ev->call.value = number(x, 1);
	if (begins && has(x, 2) && is_futex(ev->call.number))
		set_lock(ev, number(x, 1), number(x, 2), number(x, 3));
	return true;
}

/* ---- messages --------------------------------------------------------------- */

/* An address in text, of 4 or 6; "::ffff:1.2.3.4" is one of IPv4. */
static bool
read_address(const struct translation *x, int slot, uint8_t ret[16])
{
	const struct field_said *v = &x->raw->values[slot];
	struct kernel_end end;
	char copy[KERNEL_END_TEXT_MAX];

	if (v->type != RAW_TEXT || v->len == 0 || v->len >= sizeof copy)
		return false;
	memcpy(copy, v->text, v->len);
	copy[v->len] = '\0';
	if (!kernel_end_read(&end, copy))
		return false;
	memcpy(ret, end.address, 16);
	return true;
}

static bool
is_any(const uint8_t address[16])
{
	static const uint8_t any4[16] = { [10] = 0xff, [11] = 0xff }, any6[16];

	return memcmp(address, any4, 16) == 0 || memcmp(address, any6, 16) == 0;
}

static bool
connection(struct translation *x, const struct kernel_connection *c, uint32_t *ret)
{
	enum { BYTES_EACH = 128 }; /* that the table needs for one, about */
	uint32_t before = texts_count(x->of->names->connections);

	if (*x->of->texts_left < BYTES_EACH) {
		account_odd(
		    x->of->account, ODDITY_BOUND, "the connections are over the memory bound");
		return false;
	}
	*ret = kernel_connection_intern(x->of->names, c);
	x->no_memory |= *ret == UINT32_MAX;
	if (texts_count(x->of->names->connections) > before)
		*x->of->texts_left -= BYTES_EACH;
	return !x->no_memory;
}

static bool
take_message(struct translation *x, enum kernel_event_kind kind)
{
	struct kernel_connection c = { 0 };
	struct kernel_event *ev;
	bool is_4 = read_address(x, 2, c.here.address) && read_address(x, 3, c.there.address) &&
	            !(is_any(c.here.address) && is_any(c.there.address));
	int64_t here = number(x, 0), there = number(x, 1);
	uint32_t id;

	if (!is_4 && (kind != KERNEL_RECEIVE || !read_address(x, 4, c.here.address) ||
			 !read_address(x, 5, c.there.address)))
		return lacks(x, "address");
	if (!has(x, 0) || !has(x, 1) || here < 0 || here > UINT16_MAX || there < 0 ||
	    there > UINT16_MAX)
		return lacks(x, "port");
	c.here.port = (uint16_t)here;
	c.there.port = (uint16_t)there;
	if (!connection(x, &c, &id))
		return false;
	ev = add(x, kind);
	ev->message.connection = id;
	return true;
}

/* ---- Hone's own ------------------------------------------------------------- */

static bool
own_end(struct translation *x, int slot, struct kernel_end *ret)
{
	const struct field_said *v = &x->raw->values[slot];
	char copy[KERNEL_END_TEXT_MAX];

	if (v->type != RAW_TEXT || v->len >= sizeof copy)
		return false;
	memcpy(copy, v->text, v->len);
	copy[v->len] = '\0';
	return kernel_end_read(ret, copy);
}

static bool
own_message(struct translation *x, enum kernel_event_kind kind)
{
	struct kernel_connection c;
	struct kernel_event *ev;
	uint32_t id;

	if (!own_end(x, 0, &c.here) || !own_end(x, 1, &c.there))
		return lacks(x, "address");
	c.net = (uint32_t)number(x, 4); /* 0: it has none */
	if (!connection(x, &c, &id))
		return false;
	ev = add(x, kind);
	ev->message.connection = id;
	ev->message.bytes = (uint32_t)number(x, 2);
	ev->message.text = text(x, 3);
	return true;
}

static bool
own_context(struct translation *x, bool begins, enum kernel_context kind)
{
	return take_context(x, begins, kind, (uint16_t)number(x, 0), text(x, 1));
}

static bool
own_call(struct translation *x, bool begins)
{
	struct kernel_event *ev = add(x, begins ? KERNEL_SYSCALL_IN : KERNEL_SYSCALL_OUT);
	const char *name = x->raw->name->call;

	ev->call.number = (int32_t)number(x, 0);
	if (x->raw->values[1].type == RAW_TEXT)
		ev->call.name = text(x, 1);
	else if (number(x, 1) != 0)
		ev->call.name = intern(x, name, strlen(name));
	ev->call.value = number(x, 2);
	ev->flags = (uint8_t)number(x, 3);
	ev->call.lock = (uint64_t)number(x, 4);
	return true;
}

static bool
take_own(struct translation *x)
{
	struct kernel_event *ev;

	switch (x->raw->name->meaning->kind) {
	case MEANING_OWN_SWITCH:
		ev = add(x, KERNEL_SWITCH);
		ev->change.next_tid = (uint32_t)number(x, 0);
		ev->change.next_pid = (uint32_t)number(x, 1);
		ev->flags = (uint8_t)number(x, 2);
		ev->change.syscall = (int32_t)number(x, 3);
		ev->change.owner = (uint32_t)number(x, 4);
		ev->change.lock = (uint64_t)number(x, 5);
		return true;
	case MEANING_OWN_WAKING:
	case MEANING_OWN_WAKEUP_NEW:
		ev = add(x, KERNEL_WAKING);
		ev->waking.tid = (uint32_t)number(x, 0);
		ev->waking.pid = (uint32_t)number(x, 1);
		if (number(x, 2) < 0 || number(x, 2) > WAKE_INTERRUPT)
			lacks(x, "cause of the wake-up");
		else
			ev->waking.by = (uint8_t)number(x, 2);
		ev->waking.is_new = x->raw->name->meaning->kind == MEANING_OWN_WAKEUP_NEW;
		ev->waking.vector = (uint16_t)number(x, 3);
		return true;
	case MEANING_OWN_FORK:
		ev = add(x, KERNEL_FORK);
		ev->child.tid = (uint32_t)number(x, 0);
		ev->child.pid = (uint32_t)number(x, 1);
		return true;
	case MEANING_OWN_EXIT:
		add(x, KERNEL_EXIT);
		return true;
	case MEANING_OWN_NAME:
		ev = add(x, KERNEL_NAME);
		ev->thread.name = text(x, 0);
		ev->thread.asleep = has(x, 2) ? number(x, 2) != 0 : number(x, 1) == 5;
		return true;
	case MEANING_OWN_IRQ_IN:
	case MEANING_OWN_IRQ_OUT:
		return own_context(
		    x, x->raw->name->meaning->kind == MEANING_OWN_IRQ_IN, CONTEXT_IRQ);
	case MEANING_OWN_SOFTIRQ_IN:
	case MEANING_OWN_SOFTIRQ_OUT:
		return own_context(
		    x, x->raw->name->meaning->kind == MEANING_OWN_SOFTIRQ_IN, CONTEXT_SOFTIRQ);
	case MEANING_OWN_HRTIMER_IN:
	case MEANING_OWN_HRTIMER_OUT:
		return own_context(
		    x, x->raw->name->meaning->kind == MEANING_OWN_HRTIMER_IN, CONTEXT_HRTIMER);
	case MEANING_OWN_IPI_IN:
	case MEANING_OWN_IPI_OUT:
		return own_context(
		    x, x->raw->name->meaning->kind == MEANING_OWN_IPI_IN, CONTEXT_IPI);
	case MEANING_OWN_RECEPTION_IN:
	case MEANING_OWN_RECEPTION_OUT:
		return own_context(
		    x, x->raw->name->meaning->kind == MEANING_OWN_RECEPTION_IN, CONTEXT_RECEPTION);
	case MEANING_OWN_CALL_IN:
	case MEANING_OWN_CALL_OUT:
		return own_call(x, x->raw->name->meaning->kind == MEANING_OWN_CALL_IN);
	case MEANING_OWN_NAMED_CALL_IN:
	case MEANING_OWN_NAMED_CALL_OUT:
		return own_call(x, x->raw->name->meaning->kind == MEANING_OWN_NAMED_CALL_IN);
	case MEANING_OWN_SEND:
		return own_message(x, KERNEL_SEND);
	case MEANING_OWN_RECEIVE:
		return own_message(x, KERNEL_RECEIVE);
	case MEANING_OWN_PACKET_OUT:
	case MEANING_OWN_PACKET_IN:
		ev = add(x, x->raw->name->meaning->kind == MEANING_OWN_PACKET_OUT
				? KERNEL_PACKET_OUT
				: KERNEL_PACKET_IN);
		ev->packet.id = (uint64_t)number(x, 0);
		return true;
	case MEANING_OWN_UNIT:
		ev = add(x, KERNEL_UNIT);
		ev->unit.id = (uint64_t)number(x, 0);
		return true;
	case MEANING_OWN_BLOCK_DONE:
		add(x, KERNEL_BLOCK_DONE);
		return true;
	case MEANING_OWN_COUNTED:
		ev = add(x, KERNEL_COUNTED);
		ev->counted.name = text(x, 0);
		ev->counted.value = (uint32_t)number(x, 1);
		return true;
	case MEANING_OWN_STACK:
		ev = add(x, KERNEL_STACK);
		ev->stack.folded = text(x, 0);
		return true;
	case MEANING_OWN_LOST:
		ev = add(x, KERNEL_LOST);
		ev->cpu = (uint16_t)number(x, 0);
		ev->lost.count = (uint64_t)number(x, 1);
		ev->lost.from_ns = number(x, 2);
		return true;
	default:
		return false;
	}
}

/* ---- all -------------------------------------------------------------------- */

static bool
take(struct translation *x)
{
	const struct raw_event *r = x->raw;
	struct kernel_event *ev;
	bool begins = false;

	switch (r->name->meaning->kind) {
	case MEANING_SWITCH:
		return take_switch(x);
	case MEANING_TTWU:
		return take_waking(x, 3, false);
	case MEANING_WAKING:
		return take_waking(x, 2, false);
	case MEANING_WAKEUP:
		return take_waking(x, 1, false);
	case MEANING_WAKEUP_NEW:
		return take_waking(x, 0, true);
	case MEANING_FORK:
		return take_fork(x);
	case MEANING_NEWTASK:
		return take_newtask(x);
	case MEANING_RENAME:
		return take_name(x, 1, 0);
	case MEANING_EXEC:
		return take_exec(x);
	case MEANING_EXIT:
		return take_exit(x);
	case MEANING_FREE:
		return true;
	case MEANING_DUMP:
		return take_dump(x);
	case MEANING_IRQ_IN:
	case MEANING_IRQ_OUT:
		if (!has(x, 0))
			return lacks(x, "number of the interrupt");
		begins = r->name->meaning->kind == MEANING_IRQ_IN;
		return take_context(x, begins, CONTEXT_IRQ, vector(x, 0), begins ? text(x, 1) : 0);
	case MEANING_SOFTIRQ_IN:
	case MEANING_SOFTIRQ_OUT:
		if (!has(x, 0))
			return lacks(x, "vector");
		return take_context(x, r->name->meaning->kind == MEANING_SOFTIRQ_IN,
		    CONTEXT_SOFTIRQ, vector(x, 0), 0);
	case MEANING_HRTIMER_IN:
	case MEANING_HRTIMER_OUT:
		begins = r->name->meaning->kind == MEANING_HRTIMER_IN;
		return take_context(
		    x, begins, CONTEXT_HRTIMER, KERNEL_VECTOR_NONE, begins ? text(x, 0) : 0);
	case MEANING_IPI_IN:
	case MEANING_IPI_OUT:
		return take_context(
		    x, r->name->meaning->kind == MEANING_IPI_IN, CONTEXT_IPI, vector(x, 0), 0);
	case MEANING_VECTOR_IN:
	case MEANING_VECTOR_OUT:
		begins = r->name->meaning->kind == MEANING_VECTOR_IN;
		return take_context(x, begins, CONTEXT_IRQ, KERNEL_VECTOR_NONE,
		    begins ? intern(x, "local_timer", 11) : 0);
	case MEANING_RECEPTION_IN:
	case MEANING_RECEPTION_OUT:
		return take_context(x, r->name->meaning->kind == MEANING_RECEPTION_IN,
		    CONTEXT_RECEPTION, KERNEL_VECTOR_NONE, 0);
	case MEANING_PACKET_OUT:
		return take_packet(x, KERNEL_PACKET_OUT);
	case MEANING_PACKET_IN:
		return take_packet(x, KERNEL_PACKET_IN);
	case MEANING_BLOCK_DONE:
		add(x, KERNEL_BLOCK_DONE);
		return true;
	case MEANING_CALL_IN:
	case MEANING_CALL_OUT:
		return take_call(x, r->name->meaning->kind == MEANING_CALL_IN);
	case MEANING_RAW_CALL_IN:
	case MEANING_RAW_CALL_OUT:
		return take_raw_call(x, r->name->meaning->kind == MEANING_RAW_CALL_IN);
	case MEANING_SEND:
		return take_message(x, KERNEL_SEND);
	case MEANING_RECEIVE:
		return take_message(x, KERNEL_RECEIVE);
	case MEANING_COUNTED:
		ev = add(x, KERNEL_COUNTED);
		ev->counted.name = intern(x, r->name->text, strlen(r->name->text));
		ev->counted.value = 1;
		return true;
	default:
		return false;
	}
}

bool
translator_counts(const struct translator *t, const char *name)
{
	char pattern[256];

	if (t->counted == NULL)
		return false;
	for (const char *at = t->counted; *at != '\0';) {
		size_t len = strcspn(at, ",");

		if (len > 0 && len < sizeof pattern) {
			memcpy(pattern, at, len);
			pattern[len] = '\0';
			if (glob_matches(pattern, name))
				return true;
		}
		at += len + (at[len] != '\0');
	}
	return false;
}

int
raw_translate(struct translator *t, const struct raw_event *r,
    struct kernel_event ret[TRANSLATED_MAX], struct err *e)
{
	struct translation x = { t, r, ret, 0, false };
	bool is_own = r->name->meaning->kind >= MEANING_OWN_SWITCH, ok;

	if (r->has_procname && r->has_tid && !is_own)
		named(&x, r->tid, r->procname, r->procname_len);
	ok = is_own ? take_own(&x) : take(&x);
	if (x.no_memory)
		return err_set(e, ERR_MEMORY, "out of memory");
	if (!ok)
		return 0;
	t->account->counts->used++;
	for (int i = 0; is_own && i < x.n; i++)
		ret[i].reserved = MARK_OWN;
	return x.n;
}
