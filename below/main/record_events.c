/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "below/main/record_events.h"

#include <string.h>

static enum wake_context
woken_by(const struct record_other *r)
{
	switch ((enum record_by)r->by) {
	case RECORD_BY_TASK:
		return WAKE_TASK;
	case RECORD_BY_KERNEL_TASK:
		return WAKE_KERNEL_TASK;
	case RECORD_BY_HRTIMER:
		return WAKE_TIMER;
	case RECORD_BY_STORAGE:
		return WAKE_BLOCK;
	case RECORD_BY_SOFTIRQ:
		return wake_by_softirq(r->head.vector);
	case RECORD_BY_IRQ:
	case RECORD_BY_IPI:
		break;
	}
	return WAKE_INTERRUPT;
}

static enum kernel_context
context_of(const struct record_other *r)
{
	switch ((enum record_by)r->by) {
	case RECORD_BY_SOFTIRQ:
		return CONTEXT_SOFTIRQ;
	case RECORD_BY_HRTIMER:
		return CONTEXT_HRTIMER;
	case RECORD_BY_IPI:
		return CONTEXT_IPI;
	default:
		return CONTEXT_IRQ;
	}
}

static bool
intern_name(const struct record_events *x, const char name[RECORD_COMM], uint32_t *ret)
{
	*ret = texts_intern(x->names->texts, name, strnlen(name, RECORD_COMM));
	return *ret != UINT32_MAX;
}

static bool
intern_ends(const struct record_events *x, const struct record_ends *r, uint32_t net, uint32_t *ret)
{
	struct kernel_connection c;

	memset(&c, 0, sizeof c);
	memcpy(c.here.address, r->here, sizeof c.here.address);
	memcpy(c.there.address, r->there, sizeof c.there.address);
	c.here.port = r->here_port;
	c.there.port = r->there_port;
	c.net = net;
	*ret = kernel_connection_intern(x->names, &c);
	return *ret != UINT32_MAX;
}

size_t
record_events_line(const uint8_t *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (bytes[i] == '\n' || bytes[i] == '\r')
			return i;
		if (bytes[i] < ' ' || bytes[i] > '~')
			return 0;
	}
	return len;
}

static bool
intern_counted(const struct record_events *x, uint32_t which, uint32_t *ret)
{
	const char *name = which == RECORD_COUNTED_FAULT       ? "exceptions:page_fault_user"
	                   : which == RECORD_COUNTED_MIGRATION ? "sched:sched_migrate_task"
	                   : which < x->ncounted               ? x->counted[which]
	                                                       : "";

	*ret = texts_intern(x->names->texts, name, strlen(name));
	return *ret != UINT32_MAX;
}

static bool
make_message(
    const struct record_events *x, const struct record_head *h, size_t len, struct kernel_event *ev)
{
	const struct record_message *r = (const void *)h;
	const struct record_text *t = (const void *)h;
	size_t n;

	ev->flags = 0;
	ev->message.bytes = r->bytes;
	if (len >= sizeof *t && h->flags <= RECORD_TEXT) {
		n = record_events_line(t->text, h->flags);
		ev->message.text = texts_intern(x->names->texts, (const char *)t->text, n);
		if (ev->message.text == UINT32_MAX)
			return false;
	}
	return intern_ends(x, &r->ends, h->a, &ev->message.connection);
}

/* Bytes that a record of the kind has at least. */
static size_t
least_bytes(uint8_t kind)
{
	switch ((enum record_kind)kind) {
	case RECORD_SWITCH:
		return sizeof(struct record_switch);
	case RECORD_WAKING:
	case RECORD_EXIT:
	case RECORD_CONTEXT_IN:
	case RECORD_CONTEXT_OUT:
	case RECORD_BLOCK_DONE:
	case RECORD_COUNTED:
		return sizeof(struct record_other);
	case RECORD_FORK:
	case RECORD_NAME:
		return sizeof(struct record_name);
	case RECORD_SYSCALL_IN:
	case RECORD_SYSCALL_OUT:
	case RECORD_PACKET_OUT:
	case RECORD_PACKET_IN:
	case RECORD_UNIT:
		return sizeof(struct record_value);
	case RECORD_SEND:
	case RECORD_RECEIVE:
		return sizeof(struct record_message);
	case RECORD_LOST:
		return sizeof(struct record_lost);
	case RECORD_STACK:
		break;
	}
	return SIZE_MAX;
}

