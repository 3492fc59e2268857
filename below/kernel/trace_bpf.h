/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The BPF programs of trace.bpf.c, loaded and attached while this is open. Everything that is attached belongs to file
 * descriptors of this process: it is gone when the process is, however it ends. Nothing is pinned.
 *
 * What the kernel and the privileges permit is found by trying. Needed: CAP_BPF and CAP_PERFMON, a kernel with BTF, Linux 5.18 (the state of a
 * thread in sched_switch). Some features came later, and there is another way without them:
 *
 *	bpf_task_from_pid(), 6.2      what the holder of a lock does: where each thread of the programs that are followed left its CPU is
 *	                              noted, which costs each of their switches 0.3 us; a thread that has not left one yet is not known
 *	BPF_TRACE_UPROBE_MULTI, 6.6   probes: one by one, PROBE_LINK_FEW at a time
 *
 * With less: see trace_bpf_can().
 */
#ifndef BELOW_KERNEL_TRACE_BPF_H
#define BELOW_KERNEL_TRACE_BPF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "below/kernel/cpu_merge.h"
#include "below/kernel/probe_link.h"

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t s32;
typedef int64_t s64;
#include "below/kernel/raw.h"

struct trace_bpf;

enum { /* beside enum below_can_flag */
	TRACE_WITHOUT_TASK_FROM_PID = 1 << 28,
	TRACE_WITHOUT_UPROBE_MULTI = 1 << 29
};

enum { TRACE_CHILDREN_MAX = 16384 };

struct trace_bpf_options {
	uint32_t samples_hz; /* of each CPU; 0: none */
	uint32_t
	    without; /* of enum below_can_flag and TRACE_WITHOUT_*: as if the kernel could not do these, for tests */
	/* Also processes that those make which are followed, from when they are made; at most TRACE_CHILDREN_MAX processes then. RAW_BEGUN says
	 * that one is made, or executes a program. */
	bool children;
};

/* Loads and attaches what is permitted. On success *ret is the caller's, and trace_bpf_can() says what it does; ERR_DENIED,
 * ERR_MISSING (the kernel), ERR_SYSTEM: nothing is possible, and e says what is missing and how to grant it. */
int trace_bpf_open(struct trace_bpf **ret, const struct trace_bpf_options *o, struct err *e);
void trace_bpf_close(struct trace_bpf *t); /* NULL is fine */

uint32_t trace_bpf_can(const struct trace_bpf *t); /* of enum below_can_flag */
/* Why it cannot do more, in words; "": it can do all. */
const char *trace_bpf_missing(const struct trace_bpf *t);

/* Follows the threads of a process, or not any more. ERR_FULL: 1024 are followed, or TRACE_CHILDREN_MAX; ERR_SYSTEM. */
int trace_bpf_follow(struct trace_bpf *t, pid_t pid, const struct raw_process *p, struct err *e);
void trace_bpf_unfollow(struct trace_bpf *t, pid_t pid);

/* Follows no more what has ended; to be called each second if children are followed. Children that were not, for lack of room. */
void trace_bpf_forget_ended(struct trace_bpf *t);
uint64_t trace_bpf_unfollowed(const struct trace_bpf *t);

/* Says what is at a place, 0 to RAW_PROBES_MAX - 1, that a cookie of trace_bpf_attach_probes() names by its lower half; its upper
 * half has to be the generation. 0 or ERR_SYSTEM. */
int trace_bpf_set_probe(struct trace_bpf *t, uint32_t place, const struct raw_probe *p);
/* How often a place was passed since this was opened, by whoever runs its file. */
uint64_t trace_bpf_passes(struct trace_bpf *t, uint32_t place);
/* How many places may be attached at a time. */
uint32_t trace_bpf_probes_max(const struct trace_bpf *t);
/* As probe_link_open(), of a file that is open. */
int trace_bpf_attach_probes(
    struct trace_bpf *t, int file, const struct probe_link_places *p, struct probe_link *ret);

/* A record, of struct raw_wait, raw_stack, raw_hit or raw_begun by its kind; it is valid during the call. */
typedef cpu_merge_taken trace_bpf_take;
/* Hands on the records that are there, in the order of their times: all that end before the call; those of RAW_BEGUN first, since what came before
 * them can be read no more. O(n log CPUs). */
void trace_bpf_read(struct trace_bpf *t, trace_bpf_take *take, void *of);

/* Records that did not fit since the last call. Returns their number; 0: the times are unchanged. */
uint64_t trace_bpf_lost(struct trace_bpf *t, int64_t *from_ns, int64_t *to_ns);

#endif
