/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a thread sleeps for, from what /proc says of it without privileges: its system call, and how it sleeps. Pure. */
#ifndef BELOW_MAIN_LOOK_CAUSE_H
#define BELOW_MAIN_LOOK_CAUSE_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/below.h"

enum { LOOK_NO_CALL = -1, LOOK_ON_CPU = -2 };

struct look_call {  /* /proc/PID/task/TID/syscall */
	int number; /* for x86-64; LOOK_NO_CALL: asleep in none; LOOK_ON_CPU: on a CPU or ready */
	uint64_t arguments[6]; /* 0 of one without a number */
	uint64_t sp, pc;
};

/* False: it is malformed, or of another form. */
bool look_call_parse(struct look_call *ret, const char *text);

struct look_sleep {
	struct look_call call;
	bool uninterruptible; /* state D */
	uint32_t
	    owner; /* the thread that the word of its futex names, of the same process; 0: none */
	const char *kernel_place; /* /proc/PID/task/TID/wchan; "": unknown */
};

/*
 * 1. A futex whose word names its owner is a lock; one without a time limit ends only by another thread.
 * 2. System calls that wait for one thing only: a time, a child.
 * 3. Uninterruptible: a fault outside of system calls, the disk where it syncs or the kernel's function waits for storage.
 * 4. All else is UNKNOWN: who will wake it is not known.
 */
enum below_state look_cause(const struct look_sleep *s);

#endif
