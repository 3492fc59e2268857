/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernel/off_cpu.h"

#include <linux/futex.h>
#include <stddef.h>

/* Numbers for x86-64, since records of files may come from other machines than this one. */
enum call_kind {
	CALL_OTHER,
	CALL_SLEEP,
	CALL_FUTEX,
	CALL_STORAGE, /* waits for storage, whoever wakes it: the journal's thread does */
	CALL_CHILD,
	CALL_SOCKET
};

static enum call_kind
kind_of(int number)
{
	switch (number) {
	case 35:  /* nanosleep */
	case 230: /* clock_nanosleep */
		return CALL_SLEEP;
	case 202:
		return CALL_FUTEX;
	case 26:  /* msync */
	case 74:  /* fsync */
	case 75:  /* fdatasync */
	case 162: /* sync */
	case 277: /* sync_file_range */
	case 306: /* syncfs */
		return CALL_STORAGE;
	case 61:  /* wait4 */
	case 247: /* waitid */
		return CALL_CHILD;
	case 42:  /* connect */
	case 43:  /* accept */
	case 44:  /* sendto */
	case 45:  /* recvfrom */
	case 46:  /* sendmsg */
	case 47:  /* recvmsg */
	case 288: /* accept4 */
	case 299: /* recvmmsg */
	case 307: /* sendmmsg */
		return CALL_SOCKET;
	}
	return CALL_OTHER;
}

enum wake_context
wake_by_softirq(uint32_t vector)
{
	switch (vector) {
	case SOFTIRQ_TIMER:
	case SOFTIRQ_HRTIMER:
		return WAKE_TIMER;
	case SOFTIRQ_NET_TX:
	case SOFTIRQ_NET_RX:
		return WAKE_NETWORK;
	case SOFTIRQ_BLOCK:
	case SOFTIRQ_BLOCK_POLL:
		return WAKE_BLOCK;
	}
	return WAKE_INTERRUPT;
}

bool
futex_is_lock(uint64_t operation)
{
	switch (operation & FUTEX_CMD_MASK) {
	case FUTEX_WAIT:
	case FUTEX_WAIT_BITSET:
	case FUTEX_LOCK_PI:
	case 13: /* FUTEX_LOCK_PI2, of Linux 5.14 */
		return true;
	}
	return false;
}

/* By who woke it alone. */
static enum below_state
by_context(enum wake_context c)
{
	switch (c) {
	case WAKE_TASK:
		return BELOW_THREAD;
	case WAKE_TIMER:
		return BELOW_TIMER;
	case WAKE_NETWORK:
		return BELOW_NETWORK;
	case WAKE_BLOCK:
		return BELOW_DISK;
	case WAKE_UNKNOWN:
	case WAKE_KERNEL_TASK:
	case WAKE_INTERRUPT:
		break;
	}
	return BELOW_UNKNOWN;
}

/*
 * 1. The kernel says that it waits for storage: for memory of its own, where it is in no system call.
 * 2. A system call that waits for one thing only.
 * 3. A lock whose owner is known, also if its time ran out.
 * 4. Who woke it. Storage, and it is in no system call: a fault.
 * 5. Uninterruptible, and a thread of the kernel or an interrupt woke it: file systems wait like that for their storage.
 * 6. A socket, and an interrupt woke it.
 */
enum below_state
off_cpu_cause(const struct off_cpu *w)
{
	enum call_kind kind = kind_of(w->syscall);
	enum below_state by = by_context(w->woken_by);

	/* 1 */
	if (w->in_iowait)
		return w->syscall == SYSCALL_NONE ? BELOW_FAULT : BELOW_DISK;
	/* 2 */
	if (kind == CALL_SLEEP)
		return BELOW_TIMER;
	if (kind == CALL_STORAGE && w->uninterruptible)
		return BELOW_DISK;
	if (kind == CALL_CHILD)
		return BELOW_THREAD;
	/* 3 */
	if (kind == CALL_FUTEX && w->owner != 0 && futex_is_lock(w->arguments[1]))
		return BELOW_LOCK;
	/* 4 */
	if (by == BELOW_DISK && w->syscall == SYSCALL_NONE)
		return BELOW_FAULT;
	if (by != BELOW_UNKNOWN)
		return by;
	/* 5 */
	if (w->uninterruptible && w->woken_by != WAKE_UNKNOWN)
		return w->syscall == SYSCALL_NONE ? BELOW_FAULT : BELOW_DISK;
	/* 6 */
	return kind == CALL_SOCKET && w->woken_by == WAKE_INTERRUPT ? BELOW_NETWORK : BELOW_UNKNOWN;
}

int
off_cpu_parts(const struct off_cpu *w, struct wait_part parts[WAIT_PARTS_MAX])
{
	bool known = w->woken_ns >= w->out_ns && w->woken_ns <= w->in_ns && w->woken_ns > 0;
	uint64_t woken = w->preempted ? w->out_ns : known ? w->woken_ns : w->in_ns;
	int n = 0;

	if (woken > w->out_ns)
		parts[n++] = (struct wait_part){ off_cpu_cause(w), w->out_ns, woken };
	if (w->in_ns > woken)
		parts[n++] = (struct wait_part){ BELOW_READY, woken, w->in_ns };
	return n;
}
