/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The operations of a trace: its units, with what their threads did meanwhile, from an execution graph (of a recording), or from the
 * trace's own records below (of live requests).
 *
 * The operations below a unit, and its own time:
 *  1. While an operation that it called runs on the same thread, the time is that operation's.
 *  2. While it waits for the network or another thread (or it is unknown why), and an operation that it called goes on elsewhere, the time
 *     is that operation's; of several, the one that ends last, since that is what the wait is for.
 *     An operation that was answered and has no time of its caller, since that ran or was ready until it had ended, has an empty piece when it
 *     ended: what comes after it is told from what comes before.
 *  3. Everything else is its own. A wait for the network or another thread is followed along the critical path (kernel/path.h): if what
 *     it waited for was itself waiting for the disk, a timer, a lock, a page fault, or for a CPU, the wait is of that state. If it was
 *     running, it remains a wait for the network or another thread, and so does a wait for what an operation does that called this one (the
 *     rest of its message): what the caller meanwhile waits for is its own. A wait for a lock remains one, whatever its owner did.
 * Without an execution graph waits are not followed.
 *
 * A trace that may lack an operation (it is lossy) is taken with a graph: if one is missing, its workflow is another one, and it is compared with
 * those that lack it, too; and events that were lost make unknown what they overlap. Without a graph, waits that are missing would be running.
 */
#ifndef KERNEL_PATTERNS_STATES_OF_TRACE_H
#define KERNEL_PATTERNS_STATES_OF_TRACE_H

#include "analysis/trace.h"
#include "kernel/patterns/request_operations.h"
#include "kernel/thread_graph.h"

struct states_source {
	const struct kernel_graph *graph; /* NULL: the trace's records below */
	/* Of the graph: the host of a node; NULL: they have the same numbers. UINT32_MAX: none. */
	const uint32_t *hosts;
	uint32_t nhosts;
	int64_t offset_ns; /* what makes times of the graph of those of the trace */
};

/*
 * In the arena; texts point into the labels. An incomplete trace, without an execution graph also a lossy one, or one without units that are joined to its root, gives
 * *ret with n 0. Units whose thread is not known have unknown time. ERR_MEMORY. O(events + (intervals + segments) log intervals + own waits x operations
 * below).
 */
int operations_of_trace(struct operations *ret, const struct trace *t, const struct labels *labels,
    const struct states_source *from, struct arena *a, struct err *e);

#endif