/* The new thread has the name of the one that made it, until it takes another. */
static bool
make_name(const struct record_events *x, const struct kernel_event *fork,
    const struct record_name *r, struct kernel_event *ev)
{
	*ev = *fork;
	ev->kind = KERNEL_NAME;
	ev->tid = fork->child.tid;
	ev->pid = fork->child.pid;
	memset(&ev->thread, 0, sizeof ev->thread);
	return intern_name(x, r->name, &ev->thread.name);
}

int
record_events_make(const struct record_events *x, uint32_t cpu, const struct record_head *h,
    size_t len, struct kernel_event ret[RECORD_EVENTS_MAX])
{
	const struct record_switch *change = (const void *)h;
	const struct record_other *other = (const void *)h;
	const struct record_name *name = (const void *)h;
	const struct record_value *value = (const void *)h;
	const struct record_lost *lost = (const void *)h;
	struct kernel_event *ev = ret;
	bool made = true;
	int n = 1;

	if (len < least_bytes(h->kind))
		return 0;
	memset(ev, 0, sizeof *ev);
	ev->time_ns = (int64_t)h->time_ns;
	ev->tid = h->tid;
	ev->pid = h->pid;
	ev->cpu = (uint16_t)(cpu < KERNEL_CPU_ALL ? cpu : KERNEL_CPU_ALL);
	ev->kind = h->kind;
	ev->flags = h->flags;
	switch ((enum record_kind)h->kind) {
	case RECORD_SWITCH:
		ev->change.next_tid = h->a;
		ev->change.next_pid = change->next_pid;
		ev->change.syscall = change->syscall;
		ev->change.owner = change->owner;
		ev->change.lock = change->lock;
		break;
	case RECORD_WAKING:
		ev->waking.tid = h->a;
		ev->waking.pid = other->pid;
		ev->waking.by = (uint8_t)woken_by(other);
		ev->waking.is_new = other->is_new != 0;
		ev->waking.vector = h->vector;
		break;
	case RECORD_FORK:
		ev->child.tid = h->a;
		ev->child.pid = other->pid;
		made = make_name(x, ev, name, &ret[1]);
		n = 2;
		break;
	case RECORD_NAME:
		made = intern_name(x, name->name, &ev->thread.name);
		ev->thread.asleep = other->is_new != 0;
		break;
	case RECORD_CONTEXT_IN:
		if (other->is_new && len >= sizeof *name)
			made = intern_name(x, name->name, &ev->context.name);
		/* fall through */
	case RECORD_CONTEXT_OUT:
		ev->context.kind = (uint8_t)context_of(other);
		ev->context.vector = h->vector;
		break;
	case RECORD_SYSCALL_IN:
		ev->call.lock = (h->flags & RECORD_LOCK) != 0 ? (uint64_t)value->value : 0;
		/* fall through */
	case RECORD_SYSCALL_OUT:
		ev->call.number = (int32_t)h->a;
		ev->call.value = value->value;
		break;
	case RECORD_SEND:
	case RECORD_RECEIVE:
		made = make_message(x, h, len, ev);
		break;
	case RECORD_PACKET_OUT:
	case RECORD_PACKET_IN:
		ev->packet.id = (uint64_t)value->value;
		break;
	case RECORD_UNIT:
		ev->unit.id = (uint64_t)value->value;
		break;
	case RECORD_COUNTED:
		made = intern_counted(x, h->a, &ev->counted.name);
		ev->counted.value = 1;
		break;
	case RECORD_LOST:
		if (lost->count == 0 && (h->flags & RECORD_FOLLOWING) == 0)
			return 0;
		ev->flags = 0;
		ev->tid = ev->pid = 0;
		ev->lost.count = lost->count;
		ev->lost.from_ns = (int64_t)lost->from_ns;
		break;
	case RECORD_EXIT:
	case RECORD_BLOCK_DONE:
	case RECORD_STACK:
		break;
	}
	return made ? n : ERR_MEMORY;
}
