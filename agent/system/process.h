/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the kernel knows of processes: which program they run, and their CPU time and memory. */
#ifndef AGENT_SYSTEM_PROCESS_H
#define AGENT_SYSTEM_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/clock.h"

/*
 * Identifies the program file of a process and what LD_PRELOAD adds to it: processes with equal
 * numbers have equal tracepoints. A file that was rebuilt has another number. 0: unknown.
 *
 * An agent that is not root cannot see the program file of another user's process. Then the file
 * that argv[0] names is taken, if it begins with '/', together with the user. This is weaker: the
 * program may set argv[0] to anything, and a process of a file that was replaced passes for the new
 * file. Only the list of its tracepoints depends on it, which is made again every
 * tracer.list_every.
 */
uint64_t process_program(pid_t pid);

struct process_look {
	char comm[64];    /* its name */
	char state;       /* as ps(1) shows it */
	int64_t began_ns; /* CLOCK_BOOTTIME, in steps of 10 ms */
	bool has_memory;  /* false: it is ending */
};

/* Looks at /proc/PID/stat. False: it does not exist, or is dead, also if its parent has not asked for
 * its status yet (a zombie); *ret is then of no use. */
bool process_look(pid_t pid, struct process_look *ret);
/* The user of a living process of this name. False: there is none, or its user is not visible. */
bool process_user(pid_t pid, const char *comm, uint32_t *ret);
/* The real user of a process that lives, which is also that of one whose files in /proc belong to root. */
bool process_real_user(pid_t pid, uint32_t *ret);
bool process_is(pid_t pid, const char *comm); /* it lives, and its name (comm) is this */

/* The processes of this name that have this id in a pid namespace of their own, as in a container, by their ids here: *ret has the
 * first `max` of them; returns how many. Reads /proc/PID/stat of all processes, and the status of those with the name. */
uint32_t process_inside(pid_t inner, const char *comm, pid_t *ret, uint32_t max);

/* Opens a file as the process sees it, which may have another root; if that root may not be seen, the file of this path here. -1: it is no
 * regular file, or may not be read. */
int process_file(pid_t pid, const char *file);

struct process_found {
	pid_t pid;
	char comm[16];
};

/* The living processes whose name is wanted, in the order of their ids: *ret has the first `max` of them; returns how many. Reads
 * a file of each process. */
uint32_t process_find(
    bool (*wants)(void *of, const char *comm), void *of, struct process_found *ret, uint32_t max);

/* CPU time of the process since it began, exact. 0: there is no such process. One system call. */
int64_t process_cpu_us(pid_t pid);

int64_t process_memory_bytes(void); /* resident memory of the calling process; 0 on failure */

enum { FAMILY_MAX = 16 };

struct family {                 /* a process and its children; all zeroes: not listed yet */
	pid_t pids[FAMILY_MAX]; /* pids[0] is the parent; children beyond FAMILY_MAX do not count */
	int n;
	struct mono listed;
};

/* CPU time of the process and of its living children. The children are listed again after 5 s, or
 * when one has ended. Costs one system call each, and to list them one file read for each thread of
 * the parent. */
int64_t family_cpu_us(struct family *f, pid_t pid, struct mono now);

enum { FAMILY_THREADS_MAX = 256 };

struct family_demand { /* of processor time, by thread; all zeroes: not looked at yet */
	uint32_t n;
	struct {
		pid_t tid;
		int64_t ns;            /* since it began */
	} threads[FAMILY_THREADS_MAX]; /* further ones do not count */
	struct mono at;
};

/* The largest part of the time since the last call with this demand, 0 to 1, that one thread of the family ran or was ready to run:
 * a thread without end is at 1, however many others share its processor. 0 in the first call, and where the kernel does
 * not tell (/proc/PID/task/TID/schedstat). A file for each thread. */
double family_demand(struct family_demand *d, const struct family *f, struct mono now);

/* The process that called listen() on this Unix socket; 0: none, or it is not visible. Connects to
 * the socket and closes the connection without a byte. */
pid_t socket_owner(const char *path);

#endif
