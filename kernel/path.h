/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The critical path of a thread: what it did in a time span, where each wait that another thread ended is replaced by what that thread did
 * meanwhile, and so on. Its segments add up to the time span to the nanosecond.
 *
 * It is walked backwards from the end, as in Giraldeau and Dagenais (2016), section 4, bounded: the thread that is followed is never
 * followed to before the wait began.
 *
 *	1. On a CPU, ready, or a wait that an interrupt ended: a segment of this thread.
 *	2. A wait that a thread ended: that thread becomes the current one, back to the begin of the wait. If it had sent a message, the time
 *	   from then on is a segment of the state `network` of this thread.
 *	3. A thread that began meanwhile: the one that made it.
 *	4. Nothing is known of the thread that is followed, or KERNEL_PATH_DEPTH_MAX are followed: a segment of the thread that waits, with the
 *	   state of its wait.
 */
#ifndef KERNEL_PATH_H
#define KERNEL_PATH_H

#include "kernel/thread_graph.h"

enum { KERNEL_PATH_DEPTH_MAX = 256 };

enum { KERNEL_PATH_NONE = UINT32_MAX };

struct kernel_follow {   /* a wait that is replaced by what the thread did that ended it */
	uint32_t waiter; /* the thread that waits, by its number in the graph */
	uint32_t
	    below; /* the follow in whose thread this wait is; KERNEL_PATH_NONE: that of the path itself */
	uint8_t state; /* enum below_state of the wait */
};

struct kernel_segment {
	int64_t from_ns, to_ns;
	uint32_t thread;   /* number in the graph */
	uint32_t interval; /* of that thread; KERNEL_PATH_NONE: none */
	uint32_t
	    follow; /* number of the follow that leads to it; KERNEL_PATH_NONE: it is the thread itself */
	uint16_t
	    depth; /* number of follows: 0: the thread itself; 1: the one that it waits for; ... */
	uint8_t state; /* enum below_state */
	bool
	    transfer; /* a message is on its way to the thread; from its sender, whose segment comes before */
};

struct kernel_path {
	struct kernel_segment
	    *segments; /* in the order of time; without gaps from from_ns to to_ns */
	uint32_t nsegments, segments_cap;
	struct kernel_follow *follows;
	uint32_t nfollows, follows_cap;
	int64_t from_ns, to_ns; /* the span asked for, within the life of the thread */
	uint64_t too_deep;      /* waits that were not followed for that reason */
};

/* Computes the path of a thread in [from_ns, to_ns], cut to the thread's life. *ret is to be released, also after a failure. ERR_INPUT: the thread has no
 * time in it; ERR_MEMORY. O((segments + follows) x log intervals). */
int kernel_path(struct kernel_path *ret, const struct kernel_graph *g, uint32_t thread,
    int64_t from_ns, int64_t to_ns, struct err *e);
void kernel_path_release(struct kernel_path *p);

/* The same without following any wait: the states of the thread itself. */
int kernel_states(struct kernel_path *ret, const struct kernel_graph *g, uint32_t thread,
    int64_t from_ns, int64_t to_ns, struct err *e);

#endif
