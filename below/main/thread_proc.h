/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What /proc and the memory of another process say of one of its threads. x86-64, glibc. */
#ifndef BELOW_MAIN_THREAD_PROC_H
#define BELOW_MAIN_THREAD_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "below/main/look_cause.h"

enum { THREAD_WCHAN_MAX = 63 };

struct
    thread_files { /* 0: not open. Files of a thread that has ended give errors, also if its id is used again */
	int schedstat, syscall;
};

struct thread_counts {
	uint64_t run_ns, ready_ns, turns;
};

bool thread_open(struct thread_files *f, pid_t pid, pid_t tid);
void thread_close(struct thread_files *f);

/* How long it ran and was ready, and how often it got a CPU. 1.5 us. False: it has ended. */
bool thread_counts_read(const struct thread_files *f, struct thread_counts *ret);

/* Whether the kernel counts that (CONFIG_SCHED_INFO), by what it says of this main thread, which is on a CPU. */
bool thread_is_counted(pid_t tid);

/* Its system call. 5 us. False: it has ended, or may not be looked at (errno EACCES, EPERM). */
bool thread_call_read(const struct thread_files *f, struct look_call *ret);

/* Whether it sleeps uninterruptibly, and where in the kernel; "": unknown. */
bool thread_uninterruptible(pid_t pid, pid_t tid);
void thread_wchan(pid_t pid, pid_t tid, char ret[THREAD_WCHAN_MAX + 1]);

/* Its name (comm), with '?' for control characters; "": it has ended. 8 us. */
enum { THREAD_NAME_MAX = 15 };
void thread_name(pid_t pid, pid_t tid, char ret[THREAD_NAME_MAX + 1]);
/* Replaces these in a name that the kernel gave. */
void thread_name_clean(char *name);

/*
 * Its thread pointer (fs base), which only a debugger may read. The kernel tells where its list of robust mutexes lies
 * (get_robust_list()), which glibc keeps in the same struct, at the same distance in all threads of a process. *distance
 * is 0 for the first thread, and then set; a pointer is taken only if it points to itself, as the ABI requires. 0: not found.
 */
uint64_t thread_pointer(pid_t pid, pid_t tid, int64_t *distance);

/* The thread that the word of the futex names as its owner (glibc's conventions); 0: none. The caller checks that it is one. */
uint32_t thread_futex_owner(pid_t pid, const struct look_call *futex);

/* Copies up to n bytes from there on; returns how many were there. */
size_t thread_memory(pid_t pid, uint64_t from, void *ret, size_t n);

#endif
