/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The BPF programs of record.bpf.c, loaded and attached while this is open: what happens on all CPUs, in the order of time. All that
 * is attached belongs to file descriptors of this process: it is gone when the process is. Nothing is pinned.
 *
 * Needed: CAP_BPF and CAP_PERFMON, a kernel with BTF, Linux 5.18 (the state of a thread is an argument of sched_switch).
 */
#ifndef BELOW_KERNEL_RECORD_BPF_H
#define BELOW_KERNEL_RECORD_BPF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "below/kernel/process_map.h"

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t s32;
typedef int64_t s64;
#include "below/kernel/record_raw.h"

struct record_bpf;

enum { RECORD_KEPT_MAX = 64 << 20, RECORD_RINGS_BYTES = 64 << 20, RECORD_RING_MIN_BYTES = 1 << 20 };

struct record_bpf_options {
	uint32_t groups;   /* of enum record_group */
	const pid_t *pids; /* processes whose threads, and those of their children, are recorded */
	size_t npids;      /* 0: the whole machine, unless it is `filtered` */
	bool
	    filtered; /* only `pids`, also if there are none yet: more may come by record_bpf_follow() */
	/* RECORD_OF_UNITS: where processes have the contexts of their threads; at most 256 */
	const struct record_place *places;
	const pid_t *place_pids;
	size_t nplaces;
	bool texts;        /* how messages begin, too */
	pid_t excluded[2]; /* 0: none. Of these processes only switches are recorded */
	uint32_t
	    ring_bytes; /* of each CPU, a power of two of 4096 or more; 0: RECORD_RINGS_BYTES of all, RECORD_RING_MIN_BYTES at least */
	const char *const *counted; /* tracepoints by the kernel's name, without system */
	size_t ncounted;            /* at most RECORD_COUNTED_MAX */
};

/* Loads and attaches. On success *ret is the caller's. ERR_DENIED, ERR_MISSING, ERR_SYSTEM: e says what is missing and how to grant
 * it; ERR_MISSING also for a tracepoint or a process that does not exist. */
int record_bpf_open(struct record_bpf **ret, const struct record_bpf_options *o, struct err *e);
void record_bpf_close(struct record_bpf *r); /* NULL is fine */

/* What the kernel lacks for some of it, in words; "": nothing. */
const char *record_bpf_missing(const struct record_bpf *r);

/* A record, in the order of time, that begins with a struct record_head; valid during the call. cpu: UINT32_MAX: of no CPU, of all. */
typedef void record_bpf_take(void *of, uint32_t cpu, const struct record_head *h, size_t len);
/* Hands on what has happened up to a moment ago; with `all`, which is for the last call, up to now, after detaching everything. What was
 * lost is a RECORD_LOST among the records. Takes at most what fits into the rings in a call; records of other CPUs wait for a CPU that is held up in one
 * for 1 s, and up to RECORD_KEPT_MAX bytes. Returns the largest share of a ring that was full, 0 to 1. */
double record_bpf_read(struct record_bpf *r, bool all, record_bpf_take *take, void *of);

/* From now on record_bpf_read() without `all` hands on only what happened until then (ns): what another source, with which the records are
 * merged, has told. O(1). */
void record_bpf_hold(struct record_bpf *r, int64_t until_ns);

/* Records a process and its children, too, from now on; of a filtered one. A RECORD_LOST with RECORD_FOLLOWING says when: of messages that are
 * under way then one side is recorded. ERR_FULL: too many; ERR_SYSTEM; ERR_MEMORY. */
int record_bpf_follow(struct record_bpf *r, pid_t pid, struct err *e);

/* Calls for each process that is followed now, with those that have ended within the last second. Returns their number. */
uint32_t record_bpf_followed(const struct record_bpf *r, process_map_take *take, void *of);

/* Nothing of that time or before is still to be handed on, but for what is lost: that is told when its CPU records again, within a second. */
int64_t record_bpf_until(const struct record_bpf *r);

/* Adds a RECORD_NAME of CPU 0 for each thread that there is now, of a filtered one for each that is recorded, which record_bpf_read() hands on among the others. ERR_SYSTEM, ERR_MEMORY. */
int record_bpf_list(struct record_bpf *r, struct err *e);

/* All processes that were followed have ended, and all that they have made; known within 1 s. False without pids. */
bool record_bpf_is_over(const struct record_bpf *r);
/* Events whose times were moved forward, by what a CPU was held up while it recorded them. */
uint64_t record_bpf_late(const struct record_bpf *r);
/* Begins and ends of interrupts that the kernel did not tell: it runs no program that it has interrupted. What a wake-up says of its
 * interrupt may then be wrong until the interrupts around it end. */
uint64_t record_bpf_missed(const struct record_bpf *r);
/* New processes that are not followed, for lack of room. */
uint64_t record_bpf_unfollowed(const struct record_bpf *r);

#endif
