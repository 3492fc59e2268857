/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Folders, and what /proc tells of processes. */
#ifndef AGENT_SYSTEM_PROCESS_H
#define AGENT_SYSTEM_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/clock.h"
#include "base/err.h"

/* mkdir -p, for the owner alone where it makes one. */
int folder_make(const char *path, struct err *e);
/* rm -rf, as far as it goes; follows no links, stays on the file system. True: nothing is left. */
bool folder_remove(const char *path);
bool folder_is_memory(const char *path); /* on a tmpfs */

/*
 * A number that is another one for another program file (also one that was built anew); 0: cannot
 * be told. Of other users' programs an agent that is not root may not see the file; then it is the
 * file that argv[0] names from '/', with its owner. That is weaker: a program can lie there, and
 * one that still runs a file which was replaced since passes for the new one. What hangs on it is a
 * list of tracepoints, made anew every tracer.list_every.
 */
uint64_t process_program(pid_t pid);
bool process_is(pid_t pid, const char *comm); /* lives, and is called so */
int64_t process_cpu_us(pid_t pid);  /* of its life so far, exactly; 0: gone. One system call */
int64_t process_memory_bytes(void); /* of this process, resident */

enum { FAMILY_MAX = 16 };

struct family { /* a process and its children; all zeroes: not looked for yet */
	pid_t pids[FAMILY_MAX];
	int n;
	struct mono looked;
};

/* The CPU time of a process and of its children together. Which these are is looked up again after
 * some seconds, or when one has gone: that reads a file for each of its threads; else a system call
 * for each. */
int64_t family_cpu_us(struct family *f, pid_t pid, struct mono now);
/* The process that began to listen on this socket; 0: nobody, or nobody whom we can see. It is
 * called, and told nothing. */
pid_t socket_owner(const char *path);

#endif
