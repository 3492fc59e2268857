/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What threads did: the execution graph of kernel events. Each thread is a chain of intervals without gaps, each with a state; a wait that a
 * thread ended has an edge from that thread.
 *
 *	writer   |== running ==================|-- lock ------------------|- ready -|== running ==
 *	                                                                   ^ waker
 *	syncer   |-- disk ---------------------|== running ===============|== running ============
 *
 * After Giraldeau and Dagenais, Wait analysis of distributed systems using kernel tracing, IEEE TPDS 27(8), 2016, and Trace Compass' execution
 * graph, with the states of kernel/off_cpu.h: locks by the futex, storage by the kernel's own mark. Interrupts that a CPU is in are forgotten
 * at each switch, since none can be in progress then: so an interrupt whose end was not recorded explains nothing that comes later.
 *
 * Nothing is guessed:
 *	- Without any event of an interrupt on a host, and without a word of the source, it is not known who wakes: such a wait is `unknown`.
 *	- A loss makes all waits unknown that overlap it, and the time of its CPU.
 *	- An event that goes back in time, or contradicts the ones before, is counted. What it contradicts becomes `unknown`.
 *
 * Pure. Taking an event is O(1) expected, a loss O(threads); memory is 40 bytes for an interval and some 160 for a thread, within a bound.
 */
#ifndef KERNEL_THREAD_GRAPH_H
#define KERNEL_THREAD_GRAPH_H

#include <stddef.h>

#include "kernel/event.h"

enum { KERNEL_THREAD_NONE = UINT32_MAX, KERNEL_GRAPH_MEMORY_BYTES = 256 << 20 };

struct kernel_interval {
	int64_t from_ns, to_ns; /* from < to; the next one begins at to */
	/* When its waker did what ended it: to_ns, or for a message when it was sent. */
	int64_t waker_ns;
	uint32_t waker;  /* number of the thread; KERNEL_THREAD_NONE: an interrupt, or not known */
	int16_t syscall; /* that the thread is in; SYSCALL_NONE, SYSCALL_UNKNOWN */
	uint8_t state;   /* enum below_state */
	uint8_t
	    by; /* of a wait: enum wake_context of what ended it; of a worker WAKE_NETWORK: a packet arrived at its end */
	uint32_t owner; /* LOCK: tid of the thread that held it at the begin; 0: not known */
	uint16_t cpu;   /* RUNNING: on this one; else 0 */
	uint16_t reserved;
};

struct kernel_thread {     /* one life of a thread: a tid that is used again is another one */
	uint32_t tid, pid; /* pid 0: not known */
	uint32_t name;     /* in texts; 0: not known */
	uint32_t parent;   /* number of the thread that made it; KERNEL_THREAD_NONE */
	uint16_t host;
	bool is_worker;           /* not a thread, but the interrupts of CPU tid */
	int64_t begin_ns, end_ns; /* of its intervals: from the first event that knows it */
	const struct kernel_interval *intervals;
	uint32_t nintervals;
};

struct kernel_graph_options {
	size_t memory_max_bytes; /* 0: KERNEL_GRAPH_MEMORY_BYTES */
	bool workers;            /* also keep when each CPU was in a softirq */
};

struct kernel_graph_counts {      /* what was odd in the events */
	uint64_t events, back;    /* back: before the one before, on its host; it was left out */
	uint64_t unexpected;      /* a CPU switches from another thread than it ran */
	uint64_t unwoken;         /* threads that run again, and nobody was seen to wake them */
	uint64_t open_contexts;   /* interrupts without their end */
	uint64_t stray_contexts;  /* ends of interrupts without their begin */
	uint64_t losses, lost;    /* events KERNEL_LOST, and what they counted */
	uint64_t reused;          /* tids that were made again although they had not ended */
	uint64_t without_context; /* wake-ups of which nothing says who woke */
	uint64_t
	    ambiguous; /* messages of which it is not known who sent them: several namespaces have connections with these ends */
};

struct kernel_graph;

/* ERR_MEMORY. *ret is the caller's; `names` has to outlive it. */
int kernel_graph_new(struct kernel_graph **ret, const struct kernel_graph_options *o,
    struct kernel_names *names, struct err *e);
void kernel_graph_free(struct kernel_graph *g); /* NULL is fine */

/* Takes an event: a kernel_take. ERR_MEMORY; ERR_FULL: it needs more than memory_max_bytes; e says what to do. */
int kernel_graph_take(void *g, const struct kernel_event *ev, struct err *e);

/* After the last event: what goes on then ends with the last event of its host. Threads may be read then. More events may follow; a wait that went on
 * is then two, of which the first one does not know what ended it. */
int kernel_graph_end(struct kernel_graph *g, struct err *e);

uint32_t kernel_graph_count(
    const struct kernel_graph *g); /* of threads, numbered from 0 in the order in which they came */
/* Valid until the next event is taken. */
const struct kernel_thread *kernel_graph_thread(const struct kernel_graph *g, uint32_t number);
struct kernel_graph_counts kernel_graph_counts(const struct kernel_graph *g);

/* The thread that had this tid on this host at this time; KERNEL_THREAD_NONE. O(lives of that tid). */
uint32_t kernel_graph_find(
    const struct kernel_graph *g, uint32_t host, uint32_t tid, int64_t at_ns);

/* The number of its interval in which from_ns < at_ns <= to_ns; nintervals: there is none. O(log intervals). */
uint32_t kernel_thread_at(const struct kernel_thread *t, int64_t at_ns);

/* Forgets intervals that ended before a time, for sources that go on for long. O(threads + intervals that stay). */
void kernel_graph_forget(struct kernel_graph *g, int64_t before_ns);

#endif
