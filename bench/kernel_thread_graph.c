/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The execution graph and critical paths: 64 threads on 8 CPUs that wake each other, 4 million switches and wake-ups; then the
 * critical path of every thread over all of it. Prints ns for an event and for a segment, and memory for an interval.
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/rng.h"
#include "kernel/path.h"

enum { THREADS = 64, CPUS = 8, EVENTS = 4000000 };

static void
take(struct kernel_graph *g, struct kernel_event ev)
{
	struct err e;

	if (kernel_graph_take(g, &ev, &e) != 0) {
		fprintf(stderr, "%s\n", e.text);
		exit(1);
	}
}

/* A thread of each CPU runs; now and then it falls asleep, and one that sleeps is woken by another CPU's. */
static void
play(struct kernel_graph *g)
{
	uint32_t runs[CPUS] = { 0 };
	bool asleep[THREADS + 1] = { 0 };
	struct rng r;
	int64_t now = 1000;

	rng_seed(&r, 1);
	for (uint32_t i = 0; i < EVENTS; i++) {
		uint16_t cpu = (uint16_t)rng_below(&r, CPUS);
		uint32_t next = cpu + 1 + CPUS * (uint32_t)rng_below(&r, THREADS / CPUS),
			 other = 1 + (uint32_t)rng_below(&r, THREADS);

		now += 1 + (int64_t)rng_below(&r, 2000);
		if (asleep[other] && i % 2 == 0) {
			take(g, (struct kernel_event){ .time_ns = now,
				    .cpu = cpu,
				    .tid = runs[cpu],
				    .kind = KERNEL_WAKING,
				    .waking = { .tid = other,
					.by = rng_below(&r, 4) > 0 ? WAKE_TASK : WAKE_TIMER } });
			asleep[other] = false;
			continue;
		}
		if (next == runs[cpu] || asleep[next])
			next = 0;
		take(g, (struct kernel_event){ .time_ns = now,
			    .cpu = cpu,
			    .tid = runs[cpu],
			    .kind = KERNEL_SWITCH,
			    .flags = i % 3 == 0 ? SWITCH_ASLEEP : 0,
			    .change = { .next_tid = next, .syscall = SYSCALL_UNKNOWN } });
		asleep[runs[cpu]] = i % 3 == 0;
		runs[cpu] = next;
	}
}

int
main(void)
{
	struct kernel_graph_options o = { .memory_max_bytes = (size_t)2 << 30 };
	struct kernel_names names;
	struct kernel_graph *g;
	uint64_t intervals = 0, segments = 0;
	struct mono begun, taken;
	size_t bytes;
	struct err e;

	if (kernel_names_new(&names, &e) != 0 || kernel_graph_new(&g, &o, &names, &e) != 0)
		return 1;
	begun = clock_mono();
	play(g);
	taken = clock_mono();
	bytes = mallinfo2().uordblks + mallinfo2().hblkhd;
	if (kernel_graph_end(g, &e) != 0)
		return 1;
	printf(
	    "an event                  %6.0f ns\n", (double)mono_since_ns(taken, begun) / EVENTS);
	begun = clock_mono();
	for (uint32_t i = 0; i < kernel_graph_count(g); i++) {
		struct kernel_path p;

		intervals += kernel_graph_thread(g, i)->nintervals;
		if (kernel_path(&p, g, i, INT64_MIN, INT64_MAX, &e) != 0)
			return 1;
		segments += p.nsegments;
		kernel_path_release(&p);
	}
	taken = clock_mono();
	printf("a segment of a path       %6.0f ns\n",
	    (double)mono_since_ns(taken, begun) / (double)segments);
	printf("memory for an interval    %6.0f bytes (%.1f million intervals)\n",
	    (double)bytes / (double)intervals, (double)intervals / 1e6);
	kernel_graph_free(g);
	kernel_names_release(&names);
	return 0;
}
