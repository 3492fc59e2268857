/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What threads of probed requests do, by looking at them again and again in /proc: for a kernel or privileges without BPF. Needed
 * is the right to read the memory of the process: the same user, no capabilities that this process lacks, and
 * kernel.yama.ptrace_scope 0.
 *
 *	each interval:  contexts of all threads (one system call) ---> those in a probed unit: schedstat, syscall, stack ---> thread_times
 *
 * Costs at most LOOKS_SHARE of a core: a round that took t is followed by none for t / LOOKS_SHARE, and at least 1 ms. The process that
 * unwinds stacks costs as much again, and 0.5 s of CPU time in advance; then waits have no place until that is paid. What is known is right within the time between two looks (thread_times.h).
 */
#ifndef BELOW_MAIN_LOOKS_H
#define BELOW_MAIN_LOOKS_H

#include <sys/types.h>

#include "base/clock.h"
#include "base/err.h"
#include "below/main/places.h"

#define LOOKS_SHARE 0.02

struct looks;

/* `why`: why there is no better way, for looks_can(). ERR_DENIED: the machine permits no look at other processes, and why that is and
 * how to grant one of both ways; ERR_SYSTEM, ERR_MEMORY. */
int looks_open(struct looks **ret, const char *why, struct err *e);
void looks_close(struct looks *x); /* NULL is fine */

/* BELOW_CAN_SAMPLED, and what that includes; nothing if it may look at no process of those that it was told to follow. The text
 * has the interval; it is valid until the next call. */
struct below_can looks_can(struct looks *x);

/* Follows the threads that are in probed requests; f NULL: all of its threads. ERR_DENIED: it may not be looked at; ERR_FULL: 64 are
 * followed; ERR_INPUT: f is malformed; ERR_MISSING: it has ended. */
int looks_follow(struct looks *x, pid_t pid, const struct below_follow *f, struct err *e);
void looks_unfollow(struct looks *x, pid_t pid);

/* When the next round is due. */
struct mono looks_due(const struct looks *x);

/* A round, if it is due: NAME, WAIT, SAMPLE. O(threads). */
void looks_round(struct looks *x, below_take *take, void *of);

/* Hands on what is open, if `last`; then a MARK. */
void looks_mark(struct looks *x, bool last, below_take *take, void *of);

uint64_t looks_reader_cpu_ns(const struct looks *x); /* as observer_reader_cpu_ns() */

#endif
