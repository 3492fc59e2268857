/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Arbitrary kernel events, 12 bytes each: kind, flags, CPU, how much later, and two small numbers. Threads stay without gaps, and paths add up. */
#include <stdint.h>
#include <stdlib.h>

#include "base/buf.h"
#include "kernel/thread_graph.h"
#include "kernel/path.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct kernel_event
read_event(struct reader *r, int64_t *now)
{
	struct kernel_event ev = { .kind = read_u8(r) % (KERNEL_KINDS + 1) };
	uint32_t a, b;

	ev.flags = read_u8(r);
	ev.cpu = read_u8(r) % 5;
	ev.host = ev.cpu % 2;
	ev.cpu = ev.cpu == 4 ? KERNEL_CPU_ALL : ev.cpu / 2;
	*now += (int8_t)read_u8(r);
	ev.time_ns = *now;
	ev.tid = read_u8(r) % 8;
	a = read_u8(r);
	b = read_u32(r);
	read_u8(r);
	read_u8(r);
	switch (ev.kind) {
	case KERNEL_SWITCH:
		ev.change.next_tid = a % 8;
		ev.change.syscall = (int32_t)(b % 500) - 2;
		break;
	case KERNEL_WAKING:
		ev.waking.tid = a % 8;
		ev.waking.by = (uint8_t)(b % 7);
		break;
	case KERNEL_FORK:
		ev.child.tid = a % 8;
		break;
	case KERNEL_NAME:
		ev.thread.asleep = a % 2;
		break;
	case KERNEL_CONTEXT_IN:
	case KERNEL_CONTEXT_OUT:
		ev.context.kind = (uint8_t)(a % 5);
		ev.context.vector = (uint16_t)(b % 11);
		break;
	case KERNEL_SYSCALL_IN:
		ev.call.number = (int32_t)(b % 500) - 2;
		break;
	case KERNEL_PACKET_OUT:
	case KERNEL_PACKET_IN:
		ev.packet.id = a % 4;
		break;
	case KERNEL_SEND:
	case KERNEL_RECEIVE:
		ev.message.connection = a % 2;
		break;
	case KERNEL_LOST:
		ev.lost.from_ns = *now - (int64_t)(b % 100);
		ev.lost.count = a;
		break;
	}
	return ev;
}

static void
check_thread(const struct kernel_graph *g, uint32_t number)
{
	const struct kernel_thread *t = kernel_graph_thread(g, number);
	struct kernel_path p;
	struct err e;

	for (uint32_t i = 0; i < t->nintervals; i++)
		if (t->intervals[i].from_ns >= t->intervals[i].to_ns ||
		    (i > 0 && t->intervals[i - 1].to_ns != t->intervals[i].from_ns) ||
		    t->intervals[i].state >= BELOW_STATES)
			abort();
	if (kernel_path(&p, g, number, INT64_MIN, INT64_MAX, &e) == 0) {
		int64_t at = p.from_ns;

		for (uint32_t i = 0; i < p.nsegments; at = p.segments[i++].to_ns)
			if (p.segments[i].from_ns != at || p.segments[i].to_ns <= at)
				abort();
		if (at != p.to_ns)
			abort();
	}
	kernel_path_release(&p);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct reader r = reader_of(data, size);
	struct kernel_connection c = { { { 1 }, 1 }, { { 2 }, 2 } };
	struct kernel_names names;
	struct kernel_graph *g = NULL;
	struct err e;
	int64_t now = 1000;

	if (kernel_names_new(&names, &e) != 0)
		return 0;
	kernel_connection_reverse(&names, kernel_connection_intern(&names, &c));
	if (kernel_graph_new(&g,
		&(struct kernel_graph_options){ .memory_max_bytes = 1 << 22, .workers = true },
		&names, &e) != 0)
		abort();
	while (reader_left(&r) >= 12) {
		struct kernel_event ev = read_event(&r, &now);

		if (kernel_graph_take(g, &ev, &e) != 0)
			break;
	}
	if (kernel_graph_end(g, &e) == 0)
		for (uint32_t i = 0; i < kernel_graph_count(g); i++)
			check_thread(g, i);
	kernel_graph_free(g);
	kernel_names_release(&names);
	return 0;
}
