/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Annotates spans with what the kernel recorded of their threads: system calls, states, preemptions, page faults, waits for storage, call
 * stacks, the owner of a lock, who woke them. The idea is that of the Span Latency Tracker (Belkhiri et al., Transparent trace annotation for
 * performance debugging in microservice-oriented systems, ICPE 2023); the rules of attribution are ours.
 *
 *	thread 7   |== span A ====|           |== span B ==|     places: where and when each span is active
 *	           |   |= A.1 =|  |           |            |
 *	segments   | A |  A.1  | A|  nobody   |      B     |     each has one owner
 *
 *  - A span is active on a thread in its places only. A span that moves between threads has places on each; without places nothing is
 *    attributed to it.
 *  - What happens on a thread belongs to the innermost span that is active there at that time. Spans of which one is an ancestor of the other
 *    are nested. If unrelated spans are active on one thread at one time, it belongs to the innermost span of which all innermost ones
 *    are descendants; without one it belongs to nobody. Such time is counted (shared_ns).
 *  - A span that was not chosen passes what it owns on to its closest chosen ancestor that is active there, too.
 *  - A system call belongs to the owner of the time at which it began (by_middle: of its middle), with its whole duration. States belong
 *    by their time, to the nanosecond.
 *
 * System calls that the vDSO serves without the kernel (clock_gettime, gettimeofday, time, getcpu) are not in any recording.
 *
 * Pure. Each event is O(1) expected; each thread's segments are O(places log places + places x active spans x depth). Memory is 256 bytes
 * for a span, some 100 for a place, 72 for a listed call, some 80 for a sum, within a bound.
 */
#ifndef KERNEL_SPANS_ANNOTATE_H
#define KERNEL_SPANS_ANNOTATE_H

#include "kernel/spans/span_values.h"
#include "kernel/thread_graph.h"

const char *span_state_word(
    unsigned state); /* "disk", "preempted"; of enum below_state or SPAN_PREEMPTED */

struct annotate_options {
	/* Spans and events are of clocks that may differ by some us: a call belongs to the owner of its middle, not of its begin, so
	 * that only calls shorter than twice the difference can be mistaken. */
	bool by_middle;
	int64_t call_over_ns;     /* calls of at least this duration are listed; all are summed */
	const char *const *calls; /* names of the system calls that count; NULL: all */
	uint32_t ncalls;
	uint32_t calls_max;      /* listed calls of a span; 0: SPAN_CALLS_MAX */
	size_t memory_max_bytes; /* 0: SPAN_MEMORY_BYTES */
};

/* What is known of a call. */
enum span_call_flag {
	SPAN_CALL_BEGIN = 1, /* its begin was recorded, with its first argument */
	SPAN_CALL_END = 2,   /* its end was recorded, with its result */
	SPAN_CALL_BLOCKED =
	    4 /* of a lean recording: only the time is known in which it was off its CPU */
};

struct span_call {
	int64_t begin_ns, end_ns; /* end of an unfinished one: of the recording, or of the thread */
	int64_t argument, result;
	uint32_t span, host, tid;
	int32_t number;      /* for x86-64; SYSCALL_UNKNOWN: only the name is known */
	uint32_t name;       /* in texts; 0: that of the number */
	uint32_t stack;      /* in texts, folded; 0: none was recorded */
	uint32_t connection; /* number + 1; 0: none is known */
	uint32_t bytes;      /* of the message on it; 0: not known */
	uint8_t flags;       /* enum span_call_flag */
};

enum span_sum_kind { SPAN_SUM_CALL, SPAN_SUM_COUNTED, SPAN_SUM_STACK };

struct
    span_sum { /* all calls of one name; all counted events of one name; all stacks that are equal and of no call */
	uint32_t span;
	uint8_t kind;    /* enum span_sum_kind */
	int32_t number;  /* of the call; else SYSCALL_NONE */
	uint32_t name;   /* as of struct span_call; of the counted event; of the folded stack */
	uint32_t listed; /* of them, calls that are listed */
	uint32_t failed; /* of them, calls with a result from -4095 to -1 */
	uint64_t count;
	int64_t total_ns, max_ns; /* of calls */
};

struct annotate_counts {
	uint64_t calls, calls_outside; /* that ended; of them, of no span's time */
	uint64_t calls_shared;         /* of time that unrelated spans share */
	uint64_t without_begin;        /* ends of calls whose begin was not recorded */
	uint64_t
	    without_end; /* begins of calls whose end was not recorded, although the thread went on */
	uint64_t mismatched;     /* ends of another call than the one that began, or before it */
	uint64_t lost_calls;     /* calls during which events were lost */
	uint64_t ignored_places; /* empty, of no span, or of no host */
	uint64_t crowded;        /* times with over SPAN_ACTIVE_MAX active spans on a thread */
	uint64_t losses;
	bool lean; /* no system call was recorded; those that blocked are known from the switches */
	int64_t first_ns, last_ns; /* of events; INT64_MAX, INT64_MIN: there was none */
};

struct annotate;

/* Spans and places are copied. A parent that is not below nspans is none; spans in a circle have no ancestors beyond SPAN_DEPTH_MAX. ERR_MEMORY;
 * ERR_FULL: more than memory_max_bytes. *ret is the caller's. */
int annotate_new(struct annotate **ret, const struct annotate_options *o,
    const struct kernel_names *names, const struct span_node *spans, uint32_t nspans,
    const struct span_place *places, size_t nplaces, struct err *e);
void annotate_free(struct annotate *a); /* NULL is fine */

/* Takes an event: a kernel_take. Events of a host come in the order of time. ERR_MEMORY, ERR_FULL. */
int annotate_take(void *a, const struct kernel_event *ev, struct err *e);

/* After the last event, once: `g` took the same events, and has ended. ERR_MEMORY, ERR_FULL. O(segments + intervals of their threads
 * + calls log calls). */
int annotate_end(struct annotate *a, const struct kernel_graph *g, struct err *e);

/* After annotate_end(). */
const struct span_result *annotate_result(const struct annotate *a, uint32_t span);
const struct span_call *annotate_calls(const struct annotate *a); /* all, by span */
const struct span_sum *annotate_sums(const struct annotate *a);
struct annotate_counts annotate_counts(const struct annotate *a);

struct span_call_detail {
	int64_t state_ns[SPAN_STATES]; /* of the thread during the call; add up to its duration */
	int64_t wait_ns;               /* the longest wait in it; 0: none */
	uint8_t wait_state, wait_by;   /* enum below_state; enum wake_context */
	uint32_t waker;                /* thread number in the graph; KERNEL_THREAD_NONE */
	uint32_t owner; /* tid of the thread that held the lock; 0: none, or not known */
};

/* O(log intervals + intervals of the call). */
struct span_call_detail annotate_detail(const struct annotate *a, const struct span_call *of);

#endif
