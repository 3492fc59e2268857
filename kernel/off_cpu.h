/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a thread waited for, from what the kernel says of the time that it was not on a CPU. Pure; the same for records
 * that come live and those of a file.
 *
 * The states are those of Giraldeau and Dagenais (Wait analysis of distributed systems using kernel tracing, IEEE TPDS
 * 27(8), 2016): the context that wakes a thread says what it waited for. Refined by the system call that it is in, by the owner
 * that the word of a futex names, and by the mark that the kernel sets while a thread waits for storage.
 *
 *	 on a CPU   | out ........ waits for something ........ woken ... ready ... in |   on a CPU
 *	 on a CPU   | out ........ ready (preempted) .............................. in |   on a CPU
 */
#ifndef KERNEL_OFF_CPU_H
#define KERNEL_OFF_CPU_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/below.h"

enum wake_context { /* what the CPU was doing that woke the thread */
	WAKE_UNKNOWN,
	WAKE_TASK,        /* a thread: a system call of its own */
	WAKE_KERNEL_TASK, /* a thread of the kernel */
	WAKE_TIMER,       /* a timer that ran out */
	WAKE_NETWORK,     /* a packet */
	WAKE_BLOCK,       /* storage has answered */
	WAKE_INTERRUPT    /* another interrupt */
};

enum softirq_vector { /* of Linux */
	SOFTIRQ_HI,
	SOFTIRQ_TIMER,
	SOFTIRQ_NET_TX,
	SOFTIRQ_NET_RX,
	SOFTIRQ_BLOCK,
	SOFTIRQ_BLOCK_POLL,
	SOFTIRQ_TASKLET,
	SOFTIRQ_SCHED,
	SOFTIRQ_HRTIMER,
	SOFTIRQ_RCU
};

/* Of a softirq of this vector. O(1). */
enum wake_context wake_by_softirq(uint32_t vector);

enum { SYSCALL_NONE = -1, SYSCALL_UNKNOWN = -2 };

struct off_cpu {                /* a time that a thread was not on a CPU */
	uint64_t out_ns, in_ns; /* CLOCK_MONOTONIC; out_ns <= in_ns */
	uint64_t woken_ns;      /* between them; 0: not known, or it was not asleep */
	uint32_t pid, tid;
	bool preempted; /* it could have gone on */
	bool in_iowait; /* the kernel marks it as waiting for storage */
	bool uninterruptible;
	int syscall; /* number for x86-64; SYSCALL_NONE: it was in none, a fault */
	uint64_t arguments[3];
	enum wake_context woken_by;
	uint32_t
	    owner; /* thread that the futex names as the lock's owner, of the same process; 0: none */
};

/* A part of its time: [from_ns, to_ns). */
struct wait_part {
	enum below_state state;
	uint64_t from_ns, to_ns;
};

enum { WAIT_PARTS_MAX = 2 };

/* Writes the parts of the wait, which add up to it without a gap, and returns their number: 0 (out_ns == in_ns) to
 * WAIT_PARTS_MAX. A woken_ns outside of the wait counts as not known. O(1). */
int off_cpu_parts(const struct off_cpu *w, struct wait_part parts[WAIT_PARTS_MAX]);

/* What it waited for while it was asleep. */
enum below_state off_cpu_cause(const struct off_cpu *w);

/* Whether the futex system call with these arguments waits for a lock, if its word names an owner. */
bool futex_is_lock(uint64_t operation);

#endif
