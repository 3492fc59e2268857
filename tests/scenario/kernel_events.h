/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For tests: a kernel event as a line of text, with all that it says and its names written out. */
#ifndef TESTS_SCENARIO_KERNEL_EVENTS_H
#define TESTS_SCENARIO_KERNEL_EVENTS_H

#include <stdio.h>

#include "kernel/event.h"

static inline void
kernel_events_print(FILE *out, const struct kernel_names *names, const struct kernel_event *ev)
{
	char here[KERNEL_END_TEXT_MAX], there[KERNEL_END_TEXT_MAX];
	struct kernel_connection c;

	fprintf(out, "%lld %u %u %u %s %s %u", (long long)ev->time_ns, ev->cpu, ev->tid, ev->pid,
	    texts_count(names->hosts) > ev->host ? texts_get(names->hosts, ev->host) : "-",
	    kernel_event_word(ev->kind), ev->flags);
	switch ((enum kernel_event_kind)ev->kind) {
	case KERNEL_SWITCH:
		fprintf(out, " %u %u %d %u %llx", ev->change.next_tid, ev->change.next_pid,
		    ev->change.syscall, ev->change.owner, (unsigned long long)ev->change.lock);
		break;
	case KERNEL_WAKING:
		fprintf(out, " %u %u %u %u %u", ev->waking.tid, ev->waking.pid, ev->waking.by,
		    ev->waking.is_new, ev->waking.vector);
		break;
	case KERNEL_FORK:
		fprintf(out, " %u %u", ev->child.tid, ev->child.pid);
		break;
	case KERNEL_NAME:
		fprintf(out, " %u %s", ev->thread.asleep, texts_get(names->texts, ev->thread.name));
		break;
	case KERNEL_CONTEXT_IN:
	case KERNEL_CONTEXT_OUT:
		fprintf(out, " %u %u %s", ev->context.kind, ev->context.vector,
		    texts_get(names->texts, ev->context.name));
		break;
	case KERNEL_SYSCALL_IN:
	case KERNEL_SYSCALL_OUT:
		fprintf(out, " %d %lld %llx %s", ev->call.number, (long long)ev->call.value,
		    (unsigned long long)ev->call.lock, texts_get(names->texts, ev->call.name));
		break;
	case KERNEL_SEND:
	case KERNEL_RECEIVE:
		c = kernel_connection(names, ev->message.connection);
		kernel_end_text(&c.here, here);
		kernel_end_text(&c.there, there);
		fprintf(out, " %s %s %u %s", here, there, ev->message.bytes,
		    texts_get(names->texts, ev->message.text));
		break;
	case KERNEL_PACKET_OUT:
	case KERNEL_PACKET_IN:
		fprintf(out, " %llx", (unsigned long long)ev->packet.id);
		break;
	case KERNEL_UNIT:
		fprintf(out, " %llx", (unsigned long long)ev->unit.id);
		break;
	case KERNEL_COUNTED:
		fprintf(
		    out, " %u %s", ev->counted.value, texts_get(names->texts, ev->counted.name));
		break;
	case KERNEL_STACK:
		fprintf(out, " %s", texts_get(names->texts, ev->stack.folded));
		break;
	case KERNEL_LOST:
		fprintf(out, " %llu %lld", (unsigned long long)ev->lost.count,
		    (long long)ev->lost.from_ns);
		break;
	case KERNEL_EXIT:
	case KERNEL_BLOCK_DONE:
	case KERNEL_KINDS:
		break;
	}
	fputc('\n', out);
}

#endif
