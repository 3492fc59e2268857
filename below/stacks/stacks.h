/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * From copied stack bytes to places in the code. Registers and the bytes above the stack pointer are unwound by the
 * rules in the .eh_frame of the mapped files (libdw), since Debian's libraries have no frame pointers; then each
 * distinct address is named once, by function, file and line, with the functions that are compiled into it.
 *
 *	sample (pid, registers, bytes) ---> frames (file, offset) ---> names, cached by build id ---> struct code_place
 *
 * Programs of the node are not trusted: their files may hold anything, and may be replaced, deleted or upgraded while
 * they run. What is bounded is in struct stacks_limits. A file that is not the one that was mapped is never used: its
 * frames are "NAME (replaced)". Stack bytes are user data: they are read here and kept nowhere.
 *
 * One thread at a time. Reads /proc/PID/maps and the files named there, through /proc/PID/map_files or /proc/PID/root
 * where that is permitted, else by path.
 */
#ifndef BELOW_STACKS_STACKS_H
#define BELOW_STACKS_STACKS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "below/probes/file_probes.h"
#include "below/stacks/code_place.h"
#include "below/stacks/file_identity.h"
#include "below/stacks/stack_sample.h"

struct stacks_counts { /* since stacks_open() */
	uint64_t samples, ends[STACK_GIVEN_UP + 1], frames, names;
	uint64_t
	    given_up_files; /* that took too much time or memory, or ended the process that reads them */
};

struct stacks;

/* Starts a process that reads the files, without privileges of its own beyond those of the caller, so that a hostile file
 * can end or delay only that process; it ends with stacks_close() or with the caller. On success *ret is the caller's.
 * ERR_SYSTEM, ERR_MEMORY. */
int stacks_open(struct stacks **ret, const struct stacks_limits *limits, struct err *e);
void stacks_close(struct stacks *s); /* NULL is fine */

/* Reads the maps of a process that will be sampled, so that they are known before it can end. Optional. */
void stacks_follow(struct stacks *s, pid_t pid);

/* Forgets a process: it has ended (since_ns UINT64_MAX), or it executes another program since this time
 * (CLOCK_MONOTONIC), or is made by a fork then: its maps are read now, and samples from before are not unwound with them. */
void stacks_forget(struct stacks *s, pid_t pid, uint64_t since_ns);

/* Unwinds and names. Always fills *ret; ret->end says how far it came. Costs 1 to 3 us of CPU time for each frame whose address is
 * known; 0.1 to 2 ms for a new address, and up to 100 ms for the first one in a file with debug information; at most 3 *
 * limits.sample_ms. */
void stacks_place(struct stacks *s, const struct stack_sample *sample, struct code_place *ret);

/*
 * The USDT probes of a file that a process has mapped with code; files are numbered from 0 on. from: how many of its probes are
 * skipped. *fd is the file if it has some, and the caller's; else -1. A file that was deleted or replaced may not be readable any
 * more: then ret->unread is set, and the identity is what the kernel says of the mapping. While a descriptor of that file is open, no
 * other file has this identity. False: the process has no such file, or is not visible. 0.05 to 2 ms.
 */
bool stacks_probes(struct stacks *s, pid_t pid, uint32_t file, uint32_t from,
    struct file_identity *identity, struct file_probes *ret, int *fd);

/*
 * Where the functions of a name in a file that a process has mapped with code can be probed; files are numbered as for stacks_probes(), and
 * libraries of the system have none. *fd is the file if a function can be probed, and the caller's; else -1. False: the process has
 * no such file, or is not visible. 0.1 to 20 ms.
 */
bool stacks_functions(struct stacks *s, pid_t pid, uint32_t file, const char *name,
    struct file_identity *identity, struct file_functions *ret, int *fd);

/* CPU time in ns of the process that reads the files, since it was started; 0: there is none. Once it has been replaced it is a child that
 * has ended (RUSAGE_CHILDREN). */
uint64_t stacks_cpu_ns(const struct stacks *s);

void stacks_counts(const struct stacks *s, struct stacks_counts *ret);

#endif
