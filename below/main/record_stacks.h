/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Call stacks as kernel events: for each time that a thread was off the CPU in a system call, a KERNEL_STACK when it is on a CPU again, so
 * that it lies in that call, in the order of the events that are recorded. Pure.
 *
 *	observer_read() ---- NAME, WAIT, LOST, MARK ----> record_stacks_take() ---.
 *	                                                                           +--> record_stacks_next(): those before an event
 *	record_bpf_read() -- events up to the mark -----> record_stacks_saw() ----'
 *
 * The observer's programs run behind those that record, at the same switch: so the thread of a stack is the one that, by the events, its CPU
 * has switched to last. A stack of which that is not so (the switch was lost) is left out, and counted.
 *
 * Bounds: RECORD_STACKS_MAX stacks that wait, of 24 bytes; RECORD_STACKS_NAMES different ones of 1 KiB at most, all others are "other"; 4 bytes
 * for each CPU.
 */
#ifndef BELOW_MAIN_RECORD_STACKS_H
#define BELOW_MAIN_RECORD_STACKS_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/event.h"
#include "wire/below.h"

enum { RECORD_STACKS_MAX = 65536, RECORD_STACKS_NAMES = 8192 };

struct record_stacks;

/* What is not in the stream, though a thread was off the CPU in a system call. */
struct record_stacks_counts {
	uint64_t lost; /* records of stacks and waits that did not fit into the rings or here */
	uint64_t late; /* told after events of that time were handed on */
	uint64_t
	    unnamed; /* waits without a stack: it is among the lost, or no frame could be named */
	uint64_t apart; /* no event says that the thread was on a CPU then */
};

struct record_stacks *record_stacks_new(void);    /* NULL: out of memory */
void record_stacks_free(struct record_stacks *x); /* NULL is fine */

/* Takes what the observer tells (a below_take); `of` is the struct record_stacks. O(1); O(number that wait) for a wait that is out of
 * order. */
void record_stacks_take(void *of, const struct below_message *m);
/* The observer has told all waits that ended until then, ns; 0: none yet. */
int64_t record_stacks_mark(const struct record_stacks *x);

/* To be called for each event after it was handed on: says which thread a CPU runs. Lack of memory leaves out the stacks of that CPU. */
void record_stacks_saw(struct record_stacks *x, const struct kernel_event *ev);

/* The next stack of that time or before; after it no earlier one is given. Returns 1, 0: there is none, or ERR_MEMORY. O(CPUs). */
int record_stacks_next(struct record_stacks *x, int64_t until_ns, struct kernel_names *names,
    struct kernel_event *ret);

struct record_stacks_counts record_stacks_counts(const struct record_stacks *x);

#endif
